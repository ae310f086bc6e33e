/*
 * arrivals: when executions were released (doc/definitions.md, 6.2).
 *
 *     timer   expires                      thread   sleeps ──── woken ── runs: execution begins
 *             └─ arrival                            └─ the wake-up says what released it
 *
 *     timer   expires                      thread   executes ──────── begins the next one at once
 *             └─ arrival: it was not asleep, so the expiry waited for it
 *
 * It reads the events of a trace in order, by tid.  A sleep between two executions ends by a
 * wake-up: from the expiry of a timer, with a signal, or another one.  Without such a sleep, the
 * timer or the signal that released the thread before may have come while it executed.
 */
#ifndef SILLAGE_DEEP_JOBS_ARRIVALS_H
#define SILLAGE_DEEP_JOBS_ARRIVALS_H

#include "deep/jobs/owners.h"
#include "deep/reader.h"

/* Where an arrival is known from. */
enum arrival_from {
	ARRIVAL_UNKNOWN, /* from nowhere: it is the begin */
	ARRIVAL_TIMER,   /* the expiry of a timer */
	ARRIVAL_SIGNAL,
	ARRIVAL_WAKE, /* another wake-up */
	ARRIVAL_GRID, /* the user's period, and the other arrivals or begins */
	ARRIVALS,
};
const char *arrivals_name(enum arrival_from from);

struct arrival {
	uint64_t ts; /* not after the begin */
	enum arrival_from from;
	uint32_t skipped; /* further expiries before the begin */
};

/* Events to request, one after the other. */
#define ARRIVALS_REQUESTS 11
extern const struct plan_request arrivals_requests[ARRIVALS_REQUESTS];

struct arrivals;

/* @plan: of the trace.  @first: the index of the first of arrivals_requests among all requests. */
struct arrivals *arrivals_new(const struct owners *owners, const struct plan *plan, size_t first);
void arrivals_free(struct arrivals *arrivals);

/* Takes an event, before those that it begins or ends. */
void arrivals_take(struct arrivals *arrivals, const struct reader_event *event);

/* The tid's next execution begins on @thread. */
struct arrival arrivals_begin(struct arrivals *arrivals, int32_t tid,
			      const struct deep_thread *thread, uint64_t ts);
void arrivals_end(struct arrivals *arrivals, int32_t tid, uint64_t ts);

/* Nothing was traced from @ts on: what released threads before says nothing of what comes. */
void arrivals_lose(struct arrivals *arrivals, uint64_t ts);
/* The tid has a new thread; a thread has another tid. */
void arrivals_forget(struct arrivals *arrivals, int32_t tid);
void arrivals_rename(struct arrivals *arrivals, int32_t from, int32_t to);

#endif
