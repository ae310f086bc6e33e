/*
 * counters: differences of counters, from the begin of a period or an execution to its end: of what
 * has "diff" (query/expression.h).
 *
 * A counter of a thread says something of what begins and ends on one, and a counter of a CPU of
 * what does on one CPU.  What cannot be told is not measured: it has no 0.
 */
#pragma once

#include "analyses/labels/labels.h"
#include "query/expression.h"

/* Words of an event: the thread's key, a bit for each counter that the event has and one for each
 * below 0, and all. */
enum { COUNTER_THREAD, COUNTER_HAS, COUNTER_FIRST };
#define COUNTERS_WORDS_MAX (COUNTER_FIRST + EXPRESSION_DIFFS_MAX)

static inline size_t counters_words(const struct expression *is)
{
	return is->diff_count > 0 ? COUNTER_FIRST + is->diff_count : 0;
}

/* Fills so many words, as the event has the fields @diffs. */
void counters_put(uint64_t *words, const struct expression *is, const uint8_t *diffs,
		  const struct fields_event *event, int64_t thread);

/* Those of a begin; from malloc(). */
struct counters {
	uint64_t cpu, words[COUNTERS_WORDS_MAX];
};

/* NULL: of no interest. */
struct counters *counters_new(const struct expression *is, uint64_t cpu, const uint64_t *words);
void counters_codec(struct codec *codec, struct counters **counters);

/* From a begin to an end. */
struct counters_span {
	const struct expression *is;
	const struct items *items;    /* of its row; NULL: none */
	const struct counters *begin; /* NULL: of no interest */
	uint64_t cpu;                 /* of the end */
	const uint64_t *words;        /* the same */
	bool by_thread;               /* it is of one thread anyway */
};

/* A table of differences: COUNTERS_TABLE. */
enum { DIFF_MEASURED, DIFF_TOTAL, DIFF_LARGEST };
#define COUNTERS_TABLE                                                                             \
	.key = "differences", .scope = SCOPE_KEYED, .name_key = "name", .title = "DIFFERENCE",     \
	.sort_mask = 1u << DIFF_TOTAL,                                                             \
	.columns = {                                                                               \
		[DIFF_MEASURED] = { "measured", "MEASURED", UNIT_COUNT },                          \
		[DIFF_TOTAL] = { "total", "TOTAL", UNIT_COUNT, .is_capped = true },                \
		[DIFF_LARGEST] = { "largest", "LARGEST", UNIT_COUNT, COLUMN_MAX },                 \
	}

/* Adds the differences that can be told to rows "NAME FIELD ITEMS". */
void counters_add(struct shard *shard, unsigned int table, const struct counters_span *span);
/* Of such a row: its items, and "NAME FIELD" before them. */
const char *counters_row_items(const char *row,
			       char named[PATTERN_NAME_BYTES + PATTERN_WORD_BYTES]);
