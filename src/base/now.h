/*
 * now: the current time, in ns, and whether the process has to end now.
 *
 * After a signal a command finishes with what it has read.  Chunks that workers have are decoded to
 * their end first, which takes milliseconds.  It may take longer: a packet can have 1 GiB, and the
 * search for the next readable packet can cover a whole file.  Loops of such length ask
 * now_must_leave().  It is true from STOP_PATIENCE_NS after the signal on; they leave their work
 * then.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

uint64_t now_monotonic_ns(void);  /* since an arbitrary moment; never goes back */
uint64_t now_wall_ns(void);       /* since the epoch; the administrator may set it back */
uint64_t now_thread_cpu_ns(void); /* processor time of this thread */

/* The rule of all waits: none goes on for longer than WAIT_POLL_MS without a look at
 * now_is_leaving(), or at what follows from it.  What has to be finished first, a capture that is
 * written or a last commit, may take until now_must_end(), and says so (process/thread.h).
 */
extern _Atomic uint64_t now_leave_at_ns; /* monotonic: when work is left; 0: no signal came */
extern atomic_bool now_has_left;         /* packets were left in the middle, or unread in a chunk */

/* The process was asked to end.  A signal handler may call it, and again. */
void now_leave_soon(void);

/* For a wait: whether a signal came, and since then, and since @heard (monotonic: when it last said
 * something), a peer has been silent for STOP_SILENCE_NS, or it is now_must_end(). */
bool now_must_hang_up(uint64_t heard);

/* STOP_LAST_NS after the signal: what is not finished is given up. */
bool now_must_end(void);

/* A signal came. */
static inline bool now_is_leaving(void)
{
	return atomic_load_explicit(&now_leave_at_ns, memory_order_relaxed) != 0;
}

static inline bool now_must_leave(void)
{
	uint64_t at = atomic_load_explicit(&now_leave_at_ns, memory_order_relaxed);

	return at != 0 && now_monotonic_ns() >= at;
}
