/*
 * rolling: see rolling.h.
 */
#include "phases/rolling.h"

#include <assert.h>
#include <math.h>

#include "phases/suggest.h"

struct rolling {
	size_t room;        /* slices that are held */
	size_t series;      /* used */
	size_t series_room; /* of the values of a slice */
	uint64_t count;     /* slices that have closed */
	uint64_t first;     /* the oldest one that is held */
	double *values;     /* [slice modulo room][series_room] */
	/* Of slices held, from the oldest one on; NULL: it has to be made again. */
	struct partition_table *table;
	size_t beside;         /* series of the table that come after the others */
	double *beside_values; /* [beside][slice modulo room]: as they are in the table */
	VEC(struct rolling_part) parts;
};

static double *values_of(const struct rolling *rolling, uint64_t slice)
{
	assert(slice >= rolling->first && slice <= rolling->count);
	return &rolling->values[slice % rolling->room * rolling->series_room];
}

/* New series were 0. */
static void grow_series(struct rolling *rolling, size_t series)
{
	size_t room = series < 8 ? 8 : 2 * series;
	double *grown;

	assert(series >= rolling->series && series <= ROLLING_SERIES_MAX);
	if (series == rolling->series) {
		return;
	}
	partition_table_free(rolling->table);
	rolling->table = NULL;
	rolling->series = series;
	if (series <= rolling->series_room) {
		return;
	}
	grown = mem_alloc(rolling->room * room * sizeof(*grown));
	for (size_t i = 0; rolling->series_room > 0 && i < rolling->room; i++) {
		memcpy(&grown[i * room], &rolling->values[i * rolling->series_room],
		       rolling->series_room * sizeof(*grown));
	}
	free(rolling->values);
	rolling->values = grown;
	rolling->series_room = room;
}

struct rolling *rolling_new(size_t slices)
{
	struct rolling *rolling = mem_alloc(sizeof(*rolling));

	assert(slices >= 2 && slices <= PARTITION_SLICES_MAX);
	rolling->room = slices;
	return rolling;
}

void rolling_free(struct rolling *rolling)
{
	if (!rolling) {
		return;
	}
	partition_table_free(rolling->table);
	free(rolling->values);
	free(rolling->beside_values);
	vec_fini(&rolling->parts);
	free(rolling);
}

/* ---- slices ---- */

void rolling_add(struct rolling *rolling, const double *values, size_t series)
{
	double *own;

	grow_series(rolling, series);
	if (rolling->count - rolling->first == rolling->room) {
		if (rolling->table) {
			partition_table_drop(rolling->table);
		}
		rolling->first++;
	}
	own = series > 0 ? values_of(rolling, rolling->count) : NULL;
	for (size_t i = 0; i < series; i++) {
		assert(values[i] >= 0 && values[i] <= ROLLING_VALUE_MAX);
		own[i] = values[i];
	}
	rolling->count++;
	assert(rolling->first < rolling->count);
}

/* ---- parts ---- */

static size_t slices_of_now(const struct rolling *rolling)
{
	return rolling->count - rolling->first;
}

/* Whether the table's slices have the same values as before. */
static bool is_beside(const struct rolling *rolling, const struct rolling_beside *beside)
{
	size_t count = slices_of_now(rolling);

	if (beside->series != rolling->beside) {
		return false;
	}
	for (size_t i = 0; i < beside->series * count; i++) {
		size_t series = i / count, slice = i % count;
		double old = rolling->beside_values[series * rolling->room +
						    (rolling->first + slice) % rolling->room];

		if (slice < partition_slices(rolling->table) &&
		    (old < beside->values[i] || old > beside->values[i])) {
			return false;
		}
	}
	return true;
}

static void keep_beside(struct rolling *rolling, const struct rolling_beside *beside)
{
	size_t count = slices_of_now(rolling);

	if (beside->series != rolling->beside) {
		free(rolling->beside_values);
		rolling->beside = beside->series;
		rolling->beside_values =
			mem_alloc((rolling->beside * rolling->room + 1) * sizeof(double));
	}
	for (size_t i = 0; i < beside->series * count; i++) {
		rolling->beside_values[i / count * rolling->room +
				       (rolling->first + i % count) % rolling->room] =
			beside->values[i];
	}
}

/* Adds the slices that the table lacks. */
static void fill_table(struct rolling *rolling)
{
	double *values = mem_alloc((rolling->series + rolling->beside + 1) * sizeof(*values));

	for (uint64_t at = rolling->first + partition_slices(rolling->table); at < rolling->count;
	     at++) {
		for (size_t i = 0; i < rolling->series; i++) {
			values[i] = values_of(rolling, at)[i];
		}
		for (size_t i = 0; i < rolling->beside; i++) {
			values[rolling->series + i] =
				rolling->beside_values[i * rolling->room + at % rolling->room];
		}
		partition_table_add(rolling->table, values);
	}
	free(values);
}

static void find_parts(struct rolling *rolling, const bool *counts, bool is_over)
{
	partition_parts parts = { 0 }, maybe = { 0 };
	size_t at = 0;

	suggest_parts(rolling->table, counts, is_over, &maybe, &parts);
	rolling->parts.count = 0;
	VEC_EACH(&maybe, part) {
		at += at + 1 < parts.count && parts.at[at].last < part->first;
		*vec_push(&rolling->parts) =
			(struct rolling_part){ rolling->first + part->first,
					       rolling->first + part->last,
					       parts.at[at].first == part->first };
	}
	vec_fini(&parts);
	vec_fini(&maybe);
}

void rolling_find(struct rolling *rolling, const bool *counts, const struct rolling_beside *beside,
		  bool is_over)
{
	bool *all = mem_alloc(rolling->series + beside->series + 1);

	assert(rolling->count > 0);
	if (rolling->table && !is_beside(rolling, beside)) {
		partition_table_free(rolling->table);
		rolling->table = NULL;
	}
	keep_beside(rolling, beside);
	if (!rolling->table) {
		rolling->table =
			partition_table_empty(rolling->room, rolling->series + beside->series);
	}
	fill_table(rolling);
	for (size_t i = 0; i < rolling->series + beside->series; i++) {
		all[i] = i >= rolling->series || counts[i];
	}
	find_parts(rolling, all, is_over);
	free(all);
}

static void make_anew(struct rolling *rolling)
{
	partition_table_free(rolling->table);
	rolling->table = NULL;
}

void rolling_scale(struct rolling *rolling, size_t series, double factor)
{
	assert(series < rolling->series && factor > 0 && isfinite(factor));
	for (uint64_t i = rolling->first; i < rolling->count; i++) {
		values_of(rolling, i)[series] *= factor;
	}
	make_anew(rolling);
}

void rolling_fill(struct rolling *rolling, size_t series, double value)
{
	assert(series < rolling->series && value >= 0 && value <= ROLLING_VALUE_MAX);
	for (uint64_t i = rolling->first; i < rolling->count; i++) {
		values_of(rolling, i)[series] = value;
	}
	make_anew(rolling);
}

/* ---- results ---- */

uint64_t rolling_count(const struct rolling *rolling)
{
	return rolling->count;
}

uint64_t rolling_first(const struct rolling *rolling)
{
	return rolling->first;
}

size_t rolling_series(const struct rolling *rolling)
{
	return rolling->series;
}

const struct rolling_part *rolling_parts(const struct rolling *rolling, size_t *ret_count)
{
	*ret_count = rolling->parts.count;
	return rolling->parts.at;
}

double rolling_sum(const struct rolling *rolling, size_t series, const struct rolling_part *part)
{
	double sum = 0;

	for (uint64_t i = part->first; i <= part->last; i++) {
		sum += values_of(rolling, i)[series];
	}
	return sum;
}

/* ---- checkpoints ---- */

static void slice_codec(struct rolling *rolling, struct codec *codec, uint64_t slice)
{
	for (size_t i = 0; i < rolling->series; i++) {
		double *value = &values_of(rolling, slice)[i];

		codec_real(codec, value, ROLLING_VALUE_MAX);
		*value = codec_check(codec, *value >= 0) ? *value : 0;
	}
}

void rolling_codec(struct rolling *rolling, struct codec *codec)
{
	size_t series = codec_count(codec, rolling->series, 8);

	assert(!codec_reads(codec) || rolling->count == 0);
	codec_u64(codec, &rolling->first);
	codec_u64(codec, &rolling->count);
	if (!codec_check(codec, series <= ROLLING_SERIES_MAX && rolling->first <= rolling->count &&
					rolling->count - rolling->first <= rolling->room &&
					rolling->count < UINT64_MAX / 2 &&
					(rolling->count == 0 || rolling->first < rolling->count))) {
		rolling->first = rolling->count = 0;
		return;
	}
	grow_series(rolling, series);
	for (uint64_t i = rolling->first; i < rolling->count && codec_check(codec, true); i++) {
		slice_codec(rolling, codec, i);
	}
}
