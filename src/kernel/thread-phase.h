/*
 * thread-phase: whether a thread runs, sleeps, or waits for a CPU (doc/definitions.md, 4.4 and 5).
 *
 *              sleeps           woken                switched in
 *     RUNNING ────────► BLOCKED ─────► WAIT ───────────► RUNNING
 *      │    └── made to leave ───► PREEMPTED ──────────►
 *      │                  forked ────► NEW ────────────►
 *      └── ends ──► DEAD        UNKNOWN: events are missing, or there were none yet
 *
 * The events of one thread in time order drive it: its switches, and the wake-ups of it.
 *
 * - Wake race (4.4, rule 4): a waker may see that a thread is about to sleep before the switch-out
 *   of the thread is traced.  Such a wake-up is pending, and counts from the switch-out on, unless
 * a sched_wakeup before that confirms that the thread never left.  In a trace without sched_wakeup
 *   the wait is tentative: another wake-up shows that the thread slept until then.
 * - A wake-up in the ns of a switch-out is one of a thread that still runs: the switch-out comes
 *   behind it.  One whose switch-in was not seen is seen first (thread_phase_seen()).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "base/codec.h"
#include "kernel/wake-source.h"

enum phase {
	PHASE_UNKNOWN,
	PHASE_NEW,
	PHASE_RUNNING,
	PHASE_BLOCKED,
	PHASE_WAIT,
	PHASE_PREEMPTED,
	PHASE_DEAD,
	PHASES,
};

/* All zero: PHASE_UNKNOWN.  A checkpoint contains it. */
struct thread_phase {
	uint64_t since;    /* ns: when the phase began */
	uint64_t cpu;      /* where it runs or ran last; its user may say where it waits */
	uint8_t phase;     /* enum phase */
	bool has_pending;  /* RUNNING: it was woken before it sleeps */
	bool is_tentative; /* of a pending wake-up, or WAIT because of one: nothing confirms it */
	bool is_lost;      /* UNKNOWN: since a hole, so that a wake-up does not show it slept */
};

struct phase_wake {
	uint64_t ts;
	uint64_t cpu; /* where the wake-up comes from */
	enum wake_kind kind;
	bool is_tentative; /* the trace has no sched_wakeup */
};

/* What a wake-up did. */
enum phase_woken {
	WOKEN_NOT,    /* nothing: it could run already, or wakes itself */
	WOKEN,        /* it waits from then on */
	WOKEN_NEW,    /* it is new from then on */
	WOKEN_RACE,   /* it is pending */
	WOKEN_STAYED, /* no wake-up is pending any more */
};

/* Whether it is on a CPU, as far as is known. */
static inline bool thread_phase_runs(const struct thread_phase *thread)
{
	return thread->phase == PHASE_RUNNING;
}

/* Whether it waits for a CPU. */
static inline bool thread_phase_waits(const struct thread_phase *thread)
{
	return thread->phase == PHASE_WAIT || thread->phase == PHASE_NEW ||
	       thread->phase == PHASE_PREEMPTED;
}

/* The phase from @ts on; nothing is pending then. */
static inline void thread_phase_set(struct thread_phase *thread, uint64_t ts, enum phase phase)
{
	*thread = (struct thread_phase){ .since = ts, .cpu = thread->cpu, .phase = (uint8_t)phase };
}

/* It is switched in. */
static inline void thread_phase_in(struct thread_phase *thread, uint64_t ts, uint64_t cpu)
{
	*thread = (struct thread_phase){ .since = ts, .cpu = cpu, .phase = PHASE_RUNNING };
}

/* It is on the CPU, wherever it came from.  False: that was known. */
static inline bool thread_phase_seen(struct thread_phase *thread, uint64_t ts, uint64_t cpu)
{
	if (thread_phase_runs(thread)) {
		return false;
	}
	thread_phase_in(thread, ts, cpu);
	return true;
}

/* It leaves its CPU at @ts: to sleep, or because it ends; else it is made to. */
static inline void thread_phase_out(struct thread_phase *thread, uint64_t ts, bool sleeps,
				    bool dies)
{
	bool is_tentative = thread->is_tentative;

	if (dies || !sleeps) {
		thread_phase_set(thread, ts, dies ? PHASE_DEAD : PHASE_PREEMPTED);
	} else if (!thread->has_pending) {
		thread_phase_set(thread, ts, PHASE_BLOCKED);
	} else {
		thread_phase_set(thread, ts, PHASE_WAIT);
		thread->is_tentative = is_tentative;
	}
}

/* An event is a wake-up of it. */
static inline enum phase_woken thread_phase_wake(struct thread_phase *thread,
						 const struct phase_wake *wake)
{
	bool was_pending = thread->has_pending;

	assert_hot(!was_pending || thread->phase == PHASE_RUNNING);
	if (wake->kind == WAKE_CONFIRMS) {
		thread->has_pending = false; /* it never left */
		return was_pending ? WOKEN_STAYED : WOKEN_NOT;
	}
	if (thread_phase_runs(thread)) {
		if (wake->kind != WAKE_SOURCE || thread->cpu == wake->cpu) {
			return WOKEN_NOT;
		}
		thread->has_pending = true;
		thread->is_tentative = wake->is_tentative;
		return WOKEN_RACE;
	}
	if (wake->kind == WAKE_NEW && thread->phase == PHASE_UNKNOWN) {
		thread_phase_set(thread, wake->ts, PHASE_NEW);
		return WOKEN_NEW;
	}
	if (wake->kind != WAKE_SOURCE ||
	    (thread->phase != PHASE_UNKNOWN && thread->phase != PHASE_BLOCKED &&
	     !(thread->phase == PHASE_WAIT && thread->is_tentative))) {
		return WOKEN_NOT;
	}
	thread_phase_set(thread, wake->ts, PHASE_WAIT);
	return WOKEN;
}

/* It may have left its CPU: nothing is known of it.  `since` stays. */
static inline void thread_phase_lose(struct thread_phase *thread)
{
	thread_phase_set(thread, thread->since, PHASE_UNKNOWN);
}

void thread_phase_codec(struct codec *codec, struct thread_phase *thread);
