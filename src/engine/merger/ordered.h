/*
 * ordered: replays ordered events in one time order over all threads.
 *
 * A shard sees the records of each thread alone.  Some figures need the order between threads: who
 * opened the file that another thread of the process reads.  An analysis notes an ordered event
 * for these (shard_note_ordered()), and sees all events of the round afterwards:
 *
 *     shard 0 ── on_record, thread by thread ── shard_note_ordered ──┐
 *     shard 1 ── on_record, thread by thread ── shard_note_ordered ──┴─► by time ─► on_ordered
 *
 * Ties of time are broken by tid, then by incarnation.  Events of one thread at one time keep the
 * order in which they were noted.
 *
 * This is the only part of merging that does not run in parallel.  An analysis should do what
 * concerns one thread in on_record().
 */
#pragma once

#include "engine/tables/tables.h"

/* Makes the states of the trace that analyses ask for (trace_state_size). */
void ordered_init(struct tables *tables);
void ordered_fini(struct tables *tables);

/* Calls on_ordered() for the events of a round whose shards are done. */
void ordered_run(struct tables *tables);
