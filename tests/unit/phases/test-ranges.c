/*
 * ranges: what of a trace is worth a closer look: in slice 2 a thread waits, in slice 7 a CPU is
 * busy.
 */
#include <string.h>

#include "base/units.h"
#include "phases/ranges.h"
#include "trigger/made-report.h"

#define SECONDS 10

static const struct overview_config config = {
	.begin = 0,
	.end = SECONDS * NS_PER_S,
	.slices = SECONDS,
	/* of a second each, wherever the trace begins */ .p = -1
};

static void add_cpu(struct made *made, bool is_busy)
{
	(void)made_table(made, "cpu", SCOPE_CPU, NULL);
	(void)made_row(made, 0, 0, NULL);
	made->values[made->row_count - 1][0] = is_busy ? NS_PER_S : 0; /* busy, idle */
	made->values[made->row_count - 1][1] = is_busy ? 0 : NS_PER_S;
}

static struct instance wait;

/* Until the middle of a slice. */
static void add_wait(struct made *made, uint64_t end)
{
	struct report_row *row;

	(void)made_table(made, "sched", SCOPE_LONGEST, NULL);
	row = made_row(made, 0, 7, "late");
	wait = (struct instance){ .ns = NS_PER_S / 10, .end = end };
	row->instance = &wait;
}

static const struct {
	const char *thread; /* NULL: all */
	uint64_t events_max;
	struct {
		uint64_t slice; /* whose middle is in the range */
		const char *why;
	} ranges[2];    /* NULL: no more are looked for */
	double longest; /* in slices */
} cases[] = {
	{ NULL, 100, { { 2, "late (7) waited" }, { 7, "unlike the rest" } }, 1 },
	{ "late", 100, { { 2, "late (7) waited" }, { 7, "unlike the rest" } }, 1 },
	{ "7", 100, { { 2, "late (7) waited" }, { 7, "unlike the rest" } }, 1 },
	/* of another thread nothing is known */
	{ "other", 100, { { 7, "unlike the rest" }, { 0, NULL } }, 1 },
	/* a part of a slice, around the end of the wait */
	{ NULL, 10, { { 2, "late (7) waited" }, { 7, "unlike the rest" } }, 0.1 },
};

static const struct range *range_at(const struct range *ranges, size_t count, uint64_t ts)
{
	for (size_t i = 0; i < count; i++) {
		if (ranges[i].begin <= ts && ts < ranges[i].end) {
			return &ranges[i];
		}
	}
	return NULL;
}

START_TEST(finds)
{
	struct overview *overview = overview_new(&config);
	struct ranges *ranges = ranges_new(&config, cases[_i].thread);
	static struct made made;
	uint64_t length = overview_interval(&config);
	const struct range *found;
	size_t count;

	for (uint64_t slice = 0; slice * length < config.end; slice++) {
		made_window(&made, 0);
		made.report.begin = slice * length;
		made.report.end = (slice + 1) * length;
		made.report.events = 100;
		add_cpu(&made, slice == 7);
		if (slice == 2) {
			add_wait(&made, slice * length + length / 2);
		}
		overview_report(overview, &made.report);
		ranges_report(ranges, &made.report);
	}
	ck_assert(overview_find(overview));
	count = ranges_find(ranges, overview, cases[_i].events_max, &found);
	ck_assert_uint_le(count, RANGES_MAX);
	for (size_t i = 0; i < count; i++) {
		ck_assert_uint_lt(found[i].begin, found[i].end);
		ck_assert_double_le((double)(found[i].end - found[i].begin),
				    cases[_i].longest * (double)length + 2);
		ck_assert(i == 0 || found[i - 1].end <= found[i].begin);
		ck_assert(!cases[_i].thread || strcmp(cases[_i].thread, "other") != 0 ||
			  !strstr(found[i].why, "waited"));
	}
	for (size_t i = 0; i < 2 && cases[_i].ranges[i].why; i++) {
		const struct range *range =
			range_at(found, count, cases[_i].ranges[i].slice * length + length / 2 - 1);

		ck_assert_ptr_nonnull(range);
		ck_assert_msg(strstr(range->why, cases[_i].ranges[i].why), "%s", range->why);
	}
	ranges_free(ranges);
	overview_free(overview);
}
END_TEST

Suite *suite_ranges(void)
{
	Suite *suite = suite_create("ranges");
	TCase *tcase = tcase_create("ranges");

	tcase_add_loop_test(tcase, finds, 0, sizeof(cases) / sizeof(cases[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
