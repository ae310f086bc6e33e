/*
 * links: which threads wake each other (doc/definitions.md, 7.5).
 */
#ifndef SILLAGE_DEEP_LINKS_H
#define SILLAGE_DEEP_LINKS_H

#include "deep/timeline.h"

/* A thread that a chain of wake-ups, in either direction, leads to from the one asked about. */
struct link {
	uint32_t thread;
	uint32_t hops;         /* 1: directly */
	uint64_t wakes, woken; /* how often it woke that one, and was woken by it */
};

struct links {
	VEC(struct link) at; /* nearest first, then most often */
};

/* Of wake-ups by threads in the timeline's range. */
void links_find(const struct timeline *timeline, uint32_t thread, struct links *links);
void links_fini(struct links *links);

#endif
