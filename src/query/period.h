/*
 * period: a user's own measure: the time from one event to another.
 *
 *     NAME = BEGIN; END [; by KEY, ...] [; group FIELD, ...] [; within NAME]
 *
 * BEGIN and END are definitions of events (query/pattern.h).
 *
 *   - Without keys, a begin and an end belong together if they have the same thread: the one that a
 *     condition with $tid names, or else the running one (in user space: the context vtid).
 *   - With keys ("by"), they belong together if all keys are equal.  A key is a field of both
 *     events, FIELD=FIELD if its name differs in the end event, $cpu, or $tid for the thread.
 *   - Fields after "group" divide the periods of a name into rows.  The begin event gives their
 *     values if it has the fields, else the end event does.
 *   - "within" counts a period only while the other period is open on the same thread; the end of
 *     that one ends it, too.
 */
#ifndef SILLAGE_QUERY_PERIOD_H
#define SILLAGE_QUERY_PERIOD_H

#include "base/mem.h"
#include "query/job.h"

#define PERIOD_KEYS_MAX   3
#define PERIOD_GROUPS_MAX 2
#define PERIOD_NAME_BYTES 32

#define FIELD_NONE UINT8_MAX
#define FIELD_CPU  (UINT8_MAX - 1)

/* One of the two events.  Members that stand for a field are indexes into `fields`. */
struct period_side {
	struct definition what;
	char names[PLAN_FIELDS_MAX][2 + PATTERN_WORD_BYTES];
	const char *fields[PLAN_FIELDS_MAX]; /* for a plan_request; they point into `names` */
	size_t count;
	uint8_t conditions[CONDITIONS_MAX];
	uint8_t thread; /* the field with $tid; FIELD_NONE: the running thread */
	uint8_t tid, vtid;
	/* The index of the field as a number; the next index is the same field as text.  A key can
	 * be FIELD_CPU. */
	uint8_t keys[PERIOD_KEYS_MAX], groups[PERIOD_GROUPS_MAX];
};

struct period {
	char *text; /* the user's */
	char name[PERIOD_NAME_BYTES];
	struct period_side begin, end;
	bool by_thread;
	size_t key_count, group_count; /* keys other than $tid */
	char groups[PERIOD_GROUPS_MAX][PATTERN_WORD_BYTES];
	int within; /* index of another period, always a smaller one; -1: none */
};

/* What the user wants to have measured. */
struct period_set {
	VEC(struct period *) all;
	VEC(struct job_spec *) jobs;
};

/* Adds a period.  -EINVAL with the place and what was expected there. */
int period_add(struct period_set *set, const char *text, struct err *err);
/* The same for "BEGIN,END", two names of events on one thread. */
int period_add_span(struct period_set *set, const char *text, struct err *err);
/* Adds a job (query/job.h). */
int period_add_job(struct period_set *set, const char *text, struct err *err);
/* All as texts: "job TEXT" for a job, else that of a period.  period_add_text() adds one again. */
size_t period_set_count(const struct period_set *set);
char *period_set_text(const struct period_set *set, size_t i); /* from malloc() */
int period_add_text(struct period_set *set, const char *text, struct err *err);
void period_set_fini(struct period_set *set);

#endif
