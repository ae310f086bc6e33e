/*
 * diff: see diff.h.
 */
#include "query/diff/diff.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define NEGATIVE_SHIFT 32
_Static_assert(EXPRESSION_DIFFS_MAX <= NEGATIVE_SHIFT, "two bits of each counter fit a word");

void diff_put(uint64_t *words, const uint8_t *diffs, size_t count, const struct fields_event *event)
{
	for (size_t i = 0; i < count; i++) {
		struct query_value value;

		if (diffs[i] != FIELD_NONE && fields_get(event, diffs[i], &value) &&
		    value.kind == QUERY_NUMBER) {
			words[DIFF_FIRST + i] = value.is.u;
			words[DIFF_HAS] |= UINT64_C(1) << i | (uint64_t)query_value_is_below(&value)
								      << (NEGATIVE_SHIFT + i);
		}
	}
}

struct diff_begin *diff_new(const struct expression *is, uint64_t cpu, int64_t thread,
			    const uint64_t *words)
{
	struct diff_begin *begin;

	if (is->diff_count == 0) {
		return NULL;
	}
	begin = mem_alloc(sizeof(*begin));
	begin->cpu = cpu;
	begin->thread = thread;
	memcpy(begin->words, words, diff_words(is->diff_count) * sizeof(*words));
	return begin;
}

struct diff_begin *diff_copy(const struct diff_begin *begin)
{
	struct diff_begin *copy = begin ? mem_alloc(sizeof(*copy)) : NULL;

	if (copy) {
		*copy = *begin;
	}
	return copy;
}

void diff_codec(struct codec *codec, struct diff_begin **begin)
{
	bool has = *begin;

	codec_bool(codec, &has);
	if (!has) {
		return;
	}
	if (codec_reads(codec)) {
		*begin = mem_alloc(sizeof(**begin));
	}
	codec_u64(codec, &(*begin)->cpu);
	codec_i64(codec, &(*begin)->thread);
	for (size_t i = 0; i < ARRAY_COUNT((*begin)->words); i++) {
		codec_u64(codec, &(*begin)->words[i]);
	}
}

void diff_values_codec(struct codec *codec, struct diff_values *values)
{
	codec_u8(codec, &values->has);
	for (size_t i = 0; i < ARRAY_COUNT(values->of); i++) {
		if (values->has >> i & 1) {
			codec_u64(codec, &values->of[i]);
		}
	}
}

/* ---- differences ---- */

/* LTTng's counters of a thread, and those of a CPU: a difference has a meaning only there. */
enum counter { COUNTER_ANY, COUNTER_THREAD, COUNTER_CPU };
static enum counter counter_of(const char *field)
{
	static const char context[] = "context.";

	field += strncmp(field, context, sizeof(context) - 1) == 0 ? sizeof(context) - 1 : 0;
	return strncmp(field, "perf_thread_", 12) == 0 ? COUNTER_THREAD
	       : strncmp(field, "perf_cpu_", 9) == 0   ? COUNTER_CPU
						       : COUNTER_ANY;
}

/* What a condition says an event is about need not be where it happened. */
static bool happens_there(const struct expression *is)
{
	return !is->events[0].has_tid && !is->events[is->event_count - 1].has_tid;
}

static bool is_of_one(const struct expression *is, size_t i, const struct diff_begin *begin,
		      const struct diff_end *end)
{
	switch (counter_of(is->diffs[i])) {
	case COUNTER_ANY:
		break;
	case COUNTER_THREAD:
		return (end->is_of_thread && happens_there(is)) ||
		       (begin->thread == end->thread && begin->thread != 0);
	case COUNTER_CPU:
		return begin->cpu == end->cpu;
	}
	return true;
}

static bool counter_at(const uint64_t *words, size_t i, struct query_value *ret)
{
	bool is_below = words[DIFF_HAS] >> (NEGATIVE_SHIFT + i) & 1;

	*ret = (struct query_value){ .kind = QUERY_NUMBER,
				     .is_signed = is_below,
				     .is.u = words[DIFF_FIRST + i] };
	return words[DIFF_HAS] >> i & 1;
}

struct diff_values diff_between(const struct expression *is, const struct diff_begin *begin,
				const struct diff_end *end)
{
	struct diff_values values = { 0 };

	for (size_t i = 0; begin && i < is->diff_count; i++) {
		struct query_value from, to;
		uint64_t difference;

		if (counter_at(begin->words, i, &from) &&
		    counter_at(end->words, end->at ? end->at[i] : i, &to) &&
		    query_value_difference(&from, &to, &difference) &&
		    is_of_one(is, i, begin, end)) {
			values.of[i] = difference;
			values.has |= (uint8_t)(1u << i);
		}
	}
	return values;
}
