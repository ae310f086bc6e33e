/*
 * fields: see fields.h.
 */
#include "query/fields.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

/* The index of an element of what a plan_request asks for so. */
static uint8_t want(struct fields *fields, const char *name, uint32_t element)
{
	for (size_t i = 0; i < fields->count; i++) {
		if (strcmp(fields->names[i], name) == 0 && fields->elements[i] == element) {
			return (uint8_t)i;
		}
	}
	if (fields->count == PLAN_FIELDS_MAX) {
		return FIELD_NONE;
	}
	strcpy(fields->names[fields->count], name);
	fields->at[fields->count] = fields->names[fields->count];
	fields->elements[fields->count] = element;
	return (uint8_t)fields->count++;
}

uint8_t fields_want(struct fields *fields, const char *prefix, const char *name)
{
	char text[sizeof(fields->names[0])];

	(void)snprintf(text, sizeof(text), "%s%s", prefix, name);
	return want(fields, text, QUERY_ELEMENT_NONE);
}

size_t fields_split(const char *field, uint32_t *ret_element)
{
	size_t len = strlen(field), digits = 0;

	*ret_element = QUERY_ELEMENT_NONE;
	while (digits + 2 < len && isdigit((unsigned char)field[len - 2 - digits])) {
		digits++;
	}
	if (digits == 0 || field[len - 1] != ']' || field[len - 2 - digits] != '[') {
		return len;
	}
	*ret_element = (uint32_t)strtoul(field + len - 1 - digits, NULL, 10);
	return len - 2 - digits;
}

/* ---- any ---- */

static enum fields_origin said_by_trace(const char *name)
{
	static const char context[] = "context.";
	const char *bare =
		strncmp(name, context, sizeof(context) - 1) ? name : name + sizeof(context) - 1;

	return strcmp(bare, "vpid") == 0       ? ORIGIN_VPID
	       : strcmp(bare, "procname") == 0 ? ORIGIN_PROCNAME
					       : ORIGIN_NOT;
}

static uint8_t want_recorded(struct fields *fields, const char *name)
{
	char text[sizeof(fields->names[0])];
	uint32_t element;
	uint8_t at;

	(void)snprintf(text, sizeof(text), "%s%.*s", PLAN_ANY, (int)fields_split(name, &element),
		       name);
	at = want(fields, text, element);
	if (at != FIELD_NONE) {
		fields->origins[at] = (uint8_t)said_by_trace(name);
	}
	return at;
}

static uint8_t add_made(struct fields *fields, const struct fields_made *made)
{
	if (fields->made_count == FIELDS_MADE_MAX) {
		return FIELD_NONE;
	}
	fields->made[fields->made_count] = *made;
	return (uint8_t)(FIELD_MADE + fields->made_count++);
}

/* The thread that a condition with $tid names, else that of a context. */
static uint8_t made_thread(struct fields *fields, const struct definition *what)
{
	struct fields_made made = { .kind = MADE_FIRST, .from = { FIELD_NONE } };

	for (size_t i = what->count; i-- > 0;) {
		if (what->conditions[i].is_tid) {
			made.from[0] = want_recorded(fields, what->conditions[i].field);
		}
	}
	made.from[1] = fields_want(fields, "context.", "tid");
	made.from[2] = fields_want(fields, "context.", "vtid");
	return made.from[2] == FIELD_NONE ? FIELD_NONE : add_made(fields, &made);
}

static uint8_t make_process(struct fields *fields)
{
	struct fields_made made = { .kind = MADE_PROCESS };

	made.from[0] = fields_want(fields, "context.", "vpid");
	made.from[1] = fields_want(fields, "context.", "pid");
	made.from[2] = FIELD_NONE;
	return made.from[1] == FIELD_NONE ? FIELD_NONE : add_made(fields, &made);
}

static uint8_t make_part(struct fields *fields, const struct definition *what, const char *name)
{
	struct fields_made made = { .kind = MADE_ABSENT };

	if (pattern_find_part(what, name, &made.part)) {
		made.kind = MADE_PART;
		made.from[0] = want_recorded(fields, made.part.of->field);
	}
	return made.kind == MADE_PART && made.from[0] == FIELD_NONE ? FIELD_NONE
								    : add_made(fields, &made);
}

uint8_t fields_want_any(struct fields *fields, const struct definition *what, const char *name)
{
	if (name[0] != '$') {
		return want_recorded(fields, name);
	}
	if (strcmp(name, "$cpu") == 0) {
		return add_made(fields, &(struct fields_made){ .kind = MADE_CPU });
	}
	return strcmp(name, "$tid") == 0   ? made_thread(fields, what)
	       : strcmp(name, "$pid") == 0 ? make_process(fields)
					   : make_part(fields, what, name + 1);
}

bool fields_want_each(struct fields *fields, const struct definition *what,
		      const char (*names)[PATTERN_WORD_BYTES], size_t count, uint8_t *ret)
{
	bool fits = true;

	for (size_t i = 0; i < count; i++) {
		ret[i] = fields_want_any(fields, what, names[i]);
		fits &= ret[i] != FIELD_NONE;
	}
	return fits;
}

bool fields_want_conditions(struct fields *fields, const struct definition *what,
			    uint8_t conditions[CONDITIONS_MAX])
{
	bool fits = true;

	for (size_t i = 0; i < what->count; i++) {
		conditions[i] = fields_want_any(fields, what, what->conditions[i].field);
		fits &= conditions[i] != FIELD_NONE;
	}
	return fits;
}

bool fields_want_thread(struct fields *fields, struct thread_fields *thread)
{
	thread->tid = fields_want(fields, "context.", "tid");
	thread->vtid = fields_want(fields, "context.", "vtid");
	thread->vpid = fields_want(fields, "context.", "vpid");
	thread->procname = fields_want(fields, PLAN_TEXT "context.", "procname");
	return thread->tid != FIELD_NONE && thread->vtid != FIELD_NONE;
}

uint64_t fields_hash_owner(uint64_t hash, const struct fields_event *event,
			   const struct thread_fields *running)
{
	int64_t owner = fields_owner(event, running);

	return owner == 0 ? hash : hash_bytes(hash, &owner, sizeof(owner));
}

/* ---- what an event has ---- */

static const struct type whole = { .kind = TYPE_INT, .size_bits = 64, .is_signed = true };

static bool value_of_whole(int64_t number, struct query_value *ret)
{
	*ret = (struct query_value){
		.kind = QUERY_NUMBER, .is_signed = true, .type = &whole, .is.i = number
	};
	return true;
}

static bool value_of_text(const char *text, struct query_value *ret)
{
	*ret = (struct query_value){ .kind = QUERY_TEXT };
	ret->is.bytes = (const uint8_t *)text;
	ret->is.len = strlen(text);
	return true;
}

bool fields_get_origin(const struct fields_event *event, uint8_t at, struct query_value *ret)
{
	const struct plan_origin *origin = event->class->origin;

	if (plan_field_of(event->class, event->binding, at)->type || origin->is_kernel) {
		return false;
	}
	if (event->fields->origins[at] == ORIGIN_VPID) {
		return origin->vpid > 0 && value_of_whole(origin->vpid, ret);
	}
	return origin->procname && value_of_text(origin->procname, ret);
}

static bool get_first(const struct fields_event *event, const struct fields_made *made,
		      struct query_value *ret)
{
	for (size_t i = 0; i < ARRAY_COUNT(made->from); i++) {
		if (made->from[i] != FIELD_NONE && fields_get(event, made->from[i], ret) &&
		    ret->kind == QUERY_NUMBER) {
			return true;
		}
	}
	return made->kind == MADE_PROCESS && event->class->origin->vpid > 0 &&
	       value_of_whole(event->class->origin->vpid, ret);
}

bool fields_get_made(const struct fields_event *event, uint8_t at, struct query_value *ret)
{
	const struct fields_made *made = &event->fields->made[at - FIELD_MADE];
	struct query_value text;

	if (at == FIELD_NONE) {
		return false;
	}
	assert(at >= FIELD_MADE && (size_t)(at - FIELD_MADE) < event->fields->made_count);
	switch (made->kind) {
	case MADE_ABSENT:
		break;
	case MADE_CPU:
		return event->cpu == UINT64_MAX ? value_of_text("-", ret)
						: value_of_whole((int64_t)event->cpu, ret);
	case MADE_FIRST:
	case MADE_PROCESS:
		return get_first(event, made, ret);
	case MADE_PART:
		return fields_get(event, made->from[0], &text) &&
		       pattern_part(&made->part, &text, ret);
	}
	return false;
}

bool fields_meet(const struct fields_event *event, const struct definition *what,
		 const uint8_t *conditions)
{
	for (size_t i = 0; i < what->count; i++) {
		const struct pattern_condition *condition = &what->conditions[i];
		struct query_value value;

		if (!fields_get(event, conditions[i], &value) ||
		    (!condition->is_tid && !pattern_condition_holds(condition, &value, 0))) {
			return false;
		}
	}
	return true;
}
