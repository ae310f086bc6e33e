/*
 * chunk: consecutive packets of one stream, with everything a worker needs to decode them.
 *
 * One thread at a time touches a chunk: the coordinator fills it, a worker decodes it, then the
 * coordinator has it again.  The plan is shared and immutable.  Packet bytes belong to the chunk
 * (live), or lie in a file (recorded) that is either mapped or read by the worker.
 *
 * Times of a packet: floor <= begin <= end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "ctf/plan/plan.h"
#include "engine/contract/partial.h"
#include "history/retained.h"

#define PACKET_END_UNKNOWN (UINT64_MAX - 1) /* not in its context; no event is later */

struct packet {
	uint8_t *bytes;            /* owned, or of `retained`; NULL: at file_offset */
	struct retained *retained; /* a reference; NULL: the chunk frees the bytes */
	uint64_t file_offset;
	uint64_t size;       /* content in bytes, rounded up; 0: nothing but a gap */
	uint64_t number;     /* within its stream, from 0 */
	uint64_t floor;      /* ns: end of the packet before; no event is older */
	uint64_t begin, end; /* ns; the end may be PACKET_END_UNKNOWN */
	bool has_gap;        /* events are missing between floor and begin */
	uint64_t discarded, lost_packets;
};

struct chunk {
	struct plan *plan;     /* a reference */
	int fd;                /* of the file; -1: packets have their bytes */
	const uint8_t *mapped; /* the whole file; NULL: the worker reads it */
	bool has_switches;     /* the stream has the sched_switch events of its CPU */
	uint64_t cpu_id;       /* UINT64_MAX: the stream names no CPU */
	uint64_t begin;        /* ns: end of the packet before the first one */
	uint64_t bytes;
	VEC(struct packet) packets;
	struct partial *partial; /* the result; NULL until the worker is done */
};

/* Frees what the chunk owns, not the chunk itself. */
void chunk_fini(struct chunk *chunk);
