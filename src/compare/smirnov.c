/*
 * smirnov: see smirnov.h.
 */
#include "compare/smirnov.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

double smirnov_distance(const struct histogram *a, const struct histogram *b)
{
	struct histogram_bucket *x = mem_alloc(2 * HISTOGRAM_BUCKETS_MAX * sizeof(*x));
	struct histogram_bucket *y = x + HISTOGRAM_BUCKETS_MAX;
	uint32_t n = histogram_list(a, x), m = histogram_list(b, y), i = 0, k = 0;
	uint64_t below_a = 0, below_b = 0;
	double most = 0, distance;

	assert(a->count > 0 && b->count > 0);
	while (i < n || k < m) {
		uint32_t index =
			k == m || (i < n && x[i].index < y[k].index) ? x[i].index : y[k].index;

		below_a += i < n && x[i].index == index ? x[i++].count : 0;
		below_b += k < m && y[k].index == index ? y[k++].count : 0;
		distance = fabs((double)below_a / (double)a->count -
				(double)below_b / (double)b->count);
		most = distance > most ? distance : most;
	}
	assert(below_a == a->count && below_b == b->count);
	free(x);
	return most;
}

/* Kolmogorov's law, with Stephens' correction for small numbers. */
double smirnov_probability(double distance, uint64_t n, uint64_t m)
{
	double root = sqrt((double)n * ((double)m / ((double)n + (double)m)));
	double scaled = (root + 0.12 + 0.11 / root) * distance, sum = 0, term = 1;

	assert(n > 0 && m > 0);
	if (scaled < 0.2) {
		return 1; /* to twelve places; the series needs many terms there */
	}
	for (int i = 1; i <= 100 && fabs(term) > 1e-17; i++) {
		term = exp(-2.0 * i * i * scaled * scaled);
		sum += i % 2 == 1 ? term : -term;
	}
	return fmin(fmax(2 * sum, 0), 1);
}
