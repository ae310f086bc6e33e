/*
 * schema: columns of all tables, and rows that go into cells and come back.
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "engine/tables/columns.h"
#include "output/made-report.h"
#include "store/rows/schema.h"
#include "suites.h"

/* Names are unlike, also those that all tables have; keys come first. */
static void check_columns(const struct analysis *analysis, size_t t)
{
	struct store_column columns[STORE_COLUMNS_MAX];
	size_t count = store_columns(analysis, &analysis->tables[t], columns);
	bool is_key = true;

	for (size_t i = 0; i < count; i++) {
		ck_assert_str_ne(columns[i].name, "level");
		ck_assert_str_ne(columns[i].name, "begin");
		ck_assert_str_ne(columns[i].name, "trace");
		for (size_t k = 0; k < i; k++) {
			ck_assert_str_ne(columns[i].name, columns[k].name);
		}
		ck_assert(is_key || !columns[i].is_key);
		is_key = columns[i].is_key;
	}
}

START_TEST(has_columns)
{
	char names[ANALYSES_MAX * TABLES_MAX][STORE_NAME_MAX];
	size_t count = 0;

	for (size_t a = 0; analyses[a]; a++) {
		for (size_t t = 0; t < TABLES_MAX && analyses[a]->tables[t].columns[0].key; t++) {
			check_columns(analyses[a], t);
			store_table_name(analyses[a], t, names[count]);
			for (size_t i = 0; i < count; i++) {
				ck_assert_str_ne(names[i], names[count]);
			}
			count++;
		}
	}
	ck_assert_uint_gt(count, 10);
}
END_TEST

struct round_trip {
	struct store_column columns[STORE_COLUMNS_MAX];
	struct store_cell cells[STORE_COLUMNS_MAX];
	size_t count;
	struct store_scratch scratch;
	struct arena names;
	struct columns kinds;
	struct store_row row;
};

static void into_cells(struct round_trip *trip, const struct made *made, size_t t)
{
	memset(trip, 0, sizeof(*trip));
	trip->count = store_columns(&made_analysis, &made_analysis.tables[t], trip->columns);
	columns_append(&trip->kinds, &made_analysis.tables[t]);
	store_cells(&made->tables[t], &made->rows[t][0], trip->columns, trip->count, trip->cells,
		    &trip->scratch);
}

static int out_of_cells(struct round_trip *trip, size_t t)
{
	return store_take_row(&made_analysis.tables[t], trip->columns, trip->count, trip->cells,
			      &trip->names, &trip->row);
}

static void trip_fini(struct round_trip *trip)
{
	columns_empty(&trip->kinds, trip->row.values);
	columns_fini(&trip->kinds);
	arena_fini(&trip->names);
	vec_fini(&trip->scratch.text);
}

static struct store_cell *cell_of(struct round_trip *trip, enum store_role role)
{
	for (size_t i = 0; i < trip->count; i++) {
		if (trip->columns[i].role == role) {
			return &trip->cells[i];
		}
	}
	ck_abort_msg("no such column");
	return NULL;
}

START_TEST(brings_threads_back)
{
	const struct histogram *latency;
	struct round_trip trip;
	struct made made;

	made_init(&made, 0, 0, 1000);
	made_thread(&made, 7, "a\tb", 100, 3, 40);
	into_cells(&trip, &made, MADE_THREADS);
	ck_assert_int_eq(out_of_cells(&trip, MADE_THREADS), 0);
	ck_assert_int_eq(trip.row.view.tid, 7);
	ck_assert_str_eq(trip.row.view.comm, "a\tb");
	ck_assert_uint_eq(trip.row.values[MADE_RUN], 100);
	ck_assert_uint_eq(trip.row.values[MADE_SWITCHES], 3);
	latency = column_histogram(trip.row.values, MADE_LATENCY);
	ck_assert_uint_eq(latency->count, 1);
	ck_assert_uint_eq(latency->sum, 40);
	ck_assert_uint_eq(latency->max, 40);
	trip_fini(&trip);
	made_fini(&made);
}
END_TEST

START_TEST(brings_files_back)
{
	struct round_trip trip;
	struct made made;

	made_init(&made, 0, 0, 1000);
	made_file(&made, 12, "/tmp/x", 4096);
	into_cells(&trip, &made, MADE_FILES);
	ck_assert_int_eq(out_of_cells(&trip, MADE_FILES), 0);
	ck_assert_uint_eq(trip.row.row.id, 12);
	ck_assert_str_eq(trip.row.row.name, "/tmp/x");
	ck_assert_uint_eq(trip.row.values[0], 4096);
	trip_fini(&trip);
	made_fini(&made);
}
END_TEST

/* What a damaged store may have of a histogram. */
static const struct {
	enum store_role role;
	int64_t number;
	const char *text; /* NULL: the number */
} damages[] = {
	{ STORE_COUNT, 2, NULL },    { STORE_COUNT, -1, NULL },  { STORE_MIN, 41, NULL },
	{ STORE_BUCKETS, 0, "" },    { STORE_BUCKETS, 0, "[]" }, { STORE_COUNTS, 0, "[]" },
	{ STORE_COUNTS, 0, "[0]" },  { STORE_COUNTS, 0, "[2]" }, { STORE_COUNTS, 0, "x" },
	{ STORE_BUCKETS, 0, "[x]" },
};

START_TEST(refuses_damage)
{
	struct round_trip trip;
	struct store_cell *cell;
	struct made made;

	made_init(&made, 0, 0, 1000);
	made_thread(&made, 7, "a", 100, 3, 40);
	into_cells(&trip, &made, MADE_THREADS);
	cell = cell_of(&trip, damages[_i].role);
	cell->number = damages[_i].number;
	if (damages[_i].text) {
		cell->text = damages[_i].text;
		cell->len = strlen(damages[_i].text);
	}
	ck_assert_int_eq(out_of_cells(&trip, MADE_THREADS), -EINVAL);
	trip_fini(&trip);
	made_fini(&made);
}
END_TEST

Suite *suite_schema(void)
{
	Suite *suite = suite_create("schema");
	TCase *tcase = tcase_create("schema");

	tcase_add_test(tcase, has_columns);
	tcase_add_test(tcase, brings_threads_back);
	tcase_add_test(tcase, brings_files_back);
	tcase_add_loop_test(tcase, refuses_damage, 0, sizeof(damages) / sizeof(damages[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
