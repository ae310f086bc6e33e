/*
 * wire: the integers and structures of the LTTng relay protocols, as bytes.
 *
 * Everything is big endian and packed.  Viewer structures: doc/viewer-protocol.md, A3, protocol 2.4
 * and later.  Producer structures: part B, 2.11 and later.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A writer into memory that the caller has made large enough. */
struct wire_out {
	uint8_t *at;
};

static inline void wire_put(struct wire_out *out, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = bytes; i-- > 0;) {
		*out->at++ = (uint8_t)(value >> (8 * i));
	}
}

static inline void wire_put_u32(struct wire_out *out, uint32_t value)
{
	wire_put(out, value, 4);
}

static inline void wire_put_u64(struct wire_out *out, uint64_t value)
{
	wire_put(out, value, 8);
}

static inline uint64_t wire_get(const uint8_t *at, unsigned int bytes)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < bytes; i++) {
		value = value << 8 | at[i];
	}
	return value;
}

static inline uint32_t wire_get_u32(const uint8_t *at)
{
	return (uint32_t)wire_get(at, 4);
}

static inline uint64_t wire_get_u64(const uint8_t *at)
{
	return wire_get(at, 8);
}

/* ---- viewer protocol ---- */

enum viewer_command {
	VIEWER_CONNECT = 1,
	VIEWER_LIST_SESSIONS = 2,
	VIEWER_ATTACH_SESSION = 3,
	VIEWER_GET_NEXT_INDEX = 4,
	VIEWER_GET_PACKET = 5,
	VIEWER_GET_METADATA = 6,
	VIEWER_GET_NEW_STREAMS = 7,
	VIEWER_CREATE_SESSION = 8,
};

enum viewer_attach_status {
	ATTACH_OK = 1,
	ATTACH_ALREADY = 2,
	ATTACH_UNKNOWN = 3,
	ATTACH_NOT_LIVE = 4,
	ATTACH_SEEK_ERROR = 5,
	ATTACH_NO_SESSION = 6,
};

enum viewer_streams_status {
	STREAMS_OK = 1,
	STREAMS_NO_NEW = 2,
	STREAMS_ERROR = 3,
	STREAMS_HUP = 4
};

enum viewer_index_status {
	INDEX_OK = 1,
	INDEX_RETRY = 2,
	INDEX_HUP = 3,
	INDEX_ERROR = 4,
	INDEX_INACTIVE = 5,
	INDEX_EOF = 6,
};

enum viewer_packet_status { PACKET_OK = 1, PACKET_RETRY = 2, PACKET_ERROR = 3, PACKET_EOF = 4 };
enum viewer_metadata_status { METADATA_OK = 1, METADATA_NO_NEW = 2, METADATA_ERROR = 3 };

enum { VIEWER_FLAG_NEW_METADATA = 1, VIEWER_FLAG_NEW_STREAM = 2 };
enum { VIEWER_SEEK_BEGINNING = 1, VIEWER_SEEK_LAST = 2 };

#define VIEWER_MAJOR       2
#define VIEWER_MINOR       15 /* since then names have any length, and CTF 2 sessions are listed */
#define VIEWER_MINOR_LEAST 4  /* the first version; only the list of sessions has changed since */

#define VIEWER_HEADER_BYTES  16
#define VIEWER_CONNECT_BYTES 20
#define VIEWER_SESSION_BYTES 339
/* Minor 15: the fixed part, which the names follow; and limits of this program for the names. */
#define VIEWER_SESSION_LONG_BYTES 32
#define VIEWER_HOST_LONG_BYTES    255
#define VIEWER_NAME_LONG_BYTES    511
#define VIEWER_STREAM_BYTES       4371
#define VIEWER_INDEX_BYTES        64
#define VIEWER_HOST_BYTES         64
#define VIEWER_NAME_BYTES         255
#define VIEWER_PATH_BYTES         4096

struct viewer_session {
	uint64_t id;
	uint32_t live_timer_us; /* 0: not live */
	uint32_t clients, streams;
	char host[VIEWER_HOST_LONG_BYTES + 1];
	char name[VIEWER_NAME_LONG_BYTES + 1];
};

struct viewer_stream {
	uint64_t id, trace_id;
	int is_metadata;
	char path[VIEWER_PATH_BYTES + 1];
	char channel[VIEWER_NAME_BYTES + 1];
};

struct viewer_index {
	uint64_t offset; /* bytes */
	uint64_t packet_bits, content_bits;
	uint64_t begin, end; /* cycles */
	uint64_t discarded;
	uint64_t class_id;
	uint32_t status, flags;
};

void wire_get_session(const uint8_t *at, struct viewer_session *session);
/* Minor 15: the names have these lengths, which the caller has checked against the limits above. */
void wire_get_session_long(const uint8_t *at, uint32_t host_len, uint32_t name_len,
			   struct viewer_session *session);
void wire_get_stream(const uint8_t *at, struct viewer_stream *stream);
void wire_get_index(const uint8_t *at, struct viewer_index *index);
