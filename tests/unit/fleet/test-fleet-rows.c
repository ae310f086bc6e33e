/*
 * fleet-rows: the table of one time: who is far, in which order, and who is absent.
 */
#include <string.h>

#include "fleet/fleet-rows.h"
#include "suites.h"

#define HOSTS 6

static const struct {
	const char *name;
	uint64_t discarded;
	bool is_known;
} hosts[HOSTS] = {
	{ "b", 5, true },   { "a", 4, true },  { "d", 6, true },
	{ "e", 100, true }, { "f", 0, false }, { "c", 3, true },
};

/* What is expected: names in order. */
static const struct {
	size_t sort;
	bool by_host;
	const char *names[HOSTS];
} orders[] = {
	{ SIZE_MAX, true, { "a", "b", "c", "d", "e", "f" } },
	{ 0, false, { "e", "d", "b", "a", "c", "f" } },
	/* by distance from the median, 5; then the larger value */
	{ SIZE_MAX, false, { "e", "c", "d", "a", "b", "f" } },
};

static const struct analysis *named(const char *name)
{
	size_t i = 0;

	while (strcmp(analyses[i]->name, name) != 0) {
		i++;
	}
	return analyses[i];
}

static unsigned int column_of(const struct table *table, const char *key)
{
	unsigned int i = 0;

	while (strcmp(table->columns[i].key, key) != 0) {
		i++;
	}
	return i;
}

static void add_host(struct fleet_rows *rows, size_t i)
{
	const struct analysis *analysis = named("count");
	uint64_t values[COLUMNS_MAX] = { 0 };
	const struct report_row row = { .values = values };
	const struct report_table table = {
		.analysis = analysis, .table = &analysis->tables[0], .rows = &row, .row_count = 1
	};
	const struct report report = { .kind = REPORT_WINDOW,
				       .begin = 100 - i,
				       .end = 200 + i,
				       .complete = true,
				       .tables = &table,
				       .table_count = hosts[i].is_known };

	values[column_of(table.table, "discarded")] = hosts[i].discarded;
	fleet_rows_add(rows, hosts[i].name, 1, &report);
}

static void check(void *user, const struct fleet_table *table)
{
	const char *const *names = user;

	ck_assert_uint_eq(table->host_count, HOSTS);
	ck_assert_uint_eq(table->row_count, HOSTS);
	ck_assert_uint_eq(table->begin, 100 - (HOSTS - 1));
	ck_assert_uint_eq(table->end, 200 + (HOSTS - 1));
	ck_assert_uint_eq(table->absent_count, 1);
	ck_assert_str_eq(table->absent[0], "z");
	for (size_t i = 0; i < HOSTS; i++) {
		const struct fleet_row *row = &table->rows[i];

		ck_assert_msg(strcmp(row->host, names[i]) == 0, "%zu: %s, not %s", i, row->host,
			      names[i]);
		ck_assert(row->cells[0].is_known == (strcmp(row->host, "f") != 0));
		ck_assert(row->cells[0].is_far == (strcmp(row->host, "e") == 0));
	}
}

START_TEST(shows_hosts)
{
	struct fleet_figures figures = { 0 };
	struct fleet_config config = { .interval_ns = 1,
				       .figures = &figures,
				       .sort = orders[_i].sort,
				       .by_host = orders[_i].by_host,
				       .show = check,
				       .user = (void *)orders[_i].names };
	struct fleet_rows *rows;
	struct err err;

	ck_assert_int_eq(fleet_figure_add(&figures, "count.discarded", false, &err), 0);
	ck_assert_int_eq(fleet_figure_add(&figures, "count.discarded", false, &err), 0);
	ck_assert_uint_eq(figures.at.count, 1);
	rows = fleet_rows_new(&config);
	for (int turn = 0; turn < 2; turn++) { /* nothing is left of the time before */
		for (size_t i = 0; i < HOSTS; i++) {
			add_host(rows, i);
		}
		fleet_rows_absent(rows, "z");
		fleet_rows_show(rows, false, 0);
		fleet_rows_forget(rows);
	}
	fleet_rows_free(rows);
	fleet_figures_fini(&figures);
}
END_TEST

Suite *suite_fleet_rows(void)
{
	Suite *suite = suite_create("fleet-rows");
	TCase *tcase = tcase_create("fleet-rows");

	tcase_add_loop_test(tcase, shows_hosts, 0, sizeof(orders) / sizeof(orders[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
