/*
 * options: see cmd/options.h.  Parsing is libpopt's; units and suggestions are ours.
 */
#include "cmd/options-parts.h"

#include <assert.h>
#include <errno.h>
#include <popt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define FOR_BOTH (FOR_LIVE | FOR_ANALYZE)
#define FOR_SHOW (FOR_LIVE | FOR_ANALYZE | FOR_TOP | FOR_LAMI)
#define FOR_WORK (FOR_SHOW | FOR_MAP)   /* what workers are asked for */
#define FOR_ROWS (FOR_SHOW | FOR_MERGE) /* what is shown of it */
#define FOR_ALL                                                                                    \
	(FOR_WORK | FOR_ROWS | FOR_LIST | FOR_REPLAY | FOR_TRIGGERS | FOR_CAPTURE | FOR_REPORT)

struct spec {
	enum option_id id;
	char letter;
	const char *name, *argument, *help;
	unsigned int commands;
};

static const struct spec specs[] = {
	{ OPTION_ANALYSES, 'a', "analyses", "LIST", "names, all, or help (count,cpu,io; top: all)",
	  FOR_WORK },
	{ OPTION_FORMAT, 'f', "format", "FORMAT",
	  "text, json (an object per line), report: html (text)",
	  FOR_BOTH | FOR_MERGE | FOR_LIST | FOR_CAPTURE | FOR_REPORT },
	{ OPTION_INTERVAL, 'i', "interval", "DURATION",
	  "window (1s); analyze prints windows only if given", FOR_WORK },
	{ OPTION_TOP, 'n', "top", "N", "rows per table, 0: all (10 in text, 0 in JSON)",
	  FOR_BOTH | FOR_MERGE | FOR_LAMI | FOR_REPORT },
	{ OPTION_JOBS, 'j', "jobs", "N", "worker threads, 0 for none (online CPUs; report: 1)",
	  FOR_WORK | FOR_MERGE | FOR_REPORT },
	{ OPTION_OUTPUT, 'o', "output", "FILE", "write there (-, standard output)",
	  FOR_BOTH | FOR_MAP | FOR_MERGE | FOR_LAMI | FOR_REPORT },
	{ OPTION_CHUNK_SIZE, 0, "chunk-size", "SIZE", "bytes at which a chunk closes (1M)",
	  FOR_WORK },
	{ OPTION_MAX_MEMORY, 0, "max-memory", "SIZE", "bound for packets and partials held (256M)",
	  FOR_WORK | FOR_MERGE },
	{ OPTION_DURATION, 0, "duration", "DURATION", "stop after this time", FOR_LIVE },
	{ OPTION_WINDOWS, 0, "windows", "N", "stop after so many windows", FOR_LIVE },
	{ OPTION_FROM, 0, "from", "PLACE", "where to attach: beginning or now (now)",
	  FOR_LIVE | FOR_TOP },
	{ OPTION_GRACE, 0, "grace", "DURATION", "how long to wait for a silent stream (5s)",
	  FOR_LIVE | FOR_TOP },
	{ OPTION_ON_LAG, 0, "on-lag", "WHAT", "when far behind: keep on, or skip to now (keep)",
	  FOR_LIVE | FOR_TOP },
	{ OPTION_LAG_LIMIT, 0, "lag-limit", "DURATION", "how far behind --on-lag skip skips (10s)",
	  FOR_LIVE | FOR_TOP },
	{ OPTION_RETRY, 0, "retry", "DURATION", "keep trying a relay that is away (for ever)",
	  FOR_LIVE | FOR_TOP },
	{ OPTION_NO_RETRY, 0, "no-retry", NULL, "give up on a relay that is away",
	  FOR_LIVE | FOR_TOP },
	{ OPTION_BEGIN, 0, "begin", "TIME", "only from HH:MM:SS[.frac], ISO time, or ns",
	  FOR_ANALYZE | FOR_MAP | FOR_LAMI | FOR_TOP | FOR_REPORT },
	{ OPTION_END, 0, "end", "TIME", "only until then",
	  FOR_ANALYZE | FOR_MAP | FOR_LAMI | FOR_TOP | FOR_REPORT },
	{ OPTION_STATE, 0, "state", "FILE",
	  "go on from there, and leave there what is known at the end", FOR_BOTH },
	{ OPTION_THREAD, 0, "thread", "TID|NAME",
	  "explain this one (the trigger's, or that which ran longest)", FOR_REPORT },
	{ OPTION_JOB, 0, "job", "MODEL|PATTERN", "its executions: 'EVENT; EVENT', a model, or help",
	  FOR_REPORT },
	{ OPTION_DEADLINE, 0, "deadline", "DURATION", "count executions that take longer",
	  FOR_REPORT },
	{ OPTION_WITHIN, 0, "within", "MODEL|PATTERN", "only those that lie in one of these",
	  FOR_REPORT },
	{ OPTION_EVERY, 0, "every", "DURATION", "they arrive so often; deadlines count from then",
	  FOR_REPORT },
	{ OPTION_TO, 0, "to", "URL", "the relay, net://HOST[:CONTROL[:DATA]] (5342)", FOR_REPLAY },
	{ OPTION_SPEED, 0, "speed", "X", "times the original speed, 0: full speed (1)",
	  FOR_REPLAY },
	{ OPTION_LOOP, 0, "loop", "N", "play N times, one after the other (1)", FOR_REPLAY },
	{ OPTION_SESSION, 0, "session", "NAME", "session name (each trace's own)", FOR_REPLAY },
	{ OPTION_HOST, 0, "hostname", "NAME", "host name (each trace's own)", FOR_REPLAY },
	{ OPTION_LIVE_TIMER, 0, "live-timer", "DURATION", "live timer of the sessions (1s)",
	  FOR_REPLAY },
	{ OPTION_WAIT_VIEWER, 0, "wait-viewer", NULL, "begin when a viewer has attached",
	  FOR_REPLAY },
	{ OPTION_LINGER, 0, "linger", "DURATION", "keep the sessions after the last packet (0)",
	  FOR_REPLAY },
	{ OPTION_AS_NOW, 0, "as-now", NULL, "move the clocks so that traces begin now",
	  FOR_REPLAY },
	{ OPTION_TID, 0, "tid", "LIST", "only rows of these threads", FOR_ROWS },
	{ OPTION_PID, 0, "pid", "LIST", "only rows of these processes", FOR_ROWS },
	{ OPTION_COMM, 0, "comm", "LIST", "only rows of threads with these names", FOR_ROWS },
	{ OPTION_CPU, 0, "cpu", "LIST", "only rows of these CPUs", FOR_ROWS },
	{ OPTION_IRQ, 0, "irq", "LIST", "only rows of these interrupts, by number or name",
	  FOR_ROWS },
	{ OPTION_PER, 0, "per", "cpu|tid|pid|comm|prio", "only lists by these", FOR_ROWS },
	{ OPTION_SORT, 0, "sort", "KEY",
	  "sort by this figure, named as in JSON, where there is one", FOR_ROWS },
	{ OPTION_MIN, 0, "min", "DURATION", "in lists of the longest: only those that took so long",
	  FOR_ROWS },
	{ OPTION_MAX, 0, "max", "DURATION", "only those that took no longer", FOR_ROWS },
	{ OPTION_FREQ, 0, "freq", NULL, "text: distributions as bars", FOR_BOTH | FOR_MERGE },
	{ OPTION_FREQ_BINS, 0, "freq-bins", "N", "--freq with N bins of one width",
	  FOR_BOTH | FOR_MERGE },
	{ OPTION_PERIOD, 0, "period", "SPEC",
	  "measure from one event to another: 'NAME = EVENT; EVENT; by FIELD'", FOR_WORK },
	{ OPTION_UST_SPAN, 0, "ust-span", "BEGIN,END", "the same of two events of one thread",
	  FOR_WORK },
	{ OPTION_TRIGGER, 0, "trigger", "EXPR", "say when it holds: 'cpu.busy > 90% for 3s'",
	  FOR_BOTH },
	{ OPTION_TRIGGERS, 0, "triggers", "FILE", "triggers with names and actions", FOR_BOTH },
	{ OPTION_ON_TRIGGER, 0, "on-trigger", "ACTION",
	  "of --trigger: print, capture, exec COMMAND, ...", FOR_BOTH },
	{ OPTION_TRIGGER_INTERVAL, 0, "trigger-interval", "DURATION",
	  "look at triggers so often, not only when a window is printed", FOR_BOTH },
	{ OPTION_DRY_RUN, 0, "dry-run", NULL, "triggers are only printed", FOR_BOTH },
	{ OPTION_HISTORY, 0, "history", "DURATION|SIZE", "keep the last packets for captures",
	  FOR_LIVE },
	{ OPTION_HISTORY_DIR, 0, "history-dir", "DIR", "keep them there, not in memory", FOR_LIVE },
	{ OPTION_BEFORE, 0, "before", "DURATION", "captured before a trigger (10s, or --history)",
	  FOR_LIVE },
	{ OPTION_AFTER, 0, "after", "DURATION", "captured after it (1s)", FOR_LIVE },
	{ OPTION_CAPTURE_DIR, 0, "capture-dir", "DIR", "where captures go (sillage-captures)",
	  FOR_LIVE },
	{ OPTION_KEEP, 0, "keep", "N|SIZE", "remove older captures beyond that (all are kept)",
	  FOR_LIVE },
	{ OPTION_PER_HOUR, 0, "captures-per-hour", "N", "of triggers, no more than that (30)",
	  FOR_LIVE },
	{ OPTION_CONTROL, 0, "control", "SOCKET", "listen there for `sillage capture SOCKET`",
	  FOR_LIVE },
	{ OPTION_CHECK, 0, "check", "FILE", "say whether a file of triggers is right",
	  FOR_TRIGGERS },
	{ OPTION_MI_VERSION, 0, "mi-version", NULL, "print the version of LAMI", FOR_LAMI },
	{ OPTION_METADATA, 0, "metadata", NULL, "describe the tables", FOR_LAMI },
	{ OPTION_TEST_COMPATIBILITY, 0, "test-compatibility", NULL, "whether TRACE can be read",
	  FOR_LAMI },
	{ OPTION_OUTPUT_PROGRESS, 0, "output-progress", NULL, "accepted, without effect",
	  FOR_LAMI },
	{ OPTION_METRICS, 0, "metrics", "[HOST]:PORT", "serve http://HOST:PORT/metrics (loopback)",
	  FOR_LIVE | FOR_TOP },
	{ OPTION_STATS, 0, "stats", NULL, "say at the end where time and memory went", FOR_BOTH },
	{ OPTION_QUIET, 'q', "quiet", NULL, "say less on standard error", FOR_ALL },
	{ OPTION_VERBOSE, 'v', "verbose", NULL, "say more on standard error", FOR_ALL },
	{ OPTION_HELP, 'h', "help", NULL, "this text", FOR_ALL },
};

#define SPECS (sizeof(specs) / sizeof(specs[0]))

const char *options_name(enum option_id id)
{
	size_t i = 0;

	while (specs[i].id != id) {
		i++;
	}
	return specs[i].name;
}

/* ---- parsing ---- */

static void set_defaults(struct options *o)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	memset(o, 0, sizeof(*o));
	o->format = "text";
	o->from = "now";
	o->on_lag = "keep";
	o->before_ns = UINT64_C(10000000000);
	o->after_ns = UINT64_C(1000000000);
	o->capture_dir = "sillage-captures";
	o->keep_count = UINT64_MAX;
	o->keep_bytes = UINT64_MAX;
	o->per_hour = 30;
	o->deadline_ns = UINT64_MAX;
	o->selection.max_ns = UINT64_MAX;
	o->lag_limit_ns = UINT64_C(10000000000);
	o->interval_ns = 1000000000;
	o->top = 10;
	o->jobs = cpus > 0 ? (uint64_t)cpus : 1;
	o->chunk_bytes = UINT64_C(1) << 20;
	o->max_memory = UINT64_C(256) << 20;
	o->retry_ns = UINT64_MAX;
	o->grace_ns = UINT64_C(5000000000);
	o->speed = 1;
	o->loops = 1;
	o->live_timer_ns = 1000000000;
}

static size_t make_table(unsigned int command, struct poptOption *table)
{
	size_t count = 0;

	for (size_t i = 0; i < SPECS; i++) {
		if (specs[i].commands & command) {
			table[count].longName = specs[i].name;
			table[count].shortName = specs[i].letter;
			table[count].argInfo = specs[i].argument ? POPT_ARG_STRING : POPT_ARG_NONE;
			table[count++].val = (int)specs[i].id;
		}
	}
	return count;
}

static int bad_option(poptContext context, int code, unsigned int command, struct err *err)
{
	const char *word = poptBadOption(context, POPT_BADOPTION_NOALIAS);
	const char *names[SPECS + 1] = { 0 };
	char dashed[SPECS][32];
	size_t count = 0;

	if (code != POPT_ERROR_BADOPT) {
		return err_raise(err, -EINVAL, "option \"%s\": %s", word, poptStrerror(code));
	}
	for (size_t i = 0; i < SPECS; i++) {
		if (specs[i].commands & command) {
			(void)snprintf(dashed[count], sizeof(dashed[0]), "--%s", specs[i].name);
			names[count] = dashed[count];
			count++;
		}
	}
	return options_refuse(err, "option", word, names);
}

/* popt gives back memory per string; it is kept until options_fini(). */
struct retained {
	poptContext context;
	VEC(char *) values;
};

int options_parse(struct options *options, unsigned int command, int argc, const char **argv,
		  struct err *err)
{
	struct poptOption table[SPECS + 1] = { 0 };
	struct retained *retained = mem_alloc(sizeof(*retained));
	int r = 0, id;

	set_defaults(options);
	(void)options_analyses(options, command == FOR_TOP ? "all" : "count,cpu,io",
			       err); /* cannot fail */
	options->memory = retained;
	(void)make_table(command, table);
	retained->context = poptGetContext("sillage", argc, argv, table, 0);
	while (r == 0 && (id = poptGetNextOpt(retained->context)) > 0) {
		char *value = poptGetOptArg(retained->context);

		*vec_push(&retained->values) = value;
		r = options_take(options, (enum option_id)id, value, err);
	}
	if (r == 0 && id < -1) {
		r = bad_option(retained->context, id, command, err);
	}
	r = r == 0 ? options_finish(options, command, err) : r;
	if (r == 0) {
		static const char *none[] = { NULL };

		options->args = poptGetArgs(retained->context);
		options->args = options->args ? options->args : none;
	}
	return r;
}

void options_fini(struct options *options)
{
	for (size_t i = 0; i < options->selection.comms.count; i++) {
		free((char *)options->selection.comms.at[i]);
	}
	for (size_t i = 0; i < options->selection.irqs.count; i++) {
		free((char *)options->selection.irqs.at[i]);
	}
	vec_fini(&options->selection.comms);
	vec_fini(&options->selection.irqs);
	period_set_fini(&options->periods);
	vec_fini(&options->triggers);
	vec_fini(&options->trigger_files);
	vec_fini(&options->selection.tids);
	vec_fini(&options->selection.pids);
	vec_fini(&options->selection.cpus);
	struct retained *retained = options->memory;

	if (!retained) {
		return;
	}
	(void)poptFreeContext(retained->context);
	for (size_t i = 0; i < retained->values.count; i++) {
		free(retained->values.at[i]);
	}
	vec_fini(&retained->values);
	free(retained);
	options->memory = NULL;
}

void options_print_help(unsigned int command, FILE *out)
{
	for (size_t i = 0; i < SPECS; i++) {
		const struct spec *spec = &specs[i];
		char names[40];

		if (!(spec->commands & command)) {
			continue;
		}
		(void)snprintf(names, sizeof(names), "%s%c%s --%s%s%s", spec->letter ? "-" : " ",
			       spec->letter ? spec->letter : ' ', spec->letter ? "," : " ",
			       spec->name, spec->argument ? " " : "",
			       spec->argument ? spec->argument : "");
		(void)fprintf(out, "  %-27s %s\n", names, spec->help);
	}
}

/* ---- completion ---- */

void options_print_completion(const struct options_command *commands, FILE *out)
{
	(void)fputs("# bash completion for sillage; made by `sillage help completion`.\n"
		    "_sillage() {\n"
		    "    local word=${COMP_WORDS[COMP_CWORD]} options\n"
		    "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
		    "        COMPREPLY=($(compgen -W '",
		    out);
	for (size_t i = 0; commands[i].name; i++) {
		(void)fprintf(out, "%s ", commands[i].name);
	}
	(void)fputs("help' -- \"$word\"))\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n",
		    out);
	for (size_t i = 0; commands[i].name; i++) {
		const char *space = "";

		(void)fprintf(out, "    %s) options='", commands[i].name);
		for (size_t k = 0; k < SPECS; k++) {
			if (specs[k].commands & commands[i].options) {
				(void)fprintf(out, "%s--%s", space, specs[k].name);
				space = " ";
			}
		}
		(void)fputs("' ;;\n", out);
	}
	(void)fputs("    esac\n"
		    "    case $word in\n"
		    "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
		    "    *) compopt -o default ;;\n"
		    "    esac\n"
		    "}\n"
		    "complete -F _sillage sillage\n",
		    out);
}
