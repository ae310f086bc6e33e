/*
 * metrics: see metrics.h.  This file adds up windows; metrics-families.c names the sums.
 */
#include "live/metrics/metrics-state.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/text/utf8.h"
#include "engine/contract/row-key.h"
#include "output/notice.h"

/* ---- labels ---- */

/* A byte that cannot stand in a label as it is: no two values become the same. */
static void put_bytes(FILE *out, const char *at, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		(void)fprintf(out, UTF8_REPLACEMENT "%02x", (unsigned char)at[i]);
	}
}

void metrics_add_label(FILE *out, bool *is_first, const char *name, const char *value)
{
	(void)fprintf(out, "%s%s=\"", *is_first ? "" : ",", name);
	*is_first = false;
	for (const char *at = value; *at;) {
		struct utf8_letter letter = utf8_letter_at(at);

		if (!letter.is_plain || strncmp(at, UTF8_REPLACEMENT, letter.bytes) == 0) {
			put_bytes(out, at, letter.bytes);
		} else {
			(void)fprintf(out, "%s%.*s", *at == '"' || *at == '\\' ? "\\" : "",
				      (int)letter.bytes, at);
		}
		at += letter.bytes;
	}
	(void)fputc('"', out);
}

static char *trace_labels(const struct trace_identity *trace)
{
	const char *names[] = { "host", "session", "domain" };
	const char *values[] = { trace->host, trace->session, trace->domain };
	bool is_first = true;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
		if (values[i]) {
			metrics_add_label(out, &is_first, names[i], values[i]);
		}
	}
	(void)fclose(out);
	return text;
}

static void keyed_labels(FILE *out, bool *is_first, const struct table *table, uint64_t id,
			 const char *name)
{
	const char *id_name = table->id_name ? table->id_name(id) : NULL;
	char number[24];

	if (report_shows_id(table, id)) {
		(void)snprintf(number, sizeof(number), "%" PRId64, (int64_t)id);
		metrics_add_label(out, is_first, table->id_key, id_name ? id_name : number);
	}
	if (table->name_key) {
		metrics_add_label(out, is_first, table->name_key, name);
	}
}

static char *row_labels(const struct table *table, const struct report_row *row)
{
	bool is_first = true;
	char *text = NULL, number[24];
	size_t size;
	FILE *out = open_memstream(&text, &size);

	switch (table->scope) {
	case SCOPE_CPU:
		(void)snprintf(number, sizeof(number), "%" PRIu64, row->id);
		metrics_add_label(out, &is_first, "cpu", number);
		break;
	case SCOPE_EVENT:
		metrics_add_label(out, &is_first, "event", row->name);
		break;
	case SCOPE_CONTAINER_PAIR:
		keyed_labels(out, &is_first, table, row->id, row->name);
		if (report_shows_owner(table, row)) {
			(void)snprintf(number, sizeof(number), "%" PRId64, row->owner);
			metrics_add_label(out, &is_first, table->owner_key, number);
		}
		metrics_add_label(out, &is_first, table->by_key, row->by);
		break;
	case SCOPE_CONTAINER:
	case SCOPE_KEYED:
		keyed_labels(out, &is_first, table, row->id, row->name);
		break;
	case SCOPE_PROCESS: /* pids would be series without end */
		metrics_add_label(out, &is_first, "comm",
				  row->thread->comm[0] ? row->thread->comm : "?");
		break;
	default:
		break;
	}
	(void)fclose(out);
	return text;
}

/* ---- totals ---- */

static void free_row(const struct total_table *total, struct total_row *row)
{
	columns_empty(&total->columns, row->values);
	free(row->labels);
	free(row);
}

static void free_table(struct total_table *total)
{
	for (size_t r = 0; r < total->rows.count; r++) {
		free_row(total, total->rows.at[r]);
	}
	total_rows_fini(&total->by_labels);
	vec_fini(&total->rows);
	columns_fini(&total->columns);
	free(total);
}

static void free_trace(struct metrics_trace *trace)
{
	vec_free_each(&trace->tables, free_table);
	vec_fini(&trace->missing);
	free(trace->labels);
	free(trace);
}

/* Of those that have ended, the one without a window for the longest time is removed.  False: there
 * are not too many. */
static bool remove_oldest(struct metrics *metrics)
{
	struct metrics_trace *trace;
	size_t oldest = 0, ended = 0;

	for (size_t i = 0; i < metrics->traces.count; i++) {
		trace = metrics->traces.at[i];
		if (trace->followed == 0) {
			bool is_first = ended++ == 0;

			oldest = is_first || trace->reported < metrics->traces.at[oldest]->reported
					 ? i
					 : oldest;
		}
	}
	if (ended < METRICS_ENDED_MAX) {
		return false;
	}
	trace = metrics->traces.at[oldest];
	(void)metrics_traces_drop(&metrics->by_labels, trace->labels);
	metrics->traces.at[oldest] = metrics->traces.at[--metrics->traces.count];
	metrics->removed++;
	free_trace(trace);
	return true;
}

static struct metrics_trace *trace_of(struct metrics *metrics, const struct trace_identity *trace)
{
	char *labels = trace_labels(trace);
	struct metrics_trace **at = metrics_traces_get(&metrics->by_labels, labels), *made;

	if (at) {
		free(labels);
		return *at;
	}
	while (remove_oldest(metrics)) {
	}
	made = mem_alloc(sizeof(*made));
	made->labels = labels;
	*metrics_traces_put(&metrics->by_labels, made->labels, NULL) = made;
	*vec_push(&metrics->traces) = made;
	assert(metrics->traces.count == metrics->by_labels.used);
	return made;
}

void metrics_follow(struct metrics *metrics, const struct trace_identity *trace, bool is_followed)
{
	struct metrics_trace *found = trace_of(metrics, trace);

	if (is_followed) {
		found->followed++;
	} else {
		found->followed -= found->followed > 0;
	}
}

/* NULL: it is left out. */
static struct total_table *table_of(const struct metrics *metrics, struct metrics_trace *trace,
				    const struct report_table *table)
{
	struct total_table *found;
	uint16_t wanted;
	size_t most = metrics_choose(metrics, table->analysis, table->table, &wanted);

	for (size_t i = 0; i < trace->tables.count; i++) {
		if (trace->tables.at[i]->table == table->table) {
			return trace->tables.at[i];
		}
	}
	if (most == 0) {
		return NULL;
	}
	found = mem_alloc(sizeof(*found));
	found->analysis = table->analysis;
	found->table = table->table;
	found->wanted = wanted;
	found->shown_most = most;
	columns_append(&found->columns, table->table);
	*vec_push(&trace->tables) = found;
	return found;
}

/* So many rows, that the table has METRICS_SERIES_MAX series: a client stores each of them. */
static size_t rows_most(const struct table *table)
{
	size_t series = 0;

	if (table->scope == SCOPE_PROCESS) {
		return METRICS_NAMES_MAX; /* few of which are shown */
	}
	for (unsigned int c = 0; c < COLUMNS_MAX && table->columns[c].key; c++) {
		series += table->columns[c].kind == COLUMN_HISTOGRAM ? METRICS_HISTOGRAM_SERIES : 1;
	}
	assert(series > 0);
	return METRICS_SERIES_MAX / series;
}

/* Of names, the one that had least lately goes if it had nothing for long: it begins again at 0 if
 * it comes again. */
static bool forget_name(struct total_table *total)
{
	struct total_row *row =
		total->rows.count > 0 ? total->rows.at[total->rows.count - 1] : NULL;

	if (!row || total->table->scope != SCOPE_PROCESS || row->recent > 0 || row->is_shown) {
		return false;
	}
	(void)total_rows_drop(&total->by_labels, row->labels);
	total->rows.count--;
	free_row(total, row);
	return true;
}

static struct total_row *total_of(struct total_table *total, const struct report_row *row)
{
	char *labels = row_labels(total->table, row);
	struct total_row **at = total_rows_get(&total->by_labels, labels);
	struct total_row *found;

	if (!at && total->rows.count >= rows_most(total->table) && !forget_name(total)) {
		free(labels);
		labels = mem_strdup("other=\"all\"");
		at = total_rows_get(&total->by_labels, labels);
	}
	if (at) {
		free(labels);
		return *at;
	}
	found = mem_alloc(sizeof(*found));
	found->labels = labels;
	*total_rows_put(&total->by_labels, found->labels, NULL) = found;
	*vec_push(&total->rows) = found;
	assert(total->rows.count == total->by_labels.used);
	assert(total->rows.count <= rows_most(total->table) + 1);
	return found;
}

/* Of distributions of processes sum and count are all that is shown, and names are many. */
static void add_summaries(struct total_table *total, struct total_row *row, uint64_t *values)
{
	for (uint32_t i = 0; i < total->columns.count; i++) {
		bool is_one = total->columns.kinds[i] == COLUMN_HISTOGRAM && values[i] != 0;
		const struct histogram *from = is_one ? column_histogram(values, i) : NULL;
		struct histogram *to =
			is_one ? (struct histogram *)(uintptr_t)row->values[i] : NULL;

		if (!is_one) {
			continue;
		}
		to = to ? to : mem_alloc(sizeof(*to));
		to->count += from->count;
		to->sum += from->sum;
		row->values[i] = (uint64_t)(uintptr_t)to;
		values[i] = 0;
	}
}

/* Adds a row of a window: sums grow.  Levels are those of rows that have one name; those of the
 * window before are 0 by now. */
static void add_row(struct total_table *total, struct total_row *row, const uint64_t *values)
{
	uint64_t *window = mem_alloc((total->columns.count + 1) * sizeof(*window));
	uint64_t others[COLUMNS_MAX];

	memcpy(others, values, total->columns.count * sizeof(*others));
	if (total->table->scope == SCOPE_PROCESS) {
		add_summaries(total, row, others);
	}
	columns_add(&total->columns, window, others);
	columns_move(&total->columns, row->values, window);
	columns_empty(&total->columns, window);
	free(window);
}

static int by_recent(const void *left, const void *right)
{
	const struct total_row *a = *(struct total_row *const *)left;
	const struct total_row *b = *(struct total_row *const *)right;

	if (a->recent != b->recent) {
		return a->recent > b->recent ? -1 : 1;
	}
	return strcmp(a->labels, b->labels);
}

/* Marks the rows that have series: those that had most in the last windows.  Their order in the
 * table does not matter. */
static void choose_rows(struct total_table *total)
{
	if (total->rows.count > total->shown_most) {
		qsort(total->rows.at, total->rows.count, sizeof(total->rows.at[0]), by_recent);
	}
	for (size_t i = 0; i < total->rows.count; i++) {
		struct total_row *row = total->rows.at[i];

		row->is_shown = i < total->shown_most;
		row->recent -= row->recent < 16 ? row->recent : row->recent >> 4;
	}
}

/* What is not in the window has no level at its end. */
static void forget_levels(struct metrics_trace *trace, const struct table *table)
{
	VEC_EACH_OF(&trace->tables, total) {
		if (total->table != table || total->columns.level_count == 0) {
			continue;
		}
		VEC_EACH_OF(&total->rows, row) {
			columns_end_levels(&total->columns, row->values);
		}
	}
}

static void add_table(const struct metrics *metrics, struct metrics_trace *trace,
		      const struct report_table *table)
{
	struct total_table *total;

	if (missing_is_whole(table->table, table->unknown)) {
		return;
	}
	forget_levels(trace, table->table);
	if (table->row_count == 0) {
		return;
	}
	total = table_of(metrics, trace, table);
	for (size_t r = 0; total && r < table->row_count; r++) {
		struct total_row *row = total_of(total, &table->rows[r]);
		uint64_t recent = row->recent + table->rows[r].sort;

		row->recent = recent < row->recent ? UINT64_MAX : recent;
		add_row(total, row, table->rows[r].values);
	}
	if (total) {
		total->unknown = table->unknown;
		choose_rows(total);
	}
}

void metrics_add(struct metrics *metrics, const struct trace_identity *identity,
		 const struct report *report)
{
	struct metrics_trace *trace;

	if (report->kind != REPORT_WINDOW) {
		return;
	}
	trace = trace_of(metrics, identity);
	trace->events += report->events;
	trace->windows++;
	report_lost_add(&trace->lost, &report->lost);
	trace->reported = ++metrics->windows;
	trace->end_s = (double)report->end / 1e9;
	trace->has_lag = report->has_lag;
	trace->lag_s = (double)report->lag_ns / 1e9;
	trace->missing.count = 0;
	vec_append(&trace->missing, report->missing, report->missing_count);
	for (size_t t = 0; t < report->table_count; t++) {
		add_table(metrics, trace, &report->tables[t]);
	}
}

/* ---- what the program does ---- */

static struct own_figure *own_of(struct metrics *metrics, enum metrics_own family, const char *of)
{
	struct own_figure *figure;

	for (size_t i = 0; i < metrics->own.count; i++) {
		figure = &metrics->own.at[i];
		if (figure->family == family && strcmp(figure->of, of) == 0) {
			return figure;
		}
	}
	figure = vec_push(&metrics->own);
	*figure = (struct own_figure){ .family = family, .of = mem_strdup(of) };
	return figure;
}

void metrics_own_add(struct metrics *metrics, enum metrics_own family, const char *of, uint64_t by)
{
	if (metrics) {
		own_of(metrics, family, of)->value += by;
	}
}

void metrics_own_set(struct metrics *metrics, enum metrics_own family, const char *of,
		     uint64_t value)
{
	if (metrics) {
		own_of(metrics, family, of)->value = value;
	}
}

/* ---- lifecycle ---- */

/* From 1 us to 34 s, each bound at most @times the one before. */
static void fill_bounds(struct metrics_bounds *bounds, double times)
{
	uint64_t last = ((uint64_t)1 << 10) - 1, next;

	bounds->at[bounds->count++] = last;
	for (uint32_t i = 0; last < ((uint64_t)1 << 35) - 1; i++) {
		next = histogram_end(i + 1);
		if ((double)next + 1 > times * ((double)last + 1)) {
			last = histogram_end(i);
			assert(bounds->count < METRICS_BOUNDS_MAX);
			bounds->at[bounds->count++] = last;
		}
	}
}

struct metrics *metrics_new(enum metrics_profile profile)
{
	struct metrics *metrics = mem_alloc(sizeof(*metrics));

	metrics->profile = profile;
	fill_bounds(&metrics->fine, 1.25);
	fill_bounds(&metrics->powers, 2);
	assert(metrics->powers.count + 3 == METRICS_HISTOGRAM_SERIES);
	return metrics;
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics) {
		return;
	}
	vec_free_each(&metrics->traces, free_trace);
	for (size_t i = 0; i < metrics->own.count; i++) {
		free(metrics->own.at[i].of);
	}
	vec_fini(&metrics->own);
	metrics_traces_fini(&metrics->by_labels);
	free(metrics);
}

/* ---- the sink ---- */

static void on_attach(struct output *output, const struct trace_identity *trace, bool is_attach,
		      const char *reason)
{
	(void)reason;
	metrics_follow(output->state, trace, is_attach);
}

static void on_report(struct output *output, const struct trace_identity *trace,
		      const struct report *report)
{
	metrics_add(output->state, trace, report);
}

static void on_trigger(struct output *output, const struct trace_identity *trace,
		       const struct trigger_event *event)
{
	metrics_own_add(output->state, METRICS_TRIGGERS_FIRED, event->name, 1);
}

static void on_budget(struct output *output, const struct trace_identity *trace,
		      const struct trigger_event *event)
{
	metrics_own_add(output->state, METRICS_OBJECTIVE_WINDOWS, event->name, 1);
	metrics_own_add(output->state, METRICS_OBJECTIVE_BAD, event->name,
			event->budget.is_charged);
	metrics_own_set(output->state, METRICS_OBJECTIVE_SHARE, event->name,
			(uint64_t)lround(event->budget.objective * 1e9));
}

static void on_capture(struct output *output, const struct capture_result *capture)
{
	metrics_own_add(output->state,
			capture->path ? METRICS_CAPTURES_WRITTEN : METRICS_CAPTURES_FAILED, "", 1);
}

const struct sink sink_metrics = {
	.name = "metrics",
	.sees_unprinted = true,
	.budget = on_budget,
	.attach = on_attach,
	.report = on_report,
	.trigger = on_trigger,
	.capture = on_capture,
};
