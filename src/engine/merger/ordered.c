/*
 * facts: see facts.h.
 */
#include "engine/merger/ordered.h"

#include <stdlib.h>

void facts_init(struct rows *rows)
{
	const struct setup *setup = rows->layout.setup;

	for (size_t a = 0; a < setup->analysis_count; a++) {
		if (setup->analyses[a]->trace_state_size > 0) {
			rows->states[a] = mem_alloc(setup->analyses[a]->trace_state_size);
		}
	}
}

void facts_fini(struct rows *rows)
{
	const struct setup *setup = rows->layout.setup;

	for (size_t a = 0; a < setup->analysis_count; a++) {
		if (rows->states[a] && setup->analyses[a]->on_trace_forget) {
			setup->analyses[a]->on_trace_forget(rows->states[a]);
		}
		free(rows->states[a]);
	}
	vec_fini(&rows->facts);
	vec_fini(&rows->facts_sorted);
}

/* ---- order ---- */

#define DIGIT_BITS 12
#define DIGITS     (1u << DIGIT_BITS)

/* Brings @from into the order of one digit of the time, into @to. */
static void sort_digit(struct fact_at *to, const struct fact_at *from, size_t count,
		       unsigned int shift)
{
	uint32_t starts[DIGITS + 1] = { 0 };

	for (size_t i = 0; i < count; i++) {
		starts[(from[i].ts >> shift) % DIGITS + 1]++;
	}
	for (size_t i = 0; i < DIGITS; i++) {
		starts[i + 1] += starts[i];
	}
	for (size_t i = 0; i < count; i++) {
		to[starts[(from[i].ts >> shift) % DIGITS]++] = from[i];
	}
}

/* Those of a thread are all in one array, in their order. */
static int by_thread(const void *left, const void *right)
{
	const struct fact *a = ((const struct fact_at *)left)->fact;
	const struct fact *b = ((const struct fact_at *)right)->fact;

	if (a->thread->view.tid != b->thread->view.tid) {
		return a->thread->view.tid < b->thread->view.tid ? -1 : 1;
	}
	if (a->thread->incarnation != b->thread->incarnation) {
		return a->thread->incarnation < b->thread->incarnation ? -1 : 1;
	}
	return a < b ? -1 : a > b;
}

/* Facts of one time are by thread: in which order shards had them depends on how many streams
 * there were. */
static void sort_ties(struct fact_at *facts, size_t count)
{
	for (size_t first = 0, end; first < count; first = end) {
		for (end = first + 1; end < count && facts[end].ts == facts[first].ts;) {
			end++;
		}
		if (end > first + 1) {
			qsort(facts + first, end - first, sizeof(*facts), by_thread);
		}
	}
}

/* Times are since the first one; @last is the greatest. */
static void sort(struct rows *rows, uint64_t last)
{
	size_t count = rows->facts.count;

	vec_reserve(&rows->facts_sorted, count);
	for (unsigned int shift = 0; shift < 64 && last >> shift > 0; shift += DIGIT_BITS) {
		struct fact_at *from = rows->facts.at, *to = rows->facts_sorted.at;
		size_t room = rows->facts.room;

		sort_digit(to, from, count, shift);
		rows->facts.at = to;
		rows->facts.room = rows->facts_sorted.room;
		rows->facts_sorted.at = from;
		rows->facts_sorted.room = room;
	}
	sort_ties(rows->facts.at, count);
}

/* ---- rounds ---- */

#define FACTS_AHEAD 4

void facts_run(struct rows *rows)
{
	uint64_t first = UINT64_MAX, last = 0;

	rows->facts.count = 0;
	for (size_t s = 0; s < SHARDS; s++) {
		struct shard *shard = &rows->shards[s];

		for (size_t i = 0; i < shard->facts.count; i++) {
			struct fact *fact = &shard->facts.at[i];

			first = fact->ts < first ? fact->ts : first;
			last = fact->ts > last ? fact->ts : last;
			*vec_push(&rows->facts) = (struct fact_at){ fact->ts, fact };
		}
		shard->facts.count = 0;
	}
	if (rows->facts.count == 0) {
		return;
	}
	for (size_t i = 0; i < rows->facts.count; i++) {
		rows->facts.at[i].ts -= first;
	}
	sort(rows, last - first);
	for (size_t i = 0; i < rows->facts.count; i++) {
		const struct fact *fact = rows->facts.at[i].fact;

		if (i + FACTS_AHEAD < rows->facts.count) {
			__builtin_prefetch(rows->facts.at[i + FACTS_AHEAD].fact);
		}
		rows->whole.running = fact->owner;
		fact->shard->running = fact->owner;
		rows->layout.setup->analyses[fact->owner]->on_fact(&rows->whole,
								   rows->states[fact->owner], fact);
	}
}
