/*
 * queue: first in, first out, of elements that are linked by a member `next`.
 *
 *     QUEUE(struct job) jobs = { 0 };
 *     queue_push(&jobs, job);
 *     job = queue_pop(&jobs);        NULL: it is empty
 *
 * The queue does not own its elements.  An element is in one queue at a time; outside of queues its
 * `next` is NULL.
 */
#pragma once

#include <assert.h>
#include <stddef.h>

#define QUEUE(type)                                                                                \
	struct {                                                                                   \
		type *first, *last; /* last: meaningless while first is NULL */                    \
	}

#define queue_push(queue, item)                                                                    \
	do {                                                                                       \
		__typeof__(queue) q_ = (queue);                                                    \
		__typeof__(q_->first) item_ = (item);                                              \
		assert(!item_->next);                                                              \
		*(q_->first ? &q_->last->next : &q_->first) = item_;                               \
		q_->last = item_;                                                                  \
	} while (0)

#define queue_pop(queue)                                                                           \
	({                                                                                         \
		__typeof__(queue) q_ = (queue);                                                    \
		__typeof__(q_->first) item_ = q_->first;                                           \
		if (item_) {                                                                       \
			q_->first = item_->next;                                                   \
			item_->next = NULL;                                                        \
		}                                                                                  \
		item_;                                                                             \
	})
