/*
 * period: what a user wants measured: from one event to another.
 *
 *     NAME = BEGIN; END [; by KEY, ...] [; group FIELD, ...] [; within NAME]
 *
 * BEGIN and END are definitions of events (query/pattern.h).  Those of one thread belong together:
 * of the thread that a condition with $tid names, or else of the one that runs (in user space:
 * that the context vtid tells).  With keys those that agree in them do: a key is a field of both
 * events, or FIELD=FIELD where they call it otherwise, $cpu, or $tid for the thread as well.
 * Fields of a group tell periods of one name apart: of the begin if it has them, else of the end.
 * Within another period: only while that is open on the same thread; it ends with it.
 */
#ifndef SILLAGE_QUERY_PERIOD_H
#define SILLAGE_QUERY_PERIOD_H

#include "base/mem.h"
#include "query/pattern.h"

#define PERIOD_KEYS_MAX   3
#define PERIOD_GROUPS_MAX 2
#define PERIOD_NAME_BYTES 32

#define FIELD_NONE UINT8_MAX
#define FIELD_CPU  (UINT8_MAX - 1)

/* One of its two events: fields are indexes of `fields`, which are wanted of it. */
struct period_side {
	struct definition what;
	char names[PLAN_FIELDS_MAX][2 + PATTERN_WORD_BYTES];
	const char *fields[PLAN_FIELDS_MAX]; /* of a request */
	size_t count;
	uint8_t conditions[CONDITIONS_MAX];
	uint8_t thread; /* the field that names the thread; FIELD_NONE: who runs */
	uint8_t tid, vtid;
	/* As a number; as text it is the next one.  Keys may be FIELD_CPU. */
	uint8_t keys[PERIOD_KEYS_MAX], groups[PERIOD_GROUPS_MAX];
};

struct period {
	char *text; /* what it was made of */
	char name[PERIOD_NAME_BYTES];
	struct period_side begin, end;
	bool by_thread;
	size_t key_count, group_count;
	char groups[PERIOD_GROUPS_MAX][PATTERN_WORD_BYTES];
	int within; /* another, -1: none */
};

struct period_set {
	VEC(struct period *) all;
};

/* -EINVAL: with the place and what was expected there. */
int period_add(struct period_set *set, const char *text, struct err *err);
/* From event @begin to event @end of one thread, written "BEGIN,END". */
int period_add_span(struct period_set *set, const char *text, struct err *err);
void period_set_fini(struct period_set *set);

#endif
