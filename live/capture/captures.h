/*
 * capture: stretches of the history, written when a trigger fires or somebody asks.
 *
 *     trigger ──► waits until the traces are past the end ──► references to packets
 *                                                                 └─► a thread writes
 *
 * All functions belong to the loop's thread; writing never holds it up.
 */
#ifndef SILLAGE_LIVE_CAPTURE_CAPTURES_H
#define SILLAGE_LIVE_CAPTURE_CAPTURES_H

#include <stdbool.h>
#include <stdint.h>

#include "history/history.h"

struct capture_order;
struct captures;
struct session;
struct trace_identity;
struct trigger_event;

struct captures_config {
	const char *dir;
	uint64_t history_ns, history_bytes; /* see history_new() */
	uint64_t before_ns, after_ns;
	uint64_t keep_count, keep_bytes; /* UINT64_MAX: all */
	uint64_t per_hour;               /* of triggers; what more fire are not captured */
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

struct captures *captures_new(const struct captures_config *config);
/* Waits until what has been begun is written. */
void captures_free(struct captures *captures); /* NULL is fine */

struct history *captures_history(struct captures *captures);

/* Why a capture is made: a trigger of one of the session's traces. */
struct captures_reason {
	const struct trace_identity *trace;
	const struct trigger_event *event;
	bool wants_report; /* beside it, as a page */
};

/* A capture of all traces of @session around @at; @reason NULL: somebody asked for it.  One that is
 * still waiting and has @at in it gets another reason.  Its number; 0: no more may be made. */
uint64_t captures_begin(struct captures *captures, struct session *session, uint64_t at,
			const struct captures_reason *reason);

/* Begins to write what is ready; call it now and then. */
void captures_step(struct captures *captures);

/* The session's traces will be gone: no more comes than there is. */
void captures_session_ends(struct captures *captures, const struct session *session);

/* One that was written, or failed (its path: NULL); to be freed.  NULL: none is done.  @wait: for
 * one that is being written. */
struct capture_order *captures_done(struct captures *captures, bool wait);

#endif
