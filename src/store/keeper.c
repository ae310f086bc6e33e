/*
 * keeper: see keeper.h.
 */
#include "store/keeper.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/thread.h"
#include "base/units.h"

struct keeper {
	struct store_keep keep;
	struct keep_pass pass;
	char *url;
	atomic_bool is_leaving; /* the flag of passes, if the caller has none */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t ends;
	bool is_closing; /* behind the mutex */
	bool has_failed; /* the last pass, which was said */

	pthread_mutex_t checks;
	bool is_checked; /* whether the usual may be kept; behind checks */
	bool keeps_all;  /* it may not */
};

int keeper_keeps_all(struct keeper *keeper, struct err *err)
{
	int r = 0;

	(void)pthread_mutex_lock(&keeper->checks);
	if (keeper->keep.is_usual && !keeper->is_checked) {
		r = store_keep_is_overdue(&keeper->pass, err);
		keeper->keeps_all = r > 0;
		keeper->is_checked = r >= 0;
	}
	r = r < 0 ? r : keeper->keeps_all;
	(void)pthread_mutex_unlock(&keeper->checks);
	return r;
}

static void look(struct keeper *keeper)
{
	struct err err;
	int r = keeper_keeps_all(keeper, &err);

	r = r != 0 ? r : store_keep_pass(&keeper->pass, &err);
	if (r < 0 && !keeper->has_failed && !*keeper->pass.stop) {
		keeper->pass.say("--store-keep: %s: it is tried again", err.text);
	}
	keeper->has_failed = r < 0;
}

static void *run(void *arg)
{
	struct keeper *keeper = arg;

	(void)pthread_mutex_lock(&keeper->mutex);
	while (!keeper->is_closing) {
		uint64_t due = now_monotonic_ns() + KEEP_EVERY_S * NS_PER_S;
		struct timespec until = { .tv_sec = (time_t)(due / NS_PER_S),
					  .tv_nsec = (long)(due % NS_PER_S) };

		while (!keeper->is_closing &&
		       pthread_cond_timedwait(&keeper->ends, &keeper->mutex, &until) == 0) {
		}
		if (!keeper->is_closing) {
			(void)pthread_mutex_unlock(&keeper->mutex);
			look(keeper);
			(void)pthread_mutex_lock(&keeper->mutex);
		}
	}
	(void)pthread_mutex_unlock(&keeper->mutex);
	return NULL;
}

static void dispose(struct keeper *keeper)
{
	(void)pthread_mutex_destroy(&keeper->mutex);
	(void)pthread_mutex_destroy(&keeper->checks);
	(void)pthread_cond_destroy(&keeper->ends);
	free(keeper->url);
	free(keeper);
}

struct keeper *keeper_new(const char *url, const struct store_keep *keep, uint64_t top,
			  const atomic_bool *stop, void (*say)(const char *fmt, ...))
{
	struct keeper *keeper = mem_alloc(sizeof(*keeper));
	pthread_condattr_t clock;

	assert(keep->count > 0);
	keeper->keep = *keep;
	keeper->url = mem_strdup(url);
	keeper->pass = (struct keep_pass){ .url = keeper->url,
					   .keep = &keeper->keep,
					   .top = top,
					   .stop = stop ? stop : &keeper->is_leaving,
					   .say = say };
	(void)pthread_condattr_init(&clock);
	(void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	(void)pthread_mutex_init(&keeper->mutex, NULL);
	(void)pthread_mutex_init(&keeper->checks, NULL);
	(void)pthread_cond_init(&keeper->ends, &clock);
	(void)pthread_condattr_destroy(&clock);
	if (thread_start(&keeper->thread, run, keeper) != 0) {
		dispose(keeper);
		return NULL;
	}
	return keeper;
}

void keeper_free(struct keeper *keeper, bool has_time)
{
	if (!keeper) {
		return;
	}
	(void)pthread_mutex_lock(&keeper->mutex);
	keeper->is_closing = true;
	keeper->is_leaving = !has_time;
	(void)pthread_cond_signal(&keeper->ends);
	(void)pthread_mutex_unlock(&keeper->mutex);
	thread_join(keeper->thread, NULL);
	if (has_time && !*keeper->pass.stop) {
		look(keeper);
	}
	dispose(keeper);
}
