/*
 * session-state: what the parts of a session share: session.c (the connection), session-feed.c
 * (what comes over it) and session-trace.c (traces).
 */
#ifndef SILLAGE_LIVE_SESSION_SESSION_STATE_H
#define SILLAGE_LIVE_SESSION_SESSION_STATE_H

#include "live/session/session.h"

struct client;
struct decoder;
struct stream;

/* A packet that came before metadata made a plan. */
struct waiting {
	struct live_stream *stream;
	const char *lost; /* why it did not come; NULL: it did */
	uint8_t *bytes;
	uint64_t len;
};

struct live_stream {
	struct live_trace *trace;
	char *name;
	struct stream *stream; /* NULL until its trace is known */
	uint64_t heard;        /* monotonic: when it last told anything new */
	uint64_t idle;         /* monotonic: when the relay last had no more of it */
	uint64_t filling;      /* monotonic: since when its chunk waits for more, 0: it does not */
	uint64_t beacon;
	bool is_ended;
};

struct session {
	struct session_owner owner;
	struct viewer_session listed;
	struct relay_address address;
	enum session_state state;
	struct relay_connection *connection;
	struct client *client;
	struct event *timer;
	struct decoder *decoder;
	uint64_t retry_at, retry_ns; /* SESSION_WATCHED, SESSION_AWAY: when to try again */
	uint64_t attached_at;
	bool said_watched;
	bool is_listed;
	bool is_finishing;    /* the link is to be dropped after this callback */
	bool is_behind_limit; /* too far behind: to be skipped from the loop */
	bool skips;           /* the next connection begins with now */
	VEC(struct live_trace *) traces;
	VEC(struct live_stream *) streams;
	struct run_summary account; /* of traces already finished */
};

/* A line about the session. */
void session_say(const struct session *session, int verbosity, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- session-feed.c: client_events of a session (relay/client.h) ---- */

void session_on_metadata(void *user, uint64_t trace_id, const uint8_t *bytes, uint64_t len);
void *session_on_stream(void *user, const struct viewer_stream *announced);
void session_on_packet(void *user, void *arg, const struct viewer_index *index, uint8_t *bytes,
		       uint64_t len);
void session_on_packet_lost(void *user, void *arg, const char *why);
void session_on_idle(void *user, void *arg, bool has_beacon, uint64_t cycles);
void session_on_stream_end(void *user, void *arg);
bool session_may_fetch(void *user, void *arg);

/* ---- session-trace.c ---- */

/* The trace that the relay calls so, made when new. */
struct live_trace *session_find_trace(struct session *session, uint64_t relay_id, const char *path);
void session_trace_free(struct live_trace *trace);
/* Packets that came before their metadata go. */
void session_trace_drop_waiting(struct live_trace *trace);
void session_trace_account(const struct live_trace *trace, struct run_summary *summary);
/* Its last window and total; or (@is_over is false) its state is left, if states are kept. */
void session_trace_finish(struct live_trace *trace, const char *reason, bool is_over);
/* Decides which engine trace the metadata is for, once it tells. */
void session_trace_bind(struct live_trace *trace);
/* It cannot be analysed. */
void session_trace_fail(struct live_trace *trace, const struct err *err);
/* There is new metadata: it may be whole enough to be shown. */
void session_trace_note_plan(struct live_trace *trace);

#endif
