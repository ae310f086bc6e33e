/*
 * limit: conditions of --fail on two runs, by hand.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/units.h"
#include "compare/limit.h"
#include "trigger/made-report.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const struct {
	const char *text, *why;
} wrong[] = {
	{ "cpu.busy", "expected >, >=, < or <=" },
	{ "cpu.busy > 3", "expected a change with its sign" },
	{ "cpu.busy > 3ms", "give it per second" },
	{ "cpu.busy > 3ms/s 4", "expected one value" },
	{ "cpu.busy > ", "expected one value" },
	{ "cpu.thread[3].run > +1%", "compared by name: [comm=PATTERN]" },
	{ "cpu.thread[pid=3].run > +1%", "compared by name" },
	{ "cpu.thread.longest > 5%", "only a sum of time is a share" },
	{ "sched.wake.p99.rate > +1%", "only a sum is per second" },
	{ "sched.wake.stdev > +1%", "deviations are not compared" },
	{ "cpu[comm=a].run / cpu[tid=3].run > +1%", "compared by name: [comm=PATTERN]" },
	{ "phase.change > +1%", "not compared by this figure" },
	{ "preempt.pairs.waited > +1%", "not compared by this figure" },
	{ "syscalls.errors / syscalls.calls > 5/s", "expected a change" },
};

START_TEST(refuses)
{
	struct err err;

	ck_assert_ptr_null(limit_new(wrong[_i].text, &err));
	ck_assert_msg(strstr(err.text, wrong[_i].why), "%s: %s", wrong[_i].text, err.text);
}
END_TEST

/* ---- two runs ---- */

static const struct table *table_of(const char *analysis, enum scope scope)
{
	const struct analysis *found = made_analysis(analysis);

	for (size_t t = 0; t < TABLES_MAX; t++) {
		if (found->tables[t].columns[0].key && found->tables[t].scope == scope) {
			return &found->tables[t];
		}
	}
	ck_abort_msg("%s has no such table", analysis);
	return NULL;
}

static void put(struct profile *profile, enum scope scope, const char *name, const char *column,
		uint64_t value)
{
	const struct table *table = table_of("cpu", scope);
	struct profile_table *to = profile_table_of(profile, made_analysis("cpu"), table, 0);
	unsigned int i = 0;

	while (strcmp(table->columns[i].key, column) != 0) {
		i++;
	}
	profile_add_number(to, profile_row_of(to, name), i, value);
}

/* A run of 2 s on 2 CPUs that are busy for @busy ms in all, and of them the thread "a". */
static struct profile *run_of(const char *name, uint64_t busy, uint64_t run, uint64_t switches)
{
	struct profile *profile = profile_new(name);
	struct err err;

	profile_add_span(profile, NS_PER_S, 3 * NS_PER_S);
	put(profile, SCOPE_TRACE, "", "busy_ns", busy * 1000000);
	put(profile, SCOPE_TRACE, "", "idle_ns", (4000 - busy) * 1000000);
	put(profile, SCOPE_THREAD, "a", "run_ns", run * 1000000);
	put(profile, SCOPE_THREAD, "a", "switches", switches);
	put(profile, SCOPE_THREAD, "b", "run_ns", 1000000);
	ck_assert_int_eq(profile_end(profile, &err), 0);
	return profile;
}

static void on_held(void *user, const char *says)
{
	char *last = user;

	(void)snprintf(last, 200, "%s", says);
}

static const struct {
	const char *text, *says; /* NULL: it does not hold */
	int status;
} limits[] = {
	{ "cpu.busy > 50%", "cpu.busy_ns: 60.0 %, before 30.0 % (+100.0 %)", 0 },
	{ "cpu.busy > 60%", NULL, 0 },
	{ "cpu.busy >= 60%", "cpu.busy_ns: 60.0 %, before 30.0 % (+100.0 %)", 0 },
	{ "cpu.busy > +99%", "cpu.busy_ns: 1.20 s/s, before 600 ms/s (+100.0 %)", 0 },
	{ "cpu.busy > +100%", NULL, 0 },
	{ "cpu.busy < -10%", NULL, 0 },
	{ "cpu.idle < -10%", "cpu.idle_ns: 800 ms/s, before 1.40 s/s (-42.9 %)", 0 },
	{ "cpu.busy > +500ms/s", "cpu.busy_ns: 1.20 s/s, before 600 ms/s (+100.0 %)", 0 },
	{ "cpu.thread[comm=a].run > 20%",
	  "cpu.threads[comm=a].run_ns: 40.0 %, before 10.0 % (+300.0 %)", 0 },
	{ "cpu.thread[comm=b].run > +1%", NULL, 0 },
	{ "cpu.thread[comm=c].run > +1%", NULL, -ENODATA },
	{ "sched.wake.p99 > +1%", NULL, -ENOENT },
	/* 200 ms by 4 switches against 800 ms by 8 */
	{ "cpu.thread.run / cpu.thread.switches > 90ms",
	  "cpu.thread.run / cpu.thread.switches (cpu.threads[comm=a].run_ns): 100 ms, before 50.0 "
	  "ms "
	  "(+100.0 %)",
	  0 },
	{ "cpu.thread[comm=a].run / cpu.busy > +10%",
	  "cpu.thread[comm=a].run / cpu.busy (cpu.threads[comm=a].run_ns): 0.33, before 0.17 "
	  "(+100.0 %)",
	  0 },
	{ "cpu.thread[comm=b].run / cpu.thread.switches > 1ms", NULL, -ENODATA },
	{ "cpu.busy / sched.wake.count > 1ms", NULL, -ENOENT },
	/* Sums over rows of their own: 200 of 201 ms, 800 of 801 ms. */
	{ "cpu[comm=b].run / cpu[comm=*].run < 0.2%",
	  "cpu[comm=b].run / cpu[comm=*].run: 0.1 %, before 0.5 % (-74.9 %)", 0 },
	{ "cpu[comm=b].run / cpu[comm=*].run < -70%",
	  "cpu[comm=b].run / cpu[comm=*].run: 0.00, before 0.00 (-74.9 %)", 0 },
	{ "cpu[comm=c].run / cpu[comm=*].run > 0%", NULL, 0 },
	{ "cpu[comm=a].run / cpu[comm=c].run > 0%", NULL, -ENODATA },
};

START_TEST(checks)
{
	struct profile *a = run_of("A", 1200, 200, 4), *b = run_of("B", 2400, 800, 8);
	struct comparison comparison;
	struct err err;
	struct limit *limit = limit_new(limits[_i].text, &err);
	char says[200] = "";

	ck_assert_msg(limit, "%s: %s", limits[_i].text, err.text);
	compare(a, b, analyses, false, PER_ALL, &comparison);
	ck_assert_int_eq(limit_check(limit, &comparison, on_held, says, &err), limits[_i].status);
	ck_assert_str_eq(says, limits[_i].says ? limits[_i].says : "");
	comparison_fini(&comparison);
	limit_free(limit);
	profile_free(a);
	profile_free(b);
}
END_TEST

Suite *suite_limit(void)
{
	Suite *suite = suite_create("limit");
	TCase *cases = tcase_create("limit");

	tcase_add_loop_test(cases, refuses, 0, COUNT(wrong));
	tcase_add_loop_test(cases, checks, 0, COUNT(limits));
	suite_add_tcase(suite, cases);
	return suite;
}
