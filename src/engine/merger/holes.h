/*
 * holes: time that no packet of the trace covers (ctf/coverage.h).
 *
 *     streams      |--chunk--|                              |--chunk--|
 *                     |--chunk--|                        |--chunk--|
 *                               a            hole        b
 *     CPUs         known .......| unknown ...................... next evidence
 *     rounds       ............ |a: all threads may have done anything
 *
 * From the begin of a hole on, each CPU is unknown up to its next evidence, as after a gap.  What
 * threads and entities have open is treated as at a gap (tables_lose()): a round ends there, as at
 * a rename.
 *
 * A hole is known once the watermark has passed its end, or has gone more than HOLE_NS beyond its
 * begin.  Until then nothing after it is decided:
 *
 *   - a chunk that begins more than HOLE_NS after the one before waits to be stitched until the
 *     watermark reaches it: what ran at its begin depends on what other streams cover;
 *   - a window that ends in uncovered time waits until that is known to be a hole or not.
 *
 * So it does not matter which windows there are, or what came first.  The coordinator cuts chunks
 * so that none contains such a time.
 *
 * A trace without sched_switch has no holes: programs may be silent for any time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct merger;
struct merger_stream;

/* Stitches what the stream has, as far as no hole can be before it; with all streams known up to
 * @known. */
void holes_stitch(struct merger_stream *stream, uint64_t known);

/* All streams are known up to @known: finds holes, and stitches what comes before and after. */
void holes_advance(struct merger *merger, uint64_t known);

/* Whether there was a hole after @ts, as far as is known. */
bool holes_had_one_since(const struct merger *merger, uint64_t ts);

/* Whether it is known what goes on up to @ts, so that a window may end there. */
bool holes_are_decided(const struct merger *merger, uint64_t ts);

/* Whether a round up to @bound has to stop at the next hole, and where. */
bool holes_is_next(const struct merger *merger, uint64_t bound);
uint64_t holes_bound(const struct merger *merger);
/* All records before the hole are applied: applies it. */
void holes_apply(struct merger *merger);
