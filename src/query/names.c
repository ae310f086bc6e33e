/*
 * names: see names.h.
 */
#include "query/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/shell.h"
#include "ctf/metadata/type.h"
#include "kernel/perf-names.h"
#include "query/nearest.h"

static const char context[] = "context.";

/* ---- events ---- */

/* Whether it is LTTng's name of an event of perf. */
static bool is_of_perf(const struct metadata *metadata, const char *event,
		       const struct event_class *class)
{
	const struct env_entry *domain =
		strchr(class->name, ':') ? metadata_env(metadata, "domain") : NULL;
	char name[PLAN_NAME_BYTES];

	return domain && perf_names_event(domain->text, class->name, name) &&
	       plan_takes(event, name);
}

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
	char *word;
	int r;

	if (near) {
		return err_raise(names->err, -ENOENT,
				 "no event \"%s\" is recorded; did you mean \"%.100s\"?", event,
				 near);
	}
	if (metadata_other_tracer(names->metadata)) {
		return err_raise(names->err, -ENOENT, "%s recorded no event \"%s\"",
				 metadata_other_tracer(names->metadata), event);
	}
	word = shell_word(call ? call : event);
	r = err_raise(names->err, -ENOENT, "no event \"%s\" is recorded: lttng enable-event %s%s%s",
		      event, strchr(event, ':') ? "-u " : "-k ", call ? "--syscall " : "", word);
	free(word);
	return r;
}

int names_event(struct names *names, const char *event)
{
	for (const struct event_class *class = names->metadata->events; class;
	     class = class->next) {
		if (plan_takes(event, class->name) || is_of_perf(names->metadata, event, class)) {
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

/* What a field is: what is compared first, then the rest in the order in which an error names it.
 */
enum {
	IS_NUMBER = 1,
	IS_ENUM = 2,
	IS_REAL = 4,
	IS_TEXT = 8,
	IS_ARRAY = 16,
	IS_STRUCT = 32,
	IS_VARIANT = 64,
	IS_OTHERS = 128, /* an array that no element of is compared */
	IS_SHORT = 256,  /* an array without this element */
	IS_ONE = 512,    /* no array, but of one element was asked */
};
#define IS_COMPARED (IS_NUMBER | IS_ENUM | IS_REAL | IS_TEXT)

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

/* A field, or an element of one, as the user named it. */
struct asked_field {
	const char *event, *field, *name;
	size_t len; /* of the name without "context." and "[N]" */
	bool in_context;
	uint32_t element;
};

static struct asked_field asked_of(const char *event, const char *field)
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
			    : is_of_perf(metadata, asked->event, class)
				    ? perf_names_field(asked->field, &unused)
				    : NULL;

	return field ? asked_of(asked->event, field) : (struct asked_field){ .name = NULL };
}

/* The next type that some event of this name gives the field; @at: 0 at first.  NULL: no other. */
static const struct type *next_type(const struct metadata *metadata,
				    const struct asked_field *asked, size_t *at)
{
	size_t number = 0;

	for (const struct event_class *class = metadata->events; class; class = class->next) {
		const struct parts parts = parts_of(metadata, class);
		const struct asked_field as = asked_in(metadata, asked, class);

		for (size_t p = 0; as.name && p < 3; p++) {
			const struct type *part =
				parts.is_context[p] == as.in_context ? parts.at[p] : NULL;

			for (size_t i = 0; part && i < part->field_count; i++) {
				const char *name = type_name(part->fields[i].name);

				if (strncmp(name, as.name, as.len) == 0 && !name[as.len] &&
				    number++ == *at) {
					*at = number;
					return part->fields[i].type;
				}
			}
		}
	}
	return NULL;
}

/* Which kinds the field has in some event of this name. */
static unsigned int kinds_of(const struct metadata *metadata, const char *event, const char *field)
{
	const struct asked_field asked = asked_of(event, field);
	const struct type *type;
	unsigned int kinds = 0;
	size_t at = 0;

	while ((type = next_type(metadata, &asked, &at))) {
		kinds |= kind_of_element(type, asked.element);
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
		"an enumeration",
		"a floating-point number",
		"a text",
		"an array of numbers: write which element, as [0]",
		"a struct, whose members cannot be compared",
		"a variant, whose options cannot be compared",
		"an array of what cannot be compared",
		"an array of fewer elements",
		"no array of numbers",
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

/* What is a key, or in a group. */
static int look_up_any(struct names *names, const char *event, const char *field)
{
	return look_up(names, event, field, IS_COMPARED);
}

/* A text that is compared with an enumeration is one of its labels. */
static int look_up_label(struct names *names, const char *event,
			 const struct pattern_condition *condition)
{
	const struct asked_field asked = asked_of(event, condition->field);
	VEC(const char *) labels = { 0 };
	const struct type *type;
	const char *near;
	bool has_it = false;
	size_t at = 0;

	while ((type = next_type(names->metadata, &asked, &at))) {
		type = asked.element == QUERY_ELEMENT_NONE ? type : type->element;
		for (size_t i = 0; type && i < type->label_count; i++) {
			has_it |= strcmp(type->labels[i].name, condition->text) == 0;
			*vec_push(&labels) = type->labels[i].name;
		}
	}
	*vec_push(&labels) = NULL;
	near = nearest_word(condition->text, labels.at,
			    (unsigned int)strlen(condition->text) / 2 + 1);
	vec_fini(&labels);
	return has_it ? 0
	       : near ? err_raise(names->err, -ENOENT,
				  "the field \"%s\" of \"%s\" has no label \"%s\"; did you mean "
				  "\"%.100s\"?",
				  condition->field, event, condition->text, near)
		      : err_raise(names->err, -ENOENT,
				  "the field \"%s\" of \"%s\" has no label \"%s\"",
				  condition->field, event, condition->text);
}

static int look_up_condition(struct names *names, const char *event,
			     const struct pattern_condition *condition)
{
	unsigned int wanted = condition->is_text    ? IS_TEXT | IS_ENUM
			      : condition->is_tid   ? IS_NUMBER
			      : condition->has_mask ? IS_NUMBER | IS_ENUM
						    : IS_NUMBER | IS_ENUM | IS_REAL;
	int r = look_up(names, event, condition->field, wanted);

	return r == 0 && condition->is_text && !condition->regex &&
			       !(kinds_of(names->metadata, event, condition->field) & IS_TEXT)
		       ? look_up_label(names, event, condition)
		       : r;
}

/* ---- definitions and periods ---- */

int names_definition(struct names *names, const struct definition *definition)
{
	int r = names_event(names, definition->event);

	for (size_t i = 0; r == 0 && i < definition->count; i++) {
		r = look_up_condition(names, definition->event, &definition->conditions[i]);
	}
	return r;
}

/* The keys of a link, as the event before it or the one after it has them. */
static int look_up_keys(struct names *names, const char *event, const struct expression_link *link,
			bool is_end)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < link->key_count; i++) {
		const char *key = is_end ? link->keys[i].end : link->keys[i].begin;
		bool is_pid = strcmp(key, "$pid") == 0;
		bool has_pid = is_pid && kinds_of(names->metadata, event, "context.pid") != 0;

		has_pid = has_pid || (is_pid && metadata_env(names->metadata, "vpid"));
		if (strcmp(key, "$cpu") != 0 && !has_pid) {
			r = look_up_any(names, event, is_pid ? "context.vpid" : key);
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
	const struct expression_link *links = period->is->links;
	const char *event = period->steps[step].what->event;
	int r = step > 0 ? look_up_keys(names, event, &links[step - 1], true) : 0;

	return r == 0 && step + 1 < period->step_count
		       ? look_up_keys(names, event, &links[step], false)
		       : r;
}

/* Where both events of a call have a "*": some pair of the trace is meant. */
static int look_up_pair(struct names *names, const struct period *call)
{
	const char *begin, *end;
	size_t len, end_len;

	for (const struct event_class *one = names->metadata->events; one; one = one->next) {
		for (const struct event_class *other = names->metadata->events;
		     other && period_call_takes(call, 0, one->name, &begin, &len);
		     other = other->next) {
			if (period_call_takes(call, 1, other->name, &end, &end_len) &&
			    len == end_len && memcmp(begin, end, len) == 0) {
				names->found++;
				return 0;
			}
		}
	}
	return err_raise(names->err, -ENOENT, "no pair of \"%s\" and \"%s\" is recorded",
			 call->is->events[0].event, call->is->events[1].event);
}

static int look_up_call(struct names *names, const struct period *call)
{
	const struct definition *error = &call->is->error;
	bool are_many =
		strchr(call->is->events[0].event, '*') && strchr(call->is->events[1].event, '*');
	int r = are_many ? look_up_pair(names, call) : 0;

	for (size_t i = 0; r == 0 && i < error->count; i++) {
		r = look_up_condition(names, call->is->events[1].event, &error->conditions[i]);
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
	if (r == 0 && period->is_call) {
		events.count = 1; /* a call is called by what begins it */
		r = look_up_call(names, period);
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
		if (r == 0 && job->has_keys) {
			r = look_up_keys(names, events.at[i], &job->is->links[0], i > 0);
		}
	}
	return r < 0 ? r : look_up_group(names, &events, &job->group);
}

int names_label(struct names *names, const struct label_source *source)
{
	const char *event = source->what->event;
	int r = names_definition(names, source->what);

	for (size_t i = 0; r == 0 && i < LABEL_KEYS_MAX; i++) {
		if (i < source->key_count) {
			r = look_up_any(names, event, source->is->key.fields[i]);
		}
		if (r == 0 && i < source->value.is->count) {
			r = look_up_any(names, event, source->value.is->fields[i]);
		}
	}
	return r;
}

/* ---- processes ---- */

/* Buffers of LTTng are of a user, and then of all programs of that one, or of a process. */
static bool has_processes(const struct metadata *metadata)
{
	const struct env_entry *scheme = metadata_env(metadata, "tracer_buffering_scheme");

	return scheme && scheme->text && strcmp(scheme->text, "uid") == 0;
}

/* Of two events that agree in keys. */
static int mixes(const struct names *names, const struct expression_link *link,
		 const struct definition pair[2])
{
	static const char vpid[] = "context.vpid";
	bool lacks[2];

	if (!link->has_keys || link->is_global || link->has_tid ||
	    !has_processes(names->metadata)) {
		return 0;
	}
	for (size_t i = 0; i < 2; i++) {
		struct err unused;
		struct names one = { .metadata = names->metadata, .err = &unused };

		if (names_event(&one, pair[i].event) < 0) {
			return 0;
		}
		lacks[i] = kinds_of(names->metadata, pair[i].event, vpid) == 0;
	}
	return lacks[0] || lacks[1]
		       ? err_raise(names->err, -ENOENT,
				   "\"%s\" is recorded without the context vpid, so %s: lttng "
				   "add-context -u -t vpid",
				   pair[!lacks[0]].event,
				   lacks[0] && lacks[1]
					   ? "equal ids of two processes are one"
					   : "its ids are of no process, and those of the other "
					     "event are")
		       : 0;
}

int names_mixes_period(struct names *names, const struct period *period)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i + 1 < period->step_count; i++) {
		r = mixes(names, &period->is->links[i], &period->is->events[i]);
	}
	return r;
}

int names_mixes_job(struct names *names, const struct job_spec *job)
{
	return mixes(names, &job->is->links[0], job->is->events);
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
