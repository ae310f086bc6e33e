/*
 * thread: a thread that signals of this process do not interrupt.
 *
 * Handlers run in the first thread only: none is at work in another thread while that one takes
 * away what they use.
 */
#pragma once

#include <pthread.h>

/* As pthread_create().  Faults of the thread itself, such as SIGBUS, still reach their handlers.
 * Programs that the thread starts inherit its mask. */
int thread_start(pthread_t *ret_thread, void *(*run)(void *arg), void *arg);
