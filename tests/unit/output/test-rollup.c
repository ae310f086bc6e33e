/*
 * rollup: short windows added up are the long window.
 *
 * Method  Draw short windows at random and roll them up; add the same figures to one report by
 * hand. Both must agree in every row, whatever the number of short windows.
 */
#include <string.h>

#include "base/limits.h"
#include "engine/tables/columns.h"
#include "made-report.h"
#include "rollup/rollup.h"
#include "suites.h"

#define SHORT_NS 1000
#define THREADS  5

/* What was shown: the number of windows and totals, and the last of them looked at. */
struct shown {
	size_t windows, totals;
	uint64_t seq, begin, end, events;
	void (*look)(struct shown *shown, const struct report *report);
	const struct made *expected;
};

static void on_show(void *user, const struct report *report)
{
	struct shown *shown = user;

	shown->windows += report->kind == REPORT_WINDOW;
	shown->totals += report->kind == REPORT_TOTAL;
	shown->seq = report->seq;
	shown->begin = report->begin;
	shown->end = report->end;
	shown->events = report->events;
	if (shown->look && report->kind == REPORT_WINDOW) {
		shown->look(shown, report);
	}
}

static uint64_t draw(uint64_t *random)
{
	*random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *random >> 40;
}

static size_t row_of(const struct report_table *table, uint64_t id)
{
	for (size_t i = 0; i < table->row_count; i++) {
		if (table->rows[i].id == id) {
			return i;
		}
	}
	ck_abort_msg("no row %d", (int)id);
	return 0;
}

static void look_at_threads(struct shown *shown, const struct report *report)
{
	const struct report_table *expected = &shown->expected->tables[MADE_THREADS];
	const struct report_table *table = &report->tables[MADE_THREADS];

	ck_assert_uint_eq(report->events, shown->expected->report.events);
	ck_assert_uint_eq(table->row_count, expected->row_count);
	for (size_t i = 0; i < table->row_count; i++) {
		const struct report_row *row = &table->rows[i];
		const struct report_row *like = &expected->rows[row_of(expected, row->id)];
		const struct histogram *got = column_histogram(row->values, MADE_LATENCY);
		const struct histogram *want = column_histogram(like->values, MADE_LATENCY);

		for (size_t c = MADE_RUN; c <= MADE_LAST; c++) {
			ck_assert_msg(row->values[c] == like->values[c], "column %zu", c);
		}
		ck_assert_uint_eq(got->count, want->count);
		ck_assert_uint_eq(got->sum, want->sum);
		ck_assert_uint_eq(got->max, want->max);
		ck_assert_uint_eq(histogram_percentile(got, 500), histogram_percentile(want, 500));
		ck_assert_str_eq(row->thread->comm, like->thread->comm);
		ck_assert(i == 0 || row->values[MADE_RUN] <= row[-1].values[MADE_RUN]);
	}
}

/* Adds the figures of a short window to the one report. */
static void add_to(struct made *whole, const struct made *part)
{
	for (size_t i = 0; i < whole->tables[MADE_THREADS].row_count; i++) {
		whole->values[MADE_THREADS][i][MADE_LAST] = 0; /* of the last window only */
	}
	for (size_t i = 0; i < part->tables[MADE_THREADS].row_count; i++) {
		const struct report_row *row = &part->rows[MADE_THREADS][i];
		const uint64_t *from = row->values;
		uint64_t *to;
		size_t at = 0;

		while (at < whole->tables[MADE_THREADS].row_count &&
		       whole->rows[MADE_THREADS][at].id != row->id) {
			at++;
		}
		if (at == whole->tables[MADE_THREADS].row_count) {
			made_thread(whole, row->thread->tid, row->thread->comm, from[MADE_RUN],
				    from[MADE_SWITCHES], column_histogram(from, MADE_LATENCY)->max);
			continue;
		}
		to = whole->values[MADE_THREADS][at];
		to[MADE_RUN] += from[MADE_RUN];
		to[MADE_SWITCHES] += from[MADE_SWITCHES];
		to[MADE_MOST] = from[MADE_MOST] > to[MADE_MOST] ? from[MADE_MOST] : to[MADE_MOST];
		to[MADE_LAST] = from[MADE_LAST];
		column_merge(to, MADE_LATENCY, column_histogram(from, MADE_LATENCY));
		whole->report.events += from[MADE_SWITCHES];
	}
}

/* Of _i + 1 short windows each; two long ones, so that nothing is left over from the first. */
START_TEST(adds_up)
{
	static struct made whole, part;
	uint64_t count = (uint64_t)_i + 1, random = count;
	struct shown shown = { .look = look_at_threads, .expected = &whole };
	struct rollup *rollup = rollup_new(count * SHORT_NS, 0, NULL, false);

	for (uint64_t w = 0; w < 2 * count; w++) {
		if (w % count == 0) {
			made_init(&whole, w / count, w * SHORT_NS, (w + count) * SHORT_NS);
		}
		made_init(&part, w, w * SHORT_NS, (w + 1) * SHORT_NS);
		for (int32_t tid = 1; tid <= THREADS; tid++) {
			if (draw(&random) % 3 > 0) {
				made_thread(&part, tid, "t", draw(&random), draw(&random) % 100,
					    draw(&random));
			}
		}
		add_to(&whole, &part);
		rollup_report(rollup, &part.report, on_show, &shown);
		made_fini(&part);
		ck_assert_uint_eq(shown.windows, (w + 1) / count);
		if ((w + 1) % count == 0) {
			ck_assert_uint_eq(shown.seq, w / count);
			ck_assert_uint_eq(shown.begin, w / count * count * SHORT_NS);
			ck_assert_uint_eq(shown.end, (w + 1) * SHORT_NS);
			made_fini(&whole);
		}
	}
	rollup_free(rollup);
}
END_TEST

static void look_at_others(struct shown *shown, const struct report *report)
{
	const struct report_table *files = &report->tables[MADE_FILES];
	const struct report_table *waits = &report->tables[MADE_WAITS];

	ck_assert_uint_eq(files->row_count, 2); /* one name, one id; one name, another id */
	ck_assert_uint_eq(files->rows[0].values[0], 5 * 30);
	ck_assert_str_eq(files->rows[0].name, "/a");
	ck_assert_uint_eq(files->rows[1].values[0], 5 * 20);
	ck_assert_uint_eq(waits->row_count, LONGEST_MIN);
	for (size_t i = 0; i < waits->row_count; i++) {
		ck_assert_uint_eq(waits->rows[i].instance->ns, 14 - i);
		ck_assert_int_eq(waits->rows[i].thread->tid, (int32_t)(14 - i));
	}
}

/* Rows with keys are found again by both parts of the key; single instances are the longest. */
START_TEST(finds_rows_again)
{
	static struct made part;
	struct shown shown = { .look = look_at_others };
	struct rollup *rollup = rollup_new(5 * SHORT_NS, 1, NULL, false);

	for (uint64_t w = 0; w < 5; w++) {
		made_init(&part, w, w * SHORT_NS, (w + 1) * SHORT_NS);
		made_file(&part, 1, "/a", 20);
		made_file(&part, 2, "/a", 30);
		for (uint64_t k = 0; k < 3; k++) {
			made_wait(&part, (int32_t)(w + 5 * k), w * SHORT_NS + k, w + 5 * k);
		}
		rollup_report(rollup, &part.report, on_show, &shown);
		made_fini(&part);
	}
	ck_assert_uint_eq(shown.windows, 1);
	rollup_free(rollup);
}
END_TEST

/* A total shows the window that was begun, then itself; without a rollup all pass through. */
/* What is missing is as of the last short window: it may have come meanwhile. */
static void look_at_missing(struct shown *shown, const struct report *report)
{
	bool is_first = shown->windows == 1;

	ck_assert_uint_eq(report->missing_count, is_first ? 1 : 0);
	ck_assert(!is_first || strcmp(report->missing[0].event, "sched_switch") == 0);
	ck_assert_uint_eq(report->tables[MADE_TOTALS].unknown, is_first ? 1 : 0);
}

START_TEST(knows_what_is_missing)
{
	static struct made part;
	struct missing_event missing = { &made_analysis, "sched_switch" };
	struct shown shown = { .look = look_at_missing };
	struct rollup *rollup = rollup_new(2 * SHORT_NS, 0, NULL, false);

	for (uint64_t w = 0; w < 4; w++) {
		made_init(&part, w, w * SHORT_NS, (w + 1) * SHORT_NS);
		if (w < 3) {
			part.report.missing = &missing;
			part.report.missing_count = 1;
			part.tables[MADE_TOTALS].unknown = 1;
		}
		rollup_report(rollup, &part.report, on_show, &shown);
		made_fini(&part);
		memset(&part, 0xAA, sizeof(part)); /* whatever still points there is found */
	}
	ck_assert_uint_eq(shown.windows, 2);
	rollup_free(rollup);
}
END_TEST

START_TEST(ends_with_a_total)
{
	static struct made part, total;
	struct shown shown = { 0 };
	struct rollup *rollup = rollup_new(10 * SHORT_NS, 0, NULL, false);

	made_init(&part, 0, 0, SHORT_NS);
	made_thread(&part, 1, "t", 10, 1, 1);
	made_init(&total, 0, 0, SHORT_NS);
	total.report.kind = REPORT_TOTAL;
	rollup_report(rollup, &part.report, on_show, &shown);
	ck_assert_uint_eq(shown.windows, 0);
	rollup_report(rollup, &total.report, on_show, &shown);
	ck_assert_uint_eq(shown.windows, 1);
	ck_assert_uint_eq(shown.totals, 1);
	rollup_report(rollup, &total.report, on_show, &shown);
	ck_assert_uint_eq(shown.windows, 1);
	rollup_report(NULL, &part.report, on_show, &shown);
	ck_assert_uint_eq(shown.windows, 2);
	rollup_free(rollup);
	rollup_free(NULL);
	made_fini(&part);
}
END_TEST

/* Joining: what no trace records is not known, from the first window on. */
START_TEST(joins_what_is_known)
{
	static struct made part;
	struct rollup *rollup = rollup_new(1, 0, NULL, false);
	const struct report *joined;

	rollup_join(rollup);
	for (uint16_t also = 3; also != 0; also--) { /* 3, 2, 1: known of the other trace, or not */
		for (uint32_t trace = 1; trace <= 2; trace++) {
			made_init(&part, 0, 0, SHORT_NS);
			made_thread(&part, 1, "t", 10, 1, 1);
			part.tables[MADE_THREADS].unknown = trace == 1 ? 3 : also;
			rollup_add(rollup, &part.report, trace);
			made_fini(&part);
		}
		joined = rollup_take(rollup);
		ck_assert_uint_eq(joined->tables[MADE_THREADS].unknown, also);
		ck_assert_uint_eq(joined->tables[MADE_TOTALS].unknown, 0);
	}
	rollup_free(rollup);
}
END_TEST

#define MOMENTS 64

/* The times that windows cover, in whatever order they come; with a hole nothing is complete. */
START_TEST(knows_what_is_covered)
{
	struct rollup *rollup = rollup_new(1, 0, NULL, false);
	uint64_t random = (uint64_t)_i + 1;

	rollup_join(rollup);
	for (int round = 0; round < 50; round++) {
		bool covered[MOMENTS + 1] = { false };
		size_t spans = 0, moments = 0, count = 1 + draw(&random) % 12;
		const struct report *report;

		for (size_t i = 0; i < count; i++) {
			uint64_t begin = draw(&random) % (MOMENTS - 8);
			struct report window = { .begin = begin,
						 .end = begin + 1 + draw(&random) % 8,
						 .complete = true };

			for (uint64_t at = window.begin; at < window.end; at++) {
				covered[at] = true;
			}
			rollup_add(rollup, &window, 1 + (uint32_t)i);
		}
		for (size_t i = 0; i < MOMENTS; i++) {
			moments += covered[i];
			spans += covered[i] && !covered[i + 1];
		}
		report = rollup_take(rollup);
		ck_assert_uint_eq(report_covered_ns(report), moments);
		ck_assert_uint_eq(report->span_count, spans > 1 ? spans : 0);
		ck_assert_int_eq(report->complete, spans == 1);
	}
	rollup_free(rollup);
}
END_TEST

/* Beyond the account, threads have one row for each name, and sums stay what they are. */
START_TEST(keeps_within_the_account)
{
	struct rollup *rollup = rollup_new(UINT64_MAX, 0, NULL, false);
	struct account account;
	const struct report *total;
	const struct report_table *table;
	uint64_t run = 0, switches = 0, latencies = 0;
	static struct made made;

	account_init(&account, 64 << 10, 0, false);
	rollup_bound(rollup, &account);
	for (int32_t w = 0; w < 200; w++) {
		made_init(&made, (uint64_t)w, (uint64_t)w * SHORT_NS, (uint64_t)(w + 1) * SHORT_NS);
		made_thread(&made, 1, "always", 7, 1, 3);
		for (int32_t i = 0; i < 20; i++) {
			made_thread(&made, 100 + w * 20 + i, i % 2 ? "odd" : "even", 10, 2, 5);
		}
		rollup_add(rollup, &made.report, 0);
		made_fini(&made);
		/* One window's rows may be above it. */
		ck_assert_uint_le(account_lasting(&account), (64 << 10) + 21 * 2000);
	}
	ck_assert_uint_gt(rollup_ended(rollup), 3000);
	total = rollup_take(rollup);
	table = &total->tables[MADE_THREADS];
	ck_assert_uint_lt(table->row_count, 200);
	for (size_t i = 0; i < table->row_count; i++) {
		const struct report_row *row = &table->rows[i];

		ck_assert(row->thread->tid != 1 || row->values[MADE_RUN] == 1400);
		ck_assert(row->thread->tid >= 0 || row->thread->pid < 0);
		run += row->values[MADE_RUN];
		switches += row->values[MADE_SWITCHES];
		latencies += column_histogram(row->values, MADE_LATENCY)->count;
	}
	ck_assert_uint_eq(run, 200 * (7 + 20 * 10));
	ck_assert_uint_eq(switches, 200 * (1 + 20 * 2));
	ck_assert_uint_eq(latencies, 200 * 21);
	rollup_free(rollup);
	ck_assert_uint_eq(account_lasting(&account), 0);
}
END_TEST

Suite *suite_rollup(void)
{
	Suite *suite = suite_create("rollup");
	TCase *tcase = tcase_create("rollup");

	tcase_add_loop_test(tcase, adds_up, 0, 8);
	tcase_add_test(tcase, finds_rows_again);
	tcase_add_test(tcase, knows_what_is_missing);
	tcase_add_test(tcase, ends_with_a_total);
	tcase_add_test(tcase, joins_what_is_known);
	tcase_add_loop_test(tcase, knows_what_is_covered, 0, 4);
	tcase_add_test(tcase, keeps_within_the_account);
	suite_add_tcase(suite, tcase);
	return suite;
}
