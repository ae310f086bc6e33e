/*
 * store: see store.h.
 */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "store/sqlite-write.h"

struct store {
	struct store_config config;
	struct sqlite_writer *writer; /* the thread's */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t has_items, has_room;
	/* Behind the mutex. */
	VEC(struct store_item *) queue;
	size_t queued_bytes;
	bool is_closing;
	struct store_account account;
	struct sqlite_gap gap; /* windows lost that the store does not know of yet */
	/* The thread's. */
	bool has_failed; /* the last attempt, which was said */
};

/* ---- the writer's thread ---- */

static size_t windows_in(struct store_item *const *items, size_t count)
{
	size_t windows = 0;

	for (size_t i = 0; i < count; i++) {
		windows += items[i]->kind == STORE_WINDOW;
	}
	return windows;
}

/* Behind the mutex: the window is lost. */
static void lose(struct store *store, const struct report *report, const char *why)
{
	struct sqlite_gap *gap = &store->gap;

	gap->begin = gap->windows == 0 || report->begin < gap->begin ? report->begin : gap->begin;
	gap->end = report->end > gap->end ? report->end : gap->end;
	gap->windows++;
	(void)snprintf(gap->why, sizeof(gap->why), "%.*s", (int)sizeof(gap->why) - 1, why);
	store->account.lost++;
}

static void note_failure(struct store *store, struct store_item *const *items, size_t count,
			 const struct err *err)
{
	if (!store->has_failed) {
		store->config.say("%s: windows are lost until it can be written again", err->text);
	}
	store->has_failed = true;
	(void)pthread_mutex_lock(&store->mutex);
	for (size_t i = 0; i < count; i++) {
		if (items[i]->kind == STORE_WINDOW) {
			lose(store, &items[i]->report, err->text);
		}
	}
	(void)pthread_mutex_unlock(&store->mutex);
}

/* @gap is in the store now; what was lost meanwhile is not. */
static void note_success(struct store *store, size_t windows, uint64_t rows,
			 const struct sqlite_gap *gap)
{
	if (gap->windows > 0) {
		store->config.say("%s: can be written again; %llu windows are missing",
				  store->config.url, (unsigned long long)gap->windows);
	}
	store->has_failed = false;
	(void)pthread_mutex_lock(&store->mutex);
	store->account.stored += windows;
	store->account.rows += rows;
	assert(store->gap.windows >= gap->windows);
	store->gap.windows -= gap->windows;
	if (store->gap.windows == 0) {
		store->gap = (struct sqlite_gap){ 0 };
	}
	(void)pthread_mutex_unlock(&store->mutex);
}

static void write_items(struct store *store, struct store_item *const *items, size_t count,
			const struct sqlite_gap *gap)
{
	uint64_t rows = 0;
	struct err err;

	if (sqlite_writer_put(store->writer, items, count, gap->windows > 0 ? gap : NULL, &rows,
			      &err) < 0) {
		note_failure(store, items, count, &err);
	} else {
		note_success(store, windows_in(items, count), rows, gap);
	}
}

/* Behind the mutex: takes what waits, at most so much that a transaction stays short. */
static size_t take(struct store *store, struct store_item *items[STORE_BATCH])
{
	size_t count = store->queue.count < STORE_BATCH ? store->queue.count : STORE_BATCH;

	for (size_t i = 0; i < count; i++) {
		items[i] = store->queue.at[i];
		store->queued_bytes -= items[i]->arena.total;
	}
	store->queue.count -= count;
	memmove(store->queue.at, store->queue.at + count,
		store->queue.count * sizeof(store->queue.at[0]));
	(void)pthread_cond_broadcast(&store->has_room);
	return count;
}

static void *run(void *arg)
{
	struct store *store = arg;
	struct store_item *items[STORE_BATCH];

	(void)pthread_mutex_lock(&store->mutex);
	for (;;) {
		struct sqlite_gap gap;
		size_t count;

		while (store->queue.count == 0 && !store->is_closing) {
			(void)pthread_cond_wait(&store->has_items, &store->mutex);
		}
		gap = store->gap;
		if (store->queue.count == 0 && gap.windows == 0) {
			break;
		}
		count = take(store, items);
		(void)pthread_mutex_unlock(&store->mutex);
		write_items(store, items, count, &gap);
		for (size_t i = 0; i < count; i++) {
			store_item_free(items[i]);
		}
		(void)pthread_mutex_lock(&store->mutex);
		if (count == 0) {
			break; /* that was the last attempt to note the gap */
		}
	}
	(void)pthread_mutex_unlock(&store->mutex);
	return NULL;
}

/* ---- the coordinator's side ---- */

static bool is_full(const struct store *store)
{
	return store->queue.count > 0 && store->queued_bytes > STORE_QUEUE_BYTES;
}

static void put(struct store *store, struct store_item *item)
{
	(void)pthread_mutex_lock(&store->mutex);
	store->account.closed += item->kind == STORE_WINDOW;
	while (is_full(store) && store->config.may_wait) {
		(void)pthread_cond_wait(&store->has_room, &store->mutex);
	}
	if (is_full(store)) {
		if (item->kind == STORE_WINDOW) {
			bool is_first = store->gap.windows == 0;

			lose(store, &item->report, "the writer is too slow");
			if (is_first) {
				store->config.say("%s: the writer is too slow: windows are lost",
						  store->config.url);
			}
		}
		(void)pthread_mutex_unlock(&store->mutex);
		store_item_free(item);
		return;
	}
	*vec_push(&store->queue) = item;
	store->queued_bytes += item->arena.total;
	(void)pthread_cond_signal(&store->has_items);
	(void)pthread_mutex_unlock(&store->mutex);
}

static void on_report(struct output *output, const struct trace_identity *trace,
		      const struct report *report)
{
	if (report->kind == REPORT_WINDOW) {
		put(output->state, store_item_window(trace, report));
	}
}

static void on_warning(struct output *output, const struct trace_identity *trace,
		       const struct engine_warning *warning)
{
	if (trace) {
		put(output->state, store_item_loss(trace, warning));
	}
}

static void on_trigger(struct output *output, const struct trace_identity *trace,
		       const struct trigger_event *event)
{
	put(output->state, store_item_trigger(trace, event));
}

static void on_capture(struct output *output, const struct capture_result *capture)
{
	put(output->state, store_item_capture(capture));
}

const struct sink sink_store = {
	.name = "store",
	.report = on_report,
	.warning = on_warning,
	.trigger = on_trigger,
	.capture = on_capture,
};

/* ---- lifecycle ---- */

/* Signals are for the coordinator. */
static int start(struct store *store)
{
	sigset_t all, old;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&store->thread, NULL, run, store);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

static void store_free(struct store *store)
{
	sqlite_writer_close(store->writer);
	(void)pthread_mutex_destroy(&store->mutex);
	(void)pthread_cond_destroy(&store->has_items);
	(void)pthread_cond_destroy(&store->has_room);
	vec_fini(&store->queue);
	free(store);
}

int store_open(const struct store_config *config, struct store **ret, struct err *err)
{
	struct store *store = mem_alloc(sizeof(*store));
	const char *path = store_file_of(config->url, err);
	int r = path ? 0 : -EINVAL;

	store->config = *config;
	(void)pthread_mutex_init(&store->mutex, NULL);
	(void)pthread_cond_init(&store->has_items, NULL);
	(void)pthread_cond_init(&store->has_room, NULL);
	if (r == 0) {
		r = sqlite_writer_open(path, config->interval_ns, &store->writer, err);
	}
	if (r == 0 && start(store) < 0) {
		r = err_raise(err, -EAGAIN, "%s: no thread can be started", config->url);
	}
	if (r < 0) {
		store_free(store);
		return r;
	}
	*ret = store;
	return 0;
}

int store_close(struct store *store, struct store_account *ret_account)
{
	(void)pthread_mutex_lock(&store->mutex);
	store->is_closing = true;
	(void)pthread_cond_signal(&store->has_items);
	(void)pthread_mutex_unlock(&store->mutex);
	(void)pthread_join(store->thread, NULL);
	assert(store->queue.count == 0);
	assert(store->account.stored + store->account.lost == store->account.closed);
	if (store->account.lost > 0) {
		store->config.say("%s: %llu of %llu windows are lost", store->config.url,
				  (unsigned long long)store->account.lost,
				  (unsigned long long)store->account.closed);
	}
	*ret_account = store->account;
	store_free(store);
	return ret_account->lost > 0 ? -EIO : 0;
}
