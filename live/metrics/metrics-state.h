/*
 * metrics-state: shared by the parts of metrics: metrics.c adds up windows, metrics-families.c
 * names the sums.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"
#include "engine/tables/columns.h"
#include "live/metrics/metrics-writer.h"
#include "live/metrics/metrics.h"

/* The sums of one row of a table. */
struct total_row {
	char *labels;    /* cpu="0"; without those of the trace */
	uint64_t recent; /* what rows are sorted by, of the last windows most */
	bool is_shown;
	uint64_t values[COLUMNS_MAX];
};

HASH_MAP_TEXT(total_rows, struct total_row *)

struct total_table {
	const struct analysis *analysis;
	const struct table *table;
	struct columns columns;
	uint16_t unknown;  /* in the last window: columns whose events are not recorded */
	uint16_t wanted;   /* columns that have series */
	size_t shown_most; /* rows that have series */
	struct total_rows by_labels;
	VEC(struct total_row *) rows;
};

struct metrics_trace {
	char *labels; /* host="...",session="...",domain="..." */
	uint64_t events, windows;
	struct losses lost;
	uint64_t reported; /* metrics.windows at its last window */
	double end_s, lag_s;
	bool has_lag;
	uint32_t followed; /* how many times; 0: it has ended */
	VEC(struct total_table *) tables;
	VEC(struct missing_event) missing; /* in the last window */
};

HASH_MAP_TEXT(metrics_traces, struct metrics_trace *)

struct own_figure {
	enum metrics_own family;
	char *of; /* owned */
	uint64_t value;
};

struct metrics {
	VEC(struct own_figure) own;
	enum metrics_profile profile;
	/* Of the classic buckets of traces, and of rows. */
	struct metrics_bounds fine, powers;
	uint64_t windows; /* of all traces */
	uint64_t removed; /* traces */
	VEC(struct metrics_trace *) traces;
	struct metrics_traces by_labels;
};

/* How many rows of a table have series: 0: it is left out.  *ret_columns: those that have. */
size_t metrics_choose(const struct metrics *metrics, const struct analysis *analysis,
		      const struct table *table, uint16_t *ret_columns);
/* The bounds of the classic buckets of a distribution; NULL: it is shown as sum and count. */
const struct metrics_bounds *metrics_bounds_of(const struct metrics *metrics,
					       const struct total_table *total, unsigned int c);

/* Writes name="value", after a comma unless @is_first.  Values come from traces: they are escaped,
 * and bytes that are not ASCII become '?'. */
void metrics_add_label(FILE *out, bool *is_first, const char *name, const char *value);
