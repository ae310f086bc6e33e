/*
 * path: the critical path of a thread (doc/definitions.md, 7.2), and the threads that had the CPU
 * while the path waited for it (doc/definitions.md, 7.3, 7.4).
 *
 * The path explains a thread's time.  A sleep that another thread ended is replaced by what that
 * thread, the waker, did meanwhile; the waker's own sleeps are replaced likewise.  Segments tile
 * the range: the first one begins where the path begins, each next one where the one before ends.
 *
 *     W   run ──── blocked, woken by K ─────────── wait ─ run
 *                  └─ K: run ─ preempted ─ run ─┘
 *     path: W run, K run, K preempted, K run, W wait, W run
 */
#pragma once

#include "deep/timeline.h"

/* Running is one state here: STATE_USER stands for all states of timeline_state_runs(). */
struct path_segment {
	uint64_t begin, end;
	uint32_t thread;
	uint16_t cpu;
	uint8_t state, cause;
};

struct path {
	VEC(struct path_segment) segments; /* adjacent, in order of time */
	uint64_t begin, end;
};

/* The path of @thread in that part of [begin, end) in which it lives. */
void path_find(const struct timeline *timeline, uint32_t thread, uint64_t begin, uint64_t end,
	       struct path *path);
/* The same in all of it: before its fork on the thread that forked it. */
void path_find_back(const struct timeline *timeline, uint32_t thread, uint64_t begin, uint64_t end,
		    struct path *path);
void path_fini(struct path *path);

/* The share of one thread in a path. */
struct path_part {
	uint32_t thread;
	uint64_t ns[STATES], total;
};
struct path_parts {
	VEC(struct path_part) at; /* longest first */
};
void path_sum(const struct path *path, struct path_parts *parts);

/* ---- rivals ---- */

enum inversion {
	INVERSION_DIRECT,    /* the thread waits for a less urgent thread, which runs */
	INVERSION_UNBOUNDED, /* that thread cannot run because of one of a priority between */
	INVERSION_DISPATCH,  /* the thread is runnable, but a less urgent one has its CPU */
	INVERSIONS,
};
const char *path_inversion_name(enum inversion kind);

/* A thread that ran while the path waited for its CPU. */
struct rival {
	uint32_t thread;
	uint64_t total, longest, times;
	uint64_t longest_begin;
	uint64_t inverted; /* part of total: less urgent than the explained thread */
	uint64_t fair;     /* part of inverted: no thread is real-time, only nice levels differ */
	uint64_t apart;    /* as inverted, but it waited for something else (WAIT_OTHER) */
	uint64_t same;     /* part of total: as urgent */
	uint64_t unknown;  /* part of total: a priority is unknown */
	int32_t prio_min, prio_max;
	bool has_prio;
};

/* What the explained thread waits for.  Waiting for an event, its next release for one, may be all
 * that it has to do: only an execution, or a request that it made, says that the event is part of
 * its work. */
enum wait {
	WAIT_CPU,       /* it is runnable */
	WAIT_LOCK,      /* for a lock */
	WAIT_EXECUTION, /* in one of its executions */
	WAIT_REPLY,     /* for the answer of a thread that it woke before */
	WAIT_OTHER,     /* for something else: no inversion */
	WAITS,
};
const char *path_wait_name(enum wait wait);

/* A priority inversion: a less urgent thread delayed the explained one. */
struct finding {
	enum inversion kind;
	enum wait wait;
	uint64_t since; /* the explained thread waits so from then on */
	uint64_t begin, end;
	uint32_t on_path, rival;      /* the path's thread and the running one (DIRECT: the same) */
	bool is_fair;                 /* no thread is real-time: only nice levels differ */
	const struct deep_call *call; /* the explained thread waits in it; NULL: in none */
};

struct rivals {
	VEC(struct rival) at;         /* longest first */
	VEC(struct finding) findings; /* longest first */
	VEC(struct finding) apart;    /* WAIT_OTHER, which are none; longest first */
	uint64_t idle_ns;             /* the CPU was idle although the path waited for it */
	uint64_t unknown_ns; /* the path ran on another thread, and a priority is unknown */
	/* The path ran on a thread that had inherited at least the priority of the explained
	 * thread, which is no inversion. */
	uint64_t inherited_ns;
};

/* A part of time. */
struct path_span {
	uint64_t begin, end;
};
struct path_spans {
	VEC(struct path_span) at; /* in order, without overlap */
};

/* @path: of @thread.  @work: the thread's executions; NULL: unknown. */
void path_find_rivals(const struct timeline *timeline, uint32_t thread, const struct path *path,
		      const struct path_spans *work, struct rivals *rivals);
void path_fini_rivals(struct rivals *rivals);
