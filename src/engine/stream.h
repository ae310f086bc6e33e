/*
 * stream: the packets of one ring buffer, in order, as the coordinator brings them in.
 *
 * It follows what packets say about themselves (time, sequence number, discarded events) and so
 * finds gaps, and cuts chunks; workers decode what is inside.
 */
#ifndef SILLAGE_ENGINE_STREAM_H
#define SILLAGE_ENGINE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

struct packet_info;
struct stream;
struct trace;

/* @name is for warnings (a channel or file name); it is copied. */
struct stream *stream_new(struct trace *trace, const char *name);

/*
 * The next packet, whose header and context have been read into @info.  Live: @bytes is
 * moved in and has the content.  Recorded: @bytes is NULL, the packet is at @offset of @fd, and
 * of @mapped if that is not NULL, which must stay until the trace is freed.
 *
 * A packet that the stream had already (a connection was lost and made again) is
 * dropped.  If its stream is one that went away with a connection, this continues it.
 */
struct stream_input {
	const struct packet_info *info;
	uint8_t *bytes;
	uint64_t len; /* of @bytes; may be less than the packet claims: a worker reports that */
	int fd;
	const uint8_t *mapped;
	uint64_t offset;
};
void stream_packet(struct stream *stream, const struct stream_input *input);

/* Recorded: what the stream's first packet will be, before it comes. */
void stream_expect(struct stream *stream, const struct packet_info *info);

/* Bytes that should have been a packet but are not: a gap, and one bad packet. */
void stream_bad_packet(struct stream *stream, const char *message);

/* A packet was announced but could not be had: a gap, and one lost packet. */
void stream_lost_packet(struct stream *stream, const char *message);
/* Live: the time stamp of a beacon, in cycles; nothing older comes. */
void stream_known(struct stream *stream, uint64_t cycles);
/* Recorded: what the next packet will be. */
void stream_next(struct stream *stream, const struct packet_info *info);
/* Hands what has gathered to a worker; false if there is nothing. */
bool stream_flush(struct stream *stream);
void stream_end(struct stream *stream);
/* The connection is gone: what follows, if anything, is behind a gap. */
void stream_away(struct stream *stream);
void stream_exclude(struct stream *stream, bool excluded);
uint64_t stream_until(const struct stream *stream);
/* Whether it may yet tell who ran first on its CPU: not if that is known by now. */
bool stream_waits_for_initial(const struct stream *stream);
const char *stream_name(const struct stream *stream);

#endif
