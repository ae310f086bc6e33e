/*
 * session: one relay session being followed: its connection, its traces, its streams.
 *
 * Between the client (relay/client.h), which knows the protocol, and the engine, which
 * knows traces.  A session whose connection is lost stays, with its traces, until it is
 * attached to again; traces are recognised by their UUID, streams by their packets.
 */
#ifndef SILLAGE_LIVE_SESSION_SESSION_H
#define SILLAGE_LIVE_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "engine/trace.h"
#include "live/session/relay-connection.h"
#include "output/sink.h"
#include "relay/viewer.h"

struct engine;
struct event_base;
struct history;
struct history_trace;
struct session;
struct checkpoint_file;

enum session_state {
	SESSION_CONNECTING,
	SESSION_WATCHED, /* another viewer has it: try again later */
	SESSION_RUNNING,
	SESSION_AWAY, /* the connection was lost */
	SESSION_ENDED,
};

/* What a session needs of its owner. */
struct session_owner {
	void *user;
	struct event_base *base;
	struct engine *engine;
	bool from_beginning;
	struct checkpoint_file *checkpoint_file; /* to go on from, and to leave; NULL: none */
	uint64_t grace_ns;
	uint64_t lag_limit_ns; /* 0: never skip */
	void (*on_attach)(void *user, const struct trace_identity *trace, bool is_attach,
			  const char *reason);
	void (*say)(void *user, int verbosity, const char *text);
	void (*on_change)(void *user, struct session *session); /* the state changed */
	void (*on_progress)(void *user); /* the engine may have something to do */
	struct history *history;         /* of all sessions; NULL: none is kept */
	/* The traces have had their last windows and will be freed. */
	void (*on_finished)(void *user, struct session *session);
};

/* What reports and warnings of a trace carry (trace_new()'s user pointer). */
struct live_trace {
	struct session *session;
	struct trace_identity identity;
	struct trace *trace; /* NULL until its UUID is known */
	uint64_t relay_id;   /* ctf_trace_id, of this connection */
	bool is_away;        /* belongs to a lost connection */
	bool has_plan, has_failed, has_attached;
	VEC(uint8_t) metadata;         /* gathered before the trace is known */
	VEC(struct waiting) waiting;   /* packets that came before their metadata */
	struct history_trace *history; /* NULL: none is kept */
	struct rollup *rollup;         /* NULL: windows are shown as they come */
	struct run_summary before;     /* what another run had of it */
};

struct session *session_new(const struct session_owner *owner, const struct viewer_session *listed,
			    const struct relay_address *address);
void session_free(struct session *session);
void *session_owner_user(const struct session *session);

/* Connects (again); @listed as the relay lists it now. */
void session_connect(struct session *session, const struct viewer_session *listed);
enum session_state session_state(const struct session *session);
const struct viewer_session *session_listed(const struct session *session);
/* When a SESSION_WATCHED or SESSION_AWAY may be tried again. */
uint64_t session_retry_at(const struct session *session);
void session_set_listed(struct session *session, bool is_listed);

/* Something changed that may let it go on: room in the engine, time. */
void session_tick(struct session *session);

/* A window of one of its traces was @lag_ns late; may be called from inside a report. */
void session_lags(struct session *session, uint64_t lag_ns);

/* Ends all traces: last windows and totals; or (@is_over is false: we stop, it goes on) leaves
 * their states, if those are kept. */
void session_finish(struct session *session, const char *reason, bool is_over);
/* The time up to which its traces are known, 0: of none. */
uint64_t session_now(const struct session *session);
/* Dies with the next change of the session. */
struct live_trace *const *session_traces(const struct session *session, size_t *ret_count);
void session_totals_so_far(struct session *session);
void session_account(const struct session *session, struct run_summary *summary);

#endif
