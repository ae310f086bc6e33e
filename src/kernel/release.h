/*
 * release: what releases the executions of threads (doc/definitions.md, 6.2).
 *
 *     timer   expires                      thread   sleeps ──── woken ── runs: execution begins
 *             └─ arrival                            └─ the wake-up says what released it
 *
 *     timer   expires                      thread   executes ──────── begins the next one at once
 *             └─ arrival: it was not asleep, so the expiry waited for it
 *
 * The events of a trace in time order drive it: what happens on CPUs (timers, wake-ups, signals),
 * which threads have which tid, and when executions of some jobs begin and end on them.
 *
 * - A wake-up from the expiry of a timer, or with a signal, has that as its cause.
 * - A timer that expires and wakes nobody is pending for the thread that it wakes otherwise; so is
 * a signal as the one that released the thread before.
 * - Whether a thread slept when a timer woke it may show later, by release_slept().  Until anything
 *   else comes of the thread it is in doubt; then the expiry is pending, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/codec.h"
#include "base/hash.h"

/* Where an arrival is known from. */
enum arrival_from {
	ARRIVAL_UNKNOWN, /* from nowhere: it is the begin */
	ARRIVAL_TIMER,   /* the expiry of a timer */
	ARRIVAL_SIGNAL,
	ARRIVAL_WAKE, /* another wake-up */
	ARRIVAL_GRID, /* the user's period, and the other arrivals or begins */
	ARRIVALS,
};

struct arrival {
	uint64_t ts;      /* not after the begin */
	uint32_t skipped; /* further expiries before the begin */
	uint8_t from;     /* enum arrival_from */
};

/* An expiry of a timer. */
struct expiry {
	uint64_t ts;
	uint64_t late_ns; /* after the time that the timer was set to, if that is known */
};

struct release_timer {
	int64_t expires; /* is_set: the earliest time, by the timer's own clock */
	int32_t tid;     /* the thread that it wakes; 0: none was seen, or several */
	bool is_set;
	bool is_shared; /* it woke several */
};

struct release_cpu {
	uint64_t timer;
	struct expiry expiry;
	int32_t woken; /* the last thread woken here; 0: a signal for it was seen, too */
	bool is_in_expiry;
	bool has_woken; /* the expiry woke a thread */
};

struct release_thread;

HASH_MAP(release_timers, struct release_timer)
HASH_MAP(release_cpus, struct release_cpu)
HASH_MAP(release_threads, struct release_thread *)

/* Of a trace.  All zero but for the first two: nothing has happened. */
struct release {
	size_t jobs;    /* how many there are; they do not change */
	uint64_t least; /* no timer was due before */
	struct release_timers timers;
	struct release_cpus cpus;
	struct release_threads threads; /* by tid */
};

/* ---- what happens on CPUs, by their ids ---- */

/* A timer, by its address, is set. */
void release_set(struct release *release, uint64_t timer, int64_t expires);
/* The expiry of a timer is being handled from @ts on; @now: by the timer's own clock, NULL: not
 * known. */
void release_expire(struct release *release, uint64_t cpu, uint64_t ts, uint64_t timer,
		    const int64_t *now);
void release_expired(struct release *release, uint64_t cpu, uint64_t ts);
/* A thread is woken.  True: it is in doubt whether it slept. */
bool release_woken(struct release *release, uint64_t cpu, uint64_t ts, int32_t tid);
void release_signal(struct release *release, uint64_t cpu, uint64_t ts, int32_t tid,
		    int32_t signal);
/* Events of the CPU are missing; nothing of the whole trace was recorded for a while. */
void release_lose_cpu(struct release *release, uint64_t cpu);
void release_lose(struct release *release);

/* ---- threads ---- */

/* The wake-up at @ts ended a sleep. */
void release_slept(struct release *release, int32_t tid, uint64_t ts);
/* The tid belongs to a new thread. */
void release_forget(struct release *release, int32_t tid);
/* The thread @from has taken the tid @to.  A wake-up of @to at @at is one of this thread: where
 * events of one time come by tid, it may come too early.  UINT64_MAX: they come in order. */
void release_rename(struct release *release, int32_t from, int32_t to, uint64_t at);

/* ---- executions ---- */

/* When the job's last execution on the thread ended, or began; and the first wake-up of it. */
uint64_t release_since(const struct release *release, int32_t tid, size_t job,
		       uint64_t *ret_first_wake);
/* The next execution of the job begins at @ts.  The thread's last sleep ended at @slept, 0: it did
 * not sleep; from before release_since() it does not count. */
struct arrival release_begin(struct release *release, int32_t tid, size_t job, uint64_t ts,
			     uint64_t slept);
void release_end(struct release *release, int32_t tid, size_t job, uint64_t ts);

/* So large a part of a period is no distance: what begins that much before a grid is not late. */
#define RELEASE_PARTS 8
/*
 * Puts an arrival that no timer or signal tells on a grid, each point of which has its execution
 * (doc/definitions.md, 6.2, fixed): behind @before, the arrival of the execution before; NULL:
 * there was none.  @is_doubted: there may have been others since.
 */
void release_point(struct arrival *arrival, const uint64_t *before, uint64_t period,
		   bool is_doubted);

void release_fini(struct release *release);
/* Writes it, or reads it into one that is all zero but for `jobs`. */
void release_codec(struct codec *codec, struct release *release);
