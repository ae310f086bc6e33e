/*
 * sched: how the kernel encodes the state of a thread that is switched out.
 *
 * prev_state of sched_switch changed with Linux 4.14; the release is in the trace's
 * environment (doc/definitions.md, 0.5).
 */
#ifndef SILLAGE_KERNEL_TASK_STATE_H
#define SILLAGE_KERNEL_TASK_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "ctf/metadata/type.h"

enum {
	TASK_STATES_4_14,
	/* Those before differ in what says that a thread was preempted. */
	TASK_STATES_4_8,
	TASK_STATES_4_2,
	TASK_STATES_3_9,
	TASK_STATES_3_2,
	TASK_STATES_OLDEST,
};

uint16_t task_state_encoding(const struct metadata *metadata);

/* Whether a thread that leaves the CPU in this state has ended. */
static inline bool task_state_is_dead(uint64_t prev_state, uint16_t states)
{
	if (states == TASK_STATES_4_14) {
		return prev_state & 0x30;
	}
	return (prev_state & 0x70) && !(prev_state & 3);
}

/* Whether it waits for something, and cannot run before that has come. */
static inline bool task_state_sleeps(uint64_t prev_state, uint16_t states)
{
	if (task_state_is_dead(prev_state, states)) {
		return false;
	}
	if (states == TASK_STATES_4_14) {
		return prev_state & 0xCF;
	}
	return (prev_state & 0x8F) || (prev_state == 512 && states <= TASK_STATES_3_9);
}

/* Whether it was made to leave; kernels without preemption do not say. */
static inline bool task_state_is_preempted(uint64_t prev_state, uint16_t states)
{
	static const uint16_t marks[] = {
		[TASK_STATES_4_14] = 0x100, [TASK_STATES_4_8] = 4096, [TASK_STATES_4_2] = 2048,
		[TASK_STATES_3_9] = 1024,   [TASK_STATES_3_2] = 512,  [TASK_STATES_OLDEST] = 0,
	};

	return (prev_state & marks[states]) && !task_state_is_dead(prev_state, states) &&
	       !task_state_sleeps(prev_state, states);
}

#endif
