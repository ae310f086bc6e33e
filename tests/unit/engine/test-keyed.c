/*
 * keyed: rows by key, their bound, labels, and windows.
 */
#include "engine/tables/keyed.h"

#include <stdio.h>

#include "suites.h"
#include "tables-fixture.h"

static struct keyed_row *row_of(struct fixture *fixture, struct keyed_rows *keyed_rows, uint64_t id,
				const char *name)
{
	struct row_key key = row_key_of(id, name, name ? strlen(name) : 0);

	return keyed_find(keyed_rows, &fixture->tables.layout.keyed_columns[0][OF_KEYED], 0,
			  OF_KEYED, &key);
}

START_TEST(finds_by_key)
{
	struct fixture *fixture = fixture_new(NULL);
	struct keyed_rows *keyed_rows = &fixture->tables.keyed_rows;
	struct keyed_row *a = row_of(fixture, keyed_rows, 1, "a");
	struct row_key key = row_key_of(1, "a", 1);

	ck_assert_ptr_eq(row_of(fixture, keyed_rows, 1, "a"), a);
	ck_assert_ptr_ne(row_of(fixture, keyed_rows, 2, "a"), a);
	ck_assert_ptr_ne(row_of(fixture, keyed_rows, 1, "b"), a);
	ck_assert_ptr_ne(row_of(fixture, keyed_rows, 1, NULL), a);
	ck_assert_ptr_ne(keyed_find(keyed_rows, &fixture->tables.layout.keyed_columns[0][OF_IRQS],
				    0, OF_IRQS, &key),
			 a);
	ck_assert_uint_eq(keyed_rows->all.count, 5);
	ck_assert_uint_eq(keyed_rows->counts[0][OF_KEYED], 4);
	ck_assert_uint_eq(keyed_rows->touched.count, 5); /* each once */
	keyed_check(keyed_rows);
	fixture_free(fixture);
}
END_TEST

/* More keys than the bound share one row, which a key of its name gets, too. */
START_TEST(bounds_keys)
{
	struct fixture *fixture = fixture_new(NULL);
	struct keyed_rows *keyed_rows = &fixture->tables.keyed_rows;
	struct keyed_row *first = row_of(fixture, keyed_rows, 0, "first"), *others;
	struct row_key irq = row_key_of(9, NULL, 0);

	for (uint64_t i = 1; i < KEYED_ROWS_MAX; i++) {
		row_of(fixture, keyed_rows, i, NULL)->window[SUM] = 1;
	}
	keyed_check(keyed_rows);
	others = row_of(fixture, keyed_rows, KEYED_ROWS_MAX, NULL);
	ck_assert_str_eq(others->key.name, KEYED_OTHERS);
	ck_assert_ptr_eq(row_of(fixture, keyed_rows, KEYED_ROWS_MAX + 1, "x"), others);
	ck_assert_ptr_eq(row_of(fixture, keyed_rows, ROW_KEY_NO_ID, KEYED_OTHERS), others);
	ck_assert_ptr_eq(row_of(fixture, keyed_rows, 0, "first"), first);
	ck_assert_uint_eq(keyed_rows->counts[0][OF_KEYED], KEYED_ROWS_MAX + 1);
	/* Other tables have a bound of their own. */
	ck_assert_uint_eq(keyed_find(keyed_rows, &fixture->tables.layout.keyed_columns[0][OF_IRQS],
				     0, OF_IRQS, &irq)
				  ->key.id,
			  9);
	keyed_check(keyed_rows);
	fixture_free(fixture);
}
END_TEST

/* A trace may have a key of that name before the bound is reached. */
START_TEST(shares_others)
{
	struct fixture *fixture = fixture_new(NULL);
	struct keyed_rows *keyed_rows = &fixture->tables.keyed_rows;
	struct keyed_row *traced = row_of(fixture, keyed_rows, ROW_KEY_NO_ID, KEYED_OTHERS);

	for (uint64_t i = 1; i < KEYED_ROWS_MAX; i++) {
		(void)row_of(fixture, keyed_rows, i, NULL);
	}
	ck_assert_ptr_eq(row_of(fixture, keyed_rows, KEYED_ROWS_MAX, NULL), traced);
	ck_assert_uint_eq(keyed_rows->counts[0][OF_KEYED], KEYED_ROWS_MAX);
	fixture_free(fixture);
}
END_TEST

/* The bound is that of a trace, wherever the keys were first seen. */
START_TEST(bounds_collected_keys)
{
	struct fixture *fixture = fixture_new(NULL);
	struct keyed_rows *from = accumulator_of_task(&fixture->tables, 0)->keyed_rows;
	struct keyed_rows *to = &fixture->tables.keyed_rows;
	struct keyed_row *late;

	for (uint64_t i = 0; i < KEYED_ROWS_MAX; i++) {
		(void)row_of(fixture, to, i, "taken");
	}
	late = row_of(fixture, from, 7, "late");
	late->window[SUM] = 3;
	keyed_label(late, "late with a label");
	keyed_collect(to, from, fixture->tables.layout.keyed_columns);
	ck_assert_ptr_nonnull(to->others[0][OF_KEYED]);
	ck_assert_uint_eq(to->others[0][OF_KEYED]->window[SUM], 3);
	ck_assert_ptr_null(to->others[0][OF_KEYED]->label);
	keyed_check(to);
	fixture_free(fixture);
}
END_TEST

/* Names that differ only where a key has no room are different rows, shown in full. */
START_TEST(tells_long_names_apart)
{
	static const char *const names[] = {
		"/a/path/that/is/longer/than/a/key/has/room/for/one",
		"/a/path/that/is/longer/than/a/key/has/room/for/two",
		"/b/path/that/is/longer/than/a/key/has/room/for/one",
		"exactly thirty-one bytes, here.",
	};
	struct fixture *fixture = fixture_new(NULL);
	struct shard *shard = &fixture->tables.shards[0];
	struct keyed_row *rows[4];

	for (size_t i = 0; i < 4; i++) {
		rows[i] = shard_keyed_named(shard, OF_KEYED, 5, names[i]);
		for (size_t k = 0; k < i; k++) {
			ck_assert_ptr_ne(rows[i], rows[k]);
		}
	}
	for (size_t i = 0; i < 3; i++) {
		ck_assert_ptr_eq(shard_keyed_named(shard, OF_KEYED, 5, names[i]), rows[i]);
		ck_assert_str_eq(rows[i]->label, names[i]);
		ck_assert_int_eq(strncmp(rows[i]->key.name, names[i], 14), 0);
	}
	ck_assert_ptr_null(rows[3]->label);
	ck_assert_str_eq(rows[3]->key.name, names[3]);
	fixture_free(fixture);
}
END_TEST

/* A label goes with its row, and the newest counts. */
START_TEST(labels_rows)
{
	struct fixture *fixture = fixture_new(NULL);
	struct keyed_rows *from = accumulator_of_task(&fixture->tables, 0)->keyed_rows;
	struct keyed_rows *to = &fixture->tables.keyed_rows;
	char text[] = "first";

	keyed_label(row_of(fixture, from, 1, "k"), text);
	text[0] = 'F'; /* it was copied */
	keyed_collect(to, from, fixture->tables.layout.keyed_columns);
	ck_assert_str_eq(row_of(fixture, to, 1, "k")->label, "first");
	keyed_label(row_of(fixture, from, 1, "k"), "second");
	keyed_collect(to, from, fixture->tables.layout.keyed_columns);
	ck_assert_str_eq(row_of(fixture, to, 1, "k")->label, "second");
	ck_assert_uint_eq(from->touched.count, 0);
	fixture_free(fixture);
}
END_TEST

/* Rows of an open window go to the total, or nowhere. */
START_TEST(closes_windows)
{
	struct fixture *fixture = fixture_new(NULL);
	struct keyed_rows *keyed_rows = &fixture->tables.keyed_rows;
	struct keyed_row *row = row_of(fixture, keyed_rows, 1, NULL);

	for (uint64_t window = 1; window <= 3; window++) {
		ck_assert_ptr_eq(row_of(fixture, keyed_rows, 1, NULL), row);
		row->window[SUM] += window;
		row->window[LAST] = 10 * window;
		keyed_close(keyed_rows, fixture->tables.layout.keyed_columns, window != 3);
		ck_assert_uint_eq(keyed_rows->touched.count, 0);
		ck_assert(!row->is_touched);
		ck_assert_uint_eq(row->window[SUM], 0);
	}
	ck_assert_uint_eq(row->total[SUM], 3);
	ck_assert_uint_eq(row->total[LAST], 20);
	keyed_check(keyed_rows);
	fixture_free(fixture);
}
END_TEST

Suite *suite_keyed(void)
{
	Suite *suite = suite_create("keyed");
	TCase *tcase = tcase_create("keyed");

	tcase_add_test(tcase, finds_by_key);
	tcase_add_test(tcase, bounds_keys);
	tcase_add_test(tcase, shares_others);
	tcase_add_test(tcase, bounds_collected_keys);
	tcase_add_test(tcase, tells_long_names_apart);
	tcase_add_test(tcase, labels_rows);
	tcase_add_test(tcase, closes_windows);
	suite_add_tcase(suite, tcase);
	return suite;
}
