/*
 * longest: the longest instances of something, in order, up to a bound.
 *
 * Instances that are equally long have an order, too.  So which are kept does not depend on the
 * order in which shards and workers found them.
 */
#pragma once

#include "base/limits.h"
#include "base/mem.h"
#include "engine/contract/analysis.h"
#include "engine/tables/report.h"

struct layout;

/*
 * An instance that outlives its thread.  While `instance.thread` is set, the thread is used; once
 * the instance was collected, `view` has what a report shows of it.  While the thread has a row,
 * longest_refresh() brings the view of a total up to date: process and name may become known later.
 */
struct shown_instance {
	struct instance instance;
	struct thread_view view;
	bool has_view;        /* then instance.thread is NULL */
	struct thread *owner; /* whose view it is; NULL: none, or it is not known any more */
	uint64_t owner_id;    /* its row id: its memory may be another thread's by now */
};

/* Whether it has what its table is named by; in most tables all have it, or none. */
static inline bool longest_is_named(const struct instance *instance)
{
	return instance->keyed.name[0] != '\0';
}

/* The order of instances: those with a name first, of these the longest; then by end, tid, CPU and
 * key.  Threads may be NULL. */
int longest_compare(const struct instance *a, const struct thread_view *a_thread,
		    const struct instance *b, const struct thread_view *b_thread);

/* How many instances are shown where the first @top rows are. */
static inline size_t longest_shown(size_t top)
{
	return top < LONGEST_MIN ? LONGEST_MIN : top > LONGEST_MAX ? LONGEST_MAX : top;
}

struct longest {
	size_t room;                    /* at most so many instances */
	uint64_t min_ns, max_ns;        /* others are not wanted */
	bool is_level;                  /* table.is_level */
	VEC(struct shown_instance) all; /* in order */
};

/* Whether an instance of @ns may be one of the longest, that has a name if the last one has. */
static inline bool longest_may_have(const struct longest *longest, uint64_t ns)
{
	size_t count = longest->all.count;

	return ns >= longest->min_ns && ns <= longest->max_ns &&
	       (count < longest->room || ns >= longest->all.at[count - 1].instance.ns);
}

void longest_add(struct longest *longest, const struct instance *instance);
/* Moves all, with a copy of what is shown of their threads: these may be freed when the window has
 * closed. */
void longest_collect(struct longest *to, struct longest *from);
/* Shows threads as they are now. */
/* @forget: rows of threads that ended may go. */
void longest_refresh(struct longest *longest, bool forget);
struct tables;
/* The thread, whose row id was @id, has another one. */
void longest_rename(struct tables *tables, const struct thread *thread, uint64_t id);
/* Moves those of a window that has closed to the total. */
void longest_close(struct longest *total, struct longest *window);
/* Moves all as they are. */
void longest_move(struct longest *to, struct longest *from);

/* An array with one for each table of the longest in the layout. */
struct longest *longest_new(const struct layout *layout);
void longest_free(const struct layout *layout, struct longest *longest);

/* Whether bounds and order hold.  @is_collected: and no instance uses its thread. */
bool longest_is_sound(const struct longest *longest, bool is_collected);
/* Asserts the same, one fact after the other. */
void longest_check(const struct longest *longest, bool is_collected);
