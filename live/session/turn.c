/*
 * turn: see turn.h.
 */
#include "live/session/turn.h"

#include <assert.h>

#include "base/limits.h"
#include "base/now.h"

static _Thread_local struct {
	uint64_t ends; /* monotonic ns; 0: no turn is counted */
	uint64_t cpu;  /* processor time at its begin */
	uint64_t longest;
} turn;

void turn_begin(void)
{
	assert(turn.ends == 0);
	turn.ends = now_monotonic_ns() + TURN_NS;
	turn.cpu = now_thread_cpu_ns();
}

void turn_end(void)
{
	uint64_t took = now_thread_cpu_ns() - turn.cpu;

	assert(turn.ends != 0);
	turn.ends = 0;
	turn.longest = took > turn.longest ? took : turn.longest;
}

bool turn_is_spent(void)
{
	return turn.ends != 0 && now_monotonic_ns() >= turn.ends;
}

uint64_t turn_longest_ns(void)
{
	return turn.longest;
}
