/*
 * store: see store.h.
 */
#include "store/store.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/process/thread.h"
#include "base/units.h"
#include "store/clickhouse/clickhouse-writer.h"
#include "store/keeper.h"
#include "store/rows/longer.h"
#include "store/sqlite/sqlite-write.h"

HASH_MAP(store_traces, bool)

/* How much the first windows take. */
struct store_growth {
	bool is_said;              /* or nobody asks */
	struct store_traces known; /* traces, by the hash of their name */
	uint64_t windows, ns;      /* of all traces */
	uint64_t bytes;            /* of the file before them */
};

struct store {
	struct store_config config;
	struct sqlite_writer *sqlite; /* one of both, the thread's */
	struct clickhouse_writer *clickhouse;
	struct keeper *keeper; /* NULL: all stays */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t has_items, has_room;
	/* Behind the mutex. */
	VEC(struct store_item *) queue;
	size_t queued_bytes;
	bool is_closing;
	struct store_account account;
	struct store_gap gap; /* windows lost that the store does not know of yet */
	/* The thread's. */
	struct longer *longer;  /* NULL: there are no longer windows */
	bool has_failed;        /* the last attempt, which was said */
	bool has_said_given_up; /* longer windows */
	struct store_growth growth;
};

/* ---- the writer's thread ---- */

static size_t windows_in(struct store_item *const *items, size_t count)
{
	size_t windows = 0;

	for (size_t i = 0; i < count; i++) {
		windows += items[i]->kind == STORE_WINDOW && !items[i]->is_extra;
	}
	return windows;
}

/* Behind the mutex: a store has to note @gap, of which @windows are lost now. */
static void lose(struct store *store, const struct store_gap *gap, uint64_t windows)
{
	struct store_gap *all = &store->gap;

	if (gap->windows > 0) {
		all->begin = all->windows == 0 || gap->begin < all->begin ? gap->begin : all->begin;
		all->end = gap->end > all->end ? gap->end : all->end;
		all->windows += gap->windows;
		memcpy(all->why, gap->why, sizeof(all->why));
	}
	store->account.lost += windows;
}

/* Behind the mutex. */
static void lose_window(struct store *store, const struct report *report, const char *why)
{
	struct store_gap gap = { .begin = report->begin, .end = report->end, .windows = 1 };

	(void)snprintf(gap.why, sizeof(gap.why), "%.*s", (int)sizeof(gap.why) - 1, why);
	lose(store, &gap, 1);
}

static void note_failure(struct store *store, struct store_item *const *items, size_t count,
			 const struct store_gap *gap, const struct err *err)
{
	if (!store->has_failed) {
		store->config.say("%s: windows are lost until it can be written again", err->text);
	}
	store->has_failed = true;
	(void)pthread_mutex_lock(&store->mutex);
	lose(store, gap, 0);
	for (size_t i = 0; i < count; i++) {
		if (items[i]->kind == STORE_WINDOW && !items[i]->is_extra) {
			lose_window(store, &items[i]->report, err->text);
		}
	}
	(void)pthread_mutex_unlock(&store->mutex);
}

static void on_stored(void *user, uint64_t windows, uint64_t rows)
{
	struct store *store = user;

	(void)pthread_mutex_lock(&store->mutex);
	store->account.stored += windows;
	store->account.rows += rows;
	(void)pthread_mutex_unlock(&store->mutex);
}

static void on_spooled(void *user, int64_t more)
{
	struct store *store = user;

	(void)pthread_mutex_lock(&store->mutex);
	store->account.spooled += (uint64_t)more;
	(void)pthread_mutex_unlock(&store->mutex);
}

static void on_lost(void *user, const struct store_gap *gap, uint64_t windows)
{
	struct store *store = user;

	(void)pthread_mutex_lock(&store->mutex);
	lose(store, gap, windows);
	(void)pthread_mutex_unlock(&store->mutex);
}

static void write_sqlite(struct store *store, struct store_item *const *items, size_t count,
			 const struct store_gap *gap)
{
	uint64_t rows = 0;
	struct err err;

	if (sqlite_writer_put(store->sqlite, items, count, gap->windows > 0 ? gap : NULL, &rows,
			      &err) < 0) {
		note_failure(store, items, count, gap, &err);
		return;
	}
	if (gap->windows > 0) {
		store->config.say("%s: can be written again; %llu windows are missing",
				  store->config.url, (unsigned long long)gap->windows);
	}
	store->has_failed = false;
	on_stored(store, windows_in(items, count), rows);
}

static void write_items(struct store *store, struct store_item *const *items, size_t count,
			const struct store_gap *gap)
{
	if (store->clickhouse) {
		clickhouse_writer_put(store->clickhouse, items, count,
				      gap->windows > 0 ? gap : NULL);
	} else if (count > 0 || gap->windows > 0) {
		write_sqlite(store, items, count, gap);
	}
}

#define DAY_S 86400

/* What a day takes with the traces that there are: bytes of a file, rows of a server.  False: it is
 * not known yet how long windows stay. */
static bool say_size(struct store *store)
{
	const struct store_growth *growth = &store->growth;
	double days = (double)growth->ns / 1e9 / DAY_S / (double)growth->known.used;
	uint64_t bytes = store->sqlite ? sqlite_writer_bytes(store->sqlite) : 0;
	uint64_t rows = store_account(store).rows;
	char text[UNITS_TEXT_MAX], stay[KEEP_TEXT_MAX];
	struct err err;
	int all;

	assert(growth->ns > 0 && growth->known.used > 0);
	if (store->sqlite && bytes > growth->bytes) {
		(void)units_bytes(text, (uint64_t)((double)(bytes - growth->bytes) / days));
	} else if (!store->sqlite && rows > 0) {
		(void)units_count(text, (uint64_t)((double)rows / days));
	} else {
		return true;
	}
	all = keeper_keeps_all(store->keeper, &err);
	if (all >= 0) {
		store->config.say("%s: some %s%s a day with %s; %s: --store-keep says how long",
				  store_name(store), text, store->sqlite ? "" : " rows",
				  growth->known.used == 1 ? "this trace" : "these traces",
				  all ? "none is removed"
				      : store_keep_usual_text(&store->config.keep, stay));
	}
	return all >= 0;
}

static void grow(struct store *store, struct store_item *const *items, size_t count)
{
	struct store_growth *growth = &store->growth;

	for (size_t i = 0; i < count && !growth->is_said; i++) {
		if (items[i]->kind == STORE_WINDOW && !items[i]->is_extra) {
			*store_traces_put(&growth->known, hash_text(0, items[i]->trace), NULL) =
				true;
			growth->windows++;
			growth->ns += items[i]->report.end - items[i]->report.begin;
		}
	}
	if (!growth->is_said && growth->windows >= STORE_SIZE_WINDOWS && growth->ns > 0) {
		growth->is_said = say_size(store);
	}
}

/* Behind the mutex: takes what waits, at most so much that a transaction stays short. */
static size_t take(struct store *store, struct store_item *items[STORE_BATCH])
{
	size_t count = store->queue.count < STORE_BATCH ? store->queue.count : STORE_BATCH;

	for (size_t i = 0; i < count; i++) {
		items[i] = store->queue.at[i];
		assert(store->queued_bytes >= items[i]->arena.total);
		store->queued_bytes -= items[i]->arena.total;
	}
	store->queue.count -= count;
	if (count > 0) {
		memmove(store->queue.at, store->queue.at + count,
			store->queue.count * sizeof(store->queue.at[0]));
	}
	assert(store->queue.count > 0 || store->queued_bytes == 0);
	(void)pthread_cond_broadcast(&store->has_room);
	return count;
}

/* Behind the mutex: until there are items, or what was gathered is due. */
static void wait_for_items(struct store *store)
{
	uint64_t due = store->clickhouse ? clickhouse_writer_due_ns(store->clickhouse) : UINT64_MAX;
	struct timespec until = { .tv_sec = (time_t)(due / NS_PER_S),
				  .tv_nsec = (long)(due % NS_PER_S) };

	while (store->queue.count == 0 && !store->is_closing) {
		if (due == UINT64_MAX) {
			(void)pthread_cond_wait(&store->has_items, &store->mutex);
		} else if (pthread_cond_timedwait(&store->has_items, &store->mutex, &until) != 0) {
			break;
		}
	}
}

/* Puts longer windows behind the @count items.  Returns how many there are then. */
static size_t add_longer(struct store *store, struct store_item *items[2 * STORE_BATCH],
			 size_t count)
{
	size_t all = count;

	assert(count <= STORE_BATCH);
	for (size_t i = 0; store->longer && i < count; i++) {
		struct store_item *whole =
			items[i]->kind == STORE_WINDOW ? longer_add(store->longer, items[i]) : NULL;

		if (whole) {
			items[all++] = whole;
		}
	}
	if (store->longer && longer_given_up(store->longer) > 0 && !store->has_said_given_up) {
		store->has_said_given_up = true;
		store->config.say("%s: there is no memory for all windows of --store-also "
				  "(--max-memory); there, only the short ones stay",
				  store_name(store));
	}
	return all;
}

static void *run(void *arg)
{
	struct store *store = arg;
	struct store_item *items[2 * STORE_BATCH];
	bool goes_on = true;

	(void)pthread_mutex_lock(&store->mutex);
	while (goes_on) {
		struct store_gap gap;
		size_t count, settled, taken;

		wait_for_items(store);
		count = taken = take(store, items);
		gap = store->gap;
		store->gap = (struct store_gap){ 0 };
		/* The last attempt to note a gap is the last of all. */
		goes_on = count > 0 || !store->is_closing;
		(void)pthread_mutex_unlock(&store->mutex);
		count = add_longer(store, items, count);
		write_items(store, items, count, &gap);
		grow(store, items, count);
		settled = windows_in(items, count);
		for (size_t i = 0; i < count; i++) {
			if (i < taken) {
				account_give(store->config.account, ACCOUNT_OUTPUTS,
					     items[i]->arena.total);
			}
			store_item_free(items[i]);
		}
		(void)pthread_mutex_lock(&store->mutex);
		store->account.settled += settled; /* of SQLite: written, or lost */
	}
	(void)pthread_mutex_unlock(&store->mutex);
	return NULL;
}

/* ---- the coordinator's side ---- */

/* One item more than there is room for may wait, so that each can be written. */
static bool is_full(const struct store *store, const struct store_item *item)
{
	return store->queue.count > 0 &&
	       (store->queued_bytes > STORE_QUEUE_BYTES ||
		!account_may_last_part(store->config.account, ACCOUNT_OUTPUTS, STORE_QUEUE_PART,
				       item->arena.total));
}

static void put(struct store *store, struct store_item *item)
{
	(void)pthread_mutex_lock(&store->mutex);
	assert(!store->is_closing);
	store->account.closed += item->kind == STORE_WINDOW;
	while (is_full(store, item) && store->config.may_wait) {
		(void)pthread_cond_wait(&store->has_room, &store->mutex);
	}
	if (is_full(store, item)) {
		if (item->kind == STORE_WINDOW) {
			bool is_first = store->gap.windows == 0;

			lose_window(store, &item->report, "the writer is too slow");
			if (is_first) {
				store->config.say("%s: the writer is too slow: windows are lost",
						  store_name(store));
			}
		}
		(void)pthread_mutex_unlock(&store->mutex);
		store_item_free(item);
		return;
	}
	store->account.given += item->kind == STORE_WINDOW;
	*vec_push(&store->queue) = item;
	store->queued_bytes += item->arena.total;
	account_take(store->config.account, ACCOUNT_OUTPUTS, item->arena.total);
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

static void on_run_phase(struct output *output, const struct trace_identity *trace,
			 const struct phase_record *phase)
{
	put(output->state, store_item_phase(trace, phase));
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
	.phase = on_run_phase,
	.capture = on_capture,
};

/* ---- lifecycle ---- */

static void store_free(struct store *store)
{
	longer_free(store->longer);
	sqlite_writer_close(store->sqlite);
	(void)pthread_mutex_destroy(&store->mutex);
	(void)pthread_cond_destroy(&store->has_items);
	(void)pthread_cond_destroy(&store->has_room);
	vec_fini(&store->queue);
	store_traces_fini(&store->growth.known);
	free(store);
}

static void prepare(struct store *store, const struct store_config *config)
{
	pthread_condattr_t clock;

	store->config = *config;
	(void)pthread_condattr_init(&clock);
	(void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&store->mutex, NULL);
	(void)pthread_cond_init(&store->has_items, &clock);
	(void)pthread_cond_init(&store->has_room, NULL);
	(void)pthread_condattr_destroy(&clock);
}

static int open_database(struct store *store, struct err *err)
{
	const struct store_config *config = &store->config;
	const struct sender_events events = { .user = store,
					      .stored = on_stored,
					      .spooled = on_spooled,
					      .lost = on_lost,
					      .say = config->say };
	const char *path;

	if (store_is_clickhouse(config->url)) {
		return clickhouse_writer_open(config->url, config->interval_ns, config->may_wait,
					      &events, &store->clickhouse, err);
	}
	path = store_file_of(config->url, err);
	return path ? sqlite_writer_open(path, config->interval_ns, &store->sqlite, err) : -EINVAL;
}

int store_open(const struct store_config *config, struct store **ret, struct err *err)
{
	struct store *store = mem_alloc(sizeof(*store));
	int r;

	prepare(store, config);
	r = open_database(store, err);
	store->growth.is_said = !config->keep.is_usual;
	store->growth.bytes = r == 0 && store->sqlite ? sqlite_writer_bytes(store->sqlite) : 0;
	if (config->also_ns > 0) {
		store->longer = longer_new(config->also_ns, config->top, config->account);
	}
	if (r == 0 && config->keep.count > 0) {
		store->keeper = keeper_new(config->url, &config->keep, config->top, config->stop,
					   config->say);
	}
	if (r == 0 && ((config->keep.count > 0 && !store->keeper) ||
		       thread_start(&store->thread, run, store) != 0)) {
		r = err_raise(err, -EAGAIN, "%s: no thread can be started", store_name(store));
	}
	if (r < 0) {
		keeper_free(store->keeper, false);
		clickhouse_writer_close(store->clickhouse);
		store_free(store);
		return r;
	}
	*ret = store;
	return 0;
}

const char *store_name(const struct store *store)
{
	return store->clickhouse ? clickhouse_writer_name(store->clickhouse) : store->config.url;
}

struct store_account store_account(struct store *store)
{
	struct store_account account;

	(void)pthread_mutex_lock(&store->mutex);
	account = store->account;
	(void)pthread_mutex_unlock(&store->mutex);
	if (store->clickhouse) {
		account.settled = clickhouse_writer_settled(store->clickhouse);
	}
	return account;
}

int store_close(struct store *store, struct store_account *ret_account)
{
	const struct store_account *account = &store->account;
	struct thread_last last = { .doing = "the last windows of the store",
				    .say = store->config.say };

	(void)pthread_mutex_lock(&store->mutex);
	store->is_closing = true;
	(void)pthread_cond_signal(&store->has_items);
	(void)pthread_mutex_unlock(&store->mutex);
	thread_join(store->thread, &last);
	clickhouse_writer_flush(store->clickhouse);
	/* Lost at the end; with a server that is away, nobody can be told. */
	if (store->clickhouse && store->gap.windows > 0 && account->spooled == 0) {
		clickhouse_writer_note(store->clickhouse, &store->gap);
	}
	assert(store->queue.count == 0);
	assert(account->stored + account->spooled + account->lost == account->closed);
	if (account->lost > 0) {
		store->config.say("%s: %llu of %llu windows are lost", store_name(store),
				  (unsigned long long)account->lost,
				  (unsigned long long)account->closed);
	}
	*ret_account = *account;
	keeper_free(store->keeper, store->config.may_wait);
	clickhouse_writer_close(store->clickhouse);
	store_free(store);
	return ret_account->lost > 0 ? -EIO : 0;
}
