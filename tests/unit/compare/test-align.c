/*
 * align: the best alignment, against all that there are.
 */
#include <math.h>
#include <stdlib.h>

#include "compare/align.h"
#include "suites.h"

#define MOST   5
#define MODELS 200

/* The least cost of what is left, of all ways to go on. */
static double least(const double *distances, size_t a_count, size_t b_count, size_t a, size_t b)
{
	double cost = INFINITY;

	if (a == a_count && b == b_count) {
		return 0;
	}
	if (a < a_count) {
		cost = fmin(cost, ALIGN_ALONE + least(distances, a_count, b_count, a + 1, b));
	}
	if (b < b_count) {
		cost = fmin(cost, ALIGN_ALONE + least(distances, a_count, b_count, a, b + 1));
	}
	if (a < a_count && b < b_count) {
		cost = fmin(cost, distances[a * b_count + b] +
					  least(distances, a_count, b_count, a + 1, b + 1));
	}
	return cost;
}

START_TEST(is_the_best_of_all)
{
	srand(1);
	for (unsigned int model = 0; model < MODELS; model++) {
		size_t a_count = (size_t)rand() % (MOST + 1), b_count = (size_t)rand() % (MOST + 1);
		size_t a = 0, b = 0;
		double distances[MOST * MOST + 1], cost = 0;
		alignment found = { 0 };

		for (size_t i = 0; i < a_count * b_count; i++) {
			distances[i] = rand() % 9 / 8.0;
		}
		align(distances, a_count, b_count, &found);
		VEC_EACH(&found, one) {
			bool has_a = one->of[0] != ALIGN_ALONE_AT;
			bool has_b = one->of[1] != ALIGN_ALONE_AT;

			ck_assert(has_a || has_b);
			ck_assert(!has_a || one->of[0] == a++); /* each once, in order */
			ck_assert(!has_b || one->of[1] == b++);
			cost += has_a && has_b ? distances[one->of[0] * b_count + one->of[1]]
					       : ALIGN_ALONE;
			ck_assert(!has_a || !has_b || one->distance <= 2 * ALIGN_ALONE);
		}
		ck_assert_uint_eq(a, a_count);
		ck_assert_uint_eq(b, b_count);
		ck_assert_double_eq_tol(cost, least(distances, a_count, b_count, 0, 0), 1e-9);
		vec_fini(&found);
	}
}
END_TEST

/* What comes once more comes at the end. */
START_TEST(pairs_early)
{
	static const double distances[] = { 0, 1, 0, 1, 0, 1, 0, 1 }; /* 2 and 4, in turn alike */
	alignment found = { 0 };

	align(distances, 2, 4, &found);
	ck_assert_uint_eq(found.count, 4);
	ck_assert(found.at[0].of[0] == 0 && found.at[0].of[1] == 0);
	vec_fini(&found);
}
END_TEST

Suite *suite_align(void)
{
	Suite *suite = suite_create("align");
	TCase *tcase = tcase_create("align");

	tcase_add_test(tcase, is_the_best_of_all);
	tcase_add_test(tcase, pairs_early);
	suite_add_tcase(suite, tcase);
	return suite;
}
