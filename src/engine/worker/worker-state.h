/*
 * worker-state: what the parts of the worker share: worker.c (packets, events, slices), records.c
 * (groups and records), cpu.c (which thread runs) and handlers.c (what handlers of analyses call).
 */
#pragma once

#include "base/hash.h"
#include "ctf/clock.h"
#include "ctf/decoder.h"
#include "engine/contract/handler.h"
#include "engine/worker/worker.h"

/* The newest group of each key in the open slice.  The table is kept small, so that it stays in the
 * L1 and L2 caches. */
struct group_place {
	uint32_t epoch; /* that of the worker; else the place is empty */
	uint32_t group;
};

HASH_PROBED_STRUCT(places, struct group_place)

#define KEYED_CHAINS 64

#define STATES_KNOWN 512 /* values of prev_state in a table: all that kernels since 4.14 write */

/* Fields of sched_switch, in the order of worker_needs. */
enum switch_field {
	PREV_COMM,
	PREV_TID,
	PREV_PRIO,
	PREV_STATE,
	NEXT_COMM,
	NEXT_TID,
	NEXT_PRIO,
	SWITCH_PID,
	SWITCH_FIELDS
};

/* Where they lie in the class that kernel tracers write, if no analysis wants it as well.  Reading
 * them in place saves 5 % of the time of the analysis "cpu". */
struct switch_layout {
	bool is_sought;                 /* a switch of this chunk was examined */
	const struct plan_event *class; /* NULL: there is no such class */
	uint16_t at[SWITCH_FIELDS];     /* offset in bytes from the first field */
	bool has_pid;
};

enum known {
	KNOWN_INITIAL, /* no evidence yet in this chunk */
	KNOWN_TID,     /* `tid` runs, 0: the idle thread */
	KNOWN_NOT,     /* after a gap */
};

/* Whether the switch that began what runs fits: the thread that it says has left was there. */
enum fit {
	FITS_NOBODY, /* it is not KNOWN_TID */
	FITS,
	FITS_NOT,
	FITS_FIRST, /* it is the chunk's first, so that the merger knows */
};

struct worker {
	const struct setup *setup;
	struct chunk *chunk;
	struct partial *partial;
	struct partial *draft; /* groups and records of the open slice; its memory is reused */
	const struct plan *plan;
	uint64_t plan_serial; /* of the plan that wakes, of_plan, is_rt, contexts and states are of
			       */
	struct wake_source wakes;    /* looked up when it is wanted */
	void *of_plan[ANALYSES_MAX]; /* the same: what analyses made of it */
	struct clock clock;
	uint8_t *states;
	uint8_t analysis; /* index of the one whose handler is running */

	/* the open slice */
	uint64_t slice_begin_ns, slice_end_ns;
	uint64_t packet_number, packet_end_ns;
	bool has_left; /* the process has to end: the rest of the packet is not read */
	bool has_slice;
	struct slice slice;
	uint32_t keyed_chains[KEYED_CHAINS]; /* its keyed rows by hash, RECORD_NONE: none */
	struct places places;
	uint32_t places_epoch;        /* changed for each slice, never 0 */
	struct decoder_passed passed; /* its limit: the end of the slice or the packet */
	uint32_t tally_room;          /* classes that passed.counts and passed.seen have room for */

	uint32_t resting;    /* analyses, by bit */
	uint32_t oncpu_ends; /* the same: whose on_oncpu_end is called */
	bool is_rt;          /* the kernel preempts soft interrupts */
	bool by_cpu;         /* joined traces: the kernel's says who runs on a CPU */
	uint8_t contexts;    /* interrupts that are followed, by bit of contexts.c; 0: none yet */

	uint64_t last_ts; /* ns: no later event or record of the stream is older */
	uint64_t gap_end; /* ns: of the gap that on_lost() tells of */
	uint64_t last_cycles;

	/* which thread runs */
	struct switch_layout switches;
	enum known known;
	enum fit fit; /* not FITS: only leave_in_part() charges the time since */
	int32_t tid;
	uint64_t since; /* ns: time of the CPU is charged up to here; not in KNOWN_INITIAL */
	uint32_t group; /* of tid in this slice, RECORD_NONE: not looked up yet */
	bool serves;    /* soft interrupts are its work */
	size_t oncpu;   /* number of the IN or ON record of tid; SIZE_MAX: none in this chunk */
	uint32_t
		initial_group; /* index in the draft of partial->initial_group, RECORD_NONE: none */
	uint16_t states_form;  /* how prev_state is encoded (kernel/task-state.h) */
	uint8_t leaving[STATES_KNOWN]; /* by prev_state: flags of the record of leaving */

	uint8_t *buffer; /* for one packet that is read from a file */
	size_t buffer_size;
	struct decoder decoder;
};

/* A switch of the class in worker->switches, whose first field is at @fields. */
void worker_on_plain_switch(struct worker *worker, uint64_t ts, const uint8_t *fields);

/* Prepares for switches that encode prev_state in this form. */
void worker_set_states(struct worker *worker, uint16_t form);

/* Only recorders of ours have it: nobody is advised to record it. */
#define WORKER_PLACE_NEED                                                                          \
	{                                                                                          \
		"sillage_container", { "@name", "tid", "pid_ns", "vpid", "@kind" },                \
			worker_on_place, .is_extra = true                                          \
	}

/* The handlers of worker_needs. */
handler_fn worker_on_switch, worker_on_fork, worker_on_exec, worker_on_process, worker_on_container,
	worker_on_place, worker_on_context;
/* `user` of those of worker_on_context(). */
uint32_t worker_vector_user(const char *event);
#define CONTEXT_ENDS 0x100 /* beside the number of its pair of events */

/* No interrupt is open: a switch, or what is missing, shows it. */
static inline void worker_close_contexts(struct worker *worker)
{
	for (unsigned int i = 0; i < WAKE_CONTEXTS; i++) {
		worker->partial->depths[i] = WAKE_DEPTH_CLOSED;
	}
}

/* Tells the analyses that the on-CPU interval ends, or only (@is_window) the window. */
void worker_tell_oncpu_end(struct worker *worker, uint64_t ts, bool is_window);
static inline void worker_end_oncpu(struct worker *worker, uint64_t ts, bool is_window)
{
	if (worker->oncpu_ends != 0) {
		worker_tell_oncpu_end(worker, ts, is_window);
	}
}
/* Tells them that the slice ends. */
void worker_end_slice(struct worker *worker, uint64_t ts);
/* Events are missing from @ts to @end. */
void worker_note_gap(struct worker *worker, uint64_t ts, uint64_t end);
/* Opens the slice that @ts lies in, unless it is open. */
void worker_to_slice(struct worker *worker, uint64_t ts);
/* The chunk ends: notes which thread runs. */
void worker_note_last(struct worker *worker);
