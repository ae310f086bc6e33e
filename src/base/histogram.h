/*
 * spread: how durations are spread: count, sum, extremes, deviation, percentiles.
 *
 * Everything in it adds up, so that spreads of parts make the spread of the whole, in any
 * order, to the bit.  Percentiles come from a log-linear histogram (analyses reference, 0.2):
 *
 *     v < 64         a bucket each
 *     otherwise      64 buckets for each power of two: at most 1.6 % above the truth
 *
 * Most spreads have few values: as long as they fit in, these are only noted.  Then the buckets
 * that have something are kept, by index; and if there are many of them, all from the first to the
 * last, which is quicker to add to.
 */
#ifndef SILLAGE_BASE_HISTOGRAM_H
#define SILLAGE_BASE_HISTOGRAM_H

#include <stdint.h>

#include "base/codec.h"

struct spread_bucket {
	uint32_t index;
	uint64_t count;
};

#define SPREAD_FEW 32

struct spread {
	uint64_t count, sum, min, max;
	unsigned __int128 squares;     /* sum of squares */
	uint32_t used, room;           /* of what there is, the first of ... */
	uint64_t *counts;              /* all buckets from the one with the index `first` on */
	struct spread_bucket *buckets; /* those with something in them, in order */
	uint32_t first;
	uint16_t few[SPREAD_FEW]; /* the index of each value, in any order */
};

/* Adds a value; *spread is made when NULL. */
void spread_add(struct spread **spread, uint64_t value);
/* Adds all of *from to *to, and leaves *from NULL. */
void spread_move(struct spread **to, struct spread **from);
/* Adds all of @from to *to. */
void spread_merge(struct spread **to, const struct spread *from);
uint64_t spread_bytes(const struct spread *spread); /* of memory; NULL: 0 */
void spread_free(struct spread *spread);            /* NULL is fine */
/* Writes it, or reads it into *spread, which is NULL. */
void spread_flat(struct flat *flat, struct spread **spread);

double spread_mean(const struct spread *spread);
/* Sample standard deviation; there is one from two values on. */
double spread_deviation(const struct spread *spread);
/* The smallest value that @per_mille of all are not above (nearest rank). */
uint64_t spread_percentile(const struct spread *spread, unsigned int per_mille);

/* How many values there are of each power of two: counts[i] of 2^i .. 2^(i+1) - 1; 0 is with 1. */
#define SPREAD_POWERS 64
void spread_powers(const struct spread *spread, uint64_t counts[SPREAD_POWERS]);

/* The same for @count bins of one width from the least value to the greatest.  A value counts where
 * its bucket of the histogram ends. */
#define SPREAD_BINS_MAX 1000
void spread_bins(const struct spread *spread, uint64_t counts[], uint64_t count);

#endif
