/*
 * convert-stream: the packets of a stream, filled as lttng-modules fills them.
 *
 *     packet   header: magic, uuid, stream id, stream instance, 32 bytes
 *              context: begin, end, content, size, sequence number, discarded, CPU, 52 bytes
 *              events: header of 6 or 14 bytes, fields
 *              zeroes up to a page
 */
#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "ftrace/convert-state.h"

#define HEAD_BYTES   84
#define CTF_MAGIC    0xC1FC1FC1
#define PACKET_ALIGN 4096

/* Header of an event: with 32 bits of time, or all. */
#define ID_EXTENDED    0xFFFF
#define SHORT_HEADER   6
#define LONG_HEADER    14
#define TIME_BITS_NEAR 27

int convert_text(struct convert *convert)
{
	if (convert->failure == 0 && convert->text.count > 0) {
		convert->failure = convert->sink.metadata(convert->sink.user, convert->text.at,
							  convert->text.count, convert->err);
		convert->text.count = 0;
	}
	return convert->failure;
}

static void put_packet_head(const struct convert *convert, struct convert_stream *stream,
			    uint64_t end, size_t size)
{
	uint8_t *out = stream->packet;

	out = put_number(out, CTF_MAGIC, 4);
	memcpy(out, convert->setup.uuid, CONVERT_UUID_BYTES);
	out = put_number(out + CONVERT_UUID_BYTES, 0, 4);
	out = put_number(out, stream->cpu, 8);
	out = put_number(out, stream->begin, 8);
	out = put_number(out, end, 8);
	out = put_number(out, stream->at * 8, 8);
	out = put_number(out, size * 8, 8);
	out = put_number(out, stream->seq, 8);
	out = put_number(out, stream->discarded, 8);
	out = put_number(out, stream->cpu, 4);
	assert(out == stream->packet + HEAD_BYTES);
}

int stream_close(struct convert *convert, struct convert_stream *stream, uint64_t time)
{
	uint64_t end = time > stream->last ? time : stream->last;
	size_t size = (stream->at + PACKET_ALIGN - 1) / PACKET_ALIGN * PACKET_ALIGN;
	struct convert_packet packet = { .cpu = stream->cpu,
					 .bytes = stream->packet,
					 .len = size,
					 .content_bits = stream->at * 8,
					 .begin = stream->begin,
					 .end = end,
					 .seq = stream->seq,
					 .discarded = stream->discarded,
					 .events = stream->events };

	if (convert_text(convert) < 0) {
		return convert->failure;
	}
	packet.begin = stream->begin = stream->begin > 0 ? stream->begin : end;
	memset(stream->packet + stream->at, 0, size - stream->at);
	put_packet_head(convert, stream, end, size);
	convert->failure = convert->sink.packet(convert->sink.user, &packet, convert->err);
	stream->seq++;
	stream->at = HEAD_BYTES;
	stream->events = 0;
	stream->has_unsaid = false;
	stream->begin = stream->last = end;
	return convert->failure;
}

void stream_lost(struct convert *convert, struct convert_stream *stream, uint64_t events,
		 uint64_t next)
{
	if (events == 0) {
		return;
	}
	/* They fall between two packets, of which the first may be empty. */
	if (stream->events > 0 || stream->seq == 0) {
		(void)stream_close(convert, stream, stream->last);
	}
	stream->discarded += events;
	stream->account.lost += events;
	stream->has_unsaid = true;
	if (next > stream->begin) {
		stream->begin = stream->last = next;
	}
}

static uint8_t *put_event_header(struct convert_stream *stream, uint64_t time,
				 const struct convert_class *class)
{
	uint8_t *out = stream->packet + stream->at;

	if ((time - stream->last) >> TIME_BITS_NEAR == 0 && class->id < ID_EXTENDED) {
		out = put_number(out, class->id, 2);
		return put_number(out, time, 4);
	}
	out = put_number(out, ID_EXTENDED, 2);
	out = put_number(out, class->id, 4);
	return put_number(out, time, 8);
}

uint8_t *stream_reserve(struct convert *convert, struct convert_stream *stream, uint64_t time,
			struct convert_class *class, size_t len)
{
	uint8_t *out;

	if (stream->begin == 0 && stream->events == 0) {
		stream->begin = stream->last = time;
	}
	time = time > stream->last ? time : stream->last; /* a stream never goes back */
	if (stream->at + LONG_HEADER + len > convert->setup.packet_bytes) {
		if (HEAD_BYTES + LONG_HEADER + len > convert->setup.packet_bytes) {
			return NULL;
		}
		if (stream_close(convert, stream, time) < 0) {
			return NULL;
		}
	}
	out = put_event_header(stream, time, class);
	stream->last = time;
	return out;
}

void stream_commit(struct convert_stream *stream, struct convert_class *class, const uint8_t *end)
{
	stream->at = (size_t)(end - stream->packet);
	stream->events++;
	class->count++;
}
