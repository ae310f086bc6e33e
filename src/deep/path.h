/*
 * path: the critical path of a thread (doc/definitions.md, 7.2), and who had the CPU while it
 * waited for one (doc/definitions.md, 7.3, 7.4).
 *
 * The path explains a thread's time: where the thread slept until another woke it, what that
 * one did meanwhile takes the place of the sleep, and so on.  Its segments tile the range.
 *
 *     W   run ──── blocked, woken by K ─────────── wait ─ run
 *                  └─ K: run ─ preempted ─ run ─┘
 *     path: W run, K run, K preempted, K run, W wait, W run
 */
#ifndef SILLAGE_DEEP_PATH_H
#define SILLAGE_DEEP_PATH_H

#include "deep/timeline.h"

/* Running is one state here: STATE_USER stands for all that state_runs(). */
struct segment_of_path {
	uint64_t begin, end;
	uint32_t thread;
	uint16_t cpu;
	uint8_t state, cause;
};

struct path {
	VEC(struct segment_of_path) segments; /* adjacent, in order of time */
	uint64_t begin, end;
};

/* Of @thread, from @begin to @end, as far as it lives then. */
void path_find(const struct timeline *timeline, uint32_t thread, uint64_t begin, uint64_t end,
	       struct path *path);
void path_fini(struct path *path);

/* What a thread has on a path. */
struct path_part {
	uint32_t thread;
	uint64_t ns[STATES], total;
};
struct path_parts {
	VEC(struct path_part) at; /* most first */
};
void path_sum(const struct path *path, struct path_parts *parts);

/* ---- who had the CPU ---- */

enum inversion {
	INVERSION_DIRECT,    /* it waits for a less urgent thread, which runs */
	INVERSION_UNBOUNDED, /* that thread cannot run, for one between the two */
	INVERSION_DISPATCH,  /* it could run, but a less urgent one still has its CPU */
	INVERSIONS,
};
const char *path_inversion_name(enum inversion kind);

/* One that ran while the path waited for its CPU. */
struct rival {
	uint32_t thread;
	uint64_t total, longest, times;
	uint64_t inverted; /* while it was less urgent than the thread whose path it is */
	uint64_t same;     /* while it was as urgent */
	int32_t prio_min, prio_max;
	bool has_prio;
};

/* A stretch in which something less urgent held the thread up. */
struct finding {
	enum inversion kind;
	uint64_t begin, end;
	uint32_t on_path, rival;      /* who is on the path, and who runs (DIRECT: the same) */
	bool is_fair;                 /* none of them is real-time: it is about nice levels */
	const struct deep_call *call; /* that the thread waits in, of the timeline; NULL: in none */
};

struct rivals {
	VEC(struct rival) at;         /* most first */
	VEC(struct finding) findings; /* longest first */
	uint64_t idle_ns;             /* the CPU was idle although the path waited for it */
	/* The path runs on a thread that has inherited an urgency no less than that of the thread
	 * whose path it is: no inversion. */
	uint64_t inherited_ns;
};
void path_find_rivals(const struct timeline *timeline, uint32_t thread, const struct path *path,
		      struct rivals *rivals);
void path_fini_rivals(struct rivals *rivals);

#endif
