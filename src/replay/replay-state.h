/*
 * replay-state: one trace being replayed.
 *
 * replay-session.c opens and closes the session and its streams; replay.c sends the packets.  All
 * functions return 0, or a negative errno with replay->err set.
 */
#pragma once

#include "recorded/recorded.h"
#include "relay/producer.h"
#include "replay/replay.h"

struct replay_stream {
	uint64_t handle; /* assigned by the relay */
	uint64_t sent;   /* packets */
	uint64_t last_seq_num;
	uint64_t beacon; /* cycles: the last time reported */
};

struct replay {
	const struct replay_config *config;
	const struct recorded_path *source;
	unsigned int number; /* among the traces replayed together */
	int control, data;
	struct recorded trace;
	struct producer_message message;
	char *session, *host, *path;
	uint64_t session_id, metadata_handle;
	uint32_t minor;                    /* of the protocol that both sides speak */
	VEC(struct replay_stream) streams; /* by file */
	unsigned int replies;              /* reply codes not yet read */
	uint64_t first_ns;                 /* of the trace */
	uint64_t start;                    /* monotonic ns: when first_ns was replayed */
	uint64_t next_beacon;              /* monotonic ns */
	uint64_t packets, bytes;           /* sent */
	uint8_t *buffer;
	size_t buffer_size;
	int result; /* of its thread */
	struct err err;
};

/* Connects to the first address of the relay's host that accepts; returns the descriptor.  None of
 * these functions waits for long after a signal: they fail with -EINTR. */
int replay_connect(struct replay *replay, uint16_t port);
int replay_send(struct replay *replay, int fd, const void *bytes, size_t len);
/* At least a byte, at most @len; returns how many. */
ssize_t replay_receive(struct replay *replay, int fd, void *bytes, size_t len);
/* Sends replay->message on the control connection. */
int replay_send_message(struct replay *replay);
/* Reads reply codes of indexes and beacons until at most @left are outstanding. */
int replay_read_codes(struct replay *replay, unsigned int left);

/* Opens a session with a stream for each file. */
int replay_open(struct replay *replay);
int replay_send_metadata(struct replay *replay);
/* Waits until the relay has all data, then closes the session. */
int replay_close(struct replay *replay);
