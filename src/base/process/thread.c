/*
 * thread: see thread.h.
 */
#include "base/process/thread.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/units.h"
#include "base/vec.h"

int thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg)
{
	static const int faults[] = { SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS };
	sigset_t blocked, before;
	int r;

	(void)sigfillset(&blocked);
	for (size_t i = 0; i < ARRAY_COUNT(faults); i++) {
		(void)sigdelset(&blocked, faults[i]);
	}
	(void)pthread_sigmask(SIG_BLOCK, &blocked, &before);
	r = pthread_create(ret_thread, NULL, run, arg); /* it inherits the mask */
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

void thread_say_late(struct thread_last *last)
{
	if (last && !last->has_said && now_is_leaving()) {
		last->has_said = true;
		last->say("ending: %s first, for at most %d s", last->doing,
			  (int)(STOP_LAST_NS / NS_PER_S));
	}
}

static struct timespec soon(clockid_t clock)
{
	struct timespec at;

	(void)clock_gettime(clock, &at);
	at.tv_sec += LATE_NS / NS_PER_S;
	return at;
}

void thread_join(pthread_t thread, struct thread_last *last)
{
	struct timespec until = soon(CLOCK_REALTIME); /* it knows no other */

	while (pthread_timedjoin_np(thread, NULL, &until) == ETIMEDOUT) {
		thread_say_late(last);
		until = soon(CLOCK_REALTIME);
	}
}

void thread_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, struct thread_last *last)
{
	struct timespec until = soon(CLOCK_MONOTONIC);

	if (pthread_cond_clockwait(cond, mutex, CLOCK_MONOTONIC, &until) == ETIMEDOUT) {
		thread_say_late(last);
	}
}
