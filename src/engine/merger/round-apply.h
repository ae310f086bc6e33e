/*
 * round-apply: applies the records of one node, a group's in a round, to their thread; for
 * round-shard.c.
 *
 * A switch-out is often known with the switch-in before, or by the record of another stream that
 * is applied first.  It is held back in the shard, and reported when a record behind it comes, or
 * all records before the bound are applied: in time order, behind all others of its ns.  Where
 * switches are lost, the thread may be switched in elsewhere before: then it is reported at once.
 */
#pragma once

#include "engine/merger/round.h"

/* ---- the order of records ---- */

static inline bool round_node_before(const struct shard_node *a, const struct shard_node *b)
{
	if (a->ts != b->ts) {
		return a->ts < b->ts;
	}
	if (a->entry != b->entry) {
		return a->entry < b->entry;
	}
	return a->made < b->made;
}

/* A chunk may end at the very time at which the next one begins with a rename: records of the
 * former tid at the bound belong to this round. */
static inline bool round_is_beyond(const struct round *round, int64_t key, uint64_t ts)
{
	return ts >= round->bound && (ts > round->bound || key != round->former);
}

/* Applies a group's records up to the bound, or up to the next record of @other (NULL: none). True:
 * the node has another record before the bound. */
bool round_apply_node(struct shard *shard, const struct round *round, struct shard_key *key,
		      struct shard_node *node, const struct shard_node *other);
/* The thread's records of the round come next, or are applied: what of it is held back. */
void round_apply_begin(struct shard *shard, const struct thread *thread);
void round_apply_end(struct shard *shard, const struct round *round);
/* Those of all threads are applied: the same of the threads that had none. */
void round_apply_leaving(struct shard *shard, const struct round *round);
