/*
 * pool: worker threads that turn chunks into partials.
 *
 * submit and reap belong to one thread, the front.  Chunks come back in any order.
 *
 *              front                worker
 *   submit     moves a chunk in     -
 *   reap       takes a done chunk   -
 *   (queue)    -                    takes a chunk, maps it, puts it among the done
 *
 * With no workers, submit does the work at once, in the calling thread: the mode
 * for tests, fuzzing and debugging.  Both queues are guarded by one mutex, which is
 * never held while mapping: a chunk is worth 100 us and more.
 */
#ifndef SILLAGE_ENGINE_POOL_H
#define SILLAGE_ENGINE_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/chunk.h"
#include "engine/map.h"

struct pool;

struct pool *pool_new(const struct map_setup *setup, unsigned int workers);

/* Waits for the chunks being mapped; those in the queues are freed. */
void pool_free(struct pool *pool);

/* Moves @chunk into the pool.  Never blocks: the front bounds what it submits. */
void pool_submit(struct pool *pool, struct chunk *chunk);

/* A done chunk, or NULL if there is none; with @wait, NULL only if none is in the pool. */
struct chunk *pool_reap(struct pool *pool, bool wait);

/* Chunks submitted and not reaped. */
size_t pool_in_flight(const struct pool *pool);
unsigned int pool_workers(const struct pool *pool);

/* Readable when a chunk is done, for an event loop; -1 without workers. */
int pool_event_fd(const struct pool *pool);

#endif
