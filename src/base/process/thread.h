/*
 * thread: a thread that signals of this process do not interrupt.
 *
 * Handlers run in the first thread only: none is at work in another thread while that one takes
 * away what they use.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/* As pthread_create().  Faults of the thread itself, such as SIGBUS, still reach their handlers.
 * Programs that the thread starts inherit its mask. */
int thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg);

/*
 * A wait for what another thread finishes.  That thread hears a signal, or ends what it does before
 * now_must_end() (base/now.h).  Where it takes more than a second after one, @say has a line.
 */
struct thread_last {
	const char *doing; /* "the captures" */
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	bool has_said;
};

/* As pthread_join() and pthread_cond_wait(); @last: NULL: nothing is said. */
void thread_join(pthread_t thread, struct thread_last *last);
void thread_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, struct thread_last *last);
/* The line, once, if a signal came. */
void thread_say_late(struct thread_last *last);
