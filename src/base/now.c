/*
 * now: see now.h.
 */
#include "base/now.h"

#include <time.h>

#include "base/limits.h"
#include "base/units.h"

static uint64_t read_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t now_monotonic_ns(void)
{
	return read_ns(CLOCK_MONOTONIC);
}

uint64_t now_wall_ns(void)
{
	return read_ns(CLOCK_REALTIME);
}

uint64_t now_thread_cpu_ns(void)
{
	return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

_Atomic uint64_t now_leave_at_ns;
atomic_bool now_has_left;

void now_leave_soon(void)
{
	uint64_t none = 0;

	(void)atomic_compare_exchange_strong(&now_leave_at_ns, &none,
					     now_monotonic_ns() + STOP_PATIENCE_NS);
}

/* When the signal came; 0: none did. */
static uint64_t signal_ns(void)
{
	uint64_t leave_at = atomic_load(&now_leave_at_ns);

	return leave_at != 0 ? leave_at - STOP_PATIENCE_NS : 0;
}

bool now_must_end(void)
{
	uint64_t since = signal_ns();

	return since != 0 && now_monotonic_ns() >= since + STOP_LAST_NS;
}

bool now_must_hang_up(uint64_t heard)
{
	uint64_t since = signal_ns();

	return now_must_end() ||
	       (since != 0 &&
		now_monotonic_ns() >= (heard > since ? heard : since) + STOP_SILENCE_NS);
}
