/*
 * window: which windows there are, when they close, and what they hold.
 */
#include "base/limits.h"
#include "engine/merger-fixture.h"
#include "engine/merger/window.h"
#include "suites.h"

START_TEST(knows_ends)
{
	ck_assert_uint_eq(window_end_of(1000, 0), 1000);
	ck_assert_uint_eq(window_end_of(1000, 999), 1000);
	ck_assert_uint_eq(window_end_of(1000, 1000), 2000);
	ck_assert_uint_eq(window_end_of(1000, UINT64_MAX - 1), UINT64_MAX);
	ck_assert_uint_eq(window_end_of(UINT64_MAX, 5), UINT64_MAX);
}
END_TEST

/* Five seconds, whatever the windows are. */
START_TEST(limits_the_wait_for_initial_threads)
{
	ck_assert_uint_eq(window_initial_limit(1100), 1100 + INITIAL_WAIT_NS);
	ck_assert_uint_eq(window_initial_limit(UINT64_MAX - 1), UINT64_MAX);
}
END_TEST

static void expect_report(const struct fixture *fixture, size_t at, uint64_t begin, uint64_t end,
			  uint64_t events, bool complete)
{
	const struct fixture_report *report = &fixture->reports.at[at];

	ck_assert_uint_lt(at, fixture->reports.count);
	ck_assert_uint_eq(report->begin, begin);
	ck_assert_uint_eq(report->end, end);
	ck_assert_uint_eq(report->events, events);
	ck_assert_int_eq(report->complete, complete);
}

/* A window closes behind an event at its end or later: without one, the trace may end in it. */
START_TEST(closes_at_an_event_beyond)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, UINT64_MAX, false);
	fixture_take(stream, 1100, 1900, 3);
	merger_stream_known(stream, 1, 5000);
	merger_advance(fixture.merger, ROOM_ENOUGH, 0);
	ck_assert_uint_eq(fixture.reports.count, 0);
	fixture_take(stream, 4000, 4100, 5);
	merger_advance(fixture.merger, ROOM_ENOUGH, 0);
	ck_assert_uint_eq(fixture.reports.count, 3);
	expect_report(&fixture, 0, 1100, 2000, 3, true);
	expect_report(&fixture, 1, 2000, 3000, 0, true);
	expect_report(&fixture, 2, 3000, 4000, 0, true);
	ck_assert_uint_eq(merger_closed_until(fixture.merger), 4000);
	merger_emit_total(fixture.merger, true);
	ck_assert_int_eq(fixture_last(&fixture)->kind, REPORT_SO_FAR);
	expect_report(&fixture, 3, 1100, 4000, 3, true);
	merger_finish(fixture.merger, 0);
	expect_report(&fixture, 4, 4000, 4100, 5, true);
	ck_assert_int_eq(fixture_last(&fixture)->kind, REPORT_TOTAL);
	expect_report(&fixture, 5, 1100, 4100, 8, true);
	fixture_fini(&fixture);
}
END_TEST

/* The watermark holds a window open, whatever other streams have. */
START_TEST(waits_for_all_streams)
{
	struct fixture fixture = { 0 };
	struct merger_stream *a, *b;

	fixture_init(&fixture);
	a = fixture_stream(&fixture, 0, UINT64_MAX, false);
	b = fixture_stream(&fixture, 1, UINT64_MAX, false);
	fixture_take(a, 1100, 1900, 3);
	fixture_take(a, 3000, 3100, 1);
	fixture_take(b, 1200, 1999, 2);
	merger_advance(fixture.merger, ROOM_ENOUGH, 0);
	ck_assert_uint_eq(fixture.reports.count, 0);
	merger_stream_known(b, 1, 2000);
	merger_advance(fixture.merger, ROOM_ENOUGH, 0);
	ck_assert_uint_eq(fixture.reports.count, 1);
	expect_report(&fixture, 0, 1100, 2000, 5, true);
	fixture_fini(&fixture);
}
END_TEST

#define ROW (WINDOWS_EMPTY_MAX_ANY + UINT64_C(1))

/* Windows from 2000 on without an event, up to the one of @count later, which has some. */
static void jump(struct fixture *fixture, uint64_t count)
{
	const uint64_t far = 2000 + count * WINDOW_NS;
	struct merger_stream *stream;

	fixture_init(fixture);
	stream = fixture_stream(fixture, 0, UINT64_MAX, false);
	fixture_take(stream, 1100, 1200, 1);
	fixture_take(stream, far, far + 100, 1);
	merger_advance(fixture->merger, ROOM_ENOUGH, 0);
}

/* A long row of windows without an event is one, a short one is not. */
START_TEST(jump_is_one_window)
{
	const uint64_t far = 2000 + ROW * WINDOW_NS;
	struct fixture fixture = { 0 };

	jump(&fixture, ROW);
	ck_assert_uint_eq(fixture.reports.count, 2);
	expect_report(&fixture, 0, 1100, 2000, 1, true);
	expect_report(&fixture, 1, 2000, far, 0, true);
	merger_finish(fixture.merger, 0);
	expect_report(&fixture, 2, far, far + 100, 1, true);
	fixture_fini(&fixture);
	memset(&fixture, 0, sizeof(fixture));
	jump(&fixture, WINDOWS_EMPTY_MAX);
	ck_assert_uint_eq(fixture.reports.count, 1 + WINDOWS_EMPTY_MAX);
	fixture_fini(&fixture);
}
END_TEST

/* However the streams come: how long the row is is waited for. */
START_TEST(row_waits_for_its_end)
{
	const uint64_t far = 2000 + 3 * ROW * WINDOW_NS;
	struct fixture fixture = { 0 };
	struct merger_stream *a, *b;

	fixture_init(&fixture);
	a = fixture_stream(&fixture, 0, UINT64_MAX, false);
	b = fixture_stream(&fixture, 1, UINT64_MAX, false);
	fixture_take(a, 1100, 1200, 1);
	fixture_take(a, far, far + 100, 1);
	for (uint64_t i = 1; i < 9; i++) {
		merger_stream_known(b, 0, far / 10 * i);
		merger_advance(fixture.merger, ROOM_NONE, 0);
		ck_assert_uint_le(fixture.reports.count, 1);
	}
	merger_stream_known(b, 0, far + 50);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	ck_assert_uint_eq(fixture.reports.count, 2);
	expect_report(&fixture, 1, 2000, far, 0, true);
	fixture_fini(&fixture);
}
END_TEST

/* What comes for a closed window counts in the open one. */
START_TEST(late_data_is_in_the_open_window)
{
	struct fixture fixture = { 0 };
	struct merger_stream *a, *b;

	fixture_init(&fixture);
	a = fixture_stream(&fixture, 0, UINT64_MAX, false);
	b = fixture_stream(&fixture, 1, UINT64_MAX, false);
	merger_stream_exclude(b, true);
	fixture_take(a, 1100, 2100, 1);
	merger_advance(fixture.merger, ROOM_ENOUGH, 0);
	expect_report(&fixture, 0, 1100, 2000, 1, false); /* without b */
	merger_stream_exclude(b, false);
	fixture_take(b, 1500, 1600, 4);
	merger_stream_end(b, 1);
	fixture_take(a, 2100, 3000, 2);
	merger_advance(fixture.merger, ROOM_ENOUGH, 0);
	expect_report(&fixture, 1, 2000, 3000, 6, false);
	ck_assert_uint_eq(fixture.reports.at[0].late_events, 0);
	ck_assert_uint_eq(fixture.reports.at[1].late_events, 4);
	ck_assert_uint_eq(fixture.late, 4);
	fixture_take(a, 3000, 4000, 3);
	merger_advance(fixture.merger, ROOM_ENOUGH, 0);
	expect_report(&fixture, 2, 3000, 4000, 3, true); /* that is over */
	merger_finish(fixture.merger, 0);
	expect_report(&fixture, fixture.reports.count - 1, 1100, 4000, 10, false);
	fixture_fini(&fixture);
}
END_TEST

/* A CPU's time in a closed window was counted there, as it was known then. */
START_TEST(late_time_counts_once)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker maker = maker_start(1000, 1200);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, 0, true);
	maker_initial(&maker, 1100, 7, NULL);
	maker_tail(&maker, 1100, 0);
	maker_slice(&maker, 1, 1);
	maker_take(&maker, stream);
	maker = maker_start(1200, 1200);
	maker_initial(&maker, 1200, 0, NULL);
	maker_tail(&maker, 1200, 0);
	maker_take(&maker, stream);
	merger_stream_known(stream, 2, 3000); /* a beacon ahead of the packets */
	fixture_take(fixture_stream(&fixture, 1, 1, false), 1100, 3000, 1);
	merger_advance(fixture.merger, ROOM_ENOUGH, 0);
	maker = maker_start(1200, 1900);
	maker_initial(&maker, 1300, 0, NULL);
	maker_tail(&maker, 1800, 0);
	maker_slice(&maker, 1, 2);
	maker.partial->slices.at[0].cpu_ns[RUN_THREAD] = 500;
	maker_take(&maker, stream);
	fixture_take(stream, 3000, 3500, 1);
	merger_finish(fixture.merger, 0);
	ck_assert_uint_eq(fixture_last(&fixture)->late_events, 2);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_THREAD] + fixture.cpu_ns[RUN_IDLE] +
				  fixture.cpu_ns[RUN_UNKNOWN],
			  fixture_last(&fixture)->end - fixture_last(&fixture)->begin);
	fixture_fini(&fixture);
}
END_TEST

/* A run that stops knows of a CPU what its stream has brought, and says that this is not all. */
START_TEST(cut_is_unknown)
{
	struct fixture fixture = { 0 };
	struct merger_stream *behind, *ahead;
	struct maker maker = maker_start(1100, 1300);

	fixture_init(&fixture);
	merger_add_class(fixture.merger, "sched_switch");
	behind = fixture_stream(&fixture, 0, 0, true);
	ahead = fixture_stream(&fixture, 0, 1, false);
	maker_initial(&maker, 1200, 5, NULL);
	maker_tail(&maker, 1200, 7);
	maker_slice(&maker, 1, 1);
	maker_take(&maker, behind);
	fixture_take(ahead, 1100, 2900, 2);
	merger_cut(fixture.merger);
	merger_stream_end(behind, 1);
	merger_stream_end(ahead, 1);
	merger_finish(fixture.merger, 0);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_THREAD], 200);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_UNKNOWN], 1600);
	expect_report(&fixture, fixture.reports.count - 1, 1100, 2900, 3, false);
	fixture_fini(&fixture);
}
END_TEST

/* Windows wait for the first switch of a CPU, up to the limit. */
START_TEST(gives_up_waiting_at_the_limit)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	uint64_t limit;

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, 0, true);
	fixture_take(stream, 1100, 2500, 1);
	limit = window_initial_limit(1100);
	merger_stream_known(stream, 1, limit - 1);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	ck_assert_uint_eq(fixture.reports.count, 0);
	ck_assert(merger_stream_waits(stream));
	merger_stream_known(stream, 1, limit);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	ck_assert(!merger_stream_waits(stream));
	ck_assert_uint_eq(fixture.reports.count, 1);
	expect_report(&fixture, 0, 1100, 2000, 1, false);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_UNKNOWN], 900);
	fixture_fini(&fixture);
}
END_TEST

/* An ended stream names no initial thread any more: its CPU stays unknown.  Whether a CPU is
 * absent, what comes tells. */
START_TEST(waits_for_no_ended_stream)
{
	struct fixture fixture = { 0 };
	struct merger_stream *a, *b;

	fixture_init(&fixture);
	a = fixture_stream(&fixture, 0, 0, true);
	b = fixture_stream(&fixture, 1, UINT64_MAX, false);
	fixture_take(a, 1100, 1200, 1);
	fixture_take(b, 1100, 2000, 1);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	merger_stream_end(a, 1);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	ck_assert_uint_eq(fixture.reports.count, 0);
	fixture_take(b, HOLE_NS + 2000, HOLE_NS + 2500, 1);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	ck_assert_uint_ge(fixture.reports.count, 1);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_UNKNOWN], HOLE_NS + 2000 - 1100);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_IDLE], 0);
	fixture_fini(&fixture);
}
END_TEST

/* Whether a CPU that left is absent, what comes tells; an idle live trace does not wait for it. */
START_TEST(idle_waits_for_no_cpu_that_left)
{
	struct fixture fixture = { 0 };
	struct merger_stream *a, *b;
	struct maker maker = maker_start(1000, 1200);

	fixture_init(&fixture);
	a = fixture_stream(&fixture, 0, 0, true);
	b = fixture_stream(&fixture, 1, UINT64_MAX, false);
	maker_initial(&maker, 1100, 7, NULL);
	maker_tail(&maker, 1100, 0);
	maker_slice(&maker, 1, 1);
	maker_take(&maker, a);
	fixture_take(b, 1100, 2500, 1);
	merger_advance(fixture.merger, ROOM_NONE, 5000);
	merger_stream_end(a, 1);
	merger_advance(fixture.merger, ROOM_NONE, 5000);
	ck_assert_uint_eq(fixture.reports.count, 0);
	fixture.merger->taken_ns -= IDLE_CLOSE_NS;
	merger_advance(fixture.merger, ROOM_NONE, 5000);
	ck_assert_uint_eq(fixture.reports.count, 1);
	expect_report(&fixture, 0, 1000, 2000, 2, true);
	ck_assert_uint_eq(fixture.cpu_ns[RUN_IDLE], 900);
	fixture_fini(&fixture);
}
END_TEST

/* Only what is in the range is reported, and windows are cut at its bounds. */
START_TEST(reports_the_range)
{
	struct fixture fixture = { .setup = { .range_begin = 2500, .range_end = 3500 } };
	struct merger_stream *stream;
	struct maker maker = maker_start(1100, 5000);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, UINT64_MAX, false);
	(void)maker_add(&maker, 7, 1200, RECORD_SAY, 1);
	maker_slice(&maker, WINDOW_BEFORE, 1);
	maker_slice(&maker, 2, 20);
	maker_slice(&maker, 3, 300);
	(void)maker_add(&maker, 7, 4000, RECORD_SAY, 2);
	maker_slice(&maker, WINDOW_AFTER, 4000);
	maker_take(&maker, stream);
	merger_advance(fixture.merger, ROOM_ENOUGH, 0);
	ck_assert_uint_eq(fixture.reports.count, 2);
	expect_report(&fixture, 0, 2500, 3000, 20, true);
	expect_report(&fixture, 1, 3000, 3500, 300, true);
	ck_assert_uint_eq(merger_held_bytes(fixture.merger), 0);
	merger_finish(fixture.merger, 0);
	expect_report(&fixture, 2, 2500, 3500, 320, true);
	expect_log("rec 7 1200 1\n"); /* threads live before the range, too */
	fixture_fini(&fixture);
}
END_TEST

START_TEST(empty_trace_has_a_total)
{
	struct fixture fixture = { 0 };

	fixture_init(&fixture);
	merger_stream_end(fixture_stream(&fixture, 0, 0, true), 0);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	ck_assert_uint_eq(fixture.reports.count, 0);
	merger_finish(fixture.merger, 0);
	ck_assert_uint_eq(fixture.reports.count, 1);
	expect_report(&fixture, 0, 0, 0, 0, true);
	fixture_fini(&fixture);
}
END_TEST

Suite *suite_window(void)
{
	Suite *suite = suite_create("window");
	TCase *tcase = tcase_create("window");

	tcase_add_test(tcase, knows_ends);
	tcase_add_test(tcase, limits_the_wait_for_initial_threads);
	tcase_add_test(tcase, closes_at_an_event_beyond);
	tcase_add_test(tcase, waits_for_all_streams);
	tcase_add_test(tcase, jump_is_one_window);
	tcase_add_test(tcase, row_waits_for_its_end);
	tcase_add_test(tcase, late_data_is_in_the_open_window);
	tcase_add_test(tcase, late_time_counts_once);
	tcase_add_test(tcase, cut_is_unknown);
	tcase_add_test(tcase, gives_up_waiting_at_the_limit);
	tcase_add_test(tcase, waits_for_no_ended_stream);
	tcase_add_test(tcase, idle_waits_for_no_cpu_that_left);
	tcase_add_test(tcase, reports_the_range);
	tcase_add_test(tcase, empty_trace_has_a_total);
	suite_add_tcase(suite, tcase);
	return suite;
}
