/*
 * hub-state: what the parts of the hub share: hub.c (the loop and the output), hub-relay.c (relays
 * and which of their sessions are followed), hub-capture.c (captures).
 */
#ifndef SILLAGE_LIVE_LOOP_STATE_H
#define SILLAGE_LIVE_LOOP_STATE_H

#include <event2/event.h>

#include "live/loop.h"
#include "live/session/relay-connection.h"
#include "live/session/session.h"

struct control;
struct metrics;
struct trigger_event;

#define NS_PER_S UINT64_C(1000000000)

enum relay_state { RELAY_CONNECTING, RELAY_UP, RELAY_DOWN, RELAY_GIVEN_UP };

/* One relay: the connection that lists its sessions, and the sessions followed. */
struct relay {
	struct loop *loop;
	struct relay_address address;
	enum relay_state state;
	struct relay_connection *connection;
	struct event *timer;
	uint64_t retry_ns, down_since;
	bool said_down;
	bool asks_last, has_listed; /* what there is since a session ended */
	VEC(struct session *) sessions;
	VEC(uint64_t) ended; /* ids of sessions that ended, for as long as they are listed */
};

struct loop {
	const struct loop_config *config;
	struct event_base *base;
	struct engine *engine;
	VEC(struct relay *) relays;
	struct session_owner owner; /* of all sessions */
	bool *url_seen;             /* by URL: a session of that name was attached to */
	bool *url_said;             /* waiting for it was said */
	struct event *signals[5];
	struct event *engine_event, *step_event, *duration_event, *input_event, *size_event,
		*watchdog_event;
	struct metrics *metrics;
	struct control *control;
	uint64_t windows;
	bool is_stopping, has_failed;
	struct err err;
	struct run_summary ended; /* of sessions that were freed */
};

/* ---- hub.c ---- */

void loop_stop(struct loop *loop);
/* Stops when the output cannot be written. */
void loop_check_output(struct loop *loop);
/* Frees what has ended; stops when nothing is left that could still come. */
void loop_check(struct loop *loop);

/* ---- hub-relay.c ---- */

/* Whether it is known what the relay has since a session ended; asks it, if not. */
bool loop_has_listed(struct relay *relay);

void loop_add_relay(struct loop *loop, const struct url *url);
void loop_free_relays(struct loop *loop);
void loop_on_session_change(void *user, struct session *session);

/* ---- hub-capture.c ---- */

/* Callbacks of the engine, of triggers, of sessions and of the control socket. */
void loop_on_retained(void *user, const char *stream, struct retained *retained);
void loop_on_capture(void *context, const struct trace_identity *identity,
		     const struct trigger_event *event, bool reports);
void loop_on_finished(void *user, struct session *session);
size_t loop_capture_now(void *user, uint64_t *ret_numbers, size_t most);
void loop_on_capture_signal(evutil_socket_t number, short what, void *arg);

/* Goes on with captures, and says which are done; @wait: until all are. */
void loop_step_captures(struct loop *loop, bool wait);

#endif
