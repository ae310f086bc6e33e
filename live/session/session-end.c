/*
 * session-end: how a session ends: at once, or when others that are one with it have (session.h).
 */
#include <assert.h>

#include "base/limits.h"
#include "base/now.h"
#include "engine/trace.h"
#include "live/session/session-state.h"

#define ORPHANED_NS (2 * NS_PER_S) /* see session_is_orphaned() */

/* What waits for the rest of its metadata waits in vain. */
void session_end_trace(struct live_trace *trace)
{
	if (!trace->trace || session_join_waits(trace)) {
		return;
	}
	if (!session_is_ready(trace)) {
		trace_lose(trace->trace, session_trace_lose_waiting(trace));
		session_trace_drop_waiting(trace, NULL);
	}
	session_trace_end_streams(trace);
}

/* It stays for others (session-join.c), and holds nothing back meanwhile. */
static void stay_read(struct session *session, const char *reason)
{
	session->end_reason = reason;
	session->away_since = 0;
	VEC_EACH_OF(&session->streams, stream) {
		stream->is_ended = true;
	}
	VEC_EACH_OF(&session->traces, trace) {
		session_end_trace(trace);
	}
	session_set_state(session, SESSION_READ);
}

void session_end(struct session *session, const char *reason)
{
	session_say(session, session_has_only_read(session) ? 1 : 0, "%s", reason);
	if (session_join_holds(session)) {
		stay_read(session, reason);
	} else {
		session_finish(session, reason, true);
		session_set_state(session, SESSION_ENDED);
	}
	session_join_step(session);
}

void session_end_read(struct session *session, bool is_over)
{
	assert(session->state == SESSION_READ);
	if (session->notes_read) {
		session_note_read(session);
	}
	session_finish(session, session->end_reason, is_over);
	session_set_state(session, SESSION_ENDED);
}

void session_check_listed(struct session *session, uint64_t wait_ns)
{
	static const char gone[] = "the session is gone from the relay; unread data is lost";
	uint64_t now = now_monotonic_ns();

	if (session->orphaned_at > 0) {
		if (session->state == SESSION_AWAY && now - session->orphaned_at > ORPHANED_NS) {
			session_end(session, "the session ended");
		}
		return;
	}
	if (session->is_listed || session->state != SESSION_AWAY) {
		session->unlisted_since = 0;
		if (!session->is_listed && session->state == SESSION_REFUSED) {
			session_end(session, gone);
		}
		return;
	}
	session->unlisted_since = session->unlisted_since ? session->unlisted_since : now;
	if (now - session->unlisted_since >= wait_ns) {
		session_end(session, gone);
	} else if (now - session->unlisted_since > STEADY_NS && !session->said_unlisted) {
		session->said_unlisted = true;
		session_say(session, 0, "the relay does not list it any more; waiting for it");
	}
}
