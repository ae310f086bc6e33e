/*
 * packet-index: the packet index file that LTTng writes beside each stream file.
 *
 * Format (lttng-tools, ctf-index.h), all big endian: a header of magic 0xC1F1DCC1, major 1, minor
 * and the size of an entry in bytes; then the entries.  An entry has offset, packet size and
 * content size in bits, time stamps, discarded events and stream id; from 1.1 on also stream
 * instance id and packet sequence number.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

struct index_entry {
	uint64_t offset, bytes; /* of the packet, in the stream file */
};

struct packet_index {
	VEC(struct index_entry) entries; /* by offset; packets do not overlap */
};

/*
 * Reads the index of a stream file of @file_bytes.  -EPROTO (with reason and entry) if it is no
 * index or an entry is impossible.  @index is valid in any case; the caller frees it.
 */
int packet_index_parse(struct packet_index *index, const uint8_t *bytes, size_t len,
		       uint64_t file_bytes, struct err *err);
void packet_index_fini(struct packet_index *index);

/* Writing an index of version 1.1: the header, then an entry for each packet. */
#define INDEX_HEADER_BYTES 16
#define INDEX_ENTRY_BYTES  72
struct index_facts {
	uint64_t offset, packet_bits, content_bits, begin, end, discarded, stream_id, instance_id,
		seq_num;
};
void packet_index_put_header(uint8_t out[INDEX_HEADER_BYTES]);
void packet_index_put(uint8_t out[INDEX_ENTRY_BYTES], const struct index_facts *facts);

/* The first entry behind @offset, or NULL. */
const struct index_entry *packet_index_after(const struct packet_index *index, uint64_t offset);
