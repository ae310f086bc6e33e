/*
 * partial: see partial.h.
 */
#include "engine/partial.h"

#include <pthread.h>

/* ---- shelf ---- */

/* A partial with more room than this is not worth keeping: the next one is smaller. */
#define SHELF_PARTIAL_BYTES ((size_t)4 << 20)

struct shelf {
	pthread_mutex_t mutex;
	size_t count, most;
	struct partial *partials[];
};

struct shelf *shelf_new(size_t most)
{
	struct shelf *shelf = mem_alloc(sizeof(*shelf) + most * sizeof(shelf->partials[0]));

	(void)pthread_mutex_init(&shelf->mutex, NULL);
	shelf->most = most;
	return shelf;
}

void shelf_free(struct shelf *shelf)
{
	if (!shelf) {
		return;
	}
	for (size_t i = 0; i < shelf->count; i++) {
		partial_free(shelf->partials[i]);
	}
	(void)pthread_mutex_destroy(&shelf->mutex);
	free(shelf);
}

struct partial *shelf_take(struct shelf *shelf)
{
	struct partial *partial = NULL;

	(void)pthread_mutex_lock(&shelf->mutex);
	if (shelf->count > 0) {
		partial = shelf->partials[--shelf->count];
	}
	(void)pthread_mutex_unlock(&shelf->mutex);
	return partial ? partial : partial_new();
}

#define KEEP_ROOM(v)                                                                               \
	(emptied.v.at = partial->v.at, emptied.v.room = partial->v.room, emptied.v.count = 0)

static void empty(struct partial *partial)
{
	struct partial emptied = { .first_ts = UINT64_MAX, .first_anomaly = UINT64_MAX };

	KEEP_ROOM(slices);
	KEEP_ROOM(tallies);
	KEEP_ROOM(groups);
	KEEP_ROOM(chains);
	KEEP_ROOM(order);
	KEEP_ROOM(records);
	KEEP_ROOM(numbers);
	KEEP_ROOM(items);
	KEEP_ROOM(currents);
	KEEP_ROOM(segments);
	KEEP_ROOM(renames);
	KEEP_ROOM(faults);
	*partial = emptied;
}

void shelf_put(struct shelf *shelf, struct partial *partial)
{
	bool is_kept = false;

	if (partial_bytes(partial) <= SHELF_PARTIAL_BYTES) {
		empty(partial);
		(void)pthread_mutex_lock(&shelf->mutex);
		is_kept = shelf->count < shelf->most;
		if (is_kept) {
			shelf->partials[shelf->count++] = partial;
		}
		(void)pthread_mutex_unlock(&shelf->mutex);
	}
	if (!is_kept) {
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
	vec_fini(&partial->order);
	vec_fini(&partial->chains);
	vec_fini(&partial->records);
	vec_fini(&partial->numbers);
	vec_fini(&partial->items);
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
	       ROOM(partial->groups) + ROOM(partial->chains) + ROOM(partial->order) +
	       ROOM(partial->records) + ROOM(partial->numbers) + ROOM(partial->items) +
	       ROOM(partial->currents) + ROOM(partial->segments) + ROOM(partial->renames) +
	       ROOM(partial->faults);
}

uint32_t partial_add_group(struct partial *partial, int64_t key)
{
	uint32_t index = (uint32_t)partial->groups.count;
	struct group *group = vec_push_in_line(&partial->groups);

	group->key = key;
	group->pid = INT32_MIN;
	group->first = RECORD_NONE;
	group->last = RECORD_NONE;
	group->next = RECORD_NONE;
	group->has_name = false;
	group->is_weak = false;
	return index;
}

void partial_chain_group(struct partial *partial, struct slice *slice, uint32_t group)
{
	struct group *g = &partial->groups.at[group];
	uint32_t *first;

	if (slice->chains == RECORD_NONE) {
		slice->chains = (uint32_t)partial->chains.count;
		memset(vec_push(&partial->chains), 0xFF, sizeof(struct slice_chains));
	}
	first = &partial->chains.at[slice->chains].first[key_shard(g->key)];
	g->next = *first;
	*first = group;
}

void partial_chain(struct partial *partial, uint32_t group, uint32_t record)
{
	struct group *g = &partial->groups.at[group];

	partial->records.at[record].group = group;
	partial->records.at[record].next = RECORD_NONE;
	if (g->first == RECORD_NONE) {
		g->first = record;
		g->ts = partial->records.at[record].ts;
	} else {
		partial->records.at[g->last].next = record;
	}
	g->last = record;
}

uint32_t partial_add_record(struct partial *partial, uint32_t group, uint64_t ts,
			    enum record_kind kind)
{
	uint32_t index = (uint32_t)partial->records.count;

	*vec_push_in_line(&partial->records) = (struct record){ .ts = ts, .kind = (uint8_t)kind };
	partial_chain(partial, group, index);
	return index;
}

static unsigned int place_in_order(const struct group *group)
{
	return group->key == KEY_HEAD || group->key == KEY_LOST ? SHARDS : key_shard(group->key);
}

void partial_sort_slice(struct partial *partial, struct slice *slice, uint32_t group_first)
{
	size_t count = slice->group_count;
	const struct group *groups = count > 0 ? &partial->groups.at[group_first] : NULL;
	uint32_t *shards = slice->shards, first = (uint32_t)partial->order.count;

	memset(shards, 0, sizeof(slice->shards));
	for (size_t i = 0; i < count; i++) {
		shards[place_in_order(&groups[i]) + 1]++;
	}
	for (size_t i = 0; i <= SHARDS; i++) {
		shards[i + 1] += shards[i];
	}
	vec_reserve(&partial->order, first + count + GROUPS_AHEAD);
	partial->order.count += count;
	memset(partial->order.at + partial->order.count, 0, GROUPS_AHEAD * sizeof(uint32_t));
	for (size_t i = 0; i < count; i++) {
		uint32_t at = shards[place_in_order(&groups[i])]++;

		partial->order.at[first + at] = group_first + (uint32_t)i;
	}
	/* Each shard's begin has become its end, which is the next one's begin. */
	for (size_t i = SHARDS + 1; i > 0; i--) {
		shards[i] = first + shards[i - 1];
	}
	shards[0] = first;
}
