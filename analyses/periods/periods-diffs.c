/*
 * periods-diffs: see periods.h; differences of counters, from the begin of a period to its end.
 *
 * A counter of a thread says something of a period that begins and ends on one, and a counter of a
 * CPU of one that does on one CPU.  What cannot be told is not measured: it has no 0.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyses/periods/periods.h"
#include "engine/contract/partial.h"

#define NEGATIVE_SHIFT 32
_Static_assert(EXPRESSION_DIFFS_MAX <= NEGATIVE_SHIFT, "two bits of each counter fit a word");

void periods_put_counters(uint64_t *words, const struct period *period,
			  const struct period_side *side, const struct fields_event *event,
			  int64_t thread)
{
	uint64_t *counters = words + periods_word_counters(period);

	if (period->is->diff_count == 0) {
		return;
	}
	counters[COUNTER_THREAD] = (uint64_t)thread;
	for (size_t i = 0; i < period->is->diff_count; i++) {
		struct query_value value;

		if (side->diffs[i] != FIELD_NONE && fields_get(event, side->diffs[i], &value) &&
		    value.kind == QUERY_NUMBER) {
			bool is_negative = value.is_signed && (int64_t)value.is.u < 0;

			counters[COUNTER_FIRST + i] = value.is.u;
			counters[COUNTER_HAS] |= UINT64_C(1) << i | (uint64_t)is_negative
									    << (NEGATIVE_SHIFT + i);
		}
	}
}

struct counters *periods_counters_of(const struct period *period, const uint64_t *words)
{
	struct counters *counters;

	if (period->is->diff_count == 0) {
		return NULL;
	}
	counters = mem_alloc(sizeof(*counters));
	counters->cpu = words[WORD_CPU];
	memcpy(counters->words, words + periods_word_counters(period),
	       (COUNTER_FIRST + period->is->diff_count) * sizeof(*words));
	return counters;
}

void periods_counters_codec(struct codec *codec, struct counters **counters)
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

static bool is_of_one(const struct period *period, const struct ended *ended, size_t i)
{
	const uint64_t *begin = ended->counters->words;
	const uint64_t *end = ended->words + periods_word_counters(period);
	int64_t thread = (int64_t)begin[COUNTER_THREAD];

	switch (period_diff_of(period->is->diffs[i])) {
	case DIFF_ANY:
		break;
	case DIFF_THREAD:
		return period->by_thread || (begin[COUNTER_THREAD] == end[COUNTER_THREAD] &&
					     (thread > 0 || key_is_user(thread)));
	case DIFF_CPU:
		return ended->counters->cpu == ended->words[WORD_CPU];
	}
	return true;
}

/* Whatever the signs of the two fields; false: the counter went back, or the difference is no u64.
 */
static bool subtract(const uint64_t *begin, const uint64_t *end, size_t i, uint64_t *ret)
{
	uint64_t was_below = begin[COUNTER_HAS] >> (NEGATIVE_SHIFT + i) & 1;
	uint64_t is_below = end[COUNTER_HAS] >> (NEGATIVE_SHIFT + i) & 1;
	uint64_t from = begin[COUNTER_FIRST + i], to = end[COUNTER_FIRST + i];

	*ret = to - from;
	return was_below == is_below ? to >= from : was_below && *ret > to;
}

void periods_add_differences(struct shard *shard, const struct ended *ended)
{
	const struct period *period = shard_periods(shard)->all.at[ended->period];
	const uint64_t *end = ended->words + periods_word_counters(period);

	for (size_t i = 0; ended->counters && i < period->is->diff_count; i++) {
		const uint64_t *begin = ended->counters->words;
		uint64_t both = begin[COUNTER_HAS] & end[COUNTER_HAS] & UINT64_C(1) << i;
		char named[PATTERN_NAME_BYTES + 1 + PATTERN_WORD_BYTES], name[NAMED_BYTES];
		uint64_t *row, difference;

		if (!both || !subtract(begin, end, i, &difference) ||
		    !is_of_one(period, ended, i)) {
			continue;
		}
		(void)snprintf(named, sizeof(named), "%s %s", period->name, period->is->diffs[i]);
		labels_put_name(name, named, ended->items);
		row = shard_keyed_again(shard, shard_keyed_named(shard, DIFFERENCES, 0, name));
		row[DIFF_MEASURED]++;
		row[DIFF_TOTAL] += difference;
		column_raise(row, DIFF_LARGEST, difference);
	}
}
