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
	bool is_said = strcmp(column->key, analysis->name) == 0; /* count_by_name, not .._count */

	len = is_ns ? len - 3 : is_said ? 0 : len;
	(void)snprintf(name, 128, "sillage_%s%s%s%s%.*s%s", analysis->name, table->key ? "_" : "",
		       table->key ? table->key : "", len > 0 ? "_" : "", (int)len, column->key,
		       is_time ? "_seconds" : "");
}

/* ---- which figures ---- */

/* Of the small profile: lists and how many of their rows have series. */
static const struct {
	const char *analysis, *table;
	size_t rows;
} small_lists[] = {
	{ "cpu", "processes", 20 },
	{ "cpu", "containers", 10 },
	{ "block", "disks", 6 },
	{ "net", "interfaces", 6 },
};

static size_t small_rows(const struct analysis *analysis, const struct table *table)
{
	for (size_t i = 0; i < sizeof(small_lists) / sizeof(small_lists[0]); i++) {
		if (strcmp(small_lists[i].analysis, analysis->name) == 0 &&
		    strcmp(small_lists[i].table, table->key) == 0) {
			return small_lists[i].rows;
		}
	}
	return 0;
}

/* Rows of threads, descriptors, paths and pairs of threads are without end. */
static size_t full_rows(const struct table *table)
{
	enum scope scope = table->scope;

	if (scope == SCOPE_PROCESS) {
		return METRICS_NAMES_SHOWN;
	}
	if (scope == SCOPE_KEYED) {
		bool is_path = table->name_key && strcmp(table->name_key, "path") == 0;

		return is_path || table->owner_key ? 0 : SIZE_MAX;
	}
	return scope == SCOPE_CPU || scope == SCOPE_EVENT || scope_is_of_containers(scope)
		       ? SIZE_MAX
		       : 0;
}

size_t metrics_choose(const struct metrics *metrics, const struct analysis *analysis,
		      const struct table *table, uint16_t *ret_columns)
{
	bool is_small = metrics->profile == METRICS_SMALL, is_trace = table->scope == SCOPE_TRACE;

	*ret_columns = 0;
	for (unsigned int c = 0; c < COLUMNS_MAX && table->columns[c].key; c++) {
		const struct column *column = &table->columns[c];
		bool is_first = is_trace ? column->title != NULL
					 : column->is_share || table->sort_mask >> c & 1;

		if (column->kind != COLUMN_PRIO && (!is_small || is_first)) {
			*ret_columns |= (uint16_t)(1u << c);
		}
	}
	return is_trace ? SIZE_MAX : is_small ? small_rows(analysis, table) : full_rows(table);
}

const struct metrics_bounds *metrics_bounds_of(const struct metrics *metrics,
					       const struct total_table *total, unsigned int c)
{
	enum scope scope = total->table->scope;
	bool is_latency = strcmp(total->analysis->name, "sched") == 0 &&
			  strcmp(total->table->columns[c].key, "wake") == 0;

	if (scope == SCOPE_PROCESS ||
	    (metrics->profile == METRICS_SMALL && (scope != SCOPE_TRACE || !is_latency))) {
		return NULL;
	}
	return scope == SCOPE_TRACE ? &metrics->fine : &metrics->powers;
}

/* ---- writing ---- */

static enum metrics_type type_of(const struct metrics *metrics, const struct total_table *like,
				 unsigned int c)
{
	switch (like->table->columns[c].kind) {
	case COLUMN_SUM:
		return METRICS_COUNTER;
	case COLUMN_HISTOGRAM:
		return metrics_bounds_of(metrics, like, c) ? METRICS_HISTOGRAM : METRICS_SUMMARY;
	default:
		return METRICS_GAUGE;
	}
}

/* "cpu.processes.run, seconds added up over windows": the figure as triggers call it. */
static void help_of(char help[240], const struct metrics *metrics, const struct total_table *like,
		    unsigned int c)
{
	static const char *const units[] = { "number", "bytes", "seconds" };
	const struct column *column = &like->table->columns[c];
	const struct metrics_bounds *bounds = metrics_bounds_of(metrics, like, c);
	const char *how = "added up over windows";
	int len = (int)strlen(column->key);

	if (column->kind == COLUMN_HISTOGRAM) {
		how = !bounds ? "sum and count over windows"
		      : bounds == &metrics->fine
			      ? "distribution; a classic bucket is at most 25 % wide"
			      : "distribution; a classic bucket ends at twice the one before, so "
				"that "
				"a quantile may be wrong by as much; with native histograms it is "
				"not";
	} else if (column->kind != COLUMN_SUM) {
		how = column->kind == COLUMN_MAX ? "the largest of all windows so far"
						 : "at the end of the last window only";
	}
	len -= column->unit == UNIT_NS && len > 3 && strcmp(column->key + len - 3, "_ns") == 0 ? 3
											       : 0;
	(void)snprintf(help, 240, "%s%s%s.%.*s, %s, %s%s", like->analysis->name,
		       like->table->key ? "." : "", like->table->key ? like->table->key : "", len,
		       column->key, units[column->unit], how,
		       like->table->scope == SCOPE_PROCESS ? ", by the name of the process" : "");
}

void metrics_cumulate(const struct histogram *histogram, const struct metrics_bounds *bounds,
		      uint64_t ret[METRICS_BOUNDS_MAX])
{
	struct histogram_bucket buckets[HISTOGRAM_BUCKETS_MAX];
	uint32_t used = histogram_list(histogram, buckets), at = 0;
	uint64_t seen = 0;

	for (unsigned int i = 0; i < bounds->count; i++) {
		for (; at < used && histogram_end(buckets[at].index) <= bounds->at[i]; at++) {
			seen += buckets[at].count;
		}
		ret[i] = seen;
	}
	assert(seen <= (histogram ? histogram->count : 0));
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
		       const struct total_table *total, const struct total_row *row, unsigned int c)
{
	const struct metrics_labels labels = { trace->labels, row->labels };
	const struct column *column = &total->table->columns[c];

	if (column->kind == COLUMN_HISTOGRAM) {
		f->to->histogram(f->to, &labels, column_histogram(row->values, c),
				 metrics_bounds_of(f->metrics, total, c));
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
	char name[128], help[240];

	assert(c < COLUMNS_MAX);
	if (!(like->wanted >> c & 1) || !is_known(f->metrics, like, c)) {
		return;
	}
	name_of(name, like->analysis, like->table, &like->table->columns[c]);
	help_of(help, f->metrics, like, c);
	put_family(f, name, type_of(f->metrics, like, c), help);
	for (size_t t = 0; t < f->metrics->traces.count; t++) {
		const struct metrics_trace *trace = f->metrics->traces.at[t];

		for (size_t i = 0; i < trace->tables.count; i++) {
			const struct total_table *total = trace->tables.at[i];

			if (total->table != like->table || total->unknown >> c & 1) {
				continue;
			}
			for (size_t r = 0; r < total->rows.count; r++) {
				if (total->rows.at[r]->is_shown) {
					put_sample(f, trace, total, total->rows.at[r], c);
				}
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

static void put_build(const struct families *f)
{
	put_family(f, "sillage_build_info", METRICS_GAUGE, "which sillage this is");
	put_number(f, &(const struct metrics_labels){ .row = "version=\"" SILLAGE_VERSION "\"" }, 1,
		   UNIT_COUNT);
	put_family(f, "sillage_traces_removed", METRICS_COUNTER,
		   "traces that had ended and have no series any more: too many others have");
	put_number(f, &(const struct metrics_labels){ 0 }, f->metrics->removed, UNIT_COUNT);
}

static void put_traces(const struct families *f)
{
	static const struct {
		const char *name, *help;
		enum metrics_type type;
	} families[] = {
		{ "sillage_events", "events in the windows reported", METRICS_COUNTER },
		{ "sillage_windows", "windows reported", METRICS_COUNTER },
		{ "sillage_window_end_timestamp_seconds", "end of the last window, since 1970",
		  METRICS_GAUGE },
		{ "sillage_lag_seconds", "from the end of the last window to its report",
		  METRICS_GAUGE },
	};

	for (size_t i = 0; i < ARRAY_COUNT(families); i++) {
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
	put_family(f, "sillage_not_recorded", METRICS_GAUGE,
		   "1: the analysis lacks this event, in the last window");
	for (size_t t = 0; t < f->metrics->traces.count; t++) {
		const struct metrics_trace *trace = f->metrics->traces.at[t];

		for (size_t i = 0; i < trace->missing.count; i++) {
			char *text = NULL;
			bool is_first = true;
			size_t size;
			FILE *out = open_memstream(&text, &size);

			metrics_add_label(out, &is_first, "analysis",
					  trace->missing.at[i].analysis->name);
			metrics_add_label(out, &is_first, "event", trace->missing.at[i].event);
			(void)fclose(out);
			put_number(f, &(const struct metrics_labels){ trace->labels, text }, 1,
				   UNIT_COUNT);
			free(text);
		}
	}
}

/* Each once: misfits are anomalies. */
static void put_losses(const struct families *f)
{
	put_family(f, "sillage_losses", METRICS_COUNTER,
		   "what is missing in the windows reported, or does not fit");
	for (size_t t = 0; t < f->metrics->traces.count; t++) {
		const struct metrics_trace *trace = f->metrics->traces.at[t];

		for (int k = 0; k <= LOSS_ANOMALIES; k++) {
			char label[40];

			(void)snprintf(label, sizeof(label), "kind=\"%s%s\"", report_lost_keys[k],
				       k == LOSS_EVENTS ? "_events" : "");
			put_number(f, &(const struct metrics_labels){ trace->labels, label },
				   trace->lost.of[k], UNIT_COUNT);
		}
	}
}

/* What the program does. */
static void put_own(const struct families *f)
{
	static const struct {
		const char *name, *label, *help;
		enum metrics_type type;
		enum unit unit;
	} families[METRICS_OWN_FAMILIES] = {
		[METRICS_TRIGGERS_FIRED] = { "sillage_triggers_fired", "trigger",
					     "how often the trigger fired", METRICS_COUNTER },
		[METRICS_OBJECTIVE_WINDOWS] = { "sillage_objective_windows", "objective",
						"windows that count for the objective",
						METRICS_COUNTER },
		[METRICS_OBJECTIVE_BAD] = { "sillage_objective_bad_windows", "objective",
					    "windows in which the objective's condition did not "
					    "hold",
					    METRICS_COUNTER },
		/* Prometheus has shares from 0 to 1, and times in seconds: both are 1e-9. */
		[METRICS_OBJECTIVE_SHARE] = { "sillage_objective_ratio", "objective",
					      "share of the windows in which the objective's "
					      "condition has to hold",
					      METRICS_GAUGE, UNIT_NS },
		[METRICS_CAPTURES_WRITTEN] = { "sillage_captures_written", NULL, "captures written",
					       METRICS_COUNTER },
		[METRICS_CAPTURES_FAILED] = { "sillage_captures_failed", NULL,
					      "captures that could not be written",
					      METRICS_COUNTER },
		[METRICS_RELAY_UP] = { "sillage_relay_up", "relay",
				       "whether the relay is connected", METRICS_GAUGE },
		[METRICS_STORE_WINDOWS] = { "sillage_store_windows", "state",
					    "windows closed = stored + spooled + lost + on their "
					    "way, a number",
					    METRICS_GAUGE },
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
				   families[i].unit);
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
}
