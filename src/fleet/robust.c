/*
 * robust: see robust.h.
 */
#include "fleet/robust.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

#define OF_MEDIAN 1.4826 /* 1 / the upper quartile of the standard normal distribution */
#define OF_MEAN   1.2533 /* sqrt(pi / 2) */
#define FINENESS  64     /* a percentile may be so much too large (doc/definitions.md, 0.2) */

ORDER_VALUES(by_value, double)

static double median_of(double *values, size_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

static double spread_of(const double *values, size_t count, double median)
{
	double *away = mem_alloc(count * sizeof(*away));
	double sum = 0, spread, least = fabs(median) / FINENESS;

	for (size_t i = 0; i < count; i++) {
		away[i] = fabs(values[i] - median);
		sum += away[i];
	}
	spread = OF_MEDIAN * median_of(away, count);
	spread = spread > 0 ? spread : OF_MEAN * sum / (double)count;
	free(away);
	return spread > least ? spread : least;
}

void robust_take(double *values, size_t count, struct robust *ret)
{
	*ret = (struct robust){ .count = count };
	if (count > 0) {
		ret->median = median_of(values, count);
	}
	if (robust_has_distance(ret)) {
		ret->spread = spread_of(values, count, ret->median);
	}
}

bool robust_has_distance(const struct robust *robust)
{
	return robust->count >= ROBUST_DISTANCE_MIN;
}

double robust_distance(const struct robust *robust, double value)
{
	assert(robust_has_distance(robust));
	return robust->spread > 0 ? (value - robust->median) / robust->spread : 0;
}

bool robust_is_far(const struct robust *robust, double value)
{
	return robust->count >= ROBUST_FAR_MIN &&
	       fabs(robust_distance(robust, value)) >= ROBUST_FAR;
}
