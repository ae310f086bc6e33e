/*
 * requests: a program that is traced, and that notes when by itself; as C and as C++.
 *
 * usage: requests LOG REQUESTS
 *
 * It says "ready", and begins when its standard input ends, so that several can begin at once.
 * Two requests are open at once: each second one ends before the one that it began in.  A line of
 * LOG is ID KIND STATUS and four times (ns, CLOCK_MONOTONIC): before and after the begin, before
 * and after the end.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "shop-tracepoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum kind { GET, PUT };

struct request {
	int id, status;
	enum kind kind;
	long long times[4];
};

static long long now(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void work(long us)
{
	struct timespec pause = { 0, us * 1000 };

	(void)nanosleep(&pause, NULL);
}

static void begin(struct request *one, int id)
{
	one->id = id;
	one->kind = id % 3 == 0 ? PUT : GET;
	one->status = id % 5 == 0 ? 503 : 200;
	one->times[0] = now();
	lttng_ust_tracepoint(shop, request_begin, (uint32_t)one->id, (int)one->kind);
	one->times[1] = now();
}

static void end(struct request *one, FILE *log)
{
	one->times[2] = now();
	lttng_ust_tracepoint(shop, request_end, (uint32_t)one->id, one->status);
	one->times[3] = now();
	(void)fprintf(log, "%d %s %d %lld %lld %lld %lld\n", one->id,
		      one->kind == PUT ? "PUT" : "GET", one->status, one->times[0], one->times[1],
		      one->times[2], one->times[3]);
}

int main(int argc, char **argv)
{
	FILE *log = argc > 2 ? fopen(argv[1], "w") : NULL;
	struct request outer, inner;

	if (log == NULL) {
		return 1;
	}
	(void)puts("ready");
	(void)fflush(stdout);
	(void)getchar();
	for (int id = 0; id < atoi(argv[2]); id += 2) {
		begin(&outer, id);
		work(300);
		begin(&inner, id + 1);
		work(200);
		end(&outer, log);
		work(100);
		end(&inner, log);
	}
	return fclose(log) == 0 ? 0 : 1;
}
