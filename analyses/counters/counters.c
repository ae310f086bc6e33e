/*
 * counters: see counters.h.
 */
#include "analyses/counters/counters.h"

#include <stdio.h>
#include <string.h>

#include "engine/contract/partial.h"
#include "query/period.h"

#define NEGATIVE_SHIFT 32
_Static_assert(EXPRESSION_DIFFS_MAX <= NEGATIVE_SHIFT, "two bits of each counter fit a word");

void counters_put(uint64_t *words, const struct expression *is, const uint8_t *diffs,
		  const struct fields_event *event, int64_t thread)
{
	if (is->diff_count == 0) {
		return;
	}
	words[COUNTER_THREAD] = (uint64_t)thread;
	for (size_t i = 0; i < is->diff_count; i++) {
		struct query_value value;

		if (diffs[i] != FIELD_NONE && fields_get(event, diffs[i], &value) &&
		    value.kind == QUERY_NUMBER) {
			words[COUNTER_FIRST + i] = value.is.u;
			words[COUNTER_HAS] |=
				UINT64_C(1) << i | (uint64_t)query_value_is_below(&value)
							   << (NEGATIVE_SHIFT + i);
		}
	}
}

struct counters *counters_new(const struct expression *is, uint64_t cpu, const uint64_t *words)
{
	struct counters *counters;

	if (is->diff_count == 0) {
		return NULL;
	}
	counters = mem_alloc(sizeof(*counters));
	counters->cpu = cpu;
	memcpy(counters->words, words, counters_words(is) * sizeof(*words));
	return counters;
}

void counters_codec(struct codec *codec, struct counters **counters)
{
	bool has = *counters;

	codec_bool(codec, &has);
	if (!has) {
		return;
	}
	if (codec_reads(codec)) {
		*counters = mem_alloc(sizeof(**counters));
	}
	codec_u64(codec, &(*counters)->cpu);
	for (size_t i = 0; i < ARRAY_COUNT((*counters)->words); i++) {
		codec_u64(codec, &(*counters)->words[i]);
	}
}

static bool is_of_one(const struct counters_span *span, size_t i)
{
	const uint64_t *begin = span->begin->words;
	int64_t thread = (int64_t)begin[COUNTER_THREAD];

	switch (period_diff_of(span->is->diffs[i])) {
	case DIFF_ANY:
		break;
	case DIFF_THREAD:
		return span->by_thread || (begin[COUNTER_THREAD] == span->words[COUNTER_THREAD] &&
					   (thread > 0 || key_is_user(thread)));
	case DIFF_CPU:
		return span->begin->cpu == span->cpu;
	}
	return true;
}

static struct query_value counter_at(const uint64_t *words, size_t i)
{
	bool is_below = words[COUNTER_HAS] >> (NEGATIVE_SHIFT + i) & 1;

	return (struct query_value){ .kind = QUERY_NUMBER,
				     .is_signed = is_below,
				     .is.u = words[COUNTER_FIRST + i] };
}

void counters_add(struct shard *shard, unsigned int table, const struct counters_span *span)
{
	for (size_t i = 0; span->begin && i < span->is->diff_count; i++) {
		const uint64_t *begin = span->begin->words;
		uint64_t both = begin[COUNTER_HAS] & span->words[COUNTER_HAS] & UINT64_C(1) << i;
		struct query_value from = counter_at(begin, i), to = counter_at(span->words, i);
		char named[PATTERN_NAME_BYTES + 1 + PATTERN_WORD_BYTES], name[NAMED_BYTES];
		uint64_t *row, difference;

		if (!both || !query_value_difference(&from, &to, &difference) ||
		    !is_of_one(span, i)) {
			continue;
		}
		(void)snprintf(named, sizeof(named), "%s %s", span->is->name,
			       expression_shown(span->is, span->is->diffs[i]));
		labels_put_name(name, named, span->items);
		row = shard_keyed_again(shard, shard_keyed_named(shard, table, 0, name));
		row[DIFF_MEASURED]++;
		column_add_capped(row, DIFF_TOTAL, difference);
		column_raise(row, DIFF_LARGEST, difference);
	}
}

const char *counters_row_items(const char *row, char named[PATTERN_NAME_BYTES + PATTERN_WORD_BYTES])
{
	size_t name = strcspn(row, " "), field = strcspn(row + name + (row[name] == ' '), " ");
	size_t len = name + (row[name] == ' ') + field;

	(void)snprintf(named, PATTERN_NAME_BYTES + PATTERN_WORD_BYTES, "%.*s", (int)len, row);
	return row + len + strspn(row + len, " ");
}
