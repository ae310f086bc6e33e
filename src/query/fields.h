/*
 * fields: which fields of an event are asked for, and where each of them is found.
 *
 *     "name", "name[3]" ── fields_want_any() ──► index ── fields_get() ──► its value
 *     "$pid", "$ms" ──────────────┘
 *
 * Some are made of others: the thread and the process of the event, its CPU, and what a regular
 * expression splits a text into.
 */
#pragma once

#include "query/pattern.h"

#define FIELD_NONE      UINT8_MAX
#define FIELD_MADE      128 /* the index of the first that is made */
#define FIELDS_MADE_MAX 16

enum fields_kind {
	MADE_ABSENT, /* a part that only other events split off */
	MADE_CPU,
	MADE_FIRST,   /* of `from`, the first that the event has */
	MADE_PROCESS, /* the same, or else that of the trace */
	MADE_PART,
};

struct fields_made {
	enum fields_kind kind;
	uint8_t from[3]; /* indexes; FIELD_NONE: no further one */
	struct pattern_part part;
};

/* What a trace says of all its events, where they lack the context. */
enum fields_origin { ORIGIN_NOT, ORIGIN_VPID, ORIGIN_PROCNAME };

struct fields {
	char names[PLAN_FIELDS_MAX][2 + PATTERN_WORD_BYTES];
	const char *at[PLAN_FIELDS_MAX];    /* for a plan_request; they point into `names` */
	uint32_t elements[PLAN_FIELDS_MAX]; /* which of the field; QUERY_ELEMENT_NONE: all of it */
	uint8_t origins[PLAN_FIELDS_MAX];   /* enum fields_origin */
	size_t count;
	struct fields_made made[FIELDS_MADE_MAX];
	size_t made_count;
};

/* Where an event has what it says of its thread; the last two may be FIELD_NONE. */
struct thread_fields {
	uint8_t tid, vtid, vpid, procname;
};

/* The index of a field, which is added if it is new; FIELD_NONE: no room. */
uint8_t fields_want(struct fields *fields, const char *prefix, const char *name);
/* The index of a field of any kind, of an element of one, or of one that is made: "$cpu", "$pid",
 * "$tid", or a part that a condition of the definition splits off. */
uint8_t fields_want_any(struct fields *fields, const struct definition *what, const char *name);
/* The same of several; false: no room for all. */
bool fields_want_each(struct fields *fields, const struct definition *what,
		      const char (*names)[PATTERN_WORD_BYTES], size_t count, uint8_t *ret);
/* The indexes of the fields that a definition's conditions are about; false: no room. */
bool fields_want_conditions(struct fields *fields, const struct definition *what,
			    uint8_t conditions[CONDITIONS_MAX]);
/* The contexts that name the running thread, and its process; false: no room for the tids. */
bool fields_want_thread(struct fields *fields, struct thread_fields *thread);

/* The length of a field's name without "[N]" at its end, and N; QUERY_ELEMENT_NONE: it has none. */
size_t fields_split(const char *field, uint32_t *ret_element);

/* ---- an event that has such fields ---- */

struct fields_event {
	const struct fields *fields;
	const struct plan_event *class;
	const struct plan_binding *binding;
	const struct value *values; /* of the binding */
	uint64_t cpu;               /* UINT64_MAX: its stream names none */
};

/* The rest of fields_get(): of what is made, and of what the trace says in place of the event. */
bool fields_get_made(const struct fields_event *event, uint8_t at, struct query_value *ret);
bool fields_get_origin(const struct fields_event *event, uint8_t at, struct query_value *ret);

/* The value of the field at an index, false: the event has none. */
static inline bool fields_get(const struct fields_event *event, uint8_t at, struct query_value *ret)
{
	const struct plan_field *field;
	uint32_t element;

	if (at >= FIELD_MADE) {
		return fields_get_made(event, at, ret);
	}
	field = plan_field_of(event->class, event->binding, at);
	element = event->fields->elements[at];
	/* Most are whole numbers of most events. */
	if (field->type && field->kind == TYPE_INT && element == QUERY_ELEMENT_NONE) {
		*ret = (struct query_value){ .kind = QUERY_NUMBER,
					     .is_signed = field->flags & STEP_SIGNED,
					     .type = field->type,
					     .is.u = event->values[at].u };
		return true;
	}
	return query_value_of(field, &event->values[at], element, ret) ||
	       (event->fields->origins[at] && fields_get_origin(event, at, ret));
}

/* A whole number, or @otherwise. */
static inline int64_t fields_i64(const struct fields_event *event, uint8_t at, int64_t otherwise)
{
	struct query_value value;

	return fields_get(event, at, &value) && value.kind == QUERY_NUMBER ? value.is.i : otherwise;
}

/* Whether the event, whose fields @conditions has of the definition, meets all its conditions but
 * those with $tid. */
bool fields_meet(const struct fields_event *event, const struct definition *what,
		 const uint8_t *conditions);

/* The process that keys of the event are of; 0: the trace does not tell them apart, or it is the
 * kernel's, whose ids are of all processes. */
static inline int64_t fields_owner(const struct fields_event *event,
				   const struct thread_fields *running)
{
	const struct plan_origin *origin = event->class->origin;

	return origin->is_kernel ? 0 : fields_i64(event, running->vpid, origin->vpid);
}

/* Adds it to a hash of keys. */
uint64_t fields_hash_owner(uint64_t hash, const struct fields_event *event,
			   const struct thread_fields *running);
