/*
 * timeline, path, links: states of threads, critical paths and wake-ups.
 *
 * Timelines are made from a trace of a few events, or by hand.
 */
#include <stdlib.h>
#include <string.h>

#include "deep/links.h"
#include "deep/path.h"
#include "deep/reader.h"
#include "deep/timeline.h"
#include "suites.h"
#include "trace-maker.h"

/* ---- from a trace ---- */

/*
 * One CPU:
 *
 *     100        200        250   300        400        500
 *     10: user    blocked by 20  wait  user   blocked (nothing ends it)
 *     20: unknown user             preempted  user       dead
 */
static struct trace_maker *make_two_threads(void)
{
	struct trace_maker *maker = maker_new();

	maker_switch(maker, 100, 0, MADE_RUNNABLE, 10);
	maker_switch(maker, 200, 10, MADE_SLEEPS, 20);
	maker_waking(maker, 250, 10);
	maker_switch(maker, 300, 20, MADE_PREEMPTED, 10);
	maker_switch(maker, 400, 10, MADE_SLEEPS, 20);
	maker_switch(maker, 500, 20, MADE_DEAD, 0);
	maker_packet(maker, 0, 0, 0);
	maker_stream(maker, "channel0_0");
	return maker;
}

static struct timeline *build_made(const struct trace_maker *maker, uint64_t begin, uint64_t end)
{
	const struct reader_setup setup = { .path = &maker->path };
	struct err err;
	struct timeline *timeline = timeline_build(&setup, begin, end, &err);

	ck_assert_msg(timeline != NULL, "%s", err.text);
	timeline_check(timeline);
	return timeline;
}

static uint32_t index_of(const struct timeline *timeline, int32_t tid)
{
	for (uint32_t i = 0; i < timeline->threads.count; i++) {
		if (timeline->threads.at[i]->tid == tid) {
			return i;
		}
	}
	ck_abort_msg("no thread %d", tid);
	return NOBODY;
}

static const struct {
	int32_t tid;
	struct {
		uint64_t begin;
		enum state state;
		enum cause cause;
		int32_t who; /* tid; 0: nobody */
	} intervals[6];
} states[] = {
	{ 10,
	  { { 100, STATE_USER, CAUSE_NONE, 0 },
	    { 200, STATE_BLOCKED, CAUSE_TASK, 20 },
	    { 250, STATE_WAIT, CAUSE_TASK, 20 },
	    { 300, STATE_USER, CAUSE_NONE, 0 },
	    { 400, STATE_BLOCKED, CAUSE_NONE, 0 } } },
	{ 20,
	  { { 100, STATE_UNKNOWN, CAUSE_NONE, 0 },
	    { 200, STATE_USER, CAUSE_NONE, 0 },
	    { 300, STATE_PREEMPTED, CAUSE_NONE, 0 },
	    { 400, STATE_USER, CAUSE_NONE, 0 },
	    { 500, STATE_DEAD, CAUSE_NONE, 0 } } },
};

START_TEST(follows_states)
{
	struct trace_maker *maker = make_two_threads();
	struct timeline *timeline = build_made(maker, 0, UINT64_MAX);
	const struct deep_thread *thread = timeline->threads.at[index_of(timeline, states[_i].tid)];
	size_t count = 0;

	ck_assert_uint_eq(timeline->begin, 100);
	ck_assert_uint_eq(timeline->end, 500);
	ck_assert_uint_eq(timeline->events, 6);
	for (; states[_i].intervals[count].begin > 0; count++) {
		const struct interval *got = &thread->intervals.at[count];
		int32_t who = states[_i].intervals[count].who;

		ck_assert_uint_gt(thread->intervals.count, count);
		ck_assert_uint_eq(got->begin, states[_i].intervals[count].begin);
		ck_assert_uint_eq(got->state, states[_i].intervals[count].state);
		ck_assert_uint_eq(got->cause, states[_i].intervals[count].cause);
		ck_assert_uint_eq(got->who, who ? index_of(timeline, who) : NOBODY);
	}
	ck_assert_uint_eq(thread->intervals.count, count);
	timeline_free(timeline);
	maker_free(maker);
}
END_TEST

/* Intervals tile each part of a thread's life: sums over the states are the length of the part. */
static const struct {
	uint64_t begin, end;
	uint64_t running_of_10; /* ns */
} ranges[] = {
	{ 100, 500, 200 }, { 100, 100, 0 }, { 150, 160, 10 }, { 150, 350, 100 },
	{ 250, 251, 0 },   { 299, 301, 1 }, { 399, 500, 1 },
};

START_TEST(tiles_a_life)
{
	struct trace_maker *maker = make_two_threads();
	struct timeline *timeline = build_made(maker, 0, UINT64_MAX);

	for (int32_t tid = 10; tid <= 20; tid += 10) {
		uint64_t ns[STATES], sum = 0;

		timeline_thread_sums(timeline->threads.at[index_of(timeline, tid)],
				     ranges[_i].begin, ranges[_i].end, ns);
		for (unsigned int state = 0; state < STATES; state++) {
			sum += ns[state];
		}
		ck_assert_uint_eq(sum, ranges[_i].end - ranges[_i].begin);
		if (tid == 10) {
			ck_assert_uint_eq(ns[STATE_USER], ranges[_i].running_of_10);
		}
	}
	timeline_free(timeline);
	maker_free(maker);
}
END_TEST

/* A range has the states at its start, although events before it gave them. */
START_TEST(clips_to_a_range)
{
	struct trace_maker *maker = make_two_threads();
	struct timeline *timeline = build_made(maker, 220, 350);
	const struct deep_thread *thread = timeline->threads.at[index_of(timeline, 10)];

	ck_assert_uint_eq(timeline->begin, 220);
	ck_assert_uint_eq(timeline->end, 350);
	ck_assert_uint_eq(thread->end, 350);
	ck_assert_uint_eq(thread->intervals.at[0].begin, 220);
	ck_assert_uint_eq(thread->intervals.at[0].state, STATE_BLOCKED);
	ck_assert_uint_eq(thread->intervals.count, 3);
	timeline_free(timeline);
	maker_free(maker);
}
END_TEST

/* ---- by hand ---- */

struct piece {
	uint64_t begin;
	enum state state;
	uint32_t waker; /* index; NOBODY: none */
};

static void add_thread(struct timeline *timeline, int32_t tid, uint64_t end,
		       const struct piece *pieces)
{
	struct deep_thread *thread = mem_alloc(sizeof(*thread));

	thread->tid = tid;
	thread->parent = NOBODY;
	thread->birth = pieces[0].begin;
	thread->end = end;
	for (size_t i = 0; i == 0 || pieces[i].begin > 0; i++) {
		*vec_push(&thread->intervals) =
			(struct interval){ .begin = pieces[i].begin,
					   .who = pieces[i].waker,
					   .cpu = 0,
					   .state = (uint8_t)pieces[i].state,
					   .cause = pieces[i].waker == NOBODY ? CAUSE_NONE
									      : CAUSE_TASK };
	}
	*vec_push(&timeline->threads) = thread;
}

/*
 * 0: sleeps from 20 to 80, woken by 1, which sleeps from 30 to 60, woken by 2.
 * 3 and 4: each says that the other one woke it, at the same time.
 * 5: born at 50 by 2, wakes 6, which sleeps from 10 to 70.
 */
static struct timeline *make_wakers(void)
{
	static const struct piece pieces[][6] = {
		{ { 10, STATE_USER, NOBODY },
		  { 20, STATE_BLOCKED, 1 },
		  { 80, STATE_WAIT, 1 },
		  { 90, STATE_SYSCALL, NOBODY } },
		{ { 10, STATE_USER, NOBODY },
		  { 30, STATE_BLOCKED, 2 },
		  { 60, STATE_WAIT, 2 },
		  { 65, STATE_USER, NOBODY } },
		{ { 10, STATE_USER, NOBODY }, { 40, STATE_IRQ, NOBODY } },
		{ { 10, STATE_BLOCKED, 4 }, { 100, STATE_WAIT, 4 } },
		{ { 10, STATE_BLOCKED, 3 }, { 100, STATE_WAIT, 3 } },
		{ { 50, STATE_USER, NOBODY } },
		{ { 10, STATE_BLOCKED, 5 }, { 70, STATE_WAIT, 5 }, { 75, STATE_USER, NOBODY } },
	};
	struct timeline *timeline = mem_alloc(sizeof(*timeline));

	timeline->begin = 10;
	timeline->end = 100;
	for (int32_t i = 0; i < 7; i++) {
		add_thread(timeline, i + 1, 100, pieces[i]);
	}
	timeline->threads.at[5]->was_born = true;
	timeline->threads.at[5]->parent = 2;
	timeline_check(timeline);
	return timeline;
}

static const struct {
	const char *name;
	uint32_t thread;
	uint64_t begin, end; /* of the range; the path has what lies in the thread's life */
	struct {
		uint64_t begin;
		uint32_t thread;
		enum state state; /* STATE_USER: all that run */
	} segments[10];
} paths[] = {
	{ "wakers of wakers",
	  0,
	  10,
	  100,
	  { { 10, 0, STATE_USER },
	    { 20, 1, STATE_USER },
	    { 30, 2, STATE_USER },
	    { 60, 1, STATE_WAIT },
	    { 65, 1, STATE_USER },
	    { 80, 0, STATE_WAIT },
	    { 90, 0, STATE_USER } } },
	{ "a range within",
	  0,
	  25,
	  85,
	  { { 25, 1, STATE_USER },
	    { 30, 2, STATE_USER },
	    { 60, 1, STATE_WAIT },
	    { 65, 1, STATE_USER },
	    { 80, 0, STATE_WAIT } } },
	{ "a sleep that the range cuts stays",
	  0,
	  10,
	  50,
	  { { 10, 0, STATE_USER }, { 20, 0, STATE_BLOCKED } } },
	{ "a waker's parent",
	  6,
	  10,
	  100,
	  { { 10, 2, STATE_USER },
	    { 50, 5, STATE_USER },
	    { 70, 6, STATE_WAIT },
	    { 75, 6, STATE_USER } } },
	{ "nothing of the range", 5, 10, 40, { { 0 } } },
};

START_TEST(finds_paths)
{
	struct timeline *timeline = make_wakers();
	size_t count = 0;
	struct path path;

	path_find(timeline, paths[_i].thread, paths[_i].begin, paths[_i].end, &path);
	for (; paths[_i].segments[count].begin > 0; count++) {
		ck_assert_uint_gt(path.segments.count, count);
		ck_assert_uint_eq(path.segments.at[count].begin, paths[_i].segments[count].begin);
		ck_assert_uint_eq(path.segments.at[count].thread, paths[_i].segments[count].thread);
		ck_assert_uint_eq(path.segments.at[count].state, paths[_i].segments[count].state);
	}
	ck_assert_uint_eq(path.segments.count, count);
	path_fini(&path);
	timeline_free(timeline);
}
END_TEST

/* Segments tile the range for every thread and range, and so do the shares of threads. */
START_TEST(paths_tile_the_range)
{
	struct timeline *timeline = make_wakers();

	for (uint64_t begin = 10; begin < 100; begin += 3) {
		for (uint64_t end = begin + 1; end <= 100; end += 7) {
			struct path_parts parts;
			struct path path;
			uint64_t at, sum = 0;

			path_find(timeline, (uint32_t)_i, begin, end, &path);
			at = path.begin;
			for (size_t i = 0; i < path.segments.count; i++) {
				ck_assert_uint_eq(path.segments.at[i].begin, at);
				ck_assert_uint_gt(path.segments.at[i].end, at);
				at = path.segments.at[i].end;
			}
			ck_assert_uint_eq(at, path.end);
			path_sum(&path, &parts);
			for (size_t i = 0; i < parts.at.count; i++) {
				sum += parts.at.at[i].total;
				ck_assert(i == 0 ||
					  parts.at.at[i - 1].total >= parts.at.at[i].total);
			}
			ck_assert_uint_eq(sum, path.end - path.begin);
			vec_fini(&parts.at);
			path_fini(&path);
		}
	}
	timeline_free(timeline);
}
END_TEST

static const struct {
	uint32_t thread;
	struct link links[4]; /* ends with 0 hops */
} linked[] = {
	{ 0, { { 1, 1, 1, 0 }, { 2, 2, 0, 0 } } },
	{ 1, { { 0, 1, 0, 1 }, { 2, 1, 1, 0 } } },
	{ 2, { { 1, 1, 0, 1 }, { 0, 2, 0, 0 } } },
	{ 3, { { 4, 1, 1, 1 } } },
	{ 6, { { 5, 1, 1, 0 } } },
};

START_TEST(finds_links)
{
	struct timeline *timeline = make_wakers();
	struct links links;
	size_t count = 0;

	links_find(timeline, linked[_i].thread, &links);
	for (; linked[_i].links[count].hops > 0; count++) {
		ck_assert_uint_gt(links.at.count, count);
		ck_assert_uint_eq(links.at.at[count].thread, linked[_i].links[count].thread);
		ck_assert_uint_eq(links.at.at[count].hops, linked[_i].links[count].hops);
		ck_assert_uint_eq(links.at.at[count].wakes, linked[_i].links[count].wakes);
		ck_assert_uint_eq(links.at.at[count].woken, linked[_i].links[count].woken);
	}
	ck_assert_uint_eq(links.at.count, count);
	links_fini(&links);
	timeline_free(timeline);
}
END_TEST

/* With a hint as without one, wherever the hint is and in whatever order times come. */
START_TEST(finds_intervals_near)
{
	struct deep_thread thread = { .birth = 100, .end = 100000 };
	uint64_t random_state = 5;
	size_t hint = 0;

	for (uint64_t ts = 100; ts < 90000; ts += 1 + ts % 700) {
		*vec_push(&thread.intervals) = (struct interval){ .begin = ts };
	}
	for (uint64_t ts = 0; ts < 110000; ts += 13) {
		random_state = random_state * 6364136223846793005 + 1442695040888963407;
		for (uint64_t k = 0; k < 2; k++) {
			uint64_t at = k == 0 ? ts : ts % 5 ? ts / 2 : random_state >> 47;

			ck_assert_uint_eq(timeline_thread_near(&thread, at, &hint),
					  timeline_thread_before(&thread, at));
			hint = ts % 3 ? hint : (size_t)(random_state >> 53);
		}
	}
	vec_fini(&thread.intervals);
}
END_TEST

Suite *suite_timeline(void)
{
	Suite *suite = suite_create("timeline");
	TCase *tcase = tcase_create("timeline");

	tcase_add_loop_test(tcase, follows_states, 0, sizeof(states) / sizeof(states[0]));
	tcase_add_loop_test(tcase, tiles_a_life, 0, sizeof(ranges) / sizeof(ranges[0]));
	tcase_add_test(tcase, clips_to_a_range);
	tcase_add_test(tcase, finds_intervals_near);
	tcase_add_loop_test(tcase, finds_paths, 0, sizeof(paths) / sizeof(paths[0]));
	tcase_add_loop_test(tcase, paths_tile_the_range, 0, 7);
	tcase_add_loop_test(tcase, finds_links, 0, sizeof(linked) / sizeof(linked[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
