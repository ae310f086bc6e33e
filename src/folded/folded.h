/*
 * folded: stacks with the time that was spent in each, or how often it was seen, for flamegraph.pl
 * and speedscope.
 *
 *     reader ── spans of programs ── folded-user.c ───┐
 *     timeline ── sleeps, their wakers ─ folded-kernel.c ┼─► tree of frames ──► "a;b;c NS" lines
 *     events with call stacks ────────── folded-samples.c ┘                    or "a;b;c COUNT"
 *
 * A line is a stack, outermost frame first, and the ns that were spent in it and in none of its
 * inner frames, or how many events had it.  Lines are sorted.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "deep/reader.h"
#include "symbols/functions.h"

struct stacks;

struct stacks *folded_new(void);
void folded_free(struct stacks *folded);
/* The frame called @name within another one; 0 is around all.  Of more than FOLDED_MAX frames those
 * that are new are "(others)" of the outermost one. */
uint32_t folded_frame(struct stacks *folded, uint32_t within, const char *name);
void folded_add(struct stacks *folded, uint32_t frame, uint64_t ns_or_count);
/* Adds a frame of another tree, and those around it there. */
uint32_t folded_copy(struct stacks *folded, uint32_t within, const struct stacks *from,
		     uint32_t frame);
/* Returns how many lines it wrote. */
size_t folded_write(struct stacks *folded, FILE *out);

/* What is folded of a trace. */
struct folded_trace {
	const struct reader_setup *setup;
	uint64_t begin, end;            /* ns; 0 and UINT64_MAX: all */
	const atomic_bool *stop;        /* set by a signal */
	bool counts_samples;            /* events by their call stacks, and no time */
	const struct functions *kernel; /* symbols_of_kernel() */
	bool has_stacks;                /* found: there are events with call stacks */
};
/* Adds its stacks.  -errno with the reason. */
int folded_take(struct stacks *folded, struct folded_trace *trace, struct err *err);

/* ---- for the files of its kinds ---- */

int folded_take_user(struct stacks *folded, const struct folded_trace *trace, struct err *err);
int folded_take_kernel(struct stacks *folded, const struct folded_trace *trace, struct err *err);
int folded_take_samples(struct stacks *folded, const struct folded_trace *trace, struct err *err);

/* Names of functions, by what the trace says of its programs in any time.  -errno with the reason.
 */
struct symbols;
int folded_symbols(const struct folded_trace *trace, struct symbols **ret, struct err *err);
/* Adds the frames of a call stack, from the outermost one on. */
struct callstack;
uint32_t folded_callstack(struct stacks *folded, uint32_t within, struct symbols *symbols,
			  const struct callstack *stack, uint64_t ts);
