/*
 * rolling: the best partition of the last slices of a run that does not end.
 *
 * The same problem as partition.h's, from left to right.  When a slice closes, each slice that is
 * held may be the first one of the last part:
 *
 *     best[j] = max over i of best[i - 1] + gain weight - loss        of the part from i to j
 *
 * The sums of a series from i to j are kept for each i and grow with j.  So a slice costs the
 * slices held times the series, and memory is of that size, too.
 *
 * The whole of a run that goes on is not known.  So gain and loss are not divided by those of the
 * whole; the weight of gain against loss stands for the compromise p.  It is found again whenever a
 * tenth of the slices held is new, by the rule of partition.h: the simplest partition of them that
 * loses no more than PARTITION_LOSS_SUGGESTED.  Then the recurrence begins again with the slices
 * held.  The weight has a least value, so that a steady run is not cut at its noise.
 *
 * Beyond ROLLING_SLICES slices the oldest one is dropped.  If a part begins there, all parts before
 * it are given up; else it stays a part of the first part, which is not cut there again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/mem.h"

#define ROLLING_SLICES     600 /* held */
#define ROLLING_SERIES_MAX 512
#define ROLLING_VALUE_MAX  1e6

struct rolling;

/* Slices are numbered from 0 on. */
struct rolling_part {
	uint64_t first, last;
};

/* @slices: how many are held; at least 2. */
struct rolling *rolling_new(size_t slices);
void rolling_free(struct rolling *rolling); /* NULL is fine */

/* The weight of gain against loss from now on; it is not found by itself any more. */
void rolling_fix_weight(struct rolling *rolling, double weight);
double rolling_weight(const struct rolling *rolling);

/* A slice has closed.  @values: of each series, from 0 to ROLLING_VALUE_MAX.  The number of series
 * may grow, up to ROLLING_SERIES_MAX; the new ones were 0 before. */
void rolling_add(struct rolling *rolling, const double *values, size_t series);
/* Multiplies what is held of a series. */
void rolling_scale(struct rolling *rolling, size_t series, double factor);

uint64_t rolling_count(const struct rolling *rolling); /* of slices that have closed */
uint64_t rolling_first(const struct rolling *rolling); /* the oldest slice that is held */
/* The parts of the best partition, in order; valid until the next slice.  The first one may begin
 * before the slices held. */
const struct rolling_part *rolling_parts(const struct rolling *rolling, size_t *ret_count);
/* The sum of a series over slices of one part; they are held, or are that part as a whole. */
double rolling_sum(const struct rolling *rolling, size_t series, const struct rolling_part *part);
/* What the best partition is worth: gain times weight less loss. */
double rolling_value(const struct rolling *rolling);

/* Writes the state, or reads it into a new one that holds as many slices. */
void rolling_codec(struct rolling *rolling, struct codec *codec);
