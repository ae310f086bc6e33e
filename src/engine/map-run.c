/*
 * map-run: the worker's view of who runs, and under which name.
 */
#include <string.h>

#include "engine/map-state.h"
#include "engine/sched.h"

/* ---- names ---- */

static struct name name_from(const struct value *value)
{
	struct name name = { 0 };
	size_t len = value->len < NAME_BYTES - 1 ? value->len : NAME_BYTES - 1;

	len = strnlen((const char *)value->bytes, len);
	memcpy(name.text, value->bytes, len);
	return name;
}

static struct name_cache *cached(struct map *map, int32_t tid)
{
	struct name_cache *cache = &map->names[(uint32_t)tid % NAME_CACHE];

	if (cache->tid != tid || cache->index == NAME_NONE) {
		*cache = (struct name_cache){ .tid = tid, .index = NAME_NONE, .pid = UINT64_MAX };
	}
	return cache;
}

/* The index of @tid's name.  A name may be in the partial more than once. */
static uint32_t name_index(struct map *map, int32_t tid, const struct value *value)
{
	struct name_cache *cache = cached(map, tid);
	bool is_comm = value->len == NAME_BYTES;

	if (cache->index != NAME_NONE && is_comm &&
	    memcmp(cache->raw, value->bytes, NAME_BYTES) == 0) {
		return cache->index;
	}
	cache->index = (uint32_t)map->partial->names.count;
	*vec_push(&map->partial->names) = name_from(value);
	if (is_comm) {
		memcpy(cache->raw, value->bytes, NAME_BYTES);
	} else {
		memset(cache->raw, 0xFF, NAME_BYTES); /* like no name */
	}
	return cache->index;
}

static uint32_t name_of(struct map *map, const struct map_event *event, unsigned int field,
			int32_t tid)
{
	return event->present & (1u << field) ? name_index(map, tid, &event->values[field])
					      : NAME_NONE;
}

/* ---- who runs ---- */

void map_end_stay(struct map *map, uint64_t ts, bool is_window)
{
	const struct map_setup *setup = map->setup;

	for (size_t i = 0; i < setup->analysis_count; i++) {
		if (setup->analyses[i]->on_stay_end) {
			map->analysis = (uint8_t)i;
			setup->analyses[i]->on_stay_end(map, map->states + setup->state_offsets[i],
							ts, is_window);
		}
	}
}

/* The first evidence in this chunk: who ran from its begin. */
static void note_head(struct map *map, uint64_t ts, int32_t tid, uint32_t name, int32_t prio)
{
	struct partial *partial = map->partial;

	if (partial->head_ts == UINT64_MAX) {
		partial->head_ts = ts;
		partial->head_tid = tid;
		partial->head_name = name;
		partial->head_prio = prio;
	}
}

/* The name of an IN record that stays one: a STAY gets the name seen at its end instead. */
void map_name_stay(struct map *map)
{
	if (map->stay != SIZE_MAX && map->has_stay_comm) {
		struct value comm = { .bytes = map->stay_comm, .len = NAME_BYTES };
		uint32_t name = name_index(map, map->partial->records.at[map->stay].tid, &comm);

		map->partial->records.at[map->stay].name = name;
	}
	map->has_stay_comm = false;
}

struct leaving {
	uint64_t ts;
	int32_t tid, prio;
	uint32_t name;
	bool is_dead;
};

static void switch_out(struct map *map, const struct leaving *out)
{
	struct record *in = map->stay == SIZE_MAX ? NULL : &map->partial->records.at[map->stay];
	struct record *record;

	if (in && in->tid == out->tid && in->ts >= map->slice_begin_ns && !map->has_exec) {
		in->kind = RECORD_STAY;
		in->a = out->ts - in->ts;
		map->has_stay_comm = false;
		record = in;
	} else {
		map_name_stay(map);
		record = map_emit(map, out->ts, out->tid, RECORD_OUT);
	}
	record->name = out->name;
	record->prio = out->prio;
	record->flags |= out->is_dead ? RECORD_DEAD : 0;
}

void map_on_switch(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { PREV_COMM, PREV_TID, PREV_PRIO, PREV_STATE, NEXT_COMM, NEXT_TID, NEXT_PRIO, PID };
	const struct value *v = event->values;
	int32_t prev = (int32_t)v[PREV_TID].i, next = (int32_t)v[NEXT_TID].i;
	struct leaving out = { .ts = event->ts, .tid = prev, .prio = (int32_t)v[PREV_PRIO].i };
	struct record *in;

	(void)state;
	(void)user;
	if (!map->chunk->has_switches || !(event->present & (1u << PREV_TID)) ||
	    !(event->present & (1u << NEXT_TID))) {
		return;
	}
	map_end_stay(map, event->ts, false);
	out.name = name_of(map, event, PREV_COMM, prev);
	out.is_dead = (event->present & (1u << PREV_STATE)) &&
		      sched_is_dead(v[PREV_STATE].u, map->old_states);
	if (event->present & (1u << PID) && cached(map, prev)->pid != v[PID].u) {
		cached(map, prev)->pid = v[PID].u;
		map_emit(map, event->ts, prev, RECORD_PROCESS)->a = v[PID].u;
	}
	note_head(map, event->ts, prev, out.name, out.prio);
	switch_out(map, &out);
	map->stay = map->partial->records.count;
	map->has_exec = false;
	in = map_emit(map, event->ts, next, RECORD_IN);
	in->prio = (int32_t)v[NEXT_PRIO].i;
	if (event->present & (1u << NEXT_COMM) && v[NEXT_COMM].len == NAME_BYTES) {
		memcpy(map->stay_comm, v[NEXT_COMM].bytes, NAME_BYTES);
		map->has_stay_comm = true;
	} else {
		in->name = name_of(map, event, NEXT_COMM, next);
	}
	map->tid = next;
	map->is_known = true;
}

void map_on_fork(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { COMM, TID, PID };
	int32_t tid = (int32_t)event->values[TID].i;
	struct record *record;

	(void)state;
	(void)user;
	if (!(event->present & (1u << TID))) {
		return;
	}
	record = map_emit(map, event->ts, tid, RECORD_FORK);
	record->a = event->present & (1u << PID) ? event->values[PID].u : UINT64_MAX;
	record->name = name_of(map, event, COMM, tid);
}

/* comm is not traced by exec: the kernel takes the last part of the path. */
void map_on_exec(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { FILENAME, TID, OLD_TID };
	int32_t tid = (int32_t)event->values[TID].i;
	struct record *record;

	(void)state;
	(void)user;
	if (!(event->present & (1u << TID))) {
		return;
	}
	map_name_stay(map);
	map->has_exec = true;
	record = map_emit(map, event->ts, tid, RECORD_EXEC);
	record->a = event->present & (1u << OLD_TID) ? event->values[OLD_TID].u : (uint64_t)tid;
	if (event->present & (1u << FILENAME)) {
		struct value base = event->values[FILENAME];
		const uint8_t *slash = memrchr(base.bytes, '/', base.len);

		if (slash) {
			base.len -= (uint64_t)(slash + 1 - base.bytes);
			base.bytes = slash + 1;
		}
		record->name = name_index(map, tid, &base);
	}
}

void map_on_process(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { NAME, TID, PID };
	int32_t tid = (int32_t)event->values[TID].i;
	struct record *record;

	(void)state;
	(void)user;
	if (!(event->present & (1u << TID)) || !(event->present & (1u << PID))) {
		return;
	}
	record = map_emit(map, event->ts, tid, RECORD_PROCESS);
	record->a = event->values[PID].u;
	record->name = name_of(map, event, NAME, tid);
}

void map_note_gap(struct map *map, uint64_t ts)
{
	map_end_stay(map, ts, false);
	map_name_stay(map);
	map->analysis = 0;
	map->is_known = false;
	map->stay = SIZE_MAX;
	if (map->chunk->has_switches) {
		note_head(map, ts, TID_CURRENT, NAME_NONE, 0);
		(void)map_emit(map, ts, TID_CURRENT, RECORD_GAP);
	}
}
