/*
 * resources: see resources.h; reads the trace, and follows threads and their sleeps.
 */
#include "deep/resources/resources.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "deep/resources/futexes.h"
#include "deep/resources/queues.h"
#include "deep/resources/rows.h"
#include "deep/resources/timers.h"
#include "deep/resources/track.h"
#include "kernel/task-state.h"
#include "kernel/thread-identity.h"

const struct resource_lacks resources_lacks[RESOURCE_KINDS] = {
	[RESOURCE_TIMER] = { "timer_hrtimer_expire_entry",
			     "lttng enable-event -k 'timer_hrtimer_*'",
			     "nothing is known of timers" },
	[RESOURCE_FUTEX] = { "syscall_entry_futex", "lttng enable-event -k --syscall futex",
			     "nothing is known of futexes" },
	[RESOURCE_QUEUE] = { "syscall_entry_mq_timedsend, syscall_entry_mq_timedreceive",
			     "lttng enable-event -k --syscall "
			     "mq_open,mq_timedsend,mq_timedreceive,close",
			     "nothing is known of message queues" },
};

/* ---- names ---- */

const char *resources_state_name(enum resource_state state)
{
	static const char *const names[RESOURCE_STATES] = {
		[TIMER_SET] = "set",   [TIMER_EXPIRED] = "expired", [TIMER_CANCELLED] = "cancelled",
		[FUTEX_WAIT] = "wait", [FUTEX_WAKE] = "wake",       [QUEUE_EMPTY] = "empty",
		[QUEUE_FULL] = "full", [QUEUE_SEND] = "send",       [QUEUE_RECEIVE] = "receive",
	};

	assert(state < RESOURCE_STATES);
	return names[state];
}

const char *resources_outcome_name(enum outcome outcome)
{
	static const char *const names[OUTCOMES] = {
		[OUTCOME_NONE] = "none",
		[OUTCOME_DONE] = "done",
		[OUTCOME_AGAIN] = "again",
		[OUTCOME_TIMED_OUT] = "timed_out",
		[OUTCOME_INTERRUPTED] = "interrupted",
		[OUTCOME_FAILED] = "failed",
		[OUTCOME_MOVED] = "moved",
		[OUTCOME_OPEN] = "open",
	};

	assert(outcome < OUTCOMES);
	return names[outcome];
}

/* ---- events ---- */

#define WAKE_WANTED(event_, wake, ...)                                                             \
	{                                                                                          \
		{ .event = event_, .fields = { __VA_ARGS__ } }, wake                               \
	}
#define TIMER_FIELDS                                                                               \
	{                                                                                          \
		"hrtimer", "function", "expires"                                                   \
	}
#define ENTRY_FIELDS                                                                               \
	{                                                                                          \
		"hrtimer", "function", "now"                                                       \
	}
#define EXIT_FIELDS                                                                                \
	{                                                                                          \
		"ret"                                                                              \
	}

/* The switch is the first one. */
static const struct {
	struct plan_request request;
	unsigned int kind;
} wanted[] = {
	{ { .event = "sched_switch", .fields = { "prev_tid", "prev_state", "next_tid" } },
	  ON_SWITCH },
	WAKE_ROWS(WAKE_WANTED, "tid", "success"),
	{ { .event = "sched_process_exec", .fields = { "tid", "old_tid" } }, ON_EXEC },
	{ { .event = "sched_process_fork",
	    .fields = { "child_tid", "child_pid", "parent_tid", "parent_pid" } },
	  ON_FORK },
	{ { .event = "lttng_statedump_process_state",
	    .fields = { "tid", "pid", "file_table_address" } },
	  ON_PROCESS },
	{ { .event = "lttng_statedump_file_descriptor",
	    .fields = { "file_table_address", "pid", "fd", "@filename" } },
	  ON_FILE },
	{ { .event = "timer_hrtimer_init", .fields = TIMER_FIELDS }, ON_TIMER_INIT },
	{ { .event = "hrtimer_init", .fields = TIMER_FIELDS }, ON_TIMER_INIT },
	{ { .event = "timer_hrtimer_start", .fields = TIMER_FIELDS }, ON_TIMER_START },
	{ { .event = "hrtimer_start", .fields = TIMER_FIELDS }, ON_TIMER_START },
	{ { .event = "timer_hrtimer_cancel", .fields = TIMER_FIELDS }, ON_TIMER_CANCEL },
	{ { .event = "hrtimer_cancel", .fields = TIMER_FIELDS }, ON_TIMER_CANCEL },
	{ { .event = "timer_hrtimer_expire_entry", .fields = ENTRY_FIELDS }, ON_TIMER_ENTRY },
	{ { .event = "hrtimer_expire_entry", .fields = ENTRY_FIELDS }, ON_TIMER_ENTRY },
	{ { .event = "timer_hrtimer_expire_exit", .fields = TIMER_FIELDS }, ON_TIMER_EXIT },
	{ { .event = "hrtimer_expire_exit", .fields = TIMER_FIELDS }, ON_TIMER_EXIT },
	{ { .event = "syscall_entry_futex", .fields = { "uaddr", "op", "uaddr2" } }, ON_FUTEX },
	{ { .event = "syscall_exit_futex", .fields = EXIT_FIELDS }, ON_FUTEX_EXIT },
	{ { .event = "compat_syscall_entry_futex", .fields = { "uaddr", "op", "uaddr2" } },
	  ON_FUTEX },
	{ { .event = "compat_syscall_exit_futex", .fields = EXIT_FIELDS }, ON_FUTEX_EXIT },
	{ { .event = "syscall_entry_futex_wait", .fields = { "uaddr", "flags" } }, ON_FUTEX2_WAIT },
	{ { .event = "syscall_exit_futex_wait", .fields = EXIT_FIELDS }, ON_FUTEX_EXIT },
	{ { .event = "syscall_entry_futex_wake", .fields = { "uaddr", "flags" } }, ON_FUTEX2_WAKE },
	{ { .event = "syscall_exit_futex_wake", .fields = EXIT_FIELDS }, ON_FUTEX_EXIT },
	{ { .event = "syscall_entry_futex_waitv", .fields = { "waiters" } }, ON_FUTEX_VECTOR },
	{ { .event = "syscall_exit_futex_waitv", .fields = EXIT_FIELDS }, ON_FUTEX_EXIT },
	{ { .event = "syscall_entry_mq_open", .fields = { "@u_name" } }, ON_MQ_OPEN },
	{ { .event = "syscall_exit_mq_open", .fields = EXIT_FIELDS }, ON_MQ_OPEN_EXIT },
	{ { .event = "syscall_entry_mq_timedsend", .fields = { "mqdes", "msg_len" } }, ON_MQ_SEND },
	{ { .event = "syscall_exit_mq_timedsend", .fields = EXIT_FIELDS }, ON_MQ_SEND_EXIT },
	{ { .event = "syscall_entry_mq_timedreceive", .fields = { "mqdes", "msg_len" } },
	  ON_MQ_RECEIVE },
	{ { .event = "syscall_exit_mq_timedreceive", .fields = EXIT_FIELDS }, ON_MQ_RECEIVE_EXIT },
	{ { .event = "syscall_entry_close", .fields = { "fd" } }, ON_CLOSE },
};
#define WANTED ARRAY_COUNT(wanted)

/* ---- threads ---- */

static void forget(struct track *track, int32_t tid)
{
	struct task *task = track_task(track, tid);

	if (task) {
		track_drop_call(track, task);
	}
}

static void set_pid(struct tracked_pids *of, int64_t key, int64_t pid)
{
	*tracked_pids_put(of, (uint64_t)key, NULL) = pid;
}

static void on_fork(struct track *track, const struct reader_event *event)
{
	enum { CHILD_TID, CHILD_PID, PARENT_TID, PARENT_PID };
	const struct value *v = event->values;
	int64_t parent;

	if (!reader_has(event, CHILD_TID)) {
		return;
	}
	forget(track, (int32_t)v[CHILD_TID].i);
	if (!reader_has(event, CHILD_PID)) {
		return;
	}
	set_pid(&track->pids, (uint32_t)v[CHILD_TID].i, v[CHILD_PID].i);
	parent = reader_has(event, PARENT_PID) ? v[PARENT_PID].i
		 : reader_has(event, PARENT_TID)
			 ? track_pid(track, (int32_t)v[PARENT_TID].i, event->ts)
			 : -1;
	if (parent != v[CHILD_PID].i) {
		set_pid(&track->parents, v[CHILD_PID].i, parent);
	}
}

static void on_exec(struct track *track, const struct reader_event *event)
{
	enum { TID, OLD_TID };
	const struct value *v = event->values;

	if (thread_takes_tid(reader_i64(event, TID, 0), reader_i64(event, OLD_TID, 0))) {
		forget(track, (int32_t)v[TID].i);
		forget(track, (int32_t)v[OLD_TID].i);
		track_cpu(track, event->cpu)->tid = (int32_t)v[TID].i;
		owners_taken(&track->owners, (int32_t)v[TID].i, event->ts);
	}
}

static void on_process(struct track *track, const struct reader_event *event)
{
	enum { TID, PID, TABLE };
	const struct value *v = event->values;

	if (reader_has(event, TID) && reader_has(event, PID)) {
		set_pid(&track->pids, (uint32_t)v[TID].i, v[PID].i);
		if (reader_has(event, TABLE) && v[TABLE].u != 0) {
			set_pid(&track->tables, v[PID].i, v[TABLE].i);
		}
	}
}

/* ---- sleeps ---- */

static bool can_sleep(const struct track_call *call)
{
	return call->kind == CALL_WAIT || call->kind == CALL_SEND || call->kind == CALL_RECEIVE;
}

static void on_switch(struct track *track, const struct reader_event *event)
{
	enum { PREV, STATE, NEXT };
	const struct value *v = event->values;
	struct cpu_track *cpu = track_cpu(track, event->cpu);
	struct task *task = reader_has(event, PREV) ? track_task(track, (int32_t)v[PREV].i) : NULL;

	cpu->expired = NOBODY;
	cpu->tid = reader_has(event, NEXT) ? (int32_t)v[NEXT].i : 0;
	if (task && can_sleep(&task->call) && reader_has(event, STATE) &&
	    task_state_sleeps(v[STATE].u, track->states)) {
		struct track_call *call = &task->call;

		call->sleep = call->has_slept ? call->sleep : event->ts;
		call->has_slept = true;
		call->is_asleep = !call->is_pending; /* woken already: it sleeps for no time */
		if (!call->is_pending && call->kind == CALL_RECEIVE) {
			queues_handed(track, call, false);
		}
		if (call->is_pending && call->wake < call->sleep) {
			call->wake = call->sleep;
		}
		call->is_pending = false;
	}
	task = track_task(track, cpu->tid);
	if (task && can_sleep(&task->call)) {
		if (task->call.is_asleep) { /* its wake-up was not seen */
			task->call.is_asleep = false;
			task->call.wake = event->ts;
			task->call.waker = 0;
		}
		task->call.is_pending = false;
	}
}

/* A thread wakes one that waits for what its call is about. */
static void count_woken(const struct track *track, struct track_call *by, struct track_call *of)
{
	if ((by->kind == CALL_WAKE || by->kind == CALL_MOVE) && of->kind == CALL_WAIT) {
		by->woken += of->resource == by->resource;
		by->woken_other += of->resource == by->other && of->resource != by->resource;
	} else if (by->kind == CALL_SEND && of->kind == CALL_RECEIVE &&
		   by->resource == of->resource) {
		queues_handed(track, of, true);
	}
}

static void on_wake(struct track *track, const struct reader_event *event)
{
	enum { TID, SUCCESS };
	const struct value *v = event->values;
	const struct cpu_track *cpu = track_cpu(track, event->cpu);
	struct task *task, *waker;

	if (!wake_source_wakes(reader_i64(event, TID, 0), reader_u64(event, SUCCESS, 1))) {
		return;
	}
	if (cpu->expiring != NOBODY) {
		timers_wake(track, cpu->expiring, (int32_t)v[TID].i, event->ts);
	}
	task = track_task(track, (int32_t)v[TID].i);
	if (!task || !can_sleep(&task->call)) {
		return;
	}
	task->call.is_pending = !task->call.is_asleep;
	task->call.is_asleep = false;
	task->call.wake = event->ts;
	task->call.waker = cpu->expiring == NOBODY ? cpu->tid : 0;
	waker = task->call.waker > 0 ? track_task(track, task->call.waker) : NULL;
	if (waker && waker != task) {
		count_woken(track, &waker->call, &task->call);
	}
}

/* ---- all events ---- */

static void on_exit_of_call(struct track *track, const struct reader_event *event,
			    unsigned int kind)
{
	struct task *task = track_task(track, track_cpu(track, event->cpu)->tid);
	uint8_t call = task ? task->call.kind : CALL_NONE;

	if (call == CALL_NONE) {
		return;
	}
	if (!reader_has(event, EXIT_RET)) {
		track_drop_call(track, task);
	} else if (kind == ON_FUTEX_EXIT &&
		   (call == CALL_WAIT || call == CALL_WAKE || call == CALL_MOVE)) {
		futexes_leave(track, task, event);
	} else if (kind == ON_MQ_OPEN_EXIT && call == CALL_OPEN_QUEUE) {
		queues_opened(track, task, event);
	} else if ((kind == ON_MQ_SEND_EXIT && call == CALL_SEND) ||
		   (kind == ON_MQ_RECEIVE_EXIT && call == CALL_RECEIVE)) {
		queues_leave(track, task, event->ts, event->values[EXIT_RET].i,
			     track_outcome(event->values[EXIT_RET].i));
	} else {
		track_drop_call(track, task); /* its own exit is missing */
	}
}

static void dispatch(struct track *track, const struct reader_event *event, unsigned int kind)
{
	if (kind < WAKE_EVENTS) {
		if (wake_source_kind(&track->wakes, kind) == WAKE_SOURCE) {
			on_wake(track, event);
		}
		return;
	}
	switch (kind) {
	case ON_SWITCH:
		on_switch(track, event);
		break;
	case ON_EXEC:
		on_exec(track, event);
		break;
	case ON_FORK:
		on_fork(track, event);
		break;
	case ON_PROCESS:
		on_process(track, event);
		break;
	case ON_FILE:
		queues_file(track, event);
		break;
	case ON_TIMER_INIT:
	case ON_TIMER_START:
	case ON_TIMER_CANCEL:
	case ON_TIMER_ENTRY:
	case ON_TIMER_EXIT:
		timers_take(track, event, kind);
		break;
	case ON_FUTEX:
	case ON_FUTEX2_WAIT:
	case ON_FUTEX2_WAKE:
	case ON_FUTEX_VECTOR:
		futexes_enter(track, event, kind);
		break;
	case ON_MQ_OPEN:
	case ON_MQ_SEND:
	case ON_MQ_RECEIVE:
		queues_enter(track, event, kind);
		break;
	case ON_CLOSE:
		queues_close(track, event);
		break;
	default:
		on_exit_of_call(track, event, kind);
		break;
	}
}

/* Events are missing: what is open may have ended, and a wake-up may be gone. */
static void lose(struct track *track, const struct reader_event *event)
{
	track->epoch++;
	HASH_EACH(tracked_cpus, &track->cpus, one) {
		struct cpu_track *cpu = &one->value;

		cpu->expiring = cpu->expired = NOBODY;
		cpu->tid = event->is_hole ? 0 : cpu->tid;
	}
	if (!event->is_hole && reader_sees(event, 0)) {
		track_cpu(track, event->cpu)->tid = 0;
	}
}

static void take(struct track *track, const struct reader_event *event)
{
	const struct cpu_initial *first;
	const struct timeline *timeline = track->timeline;

	while ((first = timeline_initial_next(timeline, &track->initial_put, event->ts))) {
		track_cpu(track, first->cpu)->tid = first->tid;
	}
	if (!event->class) {
		lose(track, event);
	} else if (event->binding->request != 0 || reader_sees(event, 0)) {
		dispatch(track, event, wanted[event->binding->request].kind);
	}
}

/* What is open at the end of the range. */
static void leave_open(struct track *track)
{
	uint64_t end = track->timeline->end;

	HASH_EACH(tracked_tasks, &track->tasks, one) {
		struct task *task = one->value;

		track_refresh(track, task);
		if (task->call.kind == CALL_WAIT) {
			futexes_end_wait(track, task, end, OUTCOME_OPEN);
		} else if (task->call.kind == CALL_SEND || task->call.kind == CALL_RECEIVE) {
			queues_leave(track, task, end, 0, OUTCOME_OPEN);
		}
	}
	timers_finish(track);
}

static void find_lacks(const struct plan *plan, bool lacks[RESOURCE_KINDS])
{
	lacks[RESOURCE_TIMER] = lacks[RESOURCE_FUTEX] = lacks[RESOURCE_QUEUE] = true;
	for (size_t i = 0; i < WANTED; i++) {
		unsigned int kind = wanted[i].kind;

		if (!plan_has_event(plan, wanted[i].request.event)) {
			continue;
		}
		lacks[RESOURCE_TIMER] &= kind != ON_TIMER_ENTRY;
		lacks[RESOURCE_FUTEX] &=
			kind != ON_FUTEX && kind != ON_FUTEX2_WAIT && kind != ON_FUTEX_VECTOR;
		lacks[RESOURCE_QUEUE] &= kind != ON_MQ_SEND && kind != ON_MQ_RECEIVE;
	}
}

int resources_find(const struct reader_setup *setup, const struct timeline *timeline,
		   const bool *scope, struct resources *resources, struct err *err)
{
	const struct reader_setup quiet = { .path = setup->path };
	struct track track = { .timeline = timeline, .scope = scope, .resources = resources };
	struct plan_request requests[WANTED];
	struct reader_event event;
	struct reader *reader;
	const struct plan *plan;

	memset(resources, 0, sizeof(*resources));
	for (size_t i = 0; i < WANTED; i++) {
		requests[i] = wanted[i].request;
		requests[i].group = (uint16_t)i;
	}
	reader = reader_open(&quiet, requests, WANTED, err);
	if (!reader) {
		return -EIO;
	}
	plan = reader_plan(reader);
	track_init(&track);
	find_lacks(plan, resources->lacks);
	track.states = task_state_encoding(plan->metadata);
	track.wakes = wake_source_of(plan);
	while (reader_next(reader, &event) && event.ts <= timeline->end) {
		take(&track, &event);
	}
	leave_open(&track);
	rows_finish(&track);
	track_fini(&track);
	reader_close(reader);
	return 0;
}
