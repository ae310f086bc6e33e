/*
 * wake-source: which event of a trace is a wake-up (doc/definitions.md, 4.4).
 *
 * Several events report the same wake-up.  One of them, the source, counts: `sched_ttwu` if the
 * trace has it, else `sched_waking`, else `sched_wakeup`.
 *
 *     sched_ttwu ── sched_waking ────────── sched_wakeup          sched_wakeup_new
 *     on the waker's CPU, maybe before the  on the run queue of   the first one of a thread
 *     sleeper has left its own              the CPU it goes to
 *
 * A `sched_wakeup` that is not the source confirms: a thread that is still on its CPU then never
 * left it.  In a trace without `sched_wakeup` nothing confirms.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/check.h"

struct plan;

enum wake_event { WAKE_TTWU, WAKE_WAKING, WAKE_WAKEUP, WAKE_WAKEUP_NEW, WAKE_EVENTS };

/* X(name, enum wake_event, ...), in the order of the enumeration; the same as rows of a table. */
#define WAKE_EVENTS_OF(X, ...)                                                                     \
	X("sched_ttwu", WAKE_TTWU, __VA_ARGS__)                                                    \
	X("sched_waking", WAKE_WAKING, __VA_ARGS__)                                                \
	X("sched_wakeup", WAKE_WAKEUP, __VA_ARGS__)                                                \
	X("sched_wakeup_new", WAKE_WAKEUP_NEW, __VA_ARGS__)
#define WAKE_ROWS(ROW, ...)                                                                        \
	ROW("sched_ttwu", WAKE_TTWU, __VA_ARGS__), ROW("sched_waking", WAKE_WAKING, __VA_ARGS__),  \
		ROW("sched_wakeup", WAKE_WAKEUP, __VA_ARGS__),                                     \
		ROW("sched_wakeup_new", WAKE_WAKEUP_NEW, __VA_ARGS__)

/* Those that can be the source, for lists of names. */
#define WAKE_SOURCES "sched_waking", "sched_wakeup", "sched_ttwu"

/* What an event means in a trace. */
enum wake_kind { WAKE_NONE, WAKE_SOURCE, WAKE_CONFIRMS, WAKE_NEW };

struct wake_source {
	uint8_t kinds[WAKE_EVENTS]; /* enum wake_kind; all WAKE_NONE: not looked up yet */
	bool has_wakeup;            /* the trace can have sched_wakeup */
};

/* @plan: of the trace. */
struct wake_source wake_source_of(const struct plan *plan);
/* The same, by which of these events the trace can have. */
struct wake_source wake_source_among(const bool has[WAKE_EVENTS]);

static inline bool wake_source_is_known(const struct wake_source *source)
{
	return source->kinds[WAKE_WAKEUP_NEW] != WAKE_NONE;
}

static inline enum wake_kind wake_source_kind(const struct wake_source *source, uint32_t event)
{
	assert_hot(event < WAKE_EVENTS);
	return (enum wake_kind)source->kinds[event];
}

/* Whether an event with these fields wakes a thread.  @tid: 0 if the event has none; @success: 1 if
 * the event has none.  The idle thread is never woken. */
static inline bool wake_source_wakes(int64_t tid, uint64_t success)
{
	return (int32_t)tid > 0 && success != 0;
}
