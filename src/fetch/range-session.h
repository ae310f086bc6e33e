/*
 * range-session: reads what a relay has of one session, once, into trace directories.
 *
 *     index ──► before `from`, or after `newest`: passed over
 *           ├─► in the range, or the first behind it: fetched ──► DIR/tN/CHANNEL
 *           └─► the stream has nothing more now, or is past `end`: it is done
 *
 * It ends when all streams are done.  A stream whose data does not reach `end` is waited for, since
 * the session still runs; without `end` nothing is waited for.
 *
 * A recorded trace is read from its begin whatever its range is, because states depend on what was
 * before.  So packets before the range are fetched too, unless `from` says otherwise.
 *
 * Memory is bounded: packets go to files as they come.  Packets that were announced and not sent
 * are noted with their place.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/units.h"
#include "live/session/relay-connection.h"
#include "recorded/recorded.h"

/* A trace of the session. */
struct range_trace {
	uint64_t relay_id;
	char *path; /* in its session, as the relay names it: untrusted; NULL: unknown */
	char *dir;  /* NULL: nothing was to be fetched */
	VEC(struct recorded_lost) lost;
};

/* What to read, and the result. */
struct range_job {
	const struct relay_address *address;
	const char *name; /* of the session, for messages */
	uint64_t session_id;
	uint32_t live_timer_us;
	const char *dir;       /* where directories are made; NULL: only the span is wanted */
	uint64_t from;         /* ns: packets that end before are passed over; 0: none is */
	uint64_t end;          /* ns: of the range; UINT64_MAX: what there is now */
	uint64_t newest;       /* ns: packets that begin later are passed over */
	bool takes_any_length; /* see struct viewer */
	bool gives_streams_up; /* see struct client_config */
	const atomic_bool *stop;
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* NULL: quiet */
	void (*progress)(void *user, const struct range_job *job);               /* may be NULL */
	void *user;

	struct units_span span;        /* of all indexes; first > last: there is none */
	uint64_t packets, bytes, lost; /* fetched, and not sent */
	VEC(struct range_trace *) traces;
	bool was_of_other_length, has_stream_failed; /* what to change for the next attempt */
};

/*
 * 0: all was read.  Otherwise negative with the reason: -EINTR: stopped; -EBUSY: another viewer has
 * the session; -ECONNRESET: the connection was lost, another attempt may help; others are final.
 */
int range_session_read(struct range_job *job, struct err *err);
/* Forgets the result; the job can be read again. */
void range_session_clear(struct range_job *job);
