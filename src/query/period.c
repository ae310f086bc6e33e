/*
 * period: see period.h.
 */
#include "query/period.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

/* Of the part that has it in its text; returns -EINVAL. */
static int expected(const struct period *period, const char *at, const char *what, struct err *err)
{
	return expression_expected(period->is, at, what, err);
}

/* ---- fields ---- */

/* Asks for the keys of a link, for the event before it or the one after it. */
static bool want_keys(const struct period *period, size_t link, bool is_end,
		      struct period_side *side, uint8_t keys[PERIOD_KEYS_MAX])
{
	bool fits = true;

	for (size_t i = 0; i < period->is->links[link].key_count; i++) {
		const struct expression_key *key = &period->is->links[link].keys[i];

		keys[i] =
			fields_want_any(&side->fields, side->what, is_end ? key->end : key->begin);
		fits &= keys[i] != FIELD_NONE;
	}
	return fits;
}

/* Fills the indexes of one event; false: it needs too many fields. */
static bool resolve_side(struct period *period, size_t step, const struct label_set *labels)
{
	struct period_side *side = &period->steps[step];
	struct fields *fields = &side->fields;
	bool fits = fields_want_conditions(fields, side->what, side->conditions);

	side->thread = FIELD_NONE;
	for (size_t i = 0; i < side->what->count; i++) {
		if (side->what->conditions[i].is_tid) {
			side->thread = side->conditions[i];
		}
	}
	fits &= step == 0 || want_keys(period, step - 1, true, side, side->before);
	fits &= step + 1 == period->step_count || want_keys(period, step, false, side, side->after);
	fits &= label_want(fields, side->what, labels, &period->group, side->groups);
	if (step == 0 || step + 1 == period->step_count) {
		side->diff_count = period->is->diff_count;
		fits &= fields_want_each(fields, side->what, period->is->diffs, side->diff_count,
					 side->diffs);
	}
	if (period->is_call && step > 0) {
		fits &= fields_want_conditions(fields, &period->is->error, period->errors);
		period->result = period->is->error.count > 0
					 ? FIELD_NONE
					 : fields_want_any(fields, side->what, "ret");
	}
	return fields_want_thread(fields, &side->running) && fits;
}

static int resolve_links(struct period *period, struct err *err)
{
	bool any_keys = false;

	for (size_t i = 0; i + 1 < period->step_count; i++) {
		const struct expression_link *link = &period->is->links[i];

		period->links[i].by_thread = !link->has_keys || link->has_tid;
		period->links[i].by_process = !link->is_global;
		period->links[i].met = link->met;
		period->links[i].key_count = link->key_count;
		any_keys |= !period->links[i].by_thread;
	}
	period->is_chain = period->step_count > 2 || period->has_each;
	period->by_thread = !period->is_chain && period->links[0].by_thread;
	return period->has_each && !any_keys
		       ? expected(period, NULL, "events by keys, where each counts", err)
		       : 0;
}

static int resolve_within(const struct period_set *set, struct period *period, struct err *err)
{
	const struct period *parent = NULL;

	for (size_t i = 0; period->is->within[0] && i < set->all.count; i++) {
		if (strcmp(set->all.at[i]->name, period->is->within) == 0) {
			period->within = (int)i;
			parent = set->all.at[i];
		}
	}
	if (period->is->within[0] && !parent) {
		return expected(period, period->is->within_at,
				"the name of a period that was given before", err);
	}
	assert(period->within < (int)set->all.count);
	return parent && !(parent->by_thread && period->by_thread)
		       ? expected(period, NULL, "periods by $tid, one within the other", err)
		       : 0;
}

static int resolve(const struct period_set *set, struct period *period, struct err *err)
{
	const struct label_set *labels = period->is_call ? NULL : &set->labels;
	int r = label_group_of(labels, period->is, &period->group, err);

	period->step_count = period->is->event_count;
	period->has_each = period->is->has_each;
	r = r < 0 ? r : resolve_links(period, err);
	for (size_t i = 0; r == 0 && i < period->step_count; i++) {
		period->steps[i].what = &period->is->events[i];
		if (!resolve_side(period, i, labels)) {
			return expected(period, NULL, "fewer fields in all", err);
		}
	}
	return r < 0 ? r : resolve_within(set, period, err);
}

/* ---- the whole ---- */

static void period_free(struct period *period)
{
	expression_free(period->is);
	free(period->text);
	free(period);
}

static int check_name(const struct periods *all, const struct period *period, struct err *err)
{
	for (size_t i = 0; i < all->count; i++) {
		if (strcmp(all->at[i]->name, period->name) == 0) {
			return expected(period, period->is->events_at,
					period->is->has_name ? "another name: there is one of this"
					: period->is_call
						? "NAME = before: there is a call of this name"
						: "NAME = before: there is a period of this name",
					err);
		}
	}
	return 0;
}

static int add(struct period_set *set, const char *text, enum expression_form form, struct err *err)
{
	struct period *period = mem_alloc(sizeof(*period));
	struct periods *all = form == FORM_CALL ? &set->calls : &set->all;
	int r;

	period->within = -1;
	period->is_call = form == FORM_CALL;
	r = all->count >= PERIODS_MAX ? err_raise(err, -EINVAL, "no more than %d %s", PERIODS_MAX,
						  period->is_call ? "calls" : "periods")
				      : expression_parse(text, form, &period->is, err);
	if (r == 0) {
		period->name = period->is->name;
		r = check_name(all, period, err);
		r = r < 0 ? r : resolve(set, period, err);
	}
	if (r < 0) {
		period_free(period);
		return r;
	}
	/* Without a name a call has that of its events. */
	period->text = period->is_call ? mem_strdup(text) : expression_text(period->is);
	*vec_push(all) = period;
	return 0;
}

int period_add(struct period_set *set, const char *text, struct err *err)
{
	return add(set, text, FORM_PERIOD, err);
}

/* Whether what ends one call ends the other: the event, and the keys as it has them. */
static bool ends_alike(const struct period *one, const struct period *other)
{
	const struct expression_link *link = one->is->links, *as = other->is->links;
	const struct definition *end = &one->is->events[1], *with = &other->is->events[1];
	bool is_same = strcmp(end->event, with->event) == 0 && end->count + with->count == 0 &&
		       one->is->error.count + other->is->error.count == 0 &&
		       link->key_count == as->key_count && link->has_keys == as->has_keys &&
		       link->has_tid == as->has_tid && link->is_global == as->is_global;

	for (size_t i = 0; is_same && i < link->key_count; i++) {
		is_same = strcmp(link->keys[i].end, as->keys[i].end) == 0;
	}
	return is_same;
}

/* The end takes the call's "diff", too; false: it has no room. */
static bool end_takes_diffs(struct period *end, struct period *call)
{
	struct period_side *side = &end->steps[1];

	for (uint8_t i = 0; i < call->is->diff_count; i++) {
		uint8_t field = fields_want_any(&side->fields, side->what, call->is->diffs[i]);
		uint8_t at = 0;

		while (at < side->diff_count && side->diffs[at] != field) {
			at++;
		}
		if (field == FIELD_NONE || at == EXPRESSION_DIFFS_MAX) {
			return false;
		}
		side->diffs[at] = field;
		side->diff_count = at < side->diff_count ? side->diff_count : at + 1u;
		call->diffs_at[i] = at;
	}
	return true;
}

int period_add_call(struct period_set *set, const char *text, struct err *err)
{
	int r = add(set, text, FORM_CALL, err);
	uint32_t last = (uint32_t)set->calls.count - 1;

	for (uint32_t i = 0; r == 0 && i <= last; i++) {
		struct period *call = set->calls.at[last];

		if (i == last || ends_alike(set->calls.at[i], call)) {
			call->ends_as = i;
			return end_takes_diffs(set->calls.at[i], call)
				       ? 0
				       : expected(call, NULL,
						  "no more than four fields in diff of all calls "
						  "with this end",
						  err);
		}
	}
	return r;
}

int period_add_span(struct period_set *set, const char *text, struct err *err)
{
	return add(set, text, FORM_SPAN, err);
}

/* The index of the job; -1: there is none. */
static int job_named(const struct period_set *set, const char *name)
{
	for (size_t i = 0; i < set->jobs.count; i++) {
		if (strcmp(set->jobs.at[i]->name, name) == 0) {
			return (int)i;
		}
	}
	return -1;
}

/* Finds the job that it lies in. */
static int surround(const struct period_set *set, struct job_spec *job, struct err *err)
{
	const struct expression *is = job->is;
	struct job_spec *outer;

	job->within = is->within[0] ? job_named(set, is->within) : -1;
	if (is->within[0] && job->within < 0) {
		return expression_expected(is, is->within_at,
					   "the name of a job that was given before", err);
	}
	if (job->within < 0) {
		return 0;
	}
	outer = set->jobs.at[job->within];
	job->is_joined = job->is_across || outer->is_across;
	if (outer->within >= 0) {
		return expression_expected(is, is->within_at, "a job that lies in none itself",
					   err);
	}
	if (job->is_joined && job_has_period(job)) {
		return expression_expected(is, is->within_at, JOB_NO_PERIOD, err);
	}
	outer->is_around = true;
	outer->is_around_any |= job->is_joined;
	return 0;
}

int period_add_job(struct period_set *set, const char *text, struct err *err)
{
	struct job_spec *job;
	int r;

	if (set->jobs.count >= JOBS_ASKED_MAX) {
		return err_raise(err, -EINVAL, "no more than %d jobs", JOBS_ASKED_MAX);
	}
	r = job_parse(text, FORM_JOB, &set->labels, &job, err);
	if (r < 0) {
		return r;
	}
	r = job_named(set, job->name) >= 0
		    ? err_raise(
			      err, -EINVAL,
			      "\"%s\": there is another job of this name: NAME = before the events "
			      "gives one",
			      job->name)
		    : surround(set, job, err);
	if (r < 0) {
		job_free(job);
	} else {
		*vec_push(&set->jobs) = job;
	}
	return r;
}

/* Whether --within is about the job: what models bring is as they say, and so is what lies in
 * another job. */
static bool is_put_within(const struct job_spec *job)
{
	return !job->model && job->within < 0;
}

/* There is one level: what others lie in lies in none. */
static int check_nesting(const struct period_set *set, struct err *err)
{
	for (size_t i = 0; i < set->jobs.count; i++) {
		const struct job_spec *job = set->jobs.at[i];
		const struct job_spec *outer = job->within < 0 ? NULL : set->jobs.at[job->within];

		if (outer && is_put_within(outer)) {
			return err_raise(err, -EINVAL,
					 "not with \"within %s\" of job %s, since %s would lie in "
					 "another job, too: leave one of the two out",
					 outer->name, job->name, outer->name);
		}
	}
	return 0;
}

/* Adds the job again, within the first one unless it lies in another. */
static int add_within(struct period_set *set, const struct job_spec *job, struct err *err)
{
	const char *outer = set->jobs.at[0]->name;
	bool is_inside = is_put_within(job);
	char *text =
		is_inside ? mem_printf("%s; within %s", job->text, outer) : mem_strdup(job->text);
	int r = period_add_job(set, text, err);

	if (r == 0) {
		set->jobs.at[set->jobs.count - 1]->model = job->model;
	}
	free(text);
	return r;
}

int period_set_within(struct period_set *set, const char *text, struct err *err)
{
	struct period_set before = *set;
	struct job_spec *outer;
	int r = job_parse(text, FORM_AROUND, NULL, &outer, err);

	if (r < 0) {
		return r;
	}
	r = check_nesting(set, err);
	if (r < 0) {
		job_free(outer);
		return r;
	}
	memset(&set->jobs, 0, sizeof(set->jobs));
	r = period_add_job(set, outer->text, err);
	for (size_t i = 0; r == 0 && i < before.jobs.count; i++) {
		r = add_within(set, before.jobs.at[i], err);
	}
	vec_free_each(&before.jobs, job_free);
	vec_fini(&before.jobs);
	job_free(outer);
	return r;
}

const struct job_spec *period_set_first_job(const struct period_set *set)
{
	for (size_t j = 0; j < set->jobs.count; j++) {
		if (!set->jobs.at[j]->is_around) {
			return set->jobs.at[j];
		}
	}
	return NULL;
}

/* ---- all as texts ---- */

#define JOB_WORD   "job "
#define CALL_WORD  "call "
#define LABEL_WORD "label "
#define MODEL_WORD "model "

static void join_period(struct period *period)
{
	for (size_t i = 0; i + 1 < period->step_count; i++) {
		period->links[i].by_process &= !period->links[i].by_thread;
	}
}

void period_set_join(struct period_set *set)
{
	set->with_kernel = true;
	for (size_t i = 0; i < period_set_measures(set); i++) {
		join_period(period_set_measure(set, i));
	}
	VEC_EACH_OF(&set->jobs, job) {
		job->by_process &= !job->is->links[0].has_tid;
	}
}

size_t period_set_measures(const struct period_set *set)
{
	return set->all.count + set->calls.count;
}

struct period *period_set_measure(const struct period_set *set, size_t i)
{
	assert(i < period_set_measures(set));
	return i < set->all.count ? set->all.at[i] : set->calls.at[i - set->all.count];
}

bool period_call_takes(const struct period *call, size_t step, const char *event,
		       const char **ret_stem, size_t *ret_len)
{
	const char *pattern = call->is->events[step].event, *star = strchr(pattern, '*');

	*ret_stem = "";
	*ret_len = 0;
	if (!plan_takes(pattern, event)) {
		return false;
	}
	if (star && strchr(call->is->events[1 - step].event, '*')) {
		*ret_stem = event + (star - pattern);
		*ret_len = strlen(event) - (strlen(pattern) - 1);
	}
	return true;
}

size_t period_set_count(const struct period_set *set)
{
	return set->labels.sources.count + set->all.count + set->jobs.count + set->calls.count;
}

/* Labels come first: what uses them is given after them. */
char *period_set_text(const struct period_set *set, size_t i)
{
	size_t labels = set->labels.sources.count, periods = labels + set->all.count,
	       calls = periods + set->calls.count;
	const char *text, *kind = "", *model;

	assert(i < period_set_count(set));
	if (i < labels) {
		kind = LABEL_WORD;
		text = set->labels.sources.at[i]->text;
		model = set->labels.sources.at[i]->model;
	} else if (i < calls) {
		const struct period *one =
			i < periods ? set->all.at[i - labels] : set->calls.at[i - periods];

		kind = one->is_call ? CALL_WORD : "";
		text = one->text;
		model = one->model;
	} else {
		kind = JOB_WORD;
		text = set->jobs.at[i - calls]->text;
		model = set->jobs.at[i - calls]->model;
	}
	return mem_printf("%s%s%s", model ? MODEL_WORD : "", kind, text);
}

char *period_set_text_global(const struct period_set *set, size_t i, const char **ret_option,
			     const char **ret_name)
{
	size_t labels = set->labels.sources.count, measures = period_set_measures(set);
	const struct period *one = NULL;
	const struct job_spec *job = NULL;

	assert(i < period_set_count(set));
	*ret_option = *ret_name = "";
	if (i >= labels + measures) {
		job = set->jobs.at[i - labels - measures];
		*ret_option = "job";
		*ret_name = job->name;
	} else if (i >= labels) {
		one = period_set_measure(set, i - labels);
		*ret_option = one->is_call ? "call" : "period";
		*ret_name = one->name;
	}
	return (job && !job->model) || (one && !one->model)
		       ? expression_text_global(job ? job->is : one->is)
		       : NULL;
}

/* What follows @word; NULL: the text is that of a period, whose name a "=" follows. */
static const char *behind(const char *text, const char *word)
{
	size_t len = strlen(word);
	const char *at = text + len;

	return strncmp(text, word, len) == 0 && at[strspn(at, " \t")] != '=' ? at : NULL;
}

static int add_text(struct period_set *set, const char *text, struct err *err)
{
	const char *job = behind(text, JOB_WORD), *label = behind(text, LABEL_WORD);
	const char *call = behind(text, CALL_WORD);

	if (label || call) {
		return label ? label_add(&set->labels, label, err)
			     : period_add_call(set, call, err);
	}
	return job ? period_add_job(set, job, err) : period_add(set, text, err);
}

int period_add_text(struct period_set *set, const char *text, struct err *err)
{
	static const char some[] = "";
	const char *of_model = behind(text, MODEL_WORD);
	struct period_set before = *set;
	int r = add_text(set, of_model ? of_model : text, err);

	if (r == 0 && of_model) {
		period_set_mark(set, &before, some);
	}
	return r;
}

void period_set_mark(struct period_set *set, const struct period_set *before, const char *model)
{
	for (size_t i = before->labels.sources.count; i < set->labels.sources.count; i++) {
		set->labels.sources.at[i]->model = model;
	}
	for (size_t i = before->all.count; i < set->all.count; i++) {
		set->all.at[i]->model = model;
	}
	for (size_t i = before->calls.count; i < set->calls.count; i++) {
		set->calls.at[i]->model = model;
	}
	for (size_t i = before->jobs.count; i < set->jobs.count; i++) {
		set->jobs.at[i]->model = model;
	}
}

char *period_as_job(const struct period *period)
{
	const struct expression *is = period->is;
	struct job_spec *job;
	struct err unused;
	char *text;

	if (period->is_chain || period->within >= 0) {
		return NULL;
	}
	text = mem_printf("%s = %.*s", period->name, (int)(is->events_end - is->events_at),
			  is->events_at);
	if (job_parse(text, FORM_JOB, NULL, &job, &unused) < 0) {
		free(text);
		return NULL;
	}
	job_free(job);
	return text;
}

static bool is_of_programs(const struct period *period)
{
	bool is = false;

	for (size_t i = 0; i < period->is->event_count; i++) {
		is |= definition_is_of_program(&period->is->events[i]);
	}
	return is && !period->is_left_out;
}

bool period_set_is_of_programs(const struct period_set *set)
{
	bool is = false;

	for (size_t i = 0; i < set->all.count; i++) {
		is |= is_of_programs(set->all.at[i]);
	}
	VEC_EACH_OF(&set->jobs, job) {
		is |= job->of_programs && !job->is_left_out;
	}
	return is;
}

void period_set_fini(struct period_set *set)
{
	vec_free_each(&set->all, period_free);
	vec_free_each(&set->calls, period_free);
	vec_free_each(&set->jobs, job_free);
	label_set_fini(&set->labels);
	vec_free_each(&set->models, free);
	free(set->tracer);
}
