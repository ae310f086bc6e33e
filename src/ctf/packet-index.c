/*
 * packet-index: big-endian numbers in and out, and a binary search.
 */
#include "ctf/packet-index.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define INDEX_MAGIC      0xC1F1DCC1u
#define ENTRY_BYTES_MIN  56 /* version 1.0 */
#define ENTRY_AT_OFFSET  0
#define ENTRY_AT_PACKET  8
#define ENTRY_AT_CONTENT 16

static uint64_t load(const uint8_t *at, unsigned int bytes)
{
	uint64_t value = 0;

	assert(bytes <= sizeof(value));
	for (unsigned int i = 0; i < bytes; i++) {
		value = value << 8 | at[i];
	}
	return value;
}

static int check_header(const uint8_t *bytes, size_t len, uint64_t *ret_entry_bytes,
			struct err *err)
{
	if (len < INDEX_HEADER_BYTES) {
		return err_raise(err, -EPROTO, "it has %zu bytes, less than its header", len);
	}
	if (load(bytes, 4) != INDEX_MAGIC) {
		return err_raise(err, -EPROTO, "its magic number is 0x%08" PRIx64 ", not 0x%08x",
				 load(bytes, 4), INDEX_MAGIC);
	}
	if (load(bytes + 4, 4) != 1) {
		return err_raise(err, -EPROTO, "it has version %" PRIu64 ".%" PRIu64,
				 load(bytes + 4, 4), load(bytes + 8, 4));
	}
	*ret_entry_bytes = load(bytes + 12, 4);
	if (*ret_entry_bytes < ENTRY_BYTES_MIN ||
	    (len - INDEX_HEADER_BYTES) % *ret_entry_bytes != 0) {
		return err_raise(err, -EPROTO, "its entries have %" PRIu64 " bytes, in %zu",
				 *ret_entry_bytes, len - INDEX_HEADER_BYTES);
	}
	return 0;
}

static int take_entry(struct packet_index *index, const uint8_t *at, uint64_t file_bytes,
		      struct err *err)
{
	uint64_t offset = load(at + ENTRY_AT_OFFSET, 8);
	uint64_t packet_bits = load(at + ENTRY_AT_PACKET, 8);
	uint64_t content_bits = load(at + ENTRY_AT_CONTENT, 8);
	size_t count = index->entries.count;
	uint64_t end =
		count > 0 ? index->entries.at[count - 1].offset + index->entries.at[count - 1].bytes
			  : 0;

	if (packet_bits == 0 || packet_bits % 8 != 0 || content_bits > packet_bits ||
	    offset < end || offset > file_bytes || packet_bits / 8 > file_bytes - offset) {
		return err_raise(err, -EPROTO,
				 "entry %zu has a packet of %" PRIu64 " bits (content %" PRIu64
				 ") at byte %" PRIu64 ", which does not fit between bytes %" PRIu64
				 " and %" PRIu64,
				 count, packet_bits, content_bits, offset, end, file_bytes);
	}
	*vec_push(&index->entries) =
		(struct index_entry){ .offset = offset, .bytes = packet_bits / 8 };
	return 0;
}

int packet_index_parse(struct packet_index *index, const uint8_t *bytes, size_t len,
		       uint64_t file_bytes, struct err *err)
{
	uint64_t entry_bytes = 0;
	int r = check_header(bytes, len, &entry_bytes, err);

	memset(index, 0, sizeof(*index));
	for (size_t at = INDEX_HEADER_BYTES; r == 0 && at < len; at += entry_bytes) {
		r = take_entry(index, bytes + at, file_bytes, err);
	}
	return r;
}

void packet_index_fini(struct packet_index *index)
{
	vec_fini(&index->entries);
}

VEC_FIRST(first_after, struct index_entry, uint64_t, one->offset <= wanted)

const struct index_entry *packet_index_after(const struct packet_index *index, uint64_t offset)
{
	size_t at = first_after(index->entries.at, index->entries.count, offset);

	assert(at == index->entries.count || index->entries.at[at].offset > offset);
	return at < index->entries.count ? &index->entries.at[at] : NULL;
}

/* ---- writing ---- */

static uint8_t *store(uint8_t *at, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = 0; i < bytes; i++) {
		at[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
	}
	return at + bytes;
}

void packet_index_put_header(uint8_t out[INDEX_HEADER_BYTES])
{
	out = store(out, INDEX_MAGIC, 4);
	out = store(out, 1, 4);
	out = store(out, 1, 4);
	(void)store(out, INDEX_ENTRY_BYTES, 4);
}

void packet_index_put(uint8_t out[INDEX_ENTRY_BYTES], const struct index_facts *facts)
{
	const uint64_t values[] = { facts->offset,    facts->packet_bits, facts->content_bits,
				    facts->begin,     facts->end,         facts->discarded,
				    facts->stream_id, facts->instance_id, facts->seq_num };

	for (size_t i = 0; i < ARRAY_COUNT(values); i++) {
		out = store(out, values[i], 8);
	}
	_Static_assert(sizeof(values) == INDEX_ENTRY_BYTES, "an entry is these numbers");
}
