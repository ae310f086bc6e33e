/*
 * metrics: see metrics.h.  This file adds up windows; metrics-families.c names the sums.
 */
#include "live/metrics/metrics-state.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "engine/contract/row-key.h"
#include "output/notice.h"

/* ---- labels ---- */

void metrics_add_label(FILE *out, bool *is_first, const char *name, const char *value)
{
	(void)fprintf(out, "%s%s=\"", *is_first ? "" : ",", name);
	*is_first = false;
	for (const unsigned char *at = (const unsigned char *)value; *at; at++) {
		if (*at == '"' || *at == '\\') {
			(void)fprintf(out, "\\%c", *at);
		} else {
			(void)fputc(*at < 0x20 || *at >= 0x7F ? '?' : *at, out);
		}
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

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
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

	if (table->id_key && id != ROW_KEY_NO_ID) {
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
		if (row->owner != REPORT_NO_NUMBER) {
			(void)snprintf(number, sizeof(number), "%" PRId64, row->owner);
			metrics_add_label(out, &is_first, table->owner_key, number);
		}
		metrics_add_label(out, &is_first, table->by_key, row->by);
		break;
	case SCOPE_CONTAINER:
	case SCOPE_KEYED:
		keyed_labels(out, &is_first, table, row->id, row->name);
		break;
	default:
		break;
	}
	(void)fclose(out);
	return text;
}

/* ---- totals ---- */

static void free_table(struct total_table *total)
{
	for (size_t r = 0; r < total->rows.count; r++) {
		columns_empty(&total->columns, total->rows.at[r]->values);
		free(total->rows.at[r]->labels);
		free(total->rows.at[r]);
	}
	total_rows_fini(&total->by_labels);
	vec_fini(&total->rows);
	columns_fini(&total->columns);
	free(total);
}

static void free_trace(struct metrics_trace *trace)
{
	for (size_t i = 0; i < trace->tables.count; i++) {
		free_table(trace->tables.at[i]);
	}
	vec_fini(&trace->tables);
	snapshot_free(trace->last);
	free(trace->labels);
	free(trace);
}

/* Makes room for a trace: of those that are not followed any more, the one without a window for the
 * longest time is removed.  A trace that is followed stays: its counters must not go back. */
static bool make_room(struct metrics *metrics)
{
	size_t oldest = SIZE_MAX;

	if (metrics->traces.count < METRICS_TRACES_MAX) {
		return true;
	}
	for (size_t i = 0; i < metrics->traces.count; i++) {
		if (!metrics->traces.at[i]->is_followed &&
		    (oldest == SIZE_MAX ||
		     metrics->traces.at[i]->reported < metrics->traces.at[oldest]->reported)) {
			oldest = i;
		}
	}
	if (oldest == SIZE_MAX) {
		return false;
	}
	(void)metrics_traces_drop(&metrics->by_labels, metrics->traces.at[oldest]->labels);
	free_trace(metrics->traces.at[oldest]);
	metrics->traces.at[oldest] = metrics->traces.at[--metrics->traces.count];
	return true;
}

/* NULL: there is no room for one more. */
static struct metrics_trace *trace_of(struct metrics *metrics, const struct trace_identity *trace)
{
	char *labels = trace_labels(trace);
	struct metrics_trace **at = metrics_traces_get(&metrics->by_labels, labels), *found;

	if (at || !make_room(metrics)) {
		free(labels);
		return at ? *at : NULL;
	}
	found = mem_alloc(sizeof(*found));
	found->labels = labels;
	*vec_push(&metrics->traces) = found;
	*metrics_traces_put(&metrics->by_labels, found->labels, NULL) = found;
	assert(metrics->traces.count <= METRICS_TRACES_MAX);
	assert(metrics->traces.count == metrics->by_labels.used);
	return found;
}

static struct total_table *table_of(struct metrics_trace *trace, const struct report_table *table)
{
	struct total_table *found;

	for (size_t i = 0; i < trace->tables.count; i++) {
		if (trace->tables.at[i]->table == table->table) {
			return trace->tables.at[i];
		}
	}
	found = mem_alloc(sizeof(*found));
	found->analysis = table->analysis;
	found->table = table->table;
	columns_append(&found->columns, table->table);
	*vec_push(&trace->tables) = found;
	return found;
}

/* So many rows, that the table has METRICS_SERIES_MAX series: a client stores each of them. */
static size_t rows_most(const struct table *table)
{
	size_t series = 0;

	for (unsigned int c = 0; c < COLUMNS_MAX && table->columns[c].key; c++) {
		series += table->columns[c].kind == COLUMN_HISTOGRAM ? METRICS_HISTOGRAM_SERIES : 1;
	}
	assert(series > 0);
	return METRICS_SERIES_MAX / series;
}

static struct total_row *total_of(struct total_table *total, const struct report_row *row)
{
	char *labels = row_labels(total->table, row);
	struct total_row **at = total_rows_get(&total->by_labels, labels);
	struct total_row *found;

	if (!at && total->rows.count >= rows_most(total->table)) {
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

/* Adds a window: sums grow, values as of the window's end are replaced. */
static void add_row(struct total_table *total, struct total_row *row, const uint64_t *values)
{
	uint64_t *window = mem_alloc((total->columns.count + 1) * sizeof(*window));

	columns_add(&total->columns, window, values);
	columns_close(&total->columns, row->values, window);
	columns_empty(&total->columns, window);
	free(window);
}

/* Tables with few rows: threads, processes, descriptors and paths are left out. */
static bool is_counted(const struct table *table)
{
	enum scope scope = table->scope;

	if (table->name_key && strcmp(table->name_key, "path") == 0) {
		return false;
	}
	return scope == SCOPE_TRACE || scope == SCOPE_CPU || scope == SCOPE_EVENT ||
	       scope_is_of_containers(scope) || (scope == SCOPE_KEYED && !table->owner_key);
}

void metrics_add(struct metrics *metrics, const struct trace_identity *identity,
		 const struct report *report)
{
	struct metrics_trace *trace;

	if (report->kind != REPORT_WINDOW) {
		return;
	}
	trace = trace_of(metrics, identity);
	if (!trace) {
		metrics_own_add(metrics, METRICS_LEFT_OUT, "", 1);
		return;
	}
	trace->is_followed = true;
	trace->events += report->events;
	trace->windows++;
	trace->discarded += report->discarded;
	trace->lost_packets += report->lost_packets;
	trace->bad_packets += report->bad_packets;
	trace->late_events += report->late_events;
	trace->reported = ++metrics->windows;
	trace->end_s = (double)report->end / 1e9;
	trace->has_lag = report->has_lag;
	trace->lag_s = (double)report->lag_ns / 1e9;
	for (size_t t = 0; t < report->table_count; t++) {
		const struct report_table *table = &report->tables[t];

		if (!is_counted(table->table) || missing_is_whole(table->table, table->unknown)) {
			continue;
		}
		for (size_t r = 0; r < table->row_count; r++) {
			struct total_table *total = table_of(trace, table);

			total->unknown = table->unknown;
			add_row(total, total_of(total, &table->rows[r]), table->rows[r].values);
		}
	}
	snapshot_free(trace->last);
	trace->last = snapshot_new(identity, report, METRICS_THREADS);
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

uint64_t metrics_left_out(const struct metrics *metrics)
{
	for (size_t i = 0; metrics && i < metrics->own.count; i++) {
		if (metrics->own.at[i].family == METRICS_LEFT_OUT) {
			return metrics->own.at[i].value;
		}
	}
	return 0;
}

/* ---- lifecycle ---- */

struct metrics *metrics_new(void)
{
	return mem_alloc(sizeof(struct metrics));
}

void metrics_free(struct metrics *metrics)
{
	if (!metrics) {
		return;
	}
	for (size_t t = 0; t < metrics->traces.count; t++) {
		free_trace(metrics->traces.at[t]);
	}
	for (size_t i = 0; i < metrics->own.count; i++) {
		free(metrics->own.at[i].of);
	}
	vec_fini(&metrics->own);
	metrics_traces_fini(&metrics->by_labels);
	vec_fini(&metrics->traces);
	free(metrics);
}

/* ---- the sink ---- */

static void on_report(struct output *output, const struct trace_identity *trace,
		      const struct report *report)
{
	metrics_add(output->state, trace, report);
}

static void on_attach(struct output *output, const struct trace_identity *identity, bool is_attach,
		      const char *reason)
{
	struct metrics *metrics = output->state;
	char *labels = trace_labels(identity);
	struct metrics_trace **at = metrics_traces_get(&metrics->by_labels, labels);

	(void)reason;
	if (at && !is_attach) {
		(*at)->is_followed = false; /* its next window, of a trace with its name, says so */
	}
	free(labels);
}

static void on_trigger(struct output *output, const struct trace_identity *trace,
		       const struct trigger_event *event)
{
	(void)trace;
	metrics_own_add(output->state, METRICS_TRIGGERS_FIRED, event->name, 1);
}

static void on_capture(struct output *output, const struct capture_result *capture)
{
	metrics_own_add(output->state,
			capture->path ? METRICS_CAPTURES_WRITTEN : METRICS_CAPTURES_FAILED, "", 1);
}

const struct sink sink_metrics = {
	.name = "metrics",
	.sees_unprinted = true,
	.attach = on_attach,
	.report = on_report,
	.trigger = on_trigger,
	.capture = on_capture,
};
