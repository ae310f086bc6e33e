/*
 * pool: worker threads, which turn chunks into partials and merge those.
 *
 * submit and reap belong to one thread, the front.  Jobs come back in any order.
 *
 *              front                worker
 *   submit     moves a job in       -
 *   reap       takes a done job     -
 *   (queue)    -                    takes a job, runs it, puts it among the done
 *
 * With no workers, submit does the work at once, in the calling thread: the mode
 * for tests, fuzzing and debugging.  Both queues are guarded by one mutex, which is
 * never held while a job runs: a job is worth 20 us and more.
 */
#ifndef SILLAGE_ENGINE_POOL_H
#define SILLAGE_ENGINE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* JOB_FIND: the front's own, to find what is to be mapped (engine_submit). */
enum job_kind { JOB_WORKER, JOB_MERGER, JOB_FIND, JOB_KINDS };

/* The first member of what is to be done. */
struct job {
	struct job *next;
	void (*run)(struct job *job, void *scratch); /* of the thread that runs it */
	enum job_kind kind;
	void *user;      /* the submitter's */
	bool is_timed;   /* cpu_ns is wanted */
	bool is_reaped;  /* JOB_FIND: it is done, and the submitter's again */
	uint64_t cpu_ns; /* that it took */
};

struct pool;

/* What each thread has for its jobs; without workers the submitting thread has one. */
struct pool_scratch {
	void *(*make)(void *user);
	void (*free)(void *scratch);
	void *user;
};

struct pool *pool_new(const struct pool_scratch *scratch, unsigned int workers);

/* Waits for the jobs being run; @drop is called for those in the queues. */
void pool_free(struct pool *pool, void (*drop)(struct job *job));

/* Moves @job into the pool; JOB_WORKER comes last.  Never blocks: the front bounds what it
 * submits. */
void pool_submit(struct pool *pool, struct job *job);

/* A done job, or NULL if there is none; with @wait, NULL only if none is in the pool. */
struct job *pool_reap(struct pool *pool, bool wait);

/* Waits until @count jobs of those in the pool are done, or one that is no JOB_WORKER: to be woken
 * up for each of them costs more than to deal with it. */
void pool_wait(struct pool *pool, size_t count);

/* Jobs submitted and not reaped; and those of a kind. */
size_t pool_in_flight(const struct pool *pool);
size_t pool_in_flight_of(const struct pool *pool, enum job_kind kind);
unsigned int pool_workers(const struct pool *pool);
/* For jobs: whether others wait for a worker. */
bool pool_is_busy(struct pool *pool);

/*
 * Readable when a job is done, for an event loop; -1 without workers.  From the first call on
 * workers write to it, which is not free.
 */
int pool_event_fd(struct pool *pool);
/* Before all done jobs are reaped. */
void pool_drain_event(struct pool *pool);

#endif
