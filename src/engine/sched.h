/*
 * sched: how the kernel encodes the state of a thread that is switched out.
 *
 * prev_state of sched_switch changed with Linux 4.14; the release is in the trace's
 * environment (analyses reference, section 0.5).
 */
#ifndef SILLAGE_ENGINE_SCHED_H
#define SILLAGE_ENGINE_SCHED_H

#include <stdbool.h>
#include <stdint.h>

#include "ctf/type.h"

enum { SCHED_STATES_4_14, SCHED_STATES_OLD };

uint16_t sched_states_of(const struct metadata *metadata);

/* Whether a thread that leaves the CPU in this state has ended. */
static inline bool sched_is_dead(uint64_t prev_state, uint16_t states)
{
	if (states == SCHED_STATES_4_14) {
		return prev_state & 0x30;
	}
	return (prev_state & 0x70) && !(prev_state & 3);
}

#endif
