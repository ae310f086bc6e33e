/*
 * resources: what is found of timers, futexes and queues in small traces, worked out by hand.
 */
#include "base/limits.h"
#include "deep/resources/resources.h"
#include "suites.h"
#include "trace-maker.h"

enum { WAIT = 128, WAKE = 129, REQUEUE = 132, LOCK_PI = 134 };
enum { SHARED_WAKE = 1, SHARED_WAKE_OP = 5, SHARED_UNLOCK_PI = 7 };
enum { SHARED_WAIT_REQUEUE_PI = 11, SHARED_CMP_REQUEUE_PI = 12 };

struct found {
	struct timeline *timeline;
	struct resources resources;
};

static void find_from(struct trace_maker *maker, uint64_t begin, struct found *found)
{
	const struct reader_setup setup = { .path = &maker->path };
	struct err err;

	maker_stream(maker, "channel0_0");
	*found = (struct found){ .timeline = timeline_build(&setup, begin, UINT64_MAX, &err) };
	ck_assert_ptr_nonnull(found->timeline);
	ck_assert_int_eq(resources_find(&setup, found->timeline, NULL, &found->resources, &err), 0);
}

static void find(struct trace_maker *maker, struct found *found)
{
	maker_packet(maker, 0, 0, 0);
	find_from(maker, 0, found);
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

/* 10 and 11 wait at 1000 (shared); 20 wakes 10 and moves 11 to 2000; 11 is woken there.  Also with
 * the calls of mutexes that inherit priorities. */
START_TEST(moves)
{
	const int32_t wait = _i == 0 ? WAIT - 128 : SHARED_WAIT_REQUEUE_PI;
	const int32_t requeue = _i == 0 ? REQUEUE - 128 : SHARED_CMP_REQUEUE_PI;
	const int32_t wake = _i == 0 ? SHARED_WAKE : SHARED_UNLOCK_PI;
	struct trace_maker *maker = maker_new();
	const struct resource *from, *to;
	struct found found;

	maker_switch(maker, 50, 0, MADE_RUNNABLE, 10);
	maker_futex_entry(maker, 100, 0x1000, wait, 0);
	maker_switch(maker, 110, 10, MADE_SLEEPS, 11);
	maker_futex_entry(maker, 120, 0x1000, wait, 0);
	maker_switch(maker, 130, 11, MADE_SLEEPS, 20);
	maker_futex_entry(maker, 200, 0x1000, requeue, 0x2000);
	maker_waking(maker, 210, 10);
	maker_futex_exit(maker, 220, 2);
	maker_futex_entry(maker, 300, 0x2000, wake, 0);
	maker_waking(maker, 310, 11);
	maker_futex_exit(maker, 320, _i == 0 ? 1 : 0);
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
	ck_assert_uint_eq(from->woken, 1);
	ck_assert_uint_eq(to->woken, 1);
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

/* 10 waits at 1000 and 11 at 2000 (shared); one call of 20 wakes both. */
START_TEST(wakes_two)
{
	struct trace_maker *maker = maker_new();
	const struct resource *one, *other;
	struct found found;

	maker_switch(maker, 50, 0, MADE_RUNNABLE, 10);
	maker_futex_entry(maker, 100, 0x1000, WAIT - 128, 0);
	maker_switch(maker, 110, 10, MADE_SLEEPS, 11);
	maker_futex_entry(maker, 120, 0x2000, WAIT - 128, 0);
	maker_switch(maker, 130, 11, MADE_SLEEPS, 20);
	maker_futex_entry(maker, 200, 0x1000, SHARED_WAKE_OP, 0x2000);
	maker_waking(maker, 210, 10);
	maker_waking(maker, 215, 11);
	maker_futex_exit(maker, 220, 2);
	maker_switch(maker, 230, 20, MADE_SLEEPS, 10);
	maker_futex_exit(maker, 240, 0);
	maker_switch(maker, 250, 10, MADE_SLEEPS, 11);
	maker_futex_exit(maker, 260, 0);
	maker_switch(maker, 300, 11, MADE_SLEEPS, 0);
	find(maker, &found);
	one = at(&found, 0x1000);
	other = at(&found, 0x2000);
	ck_assert(one && other);
	ck_assert_uint_eq(one->waits.total, 110);  /* 100 to 210 */
	ck_assert_uint_eq(other->waits.total, 95); /* 120 to 215 */
	ck_assert(one->wake_calls == 1 && other->wake_calls == 1);
	ck_assert(one->woken == 1 && other->woken == 1);
	ck_assert(one->pairs.count == 1 && other->pairs.count == 1);
	end(maker, &found);
}
END_TEST

/* The same with futex_wait() and futex_wake(), private (each thread has its own) and shared. */
START_TEST(waits_by_new_calls)
{
	const uint32_t flags = _i == 0 ? 2 : 128 | 2;
	struct trace_maker *maker = maker_new();
	uint64_t waits = 0, wakes = 0;
	struct found found;

	maker_switch(maker, 50, 0, MADE_RUNNABLE, 10);
	maker_futex2_entry(maker, 100, false, 0x1000, flags);
	maker_switch(maker, 110, 10, MADE_SLEEPS, 20);
	maker_futex2_entry(maker, 200, true, 0x1000, flags);
	maker_waking(maker, 210, 10);
	maker_futex2_exit(maker, 220, true, 1);
	maker_switch(maker, 300, 20, MADE_RUNNABLE, 10);
	maker_futex2_exit(maker, 310, false, 0);
	maker_switch(maker, 400, 10, MADE_RUNNABLE, 0);
	find(maker, &found);
	ck_assert_uint_eq(found.resources.all.count, _i == 0 ? 1 : 2);
	for (size_t i = 0; i < found.resources.all.count; i++) {
		const struct resource *one = found.resources.all.at[i];

		ck_assert(one->may_be_shared == (_i == 0));
		waits += one->waits.total;
		wakes += one->wake_calls;
	}
	ck_assert_uint_eq(waits, 110);
	ck_assert_uint_eq(wakes, 1);
	end(maker, &found);
}
END_TEST

/* Events are missing while 10 waits: the call is cut; one that begins after that is counted. */
START_TEST(events_are_missing)
{
	struct trace_maker *maker = maker_new();
	const struct resource *futex;
	struct found found;

	maker_switch(maker, 50, 0, MADE_RUNNABLE, 10);
	maker_futex_entry(maker, 100, 0x1000, WAIT - 128, 0);
	maker_switch(maker, 110, 10, MADE_SLEEPS, 20);
	maker_packet(maker, 0, 0, 0);
	maker_switch(maker, 300, 20, MADE_RUNNABLE, 10);
	maker_futex_exit(maker, 310, 0);
	maker_futex_entry(maker, 400, 0x1000, WAIT - 128, 0);
	maker_switch(maker, 410, 10, MADE_SLEEPS, 20);
	maker_waking(maker, 450, 10);
	maker_switch(maker, 460, 20, MADE_RUNNABLE, 10);
	maker_futex_exit(maker, 470, 0);
	maker_packet(maker, 0, 1, _i == 0 ? 7 : 0);
	find_from(maker, 0, &found);
	futex = at(&found, 0x1000);
	ck_assert_ptr_nonnull(futex);
	ck_assert_uint_eq(found.resources.cut, _i == 0 ? 1 : 0);
	ck_assert_uint_eq(futex->calls, _i == 0 ? 1 : 2);
	ck_assert_uint_eq(futex->waits.total, _i == 0 ? 50 : 50 + 200); /* 400 to 450, 100 to 300 */
	end(maker, &found);
}
END_TEST

/* A wait that began before the range counts from the range's begin, one that ended then does not.
 */
START_TEST(begins_before_range)
{
	struct trace_maker *maker = maker_new();
	const struct resource *futex;
	struct found found;

	maker_switch(maker, 10, 0, MADE_RUNNABLE, 10);
	maker_futex_entry(maker, 20, 0x1000, WAIT - 128, 0);
	maker_futex_exit(maker, 30, -11);
	maker_futex_entry(maker, 100, 0x1000, WAIT - 128, 0);
	maker_switch(maker, 110, 10, MADE_SLEEPS, 20);
	maker_futex_entry(maker, 200, 0x1000, SHARED_WAKE, 0);
	maker_waking(maker, 210, 10);
	maker_futex_exit(maker, 220, 1);
	maker_switch(maker, 300, 20, MADE_RUNNABLE, 10);
	maker_futex_exit(maker, 310, 0);
	maker_switch(maker, 400, 10, MADE_RUNNABLE, 0);
	maker_packet(maker, 0, 0, 0);
	find_from(maker, 150, &found);
	futex = at(&found, 0x1000);
	ck_assert_ptr_nonnull(futex);
	ck_assert_uint_eq(futex->calls, 1);
	ck_assert_uint_eq(futex->outcomes[OUTCOME_AGAIN], 0);
	ck_assert_uint_eq(futex->waits.total, 60);
	ck_assert_uint_eq(futex->intervals.at[0].begin, 150);
	ck_assert_uint_eq(futex->intervals.at[0].end, 210);
	end(maker, &found);
}
END_TEST

/* More timers than there is room for. */
START_TEST(too_many_resources)
{
	struct trace_maker *maker = maker_new();
	struct found found;

	for (uint64_t i = 0; i < RESOURCES_MAX + 4; i++) {
		maker_timer(maker, 100 + i, MADE_TIMER_START, 7 + 8 * i, 1000000);
	}
	maker_switch(maker, 100000, 0, MADE_RUNNABLE, 10);
	find(maker, &found);
	ck_assert_uint_eq(found.resources.all.count, RESOURCES_MAX);
	ck_assert_uint_eq(found.resources.dropped.resources, 4);
	end(maker, &found);
}
END_TEST

/* More threads use a futex than it has rows for: their calls count in its own figures. */
START_TEST(too_many_threads)
{
	enum { THREADS = RESOURCE_ROWS_EACH + 3 };
	struct trace_maker *maker = maker_new();
	const struct resource *futex;
	struct found found;

	for (int32_t i = 0; i < 2 * THREADS; i++) { /* each twice */
		uint64_t ts = 100 * (uint64_t)(i + 1);
		int32_t tid = 1000 + i % THREADS;

		maker_switch(maker, ts, i == 0 ? 0 : 1000 + (i - 1) % THREADS, MADE_RUNNABLE, tid);
		maker_futex_entry(maker, ts + 10, 0x1000, SHARED_WAKE, 0);
		maker_futex_exit(maker, ts + 20, 0);
	}
	find(maker, &found);
	futex = at(&found, 0x1000);
	ck_assert_ptr_nonnull(futex);
	ck_assert_uint_eq(futex->wake_calls, 2 * THREADS);
	ck_assert_uint_eq(futex->members.count, RESOURCE_ROWS_EACH);
	ck_assert_uint_eq(found.resources.dropped.rows, 2 * 3);
	for (size_t i = 0; i < futex->members.count; i++) {
		ck_assert_uint_eq(futex->members.at[i].wakes, 2);
	}
	end(maker, &found);
}
END_TEST

Suite *suite_resources(void)
{
	Suite *suite = suite_create("resources");
	TCase *tcase = tcase_create("resources");

	tcase_add_loop_test(tcase, waits_for_holder, 0, 3);
	tcase_add_loop_test(tcase, moves, 0, 2);
	tcase_add_test(tcase, expires);
	tcase_add_test(tcase, sends);
	tcase_add_test(tcase, wakes_two);
	tcase_add_loop_test(tcase, waits_by_new_calls, 0, 2);
	tcase_add_loop_test(tcase, events_are_missing, 0, 2);
	tcase_add_test(tcase, begins_before_range);
	tcase_add_test(tcase, too_many_resources);
	tcase_add_test(tcase, too_many_threads);
	suite_add_tcase(suite, tcase);
	return suite;
}
