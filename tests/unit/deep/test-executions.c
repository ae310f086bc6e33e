/*
 * executions: which executions a pattern has.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "deep/executions/executions.h"
#include "deep/executions/radix.h"
#include "deep/reader.h"
#include "suites.h"
#include "trace-maker.h"

/*
 * CPU 0: 10 runs from 100 to 200 with a read from 120 to 160, and from 300 to 400 with one from 320
 * to 330.  20 runs from 200 to 300, wakes 10 at 250, and reads from 260 on.
 */
static struct trace_maker *make_reads(uint64_t lost)
{
	struct trace_maker *maker = maker_new();

	maker_switch(maker, 100, 0, MADE_RUNNABLE, 10);
	maker_read_entry(maker, 120);
	maker_read_exit(maker, 160);
	maker_switch(maker, 200, 10, MADE_SLEEPS, 20);
	maker_waking(maker, 250, 10);
	maker_read_entry(maker, 260);
	maker_packet(maker, 0, 0, 0);
	maker_switch(maker, 300, 20, MADE_RUNNABLE, 10);
	maker_read_entry(maker, 320);
	maker_read_exit(maker, 330);
	maker_switch(maker, 400, 10, MADE_SLEEPS, 0);
	maker_packet(maker, 0, 1, lost);
	maker_stream(maker, "channel0_0");
	return maker;
}

static const struct {
	const char *pattern, *within, *who;
	uint64_t lost; /* events, between 260 and 300 */
	struct {
		int32_t tid, last; /* last 0: the same */
		uint64_t begin, end;
	} executions[4]; /* longest first */
} matches[] = {
	{ "run", NULL, NULL, 0, { { 10, 0, 100, 200 }, { 20, 0, 200, 300 }, { 10, 0, 300, 400 } } },
	{ "run", NULL, "10", 0, { { 10, 0, 100, 200 }, { 10, 0, 300, 400 } } },
	{ "sleep", NULL, NULL, 0, { { 10, 0, 200, 300 } } },
	{ "wake-to-sleep", NULL, NULL, 0, { { 10, 0, 250, 400 } } },
	{ "syscall_entry_read; syscall_exit_read",
	  NULL,
	  NULL,
	  0,
	  { { 10, 0, 120, 160 }, { 10, 0, 320, 330 } } },
	{ "syscall_entry_*; syscall_exit_*",
	  "run",
	  NULL,
	  0,
	  { { 10, 0, 120, 160 }, { 10, 0, 320, 330 } } },
	/* Begins in a read, and ends after it. */
	{ "syscall_entry_read; sched_out",
	  "syscall_entry_read; syscall_exit_read",
	  NULL,
	  0,
	  { { 0 } } },
	/* 10, which the switch at 200 names, does not run after it. */
	{ "sched_switch next_tid=20; sched_switch prev_tid=$tid",
	  NULL,
	  NULL,
	  0,
	  { { 20, 0, 200, 300 } } },
	{ "syscall_entry_read; sched_switch next_tid=10", NULL, NULL, 0, { { 10, 0, 120, 300 } } },
	{ "syscall_entry_read; sched_out",
	  NULL,
	  NULL,
	  0,
	  { { 10, 0, 120, 200 }, { 10, 0, 320, 400 }, { 20, 0, 260, 300 } } },
	/* The read of 20 may have ended in the gap. */
	{ "syscall_entry_read; sched_out",
	  NULL,
	  NULL,
	  3,
	  { { 10, 0, 120, 200 }, { 10, 0, 320, 400 } } },
	{ "sched_waking tid=$tid; sched_in", NULL, NULL, 0, { { 10, 0, 250, 300 } } },
	{ "sched_waking tid=11; sched_in", NULL, NULL, 0, { { 0 } } },
	{ "syscall_entry_read @20; sched_in @10", NULL, NULL, 0, { { 20, 10, 260, 300 } } },
};

START_TEST(finds_executions)
{
	struct trace_maker *maker = make_reads(matches[_i].lost);
	const struct reader_setup setup = { .path = &maker->path };
	struct executions_config config = { .who = matches[_i].who, .deadline_ns = UINT64_MAX };
	struct job_spec *job, *within = NULL;
	struct timeline *timeline;
	struct executions found;
	size_t count = 0;
	struct err err;

	ck_assert_int_eq(job_parse(matches[_i].pattern, FORM_JOB, NULL, &job, &err), 0);
	if (matches[_i].within) {
		ck_assert_int_eq(job_parse(matches[_i].within, FORM_AROUND, NULL, &within, &err),
				 0);
	}
	config.job = job;
	config.within = within;
	timeline = timeline_build(&setup, 0, UINT64_MAX, &err);
	ck_assert_ptr_nonnull(timeline);
	ck_assert_int_eq(executions_find(&setup, timeline, &config, &found, &err), 0);
	for (; matches[_i].executions[count].tid > 0; count++) {
		const struct execution *one = found.worst.at[count];
		int32_t last = matches[_i].executions[count].last;
		uint64_t sum = 0;

		ck_assert_uint_gt(found.all.count, count);
		ck_assert_uint_eq(one->begin, matches[_i].executions[count].begin);
		ck_assert_uint_eq(one->end, matches[_i].executions[count].end);
		ck_assert_int_eq(timeline->threads.at[one->thread]->tid,
				 matches[_i].executions[count].tid);
		ck_assert_int_eq(timeline->threads.at[one->last]->tid,
				 last ? last : matches[_i].executions[count].tid);
		for (unsigned int state = 0; state < STATES; state++) {
			sum += one->ns[state];
		}
		ck_assert_uint_eq(sum, one->end - one->begin);
	}
	ck_assert_uint_eq(found.all.count, count);
	executions_fini(&found);
	job_free(job);
	job_free(within);
	timeline_free(timeline);
	maker_free(maker);
}
END_TEST

/* Lengths of executions that begin every 100 ns, and their figures. */
static const struct {
	uint64_t lengths[6];
	uint64_t total, min, median, p95, max, outliers, misses, misses_run;
} figures[] = {
	{ { 5 }, 5, 5, 5, 5, 5, 0, 0, 0 },
	{ { 5, 7 }, 12, 5, 5, 7, 7, 0, 0, 0 },
	{ { 30, 10, 20 }, 60, 10, 20, 30, 30, 0, 2, 1 },
	{ { 20, 20, 5, 20, 20, 20 }, 105, 5, 20, 20, 20, 0, 5, 3 },
	{ { 10, 11, 12, 13, 14, 99 }, 159, 10, 12, 99, 99, 1, 1, 1 },
};

START_TEST(adds_up)
{
	const struct executions_config config = { .deadline_ns = 15 };
	struct executions found = { .config = &config };

	for (size_t i = 0; i < 6 && figures[_i].lengths[i] > 0; i++) {
		*vec_push(&found.all) = (struct execution){ .begin = i * 100,
							    .end = i * 100 + figures[_i].lengths[i],
							    .arrival.ts = i * 100 };
	}
	executions_add_up(&found);
	ck_assert_uint_eq(found.sum.total_ns, figures[_i].total);
	ck_assert_uint_eq(found.sum.min_ns, figures[_i].min);
	ck_assert_uint_eq(found.sum.median_ns, figures[_i].median);
	ck_assert_uint_eq(found.sum.p95_ns, figures[_i].p95);
	ck_assert_uint_eq(found.sum.max_ns, figures[_i].max);
	ck_assert_uint_eq(found.sum.outliers, figures[_i].outliers);
	ck_assert_uint_eq(found.sum.misses, figures[_i].misses);
	ck_assert_uint_eq(found.sum.misses_run, figures[_i].misses_run);
	executions_fini(&found);
}
END_TEST

/* Begins of executions that last 10 ns, every 1000 ns, and when they arrived. */
static const struct {
	uint64_t begins[6], known; /* the first one arrived then, if not 0 */
	uint64_t arrivals[6];
	uint64_t misses, skipped;
} grids[] = {
	{ { 5000, 6000, 7000 }, 0, { 5000, 6000, 7000 }, 0, 0 },
	/* One begins late: the others say when. */
	{ { 5000, 6800, 7000, 8000 }, 0, { 5000, 6000, 7000, 8000 }, 0, 0 },
	{ { 5800, 6000, 7000, 8000 }, 0, { 5000, 6000, 7000, 8000 }, 0, 0 },
	/* None begins before its arrival. */
	{ { 5000, 5990, 7000, 8000 }, 0, { 4990, 5990, 6990, 7990 }, 0, 0 },
	/* Round the end of a period. */
	{ { 5990, 7010, 8000, 8995 }, 0, { 5990, 6990, 7990, 8990 }, 0, 0 },
	/* Two are left out. */
	{ { 5000, 8000, 9000 }, 0, { 5000, 8000, 9000 }, 0, 2 },
	/* An arrival that is known says more than all begins. */
	{ { 5700, 6500, 7500 }, 5400, { 5400, 6400, 7400 }, 0, 0 },
	{ { 6395, 6500, 7500 }, 5400, { 5400, 6400, 7400 }, 1, 0 },
};

START_TEST(finds_arrivals)
{
	const struct executions_config config = { .deadline_ns = 1000, .period_ns = 1000 };
	struct executions found = { .config = &config };

	for (size_t i = 0; i < 6 && grids[_i].begins[i] > 0; i++) {
		struct execution *one = vec_push(&found.all);

		*one = (struct execution){ .begin = grids[_i].begins[i],
					   .end = grids[_i].begins[i] + 10,
					   .arrival.ts = grids[_i].begins[i] };
		if (i == 0 && grids[_i].known > 0) {
			one->arrival.ts = grids[_i].known;
			one->arrival.from = ARRIVAL_TIMER;
		}
	}
	executions_add_up(&found);
	for (size_t i = 0; i < found.all.count; i++) {
		const struct execution *one = found.worst.at[i];
		size_t k = 0;

		while (grids[_i].begins[k] != one->begin) {
			k++;
		}
		ck_assert_uint_eq(one->arrival.ts, grids[_i].arrivals[k]);
		ck_assert_uint_eq(one->response_ns, one->end - one->arrival.ts);
		ck_assert(i == 0 || found.worst.at[i - 1]->response_ns >= one->response_ns);
	}
	ck_assert_uint_eq(found.sum.misses, grids[_i].misses);
	ck_assert_uint_eq(found.sum.skipped, grids[_i].skipped);
	executions_fini(&found);
}
END_TEST

/* Of several threads: those of real-time threads first, then misses, urgency, responses. */
START_TEST(orders_threads)
{
	static const struct execution all[] = {
		{ .thread = 1, .group = 1, .urgency = -10, .end = 20 },
		{ .thread = 2, .group = 2, .urgency = 0, .end = 900 },   /* missed, not real-time */
		{ .thread = 1, .group = 1, .urgency = -10, .end = 200 }, /* missed */
		{ .thread = 3, .group = 3, .urgency = -99, .end = 10 },
		{ .thread = 4, .group = 4, .urgency = -20, .end = 101 }, /* missed */
		{ .thread = 2, .group = 2, .urgency = 0, .end = 5 },
	};
	static const uint64_t ends[] = { 101, 200, 10, 20, 900, 5 };
	static const uint32_t threads[] = { 4, 1, 3, 2 };
	const struct executions_config config = { .deadline_ns = 100 };
	const struct execution *worst[3];
	struct executions found = { .config = &config };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		*vec_push(&found.all) = all[i];
	}
	*vec_push(&found.open) = (struct execution){
		.thread = 3, .group = 3, .urgency = -99, .end = 50, .is_open = true
	};
	executions_add_up(&found);
	for (size_t i = 0; i < found.all.count; i++) {
		ck_assert_uint_eq(found.worst.at[i]->end, ends[i]);
	}
	ck_assert_uint_eq(found.groups.count, sizeof(threads) / sizeof(threads[0]));
	for (size_t i = 0; i < found.groups.count; i++) {
		ck_assert_uint_eq(found.groups.at[i].thread, threads[i]);
	}
	ck_assert_uint_eq(executions_worst(&found, worst, 3), 3);
	ck_assert_uint_eq(worst[0]->end, 101);
	ck_assert_uint_eq(worst[1]->end, 200);
	ck_assert(worst[2]->is_open); /* 50 so far */
	executions_fini(&found);
}
END_TEST

/* Keys of many widths, few and many equal ones: ascending, and equal ones as they were. */
START_TEST(sorts_numbers)
{
	static const unsigned int widths[] = { 0, 1, 5, 11, 12, 34, 64 };
	static struct radix_item items[3000], sorted[3000];
	uint64_t random_state = 7 + (uint64_t)_i, seen = 0;
	size_t count = _i < 3 ? (size_t)_i : (size_t)_i * 37;

	for (size_t i = 0; i < count; i++) {
		random_state = random_state * 6364136223846793005 + 1442695040888963407;
		items[i].key = widths[_i % 7] > 0 ? random_state >> (64 - widths[_i % 7]) : 0;
		items[i].with = i;
		sorted[i] = items[i];
	}
	radix_sort(sorted, count);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(sorted[i].key, items[sorted[i].with].key);
		ck_assert(i == 0 || sorted[i - 1].key < sorted[i].key ||
			  (sorted[i - 1].key == sorted[i].key &&
			   sorted[i - 1].with < sorted[i].with));
		seen += sorted[i].with;
	}
	ck_assert_uint_eq(seen, count > 0 ? count * (count - 1) / 2 : 0);
}
END_TEST

Suite *suite_executions(void)
{
	Suite *suite = suite_create("executions");
	TCase *tcase = tcase_create("executions");

	tcase_add_loop_test(tcase, finds_executions, 0, sizeof(matches) / sizeof(matches[0]));
	tcase_add_loop_test(tcase, sorts_numbers, 0, 80);
	tcase_add_loop_test(tcase, adds_up, 0, sizeof(figures) / sizeof(figures[0]));
	tcase_add_loop_test(tcase, finds_arrivals, 0, sizeof(grids) / sizeof(grids[0]));
	tcase_add_test(tcase, orders_threads);
	suite_add_tcase(suite, tcase);
	return suite;
}
