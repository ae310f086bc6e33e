/*
 * facts: what needs one order of time over all threads (who opened the file that another
 * thread of the process reads), after the shards have seen each thread for itself.
 *
 *     shard 0 ── on_record, thread by thread ── shard_fact ──┐
 *     shard 1 ── on_record, thread by thread ── shard_fact ──┴─► by time ─► on_fact
 *
 * It is the one part of merging that is not done in parallel: what can be said of a thread alone
 * is to be said in the shard.
 */
#ifndef SILLAGE_ENGINE_MERGER_ORDERED_H
#define SILLAGE_ENGINE_MERGER_ORDERED_H

#include "engine/tables/tables.h"

void facts_init(struct rows *rows);
void facts_fini(struct rows *rows);

/* Tells the analyses the facts of a round whose shards are done. */
void facts_run(struct rows *rows);

#endif
