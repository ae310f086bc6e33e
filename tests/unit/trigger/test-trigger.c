/*
 * trigger: wrong texts with their column, and in which windows a trigger fires.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/limits.h"
#include "made-report.h"
#include "trigger/trigger.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static const struct {
	const char *text, *place, *why;
} wrong[] = {
	{ "", "column 1", "expected a figure" },
	{ "cpu", "column 4", "expected .FIGURE" },
	{ "nothing.busy > 1%", "column 1", "no analysis has this name" },
	{ "cpu.busyness > 1%", "column 5",
	  "no figure and no list of this name; there is busy, idle, unknown, irq, used, cpus, "
	  "threads" },
	{ "cpu.busy", "column 9", "expected >, >=, < or <=" },
	{ "cpu.busy = 3", "column 10", "expected >, >=, < or <=" },
	{ "cpu.busy >", "column 11", "expected a value" },
	{ "cpu.busy > many", "column 12", "expected a share or a duration" },
	{ "cpu.busy > -1%", "column 12", "expected a share or a duration" },
	{ "count.events > 5%", "column 16", "expected a number" },
	{ "cpu.thread[3.run > 1%", "column 11", "bracket is not closed" },
	{ "cpu.thread[name=x].run > 1%", "column 12", "rows of threads are selected by" },
	{ "cpu.thread[1] > 1%", "column 14", "expected .COLUMN" },
	{ "cpu.thread.sleep > 1%", "column 12",
	  "no such column; there is run, switches, migrations" },
	{ "cpu.thread.rune > 1%", "column 12", "did you mean \"run\"?" },
	{ "cpu.thrads.run > 1%", "column 5", "did you mean \"threads\"?" },
	{ "periodc.ended > 1", "column 1", "did you mean \"periods\"?" },
	{ "sched.wake > 1ms", "column 11", "is a distribution" },
	{ "sched.wake.p98 > 1ms", "column 12", "expected count, sum" },
	{ "cpu.busy.max > 1ms", "column 10", "expected rate, or nothing" },
	{ "(cpu.busy > 1%", "column 15", "expected )" },
	{ "cpu.busy > 1% and", "column 18", "expected a figure" },
	{ "cpu.busy > 1% for long", "column 19", "expected a duration" },
	{ "cpu.busy > 1% or cpu.idle > 1% until < 2%", "column 38", "name the figure" },
	{ "cpu.busy > 1% now", "column 15", "expected and, or, for" },
	{ "cpu.busy > 1% for 1s for 2s", "column 22", "expected and, or, for" },
	{ "cpu.busy > 1% every 1s every 2s", "column 24", "expected and, or, for" },
	{ "cpu.busy > 1% on 2 hosts on 3 hosts", "column 26", "expected and, or, for" },
	{ "cpu.busy > baselines", "column 12", "expected baseline, baseline +20%" },
	{ "cpu.busy > baseline +20", "column 22", "expected how far from the baseline" },
	{ "cpu.busy > baseline 20%", "column 21", "expected how far from the baseline" },
	{ "cpu.busy < baseline -101%", "column 22", "at most 100%" },
	{ "cpu.busy > baseline x0", "column 22", "expected how far from the baseline" },
	{ "cpu.busy > baseline +1e400%", "column 22", "expected how far from the baseline" },
	{ "cpu.busy > baseline +20%5", "column 22", "expected how far from the baseline" },
	{ "cpu.busy > baseline now", "column 21", "expected and, or, for" },
	{ "cpu.thread[3].run > baseline", "column 21", "by their names: [comm=PATTERN]" },
	{ "cpu.thread[pid=3].run > baseline", "column 25", "by their names" },
	{ "files.fds[fd=3].reads > baseline", "column 25", "by their names" },
	{ "sched.wake.p99.rate > baseline", "column 23", "only a sum is per second" },
	{ "0% of windows: cpu.busy > 1%", "column 1", "above 0: 99.9% of windows:" },
	{ "101% of windows: cpu.busy > 1%", "column 1", "a share of windows" },
	{ "nan% of windows: cpu.busy > 1%", "column 1", "no analysis has this name" },
	{ "9 of windows: cpu.busy > 1%", "column 1", "a share of windows" },
	{ "9% windows: cpu.busy > 1%", "column 4", "expected of windows" },
	{ "9% of windows cpu.busy > 1%", "column 15", "expected : and a condition, or in" },
	{ "9% of windows in 1: cpu.busy > 1%", "column 18", "expected a duration" },
	{ "9% of windows in 1h cpu.busy > 1%", "column 21", "expected : and a condition" },
	{ "9% of windows:", "column 15", "expected a figure" },
	{ "9% of windows: cpu.busy > auto(1e-3)", "column 37", "no auto() and no baseline" },
	{ "9% of windows: cpu.busy > baseline", "column 35", "no auto() and no baseline" },
	{ "9% of windows: cpu.busy > 1% for 3s", "column 36", "expected only `every`" },
	{ "9% of windows: cpu.busy > 1% until < 1%", "column 40", "expected only `every`" },
	{ "9% of windows: cpu.busy > 1% on 2 hosts", "column 40", "expected only `every`" },
	{ "cpu.busy > 1% on", "column 17", "expected how many hosts, at least 1" },
	{ "cpu.busy > 1% on 0 hosts", "column 18", "expected how many hosts, at least 1" },
	{ "cpu.busy > 1% on 3", "column 19", "expected hosts" },
	{ "cpu.busy > 1% on 3 CPUs", "column 20", "expected hosts" },
	{ "cpu.thread[name=x].run > 1%", "column 12", "KEY being comm, tid or pid" },
	{ "cpu.cpu[id=1].busy > 1%", "column 9", "KEY being cpu" },
	{ "cpu.cpu[cpu=abc].busy > 1%", "column 13", "cpu is a number" },
	{ "cpu.cpu[cpu=].busy > 1%", "column 13", "cpu is a number" },
	{ "cpu.cpu[-1].busy > 1%", "column 9", "no row has this number" },
	{ "cpu.cpu[99999999999999999999].busy > 1%", "column 9", "no row has this number" },
	{ "cpu.thread[tid=1x].run > 1%", "column 16", "tid is a number" },
	{ "cpu.thread[comm=\"a].run > 1%", "column 17", "quote is not closed" },
	{ "cpu.thread[comm=\"a\"b].run > 1%", "column 20", "expected ] behind the quote" },
	{ "cpu.thread[comm=a\\].run > 1%", "column 17", "bracket is not closed" },
	{ "cpu.thread[comm=sixteen-letters-].run > 1%", "column 17", "at most 15 letters" },
	{ "irq.soft[vec=TIMMER].time.max > 1ms", "column 14", "no vec has this number or name" },
	{ "count.by_name[sched_switch] > 1", "column 15",
	  "selected by KEY=PATTERN, KEY being name" },
};

START_TEST(names_the_column)
{
	struct err err;

	ck_assert_ptr_null(trigger_new(NULL, wrong[_i].text, &err));
	ck_assert_msg(strstr(err.text, wrong[_i].place) && strstr(err.text, wrong[_i].why),
		      "\"%s\": %s", wrong[_i].text, err.text);
}
END_TEST

START_TEST(bounds_brackets)
{
	char text[200] = "";
	struct err err;

	memset(text, '(', 40);
	ck_assert_ptr_null(trigger_new(NULL, text, &err));
	ck_assert_ptr_nonnull(strstr(err.text, "column 33"));
	ck_assert_ptr_nonnull(strstr(err.text, "too many brackets"));
}
END_TEST

/* ---- when it fires ---- */

static struct made made;
static const struct trace_identity trace_a = { .host = (char *)"h", .session = (char *)"a" };
static const struct trace_identity trace_b = { .host = (char *)"h", .session = (char *)"b" };

/* A window of one CPU with threads "TID=PERCENT ..."; "!" in front: something is missing in it. */
static void window_of(uint64_t second, const char *text)
{
	uint64_t busy = 0;
	struct report_table *totals;
	int tid, percent, used;

	made_window(&made, second);
	made.report.complete = *text != '!';
	text += *text == '!';
	totals = made_table(&made, "cpu", SCOPE_TRACE, NULL);
	(void)made_row(&made, 0, 0, "");
	(void)made_table(&made, "cpu", SCOPE_THREAD, NULL);
	while (sscanf(text, " %d=%d%n", &tid, &percent, &used) == 2) {
		(void)made_row(&made, 0, tid, tid < 10 ? "single" : "double");
		*made_value(&made, "run_ns") = (uint64_t)percent * MADE_NS_PER_S / 100;
		busy += (uint64_t)percent * MADE_NS_PER_S / 100;
		text += used;
	}
	made.values[0][0] = busy;
	made.values[0][1] = MADE_NS_PER_S - busy;
	ck_assert_str_eq(totals->table->columns[0].key, "busy_ns");
	ck_assert_str_eq(totals->table->columns[1].key, "idle_ns");
}

/* What is left, and that a checkpoint keeps it; damaged ones are refused. */
START_TEST(keeps_budgets)
{
	static const char *const texts[] = { "75% of windows: cpu.busy < 90%",
					     "75% of windows in 8s: cpu.busy < 90%" };
	struct trigger_event event;
	struct trigger_budget left;
	const char *trace;
	struct err err;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct trigger *before = trigger_new(NULL, texts[i], &err),
			       *after = trigger_new(NULL, texts[i], &err);
		struct codec_out out = { 0 };
		struct codec write = { .out = &out }, read = { 0 };

		for (uint64_t second = 1; second <= 4; second++) {
			window_of(second, second == 2 ? "1=95" : "1=5");
			(void)trigger_evaluate(before, &trace_a, &made.report, &event);
			ck_assert_int_eq(event.budget.is_charged, second == 2);
		}
		trigger_codec(before, &trace_a, &write);
		read.at = out.bytes.at;
		read.left = out.bytes.count;
		trigger_codec(after, &trace_a, &read);
		ck_assert(!read.is_wrong && read.left == 0);
		ck_assert_uint_eq(trigger_budget_at(after, 0, &trace, &left), 1);
		ck_assert_str_eq(trace, "h/a");
		ck_assert_uint_eq(left.windows, 4);
		ck_assert_uint_eq(left.bad, 1);
		ck_assert_double_eq_tol(left.allowed, i == 0 ? 1 : 2, 1e-12);
		ck_assert(!notice_is_spent(&left));
		window_of(5, "1=95");
		ck_assert_int_eq(trigger_evaluate(after, &trace_a, &made.report, &event), i == 0);
		for (size_t k = 0; k < out.bytes.count; k++) { /* more bad windows than there are */
			read = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
			out.bytes.at[k] ^= 0xff;
			trigger_codec(after, &trace_a, &read);
			out.bytes.at[k] ^= 0xff;
			(void)trigger_budget_at(after, 0, &trace, &left);
			ck_assert(left.bad <= left.windows);
		}
		vec_fini(&out.bytes);
		trigger_free(before);
		trigger_free(after);
	}
}
END_TEST

/* A figure whose events are not recorded never holds, and has no value. */
START_TEST(unknown_holds_never)
{
	static const char *const texts[] = { "cpu.busy < 90%", "cpu.busy > 1%",
					     "cpu.busy < 90% and cpu.idle > 0%" };
	struct trigger_event event;
	struct trigger *trigger;
	struct err err;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		trigger = trigger_new(NULL, texts[i], &err);
		window_of(1, "1=50");
		made.tables[0].unknown = 1; /* busy_ns */
		ck_assert(!trigger_evaluate(trigger, &trace_a, &made.report, &event));
		made.tables[0].unknown = 0;
		ck_assert(trigger_evaluate(trigger, &trace_a, &made.report, &event));
		trigger_free(trigger);
	}
	/* The other alternative decides alone. */
	trigger = trigger_new(NULL, "cpu.busy > 1% or cpu.idle > 1%", &err);
	window_of(1, "1=50");
	made.tables[0].unknown = 1;
	ck_assert(trigger_evaluate(trigger, &trace_a, &made.report, &event));
	ck_assert_uint_eq(event.count, 1);
	ck_assert_str_eq(event.values[0].figure, "cpu.idle");
	trigger_free(trigger);
}
END_TEST

static bool can_hold(const char *text, const char *event, char missing[64])
{
	struct event_names names = { .at = &event, .count = 1 };
	struct missing_events events = { 0 };
	struct err err;
	struct trigger *trigger = trigger_new(NULL, text, &err);
	bool can = trigger_can_hold(trigger, &names, NULL, &events);

	(void)snprintf(missing, 64, "%s", events.at.count > 0 ? events.at.at[0].event : "");
	vec_fini(&events.at);
	trigger_free(trigger);
	return can;
}

START_TEST(knows_what_it_needs)
{
	char missing[64];

	ck_assert(can_hold("cpu.busy > 1%", "sched_switch", missing));
	ck_assert(!can_hold("cpu.busy > 1%", "sched_waking", missing));
	ck_assert_str_eq(missing, "sched_switch");
	ck_assert(can_hold("sched.wakeups > 1", "sched_waking", missing));
	ck_assert(!can_hold("sched.wake.p99 > 1ms", "sched_waking", missing));
	ck_assert(can_hold("count.events > 1", "anything", missing));
	ck_assert(!can_hold("cpu.busy > 1% and block.requests > 1", "sched_switch", missing));
	ck_assert(can_hold("cpu.busy > 1% or block.requests > 1", "sched_switch", missing));
	ck_assert(can_hold("count.by_name[name=sched_sw*] > 1", "sched_switch", missing));
	ck_assert(!can_hold("count.by_name[name=sched_x*] > 1", "sched_switch", missing));
	ck_assert_str_eq(missing, "sched_x*");
}
END_TEST

/* Windows are separated by commas; in those marked by '1' the trigger fires. */
static const struct {
	const char *text, *windows, *fires;
} firing[] = {
	/* once, and again after it did not hold */
	{ "cpu.busy > 90%", "1=50,1=95,1=96,1=50,1=97", "01001" },
	{ "cpu.busy >= 90%", "1=90", "1" },
	{ "cpu.busy > 90%", "1=90", "0" },
	{ "cpu.busy < 10%", "1=50,,1=5,1=10", "0100" },
	{ "cpu.busy > 900ms", "1=90,1=91", "01" },
	/* for: from the begin of the first window on */
	{ "cpu.busy > 90% for 2s", "1=95,1=95,1=95", "010" },
	{ "cpu.busy > 90% for 2s", "1=95,1=50,1=95,1=95", "0001" },
	{ "cpu.busy > 90% for 2500ms", "1=95,1=95,1=95", "001" },
	/* until: hysteresis */
	{ "cpu.busy > 90% until < 70%", "1=95,1=80,1=95,1=60,1=95", "10001" },
	{ "cpu.busy > 90% until cpu.idle > 30%", "1=95,1=80,1=95,1=60,1=95", "10001" },
	/* every: cool-down, from the end of the window in which it fired */
	{ "cpu.busy > 90% every 3s", "1=95,1=5,1=95,1=5,1=95,1=95", "100010" },
	{ "cpu.busy > 90% every 3s", "1=95,1=5,1=95,1=95", "1001" },
	/* each thread by itself */
	{ "cpu.thread.run > 40%", "1=50,1=50,1=50 2=45,2=45,1=50 2=45", "10101" },
	{ "cpu.thread.run > 40% for 2s", "1=50,2=50,1=50,1=50", "0001" },
	{ "cpu.thread.run > 40% until < 20%", "1=50,1=30,1=50,1=10,1=50", "10001" },
	{ "cpu.thread.run > 40% until < 20%", "1=50,2=1,1=50", "101" }, /* a missing row is 0 */
	{ "cpu.thread.run > 40% until cpu.busy < 1%", "1=50,2=45,1=50",
	  "110" }, /* 1 is not armed */
	{ "cpu.thread[2].run > 40%", "1=50,2=50", "01" },
	{ "cpu.thread[comm=dou*].run > 40%", "1=50,10=50", "01" },
	{ "cpu.thread[tid=1?].run > 40%", "1=50,10=50,11=50", "011" },
	{ "cpu.thread[comm=\"dou*\"].run > 40%", "1=50,10=50", "01" },
	{ "cpu.thread[comm='double'].run > 40%", "1=50,10=50", "01" },
	{ "cpu.thread[comm=\"d\\ouble\"].run > 40%", "1=50,10=50", "01" },
	{ "cpu.thread[comm=\"[a-d]*\"].run > 40%", "1=50,10=50", "01" },
	{ "cpu.thread[comm=\"dou\\*\"].run > 40%", "1=50,10=50", "00" },
	{ "cpu.thread.run < 10%", ",1=50,1=5", "101" }, /* without rows: one with 0 */
	/* and, or */
	{ "cpu.busy > 90% and cpu.idle > 1%", "1=95,1=100", "10" },
	{ "cpu.busy > 90% or cpu.idle > 90%", "1=50,1=95,1=50,1=5", "0101" },
	{ "cpu.busy > 90% and (cpu.idle > 90% or cpu.thread[1].run > 1%)", "2=95,1=95", "01" },
	/* two selections: one row of each is enough */
	{ "cpu.thread[1].run > 40% and cpu.thread[2].run > 40%", "1=45,1=45 2=45", "01" },
	/* quotients: of the trace, of each row by itself; without a row there is no value */
	{ "cpu.busy / cpu.idle > 100%", "1=50,1=60", "01" },
	{ "cpu.thread.run / cpu.busy > 60%", "1=50 2=40,1=50 2=10", "01" },
	{ "cpu.thread[comm=s*].run / cpu.thread.run >= 100% for 2s", "1=50,2=50,2=50", "001" },
	{ "cpu.thread.run / cpu.busy < 10%", ",1=5,1=5 2=95", "001" },
	{ "cpu.thread.run / cpu.thread.switches < 1ms", "1=50", "0" },
	{ "cpu.busy / cpu.idle > 1 until < 50%", "1=60,1=50,1=60,1=10,1=60", "10001" },
	/* objectives: more bad windows than may be; of a time those to come count as good */
	{ "50% of windows: cpu.busy < 90%", "1=50,1=95,1=95,1=50,1=95", "00101" },
	{ " 100%  of windows : cpu.busy < 90%", "1=50,1=95,1=95", "010" },
	{ "50% of windows: cpu.busy < 90% every 3s", "1=95,1=50,1=95,1=50,1=95", "10001" },
	{ "50% of windows: cpu.busy < 90% complete", "!1=95,1=95", "01" },
	{ "50% of windows in 4s: cpu.busy < 90%", "1=95,1=95,1=95,1=50,1=50,1=50,1=95,1=95,1=95",
	  "001000001" },
	/* some row is bad, all are good */
	{ "60% of windows: cpu.thread.run <= 40%", "1=10 2=50,1=10 2=20,1=50 2=10", "100" },
	{ "60% of windows: cpu.thread.run <= 40% and cpu.busy < 50%", "1=10,1=30 2=30", "01" },
	{ "60% of windows: cpu.thread.run <= 40% or cpu.busy < 50%", "1=45,1=50,1=45", "010" },
	/* what has no value does not count, and of and and or the other one decides */
	{ "50% of windows: cpu.thread.run / cpu.busy < 60%", ",1=50,2=50", "010" },
	{ "50% of windows: cpu.thread.longest < 1ms or cpu.busy < 50%", "1=20,", "00" },
	{ "50% of windows: cpu.thread.longest > 1ms", ",,1=20", "001" },
	{ "50% of windows: cpu.thread.longest > 1ms or cpu.busy > 50%", ",1=20", "10" },
	/* complete */
	{ "cpu.busy > 90%", "!1=95", "1" },
	{ "cpu.busy > 90% complete", "!1=95,1=95", "01" },
};

START_TEST(fires_when_it_should)
{
	char *windows = strdup(firing[_i].windows), *rest = windows, *one;
	struct err err;
	struct trigger *trigger = trigger_new(NULL, firing[_i].text, &err);
	struct trigger_event event;
	uint64_t second = 100;

	ck_assert_msg(trigger, "%s", err.text);
	while ((one = strsep(&rest, ","))) {
		bool fires = firing[_i].fires[second - 100] == '1';

		window_of(second, one);
		ck_assert_msg(trigger_evaluate(trigger, &trace_a, &made.report, &event) == fires,
			      "%s: window %d of %s", firing[_i].text, (int)(second - 100),
			      firing[_i].windows);
		second++;
	}
	ck_assert_uint_eq(second - 100, strlen(firing[_i].fires));
	trigger_free(trigger);
	free(windows);
}
END_TEST

/* Traces have states of their own, and totals are not windows. */
START_TEST(keeps_traces_apart)
{
	struct err err;
	struct trigger *trigger = trigger_new("hot", "cpu.busy > 90% for 2s", &err);
	struct trigger_event event;

	window_of(100, "1=95");
	ck_assert(!trigger_evaluate(trigger, &trace_a, &made.report, &event));
	window_of(101, "1=95");
	ck_assert(!trigger_evaluate(trigger, &trace_b, &made.report, &event));
	made.report.kind = REPORT_TOTAL;
	ck_assert(!trigger_evaluate(trigger, &trace_a, &made.report, &event));
	made.report.kind = REPORT_WINDOW;
	ck_assert(trigger_evaluate(trigger, &trace_a, &made.report, &event));
	ck_assert_str_eq(event.name, "hot");
	ck_assert_uint_eq(event.begin, 100 * MADE_NS_PER_S);
	ck_assert_uint_eq(event.end, 102 * MADE_NS_PER_S);
	trigger_free(trigger);
}
END_TEST

/* All rows that fire make one event, which shows the values of the most extreme one. */
START_TEST(says_why)
{
	struct err err;
	struct trigger *trigger =
		trigger_new(NULL, "cpu.thread.run > 20% and cpu.busy > 50%", &err);
	struct trigger_event event;
	char text[200];

	window_of(100, "3=25 12=40 4=30 5=1");
	ck_assert(trigger_evaluate(trigger, &trace_a, &made.report, &event));
	ck_assert_uint_eq(event.rows, 3);
	ck_assert_uint_eq(event.count, 2);
	ck_assert_str_eq(event.values[0].figure, "cpu.thread.run");
	ck_assert_int_eq(event.values[0].tid, 12);
	ck_assert_str_eq(event.values[0].row, "double (12)");
	ck_assert_double_eq_tol(event.values[0].value, 0.4, 1e-9);
	ck_assert_int_eq(event.values[1].tid, -1);
	notice_trigger_text(&event, text, sizeof(text));
	ck_assert_str_eq(text, "cpu.thread.run of double (12) 40.0 %, > 20.0 %; cpu.busy 96.0 %, > "
			       "50.0 %");
	notice_trigger_text(&event, text, 8); /* cut, not beyond */
	ck_assert_uint_le(strlen(text), 7);
	trigger_free(trigger);
}
END_TEST

/* More comparisons than an event has room for. */
START_TEST(bounds_values)
{
	char text[TRIGGER_VALUES_MAX * 20 + 100] = "cpu.busy > 1%";
	struct trigger_event event;
	struct trigger *trigger;
	struct err err;

	for (int i = 0; i < TRIGGER_VALUES_MAX + 2; i++) {
		strcat(text, " or cpu.busy > 1%");
	}
	trigger = trigger_new(NULL, text, &err);
	ck_assert_msg(trigger, "%s", err.text);
	window_of(100, "1=50");
	ck_assert(trigger_evaluate(trigger, &trace_a, &made.report, &event));
	ck_assert_uint_eq(event.count, TRIGGER_VALUES_MAX);
	trigger_free(trigger);
}
END_TEST

/* `on N hosts`: in the windows marked by '1' it holds on this host. */
static const struct {
	const char *text, *windows, *holds;
} holding[] = {
	{ "cpu.busy > 90% on 3 hosts", "1=50,1=95,1=96,1=50,1=97", "01101" },
	{ "cpu.busy > 90% on 1 host for 2s", "1=95,1=95,1=95,1=5,1=95,1=95", "011001" },
	{ "cpu.busy > 90% for 2s on 2 hosts until < 70%", "1=95,1=95,1=80,1=60,1=95", "01100" },
	{ "cpu.busy > 90% on 2 hosts every 1m", "1=95,1=5,1=95,1=95", "1011" },
	{ "cpu.thread.run > 40% on 2 hosts for 2s", "1=50,1=50 2=45,2=45,1=50", "0110" },
	{ "cpu.thread.run > 40% on 2 hosts until < 20%", "1=50,1=30,1=10", "110" },
	{ "cpu.busy > 90% on 2 hosts", "1=95,,1=95", "101" },
};

START_TEST(holds_on_a_host)
{
	char *windows = strdup(holding[_i].windows), *rest = windows, *one;
	struct err err;
	struct trigger *trigger = trigger_new(NULL, holding[_i].text, &err);
	struct trigger_event event;
	uint64_t second = 100;

	ck_assert_msg(trigger, "%s", err.text);
	ck_assert_uint_gt(trigger_hosts(trigger), 0);
	while ((one = strsep(&rest, ","))) {
		bool holds = holding[_i].holds[second - 100] == '1';

		window_of(second, one);
		ck_assert_msg(trigger_evaluate(trigger, &trace_a, &made.report, &event) == holds,
			      "%s: window %d of %s", holding[_i].text, (int)(second - 100),
			      holding[_i].windows);
		second++;
	}
	ck_assert_uint_eq(trigger_measured_in(trigger), 1);
	trigger_free(trigger);
	free(windows);
}
END_TEST

/* A host without a window holds nothing, and begins again. */
START_TEST(forgets_who_is_absent)
{
	struct err err;
	struct trigger *trigger =
		trigger_new(NULL, "cpu.busy > 90% on 2 hosts for 2s until < 50%", &err);
	struct trigger_event event;

	for (uint64_t second = 100; second < 102; second++) {
		window_of(second, "1=95");
		ck_assert_int_eq(trigger_evaluate(trigger, &trace_a, &made.report, &event),
				 second == 101);
	}
	/* It still holds where its figure is not known any more: nothing says that it ended. */
	made.tables[0].unknown = 1;
	ck_assert(trigger_evaluate(trigger, &trace_a, &made.report, &event));
	ck_assert_uint_eq(event.count, 0);
	trigger_absent(trigger, &trace_a);
	window_of(103, "1=95");
	ck_assert(!trigger_evaluate(trigger, &trace_a, &made.report, &event));
	trigger_free(trigger);
}
END_TEST

START_TEST(names_its_analyses)
{
	bool used[ANALYSES_MAX] = { false };
	struct err err;
	struct trigger *trigger =
		trigger_new(NULL, "cpu.busy > 1% until sched.wake.max > 1ms", &err);

	trigger_uses(trigger, used);
	for (size_t i = 0; analyses[i]; i++) {
		ck_assert_int_eq(used[i], !strcmp(analyses[i]->name, "cpu") ||
						  !strcmp(analyses[i]->name, "sched"));
	}
	trigger_free(trigger);
}
END_TEST

Suite *suite_trigger(void)
{
	Suite *suite = suite_create("trigger");
	TCase *tcase = tcase_create("trigger");

	tcase_add_loop_test(tcase, names_the_column, 0, COUNT(wrong));
	tcase_add_test(tcase, unknown_holds_never);
	tcase_add_test(tcase, knows_what_it_needs);
	tcase_add_test(tcase, bounds_brackets);
	tcase_add_test(tcase, keeps_budgets);
	tcase_add_loop_test(tcase, fires_when_it_should, 0, COUNT(firing));
	tcase_add_loop_test(tcase, holds_on_a_host, 0, COUNT(holding));
	tcase_add_test(tcase, forgets_who_is_absent);
	tcase_add_test(tcase, keeps_traces_apart);
	tcase_add_test(tcase, says_why);
	tcase_add_test(tcase, bounds_values);
	tcase_add_test(tcase, names_its_analyses);
	suite_add_tcase(suite, tcase);
	return suite;
}
