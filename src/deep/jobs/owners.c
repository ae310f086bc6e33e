/*
 * owners: see owners.h.
 */
#include "deep/jobs/owners.h"

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

uint32_t owners_at(const struct owners *owners, int32_t tid, const char *who, uint64_t begin,
		   uint64_t end)
{
	khint_t at = kh_get(newest, owners->newest, (uint64_t)(uint32_t)tid);
	uint32_t i = at == kh_end(owners->newest) ? NOBODY : kh_value(owners->newest, at);

	for (size_t r = 0; r < owners->renamed.count; r++) {
		const struct deep_thread *thread =
			owners->timeline->threads.at[owners->renamed.at[r]];

		if (thread->former_tid == tid && thread->birth <= begin &&
		    thread->renamed_ts >= end && is_meant(thread, who)) {
			return owners->renamed.at[r];
		}
	}
	for (; i != NOBODY; i = owners->before[i]) {
		const struct deep_thread *thread = owners->timeline->threads.at[i];

		if (has_tid(owners, thread, end) && thread->birth <= begin && thread->end >= end &&
		    is_meant(thread, who)) {
			return i;
		}
	}
	return NOBODY;
}

/* Chains the threads of each tid, the newest first. */
void owners_init(struct owners *owners, const struct timeline *timeline)
{
	memset(owners, 0, sizeof(*owners));
	owners->timeline = timeline;
	owners->newest = kh_init(newest);
	owners->before = mem_alloc((timeline->threads.count + 1) * sizeof(*owners->before));
	for (uint32_t i = 0; i < timeline->threads.count; i++) {
		int is_new;
		khint_t at = kh_put(newest, owners->newest,
				    (uint64_t)(uint32_t)timeline->threads.at[i]->tid, &is_new);

		owners->before[i] = is_new ? NOBODY : kh_value(owners->newest, at);
		kh_value(owners->newest, at) = i;
		if (timeline->threads.at[i]->renamed_ts != 0) {
			*vec_push(&owners->renamed) = i;
		}
	}
}

uint32_t owners_since(const struct owners *owners, int32_t tid, const char *who, uint64_t begin,
		      uint64_t until)
{
	const struct deep_thread *const *threads =
		(const struct deep_thread *const *)owners->timeline->threads.at;
	khint_t at = kh_get(newest, owners->newest, (uint64_t)(uint32_t)tid);
	uint32_t i = at == kh_end(owners->newest) ? NOBODY : kh_value(owners->newest, at);
	uint32_t found = NOBODY;

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
	kh_destroy(newest, owners->newest);
	free(owners->before);
	vec_fini(&owners->renamed);
}
