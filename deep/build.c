/*
 * build: a timeline from events in time order.
 *
 * The rules are those of the analyses reference: who runs (2.1), threads (2.3), states (5),
 * wake-ups and their race (4.4), what a wake-up came from (7.1), gaps (0.7).
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyses/calls.h"
#include "base/map.h"
#include "deep/reader.h"
#include "deep/timeline.h"
#include "engine/sched.h"

/* ---- what is asked of the trace ---- */

enum kind {
	EVENT_SWITCH,
	EVENT_TTWU,
	EVENT_WAKING,
	EVENT_WAKEUP,
	EVENT_WAKEUP_NEW,
	EVENT_FORK,
	EVENT_EXEC,
	EVENT_PI,
	EVENT_MIGRATE,
	EVENT_PROCESS,
	EVENT_ENTER, /* an interrupt, or what is like one */
	EVENT_LEAVE,
	EVENT_VECTOR,
	EVENT_CALL,
	EVENT_CALL_END,
};

enum context { CONTEXT_IRQ, CONTEXT_SOFTIRQ, CONTEXT_HRTIMER, CONTEXT_NET, CONTEXT_VECTOR };

#define WAKE_FIELDS                                                                                \
	{                                                                                          \
		"comm", "tid", "prio", "target_cpu", "success"                                     \
	}
enum { WAKE_COMM, WAKE_TID, WAKE_PRIO, WAKE_CPU, WAKE_SUCCESS };

/* X(event, kind, context, fields...) */
#define EVENTS(X)                                                                                  \
	X("sched_switch", EVENT_SWITCH, 0,                                                         \
	  { "prev_comm", "prev_tid", "prev_prio", "prev_state", "next_comm", "next_tid",           \
	    "next_prio" })                                                                         \
	X("sched_ttwu", EVENT_TTWU, 0, WAKE_FIELDS)                                                \
	X("sched_waking", EVENT_WAKING, 0, WAKE_FIELDS)                                            \
	X("sched_wakeup", EVENT_WAKEUP, 0, WAKE_FIELDS)                                            \
	X("sched_wakeup_new", EVENT_WAKEUP_NEW, 0, WAKE_FIELDS)                                    \
	X("sched_process_fork", EVENT_FORK, 0,                                                     \
	  { "parent_tid", "child_comm", "child_tid", "child_pid" })                                \
	X("sched_process_exec", EVENT_EXEC, 0, { "tid", "old_tid" })                               \
	X("sched_pi_setprio", EVENT_PI, 0, { "tid", "oldprio", "newprio" })                        \
	X("sched_migrate_task", EVENT_MIGRATE, 0, { "tid", "prio", "dest_cpu" })                   \
	X("lttng_statedump_process_state", EVENT_PROCESS, 0, { "tid", "pid", "name", "status" })   \
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
	X("syscall_entry_*", EVENT_CALL, 0, { NULL })                                              \
	X("compat_syscall_entry_*", EVENT_CALL, 0, { NULL })                                       \
	X("sys_*", EVENT_CALL, 0, { NULL })                                                        \
	X("compat_sys_*", EVENT_CALL, 0, { NULL })                                                 \
	X("syscall_exit_*", EVENT_CALL_END, 0, { NULL })                                           \
	X("compat_syscall_exit_*", EVENT_CALL_END, 0, { NULL })                                    \
	X("exit_syscall", EVENT_CALL_END, 0, { NULL })

#define REQUEST(event_, kind_, context_, ...) { .event = event_, .fields = __VA_ARGS__ },
#define KIND(event_, kind_, context_, ...)    { kind_, context_ },

static const struct plan_request requests[] = { EVENTS(REQUEST) };
static const struct {
	uint8_t kind, context;
} kinds[] = { EVENTS(KIND) };

#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

/* ---- state ---- */

#define NEST_MAX 16 /* contexts of a CPU: more than hardware nests */

struct context_stack {
	unsigned int count;
	struct {
		uint8_t context;
		uint64_t id;
	} at[NEST_MAX];
};

MAP_DECLARE(indexes, uint32_t)

struct build {
	struct timeline *timeline;
	const struct plan *plan;
	khash_t(indexes) * by_tid; /* the newest thread of each */
	khash_t(indexes) * by_cpu;
	uint64_t range_begin;
	uint16_t states;  /* how prev_state is encoded */
	enum kind source; /* the event that wakes in this trace */
	bool has_wakeup;
	int32_t wake_prio_offset; /* what the prio of wake-ups has too much */
};

static struct deep_thread *thread_at(const struct build *build, uint32_t index)
{
	return build->timeline->threads.at[index];
}

static const struct interval *last_of(const struct deep_thread *thread)
{
	return &thread->intervals.at[thread->intervals.count - 1];
}

/* From @ts on the thread is in this state. */
static void put(const struct build *build, struct deep_thread *thread, uint64_t ts,
		struct interval next)
{
	struct interval *last;

	if (ts >= thread->end) {
		return; /* its tid is another's by now */
	}
	next.begin = ts;
	/* Of what came before the range only the last counts. */
	if (build->range_begin > 0 && ts <= build->range_begin) {
		thread->intervals.count = 0;
	}
	while (thread->intervals.count > 0) {
		last = &thread->intervals.at[thread->intervals.count - 1];
		if (last->begin < ts) {
			break;
		}
		thread->intervals.count--; /* it had no length */
	}
	if (thread->intervals.count > 0) {
		last = &thread->intervals.at[thread->intervals.count - 1];
		if (last->state == next.state && last->who == next.who && last->cpu == next.cpu &&
		    last->cause == next.cause) {
			return;
		}
	}
	*vec_push(&thread->intervals) = next;
}

static uint32_t add_thread(const struct build *build, int32_t tid, uint64_t birth)
{
	struct deep_thread *thread = mem_alloc(sizeof(*thread));
	uint32_t index = (uint32_t)build->timeline->threads.count;
	khint_t at;
	int is_new;

	thread->tid = tid;
	thread->pid = -1;
	thread->birth = birth;
	thread->end = UINT64_MAX;
	thread->parent = NOBODY;
	thread->cpu = NO_CPU;
	*vec_push(&build->timeline->threads) = thread;
	at = kh_put(indexes, build->by_tid, (uint64_t)(uint32_t)tid, &is_new);
	if (!is_new) {
		thread->incarnation =
			thread_at(build, kh_value(build->by_tid, at))->incarnation + 1;
	}
	kh_value(build->by_tid, at) = index;
	return index;
}

static uint32_t thread_of(const struct build *build, int32_t tid)
{
	khint_t at = kh_get(indexes, build->by_tid, (uint64_t)(uint32_t)tid);
	uint64_t birth = build->timeline->begin;
	struct deep_thread *thread;
	uint32_t index;

	if (at != kh_end(build->by_tid)) {
		thread = thread_at(build, kh_value(build->by_tid, at));
		if (thread->end == UINT64_MAX) {
			return kh_value(build->by_tid, at);
		}
		birth = thread->end; /* another one, whose fork was not seen */
	}
	index = add_thread(build, tid, birth);
	put(build, thread_at(build, index), birth,
	    (struct interval){ .state = STATE_UNKNOWN, .who = NOBODY, .cpu = NO_CPU });
	return index;
}

static uint32_t cpu_index(const struct build *build, uint64_t id)
{
	int is_new;
	khint_t at = kh_put(indexes, build->by_cpu, id, &is_new);
	struct deep_cpu *cpu;

	if (is_new) {
		kh_value(build->by_cpu, at) = (uint32_t)build->timeline->cpus.count;
		cpu = vec_push(&build->timeline->cpus);
		*cpu = (struct deep_cpu){ .id = id, .contexts = mem_alloc(sizeof(*cpu->contexts)) };
		*vec_push(&cpu->stays) =
			(struct cpu_stay){ .begin = build->timeline->begin, .thread = CPU_NOBODY };
	}
	return kh_value(build->by_cpu, at);
}

static struct deep_cpu *cpu_of(const struct build *build, uint64_t id)
{
	uint32_t index = cpu_index(build, id); /* which may move them */

	return &build->timeline->cpus.at[index];
}

static uint32_t current(const struct deep_cpu *cpu)
{
	return cpu->stays.at[cpu->stays.count - 1].thread;
}

/* The thread that runs there, NULL: none, or it is not known. */
static struct deep_thread *running(const struct build *build, const struct deep_cpu *cpu)
{
	return current(cpu) >= CPU_NOBODY ? NULL : thread_at(build, current(cpu));
}

static uint16_t cpu_number(uint64_t id)
{
	return id < NO_CPU ? (uint16_t)id : NO_CPU;
}

/* ---- facts about threads ---- */

static void set_comm(struct deep_thread *thread, const struct value *value)
{
	size_t len = value->len < sizeof(thread->comm) - 1 ? (size_t)value->len
							   : sizeof(thread->comm) - 1;

	len = strnlen((const char *)value->bytes, len);
	memcpy(thread->comm, value->bytes, len);
	thread->comm[len] = '\0';
}

static void set_prio(struct deep_thread *thread, uint64_t ts, int64_t prio)
{
	size_t count = thread->prios.count;

	if (count == 0 || thread->prios.at[count - 1].prio != (int32_t)prio) {
		*vec_push(&thread->prios) = (struct prio_change){ .ts = ts, .prio = (int32_t)prio };
	}
}

/* It runs on the CPU: what of it is told by its open call and the CPU's interrupts. */
static void put_running(const struct build *build, struct deep_thread *thread, uint64_t ts,
			const struct deep_cpu *cpu)
{
	const struct context_stack *contexts = cpu->contexts;
	struct interval next = { .state = STATE_USER, .who = NOBODY, .cpu = cpu_number(cpu->id) };

	if (contexts->count > 0) {
		next.state =
			contexts->at[contexts->count - 1].context == CONTEXT_SOFTIRQ ||
					contexts->at[contexts->count - 1].context == CONTEXT_NET
				? STATE_SOFTIRQ
				: STATE_IRQ;
	} else if (thread->call != 0) {
		next.state = STATE_SYSCALL;
		next.who = thread->call - 1;
	}
	put(build, thread, ts, next);
}

/* ---- switches ---- */

static void end_thread(struct deep_thread *thread, uint64_t ts)
{
	if (thread->end == UINT64_MAX) {
		thread->end = ts;
	}
}

static void leave(struct build *build, struct deep_thread *thread, uint64_t ts, uint64_t state,
		  const struct deep_cpu *cpu)
{
	struct interval next = { .state = STATE_PREEMPTED,
				 .who = NOBODY,
				 .cpu = cpu_number(cpu->id) };

	thread->cpu = next.cpu;
	if (sched_is_dead(state, build->states)) {
		next.state = STATE_DEAD;
		put(build, thread, ts, next);
		end_thread(thread, ts);
		return;
	}
	if (sched_sleeps(state, build->states)) {
		next.state = STATE_BLOCKED;
		next.cpu = NO_CPU;
		if (thread->pending_ts != 0) {
			next = thread->pending;
			next.state = STATE_WAIT;
			thread->is_tentative = !build->has_wakeup;
		}
	}
	thread->pending_ts = 0;
	put(build, thread, ts, next);
}

/* Switched in: a sleep that nothing was seen to end has an end now. */
static void enter(const struct build *build, struct deep_thread *thread, uint64_t ts,
		  const struct deep_cpu *cpu)
{
	thread->cpu = cpu_number(cpu->id);
	thread->pending_ts = 0;
	thread->is_tentative = false;
	put_running(build, thread, ts, cpu);
}

/* Somebody else left the CPU than was there: what that did is not known. */
static void note_broken(const struct build *build, const struct deep_cpu *cpu, int32_t prev,
			uint64_t ts)
{
	struct deep_thread *thread = running(build, cpu);

	if (thread && thread->tid != prev) {
		put(build, thread, ts,
		    (struct interval){ .state = STATE_UNKNOWN, .who = NOBODY, .cpu = NO_CPU });
	}
}

static void on_switch(struct build *build, const struct reader_event *event)
{
	enum { PREV_COMM, PREV_TID, PREV_PRIO, PREV_STATE, NEXT_COMM, NEXT_TID, NEXT_PRIO };
	const struct value *v = event->values;
	struct deep_cpu *cpu = cpu_of(build, event->cpu);
	int32_t prev = (int32_t)v[PREV_TID].i, next = (int32_t)v[NEXT_TID].i;
	struct deep_thread *thread;
	uint32_t index = CPU_IDLE;

	if (!reader_has(event, PREV_TID) || !reader_has(event, NEXT_TID)) {
		return;
	}
	note_broken(build, cpu, prev, event->ts);
	if (prev != 0) {
		thread = thread_at(build, thread_of(build, prev));
		if (reader_has(event, PREV_COMM)) {
			set_comm(thread, &v[PREV_COMM]);
		}
		set_prio(thread, event->ts, v[PREV_PRIO].i);
		leave(build, thread, event->ts, reader_has(event, PREV_STATE) ? v[PREV_STATE].u : 0,
		      cpu);
	}
	if (next != 0) {
		index = thread_of(build, next);
		thread = thread_at(build, index);
		if (reader_has(event, NEXT_COMM)) {
			set_comm(thread, &v[NEXT_COMM]);
		}
		set_prio(thread, event->ts, v[NEXT_PRIO].i);
		enter(build, thread, event->ts, cpu);
	}
	*vec_push(&cpu->stays) = (struct cpu_stay){ .begin = event->ts, .thread = index };
}

/* ---- wake-ups ---- */

static enum cause vector_cause(uint64_t id)
{
	const char *name = (const char *)(uintptr_t)id; /* of its class */

	return strstr(name, "local_timer") ? CAUSE_TIMER : CAUSE_IPI;
}

/* What wakes on this CPU now (7.1). */
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
		source.cause = current(cpu) == CPU_IDLE     ? CAUSE_UNTRACED
			       : current(cpu) == CPU_NOBODY ? CAUSE_NONE
							    : CAUSE_TASK;
		source.who = source.cause == CAUSE_TASK ? current(cpu) : NOBODY;
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

/* The sleep, or what was not known, ends at @ts by @source. */
static void wake(const struct build *build, struct deep_thread *thread, uint64_t ts,
		 struct interval source, uint16_t target)
{
	struct interval *last = &thread->intervals.at[thread->intervals.count - 1];

	last->state = STATE_BLOCKED;
	last->cause = source.cause;
	last->who = source.who;
	last->cpu = NO_CPU;
	thread->is_tentative = false;
	source.state = STATE_WAIT;
	source.cpu = target;
	put(build, thread, ts, source);
}

static void on_source(const struct build *build, const struct reader_event *event,
		      struct deep_thread *thread, uint16_t target)
{
	const struct deep_cpu *cpu = cpu_of(build, event->cpu);
	struct interval source = source_on(cpu);
	const struct interval *last = last_of(thread);

	if (running(build, cpu) == thread) {
		return;
	}
	if (last->state == STATE_BLOCKED || last->state == STATE_UNKNOWN ||
	    (last->state == STATE_WAIT && thread->is_tentative)) {
		wake(build, thread, event->ts, source, target);
	} else if (state_runs(last->state)) {
		source.cpu = target;
		thread->pending = source;
		thread->pending_ts = event->ts;
	} else if (last->state == STATE_NEW) {
		thread->intervals.at[thread->intervals.count - 1].cpu = target;
	}
}

static void on_wake(const struct build *build, const struct reader_event *event, enum kind kind)
{
	const struct value *v = event->values;
	struct deep_thread *thread;
	uint16_t target;

	if (!reader_has(event, WAKE_TID) || v[WAKE_TID].i == 0 ||
	    (reader_has(event, WAKE_SUCCESS) && v[WAKE_SUCCESS].u == 0)) {
		return;
	}
	thread = thread_at(build, thread_of(build, (int32_t)v[WAKE_TID].i));
	if (reader_has(event, WAKE_COMM) && !thread->comm[0]) {
		set_comm(thread, &v[WAKE_COMM]);
	}
	if (reader_has(event, WAKE_PRIO)) {
		set_prio(thread, event->ts, v[WAKE_PRIO].i - build->wake_prio_offset);
	}
	target = reader_has(event, WAKE_CPU) ? cpu_number(v[WAKE_CPU].u) : thread->cpu;
	if (kind == build->source || kind == EVENT_WAKEUP_NEW) {
		on_source(build, event, thread, target);
	} else if (kind == EVENT_WAKEUP && state_runs(last_of(thread)->state)) {
		thread->pending_ts = 0; /* it never left its CPU */
	}
}

/* ---- other events ---- */

static void on_fork(const struct build *build, const struct reader_event *event)
{
	enum { PARENT, COMM, TID, PID };
	const struct value *v = event->values;
	struct deep_thread *thread;
	uint32_t parent =
		reader_has(event, PARENT) ? thread_of(build, (int32_t)v[PARENT].i) : NOBODY;
	khint_t old;

	if (!reader_has(event, TID)) {
		return;
	}
	old = kh_get(indexes, build->by_tid, (uint64_t)(uint32_t)v[TID].i);
	if (old != kh_end(build->by_tid)) {
		end_thread(thread_at(build, kh_value(build->by_tid, old)), event->ts);
	}
	thread = thread_at(build, add_thread(build, (int32_t)v[TID].i, event->ts));
	thread->was_born = true;
	thread->parent = parent;
	thread->pid = reader_has(event, PID) ? v[PID].i : -1;
	if (reader_has(event, COMM)) {
		set_comm(thread, &v[COMM]);
	}
	put(build, thread, event->ts,
	    (struct interval){ .state = STATE_NEW, .who = NOBODY, .cpu = cpu_number(event->cpu) });
}

/* A thread that is not the leader takes the leader's tid. */
static void on_exec(const struct build *build, const struct reader_event *event)
{
	enum { TID, OLD_TID };
	const struct value *v = event->values;
	uint32_t index, leader;
	khint_t at;
	int is_new;

	if (!reader_has(event, TID) || !reader_has(event, OLD_TID) || v[TID].i == v[OLD_TID].i) {
		return;
	}
	index = thread_of(build, (int32_t)v[OLD_TID].i);
	leader = thread_of(build, (int32_t)v[TID].i);
	if (index == leader) {
		return;
	}
	end_thread(thread_at(build, leader), event->ts);
	thread_at(build, index)->incarnation = thread_at(build, leader)->incarnation + 1;
	thread_at(build, index)->tid = (int32_t)v[TID].i;
	at = kh_put(indexes, build->by_tid, (uint64_t)(uint32_t)v[TID].i, &is_new);
	kh_value(build->by_tid, at) = index;
	at = kh_get(indexes, build->by_tid, (uint64_t)(uint32_t)v[OLD_TID].i);
	kh_del(indexes, build->by_tid, at);
}

/* The new priority of a de-boost is told wrongly since Linux 4.12: the next switch tells (7.3). */
static void on_pi(const struct build *build, const struct reader_event *event)
{
	enum { TID, OLD, NEW };
	const struct value *v = event->values;

	if (reader_has(event, TID) && reader_has(event, NEW) &&
	    (!reader_has(event, OLD) || v[NEW].i < v[OLD].i)) {
		set_prio(thread_at(build, thread_of(build, (int32_t)v[TID].i)), event->ts,
			 v[NEW].i);
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
	thread = thread_at(build, thread_of(build, (int32_t)v[TID].i));
	if (reader_has(event, PRIO)) {
		set_prio(thread, event->ts, v[PRIO].i);
	}
	moved = *last_of(thread);
	if (moved.state == STATE_WAIT || moved.state == STATE_PREEMPTED ||
	    moved.state == STATE_NEW) {
		moved.cpu = cpu_number(v[CPU].u);
		put(build, thread, event->ts, moved);
	}
}

/* A state dump takes a while: what events have told stays. */
static void on_process(const struct build *build, const struct reader_event *event)
{
	enum { TID, PID, NAME, STATUS };
	const struct value *v = event->values;
	struct deep_thread *thread;

	if (!reader_has(event, TID) || v[TID].i == 0) {
		return;
	}
	thread = thread_at(build, thread_of(build, (int32_t)v[TID].i));
	if (reader_has(event, PID)) {
		thread->pid = v[PID].i;
	}
	if (reader_has(event, NAME) && !thread->comm[0]) {
		set_comm(thread, &v[NAME]);
	}
	if (reader_has(event, STATUS) && v[STATUS].u == 5 &&
	    last_of(thread)->state == STATE_UNKNOWN) {
		put(build, thread, event->ts,
		    (struct interval){ .state = STATE_BLOCKED, .who = NOBODY, .cpu = NO_CPU });
	}
}

static void update_running(const struct build *build, const struct deep_cpu *cpu, uint64_t ts)
{
	struct deep_thread *thread = running(build, cpu);

	if (thread) {
		put_running(build, thread, ts, cpu);
	}
}

static void push_context(const struct build *build, const struct reader_event *event,
			 uint8_t context, uint64_t id)
{
	struct deep_cpu *cpu = cpu_of(build, event->cpu);
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
	struct deep_cpu *cpu = cpu_of(build, event->cpu);
	struct context_stack *contexts = cpu->contexts;

	if (contexts->count > 0 && contexts->at[contexts->count - 1].context == context &&
	    contexts->at[contexts->count - 1].id == id) {
		contexts->count--;
	}
	update_running(build, cpu, event->ts);
}

/* The name of the vector, the same for its entry and its exit. */
static void on_vector(const struct build *build, const struct reader_event *event)
{
	const char *name = event->class->class->name;
	size_t len = strlen(name);
	uint64_t id;

	if (len > 6 && strcmp(name + len - 6, "_entry") == 0) {
		push_context(build, event, CONTEXT_VECTOR, (uint64_t)(uintptr_t)name);
	} else if (len > 5 && strcmp(name + len - 5, "_exit") == 0) {
		struct context_stack *contexts = cpu_of(build, event->cpu)->contexts;
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

static void on_call(const struct build *build, const struct reader_event *event, bool is_entry)
{
	const struct deep_cpu *cpu = cpu_of(build, event->cpu);
	struct deep_thread *thread = running(build, cpu);

	if (thread) {
		thread->call = is_entry ? event->class->index + 1 : 0;
		put_running(build, thread, event->ts, cpu);
	}
}

/* What runs there, and what was begun, is not known any more. */
static void on_gap(const struct build *build, const struct reader_event *event)
{
	struct deep_cpu *cpu = cpu_of(build, event->cpu);
	struct deep_thread *thread = running(build, cpu);

	build->timeline->gaps++;
	cpu->contexts->count = 0;
	if (thread) {
		thread->call = 0;
		put(build, thread, event->ts,
		    (struct interval){ .state = STATE_UNKNOWN, .who = NOBODY, .cpu = NO_CPU });
	}
	*vec_push(&cpu->stays) = (struct cpu_stay){ .begin = event->ts, .thread = CPU_NOBODY };
}

static void take(struct build *build, const struct reader_event *event)
{
	uint16_t request;

	if (!event->class) {
		on_gap(build, event);
		return;
	}
	request = event->binding->request;
	switch ((enum kind)kinds[request].kind) {
	case EVENT_SWITCH:
		on_switch(build, event);
		break;
	case EVENT_TTWU:
	case EVENT_WAKING:
	case EVENT_WAKEUP:
	case EVENT_WAKEUP_NEW:
		on_wake(build, event, (enum kind)kinds[request].kind);
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
		on_call(build, event, kinds[request].kind == EVENT_CALL);
		break;
	}
}

/* ---- the trace ---- */

static bool has_event(const struct plan *plan, const char *name)
{
	for (uint32_t i = 0; i < plan->class_count; i++) {
		if (strcmp(plan->classes[i]->class->name, name) == 0) {
			return true;
		}
	}
	return false;
}

static unsigned int env_number(const struct metadata *metadata, const char *name)
{
	const struct env_entry *entry = metadata_env(metadata, name);

	return entry && !entry->text ? (unsigned int)entry->number : 0;
}

/* Until lttng-modules 2.7.1 wake-ups told the kernel's priority as it is (0.4). */
static int32_t wake_prio_offset(const struct metadata *metadata)
{
	unsigned int version = env_number(metadata, "tracer_major") * 10000 +
			       env_number(metadata, "tracer_minor") * 100 +
			       env_number(metadata, "tracer_patchlevel");

	return version > 0 && version < 20701 ? 100 : 0;
}

/* The second reading says it. */
static void say_nothing(void *user, const char *message)
{
	(void)user;
	(void)message;
}

/*
 * Who ran on each CPU at first is told by its first switch, which is looked for before
 * anything else.
 */
static bool find_heads(struct build *build, const struct recorded_path *path, struct err *err)
{
	enum { PREV_COMM, PREV_TID };
	static const struct plan_request head_requests[] = {
		{ .event = "sched_switch", .fields = { "prev_comm", "prev_tid" } },
	};
	struct reader *reader = reader_open(path, head_requests, 1, say_nothing, NULL, err);
	struct reader_event event;
	struct reader_seen seen;
	size_t missing;

	if (!reader) {
		return false;
	}
	missing = reader_cpu_count(reader);
	reader_seen(reader, &seen);
	build->timeline->begin = seen.events > 0 ? seen.first : 0;
	while (missing > 0 && reader_next(reader, &event)) {
		struct deep_cpu *cpu;

		if (!event.class || !reader_has(&event, PREV_TID)) {
			continue;
		}
		cpu = cpu_of(build, event.cpu);
		if (current(cpu) == CPU_NOBODY) {
			int32_t tid = (int32_t)event.values[PREV_TID].i;
			uint32_t index = tid == 0 ? CPU_IDLE : thread_of(build, tid);

			cpu->stays.at[0].thread = index;
			if (tid != 0) {
				put_running(build, thread_at(build, index), build->timeline->begin,
					    cpu);
			}
			missing--;
		}
	}
	reader_close(reader);
	return true;
}

static void name_calls(const struct build *build)
{
	for (uint32_t i = 0; i < build->plan->class_count; i++) {
		bool is_compat;
		const char *name = call_name(build->plan->classes[i]->class->name, &is_compat);

		*vec_push(&build->timeline->calls) =
			name ? mem_printf("%s%s", name, is_compat ? "/32" : "") : NULL;
	}
}

static int by_id(const void *left, const void *right)
{
	const struct deep_cpu *a = left, *b = right;

	return a->id < b->id ? -1 : a->id > b->id;
}

/* Intervals end with the trace, and begin with the range. */
static void clip(struct build *build, uint64_t end)
{
	struct timeline *timeline = build->timeline;

	timeline->end = end;
	if (timeline->cpus.count > 0) {
		qsort(timeline->cpus.at, timeline->cpus.count, sizeof(*timeline->cpus.at), by_id);
	}
	if (build->range_begin > timeline->begin) {
		timeline->begin = build->range_begin;
	}
	for (size_t i = 0; i < timeline->threads.count; i++) {
		struct deep_thread *thread = timeline->threads.at[i];

		if (thread->end > timeline->end) {
			thread->end = timeline->end;
		}
		if (thread->intervals.count > 0 &&
		    thread->intervals.at[0].begin < timeline->begin) {
			thread->intervals.at[0].begin = timeline->begin;
		}
		if (thread->birth < timeline->begin) {
			thread->birth = timeline->begin;
		}
	}
}

static void read_all(struct build *build, struct reader *reader, uint64_t end)
{
	struct reader_event event;
	struct reader_seen seen;
	bool goes_on;

	while ((goes_on = reader_next(reader, &event)) && event.ts < end) {
		take(build, &event);
	}
	reader_seen(reader, &seen);
	build->timeline->events = seen.events;
	clip(build, goes_on || seen.last > end ? end : seen.last);
}

struct timeline *timeline_build(const struct recorded_path *path, uint64_t begin, uint64_t end,
				void (*warn)(void *user, const char *message), void *user,
				struct err *err)
{
	struct build build = { .range_begin = begin };
	struct reader *reader = NULL;
	bool is_done = false;

	build.timeline = mem_alloc(sizeof(*build.timeline));
	build.by_tid = kh_init(indexes);
	build.by_cpu = kh_init(indexes);
	if (find_heads(&build, path, err)) {
		reader = reader_open(path, requests, REQUESTS, warn, user, err);
	}
	if (reader) {
		build.plan = reader_plan(reader);
		build.states = sched_states_of(build.plan->metadata);
		build.wake_prio_offset = wake_prio_offset(build.plan->metadata);
		build.has_wakeup = has_event(build.plan, "sched_wakeup");
		build.source = has_event(build.plan, "sched_ttwu")     ? EVENT_TTWU
			       : has_event(build.plan, "sched_waking") ? EVENT_WAKING
								       : EVENT_WAKEUP;
		name_calls(&build);
		read_all(&build, reader, end);
		is_done = true;
	}
	reader_close(reader);
	kh_destroy(indexes, build.by_tid);
	kh_destroy(indexes, build.by_cpu);
	if (!is_done) {
		timeline_free(build.timeline);
		return NULL;
	}
	return build.timeline;
}
