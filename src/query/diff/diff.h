/*
 * diff: differences of counters, from the first event of what has "diff" (query/expression.h) to
 * the last one: of periods, executions and calls.
 *
 *     first event ── diff_put() ──► words ── diff_new() ──► what is open ─┐
 *     last event  ── diff_put() ──► words ────────────────────────────────┴─ diff_between()
 *
 * A counter of a thread says something of what begins and ends on one, and a counter of a CPU of
 * what does on one CPU.  What cannot be told is not measured: it has no 0.
 */
#pragma once

#include "base/codec.h"
#include "query/expression.h"
#include "query/fields.h"

/* Words of an event: a bit for each counter that it has and one for each below 0, and all. */
enum { DIFF_HAS, DIFF_FIRST };
#define DIFF_WORDS_MAX (DIFF_FIRST + EXPRESSION_DIFFS_MAX)

static inline size_t diff_words(size_t count)
{
	return count > 0 ? DIFF_FIRST + count : 0;
}

/* Fills so many words, as the event has the @count fields @diffs. */
void diff_put(uint64_t *words, const uint8_t *diffs, size_t count,
	      const struct fields_event *event);

/* Those of the first event. */
struct diff_begin {
	uint64_t cpu;
	int64_t thread; /* the key of that it happened on; 0: unknown */
	uint64_t words[DIFF_WORDS_MAX];
};

/* From malloc(); NULL: there is no "diff". */
struct diff_begin *diff_new(const struct expression *is, uint64_t cpu, int64_t thread,
			    const uint64_t *words);
/* NULL is fine. */
struct diff_begin *diff_copy(const struct diff_begin *begin);
void diff_codec(struct codec *codec, struct diff_begin **begin);

/* The last event. */
struct diff_end {
	uint64_t cpu;
	int64_t thread; /* as in the first event's */
	const uint64_t *words;
	const uint8_t *at; /* by field of "diff", which of the words; NULL: the same one */
	bool is_of_thread; /* by what they are, both events are about one thread */
};

/* All zero: nothing was measured. */
struct diff_values {
	uint8_t has; /* by bit */
	uint64_t of[EXPRESSION_DIFFS_MAX];
};
_Static_assert(EXPRESSION_DIFFS_MAX <= 8, "a bit for each");

/* @begin: NULL: nothing is measured. */
struct diff_values diff_between(const struct expression *is, const struct diff_begin *begin,
				const struct diff_end *end);
void diff_values_codec(struct codec *codec, struct diff_values *values);

/* The sum, which ends at 2^64 - 1. */
static inline uint64_t diff_sum(uint64_t sum, uint64_t value)
{
	return sum > UINT64_MAX - value ? UINT64_MAX : sum + value;
}
