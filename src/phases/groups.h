/*
 * groups: what processes and containers did in the newest slices: of each state the number of their
 * threads (analysis waits), and the series of those in which that changes.
 *
 *     windows ── groups_report() ──► rates by thread, state and slice ── groups_each() ──► series
 *
 * That a thread begins, ends, or is seen for the first time is no change of what its process does.
 * So a slice in which it was not there all the time, or nobody knows for what it slept, has the
 * values of the slice before; or of the first that is known, if there is none before.
 *
 * Most groups do the same throughout, and who of many waits for a CPU changes all the time.  So a
 * series is one that changes from the GROUPS_STAY slices before some point to those after it by
 * GROUPS_CHANGE, and it takes as much of a change to begin a phase (series_value.least_scale).
 */
#pragma once

#include <stddef.h>

#include "base/codec.h"
#include "engine/tables/report.h"
#include "phases/series.h"

#define GROUPS_STAY       3
#define GROUPS_CHANGE     0.5       /* of a thread's time, or of the largest value */
#define GROUPS_CELLS_MAX  (1 << 17) /* threads by slices: the first threads count; 8 MB */
#define GROUPS_SERIES_MAX 256       /* those that change most */

struct groups;

/* Slices that are held. */
struct groups_span {
	uint64_t first;
	size_t slices;
};

struct groups *groups_new(size_t room);  /* slices that are held */
void groups_free(struct groups *groups); /* NULL is fine */

/* Adds a window, which is one slice; they come in order.  Beyond those that are held the oldest
 * one is forgotten, with the threads of which nothing else is known. */
void groups_report(struct groups *groups, uint64_t slice, const struct report *report);

uint64_t groups_next(const struct groups *groups); /* the slice behind the newest one */

/* Calls @on_series for each series of some slices.  Its name, and @values, a number for each slice,
 * stay until it returns.  series_value.value is not set. */
void groups_each(struct groups *groups, const struct groups_span *span,
		 void (*on_series)(void *user, const struct series_value *series,
				   const double *values),
		 void *user);

/* Writes the state, or reads it into a new one that holds as many slices. */
void groups_codec(struct groups *groups, struct codec *codec);
