/*
 * trigger: a condition on windows, and whether it holds.
 *
 *     cpu.busy > 90% for 3s until < 70% every 1m
 *     cpu.cpu[3].busy > 95% or cpu.thread[comm=redis*].run > 80%
 *     sched.wake.p99 > 2ms and count.rate > 1M complete
 *
 *     EXPR       ALTERNATIVE [for DURATION] [until LIMIT] [every DURATION] [complete]
 *     ALTERNATIVE  ALL {or ALL};  ALL  ONE {and ONE};  ONE  FIGURE > VALUE, or in brackets
 *     FIGURE     ANALYSIS.COLUMN, ANALYSIS.LIST[WHICH].COLUMN, .rate for each second
 *     WHICH      a number (CPU, tid, pid), or KEY=PATTERN (comm=, name=); nothing: any row
 *     VALUE      90%  3.5ms  200M  200M/s  12
 *
 * Columns and lists go by their keys in JSON, without _ns and in the singular, if you like;
 * distributions have .count .sum .min .mean .max .p50 .p95 .p99 .p999.  A share (%) of time is one
 * of the window; of a figure of all CPUs it is one of their time.
 *
 * If all lists that are compared are one (with the same WHICH), the trigger stands for each row of
 * it by itself: one thread has to be beyond the limit for the whole of `for`, and each is armed
 * again by its own `until`.  In a row that is not in a window nothing holds; if no row is, it is as
 * if one were, with 0.  Otherwise of several rows one that is beyond the limit is enough.
 *
 * A trigger fires once, when it has held long enough, and again when it did not hold in between
 * (with `until`: when that limit was passed), and not more often than `every`; rows that are there
 * in one window fire as one.  It is exact: it sees closed windows only.  `complete`: windows in
 * which something is missing do not count.
 */
#ifndef SILLAGE_LIVE_TRIGGER_TRIGGER_H
#define SILLAGE_LIVE_TRIGGER_TRIGGER_H

#include "base/err.h"
#include "engine/tables/report.h"
#include "output/sink.h"

struct trigger;

/* NULL with the place and what was expected there.  @name NULL: it goes by its text. */
struct trigger *trigger_new(const char *name, const char *text, struct err *err);
void trigger_free(struct trigger *trigger); /* NULL is fine */

/* The analyses that it looks at: sets used[i] for analyses[i]. */
void trigger_uses(const struct trigger *trigger, bool used[ANALYSES_MAX]);

/* A comparison, as it was when the trigger fired. */
struct trigger_value {
	const char *figure; /* as written */
	bool holds;
	bool is_share; /* value and limit are shares (1: all) */
	bool is_rate;  /* of each second */
	enum unit unit;
	double value, limit;
	char op;
	char row[64]; /* of which row; "": of the trace */
};

#define TRIGGER_VALUES_MAX 16

struct trigger_event {
	const char *name, *text;
	uint64_t begin, end; /* ns: from when on it held, and the end of the window */
	size_t rows; /* that it fires for; the values are those of the one furthest beyond */
	size_t count;
	struct trigger_value values[TRIGGER_VALUES_MAX];
};

/* Looks at a window; true: the trigger fires, @event says why. */
bool trigger_look(struct trigger *trigger, const struct trace_identity *trace,
		  const struct report *report, struct trigger_event *event);

/* The values of the event, for people. */
void trigger_say(const struct trigger_event *event, char *text, size_t size);

#endif
