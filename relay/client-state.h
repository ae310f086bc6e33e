/*
 * client-state: shared by the parts of the client: client.c (requests and replies), client-fetch.c
 * (packets) and client-poll.c (when the next request is due, also after errors).
 */
#pragma once

#include "base/hash.h"
#include "base/queue.h"
#include "relay/client.h"

#define NS_PER_MS UINT64_C(1000000)

#define GRID_NS_MAX  (50 * NS_PER_MS)
#define GRID_ONE_MAX (100 * NS_PER_MS) /* for live timers up to this the grid is the timer */
#define STREAMS_NS   (500 * NS_PER_MS) /* period of requests for new streams */

enum stream_state { STREAM_IDLE, STREAM_ASKED, STREAM_HELD, STREAM_FETCHING, STREAM_DONE };

struct client_stream {
	uint64_t id;
	size_t number; /* in client.streams */
	size_t trace;  /* in client.traces */
	void *user;
	enum stream_state state;
	bool index_asked;           /* an index request is in flight */
	uint64_t due;               /* ns: when to request the next index */
	uint64_t beacon;            /* time stamp of the last beacon, cycles */
	uint64_t heard;             /* ns: when the last beacon or packet arrived */
	unsigned int retries;       /* consecutive ones */
	unsigned int errors;        /* consecutive replies of no use to an index request */
	unsigned int announced;     /* how often */
	uint64_t name;              /* a hash of its path and channel */
	struct viewer_index index;  /* HELD, FETCHING */
	bool is_look, has_looked;   /* FETCHING: its first bytes only; they were fetched */
	uint8_t *bytes;             /* FETCHING: the packet so far */
	uint64_t len, done;         /* of bytes: size, and what has arrived */
	struct client_stream *next; /* HELD: in client.held; IDLE: in client.starved */
};

enum metadata_state { META_CURRENT, META_NEEDED, META_ASKED, META_FINAL };

struct client_trace {
	uint64_t id;              /* ctf_trace_id */
	uint64_t stream_id;       /* of the metadata stream */
	bool has_stream, has_any; /* the stream is known; some metadata arrived */
	enum metadata_state state;
	bool is_promised;    /* a flag told of more since some last arrived */
	unsigned int pieces; /* little ones, without a pause */
	unsigned int denied; /* replies that there is no more in spite of that, consecutive ones */
	uint64_t due;        /* ns: META_NEEDED, when to request it */
};

HASH_MAP(client_streams, struct client_stream *)
HASH_MAP(client_traces, size_t)

enum client_state { CLIENT_STARTING, CLIENT_RUNNING, CLIENT_DRAINING, CLIENT_ENDED };

struct client {
	struct client_config config;
	struct viewer *viewer;
	enum client_state state;
	uint64_t poll_ns;          /* pause before the next request to a stream without data */
	uint64_t grid_ns, tick_ns; /* see next_tick(); tick_ns: from a beacon to the next request */
	uint64_t gone_ns;          /* silence after which an unlisted session counts as gone */
	uint64_t new_streams_due;
	bool new_streams_asked, is_unlisted;
	unsigned int new_streams_errors; /* consecutive ones */
	uint64_t announced;              /* packets */
	bool stream_failed;              /* see client_stream_failed() */
	const char *wrong;               /* how the relay contradicts itself; NULL: it does not */
	unsigned int fetching;           /* packets in flight */
	uint64_t progress;               /* ns: when the last data or beacon arrived */
	VEC(struct client_stream *) streams;
	struct client_streams by_id;
	VEC(struct client_trace) traces; /* only ever grows */
	struct client_traces trace_by_id;
	size_t live_streams; /* not DONE */

	/* Work for a reply does not grow with the number of streams.  Each IDLE stream is in `idle`
	 * or in `starved`, each HELD one in `held`. */
	VEC(struct client_stream *) idle;    /* a heap by due */
	QUEUE(struct client_stream) starved; /* due, and may_fetch() said no */
	QUEUE(struct client_stream) held;
	size_t needed; /* traces that are NEEDED */
};

/* ---- client.c ---- */

/* NULL: none has this id. */
struct client_stream *client_stream_of(const struct client *client, uint64_t id);
void client_ask_index(struct client *client, struct client_stream *stream);

/* ---- client-fetch.c ---- */

/* The index of its next packet is here: does what the owner wants of it, at once or later. */
void client_hold(struct client *client, struct client_stream *stream);
/* The same for all for which it was not possible before. */
void client_take_held(struct client *client);
void client_on_packet(struct client *client, const struct viewer_reply *reply, uint64_t now);
/* The packet so far, which is not on its way any more. */
uint8_t *client_take_bytes(struct client *client, struct client_stream *stream);

/* ---- client-poll.c ---- */

/* When the next index is due after a beacon, after no news, and after a reply of no use; false: too
 * many of those. */
void client_stream_idle(const struct client *client, struct client_stream *stream, uint64_t beacon,
			uint64_t now);
void client_stream_retry(const struct client *client, struct client_stream *stream, uint64_t now);
bool client_stream_error(struct client_stream *stream, uint64_t now);
/* The same for requests for new streams. */
bool client_new_streams_error(struct client *client, uint64_t now);
/* An error is not the end.  If asking again does not help, attaching again may, unless the relay
 * would no longer have the session.  True: the connection is given up for that, because of @why, a
 * string constant. */
bool client_attach_again(struct client *client, const char *why);
/* The stream is IDLE: its next index is requested once that is due. */
void client_poll(struct client *client, struct client_stream *stream);
/* Requests an index of each stream for which that is due; false: of none. */
bool client_poll_due(struct client *client, uint64_t now);
