/*
 * rows: rows of resources and of their threads, intervals and pairs; see resources.h.
 */
#pragma once

#include "deep/resources/track.h"

/* The resource of this key; made if new.  NOBODY: there are too many. */
uint32_t rows_resource(struct track *track, enum resource_kind kind, int64_t pid, uint64_t address,
		       const char *name);
/* Its state is forgotten if events were missing since it was used. */
void rows_refresh(const struct track *track, uint32_t resource);
/* Adds the part of the interval in the range. */
void rows_interval(struct track *track, uint32_t resource, struct resource_interval interval);
/* The thread's row; a scratch one if there are too many. */
struct resource_member *rows_member(struct track *track, uint32_t resource, uint32_t thread);
void rows_pair(struct track *track, uint32_t resource, struct resource_pair pair, uint64_t ns);
void rows_sum(struct resource_sum *sum, uint64_t ns);
/* The part of [begin, end) in the range. */
uint64_t rows_part(const struct track *track, uint64_t begin, uint64_t end);
/* The thread used the resource at @ts. */
void rows_touch(const struct track *track, uint32_t resource, uint32_t thread, uint64_t ts);
/* Drops what is not touched, and sorts. */
void rows_finish(struct track *track);
