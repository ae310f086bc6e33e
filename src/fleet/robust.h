/*
 * robust: how far a value is from others, in terms that a few far values do not change
 * (doc/definitions.md, 12).
 *
 *     distance = (value - median) / spread
 *     spread   = 1.4826 * median of |value - median|; if that is 0, 1.2533 * mean of |value -
 * median|; at least 1/64 of the median
 *
 * Of values from one normal distribution the spread estimates the standard deviation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define ROBUST_DISTANCE_MIN 3   /* values: of fewer none is far or near */
#define ROBUST_FAR_MIN      4   /* values: of fewer chance alone makes some far */
#define ROBUST_FAR          3.5 /* a value of this distance, or above it, is far */

struct robust {
	size_t count;
	double median; /* count > 0 */
	double spread; /* count >= ROBUST_DISTANCE_MIN; 0: all values are 0 */
};

/* @values: finite; they are sorted. */
void robust_take(double *values, size_t count, struct robust *ret);
bool robust_has_distance(const struct robust *robust);
/* Below 0: below the median. */
double robust_distance(const struct robust *robust, double value);
bool robust_is_far(const struct robust *robust, double value);
