/*
 * options-take: values of options: units, words, suggestions.
 */
#include "cmd/options-parts.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/histogram.h"
#include "base/mem.h"
#include "base/units.h"

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

int options_refuse(struct err *err, const char *what, const char *word, const char *const *words)
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
	return options_refuse(err, option, value, words);
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
	return options_refuse(err, "analysis", name, names);
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

int options_analyses(struct options *options, const char *value, struct err *err)
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
	case OPTION_STATE:
		o->state = value;
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

int options_take(struct options *o, enum option_id id, const char *value, struct err *err)
{
	static const char *const formats[] = { "text", "json", "html", NULL };
	static const char *const places[] = { "beginning", "now", NULL };
	uint64_t *duration = duration_of(o, id);

	if (take_flag(o, id) || take_text(o, id, value)) {
		return 0;
	}
	if (duration) {
		return take_duration(options_name(id), value, duration, err);
	}
	switch (id) {
	case OPTION_ANALYSES:
		return options_analyses(o, value, err);
	case OPTION_FORMAT:
		return take_word("format", value, formats, &o->format, err);
	case OPTION_INTERVAL:
		return take_interval(o, value, err);
	case OPTION_TOP:
		o->has_top = true;
		return take_count("top", value, UINT32_MAX, &o->top, err);
	case OPTION_FREQ_BINS:
		o->freq = true;
		return take_count("freq-bins", value, HISTOGRAM_BINS_MAX, &o->freq_bins, err);
	case OPTION_JOBS:
		o->has_jobs = true;
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

/* ---- all of them ---- */

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

int options_finish(struct options *options, unsigned int command, struct err *err)
{
	static const char *const others[] = { "text", "json", NULL };
	int r = check_intervals(options, err);

	if (r == 0 && (command & (FOR_LIVE | FOR_ANALYZE | FOR_TOP | FOR_LAMI | FOR_MAP))) {
		r = settle_periods(options, err);
	}
	if (r == 0 && strcmp(options->format, "html") == 0 && command != FOR_REPORT) {
		r = options_refuse(err, "format", "html", others);
	}
	return r;
}
