/*
 * smirnov: how far apart two distributions are (Kolmogorov and Smirnov's test).
 */
#pragma once

#include "base/histogram.h"

/* The largest distance of the two cumulative distributions, from 0 to 1, at the ends of buckets.
 * Values of one bucket are not told apart, so that the distance of the values is this or more. */
double smirnov_distance(const struct histogram *a, const struct histogram *b);

/* How probable such a distance, or a larger one, is if @n and @m values are drawn from one
 * distribution; for large numbers (doc/definitions.md, 9). */
double smirnov_probability(double distance, uint64_t n, uint64_t m);
