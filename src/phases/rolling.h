/*
 * rolling: the suggested parts (suggest.h) of the last slices of a run that does not end.
 *
 * When a slice closes, the intervals that end there are added to the table of partition.h, and the
 * parts are found again.  Beyond the slices that are held the oldest one is dropped; what was found
 * about it stays what it was.  So a slice costs the slices held times the series, and some dozen
 * partitions.
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

/*
 * A slice has closed.  @values: of each series, from 0 to ROLLING_VALUE_MAX.  The number of series
 * may grow, up to ROLLING_SERIES_MAX; the new ones were 0 before.  @counts: of each series, as in
 * suggest_parts().
 */
void rolling_add(struct rolling *rolling, const double *values, const bool *counts, size_t series);
/* Multiplies what is held of a series. */
void rolling_scale(struct rolling *rolling, size_t series, double factor);

uint64_t rolling_count(const struct rolling *rolling); /* of slices that have closed */
uint64_t rolling_first(const struct rolling *rolling); /* the oldest slice that is held */
/* The parts of the slices held, in order; valid until the next slice. */
const struct rolling_part *rolling_parts(const struct rolling *rolling, size_t *ret_count);
/* The sum of a series over slices that are held. */
double rolling_sum(const struct rolling *rolling, size_t series, const struct rolling_part *part);

/* Writes the state, or reads it into a new one that holds as many slices.  The parts are there
 * again with the next slice. */
void rolling_codec(struct rolling *rolling, struct codec *codec);
