/*
 * running: see running.h.
 */
#include "phases/running.h"

#include <assert.h>
#include <float.h>
#include <math.h>

#include "base/mem.h"
#include "phases/groups.h"
#include "phases/series.h"

typedef VEC(struct running_series) running_list;

struct running {
	struct rolling *rolling;
	struct groups *groups;
	bool has_calls;      /* as in running_new() */
	uint64_t first;      /* slice of the phase that goes on */
	running_list series; /* of all slices */
	running_list beside; /* of those held; the others are first */
	VEC(double) values;  /* [beside][slices held], divided */
};

struct running *running_new(bool has_calls)
{
	struct running *running = mem_alloc(sizeof(*running));

	running->has_calls = has_calls;
	running->rolling = rolling_new(ROLLING_SLICES);
	running->groups = groups_new(ROLLING_SLICES);
	return running;
}

static void forget_series_list(running_list *list)
{
	VEC_EACH(list, series) {
		free(series->name);
	}
	list->count = 0;
}

void running_free(struct running *running)
{
	if (!running) {
		return;
	}
	forget_series_list(&running->series);
	forget_series_list(&running->beside);
	vec_fini(&running->series);
	vec_fini(&running->beside);
	vec_fini(&running->values);
	groups_free(running->groups);
	rolling_free(running->rolling);
	free(running);
}

static uint64_t slices_so_far(const struct running *running)
{
	return rolling_count(running->rolling);
}

static size_t slices_held(const struct running *running)
{
	return slices_so_far(running) - rolling_first(running->rolling);
}

/* ---- a window ---- */

/* Series come in much the same order in each window: the search begins at @from.  NULL: there are
 * too many. */
static struct running_series *series_named(struct running *running, size_t from,
					   const struct series_value *value)
{
	struct running_series *series;

	for (size_t i = 0; i < running->series.count; i++) {
		series = &running->series.at[(from + i) % running->series.count];
		if (strcmp(series->name, value->name) == 0) {
			return series;
		}
	}
	if (running->series.count == ROLLING_SERIES_MAX) {
		return NULL;
	}
	series = vec_push(&running->series);
	*series = (struct running_series){ .name = mem_strdup(value->name) };
	return series;
}

/* What came before is divided by as much. */
static void scale_up(struct running *running, struct running_series *series, double scale)
{
	size_t number = (size_t)(series - running->series.at);

	if (series->scale > 0 && scale > series->scale) {
		rolling_scale(running->rolling, number, series->scale / scale);
		series->sum *= series->scale / scale;
	}
	series->scale = fmax(series->scale, scale);
}

struct running_taking {
	struct running *running;
	size_t at;
	bool has_cpus;
};

static void take_value(void *user, const struct series_value *value)
{
	struct running_taking *taking = user;
	struct running_series *series;

	if (taking->has_cpus && !value->is_state) {
		return;
	}
	series = series_named(taking->running, taking->at++, value);
	if (!series) {
		return;
	}
	series->is_share = value->is_share;
	series->is_level = value->is_level;
	series->is_counterpart = value->is_counterpart;
	series->unit = value->unit;
	series->holds = value->is_level && value->unit == UNIT_NS;
	series->value = value->value;
	scale_up(taking->running, series,
		 fmax(value->is_share ? 0 : value->value, value->least_scale));
}

/* Of a process or a container, of all slices held. */
static void take_beside(void *user, const struct series_value *value, const double *values)
{
	struct running *running = user;
	struct running_series *series = vec_push(&running->beside);

	*series = (struct running_series){ .name = mem_strdup(value->name),
					   .unit = value->unit,
					   .scale = value->least_scale };
	for (size_t i = 0; i < slices_held(running); i++) {
		*vec_push(&running->values) = values[i] / value->least_scale;
	}
}

static void push_slice(struct running *running, size_t old_series)
{
	double values[ROLLING_SERIES_MAX];

	for (size_t i = 0; i < running->series.count; i++) {
		struct running_series *series = &running->series.at[i];

		values[i] = series->scale > 0 ? series->value / series->scale : 0;
		series->sum += values[i];
	}
	rolling_add(running->rolling, values, running->series.count);
	for (size_t i = old_series; i < running->series.count; i++) {
		struct running_series *series = &running->series.at[i];

		if (series->holds) {
			rolling_fill(running->rolling, i, values[i]);
			series->sum = values[i] * (double)(slices_so_far(running) - running->first);
		}
	}
}

static void part_slices(struct running *running, bool is_over)
{
	bool counts[ROLLING_SERIES_MAX];
	const struct rolling_beside beside = { running->beside.count, running->values.at };

	for (size_t i = 0; i < running->series.count; i++) {
		counts[i] = !running->series.at[i].is_counterpart;
	}
	rolling_find(running->rolling, counts, &beside, is_over);
}

static void find_beside(struct running *running)
{
	forget_series_list(&running->beside);
	running->values.count = 0;
	groups_each(running->groups,
		    &(struct groups_span){ rolling_first(running->rolling), slices_held(running) },
		    take_beside, running);
}

void running_report(struct running *running, const struct report *report, bool has_cpus)
{
	struct running_taking taking = { .running = running, .has_cpus = has_cpus };
	size_t old_series = running->series.count;

	VEC_EACH(&running->series, series) {
		series->value = series->holds ? series->value : 0;
	}
	series_each(report, (double)(report->end - report->begin) / (double)NS_PER_S,
		    running->has_calls, take_value, &taking);
	groups_report(running->groups, slices_so_far(running), report);
	push_slice(running, old_series);
	find_beside(running);
	part_slices(running, false);
}

void running_end(struct running *running)
{
	find_beside(running);
	part_slices(running, true);
}

void running_begin(struct running *running, uint64_t slice)
{
	uint64_t count = slices_so_far(running);

	assert(slice >= running->first && slice < count);
	running->first = slice;
	for (size_t i = 0; i < running->series.count; i++) {
		running->series.at[i].sum = rolling_sum(running->rolling, i,
							&(struct rolling_part){ slice, count - 1 });
	}
}

uint64_t running_first(const struct running *running)
{
	return running->first;
}

/* ---- results ---- */

const struct rolling *running_slices(const struct running *running)
{
	return running->rolling;
}

size_t running_count(const struct running *running)
{
	return running->series.count + running->beside.count;
}

const struct running_series *running_series(const struct running *running, size_t series)
{
	size_t count = running->series.count;

	return series < count ? &running->series.at[series] : &running->beside.at[series - count];
}

double running_mean(const struct running *running, size_t series, const struct rolling_part *part)
{
	double sum = 0;

	if (series < running->series.count) {
		sum = rolling_sum(running->rolling, series, part);
	} else {
		uint64_t first = rolling_first(running->rolling);
		const double *values =
			&running->values
				 .at[(series - running->series.count) * slices_held(running)];

		for (uint64_t i = part->first; i <= part->last; i++) {
			sum += values[i - first];
		}
	}
	return sum / (double)(part->last - part->first + 1);
}

double running_mean_until(const struct running *running, size_t series, uint64_t slice)
{
	uint64_t count = slices_so_far(running), first = rolling_first(running->rolling);
	double sum;

	assert(slice > running->first && slice > first && slice <= count);
	if (series >= running->series.count) {
		first = running->first > first ? running->first : first;
		return running_mean(running, series, &(struct rolling_part){ first, slice - 1 });
	}
	sum = running->series.at[series].sum;
	if (slice < count) {
		sum -= rolling_sum(running->rolling, series,
				   &(struct rolling_part){ slice, count - 1 });
	}
	return fmax(sum, 0) / (double)(slice - running->first);
}

/* ---- checkpoints ---- */

#define SCALE_MIN 1e-12

static void running_series_codec(struct codec *codec, struct running_series *series)
{
	uint8_t kind = (uint8_t)(series->is_share | series->is_level << 1 | series->holds << 2 |
				 series->is_counterpart << 3 | (unsigned int)series->unit << 4);

	codec_text(codec, &series->name);
	codec_u8(codec, &kind);
	if (codec_check(codec, kind >> 4 <= UNIT_NS)) {
		series->is_share = kind & 1;
		series->is_level = kind & 2;
		series->holds = kind & 4;
		series->is_counterpart = kind & 8;
		series->unit = (enum unit)(kind >> 4);
	}
	codec_real(codec, &series->scale, DBL_MAX);
	codec_real(codec, &series->sum, DBL_MAX);
	codec_real(codec, &series->value, DBL_MAX);
	/* 1 by a scale is a number. */
	if (!codec_check(codec, series->name &&
					(series->scale == 0 || series->scale >= SCALE_MIN) &&
					series->value >= 0 &&
					series->value <= series->scale * ROLLING_VALUE_MAX)) {
		free(series->name);
		series->name = mem_strdup("?");
	}
}

void running_codec(struct running *running, struct codec *codec)
{
	size_t count = codec_count(codec, running->series.count, 29);

	for (size_t i = 0; i < count && codec_check(codec, count <= ROLLING_SERIES_MAX); i++) {
		running_series_codec(codec, codec_at(codec, &running->series, i));
	}
	codec_u64(codec, &running->first);
	rolling_codec(running->rolling, codec);
	groups_codec(running->groups, codec);
	(void)codec_check(codec,
			  running->first <= slices_so_far(running) &&
				  rolling_series(running->rolling) == running->series.count &&
				  groups_next(running->groups) == slices_so_far(running));
}
