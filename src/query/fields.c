/*
 * fields: see fields.h.
 */
#include "query/fields.h"

#include <stdio.h>
#include <string.h>

uint8_t fields_want(struct fields *fields, const char *prefix, const char *name)
{
	char text[sizeof(fields->names[0])];

	(void)snprintf(text, sizeof(text), "%s%s", prefix, name);
	for (size_t i = 0; i < fields->count; i++) {
		if (strcmp(fields->names[i], text) == 0) {
			return (uint8_t)i;
		}
	}
	if (fields->count == PLAN_FIELDS_MAX) {
		return FIELD_NONE;
	}
	strcpy(fields->names[fields->count], text);
	fields->at[fields->count] = fields->names[fields->count];
	return (uint8_t)fields->count++;
}

uint8_t fields_want_any(struct fields *fields, const char *name)
{
	uint8_t at = (uint8_t)fields->count;

	if (strcmp(name, "$cpu") == 0 || strcmp(name, "$pid") == 0) {
		return name[1] == 'c' ? FIELD_CPU : FIELD_PROCESS;
	}
	for (size_t i = 0; i + 1 < fields->count; i++) {
		if (strcmp(fields->names[i], name) == 0 &&
		    fields->names[i + 1][0] == PLAN_TEXT[0] &&
		    strcmp(fields->names[i + 1] + 1, name) == 0) {
			return (uint8_t)i;
		}
	}
	if (fields->count + 2 > PLAN_FIELDS_MAX) {
		return FIELD_NONE;
	}
	for (unsigned int i = 0; i < 2; i++) {
		(void)snprintf(fields->names[at + i], sizeof(fields->names[0]), "%s%s",
			       i ? PLAN_TEXT : "", name);
		fields->at[at + i] = fields->names[at + i];
	}
	fields->count += 2;
	return at;
}

bool fields_want_conditions(struct fields *fields, const struct definition *what,
			    uint8_t conditions[CONDITIONS_MAX])
{
	bool fits = true;

	for (size_t i = 0; i < what->count; i++) {
		conditions[i] = fields_want(fields, "", what->conditions[i].field);
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
