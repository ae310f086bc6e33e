/*
 * align: see align.h.
 */
#include "compare/align.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#define NOISE_PART 0.1 /* of the largest sum of any phase */

enum { UNITS = 3 }; /* time, bytes, counts */

/* ---- how far two phases are ---- */

/* Of the sums of one unit. */
struct unit_sums {
	double differences, larger;
};

struct pair_sums {
	struct unit_sums of[UNITS];
};

static size_t place_of(enum unit unit)
{
	return unit == UNIT_NS ? 0 : unit == UNIT_BYTES ? 1 : 2;
}

static void sum_pair(const struct comparison *comparison, struct pair_sums *ret)
{
	VEC_EACH(&comparison->changes, change) {
		struct unit_sums *sums = &ret->of[place_of(change_unit(change))];
		double a = change->value[0], b = change->value[1];

		if (change->kind != CHANGE_LEVEL && !change_rests(change) && !isnan(a) &&
		    !isnan(b)) {
			sums->differences += fabs(b - a);
			sums->larger += fmax(a, b);
		}
	}
}

/* @largest: the largest sum of any pair, by unit. */
static double distance_of(const struct pair_sums *pair, const double largest[UNITS])
{
	static const double weights[UNITS] = { 2, 1, 1 };
	double distance = 0, weight = 0;

	for (size_t i = 0; i < UNITS; i++) {
		if (largest[i] > 0) {
			distance += weights[i] * pair->of[i].differences /
				    fmax(pair->of[i].larger, NOISE_PART * largest[i]);
			weight += weights[i];
		}
	}
	return weight > 0 ? distance / weight : 0;
}

/* ---- the best alignment ---- */

/* What is done first in the best alignment of the phases from some on. */
enum align_step { STEP_PAIR, STEP_A, STEP_B };

struct align_cell {
	double cost; /* of all from these phases on */
	enum align_step step;
};

/* Of equal ones the pair is taken: so pairs are as early in time as they can be. */
static struct align_cell best_cell(const struct align_cell *at, size_t stride, bool has_a,
				   bool has_b, double distance)
{
	double pair = has_a && has_b ? at[stride + 1].cost + distance : INFINITY;
	double of_a = has_a ? at[stride].cost + ALIGN_ALONE : INFINITY;
	double of_b = has_b ? at[1].cost + ALIGN_ALONE : INFINITY;

	if (pair <= of_a && pair <= of_b) {
		return (struct align_cell){ pair, STEP_PAIR };
	}
	return of_a <= of_b ? (struct align_cell){ of_a, STEP_A }
			    : (struct align_cell){ of_b, STEP_B };
}

void align(const double *distances, size_t a_count, size_t b_count, alignment *ret)
{
	size_t stride = b_count + 1, last = a_count * stride + b_count;
	struct align_cell *cells = mem_alloc((last + 1) * sizeof(*cells));

	assert(ret->count == 0);
	for (size_t i = last; i-- > 0;) {
		size_t a = i / stride, b = i % stride;
		bool has_a = a < a_count, has_b = b < b_count;

		cells[i] = best_cell(&cells[i], stride, has_a, has_b,
				     has_a && has_b ? distances[a * b_count + b] : NAN);
	}
	for (size_t a = 0, b = 0; a < a_count || b < b_count;) {
		enum align_step step = cells[a * stride + b].step;

		*vec_push(ret) = (struct aligned){
			.of = { step == STEP_B ? ALIGN_ALONE_AT : a,
				step == STEP_A ? ALIGN_ALONE_AT : b },
			.distance = step == STEP_PAIR ? distances[a * b_count + b] : NAN,
		};
		a += step != STEP_B;
		b += step != STEP_A;
	}
	free(cells);
}

/* Of each with each; from malloc(). */
static double *distances_of(const compared_phases *a, const compared_phases *b,
			    const struct analysis *const *list, enum per per)
{
	size_t count = a->count * b->count;
	struct pair_sums *pairs = mem_alloc((count + 1) * sizeof(*pairs));
	double *distances = mem_alloc((count + 1) * sizeof(*distances)), largest[UNITS] = { 0 };

	for (size_t i = 0; i < count; i++) {
		struct comparison comparison;

		compare(a->at[i / b->count].profile, b->at[i % b->count].profile, list, false, per,
			&comparison);
		sum_pair(&comparison, &pairs[i]);
		comparison_fini(&comparison);
		for (size_t k = 0; k < UNITS; k++) {
			largest[k] = fmax(largest[k], pairs[i].of[k].larger);
		}
	}
	for (size_t i = 0; i < count; i++) {
		distances[i] = distance_of(&pairs[i], largest);
	}
	free(pairs);
	return distances;
}

void phase_pairs_find(const compared_phases phases[2], const struct analysis *const *matched,
		      const struct analysis *const *list, bool is_asked, enum per per,
		      phase_pairs *ret)
{
	const compared_phases *a = &phases[0], *b = &phases[1];
	double *distances = distances_of(a, b, matched, per);
	alignment aligned = { 0 };

	assert(a->count <= ALIGN_PHASES_MAX && b->count <= ALIGN_PHASES_MAX);
	align(distances, a->count, b->count, &aligned);
	VEC_EACH(&aligned, one) {
		struct phase_pair *pair = vec_push(ret);

		*pair = (struct phase_pair){ .distance = one->distance };
		pair->of[0] = one->of[0] == ALIGN_ALONE_AT ? NULL : &a->at[one->of[0]];
		pair->of[1] = one->of[1] == ALIGN_ALONE_AT ? NULL : &b->at[one->of[1]];
		if (phase_pair_is_one(pair)) {
			compare(pair->of[0]->profile, pair->of[1]->profile, list, is_asked, per,
				&pair->comparison);
			pair->comparison.phases[0] = pair->of[0]->number;
			pair->comparison.phases[1] = pair->of[1]->number;
		}
	}
	vec_fini(&aligned);
	free(distances);
}

void phase_pairs_fini(phase_pairs *pairs)
{
	VEC_EACH(pairs, pair) {
		comparison_fini(&pair->comparison);
	}
	vec_fini(pairs);
}
