/*
 * cpus: which thread ran on a CPU, where chunks meet.
 */
#include "base/limits.h"
#include "engine/merger-fixture.h"
#include "engine/merger/window.h"
#include "suites.h"

/* The end of a trace at @end: an event there. */
static void finish_at(struct fixture *fixture, struct merger_stream *stream, uint64_t end)
{
	fixture_take(stream, end, end, 1);
	merger_finish(fixture->merger, 0);
}

/* Between two chunks, the thread that was on the CPU goes on. */
START_TEST(goes_on_across_chunks)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker first = maker_start(1000, 1300), second = maker_start(1300, 1600);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, 0, true);
	maker_initial(&first, 1100, 0, NULL);
	(void)maker_add(&first, 7, 1100, RECORD_IN, 0);
	maker_tail(&first, 1100, 7);
	maker_slice(&first, 1, 1);
	maker_take(&first, stream);
	maker_initial(&second, 1500, 7, NULL);
	(void)maker_add(&second, 7, 1500, RECORD_OUT, 0);
	maker_tail(&second, 1500, 0);
	maker_slice(&second, 1, 1);
	maker_take(&second, stream);
	finish_at(&fixture, stream, 1900);
	expect_log("in 7 1100\nrun 7 400\nout 7 1500\n");
	ck_assert_uint_eq(fixture.cpu_ns[RUN_THREAD], 400);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_IDLE], 100 + 400);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_UNKNOWN], 0);
	ck_assert_uint_eq(merger_account(fixture.merger)->anomalies, 0);
	ck_assert(fixture_last(&fixture)->complete);
	fixture_fini(&fixture);
}
END_TEST

/* Time is cut where windows end. */
START_TEST(cuts_at_windows)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker first = maker_start(1000, 1300), second = maker_start(1300, 3900);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, 0, true);
	maker_initial(&first, 1100, 0, NULL);
	(void)maker_add(&first, 7, 1100, RECORD_IN, 0);
	maker_tail(&first, 1100, 7);
	maker_slice(&first, 1, 1);
	maker_take(&first, stream);
	maker_slice(&second, 1, 1);
	maker_initial(&second, 3250, 7, NULL);
	maker_tail(&second, 3250, 0);
	maker_slice(&second, 3, 1);
	maker_take(&second, stream);
	merger_finish(fixture.merger, 0);
	expect_log("in 7 1100\nrun 7 900\nrun 7 1000\nrun 7 250\n");
	ck_assert_uint_eq(fixture.cpu_ns[RUN_IDLE], 100 + 650);
	ck_assert_uint_eq(fixture.reports.count, 4);
	fixture_fini(&fixture);
}
END_TEST

/* What a worker could not put into one slice lies between the ends of its chunk. */
START_TEST(takes_the_segments_of_a_chunk)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker maker = maker_start(1000, 2600);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, 0, true);
	maker_initial(&maker, 1100, 0, NULL);
	maker_slice(&maker, 1, 1);
	*vec_push(&maker.partial->segments) =
		(struct segment){ .begin = 1100, .end = 2200, .tid = 7, .kind = RUN_THREAD };
	*vec_push(&maker.partial->segments) =
		(struct segment){ .begin = 2300, .end = 2500, .tid = 8, .kind = RUN_THREAD };
	maker_tail(&maker, 2500, 9);
	maker_slice(&maker, 2, 1);
	maker_take(&maker, stream);
	finish_at(&fixture, stream, 2600);
	expect_log("run 7 900\nrun 7 200\nrun 8 200\nrun 9 100\n");
	fixture_fini(&fixture);
}
END_TEST

/* After a gap the thread is unknown up to the next evidence. */
START_TEST(is_unknown_after_a_gap)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker first = maker_start(1000, 1200), second = maker_start(1200, 1500),
		     third = maker_start(1500, 1700);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, 0, true);
	maker_initial(&first, 1100, 0, NULL);
	(void)maker_add(&first, 7, 1100, RECORD_IN, 0);
	maker_tail(&first, 1100, 7);
	maker_slice(&first, 1, 1);
	maker_take(&first, stream);
	maker_initial_gap(&second, 1300); /* 7 ran up to here */
	(void)maker_add(&second, KEY_LOST, 1400, RECORD_SAY, 1);
	maker_slice(&second, 1, 1);
	maker_take(&second, stream);
	maker_initial(&third, 1600, 8, NULL);
	(void)maker_add(&third, KEY_INITIAL, 1550, RECORD_SAY, 2);
	maker_tail(&third, 1600, 0);
	maker_slice(&third, 1, 1);
	maker_take(&third, stream);
	finish_at(&fixture, stream, 1700);
	expect_log("rec -1 1400 1\nrec -1 1550 2\nin 7 1100\nrun 7 200\ngap 7\n");
	ck_assert_uint_eq(fixture.cpu_ns[RUN_UNKNOWN], 300);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_IDLE], 200);
	ck_assert(!fixture.reports.at[0].complete);
	fixture_fini(&fixture);
}
END_TEST

/* A gap on an idle CPU is reported to no thread. */
START_TEST(gap_of_an_idle_cpu_is_of_no_thread)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker first = maker_start(1000, 1200), second = maker_start(1200, 1500);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, 0, true);
	maker_initial(&first, 1100, 7, NULL);
	maker_tail(&first, 1100, 0);
	maker_slice(&first, 1, 1);
	maker_take(&first, stream);
	maker_initial_gap(&second, 1300);
	maker_slice(&second, 1, 1);
	maker_take(&second, stream);
	finish_at(&fixture, stream, 1500);
	expect_log("initial 7 \nrun 7 100\n");
	ck_assert_uint_eq(fixture.cpu_ns[RUN_IDLE], 200);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_UNKNOWN], 200);
	fixture_fini(&fixture);
}
END_TEST

/* A switch is missing although nothing was lost, and it is an anomaly: who came is charged, if
 * another switch fitted before (@_i); else nothing of it is known. */
START_TEST(contradiction_is_of_who_came)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker proof = maker_start(1000, 1000);
	struct maker first = maker_start(1000, 1200), second = maker_start(1200, 1500);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, 0, true);
	if (_i == 1) {
		maker_initial(&proof, 1000, 0, NULL);
		maker_tail(&proof, 1000, 0);
		maker_slice(&proof, 1, 1);
	}
	maker_take(&proof, stream);
	maker_initial(&first, 1100, 0, NULL);
	maker_tail(&first, 1100, 7);
	maker_slice(&first, 1, 1);
	maker_take(&first, stream);
	maker_initial(&second, 1300, 8, NULL);
	maker_tail(&second, 1300, 0);
	maker_slice(&second, 1, 1);
	maker_take(&second, stream);
	finish_at(&fixture, stream, 1500);
	expect_log(_i == 1 ? "run 7 200\ngap 7\n" : "gap 7\n");
	ck_assert_uint_eq(fixture.cpu_ns[RUN_UNKNOWN] > 0, _i == 0);
	ck_assert_uint_eq(merger_account(fixture.merger)->anomalies, 1);
	ck_assert(!fixture.reports.at[0].complete);
	fixture_fini(&fixture);
}
END_TEST

/* The first switch names the initial thread, for all that was before: chunks without evidence and
 * windows wait for it. */
START_TEST(initial_thread_is_known_late)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker first = maker_start(1000, 2500), second = maker_start(2500, 3000);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, 0, true);
	(void)maker_add(&first, KEY_INITIAL, 1500, RECORD_SAY, 1);
	maker_current(&first, 1600);
	maker_slice(&first, 1, 1);
	(void)maker_add(&first, KEY_INITIAL, 2100, RECORD_SAY, 2);
	maker_slice(&first, 2, 1);
	maker_take(&first, stream);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	expect_log("");
	ck_assert_uint_eq(fixture.reports.count, 0);
	ck_assert(merger_stream_waits(stream));
	(void)maker_add(&second, KEY_INITIAL, 2600, RECORD_SAY, 3);
	maker_initial(&second, 2700, 7, "first");
	maker_tail(&second, 2700, 0);
	maker_slice(&second, 2, 1);
	maker_take(&second, stream);
	ck_assert(merger_stream_waits(stream)); /* for one that fits, but not for ever */
	merger_stream_known(stream, 2, window_initial_limit(1500));
	merger_advance(fixture.merger, ROOM_NONE, 0);
	ck_assert(!merger_stream_waits(stream));
	expect_log("current 7 1600\ninitial 7 first\nrun 7 1000\nrec 7 1500 1\n"
		   "run 7 700\nrec 7 2100 2\nrec 7 2600 3\n");
	ck_assert_uint_eq(fixture.cpu_ns[RUN_UNKNOWN], 0);
	fixture_fini(&fixture);
}
END_TEST

/* What nothing names in time is unknown, up to the first evidence. */
START_TEST(initial_thread_is_given_up)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker first = maker_start(1000, 1200), second = maker_start(1200, 1500);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, 0, true);
	(void)maker_add(&first, KEY_INITIAL, 1100, RECORD_SAY, 1);
	maker_initial_gap(&first, 1150);
	maker_slice(&first, 1, 1);
	maker_take(&first, stream);
	maker_initial(&second, 1300, 7, "first");
	maker_tail(&second, 1300, 0);
	maker_slice(&second, 1, 1);
	maker_take(&second, stream);
	finish_at(&fixture, stream, 1500);
	expect_log("rec -1 1100 1\n");
	ck_assert_uint_eq(fixture.cpu_ns[RUN_UNKNOWN], 300);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_IDLE], 200);
	fixture_fini(&fixture);
}
END_TEST

/* Before the first packet that was seen the CPU is unknown, and events are missing. */
START_TEST(stream_that_begins_late)
{
	struct fixture fixture = { 0 };
	struct merger_stream *whole, *late;
	struct maker maker = maker_start(1400, 2000);

	fixture_init(&fixture);
	whole = fixture_stream(&fixture, 1, UINT64_MAX, false);
	fixture_take(whole, 1000, 2000, 1);
	late = merger_stream_new(fixture.merger);
	merger_stream_identify(late, &(struct stream_identity){ .cpu_id = 0,
								.has_switches = true,
								.misses_start = true,
								.begin = 1400 });
	maker_initial(&maker, 1500, 7, NULL);
	maker_tail(&maker, 1500, 0);
	maker_slice(&maker, 1, 1);
	maker_take(&maker, late);
	merger_finish(fixture.merger, 0);
	expect_log("initial 7 \nrun 7 100\n");
	ck_assert_uint_eq(fixture.cpu_ns[RUN_UNKNOWN], 400);
	ck_assert(!fixture.reports.at[0].complete);
	fixture_fini(&fixture);
}
END_TEST

/* Records of another stream belong to the thread that the owner says ran on the CPU. */
START_TEST(other_streams_get_their_threads)
{
	struct fixture fixture = { 0 };
	struct merger_stream *owner, *other, *elsewhere;
	struct maker switches = maker_start(1000, 1900), records = maker_start(1000, 1900),
		     far = maker_start(1000, 1900);

	fixture_init(&fixture);
	owner = fixture_stream(&fixture, 0, 0, true);
	other = fixture_stream(&fixture, 1, 0, false);
	elsewhere = fixture_stream(&fixture, 1, 5, false); /* a CPU that no stream owns */
	maker_initial(&switches, 1100, 7, NULL);
	(void)maker_add(&switches, 7, 1100, RECORD_OUT, 0);
	maker_run(&switches, 8, 1200, 100);
	(void)maker_add(&switches, 9, 1400, RECORD_IN, 0);
	(void)maker_add(&switches, 9, 1600, RECORD_GAP, 0);
	(void)maker_add(&switches, KEY_LOST, 1600, RECORD_RESET_UNKNOWN, 0);
	maker_tail(&switches, 1600, -1);
	maker_slice(&switches, 1, 1);
	maker_take(&switches, owner);
	for (uint64_t ts = 1050; ts <= 1650; ts += 100) { /* 7, idle, 8, idle, 9, 9, unknown */
		(void)maker_add(&records, KEY_INITIAL, ts, RECORD_SAY, 0);
		maker_current(&records, ts + 10);
	}
	maker_slice(&records, 1, 1);
	maker_take(&records, other);
	(void)maker_add(&far, KEY_INITIAL, 1500, RECORD_SAY, 1);
	maker_current(&far, 1500);
	maker_slice(&far, 1, 1);
	maker_take(&far, elsewhere);
	merger_finish(fixture.merger, 0);
	expect_log("rec -1 1650 0\n" /* on CPU 0 */
		   "current 7 1060\nrec -1 1150 0\ncurrent 0 1160\ncurrent 8 1260\n"
		   "rec -1 1350 0\ncurrent 0 1360\ncurrent 9 1460\ncurrent -1 1500\n"
		   "current 9 1560\ncurrent -1 1660\n"
		   "rec -1 1500 1\n"
		   "initial 7 \nrun 7 100\nrec 7 1050 0\nout 7 1100\n"
		   "in 8 1200\nrun 8 100\nrec 8 1250 0\nout 8 1300\n"
		   "in 9 1400\nrec 9 1450 0\nrec 9 1550 0\ngap 9\n");
	fixture_fini(&fixture);
}
END_TEST

/* At the time of a switch it is the next thread that runs. */
START_TEST(switch_counts_from_its_time_on)
{
	struct fixture fixture = { 0 };
	struct merger_stream *owner, *other;
	struct maker switches = maker_start(1000, 1900), records = maker_start(1000, 1900);

	fixture_init(&fixture);
	owner = fixture_stream(&fixture, 0, 0, true);
	other = fixture_stream(&fixture, 1, 0, false);
	maker_initial(&switches, 1200, 0, NULL);
	maker_run(&switches, 8, 1200, 100);
	maker_tail(&switches, 1300, 0);
	maker_slice(&switches, 1, 1);
	maker_take(&switches, owner);
	for (uint64_t ts = 1199; ts <= 1300; ts += ts == 1200 ? 99 : 1) {
		maker_current(&records, ts);
	}
	maker_slice(&records, 1, 1);
	maker_take(&records, other);
	merger_finish(fixture.merger, 0);
	expect_log("current 0 1199\ncurrent 8 1200\ncurrent 8 1299\ncurrent 0 1300\n"
		   "in 8 1200\nrun 8 100\nout 8 1300\n");
	fixture_fini(&fixture);
}
END_TEST

/* The first evidence of a chunk is a new tid: the thread stays on the CPU, as another key. */
START_TEST(goes_on_under_a_new_tid)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker first = maker_start(1000, 1200), second = maker_start(1200, 1700);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, 0, true);
	maker_initial(&first, 1100, 0, NULL);
	(void)maker_add(&first, 7, 1100, RECORD_IN, 0);
	(void)maker_add(&first, 7, 1150, RECORD_COUNT, 0);
	maker_tail(&first, 1100, 7);
	maker_slice(&first, 1, 1);
	maker_take(&first, stream);
	*vec_push(&second.partial->renames) = (struct rename){ .ts = 1400, .from = 7, .to = 5 };
	(void)maker_add(&second, KEY_INITIAL, 1300, RECORD_COUNT, 0);
	maker_initial(&second, 1400, 7, NULL);
	maker_add(&second, 5, 1400, RECORD_ON, 200)->arg16 = RECORD_LEFT;
	(void)maker_add(&second, 5, 1500, RECORD_COUNT, 0);
	maker_tail(&second, 1600, 0);
	maker_slice(&second, 1, 1);
	maker_take(&second, stream);
	merger_finish(fixture.merger, 0);
	expect_log("in 7 1100\nrun 7 300\ncount 7 1\ncount 7 2\nrun 5 200\ncount 5 3\n");
	ck_assert_uint_eq(fixture.cpu_ns[RUN_THREAD], 300); /* the rest is in the slice */
	fixture_fini(&fixture);
}
END_TEST

/* A merger whose trace has switches, and a stream where 7 runs from 1100 to 1900 and on. */
static struct merger_stream *start_with_switches(struct fixture *fixture)
{
	struct merger_stream *stream;
	struct maker maker = maker_start(1100, 1900);

	fixture_init(fixture);
	merger_add_class(fixture->merger, "sched_switch");
	stream = fixture_stream(fixture, 0, 0, true);
	maker_initial(&maker, 1100, 0, NULL);
	(void)maker_add(&maker, 7, 1100, RECORD_IN, 0);
	maker_tail(&maker, 1100, 7);
	maker_slice(&maker, 1, 1);
	maker_take(&maker, stream);
	return stream;
}

/* From the end of the last packet on it is unknown who runs, and what threads did. */
START_TEST(is_unknown_in_a_hole)
{
	const uint64_t later = 1900 + HOLE_NS + 101;
	struct fixture fixture = { 0 };
	struct merger_stream *stream = start_with_switches(&fixture);
	struct maker maker = maker_start(1900, later + 50);

	maker.partial->covered_from = later;
	maker_initial(&maker, later + 10, 7, NULL);
	maker_tail(&maker, later + 10, 0);
	maker_slice(&maker, (int64_t)(later / WINDOW_NS), 1);
	maker_take(&maker, stream);
	merger_finish(fixture.merger, 0);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_THREAD], 800);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_IDLE], 40);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_UNKNOWN], HOLE_NS + 111);
	expect_log("in 7 1100\nrun 7 800\ngap 7\n");
	fixture_fini(&fixture);
}
END_TEST

/* Another stream covers the time: the CPU was idle, or busy, without a packet. */
START_TEST(hole_of_one_stream_is_none)
{
	const uint64_t later = 1900 + HOLE_NS + 101;
	struct fixture fixture = { 0 };
	struct merger_stream *stream = start_with_switches(&fixture);
	struct merger_stream *other = fixture_stream(&fixture, 0, 1, true);
	struct maker maker = maker_start(1900, later + 50);

	maker.partial->covered_from = later;
	maker_initial(&maker, later + 10, 7, NULL);
	maker_tail(&maker, later + 10, 0);
	maker_slice(&maker, (int64_t)(later / WINDOW_NS), 1);
	maker_take(&maker, stream);
	fixture_take(other, 1500, later, 1);
	merger_finish(fixture.merger, 0);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_THREAD], later + 10 - 1100);
	fixture_fini(&fixture);
}
END_TEST

/* Live: the window waits until it is known whether its end lies in a hole, and no longer. */
START_TEST(window_waits_for_a_hole)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream = start_with_switches(&fixture);

	fixture.merger->taken_events = 1; /* the last event is long ago */
	merger_stream_known(stream, 1, 1900 + HOLE_NS);
	merger_advance(fixture.merger, ROOM_ENOUGH, 1);
	ck_assert_uint_eq(fixture.reports.count, 0);
	ck_assert_uint_eq(merger_silent_since(fixture.merger), 0);
	merger_stream_known(stream, 1, 1900 + HOLE_NS + 1);
	merger_advance(fixture.merger, ROOM_ENOUGH, 1);
	ck_assert_uint_ge(fixture.reports.count, 1);
	ck_assert_uint_eq(merger_silent_since(fixture.merger), 1900);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_THREAD], 800);
	fixture_fini(&fixture);
}
END_TEST

Suite *suite_cpus(void)
{
	Suite *suite = suite_create("cpus");
	TCase *tcase = tcase_create("cpus");

	tcase_add_test(tcase, goes_on_across_chunks);
	tcase_add_test(tcase, cuts_at_windows);
	tcase_add_test(tcase, takes_the_segments_of_a_chunk);
	tcase_add_test(tcase, is_unknown_after_a_gap);
	tcase_add_test(tcase, gap_of_an_idle_cpu_is_of_no_thread);
	tcase_add_loop_test(tcase, contradiction_is_of_who_came, 0, 2);
	tcase_add_test(tcase, initial_thread_is_known_late);
	tcase_add_test(tcase, initial_thread_is_given_up);
	tcase_add_test(tcase, stream_that_begins_late);
	tcase_add_test(tcase, other_streams_get_their_threads);
	tcase_add_test(tcase, switch_counts_from_its_time_on);
	tcase_add_test(tcase, goes_on_under_a_new_tid);
	tcase_add_test(tcase, is_unknown_in_a_hole);
	tcase_add_test(tcase, hole_of_one_stream_is_none);
	tcase_add_test(tcase, window_waits_for_a_hole);
	suite_add_tcase(suite, tcase);
	return suite;
}
