/*
 * owners: see owners.h.
 */
#include "deep/executions/owners.h"

#include <stdlib.h>
#include <string.h>

/* @who: a tid or name; NULL or "": every thread. */
static bool is_meant(const struct deep_thread *thread, const char *who)
{
	return !who || !who[0] || timeline_thread_is(thread, who);
}

/* Whether the thread has its last tid at @ts.  Within the ns of the exec that gave it the tid: only
 * once that event was read. */
static bool has_tid(const struct owners *owners, const struct deep_thread *thread, uint64_t ts)
{
	if (owners->taken == thread->tid && owners->taken_ts == ts) {
		return thread->renamed_ts == ts;
	}
	return thread->renamed_ts == 0 || thread->renamed_ts < ts;
}

static uint32_t newest_of(const struct newest *by_tid, int32_t tid)
{
	uint32_t *at = newest_get(by_tid, (uint64_t)(uint32_t)tid);

	return at ? *at : NOBODY;
}

uint32_t owners_at(const struct owners *owners, int32_t tid, const char *who, uint64_t begin,
		   uint64_t end)
{
	uint32_t i = newest_of(&owners->former, tid);

	for (; i != NOBODY; i = owners->former_before[i]) {
		const struct deep_thread *thread = owners->timeline->threads.at[i];

		if (thread->birth <= begin && thread->renamed_ts >= end && is_meant(thread, who)) {
			return i;
		}
	}
	for (i = newest_of(&owners->newest, tid); i != NOBODY; i = owners->before[i]) {
		const struct deep_thread *thread = owners->timeline->threads.at[i];

		if (has_tid(owners, thread, end) && thread->birth <= begin && thread->end >= end &&
		    is_meant(thread, who)) {
			return i;
		}
	}
	return NOBODY;
}

/* Makes the thread the newest of the tid. */
static void chain(struct newest *by_tid, uint32_t *before, int32_t tid, uint32_t thread)
{
	bool is_new;
	uint32_t *at = newest_put(by_tid, (uint64_t)(uint32_t)tid, &is_new);

	before[thread] = is_new ? NOBODY : *at;
	*at = thread;
}

void owners_init(struct owners *owners, const struct timeline *timeline)
{
	size_t size = (timeline->threads.count + 1) * sizeof(*owners->before);

	memset(owners, 0, sizeof(*owners));
	owners->timeline = timeline;
	owners->before = mem_alloc(size);
	owners->former_before = mem_alloc(size);
	for (uint32_t i = 0; i < timeline->threads.count; i++) {
		const struct deep_thread *thread = timeline->threads.at[i];

		chain(&owners->newest, owners->before, thread->tid, i);
		if (thread->renamed_ts != 0) {
			chain(&owners->former, owners->former_before, thread->former_tid, i);
		}
	}
}

uint32_t owners_since(const struct owners *owners, int32_t tid, const char *who, uint64_t begin,
		      uint64_t until)
{
	const struct deep_thread *const *threads =
		(const struct deep_thread *const *)owners->timeline->threads.at;
	uint32_t i = newest_of(&owners->newest, tid), found = NOBODY;

	/* Two did if one took the tid of the other (exec): the one that lives longer. */
	for (; i != NOBODY; i = owners->before[i]) {
		if (threads[i]->birth <= begin && threads[i]->end >= begin &&
		    threads[i]->renamed_ts < until &&
		    (found == NOBODY || threads[i]->end > threads[found]->end)) {
			found = i;
		}
	}
	return found != NOBODY && is_meant(threads[found], who) ? found : NOBODY;
}

void owners_taken(struct owners *owners, int32_t tid, uint64_t ts)
{
	owners->taken = tid;
	owners->taken_ts = ts;
}

void owners_fini(struct owners *owners)
{
	newest_fini(&owners->newest);
	newest_fini(&owners->former);
	free(owners->before);
	free(owners->former_before);
}
