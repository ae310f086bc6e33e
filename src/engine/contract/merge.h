/*
 * merge: what the merger's half of an analysis may call.
 *
 * The functions of an analysis that take a shard run inside it: several shards may be at work at
 * once, so an analysis touches nothing but what the shard gives.  Rows are those of the open
 * window, and are added to; the engine closes windows and adds them to totals.
 */
#ifndef SILLAGE_ENGINE_CONTRACT_MERGE_H
#define SILLAGE_ENGINE_CONTRACT_MERGE_H

#include "engine/contract/analysis.h"
#include "engine/contract/row-key.h"
#include "engine/contract/row.h"

struct keyed_row;

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
bool shard_is_long(const struct shard *shard, unsigned int table, uint64_t ns);

/* The name of an event class. */
const char *shard_event_name(const struct shard *shard, uint32_t class_index);
void *shard_thread_state(struct shard *shard, struct thread *thread);

/* The stream class (LTTng: the channel) that on_record()'s record came from. */
uint64_t shard_channel(const struct shard *shard);

/* on_gap(): whether what came from @channel may have had its end there.  It is sure that it had not
 * if only another channel misses events, which leaves it known who runs. */
bool shard_may_miss(const struct shard *shard, uint64_t channel);

/* The number of an object (worker_emit_entity), as far as 32 bits go; UINT64_MAX for UINT64_MAX. */
uint64_t shard_entity_id(const struct thread *entity);

/* ---- threads and entities ---- */

int32_t shard_tid(const struct thread *thread); /* below 0: unknown */
/* Which of the threads that had this tid it is, one after the other; or the entity's number. */
uint32_t shard_incarnation(const struct thread *thread);
bool shard_is_dead(const struct thread *thread);
/* When it was last switched in, 0: not known. */
uint64_t shard_switch_in_ts(const struct thread *thread);

/* The id of a CPU, as traced. */
uint64_t shard_cpu_id(const struct cpu *cpu);

/* ---- the run ---- */

/* The periods that the user named; NULL: none. */
const struct period_set *shard_periods(const struct shard *shard);

#endif
