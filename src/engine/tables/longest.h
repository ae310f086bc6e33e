/*
 * longest: the longest instances of something, in order, up to a bound.
 */
#ifndef SILLAGE_ENGINE_TABLES_LONGEST_H
#define SILLAGE_ENGINE_TABLES_LONGEST_H

#include "base/limits.h"
#include "base/mem.h"
#include "engine/contract/analysis.h"
#include "engine/tables/report.h"

struct layout;

struct shown_instance {
	struct instance instance; /* its thread is not to be used any more */
	struct thread_view view;
	bool has_view;
};

/* Their order: longest first, then so that it does not matter in which they came.  Threads may be
 * NULL. */
int longest_compare(const struct instance *a, const struct thread_view *a_thread,
		    const struct instance *b, const struct thread_view *b_thread);

/* How many are shown where the first @top rows are. */
static inline size_t longest_shown(size_t top)
{
	return top < LONGEST_MIN ? LONGEST_MIN : top > LONGEST_MAX ? LONGEST_MAX : top;
}

/* The longest so far, in order. */
struct longest {
	size_t room;
	uint64_t min_ns, max_ns; /* others are not wanted */
	VEC(struct shown_instance) all;
};

/* Whether one of @ns may be one of them. */
static inline bool longest_may_have(const struct longest *longest, uint64_t ns)
{
	size_t count = longest->all.count;

	return ns >= longest->min_ns && ns <= longest->max_ns &&
	       (count < longest->room || ns >= longest->all.at[count - 1].instance.ns);
}

void longest_add(struct longest *longest, const struct instance *instance);
/* Notes who the threads are: they may go when the window has closed. */
void longest_collect(struct longest *to, struct longest *from);
void longest_move(struct longest *to, struct longest *from);

/* One for each table of the longest in the layout. */
struct longest *longest_new(const struct layout *layout);
void longest_free(const struct layout *layout, struct longest *longest);

#endif
