/*
 * auto-limit: see auto-limit.h.
 *
 * The fit.  With x = shape / scale the likelihood of n excesses y, of which d are exact and the
 * others only known to be at least y, has its maximum over the shape at
 *
 *     shape(x) = sum of log(1 + x y) over all, divided by d
 *
 * (Grimshaw's trick, with values that are cut off).  One unknown is left, which is searched for.
 */
#include "trigger/auto-limit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

#define AUTO_FIT_MIN 10      /* fewer excesses: their law is taken as exponential */
#define SHAPE_MIN    (-0.95) /* at -1 the likelihood has no maximum */
#define SHAPE_MAX    1.0     /* beyond, the law has no mean */
#define REAL_MAX     1e60    /* of a checkpoint */

struct excess {
	double y;    /* over the level t */
	uint64_t at; /* number of the value */
	bool is_cut; /* it was beyond the limit, which y stands for */
};

struct auto_limit {
	struct auto_setup setup;
	VEC(double) warm; /* values of the warm-up, in their order */
	uint64_t count;   /* values that count */
	uint64_t since;   /* number of the last value whose excess is not kept any more */
	struct excess excesses[AUTO_EXCESSES_MAX];
	size_t excess_count, oldest, exact; /* exact: those that are not cut */
	size_t unfitted;                    /* excesses since the last fit */
	uint64_t update_at;                 /* the value at which the limit is computed again */
	double level;                       /* t */
	double scale, shape;                /* of the excesses; 0: no exact excess is known */
	double limit;
	bool was_beyond;
	/* The mean: sums of parts of the last values. */
	double parts[AUTO_PARTS_MAX];
	size_t part_count, part_next,
		in_part; /* in_part: values in the part that is being filled */
	double part;
};

struct auto_limit *auto_limit_new(const struct auto_setup *setup)
{
	struct auto_limit *limit = mem_alloc(sizeof(*limit));

	assert(setup->q > 0 && setup->q <= AUTO_Q_MAX);
	limit->setup = *setup;
	return limit;
}

void auto_limit_free(struct auto_limit *limit)
{
	if (limit) {
		vec_fini(&limit->warm);
		free(limit);
	}
}

/* ---- the mean ---- */

/* Values in one part, and parts that make the mean. */
static uint64_t part_values(const struct auto_limit *limit)
{
	return (limit->setup.drift + AUTO_PARTS_MAX - 1) / AUTO_PARTS_MAX;
}

static size_t parts_wanted(const struct auto_limit *limit)
{
	return limit->setup.drift ? (size_t)(limit->setup.drift / part_values(limit)) : 0;
}

static bool has_mean(const struct auto_limit *limit)
{
	return limit->part_count == parts_wanted(limit);
}

/* Summed each time, so that no rounding error grows. */
static double mean_of(const struct auto_limit *limit)
{
	double sum = limit->part;
	uint64_t count = limit->in_part + limit->part_count * part_values(limit);

	for (size_t i = 0; i < limit->part_count; i++) {
		sum += limit->parts[i];
	}
	return sum / (double)count;
}

static void add_to_mean(struct auto_limit *limit, double value)
{
	if (limit->setup.drift == 0) {
		return;
	}
	limit->part += value;
	if (++limit->in_part < part_values(limit)) {
		return;
	}
	assert(parts_wanted(limit) > 0);
	limit->parts[limit->part_next] = limit->part;
	limit->part_next = (limit->part_next + 1) % parts_wanted(limit);
	limit->part_count += !has_mean(limit);
	limit->part = 0;
	limit->in_part = 0;
}

/* ---- the fit ---- */

struct fit {
	double likelihood, shape, scale;
};

/* The best fit for this x = shape / scale, which is not 0; its likelihood is -INFINITY if the shape
 * is out of bounds. */
static struct fit fit_at(const struct auto_limit *limit, double x)
{
	double all = 0, exact = 0, d = (double)limit->exact;
	struct fit fit = { .likelihood = -INFINITY };

	for (size_t i = 0; i < limit->excess_count; i++) {
		double part = log1p(x * limit->excesses[i].y);

		all += part;
		exact += limit->excesses[i].is_cut ? 0 : part;
	}
	fit.shape = all / d;
	fit.scale = fit.shape / x;
	if (fit.shape >= SHAPE_MIN && fit.shape <= SHAPE_MAX && fit.scale > 0) {
		fit.likelihood = -d * log(fit.scale) - exact - d;
	}
	return fit;
}

/* Looks for the best x between two others by golden sections. */
static struct fit fit_between(const struct auto_limit *limit, double low, double high)
{
	const double ratio = 0.6180339887498949;
	double left = high - ratio * (high - low), right = low + ratio * (high - low);
	struct fit at_left = fit_at(limit, left), at_right = fit_at(limit, right);

	for (int i = 0; i < 24; i++) {
		if (at_left.likelihood > at_right.likelihood) {
			high = right;
			right = left;
			at_right = at_left;
			left = high - ratio * (high - low);
			at_left = fit_at(limit, left);
		} else {
			low = left;
			left = right;
			at_left = at_right;
			right = low + ratio * (high - low);
			at_right = fit_at(limit, right);
		}
	}
	return at_left.likelihood > at_right.likelihood ? at_left : at_right;
}

/* Sets scale and shape from the excesses. */
static void fit(struct auto_limit *limit)
{
	/* x by the greatest excess (negative: the law ends behind it) or by the mean. */
	static const double by_most[] = {
		-0.9999, -0.99, -0.95, -0.9, -0.8, -0.6, -0.4, -0.2, -0.05
	};
	static const double by_mean[] = { 0.02, 0.1, 0.3, 0.7, 1.5, 4, 12 };
	enum { BELOW = ARRAY_COUNT(by_most), ABOVE = ARRAY_COUNT(by_mean) };
	double x[BELOW + ABOVE], sum = 0, most = 0;
	struct fit best, other;
	size_t at = 0;

	for (size_t i = 0; i < limit->excess_count; i++) {
		sum += limit->excesses[i].y;
		most = fmax(most, limit->excesses[i].y);
	}
	limit->unfitted = 0;
	limit->shape = 0;
	limit->scale = limit->exact > 0 ? sum / (double)limit->exact : 0;
	if (limit->excess_count < AUTO_FIT_MIN || limit->exact < AUTO_FIT_MIN / 2) {
		return;
	}
	best = (struct fit){ .likelihood = -(double)limit->exact * (log(limit->scale) + 1),
			     .scale = limit->scale };
	for (size_t i = 0; i < BELOW + ABOVE; i++) {
		x[i] = i < BELOW ? by_most[i] / most
				 : by_mean[i - BELOW] * (double)limit->excess_count / sum;
		other = fit_at(limit, x[i]);
		if (other.likelihood > best.likelihood) {
			best = other;
			at = i + 1;
		}
	}
	if (at > 0) {
		other = fit_between(limit, x[at > 1 ? at - 2 : 0],
				    x[at < BELOW + ABOVE ? at : at - 1]);
		best = other.likelihood > best.likelihood ? other : best;
	}
	limit->shape = best.shape;
	limit->scale = best.scale;
}

/* ---- the limit ---- */

ORDER_VALUES(by_size, double)

/* The excess that at most twice the share q of the values exceeded.  Where a figure has few
 * different values no smooth law says how often the next one comes. */
static double seen_excess(const struct auto_limit *limit, uint64_t span)
{
	double sorted[AUTO_EXCESSES_MAX], more = 2 * limit->setup.q * (double)span;

	if (more >= (double)limit->excess_count) {
		return 0;
	}
	for (size_t i = 0; i < limit->excess_count; i++) {
		sorted[i] = limit->excesses[i].y;
	}
	qsort(sorted, limit->excess_count, sizeof(sorted[0]), by_size);
	return sorted[limit->excess_count - 1 - (size_t)more];
}

static void update(struct auto_limit *limit)
{
	uint64_t span = limit->count - limit->since;
	double share, above = 0;

	assert(span > 0);
	limit->update_at = limit->count + 1 + span / 100;
	if (limit->unfitted > limit->excess_count / 20) {
		fit(limit);
	}
	if (limit->excess_count > 0) {
		share = limit->setup.q * (double)span / (double)limit->excess_count;
		if (share < 1 && limit->shape == 0) {
			above = -limit->scale * log(share);
		} else if (share < 1) {
			above = limit->scale / limit->shape * (pow(share, -limit->shape) - 1);
		}
		above = fmax(above, seen_excess(limit, span));
	}
	limit->limit = limit->level + above;
	assert(isfinite(limit->limit));
}

static void add_excess(struct auto_limit *limit, double y, bool is_cut, uint64_t at)
{
	struct excess *excess = &limit->excesses[limit->excess_count];

	if (limit->excess_count == AUTO_EXCESSES_MAX) {
		excess = &limit->excesses[limit->oldest];
		limit->oldest = (limit->oldest + 1) % AUTO_EXCESSES_MAX;
		limit->since = excess->at;
		limit->exact -= !excess->is_cut;
	} else {
		limit->excess_count++;
	}
	*excess = (struct excess){ .y = y, .at = at, .is_cut = is_cut };
	limit->exact += !is_cut;
	limit->unfitted++;
}

static void end_warm_up(struct auto_limit *limit)
{
	double sorted[AUTO_WARM_UP];

	memcpy(sorted, limit->warm.at, sizeof(sorted));
	qsort(sorted, AUTO_WARM_UP, sizeof(sorted[0]), by_size);
	limit->level = sorted[AUTO_WARM_UP * 98 / 100 - 1];
	limit->count = AUTO_WARM_UP;
	for (size_t i = 0; i < AUTO_WARM_UP; i++) {
		if (limit->warm.at[i] > limit->level) {
			add_excess(limit, limit->warm.at[i] - limit->level, false, i + 1);
		}
	}
	vec_fini(&limit->warm);
	memset(&limit->warm, 0, sizeof(limit->warm));
	update(limit);
}

/* A value after the warm-up; @value is relative to the mean. */
static bool take(struct auto_limit *limit, double value)
{
	bool is_beyond = value > limit->limit, is_cut = is_beyond && limit->exact > 0;
	double excess = (is_cut ? limit->limit : value) - limit->level;

	if (is_beyond && limit->was_beyond) {
		return true;
	}
	limit->was_beyond = is_beyond;
	limit->count++;
	if (value > limit->level && excess > 0) {
		add_excess(limit, excess, is_cut, limit->count);
		update(limit);
	} else if (limit->count >= limit->update_at) {
		update(limit);
	}
	return is_beyond;
}

bool auto_limit_take(struct auto_limit *limit, double value, double *ret_limit)
{
	double sign = limit->setup.is_lower ? -1 : 1, mean = 0;
	bool is_beyond = false;

	if (!isfinite(value) || fabs(value) > 1e30) {
		return false;
	}
	value *= sign;
	if (!has_mean(limit)) {
		add_to_mean(limit, value);
		return false;
	}
	mean = limit->setup.drift > 0 ? mean_of(limit) : 0;
	if (limit->count == 0) {
		*vec_push(&limit->warm) = value - mean;
		if (limit->warm.count == AUTO_WARM_UP) {
			end_warm_up(limit);
		}
	} else {
		*ret_limit = sign * (limit->limit + mean);
		is_beyond = take(limit, value - mean);
	}
	if (!is_beyond) {
		add_to_mean(limit, value);
	}
	return is_beyond;
}

uint64_t auto_limit_warms_up(const struct auto_limit *limit)
{
	uint64_t mean = parts_wanted(limit) * part_values(limit);
	uint64_t taken =
		has_mean(limit) ? mean : limit->part_count * part_values(limit) + limit->in_part;

	return limit->count > 0 ? 0 : mean - taken + AUTO_WARM_UP - limit->warm.count;
}

/* ---- checkpoints ---- */

static void codec_size(struct codec *codec, size_t *value, size_t most)
{
	uint64_t bits = *value;

	codec_u64(codec, &bits);
	*value = codec_check(codec, bits <= most) ? (size_t)bits : 0;
}

static void codec_excesses(struct auto_limit *limit, struct codec *codec)
{
	uint64_t before = limit->since;

	codec_size(codec, &limit->excess_count, AUTO_EXCESSES_MAX);
	codec_size(codec, &limit->oldest, AUTO_EXCESSES_MAX - 1);
	codec_check(codec, limit->oldest == 0 || limit->excess_count == AUTO_EXCESSES_MAX);
	limit->exact = 0;
	for (size_t i = 0; i < limit->excess_count && !codec->is_wrong; i++) {
		struct excess *excess = &limit->excesses[(limit->oldest + i) % AUTO_EXCESSES_MAX];

		codec_real(codec, &excess->y, REAL_MAX);
		codec_u64(codec, &excess->at);
		codec_bool(codec, &excess->is_cut);
		codec_check(codec,
			    excess->y > 0 && excess->at > before && excess->at <= limit->count);
		before = excess->at;
		limit->exact += !excess->is_cut;
	}
}

static void codec_mean(struct auto_limit *limit, struct codec *codec)
{
	size_t wanted = parts_wanted(limit);

	codec_size(codec, &limit->part_count, wanted);
	codec_size(codec, &limit->part_next, wanted > 0 ? wanted - 1 : 0);
	codec_size(codec, &limit->in_part, wanted > 0 ? part_values(limit) - 1 : 0);
	codec_real(codec, &limit->part, REAL_MAX);
	codec_check(codec, has_mean(limit) || limit->part_next == limit->part_count);
	for (size_t i = 0; i < limit->part_count; i++) {
		codec_real(codec, &limit->parts[i], REAL_MAX);
	}
}

void auto_limit_codec(struct auto_limit *limit, struct codec *codec)
{
	size_t warm = codec_count(codec, limit->warm.count, sizeof(double));

	codec_check(codec, warm < AUTO_WARM_UP);
	for (size_t i = 0; i < warm && !codec->is_wrong; i++) {
		codec_real(codec, codec_at(codec, &limit->warm, i), REAL_MAX);
	}
	codec_u64(codec, &limit->count);
	codec_u64(codec, &limit->since);
	codec_u64(codec, &limit->update_at);
	codec_check(codec, limit->count == 0 || (limit->count >= AUTO_WARM_UP &&
						 limit->since < limit->count && warm == 0));
	codec_excesses(limit, codec);
	codec_size(codec, &limit->unfitted, SIZE_MAX);
	codec_real(codec, &limit->level, REAL_MAX);
	codec_real(codec, &limit->scale, REAL_MAX);
	codec_real(codec, &limit->shape, REAL_MAX);
	codec_real(codec, &limit->limit, REAL_MAX);
	codec_bool(codec, &limit->was_beyond);
	codec_check(codec, limit->scale >= 0 && limit->shape >= SHAPE_MIN &&
				   limit->shape <= SHAPE_MAX && limit->limit >= limit->level);
	codec_mean(limit, codec);
}
