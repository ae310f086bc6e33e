/*
 * metrics-families: which figures metrics has, for writers of any format.
 *
 * Names follow Prometheus' conventions: sillage_ANALYSIS_TABLE_COLUMN, base units (seconds, bytes),
 * _total for counters.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "live/metrics/metrics-state.h"
#include "live/metrics/metrics-writer.h"
#include "version.h"

struct families {
	struct metrics_writer *to;
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

static enum metrics_type type_of(const struct column *column)
{
	switch (column->kind) {
	case COLUMN_SUM:
		return METRICS_COUNTER;
	case COLUMN_HISTOGRAM:
		return METRICS_HISTOGRAM;
	default:
		return METRICS_GAUGE;
	}
}

void metrics_powers(const struct histogram *histogram, uint64_t ret[METRICS_POWERS])
{
	uint64_t powers[HISTOGRAM_POWERS] = { 0 }, seen = 0;

	if (histogram) {
		histogram_powers(histogram, powers);
	}
	for (unsigned int i = 0; i < METRICS_POWER_FIRST - 1; i++) {
		seen += powers[i];
	}
	for (unsigned int i = 0; i < METRICS_POWERS; i++) {
		seen += powers[METRICS_POWER_FIRST - 1 + i]; /* values below 2^(10 + i) */
		ret[i] = seen;
	}
	assert(seen <= (histogram ? histogram->count : 0));
}

double metrics_power_bound(unsigned int i)
{
	assert(i < METRICS_POWERS);
	return (double)(((uint64_t)1 << (METRICS_POWER_FIRST + i)) - 1) / 1e9;
}

static void put_family(const struct families *f, const char *name, enum metrics_type type,
		       const char *help)
{
	f->to->family(f->to, name, type, help);
}

static void put_number(const struct families *f, const struct metrics_labels *labels,
		       uint64_t value, enum unit unit)
{
	f->to->number(f->to, labels, value, unit == UNIT_NS);
}

static void put_sample(const struct families *f, const struct metrics_trace *trace,
		       const struct column *column, const struct total_row *row, unsigned int c)
{
	const struct metrics_labels labels = { trace->labels, row->labels };

	if (column->kind == COLUMN_HISTOGRAM) {
		f->to->histogram(f->to, &labels, column_histogram(row->values, c));
	} else {
		put_number(f, &labels, row->values[c], column->unit);
	}
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
static void put_figure(const struct families *f, const struct total_table *like, unsigned int c)
{
	const struct column *column = &like->table->columns[c];
	char name[128], help[160];

	assert(c < COLUMNS_MAX);
	if (column->kind == COLUMN_PRIO || !is_known(f->metrics, like, c)) {
		return;
	}
	name_of(name, like->analysis, like->table, column);
	(void)snprintf(help, sizeof(help), "%s of the analysis %s", column->key,
		       like->analysis->name);
	put_family(f, name, type_of(column), help);
	for (size_t t = 0; t < f->metrics->traces.count; t++) {
		const struct metrics_trace *trace = f->metrics->traces.at[t];

		for (size_t i = 0; i < trace->tables.count; i++) {
			const struct total_table *total = trace->tables.at[i];

			if (total->table != like->table || total->unknown >> c & 1) {
				continue;
			}
			for (size_t r = 0; r < total->rows.count; r++) {
				put_sample(f, trace, column, total->rows.at[r], c);
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

	assert(row < table->row_count);
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
static void put_thread_samples(const struct families *f, const struct metrics_trace *trace,
			       const struct report_table *table, const struct column *column,
			       unsigned int c)
{
	for (size_t r = 0; r < table->row_count && r < METRICS_THREADS; r++) {
		const struct report_row *row = &table->rows[r];
		struct metrics_labels labels = { .trace = trace->labels };
		char *text = NULL, tid[16];
		bool is_first = true;
		uint64_t sum;
		size_t size;
		FILE *out;

		if (!sum_of_thread(table, r, c, &sum)) {
			continue;
		}
		out = open_memstream(&text, &size);
		(void)snprintf(tid, sizeof(tid), "%" PRId32, row->thread->tid);
		metrics_add_label(out, &is_first, "tid", tid);
		metrics_add_label(out, &is_first, "comm", row->thread->comm);
		(void)fclose(out);
		labels.row = text;
		put_number(f, &labels, sum, column->unit);
		free(text);
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

static void put_threads(const struct families *f, const struct analysis *analysis,
			const struct table *table)
{
	for (unsigned int c = 0; c < COLUMNS_MAX && table->columns[c].key; c++) {
		const struct column *column = &table->columns[c];
		char name[128];

		if (!(table->sort_mask >> c & 1) || column->kind != COLUMN_SUM ||
		    !is_known_last(f->metrics, analysis, c)) {
			continue;
		}
		name_of(name, analysis, table, column);
		(void)strncat(name, "_last_window", sizeof(name) - strlen(name) - 1);
		put_family(f, name, METRICS_GAUGE, "the first threads of the last window");
		for (size_t t = 0; t < f->metrics->traces.count; t++) {
			const struct metrics_trace *trace = f->metrics->traces.at[t];
			const struct report_table *rows =
				snapshot_table(trace->last, analysis->name, SCOPE_THREAD);

			if (rows && !report_is_unknown(rows, c)) {
				put_thread_samples(f, trace, rows, column, c);
			}
		}
	}
}

static void put_build(const struct families *f)
{
	put_family(f, "sillage_build_info", METRICS_GAUGE, "which sillage this is");
	put_number(f, &(const struct metrics_labels){ .row = "version=\"" SILLAGE_VERSION "\"" }, 1,
		   UNIT_COUNT);
}

static void put_traces(const struct families *f)
{
	static const struct {
		const char *name, *help;
		enum metrics_type type;
	} families[] = {
		{ "sillage_events", "events in the windows reported", METRICS_COUNTER },
		{ "sillage_windows", "windows reported", METRICS_COUNTER },
		{ "sillage_window_end_timestamp_seconds", "end of the last window", METRICS_GAUGE },
		{ "sillage_lag_seconds", "from a window's end to its report", METRICS_GAUGE },
	};

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		put_family(f, families[i].name, families[i].type, families[i].help);
		for (size_t t = 0; t < f->metrics->traces.count; t++) {
			const struct metrics_trace *trace = f->metrics->traces.at[t];
			const struct metrics_labels labels = { .trace = trace->labels };

			if (i < 2) {
				put_number(f, &labels, i == 0 ? trace->events : trace->windows,
					   UNIT_COUNT);
			} else if (i == 2 || trace->has_lag) {
				f->to->real(f->to, &labels, i == 2 ? trace->end_s : trace->lag_s);
			}
		}
	}
}

/* What a trace does not record of what the analyses need. */
static void put_missing(const struct families *f)
{
	put_family(f, "sillage_not_recorded", METRICS_GAUGE, "1: the analysis lacks this event");
	for (size_t t = 0; t < f->metrics->traces.count; t++) {
		const struct metrics_trace *trace = f->metrics->traces.at[t];
		const struct report *last = &trace->last->report;

		for (size_t i = 0; i < last->missing_count; i++) {
			char *text = NULL;
			bool is_first = true;
			size_t size;
			FILE *out = open_memstream(&text, &size);

			metrics_add_label(out, &is_first, "analysis",
					  last->missing[i].analysis->name);
			metrics_add_label(out, &is_first, "event", last->missing[i].event);
			(void)fclose(out);
			put_number(f, &(const struct metrics_labels){ trace->labels, text }, 1,
				   UNIT_COUNT);
			free(text);
		}
	}
}

static void put_losses(const struct families *f)
{
	static const char *const kinds[] = { "discarded_events", "lost_packets", "bad_packets",
					     "late_events" };

	put_family(f, "sillage_losses", METRICS_COUNTER, "what is missing in the windows reported");
	for (size_t t = 0; t < f->metrics->traces.count; t++) {
		const struct metrics_trace *trace = f->metrics->traces.at[t];
		const uint64_t values[] = { trace->discarded, trace->lost_packets,
					    trace->bad_packets, trace->late_events };

		for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
			char label[40];

			(void)snprintf(label, sizeof(label), "kind=\"%s\"", kinds[k]);
			put_number(f, &(const struct metrics_labels){ trace->labels, label },
				   values[k], UNIT_COUNT);
		}
	}
}

/* What the program does. */
static void put_own(const struct families *f)
{
	static const struct {
		const char *name, *label, *help;
		enum metrics_type type;
	} families[METRICS_OWN_FAMILIES] = {
		[METRICS_TRIGGERS_FIRED] = { "sillage_triggers_fired", "trigger",
					     "how often the trigger fired", METRICS_COUNTER },
		[METRICS_CAPTURES_WRITTEN] = { "sillage_captures_written", NULL, "captures written",
					       METRICS_COUNTER },
		[METRICS_CAPTURES_FAILED] = { "sillage_captures_failed", NULL,
					      "captures that could not be written",
					      METRICS_COUNTER },
		[METRICS_RELAY_UP] = { "sillage_relay_up", "relay",
				       "whether the relay is connected", METRICS_GAUGE },
		[METRICS_STORE_WINDOWS] = { "sillage_store_windows", "state",
					    "windows closed = stored + spooled + lost + on their "
					    "way",
					    METRICS_GAUGE },
		[METRICS_LEFT_OUT] = { "sillage_metrics_windows_left_out", NULL,
				       "windows of traces that are not here: more are followed "
				       "than there is room for",
				       METRICS_COUNTER },
	};

	for (unsigned int i = 0; i < METRICS_OWN_FAMILIES; i++) {
		put_family(f, families[i].name, families[i].type, families[i].help);
		for (size_t o = 0; o < f->metrics->own.count; o++) {
			const struct own_figure *figure = &f->metrics->own.at[o];
			char *text = NULL;
			bool is_first = true;
			size_t size;
			FILE *out;

			if (figure->family != i) {
				continue;
			}
			out = open_memstream(&text, &size);
			if (families[i].label) {
				metrics_add_label(out, &is_first, families[i].label, figure->of);
			}
			(void)fclose(out);
			put_number(f, &(const struct metrics_labels){ .row = text }, figure->value,
				   UNIT_COUNT);
			free(text);
		}
	}
}

void metrics_families(const struct metrics *metrics, struct metrics_writer *writer)
{
	const struct families f = { .to = writer, .metrics = metrics };

	put_build(&f);
	put_traces(&f);
	put_missing(&f);
	put_losses(&f);
	put_own(&f);
	for (size_t t = 0; t < metrics->traces.count; t++) {
		const struct metrics_trace *trace = metrics->traces.at[t];

		for (size_t i = 0; i < trace->tables.count; i++) {
			const struct total_table *total = trace->tables.at[i];

			for (unsigned int c = 0;
			     !was_written(metrics, t, total->table) && c < total->columns.count;
			     c++) {
				put_figure(&f, total, c);
			}
		}
	}
	for (size_t i = 0;
	     metrics->traces.count > 0 && i < metrics->traces.at[0]->last->report.table_count;
	     i++) {
		const struct report_table *table = &metrics->traces.at[0]->last->report.tables[i];

		if (table->table->scope == SCOPE_THREAD) {
			put_threads(&f, table->analysis, table->table);
		}
	}
}
