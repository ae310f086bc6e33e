/*
 * actions: what is done when a trigger fires, files of triggers, and wrong actions.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/limits.h"
#include "made-report.h"
#include "trigger/actions.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static struct made made;
static const struct trace_identity trace = { .host = (char *)"h", .session = (char *)"s" };
static unsigned int printed, captured, reports;
static char said[500];

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
}

static void print(struct output *output, const struct trace_identity *identity,
		  const struct trigger_event *event)
{
	ck_assert_uint_gt(event->count, 0);
	printed++;
}

static void capture(void *context, const struct trace_identity *identity,
		    const struct trigger_event *event, unsigned int extras)
{
	ck_assert_ptr_eq(context, &made);
	captured++;
	reports += extras;
}

static const struct sink sink = { .name = "counting", .trigger = print };

/* A window in which the CPU is busy, or not. */
static void evaluate(struct actions *actions, bool is_busy)
{
	static uint64_t second = 100;
	struct output output = { .sink = &sink };

	made_window(&made, second++);
	(void)made_table(&made, "cpu", SCOPE_TRACE, NULL);
	(void)made_row(&made, 0, 0, "");
	*made_value(&made, is_busy ? "busy_ns" : "idle_ns") = MADE_NS_PER_S;
	actions_report(actions, &output, &trace, &made.report, &made);
}

static struct actions *new_actions(const char *action)
{
	struct actions *actions = actions_new(say);
	struct err err;

	printed = captured = reports = 0;
	said[0] = '\0';
	ck_assert_msg(actions_add(actions, "hot", "cpu.busy > 90%", action, &err) == 0, "%s",
		      err.text);
	actions_on_capture(actions, capture);
	return actions;
}

static const struct {
	const char *action;
	bool is_dry;
	unsigned int printed, captured, reports;
} kinds[] = {
	{ "print", false, 1, 0, 0 },
	{ "capture", false, 1, 1, 0 },
	{ "capture,report", false, 1, 1, 1 },
	{ "exec true", false, 0, 0, 0 },
	{ "capture,report", true, 1, 0, 0 },
	{ "exec false", true, 1, 0, 0 },
	{ "capture,perfetto", false, 1, 1, CAPTURE_PERFETTO },
	{ "capture,report,perfetto", false, 1, 1, CAPTURE_REPORT | CAPTURE_PERFETTO },
	{ "capture,report,discover", false, 1, 1, CAPTURE_REPORT | CAPTURE_JOBS },
};

START_TEST(does_what_it_says)
{
	struct actions *actions = new_actions(kinds[_i].action);

	ck_assert_int_eq(actions_captures(actions), strncmp(kinds[_i].action, "capture", 7) == 0);
	if (kinds[_i].is_dry) {
		actions_dry_run(actions);
	}
	evaluate(actions, false);
	ck_assert_uint_eq(printed + captured, 0);
	evaluate(actions, true);
	evaluate(actions, true);
	ck_assert_uint_eq(printed, kinds[_i].printed);
	ck_assert_uint_eq(captured, kinds[_i].captured);
	ck_assert_uint_eq(reports, kinds[_i].reports);
	actions_free(actions);
}
END_TEST

/* A command gets the line on standard input and the facts in its environment; dry, it is not run.
 */
START_TEST(runs_commands)
{
	char dir[] = "/tmp/sillage-unit-XXXXXX", line[4096] = "", *action, *path;
	struct actions *actions;
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	path = mem_printf("%s/out", dir);
	action = mem_printf("exec { cat; echo \"$SILLAGE_TRIGGER|$SILLAGE_SAYS|$SILLAGE_HOST|"
			    "$SILLAGE_SESSION|$SILLAGE_END\"; } > %s",
			    path);
	actions = new_actions(action);
	if (_i == 1) {
		actions_dry_run(actions);
	}
	evaluate(actions, true);
	actions_free(actions); /* waits for it */
	file = fopen(path, "re");
	ck_assert_int_eq(file != NULL, _i == 0);
	if (file) {
		ck_assert_uint_gt(fread(line, 1, sizeof(line) - 1, file), 0);
		(void)fclose(file);
		ck_assert_ptr_nonnull(strstr(line, "\"type\":\"trigger\""));
		ck_assert_ptr_nonnull(strstr(line, "}\nhot|cpu.busy 100.0 %, > 90.0 %|h|s|"));
	}
	(void)unlink(path);
	(void)rmdir(dir);
	free(action);
	free(path);
}
END_TEST

/* No more than ACTIONS_MAX run at the same time: until a file is there. */
START_TEST(bounds_commands)
{
	char dir[] = "/tmp/sillage-unit-XXXXXX", *action, *path;
	struct actions *actions;

	ck_assert_ptr_nonnull(mkdtemp(dir));
	path = mem_printf("%s/over", dir);
	action = mem_printf("exec until [ -e %s ]; do sleep 0.02; done", path);
	actions = new_actions(action);
	for (int i = 0; i < ACTIONS_MAX; i++) {
		evaluate(actions, true);
		evaluate(actions, false);
	}
	ck_assert_str_eq(said, "");
	evaluate(actions, true);
	ck_assert_ptr_nonnull(strstr(said, "trigger hot: its command is not run"));
	ck_assert_int_eq(mkdir(path, 0700), 0);
	actions_free(actions); /* waits for them */
	(void)rmdir(path);
	(void)rmdir(dir);
	free(action);
	free(path);
}
END_TEST

static const char *const bad_actions[] = {
	"",
	"printer",
	"exec",
	"exec  ",
	"capture,all",
	"lttng-snapshot",
	"lttng-snapshot ",
	"lttng-snapshot a;b",
	"lttng-snapshot -a",
};

START_TEST(refuses_actions)
{
	struct actions *actions = actions_new(say);
	struct err err;

	ck_assert_int_eq(actions_add(actions, NULL, "cpu.busy > 1%", bad_actions[_i], &err),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "action"));
	actions_free(actions);
}
END_TEST

static const struct {
	const char *text, *why; /* NULL: it is right */
} files[] = {
	{ "# nothing\n\n", NULL },
	{ "[a]\nwhen = cpu.busy > 1%\ndo = print\n[b]\nwhen=cpu.idle>1%\ndo=exec true\ndo = print",
	  NULL },
	{ "[a]\nwhen = cpu.busy > 1%\n", "line 2: [a] has no `do`" },
	{ "[a]\n[b]\n", "line 2: [a] has no `when`" },
	{ "when = cpu.busy > 1%\n", "line 1: expected [NAME]" },
	{ "[a]\ndo = print\n", "line 2: \"do\": expected one `when`" },
	{ "[a]\nwhen = cpu.busy > 1%\nwhen = cpu.busy > 1%\n", "line 3: \"when\": expected" },
	{ "[a]\nwhen = cpu.busy > 1%\ndo = nothing\n", "line 3: action \"nothing\"" },
	{ "[a]\nwhen = cpu.bus > 1%\n", "line 2: trigger \"cpu.bus > 1%\": column 5" },
	{ "[]\n", "line 1: expected [NAME]" },
	{ "[a\n", "line 1: expected [NAME]" },
	{ "[a]\nnonsense\n", "line 2: expected [NAME] or KEY = VALUE" },
};

START_TEST(reads_files)
{
	char path[] = "/tmp/sillage-unit-XXXXXX";
	struct actions *actions = actions_new(say);
	FILE *file = fdopen(mkstemp(path), "w");
	struct err err = { "" };
	int r;

	(void)fputs(files[_i].text, file);
	(void)fclose(file);
	r = actions_add_file(actions, path, &err);
	ck_assert_int_eq(r, files[_i].why ? -EINVAL : 0);
	ck_assert_msg(!files[_i].why || strstr(err.text, files[_i].why), "%s", err.text);
	ck_assert(files[_i].why || actions_count(actions) == (_i == 0 ? 0 : 2));
	(void)unlink(path);
	actions_free(actions);
}
END_TEST

/* The analyses of triggers are added in the order of reports. */
START_TEST(adds_analyses)
{
	const struct analysis *list[ANALYSES_MAX] = { made_analysis("sched"), NULL };
	struct actions *actions = new_actions("print");

	actions_add_analyses(actions, list);
	ck_assert_str_eq(list[0]->name, "cpu");
	ck_assert_str_eq(list[1]->name, "sched");
	ck_assert_ptr_null(list[2]);
	actions_free(actions);
}
END_TEST

Suite *suite_actions(void)
{
	Suite *suite = suite_create("actions");
	TCase *tcase = tcase_create("actions");

	tcase_add_loop_test(tcase, does_what_it_says, 0, COUNT(kinds));
	tcase_add_loop_test(tcase, runs_commands, 0, 2);
	tcase_add_test(tcase, bounds_commands);
	tcase_add_loop_test(tcase, refuses_actions, 0, COUNT(bad_actions));
	tcase_add_loop_test(tcase, reads_files, 0, COUNT(files));
	tcase_add_test(tcase, adds_analyses);
	suite_add_tcase(suite, tcase);
	return suite;
}
