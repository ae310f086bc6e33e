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

struct play_stream {
	uint64_t handle; /* of the relay */
	uint64_t sent;   /* packets */
	uint64_t last_seq_num;
	uint64_t beacon; /* cycles, the last one sent */
};

/* One trace being played. */
struct play {
	const struct player_config *config;
	const struct recorded_path *source;
	unsigned int number; /* among those played at once */
	int control, data;
	struct recorded trace;
	struct message message;
	char *session, *host, *path;
	uint64_t session_id, metadata_handle;
	VEC(struct play_stream) streams; /* by file */
	unsigned int replies;            /* codes not yet read */
	uint64_t first_ns;               /* of the trace */
	uint64_t start;                  /* monotonic, when it began to play */
	uint64_t next_beacon;
	uint64_t packets, bytes;
	uint8_t *buffer;
	size_t buffer_size;
	struct err err;
};

/* To the first address of the host that takes it; the descriptor. */
int play_connect(const struct url *url, uint16_t port, struct err *err);
int play_send(struct play *play, int fd, const void *bytes, size_t len);
/* Sends what is in play->message, on the control connection. */
int play_send_message(struct play *play);
/* Reads codes of index and beacon replies until at most @left are owed. */
int play_read_codes(struct play *play, unsigned int left);

/* A session with a stream for each file. */
int play_open(struct play *play);
int play_send_metadata(struct play *play);
/* Once the relay has all data. */
int play_close(struct play *play);

#endif
