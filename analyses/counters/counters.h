/*
 * counters: differences of counters (query/diff/diff.h) in the rows of an analysis.
 */
#pragma once

#include "analyses/labels/labels.h"
#include "query/diff/diff.h"

/* Words beside a record: the key of the thread on which the event happened, and diff_put()'s. */
enum { COUNTERS_THREAD, COUNTERS_VALUES };
#define COUNTERS_WORDS_MAX (COUNTERS_VALUES + DIFF_WORDS_MAX)

static inline size_t counters_words(size_t count)
{
	return count > 0 ? COUNTERS_VALUES + diff_words(count) : 0;
}

/* Which fields of an event, and where it says on which thread it happened. */
struct counters_side {
	const uint8_t *diffs;
	size_t count;
	const struct thread_fields *running;
};

/* Fills so many words.  It may make a record. */
void counters_put(struct worker *worker, const struct trace_event *event,
		  const struct counters_side *side, const struct fields_event *of, uint64_t *words);

/* An event whose words these are, if there are any.  @noted: the tid of the thread that ran where
 * the worker did not know it; 0 and below: nobody does. */
struct counters_event {
	uint64_t cpu;
	const uint64_t *words;
	int32_t noted;
};

/* Of the first event, from malloc(); NULL: there is no "diff". */
struct diff_begin *counters_begin(const struct expression *is, const struct counters_event *event);
/* Up to the last event.  @at and @is_of_thread: as in struct diff_end. */
struct diff_values counters_between(const struct expression *is, const struct diff_begin *begin,
				    const struct counters_event *event, const uint8_t *at,
				    bool is_of_thread);

/* A table of differences: COUNTERS_TABLE. */
enum { COUNTERS_MEASURED, COUNTERS_TOTAL, COUNTERS_LARGEST };
#define COUNTERS_TABLE                                                                             \
	.key = "differences", .scope = SCOPE_KEYED, .name_key = "name", .title = "DIFFERENCE",     \
	.sort_mask = 1u << COUNTERS_TOTAL,                                                         \
	.columns = {                                                                               \
		[COUNTERS_MEASURED] = { "measured", "MEASURED", UNIT_COUNT },                      \
		[COUNTERS_TOTAL] = { "total", "TOTAL", UNIT_COUNT, .is_capped = true },            \
		[COUNTERS_LARGEST] = { "largest", "LARGEST", UNIT_COUNT, COLUMN_MAX },             \
	}

/* Adds what was measured to rows "NAME FIELD ITEMS".  @items: NULL: none. */
void counters_add(struct shard *shard, unsigned int table, const struct expression *is,
		  const char *name, const struct items *items, const struct diff_values *values);
/* Of such a row of a name without blanks: its items, and "NAME FIELD" before them. */
const char *counters_row_items(const char *row,
			       char named[PATTERN_NAME_BYTES + PATTERN_WORD_BYTES]);
