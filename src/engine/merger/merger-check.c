/*
 * merger-check: the invariants of the merger as a whole; see merger.h.
 *
 * merger_is_sound() has those that a checkpoint may violate, since its bytes are untrusted.
 * merger_check() asserts these and all others, at both ends of the public functions.
 */
#include <assert.h>

#include "engine/merger/cpus.h"
#include "engine/merger/merger-state.h"

/* ---- what a checkpoint may violate ---- */

/* cpus_take() writes into the group of the first gap. */
static bool gap_is_sound(const struct partial *partial)
{
	return partial->initial != INITIAL_GAP || partial->initial_group < partial->groups.count;
}

/* Partials before next_seq have been taken; the one with next_seq would have been. */
static bool early_is_sound(const struct merger_stream *stream)
{
	for (size_t i = 0; i < stream->early.count; i++) {
		if (stream->early.at[i].seq <= stream->next_seq ||
		    !gap_is_sound(stream->early.at[i].partial)) {
			return false;
		}
	}
	return true;
}

/* The last of those that are ready will be stitched; before the merger starts, all of them. */
static bool ready_is_sound(const struct merger_stream *stream)
{
	size_t count = stream->ready.count;

	if (stream->waiting > count || (!stream->merger->has_started && stream->waiting < count)) {
		return false;
	}
	for (size_t i = count - stream->waiting; i < count; i++) {
		if (!gap_is_sound(stream->ready.at[i])) {
			return false;
		}
	}
	return count <= stream->next_seq;
}

static bool renames_in_order(const struct merger *merger)
{
	for (size_t i = 1; i < merger->renames.count; i++) {
		if (merger->renames.at[i].ts < merger->renames.at[i - 1].ts) {
			return false;
		}
	}
	return true;
}

static bool holes_in_order(const struct merger *merger)
{
	for (size_t i = 1; i < merger->holes.count; i++) {
		if (merger->holes.at[i] < merger->holes.at[i - 1]) {
			return false;
		}
	}
	return true;
}

static bool window_is_sound(const struct merger *merger)
{
	if (!merger->has_started || merger->window_begin >= merger->setup->range_end) {
		return true; /* no window is open */
	}
	return merger->closed_end <= merger->window_begin &&
	       merger->window_begin <= merger->close_at && merger->close_at <= merger->window_end;
}

static bool cpus_are_sound(const struct merger *merger)
{
	bool all = true;

	merger_each_cpu(merger, cpu, all &= cpus_is_sound(cpu));
	return all;
}

/* Rounds go on from the last bound, which the open window contains. */
static bool bound_is_sound(const struct merger *merger)
{
	return !merger->has_started || merger->window_begin >= merger->setup->range_end ||
	       merger->last_bound <= merger->window_end;
}

bool merger_is_sound(const struct merger *merger)
{
	for (size_t i = 0; i < merger->streams.count; i++) {
		const struct merger_stream *stream = merger->streams.at[i];

		if (!early_is_sound(stream) || !ready_is_sound(stream)) {
			return false;
		}
	}
	return renames_in_order(merger) && holes_in_order(merger) && window_is_sound(merger) &&
	       bound_is_sound(merger) && cpus_are_sound(merger);
}

/* ---- all ---- */

static size_t bytes_of(const struct merger_stream *stream)
{
	size_t bytes = 0;

	for (size_t i = 0; i < stream->early.count; i++) {
		bytes += stream->early.at[i].partial->held_bytes;
	}
	for (size_t i = 0; i < stream->ready.count; i++) {
		bytes += stream->ready.at[i]->held_bytes;
	}
	return bytes;
}

static void check_stream(const struct merger *merger, const struct merger_stream *stream, size_t at)
{
	assert(stream->merger == merger);
	assert(stream->ordinal == at);
	assert(!stream->cpu || stream->is_identified);
	assert(!stream->owns_cpu || (stream->cpu && stream->cpu->owner == stream));
	assert(early_is_sound(stream));
	assert(ready_is_sound(stream));
	for (size_t i = 0; i < stream->ready.count; i++) {
		assert(stream->ready.at[i]->slices_used <= stream->ready.at[i]->slices.count);
	}
}

static void check_round(const struct merger *merger)
{
	assert(merger->tasks_running <= SHARDS);
	assert(merger->is_round_open || merger->tasks_running == 0);
	assert(merger->is_round_open || !merger->closes);
	assert(merger->order.count == 0 || merger->order.count == merger->streams.count);
	assert(bound_is_sound(merger) || merger->last_bound == UINT64_MAX); /* merger_finish() */
}

static uint32_t count_initial(const struct merger *merger)
{
	uint32_t count = 0;

	merger_each_cpu(merger, cpu, count += cpus_is_awaited(cpu));
	return count;
}

static void check_lowest(const struct merger *merger)
{
	const struct merger_stream *lowest = merger->lowest;

	for (size_t i = 0; lowest && i < merger->streams.count; i++) {
		const struct merger_stream *stream = merger->streams.at[i];

		assert(stream->is_ended || stream->is_excluded || !lowest->has_until ||
		       (stream->has_until && stream->until >= lowest->until));
	}
	assert(!lowest || (!lowest->is_ended && !lowest->is_excluded));
}

/* Whether all streams of the CPU have ended, and how far they came. */
static bool has_left(const struct merger *merger, const struct cpu *cpu)
{
	bool left = true;

	VEC_EACH_OF(&merger->streams, stream) {
		left &= stream->cpu != cpu || stream->identity.is_beside ||
			(stream->is_ended && !stream->is_cut &&
			 merger_stream_until(stream) <= cpu->heard_until);
	}
	return left;
}

void merger_check(const struct merger *merger)
{
	size_t held = 0, waiting = 0;

	for (size_t i = 0; i < merger->streams.count; i++) {
		check_stream(merger, merger->streams.at[i], i);
		held += bytes_of(merger->streams.at[i]);
		waiting += merger->streams.at[i]->waiting;
	}
	check_lowest(merger);
	assert(merger->waiting == waiting);
	assert(merger->held_bytes == held);
	assert(merger->initial_count == count_initial(merger));
	assert(renames_in_order(merger));
	assert(holes_in_order(merger));
	assert(window_is_sound(merger));
	check_round(merger);
	merger_each_cpu(merger, cpu, {
		cpus_check(cpu);
		assert(merger->ends_changed || !merger->has_started ||
		       cpu->has_left == has_left(merger, cpu));
	});
}
