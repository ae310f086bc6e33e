/*
 * cpus-running: gives records to the threads that ran, or woke, once the merger knows them.  What
 * cpus.c and cpus-running.c share; cpus.h says the rest.
 */
#pragma once

#include "engine/merger/merger-state.h"

/* A new group with @key in one of the partial's slices; its index. */
uint32_t cpus_new_group(struct partial *partial, struct slice *slice, int64_t key);
/* Gives the slice's unresolved groups their keys: @initial for KEY_INITIAL, @lost for KEY_LOST. */
void cpus_resolve_groups(struct partial *partial, struct slice *slice, int64_t initial,
			 int64_t lost);

/*
 * From @ts on the thread with @key runs.  Partials from workers have their changes in order; those
 * from untrusted files may not, so a change never goes back behind the last one.  Of several
 * changes at one time the last counts.  @serves: soft interrupts are its work.
 */
void cpus_add_change(struct cpu *cpu, uint64_t ts, int64_t key, bool serves);

/* Fills in the record of partial->currents[@i]: @tid ran, -1: unknown.  Its limits are told. */
void cpus_fill_current(struct partial *partial, size_t i, int32_t tid, bool serves);
