/*
 * captures: which stretches of the history are written to disk, and when.
 *
 *     captures_begin(at) ──► WAITING ──────────────► QUEUED ──────────► DONE
 *                              │  all traces known     │ the thread       captures_done()
 *                              │  past the end, or     │ writes it
 *                              │  too late             │
 *                         loop's thread             own thread
 *
 * A capture covers before_ns before its occasion to after_ns after it.  While it waits, the
 * histories of its session are held, so that no packet of the range goes by age.  Then it takes
 * references to the packets, and a thread writes them.  Another occasion within the range of a
 * waiting capture of the same session is added to that one.
 *
 * A session is described by its caller (struct captures_session); nothing is known here of
 * connections or triggers.  All functions belong to the loop's thread.  Writing never blocks it.
 *
 * Invariants: a capture is in exactly one of the states above.  At most per_hour captures begin per
 * hour because of triggers; those that a user asks for are not limited.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "history/history.h"

struct capture_order;
struct captures;

struct captures_config {
	const char *dir;
	uint64_t history_ns, history_bytes; /* see history_new() */
	struct account *account;
	uint64_t before_ns, after_ns;
	uint64_t keep_count, keep_bytes; /* older captures are removed; UINT64_MAX: no limit */
	uint64_t per_hour;    /* captures because of triggers; further ones are dropped */
	const char *asked;    /* what the run measures, as options of a command; NULL: not known */
	const char *measured; /* the same as objects of JSON, commas between; NULL with it */
	bool has_spans;       /* it measures periods or jobs */
	/* Called in the thread that writes, after each capture; NULL: nothing is. */
	void (*on_written)(void *user, struct capture_order *order);
	void *user;
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

struct captures *captures_new(const struct captures_config *config);
/* Waits until all queued captures are written.  Waiting ones are dropped. */
void captures_free(struct captures *captures); /* NULL is fine */

/* The history of all traces. */
struct history *captures_history(struct captures *captures);

/* ---- sessions ---- */

/* A trace of a session. */
struct captures_trace {
	struct history_trace *history;
	const char *path; /* in its session, as the relay named it; NULL: unknown */
	bool is_kernel;
	/* ns: packets that start before this have arrived; UINT64_MAX: it is not waited for. */
	uint64_t known_until;
};

/* A session as it is now: its traces that have a history. */
struct captures_session {
	const void *key; /* the same for all descriptions of one session */
	const char *host, *name;
	VEC(struct captures_trace) traces;
	bool recalls; /* packets are still on their way from the relay: captures wait for them */
};

/* ---- captures ---- */

/* The trigger that a capture is made for. */
struct captures_reason {
	const char *name;
	const char *json;    /* the trigger's line of output, as a JSON object */
	unsigned int extras; /* also write these of the capture (CAPTURE_REPORT, ...) */
	const char *job;     /* what the trigger is about, as --job has it; NULL: no job */
};

/* Starts a capture of all traces of @session around the time @at; @reason NULL: the user asked.  If
 * a waiting capture of the session covers @at, the reason is added to it.  Returns the number of
 * the capture; 0: no more captures are allowed now. */
uint64_t captures_begin(struct captures *captures, const struct captures_session *session,
			uint64_t at, const struct captures_reason *reason);

/* ns: the time from the begin of the first waiting capture of the session to the end of the last;
 * false: none waits. */
bool captures_awaited(const struct captures *captures, const void *key, uint64_t *ret_begin,
		      uint64_t *ret_end);

/* Queues the waiting captures of @session that are complete; @is_ending: all of them, since its
 * traces will be freed.  Call it periodically for each session. */
void captures_step(struct captures *captures, const struct captures_session *session,
		   bool is_ending);

/* A capture that was written or has failed (path NULL), which the caller frees; NULL: none.
 * @wait: until one is done, if any is queued. */
struct capture_order *captures_done(struct captures *captures, bool wait);
