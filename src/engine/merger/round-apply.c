/*
 * round-apply: what a record does to its thread, and the switch-outs that are held back; see
 * round-apply.h.
 */
#include "engine/merger/round-apply.h"

#include <string.h>

#include "base/check.h"
#include "kernel/thread-identity.h"

/* The records of one group are being applied to the thread of one key. */
struct applying {
	struct shard *shard;
	const struct round_entry *entry;
	const struct group *group;
	struct shard_key *key;
	bool selects; /* what counts is decided record by record */
};

/* ---- names and processes ---- */

/* The name that all records of the group have for their thread. */
static void apply_name(struct shard *shard, struct thread *thread, const struct group *group)
{
	bool is_new = !group->is_weak || !thread->view.comm[0];

	if (group->has_name && is_new && memcmp(thread->view.comm, group->name, NAME_BYTES) != 0) {
		memcpy(thread->view.comm, group->name, NAME_BYTES);
		shard_pick_again(thread);
		if (thread->view.names_container) {
			shard_rename_container(shard, thread);
		}
	}
}

/* At the record that carries the process: a later record of the group may belong to another thread
 * with the same tid. */
static void apply_pid(struct thread *thread, const struct group *group)
{
	if (group->pid != INT32_MIN) {
		thread->view.pid = group->pid;
		shard_pick_again(thread);
	}
}

/* The number of the CPU whose interval the record is about: that of its stream, or the merger says
 * which. */
static uint32_t interval_cpu(const struct applying *at, const struct record *record)
{
	uint32_t cpu = at->entry->source.cpu_number;

	return cpu != UINT32_MAX ? cpu : (uint32_t)record->arg32;
}

/* The CPU on which the record happened; UINT64_MAX: none. */
static uint64_t cpu_of(const struct applying *at, const struct record *record)
{
	return record->kind == RECORD_RUN ? (uint32_t)record->arg32 : at->entry->source.cpu_id;
}

/* Whether what the thread does in this record counts. */
static inline void select_thread(struct applying *at, struct thread *thread,
				 const struct record *record)
{
	if (!at->selects || record->kind == RECORD_PROCESS ||
	    record->kind == RECORD_CONTAINER || /* which tells first whose it is */
	    record->kind == RECORD_PLACE ||
	    (record->kind == RECORD_INITIAL && thread->view.tid < 0)) {
		return;
	}
	if (record->kind == RECORD_IN || record->kind == RECORD_ON ||
	    record->kind == RECORD_INITIAL) {
		shard_pick(at->shard, thread);
	}
	shard_select(at->shard, thread, cpu_of(at, record));
}

/* ---- records ---- */

static void run_for(struct shard *shard, struct thread *thread, uint32_t cpu,
		    const struct record *record)
{
	if (record->arg64 > 0) {
		const struct run_part part = { .ts = record->ts,
					       .ns = record->arg64,
					       .cpu_number = cpu };

		shard_each_rare_with(shard, on_run, (shard, thread, &part));
	}
}

static void set_prio(struct thread *thread, int32_t prio)
{
	thread->view.prio = prio;
	thread->view.has_prio = true;
}

/* @leaves: on_switch_out() says so, too. */
static void note_death(struct shard *shard, struct thread *thread, const struct record *record,
		       bool leaves)
{
	if (record->arg16 & RECORD_DEAD) {
		(leaves ? shard_thread_exits : shard_thread_ends)(shard, thread,
								  record->ts + record->arg64);
	}
}

/* The thread's on-CPU interval goes on beyond the record, up to one of leaving, or ends there. */
static inline void note_oncpu(struct applying *at, struct thread *thread,
			      const struct record *record, bool is_open)
{
	if (is_open) {
		shard_open_oncpu(at->shard,
				 &(struct open_oncpu){ .ts = record->ts,
						       .cpu = at->entry->source.cpu_number,
						       .key = at->key->key,
						       .thread = thread });
	} else if (at->shard->oncpus.count > 0) {
		shard_close_oncpu(at->shard, interval_cpu(at, record), at->key->key);
	}
}

/*
 * An on-CPU interval is charged window by window, always to the thread that was switched in.  Where
 * events are lost, that thread may have ended in between, and another one have its tid.
 */
static void run_on(struct applying *at, struct thread *thread, const struct record *record)
{
	uint32_t cpu = (uint32_t)record->arg32;
	struct thread *switched_in = shard_oncpu(at->shard, cpu, at->key->key);

	if (switched_in) {
		thread = switched_in;
		select_thread(at, thread, record);
		if (thread->is_dead) {
			shard_reopen(at->shard, thread);
		}
	} else {
		shard_open_oncpu(at->shard, &(struct open_oncpu){ .ts = record->ts,
								  .cpu = cpu,
								  .key = at->key->key,
								  .thread = thread });
	}
	run_for(at->shard, thread, cpu, record);
}

static void report_out(struct shard *shard, struct thread *thread, const struct switch_out *out,
		       uint8_t left_out)
{
	uint8_t before = shard->left_out;

	shard->left_out = left_out;
	shard_each_with(shard, on_switch_out, (shard, thread, out));
	shard->left_out = before;
}

/* Reports the switch-out that is held back.  @is_tie: its thread is switched in elsewhere, not
 * later. */
static void release(struct shard *shard, bool is_tie)
{
	struct held_out *held = &shard->held;
	const struct switch_out out = {
		.ts = held->ts, .cpu = held->cpu, .flags = held->flags, .is_tie = is_tie
	};

	held->ts = OUT_NONE;
	report_out(shard, held->thread, &out, held->left_out);
}

static inline void release_any(struct shard *shard, bool is_tie)
{
	if (shard->held.ts != OUT_NONE) {
		release(shard, is_tie);
	}
}

/* The thread leaves its CPU at @ts, with the flags of @record. */
static inline void hold(struct applying *at, struct thread *thread, const struct record *record,
			uint64_t ts)
{
	at->shard->held = (struct held_out){ .ts = ts,
					     .cpu = at->entry->source.cpu_id,
					     .thread = thread,
					     .flags = record->arg16,
					     .left_out = at->shard->left_out };
	thread->is_in = false;
	if (!at->group->is_weak) { /* else a RECORD_PROCESS of the group carries the pid */
		apply_pid(thread, at->group);
	}
}

static void switch_in(struct applying *at, struct thread *thread, const struct record *record)
{
	struct shard *shard = at->shard;
	struct switch_in in = { .ts = record->ts,
				.cpu = at->entry->source.cpu_id,
				.cpu_number = at->entry->source.cpu_number,
				.prio = (int8_t)(record->arg16 >> RECORD_PRIO_SHIFT) };

	set_prio(thread, record->arg32);
	in.is_migration = thread->cpu != UINT32_MAX && thread->cpu != in.cpu_number;
	if (record->arg16 & RECORD_PRIO) {
		in.out_ts = record->ts + record->arg64;
		in.out_flags = record->arg16;
	}
	release_any(shard, true);
	shard_each_with(shard, on_switch_in, (shard, thread, &in));
	thread->cpu = in.cpu_number;
	thread->in_ts = record->ts;
	thread->is_in = true;
	if (record->arg16 & (RECORD_NO_OPEN_CALLS | RECORD_NO_OPEN_CALLS_EXIT)) {
		shard_each_rare_with(shard, on_no_open_calls, (shard, thread));
	}
	run_for(shard, thread, at->entry->source.cpu_number, record);
	if (record->arg16 & RECORD_PRIO) {
		hold(at, thread, record, record->ts + record->arg64);
	}
	note_oncpu(at, thread, record, !(record->arg16 & RECORD_PRIO));
	note_death(at->shard, thread, record, record->arg16 & RECORD_PRIO);
}

/* The on-CPU interval of a thread goes on under another tid. */
static void continue_on(struct applying *at, struct thread *thread, const struct record *record)
{
	if (record->arg16 & RECORD_PRIO) {
		set_prio(thread, record->arg32);
	}
	release_any(at->shard, true);
	thread->cpu = at->entry->source.cpu_number;
	thread->is_in = true;
	shard_each_with(at->shard, on_seen,
			(at->shard, thread, record->ts, at->entry->source.cpu_id, SEEN_RENAMED));
	run_for(at->shard, thread, at->entry->source.cpu_number, record);
	if (record->arg16 & RECORD_PRIO) {
		hold(at, thread, record, record->ts + record->arg64);
	}
	note_oncpu(at, thread, record, !(record->arg16 & RECORD_PRIO));
	note_death(at->shard, thread, record, record->arg16 & RECORD_PRIO);
}

/*
 * Where events are missing, or clocks of CPUs differ, a thread seems to be on two CPUs.  Then it is
 * on the one where it was switched in last, from that time on.  What the other one says of its
 * interval there is of run time only: whether the thread is known to be on the other one since, or
 * to have left it, or was switched in there in the same ns, by a record that came first.
 */
static bool has_moved(const struct applying *at, const struct thread *thread,
		      const struct record *record)
{
	uint32_t cpu = interval_cpu(at, record);

	return thread->cpu != cpu && thread->cpu != UINT32_MAX &&
	       (thread->is_in || at->shard->held.ts != OUT_NONE ||
		(thread->in_ts == record->ts && record->ts != 0) ||
		shard_oncpu(at->shard, cpu, at->key->key) == thread);
}

/* Its switch-in there may not have been seen. */
static void see_leaving(struct applying *at, struct thread *thread, const struct record *record)
{
	const struct record_source *source = &at->entry->source;

	release_any(at->shard, false);
	if (!thread->is_in || thread->cpu != source->cpu_number) {
		shard_each_with(at->shard, on_seen,
				(at->shard, thread, record->ts, source->cpu_id, SEEN_LEAVING));
	}
	if (thread->cpu == UINT32_MAX) {
		thread->cpu = source->cpu_number;
	}
}

static void switch_out(struct applying *at, struct thread *thread, const struct record *record)
{
	const struct switch_out tie = { .ts = record->ts,
					.cpu = at->entry->source.cpu_id,
					.flags = record->arg16,
					.is_tie = true };
	struct thread *was = shard_oncpu(at->shard, at->entry->source.cpu_number, at->key->key);
	bool moves = has_moved(at, thread, record);

	if (was && was != thread) { /* of one that had the tid before */
		report_out(at->shard, was, &tie, at->shard->left_out);
		if (!at->group->is_weak) {
			apply_pid(was, at->group);
		}
		note_oncpu(at, was, record, false);
		return;
	}
	if (moves) {
		report_out(at->shard, thread, &tie, at->shard->left_out);
	} else {
		set_prio(thread, record->arg32);
		see_leaving(at, thread, record);
		hold(at, thread, record, record->ts);
	}
	note_oncpu(at, thread, record, false);
	note_death(at->shard, thread, record, !moves);
}

/* The initial thread of a CPU, as the first switch there describes it (cpus.c). */
static void initial_thread(struct shard *shard, struct thread *thread, const struct record *record)
{
	if (thread->view.tid < 0) { /* about the CPU: arg32 says which thread it is (cpus.c) */
		shard_each_rare_with(shard, on_initial_cpu,
				     (shard, thread, record->arg64, record->arg32, record->ts));
		return;
	}
	if (!thread->view.has_prio && (record->arg16 & RECORD_PRIO)) {
		set_prio(thread, record->arg32);
	}
	if (thread->cpu == UINT32_MAX) {
		thread->cpu = (uint32_t)record->arg64;
		thread->is_in = true;
	}
	shard_each_with(shard, on_seen, (shard, thread, record->ts, record->arg64, SEEN_FIRST));
}

static void fork_thread(struct applying *at, const struct record *record)
{
	release_any(at->shard, at->shard->held.ts > record->ts);
	at->key->thread = shard_thread_fork(at->shard, at->key->key, record->ts);
	apply_name(at->shard, at->key->thread, at->group);
	if (record->arg64 <= INT32_MAX) {
		at->key->thread->view.pid = (int32_t)record->arg64;
	}
	shard_contain(at->shard, at->key->thread,
		      &(struct container_record){ .pid_ns = (uint32_t)record->arg32,
						  .level = CONTAINER_LEVEL_FORK,
						  .enters = record->arg16 & RECORD_ENTERS,
						  .ts = record->ts });
	select_thread(at, at->key->thread, record);
	shard_each_with(at->shard, on_fork, (at->shard, at->key->thread, record->ts));
}

static void own_record(struct applying *at, const struct record *record)
{
	struct shard *shard = at->shard;

	shard->running = record->owner;
	shard->layout->setup->analyses[record->owner]->on_record(
		shard, record, at->entry->partial->numbers.at, at->key->thread);
}

static inline void gap(struct applying *at, struct thread *thread, const struct record *record)
{
	if (at->entry->source.owns_cpu) {
		bool moves = has_moved(at, thread, record);
		bool is_misfit = at->entry->source.cpu_number == UINT32_MAX; /* as cpus.c says */

		if (moves || (is_misfit && thread->in_ts == record->ts)) {
			return; /* it is elsewhere, or came there in that ns */
		}
		note_oncpu(at, thread, record, false);
		thread->is_in = false;
	}
	shard_doubt(at->shard, thread, record->ts,
		    at->entry->source.owns_cpu ? DOUBT_EVENTS | DOUBT_SWITCHES : DOUBT_EVENTS);
}

static void apply(struct applying *at, const struct record *record)
{
	struct thread *thread = at->key->thread;

	switch ((enum record_kind)record->kind) {
	case RECORD_IN:
		switch_in(at, thread, record);
		break;
	case RECORD_ON:
		continue_on(at, thread, record);
		break;
	case RECORD_OUT:
		switch_out(at, thread, record);
		break;
	case RECORD_GAP:
		gap(at, thread, record);
		break;
	case RECORD_RUN:
		run_on(at, thread, record);
		break;
	case RECORD_INITIAL:
		initial_thread(at->shard, thread, record);
		break;
	case RECORD_RESET_UNKNOWN:
		shard_doubt(at->shard, thread, record->ts, DOUBT_THREAD);
		break;
	case RECORD_FORK:
		fork_thread(at, record);
		break;
	case RECORD_PROCESS:
		apply_pid(thread, at->group);
		if (!(record->arg16 & RECORD_BY_LEVEL) && !report_is_placed(&thread->view)) {
			thread->view.container_level = 0; /* what the statedump says next counts */
		}
		if (at->selects) {
			shard_select(at->shard, thread, at->entry->source.cpu_id);
		}
		break;
	case RECORD_CONTAINER:
		shard_contain(at->shard, thread,
			      &(struct container_record){ .pid_ns = (uint32_t)record->arg32,
							  .level = container_level(record->arg64),
							  .enters = record->arg16 & RECORD_ENTERS,
							  .is_first = record->arg16 & RECORD_ENTERS,
							  .ts = record->ts });
		break;
	case RECORD_PLACE:
		shard_place(at->shard, thread,
			    &(struct place_record){ .ts = record->ts,
						    .pid_ns = (uint32_t)record->arg32,
						    .is_first = record->arg16 & RECORD_ENTERS,
						    .names = record->arg16 & RECORD_NAMES,
						    .words = at->entry->partial->numbers.at +
							     record->arg64 });
		break;
	case RECORD_EXEC: /* the group has the name */
		break;
	case RECORD_OWN:
	default:
		own_record(at, record);
		break;
	}
}

/* ---- a node ---- */

/* Whether the thread is called as its group when the record is made.  Others may have gone to a
 * group without a name, which got one later: perhaps of another thread with the same tid. */
static inline bool carries_name(const struct record *record)
{
	return record->kind <= RECORD_OUT || record->kind == RECORD_INITIAL ||
	       record->kind == RECORD_EXEC || record->kind == RECORD_PROCESS;
}

/* Whether the record is about what happens to its thread, and not about an interval of a CPU on
 * which the thread was, as far as that CPU tells. */
static bool is_of_life(const struct applying *at, const struct record *record)
{
	return record->kind != RECORD_GAP && record->kind != RECORD_RUN &&
	       !(record->kind == RECORD_OUT &&
		 shard_oncpu(at->shard, interval_cpu(at, record), at->key->key));
}

/* The thread has ended, or will with this record: another one has its tid since. */
static __attribute__((noinline)) void use_after_end(struct applying *at,
						    const struct record *record, bool *is_fresh)
{
	struct shard *shard = at->shard;
	struct thread *dead = at->key->thread;

	if (thread_is_over(shard_end_ts(shard, dead), record->ts) && is_of_life(at, record)) {
		at->key->thread = shard_thread_fork(shard, at->key->key, record->ts);
		*is_fresh = true;
	} else {
		shard_reopen(shard, dead);
	}
}

/* Applies one record; @is_fresh: the group's name has not been applied. */
static inline void use_record(struct applying *at, const struct record *record, bool *is_fresh)
{
	struct shard_key *key = at->key;

	if (!key->thread) {
		if (record->kind == RECORD_FORK) { /* it is about a new thread, not one before */
			fork_thread(at, record);
			return;
		}
		key->thread = shard_thread(at->shard, key->key);
	}
	if (key->thread->is_dead && record->kind != RECORD_FORK) {
		use_after_end(at, record, is_fresh);
	}
	if (*is_fresh && carries_name(record)) {
		apply_name(at->shard, key->thread, at->group);
		*is_fresh = false;
	}
	if (at->shard->held.ts < record->ts) {
		release(at->shard, false);
	}
	select_thread(at, key->thread, record);
	apply(at, record);
}

bool round_apply_node(struct shard *shard, const struct round *round, struct shard_key *key,
		      struct shard_node *node, const struct shard_node *other)
{
	const struct round_entry *entry = &round->entries.at[node->entry];
	struct group *group = &entry->partial->groups.at[node->group];
	struct applying at = { shard, entry, group, key, shard->layout->selects != 0 };
	bool is_fresh = true;
	uint32_t i = group->first;

	assert_hot(i != RECORD_NONE);
	assert_hot(group->key == key->key);
	shard->source = &entry->source;
	do {
		const struct record *record = &entry->partial->records.at[i];

		assert_hot(record->group == node->group);
		node->ts = record->ts;
		if (round_is_beyond(round, key->key, record->ts) ||
		    (other && round_node_before(other, node))) {
			break;
		}
		/* Which thread runs, only the CPU's owner decides. */
		if (record->kind >= RECORD_GAP || entry->source.owns_cpu) {
			use_record(&at, record, &is_fresh);
		}
		i = record->next;
	} while (i != RECORD_NONE);
	group->first = i;
	if (i != RECORD_NONE) {
		group->ts = node->ts;
	}
	return i != RECORD_NONE && !round_is_beyond(round, key->key, node->ts);
}

void round_apply_begin(struct shard *shard, const struct thread *thread)
{
	for (size_t i = 0; i < shard->leaving.count; i++) {
		if (shard->leaving.at[i].thread == thread) {
			shard->held = shard->leaving.at[i];
			shard->leaving.at[i] = shard->leaving.at[--shard->leaving.count];
			return;
		}
	}
}

/* No window ends before a thread leaves that was seen to; only a file could say so. */
void round_apply_end(struct shard *shard, const struct round *round)
{
	if (shard->held.ts < round->bound || round->closes) {
		release_any(shard, false);
	} else if (shard->held.ts != OUT_NONE) {
		*vec_push(&shard->leaving) = shard->held;
		shard->held.ts = OUT_NONE;
	}
}

void round_apply_leaving(struct shard *shard, const struct round *round)
{
	size_t count = shard->leaving.count;

	for (size_t i = 0; i < count; i++) {
		shard->held = shard->leaving.at[0];
		memmove(shard->leaving.at, shard->leaving.at + 1,
			--shard->leaving.count * sizeof(shard->held));
		round_apply_end(shard, round); /* it may come behind the others */
	}
}
