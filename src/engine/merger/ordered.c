/*
 * ordered: see ordered.h.
 */
#include "engine/merger/ordered.h"

#include <stdlib.h>

#include "base/check.h"

void ordered_init(struct tables *tables)
{
	const struct setup *setup = tables->layout.setup;

	for (size_t a = 0; a < setup->analysis_count; a++) {
		if (setup->analyses[a]->trace_state_size > 0) {
			tables->states[a] = mem_alloc(setup->analyses[a]->trace_state_size);
		}
	}
}

void ordered_fini(struct tables *tables)
{
	const struct setup *setup = tables->layout.setup;

	for (size_t a = 0; a < setup->analysis_count; a++) {
		if (tables->states[a] && setup->analyses[a]->on_trace_forget) {
			setup->analyses[a]->on_trace_forget(tables->states[a]);
		}
		free(tables->states[a]);
	}
	vec_fini(&tables->ordered_events);
	vec_fini(&tables->ordered_sorted);
}

/* ---- order ---- */

#define DIGIT_BITS 12
#define DIGITS     (1u << DIGIT_BITS)

/* One pass of a radix sort: sorts @from by one digit of the time into @to. */
static void sort_digit(struct ordered_at *to, const struct ordered_at *from, size_t count,
		       unsigned int shift)
{
	uint32_t starts[DIGITS + 1] = { 0 };

	for (size_t i = 0; i < count; i++) {
		starts[(from[i].ts >> shift) % DIGITS + 1]++;
	}
	for (size_t i = 0; i < DIGITS; i++) {
		starts[i + 1] += starts[i];
	}
	assert(starts[DIGITS] == count); /* every event has its place */
	for (size_t i = 0; i < count; i++) {
		to[starts[(from[i].ts >> shift) % DIGITS]++] = from[i];
	}
}

/* Events of one thread lie in one array, in the order they were noted; the last of its life behind.
 */
ORDER(by_thread, struct ordered_at,
      UP(ordered->thread->view.tid) UP(ordered->thread->incarnation) UP(ordered->is_last)
	      UP(ordered))

/* Sorts events at one time by thread: the order in which shards noted them depends on the streams.
 */
static void sort_ties(struct ordered_at *ordered_events, size_t count)
{
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1;
		     end < count && ordered_events[end].ts == ordered_events[first].ts;) {
			end++;
		}
		if (end > first + 1) {
			qsort(ordered_events + first, end - first, sizeof(*ordered_events),
			      by_thread);
		}
	}
}

/* Sorts by time, which counts from the first event; @last is the maximum. */
static void sort(struct tables *tables, uint64_t last)
{
	size_t count = tables->ordered_events.count;

	vec_reserve(&tables->ordered_sorted, count);
	for (unsigned int shift = 0; shift < 64 && last >> shift > 0; shift += DIGIT_BITS) {
		struct ordered_at *from = tables->ordered_events.at,
				  *to = tables->ordered_sorted.at;
		size_t room = tables->ordered_events.room;

		sort_digit(to, from, count, shift);
		tables->ordered_events.at = to;
		tables->ordered_events.room = tables->ordered_sorted.room;
		tables->ordered_sorted.at = from;
		tables->ordered_sorted.room = room;
	}
	sort_ties(tables->ordered_events.at, count);
}

/* ---- rounds ---- */

/* Collects what the shards noted, and leaves them empty.  Returns the time of the last event, since
 * that of the first one. */
static uint64_t collect(struct tables *tables)
{
	uint64_t first = UINT64_MAX, last = 0;

	tables->ordered_events.count = 0;
	for (size_t s = 0; s < SHARDS; s++) {
		struct shard *shard = &tables->shards[s];

		for (size_t i = 0; i < shard->ordered_events.count; i++) {
			struct ordered *ordered = &shard->ordered_events.at[i];

			first = ordered->ts < first ? ordered->ts : first;
			last = ordered->ts > last ? ordered->ts : last;
			*vec_push(&tables->ordered_events) =
				(struct ordered_at){ ordered->ts, ordered };
		}
		shard->ordered_events.count = 0;
	}
	for (size_t i = 0; i < tables->ordered_events.count; i++) {
		tables->ordered_events.at[i].ts -= first;
	}
	return last - first;
}

#define ORDERED_AHEAD 4 /* events that are prefetched */

static void replay(struct tables *tables)
{
	const struct setup *setup = tables->layout.setup;

	for (size_t i = 0; i < tables->ordered_events.count; i++) {
		const struct ordered *ordered = tables->ordered_events.at[i].ordered;

		if (i + ORDERED_AHEAD < tables->ordered_events.count) {
			__builtin_prefetch(tables->ordered_events.at[i + ORDERED_AHEAD].ordered);
		}
		assert_hot(setup->analyses[ordered->owner]->on_ordered);
		tables->whole.running = ordered->owner;
		ordered->shard->running = ordered->owner;
		tables->whole.left_out = ordered->left_out;
		ordered->shard->left_out = ordered->left_out;
		setup->analyses[ordered->owner]->on_ordered(
			&tables->whole, tables->states[ordered->owner], ordered);
		ordered->shard->left_out = 0;
	}
	tables->whole.left_out = 0;
}

void ordered_run(struct tables *tables)
{
	uint64_t last = collect(tables);

	if (tables->ordered_events.count > 0) {
		sort(tables, last);
		replay(tables);
	}
}
