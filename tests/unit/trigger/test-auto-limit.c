/*
 * auto-limit: how often values of known laws are beyond their limit; what survives a checkpoint;
 * and which windows and rows have values.
 */
#include <math.h>
#include <stdlib.h>

#include "base/limits.h"
#include "made-report.h"
#include "suites.h"
#include "trigger/actions.h"
#include "trigger/auto-limit.h"

#define DRAWS 250000 /* of which 250 are beyond a limit of 1e-3 */

static uint64_t random_state = 88172645463325252;

static double uniform(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return ((double)(random_state >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(void)
{
	double radius = sqrt(-2 * log(uniform()));

	return radius * cos(6.283185307179586 * uniform());
}

static double exponential(void)
{
	return -log(uniform());
}

static double pareto(void)
{
	return pow(uniform(), -1.0 / 3);
}

static double (*const laws[])(void) = { uniform, normal, exponential, pareto };

START_TEST(alarms_as_often_as_asked)
{
	const struct auto_setup setup = { .q = 1e-3, .is_lower = _i >= 4 };
	double sign = setup.is_lower ? -1 : 1, limit = NAN, share;
	struct auto_limit *tested = auto_limit_new(&setup);
	size_t count = rounds(DRAWS), beyond = 0;

	for (size_t i = 0; i < count; i++) {
		double value = sign * laws[_i % 4]();
		bool is_beyond = auto_limit_take(tested, value, &limit);

		ck_assert(i >= AUTO_WARM_UP || (!is_beyond && isnan(limit)));
		ck_assert_int_eq(is_beyond, sign * value > sign * limit);
		ck_assert_uint_eq(auto_limit_warms_up(tested),
				  i + 1 < AUTO_WARM_UP ? AUTO_WARM_UP - i - 1 : 0);
		beyond += is_beyond;
	}
	share = (double)beyond / (double)count;
	ck_assert_msg(share > setup.q / 2 && share < setup.q * 2, "law %d: %g", _i, share);
	auto_limit_free(tested);
}
END_TEST

/* The level rises by six standard deviations in a hundred thousand windows. */
static double share_of_drifting(uint64_t drift)
{
	const struct auto_setup setup = { .q = 1e-3, .drift = drift };
	struct auto_limit *tested = auto_limit_new(&setup);
	double limit = 0, beyond = 0;

	for (size_t i = 0; i < 100000; i++) {
		beyond += auto_limit_take(tested, 1000 + normal() + (double)i * 6e-5, &limit);
	}
	auto_limit_free(tested);
	return beyond / 100000;
}

START_TEST(follows_a_level_that_drifts)
{
	ck_assert_double_lt(share_of_drifting(600), 2e-3);
	ck_assert_double_lt(share_of_drifting(AUTO_PARTS_MAX * 3 + 1), 2e-3); /* in parts */
	ck_assert_double_gt(share_of_drifting(0), 4e-3);
}
END_TEST

/* Few different values: what comes again and again is within the limit. */
START_TEST(takes_steps)
{
	static const double chances[] = { 0, 0.015, 0.3 };
	const struct auto_setup setup = { .q = 1e-3 };
	struct auto_limit *tested;
	size_t beyond = 0;
	double limit = 0;

	for (size_t k = 0; k < 3; k++) {
		tested = auto_limit_new(&setup);
		for (size_t i = 0; i < 20000; i++) {
			beyond += auto_limit_take(tested, uniform() < chances[k], &limit);
		}
		ck_assert_uint_le(beyond, 5);
		ck_assert(auto_limit_take(tested, 3, &limit));
		ck_assert(!auto_limit_take(tested, NAN, &limit));
		ck_assert(!auto_limit_take(tested, INFINITY, &limit));
		auto_limit_free(tested);
	}
}
END_TEST

/* A value far beyond, however long it lasts, leaves the limit near to where it was. */
START_TEST(is_not_taught_by_what_is_beyond)
{
	const struct auto_setup setup = { .q = 1e-3 };
	struct auto_limit *tested = auto_limit_new(&setup);
	double before, after = 0;

	for (size_t i = 0; i < 10000; i++) {
		(void)auto_limit_take(tested, exponential(), &after);
	}
	before = after;
	for (size_t i = 0; i < 5000; i++) {
		ck_assert(auto_limit_take(tested, 1e6, &after));
	}
	ck_assert_double_lt(fabs(after - before), before / 10);
	auto_limit_free(tested);
}
END_TEST

static struct auto_limit *copy_of(struct auto_limit *limit, const struct auto_setup *setup)
{
	struct auto_limit *copy = auto_limit_new(setup);
	struct codec_out out = { 0 };
	struct codec writer = { .out = &out }, reader;

	auto_limit_codec(limit, &writer);
	reader = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
	auto_limit_codec(copy, &reader);
	ck_assert(!reader.is_wrong && reader.left == 0);
	for (size_t cut = 0; cut < out.bytes.count; cut += 7) {
		struct auto_limit *damaged = auto_limit_new(setup);

		reader = (struct codec){ .at = out.bytes.at, .left = cut };
		auto_limit_codec(damaged, &reader);
		ck_assert(reader.is_wrong);
		auto_limit_free(damaged);
	}
	vec_fini(&out.bytes);
	return copy;
}

START_TEST(survives_a_checkpoint)
{
	static const size_t places[] = { 0, 50, 99, 100, 101, 650, 3000, 30000 };
	const struct auto_setup setup = { .q = 1e-3, .drift = _i % 2 ? 600 : 0 };
	struct auto_limit *one = auto_limit_new(&setup), *other;
	double limit = 0, other_limit = 0, value;

	for (size_t i = 0; i < places[_i / 2]; i++) {
		(void)auto_limit_take(one, exponential(), &limit);
	}
	other = copy_of(one, &setup);
	other_limit = limit;
	for (size_t i = 0; i < 20000; i++) {
		value = exponential();
		ck_assert_int_eq(auto_limit_take(one, value, &limit),
				 auto_limit_take(other, value, &other_limit));
		ck_assert(limit == other_limit);
	}
	auto_limit_free(one);
	auto_limit_free(other);
}
END_TEST

/* Bytes of a checkpoint that were changed: an error, or a state that works. */
START_TEST(bears_damage)
{
	const struct auto_setup setup = { .q = 1e-3, .drift = 10 };
	struct auto_limit *one = auto_limit_new(&setup), *other;
	struct codec_out out = { 0 };
	struct codec writer = { .out = &out }, reader;
	double limit;

	for (size_t i = 0; i < 15000; i++) {
		(void)auto_limit_take(one, exponential(), &limit);
	}
	auto_limit_codec(one, &writer);
	for (size_t i = 0; i < 3000; i++) {
		size_t at = (size_t)(uniform() * (double)out.bytes.count);
		uint8_t before = out.bytes.at[at];

		out.bytes.at[at] = (uint8_t)(uniform() * 256);
		other = auto_limit_new(&setup);
		reader = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
		auto_limit_codec(other, &reader);
		for (size_t k = 0; k < 50 && !reader.is_wrong; k++) {
			(void)auto_limit_take(other, 5 * exponential(), &limit);
		}
		auto_limit_free(other);
		out.bytes.at[at] = before;
	}
	vec_fini(&out.bytes);
	auto_limit_free(one);
}
END_TEST

/* ---- triggers ---- */

static struct made made;
static const struct trace_identity trace = { .host = (char *)"h", .session = (char *)"s" };

/* A window of threads, from tid @first on, that ran so many ns each. */
static void window_of(uint64_t second, int first, size_t count, const uint64_t *ran)
{
	made_window(&made, second);
	(void)made_table(&made, "cpu", SCOPE_TRACE, NULL);
	(void)made_row(&made, 0, 0, "");
	(void)made_table(&made, "cpu", SCOPE_THREAD, NULL);
	for (size_t i = 0; i < count; i++) {
		(void)made_row(&made, 0, first + (int)i, "thread");
		*made_value(&made, "run_ns") = ran[i];
	}
}

static uint64_t usual(void)
{
	return 1000 + (uint64_t)(uniform() * 100);
}

/* Each row has a limit of its own, and windows that lack something have no values. */
START_TEST(looks_at_each_row)
{
	struct err err;
	struct trigger *trigger = trigger_new(NULL, "cpu.thread.run > auto(1e-3)", &err);
	struct trigger_event event;
	uint64_t second = 0, ran[2];
	char why[160];

	ck_assert_msg(trigger, "%s", err.text);
	trigger_set_interval(trigger, MADE_NS_PER_S);
	for (; second < 297; second++) {
		ran[0] = second % 3 == 1 ? 9000 : usual();
		ran[1] = 1000 * usual();
		window_of(second, 7, 2, ran);
		if (second % 3 == 1) {
			made.report.complete = false;
		} else if (second % 3 == 2) {
			made.report.begin++; /* shorter */
		}
		ck_assert(!trigger_evaluate(trigger, &trace, &made.report, &event));
		ck_assert_int_eq(trigger_was_measured(trigger, why, sizeof(why)), false);
		ck_assert_ptr_nonnull(strstr(why, "more windows are needed"));
	}
	window_of(second++, 7, 2, ran); /* the last one of the warm-up */
	ck_assert(!trigger_evaluate(trigger, &trace, &made.report, &event));
	ran[0] = 9000;
	window_of(second, 7, 2, ran);
	made.report.complete = false;
	ck_assert(!trigger_evaluate(trigger, &trace, &made.report, &event));
	made.report.complete = true;
	ck_assert(trigger_evaluate(trigger, &trace, &made.report, &event));
	ck_assert(trigger_was_measured(trigger, why, sizeof(why)));
	ck_assert_uint_eq(event.rows, 1);
	ck_assert_int_eq(event.values[0].tid, 7);
	ck_assert_double_eq(event.values[0].value, 9000);
	ck_assert(event.values[0].limit > 1090 && event.values[0].limit < 1300);
	trigger_free(trigger);
}
END_TEST

/* Rows beyond the bound get the place of those that are gone, if there are any. */
START_TEST(bounds_rows)
{
	static uint64_t ran[AUTO_ROWS_MAX + 10];
	struct err err;
	struct trigger *trigger = trigger_new(NULL, "cpu.thread.run > auto(1e-3)", &err);
	struct trigger_event event;
	uint64_t second = 0;

	for (int first = 100; first < 9100; first += 3000) {
		for (size_t w = 0; w < AUTO_WARM_UP; w++) {
			for (size_t i = 0; i < AUTO_ROWS_MAX + 10; i++) {
				ran[i] = usual();
			}
			window_of(second++, first, AUTO_ROWS_MAX + 10, ran);
			ck_assert(!trigger_evaluate(trigger, &trace, &made.report, &event));
		}
		for (size_t i = 0; i < AUTO_ROWS_MAX + 10; i++) {
			ran[i] = 1000000;
		}
		window_of(second++, first, AUTO_ROWS_MAX + 10, ran);
		ck_assert(trigger_evaluate(trigger, &trace, &made.report, &event));
		ck_assert_uint_eq(event.rows, AUTO_ROWS_MAX);
	}
	trigger_free(trigger);
}
END_TEST

static struct actions *new_actions(const char *first, const char *second)
{
	struct actions *actions = actions_new(NULL);
	struct err err;

	ck_assert_int_eq(actions_add(actions, NULL, first, "print", &err), 0);
	ck_assert_int_eq(actions_add(actions, NULL, second, "print", &err), 0);
	actions_set_interval(actions, MADE_NS_PER_S);
	return actions;
}

/* A run that was stopped and resumed after any window fires as one that went on. */
START_TEST(goes_on_from_a_checkpoint)
{
	static const char hot[] = "cpu.thread.run > auto(1e-2) for 2s";
	static const char other[] = "cpu.thread[7].run > auto(1e-2, drift 20s) or cpu.busy > 1ms";
	struct actions *one = new_actions(hot, other), *two = new_actions(hot, other), *next;
	struct trigger_event events[2];
	uint64_t ran[2];
	size_t fired = 0;

	for (uint64_t second = 0; second < 600; second++) {
		struct codec_out out = { 0 };

		ran[0] = uniform() < 0.02 ? 5000 : 0; /* apart: compilers choose the order */
		ran[0] += usual();
		ran[1] = 1000 * usual() + (second % 70 < 4 ? 500000 : 0);
		window_of(second, 7, 2, ran);
		for (size_t i = 0; i < 2; i++) {
			bool now = trigger_evaluate(actions_trigger(one, i), &trace, &made.report,
						    &events[0]);

			ck_assert_int_eq(trigger_evaluate(actions_trigger(two, i), &trace,
							  &made.report, &events[1]),
					 now);
			if (now) {
				fired++;
				ck_assert(events[0].values[0].limit == events[1].values[0].limit);
				ck_assert_uint_eq(events[0].begin, events[1].begin);
			}
		}
		/* The order of the triggers, and others beside them, do not matter. */
		next = second % 2 ? new_actions(hot, other) : new_actions(other, hot);
		actions_save(two, &trace, &out);
		ck_assert_int_eq(actions_restore(next, &trace, out.bytes.at, out.bytes.count), 0);
		ck_assert_int_lt(actions_restore(two, &trace, out.bytes.at, out.bytes.count - 1),
				 0);
		actions_free(two);
		two = new_actions(hot, other);
		vec_fini(&out.bytes);
		out = (struct codec_out){ 0 };
		actions_save(next, &trace, &out);
		ck_assert_int_eq(actions_restore(two, &trace, out.bytes.at, out.bytes.count), 0);
		actions_free(next);
		vec_fini(&out.bytes);
	}
	ck_assert_uint_gt(fired, 5);
	actions_free(one);
	actions_free(two);
}
END_TEST

Suite *suite_auto_limit(void)
{
	Suite *suite = suite_create("auto-limit");
	TCase *tcase = tcase_create("auto-limit");

	tcase_set_timeout(tcase, 0);
	tcase_add_loop_test(tcase, alarms_as_often_as_asked, 0, 5);
	tcase_add_test(tcase, follows_a_level_that_drifts);
	tcase_add_test(tcase, takes_steps);
	tcase_add_test(tcase, is_not_taught_by_what_is_beyond);
	tcase_add_loop_test(tcase, survives_a_checkpoint, 0, 16);
	tcase_add_test(tcase, bears_damage);
	tcase_add_test(tcase, looks_at_each_row);
	tcase_add_test(tcase, bounds_rows);
	tcase_add_test(tcase, goes_on_from_a_checkpoint);
	suite_add_tcase(suite, tcase);
	return suite;
}
