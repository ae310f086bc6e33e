/*
 * series: see series.h.
 */
#include "phases/series.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/mem.h"
#include "engine/contract/row.h"

#define NAME_BYTES 96

struct series_sink {
	void (*on_value)(void *user, const struct series_value *value);
	void *user;
	double seconds;
};

static bool is_of(const struct report_table *table, const char *analysis)
{
	return strcmp(table->analysis->name, analysis) == 0;
}

/* ---- CPUs ---- */

/* Columns that add up to the time of a CPU, or of all. */
static void put_states(const struct series_sink *sink, const uint64_t *values, uint64_t cpu,
		       size_t cpus)
{
	static const char *const titles[] = { "busy", "idle", "unknown" };
	uint64_t all = values[0] + values[1] + values[2];

	for (unsigned int i = 0; i < 3 && all > 0; i++) {
		char name[NAME_BYTES];

		(void)snprintf(name, sizeof(name), "CPU %" PRIu64 " %s", cpu, titles[i]);
		sink->on_value(
			sink->user,
			&(struct series_value){ .name = cpu == SERIES_ALL_CPUS ? titles[i] : name,
						.figure = titles[i],
						.cpu = cpu,
						.cpus = cpus,
						.is_state = true,
						.is_share = true,
						.is_counterpart = i == 1,
						.least_scale = 1,
						.value = (double)values[i] / (double)all });
	}
}

ORDER_POINTERS(by_id, struct report_row, UP(id))

static void put_cpus(const struct series_sink *sink, const struct report_table *table)
{
	const struct report_row *rows[SERIES_CPUS_MAX];
	uint64_t sums[3] = { 0 };

	if (table->row_count > SERIES_CPUS_MAX) {
		for (size_t i = 0; i < 3 * table->row_count; i++) {
			sums[i % 3] += table->rows[i / 3].values[i % 3];
		}
		put_states(sink, sums, SERIES_ALL_CPUS, table->row_count);
		return;
	}
	for (size_t i = 0; i < table->row_count; i++) {
		rows[i] = &table->rows[i];
	}
	qsort(rows, table->row_count, sizeof(rows[0]), by_id);
	for (size_t i = 0; i < table->row_count; i++) {
		put_states(sink, rows[i]->values, rows[i]->id, 1);
	}
}

/* ---- waiting for CPUs ---- */

static void put_waiting(const struct series_sink *sink, uint64_t cpu, double ns)
{
	char name[NAME_BYTES];

	(void)snprintf(name, sizeof(name), "CPU %" PRIu64 " waiting", cpu);
	sink->on_value(sink->user,
		       &(struct series_value){ .name = cpu == SERIES_ALL_CPUS ? "waiting" : name,
					       .figure = "waiting",
					       .cpu = cpu,
					       .is_state = cpu == SERIES_ALL_CPUS,
					       .unit = UNIT_NS,
					       .least_scale = (double)NS_PER_S,
					       .value = ns / sink->seconds });
}

/* What threads waited for a CPU that have run before: the sums of the trace's distributions. */
static void put_waits(const struct series_sink *sink, const struct report_table *table)
{
	double ns = 0;

	for (unsigned int i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		const struct histogram *waits;
		const char *key = table->table->columns[i].key;

		if (strcmp(key, "wake") != 0 && strcmp(key, "requeue") != 0) {
			continue;
		}
		if (report_is_unknown(table, i)) {
			return;
		}
		waits = column_histogram(table->rows[0].values, i);
		ns += waits ? (double)waits->sum : 0;
	}
	put_waiting(sink, SERIES_ALL_CPUS, ns);
}

/* Of a row: woken, or preempted. */
static double waiting_ns(const struct report_table *table, const struct report_row *row)
{
	double ns = 0;

	for (unsigned int i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		const char *key = table->table->columns[i].key;

		if (strcmp(key, "wait_ns") == 0 || strcmp(key, "preempted_ns") == 0) {
			ns += report_is_unknown(table, i) ? 0 : (double)row->values[i];
		}
	}
	return ns;
}

static void put_cpus_waiting(const struct series_sink *sink, const struct report_table *table)
{
	for (size_t i = 0; i < table->row_count && table->row_count <= SERIES_CPUS_MAX; i++) {
		put_waiting(sink, table->rows[i].id, waiting_ns(table, &table->rows[i]));
	}
}

/* ---- figures of the trace ---- */

static void put_figures(const struct series_sink *sink, const struct report_table *table)
{
	for (unsigned int i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		const struct column *column = &table->table->columns[i];
		char name[NAME_BYTES];

		if (column->kind != COLUMN_SUM || !column->title || report_is_unknown(table, i)) {
			continue;
		}
		/* Several analyses have a figure of one title, as "read". */
		(void)snprintf(name, sizeof(name), "%s: %s", table->analysis->name, column->title);
		sink->on_value(sink->user,
			       &(struct series_value){ .name = name,
						       .figure = column->title,
						       .cpu = SERIES_ALL_CPUS,
						       .unit = column->unit,
						       .value = (double)table->rows[0].values[i] /
								sink->seconds });
	}
}

/* ---- rows: periods, jobs and calls, events of user programs ---- */

/* "periods: frame time": the rate, or level, of a row. */
static void put_row(const struct series_sink *sink, const struct report_table *table,
		    const struct report_row *row, const char *figure, const struct series_value *is)
{
	struct series_value value = *is;
	char *name;

	if (row->keyed && row->keyed[0] && table->table->id_key) {
		name = mem_printf("%s: %s (%" PRIu64 ") %s", table->analysis->name, row->keyed,
				  row->id, figure);
	} else {
		const char *of = row->label ? row->label : row->name ? row->name : "";

		name = mem_printf("%s: %s%s%s", table->analysis->name, of, of[0] ? " " : "",
				  figure);
	}
	value.name = name;
	value.figure = "row";
	value.cpu = SERIES_ALL_CPUS;
	sink->on_value(sink->user, &value);
	free(name);
}

static void put_durations(const struct series_sink *sink, const struct report_table *table,
			  const struct report_row *row, const struct histogram *times)
{
	uint64_t count = times ? times->count : 0;

	put_row(sink, table, row, "ended",
		&(struct series_value){ .is_state = true, .value = (double)count / sink->seconds });
	if (count > 0) {
		put_row(sink, table, row, "time",
			&(struct series_value){ .is_state = true,
						.is_level = true,
						.unit = UNIT_NS,
						.value = (double)times->sum / (double)count });
	}
}

/* Of a period, a job or a call. */
static void put_ended(const struct series_sink *sink, const struct report_table *table,
		      const struct report_row *row)
{
	for (unsigned int i = 0; i < COLUMNS_MAX && table->table->columns[i].key; i++) {
		const struct column *column = &table->table->columns[i];

		if (report_is_unknown(table, i)) {
			continue;
		}
		if (strcmp(column->key, "time") == 0 || strcmp(column->key, "duration") == 0) {
			put_durations(sink, table, row, column_histogram(row->values, i));
		} else if (strcmp(column->key, "open") == 0) {
			put_row(sink, table, row, "open",
				&(struct series_value){ .is_state = true,
							.is_level = true,
							.value = (double)row->values[i] });
		} else if (strcmp(column->key, "misses") == 0) {
			put_row(sink, table, row, "misses",
				&(struct series_value){ .is_state = true,
							.value = (double)row->values[i] /
								 sink->seconds });
		}
	}
}

/* Of one name, or one process. */
static void put_event_rates(const struct series_sink *sink, const struct report_table *table)
{
	for (size_t i = 0; i < table->row_count && i < SERIES_ROWS_MAX; i++) {
		put_row(sink, table, &table->rows[i], "events",
			&(struct series_value){ .value = (double)table->rows[i].values[0] /
							 sink->seconds });
	}
}

static void put_rows(const struct series_sink *sink, const struct report_table *table,
		     bool has_cpus, bool has_calls)
{
	const char *key = table->table->key;

	if ((is_of(table, "periods") && strcmp(key, "by_name") == 0) ||
	    (is_of(table, "jobs") && strcmp(key, "jobs") == 0) ||
	    (has_calls && is_of(table, "calls") && strcmp(key, "by_name") == 0)) {
		for (size_t i = 0; i < table->row_count && i < SERIES_ROWS_MAX; i++) {
			put_ended(sink, table, &table->rows[i]);
		}
	} else if (!has_cpus && ((is_of(table, "ust") && strcmp(key, "processes") == 0) ||
				 (is_of(table, "count") && table->table->scope == SCOPE_EVENT))) {
		put_event_rates(sink, table);
	}
}

/* ---- all ---- */

/* Whether the analysis has figures. */
static bool knows_analysis(const struct report *report, const char *analysis)
{
	for (size_t i = 0; i < report->table_count; i++) {
		if (is_of(&report->tables[i], analysis) &&
		    !report_is_unknown(&report->tables[i], 0)) {
			return true;
		}
	}
	return false;
}

void series_each(const struct report *report, double seconds, bool has_calls,
		 void (*on_value)(void *user, const struct series_value *value), void *user)
{
	const struct series_sink sink = { .on_value = on_value, .user = user, .seconds = seconds };
	bool has_cpus = knows_analysis(report, "cpu");
	bool knows_waits = knows_analysis(report, "waits");

	for (size_t i = 0; i < report->table_count && seconds > 0; i++) {
		const struct report_table *table = &report->tables[i];
		bool is_cpu = is_of(table, "cpu"), is_waits = knows_waits && is_of(table, "waits");

		if (is_cpu && table->table->scope == SCOPE_CPU && !report_is_unknown(table, 0)) {
			put_cpus(&sink, table);
		} else if (is_waits && table->table->scope == SCOPE_KEYED) {
			put_cpus_waiting(&sink, table);
		} else if (!is_cpu && table->table->scope == SCOPE_TRACE && table->row_count > 0) {
			put_figures(&sink, table);
			if (is_of(table, "periods")) {
				put_ended(&sink, table, table->rows);
			} else if (is_waits) {
				put_waiting(&sink, SERIES_ALL_CPUS, waiting_ns(table, table->rows));
			} else if (is_of(table, "sched") && !knows_waits) {
				put_waits(&sink, table);
			}
		} else if (table->table->key) {
			put_rows(&sink, table, has_cpus, has_calls);
		}
	}
}

/* ---- as text ---- */

const char *series_text(char text[UNITS_TEXT_MAX], bool is_level, enum unit unit, double value)
{
	uint64_t whole = (uint64_t)(value + 0.5);
	size_t len;

	if (is_level && unit == UNIT_COUNT) {
		(void)snprintf(text, UNITS_TEXT_MAX, "%.1f", value);
		return text;
	}
	(void)(unit == UNIT_NS      ? units_ns(text, whole)
	       : unit == UNIT_BYTES ? units_bytes(text, whole)
				    : units_count(text, whole));
	len = strlen(text);
	(void)snprintf(text + len, UNITS_TEXT_MAX - len, "%s", is_level ? "" : "/s");
	return text;
}

const char *series_unit(bool is_share, bool is_level, enum unit unit)
{
	static const char *const names[][2] = { { "1/s", "1" }, { "B/s", "B" }, { "ns/s", "ns" } };

	return is_share ? "share" : names[unit][is_level];
}
