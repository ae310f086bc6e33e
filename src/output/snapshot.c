/*
 * snapshot: see snapshot.h.
 */
#include "output/snapshot.h"

#include <string.h>

#include "base/mem.h"
#include "engine/tables/columns.h"

/* A row with all that it points to. */
struct kept_row {
	struct thread_view thread;
	struct instance instance;
	char name[256];
	uint64_t values[COLUMNS_MAX];
};

/* The bytes of what it points to. */
static size_t keep_values(const struct table *table, struct kept_row *kept, const uint64_t *values)
{
	size_t bytes = 0;

	for (uint32_t i = 0; values && i < column_count(table); i++) {
		struct histogram *histogram = NULL;

		if (table->columns[i].kind == COLUMN_HISTOGRAM) {
			histogram_merge(&histogram, column_histogram(values, i));
			kept->values[i] = (uint64_t)(uintptr_t)histogram;
			bytes += histogram_bytes(histogram);
		} else if (table->columns[i].kind != COLUMN_PRIO) {
			kept->values[i] = values[i];
		}
	}
	return bytes;
}

static size_t keep_row(const struct table *table, struct kept_row *kept, struct report_row *row)
{
	size_t bytes = keep_values(table, kept, row->values);

	row->values = kept->values;
	if (row->thread) {
		kept->thread = *row->thread;
		row->thread = &kept->thread;
	}
	if (row->name) {
		(void)snprintf(kept->name, sizeof(kept->name), "%s", row->name);
		row->name = kept->name;
	}
	if (row->instance) {
		kept->instance = *row->instance;
		kept->instance.thread = NULL;
		row->instance = &kept->instance;
	}
	return bytes;
}

/* The rows come first in one piece of memory, what they point to behind them. */
static size_t keep_table(struct report_table *table, size_t most)
{
	size_t count = table->row_count < most ? table->row_count : most;
	size_t bytes = count * (sizeof(struct report_row) + sizeof(struct kept_row));
	struct report_row *rows = mem_alloc(bytes + 1);
	struct kept_row *kept = (struct kept_row *)(rows + count);

	for (size_t i = 0; i < count; i++) {
		rows[i] = table->rows[i];
		bytes += keep_row(table->table, &kept[i], &rows[i]);
	}
	table->rows = rows;
	table->row_count = count;
	return bytes;
}

struct snapshot *snapshot_new(const struct trace_identity *trace, const struct report *report,
			      size_t rows)
{
	struct snapshot *snapshot = mem_alloc(sizeof(*snapshot));
	struct report_table *tables = mem_alloc((report->table_count + 1) * sizeof(*tables));

	snapshot->trace = output_trace_text(trace, false);
	snapshot->key = output_trace_text(trace, true);
	snapshot->report = *report;
	snapshot->bytes = sizeof(*snapshot);
	for (size_t i = 0; i < report->table_count; i++) {
		tables[i] = report->tables[i];
		snapshot->bytes += keep_table(&tables[i], rows);
	}
	snapshot->report.tables = tables;
	return snapshot;
}

static void free_table(const struct report_table *table)
{
	for (size_t r = 0; r < table->row_count; r++) {
		for (uint32_t i = 0; i < column_count(table->table); i++) {
			if (table->table->columns[i].kind == COLUMN_HISTOGRAM) {
				histogram_free(
					(struct histogram *)(uintptr_t)table->rows[r].values[i]);
			}
		}
	}
	free((struct report_row *)table->rows);
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot) {
		return;
	}
	for (size_t i = 0; i < snapshot->report.table_count; i++) {
		free_table(&snapshot->report.tables[i]);
	}
	free((struct report_table *)snapshot->report.tables);
	free(snapshot->trace);
	free(snapshot->key);
	free(snapshot);
}

const struct report_table *snapshot_table(const struct snapshot *snapshot, const char *analysis,
					  enum scope scope)
{
	for (size_t i = 0; i < snapshot->report.table_count; i++) {
		const struct report_table *table = &snapshot->report.tables[i];

		if (table->table->scope == scope && strcmp(table->analysis->name, analysis) == 0) {
			return table;
		}
	}
	return NULL;
}
