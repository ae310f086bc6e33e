/*
 * map-groups: groups and records (partial.h) of the slice that a worker is filling.
 *
 * They lie in its draft, in the order they are made, until the slice ends.  Groups are told by
 * their number in the draft.
 */
#ifndef SILLAGE_ENGINE_WORKER_RECORDS_H
#define SILLAGE_ENGINE_WORKER_RECORDS_H

#include <string.h>

#include "engine/worker/worker-state.h"

void worker_groups_init(struct worker *worker);
void worker_groups_fini(struct worker *worker);

/* No group goes on: what comes is of a new slice, or of other threads under the same tids. */
void worker_forget_groups(struct worker *worker);

/* The slice ends: its groups and records go into the partial. */
void worker_take_slice(struct worker *worker);

/* The newest group of a key; a new one. */
uint32_t worker_group_of(struct worker *worker, int64_t key);
uint32_t worker_group_new(struct worker *worker, int64_t key);
/* The group of @tid under @name, if that is not NULL. */
uint32_t worker_group_named(struct worker *worker, int32_t tid, const char *name);

/* The name of a text field: as traced if it is an array, which kernel tracers write. */
const char *worker_name_bytes(const struct value *value, char scratch[NAME_BYTES]);

static inline struct group *worker_group(struct worker *worker, uint32_t group)
{
	return &worker->draft->groups.at[group];
}

static inline void worker_group_set_name(struct group *group, const char name[NAME_BYTES])
{
	memcpy(group->name, name, NAME_BYTES);
	group->has_name = true;
}

/* Whether what goes into @group goes under @name; it takes a first name. */
static inline bool worker_group_goes_by(struct group *group, const char name[NAME_BYTES])
{
	if (group->is_weak) {
		return false;
	}
	if (!group->has_name) {
		worker_group_set_name(group, name);
	}
	return memcmp(group->name, name, NAME_BYTES) == 0;
}

/* How many records of the chunk were made. */
static inline size_t worker_records(const struct worker *worker)
{
	return worker->partial->made.count + worker->draft->records.count;
}

/* One of them, by the order in which they were made. */
static inline struct record *worker_record(struct worker *worker, size_t number)
{
	size_t taken = worker->partial->made.count;

	return number < taken ? partial_made(worker->partial, number)
			      : &worker->draft->records.at[number - taken];
}

static inline struct record *worker_add(struct worker *worker, uint32_t group, uint64_t ts,
					enum record_kind kind)
{
	uint32_t index = partial_add_record(worker->draft, group, ts, kind);

	return &worker->draft->records.at[index];
}

#endif
