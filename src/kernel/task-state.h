/*
 * task-state: the state of a thread that leaves its CPU, from prev_state of sched_switch.
 *
 * The encoding depends on the kernel's release and on the tracer's version, which the trace's
 * environment names (doc/definitions.md, 0.5).  Every prev_state means exactly one of: ended,
 * sleeps, preempted, or none of these, which is a thread that left the CPU but can run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctf/metadata/type.h"

enum {
	TASK_STATES_4_14,
	TASK_STATES_4_14_RAW, /* the kernel's own, as before 4.14, by tracers that are older */
	/* Older encodings differ in the bit that marks a preempted thread. */
	TASK_STATES_4_8,
	TASK_STATES_4_2,
	TASK_STATES_3_9,
	TASK_STATES_3_2,
	TASK_STATES_OLDEST,
	TASK_STATES_COUNT,
};

/* Bits of prev_state. */
struct task_states {
	uint16_t dead;   /* any of them, and it does not wait */
	uint16_t sleeps; /* any of them, else */
	uint16_t parked; /* exactly that one: it sleeps */
	/* With a wait: an idle kernel thread, or one that waits for a core dump. */
	uint16_t no_load;
	/* What can run was preempted; kernels without preemption do not set it. */
	uint16_t preempted;
};

extern const struct task_states task_states[TASK_STATES_COUNT];

#define TASK_WAITS 3 /* interruptible or not, in all encodings */

/* One of the above, by kernel and tracer; the newest if the trace names none. */
uint16_t task_state_encoding(const struct metadata *metadata);
/* Whether the kernel has PREEMPT_RT: soft interrupts run in threads, which can be preempted. */
bool task_state_is_rt(const struct metadata *metadata);

/* Whether a thread that leaves the CPU in this state has ended. */
static inline bool task_state_is_dead(uint64_t prev_state, uint16_t states)
{
	return (prev_state & task_states[states].dead) && !(prev_state & TASK_WAITS);
}

/* The bits that the states of sleeping threads have, one of them at least, and those of the others
 * that do not end have not. */
static inline uint64_t task_state_sleep_bits(uint16_t states)
{
	return task_states[states].sleeps;
}

/* Whether it cannot run before something happens. */
static inline bool task_state_sleeps(uint64_t prev_state, uint16_t states)
{
	const struct task_states *bits = &task_states[states];

	return !task_state_is_dead(prev_state, states) &&
	       ((prev_state & task_state_sleep_bits(states)) ||
		(prev_state == bits->parked && bits->parked != 0));
}

/* Whether it sleeps, but in no wait of its own: stopped, traced, parked, or for a core dump. */
static inline bool task_state_is_stopped(uint64_t prev_state, uint16_t states)
{
	bool waits = (prev_state & TASK_WAITS) && !(prev_state & task_states[states].no_load);

	return task_state_sleeps(prev_state, states) && !waits;
}

/* Whether a signal, or who traces it, has stopped it. */
static inline bool task_state_is_halted(uint64_t prev_state, uint16_t states)
{
	enum { STOPPED = 4, TRACED = 8 }; /* in all encodings */

	return task_state_sleeps(prev_state, states) && !(prev_state & TASK_WAITS) &&
	       (prev_state & (STOPPED | TRACED));
}

static inline bool task_state_is_preempted(uint64_t prev_state, uint16_t states)
{
	return (prev_state & task_states[states].preempted) &&
	       !task_state_is_dead(prev_state, states) && !task_state_sleeps(prev_state, states);
}

/* The same state as tracers write it that know the kernel. */
static inline uint64_t task_state_of_kernel(uint64_t prev_state, uint16_t states)
{
	enum { ENDED = 0x10, IDLE = 0x80, PREEMPTED = 0x100 };

	if (states != TASK_STATES_4_14_RAW) {
		return prev_state;
	}
	if (task_state_is_dead(prev_state, states)) {
		return ENDED;
	}
	if (task_state_is_preempted(prev_state, states)) {
		return PREEMPTED;
	}
	return task_state_is_stopped(prev_state, states) && (prev_state & TASK_WAITS)
		       ? IDLE
		       : prev_state & task_states[states].sleeps;
}
