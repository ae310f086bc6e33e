/*
 * options: see options.h.  Parsing is libpopt's; units and suggestions are ours.
 */
#include "options.h"

#include <assert.h>
#include <errno.h>
#include <popt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/spread.h"
#include "base/units.h"

enum option_id {
	OPTION_ANALYSES = 1,
	OPTION_FORMAT,
	OPTION_INTERVAL,
	OPTION_TOP,
	OPTION_JOBS,
	OPTION_OUTPUT,
	OPTION_CHUNK_SIZE,
	OPTION_MAX_MEMORY,
	OPTION_DURATION,
	OPTION_WINDOWS,
	OPTION_FROM,
	OPTION_GRACE,
	OPTION_ON_LAG,
	OPTION_LAG_LIMIT,
	OPTION_RETRY,
	OPTION_NO_RETRY,
	OPTION_BEGIN,
	OPTION_END,
	OPTION_TO,
	OPTION_SPEED,
	OPTION_LOOP,
	OPTION_SESSION,
	OPTION_HOST,
	OPTION_LIVE_TIMER,
	OPTION_WAIT_VIEWER,
	OPTION_LINGER,
	OPTION_AS_NOW,
	OPTION_STATS,
	OPTION_METRICS,
	OPTION_TRIGGER,
	OPTION_TRIGGERS,
	OPTION_ON_TRIGGER,
	OPTION_HISTORY,
	OPTION_HISTORY_DIR,
	OPTION_BEFORE,
	OPTION_AFTER,
	OPTION_CAPTURE_DIR,
	OPTION_KEEP,
	OPTION_PER_HOUR,
	OPTION_CONTROL,
	OPTION_THREAD,
	OPTION_JOB,
	OPTION_DEADLINE,
	OPTION_EVERY,
	OPTION_WITHIN,
	OPTION_DRY_RUN,
	OPTION_TRIGGER_INTERVAL,
	OPTION_CHECK,
	OPTION_MI_VERSION,
	OPTION_METADATA,
	OPTION_TEST_COMPATIBILITY,
	OPTION_OUTPUT_PROGRESS,
	OPTION_TID,
	OPTION_IRQ,
	OPTION_PER,
	OPTION_FREQ_BINS,
	OPTION_PID,
	OPTION_COMM,
	OPTION_CPU,
	OPTION_SORT,
	OPTION_MIN,
	OPTION_MAX,
	OPTION_FREQ,
	OPTION_PERIOD,
	OPTION_UST_SPAN,
	OPTION_QUIET,
	OPTION_VERBOSE,
	OPTION_HELP,
};

#define FOR_BOTH (FOR_LIVE | FOR_ANALYZE)
#define FOR_SHOW (FOR_LIVE | FOR_ANALYZE | FOR_TOP | FOR_LAMI)
#define FOR_ALL  (FOR_SHOW | FOR_LIST | FOR_REPLAY | FOR_TRIGGERS | FOR_CAPTURE | FOR_REPORT)

struct spec {
	enum option_id id;
	char letter;
	const char *name, *argument, *help;
	unsigned int commands;
};

static const struct spec specs[] = {
	{ OPTION_ANALYSES, 'a', "analyses", "LIST", "names, all, or help (count,cpu,io; top: all)",
	  FOR_SHOW },
	{ OPTION_FORMAT, 'f', "format", "FORMAT",
	  "text, json (an object per line), report: html (text)",
	  FOR_BOTH | FOR_LIST | FOR_CAPTURE | FOR_REPORT },
	{ OPTION_INTERVAL, 'i', "interval", "DURATION",
	  "window (1s); analyze prints windows only if given", FOR_SHOW },
	{ OPTION_TOP, 'n', "top", "N", "rows per table, 0: all (10 in text, 0 in JSON)",
	  FOR_BOTH | FOR_LAMI | FOR_REPORT },
	{ OPTION_JOBS, 'j', "jobs", "N", "worker threads, 0 for none (online CPUs)", FOR_SHOW },
	{ OPTION_OUTPUT, 'o', "output", "FILE", "write there (-, standard output)",
	  FOR_BOTH | FOR_LAMI | FOR_REPORT },
	{ OPTION_CHUNK_SIZE, 0, "chunk-size", "SIZE", "bytes at which a chunk closes (1M)",
	  FOR_SHOW },
	{ OPTION_MAX_MEMORY, 0, "max-memory", "SIZE", "bound for packets and partials held (256M)",
	  FOR_SHOW },
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
	  FOR_ANALYZE | FOR_LAMI | FOR_TOP | FOR_REPORT },
	{ OPTION_END, 0, "end", "TIME", "only until then",
	  FOR_ANALYZE | FOR_LAMI | FOR_TOP | FOR_REPORT },
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
	{ OPTION_TID, 0, "tid", "LIST", "only rows of these threads", FOR_SHOW },
	{ OPTION_PID, 0, "pid", "LIST", "only rows of these processes", FOR_SHOW },
	{ OPTION_COMM, 0, "comm", "LIST", "only rows of threads with these names", FOR_SHOW },
	{ OPTION_CPU, 0, "cpu", "LIST", "only rows of these CPUs", FOR_SHOW },
	{ OPTION_IRQ, 0, "irq", "LIST", "only rows of these interrupts, by number or name",
	  FOR_SHOW },
	{ OPTION_PER, 0, "per", "cpu|tid|pid|comm|prio", "only lists by these", FOR_SHOW },
	{ OPTION_SORT, 0, "sort", "KEY",
	  "sort by this figure, named as in JSON, where there is one", FOR_SHOW },
	{ OPTION_MIN, 0, "min", "DURATION", "in lists of the longest: only those that took so long",
	  FOR_SHOW },
	{ OPTION_MAX, 0, "max", "DURATION", "only those that took no longer", FOR_SHOW },
	{ OPTION_FREQ, 0, "freq", NULL, "text: distributions as bars", FOR_BOTH },
	{ OPTION_FREQ_BINS, 0, "freq-bins", "N", "--freq with N bins of one width", FOR_BOTH },
	{ OPTION_PERIOD, 0, "period", "SPEC",
	  "measure from one event to another: 'NAME = EVENT; EVENT; by FIELD'", FOR_SHOW },
	{ OPTION_UST_SPAN, 0, "ust-span", "BEGIN,END", "the same of two events of one thread",
	  FOR_SHOW },
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

/* ---- suggestions ---- */

static unsigned int least(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int low = a < b ? a : b;

	return low < c ? low : c;
}

/* Levenshtein distance of short words. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[64];
	size_t len = strlen(b);

	if (len >= 63) {
		return UINT32_MAX;
	}
	for (unsigned int i = 0; i <= len; i++) {
		row[i] = i;
	}
	for (unsigned int k = 0; a[k]; k++) {
		unsigned int corner = row[0];

		row[0] = k + 1;
		for (unsigned int i = 0; i < len; i++) {
			unsigned int above = row[i + 1];

			row[i + 1] = least(above + 1, row[i] + 1, corner + (a[k] != b[i]));
			corner = above;
		}
	}
	return row[len];
}

const char *options_nearest(const char *word, const char *const *words)
{
	const char *found = NULL;
	unsigned int best = (unsigned int)strlen(word) / 2 + 2;

	for (; *words; words++) {
		unsigned int d = distance(word, *words);

		if (d < best) {
			best = d;
			found = *words;
		}
	}
	return found;
}

static int refuse(struct err *err, const char *what, const char *word, const char *const *words)
{
	const char *near = options_nearest(word, words);

	if (near) {
		return err_raise(err, -EINVAL, "unknown %s \"%s\"; did you mean \"%s\"?", what,
				 word, near);
	}
	return err_raise(err, -EINVAL, "unknown %s \"%s\"", what, word);
}

/* ---- values ---- */

static int bad_value(struct err *err, const char *option, const char *value, const char *expected)
{
	return err_raise(err, -EINVAL, "--%s: \"%s\" is not %s", option, value, expected);
}

static int take_count(const char *option, const char *value, uint64_t max, uint64_t *ret,
		      struct err *err)
{
	char *past;

	errno = 0;
	*ret = strtoull(value, &past, 10);
	if (value[0] < '0' || value[0] > '9' || *past || errno || *ret > max) {
		return bad_value(err, option, value, "a number in range");
	}
	return 0;
}

static int take_size(const char *option, const char *value, uint64_t *ret, struct err *err)
{
	if (units_parse_size(value, ret) < 0 || *ret == 0) {
		return bad_value(err, option, value, "a size such as 64K, 1M or 2G");
	}
	return 0;
}

static int take_duration(const char *option, const char *value, uint64_t *ret, struct err *err)
{
	if (units_parse_duration(value, ret) < 0) {
		return bad_value(err, option, value,
				 "a duration such as 500ms, 1s or 2m (ns us ms s "
				 "m h)");
	}
	return 0;
}

static int take_word(const char *option, const char *value, const char *const *words,
		     const char **ret, struct err *err)
{
	for (size_t i = 0; words[i]; i++) {
		if (strcmp(words[i], value) == 0) {
			*ret = words[i];
			return 0;
		}
	}
	return refuse(err, option, value, words);
}

static int find_analysis(const char *name, const struct analysis **ret, struct err *err)
{
	const char *names[ANALYSES_MAX + 2] = { 0 };
	size_t i;

	for (i = 0; analyses[i]; i++) {
		if (strcmp(analyses[i]->name, name) == 0) {
			*ret = analyses[i];
			return 0;
		}
		names[i] = analyses[i]->name;
	}
	names[i] = "all";
	return refuse(err, "analysis", name, names);
}

/* In the order of the list, whatever the order given: keys have a fixed order. */
static void choose(struct options *options, const bool chosen[ANALYSES_MAX])
{
	size_t count = 0;

	for (size_t i = 0; analyses[i]; i++) {
		if (chosen[i]) {
			options->analyses[count++] = analyses[i];
		}
	}
	options->analyses[count] = NULL;
}

static int take_analyses(struct options *options, const char *value, struct err *err)
{
	char *list = mem_strdup(value), *rest = list;
	bool chosen[ANALYSES_MAX] = { false };
	const char *name;
	int r = 0;

	while (r == 0 && (name = strsep(&rest, ","))) {
		const struct analysis *found = NULL;

		if (strcmp(name, "help") == 0) {
			for (size_t i = 0; analyses[i]; i++) {
				(void)printf("%-8s %s\n", analyses[i]->name, analyses[i]->summary);
			}
			r = 1;
			break;
		}
		r = strcmp(name, "all") == 0 ? 0 : find_analysis(name, &found, err);
		for (size_t i = 0; r == 0 && analyses[i]; i++) {
			chosen[i] |= !found || analyses[i] == found;
		}
	}
	choose(options, chosen);
	free(list);
	return r;
}

/* Periods are measured if some are asked for, and only then. */
static int settle_periods(struct options *options, struct err *err)
{
	bool chosen[ANALYSES_MAX] = { false }, others = false;

	for (size_t i = 0; analyses[i]; i++) {
		bool is_periods = strcmp(analyses[i]->name, "periods") == 0;

		for (size_t k = 0; options->analyses[k]; k++) {
			chosen[i] |= options->analyses[k] == analyses[i];
		}
		others |= chosen[i] && !is_periods;
		if (is_periods && chosen[i] && !others && options->periods.all.count == 0) {
			return err_raise(err, -EINVAL, "no period to measure: --period says which");
		}
		chosen[i] = is_periods ? options->periods.all.count > 0 : chosen[i];
	}
	choose(options, chosen);
	return 0;
}

/* Numbers with commas between. */
static int take_numbers(const char *option, const char *value, struct options *o, enum option_id id,
			struct err *err)
{
	char *list = mem_strdup(value), *rest = list;
	const char *word;
	uint64_t number;
	int r = 0;

	while (r == 0 && (word = strsep(&rest, ","))) {
		r = take_count(option, word, UINT32_MAX, &number, err);
		if (r == 0 && id == OPTION_TID) {
			*vec_push(&o->selection.tids) = (int64_t)number;
		} else if (r == 0 && id == OPTION_PID) {
			*vec_push(&o->selection.pids) = (int64_t)number;
		} else if (r == 0) {
			*vec_push(&o->selection.cpus) = (int64_t)number;
		}
	}
	free(list);
	return r;
}

static void take_names(struct options *o, enum option_id id, const char *value)
{
	char *list = mem_strdup(value), *rest = list;
	const char *word;

	while ((word = strsep(&rest, ","))) {
		if (id == OPTION_IRQ) {
			*vec_push(&o->selection.irqs) = mem_strdup(word);
		} else {
			*vec_push(&o->selection.comms) = mem_strdup(word);
		}
	}
	free(list);
}

static int take_per(struct options *o, const char *value, struct err *err)
{
	static const char *const names[] = { "all", "cpu", "tid", "pid", "comm", "prio", NULL };
	const char *found = NULL;
	int r = take_word("per", value, names, &found, err);

	for (unsigned int i = 0; r == 0 && names[i]; i++) {
		if (strcmp(names[i], found) == 0) {
			o->selection.per = (enum per)i;
		}
	}
	return r;
}

/* What some analysis has as a column. */
static int take_sort(struct options *o, const char *value, struct err *err)
{
	const char *keys[ANALYSES_MAX * TABLES_MAX * COLUMNS_MAX + 1];
	size_t count = 0;

	for (size_t a = 0; analyses[a]; a++) {
		for (size_t t = 0; t < TABLES_MAX; t++) {
			const struct table *table = &analyses[a]->tables[t];

			for (size_t c = 0; table->key && c < COLUMNS_MAX && table->columns[c].key;
			     c++) {
				keys[count++] = table->columns[c].key;
			}
		}
	}
	keys[count] = NULL;
	return take_word("figure", value, keys, &o->selection.sort, err);
}

static int take_selection(struct options *o, enum option_id id, const char *value, struct err *err)
{
	switch (id) {
	case OPTION_TID:
		return take_numbers("tid", value, o, id, err);
	case OPTION_PID:
		return take_numbers("pid", value, o, id, err);
	case OPTION_CPU:
		return take_numbers("cpu", value, o, id, err);
	case OPTION_SORT:
		return take_sort(o, value, err);
	case OPTION_MIN:
		return take_duration("min", value, &o->selection.min_ns, err);
	case OPTION_MAX:
		return take_duration("max", value, &o->selection.max_ns, err);
	case OPTION_PER:
		return take_per(o, value, err);
	default:
		take_names(o, id, value);
		return 0;
	}
}

static int take_speed(const char *value, double *ret, struct err *err)
{
	char *past;

	*ret = strtod(value, &past);
	if (past == value || *past || !(*ret >= 0) || *ret > 1e6) {
		return bad_value(err, "speed", value, "a factor such as 1, 2.5 or 0");
	}
	return 0;
}

static int take_interval(struct options *options, const char *value, struct err *err)
{
	int r = take_duration("interval", value, &options->interval_ns, err);

	options->has_interval = true;
	if (r == 0 && options->interval_ns < 1000000) {
		return bad_value(err, "interval", value, "at least 1ms");
	}
	return r;
}

/* Options whose value is kept as it is. */
static bool take_text(struct options *o, enum option_id id, const char *value)
{
	switch (id) {
	case OPTION_OUTPUT:
		o->output = strcmp(value, "-") == 0 ? NULL : value;
		return true;
	case OPTION_BEGIN:
		o->begin = value;
		return true;
	case OPTION_END:
		o->end = value;
		return true;
	case OPTION_METRICS:
		o->metrics = value;
		return true;
	case OPTION_TRIGGER:
		*vec_push(&o->triggers) = value;
		return true;
	case OPTION_TRIGGERS:
		*vec_push(&o->trigger_files) = value;
		return true;
	case OPTION_ON_TRIGGER:
		o->on_trigger = value;
		return true;
	case OPTION_JOB:
		o->job = value;
		return true;
	case OPTION_WITHIN:
		o->within = value;
		return true;
	case OPTION_THREAD:
		o->thread = value;
		return true;
	case OPTION_CONTROL:
		o->control = value;
		return true;
	case OPTION_CAPTURE_DIR:
		o->capture_dir = value;
		return true;
	case OPTION_HISTORY_DIR:
		o->history_dir = value;
		return true;
	case OPTION_CHECK:
		o->check = value;
		return true;
	case OPTION_TO:
		o->to = value;
		return true;
	case OPTION_SESSION:
		o->session = value;
		return true;
	case OPTION_HOST:
		o->host = value;
		return true;
	default:
		return false;
	}
}

/* Options that have no value. */
static bool take_flag(struct options *o, enum option_id id)
{
	switch (id) {
	case OPTION_WAIT_VIEWER:
		o->wait_viewer = true;
		return true;
	case OPTION_AS_NOW:
		o->as_now = true;
		return true;
	case OPTION_STATS:
		o->stats = true;
		return true;
	case OPTION_FREQ:
		o->freq = true;
		return true;
	case OPTION_DRY_RUN:
		o->dry_run = true;
		return true;
	case OPTION_MI_VERSION:
		o->mi_version = true;
		return true;
	case OPTION_METADATA:
		o->metadata = true;
		return true;
	case OPTION_TEST_COMPATIBILITY:
		o->test_compatibility = true;
		return true;
	case OPTION_OUTPUT_PROGRESS:
		return true;
	case OPTION_QUIET:
		o->verbosity = -1;
		return true;
	case OPTION_VERBOSE:
		o->verbosity = 1;
		return true;
	case OPTION_HELP:
		o->wants_help = true;
		return true;
	default:
		return false;
	}
}

/* What a viewer that is behind does. */
static int take_lag(struct options *o, enum option_id id, const char *value, struct err *err)
{
	static const char *const words[] = { "keep", "skip", NULL };

	return id == OPTION_ON_LAG ? take_word("on-lag", value, words, &o->on_lag, err)
				   : take_duration("lag-limit", value, &o->lag_limit_ns, err);
}

/* A duration, or a size, whose unit is a capital letter: 5m are minutes, 5M bytes. */
static int take_history(struct options *o, const char *value, struct err *err)
{
	size_t len = strlen(value);
	bool is_duration = len > 0 && value[len - 1] >= 'a' && value[len - 1] <= 'z';

	o->has_history = true;
	o->history_ns = UINT64_MAX;
	if (is_duration ? units_parse_duration(value, &o->history_ns) < 0 || o->history_ns == 0
			: units_parse_size(value, &o->history_bytes) < 0 || o->history_bytes == 0) {
		return bad_value(err, "history", value,
				 "a duration such as 10s, or a size such as 64M");
	}
	return 0;
}

/* A number of captures, or a size: what has a unit. */
static int take_keep(struct options *o, const char *value, struct err *err)
{
	char *past;
	uint64_t count = strtoull(value, &past, 10);

	if (value[0] >= '1' && value[0] <= '9' && !*past) {
		o->keep_count = count;
		return 0;
	}
	if (units_parse_size(value, &o->keep_bytes) < 0 || o->keep_bytes == 0) {
		return bad_value(err, "keep", value, "a number such as 20, or a size such as 10G");
	}
	return 0;
}

static int take_capture(struct options *o, enum option_id id, const char *value, struct err *err)
{
	switch (id) {
	case OPTION_HISTORY:
		return take_history(o, value, err);
	case OPTION_BEFORE:
		o->has_before = true;
		return take_duration("before", value, &o->before_ns, err);
	case OPTION_KEEP:
		return take_keep(o, value, err);
	default:
		return take_count("captures-per-hour", value, UINT32_MAX, &o->per_hour, err);
	}
}

/* Options that are a duration and nothing else; NULL: it is none. */
static uint64_t *duration_of(struct options *o, enum option_id id)
{
	switch (id) {
	case OPTION_DURATION:
		return &o->duration_ns;
	case OPTION_GRACE:
		return &o->grace_ns;
	case OPTION_RETRY:
		return &o->retry_ns;
	case OPTION_AFTER:
		return &o->after_ns;
	case OPTION_LIVE_TIMER:
		return &o->live_timer_ns;
	case OPTION_LINGER:
		return &o->linger_ns;
	case OPTION_DEADLINE:
		return &o->deadline_ns;
	case OPTION_EVERY:
		return &o->every_ns;
	case OPTION_TRIGGER_INTERVAL:
		return &o->trigger_interval_ns;
	default:
		return NULL;
	}
}

static const char *name_of(enum option_id id)
{
	size_t i = 0;

	while (specs[i].id != id) {
		i++;
	}
	return specs[i].name;
}

/* One option with its argument. */
static int take(struct options *o, enum option_id id, const char *value, struct err *err)
{
	static const char *const formats[] = { "text", "json", "html", NULL };
	static const char *const places[] = { "beginning", "now", NULL };

	uint64_t *duration = duration_of(o, id);

	if (take_flag(o, id) || take_text(o, id, value)) {
		return 0;
	}
	if (duration) {
		return take_duration(name_of(id), value, duration, err);
	}
	switch (id) {
	case OPTION_ANALYSES:
		return take_analyses(o, value, err);
	case OPTION_FORMAT:
		return take_word("format", value, formats, &o->format, err);
	case OPTION_INTERVAL:
		return take_interval(o, value, err);
	case OPTION_TOP:
		o->has_top = true;
		return take_count("top", value, UINT32_MAX, &o->top, err);
	case OPTION_FREQ_BINS:
		o->freq = true;
		return take_count("freq-bins", value, SPREAD_BINS_MAX, &o->freq_bins, err);
	case OPTION_JOBS:
		return take_count("jobs", value, 1024, &o->jobs, err);
	case OPTION_CHUNK_SIZE:
		return take_size("chunk-size", value, &o->chunk_bytes, err);
	case OPTION_MAX_MEMORY:
		return take_size("max-memory", value, &o->max_memory, err);
	case OPTION_WINDOWS:
		return take_count("windows", value, UINT32_MAX, &o->windows, err);
	case OPTION_FROM:
		return take_word("place", value, places, &o->from, err);
	case OPTION_ON_LAG:
	case OPTION_LAG_LIMIT:
		return take_lag(o, id, value, err);
	case OPTION_NO_RETRY:
		o->retry_ns = 0;
		return 0;
	case OPTION_TID:
	case OPTION_PID:
	case OPTION_COMM:
	case OPTION_CPU:
	case OPTION_IRQ:
	case OPTION_PER:
	case OPTION_SORT:
	case OPTION_MIN:
	case OPTION_MAX:
		return take_selection(o, id, value, err);
	case OPTION_PERIOD:
		return period_add(&o->periods, value, err);
	case OPTION_UST_SPAN:
		return period_add_span(&o->periods, value, err);
	case OPTION_HISTORY:
	case OPTION_BEFORE:
	case OPTION_KEEP:
	case OPTION_PER_HOUR:
		return take_capture(o, id, value, err);
	case OPTION_SPEED:
		return take_speed(value, &o->speed, err);
	case OPTION_LOOP:
		return take_count("loop", value, UINT32_MAX, &o->loops, err);
	default:
		assert(!"an option of the table that nobody takes");
		return 0;
	}
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
	return refuse(err, "option", word, names);
}

/* popt gives back memory per string; it is kept until options_fini(). */
struct kept {
	poptContext context;
	VEC(char *) values;
};

static int check_intervals(const struct options *options, struct err *err)
{
	uint64_t ns = options->trigger_interval_ns;

	if (ns > 0 && (ns < 1000000 || options->interval_ns % ns != 0)) {
		return err_raise(err, -EINVAL,
				 "--trigger-interval has to be at least 1ms, and --interval a "
				 "multiple of it");
	}
	return 0;
}

int options_parse(struct options *options, unsigned int command, int argc, const char **argv,
		  struct err *err)
{
	struct poptOption table[SPECS + 1] = { 0 };
	struct kept *kept = mem_alloc(sizeof(*kept));
	int r = 0, id;

	set_defaults(options);
	(void)take_analyses(options, command == FOR_TOP ? "all" : "count,cpu,io",
			    err); /* cannot fail */
	options->memory = kept;
	(void)make_table(command, table);
	kept->context = poptGetContext("sillage", argc, argv, table, 0);
	while (r == 0 && (id = poptGetNextOpt(kept->context)) > 0) {
		char *value = poptGetOptArg(kept->context);

		*vec_push(&kept->values) = value;
		r = take(options, (enum option_id)id, value, err);
	}
	if (r == 0 && id < -1) {
		r = bad_option(kept->context, id, command, err);
	}
	r = r == 0 ? check_intervals(options, err) : r;
	r = r == 0 && (command & FOR_SHOW) ? settle_periods(options, err) : r;
	if (r == 0 && strcmp(options->format, "html") == 0 && command != FOR_REPORT) {
		static const char *const others[] = { "text", "json", NULL };

		r = refuse(err, "format", "html", others);
	}
	if (r == 0) {
		static const char *none[] = { NULL };

		options->args = poptGetArgs(kept->context);
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
	struct kept *kept = options->memory;

	if (!kept) {
		return;
	}
	(void)poptFreeContext(kept->context);
	for (size_t i = 0; i < kept->values.count; i++) {
		free(kept->values.at[i]);
	}
	vec_fini(&kept->values);
	free(kept);
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
