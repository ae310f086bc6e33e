/*
 * spread: how durations are spread: count, sum, extremes, deviation, percentiles.
 *
 * Everything in it adds up, so that spreads of parts make the spread of the whole, in any
 * order, to the bit.  Percentiles come from a log-linear histogram (doc/definitions.md, 0.2):
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

struct histogram_bucket {
	uint32_t index;
	uint64_t count;
};

#define HISTOGRAM_FEW 32

struct histogram {
	uint64_t count, sum, min, max;
	unsigned __int128 squares;        /* sum of squares */
	uint32_t used, room;              /* of what there is, the first of ... */
	uint64_t *counts;                 /* all buckets from the one with the index `first` on */
	struct histogram_bucket *buckets; /* those with something in them, in order */
	uint32_t first;
	uint16_t few[HISTOGRAM_FEW]; /* the index of each value, in any order */
};

/* Adds a value; *spread is made when NULL. */
void histogram_add(struct histogram **histogram, uint64_t value);
/* Adds all of *from to *to, and leaves *from NULL. */
void histogram_move(struct histogram **to, struct histogram **from);
/* Adds all of @from to *to. */
void histogram_merge(struct histogram **to, const struct histogram *from);
uint64_t histogram_bytes(const struct histogram *histogram); /* of memory; NULL: 0 */
void histogram_free(struct histogram *histogram);            /* NULL is fine */
/* Writes it, or reads it into *spread, which is NULL. */
void histogram_codec(struct codec *codec, struct histogram **histogram);

double histogram_mean(const struct histogram *histogram);
/* Sample standard deviation; there is one from two values on. */
double histogram_deviation(const struct histogram *histogram);
/* The smallest value that @per_mille of all are not above (nearest rank). */
uint64_t histogram_percentile(const struct histogram *histogram, unsigned int per_mille);

/* How many values there are of each power of two: counts[i] of 2^i .. 2^(i+1) - 1; 0 is with 1. */
#define HISTOGRAM_POWERS 64
void histogram_powers(const struct histogram *histogram, uint64_t counts[HISTOGRAM_POWERS]);

/* The same for @count bins of one width from the least value to the greatest.  A value counts where
 * its bucket of the histogram ends. */
#define HISTOGRAM_BINS_MAX 1000
void histogram_bins(const struct histogram *histogram, uint64_t counts[], uint64_t count);

#endif
