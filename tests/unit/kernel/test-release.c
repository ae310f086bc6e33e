/*
 * release: what released an execution, from sequences of events; tids; what a checkpoint keeps.
 */
#include <string.h>

#include "base/limits.h"
#include "kernel/release.h"
#include "suites.h"

enum { CPU = 2, TIMER = 4096, THREAD = 7, OTHER = 8, LEADER = 9, CLOCK = 1000, STEP = 10 };

/*
 * What happens, one letter each 10 ns from 100 on, `.` for nothing:
 *
 *   s  the timer is set to 15 ns later   w  the thread is woken      B  begins, it slept until then
 *   p  ... to the ns 90                  l  it slept until then      F  ... until its first wake-up
 *   e  the timer expires                 o  another one is woken     b  begins without a sleep
 *   E  ... without a time                g  signal 5 for it          d  ends
 *   x  the expiry was handled            h  signal 6 for it          c  events of the CPU are
 * missing f  the tid has a new thread          r  it takes another tid     L  of the whole trace
 *
 * Then the arrival of the last execution: its ns from 100 on, where it is known from, how many
 * expiries were skipped.
 */
static const struct {
	const char *what;
	int ts;
	enum arrival_from from;
	unsigned int skipped;
	uint64_t least;
} sequences[] = {
	{ .what = "b", 0, ARRIVAL_UNKNOWN },
	{ .what = "wB", 0, ARRIVAL_WAKE },
	{ .what = "wb", 10, ARRIVAL_UNKNOWN },   /* nothing waits for it */
	{ .what = "wwF", 0, ARRIVAL_WAKE },      /* the second wake-up is none of that sleep */
	{ .what = "wBdB", 30, ARRIVAL_UNKNOWN }, /* it slept before its last execution */
	/* The expiry of a timer woke it. */
	{ .what = "ewlxB", 0, ARRIVAL_TIMER },
	{ .what = "sewlxB", 10, ARRIVAL_TIMER },  /* too early: it is the expiry */
	{ .what = "s.ewlxB", 15, ARRIVAL_TIMER }, /* late: when it was due */
	{ .what = "s.EwlxB", 20, ARRIVAL_TIMER },
	{ .what = "s.exewlxB", 40, ARRIVAL_TIMER }, /* set once, it is due once */
	{ .what = "pewlxB", -10, ARRIVAL_TIMER },
	{ .what = "pewlxB", 10, ARRIVAL_TIMER, .least = 90 }, /* that was before the range */
	{ .what = "pewlxBdpewlxB", 80, ARRIVAL_TIMER },       /* that was the one before */
	{ .what = "exwB", 20, ARRIVAL_WAKE },
	{ .what = "ecwxB", 20, ARRIVAL_WAKE },
	/* It did not sleep when the timer woke it. */
	{ .what = "ewxb", 0, ARRIVAL_TIMER },
	{ .what = "ewxwb", 0, ARRIVAL_TIMER },
	{ .what = "wBewxdb", 60, ARRIVAL_UNKNOWN }, /* it was executing then */
	/* A timer of it expires, and wakes nobody. */
	{ .what = "ewlxBdexb", 60, ARRIVAL_TIMER },
	{ .what = "ewlxBdexexexb", 60, ARRIVAL_TIMER, 2 },
	{ .what = "ewlxBdpexb", 70, ARRIVAL_TIMER },
	{ .what = "ewlxBexdb", 50, ARRIVAL_TIMER },
	{ .what = "ewlxBdexbdb", 100, ARRIVAL_UNKNOWN },  /* taken */
	{ .what = "ewlxBdexwB", 80, ARRIVAL_WAKE },       /* it slept behind it */
	{ .what = "ewlxeoxBdexb", 110, ARRIVAL_UNKNOWN }, /* it is a timer of two */
	{ .what = "ewlxeoxewlxBdexb", 150, ARRIVAL_UNKNOWN },
	{ .what = "ewlxBdeoxb", 90, ARRIVAL_UNKNOWN },
	{ .what = "exb", 20, ARRIVAL_UNKNOWN }, /* a timer of nobody known */
	/* Signals. */
	{ .what = "wgB", 0, ARRIVAL_SIGNAL },
	{ .what = "gwB", 10, ARRIVAL_WAKE },
	{ .what = "ogwB", 20, ARRIVAL_WAKE },
	{ .what = "wgBdgb", 40, ARRIVAL_SIGNAL },
	{ .what = "wgBgdb", 30, ARRIVAL_SIGNAL },
	{ .what = "wgBdhb", 50, ARRIVAL_UNKNOWN }, /* another one */
	{ .what = "wgBdggb", 40, ARRIVAL_SIGNAL },
	{ .what = "wgBdggbdb", 50, ARRIVAL_SIGNAL },
	{ .what = "wgBdggbdbdb", 100, ARRIVAL_UNKNOWN },
	{ .what = "wgBdgwB", 50, ARRIVAL_WAKE },
	{ .what = "wgBdgwBdb", 80, ARRIVAL_UNKNOWN }, /* a sleep drops what waits */
	/* Another life, another tid, a hole. */
	{ .what = "ewlxBdexfb", 90, ARRIVAL_UNKNOWN },
	{ .what = "ewlxBdexrb", 60, ARRIVAL_TIMER },
	{ .what = "ewxrb", 0, ARRIVAL_TIMER },
	{ .what = "ewlxBdexLb", 90, ARRIVAL_UNKNOWN },
	{ .what = "wLB", 20, ARRIVAL_UNKNOWN },
	{ .what = "eLwxB", 20, ARRIVAL_WAKE },
};

struct run {
	struct release release;
	int32_t tid;
	uint64_t woken, first_woken; /* of the thread */
	struct arrival arrival;
};

static void step_cpu(struct run *run, char what, uint64_t ts)
{
	const int64_t now = (int64_t)(CLOCK + ts);

	switch (what) {
	case 's':
		release_set(&run->release, TIMER, now + 15);
		break;
	case 'p':
		release_set(&run->release, TIMER, CLOCK + 90);
		break;
	case 'e':
	case 'E':
		release_expire(&run->release, CPU, ts, TIMER, what == 'e' ? &now : NULL);
		break;
	case 'x':
		release_expired(&run->release, CPU, ts);
		break;
	case 'w':
		(void)release_woken(&run->release, CPU, ts, run->tid);
		run->first_woken = run->first_woken ? run->first_woken : ts;
		run->woken = ts;
		break;
	case 'o':
		(void)release_woken(&run->release, CPU, ts, OTHER);
		break;
	case 'g':
	case 'h':
		release_signal(&run->release, CPU, ts, run->tid, what == 'g' ? 5 : 6);
		break;
	case 'c':
		release_lose_cpu(&run->release, CPU);
		break;
	}
}

static void step_thread(struct run *run, char what, uint64_t ts)
{
	switch (what) {
	case 'l':
		release_slept(&run->release, run->tid, run->woken);
		break;
	case 'B':
	case 'F':
	case 'b':
		run->arrival = release_begin(&run->release, run->tid, 1, ts,
					     what == 'b'   ? 0
					     : what == 'B' ? run->woken
							   : run->first_woken);
		break;
	case 'd':
		release_end(&run->release, run->tid, 1, ts);
		break;
	case 'f':
		release_forget(&run->release, run->tid);
		break;
	case 'r':
		release_rename(&run->release, run->tid, LEADER, UINT64_MAX);
		run->tid = LEADER;
		break;
	case 'L':
		release_lose(&run->release);
		break;
	}
}

static void step(struct run *run, char what, uint64_t ts)
{
	step_cpu(run, what, ts);
	step_thread(run, what, ts);
}

/* Writes the state and reads it. */
static void through_checkpoint(struct release *release)
{
	struct codec_out out = { .bytes = { 0 } };
	struct codec codec = { .out = &out };
	struct release read = { .jobs = release->jobs, .least = release->least };

	release_codec(&codec, release);
	codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
	release_codec(&codec, &read);
	ck_assert(!codec.is_wrong && codec.left == 0);
	release_fini(release);
	*release = read;
	vec_fini(&out.bytes);
}

static void check_arrival(int at, bool has_checkpoints)
{
	struct run run = { .release = { .jobs = 2, .least = sequences[at].least }, .tid = THREAD };

	for (size_t i = 0; sequences[at].what[i]; i++) {
		step(&run, sequences[at].what[i], 100 + STEP * i);
		if (has_checkpoints) {
			through_checkpoint(&run.release);
		}
	}
	ck_assert_msg((int)run.arrival.ts - 100 == sequences[at].ts &&
			      run.arrival.from == sequences[at].from &&
			      run.arrival.skipped == sequences[at].skipped,
		      "%s: %d from %d, %u skipped", sequences[at].what, (int)run.arrival.ts - 100,
		      run.arrival.from, run.arrival.skipped);
	release_fini(&run.release);
}

START_TEST(finds_arrivals)
{
	check_arrival(_i, false);
}
END_TEST

START_TEST(finds_them_through_checkpoints)
{
	check_arrival(_i, true);
}
END_TEST

/* The leader's tid is taken in the ns of a wake-up: whose it is depends on how events are ordered.
 */
START_TEST(takes_a_wake_up_with_a_tid)
{
	for (int comes_by_tid = 0; comes_by_tid < 2; comes_by_tid++) {
		struct release release = { .jobs = 1 };
		struct arrival arrival;

		(void)release_woken(&release, CPU, 50, THREAD);
		(void)release_woken(&release, CPU, 100, LEADER);
		release_rename(&release, THREAD, LEADER, comes_by_tid ? 100 : UINT64_MAX);
		arrival = release_begin(&release, LEADER, 0, 110, 100);
		ck_assert_uint_eq(arrival.ts, comes_by_tid ? 100 : 50);
		ck_assert_int_eq(arrival.from, ARRIVAL_WAKE);
		release_fini(&release);
	}
}
END_TEST

/* Of more threads than are kept, those that were seen last are. */
START_TEST(forgets_threads)
{
	struct release release = { .jobs = 1 };
	uint64_t first_wake;

	for (uint64_t i = 0; i <= RELEASE_THREADS_MAX; i++) {
		(void)release_woken(&release, CPU, 1 + i, (int32_t)(1 + i));
	}
	ck_assert_uint_lt(release.threads.used, RELEASE_THREADS_MAX);
	(void)release_since(&release, 1, 0, &first_wake);
	ck_assert_uint_eq(first_wake, 0);
	(void)release_since(&release, RELEASE_THREADS_MAX, 0, &first_wake);
	ck_assert_uint_eq(first_wake, RELEASE_THREADS_MAX);
	release_fini(&release);
}
END_TEST

/* Bytes that no program wrote: of every length, and with a tid that is none. */
START_TEST(refuses_wrong_bytes)
{
	struct release release = { .jobs = 1 }, read;
	struct codec_out out = { .bytes = { 0 } };
	struct codec codec = { .out = &out };

	release_set(&release, TIMER, 5);
	(void)release_woken(&release, CPU, 100, -THREAD);
	release_codec(&codec, &release);
	for (size_t len = 0; len <= out.bytes.count; len++) {
		read = (struct release){ .jobs = 1 };
		codec = (struct codec){ .at = out.bytes.at, .left = len };
		release_codec(&codec, &read);
		ck_assert(codec.is_wrong);
		release_fini(&read);
	}
	release_fini(&release);
	vec_fini(&out.bytes);
}
END_TEST

Suite *suite_release(void)
{
	Suite *suite = suite_create("release");
	TCase *tcase = tcase_create("release");
	const int count = sizeof(sequences) / sizeof(sequences[0]);

	tcase_add_loop_test(tcase, finds_arrivals, 0, count);
	tcase_add_loop_test(tcase, finds_them_through_checkpoints, 0, count);
	tcase_add_test(tcase, takes_a_wake_up_with_a_tid);
	tcase_add_test(tcase, forgets_threads);
	tcase_add_test(tcase, refuses_wrong_bytes);
	suite_add_tcase(suite, tcase);
	return suite;
}
