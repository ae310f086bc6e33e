/*
 * timers: what events of hrtimers mean; see resources.h.
 */
#pragma once

#include "deep/resources/track.h"

void timers_take(struct track *track, const struct reader_event *event, unsigned int kind);
/* A thread was woken from the timer's callback. */
void timers_wake(struct track *track, uint32_t timer, int32_t tid, uint64_t ts);
void timers_lose(struct resource *timer);
void timers_finish(struct track *track);
