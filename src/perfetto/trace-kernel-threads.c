/*
 * trace-kernel-threads: wake-ups, and threads that begin, end, or are told of by the state dump.
 */
#include <string.h>

#include "perfetto/trace-kernel.h"

#define CLONE_THREAD 0x10000

/* ---- wake-ups ---- */

void trace_kernel_wake(struct kernel *kernel, struct kernel_cpu *cpu,
		       const struct reader_event *event)
{
	enum { COMM, TID, PRIO, CPU, SUCCESS };
	const struct value *v = event->values;
	struct perfetto_event *added;
	Perfetto__SchedWakingFtraceEvent *made;

	if (!wake_source_wakes(reader_i64(event, TID, 0), reader_u64(event, SUCCESS, 1))) {
		return;
	}
	added = trace_kernel_event(kernel, cpu, event->ts);
	made = &added->sched_waking;
	perfetto__sched_waking_ftrace_event__init(made);
	added->event.event_case = PERFETTO__FTRACE_EVENT__EVENT_SCHED_WAKING;
	added->event.sched_waking = made;
	if (reader_has(event, COMM)) {
		trace_name(added->names[0], &v[COMM]);
		made->comm = added->names[0];
	}
	made->has_pid = made->has_success = made->success = 1;
	made->pid = (int32_t)v[TID].i;
	made->has_prio = reader_has(event, PRIO);
	made->prio = made->has_prio ? (int32_t)v[PRIO].i - kernel->wake_prio_offset +
					      TRACE_KERNEL_PRIO_OFFSET
				    : 0;
	made->has_target_cpu = reader_has(event, CPU);
	made->target_cpu = made->has_target_cpu ? (int32_t)v[CPU].i : 0;
}

/* ---- threads ---- */

void trace_kernel_process(struct kernel *kernel, const struct reader_event *event)
{
	enum { TID, PID, PPID, NAME };
	const struct value *v = event->values;
	struct process row = { .tgid = -1, .ppid = -1 };

	if (!reader_has(event, TID) || v[TID].i == 0) {
		return;
	}
	row.tid = (int32_t)v[TID].i;
	row.tgid = reader_has(event, PID) ? (int32_t)v[PID].i : -1;
	row.ppid = reader_has(event, PPID) ? (int32_t)v[PPID].i : -1;
	if (reader_has(event, NAME)) {
		trace_name(row.name, &v[NAME]);
	}
	processes_set(kernel->processes, &row);
}

static void put_newtask(struct kernel *kernel, struct kernel_cpu *cpu, uint64_t ts,
			const struct process *row)
{
	struct perfetto_event *event = trace_kernel_event(kernel, cpu, ts);
	Perfetto__TaskNewtaskFtraceEvent *made = &event->newtask;

	perfetto__task_newtask_ftrace_event__init(made);
	event->event.event_case = PERFETTO__FTRACE_EVENT__EVENT_TASK_NEWTASK;
	event->event.task_newtask = made;
	made->has_pid = 1;
	made->pid = row->tid;
	made->comm = strcpy(event->names[0], row->name);
	made->has_clone_flags = row->tgid >= 0;
	made->clone_flags = row->tgid >= 0 && row->tgid != row->tid ? CLONE_THREAD : 0;
}

void trace_kernel_fork(struct kernel *kernel, struct kernel_cpu *cpu,
		       const struct reader_event *event)
{
	enum { PARENT, COMM, TID, PID, PARENT_PID };
	const struct value *v = event->values;
	struct process row = { .tgid = -1, .ppid = -1 };

	if (!reader_has(event, TID)) {
		return;
	}
	row.tid = (int32_t)v[TID].i;
	row.tgid = reader_has(event, PID) ? (int32_t)v[PID].i : -1;
	row.ppid = reader_has(event, PARENT_PID) ? (int32_t)v[PARENT_PID].i : -1;
	if (reader_has(event, COMM)) {
		trace_name(row.name, &v[COMM]);
	}
	if (kernel->shows) {
		trace_kernel_end_call(kernel, cpu, event->ts, row.tid); /* of the thread before */
		put_newtask(kernel, cpu, event->ts, &row);
		processes_know(kernel->processes, &row);
	} else {
		processes_set(kernel->processes, &row);
	}
}

void trace_kernel_free(struct kernel *kernel, struct kernel_cpu *cpu,
		       const struct reader_event *event)
{
	enum { COMM, TID };
	const struct value *v = event->values;
	struct perfetto_event *added;

	if (!reader_has(event, TID)) {
		return;
	}
	processes_remove(kernel->processes, (int32_t)v[TID].i);
	if (!kernel->shows) {
		return;
	}
	trace_kernel_end_call(kernel, cpu, event->ts, (int32_t)v[TID].i);
	added = trace_kernel_event(kernel, cpu, event->ts);
	perfetto__sched_process_free_ftrace_event__init(&added->free);
	added->event.event_case = PERFETTO__FTRACE_EVENT__EVENT_SCHED_PROCESS_FREE;
	added->event.sched_process_free = &added->free;
	if (reader_has(event, COMM)) {
		trace_name(added->names[0], &v[COMM]);
		added->free.comm = added->names[0];
	}
	added->free.has_pid = 1;
	added->free.pid = (int32_t)v[TID].i;
}
