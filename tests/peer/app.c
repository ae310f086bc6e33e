/*
 * app: a traced program for the tests, with a field of every kind LTTng-UST has.
 *
 * usage: app COUNT DELAY_US      emits COUNT rounds of events
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "app-tracepoints.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned int count = argc > 1 ? (unsigned int)strtoul(argv[1], NULL, 10) : 1;
	unsigned int delay_us = argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 0;
	static const uint16_t numbers[] = { 1, 2, 3, 5, 8, 13, 21, 34 };
	char text[32];

	for (unsigned int i = 0; i < count; i++) {
		text[0] = '\0'; /* every seventh is empty */
		if (i % 7 != 0) {
			(void)snprintf(text, sizeof(text), "round %u", i);
		}
		lttng_ust_tracepoint(sillage_test, scalars, (int)i * -3, i, 1.5f * (float)i,
				     -0.25 * i);
		lttng_ust_tracepoint(sillage_test, texts, text, "abc", i % 4);
		lttng_ust_tracepoint(sillage_test, sequences, numbers, i % 9, text);
		if (delay_us > 0) {
			(void)usleep(delay_us);
		}
	}
	return 0;
}
