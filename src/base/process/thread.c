/*
 * thread: see thread.h.
 */
#include "base/process/thread.h"

#include <signal.h>
#include <stddef.h>

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
