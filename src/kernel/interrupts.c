/*
 * interrupts: see interrupts.h.
 */
#include "kernel/interrupts.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"

uint32_t interrupts_trim(struct interrupts *cpu, uint32_t most)
{
	uint32_t dropped = cpu->depth > most ? cpu->depth - most : 0;

	assert_hot(cpu->depth <= INTERRUPTS_NEST_MAX);
	if (dropped > 0) {
		cpu->depth = most;
		memmove(cpu->stack, cpu->stack + dropped, most * sizeof(cpu->stack[0]));
	}
	return dropped;
}

uint32_t interrupts_leave_below(struct interrupts *cpu, uint64_t ts, const struct interrupt *like,
				const struct interrupt **ret)
{
	uint32_t at = cpu->depth, depth = cpu->depth;

	assert_hot(depth <= INTERRUPTS_NEST_MAX);
	while (at > 0 && !interrupt_is_like(&cpu->stack[at - 1], like)) {
		at--;
	}
	if (at == 0) {
		*ret = NULL;
		return 1;
	}
	*ret = interrupts_end(cpu, at - 1, ts);
	return depth - at;
}

void interrupts_run(struct interrupts *cpu, uint64_t since, int32_t tid)
{
	for (uint32_t i = 0; i < cpu->depth; i++) {
		struct interrupt *interrupt = &cpu->stack[i];

		if (!interrupt->is_soft || interrupt->tid < 0) {
			continue;
		}
		if (interrupt->is_on && interrupt->tid != tid) {
			interrupt_pause(interrupt, since);
		} else if (!interrupt->is_on && interrupt->tid == tid) {
			interrupt->is_on = true;
			interrupt->since = since > interrupt->since ? since : interrupt->since;
		}
	}
}

void interrupts_codec(struct codec *codec, struct interrupts *cpu)
{
	codec_u32(codec, &cpu->depth);
	if (!codec_check(codec, cpu->depth <= INTERRUPTS_NEST_MAX)) {
		cpu->depth = 0;
	}
	for (uint32_t i = 0; i < cpu->depth; i++) {
		struct interrupt *one = &cpu->stack[i];

		codec_each(codec, &one->entry_ts, &one->ns, &one->since, &one->nested_ns,
			   &one->number, &one->tid, &one->is_soft, &one->is_on);
	}
}
