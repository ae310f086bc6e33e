/*
 * executions-named: for executions.c: what ids are called, which executions are wanted by that
 * ("only"), and the rows that "group" divides them into (doc/definitions.md, 4.12 and 6.1).
 *
 *     events of labels ── executions_named_take() ──► names
 *     events of a job ── executions_named_add() ──► items ── executions_named_row() ──► row
 */
#pragma once

#include "deep/executions/executions-pattern.h"
#include "query/called.h"

HASH_MAP_TEXT(item_numbers, uint32_t)
HASH_MAP(item_rows, struct executions_row *)

/* All zero but for the first three, at first. */
struct executions_named {
	const struct label_set *labels; /* NULL: there are none */
	const struct job_spec *job;
	struct executions *executions; /* owns the texts */
	struct called called;
	VEC(const char *) items; /* each text once; its number is its index, plus 1 */
	struct item_numbers numbers;
	struct item_rows rows; /* by the numbers of both items */
};

/* Takes the names that the event tells. */
void executions_named_take(struct executions_named *named, const struct reader_event *event);
/* Whether the event, the first of the pattern, begins one that is wanted. */
bool executions_named_wants(const struct executions_named *named, const struct fields_event *event);
/* Adds the items that the event, which is part @at of the pattern, is the first to have. */
void executions_named_add(struct executions_named *named, size_t at,
			  const struct fields_event *event, struct executions_items *items);
/* Their row; NULL: the job has no group. */
struct executions_row *executions_named_row(struct executions_named *named,
					    const struct executions_items *items);
/* Names the rows, by what the trace told last.  Frees all but these. */
void executions_named_end(struct executions_named *named);
