/*
 * session-room: which packets there is memory for (base/account.h).
 *
 *     has room                    ► fetched
 *     has none                    ► waits at the relay, while what passes becomes less
 *     ... and holds up all others ► fetched as far as there is a reserve, beyond it lost
 *     has no metadata yet         ► fetched if it may wait here; what has waited for long is given
 *                                   up where that part of the account is short
 *     larger than a part          ► lost: others need room, too
 */
#include "base/limits.h"
#include "base/now.h"
#include "base/probe.h"
#include "base/units.h"
#include "engine/engine.h"
#include "engine/stream.h"
#include "engine/trace.h"
#include "live/session/session-state.h"
#include "relay/client.h"

#define WAITING_SAID_NS     (5 * NS_PER_S)
#define WAITING_GIVEN_UP_NS (10 * NS_PER_S)

struct account *session_memory(const struct session *session)
{
	return engine_account(session->owner.engine);
}

void session_end_advance(struct session *session)
{
	account_give(session_memory(session), ACCOUNT_SESSIONS, session->advance);
	session->advance = 0;
}

/* What is in its chunk goes to the workers: only what they have done makes room. */
static void wait_for_room(struct live_stream *stream)
{
	struct session *session = stream->trace->session;

	session->has_starved = true;
	probe_back_pressure(engine_in_flight(session->owner.engine));
	if (stream->stream && !stream->is_ended && stream_flush(stream->stream)) {
		session->owner.on_progress(session->owner.user);
	}
}

/* Back-pressure: without room only the stream that holds back all others may go on, and only when
 * no worker is about to make room. */
static bool holds_back(const struct live_stream *stream)
{
	return engine_in_flight(stream->trace->session->owner.engine) == 0 && stream->stream &&
	       stream_until(stream->stream) <= trace_watermark(stream->trace->trace);
}

/* Of the packets that wait for their metadata, with those on their way. */
static bool may_wait(const struct live_trace *trace, uint64_t bytes)
{
	const struct account *account = session_memory(trace->session);

	return trace->waiting.count < WAITING_PACKETS_MAX &&
	       account_may_last_part(account, ACCOUNT_WAITING, ACCOUNT_WAITING_PART,
				     bytes + account_of(account, ACCOUNT_FETCHES));
}

bool session_may_fetch(void *user, void *arg)
{
	struct session *session = user;
	struct live_stream *stream = arg;

	if (engine_has_room(session->owner.engine)) {
		return session_is_ready(stream->trace) || may_wait(stream->trace, 0);
	}
	wait_for_room(stream);
	return holds_back(stream);
}

static enum client_wish pass_as_lost(struct live_stream *stream, const struct viewer_index *index,
				     const char *why)
{
	session_on_packet_lost(stream->trace->session, stream, index, why);
	return CLIENT_PASS;
}

enum client_wish session_admit(struct live_stream *stream, const struct viewer_index *index)
{
	const struct account *account = session_memory(stream->trace->session);
	uint64_t bytes = (index->content_bits + 7) / 8;

	if (bytes > account->most / ACCOUNT_PACKET_PART) {
		return pass_as_lost(stream, index, "it is larger than a quarter of --max-memory");
	}
	if (!session_is_ready(stream->trace) && !stream->trace->has_failed) {
		stream->trace->session->has_starved = true; /* unless it may */
		return may_wait(stream->trace, bytes) ? CLIENT_FETCH : CLIENT_WAIT;
	}
	if (account_has_room(account, bytes, false)) {
		return CLIENT_FETCH;
	}
	wait_for_room(stream);
	if (!holds_back(stream)) {
		return CLIENT_WAIT;
	}
	if (account_has_room(account, bytes, true)) {
		return CLIENT_FETCH;
	}
	return account_of(account, ACCOUNT_FETCHES) + account_of(account, ACCOUNT_CAPTURES) > 0
		       ? CLIENT_WAIT
		       : pass_as_lost(stream, index, "there is no memory for it (--max-memory)");
}

/* ---- packets that wait for their metadata ---- */

/* Of the packets that wait, only their number is kept. */
static void give_waiting_up(struct live_trace *trace)
{
	struct session *session = trace->session;
	VEC(struct session_waiting) lost = { 0 };

	for (size_t i = 0; i < session->streams.count; i++) {
		struct session_waiting one = { .stream = session->streams.at[i],
					       .lost = "their metadata did not come" };

		for (size_t k = 0; k < trace->waiting.count; k++) {
			const struct session_waiting *waiting = &trace->waiting.at[k];

			if (waiting->stream == one.stream) {
				one.packets += session_lose_waiting(waiting);
			}
		}
		if (one.packets > 0) {
			*vec_push(&lost) = one;
		}
	}
	session_trace_drop_waiting(trace, NULL);
	vec_append(&trace->waiting, lost.at, lost.count);
	vec_fini(&lost);
}

/* Whether what waits takes from others: its part of the account is nearly full. */
static bool is_in_the_way(const struct live_trace *trace)
{
	const struct account *account = session_memory(trace->session);

	return trace->waiting.count >= WAITING_PACKETS_MAX ||
	       !account_may_last_part(account, ACCOUNT_WAITING, ACCOUNT_WAITING_PART,
				      account->most / ACCOUNT_WAITING_PART / 2);
}

static const char *path_of_trace(const struct live_trace *trace)
{
	return trace->identity.path ? trace->identity.path : "a trace";
}

void session_check_waiting(struct session *session)
{
	uint64_t now = now_monotonic_ns();

	for (size_t i = 0; i < session->traces.count; i++) {
		struct live_trace *trace = session->traces.at[i];

		if (trace->waiting.count == 0 || session_join_waits(trace) ||
		    session_join_binds(trace)) { /* these wait for others */
			trace->waits_since = 0;
			continue;
		}
		trace->waits_since = trace->waits_since ? trace->waits_since : now;
		if (!trace->said_waiting && now - trace->waits_since > WAITING_SAID_NS) {
			trace->said_waiting = true;
			session_say(session, 0, "packets of %s wait: %s", path_of_trace(trace),
				    trace->has_plan ? "their metadata is incomplete"
						    : "they have no metadata yet");
		}
		if (now - trace->waits_since > WAITING_GIVEN_UP_NS && is_in_the_way(trace)) {
			give_waiting_up(trace);
			trace->waits_since = 0;
			if (!trace->said_given_up) {
				trace->said_given_up = true;
				session_say(session, 0,
					    "packets of %s are lost: no more of them can wait for "
					    "metadata (--max-memory)",
					    path_of_trace(trace));
			}
		}
	}
}
