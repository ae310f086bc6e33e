/*
 * packet: the header and context of a packet: which stream class, what sizes and times.
 *
 *     | packet header | packet context | events ...      | padding |
 *     0               .                events_at_bits     content_bits
 *                                                                  size_bits
 *
 * Packets are untrusted.  After packet_info_read() these hold: events_at_bits <= content_bits <=
 * size_bits <= PACKET_BYTES_MAX * 8, and size_bits is a number of bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct decoder;
struct plan;
struct plan_stream;

/* The contents of a packet header and context.  Absent members are UINT64_MAX (or as noted). */
struct packet_info {
	const struct plan_stream *stream;
	uint64_t content_bits, size_bits; /* always set */
	uint64_t begin, end;              /* cycles */
	uint64_t seq_num;
	uint64_t discarded; /* events, since the start of the stream */
	uint64_t instance_id;
	uint64_t cpu_id;
	uint64_t events_at_bits; /* the first event header */
	bool has_begin, has_end;
	bool has_sizes; /* false: the packet has no size fields and takes all bytes */
};

/*
 * Reads the packet header and context at @data.  @bytes may be fewer than the packet has, if only
 * these are wanted; @bytes_max is the limit of what exists.  The packet may claim to be larger
 * (packet_info_cut()).  Returns -EPROTO with place and reason if they are wrong, -EXDEV if only its
 * UUID is another than that of the metadata, -ENODATA if @bytes are too few.
 */
int packet_info_read(struct decoder *d, const struct plan *plan, const uint8_t *data,
		     uint64_t bytes, uint64_t bytes_max, struct packet_info *ret_info,
		     struct err *err);

/* Whether the numbers of packets do not go on from @before to @seq_num: a stream may consist of
 * joined pieces, and a number may be damaged.  Then nothing is known of what is missing between
 * them. */
bool packet_numbers_begin_again(uint64_t before, uint64_t seq_num);

/* Only @bytes of the packet exist: cuts @info to them; true if some of its content is missing. */
bool packet_info_cut(struct packet_info *info, uint64_t bytes);
