/*
 * guard: see guard.h.
 */
#include "engine/worker/guard.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>

/*
 * The compiler does not know that the handler reads `current`.  Without these barriers it could
 * move or drop the stores around the guarded reads.
 */
static _Thread_local struct guard *volatile current;
#define BARRIER() __asm__ volatile("" : : : "memory")

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	struct guard *guard = current;
	const uint8_t *at = info->si_addr;

	if (guard && at >= guard->begin && at < guard->end) {
		siglongjmp(guard->jump, 1);
	}
	(void)signal(number, SIG_DFL); /* the access is repeated on return, and ends the process */
}

static void install(void)
{
	/* NODEFER: the handler is left by a jump, which does not restore the signal mask. */
	struct sigaction action = { .sa_sigaction = on_bus_error,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };

	(void)sigaction(SIGBUS, &action, NULL);
}

void guard_enter(struct guard *guard, const void *bytes, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	assert(!current);
	assert(bytes);
	(void)pthread_once(&once, install);
	guard->begin = bytes;
	guard->end = guard->begin + len;
	current = guard;
	BARRIER();
}

void guard_leave(void)
{
	assert(current);
	BARRIER();
	current = NULL;
}
