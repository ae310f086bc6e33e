/*
 * medians: what is usual in an hour, by hand; hours of days; and triggers with such limits.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/limits.h"
#include "compare/day-hour.h"
#include "compare/medians.h"
#include "trigger/made-report.h"
#include "trigger/trigger.h"

static struct made made;
static const struct trace_identity trace = { .host = (char *)"h", .session = (char *)"s" };

/* A second of threads "COMM TID PERCENT, ...". */
static void hour_of(uint64_t second, const char *text)
{
	char comm[16];
	int tid, percent, used;

	made_window(&made, second);
	(void)made_table(&made, "cpu", SCOPE_THREAD, NULL);
	while (sscanf(text, " %15s %d %d%n", comm, &tid, &percent, &used) == 3) {
		(void)made_row(&made, (uint64_t)tid, tid, comm);
		*made_value(&made, "run_ns") = (uint64_t)percent * MADE_NS_PER_S / 100;
		*made_value(&made, "longest_ns") = (uint64_t)percent;
		text += used;
		text += *text == ',';
	}
}

static struct trigger *trigger_of(const char *text, struct figure_list *list)
{
	struct err err;
	struct trigger *trigger = trigger_new(NULL, text, &err);

	ck_assert_msg(trigger, "%s: %s", text, err.text);
	trigger_baselines(trigger, list);
	ck_assert_uint_gt(list->at.count, 0);
	return trigger;
}

static struct medians *medians_of(const struct figure_list *list, const char *const *days)
{
	struct medians *medians = medians_new(list);

	for (; *days; days++) {
		hour_of(1, *days);
		medians_add_day(medians, &made.report);
	}
	medians_end(medians);
	return medians;
}

/* Days, the row, how many days count for it, and the median in per mille; -1: none. */
static const struct {
	const char *text, *days[BASELINE_DAYS_MAX + 1], *row;
	unsigned int count;
	int median;
} medians[] = {
	{ "cpu.thread.run > baseline", { "a 1 10", "a 2 30", "a 3 20" }, "a", 3, 200 },
	{ "cpu.thread.run > baseline", { "a 1 10", "a 2 30" }, "a", 2, 200 },
	{ "cpu.thread.run > baseline", { "a 1 10", "a 2 30", "a 3 90", "a 3 20" }, "a", 4, 250 },
	/* one day is not enough; nor is none */
	{ "cpu.thread.run > baseline", { "a 1 10" }, "a", 1, -1 },
	{ "cpu.thread.run > baseline", { "a 1 10", "a 1 10" }, "b", 0, -1 },
	/* threads of one name are one; a day without them has the sum 0 */
	{ "cpu.thread.run > baseline", { "a 1 10, b 5 1, a 2 20", "a 3 40" }, "a", 2, 350 },
	{ "cpu.thread.run > baseline", { "a 1 10", "b 1 1", "b 1 1" }, "a", 3, 0 },
	{ "cpu.thread.run > baseline", { "a 1 10", "a 1 30", "b 1 1" }, "a", 3, 100 },
	/* but no maximum */
	{ "cpu.thread.longest > baseline", { "a 1 10, a 2 40", "a 1 30", "b 1 1" }, "a", 2, 35000 },
	{ "cpu.thread.longest > baseline", { "a 1 10", "b 1 1" }, "a", 1, -1 },
	/* rows that WHICH leaves out have none */
	{ "cpu.thread[comm=b*].run > baseline", { "a 1 10", "a 2 30" }, "a", 0, -1 },
	{ "cpu.thread.run.rate > baseline", { "a 1 10", "a 2 30" }, "a", 2, 200 },
};

START_TEST(finds_medians)
{
	struct figure_list list = { 0 };
	struct trigger *trigger = trigger_of(medians[_i].text, &list);
	struct medians *found = medians_of(&list, medians[_i].days);
	double scale = list.at.at[0]->is_share ? 1000 : list.at.at[0]->is_rate ? 1e-6 : 1000;
	double median;

	ck_assert_uint_eq(medians_find(found, list.at.at[0], medians[_i].row, &median),
			  medians[_i].count);
	ck_assert_int_eq(isnan(median), medians[_i].median < 0);
	ck_assert(isnan(median) || fabs(median * scale - medians[_i].median) < 1e-6);
	medians_free(found);
	trigger_free(trigger);
	vec_fini(&list.at);
}
END_TEST

START_TEST(counts_days_with_the_figure)
{
	struct figure_list list = { 0 };
	struct trigger *trigger = trigger_of("cpu.thread.run > baseline", &list);
	struct medians *found = medians_new(&list);
	double median;

	hour_of(1, "a 1 10");
	medians_add_day(found, &made.report);
	made.tables[0].unknown = UINT16_MAX;
	medians_add_day(found, &made.report);
	made_window(&made, 1); /* without tables */
	medians_add_day(found, &made.report);
	medians_end(found);
	ck_assert_uint_eq(medians_days(found, list.at.at[0]), 1);
	ck_assert_uint_eq(medians_find(found, list.at.at[0], "a", &median), 1);
	ck_assert(isnan(median));
	medians_free(found);
	trigger_free(trigger);
	vec_fini(&list.at);
}
END_TEST

START_TEST(bounds_rows)
{
	struct figure_list list = { 0 };
	struct trigger *trigger = trigger_of("cpu.thread.run > baseline", &list);
	struct medians *found = medians_new(&list);
	char comm[16];
	double median;

	for (int i = 0; i < 2 * (BASELINE_ROWS_MAX + 700); i++) {
		int name = i % (BASELINE_ROWS_MAX + 700);

		if (i == 0 || made.row_count == MADE_ROWS_MAX || name == 0) {
			if (i > 0) {
				medians_add_day(found, &made.report);
			}
			hour_of(1, "");
		}
		(void)snprintf(comm, sizeof(comm), "n%d", name);
		(void)made_row(&made, (uint64_t)name + 1, name + 1, comm);
		*made_value(&made, "run_ns") = MADE_NS_PER_S / 10;
	}
	medians_end(found);
	ck_assert_uint_gt(medians_left_out(found, list.at.at[0]), 0);
	ck_assert_uint_gt(medians_find(found, list.at.at[0], "n7", &median), 0);
	(void)snprintf(comm, sizeof(comm), "n%d", BASELINE_ROWS_MAX + 1);
	ck_assert_uint_eq(medians_find(found, list.at.at[0], comm, &median), 0);
	medians_free(found);
	trigger_free(trigger);
	vec_fini(&list.at);
}
END_TEST

/* ---- triggers ---- */

static const void *one_hour(void *user, const struct trace_identity *of, uint64_t ns)
{
	ck_assert_ptr_eq(of, &trace);
	ck_assert_uint_ge(ns, 100 * MADE_NS_PER_S);
	return user;
}

static unsigned int find_row(void *user, const void *hour, const struct figure *figure,
			     const char *name, double *ret)
{
	ck_assert_ptr_eq(user, hour);
	return medians_find(hour, figure, name, ret);
}

/* Against "a" 20 % and "b" 40 %: in windows marked by '1' it fires. */
static const struct {
	const char *text, *windows, *fires;
} firing[] = {
	{ "cpu.thread[comm=a].run > baseline", "a 1 21|a 1 19|a 1 21", "101" },
	{ "cpu.thread[comm=a].run > baseline +20%", "a 1 23|a 1 25", "01" },
	{ "cpu.thread[comm=a].run > baseline + 20%", "a 1 23|a 1 25", "01" },
	{ "cpu.thread[comm=a].run < baseline -50%", "a 1 11|a 1 9", "01" },
	{ "cpu.thread[comm=a].run > baseline x2.5", "a 1 49|a 1 51", "01" },
	{ "cpu.thread[comm=a].run >= baseline x0.5", "a 1 9|a 1 10", "01" },
	/* threads of one name are one, whatever their tids */
	{ "cpu.thread.run > baseline", "a 1 19, a 2 19|b 3 30|b 4 30, b 5 30", "101" },
	{ "cpu.thread.run > baseline for 3s", "a 1 50|a 2 50|a 3 50|a 4 50", "0010" },
	/* each by itself */
	{ "cpu.thread.run > baseline for 2s", "a 1 50, b 2 1|a 1 1, b 2 50|b 3 60", "001" },
	/* a row without a baseline is never beyond */
	{ "cpu.thread.run > baseline x0", "c 1 99", "" },
	{ "cpu.thread.run > baseline x0.01", "c 1 99|c 1 99, a 1 1", "01" },
	{ "cpu.thread.run < baseline", "c 1 0", "0" },
	/* no row in the window: 0, of the row that is named */
	{ "cpu.thread[comm=a].run < baseline -50%", "b 1 5", "1" },
	{ "cpu.thread[comm=a*].run < baseline -50%", "b 1 5", "0" },
	/* with other comparisons, of the same rows and of others */
	{ "cpu.thread.run > baseline and cpu.thread.run > 45%", "a 1 30, a 2 10|a 1 30, a 2 16",
	  "01" },
	{ "cpu.thread[comm=a].run > baseline or cpu.thread[comm=b].run > 90%",
	  "a 1 19, b 2 91|a 1 21", "10" },
	{ "cpu.thread[comm=a].run > baseline or cpu.thread[comm=b].run > 90%",
	  "a 1 19, b 2 9|a 1 11, a 3 10", "01" },
	/* armed again by it */
	{ "cpu.thread[comm=a].run > 50% until < baseline", "a 1 60|a 1 30|a 1 60|a 1 19|a 1 60",
	  "10001" },
};

START_TEST(fires_beyond_it)
{
	static const char *const days[] = { "a 1 10, b 2 40", "a 5 30, b 6 30, b 7 10", NULL };
	char *windows = strdup(firing[_i].windows), *rest = windows, *one;
	struct figure_list list = { 0 };
	struct trigger_event event;
	struct trigger *trigger;
	struct medians *found;
	struct baseline_source source = { .hour = one_hour, .find = find_row };
	struct err err;
	uint64_t second = 100;

	if (!firing[_i].fires[0]) {
		ck_assert_ptr_null(trigger_new(NULL, firing[_i].text, &err));
		free(windows);
		return;
	}
	trigger = trigger_of(firing[_i].text, &list);
	found = medians_of(&list, days);
	source.user = found;
	ck_assert(trigger_uses_baseline(trigger));
	trigger_set_baseline(trigger, &source);
	while ((one = strsep(&rest, "|"))) {
		hour_of(second, one);
		ck_assert_msg(trigger_evaluate(trigger, &trace, &made.report, &event) ==
				      (firing[_i].fires[second - 100] == '1'),
			      "%s: window %d of %s", firing[_i].text, (int)(second - 100),
			      firing[_i].windows);
		second++;
	}
	medians_free(found);
	trigger_free(trigger);
	vec_fini(&list.at);
	free(windows);
}
END_TEST

START_TEST(says_the_baseline)
{
	static const char *const days[] = { "a 1 10", "a 1 30", "a 1 20", NULL };
	struct figure_list list = { 0 };
	struct trigger *trigger = trigger_of("cpu.thread.run > baseline +50%", &list);
	struct medians *found = medians_of(&list, days);
	struct baseline_source source = { found, one_hour, find_row };
	struct trigger_event event;
	char why[200], says[200];

	hour_of(100, "a 12 50, a 13 10");
	ck_assert(!trigger_evaluate(trigger, &trace, &made.report, &event)); /* no source */
	ck_assert(!trigger_was_measured(trigger, why, sizeof(why)));
	ck_assert_ptr_nonnull(strstr(why, "baseline"));
	trigger_set_baseline(trigger, &source);
	ck_assert(trigger_evaluate(trigger, &trace, &made.report, &event));
	ck_assert(trigger_was_measured(trigger, why, sizeof(why)));
	ck_assert_uint_eq(event.count, 1);
	ck_assert_str_eq(event.values[0].row, "a");
	ck_assert_int_eq(event.values[0].tid, 12);
	ck_assert_uint_eq(event.values[0].days, 3);
	ck_assert(fabs(event.values[0].baseline - 0.2) < 1e-9);
	ck_assert(fabs(event.values[0].limit - 0.3) < 1e-9);
	notice_trigger_text(&event, says, sizeof(says));
	ck_assert_str_eq(says, "cpu.thread.run of a 60.0 %, > 30.0 % (baseline 20.0 % of 3 days)");
	medians_free(found);
	trigger_free(trigger);
	vec_fini(&list.at);
}
END_TEST

/* ---- hours ---- */

static uint64_t at(int year, int month, int day, int hour, int minute)
{
	struct tm tm = { .tm_year = year - 1900,
			 .tm_mon = month - 1,
			 .tm_mday = day,
			 .tm_hour = hour,
			 .tm_min = minute };

	return (uint64_t)timegm(&tm) * MADE_NS_PER_S;
}

/* UTC; the zone; its hour, from and to. */
static const struct {
	const char *zone;
	int month, day, hour, minute; /* of 2026 */
	int local_day, local_hour, before_minutes, minutes;
} hours[] = {
	{ "UTC", 6, 1, 14, 30, 1, 14, 30, 60 },
	{ "Europe/Berlin", 6, 1, 14, 59, 1, 16, 59, 60 },
	{ "Europe/Berlin", 6, 1, 22, 0, 2, 0, 0, 60 },
	{ "Asia/Kolkata", 6, 1, 14, 40, 1, 20, 10, 60 },
	/* 02:00 comes twice, and is one hour */
	{ "Europe/Berlin", 10, 25, 0, 30, 25, 2, 30, 120 },
	{ "Europe/Berlin", 10, 25, 1, 30, 25, 2, 90, 120 },
	{ "Australia/Lord_Howe", 4, 4, 15, 15, 5, 1, 75, 90 },
};

/* NULL: that of the host. */
static void set_zone(const char *zone)
{
	if (zone) {
		(void)setenv("TZ", zone, 1);
	} else {
		(void)unsetenv("TZ");
	}
	tzset();
}

START_TEST(knows_hours)
{
	uint64_t ns = at(2026, hours[_i].month, hours[_i].day, hours[_i].hour, hours[_i].minute);
	struct day_hour hour;

	set_zone(hours[_i].zone);
	hour = day_hour_of(ns + 7);
	ck_assert_int_eq(hour.day, hours[_i].local_day);
	ck_assert_int_eq(hour.hour, hours[_i].local_hour);
	ck_assert_uint_eq((ns - hour.begin) / 60 / MADE_NS_PER_S,
			  (uint64_t)hours[_i].before_minutes);
	ck_assert_uint_eq((hour.end - hour.begin) / 60 / MADE_NS_PER_S,
			  (uint64_t)hours[_i].minutes);
	set_zone(NULL);
}
END_TEST

START_TEST(knows_days_before)
{
	struct day_hour hour, before;

	set_zone("Europe/Berlin");
	hour = day_hour_of(at(2026, 3, 30, 0, 30));     /* 02:30 */
	ck_assert(!day_hour_before(&hour, 1, &before)); /* which March 29 lacks */
	ck_assert(day_hour_before(&hour, 2, &before));
	ck_assert_uint_eq(before.begin, at(2026, 3, 28, 1, 0));
	hour = day_hour_of(at(2026, 3, 1, 11, 0));
	ck_assert(day_hour_before(&hour, 1, &before));
	ck_assert_int_eq(before.month, 2);
	ck_assert_int_eq(before.day, 28);
	ck_assert_uint_eq(hour.begin - before.begin, 24 * 3600 * MADE_NS_PER_S);
	hour = day_hour_of(at(1970, 1, 2, 11, 0));
	ck_assert(day_hour_before(&hour, 1, &before));
	ck_assert(!day_hour_before(&hour, 2, &before)); /* before the epoch */
	set_zone(NULL);
}
END_TEST

Suite *suite_medians(void)
{
	Suite *suite = suite_create("medians");
	TCase *tcase = tcase_create("medians");

	tcase_add_loop_test(tcase, finds_medians, 0, sizeof(medians) / sizeof(medians[0]));
	tcase_add_test(tcase, counts_days_with_the_figure);
	tcase_add_test(tcase, bounds_rows);
	tcase_add_loop_test(tcase, fires_beyond_it, 0, sizeof(firing) / sizeof(firing[0]));
	tcase_add_test(tcase, says_the_baseline);
	tcase_add_loop_test(tcase, knows_hours, 0, sizeof(hours) / sizeof(hours[0]));
	tcase_add_test(tcase, knows_days_before);
	suite_add_tcase(suite, tcase);
	return suite;
}
