/*
 * pace: times with a period that is known, and without one; what --job finds in a sequence.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "discovery/pace.h"
#include "discovery/sequences.h"
#include "suites.h"

#define TIMES 200

/* Times of a period that are each up to @off later; @late: one of so many begins half a period
 * late, @skip: one of so many is left out; 0: none. */
static const struct {
	uint64_t period, off;
	unsigned int late, skip;
	uint64_t every;
} paces[] = {
	{ 5000000, 0, 0, 0, 5000000 },
	{ 5000000, 30000, 0, 0, 5000000 },
	{ 5000000, 30000, 25, 0, 5000000 },
	{ 5000000, 30000, 25, 30, 5000000 },
	{ 16666667, 1000, 0, 0, 16666667 },
	{ 40000000, 200000, 40, 0, 40000000 },
	{ 1250000, 2000, 0, 0, 1250000 },
	{ 10000000, 9900000, 0, 0, 0 },
	{ UINT64_C(3600000000000), 9000, 0, 0, UINT64_C(3600000000000) },
};

START_TEST(finds_the_period)
{
	unsigned int seed = 117;
	uint64_t times[TIMES], near;
	size_t count = 0;
	struct pace pace;

	for (size_t i = 0; i < TIMES; i++) {
		uint64_t off = paces[_i].off ? (uint64_t)rand_r(&seed) % paces[_i].off : 0;
		bool is_late = paces[_i].late && i % paces[_i].late == 7;

		if (paces[_i].skip && i % paces[_i].skip == 11) {
			continue;
		}
		times[count++] = UINT64_C(1700000000000000000) + i * paces[_i].period + off +
				 (is_late ? paces[_i].period / 2 : 0);
	}
	pace = pace_of(times, count);
	ck_assert_int_eq(pace.is_regular, paces[_i].every > 0);
	/* As round as the times allow: to their jitter by half their number. */
	near = paces[_i].off / 20 + 1;
	ck_assert_uint_le(pace.every_ns, paces[_i].every + near);
	ck_assert_uint_ge(pace.every_ns + near, paces[_i].every);
	if (paces[_i].period % 10000 == 0) {
		ck_assert_uint_eq(pace.every_ns, paces[_i].every);
	}
}
END_TEST

/* Turns that take five periods now and then, and are made up for: steady, though they vary. */
START_TEST(stays_steady)
{
	uint64_t times[TIMES], free_at = 0;
	struct pace pace;

	for (size_t i = 0; i < TIMES; i++) {
		uint64_t due = (i + 1) * 10000000;

		times[i] = due > free_at ? due : free_at;
		free_at = times[i] + (i % 40 == 20 ? 52000000 : 300000);
	}
	pace = pace_of(times, TIMES);
	ck_assert(!pace.is_regular && pace.variation > PACE_VARIATION_MAX);
	ck_assert_uint_eq(pace.steady_ns, 10000000);
	ck_assert(pace.catches_up);
}
END_TEST

/* Bursts: most times are near each other, which is no period. */
START_TEST(bursts_have_none)
{
	uint64_t times[TIMES];
	struct pace pace;

	for (size_t i = 0; i < TIMES; i++) {
		times[i] = i / 10 * 50000000 + i % 10 * 100000;
	}
	pace = pace_of(times, TIMES);
	ck_assert(!pace.is_regular);
	ck_assert_uint_eq(pace.every_ns, 0);
	ck_assert_uint_eq(pace.period_ns, 100000);
	for (size_t i = 0; i < TIMES; i++) {
		times[i] = 7; /* all at once */
	}
	pace = pace_of(times, TIMES);
	ck_assert(!pace.is_regular && pace.variation == 0);
	ck_assert(!pace_of((uint64_t[]){ 1, 1 }, 2).is_regular);
	ck_assert_uint_eq(pace_of((uint64_t[]){ 1, 11 }, 2).every_ns, 10);
}
END_TEST

/* One of so many begins 2.6 periods late: what follows makes up for it, or leaves points out. */
START_TEST(catches_up)
{
	uint64_t times[TIMES], now = 0, point = 0;

	for (size_t i = 0; i < TIMES; i++) {
		point += i == 0 || _i != 1 || now <= point + 5000000
				 ? 5000000
				 : (now - point) / 5000000 * 5000000;
		now = now > point ? now : point + i % 7 * 1000;
		times[i] = now;
		/* In the last case no one is late by a period. */
		now += i % 25 == 9 ? (_i == 2 ? 9000000 : 13000000) : 700000;
	}
	ck_assert(pace_of(times, TIMES).is_regular);
	ck_assert_int_eq(pace_of(times, TIMES).catches_up, _i == 0);
}
END_TEST

/* The first event that fits counts, and the end of one execution does not begin the next. */
START_TEST(matches_as_jobs_do)
{
	static uint32_t types[] = { 5, 4, 4, 5, 5, 4, 6, 5, 4 };
	static uint64_t times[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	static uint64_t args[] = { 1, 1, 1, 2, 1, 1, 1, 1, 1 };
	static const struct {
		struct sequence_part parts[2];
		size_t count;
		struct episode_window first, last;
	} all[] = {
		{ { { 4, SEQUENCE_ANY }, { 5, SEQUENCE_ANY } }, 2, { 1, 3 }, { 5, 7 } },
		{ { { 4, SEQUENCE_ANY }, { 5, 1 } }, 2, { 1, 4 }, { 5, 7 } },
		{ { { 5, 2 }, { 4, SEQUENCE_ANY } }, 1, { 3, 5 }, { 3, 5 } },
		{ { { 6, SEQUENCE_ANY }, { 6, SEQUENCE_ANY } }, 0, { 0, 0 }, { 0, 0 } },
	};
	const struct sequence sequence = { .types = { types, ARRAY_COUNT(types), 0 },
					   .times = { times, ARRAY_COUNT(times), 0 },
					   .args = { args, ARRAY_COUNT(args), 0 } };
	episode_windows windows = { 0 };

	sequence_match(&sequence, all[_i].parts, 2, &windows);
	ck_assert_uint_eq(windows.count, all[_i].count);
	if (windows.count > 0) {
		const struct episode_window *last = &windows.at[windows.count - 1];

		ck_assert_uint_eq(windows.at[0].first, all[_i].first.first);
		ck_assert_uint_eq(windows.at[0].last, all[_i].first.last);
		ck_assert_uint_eq(last->first, all[_i].last.first);
		ck_assert_uint_eq(last->last, all[_i].last.last);
	}
	vec_fini(&windows);
}
END_TEST

Suite *suite_pace(void)
{
	Suite *suite = suite_create("pace");
	TCase *tcase = tcase_create("pace");

	tcase_add_loop_test(tcase, finds_the_period, 0, ARRAY_COUNT(paces));
	tcase_add_test(tcase, stays_steady);
	tcase_add_test(tcase, bursts_have_none);
	tcase_add_loop_test(tcase, catches_up, 0, 3);
	tcase_add_loop_test(tcase, matches_as_jobs_do, 0, 4);
	suite_add_tcase(suite, tcase);
	return suite;
}
