/*
 * queue: first in, first out, of elements that are linked by a member `next`; and lists in the
 * order of use, whose nodes are the first member of what they link.
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

/* ---- lists ---- */

struct list_node {
	struct list_node *before, *after;
};

/* All 0: an empty list. */
struct list {
	struct list_node *first, *last;
	size_t count;
};

/* Adds the node behind all others. */
static inline void list_add(struct list *list, struct list_node *node)
{
	node->before = list->last;
	node->after = NULL;
	*(list->last ? &list->last->after : &list->first) = node;
	list->last = node;
	list->count++;
}

static inline void list_remove(struct list *list, struct list_node *node)
{
	assert(list->count > 0);
	assert((list->first == node) == !node->before);
	assert((list->last == node) == !node->after);
	*(node->before ? &node->before->after : &list->first) = node->after;
	*(node->after ? &node->after->before : &list->last) = node->before;
	list->count--;
}
