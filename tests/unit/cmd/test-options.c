/*
 * options: what each kind of value becomes, and what is refused.
 */
#include <errno.h>
#include <string.h>

#include "base/now.h"
#include "options/options-parts.h"
#include "options/options.h"
#include "suites.h"

#define WORDS_MAX 6

static int parse(struct options *options, unsigned int command, const char *const *words,
		 struct err *err)
{
	const char *argv[WORDS_MAX + 2] = { "command" };
	int argc = 1;

	while (argc <= WORDS_MAX && words[argc - 1]) {
		argv[argc] = words[argc - 1];
		argc++;
	}
	err->text[0] = '\0';
	return options_parse(options, command, argc, argv, err);
}

/* ---- values ---- */

#define MEMBER(name) offsetof(struct options, name)
#define S            UINT64_C(1000000000)

/* 64 bits each. */
static const struct {
	unsigned int command;
	const char *words[WORDS_MAX];
	size_t offset;
	uint64_t value;
} numbers[] = {
	{ FOR_ANALYZE, { NULL }, MEMBER(top), 10 },
	{ FOR_ANALYZE, { "-n", "0" }, MEMBER(top), 0 },
	{ FOR_ANALYZE, { "--top=4294967295" }, MEMBER(top), UINT32_MAX },
	{ FOR_ANALYZE, { "--top", "3", "--top", "4" }, MEMBER(top), 4 },
	{ FOR_ANALYZE, { "-j", "1024" }, MEMBER(jobs), 1024 },
	{ FOR_ANALYZE, { "--freq-bins=1000" }, MEMBER(freq_bins), 1000 },
	{ FOR_ANALYZE, { NULL }, MEMBER(chunk_bytes), 1 << 20 },
	{ FOR_ANALYZE, { "--chunk-size=64K" }, MEMBER(chunk_bytes), 65536 },
	{ FOR_ANALYZE, { "--max-memory", "1.5G" }, MEMBER(max_memory), UINT64_C(3) << 29 },
	{ FOR_ANALYZE, { NULL }, MEMBER(interval_ns), S },
	{ FOR_ANALYZE, { "-i", "1ms" }, MEMBER(interval_ns), 1000000 },
	{ FOR_ANALYZE,
	  { "--trigger-interval=500ms", "--trigger=x" },
	  MEMBER(trigger_interval_ns),
	  S / 2 },
	{ FOR_ANALYZE, { "--min=1us" }, MEMBER(selection.min_ns), 1000 },
	{ FOR_ANALYZE, { NULL }, MEMBER(selection.max_ns), UINT64_MAX },
	{ FOR_ANALYZE, { "--max=2h" }, MEMBER(selection.max_ns), 7200 * S },
	{ FOR_LIVE, { NULL }, MEMBER(retry_ns), UINT64_MAX },
	{ FOR_LIVE, { "--retry=0" }, MEMBER(retry_ns), 0 },
	{ FOR_LIVE, { "--no-retry" }, MEMBER(retry_ns), 0 },
	{ FOR_LIVE, { "--no-retry", "--retry=2s" }, MEMBER(retry_ns), 2 * S },
	{ FOR_LIVE, { "--duration=1m" }, MEMBER(duration_ns), 60 * S },
	{ FOR_LIVE, { NULL }, MEMBER(from_ns), 0 },
	{ FOR_LIVE, { "--from=17ns" }, MEMBER(from_ns), 17 },
	{ FOR_LIVE, { "--from", "2026-01-01T00:00:01Z" }, MEMBER(from_ns), 1767225601 * S },
	{ FOR_LIVE, { "--from=17ns", "--from=beginning" }, MEMBER(from_ns), 0 },
	{ FOR_LIVE, { "--from", "-1000000h" }, MEMBER(from_ns), 1 },
	{ FOR_LIVE, { NULL }, MEMBER(state_every_ns), 10 * S },
	{ FOR_LIVE, { "--state-every=0" }, MEMBER(state_every_ns), 0 },
	{ FOR_LIVE, { "--history=5m" }, MEMBER(history_ns), 300 * S },
	{ FOR_LIVE, { "--history=5m" }, MEMBER(history_bytes), 0 },
	{ FOR_LIVE, { "--history=5M" }, MEMBER(history_bytes), 5 << 20 },
	{ FOR_LIVE, { "--history=5M" }, MEMBER(history_ns), UINT64_MAX },
	{ FOR_LIVE, { NULL }, MEMBER(before_ns), 10 * S },
	{ FOR_LIVE, { "--before=3s", "--history=1s" }, MEMBER(before_ns), 3 * S },
	{ FOR_LIVE, { NULL }, MEMBER(keep_count), UINT64_MAX },
	{ FOR_LIVE, { "--keep=20", "--history=1s" }, MEMBER(keep_count), 20 },
	{ FOR_LIVE, { "--keep=20", "--history=1s" }, MEMBER(keep_bytes), UINT64_MAX },
	{ FOR_LIVE, { "--keep=20K", "--history=1s" }, MEMBER(keep_bytes), 20480 },
	{ FOR_LIVE, { NULL }, MEMBER(per_hour), 30 },
	{ FOR_LIVE, { "--captures-per-hour=0", "--history=1s" }, MEMBER(per_hour), 0 },
	{ FOR_REPLAY, { "--loop=3" }, MEMBER(loops), 3 },
	{ FOR_REPORT, { NULL }, MEMBER(deadline_ns), UINT64_MAX },
	{ FOR_REPORT, { "--deadline=1ms", "--every=2ms", "--job=run" }, MEMBER(every_ns), 2000000 },
	/* What the text says too. */
	{ FOR_REPORT,
	  { "--job=run; deadline 1ms; every 2ms", "--deadline=1000us", "--every=2ms" },
	  MEMBER(every_ns),
	  2000000 },
	{ FOR_REPORT, { "--job=a @c; b @d", "--thread=d" }, MEMBER(every_ns), 0 },
	{ FOR_REPORT, { "--job=a; b @c", "--thread=7" }, MEMBER(every_ns), 0 },
	{ FOR_REPORT, { NULL }, MEMBER(worst), 3 },
	{ FOR_REPORT, { "--worst=0" }, MEMBER(worst), 0 },
};

START_TEST(takes_numbers)
{
	struct options options;
	struct err err;

	ck_assert_int_eq(parse(&options, numbers[_i].command, numbers[_i].words, &err), 0);
	ck_assert_uint_eq(*(uint64_t *)((char *)&options + numbers[_i].offset), numbers[_i].value);
	options_fini(&options);
}
END_TEST

static const struct {
	unsigned int command;
	const char *words[WORDS_MAX];
	size_t offset;
	const char *value;
} texts[] = {
	{ FOR_ANALYZE, { NULL }, MEMBER(format), "text" },
	{ FOR_ANALYZE, { "-f", "json" }, MEMBER(format), "json" },
	{ FOR_ANALYZE, { "-f", "text", "-f", "json" }, MEMBER(format), "json" },
	{ FOR_REPORT, { "-fhtml" }, MEMBER(format), "html" },
	{ FOR_COMPARE, { "-fhtml" }, MEMBER(format), "html" },
	{ FOR_LIVE, { "--on-lag", "skip" }, MEMBER(on_lag), "skip" },
	{ FOR_ANALYZE, { "-o", "file" }, MEMBER(output), "file" },
	{ FOR_ANALYZE, { "-o", "file", "-o", "-" }, MEMBER(output), NULL },
	{ FOR_ANALYZE, { "--begin", "1" }, MEMBER(begin), "1" },
	{ FOR_ANALYZE, { "--sort", "run_ns" }, MEMBER(display.sort), "run_ns" },
	{ FOR_ANALYZE, { "--sort", "cpu.thread.run" }, MEMBER(display.sort), "run_ns" },
	{ FOR_ANALYZE, { "--sort", "sched.threads.wake.p99" }, MEMBER(display.sort), "wake" },
	{ FOR_ANALYZE,
	  { "--sort", "cpu.threads.run / cpu.threads.switches" },
	  MEMBER(display.sort_per),
	  "switches" },
	{ FOR_ANALYZE, { "--sort", "cpu.threads.run / cpu.busy" }, MEMBER(display.sort_per), NULL },
	{ FOR_ANALYZE, { "--sort", "cpu.threads.run", "--sort=max" }, MEMBER(display.sort), NULL },
	{ FOR_LIVE, { "--capture-dir", "", "--history=1s" }, MEMBER(capture_dir), "" },
	{ FOR_LIVE, { NULL }, MEMBER(capture_dir), "sillage-captures" },
	{ FOR_REPORT, { "--thread=-1" }, MEMBER(thread), "-1" },
	{ FOR_REPORT, { "--comm=a\\,b\\\\\\*" }, MEMBER(thread), "a\\,b\\\\\\*" },
	{ FOR_REPORT, { "--thread=1,b*" }, MEMBER(thread), "1,b*" },
	{ FOR_TRIGGERS, { NULL }, MEMBER(check), NULL },
};

START_TEST(takes_texts)
{
	struct options options;
	struct err err;

	ck_assert_int_eq(parse(&options, texts[_i].command, texts[_i].words, &err), 0);
	ck_assert_pstr_eq(*(const char **)((char *)&options + texts[_i].offset), texts[_i].value);
	options_fini(&options);
}
END_TEST

/* Those that have no value, and those that note that an option was given. */
static const struct {
	unsigned int command;
	const char *words[WORDS_MAX];
	size_t offset;
} flags[] = {
	{ FOR_ANALYZE, { "--freq" }, MEMBER(freq) },
	{ FOR_ANALYZE, { "--freq-bins=5" }, MEMBER(freq) },
	{ FOR_ANALYZE, { "--stats" }, MEMBER(stats) },
	{ FOR_ANALYZE, { "--dry-run", "--triggers=x" }, MEMBER(dry_run) },
	{ FOR_ANALYZE, { "-i1s" }, MEMBER(has_interval) },
	{ FOR_ANALYZE, { "-n1" }, MEMBER(has_top) },
	{ FOR_ANALYZE, { "-j0" }, MEMBER(has_jobs) },
	{ FOR_ANALYZE, { "-h" }, MEMBER(wants_help) },
	{ FOR_LIVE, { "--from=beginning" }, MEMBER(from_beginning) },
	{ FOR_LIVE, { "--state-every=1s" }, MEMBER(has_state_every) },
	{ FOR_LIVE, { "--history=1s" }, MEMBER(has_history) },
	{ FOR_LIVE, { "--before=1s", "--history=1s" }, MEMBER(has_before) },
	{ FOR_REPLAY, { "--as-now" }, MEMBER(as_now) },
	{ FOR_REPLAY, { "--wait-viewer" }, MEMBER(wait_viewer) },
	{ FOR_LAMI, { "--metadata" }, MEMBER(metadata) },
	{ FOR_LAMI, { "--mi-version" }, MEMBER(mi_version) },
	{ FOR_LAMI, { "--output-progress", "--test-compatibility" }, MEMBER(test_compatibility) },
};

START_TEST(takes_flags)
{
	static const char *const none[] = { NULL };
	struct options options;
	struct err err;

	ck_assert_int_eq(parse(&options, flags[_i].command, none, &err), 0);
	ck_assert(!*((bool *)&options + flags[_i].offset));
	options_fini(&options);
	ck_assert_int_eq(parse(&options, flags[_i].command, flags[_i].words, &err), 0);
	ck_assert(*((bool *)&options + flags[_i].offset));
	options_fini(&options);
}
END_TEST

START_TEST(takes_lists)
{
	static const char *const words[] = { "--tid=1,20", "--tid=3",   "--comm=a,,b\\,c",
					     "--cpu=0",    "--irq=RCU", NULL };
	static const char *const more[] = {
		"--trigger=a > 1", "--trigger=b > 2", "-q", "--per=prio", "one", "two"
	};
	struct options options;
	struct err err;

	ck_assert_int_eq(parse(&options, FOR_ANALYZE, words, &err), 0);
	ck_assert_uint_eq(options.selection.tids.count, 3);
	ck_assert_int_eq(options.selection.tids.at[1], 20);
	ck_assert_int_eq(options.selection.tids.at[2], 3);
	ck_assert_uint_eq(options.selection.comms.count, 3);
	ck_assert_str_eq(options.selection.comms.at[1], "");
	ck_assert_str_eq(options.selection.comms.at[2], "b\\,c");
	ck_assert_uint_eq(options.selection.cpus.count, 1);
	ck_assert_uint_eq(options.selection.pids.count, 0);
	ck_assert_str_eq(options.selection.irqs.at[0], "RCU");
	ck_assert_ptr_null(options.args[0]);
	options_fini(&options);
	ck_assert_int_eq(parse(&options, FOR_ANALYZE, more, &err), 0);
	ck_assert_uint_eq(options.triggers.count, 2);
	ck_assert_str_eq(options.triggers.at[1], "b > 2");
	ck_assert_int_eq(options.verbosity, -1);
	ck_assert_int_eq(options.display.per, PER_PRIO);
	ck_assert_str_eq(options.args[0], "one");
	ck_assert_str_eq(options.args[1], "two");
	ck_assert_ptr_null(options.args[2]);
	options_fini(&options);
}
END_TEST

/* In the order of the analyses, whatever the order given; periods only if there are some. */
START_TEST(chooses_analyses)
{
	static const char *const chosen[] = { "-a", "io,count", NULL };
	static const char *const periods[] = { "-a", "cpu", "--ust-span", "a,b", NULL };
	static const char *const none[] = { NULL };
	static const char *const asked[] = { "-a", "cpu", "--period", "x = a; b", NULL };
	static const char *const unasked[] = { "-a", "periods", NULL };
	struct options options;
	struct err err;

	ck_assert_int_eq(parse(&options, FOR_ANALYZE, chosen, &err), 0);
	ck_assert_str_eq(options.analyses[0]->name, "count");
	ck_assert_str_eq(options.analyses[1]->name, "io");
	ck_assert_ptr_null(options.analyses[2]);
	options_fini(&options);
	ck_assert_int_eq(parse(&options, FOR_ANALYZE, periods, &err), 0);
	ck_assert_str_eq(options.analyses[0]->name, "cpu");
	ck_assert_str_eq(options.analyses[1]->name, "periods");
	options_fini(&options);
	ck_assert_int_eq(parse(&options, FOR_TOP, none, &err), 0);
	ck_assert_ptr_nonnull(options.analyses[3]); /* all, but periods */
	options_fini(&options);
	/* What is compared may have some that nobody asks for here. */
	ck_assert_int_eq(parse(&options, FOR_COMPARE, asked, &err), 0);
	ck_assert_str_eq(options.analyses[0]->name, "cpu");
	ck_assert_str_eq(options.analyses[1]->name, "periods");
	options_fini(&options);
	ck_assert_int_eq(parse(&options, FOR_COMPARE, unasked, &err), 0);
	ck_assert_str_eq(options.analyses[0]->name, "periods");
	ck_assert_ptr_null(options.analyses[1]);
	options_fini(&options);
}
END_TEST

/* ---- what is refused ---- */

static const struct {
	unsigned int command;
	const char *words[WORDS_MAX];
	const char *message;
} refused[] = {
	{ FOR_ANALYZE, { "--topp=1" }, "unknown option \"--topp=1\"; did you mean \"--top\"?" },
	{ FOR_ANALYZE, { "--control=x" }, "analyze has no --control; live has" },
	{ FOR_RECORD, { "--model", "x" }, "record has no --model; analyze has" },
	{ FOR_COMPARE, { "--begin=1" }, "compare has no --begin; analyze has" },
	{ FOR_REPLAY, { "--slices=2" }, "replay has no --slices; overview has" },
	{ FOR_ANALYZE, { "--bucket" }, "unknown option \"--bucket\"; did you mean \"--buckets\"?" },
	{ FOR_REPORT, { "--thread=a", "--tid=1" }, "report explains one thread: --thread, --tid" },
	{ FOR_REPORT, { "--thread=," }, "--thread: expected tids or names" },
	{ FOR_REPORT, { "--thread=" }, "--thread: expected tids or names" },
	{ FOR_ANALYZE, { "--thread=" }, "--thread: expected tids or names" },
	{ FOR_ANALYZE, { "--thread=," }, "--thread: expected tids or names" },
	{ FOR_ANALYZE,
	  { "--label=x = a key=b name=c", "-a", "count" },
	  "--label has no effect without a --period or --job that groups by it" },
	{ FOR_ANALYZE,
	  { "--label=x = a key=b name=c" },
	  "--label has no effect without a --period or --job that groups by it" },
	{ FOR_LIVE,
	  { "--label=x = a key=b name=c" },
	  "--label has no effect without a --period or --job that groups by it" },
	{ FOR_OVERVIEW,
	  { "--label=x = a key=b name=c" },
	  "--label has no effect without a --period or --job that groups by it" },
	{ FOR_COMPARE,
	  { "--label", "a = b key=c name=d" },
	  "--label has no effect without a --period or --job that groups by it" },
	{ FOR_ANALYZE, { "-f", "csv", "--table=" }, "--format csv needs --table NAME" },
	{ FOR_ANALYZE, { "-z" }, "unknown option \"-z\"" },
	{ FOR_ANALYZE, { "--top" }, "option \"--top\": missing argument" },
	{ FOR_ANALYZE, { "-n", "-1" }, "--top: \"-1\" is not a number in range" },
	{ FOR_ANALYZE, { "-n", "4294967296" }, "is not a number in range" },
	{ FOR_ANALYZE, { "-n", "" }, "--top: \"\" is not a number in range" },
	{ FOR_ANALYZE, { "-n", "1x" }, "--top: \"1x\" is not a number in range" },
	{ FOR_ANALYZE, { "-j", "1025" }, "--jobs: \"1025\" is not a number in range" },
	{ FOR_ANALYZE, { "--freq-bins=1001" }, "--freq-bins: \"1001\" is not a number in range" },
	{ FOR_ANALYZE, { "--chunk-size=0" }, "is not a size such as" },
	{ FOR_ANALYZE, { "--chunk-size=1Q" }, "is not a size such as" },
	{ FOR_ANALYZE, { "-i", "1" }, "--interval: \"1\" is not a duration such as" },
	{ FOR_ANALYZE, { "-i", "999us" }, "--interval: \"999us\" is not at least 1ms" },
	{ FOR_ANALYZE, { "-f", "jsn" }, "unknown format \"jsn\"; did you mean \"json\"?" },
	{ FOR_ANALYZE, { "-f", "html" }, "unknown format \"html\": text, json or csv" },
	{ FOR_LIVE, { "-f", "xml" }, "unknown format \"xml\": text, json or csv" },
	{ FOR_COMPARE, { "-f", "xml" }, "unknown format \"xml\"; did you mean \"html\"?" },
	{ FOR_COMPARE, { "-f", "pdf" }, "unknown format \"pdf\": text, json, csv or html" },
	{ FOR_COMPARE,
	  { "-f", "perfetto" },
	  "unknown format \"perfetto\": text, json, csv or html" },
	{ FOR_HISTORY, { "-f", "perfetto" }, "there is `sillage export`" },
	{ FOR_ANALYZE, { "-a", "cpus" }, "unknown analysis \"cpus\"; did you mean \"cpu\"?" },
	{ FOR_ANALYZE, { "-a", "periods" }, "no period to measure" },
	{ FOR_ANALYZE, { "--tid=1,,2" }, "--tid: \"\" is not a number in range" },
	{ FOR_ANALYZE, { "--sort=nonsense-key" }, "unknown figure \"nonsense-key\"" },
	{ FOR_ANALYZE, { "--sort=cpu.busy" }, "--sort \"cpu.busy\": it has one row: name a list" },
	{ FOR_ANALYZE, { "--sort=cpu.thread[3].run" }, "leave out [WHICH]" },
	{ FOR_ANALYZE, { "--sort=cpu.thread.runs" }, "cpu.threads has no such column" },
	{ FOR_ANALYZE, { "--per=cpus" }, "unknown per \"cpus\"; did you mean \"cpu\"?" },
	{ FOR_ANALYZE, { "--trigger-interval=300ms" }, "--trigger-interval has to be" },
	{ FOR_ANALYZE, { "--period", "x" }, "x" },
	{ FOR_LIVE, { "--from=then" }, "--from: \"then\" is not beginning, now, a duration" },
	{ FOR_LIVE, { "--from=-" }, "--from: \"-\" is not beginning, now, a duration" },
	{ FOR_ANALYZE, { "--comm=a\\" }, "nothing is behind \\" },
	{ FOR_ANALYZE, { "--freq", "-f", "json" }, "--freq has no effect with --format json" },
	{ FOR_ANALYZE, { "--dry-run" }, "--dry-run has no effect without --trigger or --triggers" },
	{ FOR_ANALYZE,
	  { "--pid=1", "--period=x = a; b; by c" },
	  "period \"x\" is paired by keys and belongs to no thread" },
	{ FOR_LIVE, { "--after=1s" }, "--after has no effect without --history" },
	{ FOR_LIVE, { "--store=a.db", "--store=b.db" }, "--store is given twice: a run has one" },
	{ FOR_LIVE,
	  { "--store=a.db", "--store-also=1m", "--store-also=1h" },
	  "--store-also is given twice: a run has one" },
	{ FOR_ANALYZE,
	  { "--store=a.db", "--store-keep=1d", "--store-keep=2d" },
	  "--store-keep is given twice: a run has one" },
	{ FOR_ANALYZE,
	  { "--fail=cpu.busy > baseline", "--baseline=a.db", "--baseline=a.db" },
	  "--baseline is given twice: a run has one" },
	{ FOR_LIVE, { "--lag-limit=1s" }, "--lag-limit has no effect without --on-lag" },
	{ FOR_REPORT, { "--every=1s" }, "--every has no effect without --job" },
	{ FOR_REPORT, { "--job=a; b x" }, "--job: \"a; b x\": column 7: expected =" },
	{ FOR_REPORT, { "--job=run", "--within=a" }, "--within: \"a\": column 2: expected ;" },
	{ FOR_REPORT,
	  { "--job=run; deadline 1ms", "--deadline=2ms" },
	  "--deadline: the text of --job says another deadline" },
	{ FOR_REPORT,
	  { "--job=x = run; every 1ms", "--every=1s" },
	  "--every: the text of --job says another period" },
	{ FOR_REPORT, { "--job=a; b @c", "--thread=d" }, "--thread d: the text of --job says @c" },
	{ FOR_REPORT, { "--job=a; b @1", "--tid=2" }, "--thread 2: the text of --job says @1" },
	{ FOR_LIVE, { "--history=0s" }, "--history: \"0s\" is not a duration such as" },
	{ FOR_LIVE, { "--history=" }, "--history: \"\" is not a duration such as" },
	{ FOR_LIVE, { "--keep=0" }, "--keep: \"0\" is not a number such as" },
	{ FOR_REPLAY, { "--speed=-1" }, "--speed: \"-1\" is not a factor such as" },
	{ FOR_REPLAY, { "--speed=nan" }, "--speed: \"nan\" is not a factor such as" },
	{ FOR_REPLAY, { "--speed=1000001" }, "--speed: \"1000001\" is not a factor such as" },
};

START_TEST(refuses_options)
{
	struct options options;
	struct err err;

	ck_assert_int_eq(parse(&options, refused[_i].command, refused[_i].words, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, refused[_i].message), "%s", err.text);
	options_fini(&options);
}
END_TEST

/* A duration is before now; a time of day is the last one. */
START_TEST(resolves_from)
{
	struct options options;
	uint64_t now;
	struct err err;

	ck_assert_int_eq(
		parse(&options, FOR_LIVE, (const char *[WORDS_MAX]){ "--from", "-10m" }, &err), 0);
	now = now_wall_ns();
	ck_assert_uint_le(options.from_ns, now - 600 * S);
	ck_assert_uint_ge(options.from_ns, now - 630 * S);
	options_fini(&options);
	for (unsigned int hour = 0; hour < 24; hour++) {
		char text[10];

		(void)snprintf(text, sizeof(text), "%02u:30:00", hour);
		ck_assert_int_eq(parse(&options, FOR_LIVE,
				       (const char *[WORDS_MAX]){ "--from", text }, &err),
				 0);
		now = now_wall_ns();
		ck_assert_uint_le(options.from_ns, now);
		ck_assert_uint_ge(options.from_ns, now - 26 * 3600 * S); /* clocks may change */
		options_fini(&options);
	}
}
END_TEST

START_TEST(finds_nearest)
{
	static const char *const words[] = { "analyze", "live", "list", NULL };

	ck_assert_str_eq(options_nearest("analyse", words), "analyze");
	ck_assert_str_eq(options_nearest("lsit", words), "list");
	ck_assert_str_eq(options_nearest("liv", words), "live");
	ck_assert_ptr_null(options_nearest("qqqqqq", words));
	ck_assert_ptr_null(options_nearest("nope", (const char *[]){ "hip", NULL }));
	ck_assert_ptr_null(options_nearest("--buckets", (const char *[]){ "--quiet", NULL }));
	ck_assert_ptr_null(options_nearest("--model", (const char *[]){ "--top", NULL }));
	ck_assert_str_eq(options_nearest("--formt", (const char *[]){ "--format", NULL }),
			 "--format");
}
END_TEST

#define COUNT(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

/* "top, compare": each is a command that has the option. */
static void check_names(const struct option *option, char *names)
{
	for (char *name = strtok(names, ", "); name; name = strtok(NULL, ", ")) {
		bool has_it = false;

		for (unsigned int command = 1; command <= FOR_INDEX; command *= 2) {
			has_it |= strcmp(options_command(command), name) == 0 &&
				  (option->commands & command);
		}
		ck_assert_msg(has_it, "%s: \"%s\" has no such option", option->name, name);
	}
}

/* Each command is told what concerns it, and no other's part. */
START_TEST(help_is_of_the_command)
{
	for (const struct option *option = options_table; option->name; option++) {
		const char *open = strrchr(option->help, '(');
		size_t names = open ? strspn(open + 1, "abcdefghijklmnopqrstuvwxyz, ") : 0;
		char *bracket, *rest = NULL;

		if (!open || open[1 + names] != ':') {
			continue; /* for all commands the same */
		}
		bracket = mem_strdup(open + 1);
		for (char *part = strtok_r(bracket, ";)", &rest); part;
		     part = strtok_r(NULL, ";)", &rest)) {
			char *text = strstr(part, ": ");

			if (text) {
				*text = '\0';
				check_names(option, part);
				ck_assert_ptr_null(strstr(text + 2, ": "));
			}
		}
		free(bracket);
		for (unsigned int command = 1; command <= FOR_INDEX; command *= 2) {
			char *own = options_own_help(option->help, options_command(command));

			ck_assert_ptr_null(strchr(own, ';'));
			free(own);
		}
	}
}
END_TEST

Suite *suite_options(void)
{
	Suite *suite = suite_create("options");
	TCase *tcase = tcase_create("options");

	tcase_add_loop_test(tcase, takes_numbers, 0, COUNT(numbers));
	tcase_add_loop_test(tcase, takes_texts, 0, COUNT(texts));
	tcase_add_loop_test(tcase, takes_flags, 0, COUNT(flags));
	tcase_add_test(tcase, takes_lists);
	tcase_add_test(tcase, chooses_analyses);
	tcase_add_loop_test(tcase, refuses_options, 0, COUNT(refused));
	tcase_add_test(tcase, resolves_from);
	tcase_add_test(tcase, finds_nearest);
	tcase_add_test(tcase, help_is_of_the_command);
	suite_add_tcase(suite, tcase);
	return suite;
}
