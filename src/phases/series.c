/*
 * series: see series.h.
 */
#include "phases/series.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

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
static void put_states(const struct series_sink *sink, const uint64_t *values, uint64_t cpu)
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
		put_states(sink, sums, SERIES_ALL_CPUS);
		return;
	}
	for (size_t i = 0; i < table->row_count; i++) {
		rows[i] = &table->rows[i];
	}
	qsort(rows, table->row_count, sizeof(rows[0]), by_id);
	for (size_t i = 0; i < table->row_count; i++) {
		put_states(sink, rows[i]->values, rows[i]->id);
	}
}

/* ---- figures of the trace ---- */

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
	sink->on_value(sink->user, &(struct series_value){ .name = "waiting",
							   .figure = "waiting",
							   .cpu = SERIES_ALL_CPUS,
							   .is_state = true,
							   .unit = UNIT_NS,
							   .least_scale = (double)NS_PER_S,
							   .value = ns / sink->seconds });
}

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

void series_each(const struct report *report, double seconds,
		 void (*on_value)(void *user, const struct series_value *value), void *user)
{
	const struct series_sink sink = { .on_value = on_value, .user = user, .seconds = seconds };

	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];
		bool is_cpu = is_of(table, "cpu");

		if (is_cpu && table->table->scope == SCOPE_CPU && !report_is_unknown(table, 0)) {
			put_cpus(&sink, table);
		} else if (!is_cpu && table->table->scope == SCOPE_TRACE && table->row_count > 0 &&
			   seconds > 0) {
			put_figures(&sink, table);
			if (is_of(table, "sched")) {
				put_waits(&sink, table);
			}
		}
	}
}
