/*
 * publish-state: one session that is published, and its two connections.
 *
 * publish-talk.c sends and receives, publish-session.c opens and closes the session and its
 * streams, publish-viewer.c looks for viewers; publish.c sends what the session is made of.
 */
#pragma once

#include <sys/types.h>

#include "base/mem.h"
#include "base/vec.h"
#include "publish/publish.h"
#include "relay/producer.h"

#define CONTROL_PORT  5342
#define REPLIES_AHEAD 64 /* replies to indexes and beacons that may be outstanding */

struct publish_stream {
	uint64_t handle; /* assigned by the relay */
	uint64_t sent;   /* packets */
	uint64_t last_seq_num;
	uint64_t beacon; /* cycles: the last time reported */
};

/* What the relay has when it has replied. */
struct publish_awaited {
	uint64_t packets, bytes, events; /* all 0 for a beacon */
};

struct publish {
	const struct url *relay;
	char *session, *host, *path;
	uint64_t number, live_timer_ns, silence_ns, file_bytes, file_count;
	bool is_ctf2;
	int control, data;
	uint32_t minor; /* of the protocol that both sides speak */
	uint64_t session_id, metadata_handle;
	VEC(struct publish_stream) streams;
	struct producer_message message;
	/* Replies are numbered: asked for, and read.  What is between them waits in a ring. */
	uint64_t asked, answered;
	struct publish_awaited awaited[REPLIES_AHEAD];
	struct publish_account account;
	struct err *err;
};

/* Connects to the first address of the relay's host that accepts; returns the descriptor. */
int talk_connect(struct publish *publish, uint16_t port);
int talk_send(struct publish *publish, int fd, const void *bytes, size_t len);
/* At least a byte, at most @len; returns how many. */
ssize_t talk_receive(struct publish *publish, int fd, void *bytes, size_t len);
/* Sends publish->message on the control connection. */
int talk_send_message(struct publish *publish);
/* The same; the relay will reply to an index or a beacon.  Replies are read as far as needed. */
int talk_send_awaited(struct publish *publish, const struct publish_awaited *what);
/* Reads those replies to indexes and beacons that have come. */
void talk_read_rest(struct publish *publish);
/* Sends the message and reads a reply of fixed size; replies to all earlier ones are read first. */
int talk_exchange(struct publish *publish, uint8_t *reply, size_t len);
/* The same for a reply that is a code, which has to be good. */
int talk_exchange_code(struct publish *publish, const char *doing);
/* Reads the path at the end of a reply, which is not used. */
int talk_skip_path(struct publish *publish, uint32_t len);

/* Opens the session, with its stream of metadata. */
int session_open(struct publish *publish);
