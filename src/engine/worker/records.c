/*
 * map-groups: see map-groups.h.
 */
#include "engine/worker/records.h"

#include <string.h>

#include "base/hash.h"

/* ---- groups ---- */

#define PLACES_LEAST 256

/* Where the newest group of @key is kept; its epoch tells whether there is one. */
static inline struct group_place *place_of(struct map *map, int64_t key)
{
	const struct group_places *places = &map->places;
	uint32_t at = hash_mix((uint64_t)key) & places->mask;

	while (places->at[at].epoch == places->epoch &&
	       map_group(map, places->at[at].group)->key != key) {
		at = (at + 1) & places->mask;
	}
	return &places->at[at];
}

static void grow_places(struct map *map)
{
	struct group_places *places = &map->places, old = *places;

	places->mask = old.mask * 2 + 1;
	places->at = mem_alloc(((size_t)places->mask + 1) * sizeof(*places->at));
	for (uint32_t i = 0; i <= old.mask; i++) {
		if (old.at[i].epoch == old.epoch) {
			*place_of(map, map_group(map, old.at[i].group)->key) = old.at[i];
		}
	}
	free(old.at);
}

void map_groups_init(struct map *map)
{
	map->places.mask = PLACES_LEAST - 1;
	map->places.at = mem_alloc(PLACES_LEAST * sizeof(*map->places.at));
}

/* A table much larger than needed would have its places in no cache. */
void map_forget_groups(struct map *map)
{
	struct group_places *places = &map->places;

	if (places->used < places->mask / 8 && places->mask >= PLACES_LEAST) {
		places->mask /= 2;
	}
	places->used = 0;
	map->group = RECORD_NONE;
	if (++places->epoch == 0) { /* once in 2^32 slices: old marks must not come alive */
		map_groups_fini(map);
		map_groups_init(map);
		places->epoch = 1;
	}
}

void map_groups_fini(struct map *map)
{
	free(map->places.at);
}

/* @place, which is that of @key, dies. */
static uint32_t group_new(struct map *map, struct group_place *place, int64_t key)
{
	struct group_places *places = &map->places;

	if (place->epoch != places->epoch) {
		if (places->used >= places->mask / 2) {
			grow_places(map);
			place = place_of(map, key);
		}
		places->used++;
		place->epoch = places->epoch;
	}
	place->group = partial_add_group(map->draft, key);
	return place->group;
}

uint32_t map_group_of(struct map *map, int64_t key)
{
	struct group_place *place = place_of(map, key);

	return place->epoch == map->places.epoch ? place->group : group_new(map, place, key);
}

uint32_t map_group_new(struct map *map, int64_t key)
{
	return group_new(map, place_of(map, key), key);
}

/* ---- names ---- */

const char *map_name_bytes(const struct value *value, char scratch[NAME_BYTES])
{
	size_t len = value->len < NAME_BYTES - 1 ? value->len : NAME_BYTES - 1;

	if (value->len == NAME_BYTES) {
		return (const char *)value->bytes;
	}
	memset(scratch, 0, NAME_BYTES);
	memcpy(scratch, value->bytes, len);
	return scratch;
}

uint32_t map_group_named(struct map *map, int32_t tid, const char *name)
{
	struct group_place *place = place_of(map, tid);
	uint32_t group =
		place->epoch == map->places.epoch ? place->group : group_new(map, place, tid);

	if (name && !map_group_goes_by(map_group(map, group), name)) { /* so it had a place */
		group = group_new(map, place, tid);
		map_group_set_name(map_group(map, group), name);
	}
	return group;
}

/* ---- records ---- */

/* Of a thread that no switch has shown, or of nobody known. */
static int64_t key_of(const struct map *map, int32_t tid)
{
	if (tid == TID_CURRENT) {
		return map->known == KNOWN_NOT ? KEY_LOST : KEY_HEAD;
	}
	return tid == 0 ? KEY_NOBODY : tid; /* the idle thread makes no calls */
}

struct record *map_emit(struct map *map, uint64_t ts, int32_t tid, unsigned int kind)
{
	struct record *record;
	int64_t key = key_of(map, tid);
	uint32_t group;

	if (map->group == RECORD_NONE || map->known != KNOWN_TID || tid != map->tid) {
		group = map_group_of(map, key);
		if (map->known == KNOWN_TID && tid == map->tid) {
			map->group = group;
		}
	} else {
		group = map->group;
	}
	record = map_add(map, group, ts, kind);
	record->owner = map->analysis;
	return record;
}

struct record *map_emit_of(struct map *map, uint64_t ts, uint64_t object, unsigned int kind)
{
	struct record *record =
		map_add(map, map_group_of(map, KEY_OBJECT(map->analysis, object)), ts, kind);

	record->owner = map->analysis;
	return record;
}

void map_note_current(struct map *map, struct record *record)
{
	record->prio = map->known == KNOWN_TID ? map->tid : -1;
	if (map->known == KNOWN_HEAD) {
		*vec_push(&map->partial->currents) = (uint32_t)map_records(map) - 1;
	}
}

/* ---- slices ---- */

void map_take_slice(struct map *map)
{
	struct partial *draft = map->draft;

	partial_take_slice(map->partial, &map->slice, draft, 0, (uint32_t)draft->groups.count);
	if (map->head_group != RECORD_NONE) {
		map->partial->head_group = draft->groups.at[map->head_group].next;
		map->head_group = RECORD_NONE;
	}
	partial_take_order(map->partial, draft);
}
