/*
 * merger-state: the structs that the parts of the merger share.
 *
 * The coordinator writes all of it.  While a round's tasks run, workers read `round`, `setup` and
 * class names, and write the shards and accumulators in `tables`, the records of partials that
 * have an entry in the round, and `tasks_left`.
 */
#pragma once

#include <stdatomic.h>

#include "ctf/coverage.h"
#include "engine/merger/merger.h"
#include "engine/merger/round.h"
#include "engine/tables/tables.h"

/* A partial that came before others of its stream with smaller sequence numbers. */
struct held {
	struct partial *partial;
	uint64_t seq;
};

struct merger_stream {
	struct merger *merger;
	uint32_t ordinal; /* in the order of registration */
	struct stream_identity identity;
	bool is_identified, is_excluded, is_ended;
	struct cpu *cpu; /* NULL: the stream names no CPU */
	bool owns_cpu;   /* its switches decide which thread runs there */

	uint64_t next_seq; /* of the next partial in sequence */
	uint64_t until;    /* ns: merged up to here */
	bool has_until;
	uint64_t known_seq, known_ts; /* applies once known_seq chunks are merged */
	bool has_known;
	uint64_t heard_from; /* ns: before its first packet, of the first beacon; 0: there was none
			      */
	uint64_t end_seq;    /* the stream ends after so many chunks, UINT64_MAX: not yet */

	VEC(struct held) early;         /* out of sequence, in any order */
	VEC(struct partial *) ready;    /* in sequence, not used up */
	size_t waiting;                 /* the last ones of these are not stitched (holes.h) */
	bool has_stitched;              /* at least one was */
	bool is_cut;                    /* the run stops, and it had not ended */
	uint32_t depths[WAKE_CONTEXTS]; /* interrupts open behind the last that was stitched */
};

/* A part of a round that one worker does. */
struct merger_task {
	struct job job;
	struct merger *merger;
	struct accumulator *accumulator;
	unsigned int first_shard, shards;
	unsigned int stripe, stripes; /* it adds the tallies of every stripes-th entry */
};

struct merger {
	const struct setup *setup;
	struct merger_host host;
	struct tables tables;
	VEC(struct merger_stream *) streams;
	VEC(struct merger_stream *) order; /* sorted by identity; empty: to be rebuilt */
	struct merger_stream *lowest;      /* holds the watermark back; NULL: to be found */
	size_t waiting;                    /* partials of all streams that are not stitched */
	size_t held_bytes;                 /* of partials; the account has them, too */
	VEC(struct rename) renames;        /* not yet applied, in time order */
	struct coverage coverage;          /* by the packets of all streams, but for those beside */
	VEC(uint64_t) holes;               /* ns: begins of those not yet applied, in time order */

	/* the round */
	struct round round;
	struct partial *stitched; /* records that the merger itself adds; emptied with each round */
	struct merger_task tasks[SHARDS];
	unsigned int tasks_running; /* counted by the coordinator */
	atomic_uint tasks_left;     /* that have not done their part of the round */
	bool is_round_open;         /* begun and not ended */
	bool closes;                /* the open window ends with the round */
	bool hands_spans;           /* spans are handed over when it ends */
	uint64_t last_bound;
	size_t bytes_after_round; /* held after the last round */

	bool is_joined;     /* some stream is beside those of the kernel's trace */
	bool needs_running; /* some stream's records do not name their thread */
	bool ends_changed;  /* streams have ended, or not any more: which CPUs have left is old */
	bool has_started;
	bool is_before_range; /* the open window is the time before the range */
	bool is_over;         /* nothing else comes: what is not decided stays as it is */
	bool window_is_long;  /* a row of windows that nothing falls into */
	bool window_has_gap;
	uint64_t window_begin, window_end; /* ns, of the open window */
	uint64_t close_at;                 /* ns: window_end, or the end of the trace */
	int64_t window;                    /* its number since the epoch */
	uint64_t window_seq;               /* of the next report */
	uint64_t begin;                    /* ns: start of what is reported */
	uint64_t first_ts, last_ts;        /* of events taken */
	uint64_t kernel_first_ts;          /* the same, without streams beside */
	uint64_t taken_events;             /* when merger_advance() last looked ... */
	uint64_t taken_ns;      /* ... and when that number last grew (CLOCK_MONOTONIC) */
	uint64_t cut_at;        /* ns: what is later is not all there; UINT64_MAX: it is */
	uint64_t closed_end;    /* ns: end of the last closed window */
	uint32_t initial_count; /* CPUs whose first switches are awaited (cpus.h) */
	struct slice applied;   /* sums of slices in the open window */
	uint64_t window_late;
	uint64_t total_events;
	uint64_t unplaced; /* packets lost of streams that were never identified */
	struct merger_account account;
};

/* Calls @call for each CPU, @cpu, that has an owner. */
#define merger_each_cpu(merger, cpu, call)                                                         \
	HASH_EACH(cpus, &(merger)->tables.cpus, one_) {                                            \
		struct cpu *cpu = one_->value;                                                     \
		if (cpu->owner) {                                                                  \
			call;                                                                      \
		}                                                                                  \
	}

/*
 * Whether the parts of the merger agree, as far as a checkpoint may say otherwise.  For who reads
 * one: these bytes are untrusted, so a violation is an error there.
 */
bool merger_is_sound(const struct merger *merger);
/* Counts its memory, or no longer. */
void merger_hold(struct merger *merger, const struct partial *partial);
void merger_let_go(struct merger *merger, const struct partial *partial);

/* Asserts the invariants between rounds and between calls; costs a walk over all that is held. */
void merger_check(const struct merger *merger);
