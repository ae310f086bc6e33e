/*
 * arrivals: when executions were released (doc/definitions.md, 6.2).
 *
 * The rules are in kernel/release.h.  The events of a trace come in order; the timeline tells which
 * wake-ups ended a sleep.
 */
#pragma once

#include "deep/executions/owners.h"
#include "deep/reader.h"
#include "kernel/release.h"

const char *arrivals_name(enum arrival_from from);

/* Events to request, one after the other. */
#define ARRIVALS_REQUESTS 11
extern const struct plan_request arrivals_requests[ARRIVALS_REQUESTS];

struct arrivals;

/* @plan: of the trace.  @first: the index of the first of arrivals_requests among all requests. */
struct arrivals *arrivals_new(const struct owners *owners, const struct plan *plan, size_t first);
void arrivals_free(struct arrivals *arrivals);

/* Takes an event, before those that it begins or ends. */
void arrivals_take(struct arrivals *arrivals, const struct reader_event *event);

/* The tid's next execution begins on @thread; *hint: an interval of it (timeline_thread_near). */
struct arrival arrivals_begin(struct arrivals *arrivals, int32_t tid,
			      const struct deep_thread *thread, uint64_t ts, size_t *hint);
void arrivals_end(struct arrivals *arrivals, int32_t tid, uint64_t ts);

/* Nothing was traced from @ts on: what released threads before says nothing of what comes. */
void arrivals_lose(struct arrivals *arrivals, uint64_t ts);
/* The tid has a new thread; a thread has another tid. */
void arrivals_forget(struct arrivals *arrivals, int32_t tid);
void arrivals_rename(struct arrivals *arrivals, int32_t from, int32_t to);
