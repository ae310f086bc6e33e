/*
 * test-setup: windows, and what analyses are called for.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "engine/contract/setup.h"
#include "suites.h"

static void handle(struct worker *worker, void *state, const struct trace_event *event,
		   uint32_t user)
{
}

static void handle_base(struct worker *worker, void *state, const struct trace_event *event,
			uint32_t user)
{
	handle(worker, state, event, user);
}

static void on_lost(struct worker *worker, void *state, uint64_t ts, bool is_over)
{
}

static const struct need base[] = { { "sched_switch", { "next_tid" }, handle_base, 0 } };
static const struct need few[] = { { "a", { "x" }, handle, 7 },
				   { .event = "b*", .on_event = handle, .may_rest = true } };

/* Two events that a user wants. */
static size_t needs_of(const struct period_set *periods, struct need **ret)
{
	*ret = mem_alloc(2 * sizeof(**ret));
	(*ret)[0] = (struct need){ .event = "c", .on_event = handle };
	(*ret)[1] = (struct need){ .event = "c", .on_event = handle };
	return 2;
}

static const struct analysis plain = {
	.name = "plain",
	.summary = "one need, no threads",
	.tables = { { .scope = SCOPE_TRACE, .columns = { { .key = "count" } } } },
	.needs = few,
	.need_count = 1,
	.worker_state_size = 5,
};
static const struct analysis of_threads = {
	.name = "of-threads",
	.summary = "needs of its own and of the user, threads",
	.tables = { { .scope = SCOPE_TRACE, .columns = { { .key = "count" } } } },
	.needs = few,
	.need_count = 2,
	.uses_threads = true,
	.worker_state_size = 40,
	.rare = &(const struct analysis_rare){ .needs_of = needs_of, .on_lost = on_lost },
};

static void set_up(struct setup *setup, uint64_t interval_ns, bool wants_windows)
{
	*setup = (struct setup){ .interval_ns = interval_ns,
				 .wants_windows = wants_windows,
				 .range_end = UINT64_MAX };
}

START_TEST(windows_are_half_open)
{
	struct setup setup;

	set_up(&setup, 1000, true);
	setup.range_begin = 1500;
	setup.range_end = 3000;
	setup_init(&setup, base, 1);
	ck_assert_uint_eq(setup.window_ns, 1000);
	ck_assert_int_eq(setup_window(&setup, 0), WINDOW_BEFORE);
	ck_assert_int_eq(setup_window(&setup, 1499), WINDOW_BEFORE);
	ck_assert_int_eq(setup_window(&setup, 1500), 1);
	ck_assert_int_eq(setup_window(&setup, 1999), 1);
	ck_assert_int_eq(setup_window(&setup, 2000), 2);
	ck_assert_int_eq(setup_window(&setup, 2999), 2);
	ck_assert_int_eq(setup_window(&setup, 3000), WINDOW_AFTER);
	setup_fini(&setup);
}
END_TEST

/* Windows that nobody sees are longer, unless that is more than there is. */
START_TEST(unseen_windows_are_longer)
{
	struct setup setup;

	set_up(&setup, 1000, false);
	setup_init(&setup, base, 1);
	ck_assert_uint_eq(setup.window_ns, 1000 * INTERVALS_UNSEEN);
	setup_fini(&setup);
	set_up(&setup, UINT64_MAX / 2, false);
	setup_init(&setup, base, 1);
	ck_assert_uint_eq(setup.window_ns, UINT64_MAX / 2);
	setup_fini(&setup);
}
END_TEST

/* Without threads the engine wants nothing for itself. */
START_TEST(base_needs_come_with_threads)
{
	struct setup setup;

	set_up(&setup, 1000, true);
	setup.analyses[setup.analysis_count++] = &plain;
	setup_init(&setup, base, 1);
	ck_assert(!setup.uses_threads);
	ck_assert_uint_eq(setup.request_count, 1);
	ck_assert_str_eq(setup.requests[0].event, "a");
	ck_assert_uint_eq(setup.requests[0].user, 7);
	ck_assert_uint_eq(setup.may_rest, 0);
	setup_fini(&setup);
}
END_TEST

START_TEST(requests_have_routes)
{
	static const char *const events[] = { "sched_switch", "a", "a", "b*", "c", "c" };
	static const uint8_t owners[] = { 0, 0, 1, 1, 1, 1 };
	struct setup setup;

	set_up(&setup, 1000, true);
	setup.analyses[setup.analysis_count++] = &plain;
	setup.analyses[setup.analysis_count++] = &of_threads;
	setup_init(&setup, base, 1);
	ck_assert(setup.uses_threads);
	ck_assert_uint_eq(setup.request_count, 6);
	ck_assert_str_eq(setup.requests[REQUEST_SWITCH].event, "sched_switch");
	for (size_t i = 0; i < 6; i++) {
		ck_assert_str_eq(setup.requests[i].event, events[i]);
		ck_assert_uint_eq(setup.routes[i].analysis, owners[i]);
		ck_assert(setup.routes[i].on_event == (i == 0 ? handle_base : handle));
		ck_assert_uint_eq(setup.routes[i].state, setup.state_offsets[owners[i]]);
	}
	ck_assert_uint_eq(setup.may_rest, 1u << 1);
	setup_fini(&setup);
}
END_TEST

/* Of the requests of one group only the first that matches an event is bound: analyses, and the
 * engine, have groups of their own, and so has each event of a user. */
START_TEST(groups_are_apart)
{
	struct setup setup;

	set_up(&setup, 1000, true);
	setup.analyses[setup.analysis_count++] = &plain;
	setup.analyses[setup.analysis_count++] = &of_threads;
	setup_init(&setup, base, 1);
	ck_assert_uint_eq(setup.requests[2].group, setup.requests[3].group);
	for (size_t i = 0; i < setup.request_count; i++) {
		for (size_t k = i + 1; k < setup.request_count; k++) {
			ck_assert((i == 2 && k == 3) ||
				  setup.requests[i].group != setup.requests[k].group);
		}
	}
	setup_fini(&setup);
}
END_TEST

START_TEST(states_are_apart_and_aligned)
{
	struct setup setup;

	set_up(&setup, 1000, true);
	setup.analyses[setup.analysis_count++] = &plain;
	setup.analyses[setup.analysis_count++] = &of_threads;
	setup_init(&setup, base, 1);
	ck_assert_uint_eq(setup.state_offsets[0], 0);
	ck_assert_uint_eq(setup.state_offsets[1], 16);
	ck_assert_uint_eq(setup.state_size, 64);
	setup_fini(&setup);
}
END_TEST

START_TEST(callers_are_those_with_function)
{
	struct setup setup;
	unsigned int called = 0;

	set_up(&setup, 1000, true);
	setup.analyses[setup.analysis_count++] = &plain;
	setup.analyses[setup.analysis_count++] = &of_threads;
	setup_init(&setup, base, 1);
	each_analysis_with(&setup, on_lost, i) {
		ck_assert_uint_eq(i, 1);
		called++;
	}
	ck_assert_uint_eq(called, 1);
	each_analysis_with(&setup, on_oncpu_end, i) {
		ck_abort_msg("analysis %u has no such function", i);
	}
	setup_fini(&setup);
}
END_TEST

Suite *suite_setup(void)
{
	Suite *suite = suite_create("setup");
	TCase *tcase = tcase_create("setup");

	tcase_add_test(tcase, windows_are_half_open);
	tcase_add_test(tcase, unseen_windows_are_longer);
	tcase_add_test(tcase, base_needs_come_with_threads);
	tcase_add_test(tcase, requests_have_routes);
	tcase_add_test(tcase, groups_are_apart);
	tcase_add_test(tcase, states_are_apart_and_aligned);
	tcase_add_test(tcase, callers_are_those_with_function);
	suite_add_tcase(suite, tcase);
	return suite;
}
