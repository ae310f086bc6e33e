/*
 * fields: see fields.h.
 */
#include "query/fields.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

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

static uint8_t want_any(struct fields *fields, const char *name)
{
	char text[sizeof(fields->names[0])];
	uint32_t element;

	(void)snprintf(text, sizeof(text), "%s%.*s", PLAN_ANY, (int)fields_split(name, &element),
		       name);
	return want(fields, text, element);
}

uint8_t fields_want_any(struct fields *fields, const char *name)
{
	if (strcmp(name, "$cpu") == 0 || strcmp(name, "$pid") == 0) {
		return name[1] == 'c' ? FIELD_CPU : FIELD_PROCESS;
	}
	return want_any(fields, name);
}

bool fields_want_conditions(struct fields *fields, const struct definition *what,
			    uint8_t conditions[CONDITIONS_MAX])
{
	bool fits = true;

	for (size_t i = 0; i < what->count; i++) {
		conditions[i] = want_any(fields, what->conditions[i].field);
		fits &= conditions[i] != FIELD_NONE;
	}
	return fits;
}

bool fields_want_process(struct fields *fields, struct process_fields *process)
{
	process->vpid = fields_want(fields, "context.", "vpid");
	process->pid = fields_want(fields, "context.", "pid");
	return process->vpid != FIELD_NONE && process->pid != FIELD_NONE;
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
