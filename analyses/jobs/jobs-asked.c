/*
 * jobs-asked: which figures the jobs that the user asked for have in a trace; see jobs.h.
 */
#include "analyses/jobs/jobs.h"

#include <fnmatch.h>
#include <string.h>

#include "engine/contract/missing.h"

extern const struct analysis analysis_jobs;

/* In a trace of a kernel switches tell what threads are called. */
static bool lacks_names(const struct job_spec *job, const struct event_names *names)
{
	return job->has_names && !job->is_left_out && names->domain &&
	       strcmp(names->domain, "kernel") == 0 && !missing_has_event(names, "sched_switch");
}

/* An execution can end only if the trace has all of its events. */
bool jobs_missing_of(const struct period_set *asked, const struct event_names *names,
		     struct missing_events *ret)
{
	bool any = false;

	for (size_t j = 0; asked && j < asked->jobs.count; j++) {
		const struct job_spec *job = asked->jobs.at[j];
		bool has_all = !job->is_left_out;

		for (size_t d = 0; d < job->is->event_count && !job->is_left_out; d++) {
			if (!missing_has_event(names, job->is->events[d].event)) {
				missing_lack(names, &analysis_jobs, job->is->events[d].event, ret);
				has_all = false;
			}
		}
		has_all &= job->within < 0 || !asked->jobs.at[job->within]->is_left_out;
		for (size_t d = 0; job->within >= 0 && has_all &&
				   d < asked->jobs.at[job->within]->is->event_count;
		     d++) {
			has_all = missing_has_event(
				names, asked->jobs.at[job->within]->is->events[d].event);
		}
		if (lacks_names(job, names)) {
			missing_lack(names, &analysis_jobs, "sched_switch", ret);
			has_all = false;
		}
		any |= has_all;
	}
	return any;
}

/* A period tells when executions arrive, where no event does.  Those that go over threads arrive
 * when they begin, and have no parts: they need nothing but their own events.  Of programs' those
 * that one thread begins and ends have parts, where the kernel's trace is joined. */
bool jobs_needs_essential(const struct period_set *asked, const struct essential *essential)
{
	bool have_periods = asked && asked->jobs.count > 0, go_over = have_periods;

	for (size_t j = 0; have_periods && j < asked->jobs.count; j++) {
		const struct job_spec *job = asked->jobs.at[j];

		have_periods = job_has_period(job) || job->is_across;
		go_over &= job->is_across && !jobs_has_parts(asked, job);
	}
	return !have_periods || (!go_over && !(essential->columns[TOTALS] & COLUMN(SKIPPED)));
}

static bool is_miss(size_t table, unsigned int column)
{
	switch (table) {
	case TOTALS:
	case BY_JOB:
		return column == MISSES || column == MISSES_RUN || column == OPEN_MISSES;
	case THREADS:
	case PROCESSES:
		return column == THREAD_MISSES;
	default:
		return false;
	}
}

/* Whether rows of the job may have such a name: its own, or one with more behind. */
static bool may_have_name(const struct job_spec *job, const char *pattern, bool has_more)
{
	size_t own = strlen(job->name), plain = strcspn(pattern, "*?[\\");

	if (fnmatch(pattern, job->name, 0) == 0 || !has_more) {
		return fnmatch(pattern, job->name, 0) == 0;
	}
	return plain <= own ? strncmp(pattern, job->name, plain) == 0
			    : strncmp(pattern, job->name, own) == 0 && pattern[own] == ' ';
}

/* Only jobs with a deadline, or a period instead, can miss it. */
bool jobs_is_asked(const struct period_set *asked, size_t table, unsigned int column,
		   const char *name)
{
	bool has_name = name && (table == BY_JOB || table == PARTS || table == DIFFERENCES);

	for (size_t j = 0; asked && j < asked->jobs.count; j++) {
		const struct job_spec *job = asked->jobs.at[j];

		if (job->is_across && (table == THREADS || table == PROCESSES ||
				       (table == PARTS && !jobs_has_parts(asked, job)))) {
			continue; /* it is of no thread */
		}
		if (job->is_joined && table == BY_JOB &&
		    (column == JOB_PERIOD || column == JOB_JITTER)) {
			continue; /* which begin came before is not known */
		}
		if (job->is->diff_count == 0 && table == DIFFERENCES) {
			continue;
		}
		if ((!has_name ||
		     may_have_name(job, name, job->group.count > 0 || table == DIFFERENCES)) &&
		    (!is_miss(table, column) || job_has_period(job) ||
		     job->deadline_ns != UINT64_MAX)) {
			return true;
		}
	}
	return false;
}
