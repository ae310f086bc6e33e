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

int options_check_job(const struct options *options, struct err *err)
{
	const struct job_spec *job = options->job;
	const char *other = NULL;

	if (!job) {
		return 0;
	}
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
	if (job->has_keys && (job->period_ns > 0 || job->looked.count > 0)) {
		return err_raise(err, -EINVAL,
				 "--job: no every and only of what keys tell apart (by): reports "
				 "have neither");
	}
	return options->every_ns > 0 && job->period_ns > 0 && options->every_ns != job->period_ns
		       ? err_raise(err, -EINVAL, "--every: the text of --job says another period")
		       : 0;
}

int options_surround(struct options *options, struct err *err)
{
	int r = options->around ? period_set_within(&options->periods, options->around, err) : 0;

	return r < 0 ? err_note(err, r, "--within") : r;
}
