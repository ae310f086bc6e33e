/*
 * overview-phases: see overview.h; the phases of a partition.
 */
#include <assert.h>
#include <math.h>

#include "phases/overview.h"

#define MIX_TOLERANCE 0.1 /* of a series' largest value */

/*
 * The share of @after in a slice in which @before ends and @after begins, by least squares over all
 * series.  Negative: the slice is no such mixture, since the shares of the series differ.
 */
static double mixture(const struct overview *overview, const struct part *slice,
		      const struct part *before, const struct part *after)
{
	double up = 0, down = 0, share;
	size_t count;
	const struct overview_series *all = overview_series(overview, &count);

	for (const struct overview_series *series = all; series < all + count; series++) {
		double scale = overview_scale(overview, series), a = overview_mean(series, before);
		double change = overview_mean(series, after) - a;

		if (scale > 0) {
			up += (overview_mean(series, slice) - a) * change / (scale * scale);
			down += change * change / (scale * scale);
		}
	}
	share = down > 0 ? fmin(fmax(up / down, 0), 1) : 0;
	for (const struct overview_series *series = all; series < all + count; series++) {
		double a = overview_mean(series, before), b = overview_mean(series, after);
		double wanted = a + share * (b - a);

		if (fabs(overview_mean(series, slice) - wanted) >
			    MIX_TOLERANCE * overview_scale(overview, series) &&
		    overview_scale(overview, series) > 0) {
			return -1;
		}
	}
	return share;
}

/* Joins slices in which the behaviour changes to the phase that has the larger share of them. */
void overview_phases_of(const struct overview *overview, const struct partition *partition,
			partition_parts *ret)
{
	assert(ret->count == 0);
	for (size_t i = 0; i < partition->parts.count; i++) {
		const struct part *part = &partition->parts.at[i];
		struct part *last = ret->count == 0 ? NULL : &ret->at[ret->count - 1];
		bool is_inner = last && i + 1 < partition->parts.count && part->first == part->last;
		double share = is_inner ? mixture(overview, part, last, part + 1) : -1;

		if (share < 0) {
			*vec_push(ret) = *part;
		} else if (share < 0.5) {
			last->last = part->last;
		} else {
			struct part joined = { .first = part->first, .last = part[1].last };

			*vec_push(ret) = joined;
			i++;
		}
	}
}
