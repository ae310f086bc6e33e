/*
 * loop-state: shared by the parts of the live loop: loop.c (events, output), loop-relay.c (relays,
 * which of their sessions are followed, and the end), loop-ended.c (sessions that have ended),
 * loop-checkpoint.c (the state is saved), loop-capture.c (captures) and loop-dump.c (state dumps).
 */
#pragma once

#include <event2/event.h>

#include "engine/contract/beside.h"
#include "live/loop.h"
#include "live/session/relay-connection.h"
#include "live/session/session.h"
#include "trigger/actions.h"

struct access;
struct control;
struct dump;
struct loop_signals;
struct metrics;
struct metrics_server;
struct trigger_event;
struct web;

#define NS_PER_S UINT64_C(1000000000)

enum relay_state { RELAY_CONNECTING, RELAY_UP, RELAY_DOWN, RELAY_GIVEN_UP };

/* A session that has ended, and that the relay still lists: it, or another one with its id. */
struct relay_ended {
	uint64_t id, name; /* a hash of its host and name: ids may be used again */
	uint64_t retry_at; /* monotonic ns: when it is attached to again; UINT64_MAX: never */
	uint64_t retry_ns; /* the pause before that, which doubles while nothing new is found */
	bool is_known;     /* its traces tell it from another one */
};

/* A trace that was read to its end. */
struct relay_read {
	uint64_t name; /* of its session, likewise */
	uint8_t uuid[16];
};

/* One relay: the connection that lists its sessions, and the sessions followed. */
struct relay {
	struct loop *loop;
	struct relay_address address;
	enum relay_state state;
	struct relay_connection *connection;
	struct event *timer;
	uint64_t retry_ns;   /* the pause before the next attempt, which doubles */
	uint64_t down_since; /* monotonic ns */
	bool was_up;         /* at least once */
	bool said_down;
	bool said_quiet;     /* that it does not answer */
	size_t refused;      /* sessions of the last list that there is no memory for */
	size_t said_refused; /* the most of them that was said, since there were none */
	bool said_empty;     /* that it has no sessions, or it had one */
	bool is_connected;   /* the connection stands, whether it answers or not */
	bool asks_last;      /* the list now requested is newer than the last end of a session */
	bool has_listed;     /* such a list has arrived */
	VEC(struct session *) sessions;
	VEC(struct relay_ended) ended;
	VEC(struct relay_read) read;
	size_t read_before; /* of those, before the relay was started again */
};

struct loop {
	const struct loop_config *config;
	struct event_base *base;
	struct engine *engine;
	VEC(struct relay *) relays;
	struct session_owner owner;  /* given to all sessions */
	struct besides besides;      /* of all sessions */
	struct session_joins *joins; /* of all sessions; NULL: traces are not joined */
	bool *url_seen;              /* by URL: a session that it names was attached */
	bool *url_said;              /* by URL: it was reported as missing */
	struct event *signals[3];
	struct loop_signals *stop_signals;
	struct event *engine_event, *step_event, *duration_event, *input_event, *size_event,
		*watchdog_event, *state_event, *kept_event;
	struct metrics *metrics; /* NULL: they are not served */
	struct metrics_server *metrics_server;
	struct web *web;       /* NULL: no page is served */
	struct access *access; /* of both servers; NULL: no TLS, no users */
	struct control *control;
	struct output outputs[3]; /* of metrics, web and control, beside config->output */
	size_t output_count;
	VEC(struct dump *) dumps; /* state dumps that are asked for */
	uint64_t windows;         /* shown so far */
	bool is_stopping, has_failed;
	bool said_state; /* that the state cannot be saved was reported */
	/* A state that waits until the store has the windows before it. */
	bool is_state_waiting;
	uint64_t kept_wanted; /* windows, from the first */
	struct err err;
	struct run_summary ended; /* figures of freed sessions */
};

static inline void loop_stop(struct loop *loop)
{
	loop->is_stopping = true;
	(void)event_base_loopbreak(loop->base);
}

/* Says a line of the kind @fmt, or counts it (server/repeat.h). */
void loop_say(const struct loop *loop, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Stops if the output cannot be written. */
static inline void loop_check_output(struct loop *loop)
{
	if (output_check(loop->config->output, &loop->err) < 0) {
		loop->has_failed = true;
		loop_stop(loop);
	}
}

/* ---- loop-relay.c ---- */

/* Frees sessions that have ended.  Stops if nothing more can come. */
void loop_check(struct loop *loop);
/* A trace of any session whose connection was lost; see struct session_owner. */
struct live_trace *loop_find_away(void *user, const struct session *session, const uint8_t *uuid);
void loop_add_relay(struct loop *loop, const struct url *url);
void loop_free_relays(struct loop *loop);
void loop_on_session_change(void *user, struct session *session);

/* The relay that has the session; none in the list yet: it is being made. */
struct relay *loop_relay_of(const struct loop *loop, const struct session *session);

/* ---- loop-ended.c ---- */

void loop_note_ended(struct relay *relay, const struct session *session);
/* Forgets ended sessions that are no longer listed. */
void loop_prune_ended(struct relay *relay, const struct viewer_reply *reply);
/* It is not live, or was read to its end, and it is not time to attach to it again. */
bool loop_has_ended(const struct relay *relay, const struct viewer_session *listed);
/* Whether one of its id and name has ended. */
bool loop_is_again(const struct relay *relay, const struct viewer_session *listed);
/* See struct session_owner. */
bool loop_was_read(void *user, const struct session *session, const uint8_t *uuid);

/* ---- loop-checkpoint.c ---- */

/* Saves the state from time to time, if the configuration wants that. */
void loop_start_checkpoints(struct loop *loop);
/* Gives triggers the state of the checkpoint that the trace continues, once. */
void loop_restore_triggers(const struct loop *loop, struct live_trace *trace);
void loop_on_save(void *user, struct live_trace *trace, struct codec_out *out);

/* ---- loop-dump.c ---- */

/* See struct session_owner: says what is missed and what helps, or asks for it. */
void loop_on_late(void *user, const struct trace_identity *trace);
void loop_free_dumps(struct loop *loop);

/* ---- loop-capture.c ---- */

/* Callbacks of the engine, the actions, the sessions, the control socket and SIGUSR2. */
void loop_on_retained(void *user, const char *stream, struct retained *retained);
void loop_on_recalled(void *user, struct live_trace *trace, const char *stream,
		      struct retained *retained);
void loop_on_capture(void *context, const struct trace_identity *identity,
		     const struct trigger_event *event, unsigned int extras);
void loop_on_fired(void *context, const struct trace_identity *identity,
		   const struct trigger_event *event);
void loop_on_finished(void *user, struct session *session);
size_t loop_capture_now(void *user, uint64_t *ret_numbers, size_t most);
void loop_on_capture_signal(evutil_socket_t number, short what, void *arg);

/* Continues captures and reports those that are done; @wait: until all are. */
void loop_step_captures(struct loop *loop, bool wait);
