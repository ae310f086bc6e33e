/*
 * map-state: what the parts of the worker share: map.c (packets, events, slices),
 * map-groups.c (groups and records), map-handlers.c (what handlers of events are given) and
 * map-run.c (who runs).
 */
#ifndef SILLAGE_ENGINE_WORKER_WORKER_STATE_H
#define SILLAGE_ENGINE_WORKER_WORKER_STATE_H

#include "ctf/clock.h"
#include "ctf/decoder.h"
#include "engine/contract/handler.h"
#include "engine/worker/worker.h"

/* The newest group of each key in the slice: open addressing, never more than half full, and small,
 * so that it stays in the nearer caches. */
struct group_place {
	uint32_t epoch; /* of the slice; else the place is empty */
	uint32_t group;
};

struct group_places {
	struct group_place *at;
	uint32_t mask, used, epoch;
};

#define KEYED_CHAINS 64

#define STATES_KNOWN 512 /* of a thread, on its way out: what kernels since 4.14 have */

/* Fields of sched_switch, in the order of the engine's need. */
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

/* Where they are in a class that only the engine wants, and that is as kernel tracers write it. */
struct switch_layout {
	bool is_sought;                 /* in this chunk: a switch was seen */
	const struct plan_event *class; /* NULL: that is of none such */
	uint16_t at[SWITCH_FIELDS];     /* bytes from the first field */
	bool has_pid;
};

enum known {
	KNOWN_INITIAL, /* nothing seen yet in this chunk */
	KNOWN_TID,     /* `tid` runs, 0: the idle thread */
	KNOWN_NOT,     /* after a gap */
};

struct worker {
	const struct setup *setup;
	struct chunk *chunk;
	struct partial *partial;
	struct partial *draft; /* groups and records of the open slice: the same memory each time */
	const struct plan *plan;
	struct clock clock;
	uint8_t *states;
	uint8_t analysis; /* whose handler runs */

	/* the slice of the window being filled */
	uint64_t slice_begin_ns, slice_end_ns;
	uint64_t packet_number, packet_end_ns;
	bool has_slice;
	struct slice slice;
	uint32_t keyed_chains[KEYED_CHAINS]; /* its items by hash, RECORD_NONE: none */
	struct group_places places;
	struct decoder_passed passed; /* its limit: where the slice or the packet ends */
	uint32_t tally_room;

	uint32_t resting; /* analyses, by bit */

	uint64_t last_ts; /* ns, of the stream */
	uint64_t last_cycles;

	/* who runs */
	struct switch_layout switches;
	enum known known;
	int32_t tid;
	uint64_t since; /* ns: the CPU's time is accounted for up to here; not in KNOWN_INITIAL */
	uint32_t group; /* of tid in this slice, RECORD_NONE: not looked up */
	size_t oncpu;   /* the IN or ON record, as it was made; SIZE_MAX: none in this chunk */
	uint32_t initial_group;        /* of the draft: partial->initial_group is to be that */
	uint16_t states_form;          /* how prev_state is encoded, see sched.h */
	uint8_t leaving[STATES_KNOWN]; /* flags of a record of who leaves, by prev_state */

	uint8_t *buffer; /* of one packet, when reading from a file */
	size_t buffer_size;
	struct decoder decoder;
};

/* A switch of the class in map->switches. */
void worker_on_plain_switch(struct worker *worker, uint64_t ts, const uint8_t *fields);

/* Prepares for switches in this encoding. */
void worker_set_states(struct worker *worker, uint16_t form);

/* What the engine itself needs of events. */
handler_fn worker_on_switch, worker_on_fork, worker_on_exec, worker_on_process;

/* Tells the analyses that the current stay ends, or (@is_window) that its window does. */
void worker_end_oncpu(struct worker *worker, uint64_t ts, bool is_window);
/* From @ts on it is not known who runs. */
void worker_note_gap(struct worker *worker, uint64_t ts);
/* Begins the slice that has @ts, if it is not there. */
void worker_to_slice(struct worker *worker, uint64_t ts);
/* The chunk ends: who runs then. */
void worker_note_last(struct worker *worker);

#endif
