/*
 * histogram: counts of values in buckets that grow with the value, for percentiles.
 *
 * Each power of two has 16 buckets, so that a percentile is at most 1/16 above the truth.
 * Histograms of one kind are merged by adding their counts.
 */
#ifndef SILLAGE_BASE_HISTOGRAM_H
#define SILLAGE_BASE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BUCKETS (61 * 16)

struct histogram {
	uint64_t count, max;
	uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *histogram, uint64_t value);

/* A value that @share (0 to 1) of all are not above; 0 if there are none. */
uint64_t histogram_percentile(const struct histogram *histogram, double share);

#endif
