/*
 * task-state: the state of a thread that leaves its CPU, from prev_state of sched_switch.
 *
 * The encoding depends on the kernel's release, which the trace's environment names
 * (doc/definitions.md, 0.5).  Every prev_state means exactly one of: ended, sleeps, preempted, or
 * none of these, which is a thread that left the CPU but can run.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctf/metadata/type.h"

enum {
	TASK_STATES_4_14,
	/* Older encodings differ in the bit that marks a preempted thread. */
	TASK_STATES_4_8,
	TASK_STATES_4_2,
	TASK_STATES_3_9,
	TASK_STATES_3_2,
	TASK_STATES_OLDEST,
};

/* One of the above, by the kernel's release; the newest if the trace names none. */
uint16_t task_state_encoding(const struct metadata *metadata);

/* Whether a thread that leaves the CPU in this state has ended. */
static inline bool task_state_is_dead(uint64_t prev_state, uint16_t states)
{
	if (states == TASK_STATES_4_14) {
		return prev_state & 0x30;
	}
	return (prev_state & 0x70) && !(prev_state & 3);
}

/* The bits that the states of sleeping threads have, one of them at least, and those of the others
 * that do not end have not. */
static inline uint64_t task_state_sleep_bits(uint16_t states)
{
	return states == TASK_STATES_4_14 ? 0xCF : 0x8F;
}

/* Whether it waits for an event and cannot run before that. */
static inline bool task_state_sleeps(uint64_t prev_state, uint16_t states)
{
	if (task_state_is_dead(prev_state, states)) {
		return false;
	}
	return (prev_state & task_state_sleep_bits(states)) ||
	       (prev_state == 512 && states != TASK_STATES_4_14 && states <= TASK_STATES_3_9);
}

/* Whether it was preempted; kernels without preemption do not set the bit. */
static inline bool task_state_is_preempted(uint64_t prev_state, uint16_t states)
{
	static const uint16_t marks[] = {
		[TASK_STATES_4_14] = 0x100, [TASK_STATES_4_8] = 4096, [TASK_STATES_4_2] = 2048,
		[TASK_STATES_3_9] = 1024,   [TASK_STATES_3_2] = 512,  [TASK_STATES_OLDEST] = 0,
	};

	return (prev_state & marks[states]) && !task_state_is_dead(prev_state, states) &&
	       !task_state_sleeps(prev_state, states);
}
