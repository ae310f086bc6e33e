/*
 * round: the records that all streams have up to a bound, applied in parallel.
 *
 * A round takes what all streams have up to a bound.  In each of a shard's keys it brings the
 * groups of records into one order and applies them:
 *
 *     stream 0:  slice ── group (tid 7) ── IN 10 ── IN 30 ──┐
 *     stream 1:  slice ── group (tid 7) ── IN 20 ───────────┴─►  tid 7: 10, 20, 30
 *
 * Nothing is compared between threads, so that shards need nothing of each other; this is
 * what makes merging as parallel as decoding.
 */
#ifndef SILLAGE_ENGINE_MERGER_ROUND_H
#define SILLAGE_ENGINE_MERGER_ROUND_H

#include "engine/tables/shard.h"

/* A slice that takes part in a round. */
struct round_entry {
	struct partial *partial;
	const struct slice *slice;
	struct record_source source;
	bool counts; /* its tallies are to be added */
};

struct round {
	uint32_t number;
	uint64_t bound;                  /* ns: records from here on are left */
	int64_t former;                  /* but not those of this key at the bound */
	VEC(struct round_entry) entries; /* by stream and sequence: this breaks ties of time */
};

/* Merges the groups of the shard with this @number. */
void round_run_shard(struct shard *shard, const struct round *round, unsigned int number);

/* Adds the tallies of every @step-th entry from @first on. */
void round_count_shard(struct shard *shard, const struct round *round, size_t first, size_t step,
		       const uint32_t *class_names);

#endif
