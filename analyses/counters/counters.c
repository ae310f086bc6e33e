/*
 * counters: see counters.h.
 */
#include "analyses/counters/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/contract/partial.h"

void counters_put(struct worker *worker, const struct trace_event *event,
		  const struct counters_side *side, const struct fields_event *of, uint64_t *words)
{
	if (side->count > 0) {
		words[COUNTERS_THREAD] = (uint64_t)worker_thread_of(worker, event, side->running);
		diff_put(words + COUNTERS_VALUES, side->diffs, side->count, of);
	}
}

/* The key of the thread; 0: unknown, or it is the idle one, of which each CPU has another. */
static int64_t happened_on(const struct counters_event *event)
{
	int64_t thread = (int64_t)event->words[COUNTERS_THREAD];

	thread = thread == TID_CURRENT ? event->noted : thread;
	return thread > 0 || key_is_user(thread) ? thread : 0;
}

struct diff_begin *counters_begin(const struct expression *is, const struct counters_event *event)
{
	return is->diff_count > 0 ? diff_new(is, event->cpu, happened_on(event),
					     event->words + COUNTERS_VALUES)
				  : NULL;
}

struct diff_values counters_between(const struct expression *is, const struct diff_begin *begin,
				    const struct counters_event *event, const uint8_t *at,
				    bool is_of_thread)
{
	struct diff_end end = { .cpu = event->cpu, .at = at, .is_of_thread = is_of_thread };

	if (!begin) {
		return (struct diff_values){ 0 };
	}
	end.thread = happened_on(event);
	end.words = event->words + COUNTERS_VALUES;
	return diff_between(is, begin, &end);
}

/* "NAME FIELD ITEM ITEM"; from malloc(). */
static char *difference_name(const struct expression *is, const char *name,
			     const struct items *items, size_t i)
{
	const char *one = items ? items->at[0] : NULL, *other = items ? items->at[1] : NULL;

	return mem_printf("%s %s%s%s%s%s", name, expression_shown(is, is->diffs[i]), one ? " " : "",
			  one ? one : "", other ? " " : "", other ? other : "");
}

void counters_add(struct shard *shard, unsigned int table, const struct expression *is,
		  const char *name, const struct items *items, const struct diff_values *values)
{
	for (size_t i = 0; i < is->diff_count; i++) {
		char *named;
		uint64_t *row;

		if (!(values->has >> i & 1)) {
			continue;
		}
		named = difference_name(is, name, items, i);
		row = shard_keyed_again(shard, shard_keyed_named(shard, table, 0, named));
		row[COUNTERS_MEASURED]++;
		column_add_capped(row, COUNTERS_TOTAL, values->of[i]);
		column_raise(row, COUNTERS_LARGEST, values->of[i]);
		free(named);
	}
}

const char *counters_row_items(const char *row, char named[PATTERN_NAME_BYTES + PATTERN_WORD_BYTES])
{
	size_t name = strcspn(row, " "), field = strcspn(row + name + (row[name] == ' '), " ");
	size_t len = name + (row[name] == ' ') + field;

	(void)snprintf(named, PATTERN_NAME_BYTES + PATTERN_WORD_BYTES, "%.*s", (int)len, row);
	return row + len + strspn(row + len, " ");
}
