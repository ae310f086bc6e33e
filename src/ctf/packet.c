/*
 * packet: runs the steps of a packet's header and context, and checks the values.
 */
#include "ctf/packet.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/limits.h"
#include "ctf/decoder.h"

#define PACKET_MAGIC 0xC1FC1FC1u

static uint64_t value_or(const struct decoder *d, uint16_t slot, uint64_t absent)
{
	assert(slot == SLOT_NONE || slot < PLAN_SLOTS_MAX);
	return slot == SLOT_NONE ? absent : d->values[slot].u;
}

static int check_header(const struct decoder *d, const struct plan *plan, struct err *err)
{
	uint64_t magic = value_or(d, plan->slot_magic, PACKET_MAGIC);

	if (magic != PACKET_MAGIC) {
		return err_raise(err, -EPROTO,
				 "bit 0: the packet's magic number is 0x%08" PRIx64 ", not 0x%08x",
				 magic, PACKET_MAGIC);
	}
	if (plan->slot_uuid != SLOT_NONE && plan->of->has_uuid &&
	    memcmp(d->values[plan->slot_uuid].bytes, plan->of->uuid, 16) != 0) {
		return err_raise(err, -EXDEV, "the packet has the UUID of another trace");
	}
	return 0;
}

static int check_sizes(const struct packet_info *info, struct err *err)
{
	if (info->size_bits > PACKET_BYTES_MAX * 8) {
		return err_raise(err, -EPROTO,
				 "the packet's size is %" PRIu64 " bits, the limit is %" PRIu64,
				 info->size_bits, PACKET_BYTES_MAX * 8);
	}
	if (info->size_bits == 0 || info->size_bits % 8 != 0) {
		return err_raise(err, -EPROTO, "the packet's size is %" PRIu64 " bits",
				 info->size_bits);
	}
	if (info->content_bits > info->size_bits) {
		return err_raise(err, -EPROTO,
				 "the packet's content, %" PRIu64
				 " bits, is larger than the packet, %" PRIu64 " bits",
				 info->content_bits, info->size_bits);
	}
	if (info->events_at_bits > info->content_bits) {
		return err_raise(err, -EPROTO,
				 "the packet's content, %" PRIu64
				 " bits, ends before its context, at %" PRIu64 " bits",
				 info->content_bits, info->events_at_bits);
	}
	return 0;
}

/* Buffers that a tracer was writing to when it died have no end, or one before their begin. */
static bool was_closed(const struct packet_info *info)
{
	return info->end >= info->begin &&
	       (info->end > 0 || info->content_bits == info->events_at_bits);
}

static void read_context(const struct decoder *d, const struct plan_stream *stream,
			 uint64_t bytes_max, struct packet_info *info)
{
	/* CTF 1.8.3, 5.2: without sizes a packet is the whole stream. */
	info->size_bits = value_or(d, stream->slot_packet_size, UINT64_MAX);
	info->content_bits = value_or(d, stream->slot_content_size, info->size_bits);
	info->has_sizes = info->size_bits != UINT64_MAX || info->content_bits != UINT64_MAX;
	if (info->size_bits == UINT64_MAX) {
		info->size_bits = info->content_bits == UINT64_MAX
					  ? bytes_max * 8
					  : bits_align(info->content_bits, 8);
	}
	if (info->content_bits == UINT64_MAX) {
		info->content_bits = info->size_bits;
	}
	info->has_begin = stream->slot_timestamp_begin != SLOT_NONE;
	info->begin = value_or(d, stream->slot_timestamp_begin, 0);
	info->end = value_or(d, stream->slot_timestamp_end, 0);
	info->has_end = stream->slot_timestamp_end != SLOT_NONE && was_closed(info);
	info->may_end_early = d->plan->may_end_early;
	info->may_overlap = d->plan->may_overlap;
	info->seq_num = value_or(d, stream->slot_seq_num, UINT64_MAX);
	info->discarded = value_or(d, stream->slot_discarded, UINT64_MAX);
	info->cpu_id = value_or(d, stream->slot_cpu_id, UINT64_MAX);
}

static int header_too_short(const struct decoder *d, uint64_t bytes, uint64_t bytes_max,
			    struct err *err)
{
	if (bytes < bytes_max) {
		return err_raise(err, -ENODATA,
				 "the first %" PRIu64 " bytes do not hold the header", bytes);
	}
	return err_raise(err, -EPROTO, "the packet ends in its header or context (bit %" PRIu64 ")",
			 d->at_bits);
}

int packet_info_read(struct decoder *d, const struct plan *plan, const uint8_t *data,
		     uint64_t bytes, uint64_t bytes_max, struct packet_info *ret_info,
		     struct err *err)
{
	struct packet_info info = { 0 };
	uint64_t stream_id;
	int r;

	assert(bytes <= bytes_max);
	d->plan = plan;
	d->data = data;
	d->at_bits = 0;
	d->end_bits = bytes * 8;
	d->budget = bytes * 8;
	d->text_used = 0;
	d->visit = d->visits_headers ? d->visit : NULL;
	if (decoder_run(d, plan->header_steps) < 0) {
		return header_too_short(d, bytes, bytes_max, err);
	}
	r = check_header(d, plan, err);
	if (r < 0) {
		return r;
	}
	stream_id = value_or(d, plan->slot_stream_id, 0);
	info.instance_id = value_or(d, plan->slot_instance_id, UINT64_MAX);
	info.stream = plan->slot_stream_id == SLOT_NONE && plan->stream_count == 1
			      ? &plan->streams[0] /* whatever its id */
			      : plan_stream_own(plan, stream_id);
	if (!info.stream) {
		return err_raise(err, -EPROTO,
				 "the packet belongs to stream class %" PRIu64
				 ", which the metadata does not declare",
				 stream_id);
	}
	if (decoder_run(d, info.stream->packet_steps) < 0) {
		return header_too_short(d, bytes, bytes_max, err);
	}
	info.events_at_bits = d->at_bits;
	read_context(d, info.stream, bytes_max, &info);
	r = check_sizes(&info, err);
	if (r == 0) {
		assert(info.events_at_bits <= info.content_bits);
		assert(info.content_bits <= info.size_bits);
		*ret_info = info;
	}
	return r;
}

bool packet_info_cut(struct packet_info *info, uint64_t bytes)
{
	bool is_cut = info->has_sizes && info->content_bits > bytes * 8;

	if (!info->has_sizes || info->size_bits > bytes * 8) {
		info->size_bits = bytes * 8;
	}
	if (!info->has_sizes || is_cut) {
		info->content_bits = bytes * 8;
	}
	assert(info->content_bits <= info->size_bits);
	assert(info->size_bits <= bytes * 8);
	return is_cut;
}

bool packet_numbers_begin_again(uint64_t before, uint64_t seq_num)
{
	return before != UINT64_MAX && seq_num != UINT64_MAX &&
	       (seq_num <= before || seq_num - before > LOST_PACKETS_MAX);
}
