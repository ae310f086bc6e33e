/*
 * snapshot: see snapshot.h.
 */
#include "output/snapshot.h"

#include <string.h>

#include "base/mem.h"

struct snapshot *snapshot_new(const struct trace_identity *trace, const struct report *report,
			      size_t rows)
{
	struct snapshot *snapshot = mem_alloc(sizeof(*snapshot));

	snapshot->trace = output_trace_text(trace, false);
	snapshot->key = output_trace_text(trace, true);
	snapshot->bytes = report_copy(&snapshot->report, report, &snapshot->arena, rows, NULL);
	snapshot->bytes += sizeof(*snapshot) + snapshot->arena.total;
	return snapshot;
}

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot) {
		return;
	}
	report_copy_fini(&snapshot->report);
	arena_fini(&snapshot->arena);
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
