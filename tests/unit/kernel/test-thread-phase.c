/*
 * thread-phase: the phases of a thread, from sequences of its events; what a checkpoint keeps.
 */
#include <string.h>

#include "kernel/thread-phase.h"
#include "suites.h"

enum { OWN_CPU = 3, OTHER_CPU = 5 };

/*
 * What happens, one letter an ns from 100 on, `.` for nothing:
 *
 *   i  switched in        s  leaves to sleep       w  woken from another CPU
 *   v  seen on its CPU    p  made to leave         l  woken from its own CPU
 *   f  forked             d  ends                  t  woken from another CPU, nothing confirms
 *   x  lost               h  lost in a hole        c  confirmed: it never left
 *                                                  n  woken for the first time
 *
 * The phase after each: Unknown, New, Running, Blocked, Wait, Preempted, Dead.
 */
static const struct {
	const char *what;
	const char *phases;
	uint64_t since; /* of the last phase, from 100 on */
} sequences[] = {
	{ "is.w.i", "RBBWWR", 5 },
	{ "ip.i", "RPPR", 3 },
	{ "id.w.", "RDDDD", 1 }, /* who is dead is not woken */
	{ "f.i", "NNR", 2 },
	{ "fw.", "NNN", 0 }, /* new from the fork on */
	{ "n.i", "NNR", 2 },
	{ "isn.", "RBBB", 1 }, /* that is of another thread, perhaps */
	{ "w.", "WW", 0 },     /* unknown: it slept */
	{ "wiw", "WRR", 1 },
	{ "ip.w.", "RPPPP", 1 }, /* it could run already */
	{ "is.ww.", "RBBWWW", 3 },
	{ "is.wt.", "RBBWWW", 3 },
	/* Races: woken before it sleeps. */
	{ "iws.", "RRWW", 2 },
	{ "its.", "RRWW", 2 },
	{ "its.w", "RRWWW", 4 },   /* so the first one was none: it slept until now */
	{ "its.wt", "RRWWWW", 4 }, /* that was one */
	{ "iws.w", "RRWWW", 2 },
	{ "iwcs.", "RRRBB", 3 }, /* it never left */
	{ "iwp.", "RRPP", 2 },
	{ "iwp.is.", "RRPPRBB", 5 }, /* that was over */
	{ "iwd.", "RRDD", 2 },
	{ "iwis.", "RRRBB", 3 },
	{ "ils.", "RRBB", 2 }, /* it wakes itself */
	{ "isc.", "RBBB", 1 }, /* what confirms wakes nobody */
	/* Its switch-in was not seen. */
	{ "s.", "BB", 0 },
	{ "vs.", "RBB", 1 },
	{ "vws.", "RRWW", 2 },
	{ "isv", "RBR", 2 },
	{ "ivs.", "RRBB", 2 },
	{ "isws.", "RBWBB", 3 }, /* the switch-in between was lost: it waits no more */
	/* Losses. */
	{ "ix", "RU", 0 },
	{ "iwxs.", "RRUBB", 3 },
	{ "ixw", "RUW", 2 },
	{ "ihw", "RUW", 2 },
};

static void step(struct thread_phase *thread, char what, uint64_t ts)
{
	static const char wakes[] = "wltcn";
	static const uint8_t kinds[] = { WAKE_SOURCE, WAKE_SOURCE, WAKE_SOURCE, WAKE_CONFIRMS,
					 WAKE_NEW };
	const char *wake = strchr(wakes, what);

	if (wake) {
		(void)thread_phase_wake(
			thread, &(struct phase_wake){ .ts = ts,
						      .cpu = what == 'l' ? OWN_CPU : OTHER_CPU,
						      .kind = kinds[wake - wakes],
						      .is_tentative = what == 't' });
	} else if (what == 'i') {
		thread_phase_in(thread, ts, OWN_CPU);
	} else if (what == 'v') {
		(void)thread_phase_seen(thread, ts, OWN_CPU);
	} else if (what == 'f') {
		thread_phase_set(thread, ts, PHASE_NEW);
	} else if (what == 'x' || what == 'h') {
		thread_phase_lose(thread);
		thread->is_lost = what == 'h';
	} else if (what != '.') {
		thread->cpu = OWN_CPU;
		thread_phase_out(thread, ts, what == 's', what == 'd');
	}
}

START_TEST(follows_events)
{
	static const char letters[] = "UNRBWPD";
	struct thread_phase thread = { 0 };

	for (size_t i = 0; sequences[_i].what[i]; i++) {
		step(&thread, sequences[_i].what[i], 100 + i);
		ck_assert_msg(letters[thread.phase] == sequences[_i].phases[i],
			      "%s: %c at %zu, not %c", sequences[_i].what, letters[thread.phase], i,
			      sequences[_i].phases[i]);
	}
	ck_assert_msg(thread.since == 100 + sequences[_i].since, "%s: since %d", sequences[_i].what,
		      (int)(thread.since - 100));
}
END_TEST

/* What each wake-up of a sequence comes to; the last one counts. */
static const struct {
	const char *what;
	enum phase_woken last;
	bool is_lost;
} wakes[] = {
	{ "w", WOKEN, false },       { "is.w", WOKEN, false },   { "is.ww", WOKEN_NOT, false },
	{ "iw", WOKEN_RACE, false }, { "il", WOKEN_NOT, false }, { "iwc", WOKEN_STAYED, false },
	{ "ic", WOKEN_NOT, false },  { "n", WOKEN_NEW, false },  { "in", WOKEN_NOT, false },
	{ "hw", WOKEN, true },       { "xw", WOKEN, false },     { "hiw", WOKEN_RACE, false },
	{ "hn", WOKEN_NEW, true },
};

START_TEST(says_what_a_wake_up_did)
{
	struct thread_phase thread = { 0 };
	const char *what = wakes[_i].what;
	uint64_t ts = 100;
	bool was_lost;

	for (; what[1]; what++) {
		step(&thread, *what, ts++);
	}
	was_lost = thread.is_lost;
	ck_assert_int_eq(was_lost, wakes[_i].is_lost);
	ck_assert_int_eq(
		thread_phase_wake(&thread,
				  &(struct phase_wake){ .ts = ts,
							.cpu = *what == 'l' ? OWN_CPU : OTHER_CPU,
							.kind = *what == 'c'   ? WAKE_CONFIRMS
								: *what == 'n' ? WAKE_NEW
									       : WAKE_SOURCE }),
		wakes[_i].last);
	ck_assert(!thread.is_lost);
}
END_TEST

/* Behind any prefix of any sequence, a thread that was written and read goes on as it would have.
 */
START_TEST(survives_checkpoints)
{
	const char *what = sequences[_i].what;
	struct thread_phase whole = { 0 };

	for (size_t i = 0; what[i]; i++) {
		struct codec_out out = { .bytes = { 0 } };
		struct codec codec = { .out = &out };
		struct thread_phase read = { .since = 1, .is_lost = true };

		step(&whole, what[i], 100 + i);
		thread_phase_codec(&codec, &whole);
		codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
		thread_phase_codec(&codec, &read);
		ck_assert(!codec.is_wrong && codec.left == 0);
		ck_assert_mem_eq(&read, &whole, offsetof(struct thread_phase, is_lost) + 1);
		vec_fini(&out.bytes);
	}
}
END_TEST

START_TEST(refuses_a_phase)
{
	struct codec_out out = { .bytes = { 0 } };
	struct codec codec = { .out = &out };
	struct thread_phase thread = { .phase = PHASES };

	thread_phase_codec(&codec, &thread);
	codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
	thread_phase_codec(&codec, &thread);
	ck_assert(codec.is_wrong);
	ck_assert_int_eq(thread.phase, PHASE_UNKNOWN);
	vec_fini(&out.bytes);
}
END_TEST

Suite *suite_thread_phase(void)
{
	Suite *suite = suite_create("thread-phase");
	TCase *tcase = tcase_create("thread-phase");

	tcase_add_loop_test(tcase, follows_events, 0, sizeof(sequences) / sizeof(sequences[0]));
	tcase_add_loop_test(tcase, says_what_a_wake_up_did, 0, sizeof(wakes) / sizeof(wakes[0]));
	tcase_add_loop_test(tcase, survives_checkpoints, 0,
			    sizeof(sequences) / sizeof(sequences[0]));
	tcase_add_test(tcase, refuses_a_phase);
	suite_add_tcase(suite, tcase);
	return suite;
}
