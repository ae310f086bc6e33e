/*
 * map-groups: groups and records (partial.h) of the slice that a worker is filling.
 *
 * They lie in its draft, in the order they are made, until the slice ends.  Groups are told by
 * their number in the draft.
 */
#ifndef SILLAGE_ENGINE_WORKER_RECORDS_H
#define SILLAGE_ENGINE_WORKER_RECORDS_H

#include <string.h>

#include "engine/worker/worker-state.h"

void map_groups_init(struct map *map);
void map_groups_fini(struct map *map);

/* No group goes on: what comes is of a new slice, or of other threads under the same tids. */
void map_forget_groups(struct map *map);

/* The slice ends: its groups and records go into the partial. */
void map_take_slice(struct map *map);

/* The newest group of a key; a new one. */
uint32_t map_group_of(struct map *map, int64_t key);
uint32_t map_group_new(struct map *map, int64_t key);
/* The group of @tid under @name, if that is not NULL. */
uint32_t map_group_named(struct map *map, int32_t tid, const char *name);

/* The name of a text field: as traced if it is an array, which kernel tracers write. */
const char *map_name_bytes(const struct value *value, char scratch[NAME_BYTES]);

static inline struct group *map_group(struct map *map, uint32_t group)
{
	return &map->draft->groups.at[group];
}

static inline void map_group_set_name(struct group *group, const char name[NAME_BYTES])
{
	memcpy(group->name, name, NAME_BYTES);
	group->has_name = true;
}

/* Whether what goes into @group goes under @name; it takes a first name. */
static inline bool map_group_goes_by(struct group *group, const char name[NAME_BYTES])
{
	if (group->is_weak) {
		return false;
	}
	if (!group->has_name) {
		map_group_set_name(group, name);
	}
	return memcmp(group->name, name, NAME_BYTES) == 0;
}

/* How many records of the chunk were made. */
static inline size_t map_records(const struct map *map)
{
	return map->partial->made.count + map->draft->records.count;
}

/* One of them, by the order in which they were made. */
static inline struct record *map_record(struct map *map, size_t number)
{
	size_t taken = map->partial->made.count;

	return number < taken ? partial_made(map->partial, number)
			      : &map->draft->records.at[number - taken];
}

static inline struct record *map_add(struct map *map, uint32_t group, uint64_t ts,
				     enum record_kind kind)
{
	uint32_t index = partial_add_record(map->draft, group, ts, kind);

	return &map->draft->records.at[index];
}

#endif
