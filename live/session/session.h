/*
 * session: one relay session that is followed: its connection, its traces, its streams.
 *
 * It connects the client (relay/client.h), which knows the protocol, with the engine, which knows
 * traces.
 *
 *     CONNECTING ── attached ──► RUNNING ── all is read, or it is gone ──► ENDED
 *       ▲ ▲  │ │                   │
 *       │ │  │ └── lost ──► AWAY ◄─┘ connection lost, or too far behind
 *       │ │  │               │
 *       │ └──│── retry ──────┘
 *       │    └── refused: another viewer has it, or something else ──► REFUSED
 *       └── retry ────────────────────────────────────────────────────────┘
 *
 * One that is read to its end is READ before it is ENDED while others that are one with it are not
 * (session-join.c).
 *
 * Promises:
 *   - A session whose connection is lost keeps its traces.  When it is attached again, traces are
 *     recognised by their UUID, in whatever session of the name they come, and streams by their
 *     packets.  A trace without UUID is recognised by its path, if the session has the same id.
 *   - Packets that arrive before their metadata wait for it, in their order.  They also wait while
 *     the metadata so far ends inside a declaration.
 *   - No packet is fetched while the engine has no room, except for the stream that holds back all
 *     others.
 *   - A stream that is silent for the grace period does not hold back windows.
 *
 * The owner decides when to connect again (session_retry_at()), and frees the session.  It is told
 * through struct session_owner; all calls come from the event loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "ctf/metadata/kin.h"
#include "engine/trace.h"
#include "live/session/relay-connection.h"
#include "output/sink.h"
#include "relay/viewer.h"

struct besides;
struct engine;
struct live_trace;
struct event_base;
struct history;
struct history_trace;
struct retained;
struct session;
struct session_joins;
struct checkpoint_file;

enum session_state {
	SESSION_CONNECTING,
	SESSION_REFUSED, /* another viewer has it, or the relay has other reasons: try again later
			  */
	SESSION_RUNNING,
	SESSION_AWAY, /* the connection was lost */
	SESSION_READ, /* it is over, and others whose traces are one with its own are not */
	SESSION_ENDED,
};

/* What a session gets from its owner. */
struct session_owner {
	void *user;
	struct event_base *base;
	struct engine *engine;
	bool from_beginning;
	uint64_t from_ns; /* packets that end before this time are not fetched; 0: all are */
	struct checkpoint_file *checkpoint_file; /* to resume from and to save; NULL: none */
	bool wants_phases, has_calls; /* calls were asked for: they are series of phases */
	uint64_t grace_ns;
	uint64_t lag_limit_ns; /* 0: never skip */
	void (*on_attach)(void *user, const struct trace_identity *trace, bool is_attach,
			  const char *reason);
	/* It was attached to from a later time than its begin: its state dump is missed.  May be
	 * NULL. */
	void (*on_late)(void *user, const struct trace_identity *trace);
	/* Lines of one @kind differ only in names and numbers. */
	void (*say)(void *user, int verbosity, const char *kind, const char *text);
	void (*on_change)(void *user, struct session *session); /* the state changed */
	void (*on_progress)(void *user);                        /* the engine may have work */
	/* A trace with this UUID of another session of the same relay and name whose connection was
	 * lost; @uuid NULL: any.  Returns NULL if there is none; may be NULL. */
	struct live_trace *(*find_away)(void *user, const struct session *session,
					const uint8_t *uuid);
	/* Whether a session of the same relay and name has read the trace with this UUID to its
	 * end, before the relay was started again or the relay used its id again; @uuid NULL: any.
	 * May be NULL. */
	bool (*was_read)(void *user, const struct session *session, const uint8_t *uuid);
	struct history *history; /* of all sessions; NULL: none */
	struct besides *besides; /* of all sessions */
	/* Of all sessions: traces of programs are read with their kernel's as one; NULL: each by
	 * itself, as it must be with a checkpoint_file. */
	struct session_joins *joins;
	/* A packet that session_recall() asked for, with its reference; @stream: its name. */
	void (*on_recalled)(void *user, struct live_trace *trace, const char *stream,
			    struct retained *retained);
	/* A checkpoint of the trace is made: the owner adds what it knows of the trace. */
	void (*on_save)(void *user, struct live_trace *trace, struct codec_out *out);
	/* The traces have reported their last windows and will be freed. */
	void (*on_finished)(void *user, struct session *session);
};

/* A trace of the session; the user pointer of its reports and warnings (trace_new()). */
struct live_trace {
	struct session *session;
	struct trace_identity identity;
	struct trace *trace;   /* NULL until its UUID is known; others' too, if it is a part */
	uint32_t part;         /* of that; above 0: it was joined to a kernel's */
	uint32_t parts;        /* that were joined to it */
	uint64_t relay_id;     /* ctf_trace_id, valid for this connection */
	uint64_t session_id;   /* of the relay, when it was announced */
	bool is_away;          /* belongs to a lost connection */
	bool has_plan;         /* some packets can be decoded */
	bool is_current;       /* all that were announced can: no metadata is missing */
	bool has_failed;       /* it cannot be analysed; its packets are dropped */
	bool was_read;         /* it has failed because all of it came before */
	bool has_attached;     /* on_attach was called */
	bool said_late;        /* on_late was called */
	bool has_window;       /* the owner's: it has reported a window */
	bool is_resumed;       /* continues a lost connection, or a checkpoint */
	VEC(uint8_t) metadata; /* received before the UUID is known */
	/* With owner.joins, before it is bound: its metadata is whole, what that says of it, and
	 * whether it is bound by itself in any case, or now to the kernel's. */
	bool is_known, stands_alone, joins;
	struct kin kin;
	VEC(struct session_waiting) waiting; /* packets that came before their metadata */
	uint64_t since;          /* ns: where its first packet begins; 0: none was fed */
	uint64_t waits_since;    /* monotonic ns: since when, without new metadata */
	bool said_waiting;       /* that they do was reported */
	bool said_given_up;      /* that they are lost was reported */
	uint64_t dropped;        /* packets lost because the metadata cannot be read ... */
	uint64_t dropped_before; /* ... and on connections before, which come again */
	uint64_t
		unfetched; /* packets gone with the connection, of a trace that was not known yet */
	VEC(uint8_t) attached; /* what the owner attached to the checkpoint that it continues */
	struct history_trace *history; /* NULL: none */
	struct rollup *rollup;         /* the owner's; NULL: windows are shown as they come */
	struct phases *phases;         /* the owner's; NULL: not wanted */
	struct run_summary before;     /* figures of the run that is resumed */
};

/* @is_again: it has the id and the name of one that was read to its end.  Its traces tell whether
 * it is this one: then it ends as soon as that is known. */
struct session *session_new(const struct session_owner *owner, const struct viewer_session *listed,
			    const struct relay_address *address, bool is_again);
bool session_is_again(const struct session *session);
void session_free(struct session *session);
void *session_owner_user(const struct session *session);

/* Connects (again); @listed: the session as the relay lists it now. */
void session_connect(struct session *session, const struct viewer_session *listed);
enum session_state session_state(const struct session *session);
const struct viewer_session *session_listed(const struct session *session);
/* The same for sessions that are one: LTTng makes one for each domain, of the same host and name.
 */
const void *session_one(const struct session *session);
/* SESSION_AWAY: it has ended, with a trace of an earlier connection that did not come again.  For a
 * moment it waits for another session of its name that has this trace. */
bool session_is_orphaned(const struct session *session);
/* Monotonic ns: when SESSION_REFUSED or SESSION_AWAY may be tried again. */
uint64_t session_retry_at(const struct session *session);
void session_set_listed(struct session *session, bool is_listed);
/* All sessions were listed.  Without a connection, one that is not among them has ended: at once if
 * it was refused, after @wait_ns if its connection was lost. */
void session_check_listed(struct session *session, uint64_t wait_ns);

struct session_joins *session_joins_new(void);
void session_joins_free(struct session_joins *joins); /* after all sessions; NULL is fine */
/* Goes on with what waits for others, or for time; from time to time.  @is_last: nothing is waited
 * for any longer.  NULL is fine. */
void session_joins_step(struct session_joins *joins, bool is_last);
/* Whether traces of other sessions are joined to one of it: they have to be finished first. */
bool session_has_parts(const struct session *session);

/* Makes the requests that are due. */
void session_tick(struct session *session);
/* The engine may have room again: makes those that waited for that. */
void session_tick_starved(struct session *session);

/* A window of one of its traces was reported @lag_ns after its end.  May be called from a report.
 */
void session_lags(struct session *session, uint64_t lag_ns);

/* Ends all traces with their last windows and totals.  @is_over false: this program stops but the
 * session goes on, so that checkpoints are saved, if there is a file for them. */
void session_finish(struct session *session, const char *reason, bool is_over);
/* Puts checkpoints of its traces into the file; they go on.  Reports windows that close. */
void session_checkpoint(struct session *session);
/*
 * Gets again what the relay has of [@begin, @end] (ns), and what comes of it until
 * session_recall_end(): on_recalled() gives the packets that overlap it.  What was analysed is not
 * analysed again.  For this the session is attached to once more, from its beginning, and its
 * indexes are walked.  Calling it again does so again only if the range has grown by what has gone
 * by.  May be called from a report.
 */
void session_recall(struct session *session, uint64_t begin, uint64_t end);
bool session_recalls(const struct session *session);
/* Whether all that the relay had when it was asked has come. */
bool session_has_recalled(const struct session *session);
/* Tells the histories of the traces which packets could not be had. */
void session_recall_note_gone(const struct session *session);
/* The packets are not needed any more. */
void session_recall_end(struct session *session);
/* ns: the latest time up to which one of its traces is known; 0: none is. */
uint64_t session_now(const struct session *session);
/* Whether it was read to its end, and each of its traces has a UUID. */
bool session_is_read(const struct session *session);
/* The UUIDs of traces that were read to their end, 16 bytes each. */
const uint8_t *session_read_uuids(const struct session *session, size_t *ret_count);
/* Its trace of a lost connection that has this UUID; @uuid NULL: any. */
struct live_trace *session_find_away(const struct session *session, const uint8_t *uuid);
/* Valid until the next change of the session. */
struct live_trace *const *session_traces(const struct session *session, size_t *ret_count);
void session_totals_so_far(struct session *session);
void session_account(const struct session *session, struct run_summary *summary);
