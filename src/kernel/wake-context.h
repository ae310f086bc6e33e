/*
 * wake-context: whether a thread wakes another one, or an interrupt does (doc/definitions.md, 4.4).
 *
 *     thread 7 ──── woke 9 ────┌ irq 28 ── woke 8 ──┐──── woke 9 ────
 *     the waker     7          └────────── none ────┘     7
 *
 * Each CPU counts the entries of interrupts that lack their exit, hard and soft ones apart: soft
 * ones are no interrupt of a thread that is there to run them.  A switch shows that none is open.
 *
 * What a part of a stream does to a count is a function of the count before it, max(before +
 * change, least).  So parts can be read in any order and put together, wherever they are cut.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum wake_context { WAKE_HARD, WAKE_SOFT, WAKE_CONTEXTS };

/* X(number, entry, exit, kind): the events between which an interrupt is open.  A timer that
 * expires is one wherever that is done. */
#define WAKE_PAIRS_OF(X)                                                                           \
	X(0, "irq_handler_entry", "irq_handler_exit", WAKE_HARD)                                   \
	X(1, "timer_hrtimer_expire_entry", "timer_hrtimer_expire_exit", WAKE_HARD)                 \
	X(2, "hrtimer_expire_entry", "hrtimer_expire_exit", WAKE_HARD)                             \
	X(3, "irq_softirq_entry", "irq_softirq_exit", WAKE_SOFT)                                   \
	X(4, "softirq_entry", "softirq_exit", WAKE_SOFT)
#define WAKE_PAIRS 5
/* And each of these, which end in _entry and _exit; hard ones. */
#define WAKE_VECTORS "x86_irq_vectors_*"

/* The count of open ones is max(count before + change, least). */
struct wake_depth {
	int32_t change, least;
};

#define WAKE_DEPTH_CLOSED ((struct wake_depth){ .change = INT32_MIN / 2 })
#define WAKE_NEVER        UINT32_MAX /* wake_depth_limit(): whatever the count was before */

static inline void wake_depth_enter(struct wake_depth *depth)
{
	depth->change++;
	depth->least++;
}

/* An exit without an entry changes nothing. */
static inline void wake_depth_leave(struct wake_depth *depth)
{
	depth->change--;
	depth->least -= depth->least > 0;
}

/* One is open now if the count before was at least so much. */
static inline uint32_t wake_depth_limit(struct wake_depth depth)
{
	return depth.least > 0                ? 0
	       : depth.change > INT32_MIN / 4 ? (uint32_t)(1 - depth.change)
					      : WAKE_NEVER;
}

static inline uint32_t wake_depth_after(struct wake_depth depth, uint32_t before)
{
	int64_t after = (int64_t)before + depth.change;

	after = after > depth.least ? after : depth.least;
	return after < WAKE_NEVER ? (uint32_t)after : WAKE_NEVER - 1;
}

/* Whether soft interrupts are the work of the thread of this name; NULL: it has none. */
static inline bool wake_thread_serves(const char *name)
{
	return name && memcmp(name, "ksoftirq", 8) == 0;
}

/* The waker: a thread; 0: none, an interrupt or the idle thread; -1: unknown.  @tid: of who runs
 * there, in the same form; @serves: soft interrupts are its work. */
static inline int32_t wake_context_waker(bool is_hard, bool is_soft, int32_t tid, bool serves)
{
	return is_hard || (is_soft && tid > 0 && !serves) ? 0 : tid;
}
