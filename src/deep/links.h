/*
 * links: which threads wake each other (doc/definitions.md, 7.5).
 */
#pragma once

#include "deep/timeline.h"

/* A thread that a chain of wake-ups, in either direction, connects to the explained thread. */
struct link {
	uint32_t thread;
	uint32_t hops;         /* wake-ups in the shortest chain; 1: directly */
	uint64_t wakes, woken; /* hops 1: how often it woke that thread, and was woken by it */
};

struct links {
	VEC(struct link) at; /* nearest first, then most wake-ups */
};

/* Finds the threads linked to @thread by wake-ups in the timeline's range. */
void links_find(const struct timeline *timeline, uint32_t thread, struct links *links);
void links_fini(struct links *links);
