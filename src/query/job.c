/*
 * job: see job.h.
 */
#include "query/job.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

/* Asks for the keys, as the event has them. */
static bool want_job_keys(const struct job_spec *job, size_t at, struct job_event *event)
{
	const struct expression_link *link = &job->is->links[0];
	bool fits = true;

	for (size_t i = 0; job->has_keys && i < link->key_count; i++) {
		event->keys[i] = fields_want_any(&event->fields, &job->is->events[at],
						 at == 0 ? link->keys[i].begin : link->keys[i].end);
		fits &= event->keys[i] != FIELD_NONE;
	}
	return fits;
}

static bool want_job_diffs(const struct job_spec *job, size_t at, struct job_event *event)
{
	bool is_end = at == 0 || at + 1 == job->is->event_count;

	event->diff_count = is_end ? job->is->diff_count : 0;
	return fields_want_each(&event->fields, &job->is->events[at], job->is->diffs,
				event->diff_count, event->diffs);
}

/* Fills the indexes of what is asked for; false: an event needs too many fields. */
static bool find_fields(struct job_spec *job, const struct label_set *labels)
{
	bool fits = true;

	for (size_t d = 0; d < job->is->event_count; d++) {
		struct job_event *event = &job->events[d];
		struct fields *fields = &event->fields;

		fits &= fields_want_conditions(fields, &job->is->events[d], event->conditions) &&
			label_want(fields, &job->is->events[d], labels, &job->group,
				   event->groups) &&
			label_want(fields, &job->is->events[d], labels, &job->looked,
				   event->looked) &&
			want_job_keys(job, d, event) && want_job_diffs(job, d, event) &&
			fields_want_thread(fields, &event->running);
	}
	return fits;
}

/* Adds a name that is looked up, if it was given. */
static int look_up(struct job_spec *job, const struct label_set *labels,
		   const struct expression_use *use, int *ret_at, struct err *err)
{
	*ret_at = use->count > 0 && labels ? (int)job->looked.count : -1;
	return *ret_at < 0 ? 0 : label_group_add(labels, job->is, use, &job->looked, err);
}

static int resolve(struct job_spec *job, const struct label_set *labels, struct err *err)
{
	const struct expression *is = job->is;
	const char *past = is->events_end;
	int r = label_group_of(labels, is, &job->group, err);

	while (past > is->events_at && (past[-1] == ' ' || past[-1] == '\t')) {
		past--;
	}
	job->pattern = mem_printf("%.*s", (int)(past - is->events_at), is->events_at);
	r = r == 0 ? look_up(job, labels, &is->due, &job->due, err) : r;
	r = r == 0 ? look_up(job, labels, &is->only, &job->only, err) : r;
	job->text = expression_text(is);
	job->name = is->name;
	job->deadline_ns = is->deadline_ns;
	job->period_ns = is->every_ns;
	for (size_t i = 0; i < is->event_count; i++) {
		job->is_across |= is->events[i].who.count > 0;
		job->has_names |= is->events[i].who.has_names;
		job->of_programs |= definition_is_of_program(&is->events[i]);
		job->of_kernel |= !definition_is_of_program(&is->events[i]);
	}
	job->within = -1;
	job->has_keys = is->links[0].has_keys;
	job->by_process = job->has_keys && !is->links[0].is_global;
	job->is_across |= job->has_keys;
	return r == 0 && !find_fields(job, labels)
		       ? expression_expected(is, NULL, "fewer fields in all", err)
		       : r;
}

int job_parse(const char *text, enum expression_form form, const struct label_set *labels,
	      struct job_spec **ret, struct err *err)
{
	struct job_spec *job = mem_alloc(sizeof(*job));
	int r = expression_parse(text, form, &job->is, err);

	r = r < 0 ? r : resolve(job, labels, err);
	if (r < 0) {
		job_free(job);
		return r;
	}
	assert(job->is->event_count >= 2);
	*ret = job;
	return 0;
}

bool job_key(const struct job_spec *job, size_t at, const struct fields_event *event, uint64_t *ret)
{
	const struct job_event *of = &job->events[at];

	uint64_t plain = 0;

	*ret = job->by_process ? fields_hash_owner(0, event, &of->running) : 0;
	for (size_t i = 0; job->has_keys && i < job->is->links[0].key_count; i++) {
		struct query_value value;

		if (!fields_get(event, of->keys[i], &value)) {
			return false;
		}
		*ret = query_value_hash(*ret, &value);
		plain = query_value_hash(plain, &value);
	}
	if (job->by_process) {
		keys_met_note(job->is->links[0].met, at > 0, plain,
			      fields_owner(event, &of->running));
	}
	return true;
}

bool job_key_with(const struct job_spec *job, int32_t tid, uint64_t *key)
{
	if (job->has_keys && job->is->links[0].has_tid) {
		*key = hash_bytes(*key, &tid, sizeof(tid));
		return tid > 0;
	}
	return true;
}

size_t job_key_text(const struct job_spec *job, const struct fields_event *event,
		    char text[JOB_KEY_BYTES])
{
	const struct expression_link *link = &job->is->links[0];
	size_t len = 0;

	text[0] = '\0';
	for (size_t i = 0; job->has_keys && i < link->key_count; i++) {
		char number[QUERY_NUMBER_BYTES];
		struct query_value value;
		const char *is;
		size_t is_len;

		if (fields_get(event, job->events[0].keys[i], &value)) {
			is = query_value_text(&value, false, number, &is_len);
			len += (size_t)snprintf(
				text + len, JOB_KEY_BYTES - len, "%s%s=%.*s", len > 0 ? " " : "",
				expression_shown(job->is, link->keys[i].begin),
				(int)(is_len < JOB_KEY_BYTES ? is_len : JOB_KEY_BYTES), is);
			len = len < JOB_KEY_BYTES ? len : JOB_KEY_BYTES - 1;
		}
	}
	assert(len < JOB_KEY_BYTES && text[len] == '\0');
	return len;
}

void job_free(struct job_spec *job)
{
	if (job) {
		expression_free(job->is);
		free(job->text);
		free(job->pattern);
	}
	free(job);
}
