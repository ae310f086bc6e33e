/*
 * histogram: the distribution of durations: count, sum, extremes, deviation, percentiles.
 *
 * All of it adds up: merging the histograms of parts, in any order, gives the histogram of the
 * whole, to the bit.  Percentiles come from log-linear buckets (doc/definitions.md, 0.2):
 *
 *     v < 64         a bucket for each value
 *     otherwise      64 buckets for each power of two: at most 1.6 % above the exact value
 *
 * A histogram has one of three forms, and only ever goes on to the next:
 *
 *     few       up to HISTOGRAM_FEW values     few[used]: the bucket index of each, unsorted
 *     buckets   up to 48 non-empty buckets     buckets[used]: sorted by index; more in one that was
 *                                              made of a list, until it is added to
 *     range     more                           counts[used]: all buckets from index `first` on
 *
 * Most histograms have few values, so that the first form saves memory; the last is the fastest to
 * add to.  NULL is the empty histogram.
 */
#pragma once

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
	uint32_t used;                    /* elements of the array that the form has */
	uint32_t room;                    /* of buckets */
	uint64_t *counts;                 /* range */
	struct histogram_bucket *buckets; /* buckets; NULL together with counts: few */
	uint32_t first;                   /* range: the index of counts[0] */
	uint16_t few[HISTOGRAM_FEW];
};

/* Adds a value; a *histogram of NULL is allocated. */
void histogram_add(struct histogram **histogram, uint64_t value);
/* Adds all of *from to *to, and leaves *from NULL. */
void histogram_move(struct histogram **to, struct histogram **from);
/* Adds all of @from to *to. */
void histogram_merge(struct histogram **to, const struct histogram *from);
uint64_t histogram_bytes(const struct histogram *histogram); /* memory; NULL: 0 */
void histogram_free(struct histogram *histogram);            /* NULL is fine */
/* Writes it, or reads it into *histogram, which must be NULL. */
void histogram_codec(struct codec *codec, struct histogram **histogram);

/* ---- buckets, for forms that other programs read ---- */

#define HISTOGRAM_BUCKETS_MAX 3776 /* all that there are */

/* Fills @ret with the buckets that have values, by index; NULL: none.  Returns how many. */
uint32_t histogram_list(const struct histogram *histogram,
			struct histogram_bucket ret[HISTOGRAM_BUCKETS_MAX]);
/* The opposite; the caller sets the figures but the count.  NULL: there are none, or they are not
 * in order, or one has no value. */
struct histogram *histogram_of_buckets(const struct histogram_bucket *buckets, uint32_t count);
/* The bucket of a value. */
uint32_t histogram_index(uint64_t value);
/* The largest value of a bucket. */
uint64_t histogram_end(uint32_t index);
/* Adds @count values to the bucket of @value, and to the count alone: the caller sets the other
 * figures. */
void histogram_add_bucket(struct histogram **histogram, uint64_t value, uint64_t count);

/* ---- figures; @histogram is not NULL ---- */

double histogram_mean(const struct histogram *histogram);
/* The sample standard deviation, which needs two values. */
double histogram_deviation(const struct histogram *histogram);
/* The smallest value that is not below @per_mille of all values (nearest rank), rounded up to the
 * end of its bucket. */
uint64_t histogram_percentile(const struct histogram *histogram, unsigned int per_mille);

/* The figures by name, as triggers and --sort use them. */
enum histogram_part {
	HISTOGRAM_NO_PART,
	HISTOGRAM_COUNT,
	HISTOGRAM_SUM,
	HISTOGRAM_MIN,
	HISTOGRAM_MEAN,
	HISTOGRAM_MAX,
	HISTOGRAM_STDEV,
	HISTOGRAM_P50,
	HISTOGRAM_P95,
	HISTOGRAM_P99,
	HISTOGRAM_P999,
};
#define HISTOGRAM_PARTS "count, sum, min, mean, max, stdev, p50, p95, p99, p999"
/* HISTOGRAM_NO_PART: no figure has that name. */
enum histogram_part histogram_part_of(const char *name);
/* The deviation of one value is 0. */
double histogram_part(const struct histogram *histogram, enum histogram_part part);

/* Counts values by power of two: counts[i] is for 2^i .. 2^(i+1) - 1; 0 counts as 1. */
#define HISTOGRAM_POWERS 64
void histogram_powers(const struct histogram *histogram, uint64_t counts[HISTOGRAM_POWERS]);

/* Counts values in @count bins of equal width from the minimum to the maximum.  A value counts
 * where its bucket ends. */
#define HISTOGRAM_BINS_MAX 1000
void histogram_bins(const struct histogram *histogram, uint64_t counts[], uint64_t count);
