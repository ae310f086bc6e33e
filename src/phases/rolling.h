/*
 * rolling: the suggested parts (suggest.h) of the last slices of a run that does not end.
 *
 * When a slice closes, the intervals that end there are added to the table of partition.h, and the
 * parts are found again.  Beyond the slices that are held the oldest one is dropped; what was found
 * about it stays what it was.  So a slice costs the slices held times the series, and some dozen
 * partitions.
 *
 * Some series are known again with each slice, also of those before (groups.h).  Where these are
 * what they were the table grows as with the others; else it is made again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/mem.h"

/* Held: as many as an overview looks at.  A slice takes some 0.2 ms (doc/performance.md). */
#define ROLLING_SLICES     100
#define ROLLING_SERIES_MAX 512
#define ROLLING_VALUE_MAX  1e6

struct rolling;

/* Slices are numbered from 0 on. */
struct rolling_part {
	uint64_t first, last;
	bool is_clear; /* its begin is one of the suggested parts now; else it was, or may be */
};

/* @slices: how many are held; at least 2. */
struct rolling *rolling_new(size_t slices);
void rolling_free(struct rolling *rolling); /* NULL is fine */

/* A slice has closed.  @values: of each series, from 0 to ROLLING_VALUE_MAX.  The number of series
 * may grow, up to ROLLING_SERIES_MAX; the new ones were 0 before.  rolling_find() follows. */
void rolling_add(struct rolling *rolling, const double *values, size_t series);

/* Series beside those of rolling_add(), of all slices held; all of them count. */
struct rolling_beside {
	size_t series;
	const double *values; /* [series][slices held] */
};

/* Finds the parts.  @counts: of each series of rolling_add(), as in suggest_parts().  @is_over as
 * there: no slice follows. */
void rolling_find(struct rolling *rolling, const bool *counts, const struct rolling_beside *beside,
		  bool is_over);
/* Multiplies what is held of a series. */
void rolling_scale(struct rolling *rolling, size_t series, double factor);
/* All slices held have that value of a series. */
void rolling_fill(struct rolling *rolling, size_t series, double value);

uint64_t rolling_count(const struct rolling *rolling); /* of slices that have closed */
uint64_t rolling_first(const struct rolling *rolling); /* the oldest slice that is held */
size_t rolling_series(const struct rolling *rolling);  /* of rolling_add() */
/* The parts of the slices held, in order; valid until the next slice. */
const struct rolling_part *rolling_parts(const struct rolling *rolling, size_t *ret_count);
/* The sum of a series over slices that are held. */
double rolling_sum(const struct rolling *rolling, size_t series, const struct rolling_part *part);

/* Writes the state, or reads it into a new one that holds as many slices.  The parts are there
 * again with the next slice. */
void rolling_codec(struct rolling *rolling, struct codec *codec);
