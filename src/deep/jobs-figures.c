/*
 * jobs-figures: durations and response times of executions (doc/definitions.md, 6.2).
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "deep/jobs.h"

static int by_length(const void *left, const void *right)
{
	const struct execution *a = left, *b = right;
	uint64_t a_ns = a->end - a->begin, b_ns = b->end - b->begin;

	if (a_ns != b_ns) {
		return a_ns > b_ns ? -1 : 1;
	}
	if (a->begin != b->begin) {
		return a->begin < b->begin ? -1 : 1;
	}
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static uint64_t length_of(const struct execution *execution)
{
	return execution->end - execution->begin;
}

/*
 * The median of the distances between executions and their median.  Executions are sorted, longest
 * first: distances grow from the median to both ends, so this merges the two sides.
 */
static uint64_t median_deviation(const struct jobs *jobs)
{
	size_t count = jobs->all.count, above = 0, below;
	uint64_t away = 0;

	while (above < count && length_of(&jobs->all.at[above]) >= jobs->median_ns) {
		above++; /* executions before this index are at least the median */
	}
	below = above;
	for (size_t i = 0; i <= count / 2; i++) {
		uint64_t up = above > 0 ? length_of(&jobs->all.at[above - 1]) - jobs->median_ns
					: UINT64_MAX;
		uint64_t down = below < count ? jobs->median_ns - length_of(&jobs->all.at[below])
					      : UINT64_MAX;

		away = up <= down ? up : down;
		above -= up <= down;
		below += up > down;
	}
	return away;
}

/* The length that @share of all executions do not exceed; they are sorted, longest first. */
static uint64_t quantile(const struct jobs *jobs, double share)
{
	size_t count = jobs->all.count;
	size_t rank = (size_t)ceil(share * (double)count);

	assert(count > 0);
	assert(rank <= count);
	return length_of(&jobs->all.at[rank > 0 ? count - rank : count - 1]);
}

static int by_begin(const void *left, const void *right)
{
	const struct execution *a = *(const struct execution *const *)left;
	const struct execution *b = *(const struct execution *const *)right;

	if (a->begin != b->begin) {
		return a->begin < b->begin ? -1 : 1;
	}
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* Executions, open ones too, by time. */
struct in_order {
	struct execution **at;
	size_t count;
};

static struct in_order put_in_order(const struct jobs *jobs)
{
	struct in_order order = { .count = jobs->all.count + jobs->open.count };

	order.at = mem_alloc((order.count + 1) * sizeof(struct execution *));
	for (size_t i = 0; i < order.count; i++) {
		order.at[i] = i < jobs->all.count ? &jobs->all.at[i]
						  : &jobs->open.at[i - jobs->all.count];
	}
	qsort(order.at, order.count, sizeof(struct execution *), by_begin);
	return order;
}

/* How much later a time is than the nearest multiple of @period; negative: earlier. */
static int64_t off_grid(uint64_t ns, uint64_t period)
{
	uint64_t rest = ns % period;

	return rest > period / 2 ? (int64_t)rest - (int64_t)period : (int64_t)rest;
}

/*
 * Arrivals lie on a grid of the period.  Its phase is the latest for which no execution begins
 * before its arrival: one execution begins exactly at it.  (The first execution may be late, so its
 * start alone does not give the phase.)  Executions are sorted by time.
 */
static void note_arrivals(struct jobs *jobs, const struct in_order *order)
{
	uint64_t first = order->at[0]->begin, period = jobs->config->period_ns, before = 0;
	int64_t phase = 0;

	for (size_t i = 0; i < order->count; i++) {
		int64_t off = off_grid(order->at[i]->begin - first, period);

		phase = off < phase ? off : phase;
	}
	for (size_t i = 0; i < order->count; i++) {
		struct execution *one = order->at[i];
		uint64_t since = one->begin - first + (uint64_t)-phase;
		uint64_t arrival = since / period, late = since % period;

		assert(one->begin >= first);
		one->response_ns = late + one->end - one->begin;
		jobs->jitter_ns = late > jobs->jitter_ns ? late : jobs->jitter_ns;
		if (i > 0 && arrival > before + 1) {
			jobs->skipped += arrival - before - 1;
		}
		before = arrival;
	}
}

/* An open execution has its response so far. */
static void note_responses(struct jobs *jobs)
{
	const struct in_order order = put_in_order(jobs);
	uint64_t run = 0;

	for (size_t i = 0; i < order.count; i++) {
		order.at[i]->response_ns = length_of(order.at[i]);
	}
	if (jobs->config->period_ns > 0) {
		note_arrivals(jobs, &order);
	}
	for (size_t i = 0; i < order.count; i++) {
		uint64_t response = order.at[i]->response_ns;
		bool is_late = response > jobs->config->deadline_ns;

		jobs->response_max_ns =
			response > jobs->response_max_ns ? response : jobs->response_max_ns;
		jobs->misses += is_late;
		run = is_late ? run + 1 : 0;
		jobs->misses_run = run > jobs->misses_run ? run : jobs->misses_run;
	}
	free(order.at);
}

void jobs_add_up(struct jobs *jobs)
{
	size_t count = jobs->all.count;
	double mean, squares = 0;
	uint64_t limit;

	if (count + jobs->open.count == 0) {
		return;
	}
	note_responses(jobs);
	if (jobs->open.count > 0) {
		qsort(jobs->open.at, jobs->open.count, sizeof(*jobs->open.at), by_length);
	}
	if (count == 0) {
		return;
	}
	qsort(jobs->all.at, count, sizeof(*jobs->all.at), by_length);
	for (size_t i = 0; i < count; i++) {
		struct execution *one = &jobs->all.at[i];

		jobs->total_ns += length_of(one);
		for (unsigned int state = 0; state < STATES; state++) {
			jobs->ns[state] += one->ns[state];
		}
	}
	jobs->max_ns = length_of(&jobs->all.at[0]);
	jobs->min_ns = length_of(&jobs->all.at[count - 1]);
	assert(jobs->min_ns <= jobs->max_ns);
	jobs->median_ns = quantile(jobs, 0.5);
	jobs->p95_ns = quantile(jobs, 0.95);
	jobs->p99_ns = quantile(jobs, 0.99);
	assert(jobs->median_ns <= jobs->p95_ns);
	assert(jobs->p99_ns <= jobs->max_ns);
	mean = (double)jobs->total_ns / (double)count;
	limit = jobs->median_ns + 5 * median_deviation(jobs);
	for (size_t i = 0; i < count; i++) {
		double away = (double)length_of(&jobs->all.at[i]) - mean;

		squares += away * away;
		jobs->outliers += length_of(&jobs->all.at[i]) > limit;
	}
	jobs->deviation_ns = count > 1 ? sqrt(squares / (double)(count - 1)) : 0;
}
