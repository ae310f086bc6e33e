/*
 * turn: see turn.h.
 */
#include "live/session/turn.h"

#include <assert.h>

#include "base/limits.h"
#include "base/now.h"

static _Thread_local struct {
	bool is_counted;
	uint64_t ends; /* monotonic ns; 0: nobody has asked in this turn */
	uint64_t cpu;  /* processor time at its begin */
	uint64_t longest;
} turn;

void turn_begin(void)
{
	assert(!turn.is_counted);
	turn.is_counted = true;
	turn.ends = 0;
	turn.cpu = now_thread_cpu_ns();
}

void turn_end(void)
{
	uint64_t took = now_thread_cpu_ns() - turn.cpu;

	assert(turn.is_counted);
	turn.is_counted = false;
	turn.longest = took > turn.longest ? took : turn.longest;
}

bool turn_is_spent(void)
{
	uint64_t now;

	if (!turn.is_counted) {
		return false;
	}
	now = now_monotonic_ns();
	if (turn.ends == 0) {
		turn.ends = now + TURN_NS;
	}
	return now >= turn.ends;
}

uint64_t turn_longest_ns(void)
{
	return turn.longest;
}
