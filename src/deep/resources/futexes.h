/*
 * futexes: what calls on futexes mean; see resources.h.
 */
#pragma once

#include "deep/resources/track.h"

void futexes_enter(struct track *track, const struct reader_event *event, unsigned int kind);
void futexes_leave(struct track *track, struct task *task, const struct reader_event *event);
/* The thread's wait ends with this outcome at @ts. */
void futexes_end_wait(struct track *track, struct task *task, uint64_t ts, enum outcome outcome);
