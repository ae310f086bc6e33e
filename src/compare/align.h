/*
 * align: the phases of two runs, matched by what they do, in their order.
 *
 *     A   1    2    3         4
 *         |    |              |       pairs whose distance is small; each phase is in one at most,
 *     B   1    2    3    4    5       and no two pairs cross
 *
 * Of the alignments in which no two pairs cross, the one with the least cost: the distances of its
 * pairs, and ALIGN_ALONE for each phase that is alone.  How long phases are has no part in it.
 *
 * The distance of two phases: of their sums per second (time, bytes, counts, row by row of the
 * comparison of both) the differences, over the larger of both each; from 0 to 1.  Time counts as
 * much as bytes and counts together, since phases are made of it.  A part that is below a tenth of
 * the largest one of any phase is noise: what is divided by is no smaller.  Time in which nothing
 * ran has no part in it.
 */
#pragma once

#include "compare/compare.h"

#define ALIGN_ALONE 0.25 /* so that phases whose distance is more than twice that are no pair */
/* Phases of a side: each is compared with each, and has all figures. */
#define ALIGN_PHASES_MAX 50
#define ALIGN_ALONE_AT   SIZE_MAX

/* A pair, or a phase that is alone: the other is ALIGN_ALONE_AT. */
struct aligned {
	size_t of[2]; /* indexes in A's, and B's phases */
	double distance;
};
typedef VEC(struct aligned) alignment;

/* From the distances of each with each, [a][b]; in order. */
void align(const double *distances, size_t a_count, size_t b_count, alignment *ret);

/* The same of phases; NULL: the other is alone. */
struct phase_pair {
	const struct compared_phase *of[2];
	double distance;
	struct comparison comparison; /* of a pair */
};
typedef VEC(struct phase_pair) phase_pairs;

static inline bool phase_pair_is_one(const struct phase_pair *pair)
{
	return pair->of[0] && pair->of[1];
}
/* Of A and B, ALIGN_PHASES_MAX phases each at most, which must outlive the pairs.  @matched: the
 * analyses that say which are alike (ends with NULL); the rest as compare(). */
void phase_pairs_find(const compared_phases phases[2], const struct analysis *const *matched,
		      const struct analysis *const *list, bool is_asked, enum per per,
		      phase_pairs *ret);
void phase_pairs_fini(phase_pairs *pairs);
