/*
 * follow-late: see follow-state.h.
 *
 * A window that lands behind others of its trace that were printed is in no look at what is new. So
 * the windows in the last hour of what was printed are counted, from time to time: more than before
 * are late.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/hash.h"
#include "run/say.h"
#include "stored/follow-state.h"

#define SAY_EVERY_NS (60 * NS_PER_S)

/* Those of a trace that are printed. */
static struct store_news_range printed(const struct follow *follow, uint32_t trace)
{
	const struct due_trace *due = &follow->traces.at[follow->of_news.at[trace]].due;
	uint64_t end = due->last_begin < due->position ? due->last_begin : due->position;
	uint64_t begin = end > FOLLOW_LATE_NS ? end - FOLLOW_LATE_NS : 0;

	return (struct store_news_range){ .trace = trace,
					  .level = due->level,
					  .begin = begin > follow->begin ? begin : follow->begin,
					  .end = end };
}

struct late_ranges {
	VEC(struct store_news_range) at;
	uint64_t *counts;
};

static int count(struct follow *follow, struct late_ranges *ranges, struct err *err)
{
	ranges->counts =
		mem_realloc(ranges->counts, (ranges->at.count + 1) * sizeof(*ranges->counts));
	return store_news_count(follow->news, ranges->at.at, ranges->at.count, ranges->counts, err);
}

static struct followed *followed_by(struct follow *follow, const struct store_news_range *range)
{
	assert(range->trace < follow->of_news.count);
	return &follow->traces.at[follow->of_news.at[range->trace]];
}

/* Where as many as before were, there may be more now. */
static int count_again(struct follow *follow, struct late_ranges *ranges, struct err *err)
{
	int r;

	ranges->at.count = 0;
	for (uint32_t i = 0; i < follow->of_news.count; i++) {
		struct followed *trace = &follow->traces.at[follow->of_news.at[i]];

		if (trace->is_count) {
			*vec_push(&ranges->at) = trace->counted;
			ranges->at.at[ranges->at.count - 1].trace = i;
		}
	}
	r = count(follow, ranges, err);
	for (size_t i = 0; r == 0 && i < ranges->at.count; i++) {
		uint64_t before = followed_by(follow, &ranges->at.at[i])->count;

		follow->late += ranges->counts[i] > before ? ranges->counts[i] - before : 0;
	}
	return r;
}

static int count_first(struct follow *follow, struct late_ranges *ranges, struct err *err)
{
	int r;

	ranges->at.count = 0;
	for (uint32_t i = 0; i < follow->of_news.count; i++) {
		struct followed *trace = &follow->traces.at[follow->of_news.at[i]];
		struct store_news_range range = printed(follow, i);

		trace->is_count = false;
		if (trace->is_wanted && trace->due.has_last && range.begin < range.end) {
			*vec_push(&ranges->at) = range;
		}
	}
	r = count(follow, ranges, err);
	for (size_t i = 0; r == 0 && i < ranges->at.count; i++) {
		struct followed *trace = followed_by(follow, &ranges->at.at[i]);

		trace->is_count = true;
		trace->counted = ranges->at.at[i];
		trace->count = ranges->counts[i];
	}
	return r;
}

/* ---- gaps ---- */

static void say_gap(void *user, uint64_t begin, uint64_t end, uint64_t windows, const char *why)
{
	struct follow *follow = user;
	uint64_t hash = hash_text(
		hash_bytes(hash_bytes(begin, &end, sizeof(end)), &windows, sizeof(windows)), why);
	char from[UNITS_TEXT_MAX], to[UNITS_TEXT_MAX];

	for (size_t i = 0; i < follow->gaps.count; i++) {
		if (follow->gaps.at[i] == hash) {
			return;
		}
	}
	if (follow->gaps.count == FOLLOW_GAPS_MAX) { /* the oldest half will hardly be met again */
		follow->gaps.count /= 2;
		memmove(follow->gaps.at, follow->gaps.at + follow->gaps.count,
			follow->gaps.count * sizeof(follow->gaps.at[0]));
	}
	assert(follow->gaps.count < FOLLOW_GAPS_MAX);
	*vec_push(&follow->gaps) = hash;
	if (follow->view) {
		history_view_lost(follow->view);
	}
	say("%s: %" PRIu64 " windows between %s and %s are missing: %s", follow->name, windows,
	    units_iso(from, begin), units_iso(to, end), why);
}

static int look_for_gaps(struct follow *follow, struct err *err)
{
	uint64_t begin = follow->newest > FOLLOW_LATE_NS ? follow->newest - FOLLOW_LATE_NS : 0;

	/* At first, those of all of the range. */
	begin = !follow->has_gaps || begin < follow->begin ? follow->begin : begin;
	follow->has_gaps = true;
	return store_news_gaps(follow->news, begin, follow->end, say_gap, follow, err);
}

/* ---- both ---- */

void follow_say_late(struct follow *follow, bool is_end)
{
	bool is_time = is_end || follow->late_said_at == 0 ||
		       follow->clock.now - follow->late_said_at >= SAY_EVERY_NS;

	if (follow->late == 0 || !is_time) {
		return;
	}
	if (follow->options.verbosity >= 0) {
		say("%s: %" PRIu64 " windows landed after the time that they are of was printed; "
		    "history without --follow has them",
		    follow->name, follow->late);
	}
	follow->late = 0;
	follow->late_said_at = follow->clock.now;
}

int follow_late(struct follow *follow, struct err *err)
{
	struct late_ranges ranges = { 0 };
	int r = count_again(follow, &ranges, err);

	r = r < 0 ? r : count_first(follow, &ranges, err);
	r = r < 0 ? r : look_for_gaps(follow, err);
	follow_say_late(follow, false);
	vec_fini(&ranges.at);
	free(ranges.counts);
	return r;
}
