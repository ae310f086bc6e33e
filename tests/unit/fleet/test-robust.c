/*
 * robust: distances of values from others, computed by hand.
 */
#include <math.h>

#include "fleet/robust.h"
#include "suites.h"

#define MANY 8

static const struct {
	size_t count;
	double values[MANY];
	double median, spread;
	double of, distance; /* how far this one is */
	bool is_far;
} cases[] = {
	/* deviations 0, 1, 1, 2, 95 */
	{ 5, { 5, 4, 6, 3, 100 }, 5, 1.4826, 100, 95 / 1.4826, true },
	{ 5, { 5, 4, 6, 3, 100 }, 5, 1.4826, 3, -2 / 1.4826, false },
	/* an even number: deviations 0.5, 0.5, 1.5, 1.5 */
	{ 4, { 1, 2, 3, 4 }, 2.5, 1.4826, 4, 1.5 / 1.4826, false },
	/* most are the same: the mean deviation, 10 / 5 */
	{ 5, { 7, 7, 7, 7, 17 }, 7, 1.2533 * 2, 17, 10 / (1.2533 * 2), true },
	{ 5, { 7, 7, 7, 17, 17 }, 7, 1.2533 * 4, 17, 10 / (1.2533 * 4), false },
	{ 5, { 0, 0, 0, 0, 1 }, 0, 1.2533 / 5, 1, 5 / 1.2533, true },
	/* all are the same */
	{ 5, { 7, 7, 7, 7, 7 }, 7, 7.0 / 64, 7, 0, false },
	{ 4, { 0, 0, 0, 0 }, 0, 0, 0, 0, false },
	/* nearer together than percentiles are exact */
	{ 5, { 640, 641, 639, 640, 670 }, 640, 10, 670, 3, false },
	{ 5, { 640, 641, 639, 640, 676 }, 640, 10, 676, 3.6, true },
	/* so few that chance would do it */
	{ 3, { 1, 2, 100 }, 2, 1.4826, 100, 98 / 1.4826, false },
	{ 4, { 1, 2, 3, 100 }, 2.5, 1.4826, 100, 97.5 / 1.4826, true },
};

START_TEST(finds_who_is_far)
{
	double values[MANY];
	struct robust robust;

	memcpy(values, cases[_i].values, sizeof(values));
	robust_take(values, cases[_i].count, &robust);
	ck_assert_uint_eq(robust.count, cases[_i].count);
	ck_assert_double_eq_tol(robust.median, cases[_i].median, 1e-9);
	ck_assert_double_eq_tol(robust.spread, cases[_i].spread, 1e-9);
	ck_assert_double_eq_tol(robust_distance(&robust, cases[_i].of), cases[_i].distance, 1e-9);
	ck_assert_int_eq(robust_is_far(&robust, cases[_i].of), cases[_i].is_far);
}
END_TEST

/* Two values are equally far from each other. */
START_TEST(needs_several)
{
	double values[2] = { 3, 1 };
	struct robust robust;

	robust_take(values, 2, &robust);
	ck_assert_double_eq(robust.median, 2);
	ck_assert(!robust_has_distance(&robust));
	ck_assert(!robust_is_far(&robust, 1000));
	robust_take(values, 0, &robust);
	ck_assert_uint_eq(robust.count, 0);
	ck_assert(!robust_has_distance(&robust));
}
END_TEST

Suite *suite_robust(void)
{
	Suite *suite = suite_create("robust");
	TCase *tcase = tcase_create("robust");

	tcase_add_loop_test(tcase, finds_who_is_far, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tcase, needs_several);
	suite_add_tcase(suite, tcase);
	return suite;
}
