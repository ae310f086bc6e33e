/*
 * record: a small fact with a time stamp, for what a chunk alone cannot settle.
 *
 * Workers emit records in time order; the merger reads those of all streams of a
 * trace in one order: time, then stream, then position.  Fixed width, no pointers.
 */
#ifndef SILLAGE_ENGINE_RECORD_H
#define SILLAGE_ENGINE_RECORD_H

#include <stdint.h>

/* The thread is the one that is current on the stream's CPU when the record's turn comes. */
#define TID_CURRENT INT32_MIN

#define NAME_NONE UINT32_MAX

enum record_kind {
	/* Who runs: only from the stream that carries a CPU's sched_switch. */
	RECORD_IN,   /* tid was switched in at ts */
	RECORD_OUT,  /* tid was switched out at ts */
	RECORD_STAY, /* tid was switched in at ts and out `a` ns later, in one window */
	RECORD_GAP,  /* from ts on it is not known who runs on this CPU */
	/* Threads and processes, from any stream. */
	RECORD_FORK,    /* tid was created; a: its process */
	RECORD_EXEC,    /* tid executes a new program; a: its former tid */
	RECORD_PROCESS, /* tid belongs to process a */
	/* Kinds from here on belong to the analysis in `owner`. */
	RECORD_OWN,
};

/* RECORD_OUT and RECORD_STAY: the thread will not run again. */
#define RECORD_DEAD 1u
/* RECORD_IN and RECORD_STAY: the first system call event of the stay shows that no call
 * entered before is still open. */
#define RECORD_ANEW 2u

struct record {
	uint64_t ts; /* ns since the epoch */
	int32_t tid;
	uint32_t name; /* index into the partial's names, or NAME_NONE */
	uint8_t kind;
	uint8_t owner; /* index of the analysis in the run, for RECORD_OWN and above */
	uint16_t flags;
	int32_t prio;
	uint64_t a;
};

_Static_assert(sizeof(struct record) == 32, "two records to a cache line");

#endif
