/*
 * sizes: how large the buffers of a channel have to be for what comes while the reader is away.
 *
 * Each CPU has buffers of its own, a number of sub-buffers.  The tracer fills one, and goes on to
 * the next; the reader takes the full ones.  The live timer closes the one that is being filled,
 * however little it has.  What comes while nobody takes one has to fit, or it is lost:
 *
 *     count >= bytes / size + away / timer + 2      both quotients rounded up
 *
 * `bytes` come on one CPU meanwhile.  The timer leaves a sub-buffer partly empty each time.  One
 * more is being filled, and one is in the reader's hands.  Sizes and counts are powers of two, as
 * LTTng has it.  Of all that fit, the least memory is taken, in the fewest sub-buffers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Of a sub-buffer: from some pages, up to what a reader takes at once. */
#define SIZES_BYTES_MIN ((uint64_t)64 << 10)
#define SIZES_BYTES_MAX ((uint64_t)64 << 20)
#define SIZES_COUNT_MIN 4
/* Of all sub-buffers of a CPU. */
#define SIZES_CPU_MAX ((uint64_t)1 << 30)

struct sizes {
	uint64_t bytes; /* of a sub-buffer */
	uint64_t count;
};

/* False: no buffers of SIZES_CPU_MAX or less hold @bytes.  @timer_ns is not 0. */
bool sizes_fit(uint64_t bytes, uint64_t away_ns, uint64_t timer_ns, struct sizes *ret_sizes);
