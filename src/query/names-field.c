/*
 * names-field: see names-field.h.
 */
#include "query/names-field.h"

#include <string.h>

#include "kernel/perf-names.h"
#include "query/fields.h"

static const char context[] = "context.";

bool names_is_of_perf(const struct metadata *metadata, const char *event,
		      const struct event_class *class)
{
	const struct env_entry *domain =
		strchr(class->name, ':') ? metadata_env(metadata, "domain") : NULL;
	char name[PLAN_NAME_BYTES];

	return domain && perf_names_event(domain->text, class->name, name) &&
	       plan_takes(event, name);
}

struct parts names_parts(const struct metadata *metadata, const struct event_class *class)
{
	const struct stream_class *stream = metadata_stream_of(metadata, class);

	return (struct parts){ .at = { class->fields, class->context,
				       stream ? stream->event_context : NULL },
			       .is_context = { false, true, true } };
}

static unsigned int kind_alone(const struct type *type)
{
	switch (type->kind) {
	case TYPE_INT:
		return IS_NUMBER;
	case TYPE_ENUM:
		return IS_ENUM;
	case TYPE_FLOAT:
		return IS_REAL;
	case TYPE_STRING:
		return IS_TEXT;
	case TYPE_ARRAY:
	case TYPE_SEQUENCE:
		return type_is_text(type->element) ? IS_TEXT
		       : type_is_row(type)         ? IS_ARRAY
						   : IS_OTHERS;
	case TYPE_STRUCT:
		return IS_STRUCT;
	case TYPE_VARIANT:
		break;
	}
	return IS_VARIANT;
}

/* Of a variant that of its options, as far as they have values. */
static unsigned int kind_of(const struct type *type)
{
	unsigned int kinds = kind_alone(type);

	for (size_t i = 0; kinds & IS_VARIANT && i < type->field_count; i++) {
		kinds |= kind_alone(type->fields[i].type) & IS_COMPARED;
	}
	return kinds & IS_COMPARED ? kinds & IS_COMPARED : kinds;
}

static unsigned int kind_of_element(const struct type *type, uint32_t element)
{
	unsigned int kind = kind_of(type);

	if (element == QUERY_ELEMENT_NONE || kind == IS_OTHERS) {
		return kind;
	}
	if (kind != IS_ARRAY) {
		return IS_ONE;
	}
	return type->kind == TYPE_ARRAY && element >= type->length ? IS_SHORT
								   : kind_of(type->element);
}

struct asked_field names_asked(const char *event, const char *field)
{
	struct asked_field asked = { .event = event, .field = field, .name = field };

	asked.len = fields_split(field, &asked.element);
	asked.in_context = strncmp(field, context, sizeof(context) - 1) == 0;
	if (asked.in_context) {
		asked.name += sizeof(context) - 1;
		asked.len -= sizeof(context) - 1;
	}
	return asked;
}

/* The field as a class has it, by its own name or by that of perf; without a name: the class is
 * another event, or lacks it. */
static struct asked_field asked_in(const struct metadata *metadata, const struct asked_field *asked,
				   const struct event_class *class)
{
	int16_t unused;
	const char *field = plan_takes(asked->event, class->name) ? asked->field
			    : names_is_of_perf(metadata, asked->event, class)
				    ? perf_names_field(asked->field, &unused)
				    : NULL;

	return field ? names_asked(asked->event, field) : (struct asked_field){ .name = NULL };
}

static const struct type *field_called(const struct type *part, const char *name, size_t len)
{
	for (size_t i = 0; part && i < part->field_count; i++) {
		const char *member = type_name(part->fields[i].name);

		if (strncmp(member, name, len) == 0 && !member[len]) {
			return part->fields[i].type;
		}
	}
	return NULL;
}

/* Whether it is looked for among the contexts: it says so, or a class that is no pattern's has no
 * field of this name (plan.h). */
static bool is_context(const struct asked_field *asked, const struct asked_field *as,
		       const struct event_class *class)
{
	return as->in_context || (strcmp(asked->event, class->name) == 0 &&
				  !field_called(class->fields, as->name, as->len));
}

const struct type *names_next_type(const struct metadata *metadata, const struct asked_field *asked,
				   size_t *at)
{
	size_t number = 0;

	for (const struct event_class *class = metadata->events; class; class = class->next) {
		const struct parts parts = names_parts(metadata, class);
		const struct asked_field as = asked_in(metadata, asked, class);

		for (size_t p = 0; as.name && p < 3; p++) {
			const struct type *type =
				parts.is_context[p] == is_context(asked, &as, class)
					? field_called(parts.at[p], as.name, as.len)
					: NULL;

			if (type && number++ == *at) {
				*at = number;
				return type;
			}
		}
	}
	return NULL;
}

unsigned int names_kinds(const struct metadata *metadata, const char *event, const char *field)
{
	const struct asked_field asked = names_asked(event, field);
	const struct type *type;
	unsigned int kinds = 0;
	size_t at = 0;

	while ((type = names_next_type(metadata, &asked, &at))) {
		kinds |= kind_of_element(type, asked.element);
	}
	return kinds;
}
