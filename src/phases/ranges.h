/*
 * ranges: the parts of a long trace that are worth a closer look.
 *
 *     windows ──┬─ overview_report() ─► phases and series ─┐
 *               └─ ranges_report() ──► waits, events ──────┴─ ranges_find() ─► ranges
 *
 * In turn the longest wait for a CPU, the phase that differs most from the rest, and the window
 * that differs most are taken, then the second of each.  Differences are those of the overview's
 * series: the mean of |value - mean of the trace|, each series in its own largest value, or shares
 * of time. A range is not longer than a number of events allows.  What lies in a range that was
 * taken before is another reason for that one.
 */
#pragma once

#include "phases/overview.h"

#define RANGES_MAX 5

struct range {
	uint64_t begin, end; /* ns */
	char *why;
};

struct ranges;

/* @thread: waits of this thread only (a tid or a name); NULL: of all.  It is borrowed. */
struct ranges *ranges_new(const struct overview_config *config, const char *thread);
void ranges_free(struct ranges *ranges); /* NULL is fine */

/* Adds a window of the analyses cpu and sched. */
void ranges_report(struct ranges *ranges, const struct report *report);

/* After overview_find().  Ranges are in order of time, do not overlap, and belong to @ranges; each
 * has about @events_max events at most.  Returns how many. */
size_t ranges_find(struct ranges *ranges, const struct overview *overview, uint64_t events_max,
		   const struct range **ret);
