/*
 * missing: what a trace does not record, and what users are told of it.
 */
#include "engine/contract/missing.h"

#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "query/period.h"
#include "suites.h"
#include "tables-fixture.h"

static const struct analysis *named(const char *name)
{
	for (size_t i = 0; analyses[i]; i++) {
		if (strcmp(analyses[i]->name, name) == 0) {
			return analyses[i];
		}
	}
	ck_abort_msg("no analysis %s", name);
	return NULL;
}

/* The events that are missing for the analysis in a trace of these events: "a b c". */
static const char *missing_of(const char *analysis, const char *events, const char *domain,
			      const struct period_set *periods)
{
	static char text[512];
	const struct analysis *list[] = { named(analysis) };
	struct missing missing = { 0 };
	const char *at[16];
	struct event_names names = { .at = at, .domain = domain };
	char *copy = mem_strdup(events), *rest = copy, *word;

	while ((word = strsep(&rest, " ")) && *word) {
		at[names.count++] = word;
	}
	missing_find(&names, list, 1, periods, &missing);
	text[0] = '\0';
	for (size_t i = 0; i < missing.events.at.count; i++) {
		ck_assert_ptr_eq(missing.events.at.at[i].analysis, list[0]);
		(void)strcat(strcat(text, i ? " " : ""), missing.events.at.at[i].event);
	}
	missing_fini(&missing);
	free(copy);
	return text;
}

START_TEST(finds_what_is_missing)
{
	ck_assert_str_eq(missing_of("cpu", "", NULL, NULL), "sched_switch");
	ck_assert_str_eq(missing_of("cpu", "sched_switch", NULL, NULL), "");
	ck_assert_str_eq(missing_of("count", "", NULL, NULL), "");
	/* One of several is enough, and older names will do. */
	ck_assert_str_eq(
		missing_of("sched", "sched_switch sched_ttwu sched_wakeup_new", NULL, NULL), "");
	ck_assert_str_eq(missing_of("sched", "sched_switch", NULL, NULL),
			 "sched_waking sched_process_fork");
	ck_assert_str_eq(missing_of("syscalls", "sys_read exit_syscall sched_switch", NULL, NULL),
			 "");
	/* All calls, or one kind of event. */
	ck_assert_str_eq(missing_of("syscalls", "sched_switch", NULL, NULL), MISSING_SYSCALLS);
	ck_assert_str_eq(missing_of("syscalls", "sched_switch syscall_exit_read", NULL, NULL),
			 "syscall_entry_*");
	ck_assert_str_eq(missing_of("io", "syscall_entry_read syscall_exit_read", NULL, NULL),
			 "syscall_exit_write");
	/* An event that several figures need is listed once. */
	ck_assert_str_eq(
		missing_of("irq", "irq_softirq_entry irq_softirq_exit softirq_raise", NULL, NULL),
		"irq_handler_entry irq_handler_exit");
	/* By domain. */
	ck_assert_str_eq(missing_of("ust", "a:b", "kernel", NULL), MISSING_USER);
	ck_assert_str_eq(missing_of("ust", "a:b", NULL, NULL), MISSING_USER);
	ck_assert_str_eq(missing_of("ust", "a:b", "ust", NULL), "");
}
END_TEST

/* Bit by bit the unknown columns of a table of sched in a trace of this event. */
static uint16_t unknown_of(const char *event, enum scope scope)
{
	const struct analysis *list[] = { named("cpu"), named("sched") };
	struct event_names names = { .at = &event, .count = 1 };
	struct missing missing = { 0 };
	uint16_t unknown = 0;

	missing_find(&names, list, 2, NULL, &missing);
	for (size_t t = 0; t < TABLES_MAX && list[1]->tables[t].columns[0].key; t++) {
		if (list[1]->tables[t].scope == scope) {
			unknown |= missing.unknown[1][t];
		}
	}
	missing_fini(&missing);
	return unknown;
}

START_TEST(marks_columns)
{
	const struct analysis *cpu = named("cpu");

	/* wakeups, unexplained, races, wake, requeue, fork; of threads wake, requeue, waited */
	ck_assert_uint_eq(unknown_of("sched_waking", SCOPE_TRACE) & 0x3F, 0x3E);
	ck_assert_uint_eq(unknown_of("sched_switch", SCOPE_TRACE) & 0x3F, 0x2F);
	ck_assert_uint_eq(unknown_of("sched_switch", SCOPE_THREAD) & 7, 5);
	ck_assert_uint_eq(unknown_of("sched_switch", SCOPE_PROCESS) & 7, 5); /* made from threads */
	/* A priority is no figure. */
	ck_assert(missing_is_whole(&cpu->tables[2], ALL_COLUMNS));
	ck_assert(missing_is_whole(&cpu->tables[2], ALL_COLUMNS ^ 1 << 3));
	ck_assert_int_eq(cpu->tables[2].columns[3].kind, COLUMN_PRIO);
	ck_assert(!missing_is_whole(&cpu->tables[2], ALL_COLUMNS ^ 1));
	ck_assert(!missing_is_whole(&cpu->tables[0], 0));
}
END_TEST

START_TEST(looks_at_one_figure)
{
	const char *event = "sched_switch";
	struct event_names names = { .at = &event, .count = 1 };
	struct missing_events events = { 0 };

	ck_assert(!missing_figure(&names, named("sched"), 0, 4, NULL, &events)); /* requeue */
	ck_assert_uint_eq(events.at.count, 0);
	ck_assert(missing_figure(&names, named("sched"), 0, 3, NULL, &events)); /* wake */
	ck_assert(missing_figure(&names, named("sched"), 0, 0, NULL, &events)); /* wakeups */
	ck_assert_uint_eq(events.at.count, 1);
	ck_assert_str_eq(events.at.at[0].event, "sched_waking");
	vec_fini(&events.at);
}
END_TEST

START_TEST(looks_at_periods)
{
	struct period_set periods = { 0 };
	const char *at[] = { "a:begin", "a:end" };
	struct event_names names = { .at = at, .count = 2 };
	struct missing_events events = { 0 };
	struct err err;

	ck_assert(
		missing_figure(&names, named("periods"), 0, 0, NULL, &events)); /* nothing asked */
	ck_assert_uint_eq(events.at.count, 0);
	ck_assert_int_eq(period_add(&periods, "one = a:begin; b:end", &err), 0);
	ck_assert_str_eq(missing_of("periods", "a:begin a:end", "ust", &periods), "b:end");
	ck_assert(missing_figure(&names, named("periods"), 0, 0, &periods, &events));
	ck_assert_int_eq(period_add(&periods, "two = a:begin; a:end", &err), 0);
	ck_assert_str_eq(missing_of("periods", "a:begin a:end", "ust", &periods), "b:end");
	ck_assert(!missing_figure(&names, named("periods"), 0, 0, &periods, &events));
	vec_fini(&events.at);
	period_set_fini(&periods);
}
END_TEST

/* What another trace of the session has is not missing, and not known either. */
START_TEST(looks_beside)
{
	static const char *const other[] = { "sched_switch", "a:end" };
	struct event_names beside = { .at = other, .count = 2, .domain = "ust" };
	const char *at[] = { "a:begin" };
	struct event_names names = { .at = at, .count = 1, .beside = &beside };
	const struct analysis *list[] = { named("cpu"), named("sched"), named("ust"),
					  named("periods") };
	struct period_set periods = { 0 };
	struct missing missing = { 0 };
	struct err err;
	char *text;

	ck_assert_int_eq(period_add(&periods, "one = a:begin; a:end", &err), 0);
	missing_find(&names, list, 4, &periods, &missing);
	text = missing_text(missing.events.at.at, missing.events.at.count, true);
	ck_assert_str_eq(text, "sched_waking, sched_process_fork (sched)");
	free(text);
	ck_assert(missing_is_whole(&list[0]->tables[0], missing.unknown[0][0]));
	ck_assert(missing_is_whole(&list[2]->tables[0], missing.unknown[2][0]));
	ck_assert(missing_is_whole(&list[3]->tables[0], missing.unknown[3][0]));
	missing_fini(&missing);
	period_set_fini(&periods);
}
END_TEST

/* Jobs of user space lack nothing of the kernel's; a period tells when they arrive. */
START_TEST(looks_at_jobs)
{
	static const char events[] = "a:begin a:end";
	struct period_set asked = { 0 };
	const char *at[] = { "a:begin", "a:end" };
	struct event_names names = { .at = at, .count = 2, .domain = "ust" };
	struct missing_events ignored = { 0 };
	struct err err;

	ck_assert_int_eq(period_add_job(&asked, "one = a:begin; a:end", &err), 0);
	ck_assert_str_eq(missing_of("jobs", events, "ust", &asked), "");
	ck_assert_str_eq(missing_of("jobs", "a:begin", "ust", &asked), "a:end");
	ck_assert_str_eq(missing_of("jobs", events, "kernel", &asked),
			 "sched_switch sched_waking timer_hrtimer_expire_entry");
	ck_assert(missing_figure(&names, named("jobs"), 1, 11, &asked, &ignored)); /* response */
	period_set_fini(&asked);
	asked = (struct period_set){ 0 };
	ck_assert_int_eq(period_add_job(&asked, "one = a:begin; a:end; every 5ms", &err), 0);
	ck_assert(!missing_figure(&names, named("jobs"), 1, 11, &asked, &ignored));
	ck_assert_str_eq(missing_of("jobs", events, "kernel", &asked), "sched_switch sched_waking");
	period_set_fini(&asked);
	/* Whose names a job asks for, they are told by switches; over threads nothing else is
	 * needed. */
	asked = (struct period_set){ 0 };
	ck_assert_int_eq(period_add_job(&asked, "one = a:begin @w; a:end", &err), 0);
	ck_assert_str_eq(missing_of("jobs", events, "ust", &asked), "");
	ck_assert_str_eq(missing_of("jobs", events, "kernel", &asked), "sched_switch");
	ck_assert_str_eq(missing_of("jobs", "a:begin a:end sched_switch", "kernel", &asked), "");
	period_set_fini(&asked);
	vec_fini(&ignored.at);
}
END_TEST

/* Only LTTng takes commands of LTTng. */
START_TEST(names_the_tracer)
{
	const struct missing_event event = { named("cpu"), "sched_switch" };
	char *text = missing_commands("barectf", &event, 1, "; ", SIZE_MAX);

	ck_assert_str_eq(text, "in the configuration of barectf, which is not LTTng");
	free(text);
	text = missing_commands("sillage-ftrace", &event, 1, "; ", SIZE_MAX);
	ck_assert_str_eq(text, "sudo sillage record -a cpu");
	free(text);
}
END_TEST

/* A name that the user may have meant is asked for, in place of a command. */
START_TEST(names_what_is_near)
{
	static const char *const other[] = { "svc:begin" };
	struct event_names beside = { .at = other, .count = 1 };
	struct event_names names = { .beside = &beside };
	struct missing_events events = { 0 };
	char *text;

	missing_lack(&names, named("periods"), "svc:begn", &events);
	missing_lack(&names, named("periods"), "svc:other", &events);
	text = missing_text(events.at.at, events.at.count, true);
	ck_assert_str_eq(text, "svc:begn (did you mean \"svc:begin\"?), svc:other (periods)");
	free(text);
	text = missing_commands(NULL, events.at.at, events.at.count, "; ", SIZE_MAX);
	ck_assert_str_eq(text, "lttng enable-event -u svc:other");
	free(text);
	vec_fini(&events.at);
}
END_TEST

START_TEST(says_what_to_do)
{
	const struct missing_event events[] = {
		{ named("cpu"), "sched_switch" },   { named("io"), MISSING_SYSCALLS },
		{ named("sched"), "sched_switch" }, { named("sched"), "sched_waking" },
		{ named("periods"), "a:b" },        { named("periods"), "a:*" },
		{ named("periods"), "a:c" },        { named("periods"), "a:d" },
		{ named("ust"), MISSING_USER },     { named("faults"), "syscall_entry_futex" },
	};
	const size_t count = sizeof(events) / sizeof(events[0]);
	char *text = missing_text(events, count, true);

	ck_assert_str_eq(text, "sched_switch (cpu, sched); syscall_* (io); sched_waking (sched); "
			       "a:b, a:*, a:c and 1 more (periods); user-space events (ust); "
			       "syscall_entry_futex (faults)");
	free(text);
	text = missing_text(events, 1, false);
	ck_assert_str_eq(text, "sched_switch");
	free(text);
	text = missing_commands(NULL, events, count, "; ", SIZE_MAX);
	ck_assert_str_eq(text, "lttng enable-event -k sched_switch,sched_waking; "
			       "lttng enable-event -k --syscall futex; "
			       "lttng enable-event -k --syscall --all; "
			       "lttng enable-event -u a:b,'a:*',a:c,a:d,'*'");
	free(text);
	text = missing_commands(NULL, events, 4, "\n", 40);
	ck_assert_str_eq(text, "lttng enable-event -k sched_switch\n"
			       "lttng enable-event -k sched_waking\n"
			       "lttng enable-event -k --syscall --all");
	free(text);
	text = missing_command(&events[5]);
	ck_assert_str_eq(text, "lttng enable-event -u 'a:*'");
	free(text);
	text = missing_text(events, 0, true);
	ck_assert_str_eq(text, "");
	free(text);
}
END_TEST

/* Names come from others' stores: a command that is cut within its quotes is none. */
START_TEST(commands_are_whole)
{
	struct missing_event event = { named("cpu"), NULL };
	char name[256], *text;

	memset(name, 27, sizeof(name));
	name[sizeof(name) - 1] = 0;
	event.event = name;
	text = missing_command(&event);
	ck_assert_uint_eq(strlen(text), strlen("lttng enable-event -k $''") + 4 * strlen(name));
	ck_assert_int_eq(text[strlen(text) - 1], '\'');
	free(text);
}
END_TEST

/* ---- while the trace grows ---- */

static const struct essential fixture_essentials[] = {
	{ ANY_EVENT("sched_switch"), { [OF_TRACE] = COLUMN(SUM), [OF_CPUS] = ALL_COLUMNS } },
};

static void need_switches(struct fixture *fixture)
{
	fixture->analysis.essentials = fixture_essentials;
	fixture->analysis.essential_count = 1;
}

/* What was missing may come with more metadata, and is not missing any more. */
START_TEST(grows)
{
	struct fixture *fixture = fixture_new(need_switches);

	for (unsigned int i = 0; i < 4; i++) {
		struct report_memory memory = { 0 };
		struct report report = { 0 };

		tables_report(&fixture->tables, true, &report, &memory);
		ck_assert_uint_eq(report.missing_count, i < 3);
		ck_assert_int_eq(report_is_unknown(&report.tables[OF_TRACE], SUM), i < 3);
		ck_assert(!report_is_unknown(&report.tables[OF_TRACE], MOST));
		report_memory_fini(&memory);
		tables_add_class(&fixture->tables, i < 2 ? "other" : "sched_switch");
	}
	fixture_free(fixture);
}
END_TEST

/* A store may name any number of events. */
START_TEST(keeps_so_many)
{
	char text[24], longer[MISSING_KEPT_BYTES + 2];
	const char *first = missing_kept("sched_switch!", strlen("sched_switch"));
	size_t kept = 0;

	for (int i = 0; i < 2 * MISSING_KEPT_MAX; i++) {
		(void)snprintf(text, sizeof(text), "event %d", i);
		kept += missing_kept(text, strlen(text)) != NULL;
	}
	ck_assert_uint_gt(kept, MISSING_KEPT_MAX / 2);
	ck_assert_uint_lt(kept, MISSING_KEPT_MAX);
	ck_assert_str_eq(first, "sched_switch");
	ck_assert_ptr_eq(missing_kept("sched_switch", strlen("sched_switch")), first);
	memset(longer, 'a', sizeof(longer));
	ck_assert_ptr_null(missing_kept(longer, sizeof(longer)));
	ck_assert_ptr_null(missing_tracer("lttng-modules 2.13.5"));
}
END_TEST

Suite *suite_missing(void)
{
	Suite *suite = suite_create("missing");
	TCase *tests = tcase_create("missing");

	tcase_add_test(tests, finds_what_is_missing);
	tcase_add_test(tests, marks_columns);
	tcase_add_test(tests, looks_at_one_figure);
	tcase_add_test(tests, looks_at_periods);
	tcase_add_test(tests, looks_beside);
	tcase_add_test(tests, looks_at_jobs);
	tcase_add_test(tests, names_the_tracer);
	tcase_add_test(tests, names_what_is_near);
	tcase_add_test(tests, says_what_to_do);
	tcase_add_test(tests, commands_are_whole);
	tcase_add_test(tests, keeps_so_many);
	tcase_add_test(tests, grows);
	suite_add_tcase(suite, tests);
	return suite;
}
