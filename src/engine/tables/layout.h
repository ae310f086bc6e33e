/*
 * layout: where the columns and states of each analysis lie in a row and in a thread.
 *
 * It is made once from the setup and immutable afterwards, so all shards read it without a lock.
 *
 * A row of a fixed scope (trace, CPU, thread, event name) has the columns of all tables of that
 * scope, one analysis after the other.  offsets[a][t] is where table t of analysis a starts in it.
 * A keyed row and a row of a process belong to one table and have only the columns of that table.
 *
 * Forks are frequent, so a thread is one piece of memory (thread_bytes, at the start of a cache
 * line).  What switches touch comes first, what few runs need is left out of the others:
 *
 *     +---------------+---------+-- - --+--------+-----------------+-----------------+------+
 *     | struct thread | state 0 |  ...  | member |   open window   |      total      | told |
 *     +---------------+---------+-- - --+--------+-----------------+-----------------+------+
 *     0               |<--- states ---->|        |                 |                 |      |
 *                     sizeof(struct thread)      thread_window_at  thread_total_at   thread_bytes
 *
 * State a starts at thread_state_offsets[a] behind struct thread, at a multiple of 8 bytes.  The
 * open window and the total are rows of SCOPE_THREAD.  A run with pairs has a member, one whose
 * reports have views has what was told.
 *
 * Some runs neither show nor drop a window, nor have threads levels (is_direct).  The open window
 * of a thread would only be copied, so it is left out: thread_window_at equals thread_total_at, and
 * analyses add to the total.
 */
#pragma once

#include "engine/contract/setup.h"
#include "engine/tables/columns.h"

struct tables;
struct thread;

struct layout {
	const struct setup *setup;
	const struct tables *tables;
	struct columns columns[SCOPES_FIXED]; /* of all tables of the scope */
	/* Where a table's columns start in those; SCOPE_LONGEST: the table's index among the
	 * tables of the longest. */
	uint32_t offsets[ANALYSES_MAX][TABLES_MAX];
	struct columns keyed_columns[ANALYSES_MAX][TABLES_MAX];
	const struct columns *pair_columns; /* of the table of SCOPE_PAIR; NULL: there is none */
	uint32_t longest_count;             /* tables of the longest; table.is_level of each */
	bool longest_is_level[ANALYSES_MAX * TABLES_MAX];
	size_t longest_room, longest_shown;
	size_t thread_state_offsets[ANALYSES_MAX];
	size_t thread_state_size; /* all states */
	size_t thread_member_at, thread_window_at, thread_total_at, thread_told_at, thread_bytes;
	bool is_direct;       /* threads have no open window */
	bool is_over_at_exit; /* of each analysis with on_window_end() */
	uint8_t selects;      /* the user selects threads, CPUs (OF_ALL_THREADS, OF_ALL_CPUS) */
	bool selects_irqs, knows_irqs; /* ... interrupts; some table has them */
};

static inline uint64_t *thread_window(const struct layout *layout, struct thread *thread)
{
	return (uint64_t *)((char *)thread + layout->thread_window_at);
}

static inline uint64_t *thread_total(const struct layout *layout, struct thread *thread)
{
	return (uint64_t *)((char *)thread + layout->thread_total_at);
}

void layout_init(struct layout *layout, const struct setup *setup, const struct tables *tables);
void layout_fini(struct layout *layout);
