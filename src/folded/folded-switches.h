/*
 * folded-switches: the call stacks with which threads left their CPUs.
 */
#pragma once

#include "folded/folded.h"

struct switch_stacks;

/* Of all switches of the trace that have one; NULL with the reason. */
struct switch_stacks *switch_stacks_read(const struct folded_trace *trace, struct err *err);
void switch_stacks_free(struct switch_stacks *stacks); /* NULL is fine */

/* Whether the thread left its CPU at that time with a stack, and which one. */
bool switch_stacks_find(const struct switch_stacks *stacks, int32_t tid, uint64_t ts,
			uint32_t *ret_stack);
/* Adds its frames. */
uint32_t switch_stacks_frame(const struct switch_stacks *stacks, uint32_t stack,
			     struct stacks *folded, uint32_t within);
