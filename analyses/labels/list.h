/*
 * list: a list in the order of use, whose nodes are the first member of what it links.
 */
#pragma once

#include <assert.h>
#include <stddef.h>

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
