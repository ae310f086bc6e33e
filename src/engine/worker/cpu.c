/*
 * map-run: the worker's view of who runs, and under which name.
 */
#include <string.h>

#include "engine/worker/records.h"
#include "kernel/task-state.h"

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
			struct record *stay = map_record(map, map->stay);

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

/* A sched_switch; names are NULL if they are not traced. */
struct switched {
	uint64_t ts, prev_state;
	const char *prev_comm, *next_comm;
	int32_t prev, next, prev_prio, next_prio, pid;
	bool has_state, has_pid;
};

/* Puts what the thread showed on leaving into its stay, if that is whole, or a record. */
static void show_leaving(struct map *map, const struct switched *s, uint16_t flags, uint32_t group,
			 struct record *stay)
{
	if (!stay || stay->group != group) {
		stay = map_add(map, group, s->ts, RECORD_OUT);
	}
	stay->prio = s->prev_prio;
	stay->flags |= flags | RECORD_PRIO;
}

/* The same where the stay is not whole. */
static __attribute__((noinline)) void leave_in_part(struct map *map, const struct switched *s,
						    uint16_t flags, uint32_t group)
{
	if (map->known == KNOWN_HEAD) {
		note_head(map, s->ts, s->prev);
		map->partial->head_has_prio = true;
		map->partial->head_prio = s->prev_prio;
		if (s->prev_comm) {
			memcpy(map->partial->head_name, s->prev_comm, NAME_BYTES);
		}
	} else {
		charge(map, s->ts, map->known == KNOWN_TID && map->tid != s->prev);
	}
	if (s->prev != 0) {
		show_leaving(map, s, flags, group, NULL);
	}
}

/* What nearly all switches are: who was switched in leaves, in the same slice. */
static void leave(struct map *map, const struct switched *s, uint16_t flags, uint32_t group)
{
	uint64_t ns = s->ts - map->since;
	struct record *stay;

	if (map->known != KNOWN_TID || map->tid != s->prev || !is_within(map, s->ts)) {
		leave_in_part(map, s, flags, group);
		return;
	}
	map->since = s->ts;
	if (s->prev == 0) {
		map->slice.cpu_ns[RUN_IDLE] += ns;
		return;
	}
	map->slice.cpu_ns[RUN_THREAD] += ns;
	stay = map_record(map, map->stay);
	stay->a = ns;
	stay->flags |= RECORD_LEFT;
	show_leaving(map, s, flags, group, stay);
}

/* The name and process of the thread that leaves: where its records go from here on. */
static uint32_t leaving_group(struct map *map, const struct switched *s)
{
	uint32_t group = map->group;

	if (map->known != KNOWN_TID || s->prev != map->tid || group == RECORD_NONE ||
	    (s->prev_comm && !map_group_goes_by(map_group(map, group), s->prev_comm))) {
		group = map_group_named(map, s->prev, s->prev_comm);
	}
	if (s->has_pid) {
		if (map_group(map, group)->pid != INT32_MIN &&
		    map_group(map, group)->pid != s->pid) {
			struct group former = map->draft->groups.at[group];

			group = map_group_new(map, s->prev);
			if (former.has_name) {
				map_group_set_name(map_group(map, group), former.name);
			}
		}
		map_group(map, group)->pid = s->pid;
	}
	return group;
}

static uint8_t leaving_flags(uint64_t state, uint16_t form)
{
	return (uint8_t)((sched_is_dead(state, form) ? RECORD_DEAD : 0) |
			 (sched_sleeps(state, form) ? RECORD_SLEEPS : 0) |
			 (sched_is_preempted(state, form) ? RECORD_PREEMPTED : 0));
}

/* Which of them it is cannot be foreseen: what is asked at each switch is in a table. */
void map_set_states(struct map *map, uint16_t form)
{
	if (form == map->states_form) {
		return;
	}
	map->states_form = form;
	for (unsigned int state = 0; state < STATES_KNOWN; state++) {
		map->leaving[state] = leaving_flags(state, form);
	}
}

/* Priorities are -101 to 139 as traced; those of normal threads end at 39. */
static uint16_t prio_flags(int32_t prio)
{
	prio = prio < INT8_MIN ? INT8_MIN : prio > INT8_MAX ? INT8_MAX : prio;
	return (uint16_t)((uint16_t)(uint8_t)prio << RECORD_PRIO_SHIFT);
}

static inline __attribute__((always_inline)) void take_switch(struct map *map,
							      const struct switched *s)
{
	uint16_t flags = !s->has_state ? 0
			 : s->prev_state < STATES_KNOWN
				 ? map->leaving[s->prev_state]
				 : leaving_flags(s->prev_state, map->states_form);
	uint32_t group = RECORD_NONE;
	struct record *record;

	map_end_stay(map, s->ts, false);
	if (s->prev != 0) {
		group = leaving_group(map, s);
	}
	leave(map, s, flags, group);
	map->known = KNOWN_TID;
	map->tid = s->next;
	map->stay = SIZE_MAX;
	map->group = RECORD_NONE;
	if (s->next != 0) {
		map->group = map_group_named(map, s->next, s->next_comm);
		map->stay = map_records(map);
		record = map_add(map, map->group, s->ts, RECORD_IN);
		record->prio = s->next_prio;
		record->flags = prio_flags(record->prio);
	}
}

/* The name in a field of @event, NULL if that is not traced. */
static const char *name_in(const struct map_event *event, unsigned int field,
			   char scratch[NAME_BYTES])
{
	return event->present & (1u << field) ? map_name_bytes(&event->values[field], scratch)
					      : NULL;
}

static bool is_as_usual(const struct plan_load *load, unsigned int field)
{
	switch ((enum switch_field)field) {
	case PREV_COMM:
	case NEXT_COMM:
		return load->form == LOAD_BYTES && load->len == NAME_BYTES;
	case PREV_STATE:
		return load->form == LOAD_SIGNED && load->shift == 0;
	default:
		return load->form == LOAD_SIGNED && load->shift == 32;
	}
}

/* Learns the layout of sched_switch, of which only we want something. */
static void find_layout(struct map *map, const struct plan_event *class)
{
	struct switch_layout layout = { .class = class, .is_sought = true };
	const struct plan_binding *binding = class->bindings;
	unsigned int found = 0;

	map->switches.is_sought = true;
	if (!class->is_quick || class->binding_count != 1) {
		return;
	}
	for (unsigned int i = 0; i < class->quick_count; i++) {
		const struct plan_load *load = &class->quick[i];
		unsigned int field = (unsigned int)(load->slot - binding->base);

		if (field >= SWITCH_FIELDS || !is_as_usual(load, field)) {
			return;
		}
		layout.at[field] = load->offset;
		found |= 1u << field;
	}
	layout.has_pid = found & (1u << SWITCH_PID);
	if ((found | 1u << SWITCH_PID) == (1u << SWITCH_FIELDS) - 1) {
		map->switches = layout;
	}
}

void map_on_switch(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	const struct value *v = event->values;
	char prev_scratch[NAME_BYTES], next_scratch[NAME_BYTES];

	(void)state;
	(void)user;
	if (!map->chunk->has_switches || !(event->present & (1u << PREV_TID)) ||
	    !(event->present & (1u << NEXT_TID))) {
		return;
	}
	if (!map->switches.is_sought) {
		find_layout(map, event->class);
	}
	take_switch(map, &(struct switched){
				 .ts = event->ts,
				 .prev_state = v[PREV_STATE].u,
				 .prev_comm = name_in(event, PREV_COMM, prev_scratch),
				 .next_comm = name_in(event, NEXT_COMM, next_scratch),
				 .prev = (int32_t)v[PREV_TID].i,
				 .next = (int32_t)v[NEXT_TID].i,
				 .prev_prio = (int32_t)v[PREV_PRIO].i,
				 .next_prio = (int32_t)v[NEXT_PRIO].i,
				 .pid = (int32_t)v[SWITCH_PID].u,
				 .has_state = event->present & (1u << PREV_STATE),
				 .has_pid = event->present & (1u << SWITCH_PID),
			 });
}

#define FIELD(type, field) DECODE_LOAD(type, fields + map->switches.at[field])

void map_on_plain_switch(struct map *map, uint64_t ts, const uint8_t *fields)
{
	const uint16_t *at = map->switches.at;

	take_switch(map, &(struct switched){
				 .ts = ts,
				 .prev_state = FIELD(uint64_t, PREV_STATE),
				 .prev_comm = (const char *)fields + at[PREV_COMM],
				 .next_comm = (const char *)fields + at[NEXT_COMM],
				 .prev = FIELD(int32_t, PREV_TID),
				 .next = FIELD(int32_t, NEXT_TID),
				 .prev_prio = FIELD(int32_t, PREV_PRIO),
				 .next_prio = FIELD(int32_t, NEXT_PRIO),
				 .pid = map->switches.has_pid ? FIELD(int32_t, SWITCH_PID) : 0,
				 .has_state = true,
				 .has_pid = map->switches.has_pid,
			 });
}

#undef FIELD

int32_t map_tid(const struct map *map)
{
	return map->known == KNOWN_TID ? map->tid : TID_CURRENT;
}

bool map_mark_anew(struct map *map, bool by_exit)
{
	if (map->stay == SIZE_MAX || map_record(map, map->stay)->kind != RECORD_IN) {
		return false;
	}
	map_record(map, map->stay)->flags |= by_exit ? RECORD_ENDS_CALL : RECORD_ANEW_CALLS;
	return true;
}

void map_on_fork(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { COMM, TID, PID };
	int32_t tid = (int32_t)event->values[TID].i;
	char scratch[NAME_BYTES];
	struct record *record;
	uint32_t group;

	(void)state;
	(void)user;
	if (!(event->present & (1u << TID))) {
		return;
	}
	group = map_group_new(map, tid);
	if (event->present & (1u << COMM)) {
		map_group_set_name(map_group(map, group),
				   map_name_bytes(&event->values[COMM], scratch));
	}
	record = map_add(map, group, event->ts, RECORD_FORK);
	record->a = event->present & (1u << PID) ? event->values[PID].u : UINT64_MAX;
}

/* The thread that runs goes on as @tid. */
static void continue_as(struct map *map, uint64_t ts, int32_t former, int32_t tid, uint32_t group)
{
	if (map->known == KNOWN_TID && map->tid != former) {
		return;
	}
	if (map->known != KNOWN_TID) { /* it tells who runs, as a switch does */
		map_end_stay(map, ts, false);
	}
	if (map->known == KNOWN_HEAD) {
		note_head(map, ts, former);
	} else {
		charge(map, ts, false);
	}
	map->known = KNOWN_TID;
	map->tid = tid;
	map->group = group;
	map->stay = map_records(map);
	(void)map_add(map, group, ts, RECORD_ON);
}

/* comm is not traced by exec: the kernel takes the last part of the path. */
void map_on_exec(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { FILENAME, TID, OLD_TID };
	int32_t tid = (int32_t)event->values[TID].i, former = tid;
	char scratch[NAME_BYTES];
	uint32_t group;

	(void)state;
	(void)user;
	if (!(event->present & (1u << TID)) || tid == 0) {
		return;
	}
	if (event->present & (1u << OLD_TID)) {
		former = (int32_t)event->values[OLD_TID].u;
	}
	group = map_group_new(map, tid);
	if (event->present & (1u << FILENAME)) {
		struct value base = event->values[FILENAME];
		const uint8_t *slash = memrchr(base.bytes, '/', base.len);

		if (slash) {
			base.len -= (uint64_t)(slash + 1 - base.bytes);
			base.bytes = slash + 1;
		}
		base.len = base.len < NAME_BYTES - 1 ? base.len : NAME_BYTES - 1;
		map_group_set_name(map_group(map, group), map_name_bytes(&base, scratch));
	}
	(void)map_add(map, group, event->ts, RECORD_EXEC);
	if (former != tid && former != 0) {
		*vec_push(&map->partial->renames) =
			(struct rename){ .ts = event->ts, .from = former, .to = tid };
		if (map->chunk->has_switches) {
			continue_as(map, event->ts, former, tid, group);
		}
	} else if (map->known == KNOWN_TID && map->tid == tid) {
		map->group = group;
	}
}

void map_on_process(struct map *map, void *state, const struct map_event *event, uint32_t user)
{
	enum { NAME, TID, PID };
	int32_t tid = (int32_t)event->values[TID].i;
	struct group *group;
	uint32_t index;
	char scratch[NAME_BYTES];

	(void)state;
	(void)user;
	if (!(event->present & (1u << TID)) || !(event->present & (1u << PID)) || tid == 0) {
		return;
	}
	index = map_group_new(map, tid);
	group = map_group(map, index);
	group->is_weak = true;
	group->pid = (int32_t)event->values[PID].u;
	if (event->present & (1u << NAME)) {
		map_group_set_name(group, map_name_bytes(&event->values[NAME], scratch));
	}
	(void)map_add(map, index, event->ts, RECORD_PROCESS);
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
		map->head_group = map_group_new(map, KEY_HEAD);
		(void)map_add(map, map->head_group, ts, RECORD_GAP);
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
	(void)map_add(map, map_group_of(map, KEY_LOST), ts, RECORD_ANEW);
}

void map_note_tail(struct map *map)
{
	map->partial->tail = run_kind_of(map);
	map->partial->tail_tid = map->tid;
	map->partial->tail_ts = map->since;
	map->partial->records_until = map->since > map->last_ts ? map->since : map->last_ts;
}
