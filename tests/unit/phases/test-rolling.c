/*
 * rolling: the same partitions as the whole recurrence, and as those of partition.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "phases/partition.h"
#include "phases/rolling.h"
#include "suites.h"

#define SLICES 60
#define SERIES 6

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

static double f(double x)
{
	return x > 0 ? x * log2(x) : 0;
}

/* From the definition. */
static void measure(const struct model *model, size_t first, size_t last, double *ret_gain,
		    double *ret_loss)
{
	*ret_gain = *ret_loss = 0;
	for (size_t i = 0; i < model->series; i++) {
		double sum = 0, inner = 0, gain;

		for (size_t s = first; s <= last; s++) {
			sum += model->values[s][i];
			inner += f(model->values[s][i]);
		}
		gain = f(sum) - inner;
		*ret_gain += gain;
		*ret_loss += sum * log2((double)(last - first + 1)) - gain;
	}
}

/* The best value of the first slices, by the whole recurrence. */
static void best_values(const struct model *model, double weight, double *best)
{
	best[0] = 0;
	for (size_t last = 0; last < model->slices; last++) {
		best[last + 1] = -INFINITY;
		for (size_t first = 0; first <= last; first++) {
			double gain, loss;

			measure(model, first, last, &gain, &loss);
			best[last + 1] = fmax(best[last + 1], best[first] + weight * gain - loss);
		}
	}
}

/* The parts cover all slices, and are worth what they should be. */
static void check_parts(const struct model *model, const struct rolling *rolling, double weight,
			double wanted)
{
	size_t count;
	const struct rolling_part *parts = rolling_parts(rolling, &count);
	double value = 0, gain, loss;
	uint64_t next = 0;

	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(parts[i].first, next);
		ck_assert_uint_ge(parts[i].last, parts[i].first);
		measure(model, parts[i].first, parts[i].last, &gain, &loss);
		value += weight * gain - loss;
		next = parts[i].last + 1;
	}
	ck_assert_uint_eq(next, rolling_count(rolling));
	ck_assert_msg(fabs(value - wanted) < 1e-7, "%.12f is not %.12f", value, wanted);
	ck_assert(fabs(rolling_value(rolling) - wanted) < 1e-7);
}

START_TEST(equals_whole_recurrence)
{
	static const double weights[] = { 0, 0.003, 0.05, 0.5, 3 };

	for (unsigned int seed = 1; seed <= rounds(200); seed++) {
		double weight = weights[seed % 5], best[SLICES + 1];
		struct rolling *rolling = rolling_new(SLICES);
		struct model model;

		make_model(seed, &model);
		best_values(&model, weight, best);
		rolling_fix_weight(rolling, weight);
		for (size_t s = 0; s < model.slices; s++) {
			rolling_add(rolling, model.values[s], model.series);
			check_parts(&model, rolling, weight, best[s + 1]);
		}
		rolling_free(rolling);
	}
}
END_TEST

static double sum_of(const struct model *model)
{
	double sum = 0;

	for (size_t s = 0; s < model->slices; s++) {
		for (size_t i = 0; i < model->series; i++) {
			sum += model->values[s][i];
		}
	}
	return sum;
}

/* The weight that is found makes the partition that the overview would suggest. */
START_TEST(finds_suggested_partition)
{
	size_t compared = 0;

	for (unsigned int seed = 3; seed <= 300; seed += 3) { /* steps */
		struct rolling *rolling = rolling_new(SLICES);
		struct partition_table *table;
		struct partitions all;
		const struct rolling_part *parts;
		double values[SERIES][SLICES];
		struct partition_model columns;
		struct model model;
		size_t count;

		make_model(seed, &model);
		model.slices = model.slices < 10 ? model.slices : 10; /* each finds the weight */
		for (size_t s = 0; s < model.slices; s++) {
			rolling_add(rolling, model.values[s], model.series);
			for (size_t i = 0; i < model.series; i++) {
				values[0][i * model.slices + s] = model.values[s][i];
			}
		}
		columns = (struct partition_model){ model.slices, model.series, values[0] };
		table = partition_table_new(&columns);
		partitions_find(table, &all);
		parts = rolling_parts(rolling, &count);
		/* Else the least weight decides. */
		if (rolling_weight(rolling) > 0.0051 * (double)model.slices / sum_of(&model)) {
			const struct partition *wanted = &all.at.at[all.suggested];

			double gains[2] = { 0 }, losses[2] = { 0 };

			ck_assert_uint_eq(count, wanted->parts.count);
			for (size_t i = 0; i < count; i++) { /* of equal ones, either */
				const struct part *other = &wanted->parts.at[i];
				double gain, loss;

				measure(&model, parts[i].first, parts[i].last, &gain, &loss);
				gains[0] += gain;
				losses[0] += loss;
				measure(&model, other->first, other->last, &gain, &loss);
				gains[1] += gain;
				losses[1] += loss;
			}
			ck_assert(fabs(gains[0] - gains[1]) < 1e-7);
			ck_assert(fabs(losses[0] - losses[1]) < 1e-7);
			compared++;
		}
		partitions_fini(&all);
		partition_table_free(table);
		rolling_free(rolling);
	}
	ck_assert_uint_gt(compared, 20);
}
END_TEST

/* Beyond what is held: memory stays, parts stay in order, and a part that goes on is not cut. */
START_TEST(drops_the_oldest)
{
	for (unsigned int seed = 1; seed <= rounds(60); seed++) {
		struct rolling *rolling = rolling_new(2 + seed % 20);
		double sums[SERIES] = { 0 }, all[SERIES] = { 0 };
		struct model model;

		make_model(seed, &model);
		for (size_t s = 0; s < 300; s++) {
			const double *values = model.values[s % model.slices];
			const struct rolling_part *parts;
			size_t count;

			rolling_add(rolling, values, model.series);
			parts = rolling_parts(rolling, &count);
			ck_assert_uint_eq(rolling_count(rolling) - rolling_first(rolling),
					  s + 1 < 2 + seed % 20 ? s + 1 : 2 + seed % 20);
			ck_assert_uint_le(parts[0].first, rolling_first(rolling));
			ck_assert_uint_eq(parts[count - 1].last, s);
			for (size_t i = 0; i < model.series; i++) {
				sums[i] = 0;
				all[i] = 0;
				for (size_t k = 0; k < count; k++) {
					sums[i] += rolling_sum(rolling, i, &parts[k]);
				}
				for (size_t k = parts[0].first; k <= s; k++) {
					all[i] += model.values[k % model.slices][i];
				}
				ck_assert(fabs(sums[i] - all[i]) < 1e-9);
			}
			for (size_t k = 1; k < count; k++) {
				ck_assert_uint_eq(parts[k].first, parts[k - 1].last + 1);
			}
		}
		rolling_free(rolling);
	}
}
END_TEST

START_TEST(keeps_a_steady_run_whole)
{
	struct rolling *rolling = rolling_new(50);
	const struct rolling_part *parts;
	size_t count;

	srand(7);
	for (size_t s = 0; s < 2000; s++) {
		double busy = 0.3 + (rand() % 60 - 30) / 1000.; /* within 0.03 */
		double values[2] = { busy, 1 - busy };

		rolling_add(rolling, values, 2);
		parts = rolling_parts(rolling, &count);
		ck_assert_uint_eq(count, 1);
		ck_assert_uint_eq(parts[0].first, 0);
	}
	for (size_t s = 0; s < 30; s++) {
		const double values[2] = { 0.9, 0.1 };

		rolling_add(rolling, values, 2);
	}
	parts = rolling_parts(rolling, &count);
	ck_assert_uint_eq(count, 2);
	ck_assert_uint_eq(parts[1].first, 2000);
	rolling_free(rolling);
}
END_TEST

/* A state that was written and read goes on as if nothing had been. */
START_TEST(goes_on_from_a_checkpoint)
{
	for (unsigned int seed = 1; seed <= rounds(40); seed++) {
		struct rolling *rolling = rolling_new(13), *other;
		struct codec_out out;
		struct codec codec;
		struct model model;
		size_t count, other_count;

		make_model(seed, &model);
		for (size_t s = 0; s < 120; s++) {
			rolling_add(rolling, model.values[s % model.slices], model.series);
			out = (struct codec_out){ 0 };
			codec = (struct codec){ .out = &out };
			rolling_codec(rolling, &codec);
			other = rolling_new(13);
			codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
			rolling_codec(other, &codec);
			ck_assert(!codec.is_wrong);
			ck_assert_uint_eq(codec.left, 0);
			(void)rolling_parts(rolling, &count);
			(void)rolling_parts(other, &other_count);
			ck_assert_uint_eq(count, other_count);
			ck_assert_mem_eq(rolling_parts(rolling, &count),
					 rolling_parts(other, &other_count),
					 count * sizeof(struct rolling_part));
			rolling_free(rolling);
			rolling = other;
			vec_fini(&out.bytes);
		}
		rolling_free(rolling);
	}
}
END_TEST

/* The same, without being written: whole runs are equal, also in their last digit. */
START_TEST(checkpoints_change_nothing)
{
	struct rolling *a = rolling_new(25), *b = rolling_new(25);
	struct model model;

	make_model(5, &model);
	for (size_t s = 0; s < 200; s++) {
		struct codec_out out = { 0 };
		struct codec codec = { .out = &out };

		rolling_add(a, model.values[s % model.slices], model.series);
		rolling_add(b, model.values[s % model.slices], model.series);
		rolling_codec(b, &codec);
		rolling_free(b);
		b = rolling_new(25);
		codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
		rolling_codec(b, &codec);
		ck_assert(!(rolling_value(a) < rolling_value(b)));
		ck_assert(!(rolling_value(a) > rolling_value(b)));
		vec_fini(&out.bytes);
	}
	rolling_free(a);
	rolling_free(b);
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
		rolling_add(rolling, model.values[s % model.slices], model.series);
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
			rolling_add(rolling, values, SERIES);
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

		memcpy(halves, model.values[s % model.slices], sizeof(halves));
		halves[0] *= s < 20 ? 1 : 0.5;
		if (s == 20) {
			rolling_scale(a, 0, 0.5);
		}
		rolling_fix_weight(a, 0.05);
		rolling_fix_weight(b, 0.05);
		rolling_add(a, halves, model.series);
		halves[0] *= s < 20 ? 0.5 : 1;
		rolling_add(b, halves, model.series);
		ck_assert(s < 20 || fabs(rolling_value(a) - rolling_value(b)) < 1e-9);
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
	tcase_add_test(tcase, equals_whole_recurrence);
	tcase_add_test(tcase, finds_suggested_partition);
	tcase_add_test(tcase, drops_the_oldest);
	tcase_add_test(tcase, keeps_a_steady_run_whole);
	tcase_add_test(tcase, goes_on_from_a_checkpoint);
	tcase_add_test(tcase, checkpoints_change_nothing);
	tcase_add_test(tcase, refuses_damaged_states);
	tcase_add_test(tcase, scales_a_series);
	suite_add_tcase(suite, tcase);
	return suite;
}
