/*
 * round-shard: one shard's part of a round; see round.h.
 *
 *     collect        groups of the shard with records in the round ─► nodes
 *     chain_by_key   nodes of one key ─► a list, its key            ─► keys
 *     for each key   apply the records of its nodes, in one order
 *
 * This is the hot path of merging: it runs once for each record.  The threads of a large trace do
 * not fit in caches, so each step prefetches what the next one reads.
 */
#include "engine/merger/round-apply.h"

#include <stdlib.h>
#include <string.h>

#include "base/check.h"

/* ---- order ---- */

/* Moves the first node to its place among the others, which are sorted. */
static void place(struct shard_node **order, size_t first, size_t count)
{
	struct shard_node *moved = order[first];
	size_t to = first;

	assert_hot(first < count);
	while (to + 1 < count && round_node_before(order[to + 1], moved)) {
		order[to] = order[to + 1];
		to++;
	}
	order[to] = moved;
}

static int by_order(const void *left, const void *right)
{
	return round_node_before(*(struct shard_node *const *)left,
				 *(struct shard_node *const *)right)
		       ? -1
		       : 1;
}

#define FEW_NODES 32 /* so many are sorted faster by insertion */

/* The nodes of a key, sorted by the next record of each. */
static struct shard_node **sort_nodes(struct accumulator *accumulator, const struct shard_key *key)
{
	struct shard_node **order;
	size_t count = key->count, at = count;

	vec_reserve(&accumulator->order, count);
	order = accumulator->order.at;
	for (uint32_t i = key->first; i != RECORD_NONE; i = accumulator->nodes.at[i].next) {
		order[--at] = &accumulator->nodes.at[i];
		if (count <= FEW_NODES) {
			place(order, at, count);
		}
	}
	assert(at == 0); /* the list has as many nodes as were counted */
	if (count > FEW_NODES) {
		qsort(order, count, sizeof(*order), by_order);
	}
	return order;
}

/* Applies the records of several groups.  `order` stays sorted from @i on. */
static void use_nodes(struct shard *shard, const struct round *round, struct shard_key *key)
{
	struct shard_node **order = sort_nodes(shard->accumulator, key);
	size_t count = key->count;

	for (size_t i = 0; i < count;) {
		const struct shard_node *other = i + 1 < count ? order[i + 1] : NULL;

		if (round_apply_node(shard, round, key, order[i], other)) {
			place(order, i, count);
		} else {
			i++;
		}
	}
}

/* ---- nodes ---- */

/* A shard's groups in a slice are adjacent, but too few for hardware prefetching. */
#define GROUPS_AHEAD 8

/* Adds a group if it has records in the round; prefetches its first record and its key's slot. */
static inline void add_node(struct shard *shard, const struct round *round, size_t entry,
			    uint32_t g)
{
	const struct partial *partial = round->entries.at[entry].partial;
	const struct group *group = &partial->groups.at[g];
	struct accumulator *accumulator = shard->accumulator;

	__builtin_prefetch(group + GROUPS_AHEAD);
	if (group->first == RECORD_NONE || round_is_beyond(round, group->key, group->ts)) {
		return;
	}
	assert_hot(group->first < partial->records.count);
	assert_hot(accumulator->nodes.count < accumulator->nodes.room); /* collect() reserves */
	__builtin_prefetch(&partial->records.at[group->first]);
	accumulator->nodes.at[accumulator->nodes.count++] =
		(struct shard_node){ .key = group->key,
				     .ts = group->ts,
				     .entry = (uint32_t)entry,
				     .group = g,
				     .made = group->made,
				     .next = RECORD_NONE };
	__builtin_prefetch(&shard->slots.at[hash_mix((uint64_t)group->key) & shard->slots.mask]);
}

/* Makes a node of each group of the shard that has records in the round. */
static void collect(struct shard *shard, const struct round *round, unsigned int number)
{
	struct accumulator *accumulator = shard->accumulator;

	accumulator->nodes.count = 0;
	for (size_t e = 0; e < round->entries.count; e++) {
		const struct slice *slice = round->entries.at[e].slice;
		const struct partial *partial = round->entries.at[e].partial;

		if (!round->entries.at[e].is_due) {
			continue; /* its groups are in no cache */
		}
		vec_reserve_more(&accumulator->nodes,
				 slice->shards[number + 1] - slice->shards[number]);
		for (uint32_t g = slice->shards[number]; g < slice->shards[number + 1]; g++) {
			assert_hot(key_shard(partial->groups.at[g].key) == number);
			add_node(shard, round, e, g);
		}
		if (slice->chains != RECORD_NONE) {
			uint32_t g = partial->chains.at[slice->chains].first[number];

			for (; g != RECORD_NONE; g = partial->groups.at[g].next) {
				assert_hot(key_shard(partial->groups.at[g].key) == number);
				vec_reserve_more(&accumulator->nodes, 1);
				add_node(shard, round, e, g);
			}
		}
	}
}

/* Links the nodes of each key, in the order of entries. */
static void chain_by_key(struct shard *shard, uint32_t round)
{
	struct accumulator *accumulator = shard->accumulator;

	accumulator->keys.count = 0;
	for (size_t i = 0; i < accumulator->nodes.count; i++) {
		const struct shard_node *node = &accumulator->nodes.at[i];
		struct slot *slot = shard_slot(shard, node->key);
		struct shard_key *key;

		if (slot->round == round) {
			assert_hot(slot->at < accumulator->keys.count);
			key = &accumulator->keys.at[slot->at];
			assert_hot(key->key == node->key);
			accumulator->nodes.at[key->last].next = (uint32_t)i;
			key->last = (uint32_t)i;
			key->count++;
			continue;
		}
		slot->round = round;
		slot->at = (uint32_t)accumulator->keys.count;
		*vec_push(&accumulator->keys) = (struct shard_key){ .key = node->key,
								    .thread = slot->thread,
								    .first = (uint32_t)i,
								    .last = (uint32_t)i,
								    .count = 1 };
		if (slot->thread) {
			thread_prefetch(shard->layout, slot->thread);
		}
	}
}

/* ---- a worker's part ---- */

void round_run_shard(struct shard *shard, const struct round *round, unsigned int number)
{
	const struct accumulator *accumulator = shard->accumulator;

	assert(number < SHARDS);
	shard_close_window(shard);
	collect(shard, round, number);
	chain_by_key(shard, round->number);
	for (size_t i = 0; i < accumulator->keys.count; i++) {
		struct shard_key *key = &accumulator->keys.at[i];

		if (shard->leaving.count > 0) {
			round_apply_begin(shard, key->thread);
		}
		if (key->count == 1) {
			(void)round_apply_node(shard, round, key,
					       &accumulator->nodes.at[key->first], NULL);
		} else {
			use_nodes(shard, round, key);
		}
		if (shard->held.ts != OUT_NONE) {
			round_apply_end(shard, round);
		}
	}
	round_apply_leaving(shard, round);
	shard->left_out = 0;
}

static void count_slice(struct shard *shard, const struct round_entry *entry,
			const uint32_t *class_names)
{
	const struct slice *slice = entry->slice;

	assert(slice->tally_count == 0 ||
	       slice->tally_first + (size_t)slice->tally_count <= entry->partial->tallies.count);
	if (shard->layout->selects) {
		shard_select_cpu(shard, entry->source.cpu_id);
	}
	for (uint32_t i = 0; i < slice->tally_count; i++) {
		const struct tally *tally = &entry->partial->tallies.at[slice->tally_first + i];

		shard_each_rare_with(shard, on_tally,
				     (shard, class_names[tally->class_index], tally->count));
	}
}

void round_count_shard(struct shard *shard, const struct round *round, size_t first, size_t step,
		       const uint32_t *class_names)
{
	assert(step > 0);
	for (size_t e = first; e < round->entries.count; e += step) {
		if (round->entries.at[e].counts) {
			count_slice(shard, &round->entries.at[e], class_names);
		}
	}
	shard->left_out = 0;
}
