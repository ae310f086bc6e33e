/*
 * trace-kernel: the events of a kernel's trace as events of ftrace.
 *
 * The viewer draws from them what it draws of its own recordings: who runs on each CPU, the states
 * of threads and who woke them, interrupts of each CPU, system calls of each thread.  Three things
 * are added, as switches between threads that the trace does not have as events:
 *
 *   - the initial thread of a CPU, and the running threads where the range begins;
 *   - "unknown" runs on a CPU from a loss to the next event that names a thread;
 *   - a thread that takes its leader's tid (exec).
 *
 * So the time that a thread runs in the viewer is the time of `analyze -a cpu`.
 *
 * System calls are slices by name ("B|0|read").  Numbers of calls would need the architecture,
 * which LTTng does not record.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "kernel/syscall-names.h"
#include "kernel/task-state.h"
#include "kernel/thread-identity.h"
#include "kernel/tracer.h"
#include "perfetto/trace-kernel.h"
#include "perfetto/tracks.h"
#include "symbols/symbols.h"

/* A prev_state that no kernel has: what the thread does from then on is unknown. */
#define STATE_IS_UNKNOWN 0x7000
#define STATE_IS_DEAD    0x10
/* "unknown" on each CPU has a tid that no thread has. */
#define UNKNOWN_TID 0x40000000
#define LABEL_MAX   300 /* bytes of "B|0|" and an event's name */

#define WAKE_FIELDS                                                                                \
	{                                                                                          \
		"@comm", "tid", "prio", "target_cpu", "success"                                    \
	}

/* X(event, kind, fields...); the switch comes first, for reader_sees(). */
#define EVENTS(X)                                                                                  \
	X("sched_switch", KIND_SWITCH,                                                             \
	  { "@prev_comm", "prev_tid", "prev_prio", "prev_state", "@next_comm", "next_tid",         \
	    "next_prio" })                                                                         \
	WAKE_EVENTS_OF(X, WAKE_FIELDS)                                                             \
	X("sched_process_fork", KIND_FORK,                                                         \
	  { "parent_tid", "@child_comm", "child_tid", "child_pid", "parent_pid" })                 \
	X("sched_process_exec", KIND_EXEC, { "tid", "old_tid" })                                   \
	X("sched_process_free", KIND_FREE, { "@comm", "tid" })                                     \
	X("lttng_statedump_process_state", KIND_PROCESS, { "tid", "pid", "ppid", "@name" })        \
	X("irq_handler_entry", KIND_IRQ_ENTRY, { "irq", "@name" })                                 \
	X("irq_handler_exit", KIND_IRQ_EXIT, { "irq", "ret" })                                     \
	X("irq_softirq_entry", KIND_SOFTIRQ_ENTRY, { "vec" })                                      \
	X("irq_softirq_exit", KIND_SOFTIRQ_EXIT, { "vec" })                                        \
	X("softirq_entry", KIND_SOFTIRQ_ENTRY, { "vec" })                                          \
	X("softirq_exit", KIND_SOFTIRQ_EXIT, { "vec" })                                            \
	X("syscall_entry_*", KIND_CALL, { NULL })                                                  \
	X("compat_syscall_entry_*", KIND_CALL, { NULL })                                           \
	X("sys_*", KIND_CALL, { NULL })                                                            \
	X("compat_sys_*", KIND_CALL, { NULL })                                                     \
	X("syscall_exit_*", KIND_CALL_END, { NULL })                                               \
	X("compat_syscall_exit_*", KIND_CALL_END, { NULL })                                        \
	X("exit_syscall", KIND_CALL_END, { NULL })

#define REQUEST(event_, kind_, ...) { .event = event_, .fields = __VA_ARGS__ },
#define KIND(event_, kind_, ...)    kind_,

/* Any of these may have a call stack, and other events, too. */
const struct plan_request kernel_requests[] = { EVENTS(REQUEST) CALLSTACK_REQUEST };
static const uint8_t kinds[] = { EVENTS(KIND) KIND_CALLSTACK };
#define CALLSTACK_AT (ARRAY_COUNT(kinds) - 1)
const size_t kernel_request_count = ARRAY_COUNT(kernel_requests);

/* ---- CPUs ---- */

/* NULL: the event has no CPU, or one that the viewer refuses. */
static struct kernel_cpu *cpu_of(struct kernel *kernel, uint64_t id)
{
	struct kernel_cpu *cpu;

	if (id >= PERFETTO_CPUS_MAX) {
		kernel->export->lacks_cpus |= id != UINT64_MAX;
		return NULL;
	}
	cpu = kernel->cpus[id];
	if (!cpu) {
		cpu = kernel->cpus[id] = mem_alloc(sizeof(*cpu));
		cpu->id = (uint32_t)id;
	}
	return cpu;
}

/* Damaged events have other large numbers. */
static bool is_unknown_tid(int32_t tid)
{
	return tid >= UNKNOWN_TID && tid < UNKNOWN_TID + PERFETTO_CPUS_MAX;
}

/* The thread that runs there, for events. */
static int32_t running(const struct kernel_cpu *cpu)
{
	return cpu->is_known ? cpu->tid : UNKNOWN_TID + (int32_t)cpu->id;
}

static bool is_unknown(const struct kernel_cpu *cpu)
{
	return !cpu->is_known || is_unknown_tid(cpu->tid);
}

struct perfetto_event *trace_kernel_event(struct kernel *kernel, struct kernel_cpu *cpu,
					  uint64_t ts)
{
	return writer_event(kernel->writer, &cpu->block, cpu->id, ts, running(cpu));
}

/* The thread runs on the CPU from @ts on. */
static void set_running(struct kernel_cpu *cpu, uint64_t ts, int32_t tid)
{
	cpu->is_known = true;
	cpu->tid = tid;
	cpu->since = ts;
	cpu->comm[0] = '\0';
	cpu->has_prio = false;
}

static Perfetto__SchedSwitchFtraceEvent *add_switch(struct kernel *kernel, struct kernel_cpu *cpu,
						    uint64_t ts, struct perfetto_event **ret)
{
	struct perfetto_event *event = trace_kernel_event(kernel, cpu, ts);
	Perfetto__SchedSwitchFtraceEvent *made = &event->sched_switch;

	perfetto__sched_switch_ftrace_event__init(made);
	event->event.event_case = PERFETTO__FTRACE_EVENT__EVENT_SCHED_SWITCH;
	event->event.sched_switch = made;
	made->has_prev_pid = made->has_next_pid = made->has_prev_state = 1;
	*ret = event;
	return made;
}

/* A switch that the trace does not have: the thread @tid runs from @ts on, and the one before is in
 * this state. */
static void bridge(struct kernel *kernel, struct kernel_cpu *cpu, uint64_t ts, int32_t tid,
		   int64_t state)
{
	struct perfetto_event *event;
	Perfetto__SchedSwitchFtraceEvent *made = add_switch(kernel, cpu, ts, &event);

	if (cpu->comm[0]) {
		memcpy(event->names[0], cpu->comm, sizeof(cpu->comm));
		made->prev_comm = event->names[0];
	}
	made->prev_pid = running(cpu);
	made->prev_state = state;
	made->has_prev_prio = cpu->has_prio;
	made->prev_prio = cpu->prio;
	made->next_pid = tid;
	if (is_unknown_tid(tid)) {
		made->next_comm = strcpy(event->names[1], "unknown");
	}
	set_running(cpu, ts, tid);
}

/* Shows the thread that runs already: it takes the CPU from the idle thread. */
static void show_running(struct kernel *kernel, struct kernel_cpu *cpu)
{
	uint64_t begin = kernel->export->begin;
	uint64_t ts = cpu->since > begin ? cpu->since : begin;
	struct perfetto_event *event;
	Perfetto__SchedSwitchFtraceEvent *made = add_switch(kernel, cpu, ts, &event);

	assert(cpu->is_known);
	made->prev_pid = 0;
	made->next_pid = cpu->tid;
	made->has_next_prio = cpu->has_prio;
	made->next_prio = cpu->prio;
	if (cpu->comm[0]) {
		memcpy(event->names[1], cpu->comm, sizeof(cpu->comm));
		made->next_comm = event->names[1];
	} else if (is_unknown_tid(cpu->tid)) {
		made->next_comm = strcpy(event->names[1], "unknown");
	}
}

/* Puts on their CPUs the initial threads that were there at @ts. */
static void put_initial(struct kernel *kernel, uint64_t ts)
{
	const struct cpu_initial *first;
	const struct timeline *initial = kernel->initial;

	assert_hot(kernel->initial_put <= kernel->initial->initial.count);
	while ((first = timeline_initial_next(initial, &kernel->initial_put, ts))) {
		struct kernel_cpu *cpu = cpu_of(kernel, first->cpu);

		if (cpu && !cpu->is_known) {
			set_running(cpu, first->since, first->tid);
			if (kernel->shows) {
				show_running(kernel, cpu);
			}
		}
	}
}

/* ---- system calls ---- */

static void put_print(struct kernel *kernel, struct kernel_cpu *cpu, uint64_t ts, int32_t tid,
		      const char *text)
{
	struct perfetto_event *event = writer_event(kernel->writer, &cpu->block, cpu->id, ts, tid);

	perfetto__print_ftrace_event__init(&event->print);
	event->print.buf = (char *)text;
	event->event.event_case = PERFETTO__FTRACE_EVENT__EVENT_PRINT;
	event->event.print = &event->print;
}

/* Ends the open call of the thread, if it has one. */
void trace_kernel_end_call(struct kernel *kernel, struct kernel_cpu *cpu, uint64_t ts, int32_t tid)
{
	if (open_calls_drop(&kernel->calls, (uint64_t)(uint32_t)tid)) {
		put_print(kernel, cpu, ts, tid, "E|0");
	}
}

static const char *label_of(struct kernel *kernel, const struct plan_event *class)
{
	char name[LABEL_MAX], clean[LABEL_MAX];

	if (!kernel->labels[class->index]) {
		syscall_label(class->name, name, sizeof(name));
		(void)utf8_copy(clean, sizeof(clean), name, sizeof(name));
		kernel->labels[class->index] = mem_printf("B|0|%s", clean);
	}
	return kernel->labels[class->index];
}

static void on_call(struct kernel *kernel, struct kernel_cpu *cpu, const struct reader_event *event)
{
	if (is_unknown(cpu) || cpu->tid == 0) {
		kernel->export->calls++;
		return;
	}
	trace_kernel_end_call(kernel, cpu, event->ts, cpu->tid); /* its exit was lost */
	(void)open_calls_put(&kernel->calls, (uint64_t)(uint32_t)cpu->tid, NULL);
	put_print(kernel, cpu, event->ts, cpu->tid, label_of(kernel, event->class));
}

/* ---- losses ---- */

static void put_lost(struct kernel *kernel, uint64_t ts, uint64_t cpu)
{
	char text[64] = "events lost";

	if (kernel->lost_track == 0) {
		kernel->lost_track = tracks_add(kernel->writer, 0, "events lost");
	}
	if (cpu != UINT64_MAX) {
		(void)snprintf(text, sizeof(text), "CPU %llu: events lost",
			       (unsigned long long)cpu);
	}
	tracks_instant(kernel->writer, kernel->lost_track, ts, text);
}

/* From @ts on it is unknown what happens on the CPU. */
static void lose_cpu(struct kernel *kernel, struct kernel_cpu *cpu, uint64_t ts, bool of_switches)
{
	if (kernel->shows) {
		trace_kernel_end_interrupts(kernel, cpu, ts);
	}
	if (of_switches && !is_unknown(cpu) && !cpu->has_left) {
		if (kernel->shows) {
			bridge(kernel, cpu, ts, UNKNOWN_TID + (int32_t)cpu->id, STATE_IS_UNKNOWN);
		} else {
			set_running(cpu, ts, UNKNOWN_TID + (int32_t)cpu->id);
		}
	}
	if (kernel->shows) {
		writer_lose(kernel->writer, &cpu->block);
	}
}

static void on_loss(struct kernel *kernel, const struct reader_event *event)
{
	struct kernel_cpu *cpu;

	if (kernel->shows) {
		put_lost(kernel, event->ts, event->cpu);
	}
	for (size_t i = 0; event->is_hole && i < PERFETTO_CPUS_MAX; i++) {
		if (kernel->cpus[i]) {
			lose_cpu(kernel, kernel->cpus[i], event->ts, true);
		}
	}
	if (!event->is_hole && (cpu = cpu_of(kernel, event->cpu))) {
		lose_cpu(kernel, cpu, event->ts, reader_sees(event, 0));
	}
}

/* CPUs that have left, as is known at @now: nobody runs there, as on one that is idle. */
static void idle_departed(struct kernel *kernel, struct reader *reader, uint64_t now)
{
	uint64_t id, ts;

	while (reader_left(reader, now, &id, &ts)) {
		struct kernel_cpu *cpu = cpu_of(kernel, id);

		if (!cpu || is_unknown(cpu)) {
			continue;
		}
		cpu->has_left = true;
		ts = ts > kernel->export->begin ? ts : kernel->export->begin;
		if (!kernel->shows) {
			set_running(cpu, ts, 0);
			continue;
		}
		trace_kernel_end_interrupts(kernel, cpu, ts);
		if (cpu->tid != 0) {
			bridge(kernel, cpu, ts, 0, STATE_IS_UNKNOWN);
		}
	}
}

/* ---- switches ---- */

/* The viewer decodes states by the kernel's release. */
static void fill_switch(struct perfetto_event *event, Perfetto__SchedSwitchFtraceEvent *made,
			const struct reader_event *from, uint16_t states)
{
	enum { PREV_COMM, PREV_TID, PREV_PRIO, PREV_STATE, NEXT_COMM, NEXT_TID, NEXT_PRIO };
	const struct value *v = from->values;

	if (reader_has(from, PREV_COMM)) {
		trace_name(event->names[0], &v[PREV_COMM]);
		made->prev_comm = event->names[0];
	}
	made->prev_pid = (int32_t)v[PREV_TID].i;
	made->has_prev_prio = reader_has(from, PREV_PRIO);
	made->prev_prio =
		made->has_prev_prio ? (int32_t)v[PREV_PRIO].i + TRACE_KERNEL_PRIO_OFFSET : 0;
	made->prev_state = reader_has(from, PREV_STATE)
				   ? (int64_t)task_state_of_kernel(v[PREV_STATE].u, states)
				   : STATE_IS_UNKNOWN;
	if (reader_has(from, NEXT_COMM)) {
		trace_name(event->names[1], &v[NEXT_COMM]);
		made->next_comm = event->names[1];
	}
	made->next_pid = (int32_t)v[NEXT_TID].i;
	made->has_next_prio = reader_has(from, NEXT_PRIO);
	made->next_prio =
		made->has_next_prio ? (int32_t)v[NEXT_PRIO].i + TRACE_KERNEL_PRIO_OFFSET : 0;
}

static void on_switch(struct kernel *kernel, struct kernel_cpu *cpu,
		      const struct reader_event *event)
{
	enum { PREV_COMM, PREV_TID, PREV_PRIO, PREV_STATE, NEXT_COMM, NEXT_TID, NEXT_PRIO };
	const struct value *v = event->values;
	Perfetto__SchedSwitchFtraceEvent *made;
	struct perfetto_event *added;
	int32_t prev, next;

	if (!reader_has(event, PREV_TID) || !reader_has(event, NEXT_TID) ||
	    !reader_sees(event, 0)) {
		return;
	}
	prev = (int32_t)v[PREV_TID].i;
	next = (int32_t)v[NEXT_TID].i;
	if (kernel->shows) {
		if (cpu->is_known && cpu->tid != prev) {
			bridge(kernel, cpu, event->ts, prev, STATE_IS_UNKNOWN);
		}
		cpu->is_known = true;
		cpu->tid = prev;
		if (reader_has(event, PREV_STATE) &&
		    task_state_is_dead(v[PREV_STATE].u, kernel->states)) {
			trace_kernel_end_call(kernel, cpu, event->ts, prev);
		}
		made = add_switch(kernel, cpu, event->ts, &added);
		fill_switch(added, made, event, kernel->states);
	}
	set_running(cpu, event->ts, next);
	if (reader_has(event, NEXT_COMM)) {
		trace_name(cpu->comm, &v[NEXT_COMM]);
	}
	cpu->has_prio = reader_has(event, NEXT_PRIO);
	cpu->prio = cpu->has_prio ? (int32_t)v[NEXT_PRIO].i + TRACE_KERNEL_PRIO_OFFSET : 0;
}

/* ---- threads ---- */

/* It tells who runs behind a loss, as a switch does. */
static void on_exec(struct kernel *kernel, struct kernel_cpu *cpu, const struct reader_event *event)
{
	enum { TID, OLD_TID };
	int32_t tid = (int32_t)reader_i64(event, TID, 0);
	int32_t old = (int32_t)reader_i64(event, OLD_TID, 0);

	if (!thread_takes_tid(tid, old) || !cpu->is_known ||
	    (cpu->tid != old && !is_unknown_tid(cpu->tid))) {
		return;
	}
	if (kernel->shows) {
		trace_kernel_end_call(kernel, cpu, event->ts, old);
		bridge(kernel, cpu, event->ts, tid,
		       cpu->tid == old ? STATE_IS_DEAD : STATE_IS_UNKNOWN);
	} else {
		set_running(cpu, event->ts, tid);
	}
}

/* ---- all ---- */

/* What is only shown, and changes no state before the range. */
static void show(struct kernel *kernel, struct kernel_cpu *cpu, const struct reader_event *event,
		 enum kernel_kind kind)
{
	if ((unsigned int)kind < WAKE_EVENTS) {
		if (wake_source_kind(&kernel->wakes, kind) == WAKE_SOURCE) {
			trace_kernel_wake(kernel, cpu, event);
		}
		return;
	}
	switch (kind) {
	case KIND_IRQ_ENTRY:
	case KIND_IRQ_EXIT:
		trace_kernel_irq(kernel, cpu, event, kind == KIND_IRQ_ENTRY);
		break;
	case KIND_SOFTIRQ_ENTRY:
	case KIND_SOFTIRQ_EXIT:
		trace_kernel_softirq(kernel, cpu, event, kind == KIND_SOFTIRQ_ENTRY);
		break;
	case KIND_CALL:
		on_call(kernel, cpu, event);
		break;
	case KIND_CALL_END:
		if (!is_unknown(cpu)) {
			trace_kernel_end_call(kernel, cpu, event->ts, cpu->tid);
		}
		break;
	default:
		break;
	}
}

/* The thread that an event is of; -1: unknown. */
static int32_t thread_of_event(const struct kernel_cpu *cpu, const struct reader_event *event,
			       enum kernel_kind kind)
{
	enum { PREV_COMM, PREV_TID };

	if (kind == KIND_SWITCH && reader_has(event, PREV_TID)) {
		return (int32_t)event->values[PREV_TID].i;
	}
	return is_unknown(cpu) ? -1 : cpu->tid;
}

static void put_kernel_sample(struct kernel *kernel, const struct kernel_cpu *cpu,
			      const struct reader_event *event, enum kernel_kind kind)
{
	struct callstack *stack = &kernel->stack;
	int32_t tid = thread_of_event(cpu, event, kind);
	struct reader_event as;

	if (!kernel->shows || !reader_as(event, CALLSTACK_AT, &as) ||
	    !callstack_read(stack, as.class, as.binding, as.values)) {
		return;
	}
	/* Contexts of namespaces have numbers of their own. */
	stack->tid = tid >= 0 ? tid : stack->tid;
	if (stack->tid < 0) {
		kernel->export->stacks++;
		return;
	}
	tid = processes_leader(kernel->processes, (int32_t)stack->tid);
	stack->pid = tid >= 0 ? tid : stack->pid >= 0 ? stack->pid : stack->tid;
	samples_put(kernel->samples, stack, event->ts, cpu->id);
}

static void take(struct kernel *kernel, const struct reader_event *event)
{
	struct kernel_cpu *cpu;
	enum kernel_kind kind;

	if (!event->class) {
		on_loss(kernel, event);
		return;
	}
	kind = (enum kernel_kind)kinds[event->binding->request];
	cpu = cpu_of(kernel, event->cpu);
	if (cpu) {
		put_kernel_sample(kernel, cpu, event, kind);
	}
	if (kind == KIND_PROCESS) {
		trace_kernel_process(kernel, event);
	} else if (!cpu) {
		return;
	} else if (kind == KIND_SWITCH) {
		on_switch(kernel, cpu, event);
	} else if (kind == KIND_FORK) {
		trace_kernel_fork(kernel, cpu, event);
	} else if (kind == KIND_EXEC) {
		on_exec(kernel, cpu, event);
	} else if (kind == KIND_FREE) {
		trace_kernel_free(kernel, cpu, event);
	} else if (kernel->shows) {
		show(kernel, cpu, event, kind);
	}
}

/* The range begins: shows what is known by then. */
static void begin_range(struct kernel *kernel)
{
	assert(!kernel->shows);
	kernel->shows = true;
	processes_show(kernel->processes);
	for (size_t i = 0; i < PERFETTO_CPUS_MAX; i++) {
		if (kernel->cpus[i] && kernel->cpus[i]->is_known) {
			show_running(kernel, kernel->cpus[i]);
		}
	}
}

static void read_all(struct kernel *kernel, struct reader *reader)
{
	struct reader_event event;
	struct reader_seen seen;

	while (trace_next(kernel->export, reader, &event)) {
		if (!kernel->shows && event.ts >= kernel->export->begin) {
			put_initial(kernel, kernel->export->begin);
			begin_range(kernel);
		}
		put_initial(kernel, event.ts);
		idle_departed(kernel, reader, reader_known_until(&event));
		take(kernel, &event);
	}
	reader_seen(reader, &seen);
	idle_departed(kernel, reader, seen.last);
}

int trace_write_kernel(struct perfetto *writer, struct trace_export *export, struct reader *reader,
		       struct err *err)
{
	const struct reader_setup quiet = { .path = export->setup->path };
	const struct plan *plan = reader_plan(reader);
	struct timeline *initial = timeline_build_initial(&quiet, err);
	struct kernel kernel = { .writer = writer, .export = export, .initial = initial };

	if (!initial) {
		return -EINVAL;
	}
	kernel.states = task_state_encoding(plan->metadata);
	kernel.wake_prio_offset = tracer_wake_prio_offset(plan->metadata);
	kernel.wakes = wake_source_of(plan);
	kernel.labels = mem_alloc((plan->class_count + 1) * sizeof(*kernel.labels));
	kernel.processes = processes_new(writer);
	kernel.symbols = symbols_new();
	kernel.samples = samples_new(writer, kernel.symbols);
	symbols_of_kernel(kernel.symbols, export->kernel, plan->metadata);
	read_all(&kernel, reader);
	for (size_t i = 0; i < PERFETTO_CPUS_MAX; i++) {
		if (kernel.cpus[i]) {
			writer_close(writer, &kernel.cpus[i]->block);
			free(kernel.cpus[i]);
		}
	}
	symbols_say_faults(kernel.symbols, export->setup->warn, export->setup->user);
	samples_free(kernel.samples);
	callstack_fini(&kernel.stack);
	symbols_free(kernel.symbols);
	processes_free(kernel.processes);
	writer_flush(writer);
	writer_wait(writer); /* events point to the labels */
	for (size_t i = 0; i < plan->class_count; i++) {
		free(kernel.labels[i]);
	}
	free(kernel.labels);
	open_calls_fini(&kernel.calls);
	timeline_free(initial);
	return 0;
}
