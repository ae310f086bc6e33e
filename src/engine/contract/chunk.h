/*
 * chunk: a run of packets of one stream, and everything a worker needs to decode them.
 *
 * Whoever fills a chunk owns it until a worker takes it, and again when the worker is done; exactly
 * one thread touches it at a time.  The plan is shared and immutable.  Packet bytes belong to the
 * chunk (live), or lie in a file that is mapped or else read by the worker (recorded).
 */
#ifndef SILLAGE_ENGINE_CONTRACT_CHUNK_H
#define SILLAGE_ENGINE_CONTRACT_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "ctf/plan/plan.h"
#include "engine/contract/partial.h"
#include "history/retained.h"

#define PACKET_END_UNKNOWN (UINT64_MAX - 1) /* its context does not say; no time is later */

struct packet {
	uint8_t *bytes;            /* owned, or retained's; NULL: at file_offset of the file */
	struct retained *retained; /* NULL: goes with the chunk */
	uint64_t file_offset;
	uint64_t size;       /* bytes of content, rounded up; what is decoded */
	uint64_t number;     /* in its stream, from 0 */
	uint64_t floor;      /* ns: nothing in it is older; the end of what came before */
	uint64_t begin, end; /* ns; the end may be PACKET_END_UNKNOWN */
	bool has_gap;        /* events are missing between floor and begin */
	uint64_t discarded, lost_packets;
};

struct chunk {
	struct plan *plan;     /* a reference */
	int fd;                /* -1: packets have their bytes */
	const uint8_t *mapped; /* the whole file; NULL: it is read */
	bool has_switches;     /* this stream shows the switches of its CPU */
	uint64_t cpu_id;       /* UINT64_MAX: it names no CPU */
	uint64_t begin;        /* ns: end of the packet before the first */
	uint64_t bytes;
	VEC(struct packet) packets;
	struct partial *partial; /* the result */
};

/* Frees what the chunk owns, not the chunk. */
void chunk_fini(struct chunk *chunk);

#endif
