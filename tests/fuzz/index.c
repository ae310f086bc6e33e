/*
 * index: a hostile packet index file; the first two bytes say how large its stream file is.
 */
#include <stdlib.h>

#include "ctf/packet-index.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct packet_index index;
	uint64_t file_bytes, end = 0;
	struct err err;

	if (size < 2) {
		return 0;
	}
	file_bytes = (uint64_t)(data[0] << 8 | data[1]) << 12;
	if (packet_index_parse(&index, data + 2, size - 2, file_bytes, &err) < 0) {
		if (!err.text[0]) {
			abort();
		}
	}
	/* Whatever it says: packets in order, apart, and in the file. */
	for (size_t i = 0; i < index.entries.count; i++) {
		const struct index_entry *entry = &index.entries.at[i];

		if (entry->offset < end || entry->bytes == 0 ||
		    entry->bytes > file_bytes - entry->offset ||
		    (i > 0 && packet_index_after(&index, entry->offset - 1) != entry)) {
			abort();
		}
		end = entry->offset + entry->bytes;
	}
	packet_index_fini(&index);
	return 0;
}
