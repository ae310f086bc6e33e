/*
 * kept: packets that stay when they have been analysed, so that a capture can be made of them.
 *
 * The worker that has mapped a packet packs it with zstd, if nothing else waits for a worker and
 * not for more than a tenth of its time; else the packet stays as it came: a viewer that is
 * behind has no time for that, and what it keeps is bounded in bytes either way.
 */
#ifndef SILLAGE_HISTORY_RETAINED_H
#define SILLAGE_HISTORY_RETAINED_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctf/decoder.h"
#include "history/retained-file.h"

struct retained {
	atomic_uint refs; /* of the history, and of captures being written */
	bool is_packed;
	uint8_t *bytes; /* as it came, or a frame of zstd; NULL: on disk, where these say: */
	struct retained_segment *segment;
	uint64_t offset;
	uint64_t stored, len;    /* of bytes, and of the packet */
	uint64_t begin, end;     /* ns; end UINT64_MAX: not known */
	struct packet_info info; /* its stream: NULL */
	uint64_t class_id;       /* of its stream */
};

/* Takes @bytes; one reference. */
struct retained *retained_new(const struct packet_info *info, uint8_t *bytes, uint64_t len);
struct retained *retained_ref(struct retained *retained);
void retained_unref(struct retained *retained); /* NULL is fine */

/* What packing takes, of one thread. */
struct retained_packer;

struct retained_packer *retained_packer_new(void);
void retained_packer_free(struct retained_packer *packer); /* NULL is fine */

/* Packs it, if the packer has time for it and that makes it smaller; nobody else may know it yet.
 */
void retained_pack(struct retained *retained, struct retained_packer *packer);

/* Puts its bytes on disk; if that fails they stay where they are. */
void retained_spill(struct retained *retained, struct retained_file *store);

/* The packet's bytes: its own, or unpacked into *@room, which grows to *@size.  Any thread.  NULL:
 * they cannot be read from disk, or are not what was written. */
const uint8_t *retained_bytes(const struct retained *retained, uint8_t **room, uint64_t *size);

#endif
