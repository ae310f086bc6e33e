/*
 * records: the groups and records (partial.h) of a worker's open slice.
 *
 * They lie in the worker's draft, in the order they are made, until the slice ends.  A group is
 * referred to by its index in the draft, a record by its number in the chunk.
 */
#pragma once

#include <string.h>

#include "base/check.h"
#include "engine/worker/worker-state.h"

void worker_groups_init(struct worker *worker);
void worker_groups_fini(struct worker *worker);

/* Records that follow go to new groups: they are of a new slice, or of other threads with the same
 * tids. */
void worker_forget_groups(struct worker *worker);

/* The slice ends: moves its groups and records to the partial. */
void worker_take_slice(struct worker *worker);

/* The newest group of @key in the slice, and always a new group. */
uint32_t worker_group_of(struct worker *worker, int64_t key);
uint32_t worker_group_new(struct worker *worker, int64_t key);
/* The newest group of @tid that has this name.  @name may be NULL: any. */
uint32_t worker_group_named(struct worker *worker, int32_t tid, const char *name);

/* The name in a text field: in place if it is an array of NAME_BYTES, which kernel tracers write,
 * else in @scratch. */
const char *worker_name_bytes(const struct value *value, char scratch[NAME_BYTES]);

static inline struct group *worker_group(const struct worker *worker, uint32_t group)
{
	assert_hot(group < worker->draft->groups.count);
	return &worker->draft->groups.at[group];
}

static inline void worker_group_set_name(struct group *group, const char name[NAME_BYTES])
{
	memcpy(group->name, name, NAME_BYTES);
	group->has_name = true;
}

/* Whether records of a thread called @name may go to @group.  A group without a name gets it. */
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

/* The number of records that were made in this chunk. */
static inline size_t worker_records(const struct worker *worker)
{
	return worker->partial->made.count + worker->draft->records.count;
}

/* The record that was made as the @number-th of the chunk.  Dies when the next one is made. */
static inline struct record *worker_record(struct worker *worker, size_t number)
{
	size_t taken = worker->partial->made.count;

	assert_hot(number < worker_records(worker));
	return number < taken ? partial_made(worker->partial, number)
			      : &worker->draft->records.at[number - taken];
}

/* Adds a record to a group of the draft; dies when the next one is made. */
static inline struct record *worker_add(struct worker *worker, uint32_t group, uint64_t ts,
					enum record_kind kind)
{
	uint32_t index;

	assert_hot(worker->has_slice);
	assert_hot(group < worker->draft->groups.count);
	index = partial_add_record(worker->draft, group, ts, kind);
	return &worker->draft->records.at[index];
}
