/*
 * partial: lifecycle.
 */
#include "engine/partial.h"

struct partial *partial_new(void)
{
	struct partial *partial = mem_alloc(sizeof(*partial));

	partial->first_ts = UINT64_MAX;
	partial->head_ts = UINT64_MAX;
	partial->head_name = NAME_NONE;
	return partial;
}

void partial_free(struct partial *partial)
{
	if (!partial) {
		return;
	}
	vec_fini(&partial->slices);
	vec_fini(&partial->tallies);
	vec_fini(&partial->records);
	vec_fini(&partial->names);
	vec_fini(&partial->numbers);
	vec_fini(&partial->faults);
	free(partial);
}

size_t partial_bytes(const struct partial *partial)
{
	return sizeof(*partial) + partial->slices.room * sizeof(struct slice) +
	       partial->tallies.room * sizeof(struct tally) +
	       partial->records.room * sizeof(struct record) +
	       partial->names.room * sizeof(struct name) +
	       partial->numbers.room * sizeof(uint64_t) +
	       partial->faults.room * sizeof(struct partial_fault);
}
