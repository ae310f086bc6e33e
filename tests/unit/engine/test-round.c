/*
 * round: which records a round applies, and in which order.
 */
#include <stdio.h>

#include "engine/merger-fixture.h"
#include "suites.h"

/* A round in the middle of a window leaves the records at its bound. */
START_TEST(stops_at_the_bound)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker maker = maker_start(1000, 1500);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, UINT64_MAX, false);
	(void)maker_add(&maker, 7, 1499, RECORD_SAY, 1);
	(void)maker_add(&maker, 7, 1500, RECORD_SAY, 2);
	(void)maker_add(&maker, 8, 1500, RECORD_SAY, 3);
	maker_slice(&maker, 1, 1);
	maker_take(&maker, stream);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	expect_log("rec 7 1499 1\n");
	ck_assert_uint_gt(merger_held_bytes(fixture.merger), 0);
	merger_finish(fixture.merger, 0);
	expect_log("rec 7 1500 2\nrec 8 1500 3\n");
	ck_assert_uint_eq(merger_held_bytes(fixture.merger), 0);
	fixture_fini(&fixture);
}
END_TEST

/* A stream that is ahead: its groups are not looked at before the round that has them. */
START_TEST(passes_over_later)
{
	struct fixture fixture = { 0 };
	struct merger_stream *streams[2];

	fixture_init(&fixture);
	for (unsigned int i = 0; i < 2; i++) {
		struct maker maker = maker_start(1000, 1500 + 400 * i);

		streams[i] = fixture_stream(&fixture, i, UINT64_MAX, false);
		(void)maker_add(&maker, 7 + (int)i, 1100 + 500 * i, RECORD_SAY, i);
		maker_slice(&maker, 1, 1);
		maker_take(&maker, streams[i]);
	}
	merger_advance(fixture.merger, ROOM_NONE, 0);
	expect_log("rec 7 1100 0\n");
	ck_assert_uint_eq(fixture.merger->round.entries.count, 3); /* and what is stitched */
	ck_assert(fixture.merger->round.entries.at[0].is_due);
	ck_assert(!fixture.merger->round.entries.at[1].is_due);
	ck_assert(fixture.merger->round.entries.at[2].is_due);
	merger_finish(fixture.merger, 0);
	expect_log("rec 8 1600 1\n");
	fixture_fini(&fixture);
}
END_TEST

/* A window without its end: what is there is for the next one. */
START_TEST(stops_at_the_window)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker maker = maker_start(1000, 2000);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, UINT64_MAX, false);
	(void)maker_add(&maker, 7, 1999, RECORD_SAY, 1);
	maker_slice(&maker, 1, 1);
	(void)maker_add(&maker, 7, 2000, RECORD_SAY, 2);
	maker_slice(&maker, 2, 1);
	maker_take(&maker, stream);
	merger_advance(fixture.merger, ROOM_ENOUGH, 0);
	ck_assert_uint_eq(fixture.reports.count, 1);
	expect_log("rec 7 1999 1\n");
	merger_finish(fixture.merger, 0);
	expect_log("rec 7 2000 2\n");
	fixture_fini(&fixture);
}
END_TEST

/* A thread's records of all streams are in one order of time. */
START_TEST(orders_a_thread_by_time)
{
	struct fixture fixture = { 0 };
	struct merger_stream *streams[2];

	fixture_init(&fixture);
	streams[0] = fixture_stream(&fixture, 0, UINT64_MAX, false);
	streams[1] = fixture_stream(&fixture, 1, UINT64_MAX, false);
	for (unsigned int i = 0; i < 2; i++) {
		struct maker maker = maker_start(1000, 1900);

		(void)maker_add(&maker, 7, 1100 + 100 * i, RECORD_SAY, i);
		(void)maker_add(&maker, 7, 1300 + 100 * i, RECORD_SAY, i);
		(void)maker_add(&maker, 7, 1350 + 100 * i, RECORD_SAY, i);
		maker_slice(&maker, 1, 1);
		maker_take(&maker, streams[i]);
	}
	merger_finish(fixture.merger, 0);
	expect_log("rec 7 1100 0\nrec 7 1200 1\nrec 7 1300 0\nrec 7 1350 0\nrec 7 1400 1\n"
		   "rec 7 1450 1\n");
	fixture_fini(&fixture);
}
END_TEST

/* So many groups of one thread that they are sorted another way. */
START_TEST(orders_many_groups)
{
	enum { STREAMS = 50 };
	struct fixture fixture = { 0 };
	char expected[STREAMS * 16], *at = expected;

	fixture_init(&fixture);
	for (unsigned int i = 0; i < STREAMS; i++) {
		struct merger_stream *stream = fixture_stream(&fixture, i, UINT64_MAX, false);
		struct maker maker = maker_start(1000, 1900);

		(void)maker_add(&maker, 7, 1000 + i * 7 % STREAMS, RECORD_SAY, 0);
		maker_slice(&maker, 1, 1);
		maker_take(&maker, stream);
		at += sprintf(at, "rec 7 %u 0\n", 1000 + i);
	}
	merger_finish(fixture.merger, 0);
	expect_log(expected);
	fixture_fini(&fixture);
}
END_TEST

/* At one time: by what the streams are, not by which came first. */
START_TEST(breaks_ties_by_stream)
{
	static const struct stream_identity identities[] = {
		{ .class_id = 1, .cpu_id = 1 },
		{ .class_id = 1, .cpu_id = 0 },
		{ .class_id = 0, .cpu_id = 9 },
		{ .class_id = 0, .cpu_id = 9 }, /* the same: by registration */
	};
	struct fixture fixture = { 0 };
	struct merger_stream *streams[4];

	fixture_init(&fixture);
	for (unsigned int i = 0; i < 4; i++) {
		streams[i] = merger_stream_new(fixture.merger);
		merger_stream_identify(streams[i], &identities[i]);
	}
	for (unsigned int i = 4; i-- > 0;) {
		struct maker maker = maker_start(1000, 1900);

		(void)maker_add(&maker, 7, 1100, RECORD_SAY, i);
		maker_slice(&maker, 1, 1);
		maker_take(&maker, streams[i]);
	}
	merger_finish(fixture.merger, 0);
	expect_log("rec 7 1100 2\nrec 7 1100 3\nrec 7 1100 1\nrec 7 1100 0\n");
	fixture_fini(&fixture);
}
END_TEST

/* At one time in one stream: by position, over partials and over groups of one slice.  Groups that
 * the merger chains come out of order, and `made` says what it was. */
START_TEST(breaks_ties_by_position)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker first = maker_start(1000, 1500), second = maker_start(1500, 1900);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, 0, true);
	(void)maker_add(&first, KEY_INITIAL, 1500, RECORD_SAY, 1);
	maker_new_group(&first, KEY_INITIAL);
	(void)maker_add(&first, KEY_INITIAL, 1500, RECORD_SAY, 2);
	maker_initial(&first, 1500, 7, NULL);
	maker_slice(&first, 1, 1);
	maker_tail(&first, 1500, 7);
	maker_take(&first, stream);
	(void)maker_add(&second, 7, 1500, RECORD_SAY, 3);
	maker_new_group(&second, 7);
	(void)maker_add(&second, 7, 1500, RECORD_SAY, 4);
	maker_slice(&second, 1, 1);
	maker_take(&second, stream);
	merger_stream_end(stream, 2);
	merger_finish(fixture.merger, 0);
	expect_log("initial 7 \nrun 7 500\nrec 7 1500 1\nrec 7 1500 2\nrec 7 1500 3\n"
		   "rec 7 1500 4\nrun 7 400\n");
	fixture_fini(&fixture);
}
END_TEST

/* However many rounds a slice takes part in, its sums count once. */
START_TEST(counts_a_slice_once)
{
	struct fixture fixture = { 0 };
	struct merger_stream *a, *b;
	struct maker maker = maker_start(1000, 1900);

	fixture_init(&fixture);
	a = fixture_stream(&fixture, 0, UINT64_MAX, false);
	b = fixture_stream(&fixture, 1, UINT64_MAX, false);
	(void)maker_add(&maker, 7, 1100, RECORD_SAY, 1);
	(void)maker_add(&maker, 7, 1800, RECORD_SAY, 2);
	maker_slice(&maker, 1, 10);
	maker_take(&maker, a);
	for (uint64_t ts = 1200; ts <= 1600; ts += 200) {
		fixture_take(b, ts - 100, ts, 1);
		merger_advance(fixture.merger, ROOM_NONE, 0);
	}
	expect_log("rec 7 1100 1\n");
	ck_assert_uint_eq(fixture.slices, 4);
	merger_finish(fixture.merger, 0);
	expect_log("rec 7 1800 2\n");
	ck_assert_uint_eq(fixture.slices, 4);
	ck_assert_uint_eq(fixture.tallied, 13);
	ck_assert_uint_eq(fixture_last(&fixture)->events, 13);
	fixture_fini(&fixture);
}
END_TEST

/* The owner of CPU @cpu, with thread 7 on it from 1100 to 1400. */
static struct merger_stream *take_switches(struct fixture *fixture, uint64_t cpu, uint64_t in,
					   uint64_t ns)
{
	struct merger_stream *stream = fixture_stream(fixture, 0, cpu, true);
	struct maker maker = maker_start(1000, 1900);

	maker_initial(&maker, in, 0, NULL);
	maker_run(&maker, 7, in, ns);
	maker_tail(&maker, in + ns, 0);
	maker_slice(&maker, 1, 1);
	maker_take(&maker, stream);
	return stream;
}

/*
 * Goal    A switch-out that is known with the switch-in comes in time: behind the records of its
 *         ns, before those after it, and before its window ends, wherever rounds end.
 * Method  Records of another stream, which is known up to each bound in turn.
 */
START_TEST(reports_switch_outs_in_time)
{
	static const uint64_t bounds[] = { 1150, 1250, 1400, 1401, 1500, 1900 };
	struct fixture fixture = { 0 };
	struct maker maker = maker_start(1000, bounds[_i]), rest = maker_start(bounds[_i], 1900);
	struct merger_stream *other;

	fixture_init(&fixture);
	(void)take_switches(&fixture, 0, 1100, 300);
	other = fixture_stream(&fixture, 1, UINT64_MAX, false);
	for (uint64_t ts = 1200; ts <= 1500; ts += 100) {
		(void)maker_add(ts < bounds[_i] ? &maker : &rest, 7, ts, RECORD_SAY, 0);
	}
	maker_slice(&maker, 1, 1);
	maker_take(&maker, other);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	maker_slice(&rest, 1, 1);
	maker_take(&rest, other);
	merger_finish(fixture.merger, 0);
	expect_log("in 7 1100\nrun 7 300\nrec 7 1200 0\nrec 7 1300 0\nrec 7 1400 0\n"
		   "out 7 1400\nrec 7 1500 0\n");
	fixture_fini(&fixture);
}
END_TEST

/* In the ns in which it leaves one CPU it comes to another, or nothing follows.
 */
START_TEST(reports_moves_and_ends)
{
	struct fixture fixture = { 0 };
	struct maker maker = maker_start(1000, 1900);
	struct merger_stream *other;

	fixture_init(&fixture);
	(void)take_switches(&fixture, 0, 1100, 300);
	(void)take_switches(&fixture, 1, 1400, 200);
	other = fixture_stream(&fixture, 1, UINT64_MAX, false);
	(void)maker_add(&maker, 7, 1500, RECORD_FORK, UINT64_MAX);
	maker_slice(&maker, 1, 1);
	maker_take(&maker, other);
	merger_finish(fixture.merger, 0);
	expect_log("in 7 1100\nrun 7 300\nout 7 1400 tie\nin 7 1400\nrun 7 200\nout 7 1600 tie\n"
		   "fork 7 1500\n");
	fixture_fini(&fixture);
}
END_TEST

/* Which thread runs is for the CPU's owner to say; other records count from any stream. */
START_TEST(believes_the_owner)
{
	struct fixture fixture = { 0 };
	struct merger_stream *owner, *other;
	struct maker maker = maker_start(1000, 1900), switches = maker_start(1000, 1900);

	fixture_init(&fixture);
	owner = fixture_stream(&fixture, 0, 0, true);
	other = fixture_stream(&fixture, 1, 0, true);
	maker_initial(&switches, 1100, 0, NULL);
	maker_run(&switches, 7, 1100, 50);
	maker_tail(&switches, 1150, 0);
	maker_slice(&switches, 1, 1);
	maker_take(&switches, owner);
	maker_run(&maker, 7, 1200, 50);
	(void)maker_add(&maker, 7, 1300, RECORD_OUT, 0);
	(void)maker_add(&maker, 7, 1400, RECORD_FORK, UINT64_MAX);
	(void)maker_add(&maker, 7, 1500, RECORD_SAY, 1);
	maker_slice(&maker, 1, 1);
	maker_take(&maker, other);
	merger_finish(fixture.merger, 0);
	expect_log("in 7 1100\nrun 7 50\nout 7 1150\nfork 7 1400\nrec 7 1500 1\n");
	fixture_fini(&fixture);
}
END_TEST

/* A thread keeps its state under a new tid.  Records of the former tid at that very time come
 * before: the chunk before may end with them. */
START_TEST(renames_between_rounds)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker first = maker_start(1000, 1500), second = maker_start(1500, 1900);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, UINT64_MAX, false);
	(void)maker_add(&first, 7, 1400, RECORD_COUNT, 0);
	(void)maker_add(&first, 7, 1500, RECORD_COUNT, 0);
	(void)maker_add(&first, 8, 1500, RECORD_COUNT, 0);
	maker_slice(&first, 1, 1);
	maker_take(&first, stream);
	(void)maker_add(&second, 5, 1500, RECORD_COUNT, 0);
	(void)maker_add(&second, 7, 1600, RECORD_COUNT, 0); /* another one by now */
	maker_slice(&second, 1, 1);
	*vec_push(&second.partial->renames) = (struct rename){ .ts = 1500, .from = 7, .to = 5 };
	maker_take(&second, stream);
	merger_finish(fixture.merger, 0);
	expect_log("count 7 1\ncount 7 2\ncount 5 3\ncount 7 1\ncount 8 1\n");
	fixture_fini(&fixture);
}
END_TEST

/* Renames of several streams are applied in time order: 7 becomes 5, and that 6. */
START_TEST(renames_in_time_order)
{
	struct fixture fixture = { 0 };
	struct merger_stream *a, *b;
	struct maker late = maker_start(1000, 1900), early = maker_start(1000, 1900);

	fixture_init(&fixture);
	a = fixture_stream(&fixture, 0, UINT64_MAX, false);
	b = fixture_stream(&fixture, 1, UINT64_MAX, false);
	*vec_push(&late.partial->renames) = (struct rename){ .ts = 1500, .from = 5, .to = 6 };
	(void)maker_add(&late, 6, 1600, RECORD_COUNT, 0);
	maker_slice(&late, 1, 1);
	maker_take(&late, a);
	*vec_push(&early.partial->renames) = (struct rename){ .ts = 1300, .from = 7, .to = 5 };
	(void)maker_add(&early, 7, 1200, RECORD_COUNT, 0);
	(void)maker_add(&early, 5, 1400, RECORD_COUNT, 0);
	maker_slice(&early, 1, 1);
	maker_take(&early, b);
	merger_finish(fixture.merger, 0);
	expect_log("count 7 1\ncount 5 2\ncount 6 3\n");
	fixture_fini(&fixture);
}
END_TEST

enum { THREADS = 2000, EACH = 3 };

/* Records of many threads, in streams that share them. */
static void run_many(struct fixture *fixture)
{
	fixture_init(fixture);
	for (unsigned int i = 0; i < 2; i++) {
		struct merger_stream *stream = fixture_stream(fixture, i, UINT64_MAX, false);
		struct maker maker = maker_start(1000, 1900);

		for (int32_t tid = 1; tid <= THREADS; tid++) {
			for (unsigned int k = 0; k < EACH; k++) {
				(void)maker_add(&maker, tid, 1100 + k, RECORD_ADD, (uint64_t)tid);
			}
		}
		(void)maker_add(&maker, 2 - (int32_t)i, 1200 + i, RECORD_ORDER, i);
		maker_slice(&maker, 1, 100);
		maker_take(&maker, stream);
		merger_stream_end(stream, 1);
	}
	merger_finish(fixture->merger, 0);
	ck_assert_uint_eq(fixture->sum, 2 * EACH * (uint64_t)THREADS * (THREADS + 1) / 2);
	ck_assert_uint_eq(fixture->tallied, 200);
	expect_log("ordered 2 1200 0\nordered 1 1201 1\n");
	fixture_fini(fixture);
}

/* The same result, however many tasks do it, and in which order they are done. */
START_TEST(spreads_over_tasks)
{
	static const unsigned int counts[] = { 0, 1, 3, 7, 1000 };
	/* So many groups are worth seven tasks. */
	static const unsigned int jobs[] = { 0, 1, 3, 7, 2 * THREADS / GROUPS_PER_TASK };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct fixture fixture = { .tasks_max = counts[i] };

		run_many(&fixture);
		ck_assert_uint_eq(fixture.jobs_run, jobs[i]);
	}
}
END_TEST

/* While tasks run, the coordinator goes on: what comes is for the next round. */
START_TEST(takes_while_tasks_run)
{
	struct fixture fixture = { .tasks_max = 2 };
	struct merger_stream *stream;
	struct maker maker = maker_start(1000, 2000);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, UINT64_MAX, false);
	for (int32_t tid = 1; tid <= THREADS; tid++) {
		(void)maker_add(&maker, tid, 1100, RECORD_ADD, 1);
	}
	maker_slice(&maker, 1, 1);
	maker_take(&maker, stream);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	ck_assert_uint_eq(fixture.jobs.count, 2);
	fixture_take(stream, 2000, 3000, 1);
	merger_advance(fixture.merger, ROOM_NONE, 0); /* nothing, while they run */
	ck_assert_uint_eq(fixture.jobs.count, 2);
	ck_assert_uint_eq(fixture.reports.count, 0);
	fixture_run_jobs(&fixture);
	ck_assert_uint_eq(fixture.sum, THREADS);
	ck_assert_uint_eq(fixture.reports.count, 0);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	ck_assert_uint_eq(fixture.reports.count, 2);
	merger_finish(fixture.merger, 0);
	ck_assert_uint_eq(fixture.sum, THREADS);
	fixture_fini(&fixture);
}
END_TEST

Suite *suite_round(void)
{
	Suite *suite = suite_create("round");
	TCase *tcase = tcase_create("round");

	tcase_add_test(tcase, stops_at_the_bound);
	tcase_add_test(tcase, passes_over_later);
	tcase_add_test(tcase, stops_at_the_window);
	tcase_add_test(tcase, orders_a_thread_by_time);
	tcase_add_test(tcase, orders_many_groups);
	tcase_add_test(tcase, breaks_ties_by_stream);
	tcase_add_test(tcase, breaks_ties_by_position);
	tcase_add_test(tcase, counts_a_slice_once);
	tcase_add_loop_test(tcase, reports_switch_outs_in_time, 0, 6);
	tcase_add_test(tcase, reports_moves_and_ends);
	tcase_add_test(tcase, believes_the_owner);
	tcase_add_test(tcase, renames_between_rounds);
	tcase_add_test(tcase, renames_in_time_order);
	tcase_add_test(tcase, spreads_over_tasks);
	tcase_add_test(tcase, takes_while_tasks_run);
	suite_add_tcase(suite, tcase);
	return suite;
}
