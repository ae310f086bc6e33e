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

uint32_t interrupts_enter(struct interrupts *cpu, uint64_t ts, const struct interrupt *like)
{
	uint32_t dropped = interrupts_trim(cpu, INTERRUPTS_NEST_MAX - 1);

	cpu->stack[cpu->depth++] = (struct interrupt){ .entry_ts = ts,
						       .since = ts,
						       .number = like->number,
						       .tid = like->tid,
						       .is_soft = like->is_soft,
						       .is_on = true };
	return dropped;
}

static void pause_at(struct interrupt *interrupt, uint64_t ts)
{
	interrupt->ns += ts > interrupt->since ? ts - interrupt->since : 0;
	interrupt->is_on = false;
}

uint32_t interrupts_leave(struct interrupts *cpu, uint64_t ts, const struct interrupt *like,
			  const struct interrupt **ret)
{
	uint32_t at = cpu->depth, dropped;
	struct interrupt *over;

	assert_hot(cpu->depth <= INTERRUPTS_NEST_MAX);
	while (at > 0 && (cpu->stack[at - 1].is_soft != like->is_soft ||
			  cpu->stack[at - 1].number != like->number)) {
		at--;
	}
	*ret = NULL;
	if (at == 0) {
		return 1;
	}
	dropped = cpu->depth - at;
	cpu->depth = at - 1;
	over = &cpu->stack[cpu->depth];
	if (over->is_on) {
		pause_at(over, ts);
	}
	if (cpu->depth > 0 && cpu->stack[cpu->depth - 1].is_on) {
		cpu->stack[cpu->depth - 1].nested_ns += over->ns;
	}
	*ret = over;
	return dropped;
}

void interrupts_run(struct interrupts *cpu, uint64_t since, int32_t tid)
{
	for (uint32_t i = 0; i < cpu->depth; i++) {
		struct interrupt *interrupt = &cpu->stack[i];

		if (!interrupt->is_soft || interrupt->tid < 0) {
			continue;
		}
		if (interrupt->is_on && interrupt->tid != tid) {
			pause_at(interrupt, since);
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
