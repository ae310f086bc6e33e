/*
 * retained: packets that stay after their analysis, so that a capture can be made from them.
 *
 *     retained_new ── worker: retained_pack, retained_spill ── history, captures ── retained_unref
 *
 * The worker that has analyzed a packet compresses it with zstd if no job waits for a worker, and
 * for at most a tenth of its time.  Otherwise the packet stays uncompressed: a viewer that is
 * behind has no time for this, and the history is limited in bytes either way.
 *
 * Only the worker changes a packet; once the history has it, it is constant and any thread may read
 * it with a reference.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ctf/decoder.h"
#include "history/retained-file.h"

struct retained {
	atomic_uint refs; /* from the history, and from captures that are being written */
	bool is_packed;
	uint8_t *bytes; /* the packet, or a zstd frame of it; NULL: on disk, at: */
	struct retained_segment *segment;
	uint64_t offset;
	uint64_t stored;         /* size of `bytes`, at most len */
	uint64_t len;            /* size of the packet */
	uint64_t begin, end;     /* ns; end UINT64_MAX: unknown */
	struct packet_info info; /* its `stream` is NULL: the plan may be gone */
	uint64_t class_id;       /* id of its stream class */
	struct account *account; /* that has it as a capture's alone; NULL: none */
};

/* Takes @bytes; returns the first reference. */
struct retained *retained_new(const struct packet_info *info, uint8_t *bytes, uint64_t len);
/* The same of a packet that is in a file, and takes no memory; @segment: a reference is added. */
struct retained *retained_in(struct retained_segment *segment, uint64_t offset,
			     const struct packet_info *info, uint64_t len);
/* The memory that it takes. */
uint64_t retained_memory(const struct retained *retained);
struct retained *retained_ref(struct retained *retained);
void retained_unref(struct retained *retained); /* NULL is fine */
/* The same of the history's reference: captures may go on to have it. */
void retained_leave(struct retained *retained, struct account *account);

/* One worker's context and time budget for compression. */
struct retained_packer;

struct retained_packer *retained_packer_new(void);
void retained_packer_free(struct retained_packer *packer); /* NULL is fine */

/* Compresses the packet if the packer has time left and the packet becomes smaller.  The caller is
 * the only user. */
void retained_pack(struct retained *retained, struct retained_packer *packer);

/* Writes the bytes to disk; if that fails they stay in memory.  The caller is the only user. */
void retained_spill(struct retained *retained, struct retained_file *store);

/* The packet's bytes: in place, or read and decompressed into *@room of *@size bytes, which grows
 * and belongs to the caller.  Any thread.  NULL: the disk fails, or has other bytes than were
 * written. */
const uint8_t *retained_bytes(const struct retained *retained, uint8_t **room, uint64_t *size);
