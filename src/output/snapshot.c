/*
 * snapshot: see snapshot.h.
 */
#include "output/snapshot.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "engine/tables/columns.h"

/* What a copied row points to. */
struct snapshot_row {
	struct thread_view thread;
	struct instance instance;
	char name[256], by[64];
	uint64_t values[COLUMNS_MAX];
};

/* Returns the bytes of the histograms, which the copy owns. */
static size_t copy_values(const struct table *table, struct snapshot_row *copy,
			  const uint64_t *values)
{
	size_t bytes = 0;

	for (uint32_t i = 0; values && i < column_count(table); i++) {
		struct histogram *histogram = NULL;

		if (table->columns[i].kind == COLUMN_HISTOGRAM) {
			histogram_merge(&histogram, column_histogram(values, i));
			copy->values[i] = (uint64_t)(uintptr_t)histogram;
			bytes += histogram_bytes(histogram);
		} else if (table->columns[i].kind != COLUMN_PRIO) {
			copy->values[i] = values[i];
		}
	}
	return bytes;
}

static size_t copy_row(const struct table *table, struct snapshot_row *copy, struct report_row *row)
{
	size_t bytes = copy_values(table, copy, row->values);

	row->values = copy->values;
	row->keyed = NULL; /* only a rollup needs it */
	if (row->thread) {
		copy->thread = *row->thread;
		row->thread = &copy->thread;
	}
	if (row->name) { /* only a label is shown */
		(void)snprintf(copy->name, sizeof(copy->name), "%s",
			       row->label ? row->label : row->name);
		row->name = copy->name;
		row->label = NULL;
	}
	if (row->by) {
		(void)snprintf(copy->by, sizeof(copy->by), "%s", row->by);
		row->by = copy->by;
	}
	if (row->instance) {
		copy->instance = *row->instance;
		copy->instance.thread = NULL;
		row->instance = &copy->instance;
	}
	return bytes;
}

/*
 * One block of memory: rows, then what they point to.
 *
 *     | report_row | report_row | ... | snapshot_row | snapshot_row | ... |
 */
static size_t copy_table(struct report_table *table, size_t most)
{
	size_t count = table->row_count < most ? table->row_count : most;
	size_t bytes = count * (sizeof(struct report_row) + sizeof(struct snapshot_row));
	struct report_row *rows = mem_alloc(bytes + 1); /* not NULL, even without rows */
	struct snapshot_row *copy = (struct snapshot_row *)(rows + count);

	assert(count <= most);
	for (size_t i = 0; i < count; i++) {
		rows[i] = table->rows[i];
		bytes += copy_row(table->table, &copy[i], &rows[i]);
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
		snapshot->bytes += copy_table(&tables[i], rows);
	}
	snapshot->report.tables = tables;
	snapshot->report.parts = NULL;
	snapshot->report.part_count = 0;
	if (report->missing_count > 0) {
		size_t bytes = report->missing_count * sizeof(*report->missing);

		snapshot->report.missing = memcpy(mem_alloc(bytes), report->missing, bytes);
		snapshot->bytes += bytes;
	}
	assert(snapshot->bytes >= sizeof(*snapshot));
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
	free((struct missing_event *)snapshot->report.missing);
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
