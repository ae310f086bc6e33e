/*
 * names: see names.h.
 */
#include "query/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/shell.h"
#include "base/text/nearest.h"
#include "ctf/metadata/type.h"
#include "query/names-field.h"

static const char context[] = "context.";

/* ---- events ---- */

static const char *suggest_event(const struct metadata *metadata, const char *event)
{
	VEC(const char *) all = { 0 };
	const char *found;

	for (const struct event_class *class = metadata->events; class; class = class->next) {
		*vec_push(&all) = class->name;
	}
	*vec_push(&all) = NULL;
	found = nearest_event(event, all.at);
	vec_fini(&all);
	return found;
}

/* Names of the kernel's events have no colon. */
static int lacks_event(struct names *names, const char *event)
{
	const char *near = suggest_event(names->metadata, event);
	const char *call = strncmp(event, "syscall_entry_", 14) == 0  ? event + 14
			   : strncmp(event, "syscall_exit_", 13) == 0 ? event + 13
								      : NULL;
	const struct env_entry *domain = metadata_env(names->metadata, "domain");
	bool is_program;
	char *word;
	int r;

	names->suggests = near != NULL;
	if (near) {
		return err_raise(names->err, -ENOENT,
				 "no event \"%s\" is recorded; did you mean \"%.100s\"?", event,
				 near);
	}
	if (metadata_is_of_record(metadata_other_tracer(names->metadata))) {
		word = shell_word(call ? "raw_syscalls:*" : event);
		r = err_raise(names->err, -ENOENT,
			      "no event \"%s\" is recorded: sudo sillage record --event %s", event,
			      word);
		free(word);
		return r;
	}
	if (metadata_other_tracer(names->metadata)) {
		return err_raise(names->err, -ENOENT, "%s recorded no event \"%s\"",
				 metadata_other_tracer(names->metadata), event);
	}
	is_program = domain && domain->text && strcmp(domain->text, "ust") == 0;
	word = shell_word(call ? call : event);
	r = err_raise(names->err, -ENOENT,
		      "no event \"%s\" is recorded: lttng enable-event %s%s%s%s", event,
		      strchr(event, ':') ? "-u " : "-k ", call ? "--syscall " : "", word,
		      is_program && !strchr(event, ':') && !call
			      ? " (events of programs are written PROVIDER:EVENT)"
			      : "");
	free(word);
	return r;
}

int names_event(struct names *names, const char *event)
{
	for (const struct event_class *class = names->metadata->events; class;
	     class = class->next) {
		if (plan_takes(event, class->name) ||
		    names_is_of_perf(names->metadata, event, class)) {
			names->found++;
			return 0;
		}
	}
	return lacks_event(names, event);
}

/* ---- fields ---- */

/* The field that was probably meant; the caller frees it. */
static char *suggest_field(const struct metadata *metadata, const char *event, const char *field)
{
	VEC(char *) all = { 0 };
	const char *near;
	char *found;

	for (const struct event_class *class = metadata->events; class; class = class->next) {
		const struct parts parts = names_parts(metadata, class);

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
	found = mem_printf("%s%s", context, field);
	for (size_t i = 0; i + 1 < all.count; i++) {
		near = strcmp(all.at[i], found) == 0 ? all.at[i] : near; /* a pattern's context */
	}
	free(found);
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
	unsigned int kinds = names_kinds(names->metadata, event, field);

	if (kinds & wanted) {
		names->found++;
		return 0;
	}
	return kinds ? err_raise(names->err, -ENOENT, "the field \"%s\" of \"%s\" is %s", field,
				 event, kind_names[__builtin_ctz(kinds)])
		     : lacks_field(names, event, field);
}

/* Whether the trace itself says it of all its events. */
static bool env_has(const struct metadata *metadata, const char *field)
{
	return metadata_env(metadata, "vpid") &&
	       (strcmp(field, "context.vpid") == 0 || strcmp(field, "vpid") == 0 ||
		strcmp(field, "context.procname") == 0 || strcmp(field, "procname") == 0);
}

/* What is made of fields; the parser knows the parts of texts. */
static int look_up_made(struct names *names, const struct definition *what, const char *made)
{
	static const char *const of_thread[] = { "context.vtid", "context.tid", NULL },
				 *const of_process[] = { "context.vpid", "context.pid", NULL };
	const char *const *fields = strcmp(made, "$tid") == 0   ? of_thread
				    : strcmp(made, "$pid") == 0 ? of_process
								: NULL;
	bool has_it = !fields || (fields == of_thread && what->has_tid) ||
		      (fields == of_process && env_has(names->metadata, fields[0]));

	for (size_t i = 0; fields && fields[i]; i++) {
		has_it |= names_kinds(names->metadata, what->event, fields[i]) != 0;
	}
	names->found += has_it;
	return has_it ? 0 : lacks_field(names, what->event, fields[0]);
}

/* What is a key, in a group, or in a condition, as one of these kinds. */
static int look_up_as(struct names *names, const struct definition *what, const char *field,
		      unsigned int wanted)
{
	if (field[0] == '$') {
		return look_up_made(names, what, field);
	}
	return env_has(names->metadata, field) ? 0 : look_up(names, what->event, field, wanted);
}

static int look_up_any(struct names *names, const struct definition *what, const char *field)
{
	return look_up_as(names, what, field, IS_COMPARED);
}

/* A text that is compared with an enumeration is one of its labels. */
static int look_up_label(struct names *names, const char *event,
			 const struct pattern_condition *condition)
{
	const struct asked_field asked = names_asked(event, condition->field);
	VEC(const char *) labels = { 0 };
	const struct type *type;
	const char *near;
	bool has_it = false;
	size_t at = 0;

	while ((type = names_next_type(names->metadata, &asked, &at))) {
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

static int look_up_condition(struct names *names, const struct definition *what,
			     const struct pattern_condition *condition)
{
	const char *event = what->event;
	unsigned int wanted = condition->is_text    ? IS_TEXT | IS_ENUM
			      : condition->is_tid   ? IS_NUMBER
			      : condition->has_mask ? IS_NUMBER | IS_ENUM
						    : IS_NUMBER | IS_ENUM | IS_REAL;
	int r = look_up_as(names, what, condition->field, wanted);

	return r == 0 && condition->is_text && !condition->regex &&
			       names_kinds(names->metadata, event, condition->field) &&
			       !(names_kinds(names->metadata, event, condition->field) & IS_TEXT)
		       ? look_up_label(names, event, condition)
		       : r;
}

/* ---- definitions and periods ---- */

int names_definition(struct names *names, const struct definition *definition)
{
	int r = names_event(names, definition->event);

	for (size_t i = 0; r == 0 && i < definition->count; i++) {
		r = look_up_condition(names, definition, &definition->conditions[i]);
	}
	return r;
}

/* The keys of a link, as the event before it or the one after it has them. */
static int look_up_keys(struct names *names, const struct definition *what,
			const struct expression_link *link, bool is_end)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < link->key_count; i++) {
		r = look_up_any(names, what, is_end ? link->keys[i].end : link->keys[i].begin);
	}
	return r;
}

/* A part of a text is there if the event splits it off; one of those of a period does. */
static int look_up_use(struct names *names, const struct definition *what,
		       const struct label_use *use)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < use->is->count; i++) {
		r = look_up_any(names, what, use->is->fields[i]);
	}
	return r;
}

/* One of the events has all its fields.  The error is of the one that has the most. */
static int look_up_grouped(struct names *names, const struct expression *of, size_t count,
			   const struct label_use *use)
{
	unsigned int most = names->found;
	int r = -ENOENT;

	for (size_t i = 0; r < 0 && i < count; i++) {
		struct err why;
		struct names one = { .metadata = names->metadata,
				     .found = names->found,
				     .err = &why };

		r = look_up_use(&one, &of->events[i], use);
		if (r < 0 && (i == 0 || one.found > most)) {
			*names->err = why;
		}
		most = one.found > most ? one.found : most;
	}
	names->found = most;
	return r;
}

/* The first @count events of the expression have the fields; a call is called by what begins it. */
static int look_up_group(struct names *names, const struct expression *of, size_t count,
			 const struct label_group *group)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < group->count; i++) {
		r = look_up_grouped(names, of, count, &group->uses[i]);
	}
	return r;
}

static int look_up_step(struct names *names, const struct period *period, size_t step)
{
	const struct expression_link *links = period->is->links;
	const struct definition *event = period->steps[step].what;
	int r = step > 0 ? look_up_keys(names, event, &links[step - 1], true) : 0;

	return r == 0 && step + 1 < period->step_count
		       ? look_up_keys(names, event, &links[step], false)
		       : r;
}

/* To the trace, of those that are one, that has the event. */
static void turn_to(struct names *names, const char *event)
{
	for (size_t i = 0; i < names->all_count; i++) {
		struct err unused;
		struct names one = { .metadata = names->all[i], .err = &unused };

		if (names_event(&one, event) == 0) {
			names->metadata = names->all[i];
			return;
		}
	}
}

static int look_up_diffs(struct names *names, const struct expression *is)
{
	const struct definition *ends[] = { &is->events[0], &is->events[is->event_count - 1] };
	int r = 0;

	for (size_t i = 0; r == 0 && i < 2 * is->diff_count; i++) {
		turn_to(names, ends[i % 2]->event);
		r = look_up(names, ends[i % 2]->event, is->diffs[i / 2], IS_NUMBER);
	}
	return r;
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
		r = look_up_condition(names, &call->is->events[1], &error->conditions[i]);
	}
	return r;
}

int names_period(struct names *names, const struct period *period)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < period->step_count; i++) {
		r = names_definition(names, period->steps[i].what);
	}
	for (size_t i = 0; r == 0 && i < period->step_count; i++) {
		r = look_up_step(names, period, i);
	}
	r = r < 0 ? r : look_up_diffs(names, period->is);
	if (r == 0 && period->is_call) {
		r = look_up_call(names, period);
	}
	return r < 0 ? r
		     : look_up_group(names, period->is, period->is_call ? 1 : period->step_count,
				     &period->group);
}

int names_job(struct names *names, const struct job_spec *job)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < job->is->event_count; i++) {
		turn_to(names, job->is->events[i].event);
		r = names_definition(names, &job->is->events[i]);
		if (r == 0 && job->has_keys) {
			r = look_up_keys(names, &job->is->events[i], &job->is->links[0], i > 0);
		}
	}
	r = r < 0 ? r : look_up_diffs(names, job->is);
	r = r < 0 ? r : look_up_group(names, job->is, job->is->event_count, &job->group);
	return r < 0 ? r : look_up_group(names, job->is, 1, &job->looked);
}

int names_label(struct names *names, const struct label_source *source)
{
	const struct definition *event = source->what;
	int r = names_definition(names, event);

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
		lacks[i] = names_kinds(names->metadata, pair[i].event, vpid) == 0;
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
	bool suggests = false;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		struct err why;
		struct names names = { .metadata = traces[i], .err = &why };

		r = look(&names, of);
		if (r == 0) {
			return 0;
		}
		if (i == 0 || names.found > most ||
		    (names.found == most && names.suggests && !suggests)) {
			most = names.found;
			suggests = names.suggests;
			*err = why;
		}
	}
	return r;
}

int names_in_all(const struct metadata *const *traces, size_t count, names_look *look,
		 const void *of, struct err *err)
{
	int r = names_in_any(traces, count, look, of, err);
	struct err why;
	struct names names = { .err = &why, .all = traces, .all_count = count };

	if (r == 0 || count < 2) {
		return r;
	}
	names.metadata = traces[0];
	return look(&names, of) == 0 ? 0 : r;
}
