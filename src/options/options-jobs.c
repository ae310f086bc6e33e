/*
 * options-jobs: what stands beside --job: --thread, --deadline, --every, --within.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "options/options-parts.h"

static bool is_tid(const char *thread)
{
	return strspn(thread, "0123456789") == strlen(thread);
}

static bool is_one_thread(const char *thread)
{
	return thread && !thread[strcspn(thread, ",*?[\\")];
}

static int check_beside(const struct options *options, struct err *err)
{
	const struct job_spec *job = options->job;
	const char *other = NULL;

	for (size_t i = 0; is_one_thread(options->thread) && i < job->is->event_count; i++) {
		const struct pattern_who *who = &job->is->events[i].who;
		bool by_tid = is_tid(options->thread);

		if (who->count > 0 &&
		    pattern_has_who(who, by_tid ? (int32_t)strtol(options->thread, NULL, 10) : 0,
				    by_tid ? "" : options->thread)) {
			other = NULL;
			break;
		}
		other = who->count > 0 && who->has_names != by_tid ? who->at : other;
	}
	if (other) {
		return err_raise(err, -EINVAL, "--thread %s: the text of --job says @%s",
				 options->thread, other);
	}
	if (job->is->within[0]) {
		return err_raise(err, -EINVAL,
				 "--job: of a report --within says what executions lie in");
	}
	if (options->deadline_ns != UINT64_MAX && job->deadline_ns != UINT64_MAX &&
	    options->deadline_ns != job->deadline_ns) {
		return err_raise(err, -EINVAL,
				 "--deadline: the text of --job says another deadline");
	}
	if (options->every_ns > 0 && job->has_keys) {
		return err_raise(err, -EINVAL, "--every: not of what keys tell apart (by)");
	}
	if (options->within && (options->every_ns > 0 || job->period_ns > 0) &&
	    (job->is_across || options->within->is_across)) {
		return err_raise(err, -EINVAL, "--within: " JOB_NO_PERIOD);
	}
	if (job->has_keys && job_has_period(job)) {
		return err_raise(err, -EINVAL,
				 "--job: a report has no period of what keys tell apart (by): "
				 "leave out every, or ask analyze -a jobs");
	}
	return options->every_ns > 0 && job->period_ns > 0 && options->every_ns != job->period_ns
		       ? err_raise(err, -EINVAL, "--every: the text of --job says another period")
		       : 0;
}

const struct job_spec *options_job_of_model(const struct options *options)
{
	VEC_EACH_OF(&options->periods.jobs, job) {
		if (strcmp(job->name, options->job_text) == 0) {
			return job;
		}
	}
	return NULL;
}

/* A model has several jobs, and a report is of one. */
static int say_choice(const struct options *options, struct err *err)
{
	char *names = NULL;
	int r;

	VEC_EACH_OF(&options->periods.jobs, job) {
		char *longer =
			mem_printf("%s%s%s", names ? names : "", names ? ", " : "", job->name);

		free(names);
		names = longer;
	}
	r = err_raise(err, -EINVAL, "--model: a report is of one job: give --job %s",
		      names ? names : "'EVENT; EVENT', which may use its labels");
	free(names);
	return r;
}

/* Where a report has no period of a job that keys tell apart, it has its durations. */
static void leave_period(struct job_spec *job)
{
	if (job->has_keys) {
		job->period_ns = 0;
		job->due = -1;
	}
}

static int choose_job(struct options *options, struct err *err)
{
	const struct job_spec *of_model;
	int r;

	if (!options->job_text) {
		return options->periods.models.count > 0 ? say_choice(options, err) : 0;
	}
	of_model = options_job_of_model(options);
	r = job_parse(of_model ? of_model->text : options->job_text, FORM_JOB,
		      &options->periods.labels, &options->job, err);
	if (r < 0) {
		return err_note(err, r, "--job");
	}
	if (of_model) {
		leave_period(options->job);
	}
	return 0;
}

int options_check_job(struct options *options, struct err *err)
{
	int r = options->command == FOR_REPORT ? choose_job(options, err) : 0;

	return r < 0 || !options->job ? r : check_beside(options, err);
}

int options_surround(struct options *options, struct err *err)
{
	int r = options->around ? period_set_within(&options->periods, options->around, err) : 0;

	return r < 0 ? err_note(err, r, "--within") : r;
}
