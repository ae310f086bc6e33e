/*
 * snapshot: a window of a trace that the full screen keeps: a copy of a report's first rows.
 */
#pragma once

#include "base/arena.h"
#include "engine/tables/report.h"
#include "output/sink.h"

struct snapshot {
	char *trace;          /* to show: "host/session/domain" */
	char *key;            /* the same with the path, which is unique */
	struct report report; /* a copy */
	struct arena arena;   /* has what it points to */
	size_t bytes;         /* memory, approximately */
};

/* Copies at most @rows rows of each table. */
struct snapshot *snapshot_new(const struct trace_identity *trace, const struct report *report,
			      size_t rows);
void snapshot_free(struct snapshot *snapshot); /* NULL is fine */

/* The first table of the analysis that has @scope; NULL: there is none. */
const struct report_table *snapshot_table(const struct snapshot *snapshot, const char *analysis,
					  enum scope scope);
