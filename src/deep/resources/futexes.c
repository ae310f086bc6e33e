/*
 * futexes: see resources.h.
 *
 * A private futex is known by its process and address, another one by its address alone.  A thread
 * waits from the entry of its call to its last wake-up, if it slept.
 */
#include <stdlib.h>

#include "deep/resources/futexes.h"
#include "deep/resources/rows.h"
#include "kernel/wait-object.h"

enum {
	OP_WAKE = 1,
	OP_REQUEUE = 3,
	OP_CMP_REQUEUE = 4,
	OP_WAKE_OP = 5,
	OP_UNLOCK_PI = 7,
	OP_WAKE_BITSET = 10,
	OP_CMP_REQUEUE_PI = 12,
};

static uint8_t kind_of(uint64_t op)
{
	if (futex_op_waits(op)) {
		return CALL_WAIT;
	}
	switch (op & FUTEX_OP_MASK) {
	case OP_WAKE:
	case OP_WAKE_OP:
	case OP_UNLOCK_PI:
	case OP_WAKE_BITSET:
		return CALL_WAKE;
	case OP_REQUEUE:
	case OP_CMP_REQUEUE:
	case OP_CMP_REQUEUE_PI:
		return CALL_MOVE;
	default:
		return CALL_NONE;
	}
}

static uint32_t futex_at(struct track *track, int32_t tid, uint64_t ts, uint64_t address,
			 bool is_private)
{
	int64_t pid = is_private ? track_pid(track, tid, ts) : -1;
	uint32_t index;

	if (is_private && pid < 0) {
		pid = -2 - (int64_t)tid; /* of an unknown process: the thread's own */
	}
	index = rows_resource(track, RESOURCE_FUTEX, pid, address, NULL);
	if (index != NOBODY) {
		track_at(track, index)->may_be_shared = !is_private;
	}
	return index;
}

void futexes_enter(struct track *track, const struct reader_event *event, unsigned int kind)
{
	const struct value *v = event->values;
	int32_t tid = track_cpu(track, event->cpu)->tid;
	struct track_call call = { .kind = CALL_WAIT, .since = event->ts, .other = NOBODY };
	bool is_private = false;
	struct task *task;

	if (!reader_has(event, FUTEX_UADDR) || tid <= 0) {
		return;
	}
	if (kind == ON_FUTEX) {
		call.op = reader_has(event, FUTEX_OP) ? v[FUTEX_OP].u : 0;
		call.kind = kind_of(call.op);
		is_private = call.op & FUTEX_OP_PRIVATE;
		call.op &= FUTEX_OP_MASK;
	} else {
		is_private = kind == ON_FUTEX_VECTOR || (reader_has(event, FUTEX2_FLAGS) &&
							 v[FUTEX2_FLAGS].u & FUTEX_OP_PRIVATE);
		call.kind = kind == ON_FUTEX2_WAKE ? CALL_WAKE : CALL_WAIT;
		call.op = kind == ON_FUTEX2_WAKE ? OP_WAKE : 0;
	}
	task = track_task_made(track, tid);
	track_drop_call(track, task);
	if (call.kind == CALL_NONE) {
		return;
	}
	call.resource = futex_at(track, tid, event->ts, v[FUTEX_UADDR].u, is_private);
	if (call.resource == NOBODY) {
		return;
	}
	track_at(track, call.resource)->is_vector |= kind == ON_FUTEX_VECTOR;
	if (kind == ON_FUTEX && reader_has(event, FUTEX_UADDR2) &&
	    (call.kind == CALL_MOVE || call.op == OP_WAKE_OP)) {
		call.other = futex_at(track, tid, event->ts, v[FUTEX_UADDR2].u, is_private);
	}
	if (call.kind == CALL_WAIT) {
		*vec_push(&track_at(track, call.resource)->sleepers) = tid;
	}
	task->call = call;
}

/* ---- waits ---- */

/* As many threads as wait for one futex are looked through. */
static void remove_sleeper(struct resource *futex, int32_t tid)
{
	size_t i = 0;

	while (i < futex->sleepers.count && futex->sleepers.at[i] != tid) {
		i++;
	}
	if (i < futex->sleepers.count) {
		futex->sleepers.count--;
		memmove(&futex->sleepers.at[i], &futex->sleepers.at[i + 1],
			(futex->sleepers.count - i) * sizeof(*futex->sleepers.at));
	}
}

static void add_wait(struct track *track, const struct task *task, uint64_t end, uint32_t thread,
		     enum outcome outcome)
{
	const struct track_call *call = &task->call;
	bool is_ended = outcome == OUTCOME_DONE || outcome == OUTCOME_MOVED;
	uint32_t by = is_ended && call->waker > 0 ? track_thread(track, call->waker, end) : NOBODY;
	uint64_t ns = rows_part(track, call->since, end);
	struct resource_member *member = rows_member(track, call->resource, thread);

	rows_sum(&track_at(track, call->resource)->waits, ns);
	member->waits++;
	member->total_ns += ns;
	member->longest_ns = ns > member->longest_ns ? ns : member->longest_ns;
	if (outcome == OUTCOME_DONE && by != NOBODY) {
		rows_pair(track, call->resource, (struct resource_pair){ .by = by, .who = thread },
			  ns);
		rows_touch(track, call->resource, by, end);
	}
	rows_interval(track, call->resource,
		      (struct resource_interval){ .begin = call->since,
						  .end = end,
						  .who = thread,
						  .by = by,
						  .state = FUTEX_WAIT,
						  .outcome = (uint8_t)outcome,
						  .has_slept = true });
}

void futexes_end_wait(struct track *track, struct task *task, uint64_t ts, enum outcome outcome)
{
	const struct track_call *call = &task->call;
	struct resource *futex = track_at(track, call->resource);
	uint32_t thread = track_thread(track, task->tid, ts);
	bool is_over = call->has_slept && !call->is_asleep && call->wake != 0;
	uint64_t end = is_over ? call->wake : ts;

	remove_sleeper(futex, task->tid);
	if (!track_counts(track, ts)) {
		return;
	}
	rows_touch(track, call->resource, thread, ts);
	if (outcome != OUTCOME_MOVED) {
		futex->calls++;
		futex->outcomes[outcome]++;
	}
	if (call->has_slept && end >= track->timeline->begin) {
		add_wait(track, task, end, thread, outcome);
	}
}

/* ---- moves ---- */

struct sleeper {
	struct task *task;
	int32_t prio; /* 0: not real-time */
	size_t place; /* in the order of entry */
};

/* The kernel's order: real-time threads by priority, then by entry. */
ORDER(by_queue, struct sleeper, UP(prio) UP(place))

static int32_t prio_of(const struct track *track, int32_t tid, uint64_t ts)
{
	uint32_t thread = track_thread(track, tid, ts);
	const struct prio_change *prio =
		thread == NOBODY ? NULL
				 : timeline_thread_prio(track->timeline->threads.at[thread], ts);

	return prio && !prio->is_unknown && prio->prio < 0 ? prio->prio : 0;
}

static void move_one(struct track *track, const struct task *mover, struct task *task, uint64_t ts)
{
	uint32_t from = mover->call.resource, to = mover->call.other;

	task->call.waker = mover->tid;
	futexes_end_wait(track, task, ts, OUTCOME_MOVED);
	track_at(track, from)->moved_out += track_counts(track, ts);
	track_at(track, to)->moved_in += track_counts(track, ts);
	task->call.resource = to;
	task->call.since = task->call.sleep = ts;
	task->call.wake = 0;
	task->call.waker = 0;
	*vec_push(&track_at(track, to)->sleepers) = task->tid;
}

/* The first @count sleepers go from one futex to the other. */
static void move(struct track *track, const struct task *mover, uint64_t count, uint64_t ts)
{
	const struct resource *from = track_at(track, mover->call.resource);
	VEC(struct sleeper) all = { 0 };

	for (size_t i = 0; i < from->sleepers.count; i++) {
		struct task *task = track_task(track, from->sleepers.at[i]);

		if (task && task->call.is_asleep) {
			*vec_push(&all) = (struct sleeper){ .task = task,
							    .prio = prio_of(track, task->tid, ts),
							    .place = i };
		}
	}
	vec_sort(&all, by_queue);
	for (size_t i = 0; i < all.count && i < count; i++) {
		move_one(track, mover, all.at[i].task, ts);
	}
	vec_fini(&all);
}

/* ---- wakes ---- */

static void add_wake(struct track *track, const struct task *task, uint32_t index, uint64_t woken,
		     uint64_t ts, enum outcome outcome)
{
	uint32_t thread = track_thread(track, task->tid, ts);

	if (!track_counts(track, ts)) {
		return;
	}
	rows_touch(track, index, thread, ts);
	track_at(track, index)->wake_calls++;
	track_at(track, index)->woken += woken;
	rows_member(track, index, thread)->wakes++;
	rows_interval(track, index,
		      (struct resource_interval){ .begin = task->call.since,
						  .end = ts,
						  .who = thread,
						  .by = NOBODY,
						  .state = FUTEX_WAKE,
						  .outcome = (uint8_t)outcome });
}

static void end_wake(struct track *track, struct task *task, uint64_t ts, int64_t ret,
		     enum outcome outcome)
{
	const struct track_call *call = &task->call;
	uint64_t count = ret > 0 ? (uint64_t)ret : 0, woken = call->woken;

	if (call->op == OP_WAKE || call->op == OP_WAKE_OP || call->op == OP_WAKE_BITSET) {
		woken = count > call->woken_other ? count - call->woken_other : 0;
	}
	add_wake(track, task, call->resource, woken, ts, outcome);
	if (call->other == NOBODY || call->other == call->resource) {
		return;
	}
	if (call->kind == CALL_MOVE) {
		if (count > call->woken) {
			move(track, task, count - call->woken, ts);
		}
	} else {
		add_wake(track, task, call->other, call->woken_other, ts, outcome);
	}
}

void futexes_leave(struct track *track, struct task *task, const struct reader_event *event)
{
	int64_t ret = event->values[EXIT_RET].i;

	if (task->call.kind == CALL_WAIT) {
		futexes_end_wait(track, task, event->ts, track_outcome(ret));
	} else {
		end_wake(track, task, event->ts, ret, track_outcome(ret));
	}
	task->call = (struct track_call){ 0 };
}
