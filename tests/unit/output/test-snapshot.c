/*
 * snapshot: a copy of a report outlives the report.
 */
#include <string.h>

#include "engine/tables/columns.h"
#include "made-report.h"
#include "output/snapshot.h"
#include "suites.h"

static struct trace_identity identity = { .host = (char *)"h",
					  .session = (char *)"s",
					  .domain = (char *)"kernel",
					  .path = (char *)"/p" };

static struct snapshot *taken(size_t rows)
{
	static struct made made; /* static, so that clearing it is not optimised away */
	char label[] = "the password file";
	struct snapshot *snapshot;

	made_init(&made, 3, 1000, 2000);
	made_cpu(&made, 0, 900);
	made_thread(&made, 7, "sh", 500, 5, 42);
	made_thread(&made, 8, "cat", 400, 4, 43);
	made_thread(&made, 9, "ls", 300, 3, 44);
	made_file(&made, 2, "/etc/passwd", 4096);
	made_wait(&made, 7, 1500, 250);
	made.rows[MADE_FILES][0].label = label;
	made.rows[MADE_FILES][0].by = label;
	snapshot = snapshot_new(&identity, &made.report, rows);
	made_fini(&made);
	memset(&made, 0xAA, sizeof(made)); /* whatever still points there is found */
	memset(label, 'x', sizeof(label) - 1);
	return snapshot;
}

START_TEST(copies_all_of_a_row)
{
	struct snapshot *snapshot = taken(100);
	const struct report_table *threads = snapshot_table(snapshot, "cpu", SCOPE_THREAD);
	const struct report_table *files = snapshot_table(snapshot, "cpu", SCOPE_KEYED);
	const struct report_table *waits = snapshot_table(snapshot, "cpu", SCOPE_LONGEST);

	ck_assert_str_eq(snapshot->trace, "h/s/kernel");
	ck_assert_str_eq(snapshot->key, "h/s/kernel in /p");
	ck_assert_uint_eq(snapshot->report.seq, 3);
	ck_assert_uint_eq(threads->row_count, 3);
	ck_assert_str_eq(threads->rows[1].thread->comm, "cat");
	ck_assert_uint_eq(threads->rows[1].values[MADE_SWITCHES], 4);
	ck_assert_uint_eq(column_histogram(threads->rows[2].values, MADE_LATENCY)->max, 44);
	ck_assert_str_eq(files->rows[0].name, "/etc/passwd");
	ck_assert_str_eq(files->rows[0].keyed, "/etc/passwd");
	ck_assert_str_eq(files->rows[0].label, "the password file");
	ck_assert_str_eq(files->rows[0].by, "the password file");
	ck_assert_uint_eq(files->rows[0].values[0], 4096);
	ck_assert_uint_eq(waits->rows[0].instance->ns, 250);
	ck_assert_int_eq(waits->rows[0].thread->tid, 7);
	ck_assert_ptr_null(snapshot_table(snapshot, "cpu", SCOPE_PROCESS));
	ck_assert_ptr_null(snapshot_table(snapshot, "io", SCOPE_THREAD));
	snapshot_free(snapshot);
}
END_TEST

START_TEST(copies_what_is_missing)
{
	static struct made made;
	char event[] = "sched_switch";
	struct missing_event missing = { &made_analysis, event };
	struct snapshot *snapshot;

	made_init(&made, 0, 0, 1000);
	made.report.missing = &missing; /* of none, too: it is not the copy's */
	snapshot = snapshot_new(&identity, &made.report, 1);
	ck_assert_ptr_ne(snapshot->report.missing, &missing);
	snapshot_free(snapshot);
	made.report.missing_count = 1;
	made.tables[MADE_CPUS].unknown = 1;
	snapshot = snapshot_new(&identity, &made.report, 1);
	memset(&missing, 0xAA, sizeof(missing));
	memset(event, 'x', sizeof(event) - 1);
	ck_assert_uint_eq(snapshot->report.missing_count, 1);
	ck_assert_str_eq(snapshot->report.missing[0].event, "sched_switch");
	ck_assert_uint_eq(snapshot_table(snapshot, "cpu", SCOPE_CPU)->unknown, 1);
	snapshot_free(snapshot);
	made_fini(&made);
}
END_TEST

/* Fewer rows are fewer bytes, by which the full screen bounds its memory. */
START_TEST(copies_the_first_rows)
{
	struct snapshot *all = taken(100), *first = taken(1);
	const struct report_table *threads = snapshot_table(first, "cpu", SCOPE_THREAD);

	ck_assert_uint_eq(threads->row_count, 1);
	ck_assert_int_eq(threads->rows[0].thread->tid, 7);
	ck_assert_uint_lt(first->bytes, all->bytes);
	ck_assert_uint_gt(first->bytes, sizeof(*first));
	snapshot_free(first);
	snapshot_free(all);
	snapshot_free(NULL);
}
END_TEST

Suite *suite_snapshot(void)
{
	Suite *suite = suite_create("snapshot");
	TCase *tcase = tcase_create("snapshot");

	tcase_add_test(tcase, copies_all_of_a_row);
	tcase_add_test(tcase, copies_what_is_missing);
	tcase_add_test(tcase, copies_the_first_rows);
	suite_add_tcase(suite, tcase);
	return suite;
}
