/*
 * selection: which rows a report shows.
 *
 * A selection only leaves rows out.  Figures of the trace as a whole stay those of all.  NULL in
 * place of a selection: all rows.
 */
#ifndef SILLAGE_ENGINE_TABLES_SELECTION_H
#define SILLAGE_ENGINE_TABLES_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "engine/contract/analysis.h"

struct thread_view;

/* Which lists are wanted; PER_COMM: processes are put together by their threads' names. */
enum per { PER_ALL, PER_CPU, PER_TID, PER_PID, PER_COMM, PER_PRIO };

/* Empty lists: all. */
struct selection {
	VEC(int64_t) tids, pids, cpus;
	VEC(const char *) comms;
	VEC(const char *) irqs; /* numbers, or names */
	enum per per;
	uint64_t min_ns, max_ns; /* of single instances; max_ns UINT64_MAX: any */
	const char *sort; /* key of the column to sort by, where a table has it; NULL: its own */
};

/* Whether it leaves rows out. */
static inline bool selection_picks(const struct selection *s)
{
	return s->tids.count + s->pids.count + s->cpus.count + s->comms.count + s->irqs.count > 0;
}

/* Whether it leaves threads out. */
bool selection_picks_threads(const struct selection *s);

bool selection_wants_table(const struct selection *s, const struct table *table);
bool selection_wants_cpu(const struct selection *s, uint64_t cpu);
/* The thread, or for a table of processes the process of the thread. */
bool selection_wants_thread(const struct selection *s, const struct table *table,
			    const struct thread_view *view);
/* The keyed row of a process (table.owner_key). */
bool selection_wants_owner(const struct selection *s, const struct table *table,
			   const struct row_key *key);
/* The keyed row of an interrupt, by number or name. */
bool selection_wants_irq(const struct selection *s, const struct table *table, uint64_t id,
			 const char *name);

#endif
