/*
 * coverage: which time of a trace its packets cover, and where the holes in it are.
 *
 *     stream 0   |---packet---||--packet--|                       |--packet--|
 *     stream 1        |-------packet-------|                   |---packet---|
 *     covered    |-------------------------|                   |-------------|
 *                                          |-- hole, > HOLE_NS --|
 *                                        begin                   since
 *
 * A hole is a maximal time of more than HOLE_NS that no packet of any stream covers
 * (doc/definitions.md, 0.8).  Intervals are added in any order.  Those that begin later than is
 * asked for wait in a heap, the earliest first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct coverage_interval {
	uint64_t begin, end; /* ns */
};

struct coverage {
	VEC(struct coverage_interval) ahead; /* a heap by begin */
	uint64_t since, until;               /* ns: the last stretch without a hole, so far */
	bool has_any;                        /* else there is no such stretch yet */
	bool is_open;                        /* a hole that begins at `until` was returned */
};

void coverage_fini(struct coverage *coverage);

/* Shorter times between two intervals do not matter: they may be one that covers both. */
void coverage_add(struct coverage *coverage, uint64_t begin, uint64_t end);

/*
 * The next hole, in time order; false: there is none up to @known.  All intervals that begin before
 * @known have been added.  UINT64_MAX: all there are; what follows the last one is no hole.
 */
bool coverage_next_hole(struct coverage *coverage, uint64_t known, uint64_t *ret_begin);

/* Whether it is known if a hole contains the time just before @ts, which is at most what the last
 * coverage_next_hole() was asked for. */
bool coverage_is_decided(const struct coverage *coverage, uint64_t ts);
