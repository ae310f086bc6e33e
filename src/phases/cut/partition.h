/*
 * partition: cuts a range of time into few parts, each with much the same behaviour throughout.
 *
 * Temporal aggregation after Dosimont, Huard and Vincent (doc/definitions.md, 8).  The model is a
 * matrix: a value >= 0 for each slice of time and each series, for example the share of a slice in
 * which a CPU was busy.  Showing the parts in place of the slices gains simplicity and loses
 * information:
 *
 *     f(x) = x log2 x, f(0) = 0;  S: the sum of a series over n slices;  I: the sum of its f(value)
 *
 *     gain = sum over series of f(S) - I                    >= 0, 0 for a single slice
 *     loss = sum over series of S log2(n) - (f(S) - I)      >= 0, 0 where every series is constant
 *
 * Both are normalised: divided by those of the whole range, if these are not 0.  For a compromise p
 * between 0 (keep all information) and 1 (the simplest), the best partition maximises the sum over
 * its parts of p gain - (1 - p) loss.  It changes at finitely many p only; partitions_find() finds
 * all of these exactly.
 *
 * Differences below 1e-12 count as rounding.  Of two partitions of equal value the one with the
 * larger gain is taken, then that with the smaller loss, then that with the longer first part.  So
 * p = 0 joins slices that are exactly equal.
 */
#pragma once

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/* Finding all partitions of this many slices takes some second. */
#define PARTITION_SLICES_MAX 1000

static inline double partition_f(double x)
{
	return x > 0 ? x * log2(x) : 0;
}

/* Whether @a is more than @b; -1, 0 or 1, where 0 means that they are equal. */
static inline int partition_compare(double a, double b, double tolerance)
{
	tolerance *= fmax(1, fmax(fabs(a), fabs(b)));
	return a > b + tolerance ? 1 : a < b - tolerance ? -1 : 0;
}

struct partition_model {
	size_t slices, series;
	const double *values; /* [series][slices], all finite and >= 0 */
};

/* Gain and loss of each interval of slices.  It can grow slice by slice. */
struct partition_table;

struct part {
	uint32_t first, last; /* slices */
};

typedef VEC(struct part) partition_parts;

struct partition {
	double p;              /* from this p on it is the best */
	double gain, loss;     /* sums over the parts; normalised */
	partition_parts parts; /* in order; they cover all slices */
};

struct partitions {
	VEC(struct partition)
	at;               /* all that are best for some p, in the order of p; the first is
			   * that of p = 0 */
	size_t nearest;   /* the one whose (gain, loss) is next to (1, 0) */
	size_t suggested; /* of suggest.h; it may be the best for no p, and its p is the next's */
	double auc;       /* area under the curve of quality: 1 - loss over gain; 1 is the best */
};

/* @model has 1 to PARTITION_SLICES_MAX slices.  It may be freed afterwards. */
struct partition_table *partition_table_new(const struct partition_model *model);
/* One without slices, and with room for some. */
struct partition_table *partition_table_empty(size_t room, size_t series);
/* Adds a slice at the end: a value for each series, finite and >= 0. */
void partition_table_add(struct partition_table *table, const double *values);
void partition_table_drop(struct partition_table *table); /* the first slice */
void partition_table_free(struct partition_table *table); /* NULL is fine */
size_t partition_slices(const struct partition_table *table);
size_t partition_series(const struct partition_table *table);
/* Not normalised. */
double partition_gain(const struct partition_table *table, size_t first, size_t last);
double partition_loss(const struct partition_table *table, size_t first, size_t last);
/* The loss of one series, and its mean. */
double partition_loss_of(const struct partition_table *table, size_t series,
			 const struct part *part);
double partition_mean_of(const struct partition_table *table, size_t series,
			 const struct part *part);

/* The best partition for @p, from 0 to 1.  Release it with partition_fini(). */
void partition_find(const struct partition_table *table, double p, struct partition *ret);
/* The one of some slices whose (gain, loss) is next to (1, 0); normalised by these slices. */
void partition_find_nearest(const struct partition_table *table, const struct part *range,
			    struct partition *ret);
void partition_fini(struct partition *partition);

/* All partitions; release them with partitions_fini(). */
void partitions_find(const struct partition_table *table, struct partitions *ret);
void partitions_fini(struct partitions *partitions);

/* The partition for @p among all. */
const struct partition *partitions_at(const struct partitions *partitions, double p);
