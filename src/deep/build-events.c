/*
 * build-events: see build.h; what each event means for threads and CPUs.
 */
#include <stdlib.h>
#include <string.h>

#include "deep/build.h"
#include "kernel/task-state.h"
#include "kernel/thread-identity.h"

/* ---- requests ---- */

#define WAKE_FIELDS                                                                                \
	{                                                                                          \
		"@comm", "tid", "prio", "target_cpu", "success"                                    \
	}
enum { WAKE_COMM, WAKE_TID, WAKE_PRIO, WAKE_CPU, WAKE_SUCCESS };

/* X(event, kind, context, fields...) */
#define EVENTS(X)                                                                                  \
	X("sched_switch", EVENT_SWITCH, 0,                                                         \
	  { "@prev_comm", "prev_tid", "prev_prio", "prev_state", "@next_comm", "next_tid",         \
	    "next_prio" })                                                                         \
	WAKE_EVENTS_OF(X, 0, WAKE_FIELDS)                                                          \
	X("sched_process_fork", EVENT_FORK, 0,                                                     \
	  { "parent_tid", "@child_comm", "child_tid", "child_pid" })                               \
	X("sched_process_exec", EVENT_EXEC, 0, { "tid", "old_tid" })                               \
	X("sched_pi_setprio", EVENT_PI, 0, { "tid", "oldprio", "newprio" })                        \
	X("sched_migrate_task", EVENT_MIGRATE, 0, { "tid", "prio", "dest_cpu" })                   \
	X("lttng_statedump_process_state", EVENT_PROCESS, 0, { "tid", "pid", "@name", "status" })  \
	X("irq_handler_entry", EVENT_ENTER, CONTEXT_IRQ, { "irq" })                                \
	X("irq_handler_exit", EVENT_LEAVE, CONTEXT_IRQ, { "irq" })                                 \
	X("irq_softirq_entry", EVENT_ENTER, CONTEXT_SOFTIRQ, { "vec" })                            \
	X("irq_softirq_exit", EVENT_LEAVE, CONTEXT_SOFTIRQ, { "vec" })                             \
	X("softirq_entry", EVENT_ENTER, CONTEXT_SOFTIRQ, { "vec" })                                \
	X("softirq_exit", EVENT_LEAVE, CONTEXT_SOFTIRQ, { "vec" })                                 \
	X("timer_hrtimer_expire_entry", EVENT_ENTER, CONTEXT_HRTIMER, { "hrtimer" })               \
	X("timer_hrtimer_expire_exit", EVENT_LEAVE, CONTEXT_HRTIMER, { "hrtimer" })                \
	X("hrtimer_expire_entry", EVENT_ENTER, CONTEXT_HRTIMER, { "hrtimer" })                     \
	X("hrtimer_expire_exit", EVENT_LEAVE, CONTEXT_HRTIMER, { "hrtimer" })                      \
	X("net_if_receive_skb_entry", EVENT_ENTER, CONTEXT_NET, { NULL })                          \
	X("net_if_receive_skb_exit", EVENT_LEAVE, CONTEXT_NET, { NULL })                           \
	X("net_if_receive_skb_list_entry", EVENT_ENTER, CONTEXT_NET, { NULL })                     \
	X("net_if_receive_skb_list_exit", EVENT_LEAVE, CONTEXT_NET, { NULL })                      \
	X("net_napi_gro_receive_entry", EVENT_ENTER, CONTEXT_NET, { NULL })                        \
	X("net_napi_gro_receive_exit", EVENT_LEAVE, CONTEXT_NET, { NULL })                         \
	X("x86_irq_vectors_*", EVENT_VECTOR, CONTEXT_VECTOR, { NULL })                             \
	X("syscall_entry_*", EVENT_CALL, 0, CALL_FIELDS)                                           \
	X("compat_syscall_entry_*", EVENT_CALL, 0, CALL_FIELDS)                                    \
	X("sys_*", EVENT_CALL, 0, CALL_FIELDS)                                                     \
	X("compat_sys_*", EVENT_CALL, 0, CALL_FIELDS)                                              \
	X("syscall_exit_*", EVENT_CALL_END, 0, { "ret" })                                          \
	X("compat_syscall_exit_*", EVENT_CALL_END, 0, { "ret" })                                   \
	X("exit_syscall", EVENT_CALL_END, 0, { "ret" })

#define REQUEST(event_, kind_, context_, ...) { .event = event_, .fields = __VA_ARGS__ },
#define KIND(event_, kind_, context_, ...)    { kind_, context_ },

const struct plan_request build_requests[] = { EVENTS(REQUEST) };
static const struct {
	uint8_t kind, context;
} kinds[] = { EVENTS(KIND) };

const size_t build_request_count = ARRAY_COUNT(build_requests);

/* ---- switches ---- */

enum { PREV_COMM, PREV_TID, PREV_PRIO, PREV_STATE, NEXT_COMM, NEXT_TID, NEXT_PRIO };

static void end_thread(struct deep_thread *thread, uint64_t ts)
{
	if (thread->end == UINT64_MAX) {
		thread->end = ts;
	}
}

/* The interval of a thread that has left its CPU. */
static struct interval left_interval(const struct deep_thread *thread, const struct deep_cpu *cpu)
{
	struct interval next = build_interval(STATE_PREEMPTED);

	next.cpu = build_cpu_number(cpu->id);
	if (thread->phase.phase == PHASE_DEAD) {
		next.state = STATE_DEAD;
	} else if (thread->phase.phase == PHASE_WAIT) {
		next = thread->pending;
		next.state = STATE_WAIT;
	} else if (thread->phase.phase == PHASE_BLOCKED) {
		next = build_interval(STATE_BLOCKED);
	}
	return next;
}

static void leave(struct build *build, struct deep_thread *thread, uint64_t ts, uint64_t state,
		  const struct deep_cpu *cpu)
{
	struct thread_phase *phase = &thread->phase;
	struct interval next;

	if (phase->phase == PHASE_RUNNING && phase->cpu != cpu->id && phase->since == ts) {
		return; /* another CPU switched it in within the same ns */
	}
	phase->cpu = cpu->id;
	thread_phase_out(phase, ts, task_state_sleeps(state, build->states),
			 task_state_is_dead(state, build->states));
	next = left_interval(thread, cpu);
	if (next.state == STATE_BLOCKED && thread->is_in_call && ts >= build->range_begin) {
		*vec_push(&thread->sleeps) = (struct call_sleep){ .ts = ts, .call = thread->call };
	}
	build_put(build, thread, ts, next);
	if (next.state == STATE_DEAD) {
		end_thread(thread, ts);
	}
}

/*
 * Whether it is @prev that ran there, as far as is known.  If not, the state of the one that did is
 * unknown from now on, unless it has moved to another CPU, and so is who runs there next: events
 * are filtered, or lost without a word (doc/definitions.md, 2.1).
 */
static bool fits(const struct build *build, const struct deep_cpu *cpu, int32_t prev, uint64_t ts)
{
	struct deep_thread *thread = build_running(build, cpu);

	if (thread && thread->tid != prev) {
		if (thread_phase_runs(&thread->phase) && thread->phase.cpu == cpu->id) {
			build_put_unknown(build, thread, ts);
		}
		return false;
	}
	if (build_cpu_current(cpu) == CPU_NOBODY) {
		return !cpu->is_doubted || cpu->doubted == prev;
	}
	return thread || prev == 0;
}

/* The thread, or CPU_IDLE, is switched in there.  The time is that of nobody if the switch does not
 * fit (is_doubted). */
static void come(struct deep_cpu *cpu, uint64_t ts, uint32_t index, int32_t tid)
{
	cpu->doubted = tid;
	build_oncpu(cpu, ts, cpu->is_doubted ? CPU_NOBODY : index);
}

/* Whether the thread that leaves is no longer there: it was switched in elsewhere since, or it is
 * another one that has the tid now.  What it was there says nothing of it any more. */
static bool has_moved(const struct build *build, const struct deep_cpu *cpu, int32_t tid)
{
	const struct deep_thread *came = build_running(build, cpu);
	const struct deep_thread *thread = build_thread_at(build, build_thread(build, tid));
	bool is_here = thread->phase.cpu == cpu->id;

	if (came && came->tid == tid && (came != thread || !is_here)) {
		return true;
	}
	return !is_here && thread_phase_runs(&thread->phase);
}

static void switch_out(struct build *build, const struct reader_event *event,
		       const struct deep_cpu *cpu)
{
	const struct value *v = event->values;
	int32_t tid = (int32_t)v[PREV_TID].i;
	struct deep_thread *thread;

	if (has_moved(build, cpu, tid)) {
		return;
	}
	thread = build_thread_at(build, build_thread(build, tid));
	if (reader_has(event, PREV_COMM)) {
		build_set_comm(thread, &v[PREV_COMM]);
	}
	if (reader_has(event, PREV_PRIO)) {
		build_prio_seen(thread, event->ts, v[PREV_PRIO].i);
	}
	leave(build, thread, event->ts, reader_has(event, PREV_STATE) ? v[PREV_STATE].u : 0, cpu);
	if (build->is_rt && cpu->contexts->count > 0) {
		thread->contexts =
			thread->contexts ? thread->contexts : mem_alloc(sizeof(*thread->contexts));
		*thread->contexts = *cpu->contexts;
	}
}

/* Soft interrupts that the thread was preempted in go on with it. */
static void resume_contexts(const struct build *build, struct deep_thread *thread,
			    const struct deep_cpu *cpu)
{
	if (build->is_rt && thread->contexts) {
		*cpu->contexts = *thread->contexts;
		thread->contexts->count = 0;
	}
}

static uint32_t switch_in(const struct build *build, const struct reader_event *event,
			  const struct deep_cpu *cpu)
{
	const struct value *v = event->values;
	uint32_t index = build_thread(build, (int32_t)v[NEXT_TID].i);
	struct deep_thread *thread = build_thread_at(build, index);

	if (reader_has(event, NEXT_COMM)) {
		build_set_comm(thread, &v[NEXT_COMM]);
	}
	if (reader_has(event, NEXT_PRIO)) {
		build_prio_seen(thread, event->ts, v[NEXT_PRIO].i);
	}
	thread_phase_in(&thread->phase, event->ts, cpu->id); /* whatever it was before */
	resume_contexts(build, thread, cpu);
	build_put_running(build, thread, event->ts, cpu);
	return index;
}

static void on_switch(struct build *build, const struct reader_event *event)
{
	const struct value *v = event->values;
	struct deep_cpu *cpu = build_cpu(build, event->cpu);
	int32_t prev = (int32_t)v[PREV_TID].i, next = (int32_t)v[NEXT_TID].i;

	if (!reader_has(event, PREV_TID) || !reader_has(event, NEXT_TID) ||
	    !build_sees_switches(event)) {
		return;
	}
	cpu->is_doubted = !fits(build, cpu, prev, event->ts);
	if (prev != 0) {
		switch_out(build, event, cpu);
	}
	cpu->contexts->count = build->is_rt ? 0 : cpu->contexts->count;
	come(cpu, event->ts, next != 0 ? switch_in(build, event, cpu) : CPU_IDLE, next);
}

/* ---- wake-ups ---- */

static enum cause vector_cause(uint64_t id)
{
	const char *name = (const char *)(uintptr_t)id; /* owned by the event's class */

	return strstr(name, "local_timer") ? CAUSE_TIMER : CAUSE_IPI;
}

/* The source of a wake-up on this CPU now (doc/definitions.md, 7.1). */
static struct interval source_on(const struct deep_cpu *cpu)
{
	static const uint8_t softirqs[] = {
		[1] = CAUSE_TIMER, [2] = CAUSE_NET, [3] = CAUSE_NET,  [4] = CAUSE_DISK,
		[5] = CAUSE_DISK,  [7] = CAUSE_IPI, [8] = CAUSE_TIMER
	};
	const struct context_stack *contexts = cpu->contexts;
	struct interval source = { .who = NOBODY, .cause = CAUSE_IRQ };
	uint64_t id;

	if (contexts->count == 0) {
		source.cause = build_cpu_current(cpu) == CPU_IDLE     ? CAUSE_UNTRACED
			       : build_cpu_current(cpu) == CPU_NOBODY ? CAUSE_NONE
								      : CAUSE_TASK;
		source.who = source.cause == CAUSE_TASK ? build_cpu_current(cpu) : NOBODY;
		return source;
	}
	id = contexts->at[contexts->count - 1].id;
	switch ((enum context)contexts->at[contexts->count - 1].context) {
	case CONTEXT_HRTIMER:
		source.cause = CAUSE_TIMER;
		break;
	case CONTEXT_NET:
		source.cause = CAUSE_NET;
		break;
	case CONTEXT_VECTOR:
		source.cause = (uint8_t)vector_cause(id);
		break;
	case CONTEXT_SOFTIRQ:
		if (id < sizeof(softirqs) && softirqs[id] != CAUSE_NONE) {
			source.cause = softirqs[id];
		}
		break;
	case CONTEXT_IRQ:
		break;
	}
	return source;
}

/* Whether its CPU has left is known later. */
static void note_while_away(const struct build *build, struct deep_thread *thread, uint64_t ts,
			    struct interval source)
{
	uint64_t ended = thread_phase_runs(&thread->phase)
				 ? reader_ended_at(build->reader, thread->phase.cpu)
				 : UINT64_MAX;

	if (ts > ended && thread->woken.begin <= ended) {
		thread->woken = source;
		thread->woken.begin = ts;
	}
}

/* The wake-up of a new thread is as any other. */
static void on_source(const struct build *build, const struct reader_event *event,
		      struct deep_thread *thread, uint16_t target)
{
	const struct deep_cpu *cpu = build_cpu(build, event->cpu);
	const struct phase_wake woken = { .ts = event->ts,
					  .cpu = event->cpu,
					  .kind = WAKE_SOURCE,
					  .is_tentative = !build->wakes.has_wakeup };
	struct interval source = source_on(cpu);
	bool was_lost = thread->phase.is_lost;

	if (build_running(build, cpu) == thread) {
		return;
	}
	source.cpu = target;
	note_while_away(build, thread, event->ts, source);
	switch (thread_phase_wake(&thread->phase, &woken)) {
	case WOKEN:
		build_wake(build, thread, event->ts, source, was_lost);
		break;
	case WOKEN_RACE:
		thread->pending = source;
		break;
	default:
		if (thread->phase.phase == PHASE_NEW) {
			thread->intervals.at[thread->intervals.count - 1].cpu = target;
		}
		break;
	}
}

static void on_wake(const struct build *build, const struct reader_event *event,
		    enum wake_kind kind)
{
	const struct value *v = event->values;
	struct deep_thread *thread;
	uint16_t target;

	if (!wake_source_wakes(reader_i64(event, WAKE_TID, 0),
			       reader_u64(event, WAKE_SUCCESS, 1))) {
		return;
	}
	thread = build_thread_at(build, build_thread(build, (int32_t)v[WAKE_TID].i));
	if (reader_has(event, WAKE_COMM) && !thread->comm[0]) {
		build_set_comm(thread, &v[WAKE_COMM]);
	}
	if (reader_has(event, WAKE_PRIO)) {
		build_prio_seen(thread, event->ts, v[WAKE_PRIO].i - build->wake_prio_offset);
	}
	target = build_cpu_number(reader_u64(event, WAKE_CPU, thread->phase.cpu));
	if (kind == WAKE_SOURCE || kind == WAKE_NEW) {
		on_source(build, event, thread, target);
	} else {
		(void)thread_phase_wake(&thread->phase,
					&(struct phase_wake){ .ts = event->ts, .kind = kind });
	}
}

/* ---- other events ---- */

static void on_fork(const struct build *build, const struct reader_event *event)
{
	enum { PARENT, COMM, TID, PID };
	const struct value *v = event->values;
	struct deep_thread *thread;
	uint32_t parent =
		reader_has(event, PARENT) ? build_thread(build, (int32_t)v[PARENT].i) : NOBODY;
	uint32_t *old;

	if (!reader_has(event, TID)) {
		return;
	}
	old = indexes_get(build->by_tid, (uint64_t)(uint32_t)v[TID].i);
	if (old) {
		end_thread(build_thread_at(build, *old), event->ts);
	}
	thread = build_thread_at(build, build_add_thread(build, (int32_t)v[TID].i, event->ts));
	thread->was_born = true;
	thread->parent = parent;
	thread->pid = reader_has(event, PID) ? v[PID].i : -1;
	if (reader_has(event, COMM)) {
		build_set_comm(thread, &v[COMM]);
	}
	thread->phase.cpu = event->cpu;
	thread_phase_set(&thread->phase, event->ts, PHASE_NEW);
	build_put(build, thread, event->ts,
		  (struct interval){
			  .state = STATE_NEW, .who = NOBODY, .cpu = build_cpu_number(event->cpu) });
}

/* Of the process nothing but the thread goes on. */
static void end_others(const struct build *build, uint32_t index, int64_t pid, uint64_t ts)
{
	for (uint32_t i = 0; i < build->timeline->threads.count; i++) {
		struct deep_thread *other = build_thread_at(build, i);

		if (i != index &&
		    thread_ends_by_exec(other->pid, pid, thread_phase_runs(&other->phase))) {
			end_thread(other, ts);
		}
	}
}

/* A thread that is not the leader takes the leader's tid.  After a gap this also names the thread
 * that runs. */
static void on_exec(const struct build *build, const struct reader_event *event)
{
	enum { TID, OLD_TID };
	const struct value *v = event->values;
	struct deep_thread *thread;
	struct deep_cpu *cpu;
	uint32_t index, leader;

	if (!thread_takes_tid(reader_i64(event, TID, 0), reader_i64(event, OLD_TID, 0))) {
		return;
	}
	index = build_thread(build, (int32_t)v[OLD_TID].i);
	leader = build_thread(build, (int32_t)v[TID].i);
	if (index == leader) {
		return;
	}
	end_thread(build_thread_at(build, leader), event->ts);
	end_others(build, index, v[TID].i, event->ts);
	thread = build_thread_at(build, index);
	thread->former_tid = thread->tid;
	thread->renamed_ts = event->ts;
	thread->tid = (int32_t)v[TID].i;
	*indexes_put(build->by_tid, (uint64_t)(uint32_t)v[TID].i, NULL) = index;
	(void)indexes_drop(build->by_tid, (uint64_t)(uint32_t)v[OLD_TID].i);
	thread->pid = v[TID].i;
	cpu = build_cpu(build, event->cpu);
	if (build_cpu_current(cpu) != index && build_sees_switches(event)) {
		cpu->is_doubted = !fits(build, cpu, thread->former_tid, event->ts);
		come(cpu, event->ts, index, thread->tid);
		build_put_running(build, thread, event->ts, cpu);
	}
}

/* Since Linux 4.12 a de-boost reports a wrong priority (doc/definitions.md, 7.3). */
static void on_pi(const struct build *build, const struct reader_event *event)
{
	enum { TID, OLD, NEW };
	const struct value *v = event->values;
	struct deep_thread *thread;

	if (!reader_has(event, TID) || !reader_has(event, NEW)) {
		return;
	}
	thread = build_thread_at(build, build_thread(build, (int32_t)v[TID].i));
	if (reader_has(event, OLD)) {
		build_prio_seen(thread, event->ts, v[OLD].i);
	}
	if (!reader_has(event, OLD) || v[NEW].i < v[OLD].i) {
		build_prio_boost(thread, event->ts, v[NEW].i);
	} else {
		build_prio_change(thread, event->ts);
	}
}

static void on_migrate(const struct build *build, const struct reader_event *event)
{
	enum { TID, PRIO, CPU };
	const struct value *v = event->values;
	struct deep_thread *thread;
	struct interval moved;

	if (!reader_has(event, TID) || !reader_has(event, CPU) || v[TID].i == 0) {
		return;
	}
	thread = build_thread_at(build, build_thread(build, (int32_t)v[TID].i));
	if (reader_has(event, PRIO)) {
		build_prio_seen(thread, event->ts, v[PRIO].i);
	}
	moved = *build_last_interval(thread);
	if (moved.state == STATE_WAIT || moved.state == STATE_PREEMPTED ||
	    moved.state == STATE_NEW) {
		moved.cpu = build_cpu_number(v[CPU].u);
		build_put(build, thread, event->ts, moved);
	}
}

/* A state dump is not atomic: what events showed before has priority. */
static void on_process(const struct build *build, const struct reader_event *event)
{
	enum { TID, PID, NAME, STATUS };
	const struct value *v = event->values;
	struct deep_thread *thread;

	if (!reader_has(event, TID) || v[TID].i == 0) {
		return;
	}
	thread = build_thread_at(build, build_thread(build, (int32_t)v[TID].i));
	if (reader_has(event, PID)) {
		thread->pid = v[PID].i;
	}
	if (reader_has(event, NAME) && !thread->comm[0]) {
		build_set_comm(thread, &v[NAME]);
	}
	if (reader_u64(event, STATUS, 0) == 5 && thread->phase.phase == PHASE_UNKNOWN) {
		thread_phase_set(&thread->phase, event->ts, PHASE_BLOCKED);
		build_put(build, thread, event->ts, build_interval(STATE_BLOCKED));
	}
}

static void update_running(const struct build *build, const struct deep_cpu *cpu, uint64_t ts)
{
	struct deep_thread *thread = build_running(build, cpu);

	if (thread) {
		build_put_running(build, thread, ts, cpu);
	}
}

static void push_context(const struct build *build, const struct reader_event *event,
			 uint8_t context, uint64_t id)
{
	struct deep_cpu *cpu = build_cpu(build, event->cpu);
	struct context_stack *contexts = cpu->contexts;

	if (contexts->count < NEST_MAX) {
		contexts->at[contexts->count].context = context;
		contexts->at[contexts->count++].id = id;
	}
	update_running(build, cpu, event->ts);
}

static void pop_context(const struct build *build, const struct reader_event *event,
			uint8_t context, uint64_t id)
{
	struct deep_cpu *cpu = build_cpu(build, event->cpu);
	struct context_stack *contexts = cpu->contexts;

	if (contexts->count > 0 && contexts->at[contexts->count - 1].context == context &&
	    contexts->at[contexts->count - 1].id == id) {
		contexts->count--;
	}
	update_running(build, cpu, event->ts);
}

/* The id of a vector context is the class name of its entry; the exit's name differs in its end. */
static void on_vector(const struct build *build, const struct reader_event *event)
{
	const char *name = event->class->class->name;
	size_t len = strlen(name);
	uint64_t id;

	if (len > 6 && strcmp(name + len - 6, "_entry") == 0) {
		push_context(build, event, CONTEXT_VECTOR, (uint64_t)(uintptr_t)name);
	} else if (len > 5 && strcmp(name + len - 5, "_exit") == 0) {
		struct context_stack *contexts = build_cpu(build, event->cpu)->contexts;
		const char *top =
			contexts->count > 0
				? (const char *)(uintptr_t)contexts->at[contexts->count - 1].id
				: NULL;

		id = top && contexts->at[contexts->count - 1].context == CONTEXT_VECTOR &&
				     strncmp(top, name, len - 4) == 0
			     ? (uint64_t)(uintptr_t)top
			     : 0;
		pop_context(build, event, CONTEXT_VECTOR, id);
	}
}

/*
 * Contexts of the CPU are unknown, and so is an open call if this channel carries it.  The running
 * thread is unknown if this channel carries switches.
 */
static void on_gap(const struct build *build, const struct reader_event *event)
{
	struct deep_cpu *cpu = build_cpu(build, event->cpu);
	struct deep_thread *thread = build_running(build, cpu);

	build->timeline->gaps++;
	cpu->contexts->count = 0;
	if (thread && (build_sees_switches(event) || thread->call_channel == event->stream->id)) {
		thread->is_in_call = false;
	}
	if (!build_sees_switches(event)) {
		update_running(build, cpu, event->ts);
		return;
	}
	if (thread) {
		build_put_unknown(build, thread, event->ts);
	}
	cpu->is_doubted = false;
	build_oncpu(cpu, event->ts, CPU_NOBODY);
}

void build_take(struct build *build, const struct reader_event *event)
{
	uint16_t request;

	build->now = event->ts;
	if (event->is_hole) {
		build_lose(build, event->ts);
		return;
	}
	if (!event->class) {
		on_gap(build, event);
		return;
	}
	request = event->binding->request;
	if (kinds[request].kind < WAKE_EVENTS) {
		on_wake(build, event, wake_source_kind(&build->wakes, kinds[request].kind));
		return;
	}
	switch ((enum kind)kinds[request].kind) {
	case EVENT_SWITCH:
		on_switch(build, event);
		break;
	case EVENT_FORK:
		on_fork(build, event);
		break;
	case EVENT_EXEC:
		on_exec(build, event);
		break;
	case EVENT_PI:
		on_pi(build, event);
		break;
	case EVENT_MIGRATE:
		on_migrate(build, event);
		break;
	case EVENT_PROCESS:
		on_process(build, event);
		break;
	case EVENT_ENTER:
		push_context(build, event, kinds[request].context,
			     reader_has(event, 0) ? event->values[0].u : 0);
		break;
	case EVENT_LEAVE:
		pop_context(build, event, kinds[request].context,
			    reader_has(event, 0) ? event->values[0].u : 0);
		break;
	case EVENT_VECTOR:
		on_vector(build, event);
		break;
	case EVENT_CALL:
	case EVENT_CALL_END:
		build_on_call(build, event, kinds[request].kind == EVENT_CALL);
		break;
	}
}
