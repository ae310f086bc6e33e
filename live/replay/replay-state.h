/*
 * player-state: a trace being played, and what is said to the relay about it.
 *
 * player-session.c opens a session and its streams, and closes them; player.c plays packets in
 * between.  All return 0, or a negative errno with the play's error set.
 */
#ifndef SILLAGE_LIVE_REPLAY_REPLAY_STATE_H
#define SILLAGE_LIVE_REPLAY_REPLAY_STATE_H

#include "live/replay/replay.h"
#include "recorded/recorded.h"
#include "relay/producer.h"

struct replay_stream {
	uint64_t handle; /* of the relay */
	uint64_t sent;   /* packets */
	uint64_t last_seq_num;
	uint64_t beacon; /* cycles, the last one sent */
};

/* One trace being played. */
struct replay {
	const struct replay_config *config;
	const struct recorded_path *source;
	unsigned int number; /* among those played at once */
	int control, data;
	struct recorded trace;
	struct producer_message message;
	char *session, *host, *path;
	uint64_t session_id, metadata_handle;
	VEC(struct replay_stream) streams; /* by file */
	unsigned int replies;              /* codes not yet read */
	uint64_t first_ns;                 /* of the trace */
	uint64_t start;                    /* monotonic, when it began to play */
	uint64_t next_beacon;
	uint64_t packets, bytes;
	uint8_t *buffer;
	size_t buffer_size;
	struct err err;
};

/* To the first address of the host that takes it; the descriptor. */
int replay_connect(const struct url *url, uint16_t port, struct err *err);
int replay_send(struct replay *replay, int fd, const void *bytes, size_t len);
/* Sends what is in play->message, on the control connection. */
int replay_send_message(struct replay *replay);
/* Reads codes of index and beacon replies until at most @left are owed. */
int replay_read_codes(struct replay *replay, unsigned int left);

/* A session with a stream for each file. */
int replay_open(struct replay *replay);
int replay_send_metadata(struct replay *replay);
/* Once the relay has all data. */
int replay_close(struct replay *replay);

#endif
