/*
 * snapshot: a report that is kept: a copy of its first rows, and of whom it is about.
 */
#ifndef SILLAGE_OUTPUT_SNAPSHOT_H
#define SILLAGE_OUTPUT_SNAPSHOT_H

#include "engine/tables/report.h"
#include "output/sink.h"

struct snapshot {
	char *trace, *key;    /* "host/session/domain"; what tells it from others, too */
	struct report report; /* all it points to is the snapshot's */
	size_t bytes;         /* about */
};

/* Of each table at most @rows rows. */
struct snapshot *snapshot_new(const struct trace_identity *trace, const struct report *report,
			      size_t rows);
void snapshot_free(struct snapshot *snapshot); /* NULL is fine */

/* The first table of @scope of the analysis, or NULL. */
const struct report_table *snapshot_table(const struct snapshot *snapshot, const char *analysis,
					  enum scope scope);

#endif
