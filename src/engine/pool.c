/*
 * pool: see pool.h.
 */
#include "engine/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct queue {
	struct chunk *first, **last;
};

struct pool {
	const struct map_setup *setup;
	unsigned int workers;
	pthread_t *threads;
	struct map *map; /* without workers */
	int event_fd;
	size_t in_flight; /* the front's */

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t todo_is_filled, done_is_filled;
	struct queue todo, done;
	bool is_stopping;
};

static void queue_push(struct queue *queue, struct chunk *chunk)
{
	chunk->next = NULL;
	*queue->last = chunk;
	queue->last = &chunk->next;
}

static struct chunk *queue_pop(struct queue *queue)
{
	struct chunk *chunk = queue->first;

	if (chunk) {
		queue->first = chunk->next;
		if (!queue->first) {
			queue->last = &queue->first;
		}
	}
	return chunk;
}

/* The next chunk to map; NULL when the pool stops. */
static struct chunk *take(struct pool *pool)
{
	struct chunk *chunk;

	(void)pthread_mutex_lock(&pool->mutex);
	while (!pool->todo.first && !pool->is_stopping) {
		(void)pthread_cond_wait(&pool->todo_is_filled, &pool->mutex);
	}
	chunk = pool->is_stopping ? NULL : queue_pop(&pool->todo);
	(void)pthread_mutex_unlock(&pool->mutex);
	return chunk;
}

static void finish(struct pool *pool, struct chunk *chunk)
{
	uint64_t one = 1;

	(void)pthread_mutex_lock(&pool->mutex);
	queue_push(&pool->done, chunk);
	(void)pthread_cond_signal(&pool->done_is_filled);
	(void)pthread_mutex_unlock(&pool->mutex);
	/* Cannot fail but when the counter is full: then it is readable anyway. */
	(void)!write(pool->event_fd, &one, sizeof(one));
}

static void *work(void *arg)
{
	struct pool *pool = arg;
	struct map *map = map_new(pool->setup);
	struct chunk *chunk;

	while ((chunk = take(pool))) {
		map_chunk(map, chunk);
		finish(pool, chunk);
	}
	map_free(map);
	return NULL;
}

struct pool *pool_new(const struct map_setup *setup, unsigned int workers)
{
	struct pool *pool = mem_alloc(sizeof(*pool));

	pool->setup = setup;
	pool->workers = workers;
	pool->todo.last = &pool->todo.first;
	pool->done.last = &pool->done.first;
	pool->event_fd = -1;
	if (workers == 0) {
		pool->map = map_new(setup);
		return pool;
	}
	pool->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	(void)pthread_mutex_init(&pool->mutex, NULL);
	(void)pthread_cond_init(&pool->todo_is_filled, NULL);
	(void)pthread_cond_init(&pool->done_is_filled, NULL);
	pool->threads = mem_alloc(workers * sizeof(*pool->threads));
	for (unsigned int i = 0; i < workers; i++) {
		if (pthread_create(&pool->threads[i], NULL, work, pool) != 0) {
			(void)fprintf(stderr, "sillage: cannot start worker %u\n", i);
			abort();
		}
	}
	return pool;
}

void pool_free(struct pool *pool)
{
	struct chunk *chunk;

	if (!pool) {
		return;
	}
	if (pool->workers > 0) {
		(void)pthread_mutex_lock(&pool->mutex);
		pool->is_stopping = true;
		(void)pthread_cond_broadcast(&pool->todo_is_filled);
		(void)pthread_mutex_unlock(&pool->mutex);
		for (unsigned int i = 0; i < pool->workers; i++) {
			(void)pthread_join(pool->threads[i], NULL);
		}
		(void)pthread_mutex_destroy(&pool->mutex);
		(void)pthread_cond_destroy(&pool->todo_is_filled);
		(void)pthread_cond_destroy(&pool->done_is_filled);
		(void)close(pool->event_fd);
	}
	while ((chunk = queue_pop(&pool->todo)) || (chunk = queue_pop(&pool->done))) {
		chunk_free(chunk);
	}
	map_free(pool->map);
	free(pool->threads);
	free(pool);
}

void pool_submit(struct pool *pool, struct chunk *chunk)
{
	pool->in_flight++;
	if (pool->workers == 0) {
		map_chunk(pool->map, chunk);
		queue_push(&pool->done, chunk);
		return;
	}
	(void)pthread_mutex_lock(&pool->mutex);
	queue_push(&pool->todo, chunk);
	(void)pthread_cond_signal(&pool->todo_is_filled);
	(void)pthread_mutex_unlock(&pool->mutex);
}

struct chunk *pool_reap(struct pool *pool, bool wait)
{
	struct chunk *chunk;

	if (pool->in_flight == 0) {
		return NULL;
	}
	if (pool->workers == 0) {
		chunk = queue_pop(&pool->done);
	} else {
		(void)pthread_mutex_lock(&pool->mutex);
		while (wait && !pool->done.first) {
			(void)pthread_cond_wait(&pool->done_is_filled, &pool->mutex);
		}
		chunk = queue_pop(&pool->done);
		(void)pthread_mutex_unlock(&pool->mutex);
	}
	pool->in_flight -= chunk != NULL;
	return chunk;
}

size_t pool_in_flight(const struct pool *pool)
{
	return pool->in_flight;
}

unsigned int pool_workers(const struct pool *pool)
{
	return pool->workers;
}

int pool_event_fd(const struct pool *pool)
{
	return pool->event_fd;
}
