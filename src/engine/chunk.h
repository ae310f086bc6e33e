/*
 * chunk: a run of packets of one stream, and everything a worker needs for them.
 *
 *     filling --submit--> queued --take--> running --finish--> done --merge--> free
 *      front                -              one worker            -            front
 *
 * Exactly one thread may touch a chunk, named under its phase.  The plan is shared
 * and immutable; packet bytes are owned by the chunk (live), or lie in the file, which is
 * mapped or else read by the worker (recorded).
 */
#ifndef SILLAGE_ENGINE_CHUNK_H
#define SILLAGE_ENGINE_CHUNK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "ctf/plan/plan.h"
#include "engine/contract/partial.h"
#include "engine/pool.h"
#include "history/retained.h"

#define PACKET_END_UNKNOWN (UINT64_MAX - 1) /* its context does not say; no time is later */

struct packet {
	uint8_t *bytes;            /* owned, or kept's; NULL: at file_offset of the chunk's file */
	struct retained *retained; /* NULL: goes with the chunk */
	uint64_t file_offset;
	uint64_t size;       /* bytes of content, rounded up; what is decoded */
	uint64_t number;     /* in its stream, from 0 */
	uint64_t floor;      /* ns: nothing in it is older; the end of what came before */
	uint64_t begin, end; /* ns; the end may be PACKET_END_UNKNOWN */
	bool has_gap;        /* events are missing between floor and begin */
	uint64_t discarded, lost_packets;
};

/* A frame of a file of partials (partials.h). */
struct packed {
	VEC(uint8_t) bytes;
	int failure; /* errno: it could not be made, 0: it could */
};

struct chunk {
	struct job job;
	struct trace *trace; /* these three are not to be touched by workers */
	struct stream *source;
	struct merger_stream *stream;
	struct plan *plan;     /* a reference */
	uint64_t seq;          /* dense in its stream */
	int fd;                /* -1: packets have their bytes */
	const uint8_t *mapped; /* all of the file; NULL: it is read */
	bool has_switches;     /* this stream tells who runs on its CPU */
	uint64_t cpu_id;       /* UINT64_MAX: it names no CPU */
	struct pool *pool;     /* of its worker */
	uint64_t begin;        /* ns: end of the packet before the first */
	uint64_t bytes;
	VEC(struct packet) packets;
	struct partial *partial; /* the result ... */
	bool packs;              /* ... which is wanted as bytes, too */
	uint32_t number;         /* of the stream, there */
	struct packed packed;
};

void chunk_free(struct chunk *chunk);

#endif
