/*
 * occasion: see occasion.h.
 */
#include "cmd/report/occasion.h"

#include <assert.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/tables/report.h"
#include "engine/tables/selection.h"
#include "query/job.h"
#include "run/captured.h"
#include "run/run.h"
#include "run/say.h"

#define SELECTED_MAX 64 /* each is compared with the threads of all executions */

/* ---- its triggers ---- */

/* The tid in "comm (tid)", which is how triggers name rows of threads; NULL for other rows. */
static char *tid_of(const char *figure, const char *row)
{
	const char *open = row ? strrchr(row, '(') : NULL;
	size_t digits = open ? strspn(open + 1, "0123456789") : 0;

	if (!open || digits == 0 || !figure || !strstr(figure, ".thread")) {
		return NULL;
	}
	return mem_printf("%.*s", (int)digits, open + 1);
}

static void take_value(struct occasion *occasion, struct json_object *value)
{
	const char *figure = captured_text(value, "figure");
	char *tid = tid_of(figure, captured_text(value, "row"));

	if (tid && !occasion->job_thread && strncmp(figure, "jobs.", 5) == 0) {
		occasion->job_thread = mem_strdup(tid);
	}
	if (occasion->thread) {
		free(tid);
	} else {
		occasion->thread = tid;
	}
}

static void take_trigger(struct occasion *occasion, struct json_object *trigger)
{
	const char *name = captured_text(trigger, "name");
	struct json_object *values, *begin;
	uint64_t since;
	char *longer;

	if (!json_object_is_type(trigger, json_type_object)) {
		return;
	}
	if (json_object_object_get_ex(trigger, "begin", &begin)) {
		since = json_object_get_uint64(begin);
		occasion->since =
			occasion->since == 0 || since < occasion->since ? since : occasion->since;
	}

	longer = mem_printf("%s%s%s", occasion->triggers ? occasion->triggers : "",
			    occasion->triggers ? ", " : "", name ? name : "?");
	free(occasion->triggers);
	occasion->triggers = longer;
	if (!json_object_object_get_ex(trigger, "values", &values) ||
	    !json_object_is_type(values, json_type_array)) {
		return;
	}
	for (size_t i = 0; i < json_object_array_length(values); i++) {
		take_value(occasion, json_object_array_get_idx(values, i));
	}
}

/* ---- its run ---- */

/* As the options of a command, which are refused as those of a user are. */
static int take_asked(struct occasion *occasion, struct json_object *capture, bool says,
		      struct err *err)
{
	captured_list words = { 0 };
	const char **argv;
	int r;

	*vec_push(&words) = mem_strdup("analyze");
	captured_words(capture, says, &words);
	argv = mem_alloc((words.count + 1) * sizeof(*argv));
	memcpy(argv, words.at, words.count * sizeof(*argv));
	r = options_parse(&occasion->asked, FOR_ANALYZE, (int)words.count, argv, err);
	occasion->has_asked = true;
	if (r != 0) {
		options_fini(&occasion->asked);
		occasion->has_asked = false;
	}
	free(argv);
	captured_words_free(&words);
	return r < 0 ? r : 0;
}

/* The job, and the one that it lies in by what the run measured. */
static int take_jobs(struct occasion *occasion, const char *text, struct err *err)
{
	static const struct label_set none;
	const struct period_set *asked = &occasion->asked.periods;
	const struct label_set *labels = occasion->has_asked ? &asked->labels : &none;
	int r = job_parse(text, FORM_JOB, labels, &occasion->job, err);

	for (size_t j = 0; r == 0 && occasion->has_asked && j < asked->jobs.count; j++) {
		if (strcmp(asked->jobs.at[j]->name, occasion->job->is->within) == 0) {
			r = job_parse(asked->jobs.at[j]->text, FORM_JOB, labels, &occasion->within,
				      err);
		}
	}
	return r;
}

void occasion_read(const char *path, bool says, struct occasion *ret)
{
	struct json_object *capture, *triggers;
	const struct job_spec *first;
	const char *job;
	struct err err;

	memset(ret, 0, sizeof(*ret));
	capture = captured_open(path, &err);
	if (!capture) {
		if (says && err.text[0]) {
			say("%s", err.text);
		}
		return;
	}
	if (take_asked(ret, capture, says, &err) < 0 && says) {
		say("%s/capture.json: what was measured: %s", path, err.text);
	}
	job = captured_text(capture, "job");
	first = ret->has_asked ? period_set_first_job(&ret->asked.periods) : NULL;
	job = !job && first ? first->text : job;
	if (job && take_jobs(ret, job, &err) < 0 && says) {
		say("%s/capture.json: job: %s", path, err.text);
	}
	if (json_object_object_get_ex(capture, "triggers", &triggers) &&
	    json_object_is_type(triggers, json_type_array)) {
		for (size_t i = 0; i < json_object_array_length(triggers); i++) {
			take_trigger(ret, json_object_array_get_idx(triggers, i));
		}
	}
	(void)json_object_put(capture);
}

void occasion_fini(struct occasion *occasion)
{
	free(occasion->triggers);
	free(occasion->thread);
	free(occasion->job_thread);
	job_free(occasion->job);
	job_free(occasion->within);
	if (occasion->has_asked) {
		options_fini(&occasion->asked);
	}
}

/* The labels and models that it may name. */
static void take_labels(const struct occasion *occasion, captured_list *words)
{
	const struct period_set *asked = &occasion->asked.periods;

	for (size_t i = 0; occasion->has_asked && i < asked->models.count; i++) {
		*vec_push(words) = mem_printf("--model=%s", asked->models.at[i]);
	}
	for (size_t i = 0; occasion->has_asked && i < asked->labels.sources.count; i++) {
		const struct label_source *source = asked->labels.sources.at[i];

		if (!source->model) {
			*vec_push(words) = mem_printf("--label=%s", source->text);
		}
	}
}

/* "; only origin(callback)=/topic_b; group kind", as it was written; from malloc(). */
static char *written_names(const struct expression *is)
{
	const struct expression_use *last = &is->uses[is->use_count > 0 ? is->use_count - 1 : 0];
	int only = is->only.count > 0 ? (int)(is->only.end - is->only.at) : 0;
	int group = is->use_count > 0 ? (int)(last->end - is->uses[0].at) : 0;

	return mem_printf("%s%.*s%s%.*s", only > 0 ? "; only " : "", only,
			  only > 0 ? is->only.at : "", group > 0 ? "; group " : "", group,
			  group > 0 ? is->uses[0].at : "");
}

/* Its pattern, and of its times those that the user does not say otherwise. */
static void take_job(const struct options *options, const struct occasion *occasion,
		     captured_list *words)
{
	const struct job_spec *job = occasion->job;
	bool has_points =
		options->every_ns == 0 && job->period_ns > 0 && job->is->is_fixed && !job->has_keys;
	char *names = written_names(job->is);

	take_labels(occasion, words);
	if (occasion->within && !options->within) {
		*vec_push(words) = mem_printf("--within=%s", occasion->within->pattern);
	}
	*vec_push(words) = has_points ? mem_printf("--job=%s%s; every %" PRIu64 "ns fixed",
						   job->pattern, names, job->period_ns)
				      : mem_printf("--job=%s%s", job->pattern, names);
	free(names);
	if (options->deadline_ns == UINT64_MAX && job->deadline_ns != UINT64_MAX) {
		*vec_push(words) = mem_printf("--deadline=%" PRIu64 "ns", job->deadline_ns);
	}
	if (options->every_ns == 0 && job->period_ns > 0 && !has_points && !job->has_keys) {
		*vec_push(words) = mem_printf("--every=%" PRIu64 "ns", job->period_ns);
	}
}

static bool needs_job(const struct options *options)
{
	return options->has_worst || options->within || options->every_ns > 0 ||
	       options->deadline_ns != UINT64_MAX || options->executions > 0;
}

const char **occasion_again(const struct options *options, int argc, const char **argv,
			    int *ret_argc)
{
	static captured_list words; /* until the program ends: options borrow them */
	struct occasion occasion;

	if (options->job || options->discover || !needs_job(options) || !options->args ||
	    !options->args[0] || options->args[1]) {
		return NULL;
	}
	occasion_read(options->args[0], false, &occasion);
	if (occasion.job) {
		take_job(options, &occasion, &words);
	}
	occasion_fini(&occasion);
	return words.count > 0 ? captured_joined(&words, argc, argv, ret_argc) : NULL;
}

/* ---- what it is about ---- */

bool occasion_has_spans(const struct occasion *occasion)
{
	const struct period_set *asked = &occasion->asked.periods;

	return occasion->has_asked && asked->all.count + asked->jobs.count > 0;
}

char *occasion_selected(const struct occasion *occasion, const struct timeline *timeline)
{
	char *list = NULL, *longer;
	size_t count = 0;

	if (!occasion->has_asked || !(selection_of(&occasion->asked.selection) & OF_ALL_THREADS)) {
		return NULL;
	}
	for (size_t i = 0; i < timeline->threads.count && count <= SELECTED_MAX; i++) {
		const struct deep_thread *thread = timeline->threads.at[i];
		struct thread_view view = { .tid = thread->tid, .pid = (int32_t)thread->pid };

		(void)snprintf(view.comm, sizeof(view.comm), "%s", thread->comm);
		if (selection_wants_thread(&occasion->asked.selection, &view)) {
			longer = mem_printf("%s%s%d", list ? list : "", list ? "," : "",
					    thread->tid);
			free(list);
			list = longer;
			count++;
		}
	}
	if (count > SELECTED_MAX) {
		free(list);
		list = NULL;
	}
	return list;
}
