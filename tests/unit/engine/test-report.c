/*
 * report: which rows there are, in which order.
 */
#include "engine/tables/report.h"

#include "engine/tables/report-build.h"
#include "output/shown.h"
#include "suites.h"
#include "tables-fixture.h"

/* ---- order ---- */

#define MANY 3000

static void fill_rows(struct report_row *rows, size_t count, uint64_t values)
{
	for (size_t i = 0; i < count; i++) {
		rows[i] = (struct report_row){ .sort = i * 7919 % values, .id = i * 31 % count };
	}
}

/* Of many rows the first ones are those that a whole sort has first; none is lost. */
START_TEST(sorts_the_first)
{
	static const size_t tops[] = { 0, 1, 10, MANY / 8 - 1, MANY / 8, MANY, 2 * MANY };
	static struct report_row all[MANY], some[MANY];

	for (uint64_t values = 1; values <= MANY; values *= 7) {
		fill_rows(all, MANY, values);
		report_sort_rows(all, MANY, 0);
		for (size_t i = 1; i < MANY; i++) {
			ck_assert(all[i - 1].sort > all[i].sort ||
				  (all[i - 1].sort == all[i].sort && all[i - 1].id < all[i].id));
		}
		for (size_t t = 0; t < 7; t++) {
			size_t shown = tops[t] == 0 || tops[t] > MANY ? MANY : tops[t];
			uint64_t ids = 0;

			fill_rows(some, MANY, values);
			report_sort_rows(some, MANY, tops[t]);
			for (size_t i = 0; i < MANY; i++) {
				ck_assert(i >= shown || some[i].id == all[i].id);
				ids += some[i].id;
			}
			ck_assert_uint_eq(ids, (uint64_t)MANY * (MANY - 1) / 2);
		}
	}
}
END_TEST

/* Equal figures: by name, then owner, then id; the longest only by their place. */
START_TEST(orders_ties)
{
	static const struct instance instance;
	struct report_row rows[] = { { .name = "b", .owner = 1, .id = 1 },
				     { .name = "a", .owner = 2, .id = 1 },
				     { .name = "a", .owner = 1, .id = 2 },
				     { .name = "a", .owner = 1, .id = 1 },
				     { .name = "z", .owner = 9, .id = 9, .sort = 1 } };
	struct report_row longest[] = { { .name = "a", .id = 2, .instance = &instance },
					{ .name = "b", .id = 1, .instance = &instance } };
	static const struct report_row sorted[] = { { .name = "z", .owner = 9, .id = 9 },
						    { .name = "a", .owner = 1, .id = 1 },
						    { .name = "a", .owner = 1, .id = 2 },
						    { .name = "a", .owner = 2, .id = 1 },
						    { .name = "b", .owner = 1, .id = 1 } };

	report_sort_rows(rows, 5, 0);
	for (size_t i = 0; i < 5; i++) {
		ck_assert_str_eq(rows[i].name, sorted[i].name);
		ck_assert_int_eq(rows[i].owner, sorted[i].owner);
		ck_assert_uint_eq(rows[i].id, sorted[i].id);
	}
	report_sort_rows(longest, 2, 0);
	ck_assert_uint_eq(longest[0].id, 1);
}
END_TEST

static uint64_t sort_value(const struct table *table, uint32_t mask, enum histogram_part part,
			   const uint64_t *values)
{
	const struct report_row row = { .values = values };

	return report_sort_value(table, (struct report_order){ .mask = mask, .part = part }, &row);
}

/* By the user's column where the table has it, else by the table's own. */
START_TEST(sorts_by_column)
{
	const struct table *table = &fixture_analysis.tables[OF_THREADS];
	struct display display = { .sort = "spread" };
	uint64_t one[4] = { 10, 1 }, two[4] = { 2, 2 };
	struct report_row rows[] = { { .values = one }, { .values = two } };

	ck_assert_uint_eq(report_order(table, NULL).mask, 1 << SUM);
	ck_assert_uint_eq(report_order(table, &display).mask, 1 << SPREAD);
	column_add(two, SPREAD, 40);
	column_add(two, SPREAD, 2);
	ck_assert_uint_eq(sort_value(table, 1 << SPREAD, HISTOGRAM_NO_PART, two), 42);
	ck_assert_uint_eq(sort_value(table, 1 << SPREAD, HISTOGRAM_NO_PART, one), 0);
	ck_assert_uint_eq(sort_value(table, 1 << SPREAD | 1 << SUM, HISTOGRAM_NO_PART, two), 44);
	ck_assert_uint_eq(sort_value(table, 1 << SPREAD, HISTOGRAM_MAX, two), 40);
	ck_assert_uint_eq(sort_value(table, 1 << SPREAD, HISTOGRAM_MEAN, two), 21);
	ck_assert_uint_eq(sort_value(table, 1 << SPREAD, HISTOGRAM_COUNT, one), 0);
	report_sort(table, &display, rows, 2, 0);
	ck_assert_ptr_eq(rows[0].values, two);
	display.sort = NULL;
	display.sort_part = HISTOGRAM_P99;
	ck_assert_uint_eq(report_order(table, &display).mask, 1 << SPREAD);
	ck_assert_uint_eq(report_order(table, &display).part, HISTOGRAM_P99);
	display.sort = table->columns[SUM].key; /* no distribution */
	ck_assert_uint_eq(report_order(table, &display).part, HISTOGRAM_NO_PART);
	display.sort = "no such column";
	ck_assert_uint_eq(report_order(table, &display).mask, 1 << SUM);
	report_sort(table, &display, rows, 2, 0);
	ck_assert_ptr_eq(rows[0].values, one);
	histogram_free((struct histogram *)(uintptr_t)two[SPREAD]);
}
END_TEST

/* A figure of one list sorts that list alone, and a quotient by what it is worth. */
START_TEST(sorts_by_figure)
{
	const struct table *table = &fixture_analysis.tables[OF_THREADS];
	struct display display = { .sort = "spread", .sort_of = table + 1 };
	uint64_t none[4] = { 5, 0 }, one[4] = { 10, 1 }, two[4] = { 2, 2 };
	struct report_row rows[] = { { .values = none }, { .values = one }, { .values = two } };

	ck_assert_uint_eq(report_order(table, &display).mask, 1 << SUM);
	display.sort_of = table;
	ck_assert_uint_eq(report_order(table, &display).mask, 1 << SPREAD);
	display.sort_per = table->columns[SUM].key;
	column_add(one, SPREAD, 40);
	column_add(two, SPREAD, 40);
	report_sort(table, &display, rows, 3, 0);
	ck_assert_ptr_eq(rows[0].values, two);
	ck_assert_ptr_eq(rows[1].values, one);
	ck_assert_uint_eq(rows[0].sort, UINT64_C(20) << 20);
	ck_assert_uint_eq(rows[2].sort, 0);
	histogram_free((struct histogram *)(uintptr_t)one[SPREAD]);
	histogram_free((struct histogram *)(uintptr_t)two[SPREAD]);
}
END_TEST

/* ---- rows ---- */

static const struct report_table *table_of(const struct report *report, unsigned int table)
{
	ck_assert_uint_gt(report->table_count, table);
	return &report->tables[table];
}

static void window_or_total(struct fixture *fixture, bool total, struct report *report,
			    struct report_memory *memory)
{
	*report = (struct report){ 0 };
	*memory = (struct report_memory){ 0 };
	tables_collect(&fixture->tables);
	tables_report(&fixture->tables, total, report, memory);
}

/* Rows without a figure are left out, but the trace and its CPUs are always there. */
START_TEST(leaves_out_empty_rows)
{
	struct fixture *fixture = fixture_new(NULL);
	struct thread *busy = fixture_thread(fixture, 5, 5, "busy");
	struct report_memory memory;
	struct report report;

	(void)fixture_thread(fixture, 6, 6, "idle");
	tables_add_class(&fixture->tables, "event");
	/* Streams are the merger's: that there is one is enough. */
	tables_cpu(&fixture->tables, 3)->owner = (struct merger_stream *)&report;
	(void)tables_cpu(&fixture->tables, 4); /* none says who runs there */
	fixture_add(fixture, 5, busy, 9);
	for (unsigned int total = 0; total < 2; total++) {
		window_or_total(fixture, total, &report, &memory);
		ck_assert_uint_eq(report.table_count, OF_IRQS + 1);
		ck_assert_uint_eq(table_of(&report, OF_TRACE)->row_count, 1);
		ck_assert_uint_eq(table_of(&report, OF_CPUS)->row_count, 1);
		ck_assert_uint_eq(table_of(&report, OF_CPUS)->rows[0].id, 3);
		ck_assert_uint_eq(table_of(&report, OF_NAMES)->row_count, 0);
		ck_assert_uint_eq(table_of(&report, OF_THREADS)->row_count, 1);
		ck_assert_int_eq(table_of(&report, OF_THREADS)->rows[0].thread->tid, 5);
		ck_assert_uint_eq(table_of(&report, OF_THREADS)->rows[0].values[SUM], 9);
		report_memory_fini(&memory);
		tables_close_window(&fixture->tables, true);
	}
	window_or_total(fixture, false, &report, &memory);
	ck_assert_uint_eq(table_of(&report, OF_THREADS)->row_count, 0);
	report_memory_fini(&memory);
	fixture_free(fixture);
}
END_TEST

static const struct report_row *row_of_pid(const struct report_table *table, int64_t pid)
{
	for (size_t i = 0; i < table->row_count; i++) {
		if (table->rows[i].thread->pid == pid) {
			return &table->rows[i];
		}
	}
	return NULL;
}

static void add_threads(struct fixture *fixture)
{
	static const struct {
		int32_t tid, pid;
		const char *comm;
	} threads[] = { { 12, 10, "worker" }, { 10, 10, "leader" }, { 11, 10, "other" },
			{ 23, 20, "third" },  { 22, 20, "second" }, { 31, -1, "worker" },
			{ 32, -1, "" } };

	for (size_t i = 0; i < 7; i++) {
		fixture_add(
			fixture, threads[i].tid,
			fixture_thread(fixture, threads[i].tid, threads[i].pid, threads[i].comm),
			1 + i);
	}
}

/* A process has the figures of its threads, and the name of its leader or first thread. */
START_TEST(adds_up_processes)
{
	struct fixture *fixture = fixture_new(NULL);
	struct report_memory memory;
	struct report report;
	const struct report_row *row;

	add_threads(fixture);
	(void)shard_thread_fork(fixture_shard(fixture, 10), 10, 5); /* without figures */
	fixture_add(fixture, 22, shard_thread_fork(fixture_shard(fixture, 22), 22, 5), 100);
	fixture_thread(fixture, 22, 20, "newest");
	/* The leader comes between threads of smaller tids. */
	fixture_add(fixture, 7, fixture_thread(fixture, 7, 114, "first"), 1);
	fixture_add(fixture, 114, fixture_thread(fixture, 114, 114, "chief"), 1);
	fixture_add(fixture, 60, fixture_thread(fixture, 60, 114, "last"), 1);
	window_or_total(fixture, false, &report, &memory);
	ck_assert_uint_eq(table_of(&report, OF_PROCESSES)->row_count, 4);
	row = row_of_pid(table_of(&report, OF_PROCESSES), 114);
	ck_assert_str_eq(row->thread->comm, "chief");
	row = row_of_pid(table_of(&report, OF_PROCESSES), 10);
	ck_assert_uint_eq(row->values[SUM], 1 + 2 + 3);
	ck_assert_uint_eq(row->values[MOST], 3);
	ck_assert_uint_eq(column_histogram(row->values, SPREAD)->count, 3);
	ck_assert_str_eq(row->thread->comm, "leader");
	ck_assert_int_lt(row->thread->tid, 0);
	row = row_of_pid(table_of(&report, OF_PROCESSES), 20);
	ck_assert_uint_eq(row->values[SUM], 4 + 5 + 100);
	ck_assert_str_eq(row->thread->comm, "newest");
	row = row_of_pid(table_of(&report, OF_PROCESSES), -1);
	ck_assert_uint_eq(row->values[SUM], 6 + 7);
	ck_assert_str_eq(row->thread->comm, "");
	/* The threads' own rows are as they were. */
	ck_assert_uint_eq(table_of(&report, OF_THREADS)->row_count, 11);
	report_memory_fini(&memory);
	tables_close_window(&fixture->tables, true);
	window_or_total(fixture, true, &report, &memory);
	ck_assert_uint_eq(row_of_pid(table_of(&report, OF_PROCESSES), 10)->values[SUM], 6);
	report_memory_fini(&memory);
	fixture_free(fixture);
}
END_TEST

/* On the way to a sink; the report itself has processes still. */
START_TEST(shows_sums_by_name)
{
	struct fixture *fixture = fixture_new(NULL);
	const struct analysis *const list[] = { &fixture->analysis, NULL };
	const struct display display = { .per = PER_COMM };
	const struct output as = { .analyses = list, .display = &display };
	struct shown shown = { .sums = { 0 } };
	struct report_memory memory;
	struct report report;
	const struct report_row *row;

	add_threads(fixture);
	window_or_total(fixture, false, &report, &memory);
	shown_init(&shown, &as, &report);
	ck_assert_uint_eq(table_of(&shown.report, OF_TRACE)->row_count, 1);
	ck_assert_uint_eq(table_of(&shown.report, OF_THREADS)->row_count, 0); /* not shown */
	ck_assert_uint_eq(table_of(&shown.report, OF_PROCESSES)->row_count, 6);
	row = &table_of(&shown.report, OF_PROCESSES)->rows[0];
	ck_assert_uint_eq(row->values[SUM], 7);
	row = &table_of(&shown.report, OF_PROCESSES)->rows[1];
	ck_assert_str_eq(row->name, "worker"); /* 1 + 6: a tie with "" */
	ck_assert_uint_eq(row->values[SUM], 7);
	ck_assert_int_eq(row->thread->pid, -1);
	shown_fini(&shown);
	ck_assert_uint_gt(table_of(&report, OF_THREADS)->row_count, 0);
	ck_assert_uint_eq(row_of_pid(table_of(&report, OF_PROCESSES), -1)->values[SUM], 6 + 7);
	report_memory_fini(&memory);
	fixture_free(fixture);
}
END_TEST

/* Threads that lost their row are one row of the total, of all shards. */
START_TEST(shows_ended)
{
	struct fixture *fixture = fixture_new(NULL);
	struct report_memory memory;
	struct report report;

	for (unsigned int s = 0; s < 2; s++) {
		struct shard *shard = &fixture->tables.shards[s];

		shard->other = shard_thread_alloc(shard);
		fixture_total(fixture, shard->other);
		thread_total(&fixture->tables.layout, shard->other)[SUM] = 5 + s;
	}
	for (unsigned int again = 0; again < 2; again++) {
		const struct report_table *threads;

		window_or_total(fixture, true, &report, &memory);
		threads = table_of(&report, OF_THREADS);
		ck_assert_uint_eq(threads->row_count, 1);
		ck_assert_uint_eq(threads->rows[0].values[SUM], 11);
		ck_assert_str_eq(threads->rows[0].thread->comm, "(ended)");
		ck_assert_int_lt(threads->rows[0].thread->tid, 0);
		report_memory_fini(&memory);
	}
	window_or_total(fixture, false, &report, &memory);
	ck_assert_uint_eq(table_of(&report, OF_THREADS)->row_count, 0);
	report_memory_fini(&memory);
	fixture_free(fixture);
}
END_TEST

/* A keyed row of a process has two numbers; its label is shown, its key stays. */
START_TEST(shows_keyed_rows)
{
	struct fixture *fixture = fixture_new(NULL);
	struct shard *shard = &fixture->tables.shards[0];
	struct row_key key = row_key_of((uint64_t)77 << 32 | 3, "key", 3);
	struct row_key without = row_key_of(ROW_KEY_NO_ID, "without", 7);
	struct report_memory memory;
	struct report report;
	const struct report_row *rows;

	shard_keyed_row(shard, OF_KEYED, &key)[SUM] = 2;
	shard_keyed_row(shard, OF_KEYED, &without)[SUM] = 1;
	keyed_label(shard_keyed(shard, OF_KEYED, &key), "label");
	window_or_total(fixture, false, &report, &memory);
	ck_assert_uint_eq(table_of(&report, OF_KEYED)->row_count, 2);
	ck_assert_uint_eq(table_of(&report, OF_IRQS)->row_count, 0);
	rows = table_of(&report, OF_KEYED)->rows;
	ck_assert_uint_eq(rows[0].id, 3);
	ck_assert_int_eq(rows[0].owner, 77);
	ck_assert_str_eq(rows[0].name, "label");
	ck_assert_str_eq(rows[0].keyed, "key");
	ck_assert_uint_eq(rows[1].id, ROW_KEY_NO_ID);
	ck_assert_str_eq(rows[1].name, "without");
	report_memory_fini(&memory);
	fixture_free(fixture);
}
END_TEST

/* ---- selections ---- */

static void some(struct fixture *fixture)
{
	*vec_push(&fixture->selection.tids) = 11;
	*vec_push(&fixture->selection.tids) = 22;
	*vec_push(&fixture->selection.comms) = "no such name";
	*vec_push(&fixture->selection.comms) = "o*r";
	*vec_push(&fixture->selection.cpus) = 4;
	*vec_push(&fixture->selection.irqs) = "17";
	*vec_push(&fixture->selection.irqs) = "tim*";
	fixture->setup.selection = &fixture->selection;
	fixture->analysis.tables[OF_NAMES].of_all = OF_ALL_THREADS;
	fixture->analysis.tables[OF_IRQS].of_all = OF_ALL_THREADS | OF_ALL_CPUS;
}

static struct row_key key_of_index(const struct shard *shard, uint32_t index)
{
	return (struct row_key){ .id = index };
}

/* Adds 1 in each table, as an event of the thread on the CPU. */
static void add_event(struct fixture *fixture, struct thread *thread, uint64_t cpu)
{
	struct shard *shard = fixture_shard(fixture, thread->view.tid);
	struct row_key key = { .id = (uint64_t)thread->view.tid };
	struct row_key long_key = row_key_of(17, "disk", 4), no_irq = row_key_of(18, "x", 1);

	shard_select(shard, thread, cpu);
	shard_trace_row(shard, OF_TRACE)[SUM]++;
	shard_thread_row(shard, thread, OF_THREADS)[SUM]++;
	shard_cpu_row(shard, tables_cpu(&fixture->tables, cpu), OF_CPUS)[SUM]++;
	shard_event_row(shard, 0, OF_NAMES)[SUM]++;
	column_add(shard_keyed_row(shard, OF_KEYED, &key), SPREAD, 5);
	shard_keyed_again(shard, shard_keyed(shard, OF_KEYED, &key))[SUM]++;
	shard_indexed_row(shard, OF_KEYED, 7, key_of_index)[SUM]++;
	shard_longest(
		shard, OF_LONGEST,
		&(struct instance){ .ns = 5, .cpu = cpu, .thread = thread, .keyed = long_key });
	shard_longest(shard, OF_LONGEST, &(struct instance){ .ns = 9, .keyed = no_irq });
	shard->left_out = 0;
}

/* What counts is decided when it is added, for each table. */
START_TEST(selects_what_counts)
{
	struct fixture *fixture = fixture_new(some);
	struct row_key irqs[] = { row_key_of(17, "disk", 4), row_key_of(18, "timer", 5),
				  row_key_of(19, "other", 5) };
	struct thread *threads[3];
	struct report_memory memory;
	struct report report;

	fixture->analysis.tables[OF_LONGEST].lami_class = "irq";
	tables_add_class(&fixture->tables, "event");
	add_threads(fixture);
	tables_close_window(&fixture->tables, false);
	threads[0] = shard_thread(fixture_shard(fixture, 11), 11); /* "other" */
	threads[1] = shard_thread(fixture_shard(fixture, 12), 12);
	threads[2] = shard_thread(fixture_shard(fixture, 22), 22); /* "second" */
	for (size_t s = 0; s < SHARDS; s++) {
		shard_close_window(&fixture->tables.shards[s]);
	}
	window_or_total(fixture, false, &report, &memory);
	ck_assert(report.nothing_matched);
	report_memory_fini(&memory);
	for (uint64_t cpu = 3; cpu <= 5; cpu++) {
		tables_cpu(&fixture->tables, cpu)->owner = (struct merger_stream *)&report;
		for (size_t i = 0; i < 3; i++) {
			add_event(fixture, threads[i], cpu);
		}
	}
	for (size_t i = 0; i < 3; i++) {
		shard_keyed_row(&fixture->tables.shards[0], OF_IRQS, &irqs[i])[0] = 3 - i;
	}
	tables_collect(&fixture->tables);
	window_or_total(fixture, false, &report, &memory);
	ck_assert(!report.nothing_matched);
	ck_assert_uint_eq(table_of(&report, OF_TRACE)->rows[0].values[SUM], 1);
	ck_assert_uint_eq(table_of(&report, OF_THREADS)->row_count, 1);
	ck_assert_int_eq(table_of(&report, OF_THREADS)->rows[0].thread->tid, 11);
	ck_assert_uint_eq(table_of(&report, OF_PROCESSES)->rows[0].values[SUM], 1);
	ck_assert_uint_eq(table_of(&report, OF_CPUS)->row_count, 1);
	ck_assert_uint_eq(table_of(&report, OF_CPUS)->rows[0].values[SUM], 1);
	ck_assert_uint_eq(table_of(&report, OF_NAMES)->rows[0].values[SUM], 3);
	ck_assert_uint_eq(table_of(&report, OF_KEYED)->row_count, 2);
	ck_assert_uint_eq(table_of(&report, OF_KEYED)->rows[0].values[SUM], 1);
	ck_assert_uint_eq(table_of(&report, OF_LONGEST)->row_count, 1);
	ck_assert_uint_eq(table_of(&report, OF_LONGEST)->rows[0].sort, 5);
	ck_assert_uint_eq(table_of(&report, OF_IRQS)->row_count, 2);
	ck_assert_str_eq(table_of(&report, OF_IRQS)->rows[0].name, "disk");
	ck_assert_str_eq(table_of(&report, OF_IRQS)->rows[1].name, "timer");
	for (size_t i = 0; i < report.table_count; i++) {
		ck_assert_int_eq(report.tables[i].is_whole, report.tables[i].table->of_all != 0);
	}
	report_memory_fini(&memory);
	fixture_free(fixture);
}
END_TEST

/* A thread that gets another name, or a process, is looked up again. */
START_TEST(selects_as_known)
{
	struct selection selection = { .min_ns = 0 };
	struct thread_view view = { .tid = 5, .pid = -1, .comm = "a" };
	char *text;

	ck_assert(selection_wants_thread(NULL, &view));
	ck_assert_uint_eq(selection_of(NULL), 0);
	ck_assert_uint_eq(selection_of(&selection), 0);
	*vec_push(&selection.pids) = 7;
	ck_assert(!selection_wants_thread(&selection, &view));
	view.pid = 7;
	ck_assert(selection_wants_thread(&selection, &view));
	*vec_push(&selection.comms) = "[b-d]\\*";
	*vec_push(&selection.comms) = "x";
	ck_assert(!selection_wants_thread(&selection, &view));
	strcpy(view.comm, "c*");
	ck_assert(selection_wants_thread(&selection, &view));
	strcpy(view.comm, "cc");
	ck_assert(!selection_wants_thread(&selection, &view));
	*vec_push(&selection.cpus) = 1;
	*vec_push(&selection.cpus) = 2;
	text = selection_text(&selection);
	ck_assert_str_eq(text, "--pid 7 --comm [b-d]\\*,x --cpu 1,2");
	free(text);
	text = selection_text(NULL);
	ck_assert_str_eq(text, "all threads, CPUs and interrupts");
	free(text);
	vec_fini(&selection.pids);
	vec_fini(&selection.comms);
	vec_fini(&selection.cpus);
}
END_TEST

START_TEST(shows_tables)
{
	static const struct {
		enum per per;
		unsigned int table; /* that alone is wanted */
	} wanted[] = { { PER_CPU, OF_CPUS },
		       { PER_TID, OF_THREADS },
		       { PER_PID, OF_PROCESSES },
		       { PER_COMM, OF_PROCESSES } };
	static const struct table by_cpu = { .scope = SCOPE_KEYED, .id_key = "cpu" };
	static const struct table by_prio = { .scope = SCOPE_KEYED, .id_key = "prio" };

	for (unsigned int t = 0; t < TABLES_MAX; t++) {
		const struct table *table = &fixture_analysis.tables[t];

		ck_assert(selection_shows(PER_ALL, table));
		for (size_t i = 0; i < 4; i++) {
			ck_assert_int_eq(selection_shows(wanted[i].per, table),
					 t == wanted[i].table);
		}
		ck_assert(!selection_shows(PER_PRIO, table));
	}
	ck_assert(selection_shows(PER_PRIO, &by_prio));
	ck_assert(!selection_shows(PER_PRIO, &by_cpu));
	ck_assert(selection_shows(PER_CPU, &by_cpu));
}
END_TEST

Suite *suite_report(void)
{
	Suite *suite = suite_create("report");
	TCase *tcase = tcase_create("report");

	tcase_add_test(tcase, sorts_the_first);
	tcase_add_test(tcase, orders_ties);
	tcase_add_test(tcase, sorts_by_column);
	tcase_add_test(tcase, sorts_by_figure);
	tcase_add_test(tcase, leaves_out_empty_rows);
	tcase_add_test(tcase, adds_up_processes);
	tcase_add_test(tcase, shows_sums_by_name);
	tcase_add_test(tcase, shows_ended);
	tcase_add_test(tcase, shows_keyed_rows);
	tcase_add_test(tcase, selects_what_counts);
	tcase_add_test(tcase, selects_as_known);
	tcase_add_test(tcase, shows_tables);
	suite_add_tcase(suite, tcase);
	return suite;
}
