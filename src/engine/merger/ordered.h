/*
 * facts: what needs one order of time over all threads (who opened the file that another
 * thread of the process reads), after the shards have seen each thread for itself.
 *
 *     shard 0 ── on_record, thread by thread ── shard_note_ordered ──┐
 *     shard 1 ── on_record, thread by thread ── shard_note_ordered ──┴─► by time ─► on_ordered
 *
 * It is the one part of merging that is not done in parallel: what can be said of a thread alone
 * is to be said in the shard.
 */
#ifndef SILLAGE_ENGINE_MERGER_ORDERED_H
#define SILLAGE_ENGINE_MERGER_ORDERED_H

#include "engine/tables/tables.h"

void ordered_init(struct tables *tables);
void ordered_fini(struct tables *tables);

/* Tells the analyses the facts of a round whose shards are done. */
void ordered_run(struct tables *tables);

#endif
