/*
 * visits: the threads that something goes over, which belongs to none of them: a chain of events, a
 * job, a message.
 */
#pragma once

#include <stdint.h>

#define VISITS_MAX 8

struct visits {
	uint64_t ts[VISITS_MAX];  /* ns: of its events, in order; the first VISITS_MAX */
	int32_t tids[VISITS_MAX]; /* that were running; 0 and below: unknown, or idle */
	uint8_t count;
};

static inline void visits_add(struct visits *visits, uint64_t ts, int32_t tid)
{
	if (visits->count < VISITS_MAX) {
		visits->ts[visits->count] = ts;
		visits->tids[visits->count++] = tid;
	}
}

/* Writes or reads them; what is read is in order. */
struct codec;
void visits_codec(struct codec *codec, struct visits *visits);
