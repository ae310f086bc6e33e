/*
 * client: follows one relay session as a viewer.  It has no socket and reads no clock.
 *
 *     owner                    client                    viewer
 *       client_start  ───────►  CONNECT, CREATE, ATTACH ──►
 *       client_reply  ◄───────────────────────────────────  (each reply)
 *       client_tick   ───────►  polls that are due ───────►
 *                     ◄───────  events: streams, metadata, packets, beacons, end
 *
 * Per data stream:
 *
 *     IDLE ── due ──► ASKED ── OK ──► HELD ── room ──► FETCHING ── OK ──► IDLE or ASKED
 *       ▲               │ RETRY, INACTIVE                 │ ERROR: packet lost
 *       └───────────────┘ HUP ──► DONE; ERROR: asked again after a pause
 *
 * A stream that is announced again after its end is read again.
 *
 * A stream has at most one index request in flight and at most one packet being fetched.  At most
 * RELAY_IN_FLIGHT_MAX packets of all streams are fetched at the same time; further streams stay
 * HELD.
 *
 * The owner may pass over the packet of an index (wants_packet()).  So a stream is walked by its
 * indexes, which costs 64 bytes a packet.
 *
 * Per trace, its metadata:
 *
 *     NEEDED ── due ──► ASKED ── OK ──► ASKED (until the relay has no more)
 *       ▲  ▲              │ NO_NEW: CURRENT, or NEEDED if it is none yet, not whole, or
 *       │  │              │ a flag told of more, which is asked for some times
 *       │  └──────────────┤ ERROR ──► FINAL
 *       └── flag ── CURRENT
 *
 * Each of these rules avoids a fault of some relayd (doc/viewer-protocol.md, A12):
 *   - one connection follows one session;
 *   - the next index of a stream is requested only after its last packet was;
 *   - a packet is fetched completely before the next one of its stream;
 *   - new streams are requested on every flag and on a timer;
 *   - HUP of the session does not end its streams.
 *
 * Time is an argument, in ns of any clock that does not go back.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "relay/viewer.h"

struct account;
struct client;

enum client_end {
	CLIENT_FINISHED, /* the session ended and all its data was read */
	CLIENT_GONE,     /* the session vanished; unread data is lost */
};

/* What the owner wants of the packet whose index is held. */
enum client_wish {
	CLIENT_FETCH,
	CLIENT_PASS, /* nothing; the next index is requested at once */
	CLIENT_LOOK, /* its first PACKET_HEAD_BYTES; on_look() gets them, then it is asked again */
	CLIENT_WAIT, /* not known yet: it is asked again at each tick */
};

/* All are called from client_reply() or client_tick(). */
struct client_events {
	/* Attached; streams follow. */
	void (*on_attached)(void *user);
	/* The relay refused: an enum viewer_attach_status other than OK. */
	void (*on_refused)(void *user, uint32_t status);
	/* A data stream appeared.  The result is passed to the later calls about this stream. */
	void *(*on_stream)(void *user, const struct viewer_stream *stream);
	/* @bytes NULL: there was no memory for so many, and they are gone. */
	void (*on_metadata)(void *user, uint64_t trace_id, const uint8_t *bytes, uint64_t len);
	/* Whether more of it is of any use; NULL: it is. */
	bool (*wants_metadata)(void *user, uint64_t trace_id);
	/* All that the relay has now was passed on.  False: it is not whole, so more will come. */
	bool (*on_metadata_end)(void *user, uint64_t trace_id);
	/* The relay has more than that after all, and does not hand it out yet.  May be NULL. */
	void (*on_metadata_due)(void *user, uint64_t trace_id);
	/* Whether the metadata so far ends with a packet of it, so that the next bytes begin one.
	 */
	bool (*ends_packet)(void *user, uint64_t trace_id);
	/* The content of a whole packet.  @bytes is from malloc(); the callee frees it. */
	void (*on_packet)(void *user, void *stream, const struct viewer_index *index,
			  uint8_t *bytes, uint64_t len);
	/* A packet was announced but could not be fetched; @why is a string constant.  @index: NULL
	 * if its times cannot be believed. */
	void (*on_packet_lost)(void *user, void *stream, const struct viewer_index *index,
			       const char *why);
	/* The stream has no data now.  @has_beacon: nothing older than @cycles will come. */
	void (*on_idle)(void *user, void *stream, bool has_beacon, uint64_t cycles);
	void (*on_stream_end)(void *user, void *stream);
	/* Index requests are answered with this status for too long: its rest is lost; it ends. */
	void (*on_stream_broken)(void *user, void *stream, uint32_t status);
	/* What is announced contradicts what was before; @why is a string constant. */
	void (*on_stream_not_followed)(void *user, const struct viewer_stream *stream,
				       const char *why);
	/* Requests for new streams are: those that appear from now on are not followed. */
	void (*on_new_streams_broken)(void *user, uint32_t status);
	/* From client_abandon() only: a packet that was announced with this index. */
	void (*on_unfetched)(void *user, void *stream, const struct viewer_index *index);
	void (*on_end)(void *user, enum client_end end);
	/* Whether another packet of this stream may be fetched now. */
	bool (*may_fetch)(void *user, void *stream);
	/* NULL: all packets are fetched.  CLIENT_LOOK a second time fetches the packet. */
	enum client_wish (*wants_packet)(void *user, void *stream,
					 const struct viewer_index *index);
	/* The first bytes of a packet, valid during the call.  Needed for CLIENT_LOOK only. */
	void (*on_look)(void *user, void *stream, const struct viewer_index *index,
			const uint8_t *bytes, uint64_t len);
};

struct client_config {
	uint64_t session_id;
	uint32_t seek; /* VIEWER_SEEK_... */
	uint32_t live_timer_us;
	struct account *account; /* of packets on their way; NULL: nobody counts */
	bool gives_streams_up;   /* attaching again has not helped: see client_stream_failed() */
	uint64_t phase_ns; /* a time of our clock at which the wall clock shows a whole second */
	const struct client_events *events;
	void *user;
};

struct client *client_new(const struct client_config *config, struct viewer *viewer);
void client_free(struct client *client);

/* Sends the first requests, once connected. */
void client_start(struct client *client, uint64_t now);

/* Handles a reply.  -EPROTO: the relay contradicts itself; drop the connection. */
int client_reply(struct client *client, const struct viewer_reply *reply, uint64_t now,
		 struct err *err);

/* Makes the requests that are due.  Call it again at client_due(), and when may_fetch() may have
 * changed. */
void client_tick(struct client *client, uint64_t now);
uint64_t client_due(const struct client *client);

/* Of the relay's version 2.x, at most VIEWER_MINOR; 0: it has not said. */
uint32_t client_minor(const struct client *client);
/* Packets whose index came. */
uint64_t client_announced(const struct client *client);
/* Whether the relay said that the session has ended: it does not hand it out again. */
bool client_is_draining(const struct client *client);
/* Whether it gave the connection up because requests for an index, or for new streams, fail. */
bool client_stream_failed(const struct client *client);
/* The connection is over: calls on_unfetched() for each stream with a packet that was announced and
 * not fetched. */
void client_abandon(struct client *client);

/* Whether the relay still lists the session.  An unlisted and silent session counts as gone. */
void client_set_listed(struct client *client, bool is_listed);
