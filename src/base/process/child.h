/*
 * child: what a process that this one starts inherits, and its end.
 *
 * No child is waited for without a limit, and none is left as a zombie.  Elsewhere there is no
 * waitpid() (contrib/tidy.py).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Takes a variable out of the environment, which processes that are started inherit.  The caller
 * frees it; NULL: there is none.  Before other threads are. */
char *child_take_variable(const char *name);

/* Whether it has ended, which is then all over: its number may be another process's.
 * @ret_status: as wait(2) has it; NULL is fine. */
bool child_has_ended(pid_t pid, int *ret_status);

/* What a wait is ended by, beside the child's end. */
enum child_patience {
	CHILD_LEAVES, /* a signal (base/now.h) */
	CHILD_LASTS,  /* STOP_LAST_NS after a signal: it is finished first */
};
bool child_is_over(enum child_patience patience);

/*
 * Waits for its end, for @limit_ns at most (UINT64_MAX: there is no limit).  false: it has not
 * ended.
 */
bool child_wait(pid_t pid, uint64_t limit_ns, enum child_patience patience, int *ret_status);

/* Kills it, and with @is_leader its process group, and takes its status. */
void child_kill(pid_t pid, bool is_leader);
