/*
 * accumulator: figures of the open window that belong to no single thread or CPU.
 *
 * One task of the merger goes through several shards, one after the other.  They share the task's
 * accumulator, so it stays in cache.  What accumulators hold is added to the trace's tables when a
 * window closes.
 */
#ifndef SILLAGE_ENGINE_TABLES_ACCUMULATOR_H
#define SILLAGE_ENGINE_TABLES_ACCUMULATOR_H

#include "base/mem.h"
#include "engine/tables/keyed.h"
#include "engine/tables/longest.h"

struct layout;
struct tables;
struct thread;

/* A group of records that is merged in this round. */
struct shard_node {
	int64_t key;
	uint64_t ts;    /* of its next record */
	uint32_t entry; /* of the round */
	uint32_t group;
	uint32_t made; /* its number: of those at one time the first one made is the first */
	uint32_t next; /* of the same key */
};

struct shard_key {
	int64_t key;
	struct thread *thread; /* NULL: not there yet */
	uint32_t first, last;  /* nodes */
	uint32_t count;
};

/* Items that an analysis knows by a small number. */
struct indexed_rows {
	struct keyed_row **at;
	size_t count, room;
};

/* Rows of the open window, and the longest in it, for the shards that a task goes through one after
 * the other: the same memory for all of them stays in the cache. */
struct accumulator {
	uint64_t *trace;
	uint64_t *names; /* by event name */
	size_t names_room;
	VEC(uint32_t) names_touched;
	struct keyed_rows *keyed_rows;
	struct indexed_rows indexed[ANALYSES_MAX];
	struct longest *longest; /* by what */
	/* Of the shard that the task is at. */
	VEC(struct shard_node) nodes;
	VEC(struct shard_key) keys;
	VEC(struct shard_node *) order;
};

void accumulators_init(struct tables *tables);
void accumulators_fini(struct tables *tables);
/* That of the task with this number; made when new, so not while tasks run. */
struct accumulator *accumulator_of_task(struct tables *tables, unsigned int number);
/* The columns of an event name in the open window. */
uint64_t *accumulator_names_row(const struct layout *layout, struct accumulator *accumulator,
				uint32_t event_name);
/* Adds what the lane has to the trace's rows. */
void accumulator_collect(struct tables *tables, struct accumulator *accumulator);
/* Adds what all have to the first one. */
void accumulators_join(struct tables *tables);

#endif
