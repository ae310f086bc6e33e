/*
 * map: a worker's half of the engine: one chunk in, one partial out.
 *
 * It decodes the chunk's packets, counts events by class and window, follows who
 * runs on the CPU as far as the chunk tells, and calls the handlers of the
 * analyses.  What it is given besides the chunk (struct setup) is immutable.
 *
 * Who runs, within a chunk:
 *
 *     chunk begin    first switch          switch              gap
 *     |--- not known here ---|--- prev/next known ---|---|-- not known --...
 *
 * Where it is not known, records carry TID_CURRENT and the merger, who has what the
 * stream carried over, puts the thread in.
 */
#ifndef SILLAGE_ENGINE_WORKER_WORKER_H
#define SILLAGE_ENGINE_WORKER_WORKER_H

#include "engine/contract/chunk.h"
#include "engine/contract/setup.h"

/* What the engine itself needs of events: who runs, and which threads there are. */
#define WORKER_NEEDS 4
extern const struct need worker_needs[WORKER_NEEDS];

/* Scratch of one worker, reused from chunk to chunk. */
struct worker *worker_new(const struct setup *setup);
void worker_free(struct worker *worker);

/* Fills chunk->partial.  Never fails: what cannot be decoded is in the partial's faults. */
void worker_run_chunk(struct worker *worker, struct chunk *chunk);

#endif
