/*
 * viewer: one connection of the viewer protocol, without the socket.
 *
 *     requests ──► out ──► (socket)          each request is appended whole
 *     replies  ◄── want/fed ◄── (socket)     bytes may come in any pieces
 *
 * Replies come in the order of the requests.  Each request carries a tag, which its reply returns.
 * Packet bytes go straight to the memory that the request named.  Everything else is collected
 * here.  Every count and length is checked against a limit before memory is taken.
 *
 * To detach, close the connection: the protocol's DETACH_SESSION (9) is not used.
 *
 * Protocol facts: doc/viewer-protocol.md, part A.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/account.h"
#include "base/err.h"
#include "base/mem.h"
#include "relay/wire.h"

struct viewer_request {
	enum viewer_command command;
	uint64_t tag;
	uint8_t *into; /* VIEWER_GET_PACKET: where the bytes go ... */
	uint32_t len;  /* ... and exactly how many */
	bool begins;   /* VIEWER_GET_METADATA: the bytes begin a packet, or text */
};

struct viewer_reply {
	enum viewer_command command;
	uint64_t tag;
	uint32_t status;                       /* of the command; VIEWER_CONNECT: 0 */
	uint32_t major, minor;                 /* VIEWER_CONNECT */
	const struct viewer_session *sessions; /* VIEWER_LIST_SESSIONS */
	const struct viewer_stream *streams;   /* ATTACH_SESSION, GET_NEW_STREAMS */
	uint32_t count;                        /* of sessions or streams */
	struct viewer_index index;             /* GET_NEXT_INDEX */
	const uint8_t *bytes; /* GET_METADATA; NULL: there was no memory for them */
	uint64_t len;         /* of bytes */
};

struct viewer {
	VEC(uint8_t) out;                   /* to be sent; the owner takes it and resets count */
	VEC(struct viewer_request) pending; /* requests without a complete reply ... */
	size_t pending_first;               /* ... from here on */
	uint32_t minor;                     /* common protocol version; 0 before CONNECT */

	/* the reply being received */
	VEC(uint8_t) body;       /* bytes that arrived */
	size_t need;             /* bytes until the next decision */
	size_t direct;           /* of a packet: bytes still to go to `into` */
	size_t skip;             /* of a packet of another length: bytes still to be dropped */
	bool is_of_other_length; /* a packet of another length than requested has come: then ... */
	bool takes_any_length;   /* ... it is an error, or with this the packet is refused */
	bool is_other_version;   /* the relay is one, and speaks a version that is of no use */
	bool is_receiving;       /* need is set for the oldest request */
	bool has_head;           /* the fixed part has arrived */
	uint32_t count;          /* announced sessions or streams */
	uint32_t sessions_left;  /* still to come in a list of minor 15 ... */
	size_t session_at;       /* ... the next one starts here in the body */
	VEC(struct viewer_session) sessions;
	VEC(struct viewer_stream) streams;

	/* Of lists and metadata that are more than a connection may have anyway. */
	struct account *account; /* the owner sets it; NULL: nobody counts */
	enum account_kind kind;
	/* What the account has of the owner's for metadata that has not come; NULL: nothing. */
	uint64_t *advance;
	uint64_t charged; /* bytes of `kind` that the reply takes */
	bool is_refused;  /* the bytes of metadata are dropped */
};

void viewer_init(struct viewer *viewer);
void viewer_fini(struct viewer *viewer);

void viewer_connect(struct viewer *viewer);
void viewer_list_sessions(struct viewer *viewer);
void viewer_create_session(struct viewer *viewer);
void viewer_attach(struct viewer *viewer, uint64_t session_id, uint32_t seek);

void viewer_get_new_streams(struct viewer *viewer, uint64_t session_id);
/* @begins: what comes is at the beginning of a metadata packet, or of text.  Other bytes are an
 * error at once: relays announce more metadata than they send, in a race with a clear. */
void viewer_get_metadata(struct viewer *viewer, uint64_t stream_id, uint64_t tag, bool begins);
void viewer_get_index(struct viewer *viewer, uint64_t stream_id, uint64_t tag);
/* @into must stay valid until the reply. */
void viewer_get_packet(struct viewer *viewer, uint64_t stream_id, uint64_t offset, uint8_t *into,
		       uint32_t len, uint64_t tag);

/* The number of requests without a complete reply. */
size_t viewer_pending(const struct viewer *viewer);

/* Where the next bytes from the relay go; @ret_len is never 0. */
uint8_t *viewer_want(struct viewer *viewer, size_t *ret_len);

/*
 * @len bytes were put there.  1: a reply is complete, in @ret_reply, which is valid until the next
 * call.  0: more bytes are needed.  -EPROTO: the relay does not speak this protocol.
 */
int viewer_fed(struct viewer *viewer, size_t len, struct viewer_reply *ret_reply, struct err *err);
