/*
 * columns: how each kind of column is added up, and who owns a histogram.
 */
#include "engine/tables/columns.h"

#include "suites.h"

enum { SUM, PRIO, MOST, LAST, LAST_MOST, SPREAD, COUNT };

static const struct table table = { .columns = {
					    { .key = "sum" },
					    { .key = "prio", .kind = COLUMN_PRIO },
					    { .key = "most", .kind = COLUMN_MAX },
					    { .key = "last", .kind = COLUMN_LAST },
					    { .key = "last_most", .kind = COLUMN_LAST_MAX },
					    { .key = "spread", .kind = COLUMN_HISTOGRAM },
				    } };
static const struct table sums = { .columns = { { .key = "one" }, { .key = "two" } } };

static void fill(uint64_t *row, uint64_t value)
{
	for (unsigned int i = SUM; i < SPREAD; i++) {
		row[i] = value;
	}
	column_add(row, SPREAD, value);
}

static void has_count(const uint64_t *row, uint64_t count, uint64_t sum)
{
	ck_assert_ptr_nonnull(column_histogram(row, SPREAD));
	ck_assert_uint_eq(column_histogram(row, SPREAD)->count, count);
	ck_assert_uint_eq(column_histogram(row, SPREAD)->sum, sum);
}

static void is_empty(const uint64_t *row)
{
	for (unsigned int i = 0; i < COUNT; i++) {
		ck_assert_uint_eq(row[i], 0);
	}
}

/* Rows of several tables are one array; the columns that are no sums are listed. */
START_TEST(appends_tables)
{
	struct columns columns = { 0 };

	ck_assert_uint_eq(column_count(&table), COUNT);
	columns_append(&columns, &sums);
	columns_check(&columns);
	ck_assert_uint_eq(columns.special_count, 0);
	ck_assert(!columns.has_histograms);
	columns_append(&columns, &table);
	columns_append(&columns, &sums);
	columns_check(&columns);
	ck_assert_uint_eq(columns.count, 2 + COUNT + 2);
	ck_assert_uint_eq(columns.special_count, 4);
	ck_assert_uint_eq(columns.special[0], 2 + MOST);
	ck_assert_uint_eq(columns.special[3], 2 + SPREAD);
	ck_assert(columns.has_histograms);
	columns_fini(&columns);
}
END_TEST

/* Parts of one window: sums add up, maxima do not, and what is moved is gone. */
START_TEST(moves_parts)
{
	struct columns columns = { 0 };
	uint64_t to[COUNT] = { 0 }, from[COUNT] = { 0 };

	columns_append(&columns, &table);
	fill(to, 5);
	fill(from, 3);
	columns_move(&columns, to, from);
	is_empty(from);
	ck_assert_uint_eq(to[SUM], 8);
	ck_assert_uint_eq(to[MOST], 5);
	ck_assert_uint_eq(to[LAST], 8); /* shards have parts of it */
	ck_assert_uint_eq(to[LAST_MOST], 5);
	has_count(to, 2, 8);
	fill(from, 9);
	columns_move(&columns, to, from);
	ck_assert_uint_eq(to[MOST], 9);
	ck_assert_uint_eq(to[LAST_MOST], 9);
	columns_empty(&columns, to);
	is_empty(to);
	columns_fini(&columns);
}
END_TEST

/* The next window: what counts at the end of a window replaces what the total had. */
START_TEST(closes_windows)
{
	struct columns columns = { 0 };
	uint64_t total[COUNT] = { 0 }, window[COUNT] = { 0 };

	columns_append(&columns, &table);
	fill(total, 5);
	fill(window, 3);
	columns_close(&columns, total, window);
	is_empty(window);
	ck_assert_uint_eq(total[SUM], 8);
	ck_assert_uint_eq(total[MOST], 5);
	ck_assert_uint_eq(total[LAST], 3);
	ck_assert_uint_eq(total[LAST_MOST], 3);
	has_count(total, 2, 8);
	columns_close(&columns, total, window);
	ck_assert_uint_eq(total[SUM], 8);
	ck_assert_uint_eq(total[LAST], 0); /* of an empty window */
	has_count(total, 2, 8);
	columns_empty(&columns, total);
	columns_fini(&columns);
}
END_TEST

/* A row that the last window lacks has no level there. */
START_TEST(ends_levels)
{
	struct columns columns = { 0 };
	uint64_t total[COUNT] = { 0 };

	columns_append(&columns, &table);
	ck_assert_uint_gt(columns.level_count, 0);
	for (size_t i = 0; i < SPREAD; i++) {
		total[i] = i + 10;
	}
	columns_end_levels(&columns, total);
	ck_assert_uint_eq(total[SUM], SUM + 10);
	ck_assert_uint_eq(total[LAST], 0);
	ck_assert_uint_eq(total[LAST_MOST], 0);
	columns_fini(&columns);
}
END_TEST

/* A histogram is handed over by a move, and copied by an addition. */
START_TEST(owns_histograms)
{
	struct columns columns = { 0 };
	uint64_t a[COUNT] = { 0 }, b[COUNT] = { 0 };
	const struct histogram *before;

	columns_append(&columns, &table);
	fill(a, 7);
	before = column_histogram(a, SPREAD);
	columns_move(&columns, b, a);
	ck_assert_ptr_null(column_histogram(a, SPREAD));
	ck_assert_ptr_eq(column_histogram(b, SPREAD), before);
	columns_add(&columns, a, b);
	ck_assert_ptr_ne(column_histogram(a, SPREAD), column_histogram(b, SPREAD));
	columns_add(&columns, a, b);
	has_count(a, 2, 14);
	has_count(b, 1, 7);
	ck_assert_uint_eq(a[SUM], 14);
	ck_assert_uint_eq(a[MOST], 7);
	ck_assert_uint_eq(b[SUM], 7);
	columns_empty(&columns, a);
	columns_empty(&columns, b);
	is_empty(b);
	columns_fini(&columns);
}
END_TEST

Suite *suite_columns(void)
{
	Suite *suite = suite_create("columns");
	TCase *tcase = tcase_create("columns");

	tcase_add_test(tcase, appends_tables);
	tcase_add_test(tcase, moves_parts);
	tcase_add_test(tcase, closes_windows);
	tcase_add_test(tcase, ends_levels);
	tcase_add_test(tcase, owns_histograms);
	suite_add_tcase(suite, tcase);
	return suite;
}
