/*
 * owners: which thread of a timeline has a tid at a time.
 *
 * Two threads may have one tid: one after the other, or if one takes the tid of its leader (exec).
 */
#pragma once

#include "base/hash.h"
#include "deep/timeline.h"

HASH_MAP(newest, uint32_t)

struct owners {
	const struct timeline *timeline;
	struct newest newest; /* index of the newest thread, by tid */
	uint32_t *before;     /* index of the thread before with the same tid, by thread */
	struct newest former; /* the same of threads that had another tid first, by that one */
	uint32_t *former_before;
	uint64_t taken_ts; /* when a thread last took another's tid (exec) ... */
	int32_t taken;     /* ... and that tid */
};

void owners_init(struct owners *owners, const struct timeline *timeline);
void owners_fini(struct owners *owners);

/* The event at @ts by which a thread took this tid was read. */
void owners_taken(struct owners *owners, int32_t tid, uint64_t ts);

/* The thread that has this tid from @begin to @end and is @who (a tid or a name; NULL or "": any).
 * NOBODY: none. */
uint32_t owners_at(const struct owners *owners, int32_t tid, const char *who, uint64_t begin,
		   uint64_t end);
/* The thread that had this tid before @until, lived at @begin and is @who.  NOBODY: none. */
uint32_t owners_since(const struct owners *owners, int32_t tid, const char *who, uint64_t begin,
		      uint64_t until);
