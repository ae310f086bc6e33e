/*
 * hierarchy: every way to cut small models, and the agreement with partitions of time alone.
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "phases/cut/hierarchy.h"
#include "phases/cut/partition.h"
#include "suites.h"

#define SLICES 4
#define NODES  6 /* 0: root; 1 and 2 below it; 3 and 4 below 1; 5 below 2 */

static const uint32_t tree[NODES] = { 0, 0, 0, 1, 1, 2 };

static double f(double x)
{
	return x > 0 ? x * log2(x) : 0;
}

static bool is_leaf(size_t node)
{
	return node >= 3;
}

static bool is_below(size_t node, size_t leaf)
{
	for (size_t at = leaf; at > 0; at = tree[at]) {
		if (at == node) {
			return true;
		}
	}
	return node == 0;
}

struct measure {
	double gain, loss;
};

/* From the definition, cell by cell. */
static struct measure measure_of(const double values[NODES][SLICES], size_t node, size_t first,
				 size_t last)
{
	double sum = 0, inner = 0, cells = 0;

	for (size_t leaf = 3; leaf < NODES; leaf++) {
		for (size_t s = first; is_below(node, leaf) && s <= last; s++) {
			sum += values[leaf][s];
			inner += f(values[leaf][s]);
			cells++;
		}
	}
	return (struct measure){ f(sum) - inner, sum * log2(cells) - (f(sum) - inner) };
}

/* The best value of a node and a range, by trying everything. */
static double best_of(const double values[NODES][SLICES], size_t node, size_t first, size_t last,
		      double p)
{
	struct measure whole = measure_of(values, 0, 0, SLICES - 1);
	struct measure own = measure_of(values, node, first, last);
	double best = p * own.gain / (whole.gain > 1e-9 ? whole.gain : 1) -
		      (1 - p) * own.loss / (whole.loss > 1e-9 ? whole.loss : 1);

	if (!is_leaf(node)) {
		double sum = 0;

		for (size_t child = 1; child < NODES; child++) {
			sum += tree[child] == node ? best_of(values, child, first, last, p) : 0;
		}
		best = fmax(best, sum);
	}
	for (size_t cut = first; cut < last; cut++) {
		best = fmax(best, best_of(values, node, first, cut, p) +
					  best_of(values, node, cut + 1, last, p));
	}
	return best;
}

static void check_cover(const struct aggregates *aggregates)
{
	for (size_t leaf = 3; leaf < NODES; leaf++) {
		for (size_t s = 0; s < SLICES; s++) {
			size_t count = 0;

			for (size_t i = 0; i < aggregates->at.count; i++) {
				const struct aggregate *at = &aggregates->at.at[i];

				count +=
					is_below(at->node, leaf) && at->first <= s && s <= at->last;
			}
			ck_assert_uint_eq(count, 1);
		}
	}
}

START_TEST(equals_exhaustive_search)
{
	unsigned int seed = (unsigned int)_i;
	double values[NODES][SLICES];
	struct hierarchy_model model = {
		.slices = SLICES, .series = 1, .nodes = NODES, .parents = tree, .values = values[0]
	};
	struct hierarchy_table *table;

	for (size_t i = 0; i < NODES * SLICES; i++) {
		seed = seed * 1664525 + 1013904223;
		values[i / SLICES][i % SLICES] = (seed >> 24) % 4 * 0.25;
	}
	table = hierarchy_table_new(&model);
	for (unsigned int i = 0; i <= 10; i++) {
		double p = i / 10., wanted = best_of(values, 0, 0, SLICES - 1, p);
		struct aggregates aggregates;

		hierarchy_find(table, p, &aggregates);
		ck_assert_double_eq_tol(p * aggregates.gain - (1 - p) * aggregates.loss, wanted,
					1e-9);
		check_cover(&aggregates);
		hierarchy_fini(&aggregates);
	}
	hierarchy_table_free(table);
}
END_TEST

/* A tree of one node is time alone. */
START_TEST(one_node_is_a_partition)
{
	static const double values[] = { .9, .9, .9, .2, .9, .9, .1, .1, .1, .8, .1, .1 };
	struct partition_model time = { .slices = 6, .series = 2, .values = values };
	struct hierarchy_model model = {
		.slices = 6, .series = 2, .nodes = 1, .parents = tree, .values = values
	};
	struct partition_table *table = partition_table_new(&time);
	struct hierarchy_table *tables = hierarchy_table_new(&model);

	for (unsigned int i = 0; i <= 10; i++) {
		struct partition partition;
		struct aggregates aggregates;

		partition_find(table, i / 10., &partition);
		hierarchy_find(tables, i / 10., &aggregates);
		ck_assert_double_eq_tol(aggregates.gain, partition.gain, 1e-9);
		ck_assert_double_eq_tol(aggregates.loss, partition.loss, 1e-9);
		ck_assert_uint_eq(aggregates.at.count, partition.parts.count);
		partition_fini(&partition);
		hierarchy_fini(&aggregates);
	}
	partition_table_free(table);
	hierarchy_table_free(tables);
}
END_TEST

/* Of two halves of a tree one changes in the middle: only that one is cut there. */
START_TEST(cuts_only_what_changes)
{
	static const double values[NODES][SLICES] = {
		[3] = { 1, 1, 1, 1 }, [4] = { 1, 1, 1, 1 }, [5] = { 1, 1, 0, 0 }
	};
	struct hierarchy_model model = {
		.slices = SLICES, .series = 1, .nodes = NODES, .parents = tree, .values = values[0]
	};
	struct hierarchy_table *table = hierarchy_table_new(&model);
	struct aggregates aggregates;

	hierarchy_find(table, 0, &aggregates);
	ck_assert_uint_eq(aggregates.at.count, 3);
	ck_assert_uint_eq(aggregates.at.at[0].node, 1);
	ck_assert_uint_eq(aggregates.at.at[0].last, 3);
	ck_assert_uint_eq(aggregates.at.at[1].last, 1);
	ck_assert_uint_eq(aggregates.at.at[2].first, 2);
	check_cover(&aggregates);
	hierarchy_fini(&aggregates);
	hierarchy_table_free(table);
}
END_TEST

static double value_at(const struct aggregates *aggregates, double p)
{
	return p * aggregates->gain - (1 - p) * aggregates->loss;
}

/* Each one listed is the best for its p; none that loses little is simpler than the suggested. */
START_TEST(lists_what_is_best_somewhere)
{
	unsigned int seed = (unsigned int)_i;
	double values[NODES][SLICES];
	struct hierarchy_model model = {
		.slices = SLICES, .series = 1, .nodes = NODES, .parents = tree, .values = values[0]
	};
	struct hierarchy_table *table;
	struct hierarchies all;

	for (size_t i = 0; i < NODES * SLICES; i++) {
		seed = seed * 1664525 + 1013904223;
		values[i / SLICES][i % SLICES] = (seed >> 24) % 100 * 0.01;
	}
	table = hierarchy_table_new(&model);
	hierarchies_find(table, _i % 3 == 0 ? 0.3 : -1, &all);
	ck_assert_double_eq(all.at.at[0].p, 0);
	for (size_t i = 0; i < all.at.count; i++) {
		const struct aggregates *at = &all.at.at[i];

		check_cover(at);
		ck_assert_double_eq_tol(value_at(at, at->p),
					best_of(values, 0, 0, SLICES - 1, at->p), 1e-9);
		ck_assert(i == 0 || at->p >= all.at.at[i - 1].p);
		ck_assert(i == 0 || at->gain > all.at.at[i - 1].gain);
	}
	for (unsigned int i = 0; i <= 200; i++) {
		struct aggregates one;

		hierarchy_find(table, i / 200., &one);
		ck_assert(one.loss > HIERARCHY_LOSS_SUGGESTED ||
			  one.gain <= all.at.at[all.suggested].gain + 1e-9);
		hierarchy_fini(&one);
	}
	ck_assert_double_le(all.at.at[all.suggested].loss, HIERARCHY_LOSS_SUGGESTED);
	if (_i % 3 == 0) {
		ck_assert_double_eq_tol(value_at(&all.at.at[all.chosen], 0.3),
					best_of(values, 0, 0, SLICES - 1, 0.3), 1e-9);
	} else {
		ck_assert_uint_eq(all.chosen, all.suggested);
	}
	hierarchies_fini(&all);
	hierarchy_table_free(table);
}
END_TEST

Suite *suite_hierarchy(void)
{
	Suite *suite = suite_create("hierarchy");
	TCase *tcase = tcase_create("hierarchy");

	tcase_add_loop_test(tcase, equals_exhaustive_search, 0, 40);
	tcase_add_test(tcase, one_node_is_a_partition);
	tcase_add_test(tcase, cuts_only_what_changes);
	tcase_add_loop_test(tcase, lists_what_is_best_somewhere, 0, 40);
	suite_add_tcase(suite, tcase);
	return suite;
}
