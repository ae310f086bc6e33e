/*
 * wire: structures of the viewer protocol.
 */
#include "relay/wire.h"

#include <assert.h>

/* A text field of fixed size.  The relay pads it with zeros; a hostile one may not. */
static void get_text(char *to, const uint8_t *at, size_t size)
{
	memcpy(to, at, size);
	to[size] = '\0';
}

static void get_session_head(const uint8_t *at, struct viewer_session *session)
{
	session->id = wire_get_u64(at);
	session->live_timer_us = wire_get_u32(at + 8);
	session->clients = wire_get_u32(at + 12);
	session->streams = wire_get_u32(at + 16);
}

void wire_get_session_long(const uint8_t *at, uint32_t host_len, uint32_t name_len,
			   struct viewer_session *session)
{
	assert(host_len <= VIEWER_HOST_LONG_BYTES);
	assert(name_len <= VIEWER_NAME_LONG_BYTES);
	get_session_head(at, session);
	get_text(session->host, at + VIEWER_SESSION_LONG_BYTES, host_len);
	get_text(session->name, at + VIEWER_SESSION_LONG_BYTES + host_len, name_len);
}

void wire_get_session(const uint8_t *at, struct viewer_session *session)
{
	get_session_head(at, session);
	get_text(session->host, at + 20, VIEWER_HOST_BYTES);
	get_text(session->name, at + 84, VIEWER_NAME_BYTES);
}

void wire_get_stream(const uint8_t *at, struct viewer_stream *stream)
{
	stream->id = wire_get_u64(at);
	stream->trace_id = wire_get_u64(at + 8);
	stream->is_metadata = wire_get_u32(at + 16) != 0;
	get_text(stream->path, at + 20, VIEWER_PATH_BYTES);
	get_text(stream->channel, at + 4116, VIEWER_NAME_BYTES);
}

void wire_get_index(const uint8_t *at, struct viewer_index *index)
{
	index->offset = wire_get_u64(at);
	index->packet_bits = wire_get_u64(at + 8);
	index->content_bits = wire_get_u64(at + 16);
	index->begin = wire_get_u64(at + 24);
	index->end = wire_get_u64(at + 32);
	index->discarded = wire_get_u64(at + 40);
	index->class_id = wire_get_u64(at + 48);
	index->status = wire_get_u32(at + 56);
	index->flags = wire_get_u32(at + 60);
}
