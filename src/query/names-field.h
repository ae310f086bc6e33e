/*
 * names-field: for names.c, the fields that the events of a trace have, as users name them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/metadata/type.h"

/* The structs that have an event's fields. */
struct parts {
	const struct type *at[3];
	bool is_context[3];
};

struct parts names_parts(const struct metadata *metadata, const struct event_class *class);
/* Whether it is LTTng's name of an event of perf. */
bool names_is_of_perf(const struct metadata *metadata, const char *event,
		      const struct event_class *class);

/* What a field is: what is compared first, then the rest in the order in which an error names it.
 */
enum {
	IS_NUMBER = 1,
	IS_ENUM = 2,
	IS_REAL = 4,
	IS_TEXT = 8,
	IS_ARRAY = 16,
	IS_STRUCT = 32,
	IS_VARIANT = 64, /* no option of which is compared */
	IS_OTHERS = 128, /* an array that no element of is compared */
	IS_SHORT = 256,  /* an array without this element */
	IS_ONE = 512,    /* no array, but of one element was asked */
};
#define IS_COMPARED (IS_NUMBER | IS_ENUM | IS_REAL | IS_TEXT)

/* A field, or an element of one, as the user named it. */
struct asked_field {
	const char *event, *field, *name;
	size_t len; /* of the name without "context." and "[N]" */
	bool in_context;
	uint32_t element;
};

struct asked_field names_asked(const char *event, const char *field);
/* The next type that some event of this name gives the field; @at: 0 at first.  NULL: no other. */
const struct type *names_next_type(const struct metadata *metadata, const struct asked_field *asked,
				   size_t *at);
/* Which kinds the field has in some event of this name. */
unsigned int names_kinds(const struct metadata *metadata, const char *event, const char *field);
