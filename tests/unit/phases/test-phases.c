/*
 * phases: what is reported of made-up windows, and when.
 */
#include <math.h>
#include <stdlib.h>

#include "phases/phases.h"
#include "suites.h"

#define MS   UINT64_C(1000000)
#define CPUS 2

/* A window of 100 ms, in which CPUs are busy for so many percent. */
static void add_at(struct phases *phases, uint64_t begin, const unsigned int *busy)
{
	static const struct analysis cpu = { .name = "cpu",
					     .tables = {
						     { .key = "cpus",
						       .scope = SCOPE_CPU,
						       .columns = { { .key = "busy_ns" },
								    { .key = "idle_ns" },
								    { .key = "unknown_ns" } } } } };
	uint64_t values[CPUS][COLUMNS_MAX] = { 0 };
	struct report_row rows[CPUS];
	const struct report_table table = {
		.analysis = &cpu, .table = &cpu.tables[0], .row_count = CPUS, .rows = rows
	};
	const struct report report = { .kind = REPORT_WINDOW,
				       .begin = begin,
				       .end = begin + 100 * MS,
				       .table_count = 1,
				       .tables = &table };

	for (unsigned int i = 0; i < CPUS; i++) {
		unsigned int id = CPUS - 1 - i; /* in another order than that of their numbers */

		values[i][0] = busy[id] * MS;
		values[i][1] = (100 - busy[id]) * MS;
		rows[i] = (struct report_row){ .id = id, .values = values[i] };
	}
	phases_rest(phases);
	phases_report(phases, &report);
}

static size_t records_of(const struct phases *phases)
{
	size_t count;

	(void)phases_records(phases, &count);
	return count;
}

/* Windows with the same shares; returns how many records came. */
static size_t add(struct phases *phases, uint64_t *at, size_t count, unsigned int a, unsigned int b)
{
	const unsigned int busy[CPUS] = { a, b };
	size_t records = 0;

	for (size_t i = 0; i < count; i++) {
		add_at(phases, *at, busy);
		*at += 100 * MS;
		records += records_of(phases);
	}
	return records;
}

/* The phase that goes on is told to who keeps phases: when it begins, and from time to time. */
START_TEST(tells_what_goes_on_to_keep)
{
	struct phases *phases = phases_new(false, false);
	uint64_t at = 0;

	for (unsigned int i = 0; i < 3 * PHASES_KEEP; i++) {
		const struct phase_record *kept;

		add_at(phases, at, (const unsigned int[CPUS]){ 50, 0 });
		at += 100 * MS;
		kept = phases_kept(phases);
		ck_assert_int_eq(kept != NULL, i % PHASES_KEEP == 0);
		if (kept) {
			ck_assert_uint_eq(kept->slices, i + 1);
			ck_assert_uint_eq(kept->end, at);
			ck_assert(kept->is_open && kept->begin == 0);
		}
		ck_assert_uint_eq(records_of(phases), 0);
	}
	phases_free(phases);
}
END_TEST

static const uint64_t *figures_of(struct phases *phases, enum report_kind kind)
{
	const struct report report = { .kind = kind };
	struct report extended;
	struct report_table *tables = phases_extend(phases, &report, &extended);
	const uint64_t *values = tables[0].rows[0].values;

	ck_assert_uint_eq(extended.table_count, 1);
	free(tables);
	return values;
}

START_TEST(reports_a_change_once_it_stayed)
{
	struct phases *phases = phases_new(false, false);
	const struct phase_record *records;
	uint64_t at = 1000 * MS;
	size_t count;

	ck_assert_uint_eq(add(phases, &at, 20, 10, 20), 0);
	ck_assert_uint_eq(add(phases, &at, PHASES_STAY - 1, 10, 90), 0);
	ck_assert_uint_eq(figures_of(phases, REPORT_WINDOW)[0], 0);
	ck_assert_uint_eq(add(phases, &at, 1, 10, 90), 2);
	records = phases_records(phases, &count);
	ck_assert_uint_eq(records[0].number, 1);
	ck_assert(!records[0].is_open && !records[0].change);
	ck_assert_uint_eq(records[0].begin, 1000 * MS);
	ck_assert_uint_eq(records[0].end, 3000 * MS);
	ck_assert_uint_eq(records[0].slices, 20);
	ck_assert_uint_eq(records[0].mean_count, 6);
	ck_assert_str_eq(records[0].means[0].series, "CPU 0 busy");
	ck_assert(fabs(records[0].means[0].mean - 0.1) < 1e-9);
	ck_assert(fabs(records[0].means[3].mean - 0.2) < 1e-9);
	ck_assert_uint_eq(records[1].number, 2);
	ck_assert(records[1].is_open);
	ck_assert_uint_eq(records[1].begin, 3000 * MS);
	ck_assert_uint_eq(records[1].end, 3500 * MS);
	ck_assert_str_eq(records[1].change->series, "CPU 1 busy");
	ck_assert(fabs(records[1].before - 0.2) < 1e-9);
	ck_assert(fabs(records[1].change->mean - 0.9) < 1e-9);
	ck_assert_uint_eq(figures_of(phases, REPORT_WINDOW)[0], 1);
	ck_assert_uint_eq(figures_of(phases, REPORT_WINDOW)[1], 2);
	ck_assert_uint_eq(figures_of(phases, REPORT_WINDOW)[2], 500 * MS);
	ck_assert_uint_eq(add(phases, &at, 50, 10, 90), 0);
	ck_assert_uint_eq(figures_of(phases, REPORT_WINDOW)[0], 0);
	ck_assert_uint_eq(figures_of(phases, REPORT_TOTAL)[0], 1);
	phases_report(phases, &(struct report){ .kind = REPORT_TOTAL });
	records = phases_records(phases, &count);
	ck_assert_uint_eq(count, 1);
	ck_assert(records[0].is_open);
	ck_assert_uint_eq(records[0].slices, 55);
	phases_free(phases);
}
END_TEST

/* Small changes are none, and what is short has two: its begin and its end. */
START_TEST(passes_over_what_is_small)
{
	struct phases *phases = phases_new(false, false);
	uint64_t at = 0, mixed;

	ck_assert_uint_eq(add(phases, &at, 30, 10, 20), 0);
	ck_assert_uint_eq(add(phases, &at, 2, 100, 20), 0);
	ck_assert_uint_eq(add(phases, &at, 30, 10, 20), 4);
	ck_assert_uint_eq(add(phases, &at, 100, 19, 20), 0); /* too little */
	ck_assert_uint_eq(add(phases, &at, 1, 55, 20), 0);   /* half before, half after */
	ck_assert_uint_eq(add(phases, &at, 30, 100, 20), 2);
	ck_assert_uint_eq(figures_of(phases, REPORT_WINDOW)[1], 4);
	mixed = at;
	ck_assert_uint_eq(add(phases, &at, 1, 40, 20), 0); /* more of what comes after */
	ck_assert_uint_eq(add(phases, &at, 30, 10, 20), 2);
	ck_assert_uint_eq(figures_of(phases, REPORT_WINDOW)[2], at - mixed);
	phases_free(phases);
}
END_TEST

/* Phases longer than what is held, one after the other. */
START_TEST(goes_on_for_ever)
{
	struct phases *phases = phases_new(false, false);
	const struct phase_record *records;
	uint64_t at = 0;
	size_t count;

	for (unsigned int round = 0; round < 4; round++) {
		ck_assert_uint_eq(add(phases, &at, 4, 90 * (round % 2), 50), 0);
		ck_assert_uint_eq(add(phases, &at, 1, 90 * (round % 2), 50), round ? 2 : 0);
		records = phases_records(phases, &count);
		for (size_t i = 0; i + 1 < count; i++) {
			ck_assert_uint_eq(records[i].slices, 1500);
			ck_assert(fabs(records[i].means[0].mean - 0.9 * ((round + 1) % 2)) < 1e-9);
		}
		ck_assert_uint_eq(add(phases, &at, 1495, 90 * (round % 2), 50), 0);
	}
	ck_assert_uint_eq(figures_of(phases, REPORT_WINDOW)[2], 150000 * MS);
	phases_free(phases);
}
END_TEST

/* Time that no window covers ends a phase; what follows is not compared with it. */
START_TEST(begins_again_behind_a_gap)
{
	struct phases *phases = phases_new(false, false);
	const struct phase_record *records;
	uint64_t at = 0;
	size_t count;

	(void)add(phases, &at, 10, 10, 20);
	at += 500 * MS;
	ck_assert_uint_eq(add(phases, &at, 1, 90, 20), 1);
	records = phases_records(phases, &count);
	ck_assert(!records[0].is_open);
	ck_assert_uint_eq(records[0].end, 1000 * MS);
	ck_assert_uint_eq(add(phases, &at, 10, 90, 20), 0);
	ck_assert_uint_eq(figures_of(phases, REPORT_WINDOW)[1], 2);
	ck_assert_uint_eq(figures_of(phases, REPORT_WINDOW)[2], 1100 * MS);
	ck_assert_uint_eq(figures_of(phases, REPORT_TOTAL)[0], 0);
	phases_free(phases);
}
END_TEST

/* What did not stay long enough is known at the end, unless other windows may follow. */
START_TEST(tells_at_the_end)
{
	for (unsigned int goes_on = 0; goes_on < 2; goes_on++) {
		struct phases *phases = phases_new(goes_on, false);
		uint64_t at = 0;

		(void)add(phases, &at, 20, 10, 20);
		ck_assert_uint_eq(add(phases, &at, PHASES_STAY - 1, 10, 90), 0);
		phases_report(phases, &(struct report){ .kind = REPORT_TOTAL });
		ck_assert_uint_eq(records_of(phases), goes_on ? 1 : 2);
		ck_assert_uint_eq(figures_of(phases, REPORT_TOTAL)[0], goes_on ? 0 : 1);
		phases_free(phases);
	}
}
END_TEST

/* At any window: written, read, and gone on with, all is the same; damaged states begin again. */
START_TEST(goes_on_from_a_checkpoint)
{
	struct phases *whole = phases_new(false, false), *pieces = phases_new(false, false);
	uint64_t at = 0, same = 0;

	for (unsigned int i = 0; i < 700; i++) {
		struct codec_out out = { 0 };
		struct codec codec = { .out = &out };
		unsigned int busy = i / 37 % 3 * 40 + i % 5;
		const struct phase_record *a, *b;
		size_t count, other;

		(void)add(whole, &at, 1, busy, 50);
		(void)add(pieces, &same, 1, busy, 50);
		a = phases_records(whole, &count);
		b = phases_records(pieces, &other);
		ck_assert_uint_eq(count, other);
		for (size_t k = 0; k < count; k++) {
			ck_assert_uint_eq(a[k].begin, b[k].begin);
			ck_assert_uint_eq(a[k].slices, b[k].slices);
			ck_assert_mem_eq(&a[k].means[0].mean, &b[k].means[0].mean, sizeof(double));
		}
		phases_codec(pieces, &codec);
		phases_free(pieces);
		codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
		pieces = phases_restore(phases_new(false, false), &codec);
		ck_assert(!codec.is_wrong);
		if (i % 100 == 50) {
			codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count / 2 };
			phases_free(phases_restore(phases_new(false, false), &codec));
		}
		vec_fini(&out.bytes);
	}
	ck_assert_uint_gt(figures_of(whole, REPORT_WINDOW)[1], 10);
	phases_free(whole);
	phases_free(pieces);
}
END_TEST

/* Without CPU time: rates, of any size. */
START_TEST(takes_rates_without_cpu_time)
{
	static const struct analysis calls = {
		.name = "calls",
		.tables = { { .scope = SCOPE_TRACE,
			      .columns = { { .key = "calls", .title = "calls" } } } }
	};
	struct phases *phases = phases_new(false, false);
	size_t changes = 0;

	for (uint64_t i = 0; i < 60; i++) {
		uint64_t values[COLUMNS_MAX] = { i < 20 ? 50 : i < 40 ? 5000 : 50 };
		const struct report_row row = { .values = values };
		const struct report_table table = {
			.analysis = &calls, .table = &calls.tables[0], .row_count = 1, .rows = &row
		};
		const struct report report = { .kind = REPORT_WINDOW,
					       .begin = i * 100 * MS,
					       .end = (i + 1) * 100 * MS,
					       .table_count = 1,
					       .tables = &table };
		const struct phase_record *records;
		size_t count;

		phases_report(phases, &report);
		records = phases_records(phases, &count);
		if (count > 0) {
			ck_assert_uint_eq(i, changes == 0 ? 24 : 44);
			ck_assert_str_eq(records[1].change->series, "calls: calls");
			ck_assert(!records[1].change->is_share);
			ck_assert(fabs(records[0].means[0].mean - (changes == 0 ? 500 : 50000)) <
				  1e-6);
			changes++;
		}
	}
	ck_assert_uint_eq(changes, 2);
	phases_free(phases);
}
END_TEST

/* ---- what processes do ---- */

enum { RUN, FUTEX, TIMER, OTHER, STATES };

static const struct analysis waits = { .name = "waits",
				       .tables = {
					       { .key = "threads",
						 .scope = SCOPE_THREAD,
						 .columns = { { .key = "run_ns" },
							      { .key = "futex_ns" },
							      { .key = "timer_ns" },
							      { .key = "other_ns" } } },
					       { .key = "processes", .scope = SCOPE_PROCESS } } };

#define CROWD 10 /* threads that live for one window, each in a process of its own */

/* A window in which two threads do something, the second of them from the window 150 on. */
static void add_states(struct phases *phases, unsigned int at, unsigned int first,
		       unsigned int second)
{
	static struct thread_view views[CROWD + 2];
	struct report_row rows[CROWD + 2], processes[CROWD + 2];
	uint64_t values[CROWD + 2][COLUMNS_MAX] = { { 0 } };
	size_t count = at < 150 ? CROWD + 1 : CROWD + 2;
	const struct report_table tables[] = {
		{ .analysis = &waits, .table = &waits.tables[0], .row_count = count, .rows = rows },
		{ .analysis = &waits,
		  .table = &waits.tables[1],
		  .row_count = count,
		  .rows = processes },
	};
	const struct report report = { .kind = REPORT_WINDOW,
				       .begin = at * 100 * MS,
				       .end = (at + 1) * 100 * MS,
				       .table_count = 2,
				       .tables = tables };

	for (size_t i = 0; i < count; i++) {
		int32_t id =
			i < CROWD ? (int32_t)(1000 + at * CROWD + i) : (int32_t)(i - CROWD + 7);

		views[i] = (struct thread_view){ .tid = id, .pid = id, .comm = "a" };
		values[i][i < CROWD ? OTHER : i == CROWD ? first : second] = 100 * MS;
		rows[i] = (struct report_row){ .thread = &views[i], .values = values[i] };
		processes[i] = rows[i];
	}
	phases_rest(phases);
	phases_report(phases, &report);
}

static void same_records(const struct phases *a, const struct phases *b)
{
	size_t count, other;
	const struct phase_record *of_a = phases_records(a, &count),
				  *of_b = phases_records(b, &other);

	ck_assert_uint_eq(count, other);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_eq(of_a[i].begin, of_b[i].begin);
		ck_assert_uint_eq(of_a[i].mean_count, of_b[i].mean_count);
		for (size_t k = 0; k < of_a[i].mean_count; k++) {
			ck_assert_str_eq(of_a[i].means[k].series, of_b[i].means[k].series);
			ck_assert_mem_eq(&of_a[i].means[k].mean, &of_b[i].means[k].mean,
					 sizeof(double));
		}
	}
}

static struct phases *through_a_state(struct phases *phases, bool is_cut)
{
	struct codec_out out = { 0 };
	struct codec codec = { .out = &out };

	phases_codec(phases, &codec);
	codec = (struct codec){ .at = out.bytes.at,
				.left = is_cut ? out.bytes.count / 2 : out.bytes.count };
	if (is_cut) {
		phases_free(phases_restore(phases_new(true, false), &codec));
	} else {
		phases_free(phases);
		phases = phases_restore(phases_new(true, false), &codec);
		ck_assert(!codec.is_wrong);
	}
	vec_fini(&out.bytes);
	return phases;
}

/* What a thread waits for begins a phase, however many others there were before; also in two runs.
 */
START_TEST(takes_states_of_processes)
{
	struct phases *whole = phases_new(true, false), *pieces = phases_new(true, false);
	size_t changes = 0;

	for (unsigned int i = 0; i < 260; i++) {
		unsigned int first = i < 40 ? FUTEX : TIMER, second = i < 200 ? RUN : FUTEX;
		const struct phase_record *records;
		size_t count;

		add_states(whole, i, first, second);
		add_states(pieces, i, first, second);
		same_records(whole, pieces);
		records = phases_records(whole, &count);
		if (count > 0) {
			ck_assert_uint_eq(count, 2);
			ck_assert_uint_eq(records[1].begin, (changes == 0 ? 40 : 200) * 100 * MS);
			/* Two windows show that the state changes, so that its series is there. */
			ck_assert_uint_eq(i, (changes == 0 ? 40 : 200) + PHASES_STAY);
			ck_assert_int_eq(strncmp(records[1].change->series,
						 changes == 0 ? "a (7) " : "a (8) ", 6),
					 0);
			ck_assert(fabs(fabs(records[1].before - records[1].change->mean) - 1e9) <
				  1);
			changes++;
		}
		pieces = through_a_state(pieces, false);
		if (i % 20 == 10) {
			(void)through_a_state(pieces, true);
		}
	}
	ck_assert_uint_eq(changes, 2);
	phases_free(whole);
	phases_free(pieces);
}
END_TEST

Suite *suite_phases(void)
{
	Suite *suite = suite_create("phases");
	TCase *tcase = tcase_create("phases");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, reports_a_change_once_it_stayed);
	tcase_add_test(tcase, passes_over_what_is_small);
	tcase_add_test(tcase, tells_what_goes_on_to_keep);
	tcase_add_test(tcase, goes_on_for_ever);
	tcase_add_test(tcase, begins_again_behind_a_gap);
	tcase_add_test(tcase, tells_at_the_end);
	tcase_add_test(tcase, goes_on_from_a_checkpoint);
	tcase_add_test(tcase, takes_rates_without_cpu_time);
	tcase_add_test(tcase, takes_states_of_processes);
	suite_add_tcase(suite, tcase);
	return suite;
}
