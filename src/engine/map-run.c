/*
 * map-run: the worker's view of who runs, and under which name.
 */
#include <string.h>

#include "base/map.h"
#include "engine/map-state.h"
#include "engine/sched.h"

/* ---- groups ---- */

#define PLACES_LEAST 256

void map_forget_groups(struct map *map)
{
	struct group_places *places = &map->places;

	places->used = 0;
	map->group = RECORD_NONE;
	if (++places->epoch == 0) { /* once in 2^32 slices: old marks must not come alive */
		memset(places->at, 0, (places->mask + 1) * sizeof(*places->at));
		places->epoch = 1;
	}
}

static void grow_places(struct group_places *places)
{
	struct group_places old = *places;
	uint32_t room = old.at ? (old.mask + 1) * 2 : PLACES_LEAST;

	places->at = mem_alloc(room * sizeof(*places->at));
	places->mask = room - 1;
	for (uint32_t i = 0; old.at && i <= old.mask; i++) {
		if (old.at[i].epoch == old.epoch) {
			uint32_t at = map_mix((uint64_t)old.at[i].key) & places->mask;

			while (places->at[at].epoch == places->epoch) {
				at = (at + 1) & places->mask;
			}
			places->at[at] = old.at[i];
		}
	}
	free(old.at);
}

/* Where the newest group of @key is kept; its epoch tells whether there is one. */
static struct group_place *place_of(struct group_places *places, int64_t key)
{
	uint32_t at;

	if (!places->at || places->used > places->mask / 2) {
		grow_places(places);
	}
	at = map_mix((uint64_t)key) & places->mask;
	while (places->at[at].epoch == places->epoch && places->at[at].key != key) {
		at = (at + 1) & places->mask;
	}
	return &places->at[at];
}

static uint32_t group_new(struct map *map, struct group_place *place, int64_t key)
{
	map->places.used += place->epoch != map->places.epoch;
	place->key = key;
	place->epoch = map->places.epoch;
	place->group = partial_add_group(map->partial, key);
	return place->group;
}

static struct group *group_at(struct map *map, uint32_t group)
{
	return &map->partial->groups.at[group];
}

static uint32_t group_of(struct map *map, int64_t key)
{
	struct group_place *place = place_of(&map->places, key);

	return place->epoch == map->places.epoch ? place->group : group_new(map, place, key);
}

/* ---- names ---- */

/* The name of a text field: as traced if it is an array, which kernel tracers write. */
static const char *name_bytes(const struct value *value, char scratch[NAME_BYTES])
{
	size_t len = value->len < NAME_BYTES - 1 ? value->len : NAME_BYTES - 1;

	if (value->len == NAME_BYTES) {
		return (const char *)value->bytes;
	}
	memset(scratch, 0, NAME_BYTES);
	memcpy(scratch, value->bytes, len);
	return scratch;
}

static void set_name(struct group *group, const char name[NAME_BYTES])
{
	memcpy(group->name, name, NAME_BYTES);
	group->has_name = true;
}

/* Whether what goes into @group goes under @name; it takes a first name. */
static bool goes_by(struct group *group, const char name[NAME_BYTES])
{
	if (group->is_weak) {
		return false;
	}
	if (!group->has_name) {
		set_name(group, name);
	}
	return memcmp(group->name, name, NAME_BYTES) == 0;
}

/* The group of @tid under the name in a field of @event, if that has it. */
static uint32_t named_group(struct map *map, const struct map_event *event, unsigned int field,
			    int32_t tid)
{
	struct group_place *place = place_of(&map->places, tid);
	char scratch[NAME_BYTES];
	const char *name;

	if (place->epoch != map->places.epoch) {
		(void)group_new(map, place, tid);
	}
	if (event->present & (1u << field)) {
		name = name_bytes(&event->values[field], scratch);
		if (!goes_by(group_at(map, place->group), name)) {
			set_name(group_at(map, group_new(map, place, tid)), name);
		}
	}
	return place->group;
}

/* ---- records ---- */

static struct record *add(struct map *map, uint32_t group, uint64_t ts, enum record_kind kind)
{
	uint32_t index = partial_add_record(map->partial, group, ts, kind);

	return &map->partial->records.at[index];
}

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
		group = group_of(map, key);
		if (map->known == KNOWN_TID && tid == map->tid) {
			map->group = group;
		}
	} else {
		group = map->group;
	}
	record = add(map, group, ts, kind);
	record->owner = map->analysis;
	return record;
}

struct record *map_emit_of(struct map *map, uint64_t ts, uint64_t object, unsigned int kind)
{
	struct record *record =
		add(map, group_of(map, KEY_OBJECT(map->analysis, object)), ts, kind);

	record->owner = map->analysis;
	return record;
}

void map_note_current(struct map *map, struct record *record)
{
	record->prio = map->known == KNOWN_TID ? map->tid : -1;
	if (map->known == KNOWN_HEAD) {
		*vec_push(&map->partial->currents) = (uint32_t)map->partial->records.count - 1;
	}
}

/* ---- who runs ---- */

void map_end_stay(struct map *map, uint64_t ts, bool is_window)
{
	const struct map_setup *setup = map->setup;

	each_analysis_with(setup, on_stay_end, i) {
		map->analysis = (uint8_t)i;
		setup->analyses[i]->on_stay_end(map, map->states + setup->state_offsets[i], ts,
						is_window);
	}
}

static enum run_kind run_kind_of(const struct map *map)
{
	if (map->known != KNOWN_TID) {
		return RUN_UNKNOWN;
	}
	return map->tid == 0 ? RUN_IDLE : RUN_THREAD;
}

/* Whether the time from `since` to @ts lies in the slice. */
static bool is_within(const struct map *map, uint64_t ts)
{
	return map->has_slice && map->since >= map->slice_begin_ns && ts <= map->slice_end_ns;
}

/* The time up to @ts, of which the merger makes what lies in each window. */
static void leave_to_merger(struct map *map, uint64_t ts, bool is_broken)
{
	*vec_push(&map->partial->segments) = (struct segment){ .begin = map->since,
							       .end = ts,
							       .tid = map->tid,
							       .kind = (uint8_t)run_kind_of(map),
							       .is_broken = is_broken };
	map->since = ts;
}

/*
 * Accounts for the time up to @ts.  Within the slice that of a thread goes into the record of
 * its stay, which is in the slice, too.  @is_broken: it is not who leaves the CPU at @ts.
 */
static void charge(struct map *map, uint64_t ts, bool is_broken)
{
	enum run_kind kind = run_kind_of(map);
	uint64_t ns = ts - map->since;

	map->partial->broken += is_broken;
	if (!is_within(map, ts)) {
		leave_to_merger(map, ts, is_broken);
	} else if (is_broken) {
		map->slice.cpu_ns[RUN_UNKNOWN] += ns;
		map->slice.has_gap = true;
	} else {
		map->slice.cpu_ns[kind] += ns;
		if (kind == RUN_THREAD) {
			struct record *stay = &map->partial->records.at[map->stay];

			stay->a = ns;
			stay->flags |= RECORD_LEFT;
		}
	}
	map->since = ts;
}

/* The first evidence in this chunk: @tid ran from its begin to @ts. */
static void note_head(struct map *map, uint64_t ts, int32_t tid)
{
	map->partial->head = HEAD_THREAD;
	map->partial->head_ts = ts;
	map->partial->head_tid = tid;
	map->since = ts;
}

struct leaving {
	uint64_t ts;
	int32_t tid, prio;
	uint16_t flags;
};

/* Puts what the thread showed on leaving into its stay, if that is whole, or a record. */
static void leave(struct map *map, const struct leaving *out, uint32_t group)
{
	struct record *stay = map->stay == SIZE_MAX ? NULL : &map->partial->records.at[map->stay];
	bool is_whole = stay && map->tid == out->tid && is_within(map, out->ts);

	if (map->known == KNOWN_HEAD) {
		note_head(map, out->ts, out->tid);
	} else {
		charge(map, out->ts, map->known == KNOWN_TID && map->tid != out->tid);
	}
	if (out->tid == 0) {
		return;
	}
	if (!is_whole || stay->group != group) {
		stay = add(map, group, out->ts, RECORD_OUT);
	}
	stay->prio = out->prio;
	stay->flags |= out->flags | RECORD_PRIO;
}

/* The name and process of the thread that leaves: where its records go from here on. */
static uint32_t leaving_group(struct map *map, const struct map_event *event, unsigned int comm,
			      unsigned int pid, int32_t tid)
{
	char scratch[NAME_BYTES];
	uint32_t group = map->group;
	int32_t of;

	if (map->known != KNOWN_TID || tid != map->tid || group == RECORD_NONE ||
	    ((event->present & (1u << comm)) &&
	     !goes_by(group_at(map, group), name_bytes(&event->values[comm], scratch)))) {
		group = named_group(map, event, comm, tid);
	}
	if (event->present & (1u << pid)) {
		of = (int32_t)event->values[pid].u;
		if (group_at(map, group)->pid != INT32_MIN && group_at(map, group)->pid != of) {
			struct group former = map->partial->groups.at[group];

			group = group_new(map, place_of(&map->places, tid), tid);
			if (former.has_name) {
				set_name(group_at(map, group), former.name);
			}
		}
		group_at(map, group)->pid = of;
	}
	return group;
}

static uint16_t leaving_flags(uint64_t state, uint16_t form)
{
	return (uint16_t)((sched_is_dead(state, form) ? RECORD_DEAD : 0) |
			  (sched_sleeps(state, form) ? RECORD_SLEEPS : 0) |
			  (sched_is_preempted(state, form) ? RECORD_PREEMPTED : 0));
}

/* Priorities are -101 to 139 as traced; those of normal threads end at 39. */
static uint16_t prio_flags(int32_t prio)
{
	prio = prio < INT8_MIN ? INT8_MIN : prio > INT8_MAX ? INT8_MAX : prio;
	return (uint16_t)((uint16_t)(uint8_t)prio << RECORD_PRIO_SHIFT);
}

void map_on_switch(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { PREV_COMM, PREV_TID, PREV_PRIO, PREV_STATE, NEXT_COMM, NEXT_TID, NEXT_PRIO, PID };
	const struct value *v = event->values;
	int32_t prev = (int32_t)v[PREV_TID].i, next = (int32_t)v[NEXT_TID].i;
	struct leaving out = { .ts = event->ts, .tid = prev, .prio = (int32_t)v[PREV_PRIO].i };
	bool is_head = map->known == KNOWN_HEAD;
	uint32_t group = RECORD_NONE;
	struct record *record;
	char scratch[NAME_BYTES];

	(void)state;
	(void)user;
	if (!map->chunk->has_switches || !(event->present & (1u << PREV_TID)) ||
	    !(event->present & (1u << NEXT_TID))) {
		return;
	}
	map_end_stay(map, event->ts, false);
	if (event->present & (1u << PREV_STATE)) {
		out.flags = leaving_flags(v[PREV_STATE].u, map->states_form);
	}
	if (prev != 0) {
		group = leaving_group(map, event, PREV_COMM, PID, prev);
	}
	leave(map, &out, group);
	if (is_head) {
		map->partial->head_has_prio = true;
		map->partial->head_prio = out.prio;
		if (event->present & (1u << PREV_COMM)) {
			memcpy(map->partial->head_name, name_bytes(&v[PREV_COMM], scratch),
			       NAME_BYTES);
		}
	}
	map->known = KNOWN_TID;
	map->tid = next;
	map->stay = SIZE_MAX;
	map->group = RECORD_NONE;
	if (next != 0) {
		map->group = named_group(map, event, NEXT_COMM, next);
		map->stay = map->partial->records.count;
		record = add(map, map->group, event->ts, RECORD_IN);
		record->prio = (int32_t)v[NEXT_PRIO].i;
		record->flags = prio_flags(record->prio);
	}
}

int32_t map_tid(const struct map *map)
{
	return map->known == KNOWN_TID ? map->tid : TID_CURRENT;
}

bool map_mark_anew(struct map *map, bool by_exit)
{
	if (map->stay == SIZE_MAX || map->partial->records.at[map->stay].kind != RECORD_IN) {
		return false;
	}
	map->partial->records.at[map->stay].flags |= by_exit ? RECORD_ENDS_CALL : RECORD_ANEW_CALLS;
	return true;
}

void map_on_fork(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { COMM, TID, PID };
	int32_t tid = (int32_t)event->values[TID].i;
	struct group_place *place;
	char scratch[NAME_BYTES];
	struct record *record;

	(void)state;
	(void)user;
	if (!(event->present & (1u << TID))) {
		return;
	}
	place = place_of(&map->places, tid);
	(void)group_new(map, place, tid);
	if (event->present & (1u << COMM)) {
		set_name(group_at(map, place->group), name_bytes(&event->values[COMM], scratch));
	}
	record = add(map, place->group, event->ts, RECORD_FORK);
	record->a = event->present & (1u << PID) ? event->values[PID].u : UINT64_MAX;
}

/* The thread that runs goes on as @tid. */
static void continue_as(struct map *map, uint64_t ts, int32_t former, int32_t tid, uint32_t group)
{
	if (map->known == KNOWN_HEAD) {
		note_head(map, ts, former);
	} else if (map->known == KNOWN_NOT || map->tid == former) {
		charge(map, ts, false); /* after a gap it tells who runs, as a switch does */
	} else {
		return;
	}
	map->known = KNOWN_TID;
	map->tid = tid;
	map->group = group;
	map->stay = map->partial->records.count;
	(void)add(map, group, ts, RECORD_ON);
}

/* comm is not traced by exec: the kernel takes the last part of the path. */
void map_on_exec(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { FILENAME, TID, OLD_TID };
	int32_t tid = (int32_t)event->values[TID].i, former = tid;
	struct group_place *place;
	char scratch[NAME_BYTES];

	(void)state;
	(void)user;
	if (!(event->present & (1u << TID)) || tid == 0) {
		return;
	}
	if (event->present & (1u << OLD_TID)) {
		former = (int32_t)event->values[OLD_TID].u;
	}
	place = place_of(&map->places, tid);
	(void)group_new(map, place, tid);
	if (event->present & (1u << FILENAME)) {
		struct value base = event->values[FILENAME];
		const uint8_t *slash = memrchr(base.bytes, '/', base.len);

		if (slash) {
			base.len -= (uint64_t)(slash + 1 - base.bytes);
			base.bytes = slash + 1;
		}
		base.len = base.len < NAME_BYTES - 1 ? base.len : NAME_BYTES - 1;
		set_name(group_at(map, place->group), name_bytes(&base, scratch));
	}
	(void)add(map, place->group, event->ts, RECORD_EXEC);
	if (former != tid && former != 0) {
		*vec_push(&map->partial->renames) =
			(struct rename){ .ts = event->ts, .from = former, .to = tid };
		if (map->chunk->has_switches) {
			continue_as(map, event->ts, former, tid, place->group);
		}
	} else if (map->known == KNOWN_TID && map->tid == tid) {
		map->group = place->group;
	}
}

void map_on_process(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { NAME, TID, PID };
	int32_t tid = (int32_t)event->values[TID].i;
	struct group_place *place;
	struct group *group;
	char scratch[NAME_BYTES];

	(void)state;
	(void)user;
	if (!(event->present & (1u << TID)) || !(event->present & (1u << PID)) || tid == 0) {
		return;
	}
	place = place_of(&map->places, tid);
	group = group_at(map, group_new(map, place, tid));
	group->is_weak = true;
	group->pid = (int32_t)event->values[PID].u;
	if (event->present & (1u << NAME)) {
		set_name(group, name_bytes(&event->values[NAME], scratch));
	}
	(void)add(map, place->group, event->ts, RECORD_PROCESS);
}

static void tell_lost(struct map *map, uint64_t ts)
{
	const struct map_setup *setup = map->setup;

	each_analysis_with(setup, on_lost, i) {
		map->analysis = (uint8_t)i;
		setup->analyses[i]->on_lost(map, map->states + setup->state_offsets[i], ts);
	}
}

void map_note_gap(struct map *map, uint64_t ts)
{
	ts = ts < map->last_ts ? map->last_ts : ts;
	map_to_slice(map, ts);
	map_end_stay(map, ts, false);
	tell_lost(map, ts);
	map->analysis = 0;
	if (!map->chunk->has_switches) {
		if (map->setup->uses_threads) {
			(void)map_emit(map, ts, TID_CURRENT, RECORD_GAP);
		}
		return;
	}
	if (map->known == KNOWN_HEAD) {
		map->partial->head = HEAD_GAP;
		map->partial->head_ts = ts;
		map->partial->head_group =
			group_new(map, place_of(&map->places, KEY_HEAD), KEY_HEAD);
		(void)add(map, map->partial->head_group, ts, RECORD_GAP);
		map->since = ts;
	} else {
		leave_to_merger(map, ts, false); /* the trace may end before */
		if (map->known == KNOWN_TID && map->tid != 0) {
			(void)map_emit(map, ts, map->tid, RECORD_GAP);
		}
	}
	map->slice.has_gap = true;
	map->known = KNOWN_NOT;
	map->stay = SIZE_MAX;
	map_forget_groups(map); /* what is behind it at the same time is told after it */
	(void)add(map, group_of(map, KEY_LOST), ts, RECORD_ANEW);
}

void map_note_tail(struct map *map)
{
	map->partial->tail = run_kind_of(map);
	map->partial->tail_tid = map->tid;
	map->partial->tail_ts = map->since;
	map->partial->records_until = map->since > map->last_ts ? map->since : map->last_ts;
}

/* ---- slices ---- */

void map_sort_slice(struct map *map)
{
	map->slice.group_count = (uint32_t)map->partial->groups.count - map->group_first;
	partial_sort_slice(map->partial, &map->slice, map->group_first);
}
