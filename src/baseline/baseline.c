/*
 * baseline: see baseline.h.
 *
 * Hours belong to the thread that evaluates triggers.  One that is being read belongs to the thread
 * that reads, from `queue` to `is_read`; the mutex guards these two, and nothing else is shared.
 */
#include "baseline/baseline.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/process/thread.h"
#include "base/queue.h"
#include "output/sink.h"
#include "store/reader.h"
#include "trigger/actions.h"

struct kept_hour {
	struct kept_hour *next; /* in the queue */
	struct baseline_hour hour;
	bool is_reading; /* nothing but `is_read` of it may be looked at */
	bool is_read;    /* behind the mutex */
	int result;
	uint64_t asked;    /* the number of the last question about it */
	uint64_t retry_ns; /* monotonic; 0: it need not be read again */
};

/* What was said of a comparison. */
struct said {
	bool days, row, left_out;
};

struct baseline {
	struct baseline_source source;
	struct baseline_setup setup;
	struct figure_list figures;
	VEC(struct said) said; /* by comparison */
	VEC(struct kept_hour *) hours;
	uint64_t asked;
	const struct kept_hour *current; /* that find() is about */
	bool is_quiet, is_live, is_failing, has_failed;
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
	atomic_bool is_leaving;
	bool has_thread;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t has_work;
	QUEUE(struct kept_hour) queue; /* behind the mutex */
};

/* ---- wrong usage ---- */

int baseline_check(const struct options *options, const struct actions *actions, struct err *err)
{
	const char *needs = NULL;

	for (size_t i = 0; i < actions_count(actions) && !needs; i++) {
		const struct trigger *trigger = actions_trigger(actions, i);

		needs = trigger_uses_baseline(trigger) ? trigger_text(trigger) : NULL;
	}
	if (needs && !options->baseline) {
		return err_raise(err, -EINVAL,
				 "trigger \"%.100s\": baseline needs --baseline STORE", needs);
	}
	if (!needs && options->baseline) {
		return err_raise(err, -EINVAL,
				 "--baseline has no effect: no trigger has a limit such as "
				 "baseline +20%%");
	}
	return 0;
}

/* ---- reading ---- */

static void *run(void *arg)
{
	struct baseline *b = arg;

	(void)pthread_mutex_lock(&b->mutex);
	while (!b->is_leaving) {
		struct kept_hour *kept = queue_pop(&b->queue);

		if (!kept) {
			(void)pthread_cond_wait(&b->has_work, &b->mutex);
			continue;
		}
		(void)pthread_mutex_unlock(&b->mutex);
		kept->result = baseline_hour_read(&b->setup, &kept->hour);
		(void)pthread_mutex_lock(&b->mutex);
		kept->is_read = true;
	}
	(void)pthread_mutex_unlock(&b->mutex);
	return NULL;
}

static void say_failure(struct baseline *b, const struct kept_hour *kept)
{
	b->has_failed |= kept->result != -EINTR;
	if (kept->result == -EINTR || b->is_failing) {
		return;
	}
	b->is_failing = true;
	b->say("--baseline: %s: triggers have no baseline%s", kept->hour.err.text,
	       b->is_live ? ", it is tried again" : "");
}

/* What was said of a figure.  Several comparisons may have it: of `until`, of another trigger. */
static struct said *said_of(struct baseline *b, size_t number)
{
	const char *text = b->figures.at.at[number]->text;
	size_t first = 0;

	while (strcmp(b->figures.at.at[first]->text, text) != 0) {
		first++;
	}
	return &b->said.at[first];
}

/* What of a comparison nothing will come in this hour, the first time. */
static void say_lacks(struct baseline *b, const struct kept_hour *kept)
{
	for (size_t i = 0; i < b->figures.at.count && !b->is_quiet; i++) {
		const struct figure *figure = b->figures.at.at[i];
		unsigned int days = medians_days(kept->hour.medians, figure);
		uint64_t left_out = medians_left_out(kept->hour.medians, figure);
		struct said *said = said_of(b, i);

		if (days < BASELINE_DAYS_MIN && !said->days) {
			said->days = true;
			b->say("--baseline: %s has no limit at %02d:00 (local time): "
			       "%u earlier days have that hour of host %s, session %s, "
			       "and %u of them the figure, of at least %d",
			       figure->text, kept->hour.at.hour, kept->hour.days,
			       kept->hour.host ? kept->hour.host : "-",
			       kept->hour.session ? kept->hour.session : "-", days,
			       BASELINE_DAYS_MIN);
		}
		if (left_out > 0 && !said->left_out) {
			said->left_out = true;
			b->say("--baseline: %s: only %d rows have a limit, and %llu none",
			       figure->text, BASELINE_ROWS_MAX, (unsigned long long)left_out);
		}
	}
}

/* It was read, or that failed. */
static void take(struct baseline *b, struct kept_hour *kept)
{
	kept->is_reading = false;
	kept->retry_ns = 0;
	if (kept->result < 0) {
		assert(!kept->hour.medians);
		say_failure(b, kept);
		kept->retry_ns = now_monotonic_ns() + BASELINE_RETRY_NS;
		return;
	}
	if (b->is_failing) {
		b->is_failing = false;
		b->say("--baseline: the store can be read again");
	}
	say_lacks(b, kept);
}

static void collect(struct baseline *b)
{
	for (size_t i = 0; b->has_thread && i < b->hours.count; i++) {
		struct kept_hour *kept = b->hours.at[i];
		bool is_read;

		if (!kept->is_reading) {
			continue;
		}
		(void)pthread_mutex_lock(&b->mutex);
		is_read = kept->is_read;
		(void)pthread_mutex_unlock(&b->mutex);
		if (is_read) {
			take(b, kept);
		}
	}
}

/* A recorded run waits; once the store has failed it does so no more. */
static void start(struct baseline *b, struct kept_hour *kept)
{
	assert(!kept->is_reading && !kept->hour.medians);
	kept->hour.days = 0;
	kept->is_read = false;
	if (!b->has_thread) {
		if (!b->has_failed) {
			kept->result = baseline_hour_read(&b->setup, &kept->hour);
			take(b, kept);
		}
		return;
	}
	kept->is_reading = true;
	(void)pthread_mutex_lock(&b->mutex);
	queue_push(&b->queue, kept);
	(void)pthread_cond_signal(&b->has_work);
	(void)pthread_mutex_unlock(&b->mutex);
}

/* ---- hours ---- */

static bool is_of(const struct kept_hour *kept, const struct trace_identity *trace)
{
	const char *session = kept->hour.session;

	return baseline_hour_is_at(&kept->hour, trace) &&
	       (session && trace->session ? strcmp(session, trace->session) == 0
					  : session == trace->session);
}

static void free_kept(struct kept_hour *kept)
{
	medians_free(kept->hour.medians);
	free(kept->hour.host);
	free(kept->hour.session);
	free(kept->hour.domain);
	free(kept);
}

/* Room for one more beside @needed, which may be NULL: of a trace three are kept (an earlier one
 * for windows that are late, this one, the next), of all BASELINE_HOURS_MAX.  False: all are being
 * read. */
static bool make_room(struct baseline *b, const struct trace_identity *trace,
		      const struct kept_hour *needed)
{
	size_t own = 0, oldest = SIZE_MAX, oldest_own = SIZE_MAX;

	for (size_t i = 0; i < b->hours.count; i++) {
		const struct kept_hour *kept = b->hours.at[i];

		own += is_of(kept, trace);
		if (kept->is_reading || kept == needed) {
			continue;
		}
		if (oldest == SIZE_MAX || kept->asked < b->hours.at[oldest]->asked) {
			oldest = i;
		}
		if (is_of(kept, trace) &&
		    (oldest_own == SIZE_MAX || kept->asked < b->hours.at[oldest_own]->asked)) {
			oldest_own = i;
		}
	}
	oldest = own >= 3 && oldest_own != SIZE_MAX ? oldest_own : oldest;
	if (own < 3 && b->hours.count < BASELINE_HOURS_MAX) {
		return true;
	}
	if (oldest == SIZE_MAX) {
		return false;
	}
	free_kept(b->hours.at[oldest]);
	b->hours.at[oldest] = b->hours.at[--b->hours.count];
	return true;
}

/* The hour, begun to be read if it is new; NULL: there is no room beside @needed. */
static struct kept_hour *hour_at(struct baseline *b, const struct trace_identity *trace,
				 uint64_t ns, const struct kept_hour *needed)
{
	struct kept_hour *kept;

	for (size_t i = 0; i < b->hours.count; i++) {
		kept = b->hours.at[i];
		if (ns >= kept->hour.at.begin && ns < kept->hour.at.end && is_of(kept, trace)) {
			kept->asked = ++b->asked;
			return kept;
		}
	}
	if (!make_room(b, trace, needed)) {
		return NULL;
	}
	assert(b->hours.count < BASELINE_HOURS_MAX);
	kept = mem_alloc(sizeof(*kept));
	kept->hour.host = mem_strdup_if(trace->host);
	kept->hour.session = mem_strdup_if(trace->session);
	kept->hour.domain = mem_strdup_if(trace->domain);
	kept->hour.at = day_hour_of(ns);
	kept->asked = ++b->asked;
	*vec_push(&b->hours) = kept;
	start(b, kept);
	return kept;
}

static const void *ask_hour(void *user, const struct trace_identity *trace, uint64_t ns)
{
	struct baseline *b = user;
	struct kept_hour *kept;

	collect(b);
	kept = hour_at(b, trace, ns, NULL);
	if (!kept) {
		return NULL;
	}
	if (b->is_live && kept->hour.at.end - ns < BASELINE_AHEAD_NS) {
		(void)hour_at(b, trace, kept->hour.at.end, kept);
		kept->asked = ++b->asked;
	}
	if (!kept->is_reading && kept->retry_ns != 0 && now_monotonic_ns() >= kept->retry_ns) {
		start(b, kept);
	}
	b->current = kept->is_reading ? NULL : kept;
	return b->current ? kept->hour.medians : NULL;
}

static void say_row(struct baseline *b, const struct figure *figure, const char *name,
		    unsigned int days)
{
	bool is_unnamed = figure->table->key && !name[0]; /* not known, which is not new */

	for (size_t i = 0; i < b->figures.at.count && !b->is_quiet && !is_unnamed; i++) {
		if (b->figures.at.at[i] == figure && !said_of(b, i)->row) {
			said_of(b, i)->row = true;
			b->say("--baseline: %s: %s \"%.60s\" has no limit at %02d:00: "
			       "%u earlier days have it, of at least %d",
			       figure->text, figure->table->key ? "the row" : "the trace", name,
			       b->current->hour.at.hour, days, BASELINE_DAYS_MIN);
		}
	}
}

static unsigned int ask_row(void *user, const void *hour, const struct figure *figure,
			    const char *name, double *ret)
{
	struct baseline *b = user;
	unsigned int days = medians_find(hour, figure, name, ret);

	assert(b->current && hour == b->current->hour.medians);
	if (isnan(*ret) && medians_days(hour, figure) >= BASELINE_DAYS_MIN) {
		say_row(b, figure, name, days);
	}
	return days;
}

/* ---- the run ---- */

/* A live run does not wait for a server. */
static int look(const struct baseline *b, struct err *err)
{
	struct store_reader *reader = NULL;
	int r = store_reader_check(b->setup.url, err);

	if (r == 0 && !b->is_live) {
		r = store_reader_open(b->setup.url, b->setup.stop, &reader, err);
		store_reader_close(reader);
	}
	return r < 0 ? err_note(err, r, "--baseline") : 0;
}

static void use(struct baseline *b, struct actions *actions)
{
	for (size_t i = 0; i < actions_count(actions); i++) {
		trigger_set_baseline(actions_trigger(actions, i), &b->source);
		trigger_baselines(actions_trigger(actions, i), &b->figures);
	}
	for (size_t i = 0; i < b->figures.at.count; i++) {
		*vec_push(&b->said) = (struct said){ 0 };
	}
}

int baseline_open(const struct options *options, struct actions *actions, const atomic_bool *stop,
		  void (*say)(const char *fmt, ...), struct baseline **ret, struct err *err)
{
	struct baseline *b;
	int r;

	*ret = NULL;
	if (!options->baseline || !actions) {
		return 0;
	}
	b = mem_alloc(sizeof(*b));
	b->source = (struct baseline_source){ .user = b, .hour = ask_hour, .find = ask_row };
	b->is_quiet = options->verbosity < 0;
	b->is_live = !stop;
	b->say = say;
	b->setup = (struct baseline_setup){ .url = options->baseline,
					    .selection = &options->selection,
					    .figures = &b->figures,
					    .stop = stop ? stop : &b->is_leaving };
	(void)pthread_mutex_init(&b->mutex, NULL);
	(void)pthread_cond_init(&b->has_work, NULL);
	r = look(b, err);
	if (r == 0) {
		use(b, actions);
		b->has_thread = b->is_live && thread_start(&b->thread, run, b) == 0;
		if (b->is_live && !b->has_thread) {
			r = err_raise(err, -EAGAIN, "--baseline: no thread can be started");
		}
	}
	if (r < 0) {
		(void)baseline_close(b);
		return r;
	}
	*ret = b;
	return 0;
}

int baseline_close(struct baseline *b)
{
	int r;

	if (!b) {
		return 0;
	}
	if (b->has_thread) {
		(void)pthread_mutex_lock(&b->mutex);
		b->is_leaving = true;
		(void)pthread_cond_signal(&b->has_work);
		(void)pthread_mutex_unlock(&b->mutex);
		thread_join(b->thread, NULL);
	}
	r = b->has_failed && !b->is_live ? -EIO : 0;
	vec_free_each(&b->hours, free_kept);
	vec_fini(&b->said);
	vec_fini(&b->figures.at);
	(void)pthread_mutex_destroy(&b->mutex);
	(void)pthread_cond_destroy(&b->has_work);
	free(b);
	return r;
}
