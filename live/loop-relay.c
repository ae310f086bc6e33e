/*
 * loop-relay: relays, which are retried, and which of their sessions are followed.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/now.h"
#include "live/loop-state.h"
#include "live/metrics/metrics.h"

#define LIST_NS      (NS_PER_S / 4) /* sessions that exist for less may be missed */
#define RETRY_NS_MIN (NS_PER_S / 4)
#define RETRY_NS_MAX (4 * NS_PER_S)

/* Metrics say whether the relay is connected. */
static void count_up(const struct relay *relay, bool is_up)
{
	char name[300];

	(void)snprintf(name, sizeof(name), "%s:%u", relay->address.host, relay->address.port);
	metrics_own_set(relay->loop->metrics, METRICS_RELAY_UP, name, is_up);
}

/* ---- sessions ---- */

struct relay *loop_relay_of(const struct loop *loop, const struct session *session)
{
	VEC_EACH_OF(&loop->relays, relay) {
		for (size_t i = 0; i < relay->sessions.count; i++) {
			if (relay->sessions.at[i] == session) {
				return relay;
			}
		}
	}
	return NULL;
}

void loop_on_session_change(void *user, struct session *session)
{
	struct loop *loop = user;
	const struct viewer_session *listed = session_listed(session);

	if (session_state(session) == SESSION_RUNNING) {
		for (size_t i = 0; i < loop->config->url_count; i++) {
			loop->url_seen[i] |=
				url_matches(&loop->config->urls[i], listed->host, listed->name);
		}
	}
	if (session_state(session) == SESSION_AWAY && session_is_orphaned(session)) {
		loop_note_ended(loop_relay_of(loop, session), session);
	}
	if (session_state(session) == SESSION_ENDED) {
		struct timeval now = { 0 };

		(void)event_add(loop->step_event, &now); /* on_step() frees it */
	}
}

static bool same_relay(const struct url *url, const struct relay_address *address)
{
	uint16_t port = url->port ? url->port : URL_PORT_LIVE;

	return strcmp(url->host, address->host) == 0 && port == address->port &&
	       url->family == address->family;
}

static bool is_wanted(const struct relay *relay, const struct viewer_session *listed)
{
	const struct loop_config *config = relay->loop->config;

	for (size_t i = 0; i < config->url_count; i++) {
		if (same_relay(&config->urls[i], &relay->address) &&
		    url_matches(&config->urls[i], listed->host, listed->name)) {
			return true;
		}
	}
	return false;
}

static bool same_name(const struct viewer_session *a, const struct viewer_session *b)
{
	return strcmp(a->host, b->host) == 0 && strcmp(a->name, b->name) == 0;
}

static struct session *find_session(const struct relay *relay, const struct viewer_session *listed)
{
	VEC_EACH_OF(&relay->sessions, session) {
		if (session_state(session) != SESSION_AWAY &&
		    session_listed(session)->id == listed->id &&
		    same_name(session_listed(session), listed)) {
			return session;
		}
	}
	return NULL;
}

/*
 * A session of this name whose connection was lost.  A kernel session and a user space session may
 * have the same name, so one with the same id is preferred.  Ids differ after a restart of relayd.
 */
static struct session *find_away(const struct relay *relay, const struct viewer_session *listed)
{
	struct session *found = NULL;

	VEC_EACH_OF(&relay->sessions, session) {
		bool is_same = session_listed(session)->id == listed->id;

		if (session_state(session) == SESSION_AWAY &&
		    same_name(session_listed(session), listed) && (!found || is_same)) {
			found = session;
		}
	}
	return found;
}

/* Whether one of this name is attached to again, perhaps under an id that the relay has no more. */
static bool is_connecting(const struct relay *relay, const struct viewer_session *listed)
{
	VEC_EACH_OF(&relay->sessions, session) {
		size_t traces;

		(void)session_traces(session, &traces);
		if (session_state(session) == SESSION_CONNECTING && traces > 0 &&
		    same_name(session_listed(session), listed)) {
			return true;
		}
	}
	return false;
}

/* Of a session that was refused the next list tells again. */
static void new_session(struct relay *relay, const struct viewer_session *listed)
{
	if (!account_may_last(engine_account(relay->loop->engine),
			      ACCOUNT_SESSION_BYTES + ACCOUNT_ADVANCE_BYTES)) {
		relay->refused++;
		return;
	}
	*vec_push(&relay->sessions) = session_new(&relay->loop->owner, listed, &relay->address,
						  loop_is_again(relay, listed));
}

static void take_listed(struct relay *relay, const struct viewer_session *listed)
{
	struct session *session = find_session(relay, listed);

	if (session) {
		session_set_listed(session, true);
		if (session_state(session) == SESSION_REFUSED &&
		    session_retry_at(session) <= now_monotonic_ns()) {
			session_connect(session, listed);
		}
		return;
	}
	if (loop_has_ended(relay, listed)) {
		return;
	}
	session = find_away(relay, listed);
	assert(!session || session_state(session) == SESSION_AWAY);
	if (session) {
		session_set_listed(session, true);
		if (session_retry_at(session) <= now_monotonic_ns()) {
			session_connect(session, listed);
		}
	} else if (!is_connecting(relay, listed)) {
		new_session(relay, listed);
	}
}

/* Whether the relay has the session of a URL, but it is not live. */
static bool is_not_live(const struct url *url, const struct viewer_reply *reply)
{
	for (uint32_t i = 0; i < reply->count; i++) {
		const struct viewer_session *listed = &reply->sessions[i];

		if (listed->live_timer_us == 0 && url_matches(url, listed->host, listed->name)) {
			return true;
		}
	}
	return false;
}

/* Reports once for each URL of one session that the relay does not have this session yet. */
static void say_missing(struct relay *relay, const struct viewer_reply *reply)
{
	struct loop *loop = relay->loop;

	for (size_t i = 0; i < loop->config->url_count; i++) {
		const struct url *url = &loop->config->urls[i];
		bool exists = loop->url_seen[i];

		if (!url->is_exact || !same_relay(url, &relay->address)) {
			continue;
		}
		for (size_t k = 0; k < relay->sessions.count; k++) {
			const struct viewer_session *listed = session_listed(relay->sessions.at[k]);

			exists |= url_matches(url, listed->host, listed->name);
		}
		if (exists || loop->url_said[i]) {
			continue;
		}
		loop->url_said[i] = true;
		if (loop->config->retry_ns == 0) {
			(void)err_raise(&loop->err, -ENOENT,
					is_not_live(url, reply)
						? "%s: not a live session (no live timer)"
						: "%s: no such session on this relay",
					url->text);
			loop->has_failed = true;
			loop_stop(loop);
		} else if (loop->config->verbosity >= 0) {
			loop_say(loop,
				 is_not_live(url, reply)
					 ? "%s: waiting for a live session of this name"
					 : "%s: no such session yet; waiting for it",
				 url->text);
		}
	}
}

static bool has_only_exact_urls(const struct relay *relay)
{
	for (size_t i = 0; i < relay->loop->config->url_count; i++) {
		const struct url *url = &relay->loop->config->urls[i];

		if (!url->is_exact && same_relay(url, &relay->address)) {
			return false;
		}
	}
	return true;
}

static void say_refused(struct relay *relay)
{
	if (relay->refused > relay->said_refused && relay->loop->config->verbosity >= 0) {
		loop_say(relay->loop,
			 "%s:%u: %zu sessions are not followed: there is no memory for more "
			 "(--max-memory)",
			 relay->address.host, relay->address.port, relay->refused);
		relay->said_refused = relay->refused;
	} else if (relay->refused == 0) {
		relay->said_refused = 0;
	}
}

/* Reports once that the relay has no session yet that is wanted.  say_missing() names sessions. */
static void say_empty(struct relay *relay, uint32_t listed)
{
	const struct loop_config *config = relay->loop->config;

	if (relay->said_empty || has_only_exact_urls(relay)) {
		return;
	}
	relay->said_empty = true;
	if (relay->sessions.count > 0 || relay->ended.count > 0 || config->verbosity < 0) {
		return;
	}
	if (listed == 0) {
		loop_say(relay->loop, "connected to %s:%u, no sessions yet; waiting",
			 relay->address.host, relay->address.port);
	} else {
		loop_say(relay->loop,
			 "connected to %s:%u, none of its %u sessions matches; waiting",
			 relay->address.host, relay->address.port, listed);
	}
}

/* Whether the relay has listed its sessions since the last one ended.  Requests the list if not. */
static bool has_listed(struct relay *relay)
{
	bool is_free = relay->connection &&
		       viewer_pending(relay_connection_viewer(relay->connection)) == 0;

	if (relay->state != RELAY_UP || relay->has_listed) {
		return true;
	}
	if (is_free && !relay->asks_last) {
		relay->asks_last = true;
		viewer_list_sessions(relay_connection_viewer(relay->connection));
		relay_connection_send(relay->connection);
	}
	return false;
}

void loop_check(struct loop *loop)
{
	bool all_seen = loop->config->url_count > 0, any_left = false;

	VEC_EACH_OF(&loop->relays, relay) {
		size_t left = 0;

		for (size_t i = 0; i < relay->sessions.count; i++) {
			struct session *session = relay->sessions.at[i];

			if (session_state(session) != SESSION_ENDED) {
				any_left = true;
				assert(left <= i);
				relay->sessions.at[left++] = session;
				continue;
			}
			loop_note_ended(relay, session);
			relay->asks_last = relay->has_listed = false;
			session_account(session, &loop->ended);
			session_free(session);
		}
		relay->sessions.count = left;
	}
	for (size_t i = 0; i < loop->config->url_count; i++) {
		all_seen &= loop->config->urls[i].is_exact && loop->url_seen[i];
	}
	/* Kernel and user space are two sessions of one name: the other may have appeared just now.
	 */
	for (size_t r = 0; r < loop->relays.count && all_seen && !any_left; r++) {
		all_seen = has_listed(loop->relays.at[r]);
	}
	if (all_seen && !any_left) {
		loop_stop(loop);
	}
}

/* A relay is there once it has listed its sessions: one that lies about them is as good as away. */
static void note_up(struct relay *relay)
{
	const struct loop_config *config = relay->loop->config;

	count_up(relay, true);
	relay->state = RELAY_UP;
	relay->was_up = true;
	relay->retry_ns = 0;
	if (relay->said_down && config->verbosity >= 0) {
		loop_say(relay->loop, "relay %s:%u is back", relay->address.host,
			 relay->address.port);
	}
	relay->said_down = false;
}

static void on_list(struct relay *relay, const struct viewer_reply *reply)
{
	struct timeval again = { .tv_usec = LIST_NS / 1000 };

	note_up(relay);
	for (size_t i = 0; i < relay->sessions.count; i++) {
		session_set_listed(relay->sessions.at[i], false);
	}
	loop_prune_ended(relay, reply);
	relay->refused = 0;
	for (uint32_t i = 0; i < reply->count; i++) {
		if (is_wanted(relay, &reply->sessions[i])) {
			take_listed(relay, &reply->sessions[i]);
		}
	}
	for (size_t i = 0; i < relay->sessions.count; i++) {
		session_check_listed(relay->sessions.at[i], relay->loop->config->retry_ns);
	}
	say_refused(relay);
	say_missing(relay, reply);
	say_empty(relay, reply->count);
	relay->has_listed = relay->asks_last;
	relay->asks_last = false;
	(void)event_add(relay->timer, &again);
	loop_check(relay->loop);
}

/* ---- relays ---- */

static void relay_connected(void *user)
{
	struct relay *relay = user;

	relay->is_connected = true;
	viewer_connect(relay_connection_viewer(relay->connection));
	viewer_list_sessions(relay_connection_viewer(relay->connection));
	relay_connection_send(relay->connection);
}

static int relay_reply(void *user, const struct viewer_reply *reply, struct err *err)
{
	struct relay *relay = user;
	struct loop *loop = relay->loop;

	if (reply->command == VIEWER_CONNECT) {
		if (!relay->said_down && loop->config->verbosity > 0) {
			loop_say(loop, "relay %s:%u speaks viewer protocol %u.%u",
				 relay->address.host, relay->address.port, reply->major,
				 reply->minor);
		}
		relay->said_quiet = false;
	} else if (reply->command == VIEWER_LIST_SESSIONS) {
		on_list(relay, reply);
	}
	return 0;
}

static void give_up(struct relay *relay, const struct err *err)
{
	struct loop *loop = relay->loop;

	assert(!relay->connection);
	relay->state = RELAY_GIVEN_UP;
	(void)err_raise(&loop->err, -EIO, "relay %s:%u: %s", relay->address.host,
			relay->address.port, err->text);
	for (size_t i = 0; i < loop->relays.count; i++) {
		if (loop->relays.at[i]->state != RELAY_GIVEN_UP) {
			loop->config->say("%s", loop->err.text);
			return;
		}
	}
	loop->has_failed = true;
	loop_stop(loop);
}

static void relay_closed(void *user, const struct err *err)
{
	struct relay *relay = user;
	struct loop *loop = relay->loop;
	uint64_t now = now_monotonic_ns();
	struct timeval wait;
	struct err why = *err;
	bool is_final =
		!relay->was_up && relay_connection_viewer(relay->connection)->is_other_version;

	relay_connection_free(relay->connection);
	relay->connection = NULL;
	relay->is_connected = false;
	if (relay->state != RELAY_DOWN) {
		relay->down_since = now;
		relay->ended.count = 0; /* a restarted relayd assigns other ids */
		relay->read_before = relay->read.count;
	}
	relay->state = RELAY_DOWN;
	count_up(relay, false);
	/* At first, another version of the protocol is what the user has to know.  Once the relay
	 * was there, it is one of the things that may pass. */
	if (now - relay->down_since >= loop->config->retry_ns || is_final) {
		give_up(relay, &why);
		return;
	}
	if (!relay->said_down && loop->config->verbosity >= 0) {
		loop_say(loop, "relay %s:%u: %s; trying again", relay->address.host,
			 relay->address.port, why.text);
	}
	relay->said_down = true;
	relay->retry_ns = relay->retry_ns ? relay->retry_ns * 2 : RETRY_NS_MIN;
	relay->retry_ns = relay->retry_ns > RETRY_NS_MAX ? RETRY_NS_MAX : relay->retry_ns;
	wait.tv_sec = (time_t)(relay->retry_ns / NS_PER_S);
	wait.tv_usec = (suseconds_t)(relay->retry_ns % NS_PER_S / 1000);
	(void)event_add(relay->timer, &wait);
}

static const struct relay_connection_events relay_events = {
	.on_connected = relay_connected,
	.on_reply = relay_reply,
	.on_closed = relay_closed,
};

/* Reports once that the relay has not answered yet. */
static void say_quiet(struct relay *relay)
{
	const struct loop_config *config = relay->loop->config;

	if (relay->said_quiet || relay->said_down || config->verbosity < 0) {
		return;
	}
	relay->said_quiet = true;
	loop_say(relay->loop,
		 relay->is_connected ? "connected to %s:%u, but it does not answer; waiting"
				     : "%s:%u does not answer; waiting",
		 relay->address.host, relay->address.port);
}

static void relay_connect(struct relay *relay)
{
	struct timeval quiet = { .tv_sec = RELAY_QUIET_S };

	assert(!relay->connection);
	(void)event_add(relay->timer, &quiet);
	relay->connection =
		relay_connection_new(relay->loop->base, &relay->address, &relay_events, relay);
	relay_connection_viewer(relay->connection)->account = engine_account(relay->loop->engine);
}

static void on_relay_timer(evutil_socket_t fd, short what, void *arg)
{
	struct relay *relay = arg;

	if (!relay->connection) {
		relay_connect(relay);
	} else if (relay->state != RELAY_UP) {
		say_quiet(relay);
	} else if (viewer_pending(relay_connection_viewer(relay->connection)) == 0) {
		viewer_list_sessions(relay_connection_viewer(relay->connection));
		relay_connection_send(relay->connection);
	}
}

struct live_trace *loop_find_away(void *user, const struct session *session, const uint8_t *uuid)
{
	const struct relay *relay = loop_relay_of(user, session);

	for (size_t i = 0; relay && i < relay->sessions.count; i++) {
		const struct session *other = relay->sessions.at[i];
		struct live_trace *found = same_name(session_listed(other), session_listed(session))
						   ? session_find_away(other, uuid)
						   : NULL;

		if (found) {
			return found;
		}
	}
	return NULL;
}

void loop_add_relay(struct loop *loop, const struct url *url)
{
	struct relay *relay;

	for (size_t i = 0; i < loop->relays.count; i++) {
		if (same_relay(url, &loop->relays.at[i]->address)) {
			return;
		}
	}
	relay = mem_alloc(sizeof(*relay));
	relay->loop = loop;
	relay->address.host = url->host;
	relay->address.port = url->port ? url->port : URL_PORT_LIVE;
	relay->address.family = url->family;
	relay->timer = event_new(loop->base, -1, 0, on_relay_timer, relay);
	*vec_push(&loop->relays) = relay;
	count_up(relay, false);
	relay_connect(relay);
}

void loop_free_relays(struct loop *loop)
{
	VEC_EACH_OF(&loop->relays, relay) {
		vec_free_each(&relay->sessions, session_free);
		vec_fini(&relay->ended);
		vec_fini(&relay->read);
		relay_connection_free(relay->connection);
		event_free(relay->timer);
		free(relay);
	}
	vec_fini(&loop->relays);
}
