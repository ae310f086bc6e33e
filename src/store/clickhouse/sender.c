/*
 * sender: see sender.h.
 */
#include "store/clickhouse/sender.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/thread.h"
#include "base/units.h"
#include "store/clickhouse/clickhouse-send.h"
#include "store/clickhouse/spool.h"

struct sender {
	const struct clickhouse_url *url;
	struct sender_events events;
	bool may_wait, has_thread;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t has_work, has_room;
	/* Behind the mutex. */
	struct spool *spool; /* NULL: there is none */
	VEC(struct clickhouse_batch *) outbox;
	int64_t first_number, last_number; /* of this run's batches */
	uint64_t put_windows;              /* in all of them */
	bool is_in_flight;                 /* one of them, after in_flight_before windows */
	uint64_t in_flight_before;
	bool is_closing, is_away;
	bool has_said_loss; /* since the server went away */
	bool has_lost;      /* a batch, since sender_has_lost() */
	uint64_t retry_ns, next_try_ns;
	/* The thread's. */
	struct clickhouse_link link;
};

/* ---- what becomes of batches, behind the mutex ---- */

static void lose(struct sender *sender, const struct clickhouse_batch *batch, const char *why)
{
	struct store_gap gap = batch->windows;

	if (batch->gap.windows > 0) {
		gap.begin = gap.windows == 0 || batch->gap.begin < gap.begin ? batch->gap.begin
									     : gap.begin;
		gap.end = batch->gap.end > gap.end ? batch->gap.end : gap.end;
		gap.windows += batch->gap.windows;
	}
	(void)snprintf(gap.why, sizeof(gap.why), "%.*s", (int)sizeof(gap.why) - 1, why);
	if (!sender->has_said_loss && gap.windows > 0) {
		sender->events.say("%s: windows are lost: %s", sender->url->shown, why);
	}
	sender->has_said_loss = sender->has_lost = true;
	sender->events.lost(sender->events.user, &gap,
			    batch->number >= sender->first_number ? batch->windows.windows : 0);
}

/* Takes the batch.  @why: it could not be sent. */
static void keep(struct sender *sender, struct clickhouse_batch *batch, const char *why)
{
	struct err err;
	int r = sender->spool ? spool_put(sender->spool, batch, &err)
			      : err_raise(&err, -ENOENT, "%s", why);

	if (r < 0) {
		lose(sender, batch, err.text);
	} else {
		sender->events.spooled(sender->events.user, (int64_t)batch->windows.windows);
	}
	clickhouse_batch_free(batch);
}

static void note_failure(struct sender *sender, struct clickhouse_batch *batch, bool is_spooled,
			 const struct err *err)
{
	if (!sender->is_away && sender->spool) {
		sender->events.say("%s: windows wait in %s until it can be written", err->text,
				   spool_path(sender->spool));
	} else if (!sender->is_away) {
		sender->events.say("%s: windows are lost until it can be written", err->text);
		sender->has_said_loss = true;
	}
	sender->retry_ns = !sender->is_away ? CLICKHOUSE_RETRY_MS * NS_PER_MS
			   : sender->retry_ns * 2 > CLICKHOUSE_RETRY_MAX_MS * NS_PER_MS
				   ? CLICKHOUSE_RETRY_MAX_MS * NS_PER_MS
				   : sender->retry_ns * 2;
	sender->is_away = true;
	sender->next_try_ns = now_monotonic_ns() + sender->retry_ns;
	if (is_spooled) {
		clickhouse_batch_free(batch);
	} else {
		keep(sender, batch, err->text);
	}
	for (size_t i = 0; i < sender->outbox.count; i++) {
		keep(sender, sender->outbox.at[i], err->text);
	}
	sender->outbox.count = 0;
	(void)pthread_cond_broadcast(&sender->has_room);
}

/* The server is there, and will never take the batch: others must not wait for it. */
static void set_aside(struct sender *sender, struct clickhouse_batch *batch, bool is_spooled,
		      const struct err *err)
{
	bool is_own = batch->number >= sender->first_number, is_in_spool = is_spooled;
	struct err failure;
	int r = 0;

	assert(!is_spooled || sender->spool);
	if (sender->spool && !is_spooled) {
		r = spool_put(sender->spool, batch, &failure);
		is_in_spool = r == 0;
	} else if (is_own && is_spooled) {
		sender->events.spooled(sender->events.user, -(int64_t)batch->windows.windows);
	}
	if (r == 0 && sender->spool) {
		r = spool_set_aside(sender->spool, batch->number, err->text, &failure);
	}
	if (!sender->has_said_loss) {
		sender->events.say("%s: it refuses windows, which are lost%s%s", err->text,
				   sender->spool && r == 0 ? "; they are in " : "",
				   sender->spool && r == 0 ? spool_path(sender->spool) : "");
	}
	sender->has_said_loss = true;
	lose(sender, batch, err->text);
	clickhouse_batch_free(batch);
	if (r < 0) {
		sender->events.say("%s", failure.text);
	}
	if (r < 0 && is_in_spool) { /* it cannot be taken out: nothing behind it can be sent */
		spool_close(sender->spool);
		sender->spool = NULL;
	}
	(void)pthread_cond_broadcast(&sender->has_room);
}

static void note_success(struct sender *sender, struct clickhouse_batch *batch, bool is_spooled)
{
	bool is_own = batch->number >= sender->first_number;
	struct err err;

	assert(!is_spooled || sender->spool);
	if (is_spooled && spool_drop(sender->spool, batch->number, &err) < 0) {
		/* It is sent again, which changes nothing in the store. */
		sender->events.say("%s", err.text);
		sender->next_try_ns = now_monotonic_ns() + sender->retry_ns;
		clickhouse_batch_free(batch);
		return;
	}
	if (sender->is_away) {
		sender->events.say("%s: can be written again", sender->url->shown);
	}
	if (batch->gap.windows > 0) {
		sender->events.say("%s: %llu windows are missing", sender->url->shown,
				   (unsigned long long)batch->gap.windows);
	}
	sender->is_away = false;
	sender->has_said_loss = false;
	(void)pthread_cond_broadcast(&sender->has_room);
	if (is_own && is_spooled) {
		sender->events.spooled(sender->events.user, -(int64_t)batch->windows.windows);
	}
	sender->events.stored(sender->events.user, is_own ? batch->windows.windows : 0,
			      is_own ? batch->rows : 0);
	clickhouse_batch_free(batch);
}

/* The next batch to send; NULL: there is none now. */
static struct clickhouse_batch *next_batch(struct sender *sender, bool *ret_is_spooled)
{
	struct clickhouse_batch *batch = NULL;
	struct err err;

	*ret_is_spooled = sender->outbox.count == 0;
	if (sender->outbox.count > 0) {
		batch = sender->outbox.at[0];
		sender->outbox.count--;
		memmove(sender->outbox.at, sender->outbox.at + 1,
			sender->outbox.count * sizeof(sender->outbox.at[0]));
		(void)pthread_cond_broadcast(&sender->has_room);
	} else if (sender->spool && !spool_is_empty(sender->spool) &&
		   spool_first(sender->spool, &batch, &err) < 0) {
		sender->events.say("%s: what waits there cannot be sent", err.text);
		spool_close(sender->spool); /* it stays there */
		sender->spool = NULL;
		(void)pthread_cond_broadcast(&sender->has_room); /* nothing older is sent first */
	}
	return batch;
}

/* ---- the thread ---- */

static bool has_work(const struct sender *sender)
{
	return sender->outbox.count > 0 || (sender->spool && !spool_is_empty(sender->spool) &&
					    (!sender->is_away || sender->is_closing ||
					     now_monotonic_ns() >= sender->next_try_ns));
}

static void wait_for_work(struct sender *sender)
{
	struct timespec until = { .tv_sec = (time_t)(sender->next_try_ns / NS_PER_S),
				  .tv_nsec = (long)(sender->next_try_ns % NS_PER_S) };

	if (sender->is_away && sender->spool && !spool_is_empty(sender->spool)) {
		(void)pthread_cond_timedwait(&sender->has_work, &sender->mutex, &until);
	} else {
		(void)pthread_cond_wait(&sender->has_work, &sender->mutex);
	}
}

static void *run(void *arg)
{
	struct sender *sender = arg;
	uint64_t leave_at = UINT64_MAX;
	bool has_tried = false; /* since it is closing */

	(void)pthread_mutex_lock(&sender->mutex);
	for (;;) {
		struct clickhouse_batch *batch;
		bool is_spooled;
		struct err err;
		int r;

		while (!has_work(sender) && !sender->is_closing) {
			wait_for_work(sender);
		}
		if (sender->is_closing && leave_at == UINT64_MAX) {
			leave_at = now_monotonic_ns() + CLICKHOUSE_CLOSE_S * NS_PER_S;
		}
		/* What is in the spool can stay there for the next run. */
		if (sender->outbox.count == 0 && sender->is_closing &&
		    ((sender->is_away && has_tried) ||
		     (!sender->may_wait && now_monotonic_ns() > leave_at))) {
			break;
		}
		has_tried = sender->is_closing;
		batch = next_batch(sender, &is_spooled);
		if (!batch && sender->is_closing) {
			break;
		}
		if (!batch) {
			continue;
		}
		sender->is_in_flight = !is_spooled;
		sender->in_flight_before = batch->before;
		(void)pthread_mutex_unlock(&sender->mutex);
		r = clickhouse_send(&sender->link, batch, &err);
		if (r == -EBADMSG) { /* what comes later needs the names in it */
			clickhouse_send_traces(&sender->link, batch);
		}
		(void)pthread_mutex_lock(&sender->mutex);
		sender->is_in_flight =
			false; /* what becomes of it is decided before anybody asks */
		if (r == -EBADMSG) {
			set_aside(sender, batch, is_spooled, &err);
		} else if (r < 0) {
			note_failure(sender, batch, is_spooled, &err);
		} else {
			note_success(sender, batch, is_spooled);
		}
	}
	(void)pthread_mutex_unlock(&sender->mutex);
	return NULL;
}

/* ---- the other side ---- */

/* Whether it can be sent from memory: nothing older waits on disk. */
static bool is_next(const struct sender *sender)
{
	return (!sender->spool || spool_is_empty(sender->spool)) &&
	       (!sender->is_away || now_monotonic_ns() >= sender->next_try_ns);
}

void sender_put(struct sender *sender, struct clickhouse_batch *batch)
{
	uint64_t windows = batch->windows.windows;

	(void)pthread_mutex_lock(&sender->mutex);
	assert(!sender->is_closing);
	batch->number = ++sender->last_number;
	batch->before = sender->put_windows;
	while (sender->may_wait && !sender->is_away &&
	       (sender->outbox.count >= CLICKHOUSE_OUTBOX || !is_next(sender))) {
		(void)pthread_cond_wait(&sender->has_room, &sender->mutex);
	}
	if (is_next(sender) && sender->outbox.count < CLICKHOUSE_OUTBOX) {
		*vec_push(&sender->outbox) = batch;
	} else {
		keep(sender, batch, sender->is_away ? "it cannot be written" : "it is too slow");
	}
	sender->put_windows += windows;
	(void)pthread_cond_signal(&sender->has_work);
	(void)pthread_mutex_unlock(&sender->mutex);
}

uint64_t sender_settled(struct sender *sender)
{
	uint64_t settled;

	(void)pthread_mutex_lock(&sender->mutex);
	settled = sender->is_in_flight       ? sender->in_flight_before
		  : sender->outbox.count > 0 ? sender->outbox.at[0]->before
					     : sender->put_windows;
	assert(settled <= sender->put_windows);
	(void)pthread_mutex_unlock(&sender->mutex);
	return settled;
}

bool sender_has_lost(struct sender *sender)
{
	bool has_lost;

	(void)pthread_mutex_lock(&sender->mutex);
	has_lost = sender->has_lost;
	sender->has_lost = false;
	(void)pthread_mutex_unlock(&sender->mutex);
	return has_lost;
}

/* ---- lifecycle ---- */

static void open_spool(struct sender *sender)
{
	struct err err;

	if (spool_open(sender->url, &sender->spool, &err) < 0) {
		sender->events.say("%s: there is no spool: windows are lost while %s is away",
				   err.text, sender->url->shown);
		return;
	}
	sender->last_number = spool_last(sender->spool);
	if (!spool_is_empty(sender->spool)) {
		sender->events.say("%s: has %llu windows of an earlier run, which are sent now",
				   spool_path(sender->spool),
				   (unsigned long long)spool_windows(sender->spool, 0));
	}
}

static int start(struct sender *sender)
{
	pthread_condattr_t clock;
	int r;

	(void)pthread_condattr_init(&clock);
	(void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&sender->has_work, &clock);
	(void)pthread_condattr_destroy(&clock);
	(void)pthread_cond_init(&sender->has_room, NULL);
	(void)pthread_mutex_init(&sender->mutex, NULL);
	r = thread_start(&sender->thread, run, sender);
	sender->has_thread = r == 0;
	return -r;
}

int sender_open(const struct clickhouse_url *url, bool may_wait, const struct sender_events *events,
		struct sender **ret, struct err *err)
{
	struct sender *sender = mem_alloc(sizeof(*sender));
	int r;

	sender->url = url;
	sender->events = *events;
	sender->may_wait = may_wait;
	sender->link = (struct clickhouse_link){ .http = http_new(url, NULL), .url = url };
	r = clickhouse_check(sender->link.http, url, true, err);
	sender->link.is_checked = r == 0;
	if (r == 0 && url->cluster) {
		r = clickhouse_join_cluster(sender->link.http, url, err);
		sender->link.is_joined = r == 0;
	}
	if (r < 0 && !may_wait) { /* whatever it answers now, it may be right later */
		r = 0;
		open_spool(sender);
		events->say("%s: windows %s", err->text,
			    sender->spool ? "wait on disk until it can be written"
					  : "are lost until it can be written");
		sender->is_away = true;
		sender->retry_ns = CLICKHOUSE_RETRY_MS * NS_PER_MS;
		sender->next_try_ns = now_monotonic_ns() + sender->retry_ns;
	} else if (r == 0) {
		open_spool(sender);
	}
	sender->first_number = sender->last_number + 1;
	if (r == 0 && start(sender) < 0) {
		r = err_raise(err, -EAGAIN, "%s: no thread can be started", url->shown);
	}
	if (r < 0) {
		sender_close(sender);
		return r;
	}
	*ret = sender;
	return 0;
}

void sender_close(struct sender *sender)
{
	struct thread_last last = { .doing = "the last windows of the store" };

	if (!sender) {
		return;
	}
	if (sender->has_thread) {
		last.say = sender->events.say;
		(void)pthread_mutex_lock(&sender->mutex);
		sender->is_closing = true;
		(void)pthread_cond_signal(&sender->has_work);
		(void)pthread_mutex_unlock(&sender->mutex);
		thread_join(sender->thread, &last);
		(void)pthread_mutex_destroy(&sender->mutex);
		(void)pthread_cond_destroy(&sender->has_work);
		(void)pthread_cond_destroy(&sender->has_room);
	}
	assert(sender->outbox.count == 0);
	if (sender->spool && !spool_is_empty(sender->spool)) {
		sender->events.say("%s: %llu windows wait for the next run that writes to %s",
				   spool_path(sender->spool),
				   (unsigned long long)spool_windows(sender->spool, 0),
				   sender->url->shown);
	}
	spool_close(sender->spool);
	vec_fini(&sender->outbox);
	http_free(sender->link.http);
	free(sender);
}
