/*
 * coverage: which time intervals cover, in any order, and the holes between them.
 */
#include "base/limits.h"
#include "ctf/coverage.h"
#include "suites.h"

#define S NS_PER_S

/* The next hole up to @known begins at @begin. */
static void expect_hole(struct coverage *coverage, uint64_t known, uint64_t begin)
{
	uint64_t found = 0;

	ck_assert(coverage_next_hole(coverage, known, &found));
	ck_assert_uint_eq(found, begin);
}

static void expect_none(struct coverage *coverage, uint64_t known)
{
	uint64_t found;

	ck_assert(!coverage_next_hole(coverage, known, &found));
}

/* Streams are ahead of each other; a hole is one that none of them covers. */
START_TEST(finds_what_no_interval_covers)
{
	struct coverage coverage = { 0 };

	coverage_add(&coverage, 30 * S, 31 * S);
	coverage_add(&coverage, 10 * S, 12 * S);
	coverage_add(&coverage, 20 * S, 21 * S);
	coverage_add(&coverage, 11 * S, 15 * S);
	coverage_add(&coverage, 14 * S, 14 * S);
	expect_none(&coverage, 9 * S); /* nothing is before the first */
	expect_none(&coverage, 15 * S);
	expect_hole(&coverage, 25 * S, 15 * S);
	expect_hole(&coverage, 25 * S, 21 * S);
	expect_none(&coverage, 25 * S);
	ck_assert_uint_eq(coverage.since, 20 * S);
	coverage_add(&coverage, 25 * S, 26 * S);
	expect_hole(&coverage, UINT64_MAX, 26 * S);
	expect_none(&coverage, UINT64_MAX); /* what follows the last one is no hole */
	ck_assert_uint_eq(coverage.since, 30 * S);
	coverage_fini(&coverage);
}
END_TEST

START_TEST(short_times_are_no_holes)
{
	struct coverage coverage = { 0 };

	coverage_add(&coverage, 10 * S, 10 * S);
	coverage_add(&coverage, 10 * S + HOLE_NS, 10 * S + HOLE_NS);
	expect_none(&coverage, 10 * S + 2 * HOLE_NS);
	expect_hole(&coverage, 10 * S + 2 * HOLE_NS + 1, 10 * S + HOLE_NS);
	ck_assert_uint_eq(coverage.since, 10 * S);
	coverage_fini(&coverage);
}
END_TEST

/* A hole is returned once, also if its end comes later. */
START_TEST(hole_is_open_at_the_end)
{
	struct coverage coverage = { 0 };

	coverage_add(&coverage, 10 * S, 11 * S);
	expect_none(&coverage, 12 * S);
	ck_assert(coverage_is_decided(&coverage, 11 * S));
	ck_assert(!coverage_is_decided(&coverage, 11 * S + 1));
	expect_hole(&coverage, 13 * S, 11 * S);
	ck_assert(coverage_is_decided(&coverage, 13 * S));
	coverage_add(&coverage, 14 * S, 15 * S);
	expect_none(&coverage, 16 * S);
	ck_assert(!coverage.is_open);
	ck_assert_uint_eq(coverage.since, 14 * S);
	coverage_fini(&coverage);
}
END_TEST

/* What comes next is near enough that there cannot be a hole before. */
START_TEST(next_interval_decides)
{
	struct coverage coverage = { 0 };

	coverage_add(&coverage, 10 * S, 11 * S);
	coverage_add(&coverage, 12 * S, 13 * S);
	expect_none(&coverage, 11 * S + S / 2);
	ck_assert(coverage_is_decided(&coverage, 11 * S + S / 2));
	coverage_fini(&coverage);
}
END_TEST

Suite *suite_coverage(void)
{
	Suite *suite = suite_create("coverage");
	TCase *tcase = tcase_create("coverage");

	tcase_add_test(tcase, finds_what_no_interval_covers);
	tcase_add_test(tcase, short_times_are_no_holes);
	tcase_add_test(tcase, hole_is_open_at_the_end);
	tcase_add_test(tcase, next_interval_decides);
	suite_add_tcase(suite, tcase);
	return suite;
}
