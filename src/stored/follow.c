/*
 * follow: see follow.h.
 *
 *     every second      news: which windows landed ──► due: which long windows are due
 *     if some are due   reader: those windows ──► history_show() ──► output
 *
 * Each time the store is opened again to read windows, so that nothing of it is held in between:
 * a file whose old state somebody reads cannot take its log back.  Rows are read when they are
 * printed, so a window that was replaced before is printed as it is then.
 */
#include "stored/follow.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "base/limits.h"
#include "base/now.h"
#include "run/say.h"
#include "stored/follow-state.h"
#include "stored/stored.h"

#define TAIL_WINDOWS 10 /* that are printed at first, without --since */

static atomic_bool must_leave; /* what is left after a signal takes too long */
static volatile sig_atomic_t has_hangup;

static void on_alarm(int number)
{
	must_leave = true;
}

static void on_hangup(int number)
{
	has_hangup = 1;
}

/* ---- traces ---- */

/* Windows that have ended in the future are those of a clock that is ahead: joint windows have them
 * where they would be without that. */
static bool note_ahead(const struct follow *f, struct followed *trace, uint64_t newest,
		       uint64_t of_all)
{
	if (!follow_is_joint(f) || newest <= of_all + CLOCK_OFF_NS) {
		return false;
	}
	trace->ahead_ns = stored_ahead_ns(newest, of_all, f->options.interval_ns);
	return true;
}

/* A trace whose newest window is not near that of all counts back from its own. */
static int count_back(struct follow *f, uint32_t number, const struct store_trace *trace,
		      struct followed *to, struct err *err)
{
	const struct store_news_range all = { .trace = number, .end = UINT64_MAX };
	bool is_back = f->begin <= f->newest && !f->options.end &&
		       (!f->options.begin || f->options.begin[0] == '-');
	uint64_t newest, length = f->newest - f->begin;
	int r;

	if (!to->is_wanted || !(is_back || follow_is_joint(f))) {
		return 0;
	}
	r = store_news_next(f->news, &all, UINT64_MAX, true, &newest, err);
	if (r <= 0 || !(note_ahead(f, to, newest, f->newest) ||
			(is_back && (newest < f->begin || newest > f->newest + CLOCK_OFF_NS)))) {
		return r < 0 ? r : 0;
	}
	if (f->options.verbosity >= 0) {
		stored_say_off(&trace->identity, newest, f->newest);
	}
	if (is_back) {
		to->due.since = newest > length ? newest - length : 0;
		to->due.since -= to->due.since % f->options.interval_ns;
		to->due.position = to->due.since;
	}
	return 0;
}

static int find_traces(struct follow *f, struct err *err)
{
	size_t count;
	const struct store_trace *traces = store_news_traces(f->news, &count);
	int r = 0;

	assert(f->of_news.count <= count); /* news of an open store only grow */
	while (r == 0 && f->of_news.count < count) {
		uint32_t number = (uint32_t)f->of_news.count;
		bool is_first = !f->has_seen;
		uint32_t at = follow_trace(f, &traces[number]);

		*vec_push(&f->of_news) = at;
		if (is_first) { /* else it is new, or was there before the store was away */
			r = count_back(f, number, &traces[number], &f->traces.at[at], err);
		}
	}
	return r;
}

/* ---- the range ---- */

/* Without --since the newest windows are printed first. */
static uint64_t tail_of(const struct follow *f, uint64_t newest)
{
	uint64_t interval = f->options.interval_ns;
	uint64_t end = due_round_up(newest, interval);

	return end > TAIL_WINDOWS * interval ? end - TAIL_WINDOWS * interval : 0;
}

/* Times may be relative to the newest window: if there is none yet, it is looked for again. */
static int find_range(struct follow *f, struct err *err)
{
	struct options one = f->options;
	struct units_span span = { 0, 0 };
	uint64_t ignored;
	int r = store_news_span(f->news, &span.first, &span.last, err);

	assert(!f->has_range);
	if (r < 0 || span.last == 0) {
		return r;
	}
	stored_cap_span(&span);
	one.end = NULL;
	r = run_range_in(&one, &span, &f->begin, &ignored, err);
	f->begin = f->options.begin ? f->begin : tail_of(f, span.last);
	/* A time of day is the next one, not that of the day when the store began. */
	one = f->options;
	one.begin = NULL;
	span.first = f->options.begin ? f->begin : span.last;
	if (one.end && one.end[0] != '-') {
		span.last = span.first + 24 * 3600 * NS_PER_S;
	}
	r = r < 0 ? r : run_range_in(&one, &span, &ignored, &f->end, err);
	if (r == 0 && f->begin >= f->end) {
		/* Without --since: all of the range is past. */
		r = f->options.begin ? err_raise(err, -EINVAL, "--since is not before --until") : 0;
		f->begin = f->options.begin ? f->begin : tail_of(f, f->end);
	}
	f->has_range = r == 0;
	f->newest = span.last;
	return r;
}

/* ---- what lands ---- */

static void on_window(void *user, uint32_t trace, const struct store_news_window *window)
{
	struct follow *f = user;
	struct followed *to;

	assert(trace < f->of_news.count);
	to = &f->traces.at[f->of_news.at[trace]];
	if (window->end <= f->clock.wall + CLOCK_OFF_NS) {
		f->newest = window->end > f->newest ? window->end : f->newest;
	} else if (to->ahead_ns == 0 && note_ahead(f, to, window->end, f->clock.wall) &&
		   f->options.verbosity >= 0) {
		size_t count;

		stored_say_off(&store_news_traces(f->news, &count)[trace].identity, window->end,
			       f->clock.wall);
	}
	if (window->begin >= f->end) {
		uint64_t end = due_round_up(f->end, f->options.interval_ns);

		to->is_past = true;
		to->due.known = end > to->due.known ? end : to->due.known;
	} else if (!due_note(&to->due, window, &f->clock)) {
		f->late++;
	}
}

/* Silent traces are looked at from time to time, if that costs a server something. */
static int look_at_windows(struct follow *f, bool is_far, struct err *err)
{
	VEC(struct store_news_range) ranges = { 0 };
	uint64_t reach = store_news_reach_ns(f->news);
	uint64_t least = f->has_seen && f->newest > reach ? f->newest - reach : 0;
	int r;

	for (uint32_t i = 0; i < f->of_news.count; i++) {
		const struct followed *trace = &f->traces.at[f->of_news.at[i]];
		uint64_t begin = due_unseen(&trace->due);
		bool is_near = !trace->due.has_last ||
			       f->clock.now - trace->due.changed_at < FOLLOW_NEAR_NS;

		if (trace->is_wanted && !trace->is_past && (is_far || is_near)) {
			*vec_push(&ranges) =
				(struct store_news_range){ i, 0, begin > least ? begin : least,
							   UINT64_MAX };
		}
	}
	r = store_news_windows(f->news, ranges.at, ranges.count, on_window, f, err);
	vec_fini(&ranges);
	return r;
}

/* What was there at the start, and is not near the newest, was not written just now. */
static void note_silent(struct follow *f)
{
	for (size_t i = 0; !f->has_seen && i < f->traces.count; i++) {
		struct due_trace *due = &f->traces.at[i].due;

		if (due->last_end + due->level + f->options.interval_ns + DUE_LAG_NS < f->newest) {
			due->changed_at = 0;
		}
	}
	f->has_seen = true;
}

/* What concerns no new window, and takes longer. */
static int look_far(struct follow *f, struct err *err)
{
	uint64_t begin = now_monotonic_ns(), rest;
	int r = follow_late(f, err);

	rest = (now_monotonic_ns() - begin) * FOLLOW_REST;
	f->far_at = f->clock.now + (rest > FOLLOW_FAR_NS ? rest : FOLLOW_FAR_NS);
	f->has_news = false;
	return r;
}

static int look(struct follow *f, bool is_end, struct err *err)
{
	bool is_far =
		is_end || f->clock.now >= f->far_at || store_news_reach_ns(f->news) == UINT64_MAX;
	int found = store_news_look(f->news, err), r = found;

	if (r >= 0 && !f->has_range) {
		r = find_range(f, err);
	}
	if (r < 0 || !f->has_range) {
		return r;
	}
	r = find_traces(f, err);
	if (r == 0 && found > 0) {
		r = look_at_windows(f, is_far, err);
	}
	if (r == 0) {
		note_silent(f);
	}
	f->has_news |= found > 0;
	return r == 0 && f->has_news && f->clock.now >= f->far_at ? look_far(f, err) : r;
}

/* ---- nothing that matches ---- */

#define HOSTS_SAID_MAX 8

static bool is_first_of_host(const struct store_trace *traces, size_t at)
{
	const char *host = traces[at].identity.host;

	for (size_t i = 0; i < at; i++) {
		const char *other = traces[i].identity.host;

		if (host && other ? strcmp(host, other) == 0 : host == other) {
			return false;
		}
	}
	return true;
}

/* "; it has hosts web1, web2 and 3 more"; from malloc(). */
static char *hosts_of(const struct follow *f)
{
	char *text = NULL;
	size_t size, count, hosts = 0;
	const struct store_trace *traces = store_news_traces(f->news, &count);
	FILE *out = open_memstream(&text, &size);

	for (size_t i = 0; i < count; i++) {
		if (!traces[i].identity.host || !is_first_of_host(traces, i)) {
			continue;
		}
		if (hosts < HOSTS_SAID_MAX) {
			char *name = output_trace_text(
				&(struct trace_identity){ .host = traces[i].identity.host }, false);

			(void)fprintf(out, "%s%s", hosts == 0 ? "; it has " : ", ", name);
			free(name);
		}
		hosts++;
	}
	if (hosts > HOSTS_SAID_MAX) {
		(void)fprintf(out, " and %zu more hosts", hosts - HOSTS_SAID_MAX);
	}
	(void)fclose(out);
	return text;
}

/* Said once, since a name may be wrong: else it would wait for ever without a word. */
static void note_unmatched(struct follow *f)
{
	bool is_any = f->has_said_unmatched || f->options.verbosity < 0;
	char *hosts;

	for (size_t i = 0; i < f->traces.count && !is_any; i++) {
		is_any = f->traces.at[i].is_wanted;
	}
	if (is_any || !f->news) {
		return;
	}
	hosts = hosts_of(f);
	say("%s: no window of %s yet%s", f->name,
	    f->options.host || f->options.session ? "such a host and session" : "any trace", hosts);
	free(hosts);
	f->has_said_unmatched = true;
}

/* ---- the loop ---- */

static bool is_fatal(int r)
{
	return r == -EINVAL || r == -EBADMSG || r == -EACCES || r == -ENOTSUP || r == -ERANGE ||
	       r == -EDOM;
}

static void close_news(struct follow *f)
{
	store_news_close(f->news);
	f->news = NULL;
	f->of_news.count = 0;
}

static int open_news(struct follow *f, struct err *err)
{
	int r = f->news ? 0 : store_news_open(f->options.args[0], f->stop, &f->news, err);

	if (r == 0 && !f->name) {
		f->name = mem_strdup(store_news_name(f->news));
	}
	return r;
}

/* It is said once; then it is tried again and again. */
static void note_away(struct follow *f, int r, const struct err *err)
{
	close_news(f);
	if (!f->is_away && !*f->stop) {
		say("%s; %s", err->text, r == -ENOENT ? "waiting for it" : "trying again");
		f->is_away = true;
	}
}

static void note_back(struct follow *f)
{
	if (f->is_away && f->options.verbosity >= 0) {
		say("%s: is there", f->name);
	}
	f->is_away = false;
}

/* Negative: it cannot go on. */
static int one_look(struct follow *f, bool is_end)
{
	struct err err = { "" };
	int r;

	f->clock = (struct due_clock){ now_monotonic_ns(), now_wall_ns() };
	r = open_news(f, &err);
	r = r < 0 ? r : look(f, is_end, &err);
	f->waits = FOLLOW_REST * (now_monotonic_ns() - f->clock.now);
	if (r == 0) {
		note_back(f);
		note_unmatched(f);
	}
	if (r == 0 && f->has_range && follow_choose(f, is_end)) {
		r = follow_show(f, &err);
	}
	if (f->output->failure || output_check(f->output, &f->err) < 0) {
		return -EPIPE;
	}
	if (r < 0 && is_fatal(r)) {
		f->err = err;
		return r;
	}
	if (r < 0) {
		note_away(f, r, &err);
		f->waits = 0; /* it was slow since it waited */
	}
	return 0;
}

/* Whether all windows before --until are shown, or will not come any more. */
static bool is_done(const struct follow *f)
{
	uint64_t now = now_wall_ns();

	if (!f->options.end || f->is_away || !f->has_range ||
	    (f->newest < f->end && now < f->end + DUE_LAG_NS)) {
		return false;
	}
	VEC_EACH(&f->traces, trace) {
		if (trace->is_wanted && (due_is_pending(&trace->due) ||
					 (!trace->is_past && trace->due.position < f->end &&
					  !due_is_idle(&trace->due, &f->clock)))) {
			return false;
		}
	}
	return true;
}

/* Waits for the time of the next look, a signal, or the end of the pipe's reader. */
static void wait(struct follow *f)
{
	struct pollfd out = { .fd = f->output->fd, .events = 0 };
	uint64_t ns = f->waits > FOLLOW_EVERY_NS ? f->waits : FOLLOW_EVERY_NS;
	struct timespec rest;
	sigset_t all, before;

	assert(!f->output->failure);
	ns = ns < FOLLOW_EVERY_MAX_NS ? ns : FOLLOW_EVERY_MAX_NS;
	rest = (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
				  .tv_nsec = (long)(ns % NS_PER_S) };
	/* One that comes between the question and the wait ends the wait, too. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, &before);
	if (!run_stop && !has_hangup && ppoll(&out, 1, &rest, &before) > 0 &&
	    (out.revents & POLLERR)) {
		f->output->failure = EPIPE;
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	if (has_hangup) {
		has_hangup = 0;
		if (output_reopen(f->output, &f->err) < 0) {
			say("%s", f->err.text);
		}
	}
}

static int run(struct follow *f)
{
	int r = 0;

	while (r == 0 && !run_stop) {
		r = one_look(f, false);
		if (r == 0 && is_done(f)) {
			return 0;
		}
		if (r == 0 && !run_stop) {
			wait(f);
			r = f->output->failure ? -EPIPE : 0;
		}
	}
	if (r == 0) { /* as live: windows that have begun are shown, too */
		const struct sigaction action = { .sa_handler = on_alarm };
		const struct itimerval patience = {
			.it_value = { .tv_sec = STOP_PATIENCE_NS / NS_PER_S,
				      .tv_usec = STOP_PATIENCE_NS % NS_PER_S / 1000 },
		};

		(void)sigaction(SIGALRM, &action, NULL);
		(void)setitimer(ITIMER_REAL, &patience, NULL);
		close_news(f);
		f->stop = &must_leave;
		r = one_look(f, true);
	}
	return r;
}

static void follow_fini(struct follow *f)
{
	close_news(f);
	history_view_free(f->view);
	for (size_t i = 0; i < f->traces.count; i++) {
		free(f->traces.at[i].id);
		free(f->traces.at[i].name);
	}
	vec_fini(&f->traces);
	vec_fini(&f->of_news);
	vec_fini(&f->gaps);
	free(f->name);
}

int follow_store(const struct options *given, struct output *output)
{
	struct follow f = { .options = *given, .output = output, .stop = &run_stop };
	uint64_t begin = now_monotonic_ns(), since, until;
	int r;

	f.options.begin_option = "--since";
	f.options.end_option = "--until";
	f.options.has_interval = true;
	f.end = UINT64_MAX;
	if (f.options.args[1]) {
		say("--follow: one store at a time");
		return EXIT_USAGE;
	}
	if (run_range_in(&f.options, NULL, &since, &until, &f.err) < 0) {
		say("%s", f.err.text);
		return EXIT_USAGE;
	}
	if (f.options.per_host && history_view_new(&f.options, output, &f.view, &f.err) < 0) {
		say("%s", f.err.text);
		return EXIT_USAGE;
	}
	run_stop_on_signals();
	if (output->path) {
		struct sigaction action = { .sa_handler = on_hangup };

		(void)sigaction(SIGHUP, &action, NULL);
	}
	output_start(output);
	r = run(&f);
	follow_say_late(&f, true);
	if (r < 0 && r != -EPIPE) {
		say("%s", f.err.text);
	}
	f.summary.exit = r == 0 ? EXIT_DONE : r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	if (f.view && f.summary.exit != EXIT_USAGE) {
		f.summary.exit = history_view_end(f.view, f.summary.exit);
	}
	f.summary.wall_ns = now_monotonic_ns() - begin;
	output_end(output, &f.summary);
	follow_fini(&f);
	return f.summary.exit;
}
