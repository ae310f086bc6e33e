/*
 * trace-kernel: what trace-kernel.c and the files of its parts share.
 */
#pragma once

#include "base/hash.h"
#include "deep/timeline.h"
#include "kernel/wake-source.h"
#include "perfetto/processes.h"
#include "perfetto/samples.h"
#include "perfetto/trace.h"

/* What an event is about; a wake-up: enum wake_event. */
enum kernel_kind {
	KIND_SWITCH = WAKE_EVENTS,
	KIND_FORK,
	KIND_EXEC,
	KIND_FREE,
	KIND_PROCESS,
	KIND_IRQ_ENTRY,
	KIND_IRQ_EXIT,
	KIND_SOFTIRQ_ENTRY,
	KIND_SOFTIRQ_EXIT,
	KIND_CALL,
	KIND_CALL_END,
	KIND_CALLSTACK, /* nothing else */
};

/* The viewer has the kernel's own priorities. */
#define TRACE_KERNEL_PRIO_OFFSET 100

struct kernel_cpu {
	uint32_t id;
	bool is_known; /* tid runs there, or "unknown" after a loss */
	bool has_left;
	int32_t tid, prio;
	bool has_prio;
	char comm[PERFETTO_NAME];
	uint64_t since;               /* it runs from then on */
	unsigned int irqs[2];         /* interrupts and softirqs that were begun and not ended */
	struct perfetto_block *block; /* the open one; NULL: none */
};

HASH_MAP(open_calls, uint8_t)

struct kernel {
	struct perfetto *writer;
	struct trace_export *export;
	const struct timeline *initial;
	size_t initial_put;
	struct kernel_cpu *cpus[PERFETTO_CPUS_MAX]; /* NULL: not seen */
	uint16_t states;
	int32_t wake_prio_offset;
	struct wake_source wakes;
	bool shows;              /* the range has begun */
	uint64_t lost_track;     /* 0: none yet */
	struct open_calls calls; /* of threads that are in one, by tid */
	char **labels;           /* "B|0|NAME" by event class; NULL: not needed yet */
	struct processes *processes;
	struct symbols *symbols;
	struct samples *samples;
	struct callstack stack;
};

/* An event of the running thread. */
struct perfetto_event *trace_kernel_event(struct kernel *kernel, struct kernel_cpu *cpu,
					  uint64_t ts);

/* Ends the open call of the thread, if it has one. */
void trace_kernel_end_call(struct kernel *kernel, struct kernel_cpu *cpu, uint64_t ts, int32_t tid);

/* ---- trace-kernel-threads.c ---- */

void trace_kernel_wake(struct kernel *kernel, struct kernel_cpu *cpu,
		       const struct reader_event *event);
void trace_kernel_process(struct kernel *kernel, const struct reader_event *event);
void trace_kernel_fork(struct kernel *kernel, struct kernel_cpu *cpu,
		       const struct reader_event *event);
void trace_kernel_free(struct kernel *kernel, struct kernel_cpu *cpu,
		       const struct reader_event *event);

/* ---- trace-kernel-irq.c ---- */

void trace_kernel_irq(struct kernel *kernel, struct kernel_cpu *cpu,
		      const struct reader_event *event, bool is_entry);
void trace_kernel_softirq(struct kernel *kernel, struct kernel_cpu *cpu,
			  const struct reader_event *event, bool is_entry);
/* Ends those that are open. */
void trace_kernel_end_interrupts(struct kernel *kernel, struct kernel_cpu *cpu, uint64_t ts);
