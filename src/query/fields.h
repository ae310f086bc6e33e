/*
 * fields: which fields of an event are asked for, and where each of them is found.
 *
 *     "name", "name[3]" ── fields_want_any() ──► index ── fields_get() ──► its value
 */
#pragma once

#include "query/pattern.h"

#define FIELD_NONE    UINT8_MAX
#define FIELD_CPU     (UINT8_MAX - 1)
#define FIELD_PROCESS (UINT8_MAX - 2)

struct fields {
	char names[PLAN_FIELDS_MAX][2 + PATTERN_WORD_BYTES];
	const char *at[PLAN_FIELDS_MAX];    /* for a plan_request; they point into `names` */
	uint32_t elements[PLAN_FIELDS_MAX]; /* which of the field; QUERY_ELEMENT_NONE: all of it */
	size_t count;
};

/* Where an event has what it says of its thread; the last two may be FIELD_NONE. */
struct thread_fields {
	uint8_t tid, vtid, vpid, procname;
};

/* The contexts that name its process: the first that it has, or else the trace's environment. */
struct process_fields {
	uint8_t vpid, pid;
};

/* The index of a field, which is added if it is new; FIELD_NONE: no room. */
uint8_t fields_want(struct fields *fields, const char *prefix, const char *name);
/* The index of a field of any kind, or of an element of one.  "$cpu": FIELD_CPU, "$pid":
 * FIELD_PROCESS. */
uint8_t fields_want_any(struct fields *fields, const char *name);
/* The indexes of the fields that a definition's conditions are about; false: no room. */
bool fields_want_conditions(struct fields *fields, const struct definition *what,
			    uint8_t conditions[CONDITIONS_MAX]);
/* The contexts that name its process; false: no room. */
bool fields_want_process(struct fields *fields, struct process_fields *process);
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
};

/* The value of the field at an index, false: the event has none. */
static inline bool fields_get(const struct fields_event *event, uint8_t at, struct query_value *ret)
{
	const struct plan_field *field = plan_field_of(event->class, event->binding, at);
	const uint32_t element = event->fields->elements[at];

	/* Most are whole numbers of most events. */
	if (field->type && field->kind == TYPE_INT && element == QUERY_ELEMENT_NONE) {
		*ret = (struct query_value){ .kind = QUERY_NUMBER,
					     .is_signed = field->flags & STEP_SIGNED,
					     .type = field->type,
					     .is.u = event->values[at].u };
		return true;
	}
	return query_value_of(field, &event->values[at], element, ret);
}

/* A whole number, or @otherwise. */
static inline int64_t fields_i64(const struct fields_event *event, uint8_t at, int64_t otherwise)
{
	struct query_value value;

	return fields_get(event, at, &value) && value.kind == QUERY_NUMBER ? value.is.i : otherwise;
}

/* The process that the event's contexts name, or the trace; 0: none does. */
static inline int64_t fields_process(const struct fields_event *event,
				     const struct process_fields *process)
{
	return fields_i64(event, process->vpid,
			  fields_i64(event, process->pid, event->class->origin->vpid));
}

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
