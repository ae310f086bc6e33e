/*
 * samples: the call stacks that events carry, which the viewer shows as samples of their thread and
 * process, and adds up to flame graphs.
 *
 * Functions, files, frames and stacks are written once, where the first sample has them.
 */
#pragma once

#include "perfetto/writer.h"
#include "symbols/callstack.h"

struct samples;

/* @symbols: for names of functions; both outlive it. */
struct samples *samples_new(struct perfetto *writer, struct symbols *symbols);
void samples_free(struct samples *samples); /* NULL is fine */

/* The stack has frames and a thread; @cpu UINT64_MAX: unknown.  Before texts of other packets are
 * interned. */
void samples_put(struct samples *samples, const struct callstack *stack, uint64_t ts, uint64_t cpu);
