/*
 * reader: which windows of a store are read: of several lengths, and of runs with other analyses.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/remove.h"
#include "base/units.h"
#include "store/reader.h"
#include "store/sqlite/sqlite-write.h"
#include "suites.h"

#define TRACE "00000000-0000-0000-0000-000000000001"
#define MOST  6

enum { CPU = 1, SCHED = 2 }; /* analyses, bit by bit */

/* In seconds. */
struct stored_window {
	uint64_t level, begin, end;
	unsigned int lists;
};

struct chosen_window {
	uint64_t level, begin;
	unsigned int lists;
	uint32_t group;
};

static const struct {
	struct stored_window stored[MOST];
	uint64_t interval_s, begin_s, end_s; /* end 0: all */
	struct chosen_window chosen[MOST];
} cases[] = {
	/* the longest that fit into the wanted length */
	{ { { 1, 0, 1, CPU }, { 1, 1, 2, CPU }, { 2, 0, 2, CPU } }, 2, 0, 0, { { 2, 0, CPU, 0 } } },
	/* shorter ones where there are no longer ones */
	{ { { 1, 0, 1, CPU }, { 1, 2, 3, CPU }, { 2, 0, 2, CPU } },
	  4,
	  0,
	  0,
	  { { 2, 0, CPU, 0 }, { 1, 2, CPU, 0 } } },
	/* longer ones where there are no others: each moment once */
	{ { { 1, 0, 1, CPU }, { 4, 0, 4, CPU }, { 4, 4, 8, CPU } },
	  1,
	  0,
	  0,
	  { { 1, 0, CPU, 0 }, { 4, 4, CPU, 0 } } },
	/* a length that does not divide the wanted one comes last */
	{ { { 2, 0, 2, CPU }, { 3, 0, 3, CPU }, { 3, 3, 6, CPU } },
	  4,
	  0,
	  0,
	  { { 2, 0, CPU, 0 }, { 3, 3, CPU, 0 } } },
	/* runs of other analyses: each analysis has its own windows, the figures of one of them */
	{ { { 1, 0, 1, CPU }, { 2, 0, 2, SCHED } },
	  2,
	  0,
	  0,
	  { { 2, 0, SCHED, 0 }, { 1, 0, CPU, 1 } } },
	{ { { 1, 0, 1, CPU | SCHED }, { 2, 0, 2, SCHED } },
	  2,
	  0,
	  0,
	  { { 2, 0, SCHED, 0 }, { 1, 0, CPU, 1 } } },
	{ { { 2, 0, 2, CPU | SCHED }, { 1, 2, 3, CPU }, { 1, 2, 3, CPU } },
	  2,
	  0,
	  0,
	  { { 2, 0, CPU, 0 }, { 2, 0, SCHED, 2 }, { 1, 2, CPU, 0 } } },
	/* what begins in the range */
	{ { { 1, 0, 1, CPU }, { 1, 1, 2, CPU }, { 1, 2, 3, CPU } }, 1, 1, 2, { { 1, 1, CPU, 0 } } },
	/* of one moment; of windows that overlap the first */
	{ { { 1, 3, 3, CPU }, { 1, 5, 6, CPU } }, 1, 0, 0, { { 1, 3, CPU, 0 }, { 1, 5, CPU, 0 } } },
	{ { { 0, 0, 0, 0 } }, 1, 0, 0, { { 0, 0, 0, 0 } } },
};

static const struct analysis *named(const char *name, size_t *ret_at)
{
	size_t i = 0;

	while (strcmp(analyses[i]->name, name) != 0) {
		i++;
	}
	*ret_at = i;
	return analyses[i];
}

static struct store_item *item_of(const struct stored_window *window)
{
	char host[] = "h";
	const struct trace_identity identity = { .host = host };
	struct report_table tables[2];
	struct report report = { .kind = REPORT_WINDOW,
				 .begin = window->begin * NS_PER_S,
				 .end = window->end * NS_PER_S,
				 .complete = true,
				 .tables = tables };
	static const char *const names[] = { "cpu", "sched" };
	size_t at;

	for (unsigned int i = 0; i < 2; i++) {
		if (window->lists >> i & 1) {
			const struct analysis *analysis = named(names[i], &at);

			tables[report.table_count++] =
				(struct report_table){ .analysis = analysis,
						       .table = &analysis->tables[0] };
		}
	}
	return store_item_merged(&identity, TRACE, NULL, window->level * NS_PER_S, &report);
}

static void write_all(const char *path, const struct stored_window *windows)
{
	struct sqlite_writer *writer;
	struct err err;
	uint64_t rows = 0;

	ck_assert_msg(sqlite_writer_open(path, NS_PER_S, &writer, &err) == 0, "%s", err.text);
	for (size_t i = 0; i < MOST && windows[i].level > 0; i++) {
		struct store_item *item = item_of(&windows[i]);

		ck_assert_int_eq(sqlite_writer_put(writer, &item, 1, NULL, &rows, &err), 0);
		store_item_free(item);
	}
	sqlite_writer_close(writer);
}

static uint64_t bits_of(unsigned int lists)
{
	size_t cpu, sched;

	(void)named("cpu", &cpu);
	(void)named("sched", &sched);
	return (lists & CPU ? UINT64_C(1) << cpu : 0) | (lists & SCHED ? UINT64_C(1) << sched : 0);
}

static void check(const struct store_windows *windows, const struct chosen_window *chosen)
{
	size_t count = 0;

	while (count < MOST && chosen[count].level > 0) {
		count++;
	}
	ck_assert_uint_eq(windows->at.count, count);
	for (size_t i = 0; i < count; i++) {
		const struct store_window *window = &windows->at.at[i];
		uint64_t wanted = bits_of(CPU | SCHED);

		ck_assert_uint_eq(window->level, chosen[i].level * NS_PER_S);
		ck_assert_uint_eq(window->begin, chosen[i].begin * NS_PER_S);
		ck_assert_uint_eq(window->lists & wanted & ~bits_of(chosen[i].lists), 0);
		ck_assert_uint_eq(window->lists & bits_of(chosen[i].lists),
				  bits_of(chosen[i].lists));
		ck_assert_uint_eq(window->group, chosen[i].group);
		ck_assert(!(window->lists & STORE_HEAD) == (chosen[i].group > 0));
	}
}

START_TEST(chooses)
{
	char folder[] = "/tmp/sillage-reader-XXXXXX";
	struct store_windows windows = { 0 };
	struct store_reader *reader;
	bool wanted[2] = { true, true };
	struct err err;
	char *path;
	uint64_t end = cases[_i].end_s > 0 ? cases[_i].end_s * NS_PER_S : UINT64_MAX;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	path = mem_printf("%s/store.db", folder);
	write_all(path, cases[_i].stored);
	ck_assert_int_eq(store_reader_open(path, NULL, &reader, &err), 0);
	ck_assert_int_eq(store_reader_windows(reader, wanted, cases[_i].interval_s * NS_PER_S,
					      cases[_i].begin_s * NS_PER_S, end, &windows, &err),
			 0);
	check(&windows, cases[_i].chosen);
	vec_fini(&windows.at);
	store_reader_close(reader);
	free(path);
	remove_tree(folder);
}
END_TEST

Suite *suite_store_reader(void)
{
	Suite *suite = suite_create("store-reader");
	TCase *tcase = tcase_create("store-reader");

	tcase_add_loop_test(tcase, chooses, 0, sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
