/*
 * names: see names.h.
 */
#include "query/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "ctf/metadata/type.h"
#include "ctf/plan/plan.h"
#include "query/nearest.h"

static const char context[] = "context.";

/* ---- events ---- */

/* The event that was probably meant: it contains the word, or few letters differ. */
static const char *suggest_event(const struct metadata *metadata, const char *event)
{
	VEC(const char *) all = { 0 };
	const char *found = NULL;

	for (const struct event_class *class = metadata->events; class; class = class->next) {
		*vec_push(&all) = class->name;
		if (!found && strlen(event) >= 4 && strstr(class->name, event)) {
			found = class->name;
		}
	}
	*vec_push(&all) = NULL;
	if (!found) {
		found = nearest_word(event, all.at, (unsigned int)strlen(event) / 4 + 1);
	}
	vec_fini(&all);
	return found;
}

/* Names of the kernel's events have no colon. */
static int lacks_event(const struct names *names, const char *event)
{
	const char *near = suggest_event(names->metadata, event);
	const char *call = strncmp(event, "syscall_entry_", 14) == 0  ? event + 14
			   : strncmp(event, "syscall_exit_", 13) == 0 ? event + 13
								      : NULL;
	const char *quote = strpbrk(event, "* \"$&;|<>()[]{}#~\\") ? "'" : "";

	if (near) {
		return err_raise(names->err, -ENOENT,
				 "no event \"%s\" is recorded; did you mean \"%.100s\"?", event,
				 near);
	}
	if (metadata_other_tracer(names->metadata)) {
		return err_raise(names->err, -ENOENT, "%s recorded no event \"%s\"",
				 metadata_other_tracer(names->metadata), event);
	}
	return err_raise(names->err, -ENOENT,
			 "no event \"%s\" is recorded: lttng enable-event %s%s%s%s%s", event,
			 strchr(event, ':') ? "-u " : "-k ", call ? "--syscall " : "", quote,
			 call ? call : event, quote);
}

int names_event(struct names *names, const char *event)
{
	for (const struct event_class *class = names->metadata->events; class;
	     class = class->next) {
		if (plan_takes(event, class->name)) {
			names->found++;
			return 0;
		}
	}
	return lacks_event(names, event);
}

/* ---- fields ---- */

/* The structs that have an event's fields. */
struct parts {
	const struct type *at[3];
	bool is_context[3];
};

static struct parts parts_of(const struct metadata *metadata, const struct event_class *class)
{
	const struct stream_class *stream = metadata_stream_of(metadata, class);

	return (struct parts){ .at = { class->fields, class->context,
				       stream ? stream->event_context : NULL },
			       .is_context = { false, true, true } };
}

/* What a field is, in the order in which an error names it.  The plan gives numbers and texts; what
 * else a field may be nothing is compared with. */
enum { IS_NUMBER = 1, IS_ENUM = 2, IS_TEXT = 4, IS_REAL = 8, IS_ARRAY = 16, IS_PARTS = 32 };
#define IS_COMPARED (IS_NUMBER | IS_ENUM | IS_TEXT)

static unsigned int kind_of(const struct type *type)
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
		return type_is_text(type->element) ? IS_TEXT : IS_ARRAY;
	case TYPE_STRUCT:
	case TYPE_VARIANT:
		break;
	}
	return IS_PARTS;
}

/* Which kinds of a field some event of this name has. */
static unsigned int kinds_of(const struct metadata *metadata, const char *event, const char *field)
{
	bool in_context = strncmp(field, context, sizeof(context) - 1) == 0;
	const char *name = field + (in_context ? sizeof(context) - 1 : 0);
	unsigned int kinds = 0;

	for (const struct event_class *class = metadata->events; class; class = class->next) {
		const struct parts parts = parts_of(metadata, class);

		for (size_t p = 0; plan_takes(event, class->name) && p < 3; p++) {
			const struct type *part = parts.at[p];

			for (size_t i = 0;
			     part && parts.is_context[p] == in_context && i < part->field_count;
			     i++) {
				if (strcmp(type_name(part->fields[i].name), name) == 0) {
					kinds |= kind_of(part->fields[i].type);
				}
			}
		}
	}
	return kinds;
}

/* The field that was probably meant; the caller frees it. */
static char *suggest_field(const struct metadata *metadata, const char *event, const char *field)
{
	VEC(char *) all = { 0 };
	const char *near;
	char *found;

	for (const struct event_class *class = metadata->events; class; class = class->next) {
		const struct parts parts = parts_of(metadata, class);

		for (size_t p = 0; plan_takes(event, class->name) && p < 3; p++) {
			for (size_t i = 0; parts.at[p] && i < parts.at[p]->field_count; i++) {
				*vec_push(&all) =
					mem_printf("%s%s", parts.is_context[p] ? context : "",
						   type_name(parts.at[p]->fields[i].name));
			}
		}
	}
	*vec_push(&all) = NULL;
	near = nearest_word(field, (const char *const *)all.at,
			    (unsigned int)strlen(field) / 3 + 1);
	found = mem_strdup_if(near);
	for (size_t i = 0; i + 1 < all.count; i++) {
		free(all.at[i]);
	}
	vec_fini(&all);
	return found;
}

static int lacks_field(const struct names *names, const char *event, const char *field)
{
	char *near = suggest_field(names->metadata, event, field);

	if (near) {
		(void)err_raise(names->err, -ENOENT,
				"the event \"%s\" has no field \"%s\"; did you mean \"%.100s\"?",
				event, field, near);
	} else {
		(void)err_raise(names->err, -ENOENT, "the event \"%s\" has no field \"%s\"", event,
				field);
	}
	free(near);
	return -ENOENT;
}

/* A field of these kinds.  What has others only is refused: it would never be equal. */
static int look_up(struct names *names, const char *event, const char *field, unsigned int wanted)
{
	static const char *const kind_names[] = {
		"a number",
		"an enumeration: its labels are not compared, write the number",
		"a text",
		"a floating-point number, which cannot be compared",
		"an array of numbers, which cannot be compared",
		"made of parts, which cannot be compared",
	};
	unsigned int kinds = kinds_of(names->metadata, event, field);

	if (kinds & wanted) {
		names->found++;
		return 0;
	}
	return kinds ? err_raise(names->err, -ENOENT, "the field \"%s\" of \"%s\" is %s", field,
				 event, kind_names[__builtin_ctz(kinds)])
		     : lacks_field(names, event, field);
}

/* @field: as in a plan_request.  What compares numbers needs a number, what compares text a text.
 */
static int look_up_field(struct names *names, const char *event, const char *field)
{
	bool wants_text = field[0] == PLAN_TEXT[0];

	return look_up(names, event, field + wants_text,
		       wants_text ? IS_TEXT : IS_NUMBER | IS_ENUM);
}

/* A field that may be of either kind. */
static int look_up_any(struct names *names, const char *event, const char *field)
{
	return look_up(names, event, field, IS_COMPARED);
}

/* ---- definitions and periods ---- */

int names_definition(struct names *names, const struct definition *definition)
{
	int r = names_event(names, definition->event);

	for (size_t i = 0; r == 0 && i < definition->count; i++) {
		r = look_up_field(names, definition->event, definition->conditions[i].field);
	}
	return r;
}

static int look_up_keys(struct names *names, const struct period_side *side,
			const uint8_t keys[PERIOD_KEYS_MAX], size_t count)
{
	const char *event = side->what->event;
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		bool has_pid = keys[i] == FIELD_PROCESS &&
			       kinds_of(names->metadata, event, "context.pid") != 0;

		if (keys[i] != FIELD_CPU && !has_pid) {
			r = look_up_any(names, event,
					keys[i] == FIELD_PROCESS ? "context.vpid"
								 : side->fields.names[keys[i]]);
		}
	}
	return r;
}

static int look_up_use(struct names *names, const char *event, const struct label_use *use)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < use->is->count; i++) {
		r = look_up_any(names, event, use->is->fields[i]);
	}
	return r;
}

/* The events of a period or job. */
struct event_list {
	const char *at[JOB_EVENTS_MAX];
	size_t count;
};

_Static_assert((size_t)PERIOD_STEPS_MAX <= (size_t)JOB_EVENTS_MAX, "a list has room for both");

/* One of the events has all its fields.  The error is of the one that has the most. */
static int look_up_grouped(struct names *names, const struct event_list *events,
			   const struct label_use *use)
{
	unsigned int most = names->found;
	int r = -ENOENT;

	for (size_t i = 0; r < 0 && i < events->count; i++) {
		struct err why;
		struct names one = { names->metadata, names->found, &why };

		r = look_up_use(&one, events->at[i], use);
		if (r < 0 && (i == 0 || one.found > most)) {
			*names->err = why;
		}
		most = one.found > most ? one.found : most;
	}
	names->found = most;
	return r;
}

static int look_up_group(struct names *names, const struct event_list *events,
			 const struct label_group *group)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < group->count; i++) {
		r = look_up_grouped(names, events, &group->uses[i]);
	}
	return r;
}

static int look_up_step(struct names *names, const struct period *period, size_t step)
{
	const struct period_side *side = &period->steps[step];
	int r = 0;

	if (step > 0) {
		r = look_up_keys(names, side, side->before, period->links[step - 1].key_count);
	}
	if (r == 0 && step + 1 < period->step_count) {
		r = look_up_keys(names, side, side->after, period->links[step].key_count);
	}
	return r;
}

int names_period(struct names *names, const struct period *period)
{
	struct event_list events = { .count = period->step_count };
	int r = 0;

	for (size_t i = 0; r == 0 && i < period->step_count; i++) {
		events.at[i] = period->steps[i].what->event;
		r = names_definition(names, period->steps[i].what);
	}
	for (size_t i = 0; r == 0 && i < period->step_count; i++) {
		r = look_up_step(names, period, i);
	}
	return r < 0 ? r : look_up_group(names, &events, &period->group);
}

int names_job(struct names *names, const struct job_spec *job)
{
	struct event_list events = { .count = job->is->event_count };
	int r = 0;

	for (size_t i = 0; r == 0 && i < job->is->event_count; i++) {
		events.at[i] = job->is->events[i].event;
		r = names_definition(names, &job->is->events[i]);
	}
	return r < 0 ? r : look_up_group(names, &events, &job->group);
}

int names_label(struct names *names, const struct label_source *source)
{
	const char *event = source->what->event;
	int r = names_definition(names, source->what);

	for (size_t i = 0; r == 0 && i < LABEL_KEYS_MAX; i++) {
		if (i < source->key_count) {
			r = look_up_any(names, event, source->fields.names[source->id.keys[i]]);
		}
		if (r == 0 && i < source->value.is->count) {
			r = look_up_any(names, event, source->value.is->fields[i]);
		}
	}
	return r;
}

/* ---- several traces ---- */

int names_in_any(const struct metadata *const *traces, size_t count, names_look *look,
		 const void *of, struct err *err)
{
	unsigned int most = 0;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		struct err why;
		struct names names = { .metadata = traces[i], .err = &why };

		r = look(&names, of);
		if (r == 0) {
			return 0;
		}
		if (i == 0 || names.found > most) {
			most = names.found;
			*err = why;
		}
	}
	return r;
}
