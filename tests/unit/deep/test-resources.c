/*
 * resources: what is found of timers, futexes and queues in small traces, worked out by hand.
 */
#include "deep/resources/resources.h"
#include "suites.h"
#include "trace-maker.h"

enum { WAIT = 128, WAKE = 129, REQUEUE = 132, LOCK_PI = 134 };

struct found {
	struct timeline *timeline;
	struct resources resources;
};

static void find(struct trace_maker *maker, struct found *found)
{
	const struct reader_setup setup = { .path = &maker->path };
	struct err err;

	maker_packet(maker, 0, 0, 0);
	maker_stream(maker, "channel0_0");
	found->timeline = timeline_build(&setup, 0, UINT64_MAX, &err);
	ck_assert_ptr_nonnull(found->timeline);
	ck_assert_int_eq(resources_find(&setup, found->timeline, NULL, &found->resources, &err), 0);
}

static void end(struct trace_maker *maker, struct found *found)
{
	resources_fini(&found->resources);
	timeline_free(found->timeline);
	maker_free(maker);
}

/* The resource at this address; NULL: there is none. */
static const struct resource *at(const struct found *found, uint64_t address)
{
	for (size_t i = 0; i < found->resources.all.count; i++) {
		if (found->resources.all.at[i]->address == address) {
			return found->resources.all.at[i];
		}
	}
	return NULL;
}

/* 10 waits at 1000 from 100 on, asleep from 110, and is woken at 210 by 20, which holds it. */
START_TEST(waits_for_holder)
{
	struct trace_maker *maker = maker_new();
	const struct resource *futex;
	struct found found;

	maker_switch(maker, 50, 0, MADE_RUNNABLE, 10);
	maker_futex_entry(maker, 100, 0x1000, _i == 0 ? LOCK_PI : WAIT, 0);
	maker_switch(maker, 110, 10, MADE_SLEEPS, 20);
	maker_futex_entry(maker, 200, 0x1000, WAKE, 0);
	maker_waking(maker, 210, 10);
	maker_futex_exit(maker, 220, 1);
	maker_switch(maker, 300, 20, MADE_RUNNABLE, 10);
	maker_futex_exit(maker, 310, _i == 2 ? -4 : 0);
	/* Its value changed: no sleep. */
	maker_futex_entry(maker, 320, 0x1000, WAIT, 0);
	maker_futex_exit(maker, 330, -11);
	maker_switch(maker, 400, 10, MADE_RUNNABLE, 0);
	find(maker, &found);
	futex = found.resources.all.count == 1 ? found.resources.all.at[0] : at(&found, 0x1000);
	ck_assert_ptr_nonnull(futex);
	ck_assert_int_eq(futex->kind, RESOURCE_FUTEX);
	/* The process is unknown: the futex is known for each thread. */
	for (size_t i = 0; i < found.resources.all.count; i++) {
		futex = found.resources.all.at[i]->calls > 0 ? found.resources.all.at[i] : futex;
	}
	ck_assert_uint_eq(futex->calls, 2);
	ck_assert_uint_eq(futex->outcomes[_i == 2 ? OUTCOME_INTERRUPTED : OUTCOME_DONE], 1);
	ck_assert_uint_eq(futex->outcomes[OUTCOME_AGAIN], 1);
	ck_assert_uint_eq(futex->waits.count, 1);
	ck_assert_uint_eq(futex->waits.total, 110);
	ck_assert_uint_eq(futex->pairs.count, _i == 2 ? 0 : 1);
	if (_i != 2) {
		ck_assert_int_eq(found.timeline->threads.at[futex->pairs.at[0].by]->tid, 20);
		ck_assert_int_eq(found.timeline->threads.at[futex->pairs.at[0].who]->tid, 10);
	}
	end(maker, &found);
}
END_TEST

/* 10 and 11 wait at 1000 (shared); 20 wakes 10 and moves 11 to 2000; 11 is woken there. */
START_TEST(moves)
{
	struct trace_maker *maker = maker_new();
	const struct resource *from, *to;
	struct found found;

	maker_switch(maker, 50, 0, MADE_RUNNABLE, 10);
	maker_futex_entry(maker, 100, 0x1000, WAIT - 128, 0);
	maker_switch(maker, 110, 10, MADE_SLEEPS, 11);
	maker_futex_entry(maker, 120, 0x1000, WAIT - 128, 0);
	maker_switch(maker, 130, 11, MADE_SLEEPS, 20);
	maker_futex_entry(maker, 200, 0x1000, REQUEUE - 128, 0x2000);
	maker_waking(maker, 210, 10);
	maker_futex_exit(maker, 220, 2);
	maker_futex_entry(maker, 300, 0x2000, WAKE - 128, 0);
	maker_waking(maker, 310, 11);
	maker_futex_exit(maker, 320, 1);
	maker_switch(maker, 330, 20, MADE_SLEEPS, 10);
	maker_futex_exit(maker, 340, 0);
	maker_switch(maker, 350, 10, MADE_SLEEPS, 11);
	maker_futex_exit(maker, 360, 0);
	maker_switch(maker, 400, 11, MADE_SLEEPS, 0);
	find(maker, &found);
	from = at(&found, 0x1000);
	to = at(&found, 0x2000);
	ck_assert_ptr_nonnull(from);
	ck_assert_ptr_nonnull(to);
	ck_assert(from->may_be_shared && to->may_be_shared);
	ck_assert_uint_eq(from->moved_out, 1);
	ck_assert_uint_eq(to->moved_in, 1);
	ck_assert_uint_eq(from->waits.count, 2);
	ck_assert_uint_eq(from->waits.total, 110 + 100); /* 100 to 210, 120 to 220 */
	ck_assert_uint_eq(from->calls, 1);
	ck_assert_uint_eq(to->waits.count, 1);
	ck_assert_uint_eq(to->waits.total, 90); /* 220 to 310 */
	ck_assert_uint_eq(to->outcomes[OUTCOME_DONE], 1);
	end(maker, &found);
}
END_TEST

/* A timer expires at 200 and 500, with a cancel just before the second; it is cancelled at 700. */
START_TEST(expires)
{
	struct trace_maker *maker = maker_new();
	const struct resource *timer;
	struct found found;

	maker_switch(maker, 50, 0, MADE_RUNNABLE, 10);
	maker_timer(maker, 100, MADE_TIMER_START, 7, 190);
	maker_timer(maker, 200, MADE_TIMER_ENTRY, 7, 195);
	maker_waking(maker, 205, 20);
	maker_timer(maker, 210, MADE_TIMER_EXIT, 7, 0);
	maker_timer(maker, 220, MADE_TIMER_START, 7, 600);
	maker_timer(maker, 230, MADE_TIMER_START, 7, 498);
	maker_timer(maker, 499, MADE_TIMER_CANCEL, 7, 0);
	maker_timer(maker, 500, MADE_TIMER_ENTRY, 7, 496);
	maker_timer(maker, 530, MADE_TIMER_EXIT, 7, 0);
	maker_timer(maker, 600, MADE_TIMER_START, 7, 900);
	maker_timer(maker, 700, MADE_TIMER_CANCEL, 7, 0);
	maker_switch(maker, 800, 10, MADE_RUNNABLE, 0);
	find(maker, &found);
	timer = at(&found, 7);
	ck_assert_ptr_nonnull(timer);
	ck_assert_uint_eq(timer->starts, 4);
	ck_assert_uint_eq(timer->rearmed, 1);
	ck_assert_uint_eq(timer->expiries, 2);
	ck_assert_uint_eq(timer->cancelled, 1);
	ck_assert_uint_eq(timer->woken, 1);
	ck_assert_uint_eq(timer->period.total, 300);
	ck_assert_uint_eq(timer->callback.total, 40);
	ck_assert_int_eq(timer->late_min, -2);
	ck_assert_int_eq(timer->late_max, 5);
	/* 100 to 200, its callback, 220 to 230, 230 to 500, its callback, 600 to 700, the instant.
	 */
	ck_assert_uint_eq(timer->intervals.count, 7);
	end(maker, &found);
}
END_TEST

/* 10 finds the queue empty, sleeps, and gets what 20 sends; 20 then finds it full. */
START_TEST(sends)
{
	struct trace_maker *maker = maker_new();
	const struct resource *queue = NULL;
	struct found found;

	maker_switch(maker, 50, 0, MADE_RUNNABLE, 10);
	maker_queue_entry(maker, 60, false, 5, 64);
	maker_queue_exit(maker, 65, false, -11);
	maker_queue_entry(maker, 100, false, 5, 64);
	maker_switch(maker, 110, 10, MADE_SLEEPS, 20);
	maker_queue_entry(maker, 200, true, 5, 8);
	maker_waking(maker, 210, 10);
	maker_queue_exit(maker, 220, true, 0);
	maker_queue_entry(maker, 230, true, 5, 8);
	maker_queue_exit(maker, 240, true, -11);
	maker_switch(maker, 300, 20, MADE_RUNNABLE, 10);
	maker_queue_exit(maker, 310, false, 8);
	maker_switch(maker, 400, 10, MADE_RUNNABLE, 0);
	find(maker, &found);
	for (size_t i = 0; i < found.resources.all.count; i++) {
		const struct resource *one = found.resources.all.at[i];

		queue = one->received > 0 ? one : queue;
		ck_assert_int_eq(one->kind, RESOURCE_QUEUE);
	}
	ck_assert_ptr_nonnull(queue);
	ck_assert_uint_eq(queue->bytes_received, 8);
	ck_assert_uint_eq(queue->waits.count, 1);
	ck_assert_uint_eq(queue->waits.total, 100);   /* 110 to 210 */
	ck_assert_uint_eq(queue->intervals.count, 2); /* empty: an instant, and the sleep */
	ck_assert_uint_eq(queue->outcomes[OUTCOME_AGAIN], 1);
	ck_assert(queue->intervals.at[0].begin == 65 && queue->intervals.at[1].end == 210);
	end(maker, &found);
}
END_TEST

Suite *suite_resources(void)
{
	Suite *suite = suite_create("resources");
	TCase *tcase = tcase_create("resources");

	tcase_add_loop_test(tcase, waits_for_holder, 0, 3);
	tcase_add_test(tcase, moves);
	tcase_add_test(tcase, expires);
	tcase_add_test(tcase, sends);
	suite_add_tcase(suite, tcase);
	return suite;
}
