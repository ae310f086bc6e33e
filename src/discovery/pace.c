/*
 * pace: see pace.h.
 */
#include "discovery/pace.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

ORDER_VALUES(by_value, uint64_t)

static uint64_t median(uint64_t *values, size_t count)
{
	assert(count > 0);
	qsort(values, count, sizeof(*values), by_value);
	return values[count / 2];
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The median distance from @from; changes the values. */
static uint64_t spread(uint64_t *values, size_t count, uint64_t from)
{
	for (size_t i = 0; i < count; i++) {
		values[i] = distance(values[i], from);
	}
	return median(values, count);
}

static double variation_of(const uint64_t *times, size_t count)
{
	double mean = (double)(times[count - 1] - times[0]) / (double)(count - 1), square = 0;

	for (size_t i = 1; i < count; i++) {
		double off = (double)(times[i] - times[i - 1]) - mean;

		square += off * off;
	}
	return mean > 0 ? sqrt(square / (double)(count - 1)) / mean : 0;
}

/* How many periods the distance is, rounded. */
static uint64_t periods(uint64_t ns, uint64_t period_ns)
{
	return (ns + period_ns / 2) / period_ns;
}

static bool is_regular(const uint64_t *times, size_t count, uint64_t period_ns)
{
	size_t fit = 0;

	for (size_t i = 1; period_ns > 0 && i < count; i++) {
		uint64_t gap = times[i] - times[i - 1], n = periods(gap, period_ns);

		fit += n > 0 && distance(gap, n * period_ns) <= period_ns / 8;
	}
	return fit > 0 && fit * 4 >= (count - 1) * 3;
}

/* The number with the fewest digits that is no farther away than @off. */
static uint64_t roundest(uint64_t ns, uint64_t off)
{
	for (uint64_t step = UINT64_C(1000000000000); step > 1; step /= 10) {
		uint64_t near = periods(ns, step) * step;

		if (near > 0 && distance(near, ns) <= off) {
			return near;
		}
	}
	return ns;
}

/* The median of the distances of times that are so many times @apart, each by its number of
 * periods; *ret_off: the median distance from it. */
static uint64_t mean_period(const uint64_t *times, size_t count, size_t apart, uint64_t period_ns,
			    uint64_t *ret_off)
{
	uint64_t *each = mem_alloc(count * sizeof(*each)), ns = period_ns;
	size_t used = 0;

	assert(apart > 0 && apart < count);
	for (size_t i = 0; i + apart < count; i++) {
		uint64_t between = times[i + apart] - times[i], n = periods(between, period_ns);

		if (n > 0) {
			each[used++] = (between + n / 2) / n;
		}
	}
	if (used > 0) {
		ns = median(each, used);
		*ret_off = spread(each, used, ns);
	}
	free(each);
	return ns;
}

/*
 * Of times that lie half of all apart: a time that is off by a little matters little there, and one
 * that is off by much is the exception.  How many periods that is follows from the period of times
 * that are half as far apart.
 */
static uint64_t every_of(const uint64_t *times, size_t count, uint64_t period_ns)
{
	uint64_t off = 0;

	for (size_t apart = 1; apart <= count / 2; apart *= 2) {
		period_ns = mean_period(times, count, apart, period_ns, &off);
	}
	off = 3 * off + 1;
	return roundest(period_ns, off < period_ns / 256 ? off : period_ns / 256);
}

/* Whether each point of the grid has its time, also those that pass while one is late.  The grid
 * goes with the times that are on it: a period that is not known exactly adds nothing up. */
static bool catches_up(const uint64_t *times, size_t count, uint64_t period)
{
	uint64_t next = times[0], most = 0, before = 0;
	bool has_caught = false;

	for (size_t i = 1; i < count; i++) {
		uint64_t late;

		next += period;
		late = times[i] > next ? times[i] - next : 0;
		/* As late as the one before, by whole periods: it goes on from there. */
		if (late > period / 8 && before >= period - period / 8 &&
		    distance(late, before) <= period / 8) {
			return false;
		}
		before = late;
		most = late > most ? late : most;
		if (late <= period / 8) {
			has_caught |= most >= period && distance(times[i], next) <= period / 8;
			next = times[i];
			most = 0;
		}
	}
	return has_caught;
}

struct pace pace_of(const uint64_t *times, size_t count)
{
	struct pace pace = { .variation = variation_of(times, count) };
	uint64_t *gaps = mem_alloc(count * sizeof(*gaps));

	assert(count >= 2);
	for (size_t i = 1; i < count; i++) {
		assert(times[i - 1] <= times[i]);
		gaps[i - 1] = times[i] - times[i - 1];
	}
	pace.period_ns = median(gaps, count - 1);
	pace.jitter_ns = spread(gaps, count - 1, pace.period_ns);
	if (is_regular(times, count, pace.period_ns)) {
		pace.steady_ns = every_of(times, count, pace.period_ns);
	}
	if (distance(pace.steady_ns, pace.period_ns) > pace.period_ns / 16) {
		pace.steady_ns = 0;
	}
	pace.is_regular = pace.steady_ns > 0 && pace.variation <= PACE_VARIATION_MAX;
	pace.every_ns = pace.is_regular ? pace.steady_ns : 0;
	pace.catches_up = pace.steady_ns > 0 && catches_up(times, count, pace.steady_ns);
	free(gaps);
	return pace;
}
