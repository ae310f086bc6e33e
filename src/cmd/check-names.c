/*
 * check-names: see check-names.h.
 */
#include "cmd/check-names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ctf/metadata/metadata.h"
#include "deep/jobs/jobs.h"
#include "discovery/discovery.h"
#include "engine/contract/missing.h"
#include "live/trigger/actions.h"
#include "query/names.h"
#include "recorded/recorded.h"

/* ---- one name ---- */

static int look_up_period(struct names *names, const void *period)
{
	return names_period(names, period);
}

static struct event_names names_of(const struct metadata *metadata)
{
	const struct env_entry *domain = metadata_env(metadata, "domain");
	const char **at = mem_alloc((metadata->event_count + 1) * sizeof(*at));
	struct event_names names = { .at = at, .domain = domain ? domain->text : NULL };

	for (const struct event_class *class = metadata->events; class; class = class->next) {
		at[names.count++] = class->name;
	}
	return names;
}

static int check_trigger(const struct options *options, const struct actions *actions,
			 size_t trigger, const struct metadata *const *traces, size_t count,
			 struct err *err)
{
	struct event_names *names = mem_alloc((count + 1) * sizeof(*names));
	int r;

	for (size_t i = 0; i < count; i++) {
		names[i] = names_of(traces[i]);
	}
	r = actions_check(actions, trigger, names, count, &options->periods, err);
	for (size_t i = 0; i < count; i++) {
		free((void *)names[i].at);
	}
	free(names);
	return r;
}

static int check_period(const struct period *period, const struct metadata *const *traces,
			size_t count, struct err *err)
{
	int r = names_in_any(traces, count, look_up_period, period, err);

	return r < 0 ? err_note(err, r, "--period %s", period->name) : 0;
}

static int check_job(const char *option, const char *pattern, const struct metadata *const *traces,
		     size_t count, struct err *err)
{
	int r = pattern ? names_in_any(traces, count, jobs_look_up, pattern, err) : 0;

	return r < 0 ? err_note(err, r, "--%s", option) : 0;
}

static int look_up_start(struct names *names, const void *start)
{
	return names_event(names, start);
}

static int check_start(const char *start, const struct metadata *const *traces, size_t count,
		       struct err *err)
{
	int r = names_in_any(traces, count, look_up_start, discovery_start(start), err);

	return r < 0 ? err_note(err, r, "--start") : 0;
}

static int check_job_spec(const struct job_spec *job, const struct metadata *const *traces,
			  size_t count, struct err *err)
{
	int r = names_in_any(traces, count, jobs_look_up, job->pattern, err);

	return r < 0 ? err_note(err, r, "--job %s", job->name) : 0;
}

/* ---- recorded ---- */

static int check_all(const struct options *options, const struct actions *actions,
		     const struct metadata *const *traces, size_t count, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < options->periods.all.count; i++) {
		r = check_period(options->periods.all.at[i], traces, count, err);
	}
	for (size_t i = 0; r == 0 && i < options->periods.jobs.count; i++) {
		r = check_job_spec(options->periods.jobs.at[i], traces, count, err);
	}
	for (size_t i = 0; r == 0 && actions && i < actions_count(actions); i++) {
		r = check_trigger(options, actions, i, traces, count, err);
	}
	r = r < 0 ? r : check_job("job", options->job, traces, count, err);
	r = r < 0 ? r : check_job("within", options->within, traces, count, err);
	return r < 0 || !options->start ? r : check_start(options->start, traces, count, err);
}

int cmd_check_names(const struct options *options, const struct actions *actions,
		    const struct recorded_paths *paths, struct err *err)
{
	VEC(struct metadata_stream *) streams = { 0 };
	VEC(const struct metadata *) traces = { 0 };
	struct err unread;
	int r = 0;

	if (period_set_count(&options->periods) == 0 && !actions && !options->job &&
	    !options->start) {
		return 0;
	}
	for (size_t i = 0; i < paths->at.count; i++) {
		struct metadata_stream *stream = metadata_stream_new();

		*vec_push(&streams) = stream;
		if (recorded_read_metadata(&paths->at.at[i], stream, &unread) == 0) {
			*vec_push(&traces) = metadata_stream_types(stream);
		}
	}
	if (traces.count > 0) {
		r = check_all(options, actions, traces.at, traces.count, err);
	}
	for (size_t i = 0; i < streams.count; i++) {
		metadata_stream_free(streams.at[i]);
	}
	vec_fini(&streams);
	vec_fini(&traces);
	return r;
}

/* ---- live ---- */

/* True the first time that it is asked about this name. */
static bool is_first_time(struct live_names *names, size_t number)
{
	bool was;

	while (names->warned.count <= number) {
		*vec_push(&names->warned) = false;
	}
	was = names->warned.at[number];
	names->warned.at[number] = true;
	return !was;
}

static void warn_of(struct live_names *names, size_t number, const char *why, live_names_warn *warn,
		    void *user)
{
	char text[sizeof(struct err) + 16];

	if (is_first_time(names, number)) {
		(void)snprintf(text, sizeof(text), "so far: %s", why);
		warn(user, text);
	}
}

void cmd_check_live_names(void *live_names, const struct metadata *const *traces, size_t count,
			  live_names_warn *warn, void *user)
{
	struct live_names *names = live_names;
	const struct period_set *periods = &names->options->periods;
	struct err err;

	for (size_t i = 0; i < periods->all.count; i++) {
		if (check_period(periods->all.at[i], traces, count, &err) < 0) {
			warn_of(names, i, err.text, warn, user);
		}
	}
	for (size_t i = 0; i < periods->jobs.count; i++) {
		if (check_job_spec(periods->jobs.at[i], traces, count, &err) < 0) {
			warn_of(names, periods->all.count + i, err.text, warn, user);
		}
	}
	for (size_t i = 0; names->actions && i < actions_count(names->actions); i++) {
		if (check_trigger(names->options, names->actions, i, traces, count, &err) < 0) {
			warn_of(names, period_set_count(periods) + i, err.text, warn, user);
		}
	}
}

void cmd_live_names_fini(struct live_names *names)
{
	vec_fini(&names->warned);
}
