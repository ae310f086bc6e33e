/*
 * session: see session.h.
 */
#include "live/session/session-state.h"

#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/now.h"
#include "ctf/decoder.h"
#include "engine/engine.h"
#include "engine/stream.h"
#include "engine/trace.h"
#include "relay/client.h"

#define LOOK_NS             (NS_PER_S / 20)
#define STREAM_FAILURES_MAX 2 /* connections; then what fails is given up */

void session_set_state(struct session *session, enum session_state state)
{
	assert(session->state != SESSION_ENDED);
	assert(state != SESSION_CONNECTING); /* only session_connect() sets that */
	session->state = state;
	session->owner.on_change(session->owner.user, session);
}

/* ---- the connection ---- */

/* Windows do not wait for streams that are silent for longer than the grace period.  They do again
 * as soon as something is heard (session_hear()). */
static void exclude_silent(struct session *session, uint64_t now)
{
	uint64_t limit = session->owner.grace_ns;
	uint64_t timers = session->listed.live_timer_us * UINT64_C(2000);

	limit = limit < timers ? timers : limit;
	for (size_t i = 0; i < session->streams.count; i++) {
		struct live_stream *stream = session->streams.at[i];

		if (stream->stream && !stream->is_ended && now - stream->heard > limit) {
			stream->is_excluded = true;
			stream_exclude(stream->stream, true);
		}
	}
}

/* What walks over all streams and traces of the session. */
static void look_around(struct session *session, uint64_t now)
{
	if (now - session->looked_at >= LOOK_NS) {
		session->looked_at = now;
		exclude_silent(session, now);
		session_check_waiting(session);
		session_join_step(session);
		if (now - session->attached_at > ACCOUNT_ADVANCE_NS) {
			session_end_advance(session);
		}
	}
}

static void drop_streams(struct session *session)
{
	account_give(session_memory(session), ACCOUNT_SESSIONS,
		     session->streams.count * ACCOUNT_STREAM_BYTES);
	VEC_EACH_OF(&session->streams, stream) {
		free(stream->name);
		free(stream);
	}
	session->streams.count = 0;
}

static void drop_connection(struct session *session)
{
	session->account.announced += session->client ? client_announced(session->client) : 0;
	relay_connection_free(session->connection);
	session->connection = NULL;
	client_free(session->client);
	session->client = NULL;
	session_end_advance(session); /* who waits takes no room from others */
	(void)event_del(session->timer);
}

/* What was announced and is gone with the connection is lost. */
static void lose_unfetched(struct session *session)
{
	for (size_t i = 0; i < session->streams.count; i++) {
		struct live_stream *stream = session->streams.at[i];

		for (; stream->unfetched > 0; stream->unfetched--) {
			session_on_packet_lost(session, stream, NULL, "the relay did not send it");
		}
	}
}

static void on_end(void *user, enum client_end why)
{
	struct session *session = user;

	session->is_finishing = true;
	client_abandon(session->client);
	lose_unfetched(session);
	session->notes_read = why == CLIENT_FINISHED && session_join_holds(session);
	if (why == CLIENT_FINISHED && !session->notes_read) {
		session_note_read(session);
	}
	if (why == CLIENT_FINISHED && session_find_away(session, NULL)) {
		session->orphaned_at = now_monotonic_ns(); /* the callers go on from here */
		return;
	}
	session_end(session, why == CLIENT_FINISHED
				     ? "the session ended"
				     : "the session is gone from the relay; unread data is lost");
}

static void back_off(struct session *session)
{
	session->retry_ns = session->retry_ns ? session->retry_ns * 2 : NS_PER_S / 2;
	session->retry_ns = session->retry_ns > 4 * NS_PER_S ? 4 * NS_PER_S : session->retry_ns;
	session->retry_at = now_monotonic_ns() + session->retry_ns;
}

static void on_attached(void *user)
{
	struct session *session = user;

	session->attached_at = now_monotonic_ns();
	session->said_watched = session->said_refused = session->said_unlisted = false;
	session_recall_restart(session);
	for (size_t i = 0; i < session->traces.count; i++) {
		session_trace_announced_again(session->traces.at[i]);
	}
	session_set_state(session, SESSION_RUNNING);
}

static void on_refused(void *user, uint32_t status)
{
	struct session *session = user;

	session->is_finishing = true;
	if (session->is_again && session->traces.count == 0 && status != ATTACH_ALREADY) {
		session_note_read(session);
		session_end(session, "the session ended");
		return;
	}
	if (status == ATTACH_NOT_LIVE && session->listed.live_timer_us == 0) {
		session_end(session,
			    "this is not a live session (no live timer); it cannot be followed");
		return;
	}
	if (status == ATTACH_ALREADY && !session->said_watched) {
		session->said_watched = true;
		session_say(session, 0,
			    "another viewer has this session; waiting until it is free");
	} else if (status != ATTACH_ALREADY && !session->said_refused) {
		session->said_refused = true;
		session_say(session, 0, "%s (status %u); trying again while it is listed",
			    status == ATTACH_UNKNOWN ? "the relay no longer knows the session"
						     : "the relay refuses to attach",
			    status);
	}
	back_off(session);
	/* One with traces may be listed under another id, as after a lost connection. */
	session_set_state(session, session->traces.count > 0 ? SESSION_AWAY : SESSION_REFUSED);
}

static const struct client_events client_events = {
	.on_attached = on_attached,
	.on_refused = on_refused,
	.on_stream = session_on_stream,
	.on_metadata = session_on_metadata,
	.wants_metadata = session_wants_metadata,
	.on_metadata_end = session_on_metadata_end,
	.on_metadata_due = session_on_metadata_due,
	.ends_packet = session_ends_packet,
	.on_packet = session_on_packet,
	.on_packet_lost = session_on_packet_lost,
	.on_idle = session_on_idle,
	.on_stream_end = session_on_stream_end,
	.on_stream_broken = session_on_stream_broken,
	.on_stream_not_followed = session_on_stream_not_followed,
	.on_new_streams_broken = session_on_new_streams_broken,
	.on_unfetched = session_on_unfetched,
	.on_end = on_end,
	.may_fetch = session_may_fetch,
	.wants_packet = session_wants_packet,
	.on_look = session_on_look,
};

/* Makes the requests that are due and sets the timer for the next ones. */
static void go_on(struct session *session)
{
	uint64_t now = now_monotonic_ns(), due, left;
	struct timeval wait;

	assert(session->connection);
	assert(session->client);
	session->has_starved = false;
	client_tick(session->client, now);
	if (session->is_finishing) {
		return;
	}
	look_around(session, now);
	relay_connection_send(session->connection);
	due = client_due(session->client);
	left = due > now ? due - now : 0;
	left = left > NS_PER_S ? NS_PER_S : left;
	wait.tv_sec = (time_t)(left / NS_PER_S);
	wait.tv_usec = (suseconds_t)(left % NS_PER_S / 1000 + 1);
	(void)event_add(session->timer, &wait);
}

static void on_connected(void *user)
{
	struct session *session = user;

	client_start(session->client, now_monotonic_ns());
	relay_connection_send(session->connection);
}

/* Drops the connection and its streams.  The traces stay until the session is attached again. */
static void go_away(struct session *session)
{
	client_abandon(session->client);
	for (size_t i = 0; i < session->traces.count; i++) {
		session_leave_waiting(session->traces.at[i], NULL);
	}
	for (size_t i = 0; i < session->streams.count; i++) {
		session_leave_stream(session->streams.at[i]);
	}
	drop_streams(session);
	for (size_t i = 0; i < session->traces.count; i++) {
		session->traces.at[i]->is_away = true;
	}
	drop_connection(session);
	session->away_since = now_monotonic_ns();
	session_set_state(session, SESSION_AWAY);
}

/* After a callback that ended the session, or all that this connection has of it. */
static void finish_connection(struct session *session)
{
	if (session->orphaned_at > 0) {
		go_away(session);
	} else {
		drop_connection(session);
	}
}

static int on_reply(void *user, const struct viewer_reply *reply, struct err *err)
{
	struct session *session = user;
	int r = client_reply(session->client, reply, now_monotonic_ns(), err);

	if (r < 0) {
		return r;
	}
	if (session->is_finishing) {
		session->is_finishing = false;
		finish_connection(session);
	} else {
		relay_connection_send(session->connection); /* what the reply made it request */
	}
	return 0;
}

/* What is due is looked for once for all replies that came together. */
static void on_pause(void *user)
{
	session_tick(user);
}

/* What the lost connection says about the relay.  False: attaching again would not help. */
static bool note_faults(struct session *session)
{
	session->stream_failures += client_stream_failed(session->client);
	session->takes_any_length |=
		relay_connection_viewer(session->connection)->is_of_other_length;
	if (relay_connection_is_wrong(session->connection)) {
		session->useless++;
	}
	return session->useless < RELAY_USELESS_MAX;
}

static void on_closed(void *user, const struct err *err)
{
	struct session *session = user;

	/* One message per change of state, not per failed attempt. */
	if (session->state == SESSION_RUNNING &&
	    now_monotonic_ns() - session->attached_at > STEADY_NS) {
		session->retry_ns = 0;
		session->useless = 0;
	}
	session_say(session, session->retry_ns == 0 ? 0 : 1, "connection lost: %s", err->text);
	if (!note_faults(session)) {
		session_say(session, 0, "%s", err->text);
		client_abandon(session->client);
		lose_unfetched(session);
		session_end(session,
			    "the relay contradicts itself each time; what was not read is lost");
		drop_connection(session);
		return;
	}
	back_off(session);
	go_away(session);
}

static const struct relay_connection_events relay_connection_events = {
	.on_connected = on_connected,
	.on_reply = on_reply,
	.on_pause = on_pause,
	.on_closed = on_closed,
};

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct session *session = arg;

	session_tick(session);
}

/* Whether the relay had more data of some stream at all times of the last half second. */
static bool is_behind(const struct session *session)
{
	uint64_t now = now_monotonic_ns();

	for (size_t i = 0; i < session->streams.count; i++) {
		const struct live_stream *stream = session->streams.at[i];

		if (stream->stream && !stream->is_ended && now - stream->idle > NS_PER_S / 2) {
			return true;
		}
	}
	return false;
}

static void skip_if_behind(struct session *session, uint64_t lag_ns)
{
	uint64_t limit = session->owner.lag_limit_ns;

	/* The first second is left out: after a skip, windows show the lag for some time. */
	if (limit > 0 && lag_ns > limit && !session->is_behind_limit && is_behind(session) &&
	    !session->recall.is_on && session->state == SESSION_RUNNING &&
	    now_monotonic_ns() - session->attached_at > NS_PER_S) {
		struct timeval now = { 0 };

		session_say(session, 0,
			    "%.1f s behind: skipping to the present; unread data is lost",
			    (double)lag_ns / 1e9);
		session->is_behind_limit = true;
		(void)event_add(session->timer, &now); /* not from within a report */
	}
}

void session_lags(struct session *session, uint64_t lag_ns)
{
	session_join_each(session, skip_if_behind, lag_ns);
}

/* This program stops: what was announced and has not arrived remains at the relay. */
static void count_unfetched(struct session *session)
{
	client_abandon(session->client);
	for (size_t i = 0; i < session->streams.count; i++) {
		session->account.unfetched_packets += session->streams.at[i]->unfetched;
	}
}

void session_tick(struct session *session)
{
	if (session->state == SESSION_RUNNING && session->is_behind_limit) {
		session->is_behind_limit = false;
		session->skips = true;
		session->retry_at = now_monotonic_ns();
		go_away(session);
		return;
	}
	if (session->state == SESSION_RUNNING && session->traces.count > 0 &&
	    session_has_only_read(session)) {
		count_unfetched(session);
		session_note_read(session);
		session_end(session, "the session ended");
		drop_connection(session);
		return;
	}
	if (session->state == SESSION_RUNNING && session->recall.is_due &&
	    client_is_draining(session->client)) {
		session->recall.is_due = false;
		session->recall.is_refused = true;
		session_say(session, 0,
			    "the session has ended, and the relay does not hand it out again: what "
			    "was before is not captured");
	}
	if (session->state == SESSION_RUNNING && session->recall.is_due) {
		/* At once: a relay does not hand out again a session that ends meanwhile. */
		go_away(session);
		session_connect(session, &session->listed);
		return;
	}
	if (session->state == SESSION_RUNNING && session->client) {
		go_on(session);
		if (session->is_finishing) {
			session->is_finishing = false;
			finish_connection(session);
		}
	}
}

void session_tick_starved(struct session *session)
{
	if (session->has_starved || session->recall.is_due || session->is_behind_limit) {
		session_tick(session);
	}
}

const void *session_one(const struct session *session)
{
	return session->beside;
}

/* ---- lifecycle ---- */

/* A relay has a session for each domain, of one host and name. */
static void join(struct session *session, const struct viewer_session *listed)
{
	const struct relay_address *relay = &session->address;
	char *key = mem_printf("%s:%u/%s/%s", relay->host, relay->port, listed->host, listed->name);

	session->beside = besides_join(session->owner.besides, key);
	free(key);
}

struct session *session_new(const struct session_owner *owner, const struct viewer_session *listed,
			    const struct relay_address *address, bool is_again)
{
	struct session *session = mem_alloc(sizeof(*session));

	session->owner = *owner;
	session->is_again = is_again;
	session->advance = ACCOUNT_ADVANCE_BYTES;
	account_take(session_memory(session), ACCOUNT_SESSIONS,
		     ACCOUNT_SESSION_BYTES + session->advance);
	session->address = *address;
	session->decoder = mem_alloc(sizeof(*session->decoder));
	session->timer = event_new(owner->base, -1, 0, on_timer, session);
	session->is_listed = true;
	join(session, listed);
	session_join_enter(session);
	session_connect(session, listed);
	return session;
}

/* The monotonic time at which the wall clock shows its next whole second. */
static uint64_t phase_of_wall(void)
{
	return now_monotonic_ns() + NS_PER_S - now_wall_ns() % NS_PER_S;
}

void session_connect(struct session *session, const struct viewer_session *listed)
{
	bool is_again = session->traces.count > 0;
	struct client_config config = {
		.session_id = listed->id,
		.seek = session->recall.is_on || (!session->skips &&
						  (is_again || session->owner.from_beginning ||
						   session->owner.from_ns > 0))
				? VIEWER_SEEK_BEGINNING
				: VIEWER_SEEK_LAST,
		.live_timer_us = listed->live_timer_us,
		.account = session_memory(session),
		.gives_streams_up = session->stream_failures >= STREAM_FAILURES_MAX,
		.phase_ns = phase_of_wall(),
		.events = &client_events,
		.user = session,
	};

	assert(!session->connection);
	assert(!session->client);
	assert(session->state != SESSION_ENDED);
	session->skips = false;
	session->orphaned_at = 0;
	session->listed = *listed;
	session->state = SESSION_CONNECTING;
	session->connection = relay_connection_new(session->owner.base, &session->address,
						   &relay_connection_events, session);
	session->client = client_new(&config, relay_connection_viewer(session->connection));
	relay_connection_viewer(session->connection)->takes_any_length = session->takes_any_length;
	relay_connection_viewer(session->connection)->account = session_memory(session);
	relay_connection_viewer(session->connection)->advance = &session->advance;
}

/* Before any of them is freed, whatever is joined to it forgets it. */
static void free_traces(struct session *session)
{
	VEC_EACH_OF(&session->traces, trace) {
		session_join_forget(trace);
	}
	vec_free_each(&session->traces, session_trace_free);
}

void session_free(struct session *session)
{
	if (!session) {
		return;
	}
	drop_connection(session);
	drop_streams(session);
	account_give(session_memory(session), ACCOUNT_SESSIONS, ACCOUNT_SESSION_BYTES);
	free_traces(session);
	vec_fini(&session->streams);
	session_join_leave(session);
	besides_leave(session->owner.besides, session->beside);
	vec_fini(&session->read_uuids);
	event_free(session->timer);
	decoder_free(session->decoder);
	free(session);
}

bool session_is_orphaned(const struct session *session)
{
	return session->orphaned_at > 0;
}

enum session_state session_state(const struct session *session)
{
	return session->state;
}

const struct viewer_session *session_listed(const struct session *session)
{
	return &session->listed;
}

uint64_t session_retry_at(const struct session *session)
{
	return session->retry_at;
}

void session_set_listed(struct session *session, bool is_listed)
{
	session->is_listed = is_listed;
	if (session->client) {
		client_set_listed(session->client, is_listed);
	}
}

void session_finish(struct session *session, const char *reason, bool is_over)
{
	if (!is_over && session->client) {
		count_unfetched(session);
	}
	for (unsigned int parts = 2; parts-- > 0;) { /* they may be joined to one of this session */
		VEC_EACH_OF(&session->traces, trace) {
			if ((trace->part > 0) == parts) {
				session_trace_finish(trace, reason, is_over);
			}
		}
	}
	session->owner.on_finished(session->owner.user, session);
	free_traces(session);
	drop_streams(session);
}

void session_checkpoint(struct session *session)
{
	for (size_t i = 0; i < session->traces.count; i++) {
		session_trace_checkpoint(session->traces.at[i]);
	}
}

struct live_trace *const *session_traces(const struct session *session, size_t *ret_count)
{
	*ret_count = session->traces.count;
	return session->traces.at;
}

void session_totals_so_far(struct session *session)
{
	for (size_t i = 0; i < session->traces.count; i++) {
		struct live_trace *trace = session->traces.at[i];

		if (trace->trace && trace->part == 0 && !trace_total_so_far(trace->trace)) {
			session_say(session, 0, "%s: no window is closed yet",
				    trace->identity.path ? trace->identity.path : "a trace");
		}
	}
}

void session_account(const struct session *session, struct run_summary *summary)
{
	summary->events += session->account.events;
	summary->packets += session->account.packets;
	summary->bytes += session->account.bytes;
	summary->fetched_bytes += session->account.fetched_bytes;
	summary->passed_packets += session->account.passed_packets;
	summary->announced += session->account.announced;
	summary->duplicates += session->account.duplicates;
	summary->unfetched_packets += session->account.unfetched_packets;
	summary->lost_packets += session->account.lost_packets;
	summary->announced += session->client ? client_announced(session->client) : 0;
	for (size_t i = 0; i < session->traces.count; i++) {
		session_trace_account(session->traces.at[i], summary);
	}
}

void *session_owner_user(const struct session *session)
{
	return session->owner.user;
}
