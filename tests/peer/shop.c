/*
 * shop: the service of doc/service.md.  Two workers answer requests, and a ticker has something to
 * do every 10 ms.  All of them need the lock of the stock, and now and then a PUT writes for 20 ms
 * while it has that; with "fixed" it writes later.
 *
 * usage: shop [SECONDS [fixed]]
 *
 *     cc -Itests/peer -o shop tests/peer/shop.c -llttng-ust -ldl
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "shop-tracepoints.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { GET, PUT };

static pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint last_id;
static bool is_fixed;

static void nap(unsigned int us)
{
	(void)usleep(us);
}

static void use_stock(unsigned int us)
{
	lttng_ust_tracepoint(shop, span_begin, "stock");
	(void)pthread_mutex_lock(&stock);
	nap(us);
	(void)pthread_mutex_unlock(&stock);
	lttng_ust_tracepoint(shop, span_end, "stock");
}

static void answer(unsigned int id)
{
	int kind = id % 4 == 0 ? PUT : GET;
	bool is_large = id % 20 == 0;

	lttng_ust_tracepoint(shop, request_begin, id, kind);
	lttng_ust_tracepoint(shop, span_begin, "lookup");
	nap(200);
	lttng_ust_tracepoint(shop, span_end, "lookup");
	use_stock(is_large && !is_fixed ? 20000 : 100);
	lttng_ust_tracepoint(shop, request_end, id, id % 25 == 7 ? 500 : 200);
	nap(is_large && is_fixed ? 20000 : 0);
}

static void *work(void *name)
{
	(void)pthread_setname_np(pthread_self(), name);
	for (;;) {
		answer(++last_id);
		nap(8000);
	}
	return NULL;
}

static void *tick(void *name)
{
	struct timespec next;

	(void)pthread_setname_np(pthread_self(), name);
	(void)clock_gettime(CLOCK_MONOTONIC, &next);
	for (;;) {
		lttng_ust_tracepoint(shop, tick_begin);
		(void)pthread_mutex_lock(&stock);
		nap(100);
		(void)pthread_mutex_unlock(&stock);
		lttng_ust_tracepoint(shop, tick_end);
		next.tv_nsec += 10000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char names[][16] = { "worker-0", "worker-1", "ticker" };
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 0;
	pthread_t thread;

	is_fixed = argc > 2 && strcmp(argv[2], "fixed") == 0;
	(void)pthread_create(&thread, NULL, work, names[0]);
	(void)pthread_create(&thread, NULL, work, names[1]);
	(void)pthread_create(&thread, NULL, tick, names[2]);
	nap((unsigned int)(seconds * 1e6));
	if (seconds <= 0) {
		(void)pause();
	}
	return 0;
}
