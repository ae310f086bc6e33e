/*
 * gate: whether a run passes, for scripts and continuous integration.
 *
 *     --fail EXPR    a condition: the run fails if it held in some window (GATE_HELD)
 *     --strict       the run fails if something is missing (GATE_LOST)
 *     --junit, --tap files in which each condition, each trigger and --strict is a test case
 *
 * A trigger fails no run: its case passes and says when it fired.  A condition that could never be
 * evaluated is a skipped case; with --strict it counts as missing data, and so does a trigger that
 * names what is not there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "output/notice.h"

struct gate;
struct report;
struct trace_identity;

enum { GATE_PASSED = 0, GATE_HELD = 3, GATE_LOST = 4 }; /* exit statuses */

struct gate *gate_new(bool is_strict);
void gate_free(struct gate *gate); /* NULL is fine */

/* The next case, numbered from 0.  @fails: a condition of --fail, else a trigger. */
void gate_add(struct gate *gate, const char *name, bool fails);
/* It fired. */
void gate_fired(struct gate *gate, size_t number, const struct trace_identity *trace,
		const struct trigger_event *event);
/* The same, where @says is all that there is to say. */
void gate_held(struct gate *gate, size_t number, const char *says);
/* What there is to say of it at the end, whether it fired or not. */
void gate_note(struct gate *gate, size_t number, const char *says);
/* It could not be evaluated in any window.  Of a trigger that is missing data for --strict only if
 * it never can be: gate_mistaken(). */
void gate_skip(struct gate *gate, size_t number, const char *why);
void gate_mistaken(struct gate *gate, size_t number, const char *why);
/* Looks for what is missing in the trace.  Call it with all reports. */
void gate_report(struct gate *gate, const struct trace_identity *trace,
		 const struct report *report);

/* A loss that no report has, for --strict: "A: ...". */
void gate_lost(struct gate *gate, const char *says);

/* GATE_LOST goes before GATE_HELD: what is missing makes the rest doubtful. */
int gate_status(const struct gate *gate);
/* What is missing, a line each, as --strict has it. */
void gate_say_lost(const struct gate *gate,
		   void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));
/* What lets the run fail, a line for each; @say is called with each. */
void gate_say(const struct gate *gate,
	      void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2))));

/* Writes the file; "-" is standard output.  @failure: why the run did not come to its end; NULL: it
 * did.  -errno with the reason. */
int gate_write_junit(const struct gate *gate, const char *path, const char *failure,
		     struct err *err);
int gate_write_tap(const struct gate *gate, const char *path, const char *failure, struct err *err);
