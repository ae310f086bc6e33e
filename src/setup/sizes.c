/*
 * sizes: see sizes.h.
 */
#include "setup/sizes.h"

#include <assert.h>

static uint64_t quotient(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

static uint64_t power_from(uint64_t number)
{
	uint64_t power = SIZES_COUNT_MIN;

	while (power < number) {
		power *= 2;
	}
	return power;
}

bool sizes_fit(uint64_t bytes, uint64_t away_ns, uint64_t timer_ns, struct sizes *ret_sizes)
{
	uint64_t least = SIZES_CPU_MAX, timers;
	bool fits = false;

	assert(timer_ns > 0);
	timers = quotient(away_ns, timer_ns);
	for (uint64_t size = SIZES_BYTES_MIN; size <= SIZES_BYTES_MAX; size *= 2) {
		uint64_t full = quotient(bytes, size), most = SIZES_CPU_MAX / size, count;

		if (full > most || timers > most) {
			continue;
		}
		count = power_from(full + timers + 2);
		if (count * size <= least) {
			least = count * size;
			*ret_sizes = (struct sizes){ .bytes = size, .count = count };
			fits = true;
		}
	}
	return fits;
}
