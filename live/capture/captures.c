/*
 * capture: see capture.h.
 */
#include "live/capture/captures.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/now.h"
#include "engine/engine.h"
#include "engine/trace.h"
#include "live/capture/capture-write.h"
#include "live/session/session.h"
#include "live/trigger/trigger.h"

/* One whose end has not come. */
struct pending {
	struct session *session;
	struct capture_order *order;
	uint64_t deadline; /* monotonic: a silent trace is waited for no longer */
};

struct captures {
	struct captures_config config;
	struct history *history;
	VEC(struct pending) pending;
	VEC(uint64_t) times; /* monotonic: when captures of triggers began in the last hour */
	bool said_limit;
	uint64_t begun; /* captures */
	pthread_t thread;

	pthread_mutex_t mutex; /* guards what follows */
	pthread_cond_t changed;
	struct capture_order *todo, **todo_last, *done, **done_last;
	size_t in_thread; /* orders not yet done */
	bool is_stopping;
};

/* ---- the thread ---- */

static void push(struct capture_order ***last, struct capture_order *order)
{
	order->next = NULL;
	**last = order;
	*last = &order->next;
}

static struct capture_order *pop(struct capture_order **first, struct capture_order ***last)
{
	struct capture_order *order = *first;

	if (order) {
		*first = order->next;
		if (!*first) {
			*last = first;
		}
	}
	return order;
}

static void *write_orders(void *arg)
{
	struct captures *captures = arg;
	struct capture_order *order;

	capture_sweep(captures->config.dir);
	(void)pthread_mutex_lock(&captures->mutex);
	for (;;) {
		order = pop(&captures->todo, &captures->todo_last);
		if (order) {
			(void)pthread_mutex_unlock(&captures->mutex);
			if (capture_write(order, captures->config.dir, &order->err) == 0) {
				capture_report(order);
				capture_prune(captures->config.dir, captures->config.keep_count,
					      captures->config.keep_bytes);
			}
			(void)pthread_mutex_lock(&captures->mutex);
			push(&captures->done_last, order);
			captures->in_thread--;
			(void)pthread_cond_signal(&captures->changed);
		} else if (captures->is_stopping) {
			break;
		} else {
			(void)pthread_cond_wait(&captures->changed, &captures->mutex);
		}
	}
	(void)pthread_mutex_unlock(&captures->mutex);
	return NULL;
}

struct captures *captures_new(const struct captures_config *config)
{
	struct captures *captures = mem_alloc(sizeof(*captures));

	captures->config = *config;
	captures->history = history_new(config->history_ns, config->history_bytes);
	captures->todo_last = &captures->todo;
	captures->done_last = &captures->done;
	(void)pthread_mutex_init(&captures->mutex, NULL);
	(void)pthread_cond_init(&captures->changed, NULL);
	if (pthread_create(&captures->thread, NULL, write_orders, captures) != 0) {
		(void)fprintf(stderr, "sillage: cannot start the thread that writes captures\n");
		abort();
	}
	return captures;
}

void captures_free(struct captures *captures)
{
	struct capture_order *order;

	if (!captures) {
		return;
	}
	(void)pthread_mutex_lock(&captures->mutex);
	captures->is_stopping = true;
	(void)pthread_cond_broadcast(&captures->changed);
	(void)pthread_mutex_unlock(&captures->mutex);
	(void)pthread_join(captures->thread, NULL);
	while ((order = pop(&captures->done, &captures->done_last))) {
		capture_order_free(order);
	}
	for (size_t i = 0; i < captures->pending.count; i++) {
		capture_order_free(captures->pending.at[i].order);
	}
	vec_fini(&captures->pending);
	vec_fini(&captures->times);
	(void)pthread_mutex_destroy(&captures->mutex);
	(void)pthread_cond_destroy(&captures->changed);
	history_free(captures->history);
	free(captures);
}

struct history *captures_history(struct captures *captures)
{
	return captures->history;
}

struct capture_order *captures_done(struct captures *captures, bool wait)
{
	struct capture_order *order;

	(void)pthread_mutex_lock(&captures->mutex);
	while (wait && !captures->done && captures->in_thread > 0) {
		(void)pthread_cond_wait(&captures->changed, &captures->mutex);
	}
	order = pop(&captures->done, &captures->done_last);
	(void)pthread_mutex_unlock(&captures->mutex);
	return order;
}

static void hand_over(struct captures *captures, struct capture_order *order)
{
	(void)pthread_mutex_lock(&captures->mutex);
	push(&captures->todo_last, order);
	captures->in_thread++;
	(void)pthread_cond_signal(&captures->changed);
	(void)pthread_mutex_unlock(&captures->mutex);
}

/* ---- those that wait ---- */

/* What the histories of a session are not to lose by age. */
static void hold(const struct captures *captures, const struct session *session)
{
	uint64_t begin = UINT64_MAX;
	size_t count;
	struct live_trace *const *traces = session_traces(session, &count);

	for (size_t i = 0; i < captures->pending.count; i++) {
		const struct pending *pending = &captures->pending.at[i];

		if (pending->session == session && pending->order->begin < begin) {
			begin = pending->order->begin;
		}
	}
	for (size_t i = 0; i < count; i++) {
		if (traces[i]->history) {
			history_hold(traces[i]->history, begin);
		}
	}
}

static void rollup(struct captures *captures, const struct pending *pending)
{
	struct capture_order *order = pending->order;
	size_t count;
	struct live_trace *const *traces = session_traces(pending->session, &count);

	for (size_t i = 0; i < count; i++) {
		if (traces[i]->history) {
			struct capture_trace *trace = vec_push(&order->traces);

			order->has_kernel |= traces[i]->identity.domain &&
					     strcmp(traces[i]->identity.domain, "kernel") == 0;
			trace->path = traces[i]->identity.path
					      ? mem_strdup(traces[i]->identity.path)
					      : NULL;
			history_take(traces[i]->history, order->begin, order->end, &trace->stretch);
		}
	}
	hand_over(captures, order);
}

static bool is_ready(const struct pending *pending)
{
	size_t count;
	struct live_trace *const *traces = session_traces(pending->session, &count);

	if (now_monotonic_ns() >= pending->deadline) {
		return true;
	}
	for (size_t i = 0; i < count; i++) {
		if (traces[i]->trace && !traces[i]->is_away && !traces[i]->has_failed &&
		    trace_watermark(traces[i]->trace) <= pending->order->end) {
			return false;
		}
	}
	return true;
}

/* Gathers those that are ready, or all of @session. */
static void rollup_ready(struct captures *captures, const struct session *ending)
{
	size_t retained = 0;

	for (size_t i = 0; i < captures->pending.count; i++) {
		struct pending pending = captures->pending.at[i];

		if (pending.session == ending || is_ready(&pending)) {
			rollup(captures, &pending);
			captures->pending.at[i].session = NULL;
			hold(captures, pending.session);
		} else {
			captures->pending.at[retained++] = pending;
		}
	}
	captures->pending.count = retained;
}

void captures_step(struct captures *captures)
{
	rollup_ready(captures, NULL);
}

void captures_session_ends(struct captures *captures, const struct session *session)
{
	rollup_ready(captures, session);
}

/* ---- beginning ---- */

static struct pending *find_pending(struct captures *captures, const struct session *session,
				    uint64_t at)
{
	for (size_t i = 0; i < captures->pending.count; i++) {
		struct pending *pending = &captures->pending.at[i];

		if (pending->session == session && at >= pending->order->begin &&
		    at <= pending->order->end) {
			return pending;
		}
	}
	return NULL;
}

#define NS_PER_HOUR UINT64_C(3600000000000)

/* Whether another one may be made in this hour; says once when not. */
static bool may_begin(struct captures *captures, const struct trigger_event *event)
{
	uint64_t now = now_monotonic_ns();
	size_t retained = 0;

	for (size_t i = 0; i < captures->times.count; i++) {
		if (now - captures->times.at[i] < NS_PER_HOUR) {
			captures->times.at[retained++] = captures->times.at[i];
		}
	}
	captures->times.count = retained;
	if (retained >= captures->config.per_hour) {
		if (!captures->said_limit) {
			captures->config.say(
				"trigger %s: there were %zu captures in the last hour; "
				"no more are made before that has passed",
				event->name, retained);
		}
		captures->said_limit = true;
		return false;
	}
	captures->said_limit = false;
	*vec_push(&captures->times) = now;
	return true;
}

/* Another reason for the capture. */
static void add_trigger(struct capture_order *order, const struct trace_identity *trace,
			const struct trigger_event *event)
{
	char *line = NULL, *longer;
	size_t len = 0;
	FILE *out = open_memstream(&line, &len);

	json_trigger(out, trace, event);
	(void)fclose(out);
	line[strcspn(line, "\n")] = '\0';
	longer = mem_printf("%s%s%s", order->triggers, order->triggers[0] ? "," : "", line);
	free(order->triggers);
	order->triggers = longer;
	longer = mem_printf("%s%s%s", order->names, order->names[0] ? ", " : "", event->name);
	free(order->names);
	order->names = longer;
	free(line);
}

static struct pending *new_pending(struct captures *captures, struct session *session, uint64_t at)
{
	const struct captures_config *config = &captures->config;
	struct pending *pending = vec_push(&captures->pending);
	struct capture_order *order = mem_alloc(sizeof(*order));

	order->number = ++captures->begun;
	order->host = mem_strdup(session_listed(session)->host);
	order->session = mem_strdup(session_listed(session)->name);
	order->triggers = mem_strdup("");
	order->names = mem_strdup("");
	order->at = at;
	order->begin = at > config->before_ns ? at - config->before_ns : 0;
	order->end = at > UINT64_MAX - config->after_ns ? UINT64_MAX : at + config->after_ns;
	*pending = (struct pending){ .session = session,
				     .order = order,
				     .deadline = now_monotonic_ns() + config->after_ns +
						 CAPTURE_WAIT_NS };
	return pending;
}

uint64_t captures_begin(struct captures *captures, struct session *session, uint64_t at,
			const struct captures_reason *reason)
{
	struct pending *pending = find_pending(captures, session, at);

	if (!pending) {
		if (reason && !may_begin(captures, reason->event)) {
			return 0;
		}
		pending = new_pending(captures, session, at);
		hold(captures, session);
	}
	if (reason) {
		add_trigger(pending->order, reason->trace, reason->event);
		pending->order->wants_report |= reason->wants_report;
	}
	return pending->order->number;
}
