/*
 * objectives: those of `compare --fail`, "99.9% of windows: CONDITION", in both sides.
 *
 *     windows of A ──► budgets of A ──┐
 *     windows of B ──► budgets of B ──┴──► text, JSON, and the gate, which is about B
 *
 * Each trace of a side has a budget of its own, as in `analyze` and `history`.
 */
#pragma once

#include <stdio.h>

#include "trigger/gate.h"
#include "trigger/trigger.h"

struct objectives;

struct objectives *objectives_new(void);
void objectives_free(struct objectives *objectives); /* NULL is fine */

/* Whether --fail says an objective, and no change. */
bool objectives_is_one(const char *text);
/* Adds one, which is the case @number of the gate.  @interval_ns: of windows.  -EINVAL: it is
 * wrong, or is about what compare does not have. */
int objectives_add(struct objectives *objectives, const char *text, size_t number,
		   uint64_t interval_ns, struct err *err);
/* Whether there are some. */
bool objectives_any(const struct objectives *objectives);
/* Whether one is about containers. */
bool objectives_use_containers(const struct objectives *objectives);
/* Adds the analyses of their figures to a list that ends with NULL. */
void objectives_add_analyses(const struct objectives *objectives,
			     const struct analysis *list[ANALYSES_MAX]);

/* Takes a window of a side, 0: A, 1: B. */
void objectives_take(struct objectives *objectives, int side, const struct trace_identity *trace,
		     const struct report *window);

/* Prints what became of them: for people, and as JSON lines (doc/json.md). */
void objectives_text(const struct objectives *objectives, FILE *out);
void objectives_json(const struct objectives *objectives, FILE *out);
/* Those whose budget B has spent hold. */
void objectives_check(const struct objectives *objectives, struct gate *gate);
