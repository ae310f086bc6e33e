/*
 * suggest: the parts of a range of time that a user would call phases (doc/definitions.md, 8.4).
 *
 *     nearest partition ──► cuts that are not clear go ──► the same within each part ──► ...
 *          (partition.h)                                    what is left: transitions, ends
 *
 * The partition that is nearest to the ideal corner shows what is large, and noise: of a steady
 * trace it has some parts.  What is small beside the rest it joins.  So it is found again within
 * each of its parts, and only cuts that are clear stay.
 *
 * A cut is clear if the mean of a series changes there by SUGGEST_CHANGE, and if this is no noise:
 * the loss of that series that the cut avoids is many times what a slice loses within the parts.
 * Loss is a divergence, so that noise may grow with the level, as it does for shares of time: an
 * idle CPU has none, a half busy one has.
 *
 * The time: some dozen partitions, slices^2 each; and for each cut that is taken away, one or two
 * series of all others, each beside all short parts.  So parts^3 where all is noise, beside which
 * the number of series hardly counts.
 */
#pragma once

#include <stdbool.h>

#include "phases/cut/partition.h"

#define SUGGEST_CHANGE 0.1 /* of a series: of time for shares, of its scale for rates */
/* Slices of a part at an end of the range; what goes on beyond is not known.  A part within others
 * is shorter only if it stands out in the whole. */
#define SUGGEST_STAY 3

/*
 * @counts: of each series, false for one that says the opposite of another; these cut nothing.
 * @is_over: nothing follows the range; else its last part may be short.  *ret_maybe has more cuts,
 * which were clear while transitions were parts of their own: more slices may make them clear
 * again; NULL: not wanted.  Both are empty before.
 */
void suggest_parts(const struct partition_table *table, const bool *counts, bool is_over,
		   partition_parts *ret_maybe, partition_parts *ret);
/* Puts the suggested partition among @partitions, at its place in the order of gain. */
void suggest_among(const struct partition_table *table, const bool *counts,
		   struct partitions *partitions);
