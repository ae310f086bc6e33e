/*
 * range: see range.h.
 */
#include "fetch/range.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/now.h"
#include "fetch/range-session.h"
#include "live/loop.h"
#include "text/plain.h"

#define ATTEMPTS_MAX 3
#define PAUSE_NS     (NS_PER_S / 4)
#define BUSY_NS      (3 * NS_PER_S) /* a relay notices late that a viewer has gone */
#define PROGRESS_NS  (NS_PER_S / 5)

struct fetched_session {
	uint64_t id;
	uint32_t live_timer_us;
	char *name;           /* its URL, without what could change a terminal */
	char *host, *session; /* as the relay calls them */
};

struct fetch {
	const struct range_config *config;
	const struct url *url;
	const struct scratch *store;
	struct relay_address address;
	VEC(struct fetched_session) sessions;
	size_t not_live;
	uint64_t progress_ns; /* when the progress line was last drawn; 0: never */
	struct err *err;
};

/* ---- progress ---- */

static void clear_progress(struct fetch *fetch)
{
	if (fetch->progress_ns > 0) {
		plain_clear_progress();
		fetch->progress_ns = 0;
	}
}

static void on_progress(void *user, const struct range_job *job)
{
	struct fetch *fetch = user;
	uint64_t now = now_monotonic_ns();
	char text[UNITS_TEXT_MAX];

	if (fetch->config->shows_progress && now - fetch->progress_ns >= PROGRESS_NS) {
		fetch->progress_ns = now;
		plain_progress("%s: fetched %s", job->name, units_bytes(text, job->bytes));
	}
}

/* ---- sessions ---- */

/* The URL that names only this session. */
static char *url_of(const struct url *url, const char *host, const char *session)
{
	const char *scheme_end = strstr(url->text, "://");
	bool is_v6 = strchr(url->host, ':') != NULL;
	char port[8] = "", *text;

	assert(scheme_end);
	if (url->port) {
		(void)snprintf(port, sizeof(port), ":%u", url->port);
	}
	text = mem_printf("%.*s://%s%s%s%s/host/%s/%s", (int)(scheme_end - url->text), url->text,
			  is_v6 ? "[" : "", url->host, is_v6 ? "]" : "", port, host, session);
	plain_message(text);
	return text;
}

static void on_session(void *user, const struct url *url, const struct loop_listed *listed)
{
	struct fetch *fetch = user;

	if (listed->live_timer_us == 0) {
		fetch->not_live++;
		return;
	}
	*vec_push(&fetch->sessions) = (struct fetched_session){
		.id = listed->id,
		.live_timer_us = (uint32_t)listed->live_timer_us,
		.name = url_of(url, listed->host, listed->name),
		.host = mem_strdup(listed->host),
		.session = mem_strdup(listed->name),
	};
}

static int find_sessions(struct fetch *fetch)
{
	const struct url *url = fetch->url;
	int r = loop_list(url, on_session, NULL, fetch->config->stop, fetch, fetch->err);

	if (r < 0 || fetch->sessions.count > 0) {
		return r;
	}
	if (fetch->not_live > 0) {
		return err_raise(fetch->err, -ENOTSUP,
				 "%s: not a live session (no live timer); the relay does not hand "
				 "it out",
				 url->text);
	}
	return err_raise(fetch->err, -ENOENT,
			 url->is_exact ? "%s: no such session on this relay"
				       : "%s: the relay has no session of this name",
			 url->text);
}

/* ---- one session ---- */

/* False: stopped. */
static bool rest(const struct fetch *fetch)
{
	struct timespec pause = { .tv_nsec = PAUSE_NS };

	(void)nanosleep(&pause, NULL);
	return !atomic_load(fetch->config->stop);
}

/* Reads the session once, from its begin, whatever number of attempts that takes. */
static int read_session(struct fetch *fetch, struct range_job *job, const char *dir)
{
	const struct range_config *config = fetch->config;
	uint64_t begun = now_monotonic_ns();
	int r = -ECONNRESET;
	char *own = NULL;

	assert(!job->dir && job->traces.count == 0);
	for (unsigned int attempt = 1; r < 0;) {
		free(own);
		own = dir ? mem_printf("%s-%u", dir, attempt) : NULL;
		job->dir = own;
		if (own && mkdir(own, 0700) < 0 && errno != EEXIST) {
			r = err_raise(fetch->err, -errno, "%s: %s", own, strerror(errno));
			break;
		}
		r = range_session_read(job, fetch->err);
		clear_progress(fetch);
		if (r == 0 || (r == -EBUSY && now_monotonic_ns() - begun > BUSY_NS) ||
		    (r == -ECONNRESET && attempt == ATTEMPTS_MAX) ||
		    (r != -EBUSY && r != -ECONNRESET)) {
			break;
		}
		if (r == -ECONNRESET && config->verbosity >= 0) {
			config->say("%s; trying again", fetch->err->text);
		}
		job->takes_any_length |= job->was_of_other_length;
		job->gives_streams_up |= job->has_stream_failed;
		attempt += r == -ECONNRESET;
		range_session_clear(job);
		if (!rest(fetch)) {
			r = err_raise(fetch->err, -EINTR, "%s: interrupted while it was fetched",
				      job->name);
			break;
		}
	}
	job->dir = NULL;
	free(own);
	return r;
}

static void add_paths(struct range_job *job, const struct fetched_session *session,
		      const struct units_span *span, struct recorded_paths *paths)
{
	VEC_EACH_OF(&job->traces, trace) {
		struct recorded_path *path = vec_push(&paths->at);

		assert(trace->dir);
		if (trace->path) {
			plain_message(trace->path);
		}
		*path = (struct recorded_path){ .host = mem_strdup(session->host),
						.session = mem_strdup(session->session),
						.span = *span,
						.from = job->from };
		path->name = mem_printf("%s%s%s", job->name, trace->path ? "/" : "",
					trace->path ? trace->path : "");
		*vec_push(&path->dirs) = trace->dir;
		trace->dir = NULL;
		vec_append(&path->lost, trace->lost.at, trace->lost.count);
		trace->lost.count = 0;
	}
}

/* In the form that --begin takes. */
static const char *date(char text[UNITS_TEXT_MAX], uint64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_S);
	struct tm tm;

	(void)localtime_r(&seconds, &tm);
	(void)strftime(text, UNITS_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	return text;
}

static int check_range(const struct fetch *fetch, const struct range_job *job, uint64_t begin,
		       uint64_t end)
{
	bool is_limited = begin > 0 || end < UINT64_MAX;
	char text[2][UNITS_TEXT_MAX];

	if (!is_limited || job->span.first > job->span.last) {
		return 0;
	}
	if (begin > job->span.last || end <= job->span.first) {
		return err_raise(fetch->err, -ERANGE,
				 "%s: nothing of it is in this range; the relay has what was "
				 "traced from %s to %s",
				 job->name, date(text[0], job->span.first),
				 date(text[1], job->span.last));
	}
	if (begin > 0 && begin < job->span.first && fetch->config->verbosity >= 0) {
		fetch->config->say("%s: the relay has nothing of it before %s", job->name,
				   date(text[0], job->span.first));
	}
	return 0;
}

static void say_fetched(const struct fetch *fetch, const struct range_job *job)
{
	char text[UNITS_TEXT_MAX];

	if (fetch->config->verbosity >= 0) {
		fetch->config->say("%s: fetched %" PRIu64 " packets (%s) into %s", job->name,
				   job->packets, units_bytes(text, job->bytes),
				   scratch_dir(fetch->store));
	}
	if (job->lost > 0) {
		fetch->config->say("%s: %" PRIu64
				   " packets that the relay announced could not be fetched",
				   job->name, job->lost);
	}
}

static int fetch_session(struct fetch *fetch, const struct fetched_session *session, size_t number,
			 struct recorded_paths *paths)
{
	const struct range_config *config = fetch->config;
	struct range_job job = { .address = &fetch->address,
				 .name = session->name,
				 .session_id = session->id,
				 .live_timer_us = session->live_timer_us,
				 .end = UINT64_MAX,
				 .newest = UINT64_MAX,
				 .stop = config->stop,
				 .say = config->verbosity >= 0 ? config->say : NULL,
				 .progress = on_progress,
				 .user = fetch };
	struct units_span span = { 0 };
	uint64_t begin = 0, end = UINT64_MAX;
	char *dir = mem_printf("%s/%zu", scratch_dir(fetch->store), number);
	int r = 0;

	if (!config->needs_span) {
		r = config->resolve(config->user, NULL, &job.from, &begin, &end, fetch->err);
	}
	/* Without an end, what is there now is read, however fast more comes. */
	if (r == 0 && (config->needs_span || end == UINT64_MAX)) {
		r = read_session(fetch, &job, NULL);
		range_session_clear(&job);
		span = job.span;
		if (r == 0 && config->needs_span && span.first > span.last) {
			r = err_raise(fetch->err, -ENODATA,
				      "%s: the relay has no packet of it that has a time",
				      session->name);
		}
	}
	if (r == 0 && config->needs_span) {
		r = config->resolve(config->user, &span, &job.from, &begin, &end, fetch->err);
	}
	if (r == 0) {
		job.end = end;
		job.newest = end == UINT64_MAX && span.last > 0 ? span.last : UINT64_MAX;
		r = read_session(fetch, &job, dir);
	}
	r = r < 0 ? r : check_range(fetch, &job, begin > job.from ? begin : job.from, end);
	if (r == 0) {
		say_fetched(fetch, &job);
		add_paths(&job, session, &span, paths);
	}
	range_session_clear(&job);
	free(dir);
	return r;
}

int range_fetch(const struct range_config *config, const struct url *url,
		const struct scratch *store, struct recorded_paths *paths, struct err *err)
{
	static size_t number; /* of directories in the store */
	struct fetch fetch = { .config = config,
			       .url = url,
			       .store = store,
			       .address = { .host = url->host,
					    .port = url->port ? url->port : URL_PORT_LIVE,
					    .family = url->family },
			       .err = err };
	int r = find_sessions(&fetch), one;
	struct err more;

	/* One that fails does not keep others from being fetched. */
	for (size_t i = 0; i < fetch.sessions.count; i++) {
		fetch.err = r == 0 ? err : &more;
		if (r != -EINTR) {
			one = fetch_session(&fetch, &fetch.sessions.at[i], number++, paths);
			if (one < 0 && r < 0) {
				config->say("%s", more.text);
			}
			r = one == -EINTR || r == 0 ? one : r;
		}
		free(fetch.sessions.at[i].name);
		free(fetch.sessions.at[i].host);
		free(fetch.sessions.at[i].session);
	}
	vec_fini(&fetch.sessions);
	return r;
}
