/*
 * session-state: shared by the parts of a session: session.c (connection and states),
 * session-feed.c (from the relay to the engine), session-room.c (what there is memory for),
 * session-walk.c (packets that are not fetched),
 * session-recall.c (packets that are fetched once more), session-trace.c (traces) and
 * session-join.c (traces of several sessions that are one) and session-end.c.
 */
#pragma once

#include "base/account.h"
#include "ctf/clock.h"
#include "engine/contract/beside.h"
#include "engine/stream.h"
#include "live/session/session.h"
#include "relay/client.h"

struct decoder;

/* A packet that arrived before its metadata, or packets that are lost in this place. */
struct session_waiting {
	struct live_stream *stream;
	const char *lost; /* why they are missing; NULL: it is there */
	uint64_t packets; /* that are lost */
	uint8_t *bytes;
	uint64_t len;
	struct viewer_index index; /* that announced it */
};

/* Which packets of a stream are fetched; see session-walk.c. */
enum walk {
	WALK_UNKNOWN,  /* it may continue an earlier stream: its identity is not known yet */
	WALK_TO_PLACE, /* it does: packets before that place are passed over */
	WALK_OVER,     /* every packet is fetched */
};

struct live_stream {
	struct live_trace *trace;
	uint64_t id; /* valid for this connection */
	char *name;
	uint64_t unfetched;    /* packets that were announced and are gone with the connection */
	struct stream *stream; /* NULL until its trace is known */
	uint64_t heard;        /* monotonic ns: when a packet or newer beacon last came */
	uint64_t idle;         /* monotonic ns: when the relay last had no more data of it */
	uint64_t filling;      /* monotonic ns: since when its chunk fills; 0: it is empty */
	uint64_t beacon;       /* cycles: the last one */
	bool has_packet;
	bool is_ended;
	bool is_excluded; /* windows do not wait for it: it is silent */
	enum walk walk;
	uint64_t walk_begun;       /* monotonic ns; 0: not yet */
	struct stream_place place; /* WALK_TO_PLACE, with the next two */
	struct clock clock;
	uint64_t seq_num;   /* of the next packet, at least; UINT64_MAX: unknown */
	bool is_recalled;   /* the packet that is fetched was analysed before */
	bool has_caught_up; /* what the relay had when packets were recalled has come */
};

/* See session_recall(). */
struct recall {
	bool is_on;
	bool is_refused;     /* it cannot be: the session has ended */
	bool is_due;         /* the session has to be attached to from its beginning */
	bool has_passed;     /* packets behind the range have come, and were not given */
	uint64_t begin, end; /* ns: of the range */
	uint64_t until;      /* ns: what was known when it was asked for */
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
	uint64_t retry_at;    /* monotonic ns: SESSION_REFUSED, SESSION_AWAY: when to try again */
	uint64_t retry_ns;    /* the pause before that, which doubles */
	uint64_t attached_at; /* monotonic ns */
	uint64_t looked_at;   /* monotonic ns: when all streams were last walked over */
	bool has_starved;     /* since the last tick: a request waits for room in the engine */
	bool said_watched;    /* another viewer has it: was reported */
	bool is_listed;
	uint64_t orphaned_at;    /* monotonic ns: see session_is_orphaned(); 0: it is not */
	bool said_unlisted;      /* that the relay does not list it any more */
	uint64_t unlisted_since; /* monotonic ns: SESSION_AWAY, while the relay is there; 0: not */
	bool is_finishing;       /* the connection will be dropped after this callback */
	bool is_behind_limit;    /* too far behind: the next tick reconnects */
	bool said_short;         /* that short programs may lose their last packets */
	bool said_refused;       /* that the relay refuses to attach */
	bool takes_any_length;   /* a relay sends packets of another length than requested */
	unsigned int stream_failures; /* connections given up because requests for a stream fail */
	unsigned int useless; /* ... because the relay broke the protocol, and nothing new came */
	struct recall recall;
	uint64_t advance; /* bytes of the account, for metadata */
	bool skips;       /* the next connection starts at the present, not where this ended */
	VEC(struct live_trace *) traces;
	struct beside *beside;     /* what they record together, and other sessions of this name */
	struct session_join *join; /* of these sessions; NULL: their traces are not one */
	uint64_t away_since;       /* monotonic ns: SESSION_AWAY and later */
	const char *end_reason;    /* SESSION_READ; a constant */
	bool notes_read;           /* SESSION_READ: it was read to its end */
	VEC(struct live_stream *) streams;
	bool has_ended_streams;     /* of these; one may be announced again */
	struct run_summary account; /* figures of finished traces, and of all connections */
	VEC(uint8_t) read_uuids;    /* see session_read_uuids() */
	bool is_read;               /* see session_is_read() */
	bool is_again;              /* see session_new() */
};

/* What packets of the trace are read by; NULL: it is not known. */
static inline const struct plan *session_plan(const struct live_trace *trace)
{
	return trace->trace ? trace_part_plan(trace->trace, trace->part) : NULL;
}

#define STEADY_NS (5 * NS_PER_S) /* after this a connection counts as stable */

void session_set_state(struct session *session, enum session_state state);

/* ---- session-end.c ---- */

/* It is over, and has no connection any more, or its caller drops that: @reason is a constant. */
void session_end(struct session *session, const char *reason);
/* Of a session that is SESSION_READ: the trace's streams hold back nothing any more, unless its
 * packets wait for others. */
void session_end_trace(struct live_trace *trace);
/* Ends one that is SESSION_READ. */
void session_end_read(struct session *session, bool is_over);

/* Reports a line about the session. */
void session_say(const struct session *session, int verbosity, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Something came of the stream. */
void session_hear(struct live_stream *stream);

/* ---- session-feed.c: client_events of a session (relay/client.h) ---- */

void session_on_metadata(void *user, uint64_t trace_id, const uint8_t *bytes, uint64_t len);
void *session_on_stream(void *user, const struct viewer_stream *announced);
/* What waits for metadata is dropped, and may be announced again; @stream NULL: of all streams. */
void session_leave_waiting(struct live_trace *trace, const struct live_stream *stream);
/* The stream may be announced again, with what was not fetched of it. */
void session_leave_stream(struct live_stream *stream);
void session_on_packet(void *user, void *arg, const struct viewer_index *index, uint8_t *bytes,
		       uint64_t len);
void session_on_packet_lost(void *user, void *arg, const struct viewer_index *index,
			    const char *why);
void session_on_idle(void *user, void *arg, bool has_beacon, uint64_t cycles);
void session_on_stream_end(void *user, void *arg);
void session_on_stream_broken(void *user, void *arg, uint32_t status);
void session_on_stream_not_followed(void *user, const struct viewer_stream *announced,
				    const char *why);
void session_on_new_streams_broken(void *user, uint32_t status);
bool session_wants_metadata(void *user, uint64_t trace_id);
bool session_on_metadata_end(void *user, uint64_t trace_id);
void session_on_metadata_due(void *user, uint64_t trace_id);
bool session_ends_packet(void *user, uint64_t trace_id);
/* Whether the index is that of another packet: neither of its times is right. */
bool session_is_other_packet(const struct packet_info *info, const struct viewer_index *index);
/* Whether packets can be decoded now. */
bool session_is_ready(const struct live_trace *trace);
/* Bound just now: it has the metadata that was kept.  Its packets go on if they need not wait. */
void session_trace_begin(struct live_trace *trace);
/* Packets that waited go on. */
void session_trace_go_on(struct live_trace *trace);

/* ---- session-room.c ---- */

struct account *session_memory(const struct session *session);
/* Its metadata has come, or does not come soon. */
void session_end_advance(struct session *session);
/* What becomes of the packet of an index, which is to be fetched.  CLIENT_PASS: it is lost. */
enum client_wish session_admit(struct live_stream *stream, const struct viewer_index *index);
/* Reports packets that wait for their metadata for long; gives some up where memory is short. */
void session_check_waiting(struct session *session);
bool session_may_fetch(void *user, void *arg);

/* ---- session-walk.c: client_events, too ---- */

void session_on_unfetched(void *user, void *arg, const struct viewer_index *index);
/* Whether the engine has had the packet, before the connection was lost. */
bool session_had_packet(const struct live_stream *stream, const struct viewer_index *index);
/* It will not be analysed: how many packets are lost with it, or come again on the next connection.
 * One that was analysed on a connection before is counted as such, here. */
uint64_t session_lose_waiting(const struct session_waiting *waiting);
enum client_wish session_wants_packet(void *user, void *arg, const struct viewer_index *index);
void session_on_look(void *user, void *arg, const struct viewer_index *index, const uint8_t *bytes,
		     uint64_t len);

/* ---- session-recall.c ---- */

/* Attached from the beginning: all packets come again. */
void session_recall_restart(struct session *session);
/* Whether a packet that was analysed is to be fetched again; its times are in the stream's clock.
 */
bool session_recall_wants(struct live_stream *stream, const struct viewer_index *index);
/* A packet of that kind has come. */
void session_recall_take(struct live_stream *stream, uint8_t *bytes, uint64_t len);
/* A packet, of that kind or not, cannot be had.  @index: NULL if its times cannot be believed. */
void session_recall_lose(struct live_stream *stream, const struct viewer_index *index);
/* Copies a packet that will be analysed, if it is wanted. */
void session_recall_copy(struct live_stream *stream, const struct packet_info *info,
			 const uint8_t *bytes, uint64_t len);

/* ---- session-trace.c ---- */

/* The trace with this id on the current connection; created if it is new. */
struct live_trace *session_find_trace(struct session *session, uint64_t relay_id, const char *path);
/* The trace of a lost connection that has the same name at the relay; NULL: none is known. */
struct live_trace *session_find_namesake(const struct live_trace *trace);
void session_trace_free(struct live_trace *trace);
/* The kernel's that it was joined to is finished. */
void session_trace_leave(struct live_trace *trace);
/* Attached again.  A trace that was not known yet when its connection was lost comes as a new one.
 */
void session_trace_announced_again(struct live_trace *trace);
/* Drops the metadata before its UUID is known. */
void session_trace_drop_metadata(struct live_trace *trace);
/* Drops the packets that wait for metadata; those of one stream, if @stream is not NULL. */
void session_trace_drop_waiting(struct live_trace *trace, const struct live_stream *stream);
void session_trace_account(const struct live_trace *trace, struct run_summary *summary);
/* See session_finish(). */
void session_trace_finish(struct live_trace *trace, const char *reason, bool is_over);
/* See session_checkpoint(). */
void session_trace_checkpoint(struct live_trace *trace);
/* Finds or creates the engine's trace, if the metadata so far contains the UUID. */
void session_trace_bind(struct live_trace *trace);
/* Of one whose metadata is kept: whether it is a trace of a lost connection. */
bool session_trace_finds_away(const struct live_trace *trace);
/* Reports the packets that wait, which are lost; how many they are. */
uint64_t session_trace_lose_waiting(const struct live_trace *trace);
/* Its streams hold back nothing any more. */
void session_trace_end_streams(struct live_trace *trace);
/* Whether it continues a trace of a lost connection or of the checkpoint file, or may turn out to.
 */
bool session_trace_may_resume(const struct live_trace *trace);
/* Reports that it cannot be analysed; its packets are dropped from now on. */
void session_trace_fail(struct live_trace *trace, const struct err *err);
/* Whether it has the id of a session that has ended, and no trace that was not read with that. */
bool session_has_only_read(const struct session *session);
/* It was read to its end: notes which traces were. */
void session_note_read(struct session *session);
/* Call it after new metadata: reports the trace as attached once there is a plan. */
void session_trace_note_plan(struct live_trace *trace);

/* ---- session-join.c: all do nothing without owner.joins ---- */

void session_join_enter(struct session *session);
void session_join_leave(struct session *session);
/* Of a trace that is not bound: all of its metadata that the relay has now is kept.  Whether it is
 * whole: then session_join_step() binds it. */
bool session_join_take(struct live_trace *trace);
void session_join_step(struct session *session);
/* Whether its metadata is whole, and it waits to be bound. */
bool session_join_binds(const struct live_trace *trace);
/* The trace that others are joined to. */
struct live_trace *session_join_kernel(const struct session *session);
/* Whether packets of a bound trace wait for others. */
bool session_join_waits(const struct live_trace *trace);
/* Whether the session has to stay: its traces wait for others, or others are joined to them. */
bool session_join_holds(const struct session *session);
/* The engine's trace was taken over from one of a lost connection. */
void session_join_note_resumed(const struct live_trace *before, struct live_trace *trace);
/* It will be freed: who is joined to it has no trace any more. */
void session_join_forget(const struct live_trace *trace);
/* Calls @call for the session, and for each that has a trace joined to one of its. */
void session_join_each(struct session *session, void (*call)(struct session *session, uint64_t arg),
		       uint64_t arg);
