/*
 * round: applies the records of all streams up to a bound, in parallel by shard.
 *
 * One round by thread and time:
 *
 *     coordinator  round_begin ┬────── free: takes partials, reads sockets ──────┬ round_forget
 *       resolve records without│                                                 │ free partials
 *       a thread, charge CPUs, │                                                 │ close window
 *       collect entries        │                                                 │
 *                              │submit                            task_done x 3  │
 *     worker 0                 ├─ shards  0..20 ─ tallies 0,3,6.. ─┐             ▲
 *     worker 1                 ├─ shards 21..41 ─ tallies 1,4,7.. ─┼─┐           │
 *     worker 2                 └─ shards 42..63 ─ tallies 2,5,8.. ─┘ │           │
 *                                                                    └─ ordered ─┘
 *                                        the last task replays the ordered events
 *
 * Too little work for a task (GROUPS_PER_TASK), or no workers: the coordinator runs all of it.
 *
 * An entry is a slice that takes part.  A shard goes through the groups of its keys in all
 * entries.  It brings the groups of one key into one order and applies their records:
 *
 *     stream 0:  slice ── group (tid 7) ── IN 10 ── IN 30 ──┐
 *     stream 1:  slice ── group (tid 7) ── IN 20 ───────────┴─►  tid 7: 10, 20, 30
 *
 * Records of one key are applied by time.  Ties are broken by entry (stream, then sequence, then
 * window), then by the order in which the groups were made.  Streams are ordered by identity, so
 * that the order in which they arrive does not matter.
 *
 * No order is made between keys.  Shards therefore need nothing of each other, which makes merging
 * as parallel as decoding.  What needs one order over all threads comes after the shards
 * (ordered.h).
 *
 * Sums of a slice (events, lost packets, CPU time, keyed rows, tallies) are added in the first
 * round that the slice takes part in, its records as rounds reach them.
 *
 * Invariants (round_check()): entries are in the order above, each slice once, and the last entry
 * is the stitched partial, whose records the merger itself made.  No record at the bound or later
 * is applied, except for a rename: see struct round.
 */
#pragma once

#include "engine/tables/shard.h"

struct merger;
struct merger_stream;
struct slice;
struct stream_identity;

/* A slice that takes part in a round. */
struct round_entry {
	struct partial *partial;
	const struct slice *slice;
	struct record_source source;
	bool counts; /* its sums are added in this round */
	bool is_due; /* else all its records are later: a stream may be ahead by many windows */
};

struct round {
	uint32_t number;
	uint64_t bound; /* ns: records from here on are left */
	bool closes;    /* the open window ends with it */
	/* The tid that a thread has up to the bound, where it gets another one; INT64_MIN: none.
	 * Its records at the bound belong to this round: a chunk may end there. */
	int64_t former;
	VEC(struct round_entry) entries;
};

/* ---- the coordinator's part (round.c) ---- */

/* Begins the round of all records before @bound; @closes: the open window ends with it. */
void round_begin(struct merger *merger, uint64_t bound, bool closes);

/* The number of the last window whose slices belong to the open one. */
int64_t round_last(const struct merger *merger);

/*
 * Frees the stream's partials that have no slice after window @last, and no record at @bound or
 * later.  @closed: windows up to @last have closed, so their slices are done.
 */
void round_forget(struct merger_stream *stream, int64_t last, uint64_t bound, bool closed);

/* Adds what no slice with events counts, losses and misfits, to the open window. */
void round_count(struct merger *merger, const struct stream_identity *stream,
		 const struct slice *slice);

/* Asserts the invariants of the round that has begun. */
void round_check(const struct merger *merger);

/* ---- a worker's part (round-shard.c) ---- */

/* Applies the records of the shard with this @number. */
void round_run_shard(struct shard *shard, const struct round *round, unsigned int number);

/* Adds the tallies of every @step-th entry from @first on. */
void round_count_shard(struct shard *shard, const struct round *round, size_t first, size_t step,
		       const uint32_t *class_names);
