/*
 * pool: the order of jobs, waiting, and what happens to jobs at the end.
 */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "engine/pool.h"
#include "suites.h"

enum { JOBS = 20 };

struct test_job {
	struct job job;
	char name;
	unsigned int runs;
};

static char order[JOBS + 1]; /* names of the jobs that ran; of one worker */
static size_t ran;
static sem_t gate, has_started;

static void *make_scratch(void *user)
{
	return user;
}

static void free_scratch(void *scratch)
{
}

static struct pool *new_pool(unsigned int workers)
{
	memset(order, 0, sizeof(order));
	ran = 0;
	ck_assert_int_eq(sem_init(&gate, 0, 0), 0);
	ck_assert_int_eq(sem_init(&has_started, 0, 0), 0);
	return pool_new(&(struct pool_scratch){ make_scratch, free_scratch, order }, workers);
}

static void run_job(struct job *job, void *scratch)
{
	ck_assert_ptr_eq(scratch, order);
	((struct test_job *)job)->runs++;
}

static void run_noted(struct job *job, void *scratch)
{
	run_job(job, scratch);
	order[ran++] = ((struct test_job *)job)->name;
}

/* Keeps its worker until the gate opens. */
static void run_gate(struct job *job, void *scratch)
{
	(void)sem_post(&has_started);
	while (sem_wait(&gate) != 0) {
	}
	run_noted(job, scratch);
}

static void submit(struct pool *pool, struct test_job *job, char name, enum job_kind kind,
		   void (*run)(struct job *, void *))
{
	*job = (struct test_job){ .job = { .run = run, .kind = kind }, .name = name };
	pool_submit(pool, &job->job);
}

static unsigned int dropped;

static void drop(struct job *job)
{
	dropped++;
}

/* Each job runs once, and comes back once. */
START_TEST(jobs_come_back)
{
	struct pool *pool = new_pool((unsigned int)_i);
	struct test_job jobs[JOBS];
	unsigned int back = 0;

	ck_assert_ptr_null(pool_reap(pool, true));
	for (unsigned int i = 0; i < JOBS; i++) {
		submit(pool, &jobs[i], 'a', (enum job_kind)(i % JOB_KINDS), run_job);
	}
	ck_assert_uint_eq(pool_in_flight(pool), JOBS);
	ck_assert_uint_eq(pool_in_flight_of(pool, JOB_WORKER), (JOBS + 2) / 3);
	while (pool_reap(pool, true)) {
		back++;
		ck_assert_uint_eq(pool_in_flight(pool), JOBS - back);
	}
	ck_assert_uint_eq(back, JOBS);
	for (unsigned int i = 0; i < JOBS; i++) {
		ck_assert_uint_eq(jobs[i].runs, 1);
	}
	dropped = 0;
	pool_free(pool, drop);
	ck_assert_uint_eq(dropped, 0);
}
END_TEST

/* Merging and finding come before chunks, each in the order they were submitted. */
START_TEST(urgent_first)
{
	struct pool *pool = new_pool(1);
	struct test_job jobs[6];

	submit(pool, &jobs[0], 'g', JOB_WORKER, run_gate);
	while (sem_wait(&has_started) != 0) {
	}
	ck_assert(!pool_is_busy(pool));
	submit(pool, &jobs[1], 'a', JOB_WORKER, run_noted);
	ck_assert(pool_is_busy(pool));
	submit(pool, &jobs[2], 'M', JOB_MERGER, run_noted);
	submit(pool, &jobs[3], 'b', JOB_WORKER, run_noted);
	submit(pool, &jobs[4], 'F', JOB_FIND, run_noted);
	submit(pool, &jobs[5], 'N', JOB_MERGER, run_noted);
	(void)sem_post(&gate);
	while (pool_reap(pool, true)) {
	}
	ck_assert_str_eq(order, "gMFNab");
	pool_free(pool, drop);
}
END_TEST

static void *open_gate_later(void *arg)
{
	const struct timespec delay = { .tv_nsec = 20000000 };

	(void)nanosleep(&delay, NULL);
	(void)sem_post(&gate);
	return arg;
}

/* A pool that is freed waits for the job that runs, and drops all that are in it. */
START_TEST(drops_on_free)
{
	struct pool *pool = new_pool((unsigned int)_i);
	struct test_job jobs[4];
	pthread_t opener;

	dropped = 0;
	if (_i == 0) {
		(void)sem_post(&gate);
	}
	submit(pool, &jobs[0], 'g', JOB_WORKER, run_gate);
	while (sem_wait(&has_started) != 0) {
	}
	submit(pool, &jobs[1], 'a', JOB_WORKER, run_noted);
	submit(pool, &jobs[2], 'M', JOB_MERGER, run_noted);
	submit(pool, &jobs[3], 'F', JOB_FIND, run_noted);
	ck_assert_int_eq(pthread_create(&opener, NULL, open_gate_later, NULL), 0);
	pool_free(pool, drop);
	ck_assert_uint_eq(dropped, 4);
	ck_assert_int_eq(order[0], 'g');
	ck_assert_int_eq(pthread_join(opener, NULL), 0);
}
END_TEST

/* Waits until so many are done. */
START_TEST(waits_for_count)
{
	struct pool *pool = new_pool(2);
	struct test_job jobs[4];

	for (size_t i = 0; i < 4; i++) {
		submit(pool, &jobs[i], 'a', JOB_WORKER, run_job);
	}
	pool_wait(pool, 3);
	for (size_t i = 0; i < 3; i++) {
		ck_assert_ptr_nonnull(pool_reap(pool, false));
	}
	pool_wait(pool, 100); /* no more than there are */
	ck_assert_ptr_nonnull(pool_reap(pool, false));
	ck_assert_ptr_null(pool_reap(pool, false));
	pool_wait(pool, 1);
	pool_free(pool, drop);
}
END_TEST

/* ... or until one is that is no chunk. */
START_TEST(waits_for_others)
{
	struct pool *pool = new_pool(2);
	struct test_job jobs[2];

	submit(pool, &jobs[0], 'g', JOB_WORKER, run_gate);
	submit(pool, &jobs[1], 'M', JOB_MERGER, run_job);
	pool_wait(pool, 2);
	ck_assert_ptr_eq(pool_reap(pool, false), &jobs[1].job);
	ck_assert_ptr_null(pool_reap(pool, false));
	(void)sem_post(&gate);
	ck_assert_ptr_eq(pool_reap(pool, true), &jobs[0].job);
	pool_free(pool, drop);
}
END_TEST

static bool is_readable(int fd)
{
	return poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) == 1;
}

/* A finished job makes the descriptor readable, for an event loop. */
START_TEST(wakes_event_loop)
{
	struct pool *pool = new_pool(1);
	struct test_job jobs[2];
	int fd = pool_event_fd(pool);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pool_event_fd(pool), fd);
	ck_assert(!is_readable(fd));
	for (size_t i = 0; i < 2; i++) {
		submit(pool, &jobs[i], 'a', JOB_WORKER, run_job);
		ck_assert_int_eq(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1), 1);
		pool_drain_event(pool);
		ck_assert(!is_readable(fd));
		ck_assert_ptr_nonnull(pool_reap(pool, false));
	}
	pool_free(pool, drop);
	pool = new_pool(0);
	ck_assert_int_eq(pool_event_fd(pool), -1);
	ck_assert(!pool_is_busy(pool));
	pool_free(pool, drop);
}
END_TEST

static sigset_t masked;

static void run_look_at_mask(struct job *job, void *scratch)
{
	run_job(job, scratch);
	ck_assert_int_eq(pthread_sigmask(SIG_BLOCK, NULL, &masked), 0);
}

/* Handlers of signals run in the first thread; faults of a worker are its own. */
START_TEST(workers_get_no_signals)
{
	struct test_job job;
	struct pool *pool;
	sigset_t here, none, before;

	/* ThreadSanitizer handles SIGBUS with all signals blocked, and they stay so when a guard
	 * (engine/worker/guard.h) jumps out of it, as a test before this one has it do. */
	(void)sigemptyset(&none);
	ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, &none, &before), 0);
	pool = new_pool(1);
	submit(pool, &job, 'a', JOB_WORKER, run_look_at_mask);
	ck_assert_ptr_eq(pool_reap(pool, true), &job.job);
	ck_assert_int_eq(sigismember(&masked, SIGTERM), 1);
	ck_assert_int_eq(sigismember(&masked, SIGUSR1), 1);
	ck_assert_int_eq(sigismember(&masked, SIGBUS), 0);
	ck_assert_int_eq(pthread_sigmask(SIG_SETMASK, &before, &here), 0);
	ck_assert_int_eq(sigismember(&here, SIGTERM), 0);
	pool_free(pool, drop);
}
END_TEST

Suite *suite_pool(void)
{
	Suite *suite = suite_create("pool");
	TCase *tcase = tcase_create("pool");

	tcase_add_loop_test(tcase, jobs_come_back, 0, 4);
	tcase_add_test(tcase, urgent_first);
	tcase_add_loop_test(tcase, drops_on_free, 0, 2);
	tcase_add_test(tcase, waits_for_count);
	tcase_add_test(tcase, waits_for_others);
	tcase_add_test(tcase, wakes_event_loop);
	tcase_add_test(tcase, workers_get_no_signals);
	suite_add_tcase(suite, tcase);
	return suite;
}
