/*
 * rolling: the same parts as those of the slices held, whatever was held before.
 */
#include <math.h>
#include <stdlib.h>

#include "phases/rolling.h"
#include "phases/suggest.h"
#include "suites.h"

#define SLICES 60
#define SERIES 6
#define HELD   25

static const bool all_count[SERIES] = { true, true, true, true, true, true };

struct model {
	size_t slices, series;
	double values[SLICES][SERIES];
};

/* Steps, constant and noisy parts, from a fixed seed. */
static void make_model(unsigned int seed, struct model *model)
{
	unsigned int kind = seed % 3;

	srand(seed);
	model->slices = 2 + (unsigned int)rand() % (SLICES - 1);
	model->series = 1 + (unsigned int)rand() % SERIES;
	for (size_t i = 0; i < model->series; i++) {
		double level = rand() % 5 / 4.;

		for (size_t s = 0; s < model->slices; s++) {
			level = rand() % 8 == 0 ? rand() % 5 / 4. : level;
			model->values[s][i] = kind == 0   ? level
					      : kind == 1 ? rand() % 100 / 99.
							  : level * (1 - rand() % 10 / 100.);
		}
	}
}

static void add(struct rolling *rolling, const double *values, size_t series)
{
	rolling_add(rolling, values, series);
	rolling_find(rolling, all_count, &(struct rolling_beside){ 0 }, false);
}

/* The same, but the second half of the series is beside: told of all slices that are held. */
static void add_beside(struct rolling *rolling, const struct model *model, size_t slice)
{
	size_t own = model->series / 2, held, from;
	double *values = mem_alloc(SERIES * HELD * sizeof(*values));
	struct rolling_beside beside = { model->series - own, values };

	rolling_add(rolling, model->values[slice % model->slices], own);
	from = rolling_first(rolling);
	held = rolling_count(rolling) - from;
	for (size_t i = 0; i < beside.series * held; i++) {
		values[i] = model->values[(from + i % held) % model->slices][own + i / held];
	}
	rolling_find(rolling, all_count, &beside, false);
	free(values);
}

/* @clear: those of them that are suggested. */
static void same_parts(const struct rolling *rolling, const partition_parts *wanted,
		       const partition_parts *clear, uint64_t first)
{
	size_t count, clear_count = 0;
	const struct rolling_part *parts = rolling_parts(rolling, &count);

	ck_assert_uint_eq(count, wanted->count);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(parts[i].first, first + wanted->at[i].first);
		ck_assert_uint_eq(parts[i].last, first + wanted->at[i].last);
		if (parts[i].is_clear) {
			ck_assert_uint_eq(parts[i].first, first + clear->at[clear_count++].first);
		}
	}
	ck_assert_uint_eq(clear_count, clear->count);
}

/* Whether two have the same ones. */
static void same_rolling(const struct rolling *a, const struct rolling *b)
{
	size_t count, other;
	const struct rolling_part *of_a = rolling_parts(a, &count),
				  *of_b = rolling_parts(b, &other);

	ck_assert_uint_eq(count, other);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(of_a[i].first, of_b[i].first);
		ck_assert_uint_eq(of_a[i].last, of_b[i].last);
		ck_assert_int_eq(of_a[i].is_clear, of_b[i].is_clear);
	}
}

START_TEST(suggests_as_of_the_slices_held)
{
	for (unsigned int seed = 1; seed <= rounds(30); seed++) {
		struct rolling *rolling = rolling_new(HELD);
		struct model model;

		make_model(seed, &model);
		for (size_t s = 0; s < 2 * SLICES; s++) {
			size_t first = s < HELD ? 0 : s + 1 - HELD;
			struct partition_table *table = partition_table_empty(HELD, model.series);
			partition_parts parts = { 0 }, clear = { 0 };

			add(rolling, model.values[s % model.slices], model.series);
			ck_assert_uint_eq(rolling_first(rolling), first);
			ck_assert_uint_eq(rolling_count(rolling), s + 1);
			for (size_t i = first; i <= s; i++) {
				partition_table_add(table, model.values[i % model.slices]);
			}
			suggest_parts(table, all_count, false, &parts, &clear);
			same_parts(rolling, &parts, &clear, first);
			vec_fini(&parts);
			vec_fini(&clear);
			partition_table_free(table);
		}
		rolling_free(rolling);
	}
}
END_TEST

/* Series beside are as those that are added slice by slice, also if all their past changes. */
START_TEST(takes_series_beside)
{
	for (unsigned int seed = 1; seed <= rounds(30); seed++) {
		struct rolling *a = rolling_new(HELD), *b = rolling_new(HELD);
		struct model model;

		make_model(seed, &model);
		for (size_t s = 0; s < 2 * SLICES; s++) {
			for (size_t i = 0; i < model.series && s == SLICES; i++) {
				for (size_t k = 0; k < model.slices; k++) {
					model.values[k][i] *= i < model.series / 2 ? 1 : 0.5;
				}
				if (i >= model.series / 2) {
					rolling_scale(a, i, 0.5);
				}
			}
			add(a, model.values[s % model.slices], model.series);
			add_beside(b, &model, s);
			same_rolling(a, b);
		}
		rolling_free(a);
		rolling_free(b);
	}
}
END_TEST

START_TEST(keeps_a_steady_run_whole)
{
	struct rolling *rolling = rolling_new(50);
	const struct rolling_part *parts;
	size_t count;

	srand(7);
	for (size_t s = 0; s < 500; s++) {
		double busy = 0.3 + (rand() % 60 - 30) / 1000.; /* within 0.03 */
		double values[2] = { busy, 1 - busy };

		add(rolling, values, 2);
		(void)rolling_parts(rolling, &count);
		ck_assert_uint_eq(count, 1);
	}
	for (size_t s = 0; s < 20; s++) {
		const double values[2] = { 0.9, 0.1 };

		add(rolling, values, 2);
	}
	parts = rolling_parts(rolling, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(parts[1].first, 500);
	ck_assert(fabs(rolling_sum(rolling, 0, &parts[1]) - 18) < 1e-9);
	rolling_free(rolling);
}
END_TEST

/* A series that comes later was 0 before. */
START_TEST(takes_new_series)
{
	struct rolling *a = rolling_new(HELD), *b = rolling_new(HELD);

	for (size_t s = 0; s < 40; s++) {
		const double values[SERIES] = { 0.5, s < 30 ? 0 : 0.8 };
		size_t count;

		add(a, values, s < 30 ? 1 : 2);
		add(b, values, SERIES);
		(void)rolling_parts(a, &count);
		ck_assert_uint_eq(count, s < 30 ? 1 : 2);
		same_rolling(a, b);
	}
	rolling_free(a);
	rolling_free(b);
}
END_TEST

/* A state that was written and read goes on as if nothing had been. */
START_TEST(goes_on_from_a_checkpoint)
{
	for (unsigned int seed = 1; seed <= rounds(20); seed++) {
		struct rolling *whole = rolling_new(13), *rolling = rolling_new(13), *other;
		struct model model;

		make_model(seed, &model);
		for (size_t s = 0; s < 60; s++) {
			struct codec_out out = { 0 };
			struct codec codec = { .out = &out };
			const double *values = model.values[s % model.slices];

			add(whole, values, model.series);
			add(rolling, values, model.series);
			same_rolling(whole, rolling);
			rolling_codec(rolling, &codec);
			other = rolling_new(13);
			codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
			rolling_codec(other, &codec);
			ck_assert(!codec.is_wrong);
			ck_assert_uint_eq(codec.left, 0);
			rolling_free(rolling);
			rolling = other;
			vec_fini(&out.bytes);
		}
		rolling_free(rolling);
		rolling_free(whole);
	}
}
END_TEST

/* Whatever is cut off or changed is refused, or harmless. */
START_TEST(refuses_damaged_states)
{
	struct rolling *rolling = rolling_new(10);
	struct codec_out out = { 0 };
	struct codec codec = { .out = &out };
	struct model model;

	make_model(9, &model);
	for (size_t s = 0; s < 30; s++) {
		add(rolling, model.values[s % model.slices], model.series);
	}
	rolling_codec(rolling, &codec);
	rolling_free(rolling);
	for (size_t at = 0; at < out.bytes.count; at++) {
		const double values[SERIES] = { 0 };
		uint8_t before = out.bytes.at[at];

		rolling = rolling_new(10);
		codec = (struct codec){ .at = out.bytes.at, .left = at };
		rolling_codec(rolling, &codec);
		ck_assert(codec.is_wrong);
		rolling_free(rolling);
		rolling = rolling_new(10);
		out.bytes.at[at] ^= 0xFF;
		codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
		rolling_codec(rolling, &codec);
		for (size_t s = 0; s < 12 && !codec.is_wrong; s++) {
			add(rolling, values, SERIES);
		}
		out.bytes.at[at] = before;
		rolling_free(rolling);
	}
	vec_fini(&out.bytes);
}
END_TEST

/* A rate that outgrows its scale: as if it had always been divided by the larger one. */
START_TEST(scales_a_series)
{
	struct rolling *a = rolling_new(SLICES), *b = rolling_new(SLICES);
	struct model model;

	make_model(21, &model);
	for (size_t s = 0; s < 40; s++) {
		double halves[SERIES];
		size_t count, other;

		memcpy(halves, model.values[s % model.slices], sizeof(halves));
		halves[0] *= s < 20 ? 1 : 0.5;
		if (s == 20) {
			rolling_scale(a, 0, 0.5);
		}
		add(a, halves, model.series);
		halves[0] *= s < 20 ? 0.5 : 1;
		add(b, halves, model.series);
		(void)rolling_parts(a, &count);
		(void)rolling_parts(b, &other);
		ck_assert(s < 20 || count == other);
	}
	rolling_free(a);
	rolling_free(b);
}
END_TEST

Suite *suite_rolling(void)
{
	Suite *suite = suite_create("rolling");
	TCase *tcase = tcase_create("rolling");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, suggests_as_of_the_slices_held);
	tcase_add_test(tcase, takes_series_beside);
	tcase_add_test(tcase, keeps_a_steady_run_whole);
	tcase_add_test(tcase, takes_new_series);
	tcase_add_test(tcase, goes_on_from_a_checkpoint);
	tcase_add_test(tcase, refuses_damaged_states);
	tcase_add_test(tcase, scales_a_series);
	suite_add_tcase(suite, tcase);
	return suite;
}
