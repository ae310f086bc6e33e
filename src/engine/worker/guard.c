/*
 * guard: see guard.h.
 */
#include "engine/worker/guard.h"

#include <pthread.h>
#include <signal.h>

/*
 * The handler is a reader that the compiler does not see: without these the stores around
 * the guarded reads would be moved or dropped.
 */
static _Thread_local struct guard *volatile current;
#define BARRIER() __asm__ volatile("" : : : "memory")

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	struct guard *guard = current;
	const uint8_t *at = info->si_addr;

	(void)context;
	if (guard && at >= guard->begin && at < guard->end) {
		siglongjmp(guard->jump, 1);
	}
	(void)signal(number, SIG_DFL); /* happens again on return */
}

static void install(void)
{
	/* NODEFER: the handler is left by a jump, which restores no mask. */
	struct sigaction action = { .sa_sigaction = on_bus_error,
				    .sa_flags = SA_SIGINFO | SA_NODEFER };

	(void)sigaction(SIGBUS, &action, NULL);
}

void guard_enter(struct guard *guard, const void *bytes, size_t len)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, install);
	guard->begin = bytes;
	guard->end = guard->begin + len;
	current = guard;
	BARRIER();
}

void guard_leave(void)
{
	BARRIER();
	current = NULL;
}
