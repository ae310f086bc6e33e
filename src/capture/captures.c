/*
 * captures: see captures.h.
 */
#include "capture/captures.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/process/thread.h"
#include "base/queue.h"
#include "capture/capture-prune.h"
#include "capture/capture-write.h"

/* A capture that waits for packets up to its end. */
struct waiting_capture {
	const void *key; /* of its session; NULL: it was taken */
	struct capture_order *order;
	uint64_t deadline; /* monotonic ns: then it no longer waits for silent traces */
};

struct captures {
	struct captures_config config;
	struct history *history;
	VEC(struct waiting_capture) waiting;
	VEC(uint64_t) starts; /* monotonic ns: of captures for triggers in the last hour */
	bool said_limit;
	uint64_t last_number;
	pthread_t thread;

	pthread_mutex_t mutex; /* guards the members below */
	pthread_cond_t changed;
	QUEUE(struct capture_order) queued, done;
	size_t unwritten; /* queued, and the one being written */
	bool is_stopping;
	struct thread_last last;
};

/* ---- the thread ---- */

static void *write_orders(void *arg)
{
	struct captures *captures = arg;
	struct capture_order *order;

	capture_sweep(captures->config.dir);
	(void)pthread_mutex_lock(&captures->mutex);
	for (;;) {
		order = queue_pop(&captures->queued);
		if (order) {
			(void)pthread_mutex_unlock(&captures->mutex);
			if (capture_write(order, captures->config.dir, &order->err) == 0) {
				capture_write_extras(order);
				capture_prune(captures->config.dir, captures->config.keep_count,
					      captures->config.keep_bytes);
			}
			if (captures->config.on_written) {
				captures->config.on_written(captures->config.user, order);
			}
			(void)pthread_mutex_lock(&captures->mutex);
			assert(captures->unwritten > 0);
			queue_push(&captures->done, order);
			captures->unwritten--;
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
	captures->last = (struct thread_last){ .doing = "captures", .say = config->say };
	captures->history = history_new(config->history_ns, config->history_bytes, config->account);
	(void)pthread_mutex_init(&captures->mutex, NULL);
	(void)pthread_cond_init(&captures->changed, NULL);
	if (thread_start(&captures->thread, write_orders, captures) != 0) {
		mem_lacks("the thread that writes captures");
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
	thread_join(captures->thread, &captures->last);
	assert(captures->unwritten == 0);
	while ((order = queue_pop(&captures->done))) {
		capture_order_free(order);
	}
	for (size_t i = 0; i < captures->waiting.count; i++) {
		capture_order_free(captures->waiting.at[i].order);
	}
	vec_fini(&captures->waiting);
	vec_fini(&captures->starts);
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
	while (wait && !captures->done.first && captures->unwritten > 0) {
		thread_wait(&captures->changed, &captures->mutex, &captures->last);
	}
	order = queue_pop(&captures->done);
	(void)pthread_mutex_unlock(&captures->mutex);
	return order;
}

static void queue_order(struct captures *captures, struct capture_order *order)
{
	(void)pthread_mutex_lock(&captures->mutex);
	queue_push(&captures->queued, order);
	captures->unwritten++;
	(void)pthread_cond_signal(&captures->changed);
	(void)pthread_mutex_unlock(&captures->mutex);
}

/* ---- waiting ---- */

bool captures_awaited(const struct captures *captures, const void *key, uint64_t *ret_begin,
		      uint64_t *ret_end)
{
	*ret_begin = UINT64_MAX;
	*ret_end = 0;
	VEC_EACH(&captures->waiting, waiting) {
		const struct capture_order *order = waiting->order;

		if (waiting->key == key) {
			*ret_begin = order->begin < *ret_begin ? order->begin : *ret_begin;
			*ret_end = order->end > *ret_end ? order->end : *ret_end;
		}
	}
	return *ret_begin < UINT64_MAX;
}

/* Holds the packets that waiting captures of the session need, or releases them. */
static void hold(const struct captures *captures, const struct captures_session *session)
{
	uint64_t begin, end;

	(void)captures_awaited(captures, session->key, &begin, &end);
	for (size_t i = 0; i < session->traces.count; i++) {
		history_hold(session->traces.at[i].history, begin);
	}
}

/* Takes references to the packets of the range, and queues the capture. */
static void take_packets(struct captures *captures, struct capture_order *order,
			 const struct captures_session *session)
{
	assert(order->traces.count == 0);
	VEC_EACH(&session->traces, from) {
		struct capture_trace *trace = vec_push(&order->traces);

		assert(from->history);
		order->has_kernel |= from->is_kernel;
		*trace = (struct capture_trace){ .path = mem_strdup_if(from->path) };
		history_take(from->history, order->begin, order->end, &trace->stretch);
	}
	queue_order(captures, order);
}

static bool is_complete(const struct waiting_capture *waiting,
			const struct captures_session *session)
{
	if (session->recalls) {
		return false;
	}
	if (now_monotonic_ns() >= waiting->deadline) {
		return true;
	}
	for (size_t i = 0; i < session->traces.count; i++) {
		if (session->traces.at[i].known_until <= waiting->order->end) {
			return false;
		}
	}
	return true;
}

void captures_step(struct captures *captures, const struct captures_session *session,
		   bool is_ending)
{
	size_t left = 0;

	assert(session->key);
	for (size_t i = 0; i < captures->waiting.count; i++) {
		struct waiting_capture waiting = captures->waiting.at[i];

		if (waiting.key == session->key && (is_ending || is_complete(&waiting, session))) {
			take_packets(captures, waiting.order, session);
			captures->waiting.at[i].key = NULL;
			hold(captures, session);
		} else {
			captures->waiting.at[left++] = waiting;
		}
	}
	captures->waiting.count = left;
}

/* ---- starting ---- */

static struct waiting_capture *find_waiting(struct captures *captures, const void *key, uint64_t at)
{
	VEC_EACH(&captures->waiting, waiting) {
		if (waiting->key == key && at >= waiting->order->begin &&
		    at <= waiting->order->end) {
			return waiting;
		}
	}
	return NULL;
}

#define NS_PER_HOUR UINT64_C(3600000000000)

/* Whether the limit per hour allows another capture.  The first refusal is reported. */
static bool may_begin(struct captures *captures, const char *trigger)
{
	uint64_t now = now_monotonic_ns();
	size_t recent = 0;

	for (size_t i = 0; i < captures->starts.count; i++) {
		if (now - captures->starts.at[i] < NS_PER_HOUR) {
			captures->starts.at[recent++] = captures->starts.at[i];
		}
	}
	captures->starts.count = recent;
	assert(recent <= captures->config.per_hour);
	if (recent == captures->config.per_hour) {
		if (!captures->said_limit) {
			captures->config.say(
				"trigger %s: not captured: the limit of %zu captures in the last "
				"hour is reached",
				trigger, recent);
		}
		captures->said_limit = true;
		return false;
	}
	captures->said_limit = false;
	*vec_push(&captures->starts) = now;
	return true;
}

static void append(char **text, const char *separator, const char *more)
{
	char *longer = mem_printf("%s%s%s", *text, (*text)[0] ? separator : "", more);

	free(*text);
	*text = longer;
}

static struct waiting_capture *add_waiting(struct captures *captures,
					   const struct captures_session *session, uint64_t at)
{
	const struct captures_config *config = &captures->config;
	struct waiting_capture *waiting = vec_push(&captures->waiting);
	struct capture_order *order = mem_alloc(sizeof(*order));

	order->number = ++captures->last_number;
	order->host = mem_strdup(session->host);
	order->session = mem_strdup(session->name);
	order->asked = config->asked;
	order->measured = config->measured;
	order->has_spans = config->has_spans;
	order->triggers = mem_strdup("");
	order->names = mem_strdup("");
	order->at = at;
	order->begin = at > config->before_ns ? at - config->before_ns : 0;
	order->end = at > UINT64_MAX - config->after_ns ? UINT64_MAX : at + config->after_ns;
	*waiting = (struct waiting_capture){ .key = session->key,
					     .order = order,
					     .deadline = now_monotonic_ns() + config->after_ns +
							 CAPTURE_WAIT_NS };
	return waiting;
}

uint64_t captures_begin(struct captures *captures, const struct captures_session *session,
			uint64_t at, const struct captures_reason *reason)
{
	struct waiting_capture *waiting;

	assert(session->key);
	waiting = find_waiting(captures, session->key, at);
	if (!waiting) {
		if (reason && !may_begin(captures, reason->name)) {
			return 0;
		}
		waiting = add_waiting(captures, session, at);
		hold(captures, session);
	}
	if (reason) {
		append(&waiting->order->triggers, ",", reason->json);
		append(&waiting->order->names, ", ", reason->name);
		waiting->order->extras |= reason->extras;
		if (reason->job && !waiting->order->job) {
			waiting->order->job = mem_strdup(reason->job);
		}
	}
	assert(waiting->order->number > 0);
	return waiting->order->number;
}
