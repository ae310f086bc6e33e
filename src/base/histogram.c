/*
 * histogram: see histogram.h.
 */
#include "base/histogram.h"

/* Values below 16 have a bucket each; then the four bits below the highest one tell. */
static unsigned int bucket_of(uint64_t value)
{
	unsigned int top;

	if (value < 16) {
		return (unsigned int)value;
	}
	top = 63 - (unsigned int)__builtin_clzll(value);
	return (top - 3) * 16 + (unsigned int)(value >> (top - 4) & 15);
}

/* The largest value of a bucket. */
static uint64_t bucket_end(unsigned int bucket)
{
	unsigned int top = bucket / 16 + 3;

	if (bucket < 16) {
		return bucket;
	}
	return ((uint64_t)1 << top) + (((uint64_t)bucket % 16 + 1) << (top - 4)) - 1;
}

void histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram->buckets[bucket_of(value)]++;
	histogram->count++;
	histogram->max = value > histogram->max ? value : histogram->max;
}

uint64_t histogram_percentile(const struct histogram *histogram, double share)
{
	uint64_t wanted = (uint64_t)((double)histogram->count * share), seen = 0;

	wanted += (double)wanted < (double)histogram->count * share; /* rounded up */
	for (unsigned int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->buckets[i];
		if (seen >= wanted && seen > 0) {
			return bucket_end(i) < histogram->max ? bucket_end(i) : histogram->max;
		}
	}
	return histogram->max;
}
