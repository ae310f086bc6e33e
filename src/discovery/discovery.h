/*
 * discovery: which jobs the threads of a trace execute again and again, without being told.
 *
 *     reader ── events of each thread ──► sequences of types ── episodes.h ──► candidates ──► rank
 *
 * The sequence of a thread has the events that happen on it, by class, and those about it: it is
 * switched in, it goes to sleep or is preempted, it is woken.  Events of interrupts, timers, memory
 * and statistics are left out; they come with whatever ran at the time.
 *
 * For each type as the first one, the episodes that complete nearly as often as the type comes
 * (DISCOVERY_SUPPORT of it) are candidates.  The rotations of one loop are one candidate, the one
 * with the shortest windows: it does not contain the pause of the loop.  Candidates of a thread
 * that overlap for the most part are one, the one with more events.  Rank: the share of the
 * thread's running time inside the windows, divided by 1 + the coefficient of variation of the
 * times between their starts.
 *
 * A candidate is printed as a pattern for --job (deep/executions/executions.h).
 */
#pragma once

#include <stdio.h>

#include "deep/timeline.h"
#include "discovery/episodes.h"

struct reader_setup;

#define DISCOVERY_SUPPORT       0.9
#define DISCOVERY_SUPPORT_START 0.5 /* where a user says what jobs begin with */
#define DISCOVERY_EXECUTIONS    5   /* fewer are no job */

struct discovery_config {
	const char *who;         /* a tid or a name; NULL: the threads that ran most */
	const char *start;       /* the event that jobs begin with (discovery_start); NULL: any */
	size_t threads_max;      /* so many of them */
	size_t events_max;       /* the first so many of a thread */
	uint64_t work_max;       /* of the search, for each thread (episodes.h) */
	uint64_t time_max_ns;    /* of the search, for all threads; 0: no limit */
	const atomic_bool *stop; /* the search ends when this is set; NULL: never */
};

/* A job that was found. */
struct discovered {
	uint32_t thread;
	char *pattern; /* for --job */
	size_t count;
	uint64_t period_ns; /* median of the times between starts */
	uint64_t jitter_ns; /* median distance from it */
	uint64_t mean_ns;   /* of a window */
	double coverage;    /* share of the thread's running time in windows, 0 to 1 */
	double variation;   /* standard deviation by mean of the times between starts */
	double rank;
};

struct discovery {
	VEC(struct discovered) at; /* by thread, the one that ran most first; then by rank */
	size_t threads;            /* that were searched */
	bool is_cut;               /* a limit was reached: there may be more */
};

/* The event of a trace that a user calls @start: sched_in and sched_out are sched_switch, which
 * means in.  NULL: it is one of those that are left out. */
const char *discovery_start(const char *start);

/* 0, or a negative errno with the reason. */
int discovery_find(const struct reader_setup *setup, const struct timeline *timeline,
		   const struct discovery_config *config, struct discovery *ret, struct err *err);
void discovery_fini(struct discovery *discovery);

/* ---- output (discovery-output.c) ---- */

/* @is_named: patterns with a name, as `live` and `analyze` take them; else as `report` does. */
void discovery_text(const struct discovery *discovery, const struct timeline *timeline, size_t top,
		    bool is_named, FILE *out);
/* One line. */
void discovery_json(const struct discovery *discovery, const struct timeline *timeline,
		    const char *path, size_t top, FILE *out);
