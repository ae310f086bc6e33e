/*
 * clock: cycles of a trace's clock <-> ns since the epoch, exactly.
 *
 * ns = offset_s * 10^9 + (offset + cycles) * 10^9 / freq, rounded down.  The arithmetic has 128
 * bits, so no frequency drifts and no offset overflows; results are clamped to uint64_t.  A clock
 * of 1 GHz, as LTTng writes it, takes one addition.
 *
 * clock_cycles() is the inverse: clock_ns(clock_cycles(ns)) >= ns, and the cycle before is earlier.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"
#include "ctf/metadata/type.h"

struct clock {
	uint64_t freq;
	__int128 offset_cycles; /* the whole offset, in cycles */
	uint64_t base_ns;       /* is_simple: ns = cycles + base_ns */
	bool is_simple;
};

/* @class NULL: a stream without a clock; its cycles count as ns. */
static inline void clock_init(struct clock *clock, const struct clock_class *class)
{
	assert(!class || class->freq > 0);
	clock->freq = class ? class->freq : 1000000000;
	clock->offset_cycles =
		class ? (__int128)class->offset_s * (__int128)class->freq + class->offset : 0;
	clock->is_simple = clock->freq == 1000000000 && clock->offset_cycles >= 0 &&
			   clock->offset_cycles < INT64_MAX;
	clock->base_ns = clock->is_simple ? (uint64_t)clock->offset_cycles : 0;
}

static inline uint64_t clock_ns(const struct clock *clock, uint64_t cycles)
{
	__int128 total;

	assert_hot(clock->freq > 0); /* clock_init() was called */
	if (clock->is_simple && cycles < INT64_MAX) {
		return cycles + clock->base_ns;
	}
	total = clock->offset_cycles + (__int128)cycles;
	if (total <= 0) {
		return 0;
	}
	/* Seconds and the rest separately: the product fits for any frequency. */
	total = total / (__int128)clock->freq * 1000000000 +
		total % (__int128)clock->freq * 1000000000 / (__int128)clock->freq;
	return total > (__int128)(UINT64_MAX - 1) ? UINT64_MAX - 1 : (uint64_t)total;
}

/* The first cycle whose time is at least @ns. */
static inline uint64_t clock_cycles(const struct clock *clock, uint64_t ns)
{
	__int128 seconds = ns / 1000000000, rest = ns % 1000000000;
	__int128 total = seconds * (__int128)clock->freq +
			 (rest * (__int128)clock->freq + 999999999) / 1000000000 -
			 clock->offset_cycles;

	if (total <= 0) {
		return 0;
	}
	return total > (__int128)UINT64_MAX ? UINT64_MAX : (uint64_t)total;
}
