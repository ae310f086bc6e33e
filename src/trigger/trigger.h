/*
 * trigger: a condition on windows, and the state that decides when it fires.
 *
 *     cpu.busy > 90% for 3s until < 70% every 1m
 *     cpu.cpu[3].busy > 95% or cpu.thread[comm=redis*].run > 80%
 *     sched.wake.p99 > 2ms and count.rate > 1M complete
 *
 *     99.9% of windows in 24h: periods[name=req].time.p99 < 20ms
 *
 *     EXPR       [N% of windows [in DURATION]:] ALTERNATIVE [on N hosts] [for DURATION] [until
 * LIMIT] [every DURATION] [complete] ALTERNATIVE  ALL {or ALL};  ALL  ONE {and ONE};  ONE  FIGURE >
 * VALUE, or in brackets FIGURE     figure/figure.h VALUE      90%  3.5ms  200M  200M/s  12
 * auto(1e-4)  auto(1e-4, drift 10m) baseline  baseline +20%  baseline -30%  baseline x3
 *
 * A share (%) is of the window's length; for a figure of all CPUs it is of the time of all CPUs.
 *
 * States.  Each row that the trigger evaluates goes through:
 *
 *                  holds for `for`, and `every` has passed
 *     ARMED ────────────────────────────────────────────────► FIRED
 *       ▲                                                       │
 *       └───────────────────────────────────────────────────────┘
 *            `until` holds; without `until`: the condition no longer holds
 *
 * Rows.  If all compared rows belong to one list, selected by the same WHICH, each row has a state
 * of its own: one single thread must hold for all of `for`.  Otherwise the trigger has one state
 * per trace, and one selected row beyond the limit is enough.  In a row that is missing from a
 * window the condition does not hold.  If no row is in the window, one with the value 0 is assumed.
 * A comparison of a figure whose events are not recorded does not hold.
 * All rows that fire in one window make one event.  `every` counts per trace, over all rows.
 *
 * Hosts.  `on N hosts` is about several traces: whoever evaluates it counts the hosts on which it
 * holds.  On a host it holds from where it would have fired there until it is armed there again.
 *
 * Objectives.  Of `N% of windows:` the condition is what has to hold.  A window counts if it has a
 * value of it, and is bad if it does not hold for some row.  The trigger fires when more windows
 * are bad than 100 - N % of those that count: so far, or in DURATION, where those that are still to
 * come count as good.  It has one state per trace.
 *
 * auto(q) is a limit that is found for each row: auto-limit.h.
 *
 * baseline is what the figure was in the same hour of other days: the median of their values.  A
 * sum of time is compared as a share, other sums per second.  Rows of one name are one row in such
 * a comparison (figure/fold.h), and so are all rows of the trigger if they are evaluated one by
 * one.  A row without a baseline is never beyond it.  If no row is in the window, the limit is that
 * of the row that WHICH names, without signs of patterns.
 *
 * Triggers see closed windows only, so that they are exact.  With `complete` they skip windows in
 * which anything is missing.
 */
#pragma once

#include <stdio.h>

#include "base/codec.h"
#include "base/err.h"
#include "engine/contract/missing.h"
#include "engine/tables/report.h"
#include "figure/figure.h"
#include "output/notice.h"
#include "output/sink.h"

struct trigger;

/* Where triggers get a baseline from. */
struct baseline_source {
	void *user;
	/* What is usual in a trace of this identity at the hour of day of the moment @ns, valid
	 * until the next call; NULL: not known, or not yet. */
	const void *(*hour)(void *user, const struct trace_identity *trace, uint64_t ns);
	/* How many days have the row of this name, and in *ret the median of their values if that
	 * is enough for a limit, else NAN. */
	unsigned int (*find)(void *user, const void *hour, const struct figure *figure,
			     const char *name, double *ret);
};

/* Parses @text.  NULL with an error that names the column and what was expected there.  @name NULL:
 * the text is the name. */
struct trigger *trigger_new(const char *name, const char *text, struct err *err);
void trigger_free(struct trigger *trigger); /* NULL is fine */

const char *trigger_name(const struct trigger *trigger);
const char *trigger_text(const struct trigger *trigger);

/* N of `on N hosts`; 0: each trace triggers by itself. */
uint64_t trigger_hosts(const struct trigger *trigger);
/* Whether it is an objective for all windows of the run, so that its end decides. */
bool trigger_is_of_run(const struct trigger *trigger);
/* Of an objective the number of traces that it has seen, and of the one number @at what is left of
 * the budget.  0: it is no objective. */
size_t trigger_budget_at(const struct trigger *trigger, size_t at, const char **ret_trace,
			 struct trigger_budget *ret);
/* The shortest time between two firings, ns. */
uint64_t trigger_every(const struct trigger *trigger);

/* Sets used[i] for each analyses[i] whose figures it needs. */
void trigger_uses(const struct trigger *trigger, bool used[ANALYSES_MAX]);

/* Whether it needs the figures of phases/phases.h. */
bool trigger_uses_phases(const struct trigger *trigger);
/* Sets used[i][k] for each table k of analyses[i] that it compares figures of. */
void trigger_uses_tables(const struct trigger *trigger, uint16_t used[ANALYSES_MAX][TABLES_MAX]);
/* Adds its figures. */
void trigger_figures(const struct trigger *trigger, struct figure_list *ret);
/* Whether a figure of it is in a list of containers. */
bool trigger_uses_containers(const struct trigger *trigger);

/*
 * Whether the condition can hold in a trace of these events; a figure whose events are not recorded
 * never does.  False: what is missing is in @ret.
 */
bool trigger_can_hold(const struct trigger *trigger, const struct event_names *names,
		      const struct period_set *periods, struct missing_events *ret);

/* Whether it does not look at such a window, which then changes nothing. */
bool trigger_skips(const struct trigger *trigger, const struct report *report);
/* Evaluates a window.  True: the trigger fires, for the reasons in @event; with `on N hosts`: it
 * holds on this host, in each such window. */
bool trigger_evaluate(struct trigger *trigger, const struct trace_identity *trace,
		      const struct report *report, struct trigger_event *event);
/* Whether the event has values that are further beyond the limit. */
bool trigger_event_is_further(const struct trigger_event *event, const struct trigger_event *than);
/* The trace has no window where others have one: the condition does not hold in it. */
void trigger_absent(struct trigger *trigger, const struct trace_identity *trace);

/* Whether a comparison has a limit of `baseline`; then it needs a source, which outlives it. */
bool trigger_uses_baseline(const struct trigger *trigger);
void trigger_set_baseline(struct trigger *trigger, const struct baseline_source *source);
/* Adds the figures of these comparisons, by which the source is asked. */
void trigger_baselines(const struct trigger *trigger, struct figure_list *ret);

/* The length of whole windows, which alone have values for auto(); 0: all have. */
void trigger_set_interval(struct trigger *trigger, uint64_t ns);

/* Whether some window had all that decides if the condition holds, and each row that it names was
 * in some window; if not, @why says what lacked. */
bool trigger_was_measured(const struct trigger *trigger, char *why, size_t size);
/* Whether a row that it names was in none, although there were windows that could have it. */
bool trigger_lacks_row(const struct trigger *trigger);
/* In how many traces, or on how many hosts, some window had that. */
size_t trigger_measured_in(const struct trigger *trigger);

/* Writes its state in a trace, or reads it in place of the one it has.  On codec->is_wrong it has a
 * new one. */
void trigger_codec(struct trigger *trigger, const struct trace_identity *trace,
		   struct codec *codec);

/* Prints for people what it looks at, and how. */
void trigger_describe(const struct trigger *trigger, FILE *out);
