/*
 * ranges: see ranges.h.
 */
#include "phases/ranges.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "kernel/thread-list.h"
#include "phases/phases.h"

#define WAITS_MAX 64

struct range_wait {
	uint64_t begin, end;
	int32_t tid;
	char comm[17];
};

struct ranges {
	struct overview_config config;
	uint64_t interval_ns, first;
	size_t room;
	uint64_t *events; /* by slice */
	const char *thread;
	VEC(struct range_wait) waits; /* longest first */
	VEC(struct range) found;
	/* Of ranges_find(). */
	const struct overview *overview;
	uint64_t events_max;
	bool *is_taken; /* by slice */
};

struct ranges *ranges_new(const struct overview_config *config, const char *thread)
{
	struct ranges *ranges = mem_alloc(sizeof(*ranges));

	ranges->config = *config;
	ranges->thread = thread;
	ranges->interval_ns = overview_interval(config);
	ranges->first = config->begin / ranges->interval_ns * ranges->interval_ns;
	ranges->room = (config->end - ranges->first) / ranges->interval_ns + 1;
	ranges->events = mem_alloc(ranges->room * sizeof(*ranges->events));
	ranges->is_taken = mem_alloc(ranges->room);
	return ranges;
}

void ranges_free(struct ranges *ranges)
{
	if (!ranges) {
		return;
	}
	for (size_t i = 0; i < ranges->found.count; i++) {
		free(ranges->found.at[i].why);
	}
	vec_fini(&ranges->found);
	vec_fini(&ranges->waits);
	free(ranges->events);
	free(ranges->is_taken);
	free(ranges);
}

/* ---- windows ---- */

static bool is_wanted(const struct ranges *ranges, const struct thread_view *thread)
{
	return !ranges->thread || thread_list_has(ranges->thread, thread->tid, thread->comm);
}

static bool is_longer(const struct range_wait *a, const struct range_wait *b)
{
	uint64_t a_ns = a->end - a->begin, b_ns = b->end - b->begin;

	return a_ns != b_ns ? a_ns > b_ns : a->begin < b->begin;
}

static void add_wait(struct ranges *ranges, const struct report_row *row)
{
	struct range_wait wait = { .begin = row->instance->end - row->instance->ns,
				   .end = row->instance->end,
				   .tid = row->thread->tid };
	size_t at = ranges->waits.count;

	memcpy(wait.comm, row->thread->comm, sizeof(wait.comm));
	if (at == WAITS_MAX) {
		if (!is_longer(&wait, &ranges->waits.at[at - 1])) {
			return;
		}
		at--;
	} else {
		(void)vec_push(&ranges->waits);
	}
	for (; at > 0 && is_longer(&wait, &ranges->waits.at[at - 1]); at--) {
		ranges->waits.at[at] = ranges->waits.at[at - 1];
	}
	ranges->waits.at[at] = wait;
}

void ranges_report(struct ranges *ranges, const struct report *report)
{
	size_t slice = report->begin < ranges->first
			       ? SIZE_MAX
			       : (report->begin - ranges->first) / ranges->interval_ns;

	if (report->kind != REPORT_WINDOW || slice >= ranges->room) {
		return;
	}
	ranges->events[slice] += report->events;
	for (size_t i = 0; i < report->table_count; i++) {
		const struct report_table *table = &report->tables[i];

		if (strcmp(table->analysis->name, "sched") != 0 ||
		    table->table->scope != SCOPE_LONGEST) {
			continue;
		}
		for (size_t k = 0; k < table->row_count; k++) {
			const struct report_row *row = &table->rows[k];

			if (row->thread && row->instance && is_wanted(ranges, row->thread) &&
			    row->instance->end >= row->instance->ns) {
				add_wait(ranges, row);
			}
		}
	}
}

/* ---- differences ---- */

static bool is_unknown(const struct overview_series *series)
{
	return series->is_share && strcmp(series->figure, "unknown") == 0;
}

/* The largest value of a series in the sum of differences; 0: it says nothing new. */
static double scale_of(const struct overview_series *series)
{
	return series->is_counterpart || is_unknown(series) ? 0
	       : series->is_share                           ? 1
							    : series->most;
}

/* The share of the CPUs' time that is known: of what is unknown nothing can be explained. */
static double known(const struct ranges *ranges, const struct part *part)
{
	size_t count, cpus = 0;
	const struct overview_series *series = overview_series(ranges->overview, &count);
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (is_unknown(&series[i])) {
			sum += 1 - overview_mean(&series[i], part);
			cpus++;
		}
	}
	return cpus > 0 ? sum / (double)cpus : 1;
}

static struct part all_of(const struct ranges *ranges)
{
	return (struct part){ .first = 0, .last = (uint32_t)overview_slices(ranges->overview) - 1 };
}

static double difference(const struct ranges *ranges, const struct part *part)
{
	const struct part all = all_of(ranges);
	double sum = 0;
	size_t count;
	const struct overview_series *series = overview_series(ranges->overview, &count);

	for (size_t i = 0; i < count; i++) {
		if (scale_of(&series[i]) > 0) {
			sum += fabs(overview_mean(&series[i], part) -
				    overview_mean(&series[i], &all)) /
			       scale_of(&series[i]);
		}
	}
	return sum * known(ranges, part);
}

/* What differs most: "CPU 1 busy 90.0 %, in all 20.0 %". */
static char *describe(const struct ranges *ranges, const struct part *part, const char *what)
{
	const struct part all = all_of(ranges);
	const struct overview_series *most = NULL;
	char text[2][UNITS_TEXT_MAX];
	double largest = 0, here, there;
	size_t count;
	const struct overview_series *series = overview_series(ranges->overview, &count);

	for (size_t i = 0; i < count; i++) {
		double scale = scale_of(&series[i]);
		double by = scale > 0 ? fabs(overview_mean(&series[i], part) -
					     overview_mean(&series[i], &all)) /
						scale
				      : 0;

		if (by > largest) {
			largest = by;
			most = &series[i];
		}
	}
	if (!most) {
		return mem_strdup(what);
	}
	if (!most->is_share && most->unit != UNIT_COUNT) {
		return mem_printf(
			"%s: %s %s, in all %s", what, most->name,
			series_text(text[0], most->is_level, most->unit, overview_mean(most, part)),
			series_text(text[1], most->is_level, most->unit,
				    overview_mean(most, &all)));
	}
	here = overview_mean(most, part);
	there = overview_mean(most, &all);
	return most->is_share
		       ? mem_printf("%s: %s %.1f %%, in all %.1f %%", what, most->name, 100 * here,
				    100 * there)
		       : mem_printf("%s: %s %.4g/s, in all %.4g/s", what, most->name, here, there);
}

/* The slice of a part that differs most from the whole; one that is taken only if all are. */
static uint32_t peak_of(const struct ranges *ranges, const struct part *part)
{
	uint32_t ret = part->first;
	double largest = -1;

	for (uint32_t i = part->first; i <= part->last; i++) {
		struct part one = { i, i };
		double by = ranges->is_taken[i] ? -0.5 : difference(ranges, &one);

		if (by > largest) {
			largest = by;
			ret = i;
		}
	}
	return ret;
}

/* ---- taking ranges ---- */

static uint32_t slice_at(const struct ranges *ranges, uint64_t ts)
{
	size_t slice = ts < ranges->first ? 0 : (ts - ranges->first) / ranges->interval_ns;
	size_t last = overview_slices(ranges->overview) - 1;

	return (uint32_t)(slice > last ? last : slice);
}

/* Adds a reason; takes @why over. */
static void add_reason(struct range *range, char *why)
{
	if (!strstr(range->why, why)) {
		char *both = mem_printf("%s; %s", range->why, why);

		free(range->why);
		range->why = both;
	}
	free(why);
}

/* The range that has an instant; NULL: none. */
static struct range *range_at(const struct ranges *ranges, uint64_t ts)
{
	for (size_t i = 0; i < ranges->found.count; i++) {
		if (ranges->found.at[i].begin <= ts && ts < ranges->found.at[i].end) {
			return &ranges->found.at[i];
		}
	}
	return NULL;
}

/*
 * Takes the slices from @core on, as many of @part around them as there are events for; of a slice
 * with too many events the part around @ts.  Takes @why over.
 */
static void take(struct ranges *ranges, const struct part *core, const struct part *part,
		 uint64_t ts, char *why)
{
	struct part at = *core;
	uint64_t events = 0, begin, end;
	struct range *known = range_at(ranges, ts);

	if (known || ranges->found.count == RANGES_MAX) {
		if (known) {
			add_reason(known, why);
		} else {
			free(why);
		}
		return;
	}
	for (uint32_t i = at.first; i <= at.last; i++) {
		events += ranges->events[i];
	}
	for (bool grows = events <= ranges->events_max; grows;) {
		grows = false;
		if (at.last < part->last && !ranges->is_taken[at.last + 1] &&
		    events + ranges->events[at.last + 1] <= ranges->events_max) {
			events += ranges->events[++at.last];
			grows = true;
		}
		if (at.first > part->first && !ranges->is_taken[at.first - 1] &&
		    events + ranges->events[at.first - 1] <= ranges->events_max) {
			events += ranges->events[--at.first];
			grows = true;
		}
	}
	begin = overview_time(ranges->overview, at.first);
	end = overview_time(ranges->overview, at.last + 1);
	if (events > ranges->events_max) {
		double share = (double)ranges->events_max / (double)events;
		uint64_t half = (uint64_t)((double)(end - begin) * share / 2) + 1;

		begin = ts > begin + half ? ts - half : begin;
		end = ts + half < end ? ts + half : end;
	}
	for (size_t i = 0; i < ranges->found.count; i++) { /* parts of slices may be taken */
		const struct range *other = &ranges->found.at[i];

		begin = other->begin < ts && other->end > begin ? other->end : begin;
		end = other->begin > ts && other->begin < end ? other->begin : end;
	}
	for (uint32_t i = at.first; i <= at.last; i++) {
		ranges->is_taken[i] = true;
	}
	assert(begin < end);
	*vec_push(&ranges->found) = (struct range){ .begin = begin, .end = end, .why = why };
}

static void take_wait(struct ranges *ranges, const struct range_wait *wait)
{
	const struct part core = { slice_at(ranges, wait->begin), slice_at(ranges, wait->end) };
	const struct part all = all_of(ranges);
	const struct part around = { core.first > all.first ? core.first - 1 : core.first,
				     core.last < all.last ? core.last + 1 : core.last };
	uint64_t ts = wait->end < ranges->config.end ? wait->end : ranges->config.end - 1;
	char ns[UNITS_TEXT_MAX];
	char *why =
		mem_printf("%s (%" PRId32 ") waited %s for a CPU", wait->comm[0] ? wait->comm : "?",
			   wait->tid, units_ns(ns, wait->end - wait->begin));

	take(ranges, &core, &around, ts < ranges->config.begin ? ranges->config.begin : ts, why);
}

static void take_slice(struct ranges *ranges, uint32_t slice, const struct part *part, char *why)
{
	const struct part core = { slice, slice };
	uint64_t begin = overview_time(ranges->overview, slice);
	uint64_t end = overview_time(ranges->overview, slice + 1);

	if (begin < end) {
		take(ranges, &core, part, begin + (end - begin) / 2, why);
	} else {
		free(why);
	}
}

/* The phase that differs most, after those that were taken; NULL: there is none. */
static const struct part *next_phase(const struct ranges *ranges, bool *was_taken)
{
	const struct part *ret = NULL;
	double largest = 0;
	size_t count;
	const struct part *phases = overview_phases(ranges->overview, &count);

	for (size_t i = 0; i < count && count > 1; i++) {
		double by = difference(ranges, &phases[i]);

		if (!was_taken[i] && by > largest) {
			largest = by;
			ret = &phases[i];
		}
	}
	if (ret) {
		was_taken[ret - phases] = true;
	}
	return ret;
}

ORDER(by_begin, struct range, UP(begin))

size_t ranges_find(struct ranges *ranges, const struct overview *overview, uint64_t events_max,
		   const struct range **ret)
{
	size_t phases;
	bool *was_taken;

	assert(ranges->found.count == 0);
	assert(overview_slices(overview) > 0);
	ranges->overview = overview;
	ranges->events_max = events_max > 0 ? events_max : 1;
	(void)overview_phases(overview, &phases);
	was_taken = mem_alloc(phases + 1);
	for (size_t turn = 0; turn < RANGES_MAX && ranges->found.count < RANGES_MAX; turn++) {
		const struct part all = all_of(ranges);
		const struct part *phase;
		uint32_t peak;

		if (turn < ranges->waits.count) {
			take_wait(ranges, &ranges->waits.at[turn]);
		}
		phase = next_phase(ranges, was_taken);
		if (phase) {
			take_slice(ranges, peak_of(ranges, phase), phase,
				   describe(ranges, phase, "a phase unlike the rest"));
		}
		peak = peak_of(ranges, &all);
		if (!ranges->is_taken[peak]) {
			const struct part one = { peak, peak };

			take_slice(ranges, peak, &one,
				   describe(ranges, &one, "a time unlike the rest"));
		}
	}
	free(was_taken);
	vec_sort(&ranges->found, by_begin);
	*ret = ranges->found.at;
	return ranges->found.count;
}
