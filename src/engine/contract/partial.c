/*
 * partial: see partial.h.
 */
#include "engine/contract/partial.h"

#include <assert.h>
#include <pthread.h>

/* ---- cache ---- */

/* Partials with more memory are freed: most of the next ones need less. */
#define CACHED_PARTIAL_BYTES ((size_t)4 << 20)

struct partial_cache {
	pthread_mutex_t mutex;
	size_t count, most;
	struct partial *partials[];
};

struct partial_cache *partial_cache_new(size_t most)
{
	struct partial_cache *partial_cache =
		mem_alloc(sizeof(*partial_cache) + most * sizeof(partial_cache->partials[0]));

	(void)pthread_mutex_init(&partial_cache->mutex, NULL);
	partial_cache->most = most;
	return partial_cache;
}

void partial_cache_free(struct partial_cache *partial_cache)
{
	if (!partial_cache) {
		return;
	}
	for (size_t i = 0; i < partial_cache->count; i++) {
		partial_free(partial_cache->partials[i]);
	}
	(void)pthread_mutex_destroy(&partial_cache->mutex);
	free(partial_cache);
}

struct partial *partial_cache_take(struct partial_cache *partial_cache)
{
	struct partial *partial = NULL;

	(void)pthread_mutex_lock(&partial_cache->mutex);
	assert(partial_cache->count <= partial_cache->most);
	if (partial_cache->count > 0) {
		partial = partial_cache->partials[--partial_cache->count];
	}
	(void)pthread_mutex_unlock(&partial_cache->mutex);
	if (!partial) {
		return partial_new();
	}
	assert(partial->slices.count == 0);
	assert(partial->slices_used == 0);
	return partial;
}

/* The array of @partial, without its elements. */
#define KEEP_ROOM(v)                                                                               \
	(emptied.v.at = partial->v.at, emptied.v.room = partial->v.room, emptied.v.count = 0)

static void empty(struct partial *partial)
{
	struct partial emptied = { .first_ts = UINT64_MAX, .first_anomaly = UINT64_MAX };

	KEEP_ROOM(slices);
	KEEP_ROOM(tallies);
	KEEP_ROOM(groups);
	KEEP_ROOM(chains);
	KEEP_ROOM(records);
	KEEP_ROOM(made);
	KEEP_ROOM(numbers);
	KEEP_ROOM(keyed_rows);
	KEEP_ROOM(currents);
	KEEP_ROOM(segments);
	KEEP_ROOM(renames);
	KEEP_ROOM(faults);
	*partial = emptied;
}

void partial_cache_put(struct partial_cache *partial_cache, struct partial *partial)
{
	bool is_cached = false;

	assert(partial);
	if (partial_bytes(partial) <= CACHED_PARTIAL_BYTES) {
		empty(partial);
		(void)pthread_mutex_lock(&partial_cache->mutex);
		is_cached = partial_cache->count < partial_cache->most;
		if (is_cached) {
			partial_cache->partials[partial_cache->count++] = partial;
		}
		(void)pthread_mutex_unlock(&partial_cache->mutex);
	}
	if (!is_cached) {
		partial_free(partial);
	}
}

/* ---- partials ---- */

struct partial *partial_new(void)
{
	struct partial *partial = mem_alloc(sizeof(*partial));

	partial->first_ts = partial->first_anomaly = UINT64_MAX;
	return partial;
}

void partial_free(struct partial *partial)
{
	if (!partial) {
		return;
	}
	vec_fini(&partial->slices);
	vec_fini(&partial->tallies);
	vec_fini(&partial->groups);
	vec_fini(&partial->chains);
	vec_fini(&partial->records);
	vec_fini(&partial->made);
	vec_fini(&partial->numbers);
	vec_fini(&partial->keyed_rows);
	vec_fini(&partial->currents);
	vec_fini(&partial->segments);
	vec_fini(&partial->renames);
	vec_fini(&partial->faults);
	free(partial);
}

#define ROOM(v) ((v).room * sizeof(*(v).at))

size_t partial_bytes(const struct partial *partial)
{
	return sizeof(*partial) + ROOM(partial->slices) + ROOM(partial->tallies) +
	       ROOM(partial->groups) + ROOM(partial->chains) + ROOM(partial->made) +
	       ROOM(partial->records) + ROOM(partial->numbers) + ROOM(partial->keyed_rows) +
	       ROOM(partial->currents) + ROOM(partial->segments) + ROOM(partial->renames) +
	       ROOM(partial->faults);
}

void partial_chain_group(struct partial *partial, struct slice *slice, uint32_t group)
{
	struct group *g = &partial->groups.at[group];
	uint32_t *first;

	assert(group < partial->groups.count);
	assert(partial_place(g) < SHARDS);
	if (slice->chains == RECORD_NONE) {
		slice->chains = (uint32_t)partial->chains.count;
		memset(vec_push(&partial->chains), 0xFF, sizeof(struct slice_chains));
	}
	first = &partial->chains.at[slice->chains].first[key_shard(g->key)];
	g->next = *first;
	*first = group;
}

/* Puts indexes of the slice's groups into draft->made, by shard, and sets slice->shards. */
static void order_groups(struct slice *slice, struct partial *draft, uint32_t first, uint32_t count,
			 uint32_t begin)
{
	const struct group *groups = count > 0 ? &draft->groups.at[first] : NULL;
	uint32_t *shards = slice->shards;

	memset(shards, 0, sizeof(slice->shards));
	for (size_t i = 0; i < count; i++) {
		shards[partial_place(&groups[i]) + 1]++;
	}
	for (size_t i = 0; i <= SHARDS; i++) {
		shards[i + 1] += shards[i];
	}
	vec_reserve(&draft->made, count);
	for (uint32_t i = 0; i < count; i++) {
		draft->made.at[shards[partial_place(&groups[i])]++] = first + i;
	}
	/* The start of each shard has become its end, which is the start of the next. */
	for (size_t i = SHARDS + 1; i > 0; i--) {
		shards[i] = begin + shards[i - 1];
	}
	shards[0] = begin;
}

/* Moves a group of the draft with its records; their new indexes follow each other. */
static void take_group(struct partial *partial, struct partial *draft, uint32_t number)
{
	struct group *from = &draft->groups.at[number];
	uint32_t index = (uint32_t)partial->groups.count++;
	struct group *to = &partial->groups.at[index];
	uint32_t at = (uint32_t)partial->records.count;
	uint32_t i = from->first;

	assert(from->next == RECORD_NONE);
	*to = *from;
	from->next = index;
	if (i == RECORD_NONE) {
		return;
	}
	to->first = at;
	while (i != RECORD_NONE) {
		struct record *record = &draft->records.at[i];
		struct record *taken = &partial->records.at[at];

		i = record->next;
		*taken = *record;
		taken->group = index;
		taken->next = i == RECORD_NONE ? RECORD_NONE : at + 1;
		record->next = at++;
	}
	to->last = at - 1;
	partial->records.count = at;
}

void partial_take_slice(struct partial *partial, struct slice *slice, struct partial *draft,
			uint32_t first, uint32_t count)
{
	uint32_t begin = (uint32_t)partial->groups.count;

	assert((size_t)first + count <= draft->groups.count);
	assert(slice->chains == RECORD_NONE);
	slice->group_count = count;
	order_groups(slice, draft, first, count, begin);
	vec_reserve_in_line(&partial->groups, begin + (size_t)count);
	vec_reserve_in_line(&partial->records, partial->records.count + draft->records.count);
	for (uint32_t i = 0; i < count; i++) {
		take_group(partial, draft, draft->made.at[i]);
	}
}

void partial_take_order(struct partial *partial, struct partial *draft)
{
	size_t before = partial->made.count;

	vec_reserve_more(&partial->made, draft->records.count);
	for (size_t i = 0; i < draft->records.count; i++) {
		partial->made.at[before + i] = draft->records.at[i].next;
	}
	assert(before + draft->records.count == partial->records.count);
	partial->made.count += draft->records.count;
	draft->groups.count = 0;
	draft->records.count = 0;
}
