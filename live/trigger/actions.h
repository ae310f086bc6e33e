/*
 * watch: the triggers of a run, and what is done when one fires.
 *
 * Actions: `print`, a line where the reports go; `capture` and `capture,report`, which also print;
 * `lttng-snapshot SESSION` of a flight recorder on this host; and `exec COMMAND`, a shell command
 * that gets the JSON line of the trigger on standard input and the main facts in its environment
 * (SILLAGE_TRIGGER, SILLAGE_SAYS, SILLAGE_HOST, SILLAGE_SESSION, SILLAGE_BEGIN, SILLAGE_END).
 * What it prints goes to our standard error.
 * Commands run beside us, at most ACTIONS_MAX at once, each for ACTION_SECONDS_MAX.
 *
 * A file of triggers:
 *
 *     # what a line says
 *     [hot]
 *     when = cpu.busy > 90% for 3s
 *     do = capture
 *     do = exec logger -t sillage "$SILLAGE_SAYS"
 */
#ifndef SILLAGE_LIVE_TRIGGER_ACTIONS_H
#define SILLAGE_LIVE_TRIGGER_ACTIONS_H

#include "live/trigger/trigger.h"

struct actions;

struct actions *actions_new(void (*say)(const char *fmt, ...)
				    __attribute__((format(printf, 1, 2))));
/* Waits a little for commands that still run, then kills them. */
void actions_free(struct actions *actions); /* NULL is fine */

/* A trigger with one action; -EINVAL with the reason. */
int actions_add(struct actions *actions, const char *name, const char *text, const char *action,
		struct err *err);
/* All of a file; the reason names the line. */
int actions_add_file(struct actions *actions, const char *path, struct err *err);
size_t actions_count(const struct actions *actions);

/* Adds the analyses that the triggers look at to @list, which ends with NULL. */
void actions_add_analyses(const struct actions *actions, const struct analysis *list[ANALYSES_MAX]);

/* What a `capture` does, with the context of actions_report(); @reports: and a report of it. */
typedef void actions_capture_fn(void *context, const struct trace_identity *trace,
				const struct trigger_event *event, bool reports);
void actions_on_capture(struct actions *actions, actions_capture_fn *capture);
/* Whether any trigger captures. */
bool actions_captures(const struct actions *actions);
/* From now on triggers are only printed, whatever their actions are. */
void actions_dry_run(struct actions *actions);

/* Kills commands that take too long; call it now and then. */
void actions_poll(struct actions *actions);

/* Looks at a window, after it was reported to @output. */
void actions_report(struct actions *actions, struct output *output,
		    const struct trace_identity *trace, const struct report *report, void *context);

#endif
