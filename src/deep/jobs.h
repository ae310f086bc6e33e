/*
 * jobs: executions of a pattern of events (doc/definitions.md, 6.1 and 6.2).
 *
 *     sched_waking tid=$tid; sched_in; sched_switch prev_tid=$tid, prev_state&255=1
 *
 * A pattern is a list of definitions with semicolons between.  Each is the name of an event ("*" at
 * its end matches any rest) and conditions on its fields, with commas between: F=V, F!=V, F<V,
 * F<=V, F>V, F>=V, F&MASK=V, where V is a number, a text, or $tid: the execution's thread.  A
 * definition without $tid must happen on that thread.  sched_in and sched_out are a sched_switch to
 * and from it.  An execution is the time from the first definition's event to the last one's.
 *
 * With @WHO (a tid or a name) at one of two definitions an execution goes from one thread to
 * another: "irq_handler_entry irq=36; sched_in @worker".  Then there is one at a time.
 *
 * Names of models stand for patterns: see jobs_models.
 */
#ifndef SILLAGE_DEEP_JOBS_H
#define SILLAGE_DEEP_JOBS_H

#include "deep/timeline.h"

struct reader_setup;

struct execution {
	uint32_t thread; /* of the timeline; NOBODY: the CPU was idle, and it ends in another thread
			  */
	uint32_t last;   /* where it ends: the same, or another thread */
	uint64_t begin, end;
	uint64_t outer_begin;     /* of the one that it lies in, with jobs_config.within */
	uint64_t response_ns;     /* from its arrival on; without a period from its begin */
	uint64_t ns[STATES];      /* what its thread did in it; they add up to end - begin */
	uint64_t last_ns[STATES]; /* the same of the other thread, if there is one */
};

/* What is asked for. */
struct jobs_config {
	const char *pattern;  /* or a model */
	const char *within;   /* only those that lie in an execution of this, NULL: all */
	const char *who;      /* a tid or a name; NULL: all threads */
	uint64_t deadline_ns; /* UINT64_MAX: none */
	uint64_t period_ns;   /* of their arrivals, 0: they have none */
};

struct jobs {
	const struct jobs_config *config;
	VEC(struct execution) all; /* longest first */
	uint64_t total_ns, min_ns, max_ns, median_ns, p95_ns, p99_ns;
	double deviation_ns; /* of a sample; 0 of one */
	uint64_t misses;     /* responses later than the deadline */
	uint64_t misses_run; /* most of those after each other */
	uint64_t response_max_ns;
	uint64_t jitter_ns; /* of a period: the latest begin, from its arrival on */
	uint64_t skipped;   /* arrivals without an execution between others */
	uint64_t outliers;  /* longer than the median and five times the median deviation from it */
	uint64_t ns[STATES]; /* of all */
};

/* -EINVAL with the place and what was expected there. */
int jobs_check(const char *pattern, struct err *err);

/* Executions that lie in the timeline's range; what cannot be read was said when that was built. */
int jobs_find(const struct reader_setup *setup, const struct timeline *timeline,
	      const struct jobs_config *config, struct jobs *jobs, struct err *err);
void jobs_fini(struct jobs *jobs);

/* The figures of all; brings them in order (jobs-figures.c, for jobs.c). */
void jobs_add_up(struct jobs *jobs);

/* Ends with an empty name. */
struct jobs_model {
	const char *name, *pattern, *summary;
};
extern const struct jobs_model jobs_models[];

#endif
