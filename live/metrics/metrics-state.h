/*
 * metrics-state: shared by the parts of metrics: metrics.c adds up windows, metrics-families.c
 * names the sums.
 */
#ifndef SILLAGE_LIVE_METRICS_STATE_H
#define SILLAGE_LIVE_METRICS_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "engine/tables/columns.h"
#include "live/metrics/metrics.h"
#include "output/snapshot.h"

/* The sums of one row of a table. */
struct total_row {
	char *labels; /* cpu="0"; without those of the trace */
	uint64_t values[COLUMNS_MAX];
};

HASH_MAP_TEXT(total_rows, struct total_row *)

struct total_table {
	const struct analysis *analysis;
	const struct table *table;
	struct columns columns;
	uint16_t unknown; /* in the last window: columns whose events are not recorded */
	struct total_rows by_labels;
	VEC(struct total_row *) rows;
};

struct metrics_trace {
	char *labels; /* host="...",session="...",domain="..." */
	uint64_t events, windows;
	uint64_t discarded, lost_packets, bad_packets, late_events;
	uint64_t reported; /* metrics.windows at its last window */
	double end_s, lag_s;
	bool has_lag, is_followed; /* is_followed: it had a window, and was not detached since */
	VEC(struct total_table *) tables;
	struct snapshot *last; /* the last window, for its threads */
};

HASH_MAP_TEXT(metrics_traces, struct metrics_trace *)

struct own_figure {
	enum metrics_own family;
	char *of; /* owned */
	uint64_t value;
};

struct metrics {
	VEC(struct own_figure) own;
	uint64_t windows; /* of all traces */
	VEC(struct metrics_trace *) traces;
	struct metrics_traces by_labels;
};

/* Writes name="value", after a comma unless @is_first.  Values come from traces: they are escaped,
 * and bytes that are not ASCII become '?'. */
void metrics_add_label(FILE *out, bool *is_first, const char *name, const char *value);

#endif
