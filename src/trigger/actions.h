/*
 * actions: the triggers of a run, and what to do when one fires.
 *
 * Owns the triggers and the commands that they started.  Actions are:
 *
 *   print                   a line in the output
 *   capture                 the same, and a capture (through a callback: see actions_on_capture())
 *   capture,report          the same, and a report of the capture
 *   capture,report,discover the report says which jobs ran
 *   capture,perfetto        the same for the viewer of Perfetto; or capture,report,perfetto
 *   lttng-snapshot SESSION  has a flight recorder on this host record a snapshot
 *   exec COMMAND            runs a shell command
 *
 * A command gets the JSON line of the trigger on standard input.  Its environment has the main
 * facts: SILLAGE_TRIGGER, SILLAGE_SAYS, SILLAGE_HOST, SILLAGE_SESSION, SILLAGE_BEGIN and
 * SILLAGE_END.  What it prints goes to our standard error.
 *
 * Commands never block the live loop.  At most ACTIONS_MAX run at the same time, further ones are
 * not run.  A command that runs longer than ACTION_SECONDS_MAX is killed with its process group.
 *
 * A file of triggers:
 *
 *     # a comment
 *     [hot]
 *     when = cpu.busy > 90% for 3s
 *     do = capture
 *     do = exec logger -t sillage "$SILLAGE_SAYS"
 */
#pragma once

#include "trigger/gate.h"
#include "trigger/trigger.h"

struct actions;

struct actions *actions_new(void (*say)(const char *fmt, ...)
				    __attribute__((format(printf, 1, 2))));
/* Waits up to ACTION_SECONDS_LAST for running commands, then kills them. */
void actions_free(struct actions *actions); /* NULL is fine */

/* Adds a trigger with one action.  -EINVAL with the reason. */
int actions_add(struct actions *actions, const char *name, const char *text, const char *action,
		struct err *err);
/* Adds the triggers of a file.  Negative with a reason that names the line. */
int actions_add_file(struct actions *actions, const char *path, struct err *err);
size_t actions_count(const struct actions *actions);

/* Whether some trace of @traces has what the trigger number @at needs; else -ENOENT, with what is
 * missing. */
int actions_check(const struct actions *actions, size_t at, const struct event_names *traces,
		  size_t count, const struct period_set *periods, struct err *err);

/* Adds the analyses that the triggers need to @list, which ends with NULL. */
void actions_add_analyses(const struct actions *actions, const struct analysis *list[ANALYSES_MAX]);

/* Whether a trigger needs the figures of phases/phases.h in the windows. */
bool actions_use_phases(const struct actions *actions);
bool actions_use_containers(const struct actions *actions);

/* Called for the action `capture`, with the context of actions_report().  @extras: what else is
 * wanted of it, CAPTURE_REPORT and CAPTURE_PERFETTO (output/notice.h). */
typedef void actions_capture_fn(void *context, const struct trace_identity *trace,
				const struct trigger_event *event, unsigned int extras);
void actions_on_capture(struct actions *actions, actions_capture_fn *capture);
/* Called whenever a trigger fires, with the context of actions_report(). */
typedef void actions_fired_fn(void *context, const struct trace_identity *trace,
			      const struct trigger_event *event);
void actions_on_fired(struct actions *actions, actions_fired_fn *fired);
/* The trigger with this number, below actions_count(). */
struct trigger *actions_trigger(const struct actions *actions, size_t number);
/* Whether any trigger captures. */
bool actions_captures(const struct actions *actions);
/* From now on triggers that fire are only printed, whatever their actions are. */
void actions_dry_run(struct actions *actions);

/* From now on @gate, whose cases are the triggers by their numbers, sees what fires and all
 * reports. */
void actions_set_gate(struct actions *actions, struct gate *gate);
struct gate *actions_gate(const struct actions *actions); /* NULL: none */
/* Tells the gate at the end which triggers could not be evaluated. */
void actions_end_gate(struct actions *actions);

/* Notes that the trigger number @at fired, and performs its actions; actions_report() does it for
 * those that it evaluates.  @trace: where it fired. */
void actions_fire(struct actions *actions, size_t at, struct output *output,
		  const struct trace_identity *trace, const struct trigger_event *event,
		  void *context);

/* The length of the windows that triggers look at. */
void actions_set_interval(struct actions *actions, uint64_t ns);

/* Writes the state of all triggers in a trace. */
void actions_save(struct actions *actions, const struct trace_identity *trace,
		  struct codec_out *out);
/* Reads it, for those triggers that have the same name and text; others start from scratch.
 * -EINVAL: it is damaged, and all of them do. */
int actions_restore(struct actions *actions, const struct trace_identity *trace,
		    const uint8_t *bytes, size_t size);

/* Evaluates the trigger number @at on a window, and performs its actions if it fires. */
void actions_take(struct actions *actions, size_t at, struct output *output,
		  const struct trace_identity *trace, const struct report *window, void *context);

/* Forgets commands that ended and kills those that run too long.  Call it periodically. */
void actions_poll(struct actions *actions);

/* Evaluates all triggers on a window, after it was reported to @output, and performs the actions of
 * those that fire. */
void actions_report(struct actions *actions, struct output *output,
		    const struct trace_identity *trace, const struct report *report, void *context);
