/*
 * tables: from accumulators to the open window, and from there to the total.
 */
#include "engine/tables/tables.h"

#include "suites.h"
#include "tables-fixture.h"

/* Adds @value to the first column of one row of each scope. */
static void add_everywhere(struct fixture *fixture, struct shard *shard, uint64_t value)
{
	struct tables *tables = &fixture->tables;
	struct row_key key = row_key_of(1, "key", 3);
	struct instance instance = { .ns = value,
				     .cpu = UINT64_MAX,
				     .thread = shard_thread(shard, 7) };

	shard_trace_row(shard, OF_TRACE)[SUM] += value;
	column_add(shard_trace_row(shard, OF_TRACE), SPREAD, value);
	shard_cpu_row(shard, tables_cpu(tables, 2), OF_CPUS)[SUM] += value;
	shard_event_row(shard, tables->class_names.at[1], OF_NAMES)[SUM] += value;
	shard_keyed_row(shard, OF_KEYED, &key)[SUM] += value;
	fixture_add(fixture, 7, shard_thread(shard, 7), value);
	shard_longest(shard, OF_LONGEST, &instance);
}

static struct fixture *fixture_with_names(void (*change)(struct fixture *fixture))
{
	struct fixture *fixture = fixture_new(change);

	tables_add_class(&fixture->tables, "one");
	tables_add_class(&fixture->tables, "two");
	tables_add_class(&fixture->tables, "one");
	return fixture;
}

static uint64_t sum_of(const struct fixture *fixture, const struct sums *sums, bool total,
		       unsigned int table)
{
	return (total ? sums->total : sums->window)[fixture->tables.layout.offsets[0][table]];
}

/* What each scope has in the open window or the total. */
static void is_everywhere(struct fixture *fixture, bool total, uint64_t value)
{
	struct tables *tables = &fixture->tables;
	const struct layout *layout = &tables->layout;
	struct thread *thread = shard_thread(fixture_shard(fixture, 7), 7);
	const struct keyed_row *keyed = tables->keyed_rows.all.at[0];

	ck_assert_uint_eq(sum_of(fixture, &tables->trace, total, OF_TRACE), value);
	ck_assert_uint_eq(sum_of(fixture, &tables_cpu(tables, 2)->sums, total, OF_CPUS), value);
	ck_assert_uint_eq(sum_of(fixture, &tables->names.at[1]->sums, total, OF_NAMES), value);
	ck_assert_uint_eq((total ? keyed->total : keyed->window)[SUM], value);
	ck_assert_uint_eq((total ? thread_total(layout, thread) : thread_window(layout, thread))[0],
			  value);
}

START_TEST(knows_names)
{
	struct fixture *fixture = fixture_with_names(NULL);
	struct tables *tables = &fixture->tables;

	ck_assert_uint_eq(tables->names.count, 2);
	ck_assert_uint_eq(tables->class_names.count, 3);
	ck_assert_uint_eq(tables->class_names.at[2], tables->class_names.at[0]);
	ck_assert_str_eq(shard_event_name(&tables->shards[0], 1), "two");
	ck_assert_str_eq(shard_event_name(&tables->shards[0], 2), "one");
	ck_assert_str_eq(shard_event_name(&tables->shards[0], 3), "");
	ck_assert_ptr_eq(tables_cpu(tables, 9), tables_cpu(tables, 9));
	ck_assert_uint_eq(shard_cpu_id(tables_cpu(tables, 9)), 9);
	fixture_free(fixture);
}
END_TEST

/* Figures add up over windows; a window before the range is dropped. */
START_TEST(closes_windows)
{
	struct fixture *fixture = fixture_with_names(NULL);
	struct tables *tables = &fixture->tables;
	struct shard *shard = fixture_shard(fixture, 7);

	add_everywhere(fixture, shard, 3);
	tables_collect(tables);
	is_everywhere(fixture, false, 3);
	is_everywhere(fixture, true, 0);
	tables_close_window(tables, true);
	shard_close_window(shard);
	is_everywhere(fixture, false, 0);
	is_everywhere(fixture, true, 3);
	ck_assert_uint_eq(tables->longest[0].all.count, 0);
	ck_assert_uint_eq(tables->longest_total[0].all.count, 1);

	add_everywhere(fixture, shard, 4);
	tables_close_window(tables, false);
	shard_close_window(shard);
	is_everywhere(fixture, false, 0);
	is_everywhere(fixture, true, 3);
	ck_assert_uint_eq(tables->longest[0].all.count, 0);
	ck_assert_uint_eq(tables->longest_total[0].all.count, 1);

	add_everywhere(fixture, shard, 5);
	tables_close_window(tables, true);
	tables_close_window(tables, true); /* before any shard closed the other */
	shard_close_window(shard);
	is_everywhere(fixture, true, 8);
	ck_assert_uint_eq(column_histogram(tables->trace.total, SPREAD)->count, 2);
	fixture_free(fixture);
}
END_TEST

/* Each window has its own fate, whenever a shard comes to it. */
START_TEST(closes_lazily)
{
	struct fixture *fixture = fixture_with_names(NULL);
	struct tables *tables = &fixture->tables;
	struct shard *shard = fixture_shard(fixture, 7);
	struct thread *thread = shard_thread(shard, 7);

	fixture_add(fixture, 7, thread, 1);
	tables_close_window(tables, false);
	ck_assert_uint_eq(shard->touched.count, 1); /* nobody was there yet */
	tables_close_window(tables, true);
	ck_assert_uint_eq(shard->touched.count, 0);
	ck_assert_uint_eq(fixture_total(fixture, thread)[SUM], 0);
	fixture_add(fixture, 7, thread, 2);
	shard_close_window(shard);
	shard_close_window(shard);
	ck_assert_uint_eq(fixture_total(fixture, thread)[SUM], 2);
	fixture_free(fixture);
}
END_TEST

/* What several tasks found is one, whether it is collected or joined first. */
START_TEST(collects_tasks)
{
	for (unsigned int joins = 0; joins < 2; joins++) {
		struct fixture *fixture = fixture_with_names(NULL);
		struct tables *tables = &fixture->tables;
		struct shard *shard = fixture_shard(fixture, 7);

		for (unsigned int task = 0; task < 3; task++) {
			shard->accumulator = accumulator_of_task(tables, task);
			add_everywhere(fixture, shard, 1 + task);
		}
		shard_event_row(shard, 0, OF_NAMES)[SUM] = 9; /* of the last task only */
		if (joins) {
			accumulators_join(tables);
			ck_assert_uint_eq(tables->accumulators.at[0]->trace[SUM], 6);
			ck_assert_uint_eq(tables->accumulators.at[2]->trace[SUM], 0);
			ck_assert_uint_eq(tables->accumulators.at[0]->longest[0].all.count, 3);
		}
		tables_check(tables);
		tables_collect(tables);
		ck_assert_uint_eq(tables->accumulators.at[0]->names_touched.count, 0);
		is_everywhere(fixture, false, 6);
		ck_assert_uint_eq(sum_of(fixture, &tables->names.at[0]->sums, false, OF_NAMES), 9);
		ck_assert_uint_eq(tables->longest[0].all.count, 3);
		ck_assert_uint_eq(tables->longest[0].all.at[0].instance.ns, 3);
		tables_collect(tables); /* nothing is left */
		is_everywhere(fixture, false, 6);
		fixture_free(fixture);
	}
}
END_TEST

/* Accumulators have room for names that came later. */
START_TEST(takes_new_names)
{
	struct fixture *fixture = fixture_with_names(NULL);
	struct tables *tables = &fixture->tables;
	char name[] = "name-00";

	shard_event_row(&tables->shards[0], 1, OF_NAMES)[SUM] = 5;
	for (char i = 0; i < 50; i++) {
		name[5] = (char)('0' + i / 10);
		name[6] = (char)('0' + i % 10);
		tables_add_class(tables, name);
	}
	shard_event_row(&tables->shards[0], 51, OF_NAMES)[SUM] = 6;
	ck_assert_uint_eq(shard_event_row(&tables->shards[0], 1, OF_NAMES)[SUM], 5);
	ck_assert_uint_eq(shard_event_row(&tables->shards[0], 50, OF_NAMES)[SUM], 0);
	tables_close_window(tables, true);
	ck_assert_uint_eq(sum_of(fixture, &tables->names.at[1]->sums, true, OF_NAMES), 5);
	ck_assert_uint_eq(sum_of(fixture, &tables->names.at[51]->sums, true, OF_NAMES), 6);
	fixture_free(fixture);
}
END_TEST

static unsigned int keys_made;

static struct row_key key_of_index(const struct shard *shard, uint32_t index)
{
	keys_made++;
	return row_key_of(index / 2, NULL, 0);
}

/* A small number in place of a key: the key is made once, the row is used in each window. */
START_TEST(indexes_rows)
{
	struct fixture *fixture = fixture_new(NULL);
	struct tables *tables = &fixture->tables;

	keys_made = 0;
	for (unsigned int window = 0; window < 3; window++) {
		for (uint32_t i = 0; i < 4; i++) {
			shard_indexed_row(&tables->shards[5], OF_IRQS, i, key_of_index)[SUM] += 1;
		}
		tables_close_window(tables, true);
	}
	ck_assert_uint_eq(keys_made, 4);
	ck_assert_uint_eq(tables->keyed_rows.all.count, 2);
	ck_assert_uint_eq(tables->keyed_rows.all.at[0]->total[SUM], 6);
	ck_assert_uint_eq(tables->keyed_rows.all.at[1]->total[SUM], 6);
	fixture_free(fixture);
}
END_TEST

/* on_ordered() adds to the trace itself, and its longest are those of the window, too. */
START_TEST(collects_the_whole)
{
	struct fixture *fixture = fixture_new(NULL);
	struct tables *tables = &fixture->tables;
	struct row_key key = row_key_of(1, NULL, 0);

	shard_trace_row(&tables->whole, OF_TRACE)[SUM] = 1;
	shard_keyed_row(&tables->whole, OF_KEYED, &key)[SUM] = 2;
	shard_longest(&tables->whole, OF_LONGEST, &(struct instance){ .ns = 3 });
	tables_close_window(tables, true);
	ck_assert_uint_eq(sum_of(fixture, &tables->trace, true, OF_TRACE), 1);
	ck_assert_uint_eq(tables->keyed_rows.all.at[0]->total[SUM], 2);
	ck_assert_uint_eq(tables->longest_total[0].all.count, 1);
	fixture_free(fixture);
}
END_TEST

static void two_analyses(struct fixture *fixture)
{
	fixture->setup.analyses[1] = &fixture->analysis;
	fixture->setup.analysis_count = 2;
}

/* Each analysis has columns, states and keyed rows of its own. */
START_TEST(tells_analyses_apart)
{
	struct fixture *fixture = fixture_new(two_analyses);
	const struct layout *layout = &fixture->tables.layout;
	struct shard *shard = fixture_shard(fixture, 7);
	struct thread *thread = shard_thread(shard, 7);
	struct row_key key = row_key_of(1, NULL, 0);
	uint64_t *rows[2];
	char *states[2];

	for (size_t a = 0; a < 2; a++) {
		shard->running = a;
		rows[a] = shard_thread_row(shard, thread, OF_THREADS);
		states[a] = shard_thread_state(shard, thread);
		shard_keyed_row(shard, OF_KEYED, &key)[SUM] = a;
	}
	ck_assert_ptr_eq(rows[0], thread_window(layout, thread));
	ck_assert_ptr_eq(rows[1], rows[0] + 4);
	ck_assert_ptr_eq(states[1], states[0] + 12 * sizeof(uint64_t));
	ck_assert_uint_eq(layout->longest_count, 2);
	ck_assert_uint_eq(layout->offsets[1][OF_LONGEST], 1);
	ck_assert_uint_eq(shard->accumulator->keyed_rows->all.count, 2);
	fixture_free(fixture);
}
END_TEST

static void without_windows(struct fixture *fixture)
{
	fixture->setup.wants_windows = false;
}

static void without_levels(struct fixture *fixture)
{
	without_windows(fixture);
	fixture->analysis.tables[OF_THREADS].columns[LAST].kind = COLUMN_SUM;
}

/* A level of a total is that of the last window: there is one. */
START_TEST(keeps_levels)
{
	struct fixture *fixture = fixture_with_names(without_windows);
	struct shard *shard = fixture_shard(fixture, 7);
	struct thread *thread = shard_thread(shard, 7);

	ck_assert(!fixture->tables.layout.is_direct);
	for (uint64_t level = 5; level > 3; level--) {
		shard_close_window(shard);
		shard_thread_row(shard, thread, OF_THREADS)[LAST] = level;
		tables_close_window(&fixture->tables, true);
	}
	shard_close_window(shard);
	ck_assert_uint_eq(fixture_total(fixture, thread)[LAST], 4);
	fixture_free(fixture);
}
END_TEST

/* No window is shown or dropped: threads have only a total. */
START_TEST(adds_directly)
{
	struct fixture *with = fixture_with_names(NULL);
	struct fixture *fixture = fixture_with_names(without_levels);
	const struct layout *layout = &fixture->tables.layout;
	struct thread *thread = shard_thread(fixture_shard(fixture, 7), 7);

	ck_assert(layout->is_direct && !with->tables.layout.is_direct);
	ck_assert_uint_eq(layout->thread_window_at, layout->thread_total_at);
	ck_assert_uint_eq(with->tables.layout.thread_told_at - layout->thread_told_at,
			  4 * sizeof(uint64_t));
	ck_assert_uint_eq(layout->thread_state_size, 12 * sizeof(uint64_t));
	ck_assert_ptr_eq((char *)shard_thread_state(fixture_shard(fixture, 7), thread) +
				 layout->thread_state_size,
			 (char *)thread_window(layout, thread));
	fixture_add(fixture, 7, thread, 3);
	ck_assert_uint_eq(fixture_shard(fixture, 7)->touched.count, 0);
	tables_close_window(&fixture->tables, true);
	fixture_add(fixture, 7, thread, 4);
	ck_assert_uint_eq(fixture_total(fixture, thread)[SUM], 7);
	fixture_free(with);
	fixture_free(fixture);
}
END_TEST

Suite *suite_tables(void)
{
	Suite *suite = suite_create("tables");
	TCase *tcase = tcase_create("tables");

	tcase_add_test(tcase, knows_names);
	tcase_add_test(tcase, closes_windows);
	tcase_add_test(tcase, closes_lazily);
	tcase_add_test(tcase, collects_tasks);
	tcase_add_test(tcase, takes_new_names);
	tcase_add_test(tcase, indexes_rows);
	tcase_add_test(tcase, collects_the_whole);
	tcase_add_test(tcase, tells_analyses_apart);
	tcase_add_test(tcase, keeps_levels);
	tcase_add_test(tcase, adds_directly);
	suite_add_tcase(suite, tcase);
	return suite;
}
