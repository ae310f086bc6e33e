/*
 * pool: see pool.h.
 */
#include "engine/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/now.h"
#include "base/probe.h"
#include "base/process/thread.h"
#include "base/queue.h"

struct pool {
	struct pool_scratch scratch_of;
	unsigned int workers;
	pthread_t *threads;
	void *scratch;               /* without workers */
	int event_fd;                /* written under the mutex */
	size_t in_flight[JOB_KINDS]; /* the coordinator's */

	pthread_mutex_t mutex; /* guards the members below */
	pthread_cond_t todo_is_filled, done_is_filled;
	QUEUE(struct job) urgent, todo, done;
	unsigned int idle;             /* workers that wait */
	size_t done_jobs, done_others; /* in `done`: all, and those that are no JOB_WORKER */
	size_t awaited;                /* done jobs that the coordinator waits for, 0: none */
	bool is_stopping;
};

size_t pool_in_flight_of(const struct pool *pool, enum job_kind kind)
{
	return pool->in_flight[kind];
}

size_t pool_in_flight(const struct pool *pool)
{
	size_t jobs = 0;

	for (size_t i = 0; i < JOB_KINDS; i++) {
		jobs += pool->in_flight[i];
	}
	return jobs;
}

/* The next job; NULL: the pool stops. */
static struct job *take(struct pool *pool)
{
	struct job *job;

	(void)pthread_mutex_lock(&pool->mutex);
	while (!pool->urgent.first && !pool->todo.first && !pool->is_stopping) {
		pool->idle++;
		(void)pthread_cond_wait(&pool->todo_is_filled, &pool->mutex);
		pool->idle--;
	}
	assert(pool->idle < pool->workers);
	job = pool->is_stopping ? NULL : queue_pop(&pool->urgent);
	if (!job && !pool->is_stopping) {
		job = queue_pop(&pool->todo);
	}
	(void)pthread_mutex_unlock(&pool->mutex);
	return job;
}

/* Whether the coordinator may go on. */
static bool is_awaited(const struct pool *pool)
{
	return pool->done_jobs >= pool->awaited || pool->done_others > 0;
}

static void finish(struct pool *pool, struct job *job)
{
	uint64_t one = 1;
	bool was_empty;
	int event_fd;

	(void)pthread_mutex_lock(&pool->mutex);
	was_empty = !pool->done.first;
	event_fd = pool->event_fd;
	queue_push(&pool->done, job);
	pool->done_jobs++;
	pool->done_others += job->kind != JOB_WORKER;
	assert(pool->done_others <= pool->done_jobs);
	if (pool->awaited > 0 && is_awaited(pool)) {
		(void)pthread_cond_signal(&pool->done_is_filled);
	}
	(void)pthread_mutex_unlock(&pool->mutex);
	if (was_empty && event_fd >= 0) {
		/* It fails only if the counter is full, and then it is readable anyway. */
		(void)!write(event_fd, &one, sizeof(one));
	}
}

static void run(struct job *job, void *scratch)
{
	uint64_t begin = job->is_timed ? now_thread_cpu_ns() : 0;

	probe_job_begin((uint32_t)job->kind);
	job->run(job, scratch);
	probe_job_end((uint32_t)job->kind);
	job->cpu_ns = job->is_timed ? now_thread_cpu_ns() - begin : 0;
}

static void *work(void *arg)
{
	struct pool *pool = arg;
	void *scratch = pool->scratch_of.make(pool->scratch_of.user);
	struct job *job;

	while ((job = take(pool))) {
		run(job, scratch);
		finish(pool, job);
	}
	pool->scratch_of.free(scratch);
	return NULL;
}

struct pool *pool_new(const struct pool_scratch *scratch, unsigned int workers)
{
	struct pool *pool = mem_alloc(sizeof(*pool));

	pool->scratch_of = *scratch;
	pool->workers = workers;
	pool->event_fd = -1;
	if (workers == 0) {
		pool->scratch = scratch->make(scratch->user);
		return pool;
	}
	(void)pthread_mutex_init(&pool->mutex, NULL);
	(void)pthread_cond_init(&pool->todo_is_filled, NULL);
	(void)pthread_cond_init(&pool->done_is_filled, NULL);
	pool->threads = mem_alloc(workers * sizeof(*pool->threads));
	for (unsigned int i = 0; i < workers; i++) {
		if (thread_start(&pool->threads[i], work, pool) != 0) {
			mem_lacks("a worker");
		}
	}
	return pool;
}

void pool_free(struct pool *pool, void (*drop)(struct job *job))
{
	struct job *job;
	size_t dropped = 0;

	if (!pool) {
		return;
	}
	if (pool->workers > 0) {
		(void)pthread_mutex_lock(&pool->mutex);
		pool->is_stopping = true;
		(void)pthread_cond_broadcast(&pool->todo_is_filled);
		(void)pthread_mutex_unlock(&pool->mutex);
		for (unsigned int i = 0; i < pool->workers; i++) {
			thread_join(pool->threads[i], NULL);
		}
		(void)pthread_mutex_destroy(&pool->mutex);
		(void)pthread_cond_destroy(&pool->todo_is_filled);
		(void)pthread_cond_destroy(&pool->done_is_filled);
		if (pool->event_fd >= 0) {
			(void)close(pool->event_fd);
		}
	}
	while ((job = queue_pop(&pool->urgent)) || (job = queue_pop(&pool->todo)) ||
	       (job = queue_pop(&pool->done))) {
		drop(job);
		dropped++;
	}
	assert(dropped == pool_in_flight(pool));
	if (pool->scratch) {
		pool->scratch_of.free(pool->scratch);
	}
	free(pool->threads);
	free(pool);
}

void pool_submit(struct pool *pool, struct job *job)
{
	assert(job->run);
	assert(job->kind < JOB_KINDS);
	pool->in_flight[job->kind]++;
	if (pool->workers == 0) {
		run(job, pool->scratch);
		queue_push(&pool->done, job);
		return;
	}
	(void)pthread_mutex_lock(&pool->mutex);
	queue_push(job->kind == JOB_WORKER ? &pool->todo : &pool->urgent, job);
	if (pool->idle > 0) {
		(void)pthread_cond_signal(&pool->todo_is_filled);
	}
	(void)pthread_mutex_unlock(&pool->mutex);
}

static void await(struct pool *pool, size_t count)
{
	assert(pool->awaited == 0);            /* one thread waits */
	assert(count <= pool_in_flight(pool)); /* else it waits for ever */
	pool->awaited = count;
	while (!is_awaited(pool)) {
		(void)pthread_cond_wait(&pool->done_is_filled, &pool->mutex);
	}
	pool->awaited = 0;
}

void pool_wait(struct pool *pool, size_t count)
{
	size_t most = pool_in_flight(pool);

	if (pool->workers > 0) {
		(void)pthread_mutex_lock(&pool->mutex);
		await(pool, count < most ? count : most);
		(void)pthread_mutex_unlock(&pool->mutex);
	}
}

struct job *pool_reap(struct pool *pool, bool wait)
{
	struct job *job;

	if (pool_in_flight(pool) == 0) {
		return NULL;
	}
	if (pool->workers == 0) {
		job = queue_pop(&pool->done);
		assert(job);
	} else {
		(void)pthread_mutex_lock(&pool->mutex);
		if (wait) {
			await(pool, 1);
		}
		job = queue_pop(&pool->done);
		assert(job || !wait);
		assert(!job == (pool->done_jobs == 0));
		pool->done_jobs -= job != NULL;
		pool->done_others -= job && job->kind != JOB_WORKER;
		(void)pthread_mutex_unlock(&pool->mutex);
	}
	if (job) {
		assert(pool->in_flight[job->kind] > 0);
		pool->in_flight[job->kind]--;
	}
	return job;
}

unsigned int pool_workers(const struct pool *pool)
{
	return pool->workers;
}

bool pool_is_busy(struct pool *pool)
{
	bool is_busy;

	if (pool->workers == 0) {
		return false;
	}
	(void)pthread_mutex_lock(&pool->mutex);
	is_busy = pool->urgent.first || pool->todo.first;
	(void)pthread_mutex_unlock(&pool->mutex);
	return is_busy;
}

int pool_event_fd(struct pool *pool)
{
	if (pool->workers > 0 && pool->event_fd < 0) {
		int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

		(void)pthread_mutex_lock(&pool->mutex);
		pool->event_fd = fd;
		(void)pthread_mutex_unlock(&pool->mutex);
	}
	return pool->event_fd;
}

void pool_drain_event(struct pool *pool)
{
	uint64_t count;

	if (pool->event_fd >= 0) {
		(void)!read(pool->event_fd, &count, sizeof(count));
	}
}
