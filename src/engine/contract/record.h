/*
 * record: a small fact about one thread, with a time stamp, for what a chunk alone cannot
 * settle.
 *
 * Workers emit records in time order and chain those of one thread (partial.h).  The merger
 * reads a thread's records from all streams in one order: time, then stream, then
 * position.  Fixed width, no pointers.
 */
#ifndef SILLAGE_ENGINE_CONTRACT_RECORD_H
#define SILLAGE_ENGINE_CONTRACT_RECORD_H

#include <stdint.h>

/* The thread is the one that is current on the stream's CPU when the record's turn comes. */
#define TID_CURRENT INT32_MIN

#define RECORD_NONE UINT32_MAX

enum record_kind {
	/* Who runs: only from the stream that carries a CPU's sched_switch. */
	RECORD_IN,      /* the thread was switched in at ts; it ran `a` ns (see RECORD_LEFT) */
	RECORD_ON,      /* the same, but it ran before, under another tid (exec) */
	RECORD_OUT,     /* it was switched out at ts */
	RECORD_RUN,     /* it ran `a` ns more, which is part of no IN or ON */
	RECORD_INITIAL, /* it ran on CPU `a` when the trace began */
	/* From any stream. */
	RECORD_GAP, /* it ran when events were lost: switches as well, where those come from */
	RECORD_RESET_UNKNOWN, /* who is unknown is from ts on somebody else */
	RECORD_FORK,          /* the thread was created; a: its process, or UINT64_MAX */
	RECORD_EXEC,          /* it executes a new program */
	RECORD_PROCESS,       /* a statedump tells its process and name */
	/* Kinds from here on belong to the analysis in `owner`. */
	RECORD_OWN,
};

/* RECORD_IN, ON, OUT: the thread will not run again. */
#define RECORD_DEAD 1u
/* RECORD_IN: the first system call event of the stay shows that no call entered before is
 * still open. */
#define RECORD_NO_OPEN_CALLS 2u
/* The same, as written by versions that told the exit of a call from its entry. */
#define RECORD_NO_OPEN_CALLS_EXIT 64u
/* RECORD_IN, ON: the stay ended after `a` ns.  Without it, `a` is 0 and who ran how long comes
 * as RECORD_RUN. */
#define RECORD_LEFT 4u
/* RECORD_ON, HEAD: the priority is known.  RECORD_IN: what it showed on leaving, at ts + a, is
 * here (flags, prio), and no RECORD_OUT comes. */
#define RECORD_PRIO 8u
/* RECORD_IN, ON, OUT: why the thread left: it sleeps, or was made to leave although it could go
 * on.  Neither: it could go on, and perhaps wanted to leave. */
#define RECORD_SLEEPS    16u
#define RECORD_PREEMPTED 32u
/* RECORD_IN: the priority at the switch, whatever it was on leaving. */
#define RECORD_PRIO_SHIFT 8

struct record {
	uint64_t ts; /* ns since the epoch */
	uint64_t arg64;
	uint32_t next; /* of the same group, RECORD_NONE: the last */
	uint32_t group;
	int32_t arg32;
	uint16_t arg16;
	uint8_t kind;
	uint8_t owner; /* index of the analysis in the run, for RECORD_OWN and above */
};

_Static_assert(sizeof(struct record) == 32, "two records to a cache line");

#endif
