/*
 * calls: a program that makes system calls at a rate, for recorders.
 *
 * usage: calls RATE SECONDS        RATE: calls in a second; prints how many it made
 *
 * Each call is two events of a tracer, its entry and its exit.  In each millisecond it makes its
 * calls one after the other and sleeps until the next one, so a recorder has to keep up with
 * bursts.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 1000000

static void sleep_until(uint64_t at_ns)
{
	const struct timespec at = { .tv_sec = (time_t)(at_ns / 1000000000),
				     .tv_nsec = (long)(at_ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
	}
}

int main(int argc, char **argv)
{
	uint64_t rate = argc == 3 ? strtoull(argv[1], NULL, 10) : 0, done = 0, at;
	uint64_t ticks = argc == 3 ? strtoull(argv[2], NULL, 10) * 1000 : 0;
	struct timespec now;

	if (rate == 0 || ticks == 0) {
		(void)fprintf(stderr, "usage: calls RATE SECONDS\n");
		return 2;
	}
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	at = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	for (uint64_t tick = 1; tick <= ticks; tick++) {
		for (; done < rate * tick / 1000; done++) {
			(void)syscall(SYS_getppid);
		}
		sleep_until(at += TICK_NS);
	}
	(void)printf("%llu\n", (unsigned long long)done);
	return 0;
}
