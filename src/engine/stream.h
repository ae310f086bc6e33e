/*
 * stream: the packets of one ring buffer, in order, as the coordinator brings them in.
 *
 * A stream compares each packet with the previous one (time, sequence number, counter of discarded
 * events), and so finds gaps and duplicates.  It collects packets in a chunk and hands chunks to
 * workers, which decode them.
 *
 *              stream_packet, stream_expect                 stream_end
 *     new ────────────────────────────────► identified ────────────────► ended
 *      │                                      ▲   │                        ▲
 *      │                  a packet of the same│   │stream_away             │
 *      │                  identity, through   │   ▼                        │ trace_end_away,
 *      │                  another stream      └─ away ─────────────────────┤ stream_end
 *      └───────────────────── stream_away, stream_end ─────────────────────┘
 *
 * After a reconnect the caller makes new streams.  The first packet of a new stream shows its
 * identity (class, CPU, instance).  If a stream of this identity is away, or had ended before the
 * connection was lost, the new one takes over its place in the merger and its counters; the old one
 * has ended then.
 *
 * A packet came before if its number is not above the last one and its time is not later.  With a
 * later time numbers begin again, as they do after a jump of more than LOST_PACKETS_MAX.
 *
 * A gap is where events may be missing: the counter of discarded events grew (it wraps), sequence
 * numbers are missing, a packet could not be read or fetched, or the stream was away and the
 * packet is not known to be the next.  The packet after a gap carries it to the worker, and lost
 * packets count once.  What is lost after the last packet is counted when the stream ends, and
 * stays lost: if another connection has these packets after all, they are dropped.
 *
 * A chunk closes when it has chunk_bytes, when the plan changes (new metadata), on stream_flush(),
 * and at the end.  `seq` numbers the chunks of a stream without holes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct packet_info;
struct stream;
struct trace;

/* @part: of the trace, 0 unless traces were joined.  @name is for warnings (a channel or file
 * name); it is copied. */
struct stream *stream_new(struct trace *trace, uint32_t part, const char *name);

/*
 * Adds the next packet, with its header and context in @info.  Live: @bytes has the content, and
 * the stream takes ownership.  Recorded: @bytes is NULL, and the packet is at @offset of @fd, and
 * of @mapped if that is not NULL; both must stay until the trace is freed.
 *
 * Drops a packet that the stream had before: after a reconnect a relay repeats packets.
 */
struct stream_input {
	const struct packet_info *info;
	uint8_t *bytes;
	uint64_t len; /* of @bytes; less than the packet claims: a worker reports it */
	int fd;
	const uint8_t *mapped;
	uint64_t offset;
};
void stream_packet(struct stream *stream, const struct stream_input *input);

/* Live: whether the packet is of another stream than those before: its identity is another one. */
bool stream_is_other(const struct stream *stream, const struct packet_info *info);

/*
 * Live: the header of a packet of a new stream, before its first packet is added.  True: an earlier
 * stream of this identity is away, and the new one has taken over from it.  Packets up to
 * @ret_place were added to that one; the packet that ends there may be added again, and is dropped.
 */
struct stream_place {
	uint64_t end;     /* ns: of its last packet */
	uint64_t seq_num; /* of that packet; UINT64_MAX: numbers tell nothing */
};
bool stream_resume(struct stream *stream, const struct packet_info *info,
		   struct stream_place *ret_place);

/* Recorded: identifies the stream by its first packet, before that is added. */
void stream_expect(struct stream *stream, const struct packet_info *info);

/*
 * Recorded: what a stream needs, beside its checkpoint, to go on with the very next packet, as if
 * nothing had been between.
 */
struct stream_facts {
	bool is_known;        /* it was identified; else it has no checkpoint */
	bool is_over;         /* it has ended */
	bool is_renumbered;   /* numbers of packets began again */
	bool has_told_remedy; /* a warning said what helps */
	uint64_t seq_num;     /* of its last packet; UINT64_MAX: it has none */
	uint64_t end;         /* ns: of all its packets so far */
};
void stream_facts(const struct stream *stream, struct stream_facts *ret);
/* The stream with this number among those that a checkpoint gave the trace, which is not over, goes
 * on.  NULL: there is none that can. */
struct stream *stream_go_on(struct trace *trace, size_t number, const struct stream_facts *facts);

/* Reports bytes that are no packet: a gap, and one packet lost. */
void stream_bad_packet(struct stream *stream, const char *message);

/* Reports packets that were announced and could not be fetched: a gap, and so many lost. */
void stream_lost_packets(struct stream *stream, uint64_t packets, const char *message);
/* Reports that more is missing, and nobody knows how much: a gap. */
void stream_broken(struct stream *stream, const char *message);
/* Live: the time of a beacon, in clock cycles; no later event is older. */
void stream_known(struct stream *stream, uint64_t cycles);
/* Recorded: the header of the next packet, so that windows before it can close. */
void stream_next(struct stream *stream, const struct packet_info *info);
/* Hands the chunk to a worker; false: it is empty. */
bool stream_flush(struct stream *stream);
void stream_end(struct stream *stream);
/* The connection is lost; another stream may continue this one, also if it has ended.  Windows do
 * not wait for it, unless the trace may have parts that go on.  @unfetched:
 * packets that were announced and not fetched; they are lost if no stream continues it. */
void stream_away(struct stream *stream, uint64_t unfetched);
/* Windows do not wait for an excluded stream. */
void stream_exclude(struct stream *stream, bool excluded);
/* ns: the time up to which the stream is merged; 0: unknown. */
uint64_t stream_until(const struct stream *stream);
/* Whether windows wait for the stream to name the initial thread of its CPU. */
bool stream_waits_for_initial(const struct stream *stream);
const char *stream_name(const struct stream *stream);
