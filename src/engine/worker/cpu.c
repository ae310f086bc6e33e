/*
 * cpu: which thread runs on the CPU of the stream, and under which name, as far as the chunk tells.
 */
#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "engine/worker/records.h"
#include "kernel/task-state.h"
#include "kernel/thread-identity.h"

/* ---- time of the CPU ---- */

void worker_tell_oncpu_end(struct worker *worker, uint64_t ts, bool is_window)
{
	const struct setup *setup = worker->setup;

	each_analysis_of(worker->oncpu_ends, i)
	{
		worker->analysis = (uint8_t)i;
		setup->analyses[i]->on_oncpu_end(worker, worker->states + setup->state_offsets[i],
						 ts, is_window);
	}
}

void worker_end_slice(struct worker *worker, uint64_t ts)
{
	const struct setup *setup = worker->setup;

	each_analysis_with(setup, on_slice_end, i) {
		worker->analysis = (uint8_t)i;
		setup->analyses[i]->rare->on_slice_end(
			worker, worker->states + setup->state_offsets[i], ts);
	}
}

static enum run_kind run_kind_of(const struct worker *worker)
{
	if (worker->known != KNOWN_TID) {
		return RUN_UNKNOWN;
	}
	return worker->tid == 0 ? RUN_IDLE : RUN_THREAD;
}

/* What the time is charged to.  Behind a switch that does not fit it is unknown whether others ran
 * there, too, which the trace does not show: events are filtered, or lost without a word. */
static enum run_kind charged_kind(const struct worker *worker)
{
	return worker->fit == FITS_NOT ? RUN_UNKNOWN : run_kind_of(worker);
}

/* Whether the time from `since` to @ts, which the open slice has, lies within that slice. */
static bool is_within(const struct worker *worker, uint64_t ts)
{
	assert_hot(worker->has_slice);
	assert_hot(worker->slice_begin_ns <= ts);
	assert_hot(ts < worker->slice_end_ns);
	return worker->since >= worker->slice_begin_ns;
}

/* Makes the time up to @ts a segment, which the merger cuts at the ends of windows. */
static void leave_to_merger(struct worker *worker, uint64_t ts, bool is_broken)
{
	assert(worker->known != KNOWN_INITIAL);
	assert(worker->since <= ts);
	*vec_push(&worker->partial->segments) =
		(struct segment){ .begin = worker->since,
				  .end = ts,
				  .tid = worker->tid,
				  .kind = (uint8_t)charged_kind(worker),
				  .is_broken = is_broken,
				  .is_first = worker->fit == FITS_FIRST };
	worker->since = ts;
}

/*
 * Charges the time up to @ts.  If it lies within the slice, so does the record of the on-CPU
 * interval, which gets its length.  @is_broken: another thread than worker->tid leaves at @ts,
 * which is the merger's matter.
 */
static void charge(struct worker *worker, uint64_t ts, bool is_broken)
{
	enum run_kind kind = charged_kind(worker);
	uint64_t ns = ts - worker->since;

	assert(worker->chunk->has_switches);
	if (is_broken || worker->fit == FITS_FIRST || !is_within(worker, ts)) {
		leave_to_merger(worker, ts, is_broken);
		return;
	}
	worker->slice.has_gap |= kind == RUN_UNKNOWN;
	worker->slice.cpu_ns[kind] += ns;
	if (kind == RUN_THREAD) {
		struct record *oncpu = worker_record(worker, worker->oncpu);

		oncpu->arg64 = ns;
		oncpu->arg16 |= RECORD_LEFT;
	}
	worker->since = ts;
}

/* The first evidence in this chunk: @tid ran from the start of the chunk to @ts. */
static void note_initial(struct worker *worker, uint64_t ts, int32_t tid)
{
	assert(worker->known == KNOWN_INITIAL);
	assert(worker->partial->initial == INITIAL_NONE);
	worker->partial->initial = INITIAL_THREAD;
	worker->partial->initial_ts = ts;
	worker->partial->initial_tid = tid;
	worker->since = ts;
}

/* Whether the evidence fits that comes now; @is_broken: not to what was known. */
static enum fit fit_of(const struct worker *worker, bool is_broken)
{
	return worker->known == KNOWN_INITIAL ? FITS_FIRST : is_broken ? FITS_NOT : FITS;
}

/* ---- what is missing ---- */

static void tell_lost(struct worker *worker, uint64_t ts, bool is_over)
{
	const struct setup *setup = worker->setup;

	each_analysis_with(setup, on_lost, i) {
		worker->analysis = (uint8_t)i;
		setup->analyses[i]->rare->on_lost(worker, worker->states + setup->state_offsets[i],
						  ts, is_over);
	}
	worker->analysis = 0;
}

/* ---- switches ---- */

/* A sched_switch event.  A name is NULL if it is not traced. */
struct switched {
	uint64_t ts, prev_state;
	const char *prev_comm, *next_comm;
	int32_t prev, next, prev_prio, next_prio, pid;
	bool has_state, has_pid;
};

/* Puts flags and priority of the thread that leaves into the record of its on-CPU interval, or into
 * one of their own if that is NULL or in another group. */
static void show_leaving(struct worker *worker, const struct switched *s, uint16_t flags,
			 uint32_t group, struct record *oncpu)
{
	if (!oncpu || oncpu->group != group) {
		oncpu = worker_add(worker, group, s->ts, RECORD_OUT);
	}
	oncpu->arg32 = s->prev_prio;
	oncpu->arg16 |= flags | RECORD_PRIO;
}

/* leave() where the on-CPU interval began in another slice, or is unknown. */
static __attribute__((noinline)) void leave_in_part(struct worker *worker, const struct switched *s,
						    uint16_t flags, uint32_t group)
{
	bool is_broken = worker->known == KNOWN_TID && worker->tid != s->prev;

	if (worker->known == KNOWN_INITIAL) {
		note_initial(worker, s->ts, s->prev);
		worker->partial->initial_has_prio = true;
		worker->partial->initial_prio = s->prev_prio;
		if (s->prev_comm) {
			memcpy(worker->partial->initial_name, s->prev_comm, NAME_BYTES);
		}
	} else {
		charge(worker, s->ts, is_broken);
	}
	if (worker->known == KNOWN_NOT) {
		tell_lost(worker, s->ts, true);
	}
	if (s->prev != 0) {
		show_leaving(worker, s, flags, group, NULL);
	}
	worker->fit = fit_of(worker, is_broken);
}

/* Nearly always the thread that was switched in last leaves, in the same slice. */
static inline __attribute__((always_inline)) void
leave(struct worker *worker, const struct switched *s, uint16_t flags, uint32_t group)
{
	uint64_t ns = s->ts - worker->since;
	struct record *oncpu;

	assert_hot(worker->known == KNOWN_INITIAL || worker->since <= s->ts);
	assert_hot(worker->fit == FITS_NOBODY || worker->known == KNOWN_TID);
	if (worker->fit != FITS || worker->tid != s->prev || !is_within(worker, s->ts)) {
		leave_in_part(worker, s, flags, group);
		return;
	}
	worker->since = s->ts;
	if (s->prev == 0) {
		worker->slice.cpu_ns[RUN_IDLE] += ns;
		return;
	}
	worker->slice.cpu_ns[RUN_THREAD] += ns;
	oncpu = worker_record(worker, worker->oncpu);
	oncpu->arg64 = ns;
	oncpu->arg16 |= RECORD_LEFT;
	show_leaving(worker, s, flags, group, oncpu);
}

/* The group of the thread that leaves, which has its name and process from here on. */
static uint32_t leaving_group(struct worker *worker, const struct switched *s)
{
	uint32_t group = worker->group;

	assert_hot(s->prev != 0);
	if (worker->known != KNOWN_TID || s->prev != worker->tid || group == RECORD_NONE ||
	    (s->prev_comm && !worker_group_goes_by(worker_group(worker, group), s->prev_comm))) {
		group = worker_group_named(worker, s->prev, s->prev_comm);
	}
	if (s->has_pid) {
		if (worker_group(worker, group)->pid != INT32_MIN &&
		    worker_group(worker, group)->pid != s->pid) {
			struct group former = worker->draft->groups.at[group];

			group = worker_group_new(worker, s->prev);
			if (former.has_name) {
				worker_group_set_name(worker_group(worker, group), former.name);
			}
		}
		worker_group(worker, group)->pid = s->pid;
	}
	return group;
}

static uint8_t leaving_flags(uint64_t state, uint16_t form)
{
	return (uint8_t)((task_state_is_dead(state, form) ? RECORD_DEAD : 0) |
			 (task_state_sleeps(state, form) ? RECORD_SLEEPS : 0) |
			 (task_state_is_stopped(state, form) ? RECORD_STOPPED : 0) |
			 (task_state_is_halted(state, form) ? RECORD_HALTED : 0) |
			 (task_state_is_preempted(state, form) ? RECORD_PREEMPTED : 0));
}

/* A processor cannot predict the state of a thread that leaves: a table saves the branches. */
void worker_set_states(struct worker *worker, uint16_t form)
{
	if (form == worker->states_form) {
		return;
	}
	worker->states_form = form;
	for (unsigned int state = 0; state < STATES_KNOWN; state++) {
		worker->leaving[state] = leaving_flags(state, form);
	}
}

/* Priorities are -101 to 139 as traced; those of normal threads end at 39. */
static uint16_t prio_flags(int32_t prio)
{
	prio = prio < INT8_MIN ? INT8_MIN : prio > INT8_MAX ? INT8_MAX : prio;
	return (uint16_t)((uint16_t)(uint8_t)prio << RECORD_PRIO_SHIFT);
}

/* It runs once per switch, and has two callers: inlined, neither builds *@s in memory. */
static inline __attribute__((always_inline)) void take_switch(struct worker *worker,
							      const struct switched *s)
{
	uint16_t flags = !s->has_state ? 0
			 : s->prev_state < STATES_KNOWN
				 ? worker->leaving[s->prev_state]
				 : leaving_flags(s->prev_state, worker->states_form);
	uint32_t group = RECORD_NONE;
	struct record *record;

	worker_end_oncpu(worker, s->ts, false);
	if (s->prev != 0) {
		group = leaving_group(worker, s);
	}
	leave(worker, s, flags, group);
	worker_close_contexts(worker);
	worker->known = KNOWN_TID;
	worker->tid = s->next;
	worker->serves = wake_thread_serves(s->next_comm);
	worker->oncpu = SIZE_MAX;
	worker->group = RECORD_NONE;
	if (s->next != 0) {
		worker->group = worker_group_named(worker, s->next, s->next_comm);
		worker->oncpu = worker_records(worker);
		record = worker_add(worker, worker->group, s->ts, RECORD_IN);
		record->arg32 = s->next_prio;
		record->arg16 = prio_flags(record->arg32);
	}
}

/* The name in a field of the event, NULL if it is not traced. */
static const char *name_in(const struct trace_event *event, unsigned int field,
			   char scratch[NAME_BYTES])
{
	return event->present & (1u << field) ? worker_name_bytes(&event->values[field], scratch)
					      : NULL;
}

/* Whether the field is as kernel tracers write it. */
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

/* Finds the layout of sched_switch, if no analysis wants it as well. */
static void find_layout(struct worker *worker, const struct plan_event *class)
{
	struct switch_layout layout = { .class = class, .is_sought = true };
	const struct plan_binding *binding = class->bindings;
	unsigned int found = 0;

	assert(!worker->switches.class);
	assert(class->binding_count > 0);
	worker->switches.is_sought = true;
	if (!class->is_fast || class->binding_count != 1 || class->copy_count > 0) {
		return;
	}
	for (unsigned int i = 0; i < class->fast_count; i++) {
		const struct plan_load *load = &class->fast[i];
		unsigned int field = (unsigned int)(load->slot - binding->base);

		if (field >= SWITCH_FIELDS || !is_as_usual(load, field)) {
			return;
		}
		layout.at[field] = load->offset;
		found |= 1u << field;
	}
	layout.has_pid = found & (1u << SWITCH_PID);
	if ((found | 1u << SWITCH_PID) == (1u << SWITCH_FIELDS) - 1) {
		worker->switches = layout;
	}
}

void worker_on_switch(struct worker *worker, void *state, const struct trace_event *event,
		      uint32_t user)
{
	const struct value *v = event->values;
	char prev_scratch[NAME_BYTES], next_scratch[NAME_BYTES];

	if (!worker->chunk->has_switches || !(event->present & (1u << PREV_TID)) ||
	    !(event->present & (1u << NEXT_TID))) {
		return;
	}
	if (!worker->switches.is_sought) {
		find_layout(worker, event->class);
	}
	take_switch(worker, &(struct switched){
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

#define FIELD(type, field) DECODE_LOAD(type, fields + worker->switches.at[field])

void worker_on_plain_switch(struct worker *worker, uint64_t ts, const uint8_t *fields)
{
	const uint16_t *at = worker->switches.at;

	assert_hot(worker->chunk->has_switches);
	take_switch(worker,
		    &(struct switched){
			    .ts = ts,
			    .prev_state = FIELD(uint64_t, PREV_STATE),
			    .prev_comm = (const char *)fields + at[PREV_COMM],
			    .next_comm = (const char *)fields + at[NEXT_COMM],
			    .prev = FIELD(int32_t, PREV_TID),
			    .next = FIELD(int32_t, NEXT_TID),
			    .prev_prio = FIELD(int32_t, PREV_PRIO),
			    .next_prio = FIELD(int32_t, NEXT_PRIO),
			    .pid = worker->switches.has_pid ? FIELD(int32_t, SWITCH_PID) : 0,
			    .has_state = true,
			    .has_pid = worker->switches.has_pid,
		    });
}

#undef FIELD

/* ---- what handlers may ask ---- */

int32_t worker_tid(const struct worker *worker)
{
	return worker->known == KNOWN_TID ? worker->tid : TID_CURRENT;
}

bool worker_mark_no_open_calls(struct worker *worker)
{
	if (worker->oncpu == SIZE_MAX || worker_record(worker, worker->oncpu)->kind != RECORD_IN) {
		return false;
	}
	worker_record(worker, worker->oncpu)->arg16 |= RECORD_NO_OPEN_CALLS;
	return true;
}

/* ---- other events about threads ---- */

void worker_on_fork(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t user)
{
	enum { COMM, TID, PID, CHILD_NS, PARENT_NS };
	int32_t tid = (int32_t)event->values[TID].i;
	char scratch[NAME_BYTES];
	struct record *record;
	uint32_t group;

	if (!(event->present & (1u << TID))) {
		return;
	}
	group = worker_group_new(worker, tid);
	if (event->present & (1u << COMM)) {
		worker_group_set_name(worker_group(worker, group),
				      worker_name_bytes(&event->values[COMM], scratch));
	}
	record = worker_add(worker, group, event->ts, RECORD_FORK);
	record->arg64 = event->present & (1u << PID) ? event->values[PID].u : UINT64_MAX;
	if (event_u64(event, CHILD_NS, UINT64_MAX) <= UINT32_MAX) {
		record->arg32 = (int32_t)event_u64(event, CHILD_NS, 0);
		record->arg16 = event_has(event, PARENT_NS) && event_u64(event, PARENT_NS, 0) !=
								       event_u64(event, CHILD_NS, 0)
					? RECORD_ENTERS
					: 0;
	}
}

/* The thread that runs, known as @former, goes on as @tid. */
static void continue_as(struct worker *worker, uint64_t ts, int32_t former, int32_t tid,
			uint32_t group)
{
	bool is_broken = worker->known == KNOWN_TID && worker->tid != former;

	assert(tid != former);
	/* From here on the thread is known, as after a switch. */
	if (worker->known != KNOWN_TID || is_broken) {
		worker_end_oncpu(worker, ts, false);
	}
	if (worker->known == KNOWN_INITIAL) {
		note_initial(worker, ts, former);
	} else {
		charge(worker, ts, is_broken);
	}
	if (worker->known == KNOWN_NOT) {
		tell_lost(worker, ts, true);
	}
	worker_close_contexts(worker);
	worker->fit = fit_of(worker, is_broken);
	worker->known = KNOWN_TID;
	worker->tid = tid;
	worker->serves = false;
	worker->group = group;
	worker->oncpu = worker_records(worker);
	(void)worker_add(worker, group, ts, RECORD_ON);
}

/* The event has no comm.  The kernel makes it of the last component of the path. */
void worker_on_exec(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t user)
{
	enum { FILENAME, TID, OLD_TID };
	int32_t tid = (int32_t)event->values[TID].i, former = tid;
	char scratch[NAME_BYTES];
	uint32_t group;

	if (!(event->present & (1u << TID)) || tid == 0) {
		return;
	}
	if (event->present & (1u << OLD_TID)) {
		former = (int32_t)event->values[OLD_TID].u;
	}
	group = worker_group_new(worker, tid);
	if (event->present & (1u << FILENAME)) {
		struct value base = event->values[FILENAME];
		const uint8_t *slash = memrchr(base.bytes, '/', base.len);

		if (slash) {
			base.len -= (uint64_t)(slash + 1 - base.bytes);
			base.bytes = slash + 1;
		}
		base.len = base.len < NAME_BYTES - 1 ? base.len : NAME_BYTES - 1;
		worker_group_set_name(worker_group(worker, group),
				      worker_name_bytes(&base, scratch));
	}
	(void)worker_add(worker, group, event->ts, RECORD_EXEC);
	if (thread_takes_tid(tid, former)) {
		*vec_push(&worker->partial->renames) =
			(struct rename){ .ts = event->ts, .from = former, .to = tid };
		if (worker->chunk->has_switches) {
			continue_as(worker, event->ts, former, tid, group);
		}
	} else if (worker->known == KNOWN_TID && worker->tid == tid) {
		worker->group = group;
	}
}

/* A namespace that the thread is visible in.  Events of one thread may be in different chunks: the
 * merger tells which one counts. */
struct visible_in {
	uint64_t level, inum;
	int64_t vtid, vpid;
};

static void add_container(struct worker *worker, uint64_t ts, int32_t tid,
			  const struct visible_in *in)
{
	struct record *record;

	if (tid == 0 || in->inum == 0 || in->inum > UINT32_MAX) {
		return;
	}
	record = worker_add(worker, worker_group_of(worker, tid), ts, RECORD_CONTAINER);
	record->arg64 = in->level;
	record->arg32 = (int32_t)in->inum;
	record->arg16 = in->vpid == 1 && in->vtid == 1 ? RECORD_ENTERS : 0;
}

/* Of LTTng up to 2.11 it says the namespace, too, one event for each level. */
void worker_on_process(struct worker *worker, void *state, const struct trace_event *event,
		       uint32_t user)
{
	enum { NAME, TID, PID, VPID, LEVEL, INUM, VTID };
	int32_t tid = (int32_t)event->values[TID].i;
	bool by_level = event_has(event, LEVEL) && event_u64(event, INUM, 0) != 0;
	struct group *group;
	uint32_t index;
	char scratch[NAME_BYTES];

	if (!event_has(event, TID) || !event_has(event, PID) || tid == 0) {
		return;
	}
	index = worker_group_new(worker, tid);
	group = worker_group(worker, index);
	group->is_weak = true;
	group->pid = (int32_t)event->values[PID].u;
	if (event_has(event, NAME)) {
		worker_group_set_name(group, worker_name_bytes(&event->values[NAME], scratch));
	}
	worker_add(worker, index, event->ts, RECORD_PROCESS)->arg16 =
		by_level ? RECORD_BY_LEVEL : 0;
	if (by_level) {
		add_container(worker, event->ts, tid,
			      &(struct visible_in){ .level = event_u64(event, LEVEL, 0),
						    .inum = event_u64(event, INUM, 0),
						    .vtid = event_i64(event, VTID, 0),
						    .vpid = event_i64(event, VPID, 0) });
	}
}

/* One event for each level of namespaces, the thread's own first. */
void worker_on_container(struct worker *worker, void *state, const struct trace_event *event,
			 uint32_t user)
{
	enum { TID, VPID, LEVEL, INUM, VTID };

	if (event_has(event, LEVEL)) {
		add_container(worker, event->ts, (int32_t)event_i64(event, TID, 0),
			      &(struct visible_in){ .level = event_u64(event, LEVEL, 0),
						    .inum = event_u64(event, INUM, 0),
						    .vtid = event_i64(event, VTID, 0),
						    .vpid = event_i64(event, VPID, 0) });
	}
}

/* ---- gaps and ends ---- */

void worker_note_gap(struct worker *worker, uint64_t ts, uint64_t end)
{
	ts = ts < worker->last_ts ? worker->last_ts : ts;
	worker->gap_end = end < ts ? ts : end;
	worker_to_slice(worker, ts);
	worker_end_oncpu(worker, ts, false);
	worker_close_contexts(worker);
	tell_lost(worker, ts, false);
	if (!worker->chunk->has_switches) {
		if (worker->setup->uses_threads) {
			(void)worker_emit(worker, ts, TID_CURRENT, RECORD_GAP);
		}
		return;
	}
	if (worker->known == KNOWN_INITIAL) {
		assert(worker->partial->initial == INITIAL_NONE);
		assert(worker->initial_group == RECORD_NONE);
		worker->partial->initial = INITIAL_GAP;
		worker->partial->initial_ts = ts;
		worker->initial_group = worker_group_new(worker, KEY_INITIAL);
		(void)worker_add(worker, worker->initial_group, ts, RECORD_GAP);
		worker->since = ts;
	} else {
		leave_to_merger(worker, ts, false); /* the range may end before @ts */
		if (worker->known == KNOWN_TID && worker->tid != 0) {
			(void)worker_emit(worker, ts, worker->tid, RECORD_GAP);
		}
	}
	worker->slice.has_gap = true;
	worker->known = KNOWN_NOT;
	worker->fit = FITS_NOBODY;
	worker->oncpu = SIZE_MAX;
	worker_forget_groups(worker); /* records at the same time come after the gap */
	(void)worker_add(worker, worker_group_of(worker, KEY_LOST), ts, RECORD_RESET_UNKNOWN);
}

void worker_note_last(struct worker *worker)
{
	size_t count = worker_records(worker);

	assert((worker->known == KNOWN_INITIAL) == (worker->partial->initial == INITIAL_NONE));
	worker->partial->tail = run_kind_of(worker);
	worker->partial->tail_is_doubted = worker->fit == FITS_NOT;
	worker->partial->tail_is_first = worker->fit == FITS_FIRST;
	worker->partial->tail_tid = worker->tid;
	worker->partial->tail_serves = worker->serves;
	worker->partial->tail_ts = worker->since;
	worker->partial->records_until =
		worker->since > worker->last_ts ? worker->since : worker->last_ts;
	/* A gap may have a record after the last event. */
	if (count > 0 && worker_record(worker, count - 1)->ts > worker->partial->records_until) {
		worker->partial->records_until = worker_record(worker, count - 1)->ts;
	}
}
