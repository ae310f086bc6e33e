/*
 * executions: those of a user's pattern of events (doc/definitions.md, 6.1 and 6.2).
 *
 *     executions-pattern.c   a pattern to requests; what an event is of it
 *     executions.c           finds executions in a trace
 *     executions-across.c    the same of those that go over threads
 *     executions-named.c     names of ids, and the rows that they give
 *     executions-within.c    those that lie in executions of another pattern
 *     executions-figures.c   their statistics
 *     executions-slow.c      what the slowest tenth of them has more of
 *     owners.c, arrivals.c   who had a tid, and when executions arrived
 *
 *     sched_waking tid=$tid; sched_in; sched_switch prev_tid=$tid, prev_state&255=1
 *
 * A pattern is a list of definitions (query/pattern.h), separated by semicolons.  An execution is
 * the time from the event of the first definition to the event of the last one, on one thread:
 * conditions name it as $tid, and a definition without $tid must happen on it.  sched_in and
 * sched_out are a sched_switch to and from that thread.
 *
 * If one of exactly two definitions has @WHO (tids, names, patterns), or they have keys ("by"), an
 * execution goes from one thread to another: "irq_handler_entry irq=36; sched_in @worker".  Such
 * executions overlap only by keys.
 *
 * Each thread has a machine that counts the definitions matched so far:
 *
 *     0 ── first event ──> 1 ── second event ──> ... ── last event ──> execution, 0
 *     any ── gap on its CPU ──> 0                            counted (cut)
 *     any ── the thread ends, or the range ──> 0             open execution
 */
#pragma once

#include "base/arena.h"
#include "deep/executions/arrivals.h"
#include "deep/path.h"
#include "deep/timeline.h"
#include "query/diff/diff.h"
#include "query/job.h"

struct reader_setup;

struct states_ns {
	uint64_t ns[STATES];
};

/* A trace may have millions of them. */
struct execution {
	/* Where it begins, and ends: another thread, or NOBODY (on an idle CPU, or it is not
	 * known), only if executions go over threads. */
	uint32_t thread, last;
	uint32_t of_last; /* index into executions.of_last, if it ends on another thread */
	uint32_t group;   /* its thread; 0 if executions go over threads */
	int32_t urgency;  /* of its thread (deep_thread.urgency) */
	bool is_open;
	bool is_abandoned; /* it is open, and its thread has ended */
	bool is_missed;    /* its response is longer than the deadline */
	bool is_doubted;   /* another one of its thread may have begun since the one before */
	uint64_t begin, end;
	uint64_t outer_begin; /* with executions_config.within: start of the execution around it */
	uint64_t response_ns; /* from its arrival to its end */
	const char *by;       /* its keys, as in `texts`; NULL: it has none */
	struct executions_row *row; /* NULL: the job has no group */
	uint32_t
		differences; /* index into executions.differences plus one; 0: there is no "diff" */
	struct arrival arrival;
	uint64_t ns[STATES]; /* states of its thread; they add up to end - begin */
};

typedef VEC(struct execution *) execution_list;

/* What the user wants. */
struct executions_config {
	const struct job_spec *job;     /* its pattern */
	const struct job_spec *within;  /* only executions inside one of its; NULL: all */
	const char *who;                /* a tid or a name; NULL: all threads */
	uint64_t deadline_ns;           /* UINT64_MAX: none */
	uint64_t period_ns;             /* of their arrivals; 0: none */
	bool is_fixed;                  /* ... each of which has its execution (release_point()) */
	uint64_t most;                  /* only the first so many that end; 0: all */
	const struct label_set *labels; /* of the job; NULL: none */
};

struct executions_figures {
	/* Of the executions that have ended. */
	uint64_t count, total_ns, min_ns, max_ns, median_ns, p95_ns, p99_ns;
	double deviation_ns; /* standard deviation of a sample; 0 for a single execution */
	uint64_t outliers;   /* longer than the median plus five median deviations */
	uint64_t ns[STATES]; /* sums */
	/* Of open ones, too. */
	uint64_t open;       /* how many these are */
	uint64_t abandoned;  /* of them: whose thread has ended */
	uint64_t misses;     /* responses later than the deadline, of open ones so far */
	uint64_t misses_run; /* the longest run of consecutive misses of a thread */
	uint64_t response_max_ns;
	uint64_t jitter_ns; /* the maximum delay from arrival to start */
	uint64_t skipped;   /* arrivals without an execution */
	uint64_t arrivals[ARRIVALS];
};

/* Of a field of "diff", over all executions that have ended. */
struct executions_difference {
	uint64_t measured, total, largest; /* a total ends at 2^64 - 1 */
};

/* When a thread executes. */
struct executions_span {
	uint32_t thread;
	struct path_span is;
};

/* An execution that others lie in. */
struct executions_outer {
	uint32_t thread, last; /* as in struct execution */
	bool is_open;
	uint64_t begin, end;
	uint64_t count, inner_ns; /* of those in it: how many, and the sum of their durations */
};

/* The executions of one thread. */
struct executions_group {
	uint32_t thread;
	int32_t urgency;
	struct executions_figures sum;
};

/* The values of what a job is grouped by: numbers of texts; 0: none of its events had the field. */
struct executions_items {
	uint32_t at[LABEL_GROUP_MAX];
};

/* The executions with the same values: "GET", or with a label "on_timer". */
struct executions_row {
	struct executions_items items;
	char *name;
	struct executions_figures sum; /* but for misses_run, skipped and arrivals */
};

struct executions {
	const struct executions_config *config;
	struct arena texts;        /* of keys */
	VEC(struct execution) all; /* in the order in which they end */
	/* Begun and not ended: they end where their thread or the range ends. */
	VEC(struct execution) open;
	/* All, and open ones, the longest first.  With a period or a deadline: of real-time threads
	 * first, of these what missed it, then by the urgency of the thread, then by response. */
	execution_list worst, worst_open;
	VEC(struct states_ns) of_last; /* of the threads where executions end, if they are others */
	VEC(struct diff_values) differences; /* of those that ended, with "diff" */
	struct executions_difference differed[EXPRESSION_DIFFS_MAX]; /* by its fields */
	uint64_t cut;        /* open where events are missing: dropped, they may have ended there */
	uint64_t outside;    /* in user space, begun before or after the kernel's trace */
	uint64_t overlapped; /* events that would begin one while the thread's is open */
	uint64_t dropped;    /* over threads: open when there were too many */
	uint64_t forgotten;  /* names of threads, of which there were too many */
	uint64_t names_forgotten; /* the same of ids */
	uint64_t unwanted;        /* began in the range, and "only" leaves them out */
	/* With executions_config.within: those around them, the longest first. */
	VEC(struct executions_outer) outer;
	/* What no thread came to, if none executed the whole pattern: an event of it, counted from
	 * 1 on; 0: some did */
	size_t missing;
	char *missing_event;
	bool is_missing_within; /* it is of the pattern that executions lie in */
	struct executions_figures sum;
	uint64_t tenth_ns; /* the shortest of the tenth that took longest; of none: 0 */
	/* In the same order, then most misses, then most time.  Executions between
	 * threads (@) are one group. */
	VEC(struct executions_group) groups;
	VEC(struct executions_row *) rows; /* of a job with "group", most time first */
	VEC(struct executions_span) spans; /* of all and open ones, by thread and begin */
};

/* Finds the executions that lie in the timeline's range.  What cannot be read was reported when the
 * timeline was built. */
int executions_find(const struct reader_setup *setup, const struct timeline *timeline,
		    const struct executions_config *config, struct executions *executions,
		    struct err *err);
void executions_fini(struct executions *executions);

/* The @most worst executions, open ones too; returns how many. */
size_t executions_worst(const struct executions *executions, const struct execution **worst,
			size_t most);

/* What counters counted in it; NULL: nothing is known. */
static inline const struct diff_values *executions_differences(const struct executions *executions,
							       const struct execution *one)
{
	return one->differences > 0 ? &executions->differences.at[one->differences - 1] : NULL;
}

/* When the thread executes, open ones too.  Executions that overlap are one. */
void executions_spans(const struct executions *executions, uint32_t thread,
		      struct path_spans *spans);

/* Whether responses are asked for: then they order executions. */
bool executions_have_responses(const struct executions *executions);

/* The thread that explains it: where it ended, or if that is not known, began; NOBODY: none. */
static inline uint32_t execution_thread(const struct execution *one)
{
	return one->last != NOBODY ? one->last : one->thread;
}

/* Whether it ended on another thread that is known. */
static inline bool execution_leaves(const struct execution *one)
{
	return one->last != one->thread && one->last != NOBODY;
}

/* For executions.c: keeps those that lie in one of the others, and lists these.  @end: of the
 * range.
 */
void executions_within(struct executions *executions, const struct executions *outer, uint64_t end);
/* Notes what counters counted from the first event of an execution to the last one.  @is_of_thread:
 * it does not go over threads. */
void executions_add_differences(struct executions *executions, struct execution *one,
				const struct diff_begin *begin, const struct diff_begin *end,
				bool is_of_thread);
/* For executions.c: sorts the executions and fills the figures. */
void executions_add_up(struct executions *executions);
