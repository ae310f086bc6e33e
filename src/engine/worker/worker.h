/*
 * worker: the first half of the engine: one chunk in, one partial out.
 *
 * A worker decodes the packets of a chunk, counts events by class and window, follows which thread
 * runs on the CPU of the stream, and calls the handlers of the analyses.  All it knows besides the
 * chunk is the setup, which is immutable.  So chunks may be decoded in any order, by any worker, at
 * the same time.  A worker's memory is reused from chunk to chunk, but a partial depends on nothing
 * except its chunk and the setup.
 *
 * The path of an event:
 *
 *     packet --> decoder --> tally of its class
 *                   |
 *                   +------> handlers that want the class --> records, keyed rows
 *
 * An event that no handler wants is only counted: no field is decoded, and its time is not
 * converted to ns.  Most events are in order and lie within the packet and the open slice;
 * decoder_each() goes through those at once.  For the first one that is not, on_event() in worker.c
 * corrects its time and opens the slice it belongs to.
 *
 * Which thread runs (enum known; cpu.c):
 *
 *     KNOWN_INITIAL --switch--> KNOWN_TID --gap--> KNOWN_NOT --switch--> KNOWN_TID
 *           |                                          ^
 *           +-------------------gap--------------------+
 *
 *     chunk begin   first switch           switch               gap                  switch
 *     |-- KNOWN_INITIAL --|---- KNOWN_TID ----|---- KNOWN_TID ----|---- KNOWN_NOT ----|-- ...
 *
 * In KNOWN_INITIAL and KNOWN_NOT records go to a group of KEY_INITIAL or KEY_LOST.  The merger
 * knows what happened before, and on other streams, and finds out the thread.
 *
 * Promises about a partial (partial_check_worker()): its slices are in the order of their windows,
 * its records are made in time order, and time stamps are never outside their packet nor before
 * that of the event before.  What cannot be decoded is a gap and a fault, never an error.
 */
#pragma once

#include "engine/contract/chunk.h"
#include "engine/contract/setup.h"

/* The engine's own needs: which thread runs, and what is known of threads. */
#define WORKER_NEEDS (7 + 2 * WAKE_PAIRS)
extern const struct need worker_needs[WORKER_NEEDS];

/* The memory of one worker, for one thread at a time. */
struct worker *worker_new(const struct setup *setup);
void worker_free(struct worker *worker); /* NULL is fine */

/* Fills in chunk->partial.  Never fails: what cannot be decoded is in the faults of the partial. */
void worker_run_chunk(struct worker *worker, struct chunk *chunk);
