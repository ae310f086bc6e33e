/*
 * accumulator: figures of the open window that belong to no single thread or CPU.
 *
 * One task of the merger goes through several shards, one after the other.  They share the task's
 * accumulator, so it stays in cache.  What accumulators hold is added to the trace's tables when a
 * window closes.
 */
#pragma once

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
	uint32_t entry; /* index in round.entries */
	uint32_t group;
	uint32_t made; /* group.made: breaks ties of time, the lowest comes first */
	uint32_t next; /* node of the same key */
};

/* A key that has records in this round. */
struct shard_key {
	int64_t key;
	struct thread *thread; /* NULL: not made yet */
	uint32_t first, last;  /* nodes */
	uint32_t count;
};

/* Keyed rows that an analysis knows by a small number; NULL: not asked for yet. */
struct indexed_rows {
	struct keyed_row **at;
	size_t count, room;
};

/* Where figures go that the user did not select.  Nobody reads them. */
struct left_out {
	uint64_t *rows[SCOPES_FIXED];
	struct keyed_rows keyed_rows; /* one row for each table */
};

struct accumulator {
	uint64_t *trace; /* a row of SCOPE_TRACE */
	uint64_t *names; /* rows of SCOPE_EVENT, by event name */
	size_t names_room;
	VEC(uint32_t) names_touched; /* a name may be listed more than once */
	struct keyed_rows *keyed_rows;
	struct indexed_rows indexed[ANALYSES_MAX];
	struct longest *longest;   /* by table of the longest */
	struct left_out *left_out; /* NULL: all threads and CPUs are selected */
	/* Working memory for the shard that the task is at. */
	VEC(struct shard_node) nodes;
	VEC(struct shard_key) keys;
	VEC(struct shard_node *) order;
};

void accumulators_init(struct tables *tables);
void accumulators_fini(struct tables *tables);
/* The accumulator of the task with this number; made when new, so not while tasks run. */
struct accumulator *accumulator_of_task(struct tables *tables, unsigned int number);
/* The columns of an event name in the open window. */
uint64_t *accumulator_names_row(const struct layout *layout, struct accumulator *accumulator,
				uint32_t event_name);
/* Adds what the accumulator has to the trace's tables, and empties it. */
void accumulator_collect(struct tables *tables, struct accumulator *accumulator);
/* Adds what all have to the first one, and empties the others. */
void accumulators_join(struct tables *tables);

/* Asserts what has to hold for all accumulators between two rounds. */
void accumulators_check(const struct tables *tables);
