/*
 * discovery: which jobs the threads of a trace execute again and again, without being told.
 *
 *     reader ── sequences.h ──► of each thread, types of event
 *                                 ├─ turns.h     loops by where they wait for the next turn
 *                                 └─ episodes.h  what else comes again and again ──► candidates
 *
 * A turn is a job.  Beside turns, for each type as the first one, the episodes that complete nearly
 * as often as the type comes (DISCOVERY_SUPPORT of it) are candidates.  The rotations of one loop
 * are one candidate, the one with the shortest windows: it does not contain the pause of the loop.
 * Candidates that overlap for the most part are one, the one with more events; those that are part
 * of a turn, or contain its pause, are none.  Rank: the share of the thread's running time inside
 * the executions (of a turn: from the first to the last), divided by 1 + the coefficient of
 * variation of the times between their starts.
 *
 * Figures are of the executions that --job finds of the pattern that is printed
 * (deep/executions/executions.h).  What is found depends on the trace and the limits alone: the
 * search is bounded by its work, not by time.
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
	const char *who;         /* a tid or a name; NULL: sequences.h chooses threads */
	const char *start;       /* the event that jobs begin with (discovery_start); NULL: any */
	double support;          /* of episodes: share of the first type's events; 0: as usual */
	size_t support_min;      /* a job has so many executions at least; 0: as usual */
	size_t executions_max;   /* the first so many of a job count; 0: all */
	size_t threads_max;      /* so many of them, more than one */
	size_t events_max;       /* the first so many of a thread */
	uint64_t work_max;       /* of the search, for all threads (episodes.h) */
	const atomic_bool *stop; /* the search ends when this is set; NULL: never */
	uint64_t begin, end;     /* of programs.h: ns; end 0: all */
};

/* A job that was found. */
struct discovered {
	uint32_t thread;
	char *pattern; /* of its events, or a model's name */
	char *job; /* for --job and models: "NAME = PATTERN; every PERIOD [fixed]", the name its own
		    */
	size_t count;
	uint64_t period_ns; /* median of the times between starts */
	uint64_t jitter_ns; /* median distance from it */
	uint64_t every_ns;  /* of a turn: the period, if it keeps one (pace.h); 0: it does not */
	bool is_fixed;      /* ... and each point of it has its execution (pace.h) */
	uint64_t mean_ns;   /* of an execution */
	double coverage;    /* share of the thread's running time in executions, 0 to 1 */
	double variation;   /* standard deviation by mean of the times between starts */
	double rank;
};

struct discovery {
	VEC(struct discovered) at; /* by thread, as they were searched; then by rank */
	size_t threads;            /* that were searched */
	size_t threads_all;        /* that ran, or that @who means */
	bool is_cut;               /* a limit was reached: there may be more */
};

/* The event of a trace that a user calls @start: sched_in and sched_out are sched_switch, which
 * means in.  NULL: it is one of those that are left out. */
const char *discovery_start(const char *start);

/* 0, or a negative errno with the reason. */
int discovery_find(const struct reader_setup *setup, const struct timeline *timeline,
		   const struct discovery_config *config, struct discovery *ret, struct err *err);
void discovery_fini(struct discovery *discovery);

/* Whether the thread probably has a job, without a search: it is real-time, or woken periodically.
 */
bool discovery_is_likely(const struct deep_thread *thread);

/* How long the thread ran in the range. */
uint64_t discovery_run_ns(const struct timeline *timeline, uint32_t thread, uint64_t begin,
			  uint64_t end);

/* A duration as jobs take it, which the caller frees. */
char *discovery_duration(uint64_t ns);

/* ---- output (discovery-output.c) ---- */

/* Each job with its options, as `report`, `analyze` and `live` take them. */
void discovery_text(const struct discovery *discovery, const struct timeline *timeline, size_t top,
		    FILE *out);
/* One line. */
void discovery_json(const struct discovery *discovery, const struct timeline *timeline,
		    const char *path, size_t top, FILE *out);
