/*
 * fields: which fields of an event are asked for, and where each of them is found.
 *
 * A field that the trace may have as a number or as text is asked for as both: the text is at the
 * next index.
 */
#pragma once

#include "query/pattern.h"

#define FIELD_NONE    UINT8_MAX
#define FIELD_CPU     (UINT8_MAX - 1)
#define FIELD_PROCESS (UINT8_MAX - 2)

struct fields {
	char names[PLAN_FIELDS_MAX][2 + PATTERN_WORD_BYTES];
	const char *at[PLAN_FIELDS_MAX]; /* for a plan_request; they point into `names` */
	size_t count;
};

/* Where an event has what it says of its thread; the last two may be FIELD_NONE. */
struct thread_fields {
	uint8_t tid, vtid, vpid, procname;
};

/* The contexts that name its process: the first that it has. */
struct process_fields {
	uint8_t vpid, pid;
};

/* The index of a field, which is added if it is new; FIELD_NONE: no room. */
uint8_t fields_want(struct fields *fields, const char *prefix, const char *name);
/* The index of a field as a number; the next one is the same field as text.  "$cpu": FIELD_CPU,
 * "$pid": FIELD_PROCESS. */
uint8_t fields_want_any(struct fields *fields, const char *name);
/* The indexes of the fields that a definition's conditions are about; false: no room. */
bool fields_want_conditions(struct fields *fields, const struct definition *what,
			    uint8_t conditions[CONDITIONS_MAX]);
/* The contexts that name its process; false: no room. */
bool fields_want_process(struct fields *fields, struct process_fields *process);
/* The contexts that name the running thread, and its process; false: no room for the tids. */
bool fields_want_thread(struct fields *fields, struct thread_fields *thread);
