/*
 * partial-check: the invariants of a partial, see partial.h.
 *
 * Called in builds for development only: it walks over everything.
 */
#include <assert.h>

#include "engine/contract/partial.h"

/* ---- of any partial ---- */

/* Records of a group follow each other from @first on; returns how many. */
static uint32_t check_group(const struct partial *partial, uint32_t number, uint32_t first)
{
	const struct group *group = &partial->groups.at[number];
	const struct record *records = partial->records.at;

	assert(group->next == RECORD_NONE); /* the merger chains it */
	if (group->first == RECORD_NONE) {
		return 0;
	}
	assert(group->first == first);
	assert(group->last >= group->first);
	assert(group->last < partial->records.count);
	assert(group->ts == records[first].ts);
	for (uint32_t i = group->first; i <= group->last; i++) {
		assert(records[i].group == number);
		assert(records[i].next == (i < group->last ? i + 1 : RECORD_NONE));
	}
	return group->last - group->first + 1;
}

/* What the slices had before. */
struct passed {
	uint32_t tallies, keyed_rows, groups, records;
};

/* Its groups lie by shard, and those without one last. */
static void check_groups(const struct partial *partial, const struct slice *slice,
			 struct passed *passed)
{
	assert(slice->shards[0] == passed->groups);
	for (unsigned int place = 0; place <= SHARDS; place++) {
		assert(slice->shards[place] <= slice->shards[place + 1]);
		assert(slice->shards[place + 1] <= partial->groups.count);
		for (uint32_t i = slice->shards[place]; i < slice->shards[place + 1]; i++) {
			assert(partial_place(&partial->groups.at[i]) == place);
			passed->records += check_group(partial, i, passed->records);
		}
	}
	passed->groups += slice->group_count;
	assert(slice->shards[SHARDS + 1] == passed->groups);
}

static void check_slices(const struct partial *partial)
{
	struct passed passed = { 0 };

	for (size_t i = 0; i < partial->slices.count; i++) {
		const struct slice *slice = &partial->slices.at[i];

		assert(i == 0 || slice->window > slice[-1].window);
		assert(slice->tally_first == passed.tallies);
		assert(slice->keyed_first == passed.keyed_rows);
		assert(slice->chains == RECORD_NONE);
		assert(!slice->is_counted);
		check_groups(partial, slice, &passed);
		passed.tallies += slice->tally_count;
		passed.keyed_rows += slice->keyed_count;
	}
	assert(passed.tallies == partial->tallies.count);
	assert(passed.keyed_rows == partial->keyed_rows.count);
	assert(passed.groups == partial->groups.count);
	assert(passed.records == partial->records.count);
}

/* `made` has each record once. */
static void check_made(const struct partial *partial)
{
	size_t count = partial->made.count;
	bool *is_there = mem_alloc((count + 1) * sizeof(*is_there));

	assert(count == partial->records.count);
	for (size_t i = 0; i < count; i++) {
		assert(partial->made.at[i] < count);
		assert(!is_there[partial->made.at[i]]);
		is_there[partial->made.at[i]] = true;
	}
	free(is_there);
}

static void check_references(const struct partial *partial)
{
	for (size_t i = 0; i < partial->currents.count; i++) {
		uint32_t number = partial->currents.at[i].number;

		assert(number < partial->made.count);
		assert(partial->records.at[partial->made.at[number]].kind >= RECORD_OWN);
	}
	for (size_t i = 0; i < partial->keyed_rows.count; i++) {
		assert(partial->keyed_rows.at[i].numbers < partial->numbers.count);
		assert(partial->keyed_rows.at[i].name < partial->numbers.count);
	}
	if (partial->initial == INITIAL_GAP) {
		assert(partial->initial_group < partial->groups.count);
		assert(partial->groups.at[partial->initial_group].key == KEY_INITIAL);
	}
}

/* Who ran, as far as it is no record. */
static void check_running(const struct partial *partial)
{
	assert(partial->initial <= INITIAL_GAP);
	assert(partial->tail < RUN_KINDS);
	for (size_t i = 0; i < partial->segments.count; i++) {
		const struct segment *segment = &partial->segments.at[i];

		assert(segment->kind < RUN_KINDS);
		assert(segment->begin <= segment->end);
		assert(i == 0 || segment->begin >= segment[-1].end);
	}
	for (size_t i = 0; i < partial->renames.count; i++) {
		assert(partial->renames.at[i].from != partial->renames.at[i].to);
	}
}

void partial_check(const struct partial *partial)
{
	assert(partial->slices_used == 0);
	assert(partial->currents_told == 0);
	assert(partial->events > 0 || partial->first_ts == UINT64_MAX);
	assert(partial->events == 0 || partial->first_ts <= partial->last_ts);
	check_slices(partial);
	check_made(partial);
	check_references(partial);
	check_running(partial);
}

/* ---- of one that a worker made ---- */

/* A slice has one tally of a class, and its events are those of its tallies. */
static void check_tallies(const struct partial *partial, uint32_t classes)
{
	size_t *last_slice = mem_alloc((classes + (size_t)1) * sizeof(*last_slice));

	for (size_t i = 0; i < partial->slices.count; i++) {
		const struct slice *slice = &partial->slices.at[i];
		uint64_t events = 0;

		for (uint32_t k = 0; k < slice->tally_count; k++) {
			const struct tally *tally = &partial->tallies.at[slice->tally_first + k];

			assert(tally->class_index < classes);
			assert(tally->count > 0);
			assert(last_slice[tally->class_index] != i + 1);
			last_slice[tally->class_index] = i + 1;
			events += tally->count;
		}
		assert(slice->events == events);
	}
	free(last_slice);
}

static void check_order(const struct partial *partial)
{
	uint64_t last = 0;

	for (size_t i = 0; i < partial->made.count; i++) {
		const struct record *record = &partial->records.at[partial->made.at[i]];

		assert(record->ts >= last);
		last = record->ts;
	}
	assert(last <= partial->records_until);
	for (size_t i = 1; i < partial->currents.count; i++) {
		assert(partial->currents.at[i].number > partial->currents.at[i - 1].number);
	}
	for (size_t i = 1; i < partial->renames.count; i++) {
		assert(partial->renames.at[i].ts >= partial->renames.at[i - 1].ts);
	}
}

void partial_check_worker(const struct partial *partial, uint32_t classes)
{
	size_t segments = partial->segments.count;

	partial_check(partial);
	check_tallies(partial, classes);
	check_order(partial);
	assert(partial->initial == INITIAL_NONE || partial->initial_ts <= partial->tail_ts);
	assert(segments == 0 || partial->segments.at[segments - 1].end <= partial->tail_ts);
	assert(partial->tail_ts <= partial->records_until);
}
