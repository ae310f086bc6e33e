/*
 * producer: see producer.h.
 */
#include "relay/producer.h"

#include <assert.h>

#define FORMAT_CTF_1_8 1 /* a viewer's list has other numbers for them */
#define FORMAT_CTF_2   2

#define CHUNK_LEAVE_IN_PLACE 1 /* command of CLOSE_TRACE_CHUNK: no rotation, no clear */

#define CONTROL_HEADER_BYTES  24
#define METADATA_PACKET_BYTES 4096
#define METADATA_HEADER_BYTES 37

void producer_message_fini(struct producer_message *message)
{
	vec_fini(&message->bytes);
}

static void put_bytes(struct producer_message *m, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		*vec_push(&m->bytes) = ((const uint8_t *)bytes)[i];
	}
}

static void put(struct producer_message *m, uint64_t value, unsigned int bytes)
{
	uint8_t wire[8];
	struct wire_out out = { .at = wire };

	assert(bytes <= sizeof(wire));
	wire_put(&out, value, bytes);
	put_bytes(m, wire, bytes);
}

/* The header of a control message; end() sets its data_size. */
static void begin(struct producer_message *m, enum producer_command command)
{
	m->bytes.count = 0;
	put(m, 0, 8); /* circuit id */
	put(m, 0, 8);
	put(m, command, 4);
	put(m, 0, 4); /* command version */
	assert(m->bytes.count == CONTROL_HEADER_BYTES);
}

static void end(struct producer_message *m)
{
	struct wire_out out = { .at = m->bytes.at + 8 };

	assert(m->bytes.count >= CONTROL_HEADER_BYTES);
	wire_put_u64(&out, m->bytes.count - CONTROL_HEADER_BYTES);
}

void producer_version(struct producer_message *m)
{
	begin(m, PRODUCER_VERSION);
	put(m, PRODUCER_MAJOR, 4);
	put(m, PRODUCER_MINOR, 4);
	end(m);
}

void producer_create_session(struct producer_message *m, const struct producer_session *session)
{
	begin(m, PRODUCER_CREATE_SESSION);
	put(m, strlen(session->name) + 1, 4);
	put(m, strlen(session->host) + 1, 4);
	put(m, 1, 4); /* base path: empty */
	put(m, session->live_timer_us, 4);
	put(m, 0, 1); /* not a snapshot */
	put(m, 0, 1); /* the name has no time in it */
	put_bytes(m, session->uuid, 16);
	put(m, session->id, 8);
	put(m, session->creation_s, 8);
	put(m, 0, 1); /* no trace chunk yet */
	put(m, 0, 8);
	if (session->minor >= 15) {
		put(m, session->is_ctf2 ? FORMAT_CTF_2 : FORMAT_CTF_1_8, 4);
	}
	put_bytes(m, session->name, strlen(session->name) + 1);
	put_bytes(m, session->host, strlen(session->host) + 1);
	put(m, 0, 1);
	end(m);
}

void producer_create_chunk(struct producer_message *m, uint64_t id, uint64_t creation_s)
{
	begin(m, PRODUCER_CREATE_TRACE_CHUNK);
	put(m, id, 8);
	put(m, creation_s, 8);
	put(m, 0, 4); /* no name of its own */
	end(m);
}

void producer_add_stream(struct producer_message *m, const char *channel, const char *path,
			 uint64_t file_bytes, uint64_t file_count)
{
	begin(m, PRODUCER_ADD_STREAM);
	put(m, strlen(channel) + 1, 4);
	put(m, strlen(path) + 1, 4);
	put(m, file_bytes, 8);
	put(m, file_count, 8);
	put(m, 0, 8); /* trace chunk */
	put_bytes(m, channel, strlen(channel) + 1);
	put_bytes(m, path, strlen(path) + 1);
	end(m);
}

void producer_streams_sent(struct producer_message *m)
{
	begin(m, PRODUCER_STREAMS_SENT);
	end(m);
}

void producer_send_metadata(struct producer_message *m, uint64_t stream, const uint8_t *bytes,
			    size_t len)
{
	begin(m, PRODUCER_SEND_METADATA);
	put(m, stream, 8);
	put(m, 0, 4); /* padding */
	put_bytes(m, bytes, len);
	end(m);
}

void producer_send_index(struct producer_message *m, const struct producer_index *index)
{
	begin(m, PRODUCER_SEND_INDEX);
	put(m, index->stream, 8);
	put(m, index->net_seq_num, 8);
	put(m, index->packet_bits, 8);
	put(m, index->content_bits, 8);
	put(m, index->begin, 8);
	put(m, index->end, 8);
	put(m, index->discarded, 8);
	put(m, index->class_id, 8);
	put(m, index->instance_id, 8);
	put(m, index->packet_seq_num, 8);
	end(m);
}

void producer_send_beacon(struct producer_message *m, uint64_t stream, uint64_t net_seq_num,
			  uint64_t cycles, uint64_t class_id)
{
	struct producer_index beacon = {
		.stream = stream, .net_seq_num = net_seq_num, .end = cycles, .class_id = class_id
	};

	producer_send_index(m, &beacon);
}

static void one_u64(struct producer_message *m, enum producer_command command, uint64_t value)
{
	begin(m, command);
	put(m, value, 8);
	end(m);
}

void producer_begin_data_pending(struct producer_message *m, uint64_t session)
{
	one_u64(m, PRODUCER_BEGIN_DATA_PENDING, session);
}

void producer_quiescent(struct producer_message *m, uint64_t stream)
{
	one_u64(m, PRODUCER_QUIESCENT_CONTROL, stream);
}

void producer_end_data_pending(struct producer_message *m, uint64_t session)
{
	one_u64(m, PRODUCER_END_DATA_PENDING, session);
}

void producer_data_pending(struct producer_message *m, uint64_t stream, uint64_t last_net_seq_num)
{
	begin(m, PRODUCER_DATA_PENDING);
	put(m, stream, 8);
	put(m, last_net_seq_num, 8);
	end(m);
}

void producer_rotate(struct producer_message *m, const struct producer_position *positions,
		     uint32_t count)
{
	begin(m, PRODUCER_ROTATE_STREAMS);
	put(m, count, 4);
	put(m, 0, 1); /* to no new chunk */
	put(m, 0, 8);
	for (uint32_t i = 0; i < count; i++) {
		put(m, positions[i].stream, 8);
		put(m, positions[i].seq_num, 8);
	}
	end(m);
}

void producer_close_chunk(struct producer_message *m, uint64_t id, uint64_t close_s)
{
	begin(m, PRODUCER_CLOSE_TRACE_CHUNK);
	put(m, id, 8);
	put(m, close_s, 8);
	put(m, 1, 1); /* a command follows */
	put(m, CHUNK_LEAVE_IN_PLACE, 4);
	end(m);
}

void producer_close_stream(struct producer_message *m, uint64_t stream, uint64_t last_net_seq_num)
{
	begin(m, PRODUCER_CLOSE_STREAM);
	put(m, stream, 8);
	put(m, last_net_seq_num, 8);
	end(m);
}

void producer_data_header(uint8_t header[PRODUCER_DATA_HEADER_BYTES], uint64_t stream,
			  uint64_t net_seq_num, uint32_t bytes)
{
	struct wire_out out = { .at = header };

	wire_put_u64(&out, 0); /* circuit id */
	wire_put_u64(&out, stream);
	wire_put_u64(&out, net_seq_num);
	wire_put_u32(&out, bytes);
	wire_put_u32(&out, 0); /* padding: the packet contains its own */
	assert(out.at == header + PRODUCER_DATA_HEADER_BYTES);
}

/* In the trace's byte order, which may differ from the wire's. */
static void put_ordered(struct producer_message *m, uint32_t value, bool is_be)
{
	for (unsigned int i = 0; i < 4; i++) {
		*vec_push(&m->bytes) = (uint8_t)(value >> (8 * (is_be ? 3 - i : i)));
	}
}

void producer_wrap_metadata(struct producer_message *m, const char *text, size_t len,
			    const uint8_t uuid[16], bool is_be)
{
	const size_t room = METADATA_PACKET_BYTES - METADATA_HEADER_BYTES;

	m->bytes.count = 0;
	while (len > 0) {
		size_t part = len < room ? len : room;

		put_ordered(m, 0x75D11D57, is_be);
		put_bytes(m, uuid, 16);
		put_ordered(m, 0, is_be); /* checksum */
		put_ordered(m, (uint32_t)(METADATA_HEADER_BYTES + part) * 8, is_be);
		put_ordered(m, METADATA_PACKET_BYTES * 8, is_be);
		put(m, 0, 3);      /* compression, encryption, checksum scheme */
		put(m, 0x0108, 2); /* CTF 1.8 */
		put_bytes(m, text, part);
		for (size_t i = part; i < room; i++) {
			*vec_push(&m->bytes) = 0;
		}
		text += part;
		len -= part;
		assert(m->bytes.count % METADATA_PACKET_BYTES == 0);
	}
}
