/*
 * shard: threads of some keys, and the records that are about them.
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
#ifndef SILLAGE_ENGINE_MERGER_SHARD_H
#define SILLAGE_ENGINE_MERGER_SHARD_H

#include "engine/tables/tables.h"

/* A slice that takes part in a round. */
struct round_entry {
	struct partial *partial;
	const struct slice *slice;
	uint64_t channel; /* its stream's class */
	uint64_t cpu_id;  /* of its stream, UINT64_MAX: none */
	uint32_t cpu_number;
	bool owns_cpu; /* its records say who runs there */
	bool counts;   /* its tallies are to be added */
};

struct round {
	uint32_t number;
	uint64_t bound;                  /* ns: records from here on are left */
	int64_t former;                  /* but not those of this key at the bound */
	VEC(struct round_entry) entries; /* by stream and sequence: this breaks ties of time */
};

/* Merges the groups of the shard with this @number. */
void shard_run(struct shard *shard, const struct round *round, unsigned int number);

/* Adds the tallies of every @step-th entry from @first on. */
void shard_count(struct shard *shard, const struct round *round, size_t first, size_t step,
		 const uint32_t *class_names);

/* ---- for analyses, inside their merge-side calls ---- */

/* The row's columns in the open window, to be added to. */
uint64_t *shard_trace_row(struct shard *shard, unsigned int table);
uint64_t *shard_cpu_row(struct shard *shard, struct cpu *cpu, unsigned int table);
uint64_t *shard_thread_row(struct shard *shard, struct thread *thread, unsigned int table);
uint64_t *shard_event_row(struct shard *shard, uint32_t event_name, unsigned int table);
/* Dies when another item is asked for.  Rows with a COLUMN_LAST have to be asked for in each
 * window. */
uint64_t *shard_keyed_row(struct shard *shard, unsigned int table, const struct row_key *key);
/* The same of an item that the analysis knows by a small number, an event class' index for one; for
 * one table of an analysis.  Quick: the key is made once. */
uint64_t *shard_indexed_row(struct shard *shard, unsigned int table, uint32_t index,
			    struct row_key (*key_of)(const struct shard *shard, uint32_t index));
/* The item itself, which stays, to be asked for its row again, which is quick; and to be given a
 * label (keyed_label). */
struct keyed_row *shard_keyed(struct shard *shard, unsigned int table, const struct row_key *key);
/* The same by a name of any length. */
struct keyed_row *shard_keyed_named(struct shard *shard, unsigned int table, uint64_t id,
				const char *name);
uint64_t *shard_keyed_again(struct shard *shard, struct keyed_row *keyed);
/* Notes what on_ordered() is to see; fill in the words. */
struct ordered *shard_note_ordered(struct shard *shard, struct thread *thread, uint64_t ts,
				   unsigned int kind);
/* Keeps the instance, if it is one of the longest. */
void shard_longest(struct shard *shard, unsigned int table, const struct instance *instance);
/* Whether one of @ns may be, so that it is worth to be described. */
static inline bool shard_is_long(const struct shard *shard, unsigned int table, uint64_t ns)
{
	const struct longest *longest =
		&shard->accumulator->longest[shard->layout->offsets[shard->running][table]];

	return longest_may_have(longest, ns);
}

/* The name of an event class. */
const char *shard_event_name(const struct shard *shard, uint32_t class_index);
void *shard_thread_state(struct shard *shard, struct thread *thread);

/* The stream class (LTTng: the channel) that on_record()'s record came from. */
static inline uint64_t shard_channel(const struct shard *shard)
{
	return shard->source->channel;
}

/* on_gap(): whether what came from @channel may have had its end there.  It is sure that it had not
 * if only another channel misses events, which leaves it known who runs. */
static inline bool shard_may_miss(const struct shard *shard, uint64_t channel)
{
	return shard->source->owns_cpu || shard->source->channel == channel;
}

/* The number of an object (worker_emit_entity), as far as 32 bits go; UINT64_MAX for UINT64_MAX. */
static inline uint64_t shard_entity_id(const struct thread *entity)
{
	return entity->incarnation == UINT32_MAX ? UINT64_MAX : entity->incarnation;
}

/* Calls a merge-side function of every analysis that has it. */
#define shard_each_with(shard, member, call)                                                       \
	each_analysis_with((shard)->layout->setup, member, a_) {                                   \
		(shard)->running = a_;                                                             \
		(shard)->layout->setup->analyses[a_]->member call;                                 \
	}

#endif
