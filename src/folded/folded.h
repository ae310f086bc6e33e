/*
 * folded: stacks with the time that was spent in each, for flamegraph.pl and speedscope.
 *
 *     reader ── spans of programs ── folded-user.c ───┐
 *     timeline ── sleeps, their wakers ─ folded-kernel.c ┴─► tree of frames ──► "a;b;c NS" lines
 *
 * A line is a stack, outermost frame first, and the ns that were spent in it and in none of its
 * inner frames.  Lines are sorted.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "deep/reader.h"

struct stacks;

struct stacks *folded_new(void);
void folded_free(struct stacks *folded);
/* The frame called @name within another one; 0 is around all.  Of more than FOLDED_MAX frames those
 * that are new are "(others)" of the outermost one. */
uint32_t folded_frame(struct stacks *folded, uint32_t within, const char *name);
void folded_add(struct stacks *folded, uint32_t frame, uint64_t ns);
/* Returns how many lines it wrote. */
size_t folded_write(struct stacks *folded, FILE *out);

/* What is folded of a trace. */
struct folded_trace {
	const struct reader_setup *setup;
	uint64_t begin, end;     /* ns; 0 and UINT64_MAX: all */
	const atomic_bool *stop; /* set by a signal */
};
/* Adds its stacks.  -errno with the reason. */
int folded_take(struct stacks *folded, const struct folded_trace *trace, struct err *err);

/* ---- for folded-user.c and folded-kernel.c ---- */

int folded_take_user(struct stacks *folded, const struct folded_trace *trace, struct err *err);
int folded_take_kernel(struct stacks *folded, const struct folded_trace *trace, struct err *err);
