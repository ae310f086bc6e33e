/*
 * interrupts: which interrupts a CPU handles, and for how long (doc/definitions.md, 0.6 and 4.9).
 *
 *     task ──── softirq 3 ──┐        ┌── softirq 3 ── task
 *                           └ irq 28 ┘
 *
 * The entries and exits of a CPU in time order drive it.  Of each interrupt there is the time from
 * entry to exit, and its own time, without those nested in it: so each ns counts once.
 *
 * With PREEMPT_RT soft interrupts run in threads, which can be preempted:
 *
 *     ksoftirqd  entry ── preempted            goes on ── exit
 *     another                     ── runs ──
 *
 * Then the time in which their thread is not on the CPU is not theirs (interrupts_run()).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/codec.h"

#define INTERRUPTS_NEST_MAX 8 /* more than hardware nests: NMI in irq in softirq */

struct interrupt {
	uint64_t entry_ts;
	uint64_t ns;        /* before `since` */
	uint64_t since;     /* is_on: not in ns yet */
	uint64_t nested_ns; /* of those that interrupted it, while it was on */
	uint32_t number;    /* of the line, or the vector */
	int32_t tid;        /* the thread that it interrupts, or runs in; -1: unknown */
	bool is_soft;
	bool is_on; /* else its thread was preempted */
};

/* Of a CPU.  All zero: none is being handled. */
struct interrupts {
	uint32_t depth;
	struct interrupt stack[INTERRUPTS_NEST_MAX];
};

/* Drops the oldest, so that at most @most are left.  Returns how many were dropped. */
uint32_t interrupts_trim(struct interrupts *cpu, uint32_t most);

/* An interrupt begins, with these number, is_soft and tid.  Returns how many were dropped: if there
 * are too many, the exit of the oldest is missing. */
static inline uint32_t interrupts_enter(struct interrupts *cpu, uint64_t ts,
					const struct interrupt *like)
{
	uint32_t dropped = cpu->depth < INTERRUPTS_NEST_MAX
				   ? 0
				   : interrupts_trim(cpu, INTERRUPTS_NEST_MAX - 1);

	cpu->stack[cpu->depth++] = (struct interrupt){ .entry_ts = ts,
						       .since = ts,
						       .number = like->number,
						       .tid = like->tid,
						       .is_soft = like->is_soft,
						       .is_on = true };
	return dropped;
}

static inline bool interrupt_is_like(const struct interrupt *interrupt,
				     const struct interrupt *like)
{
	return interrupt->number == like->number && interrupt->is_soft == like->is_soft;
}

/* Its thread leaves the CPU, or it ends. */
static inline void interrupt_pause(struct interrupt *interrupt, uint64_t ts)
{
	interrupt->ns += ts > interrupt->since ? ts - interrupt->since : 0;
	interrupt->is_on = false;
}

/* The one at this place in the stack ends. */
static inline const struct interrupt *interrupts_end(struct interrupts *cpu, uint32_t at,
						     uint64_t ts)
{
	struct interrupt *over = &cpu->stack[at];

	cpu->depth = at;
	if (over->is_on) {
		interrupt_pause(over, ts);
	}
	if (at > 0 && cpu->stack[at - 1].is_on) {
		cpu->stack[at - 1].nested_ns += over->ns;
	}
	return over;
}

/* interrupts_leave() where it is not the newest. */
uint32_t interrupts_leave_below(struct interrupts *cpu, uint64_t ts, const struct interrupt *like,
				const struct interrupt **ret);

/* The newest with this number and is_soft ends, and those above it, which lack an exit, are
 * dropped. Its place in the stack is cpu->depth then, where it still lies, with all of its time in
 * `ns`. Returns how many exits or entries are missing.  NULL in @ret: there was none. */
static inline uint32_t interrupts_leave(struct interrupts *cpu, uint64_t ts,
					const struct interrupt *like, const struct interrupt **ret)
{
	if (cpu->depth == 0 || !interrupt_is_like(&cpu->stack[cpu->depth - 1], like)) {
		return interrupts_leave_below(cpu, ts, like, ret);
	}
	*ret = interrupts_end(cpu, cpu->depth - 1, ts);
	return 0;
}

static inline uint64_t interrupt_own_ns(const struct interrupt *interrupt)
{
	return interrupt->ns > interrupt->nested_ns ? interrupt->ns - interrupt->nested_ns : 0;
}

/* From @since on the thread runs there; where soft interrupts can be preempted. */
void interrupts_run(struct interrupts *cpu, uint64_t since, int32_t tid);

void interrupts_codec(struct codec *codec, struct interrupts *cpu);
