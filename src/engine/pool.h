/*
 * pool: threads that run the coordinator's jobs: chunks, parts of merge rounds, packets to find.
 *
 * One thread, the coordinator, submits jobs and reaps them.  Jobs come back in any order.
 *
 *               coordinator           worker
 *     submit    moves a job in        -
 *     (queues)  -                     takes a job, runs it, puts it into `done`
 *     reap      takes a job from      -
 *               `done`
 *
 * Two queues wait for workers.  `urgent` has what the coordinator needs next (merging, finding);
 * `todo` has chunks, which are only taken when nothing is urgent.
 *
 *     submit ──► urgent ──┐
 *            ──► todo   ──┴──► running ──► done ──► reap
 *
 * The pool never blocks a submitter: the coordinator bounds what it submits.  Without workers,
 * submit runs the job at once in the calling thread: for tests, fuzzing and debugging.
 *
 * One mutex guards all queues.  No thread holds it while a job runs: a job takes 20 us and more.
 * Invariants: in_flight counts jobs in the queues, running, and done; `done` has done_jobs
 * elements, of which done_others are no JOB_WORKER.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* JOB_FIND: reading for the coordinator, which finds the next packets or partials
 * (engine_submit). */
enum job_kind { JOB_WORKER, JOB_MERGER, JOB_FIND, JOB_KINDS };

/* The first member of the struct that describes the work. */
struct job {
	struct job *next;                            /* the pool's, NULL outside */
	void (*run)(struct job *job, void *scratch); /* @scratch: of the thread that runs it */
	enum job_kind kind;
	void *user;      /* the submitter's */
	bool is_timed;   /* measure cpu_ns */
	bool is_reaped;  /* JOB_FIND: done, and the submitter's again */
	uint64_t cpu_ns; /* CPU time of run() */
};

struct pool;

/* What each worker makes for its jobs; without workers the submitting thread has one. */
struct pool_scratch {
	void *(*make)(void *user);
	void (*free)(void *scratch);
	void *user;
};

struct pool *pool_new(const struct pool_scratch *scratch, unsigned int workers);

/* Waits for running jobs; calls @drop for each job in a queue. */
void pool_free(struct pool *pool, void (*drop)(struct job *job));

/* Moves @job into the pool, before every JOB_WORKER that waits if it is none.  Never blocks. */
void pool_submit(struct pool *pool, struct job *job);

/* A finished job, or NULL if none is finished; with @wait, NULL only if the pool has no job. */
struct job *pool_reap(struct pool *pool, bool wait);

/* Waits until @count jobs are finished, or one that is no JOB_WORKER.  Waking up for each chunk
 * costs more than taking it. */
void pool_wait(struct pool *pool, size_t count);

/* Jobs submitted and not reaped: all, and of one kind. */
size_t pool_in_flight(const struct pool *pool);
size_t pool_in_flight_of(const struct pool *pool, enum job_kind kind);
unsigned int pool_workers(const struct pool *pool);
/* Whether jobs wait for a worker.  Any thread may call it. */
bool pool_is_busy(struct pool *pool);

/*
 * Readable when a job is finished, for an event loop; -1 without workers.  From the first call on
 * workers write to it, which costs a system call per wakeup.
 */
int pool_event_fd(struct pool *pool);
/* Makes it unreadable.  Reap all finished jobs after it: workers write only if `done` was empty. */
void pool_drain_event(struct pool *pool);
