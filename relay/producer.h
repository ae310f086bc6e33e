/*
 * producer: messages that a consumer daemon sends to a relay, without sockets.
 *
 * Control connection: each command is a header of 24 bytes and a payload; replies come in order and
 * have no header.  Data connection: each packet follows a header of 32 bytes; there are no replies.
 * Layouts: doc/viewer-protocol.md, part B (2.11 to 2.15).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "relay/wire.h"

#define PRODUCER_MAJOR 2
#define PRODUCER_MINOR 15
#define PRODUCER_OK    10 /* LTTNG_OK in a reply */

enum producer_command {
	PRODUCER_ADD_STREAM = 1,
	PRODUCER_CREATE_SESSION = 2,
	PRODUCER_VERSION = 5,
	PRODUCER_SEND_METADATA = 6,
	PRODUCER_CLOSE_STREAM = 7,
	PRODUCER_DATA_PENDING = 8,
	PRODUCER_QUIESCENT_CONTROL = 9,
	PRODUCER_BEGIN_DATA_PENDING = 10,
	PRODUCER_END_DATA_PENDING = 11,
	PRODUCER_SEND_INDEX = 13,
	PRODUCER_STREAMS_SENT = 16,
	PRODUCER_ROTATE_STREAMS = 18,
	PRODUCER_CREATE_TRACE_CHUNK = 19,
	PRODUCER_CLOSE_TRACE_CHUNK = 20,
};

/* Sizes of replies.  For CLOSE_TRACE_CHUNK and CREATE_SESSION: of the fixed part. */
#define PRODUCER_REPLY_VERSION      8
#define PRODUCER_REPLY_SESSION      16 /* id u64, code u32, path length u32; then the path */
#define PRODUCER_REPLY_STREAM       12 /* handle u64, code u32 */
#define PRODUCER_REPLY_CODE         4
#define PRODUCER_REPLY_CLOSED_CHUNK 8 /* code u32, path length u32; then the path */

struct producer_message {
	VEC(uint8_t) bytes;
};

struct producer_session {
	const char *name, *host;
	uint32_t live_timer_us;
	uint8_t uuid[16]; /* of the session daemon */
	uint64_t id;      /* of the session at the session daemon */
	uint64_t creation_s;
	uint32_t minor; /* that both sides speak; from 15 on the next member is sent */
	bool is_ctf2;   /* else CTF 1.8 */
};

struct producer_index {
	uint64_t stream, net_seq_num;
	uint64_t packet_bits, content_bits;
	uint64_t begin, end; /* cycles */
	uint64_t discarded, class_id, instance_id, packet_seq_num;
};

struct producer_position {
	uint64_t stream, seq_num; /* where the stream leaves the chunk */
};

void producer_message_fini(struct producer_message *message);

/* Each replaces the content of @m by one message for the control connection. */
void producer_version(struct producer_message *m);
void producer_create_session(struct producer_message *m, const struct producer_session *session);
void producer_create_chunk(struct producer_message *m, uint64_t id, uint64_t creation_s);
/* @file_bytes, @file_count: of a stream at the relay, which overwrites the oldest file; 0: no
 * limit.
 */
void producer_add_stream(struct producer_message *m, const char *channel, const char *path,
			 uint64_t file_bytes, uint64_t file_count);
void producer_streams_sent(struct producer_message *m);
void producer_send_metadata(struct producer_message *m, uint64_t stream, const uint8_t *bytes,
			    size_t len);
void producer_send_index(struct producer_message *m, const struct producer_index *index);
/* A beacon: nothing older than @cycles will come from this stream. */
void producer_send_beacon(struct producer_message *m, uint64_t stream, uint64_t net_seq_num,
			  uint64_t cycles, uint64_t class_id);
void producer_begin_data_pending(struct producer_message *m, uint64_t session);
void producer_data_pending(struct producer_message *m, uint64_t stream, uint64_t last_net_seq_num);
/* For streams without packets and for the metadata: no data of this stream is in flight. */
void producer_quiescent(struct producer_message *m, uint64_t stream);
void producer_end_data_pending(struct producer_message *m, uint64_t session);
void producer_rotate(struct producer_message *m, const struct producer_position *positions,
		     uint32_t count);
void producer_close_chunk(struct producer_message *m, uint64_t id, uint64_t close_s);
void producer_close_stream(struct producer_message *m, uint64_t stream, uint64_t last_net_seq_num);

/* The header of one packet on the data connection. */
#define PRODUCER_DATA_HEADER_BYTES 32
void producer_data_header(uint8_t header[PRODUCER_DATA_HEADER_BYTES], uint64_t stream,
			  uint64_t net_seq_num, uint32_t bytes);

/* Replaces @m by the text, cut into metadata packets (CTF 1.8.3, 7.1) in the trace's byte order. */
void producer_wrap_metadata(struct producer_message *m, const char *text, size_t len,
			    const uint8_t uuid[16], bool is_be);
