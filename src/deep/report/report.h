/*
 * report: explains a range of a trace: which threads used the CPUs, which waited for them, and
 * where the time of one thread went.
 *
 *     timeline (and jobs) ── deep_report_fill() ──> rows ──┬─ deep_report_head()   report-text.c
 *                                                          ├─ deep_report_text()
 *                                                          ├─ deep_report_json()   report-json.c
 *                                                          └─ report_page_add()    report-page.c
 *
 * The caller sets the timeline, the names, `changed_at`, `jobs`, and what to fill;
 * deep_report_fill() makes everything else.  Rows refer to threads by their index in the timeline,
 * which the report owns.
 */
#pragma once

#include <stdio.h>

#include "deep/executions/executions-slow.h"
#include "deep/executions/executions.h"
#include "deep/links.h"
#include "deep/path.h"
#include "deep/timeline.h"

struct report_cpu {
	uint64_t id;
	uint64_t busy_ns, unknown_ns; /* of the range */
};

/* A thread's time in the range. */
struct report_thread {
	uint64_t run_ns, ns[STATES];
	uint32_t thread;
};

/* A thread waited for a CPU: woken, preempted or new. */
struct report_wait {
	uint32_t thread;
	uint64_t begin, end;
	uint8_t state;
	uint16_t cpu;
	uint32_t waker; /* of a woken thread; NOBODY: no thread, or unknown */
	uint8_t cause;
};

/* The share of time (0 to 1) that a thread ran before `changed_at`, and after it. */
struct report_change {
	uint32_t thread;
	double before, after;
};

/* One of the worst executions, explained by itself. */
struct report_worst {
	const struct execution *execution;
	uint32_t thread; /* where it ends */
	struct path path;
	struct path_parts parts;
	struct rivals rivals;
};

/* A real-time thread that less urgent ones delayed. */
struct report_victim {
	uint32_t thread;
	int32_t prio;                 /* the most urgent one that it had */
	uint64_t ns[INVERSIONS];      /* by kind */
	uint64_t times[INVERSIONS];   /* in so many of its waits */
	struct finding longest;       /* of the worst kind that it has */
	VEC(struct finding) findings; /* longest first */
};

/* A part of a trace that is too large to be explained as a whole. */
struct report_range {
	uint64_t begin, end;
	const char *why; /* it was chosen */
};

/* A job that a thread executes, found in the trace; for the page. */
struct report_found {
	uint32_t thread;
	const char *job; /* as report --job takes it */
	size_t count;
	uint64_t period_ns, jitter_ns, mean_ns;
	double coverage; /* share of the thread's running time, 0 to 1 */
};

struct recorded_paths;
struct resources;

struct deep_report {
	const char *name;                    /* of the trace */
	const struct recorded_paths *joined; /* those of user space with it; NULL: none */
	const char *why;                     /* names of a capture's triggers; NULL: none */
	struct timeline *timeline;
	/* All ranges of the trace that are explained, each by a report; none: all of it is, or the
	 * range that the user gave. */
	const struct report_range *ranges;
	size_t range_count, range; /* which of them this report is about */
	/* The time before the range, as long as that, from the same trace; NULL: unknown. */
	struct timeline *before;
	VEC(struct report_cpu)
	cpus; /* by number; of more than `most`, so many: the busiest first */
	VEC(struct report_thread) threads; /* alive in the range, most running time first */
	VEC(struct report_wait) waits;     /* longest first, at most `most` */
	/* ns: when a capture's trigger started to hold, or where the range starts; 0: neither. */
	uint64_t changed_at;
	VEC(struct report_change) changes; /* largest first, at most `most` */
	uint32_t thread;                   /* the explained thread; NOBODY: none */
	struct path path;
	struct path_parts parts;
	struct rivals rivals;
	struct links links;
	const struct executions *jobs;     /* NULL: none */
	size_t worst_count;                /* how many of the worst executions to explain */
	VEC(struct report_worst) worst;    /* the worst first */
	struct executions_slow slow;       /* with @worst_count: what slow ones had more of */
	const struct resources *resources; /* NULL: not asked for */
	const struct report_found *found;  /* the best of each thread first; NULL: not asked for */
	size_t found_count;
	const char *discover;              /* a command: what threads execute; NULL: not worth it */
	const char *overview;              /* a command: when the trace was otherwise; the same */
	bool wants_victims;                /* of all threads */
	VEC(struct report_victim) victims; /* most urgent first, dispatch only last */
};

/*
 * Fills everything that the caller does not set.  @who names the explained thread by tid or name
 * (if several have it: the one that ran longest); NULL: the first one that executes the jobs, else
 * the one that was wronged most (report-wronged.h).  False: no such thread.
 */
bool deep_report_fill(struct deep_report *report, const char *who, size_t most);
void deep_report_fini(struct deep_report *report); /* also frees its timelines */

/* As text: what happened, in a sentence, and the CPUs. */
void deep_report_head(const struct deep_report *report, FILE *out);
/* The rest, what was asked for first; at most @most rows of each list; 0: all. */
void deep_report_text(const struct deep_report *report, size_t most, FILE *out);
/* One JSON object in one line (doc/json.md). */
void deep_report_json(const struct deep_report *report, size_t most, FILE *out);
/* A self-contained page of one or more reports. */
struct report_page {
	FILE *out;
	size_t parts; /* at most so many reports share its size */
	size_t count; /* of those that it has */
};
void report_page_add(struct report_page *page, const struct deep_report *report, size_t most);
void report_page_end(struct report_page *page); /* nothing is written if it has none */

/* ---- for report-*.c ---- */

/* How many of @count rows to print. */
static inline size_t deep_report_rows(size_t count, size_t most)
{
	return most > 0 && count > most ? most : count;
}

/* Interval @i of the thread, in which it waits for a CPU. */
struct report_wait deep_report_wait(const struct deep_report *report, uint32_t thread, size_t i);
/* The thread that ran longest on the CPU during the wait, and for how long; NOBODY: none.
 * @ret_ns: NULL: that does not matter. */
uint32_t deep_report_rival(const struct deep_report *report, const struct report_wait *wait,
			   uint64_t *ret_ns);
