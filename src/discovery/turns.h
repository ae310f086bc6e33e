/*
 * turns: loops of a thread by where it waits for the next turn.
 *
 *     ... exit_read  work  work  entry_read ── sleeps ── exit_read  work  work  entry_read ...
 *         └─── an execution ───┘    pause        └─── an execution ───┘
 *
 * A thread that repeats something waits in a call between one time and the next.  The execution
 * goes from that call's return to its next entry.  Whether it has slept there does not matter: one
 * that is late finds its timer expired, returns at once, and is an execution of its own.  What a
 * thread does before it first waits is none.
 *
 * Where the call waits on one of several things (a file, a futex), only those entries end an
 * execution that name the one.  If no calls are recorded, or the thread sleeps outside of them, the
 * execution goes from its wake-up to its sleep.
 *
 * A loop may wait in several calls.  The one whose wait a timer ends tells the turns apart, else
 * the one that leaves the shortest executions: the longest wait is between them.
 */
#pragma once

#include "discovery/pace.h"
#include "discovery/sequences.h"

#define TURN_PARTS_MAX 3

struct turn {
	struct sequence_part parts[TURN_PARTS_MAX];
	size_t count;
	episode_windows windows; /* its executions */
	bool is_timed;           /* timers end most of its waits */
	struct pace pace;
	uint64_t mean_ns;
};

typedef VEC(struct turn) turn_list;

/* Those of the sequence that have DISCOVERY_EXECUTIONS at least: one for each loop. */
void turns_find(const struct sequences *sequences, const struct timeline *timeline,
		const struct sequence *sequence, turn_list *ret);
void turns_fini(turn_list *turns);

/* Whether the windows are a part of the same loop: nearly each time round there is one. */
bool turn_has(const struct turn *turn, const episode_windows *windows);
