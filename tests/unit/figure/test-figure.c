/*
 * figure: the language of figures, what they are worth in rows, and texts made at random.
 */
#include <math.h>
#include <stdlib.h>

#include "figure/by-name.h"
#include "figure/figure.h"
#include "figure/op.h"
#include "figure/which.h"
#include "trigger/made-report.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static struct made made;

static bool parse(struct figure *figure, const char *text)
{
	struct err err;

	*figure = (struct figure){ 0 };
	return figure_parse_alone(figure, "test", text, &err);
}

/* ---- texts ---- */

static const struct {
	const char *text, *list, *column;
	enum histogram_part part;
	bool is_rate;
	const char *per; /* the column that it is divided by */
} right[] = {
	{ "cpu.busy", NULL, "busy_ns", HISTOGRAM_NO_PART, false, NULL },
	{ " cpu.busy_ns ", NULL, "busy_ns", HISTOGRAM_NO_PART, false, NULL },
	{ "cpu.process.run", "processes", "run_ns", HISTOGRAM_NO_PART, false, NULL },
	{ "cpu.threads[ tid=3].run", NULL, NULL, HISTOGRAM_NO_PART, false, NULL },
	{ "sched.wake.p99", NULL, "wake", HISTOGRAM_P99, false, NULL },
	{ "sched.thread[3].wake.count.rate", "threads", "wake", HISTOGRAM_COUNT, true, NULL },
	{ "irq.soft", NULL, "soft_ns", HISTOGRAM_NO_PART, false, NULL },
	{ "irq.soft[9].time.max", "soft", "time", HISTOGRAM_MAX, false, NULL },
	{ "irq.soft.rate", NULL, "soft_ns", HISTOGRAM_NO_PART, true, NULL },
	{ "count.rate", NULL, "events", HISTOGRAM_NO_PART, true, NULL },
	{ "syscalls.errors/syscalls.calls", NULL, "errors", HISTOGRAM_NO_PART, false, "calls" },
	{ "cpu.thread[comm=\"a / b\"].run / cpu.thread.switches", "threads", "run_ns",
	  HISTOGRAM_NO_PART, false, "switches" },
	{ "cpu.thread[3].run / cpu.thread[3].run", "threads", "run_ns", HISTOGRAM_NO_PART, false,
	  "run_ns" },
	{ "cpu.thread.run / cpu.thread[3].run", NULL, NULL, HISTOGRAM_NO_PART, false, NULL },
	{ "cpu.thread[2].run / cpu.thread[3].run", "threads", "run_ns", HISTOGRAM_NO_PART, false,
	  "run_ns" },
	{ "cpu.busy / cpu[comm=a].run", NULL, "busy_ns", HISTOGRAM_NO_PART, false, "run_ns" },
	{ "sched[3].wake.p99 / sched[4].wake.p99", NULL, NULL, HISTOGRAM_NO_PART, false, NULL },
	{ "cpu[2].busy", "cpus", "busy_ns", HISTOGRAM_NO_PART, false, NULL },
	{ "cpu[tid=2].run", "threads", "run_ns", HISTOGRAM_NO_PART, false, NULL },
	{ "cpu[run=2].run", NULL, NULL, HISTOGRAM_NO_PART, false, NULL },
	{ "periods[name=\"a b\"].p99", "by_name", "time", HISTOGRAM_P99, false, NULL },
	{ "jobs.jobs[name=a].p99", NULL, NULL, HISTOGRAM_NO_PART, false, NULL },
	{ "periods[name=a].count / periods[name=a*].count.rate", "by_name", "time", HISTOGRAM_COUNT,
	  false, "time" },
	{ "cpu.thread.run / cpu.cpu.busy", NULL, NULL, HISTOGRAM_NO_PART, false, NULL },
	{ "cpu.busy / cpu.idle / cpu.busy", NULL, NULL, HISTOGRAM_NO_PART, false, NULL },
};

START_TEST(parses_figures)
{
	struct figure figure;
	bool is_right = parse(&figure, right[_i].text);

	ck_assert_msg(is_right == (right[_i].column != NULL), "%s", right[_i].text);
	if (is_right) {
		ck_assert_str_eq(figure_column(&figure)->key, right[_i].column);
		ck_assert_pstr_eq(figure.table->key, right[_i].list);
		ck_assert_int_eq(figure.part, right[_i].part);
		ck_assert_int_eq(figure.is_rate, right[_i].is_rate);
		ck_assert_pstr_eq(figure.per ? figure_column(figure.per)->key : NULL,
				  right[_i].per);
	}
	figure_fini(&figure);
}
END_TEST

static const struct {
	const char *figure, *word;
	double value; /* below 0: it is none */
	bool is_share, is_rate;
} values[] = {
	{ "cpu.busy", "90%", 0.9, true, false },
	{ "cpu.busy", "3ms", 3e6, false, false },
	{ "cpu.busy", "3", -1, false, false },
	{ "cpu.busy", "-3ms", -1, false, false },
	{ "cpu.busy", "3ms/s", 3e6, false, true },
	{ "io.read_bytes", "2K/s", 2048, false, true },
	{ "count.events", "2K", 2000, false, false },
	{ "count.events", "2%", -1, false, false },
	{ "count.events", "2KK", -1, false, false },
	{ "count.events", "nan", -1, false, false },
	{ "sched.wake.p99", "2%", -1, false, false },
	{ "sched.wake.count", "12", 12, false, false },
	{ "syscalls.errors / syscalls.calls", "5%", 0.05, true, false },
	{ "syscalls.errors / syscalls.calls", "0.05", 0.05, false, false },
	{ "syscalls.errors / syscalls.calls", "5/s", -1, false, false },
	{ "files.read_bytes / files.reads", "4K", 4096, false, false },
	{ "cpu.threads.run / cpu.threads.switches", "2us", 2000, false, false },
	{ "cpu.threads.run / cpu.threads.switches", "5%", -1, false, false },
};

START_TEST(parses_values)
{
	struct figure figure;
	double value;

	ck_assert_msg(parse(&figure, values[_i].figure), "%s", values[_i].figure);
	if (!figure_parse_value(&figure, values[_i].word, &value)) {
		ck_assert_msg(values[_i].value < 0, "%s", values[_i].word);
	} else {
		ck_assert_double_eq_tol(value, values[_i].value, 1e-9);
		ck_assert_int_eq(figure.is_share, values[_i].is_share);
		ck_assert_int_eq(figure.is_rate, values[_i].is_rate);
	}
	figure_fini(&figure);
}
END_TEST

/* ---- values in rows ---- */

/* Second 1: the trace with 300 ms busy of 1 s, threads a and b of 200 ms and 2 switches, 0 and 0.
 */
static void make_window(void)
{
	made_window(&made, 1);
	(void)made_table(&made, "cpu", SCOPE_TRACE, NULL);
	(void)made_row(&made, 0, 0, "");
	*made_value(&made, "busy_ns") = 300000000;
	*made_value(&made, "idle_ns") = 700000000;
	(void)made_table(&made, "cpu", SCOPE_THREAD, NULL);
	(void)made_row(&made, 1, 1, "a");
	*made_value(&made, "run_ns") = 200000000;
	*made_value(&made, "switches") = 2;
	(void)made_row(&made, 2, 2, "b");
}

static const struct {
	const char *text, *limit;
	int row;
	double value; /* NAN: none */
} worth[] = {
	{ "cpu.busy", "1ms", 0, 3e8 },
	{ "cpu.busy", "1%", 0, 0.3 },
	{ "cpu.busy.rate", "1ms", 0, 3e8 },
	{ "cpu.thread.run", "1%", 0, 0.2 },
	{ "cpu.thread.run / cpu.thread.switches", "1ms", 0, 1e8 },
	{ "cpu.thread.run / cpu.thread.switches", "1ms", 1, NAN },
	{ "cpu.thread.run / cpu.busy", "1%", 0, 2.0 / 3 },
	{ "cpu.thread.run / cpu.busy", "1%", 1, 0 },
	{ "cpu.busy / cpu.idle", "1", 0, 3.0 / 7 },
	{ "cpu.busy / sched.wake.count", "1ms", 0, NAN }, /* no such table */
	/* Of rows of its own: sums, whatever the row. */
	{ "cpu[comm=a].run / cpu[comm=*].run", "1%", 1, 1 },
	{ "cpu[comm=b].run / cpu[comm=*].run", "1%", 0, 0 },
	{ "cpu[comm=none].run / cpu[comm=*].run", "1%", 0, 0 },
	{ "cpu[comm=a].run / cpu[comm=b].run", "1%", 0, NAN },
	{ "cpu[comm=a].run / cpu[comm=none].run", "1%", 0, NAN },
	{ "cpu.busy / cpu[comm=*].run", "1", 0, 1.5 },
	{ "cpu[comm=*].run / cpu[tid=1].switches", "1ms", 0, 1e8 },
	{ "cpu[comm=a].run / sched[comm=a].wake.count", "1ms", 0, NAN }, /* no such table */
};

START_TEST(values_rows)
{
	const struct report_table *table;
	struct figure figure;
	double value;

	make_window();
	ck_assert(parse(&figure, worth[_i].text));
	ck_assert_msg(figure_parse_value(&figure, worth[_i].limit, &value), "%s", worth[_i].text);
	table = figure_table(&figure, &made.report);
	value = figure_value(&figure, &made.report, &table->rows[worth[_i].row]);
	ck_assert_msg(isnan(worth[_i].value) ? isnan(value) : fabs(value - worth[_i].value) < 1e-9,
		      "%s: %g", worth[_i].text, value);
	figure_fini(&figure);
}
END_TEST

START_TEST(knows_what_is_unknown)
{
	struct figure figure;

	make_window();
	ck_assert(parse(&figure, "cpu.thread.run / cpu.busy"));
	ck_assert(!figure_is_unknown(&figure, &made.report));
	made.tables[0].unknown = 1;
	ck_assert(figure_is_unknown(&figure, &made.report));
	figure_fini(&figure);
}
END_TEST

/* One value has no deviation, and an empty distribution has sums only. */
START_TEST(has_no_value_of_nothing)
{
	static const struct {
		const char *text;
		uint64_t count;
		bool has;
	} cases[] = {
		{ "sched.wake.p99", 0, false },   { "sched.wake.sum", 0, true },
		{ "sched.wake.count", 0, true },  { "sched.wake.p99", 1, true },
		{ "sched.wake.stdev", 1, false }, { "sched.wake.stdev", 2, true },
	};

	for (int i = 0; i < COUNT(cases); i++) {
		struct histogram *histogram = NULL;
		struct figure figure;

		for (uint64_t k = 0; k < cases[i].count; k++) {
			histogram_add(&histogram, 5);
		}
		made_window(&made, 1);
		(void)made_table(&made, "sched", SCOPE_TRACE, NULL);
		(void)made_row(&made, 0, 0, "");
		*made_value(&made, "wake") = (uint64_t)(uintptr_t)histogram;
		ck_assert(parse(&figure, cases[i].text));
		ck_assert_int_eq(figure_has_value(&figure, &made.rows[0]), cases[i].has);
		figure_fini(&figure);
		histogram_free(histogram);
	}
}
END_TEST

START_TEST(chooses_names)
{
	static const struct {
		const char *text, *name;
		bool is_by_name, chooses;
	} cases[] = {
		{ "cpu.threads.run", "x", true, true },
		{ "cpu.threads[comm=a*].run", "ab", true, true },
		{ "cpu.threads[comm=a*].run", "ba", true, false },
		{ "cpu.threads[3].run", "", false, false },
		{ "cpu.threads[pid=3].run", "", false, false },
		{ "cpu.cpu[3].busy", "3", true, true },
		{ "cpu.cpu[3].busy", "33", true, false },
		{ "irq.soft[vec=TIMER].time.max", "1", true, true },
	};

	for (int i = 0; i < COUNT(cases); i++) {
		struct figure figure;

		ck_assert(parse(&figure, cases[i].text));
		ck_assert_msg(which_is_by_name(&figure) == cases[i].is_by_name, "%s",
			      cases[i].text);
		ck_assert(!cases[i].is_by_name ||
			  which_chooses_name(&figure, cases[i].name) == cases[i].chooses);
		figure_fini(&figure);
	}
}
END_TEST

/* What is printed selects the row of that name, and no other. */
START_TEST(prints_what_it_reads)
{
	static const char *const names[] = { "a", "a b", "a]b", "a*", "a\"b", "a\\b", "a?", "[x]" };

	for (int i = 0; i < COUNT(names); i++) {
		char *which = NULL, *text;
		struct figure figure;
		size_t size;
		FILE *out = open_memstream(&which, &size);

		ck_assert(parse(&figure, "cpu.threads.run"));
		which_print(figure.table, names[i], out);
		(void)fclose(out);
		figure_fini(&figure);
		text = mem_printf("cpu.threads%s.run", which);
		ck_assert_msg(parse(&figure, text), "%s", text);
		for (int k = 0; k < COUNT(names); k++) {
			ck_assert_int_eq(which_chooses_name(&figure, names[k]), i == k);
		}
		figure_fini(&figure);
		free(which);
		free(text);
	}
}
END_TEST

/* ---- comparisons ---- */

START_TEST(compares)
{
	static const struct {
		const char *text;
		bool holds[3]; /* 1, 2, 3 against 2 */
		bool wants_more;
	} cases[] = { { ">", { false, false, true }, true },
		      { ">=", { false, true, true }, true },
		      { "<", { true, false, false }, false },
		      { "<=", { true, true, false }, false } };

	for (int i = 0; i < COUNT(cases); i++) {
		struct err err;
		struct scan scan = scan_of("test", cases[i].text, &err);
		enum op op;

		ck_assert(op_parse(&scan, &op));
		ck_assert_str_eq(op_text(op), cases[i].text);
		for (int k = 0; k < 3; k++) {
			ck_assert_int_eq(op_holds(op, k + 1, 2), cases[i].holds[k]);
		}
		ck_assert(!op_holds(op, NAN, 2) && !op_holds(op, 2, NAN));
		ck_assert_int_eq(op_wants_more(op), cases[i].wants_more);
		ck_assert_int_eq(op_is_further(op, 3, 2), cases[i].wants_more);
		ck_assert_int_eq(op_is_further(op, 2, 3), !cases[i].wants_more);
		ck_assert(op_is_further(op, 2, NAN) && !op_is_further(op, NAN, 2));
		ck_assert(!op_is_further(op, NAN, NAN));
	}
}
END_TEST

START_TEST(keeps_rows_by_name)
{
	struct by_name rows = { 0 };

	ck_assert_ptr_null(by_name_find(&rows, "a"));
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 1000; i++) {
			char name[16];
			int *row;

			(void)snprintf(name, sizeof(name), "n%d", i);
			row = by_name_add(&rows, name, sizeof(*row));
			ck_assert_int_eq(*row, round * (i + 1));
			*row = i + 1;
			ck_assert_ptr_eq(by_name_find(&rows, name), row);
			ck_assert_str_eq(rows.all.at[i].name, name);
		}
	}
	ck_assert_uint_eq(rows.all.count, 1000);
	by_name_fini(&rows);
}
END_TEST

/* ---- texts made at random ---- */

static const char *const pieces[] = {
	".run",    " / cpu.busy", "[3]",   "[comm=a*]", ".wake.p99", "cpu",     ".",     "busy",
	"threads", "[",           "]",     "comm=",     "\"",        "a",       "3",     "run",
	"/",       " ",           ".p99",  "wake",      "sched",     ".rate",   "\\",    "*",
	"irq",     "soft",        "vec=",  "9",         "time",      "[tid=3]", "99999", "'",
	"\xff",    "by_name",     "count", "-",         "=",
};

/* splitmix64 */
static uint64_t next(uint64_t *seed)
{
	uint64_t x = *seed += UINT64_C(0x9E3779B97F4A7C15);

	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

/* What is read has a text that is read as the same figure; what is refused has a reason with a
 * column inside the text. */
START_TEST(survives_texts)
{
	uint64_t seed = (uint64_t)_i;
	unsigned int read = 0;

	for (int i = 0; i < 4000; i++) {
		char text[200] = "";
		struct figure figure = { 0 }, again;
		struct err err;
		unsigned long column;
		const char *found;

		/* Half of them begin as figures do. */
		(void)strcat(text, next(&seed) % 2 ? "cpu.threads" : "cpu");
		for (uint64_t k = next(&seed) % 9; k > 0; k--) {
			(void)strcat(text, pieces[next(&seed) % COUNT(pieces)]);
		}
		if (figure_parse_alone(&figure, "test", text, &err)) {
			ck_assert_ptr_nonnull(strstr(text, figure.text));
			ck_assert_msg(parse(&again, figure.text), "%s", text);
			ck_assert_msg(figure_is_same(&figure, &again), "%s", text);
			figure_fini(&again);
			figure_copy(&again, &figure);
			ck_assert(figure_is_same(&figure, &again));
			figure_fini(&again);
			read++;
		} else {
			found = strstr(err.text, "\": column ");
			ck_assert_msg(found, "\"%s\": %s", text, err.text);
			column = strtoul(found + strlen("\": column "), NULL, 10);
			ck_assert_msg(column >= 1 && column <= strlen(text) + 1, "\"%s\": %s", text,
				      err.text);
		}
		figure_fini(&figure);
	}
	ck_assert_uint_gt(read, 0);
}
END_TEST

Suite *suite_figure(void)
{
	Suite *suite = suite_create("figure");
	TCase *cases = tcase_create("figure");

	tcase_add_loop_test(cases, parses_figures, 0, COUNT(right));
	tcase_add_loop_test(cases, parses_values, 0, COUNT(values));
	tcase_add_loop_test(cases, values_rows, 0, COUNT(worth));
	tcase_add_test(cases, knows_what_is_unknown);
	tcase_add_test(cases, has_no_value_of_nothing);
	tcase_add_test(cases, chooses_names);
	tcase_add_test(cases, prints_what_it_reads);
	tcase_add_test(cases, compares);
	tcase_add_test(cases, keeps_rows_by_name);
	tcase_add_loop_test(cases, survives_texts, 1, 9);
	suite_add_tcase(suite, cases);
	return suite;
}
