/*
 * queues: what calls on POSIX message queues mean; see resources.h.
 */
#pragma once

#include "deep/resources/track.h"

void queues_enter(struct track *track, const struct reader_event *event, unsigned int kind);
void queues_leave(struct track *track, struct task *task, uint64_t ts, int64_t ret,
		  enum outcome outcome);
/* The call that opens a queue returns. */
void queues_opened(struct track *track, struct task *task, const struct reader_event *event);
void queues_close(struct track *track, const struct reader_event *event);
void queues_file(struct track *track, const struct reader_event *event);
/* The thread that receives was woken by a sender, or is not any more. */
void queues_handed(const struct track *track, struct track_call *call, bool is_handed);
