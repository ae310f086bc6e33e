/*
 * partial: what the analyses made of one chunk.
 *
 *   slices   for each window the chunk touches: sums that commute
 *   records  ordered facts (record.h), with their names and numbers beside them
 *
 * All members are arrays of fixed-width values that refer to each other by index.
 */
#ifndef SILLAGE_ENGINE_PARTIAL_H
#define SILLAGE_ENGINE_PARTIAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "engine/record.h"

#define NAME_BYTES 16 /* of a comm in the kernel, its zero included */

struct name {
	char text[NAME_BYTES];
};

/* How many events of one class there were. */
struct tally {
	uint32_t class_index;
	uint32_t unused;
	uint64_t count;
};

/* Windows outside the range that is reported. */
#define WINDOW_BEFORE (-1)
#define WINDOW_AFTER  INT64_MAX

/* What fell into one window. */
struct slice {
	int64_t window;       /* its number since the epoch */
	uint32_t tally_first; /* index into tallies ... */
	uint32_t tally_count;
	uint64_t discarded; /* events the tracer discarded before a packet of this slice */
	uint64_t lost_packets;
	uint64_t bad_packets; /* of which at least a part could not be decoded */
	uint64_t anomalies;   /* time stamps that went backwards, or are behind the packet's end */
};

/* Something wrong with a packet, for a warning. */
struct partial_fault {
	uint64_t packet; /* number in its stream */
	char text[200];
};

struct partial {
	uint64_t begin, end;        /* ns: end of what came before; end of the last packet */
	uint64_t first_ts, last_ts; /* of events; first_ts is UINT64_MAX without any */
	uint64_t events, packets, bytes;
	/* The first thing known of who runs: UINT64_MAX if the chunk does not tell. */
	uint64_t head_ts;
	int32_t head_tid; /* current from the chunk's begin to head_ts; TID_CURRENT after a gap */
	int32_t head_prio;
	uint32_t head_name;
	VEC(struct slice) slices;
	VEC(struct tally) tallies;
	VEC(struct record) records;
	VEC(struct name) names;
	VEC(uint64_t) numbers; /* what records of analyses point to */
	VEC(struct partial_fault) faults;
};

struct partial *partial_new(void);
void partial_free(struct partial *partial);
size_t partial_bytes(const struct partial *partial);

#endif
