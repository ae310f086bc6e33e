/*
 * partition: the worked examples of doc/definitions.md, and every partition of small models.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "phases/cut/partition.h"
#include "suites.h"

/* ---- worked examples ---- */

#define SERIES_A                                                                                   \
	{                                                                                          \
		4, 4, 1, 1                                                                         \
	}

static struct partition_table *table_of(size_t slices, size_t series, const double *values)
{
	return partition_table_new(
		&(struct partition_model){ .slices = slices, .series = series, .values = values });
}

static void near(double value, double wanted, double tolerance)
{
	ck_assert_msg(fabs(value - wanted) <= tolerance, "%.9f is not %.9f", value, wanted);
}

START_TEST(measures_intervals)
{
	static const double values[] = SERIES_A;
	static const struct {
		size_t first, last;
		double gain, loss;
	} intervals[] = {
		{ 0, 0, 0, 0 },
		{ 0, 1, 8, 0 },
		{ 2, 3, 2, 0 },
		{ 0, 3, 17.219281, 2.780719 },
		{ 0, 2, 12.529325, 1.735337 },
		{ 1, 2, 3.609640, 1.390360 },
		{ 1, 3, 7.509775, 2.000000 },
	};
	struct partition_table *table = table_of(4, 1, values);

	for (size_t i = 0; i < sizeof(intervals) / sizeof(intervals[0]); i++) {
		near(partition_gain(table, intervals[i].first, intervals[i].last),
		     intervals[i].gain, 1e-6);
		near(partition_loss(table, intervals[i].first, intervals[i].last),
		     intervals[i].loss, 1e-6);
	}
	partition_table_free(table);
}
END_TEST

struct wanted {
	double p, gain, loss;
	const char *cuts; /* a digit for each slice: the part it is in */
};

static const struct example {
	size_t slices, series;
	double values[16];
	struct wanted at[6];
	size_t count;
	double auc;
	size_t nearest;
} examples[] = {
	{ 4,
	  1,
	  SERIES_A,
	  { { 0, 0.580744, 0, "0011" }, { 0.704594690, 1, 1, "0000" } },
	  2,
	  0.790372,
	  0 },
	{ 4,
	  2,
	  { 8, 8, 2, 2, 2, 2, 8, 8 },
	  { { 0, 0.580744, 0, "0011" }, { 0.704594690, 1, 1, "0000" } },
	  2,
	  0.790372,
	  0 },
	{ 6,
	  2,
	  { .9, .9, .9, .2, .9, .9, .1, .1, .1, .8, .1, .1 },
	  { { 0, 0.480690, 0, "000122" }, { 0.658193598, 1, 1, "000000" } },
	  2,
	  0.740345,
	  0 },
	{ 5,
	  1,
	  { 50 / 355., 100 / 355., 0, 200 / 355., 5 / 355. },
	  { { 0, 0, 0, "01234" },
	    { 0.132271834, 0.264646, 0.040341, "00123" },
	    { 0.504795806, 0.927162, 0.715689, "00001" },
	    { 0.796056645, 1, 1, "00000" } },
	  4,
	  0.681737,
	  2 },
	{ 5,
	  2,
	  { 50 / 355., 100 / 355., 0, 200 / 355., 5 / 355., .05, .2, .2, .25, .3 },
	  { { 0, 0, 0, "01234" },
	    { 0.396500627, 0.156519, 0.102833, "00123" },
	    { 0.515421149, 1, 1, "00000" } },
	  3,
	  0.526843,
	  1 },
};

START_TEST(finds_all_partitions)
{
	const struct example *example = &examples[_i];
	struct partition_table *table = table_of(example->slices, example->series, example->values);
	struct partitions partitions;

	partitions_find(table, &partitions);
	ck_assert_uint_eq(partitions.at.count, example->count);
	for (size_t i = 0; i < example->count; i++) {
		const struct partition *partition = &partitions.at.at[i];

		near(partition->p, example->at[i].p, 1e-6);
		near(partition->gain, example->at[i].gain, 1e-6);
		near(partition->loss, example->at[i].loss, 1e-6);
		for (uint32_t part = 0; part < partition->parts.count; part++) {
			for (uint32_t s = partition->parts.at[part].first;
			     s <= partition->parts.at[part].last; s++) {
				ck_assert_uint_eq(part, (uint32_t)example->at[i].cuts[s] - '0');
			}
		}
	}
	near(partitions.auc, example->auc, 1e-6);
	ck_assert_uint_eq(partitions.nearest, example->nearest);
	ck_assert_ptr_eq(partitions_at(&partitions, 1), &partitions.at.at[example->count - 1]);
	ck_assert_ptr_eq(partitions_at(&partitions, 0), &partitions.at.at[0]);
	partitions_fini(&partitions);
	partition_table_free(table);
}
END_TEST

START_TEST(takes_models_without_differences)
{
	static const double none[] = { 0, 0, 0 }, even[] = { 5, 5, 5 }, one[] = { 7 };
	static const struct {
		size_t slices, series;
		const double *values;
	} models[] = { { 3, 1, none }, { 3, 1, even }, { 1, 1, one }, { 3, 0, NULL } };

	for (size_t i = 0; i < 4; i++) {
		struct partition_table *table =
			table_of(models[i].slices, models[i].series, models[i].values);
		struct partitions partitions;

		partitions_find(table, &partitions);
		ck_assert_uint_eq(partitions.at.count, 1);
		ck_assert_uint_eq(partitions.at.at[0].parts.count, 1);
		near(partitions.at.at[0].loss, 0, 0);
		partitions_fini(&partitions);
		partition_table_free(table);
	}
}
END_TEST

/* ---- every partition ---- */

#define TABLE_SLICES 9
#define MODELS       60

/* Values that repeat often, so that there are ties. */
static void make_values(unsigned int seed, size_t count, double *values)
{
	for (size_t i = 0; i < count; i++) {
		seed = seed * 1664525 + 1013904223;
		values[i] = (seed >> 24) % 4 * 0.25;
	}
}

/* Bit i of @cuts: a part ends after slice i.  Normalised by the table of all slices. */
static double value_of(const struct partition_table *table, size_t slices, unsigned int cuts,
		       double p)
{
	double gain = partition_gain(table, 0, slices - 1);
	double loss = partition_loss(table, 0, slices - 1);
	double value = 0;
	size_t first = 0;

	gain = gain > 0 ? gain : 1;
	loss = loss > 0 ? loss : 1;
	for (size_t i = 0; i < slices; i++) {
		if (i + 1 == slices || (cuts >> i & 1)) {
			value += p * partition_gain(table, first, i) / gain -
				 (1 - p) * partition_loss(table, first, i) / loss;
			first = i + 1;
		}
	}
	return value;
}

static double best_value(const struct partition_table *table, size_t slices, double p)
{
	double best = -INFINITY;

	for (unsigned int cuts = 0; cuts < 1U << (slices - 1); cuts++) {
		best = fmax(best, value_of(table, slices, cuts, p));
	}
	return best;
}

static double found_value(const struct partition *partition, double p)
{
	return p * partition->gain - (1 - p) * partition->loss;
}

/* At each p the partition among all is as good as the best of every one there is. */
START_TEST(equals_exhaustive_search)
{
	double values[2 * TABLE_SLICES];

	for (unsigned int seed = 0; seed < MODELS; seed++) {
		size_t slices = 2 + seed % (TABLE_SLICES - 1), series = 1 + seed % 2;
		struct partition_table *table;
		struct partitions partitions;

		make_values(seed, slices * series, values);
		table = table_of(slices, series, values);
		partitions_find(table, &partitions);
		for (unsigned int i = 0; i <= 50; i++) {
			double p = i / 50.;

			near(found_value(partitions_at(&partitions, p), p),
			     best_value(table, slices, p), 1e-9);
		}
		partitions_fini(&partitions);
		partition_table_free(table);
	}
}
END_TEST

Suite *suite_partition(void)
{
	Suite *suite = suite_create("partition");
	TCase *tcase = tcase_create("partition");

	tcase_add_test(tcase, measures_intervals);
	tcase_add_loop_test(tcase, finds_all_partitions, 0, sizeof(examples) / sizeof(examples[0]));
	tcase_add_test(tcase, takes_models_without_differences);
	tcase_add_test(tcase, equals_exhaustive_search);
	suite_add_tcase(suite, tcase);
	return suite;
}
