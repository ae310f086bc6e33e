/*
 * format: figures and names as people read them.
 */
#include <stdio.h>
#include <string.h>

#include "made-report.h"
#include "output/format.h"
#include "suites.h"

static const struct {
	enum unit unit;
	uint64_t value;
	const char *text;
} values[] = {
	{ UNIT_COUNT, 0, "0" },
	{ UNIT_COUNT, 999, "999" },
	{ UNIT_COUNT, 1000, "1,000" },
	{ UNIT_COUNT, UINT64_MAX, "18,446,744,073,709,551,615" },
	{ UNIT_BYTES, 1023, "1023 B" },
	{ UNIT_BYTES, 1024, "1.00 KiB" },
	{ UNIT_BYTES, (uint64_t)3 << 20, "3.00 MiB" },
	{ UNIT_NS, 999, "999 ns" },
	{ UNIT_NS, 1000, "1.00 us" },
	{ UNIT_NS, 1234567, "1.23 ms" },
	{ UNIT_NS, 12345678, "12.3 ms" },
	{ UNIT_NS, 123456789, "123 ms" },
	{ UNIT_NS, UINT64_C(3600000000000), "3600 s" },
};

START_TEST(writes_values)
{
	char text[CELL_MAX];

	format_value(text, values[_i].unit, values[_i].value);
	ck_assert_str_eq(text, values[_i].text);
}
END_TEST

static const struct {
	const char *comm;
	int64_t id;
	const char *text;
} threads[] = {
	{ "sh", 7, "sh (7)" },
	{ "", 7, "? (7)" },
	{ "", -1, "(not known)" },
	{ "others", -2, "others" },
};

START_TEST(writes_threads)
{
	struct thread_view view = { .tid = (int32_t)threads[_i].id };
	char text[CELL_MAX];

	(void)snprintf(view.comm, sizeof(view.comm), "%s", threads[_i].comm);
	format_thread(text, &view, threads[_i].id);
	ck_assert_str_eq(text, threads[_i].text);
}
END_TEST

/* The end of a path is shown; what is before it and other names are cut at their end. */
static const struct {
	uint64_t id;
	const char *name;
	int width;
	const char *text;
} names[] = {
	{ 3, "", 25, "3" },
	{ 3, "/etc/passwd", 25, "3 /etc/passwd" },
	{ 3, "/etc/passwd", 13, "3 /etc/passwd" },
	{ 3, "/etc/passwd", 12, "3 ..c/passwd" },
	{ 3, "/etc/passwd", 8, "3 ..sswd" },
	{ 3, "/etc/passwd", 7, "3 /et.." }, /* too narrow for an end worth reading */
	{ 3, "no path at all", 5, "3 n.." },
	{ 3, "no path at all", 16, "3 no path at all" },
	{ 3, "no path at all", 15, "3 no path at .." },
	{ 12345, "/a/b", 10, "12345 /a/b" },
	{ 1, "0123456789012345678901234567890123456789012345678901234567890123456789", 25,
	  "1 012345678901234567890.." },
};

START_TEST(cuts_names)
{
	char text[CELL_MAX];
	struct made made;

	made_init(&made, 0, 0, 1000);
	made_file(&made, names[_i].id, names[_i].name, 1);
	format_row(text, made.tables[MADE_FILES].table, made.rows[MADE_FILES], names[_i].width);
	ck_assert_str_eq(text, names[_i].text);
	made_fini(&made);
}
END_TEST

/* A column is one cell, a histogram eight; each has its text and the number that rows go by. */
START_TEST(writes_cells)
{
	static const char *const titles[] = {
		"RUN", "SWITCHES", "MOST",  "LAST", "WAKEUPS", "MEAN",
		"P99", "MAX",      "TOTAL", "P50",  "MIN",     "STDEV"
	};
	static const char *const texts[] = { "2.50 us", "12",    "2.50 us", "12",
					     "1",       "30 ns", "30 ns",   "30 ns",
					     "30 ns",   "30 ns", "30 ns",   "-" };
	static const double numbers[] = { 2500, 12, 2500, 12, 1, 30, 30, 30, 30, 30, 30, 0 };
	struct cell cells[CELLS_MAX];
	char text[CELL_MAX];
	struct made made;
	size_t count;

	made_init(&made, 0, 0, 1000);
	made_thread(&made, 7, "sh", 2500, 12, 30);
	count = format_parts(&made.tables[MADE_THREADS], cells);
	ck_assert_uint_eq(count, sizeof(titles) / sizeof(titles[0]));
	for (size_t i = 0; i < count; i++) {
		ck_assert_str_eq(format_title(&cells[i]), titles[i]);
		format_cell(text, &cells[i], made.rows[MADE_THREADS]);
		ck_assert_str_eq(text, texts[i]);
		ck_assert_double_eq_tol(format_number(&cells[i], made.rows[MADE_THREADS]),
					numbers[i], 1e-9);
	}
	made_fini(&made);
}
END_TEST

START_TEST(writes_histograms)
{
	struct histogram *histogram = NULL;
	char text[160];

	format_histogram(text, sizeof(text), "wakeups", NULL);
	ck_assert_str_eq(text, "wakeups  0");
	histogram_add(&histogram, 10);
	histogram_add(&histogram, 30);
	format_histogram(text, sizeof(text), "wakeups", histogram);
	ck_assert_str_eq(text, "wakeups  2  mean 20 ns  p99 30 ns  max 30 ns");
	format_histogram(text, 12, "wakeups", histogram);
	ck_assert_str_eq(text, "wakeups  2 ");
	histogram_free(histogram);
}
END_TEST

/* Whoever reads a list sees by what it is sorted: a column that comes first, or several that are
 * shown and are no distributions, whose sums are not. */
START_TEST(shows_what_sorts)
{
	for (size_t a = 0; analyses[a]; a++) {
		for (size_t t = 0; t < TABLES_MAX && analyses[a]->tables[t].columns[0].key; t++) {
			const struct table *table = &analyses[a]->tables[t];
			const struct report_table rows = { .analysis = analyses[a],
							   .table = table };
			bool is_one = (table->sort_mask & (table->sort_mask - 1)) == 0;
			struct cell cells[CELLS_MAX];
			size_t count = format_parts(&rows, cells);

			for (uint32_t mask = table->sort_mask; mask != 0; mask &= mask - 1) {
				const struct column *column = &table->columns[__builtin_ctz(mask)];

				ck_assert_msg(column->title, "%s.%s", analyses[a]->name,
					      column->key);
				ck_assert_msg(is_one || table->shows_means ||
						      column->kind != COLUMN_HISTOGRAM,
					      "%s.%s", analyses[a]->name, column->key);
				ck_assert(count > 0 &&
					  (!is_one || column->kind == COLUMN_HISTOGRAM ||
					   cells[0].column == column));
			}
		}
	}
}
END_TEST

/* In a narrow line the part that rows are sorted by takes the place of the last one. */
START_TEST(keeps_what_sorts)
{
	const struct report_table rows = { .analysis = &made_analysis,
					   .table = &made_analysis.tables[MADE_THREADS] };
	const struct display display = { .sort = "latency", .sort_part = HISTOGRAM_P50 };
	struct cell cells[CELLS_MAX];
	size_t count = format_parts(&rows, cells);

	format_keep_order(&rows, NULL, cells, count, 3);
	ck_assert_str_eq(cells[0].title, "RUN");
	ck_assert_str_eq(cells[2].title, "MOST");
	format_keep_order(&rows, &display, cells, count, 3);
	ck_assert_str_eq(cells[1].title, "SWITCHES");
	ck_assert_str_eq(cells[2].title, "P50");
	format_keep_order(&rows, &display, cells, count, 0);
}
END_TEST

#define COUNT(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

Suite *suite_format(void)
{
	Suite *suite = suite_create("format");
	TCase *tcase = tcase_create("format");

	tcase_add_loop_test(tcase, writes_values, 0, COUNT(values));
	tcase_add_loop_test(tcase, writes_threads, 0, COUNT(threads));
	tcase_add_loop_test(tcase, cuts_names, 0, COUNT(names));
	tcase_add_test(tcase, writes_cells);
	tcase_add_test(tcase, writes_histograms);
	tcase_add_test(tcase, shows_what_sorts);
	tcase_add_test(tcase, keeps_what_sorts);
	suite_add_tcase(suite, tcase);
	return suite;
}
