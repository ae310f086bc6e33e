/*
 * job: see job.h.
 */
#include "query/job.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

/* Fills the indexes of what is asked for; false: an event needs too many fields. */
static bool find_fields(struct job_spec *job, const struct label_set *labels)
{
	bool fits = true;

	for (size_t d = 0; d < job->is->event_count; d++) {
		struct job_event *event = &job->events[d];
		struct fields *fields = &event->fields;

		fits &= fields_want_conditions(fields, &job->is->events[d], event->conditions) &&
			label_want(fields, labels, &job->group, event->groups) &&
			fields_want_thread(fields, &event->running);
	}
	return fits;
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
	job->text = expression_text(is);
	job->name = is->name;
	job->deadline_ns = is->deadline_ns;
	job->period_ns = is->every_ns;
	for (size_t i = 0; i < is->event_count; i++) {
		job->is_across |= is->events[i].who[0] != '\0';
	}
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

void job_free(struct job_spec *job)
{
	if (job) {
		expression_free(job->is);
		free(job->text);
		free(job->pattern);
	}
	free(job);
}
