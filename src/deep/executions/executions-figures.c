/*
 * executions-figures: durations and response times of executions (doc/definitions.md, 6.2).
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "deep/executions/executions.h"
#include "deep/executions/radix.h"

static uint64_t length_of(const struct execution *execution)
{
	return execution->end - execution->begin;
}

/* ---- orders ---- */

/* What executions are sorted by: the smallest first. */
typedef uint64_t key_fn(const struct execution *one);

static uint64_t key_thread(const struct execution *one)
{
	return one->thread;
}

static uint64_t key_group(const struct execution *one)
{
	return one->group;
}

static uint64_t key_begin(const struct execution *one)
{
	return one->begin;
}

static uint64_t key_longest(const struct execution *one)
{
	return ~length_of(one);
}

static uint64_t key_response(const struct execution *one)
{
	return ~one->response_ns;
}

/* The order of by_class() as a number. */
static uint64_t key_class(const struct execution *one)
{
	bool is_real_time = one->urgency < 0;
	uint64_t urgency = (uint64_t)((int64_t)one->urgency - INT32_MIN);

	return (uint64_t)!is_real_time << 33 | (uint64_t)(is_real_time && !one->is_missed) << 32 |
	       urgency;
}

static key_fn *const by_place[] = { key_begin, key_group };
/* The orders of by_length() and by_response(). */
static key_fn *const longest_first[] = { key_thread, key_begin, key_longest };
static key_fn *const worst_first[] = { key_thread, key_begin, key_longest, key_response,
				       key_class };

/* Sorts by keys, the last one first. */
static void sort(struct execution **all, size_t count, key_fn *const *keys, size_t key_count)
{
	struct radix_item *items = mem_alloc((count + 1) * sizeof(*items));

	for (size_t i = 0; i < count; i++) {
		items[i].with = (uintptr_t)all[i];
	}
	for (size_t k = 0; k < key_count; k++) {
		for (size_t i = 0; i < count; i++) {
			items[i].key = keys[k]((const struct execution *)items[i].with);
		}
		radix_sort(items, count);
	}
	for (size_t i = 0; i < count; i++) {
		all[i] = (struct execution *)items[i].with;
	}
	free(items);
}

ORDER_VALUES(by_number, uint64_t)

/* ---- durations ---- */

/* The length that @share of all do not exceed; they are sorted, shortest first. */
static uint64_t quantile(const uint64_t *lengths, size_t count, double share)
{
	size_t rank = (size_t)ceil(share * (double)count);

	assert(count > 0);
	assert(rank <= count);
	return lengths[rank > 0 ? rank - 1 : 0];
}

/* The median of the distances between sorted lengths and their median, which is one of them. */
static uint64_t median_deviation(const uint64_t *lengths, size_t count, uint64_t median)
{
	size_t below = 0, above, left = count / 2 + 1;
	uint64_t away = 0;

	while (lengths[below] < median) {
		below++;
	}
	above = below;
	for (; left > 0; left--) { /* the nearest of what is left on both sides */
		if (below > 0 &&
		    (above == count || median - lengths[below - 1] < lengths[above] - median)) {
			away = median - lengths[--below];
		} else {
			away = lengths[above++] - median;
		}
	}
	return away;
}

/* Sorts the lengths. */
static void note_lengths(struct executions_figures *sum, uint64_t *lengths, size_t count)
{
	double mean, squares = 0;
	uint64_t limit;

	assert(count > 0);
	qsort(lengths, count, sizeof(*lengths), by_number);
	sum->count = count;
	sum->min_ns = lengths[0];
	sum->max_ns = lengths[count - 1];
	sum->median_ns = quantile(lengths, count, 0.5);
	sum->p95_ns = quantile(lengths, count, 0.95);
	sum->p99_ns = quantile(lengths, count, 0.99);
	assert(sum->median_ns <= sum->p95_ns);
	assert(sum->p99_ns <= sum->max_ns);
	limit = sum->median_ns + 5 * median_deviation(lengths, count, sum->median_ns);
	for (size_t i = 0; i < count; i++) {
		sum->total_ns += lengths[i];
		sum->outliers += lengths[i] > limit;
	}
	mean = (double)sum->total_ns / (double)count;
	for (size_t i = 0; i < count; i++) {
		squares += ((double)lengths[i] - mean) * ((double)lengths[i] - mean);
	}
	sum->deviation_ns = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}

/* ---- arrivals ---- */

/*
 * The phase that most arrivals have, or most begins if no arrival is known: that of @phases,
 * sorted, which the most others follow within a part of the period, round the circle.
 */
static uint64_t densest(const uint64_t *phases, size_t count, uint64_t period)
{
	size_t best = 0, most = 0, ahead = 0;

	for (size_t i = 0; i < count; i++) {
		ahead = ahead > i ? ahead : i;
		while (ahead + 1 < i + count) {
			uint64_t next = phases[(ahead + 1) % count];

			next += ahead + 1 >= count ? period : 0;
			if (next - phases[i] >= period / RELEASE_PARTS) {
				break;
			}
			ahead++;
		}
		if (ahead - i + 1 > most) {
			most = ahead - i + 1;
			best = i;
		}
	}
	return phases[best];
}

/* Whether the thread did not sleep between two executions, and the second one was due before it
 * began. */
static bool comes_next(const struct execution *before, const struct execution *one, uint64_t period)
{
	return one->begin >= before->end && one->begin - before->end <= period / RELEASE_PARTS &&
	       one->begin - before->arrival.ts >= period;
}

/* Gives arrivals on the grid of the period to those that have none. */
static void note_grid(struct execution **all, size_t count, uint64_t period)
{
	uint64_t *phases = mem_alloc(count * sizeof(*phases)), phase;
	size_t known = 0;

	for (size_t i = 0; i < count; i++) {
		if (all[i]->arrival.from != ARRIVAL_UNKNOWN) {
			phases[known++] = all[i]->arrival.ts % period;
		}
	}
	if (known == count) {
		free(phases);
		return;
	}
	for (size_t i = 0; known == 0 && i < count; i++) {
		phases[i] = all[i]->begin % period;
	}
	known = known == 0 ? count : known;
	qsort(phases, known, sizeof(*phases), by_number);
	phase = densest(phases, known, period);
	for (size_t i = 0; i < count; i++) {
		struct arrival *arrival = &all[i]->arrival;
		uint64_t late = (all[i]->begin % period + period - phase) % period;

		if (arrival->from != ARRIVAL_UNKNOWN) {
			continue;
		}
		/* What begins a little before the grid is early, not late by nearly a period. */
		if (late >= period - period / RELEASE_PARTS || late > all[i]->begin) {
			late = 0;
		}
		if (i > 0 && comes_next(all[i - 1], all[i], period)) {
			late = all[i]->begin - all[i - 1]->arrival.ts - period;
		}
		arrival->from = ARRIVAL_GRID;
		arrival->ts = all[i]->begin - late;
	}
	free(phases);
}

/* Of a grid, each point of which has its execution. */
static void note_points(struct execution **all, size_t count, uint64_t period)
{
	for (size_t i = 0; i < count; i++) {
		release_point(&all[i]->arrival, i > 0 ? &all[i - 1]->arrival.ts : NULL, period,
			      all[i]->is_doubted);
	}
}

/* ---- counters ---- */

void executions_add_differences(struct executions *executions, struct execution *one,
				const struct diff_begin *begin, const struct diff_begin *end,
				bool is_of_thread)
{
	const struct expression *is = executions->config->job->is;

	if (is->diff_count > 0) {
		*vec_push(&executions->differences) =
			diff_between(is, begin,
				     &(struct diff_end){ .cpu = end->cpu,
							 .thread = end->thread,
							 .words = end->words,
							 .is_of_thread = is_of_thread });
		one->differences = (uint32_t)executions->differences.count;
	}
}

static void note_differences(struct executions *executions)
{
	VEC_EACH(&executions->all, one) {
		const struct diff_values *values = executions_differences(executions, one);

		for (size_t i = 0; values && i < EXPRESSION_DIFFS_MAX; i++) {
			struct executions_difference *sum = &executions->differed[i];

			if (values->has >> i & 1) {
				sum->measured++;
				sum->total = diff_sum(sum->total, values->of[i]);
				sum->largest =
					sum->largest > values->of[i] ? sum->largest : values->of[i];
			}
		}
	}
}

/* ---- one thread ---- */

static void note_skipped(struct executions_figures *sum, const struct execution *one,
			 const struct execution *before, uint64_t period)
{
	uint64_t ns = before && one->arrival.ts > before->arrival.ts
			      ? one->arrival.ts - before->arrival.ts
			      : 0;
	uint64_t periods = period > 0 ? (ns + period / 2) / period : 0;

	if (period > 0) {
		sum->skipped += periods > 1 ? periods - 1 : 0;
	} else {
		sum->skipped += one->arrival.skipped;
	}
}

/* Executions of one thread, open ones too, by time. */
static void note_responses(const struct executions_config *config, struct executions_figures *sum,
			   struct execution **all, size_t count)
{
	uint64_t run = 0;

	if (config->period_ns > 0 && config->is_fixed) {
		note_points(all, count, config->period_ns);
	} else if (config->period_ns > 0) {
		note_grid(all, count, config->period_ns);
	}
	for (size_t i = 0; i < count; i++) {
		struct execution *one = all[i];
		uint64_t late = one->begin - one->arrival.ts;

		assert(one->arrival.ts <= one->begin);
		one->response_ns = one->end - one->arrival.ts;
		one->is_missed = one->response_ns > config->deadline_ns;
		sum->arrivals[one->arrival.from]++;
		sum->jitter_ns = late > sum->jitter_ns ? late : sum->jitter_ns;
		if (one->response_ns > sum->response_max_ns) {
			sum->response_max_ns = one->response_ns;
		}
		note_skipped(sum, one, i > 0 ? all[i - 1] : NULL, config->period_ns);
		sum->misses += one->is_missed;
		run = one->is_missed ? run + 1 : 0;
		sum->misses_run = run > sum->misses_run ? run : sum->misses_run;
	}
}

static void note_group(struct executions *executions, struct execution **all, size_t count,
		       uint64_t *lengths)
{
	struct executions_group group = { .thread = all[0]->thread, .urgency = all[0]->urgency };
	size_t ended = 0;

	note_responses(executions->config, &group.sum, all, count);
	for (size_t i = 0; i < count; i++) {
		if (all[i]->is_open) {
			group.sum.open++;
			group.sum.abandoned += all[i]->is_abandoned;
			continue;
		}
		lengths[ended++] = length_of(all[i]);
		for (unsigned int state = 0; state < STATES; state++) {
			group.sum.ns[state] += all[i]->ns[state];
		}
	}
	if (ended > 0) {
		note_lengths(&group.sum, lengths, ended);
	}
	*vec_push(&executions->groups) = group;
}

/* ---- rows ---- */

static uint64_t key_row(const struct execution *one)
{
	return (uintptr_t)one->row;
}

/* Executions of one row, open ones too. */
static void note_row(struct execution *const *all, size_t count, uint64_t *lengths)
{
	struct executions_figures *sum = &all[0]->row->sum;
	size_t ended = 0;

	for (size_t i = 0; i < count; i++) {
		const struct execution *one = all[i];
		uint64_t late = one->begin - one->arrival.ts;

		sum->misses += one->is_missed;
		sum->jitter_ns = late > sum->jitter_ns ? late : sum->jitter_ns;
		if (one->response_ns > sum->response_max_ns) {
			sum->response_max_ns = one->response_ns;
		}
		if (one->is_open) {
			sum->open++;
			sum->abandoned += one->is_abandoned;
			continue;
		}
		lengths[ended++] = length_of(one);
		for (unsigned int state = 0; state < STATES; state++) {
			sum->ns[state] += one->ns[state];
		}
	}
	if (ended > 0) {
		note_lengths(sum, lengths, ended);
	}
}

static int by_row_time(const void *left, const void *right)
{
	const struct executions_row *a = *(struct executions_row *const *)left;
	const struct executions_row *b = *(struct executions_row *const *)right;

	return a->sum.total_ns != b->sum.total_ns ? (a->sum.total_ns > b->sum.total_ns ? -1 : 1)
						  : strcmp(a->name, b->name);
}

/* Leaves out rows whose executions were left out (--within, --executions). */
static void keep_used(struct executions *executions)
{
	size_t kept = 0;

	VEC_EACH_OF(&executions->rows, row) {
		if (row->sum.count + row->sum.open > 0) {
			executions->rows.at[kept++] = row;
		} else {
			free(row->name);
			free(row);
		}
	}
	executions->rows.count = kept;
}

/* Fills the rows.  @all is in another order then. */
static void note_rows(struct executions *executions, struct execution **all, size_t count,
		      uint64_t *lengths)
{
	size_t first = 0;

	if (executions->rows.count == 0) {
		return;
	}
	sort(all, count, (key_fn *const[]){ key_row }, 1);
	for (size_t i = 1; i <= count; i++) {
		if (i == count || all[i]->row != all[first]->row) {
			note_row(all + first, i - first, lengths);
			first = i;
		}
	}
	keep_used(executions);
	vec_sort(&executions->rows, by_row_time);
}

/* ---- all of them ---- */

/* The sums of the groups; distributions are over all executions. */
static void note_sum(struct executions *executions, uint64_t *lengths)
{
	struct executions_figures *sum = &executions->sum;

	for (size_t g = 0; g < executions->groups.count; g++) {
		const struct executions_figures *of = &executions->groups.at[g].sum;

		sum->open += of->open;
		sum->abandoned += of->abandoned;
		sum->misses += of->misses;
		sum->misses_run =
			of->misses_run > sum->misses_run ? of->misses_run : sum->misses_run;
		sum->response_max_ns = of->response_max_ns > sum->response_max_ns
					       ? of->response_max_ns
					       : sum->response_max_ns;
		sum->jitter_ns = of->jitter_ns > sum->jitter_ns ? of->jitter_ns : sum->jitter_ns;
		sum->skipped += of->skipped;
		for (unsigned int from = 0; from < ARRIVALS; from++) {
			sum->arrivals[from] += of->arrivals[from];
		}
		for (unsigned int state = 0; state < STATES; state++) {
			sum->ns[state] += of->ns[state];
		}
	}
	for (size_t i = 0; i < executions->all.count; i++) {
		lengths[i] = length_of(&executions->all.at[i]);
	}
	if (executions->all.count > 0) {
		note_lengths(sum, lengths, executions->all.count);
		executions->tenth_ns =
			lengths[executions->all.count - (executions->all.count + 9) / 10];
	}
}

static int by_time(const struct execution *a, const struct execution *b)
{
	if (a->begin != b->begin) {
		return a->begin < b->begin ? -1 : 1;
	}
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static int by_length(const void *left, const void *right)
{
	uint64_t a = length_of(left), b = length_of(right);

	return a != b ? (a > b ? -1 : 1) : by_time(left, right);
}

/* Real-time threads first; of these the ones that missed a deadline, and then the most urgent.
 * Positive: b is before a. */
static int by_class(int32_t a_urgency, bool a_missed, int32_t b_urgency, bool b_missed)
{
	bool a_real_time = a_urgency < 0, b_real_time = b_urgency < 0;

	if (a_real_time != b_real_time) {
		return a_real_time ? -1 : 1;
	}
	if (a_real_time && a_missed != b_missed) {
		return a_missed ? -1 : 1;
	}
	return a_urgency < b_urgency ? -1 : a_urgency > b_urgency;
}

static int by_response(const void *left, const void *right)
{
	const struct execution *a = left, *b = right;

	int order = by_class(a->urgency, a->is_missed, b->urgency, b->is_missed);

	if (order != 0) {
		return order;
	}
	if (a->response_ns != b->response_ns) {
		return a->response_ns > b->response_ns ? -1 : 1;
	}
	return by_length(left, right);
}

/* Most misses first, then most time. */
ORDER(by_misses, struct executions_group, DOWN(sum.misses) DOWN(sum.total_ns) UP(thread))

static int by_urgency(const void *left, const void *right)
{
	const struct executions_group *a = left, *b = right;

	int order = by_class(a->urgency, a->sum.misses > 0, b->urgency, b->sum.misses > 0);

	return order != 0 ? order : by_misses(left, right);
}

bool executions_have_responses(const struct executions *executions)
{
	return executions->config->period_ns > 0 || executions->config->deadline_ns != UINT64_MAX;
}

typedef int order_fn(const void *left, const void *right);

static order_fn *order_of(const struct executions *executions)
{
	return executions_have_responses(executions) ? by_response : by_length;
}

size_t executions_worst(const struct executions *executions, const struct execution **worst,
			size_t most)
{
	size_t all = 0, open = 0;

	while (all + open < most && all + open < executions->all.count + executions->open.count) {
		const struct execution *ended =
			all < executions->worst.count ? executions->worst.at[all] : NULL;
		const struct execution *other = open < executions->worst_open.count
							? executions->worst_open.at[open]
							: NULL;
		bool is_open = !ended || (other && order_of(executions)(other, ended) < 0);

		worst[all + open] = is_open ? other : ended;
		open += is_open;
		all += !is_open;
	}
	return all + open;
}

ORDER(by_span, struct executions_span, UP(thread) UP(is.begin))

/* @all: by thread, unless executions go from one thread to another. */
static void note_spans(struct executions *executions, struct execution *const *all, size_t count)
{
	bool is_across = false;

	for (size_t i = 0; i < count; i++) {
		struct path_span is = { all[i]->begin, all[i]->end };

		if (all[i]->thread != NOBODY) {
			*vec_push(&executions->spans) =
				(struct executions_span){ all[i]->thread, is };
		}
		if (all[i]->last != all[i]->thread && all[i]->last != NOBODY) {
			*vec_push(&executions->spans) =
				(struct executions_span){ all[i]->last, is };
			is_across = true;
		}
	}
	if (is_across) {
		vec_sort(&executions->spans, by_span);
	}
}

static void note_worst(const struct executions *executions, struct execution *all, size_t count,
		       execution_list *ret)
{
	vec_reserve(ret, count);
	for (size_t i = 0; i < count; i++) {
		*vec_push(ret) = &all[i];
	}
	if (executions_have_responses(executions)) {
		sort(ret->at, count, worst_first, ARRAY_COUNT(worst_first));
	} else {
		sort(ret->at, count, longest_first, ARRAY_COUNT(longest_first));
	}
}

void executions_add_up(struct executions *executions)
{
	size_t count = executions->all.count + executions->open.count, first = 0;
	struct execution **all;
	uint64_t *lengths;

	if (count == 0) {
		keep_used(executions);
		return;
	}
	all = mem_alloc(count * sizeof(struct execution *));
	for (size_t i = 0; i < count; i++) {
		all[i] = i < executions->all.count
				 ? &executions->all.at[i]
				 : &executions->open.at[i - executions->all.count];
	}
	sort(all, count, by_place, ARRAY_COUNT(by_place));
	lengths = mem_alloc(count * sizeof(*lengths));
	for (size_t i = 1; i <= count; i++) {
		if (i == count || all[i]->group != all[first]->group) {
			note_group(executions, all + first, i - first, lengths);
			first = i;
		}
	}
	note_sum(executions, lengths);
	note_differences(executions);
	note_spans(executions, all, count);
	note_rows(executions, all, count, lengths);
	free(all);
	free(lengths);
	vec_sort(&executions->groups,
		 executions_have_responses(executions) ? by_urgency : by_misses);
	note_worst(executions, executions->all.at, executions->all.count, &executions->worst);
	note_worst(executions, executions->open.at, executions->open.count,
		   &executions->worst_open);
}
