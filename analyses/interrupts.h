/*
 * interrupts: the worker's half of what follows the interrupts of CPUs (kernel/interrupts.h).
 *
 * A CPU is an entity of the analysis.  On a kernel with PREEMPT_RT its records also say which
 * thread came to the CPU, once for each time on it that has an interrupt's record or ends:
 * INTERRUPT_STAY.
 */
#pragma once

#include "engine/contract/handler.h"
#include "kernel/interrupts.h"

enum interrupt_record {
	INTERRUPT_ENTRY = RECORD_OWN, /* arg64: the number; arg32: the thread */
	INTERRUPT_EXIT,               /* arg64: the number */
	INTERRUPT_STAY,               /* arg64: since when; arg32: the thread */
	INTERRUPT_LOST,               /* events are missing */
	INTERRUPT_KINDS
};
#define INTERRUPT_SOFT 1 /* in arg16 */

/* State of a worker, zeroed when a chunk begins. */
struct interrupt_stays {
	uint64_t since; /* of the time on the CPU that is going on */
	bool is_told;
};

static inline struct record *interrupt_emit(struct worker *worker, uint64_t ts, unsigned int kind,
					    uint32_t flags, uint64_t number)
{
	struct record *record = worker_emit_entity(worker, ts, worker_cpu(worker), kind);

	record->arg16 = (uint16_t)flags;
	record->arg64 = number;
	return record;
}

static inline void interrupt_stay(struct worker *worker, struct interrupt_stays *stays, uint64_t ts)
{
	if (worker_preempts_softirqs(worker) && worker_sees_switches(worker) && !stays->is_told) {
		worker_note_current(worker,
				    interrupt_emit(worker, ts, INTERRUPT_STAY, 0, stays->since));
		stays->is_told = true;
	}
}

/* on_oncpu_end() of the analysis, which has oncpu_end_is_for_rt. */
static inline void interrupt_stay_ends(struct worker *worker, struct interrupt_stays *stays,
				       uint64_t ts, bool is_window)
{
	if (!is_window) {
		interrupt_stay(worker, stays, ts);
		*stays = (struct interrupt_stays){ .since = ts };
	}
}

#define INTERRUPT_SOFTIRQ(event_, handler, ...)                                                    \
	{ "irq_softirq_" event_, { "vec" }, handler, INTERRUPT_SOFT, __VA_ARGS__ },                \
	{                                                                                          \
		"softirq_" event_, { "vec" }, handler, INTERRUPT_SOFT, __VA_ARGS__                 \
	}
