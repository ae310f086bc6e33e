/*
 * metrics-text: the text of metrics, for Prometheus and others.
 *
 * Names follow Prometheus' conventions: sillage_ANALYSIS_TABLE_COLUMN, base units (seconds, bytes),
 * _total for counters.  Formats: prometheus.io/docs/instrumenting/exposition_formats and the
 * OpenMetrics specification 1.0.0.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "live/metrics-state.h"
#include "version.h"

/* Buckets of histograms: 2^10 ns (1 us) to 2^34 ns (17 s). */
#define POWER_FIRST 10
#define POWER_LAST  34

_Static_assert(METRICS_HISTOGRAM_SERIES == POWER_LAST - POWER_FIRST + 2 + 3,
	       "buckets, +Inf, sum and count");

struct writer {
	FILE *out;
	bool is_open_metrics;
	const struct metrics *metrics;
};

/* The name of a figure, in base units: sillage_cpu_cpus_busy_seconds. */
static void name_of(char name[128], const struct analysis *analysis, const struct table *table,
		    const struct column *column)
{
	size_t len = strlen(column->key);
	bool is_ns = len > 3 && strcmp(column->key + len - 3, "_ns") == 0;
	bool is_time = column->unit == UNIT_NS;

	(void)snprintf(name, 128, "sillage_%s_%s%s%.*s%s", analysis->name,
		       table->key ? table->key : "", table->key ? "_" : "",
		       (int)(is_ns ? len - 3 : len), column->key, is_time ? "_seconds" : "");
}

static const char *type_of(const struct column *column)
{
	switch (column->kind) {
	case COLUMN_SUM:
		return "counter";
	case COLUMN_HISTOGRAM:
		return "histogram";
	default:
		return "gauge";
	}
}

/* Both formats require the type first, then all samples of the family together. */
static void put_family(const struct writer *w, const char *name, const char *type, const char *help)
{
	const char *suffix = !w->is_open_metrics && strcmp(type, "counter") == 0 ? "_total" : "";

	(void)fprintf(w->out, "# TYPE %s%s %s\n# HELP %s%s %s\n", name, suffix, type, name, suffix,
		      help);
}

static void put_labels(const struct writer *w, const struct metrics_trace *trace,
		       const char *labels, const char *more)
{
	const char *parts[] = { trace->labels, labels, more };
	bool is_first = true;

	(void)fputc('{', w->out);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (parts[i] && parts[i][0]) {
			(void)fprintf(w->out, "%s%s", is_first ? "" : ",", parts[i]);
			is_first = false;
		}
	}
	(void)fputc('}', w->out);
}

static void put_number(const struct writer *w, enum unit unit, uint64_t value)
{
	if (unit == UNIT_NS) {
		(void)fprintf(w->out, " %.9f\n", (double)value / 1e9);
	} else {
		(void)fprintf(w->out, " %" PRIu64 "\n", value);
	}
}

static void put_histogram(const struct writer *w, const struct metrics_trace *trace,
			  const char *name, const char *labels, const struct histogram *histogram)
{
	uint64_t powers[HISTOGRAM_POWERS] = { 0 }, seen = 0;
	char bound[48];

	if (histogram) {
		histogram_powers(histogram, powers);
	}
	for (unsigned int i = 0; i <= POWER_LAST; i++) {
		seen += powers[i];
		if (i + 1 >= POWER_FIRST) { /* histograms count values below 2^(i+1) */
			(void)snprintf(bound, sizeof(bound), "le=\"%.9f\"",
				       (double)(((uint64_t)1 << (i + 1)) - 1) / 1e9);
			(void)fprintf(w->out, "%s_bucket", name);
			put_labels(w, trace, labels, bound);
			(void)fprintf(w->out, " %" PRIu64 "\n", seen);
		}
	}
	assert(seen <= (histogram ? histogram->count : 0)); /* larger values are in +Inf only */
	(void)fprintf(w->out, "%s_bucket", name);
	put_labels(w, trace, labels, "le=\"+Inf\"");
	(void)fprintf(w->out, " %" PRIu64 "\n%s_sum", histogram ? histogram->count : 0, name);
	put_labels(w, trace, labels, NULL);
	put_number(w, UNIT_NS, histogram ? histogram->sum : 0);
	(void)fprintf(w->out, "%s_count", name);
	put_labels(w, trace, labels, NULL);
	(void)fprintf(w->out, " %" PRIu64 "\n", histogram ? histogram->count : 0);
}

static void put_sample(const struct writer *w, const struct metrics_trace *trace, const char *name,
		       const struct column *column, const char *labels, const uint64_t *values,
		       unsigned int c)
{
	if (column->kind == COLUMN_HISTOGRAM) {
		put_histogram(w, trace, name, labels, column_histogram(values, c));
		return;
	}
	(void)fprintf(w->out, "%s%s", name, column->kind == COLUMN_SUM ? "_total" : "");
	put_labels(w, trace, labels, NULL);
	put_number(w, column->unit, values[c]);
}

/* Whether the figure is known in some trace.  What is not recorded has no series. */
static bool is_known(const struct metrics *metrics, const struct total_table *like, unsigned int c)
{
	for (size_t t = 0; t < metrics->traces.count; t++) {
		const struct metrics_trace *trace = metrics->traces.at[t];

		for (size_t i = 0; i < trace->tables.count; i++) {
			if (trace->tables.at[i]->table == like->table &&
			    !(trace->tables.at[i]->unknown >> c & 1)) {
				return true;
			}
		}
	}
	return false;
}

/* Writes one figure of all traces. */
static void put_figure(const struct writer *w, const struct total_table *like, unsigned int c)
{
	const struct column *column = &like->table->columns[c];
	char name[128], help[160];

	if (column->kind == COLUMN_PRIO || !is_known(w->metrics, like, c)) {
		return;
	}
	name_of(name, like->analysis, like->table, column);
	(void)snprintf(help, sizeof(help), "%s of the analysis %s", column->key,
		       like->analysis->name);
	put_family(w, name, type_of(column), help);
	for (size_t t = 0; t < w->metrics->traces.count; t++) {
		const struct metrics_trace *trace = w->metrics->traces.at[t];

		for (size_t i = 0; i < trace->tables.count; i++) {
			const struct total_table *total = trace->tables.at[i];

			if (total->table != like->table || total->unknown >> c & 1) {
				continue;
			}
			for (size_t r = 0; r < total->rows.count; r++) {
				put_sample(w, trace, name, column, total->rows.at[r]->labels,
					   total->rows.at[r]->values, c);
			}
		}
	}
}

/* Whether an earlier trace has this table, too, so that it is written already. */
static bool was_written(const struct metrics *metrics, size_t trace, const struct table *table)
{
	for (size_t t = 0; t < trace; t++) {
		for (size_t i = 0; i < metrics->traces.at[t]->tables.count; i++) {
			if (metrics->traces.at[t]->tables.at[i]->table == table) {
				return true;
			}
		}
	}
	return false;
}

/* One tid may be two threads in a window.  Labels that differ for them would be other labels in the
 * next window, so they are added up.  False: a row before has them. */
static bool sum_of_thread(const struct report_table *table, size_t row, unsigned int c,
			  uint64_t *ret_sum)
{
	const struct thread_view *thread = table->rows[row].thread;

	*ret_sum = 0;
	for (size_t r = 0; r < table->row_count && r < METRICS_THREADS; r++) {
		const struct thread_view *other = table->rows[r].thread;

		if (other->tid != thread->tid || strcmp(other->comm, thread->comm) != 0) {
			continue;
		}
		if (r < row) {
			return false;
		}
		*ret_sum += table->rows[r].values[c];
	}
	return true;
}

/* Writes the first threads of the last window, by the figure that sorts them. */
static void put_thread_samples(const struct writer *w, const struct metrics_trace *trace,
			       const struct report_table *table, const char *name,
			       const struct column *column, unsigned int c)
{
	for (size_t r = 0; r < table->row_count && r < METRICS_THREADS; r++) {
		const struct report_row *row = &table->rows[r];
		char *labels = NULL, tid[16];
		bool is_first = true;
		uint64_t sum;
		size_t size;
		FILE *out;

		if (!sum_of_thread(table, r, c, &sum)) {
			continue;
		}
		out = open_memstream(&labels, &size);
		(void)snprintf(tid, sizeof(tid), "%" PRId32, row->thread->tid);
		metrics_add_label(out, &is_first, "tid", tid);
		metrics_add_label(out, &is_first, "comm", row->thread->comm);
		(void)fclose(out);
		(void)fputs(name, w->out);
		put_labels(w, trace, labels, NULL);
		put_number(w, column->unit, sum);
		free(labels);
	}
}

/* Whether the figure of threads is known in the last window of some trace. */
static bool is_known_last(const struct metrics *metrics, const struct analysis *analysis,
			  unsigned int c)
{
	for (size_t t = 0; t < metrics->traces.count; t++) {
		const struct report_table *rows =
			snapshot_table(metrics->traces.at[t]->last, analysis->name, SCOPE_THREAD);

		if (rows && !report_is_unknown(rows, c)) {
			return true;
		}
	}
	return false;
}

static void put_threads(const struct writer *w, const struct analysis *analysis,
			const struct table *table)
{
	for (unsigned int c = 0; c < COLUMNS_MAX && table->columns[c].key; c++) {
		const struct column *column = &table->columns[c];
		char name[128];

		if (!(table->sort_mask >> c & 1) || column->kind != COLUMN_SUM ||
		    !is_known_last(w->metrics, analysis, c)) {
			continue;
		}
		name_of(name, analysis, table, column);
		(void)strncat(name, "_last_window", sizeof(name) - strlen(name) - 1);
		put_family(w, name, "gauge", "the first threads of the last window");
		for (size_t t = 0; t < w->metrics->traces.count; t++) {
			const struct metrics_trace *trace = w->metrics->traces.at[t];
			const struct report_table *rows =
				snapshot_table(trace->last, analysis->name, SCOPE_THREAD);

			if (rows && !report_is_unknown(rows, c)) {
				put_thread_samples(w, trace, rows, name, column, c);
			}
		}
	}
}

static void put_traces(const struct writer *w)
{
	static const struct {
		const char *name, *type, *help;
	} families[] = {
		{ "sillage_events", "counter", "events in the windows reported" },
		{ "sillage_windows", "counter", "windows reported" },
		{ "sillage_window_end_timestamp_seconds", "gauge", "end of the last window" },
		{ "sillage_lag_seconds", "gauge", "from a window's end to its report" },
	};

	put_family(w, "sillage_build_info", "gauge", "which sillage this is");
	(void)fprintf(w->out, "sillage_build_info{version=\"%s\"} 1\n", SILLAGE_VERSION);
	for (size_t f = 0; f < sizeof(families) / sizeof(families[0]); f++) {
		put_family(w, families[f].name, families[f].type, families[f].help);
		for (size_t t = 0; t < w->metrics->traces.count; t++) {
			const struct metrics_trace *trace = w->metrics->traces.at[t];
			double values[] = { (double)trace->events, (double)trace->windows,
					    trace->end_s, trace->lag_s };

			if (f == 3 && !trace->has_lag) {
				continue;
			}
			(void)fprintf(w->out, "%s%s", families[f].name, f < 2 ? "_total" : "");
			put_labels(w, trace, NULL, NULL);
			(void)fprintf(w->out, f < 2 ? " %.0f\n" : " %.9f\n", values[f]);
		}
	}
}

/* What a trace does not record of what the analyses need. */
static void put_missing(const struct writer *w)
{
	put_family(w, "sillage_not_recorded", "gauge", "1: the analysis lacks this event");
	for (size_t t = 0; t < w->metrics->traces.count; t++) {
		const struct metrics_trace *trace = w->metrics->traces.at[t];
		const struct report *last = &trace->last->report;

		for (size_t i = 0; i < last->missing_count; i++) {
			char *labels = NULL;
			bool is_first = true;
			size_t size;
			FILE *out = open_memstream(&labels, &size);

			metrics_add_label(out, &is_first, "analysis",
					  last->missing[i].analysis->name);
			metrics_add_label(out, &is_first, "event", last->missing[i].event);
			(void)fclose(out);
			(void)fputs("sillage_not_recorded", w->out);
			put_labels(w, trace, labels, NULL);
			(void)fputs(" 1\n", w->out);
			free(labels);
		}
	}
}

static void put_losses(const struct writer *w)
{
	static const char *const kinds[] = { "discarded_events", "lost_packets", "bad_packets",
					     "late_events" };

	put_family(w, "sillage_losses", "counter", "what is missing in the windows reported");
	for (size_t t = 0; t < w->metrics->traces.count; t++) {
		const struct metrics_trace *trace = w->metrics->traces.at[t];
		const uint64_t values[] = { trace->discarded, trace->lost_packets,
					    trace->bad_packets, trace->late_events };

		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			char label[40];

			(void)snprintf(label, sizeof(label), "kind=\"%s\"", kinds[k]);
			(void)fputs("sillage_losses_total", w->out);
			put_labels(w, trace, label, NULL);
			(void)fprintf(w->out, " %" PRIu64 "\n", values[k]);
		}
	}
}

/* What the program does. */
static void put_own(const struct writer *w)
{
	static const struct {
		const char *name, *type, *label, *help;
	} families[METRICS_OWN_FAMILIES] = {
		[METRICS_TRIGGERS_FIRED] = { "sillage_triggers_fired", "counter", "trigger",
					     "how often the trigger fired" },
		[METRICS_CAPTURES_WRITTEN] = { "sillage_captures_written", "counter", NULL,
					       "captures written" },
		[METRICS_CAPTURES_FAILED] = { "sillage_captures_failed", "counter", NULL,
					      "captures that could not be written" },
		[METRICS_RELAY_UP] = { "sillage_relay_up", "gauge", "relay",
				       "whether the relay is connected" },
		[METRICS_STORE_WINDOWS] = { "sillage_store_windows", "gauge", "state",
					    "windows closed = stored + spooled + lost + on their "
					    "way" },
	};

	for (unsigned int f = 0; f < METRICS_OWN_FAMILIES; f++) {
		bool is_counter = strcmp(families[f].type, "counter") == 0;

		put_family(w, families[f].name, families[f].type, families[f].help);
		for (size_t i = 0; i < w->metrics->own.count; i++) {
			const struct own_figure *figure = &w->metrics->own.at[i];
			bool is_first = true;

			if (figure->family != f) {
				continue;
			}
			(void)fprintf(w->out, "%s%s", families[f].name, is_counter ? "_total" : "");
			if (families[f].label) {
				(void)fputc('{', w->out);
				metrics_add_label(w->out, &is_first, families[f].label, figure->of);
				(void)fputc('}', w->out);
			}
			(void)fprintf(w->out, " %" PRIu64 "\n", figure->value);
		}
	}
}

char *metrics_text(const struct metrics *metrics, bool is_open_metrics)
{
	struct writer w = { .is_open_metrics = is_open_metrics, .metrics = metrics };
	char *text = NULL;
	size_t size;

	w.out = open_memstream(&text, &size);
	put_traces(&w);
	put_missing(&w);
	put_losses(&w);
	put_own(&w);
	for (size_t t = 0; t < metrics->traces.count; t++) {
		const struct metrics_trace *trace = metrics->traces.at[t];

		for (size_t i = 0; i < trace->tables.count; i++) {
			const struct total_table *total = trace->tables.at[i];

			for (unsigned int c = 0;
			     !was_written(metrics, t, total->table) && c < total->columns.count;
			     c++) {
				put_figure(&w, total, c);
			}
		}
	}
	for (size_t i = 0;
	     metrics->traces.count > 0 && i < metrics->traces.at[0]->last->report.table_count;
	     i++) {
		const struct report_table *table = &metrics->traces.at[0]->last->report.tables[i];

		if (table->table->scope == SCOPE_THREAD) {
			put_threads(&w, table->analysis, table->table);
		}
	}
	if (is_open_metrics) {
		(void)fputs("# EOF\n", w.out);
	}
	(void)fclose(w.out);
	return text;
}
