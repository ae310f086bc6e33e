/*
 * guardian: a child process that clears up once this process has ended, whatever ended it.
 *
 *     this process ── pipe ──► guardian: waits until the pipe is closed, then calls work()
 *
 * It is deaf to the signals of the terminal, and has none of this process's files open but one, so
 * that no reader waits for its end.
 */
#pragma once

#include "base/err.h"

struct guardian;

/* Call it before any thread starts: it forks.  @kept_fd: stays open in the guardian, a lock for
 * instance; -1: none.  NULL with the reason. */
struct guardian *guardian_new(void (*work)(const void *user), const void *user, int kept_fd,
			      struct err *err);
/* Has it do its work now, and returns when that is done; after a signal it goes on alone once
 * nothing may take longer.  @last: NULL: nothing is said.  NULL is fine for both. */
struct thread_last;
void guardian_free(struct guardian *guardian, struct thread_last *last);
