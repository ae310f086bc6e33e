/*
 * cpus-check: the invariants of CPU stitching; see cpus.h.
 */
#include <assert.h>

#include "engine/merger/cpus.h"
#include "engine/merger/merger-state.h"

static bool segments_in_order(const struct cpu *cpu)
{
	uint64_t end = 0;

	for (size_t i = cpu->segments_used; i < cpu->segments.count; i++) {
		const struct segment *segment = &cpu->segments.at[i];

		if (segment->begin < end || segment->end < segment->begin) {
			return false;
		}
		end = segment->end;
	}
	return end <= cpu->since;
}

static bool changes_in_order(const struct cpu *cpu)
{
	for (size_t i = 1; i < cpu->running.count; i++) {
		if (cpu->running.at[i].ts < cpu->running.at[i - 1].ts) {
			return false;
		}
	}
	return true;
}

/* Whether a partial of the owner waits for the initial thread although that is decided. */
static bool any_waits(const struct cpu *cpu)
{
	for (size_t i = 0; cpu->state != CPU_INITIAL && i < cpu->owner->ready.count; i++) {
		if (cpu->owner->ready.at[i]->waits) {
			return true;
		}
	}
	return false;
}

bool cpus_is_sound(const struct cpu *cpu)
{
	return segments_in_order(cpu) && changes_in_order(cpu) && (!cpu->owner || !any_waits(cpu));
}

void cpus_check(const struct cpu *cpu)
{
	assert(cpu->owner->cpu == cpu);
	assert(cpu->owner->owns_cpu);
	assert(cpu->segments_used <= cpu->segments.count);
	assert(segments_in_order(cpu));
	assert(changes_in_order(cpu));
	assert(!any_waits(cpu));
}
