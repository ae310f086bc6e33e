/*
 * view: the full screen without a terminal.
 *
 * Method  Draw to a grid of letters; look for texts, press keys, draw again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made-report.h"
#include "output/screen/view.h"
#include "phases/phases.h"
#include "suites.h"
#include "view-grid.h"

static bool has(struct view *view, const char *text)
{
	return line_of(draw(view, 24, 80), text) >= 0;
}

static void press(struct view *view, const char *keys)
{
	for (; *keys; keys++) {
		ck_assert(view_key(view, *keys));
	}
}

static void add(struct view *view, const char *host, uint64_t seq)
{
	struct trace_identity identity = { .host = (char *)host, .session = (char *)"s" };
	static struct made made;

	made_init(&made, seq, seq * 1000000000, (seq + 1) * 1000000000);
	made_cpu(&made, 1, 250000000);
	made_cpu(&made, 0, 500000000);
	made_thread(&made, 7, "seven", 300000000, 10 + seq, 5000);
	made_thread(&made, 8, "eight", 200000000, 30 + seq, 6000);
	made_thread(&made, 9, "nine\033[2J", 100000000, 20 + seq, 7000);
	made_file(&made, 2, "/etc/passwd", 4096);
	made_wait(&made, 8, 77, 1234567);
	(void)view_add(view, &identity, &made.report);
	made_fini(&made);
}

static struct view *filled(void)
{
	struct view *view = view_new();

	for (uint64_t seq = 0; seq < 3; seq++) {
		add(view, "h", seq);
	}
	return view;
}

/* ---- drawing ---- */

START_TEST(draws_windows)
{
	struct view *view = filled();
	const struct grid *grid = draw(view, 24, 80);

	ck_assert(strncmp(grid->text[0], "h/s  ", 5) == 0);
	ck_assert(strstr(grid->text[0], "66 events/s"));
	ck_assert(strstr(grid->text[1], "   0 [") && strstr(grid->text[1], "50.0%]"));
	ck_assert(strstr(grid->text[1], "   1 [") && strstr(grid->text[1], "25.0%]"));
	ck_assert(strncmp(grid->text[2], "1 cpu", 5) == 0);
	ck_assert(strncmp(grid->text[3], "cpus  threads  files  waits", 27) == 0);
	ck_assert_int_eq(grid->styles[3][6], STYLE_CHOSEN);
	ck_assert(strstr(grid->text[4], "busy 750 ms"));
	ck_assert(strncmp(grid->text[5], "THREAD (TID)", 12) == 0);
	ck_assert(strstr(grid->text[6], "seven (7)") && strstr(grid->text[6], "300 ms"));
	ck_assert_int_eq(grid->styles[6][0], STYLE_CHOSEN);
	ck_assert(strstr(grid->text[7], "eight (8)"));
	ck_assert(strstr(grid->text[8], "nine?[2J (9)"));
	ck_assert(strncmp(grid->text[23], "q quit", 6) == 0);
	view_free(view);
}
END_TEST

/* Time and rate are on the screen, however long the name of the trace is, also while it is paused.
 */
START_TEST(keeps_figures)
{
	struct view *view = view_new();
	const struct grid *grid;

	for (uint64_t seq = 0; seq < 2; seq++) {
		add(view, "a-host-with-a-name-that-is-longer-than-any-line-should-be-in-practice",
		    seq);
	}
	grid = draw(view, 24, 80);
	ck_assert(strstr(grid->text[0], "..  "));
	ck_assert(strstr(grid->text[0], "63 events/s"));
	press(view, " ");
	grid = draw(view, 24, 80);
	ck_assert(strstr(grid->text[0], "63 events/s"));
	ck_assert(strstr(grid->text[0], "window 2 of 2, paused"));
	view_free(view);
}
END_TEST

/* Whatever the size and the mode: put() refuses what lies beyond the edges. */
static const int sizes[][2] = { { 1, 1 },   { 2, 10 },  { 3, 22 },  { 4, 40 },
				{ 10, 40 }, { 24, 80 }, { 60, 200 } };

START_TEST(fits_any_size)
{
	static const char *const keys[] = { "", "?", "?/eig", "\n" };
	struct view *view = view_new();

	(void)draw(view, sizes[_i][0], sizes[_i][1]);
	view_say(view, "a long message that does not fit into a small terminal, whatever it says");
	(void)draw(view, sizes[_i][0], sizes[_i][1]);
	for (uint64_t seq = 0; seq < 3; seq++) {
		add(view, "a-host-with-a-rather-long-name-that-is-cut", seq);
	}
	(void)view_key(view, VIEW_KEY_HOME);
	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
		press(view, keys[k]);
		(void)draw(view, sizes[_i][0], sizes[_i][1]);
	}
	ck_assert(view_key(view, VIEW_KEY_ENTER)); /* leaves the filter */
	ck_assert(view_key(view, VIEW_KEY_ENTER)); /* opens the thread */
	for (size_t tab = 0; tab < 5; tab++) {
		(void)draw(view, sizes[_i][0], sizes[_i][1]);
		(void)view_key(view, VIEW_KEY_ESCAPE);
		(void)view_key(view, VIEW_KEY_TAB);
		(void)view_key(view, VIEW_KEY_PAGE_DOWN);
	}
	view_free(view);
}
END_TEST

/* Analyses and lists that have no room are not cut: a mark says that there are more. */
static const char *lists(struct view *view, int columns)
{
	const struct grid *grid = draw(view, 24, columns);

	return grid->text[line_of(grid, "1 cpu") + 1];
}

START_TEST(marks_what_has_no_room)
{
	struct view *view = filled();

	ck_assert_str_eq(lists(view, 28), "cpus  threads  files  waits ");
	ck_assert_str_eq(lists(view, 27), "cpus  threads  files  waits");
	ck_assert_str_eq(lists(view, 26), "cpus  threads  files     >");
	ck_assert_str_eq(lists(view, 17), "cpus  threads   >");
	ck_assert_str_eq(lists(view, 15), "< threads     >");
	(void)view_key(view, VIEW_KEY_TAB);
	ck_assert_str_eq(lists(view, 17), "< files  waits   ");
	ck_assert_str_eq(lists(view, 12), "< files    >");
	view_free(view);
}
END_TEST

START_TEST(waits_for_windows)
{
	struct view *view = view_new();
	struct trace_identity identity = { .path = (char *)"/p" };
	struct report total = { .kind = REPORT_TOTAL };

	view_waits_for(view, "waiting ...");
	ck_assert(has(view, "waiting ..."));
	ck_assert(!view_add(view, &identity, &total)); /* not shown */
	ck_assert(has(view, "waiting ..."));
	add(view, "h", 0);
	ck_assert(!has(view, "waiting ..."));
	view_say(view, "something happened");
	ck_assert(has(view, "something happened"));
	ck_assert(view_key(view, VIEW_KEY_DOWN));
	ck_assert(!has(view, "something happened"));
	view_free(view);
}
END_TEST

/* ---- keys ---- */

/* Keys, one after the other, and what is on the screen after them; '!': what is not. */
static const struct {
	const char *name;
	int keys[6];
	const char *shows[3];
} cases[] = {
	{ "space pauses", { ' ' }, { "window 3 of 3, paused" } },
	{ "space goes on", { ' ', ' ' }, { "!paused" } },
	{ "left steps back", { VIEW_KEY_LEFT }, { "window 2 of 3", "63 events/s" } },
	{ "left stops at the oldest", { VIEW_KEY_HOME, VIEW_KEY_LEFT }, { "window 1 of 3" } },
	{ "right beyond the newest follows",
	  { VIEW_KEY_LEFT, VIEW_KEY_RIGHT, VIEW_KEY_RIGHT },
	  { "!paused" } },
	{ "end follows", { VIEW_KEY_HOME, VIEW_KEY_END }, { "!paused", "66 events/s" } },
	{ "tab: the next list", { VIEW_KEY_TAB }, { "NAME", "2 /etc/passwd" } },
	{ "tab goes round",
	  { VIEW_KEY_TAB, VIEW_KEY_TAB, VIEW_KEY_TAB, VIEW_KEY_TAB },
	  { "THREAD (TID)" } },
	{ "back-tab: the one before", { VIEW_KEY_BACK_TAB }, { "BUSY", "!THREAD (TID)" } },
	{ "instances name their thread", { VIEW_KEY_TAB, VIEW_KEY_TAB }, { "LONGEST", "1.23 ms" } },
	{ "> sorts by the first column", { '>' }, { "RUNv" } },
	{ "> > by the second", { '>', '>' }, { "SWITCHESv" } },
	{ "< by the last", { '<' }, { "STDEVv" } },
	{ "] shows more columns", { ']' }, { "WAKEUPS       MEAN", "!    RUN " } },
	{ "[ goes back", { ']', ']', '[', '[', '[' }, { "    RUNv ", "!MEAN" } },
	{ "1: lists of the first analysis", { '1' }, { "BUSY", "!THREAD (TID)" } },
	{ "2: there is no second", { '2' }, { "THREAD (TID)" } },
	{ "r reverses", { '>', 'r' }, { "RUN^" } },
	{ "a filter", { '/', 'n', 'I' }, { "show names with: nI_", "nine", "!seven" } },
	{ "it stays", { '/', 'n', 'i', VIEW_KEY_ENTER }, { "filter: ni", "nine", "!seven" } },
	{ "backspace", { '/', 'n', 'x', VIEW_KEY_BACKSPACE }, { "with: n_", "seven" } },
	{ "nothing matches", { '/', 'x', 'x' }, { "nothing matches" } },
	{ "escape drops it", { '/', 'n', VIEW_KEY_ESCAPE }, { "eight", "!filter: n" } },
	{ "q is a letter there", { '/', 'q' }, { "with: q_" } },
	{ "help", { '?' }, { "the other way round", "!seven" } },
	{ "help again", { '?', '?' }, { "seven", "!the other way" } },
	{ "a thread", { VIEW_KEY_DOWN, VIEW_KEY_ENTER }, { "cpu waits", "eight (8)", "!seven" } },
	{ "and back", { VIEW_KEY_ENTER, VIEW_KEY_ESCAPE }, { "seven", "nine" } },
	{ "a row without one",
	  { VIEW_KEY_TAB, VIEW_KEY_ENTER },
	  { "this row is no thread", "/etc/passwd" } },
};

START_TEST(obeys_keys)
{
	struct view *view = filled();

	for (size_t i = 0; i < 6 && cases[_i].keys[i]; i++) {
		ck_assert(view_key(view, cases[_i].keys[i]));
	}
	for (size_t i = 0; i < 3 && cases[_i].shows[i]; i++) {
		const char *text = cases[_i].shows[i];

		ck_assert_msg(has(view, text + (*text == '!')) == (*text != '!'), "%s: \"%s\"",
			      cases[_i].name, text);
	}
	ck_assert(!view_key(view, 'q') || strchr("/", cases[_i].keys[0]));
	view_free(view);
}
END_TEST

/* Rows go by the chosen column; the largest is first, or last if reversed. */
START_TEST(sorts_rows)
{
	struct view *view = filled();
	const struct grid *grid;

	press(view, ">>");
	grid = draw(view, 24, 80);
	ck_assert_int_lt(line_of(grid, "eight"), line_of(grid, "nine"));
	ck_assert_int_lt(line_of(grid, "nine"), line_of(grid, "seven"));
	press(view, "r");
	grid = draw(view, 24, 80);
	ck_assert_int_lt(line_of(grid, "seven"), line_of(grid, "nine"));
	ck_assert_int_lt(line_of(grid, "nine"), line_of(grid, "eight"));
	view_free(view);
}
END_TEST

/* The chosen row stays on a screen that has room for two, and within the list. */
START_TEST(scrolls)
{
	struct view *view = filled();

	(void)draw(view, 9, 80);
	ck_assert(view_key(view, VIEW_KEY_PAGE_DOWN));
	ck_assert(view_key(view, VIEW_KEY_PAGE_DOWN));
	ck_assert(view_key(view, VIEW_KEY_DOWN));
	ck_assert(view_key(view, VIEW_KEY_DOWN));
	ck_assert_int_ge(line_of(draw(view, 9, 80), "nine"), 0);
	ck_assert_int_ge(line_of(draw(view, 9, 80), "eight"), 0);
	ck_assert_int_lt(line_of(draw(view, 9, 80), "seven"), 0);
	ck_assert(view_key(view, VIEW_KEY_UP));
	ck_assert(view_key(view, VIEW_KEY_UP));
	ck_assert_int_ge(line_of(draw(view, 9, 80), "seven"), 0);
	view_free(view);
}
END_TEST

/* Windows of another trace do not disturb; `t` shows it.  A paused window stays as it is. */
START_TEST(shows_one_trace)
{
	struct view *view = filled();

	press(view, " ");
	add(view, "other", 8);
	add(view, "h", 9);
	ck_assert(has(view, "t h trace 1/2"));
	ck_assert(has(view, "window 3 of 4"));
	ck_assert(has(view, "66 events/s"));
	press(view, "t");
	ck_assert(has(view, "other/s"));
	ck_assert(!has(view, "paused"));
	press(view, "t");
	ck_assert(has(view, "h/s"));
	ck_assert(has(view, "87 events/s"));
	press(view, "T");
	ck_assert(has(view, "other/s"));
	view_free(view);
}
END_TEST

/* By a part of the name of a host or session; nothing repeats the last one, around the end. */
START_TEST(finds_a_host)
{
	static const char *const hosts[] = { "web1", "DB1", "db2" };
	struct view *view = view_new();

	for (uint64_t i = 0; i < 3; i++) {
		add(view, hosts[i], i);
	}
	press(view, "hdbq");
	ck_assert(has(view, "go to host or session: dbq_"));
	ck_assert(view_key(view, VIEW_KEY_ENTER));
	ck_assert(has(view, "no host or session has this") && has(view, "web1/s"));
	for (int i = 0; i < 3; i++) {
		press(view, i == 0 ? "hdb" : "h");
		ck_assert(view_key(view, VIEW_KEY_ENTER));
		ck_assert(has(view, i == 1 ? "db2/s" : "DB1/s"));
		ck_assert(has(view, i == 1 ? "trace 3/3" : "trace 2/3"));
	}
	press(view, "hweb");
	ck_assert(view_key(view, VIEW_KEY_ESCAPE));
	ck_assert(has(view, "DB1/s"));
	view_free(view);
}
END_TEST

/* What is unknown is not idle: the bar says how much it is, and the number is of the rest. */
START_TEST(draws_unknown_time)
{
	static const struct trace_identity trace = { .host = (char *)"h" };
	static struct made made;
	struct view *view = view_new();
	const struct grid *grid;

	made_init(&made, 0, 0, 1000000000);
	made_cpu(&made, 0, 250000000);
	made_unknown(&made, 500000000);
	made_cpu(&made, 1, 0);
	made_unknown(&made, 1000000000);
	ck_assert(view_add(view, &trace, &made.report));
	grid = draw(view, 24, 80);
	/* 23 letters: a quarter busy, half unknown */
	ck_assert_msg(strstr(grid->text[1], "   0 [||||||     ????????????  50.0%]"), "%s",
		      grid->text[1]);
	ck_assert_msg(strstr(grid->text[1], "   1 [???????????????????????     ? ]"), "%s",
		      grid->text[1]);
	view_free(view);
	made_fini(&made);
}
END_TEST

/* CPUs without a bar are counted, and the busiest of them are named. */
START_TEST(counts_cpus_without_bars)
{
	static const struct trace_identity trace = { .host = (char *)"h" };
	static struct made made;
	struct view *view = view_new();
	const struct grid *grid;

	made_init(&made, 0, 0, 1000000000);
	for (uint64_t i = 0; i < 60; i++) {
		made_cpu(&made, i, i == 50 ? 990000000 : i == 3 || i == 40 ? 500000000 : 0);
	}
	ck_assert(view_add(view, &trace, &made.report));
	grid = draw(view, 24, 80);
	ck_assert_int_eq(line_of(grid, "  17 ["), 6);
	ck_assert_msg(strstr(grid->text[7], "42 of 60 CPUs have no bar (list: cpu cpus); "
					    "busiest: 50 99.0%, 40 50.0%  "),
		      "%s", grid->text[7]);
	grid = draw(view, 60, 200);
	ck_assert_int_lt(line_of(grid, "have no bar"), 0);
	view_free(view);
	made_fini(&made);
}
END_TEST

#define COUNT(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

/* In place of rows that cannot be known: why, and what to do. */
START_TEST(says_what_is_missing)
{
	static const struct trace_identity trace = { .host = (char *)"h" };
	static struct made made;
	const struct missing_event missing = { &made_analysis, "sched_switch" };
	struct view *view = view_new();

	made_init(&made, 0, 0, 1000000000);
	made_file(&made, 1, "/etc/passwd", 4096);
	made.tables[MADE_TOTALS].unknown = ALL_COLUMNS;
	made.tables[MADE_THREADS].unknown = ALL_COLUMNS;
	made.report.missing = &missing;
	made.report.missing_count = 1;
	ck_assert(view_add(view, &trace, &made.report));
	ck_assert(has(view, "busy -"));
	ck_assert(!has(view, "THREAD (TID)")); /* it begins with a list that is known */
	for (int i = 0; i < 5 && !has(view, "THREAD (TID)"); i++) {
		ck_assert(view_key(view, VIEW_KEY_TAB));
	}
	ck_assert(has(view, "not recorded: sched_switch"));
	ck_assert(has(view, "lttng enable-event -k sched_switch"));
	view_free(view);
	made_fini(&made);
}
END_TEST

/* A window with the figures of phases: the number of the one that goes on, and for how long. */
static void add_phased(struct view *view, uint64_t seq, uint64_t number, uint64_t age)
{
	struct trace_identity identity = { .session = (char *)"s" };
	uint64_t values[COLUMNS_MAX] = { 0, number, age * 1000000000 };
	const struct report_row row = { .values = values };
	struct report_table tables[8];
	static struct made made;
	struct report report;

	made_init(&made, seq, seq * 1000000000, (seq + 1) * 1000000000);
	made_cpu(&made, 0, 500000000);
	report = made.report;
	ck_assert_uint_lt(report.table_count, 8);
	memcpy(tables, report.tables, report.table_count * sizeof(tables[0]));
	tables[report.table_count++] = (struct report_table){ .analysis = &analysis_phase,
							      .table = &analysis_phase.tables[0],
							      .row_count = 1,
							      .rows = &row };
	report.tables = tables;
	(void)view_add(view, &identity, &report);
	made_fini(&made);
}

/* A change that becomes known three windows later colours these, too. */
START_TEST(shows_phases)
{
	struct view *view = view_new();
	const struct grid *grid;
	int line;

	for (uint64_t seq = 0; seq < 40; seq++) {
		bool is_second = seq >= 32;

		add_phased(view, seq, is_second ? 2 : 1, seq + 1 - (is_second ? 30 : 0));
	}
	grid = draw(view, 24, 80);
	line = line_of(grid, "phase 2 (b) for 10.0 s");
	ck_assert_int_ge(line, 0);
	ck_assert(strstr(grid->text[line], "  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaabbbbbbbbbb "));
	ck_assert_int_ne(grid->styles[line][28], grid->styles[line][28 + 30]);
	grid = draw(view, 24, 60); /* the newest ones */
	ck_assert(strstr(grid->text[line], "  aaaaaaaaaaaaaaaaaaaaaabbbbbbbbbb"));
	(void)draw(view, 24, 20);
	(void)draw(view, 2, 29);
	for (int i = 0; i < 9; i++) {
		ck_assert(view_key(view, VIEW_KEY_LEFT));
	}
	grid = draw(view, 24, 60); /* up to the shown window, which is the first of the phase */
	ck_assert(strstr(grid->text[line], "  aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab "));
	view_free(view);
}
END_TEST

START_TEST(asks_for_jobs)
{
	struct view *view = filled();
	const char *host = NULL, *session = NULL;
	char *longer = mem_alloc(301);

	ck_assert(!view_asks_jobs(view, &host, &session));
	press(view, "j");
	ck_assert(has(view, "looking for what threads execute"));
	ck_assert(!has(view, "seven (7)"));
	ck_assert(view_asks_jobs(view, &host, &session));
	ck_assert_str_eq(host, "h");
	ck_assert_str_eq(session, "s");
	ck_assert(!view_asks_jobs(view, &host, &session)); /* once */
	/* An option that is longer than a line is there to its end. */
	memset(longer, 'x', 299);
	longer[299] = 'Y';
	view_show_jobs(view, longer);
	ck_assert_int_eq(line_of(draw(view, 24, 80), "Y"), line_of(draw(view, 24, 80), "x") + 3);
	view_show_jobs(view, "first\n\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n"
			     "18\n19\n20\n21\n22\n23\n24\n25\nlast\n");
	ck_assert(has(view, "first") && !has(view, "last"));
	for (int i = 0; i < 50; i++) {
		ck_assert(view_key(view, VIEW_KEY_DOWN));
		(void)draw(view, 24, 80);
	}
	ck_assert(!has(view, "first") && has(view, "last"));
	ck_assert(view_key(view, VIEW_KEY_PAGE_UP));
	ck_assert(view_key(view, VIEW_KEY_PAGE_UP));
	ck_assert(has(view, "first"));
	/* Back to the list; the same key asks again. */
	ck_assert(view_key(view, VIEW_KEY_ESCAPE));
	ck_assert(has(view, "seven (7)"));
	press(view, "j");
	ck_assert(has(view, "looking for"));
	ck_assert(view_asks_jobs(view, &host, &session));
	free(longer);
	view_free(view);
	/* Without a window there is no trace to ask for. */
	view = view_new();
	press(view, "j");
	ck_assert(!view_asks_jobs(view, &host, &session));
	view_free(view);
}
END_TEST

/* Windows that the owner has: keys are moves, in their order; one window is shown, and its state.
 */
START_TEST(browses)
{
	static const struct {
		int key;
		enum view_move move;
	} keys[] = {
		{ VIEW_KEY_LEFT, VIEW_BACK },  { VIEW_KEY_RIGHT, VIEW_ON },
		{ '{', VIEW_FAR_BACK },        { '}', VIEW_FAR_ON },
		{ VIEW_KEY_HOME, VIEW_FIRST }, { VIEW_KEY_END, VIEW_LAST },
		{ ' ', VIEW_PAUSES },          { 't', VIEW_NEXT_TRACE },
	};
	struct trace_identity identity = { .host = (char *)"h", .session = (char *)"s" };
	struct view *view = view_new();
	static struct made made;
	const char *time;

	view_browse(view);
	view_waits_for(view, "waiting for one");
	ck_assert(has(view, "waiting for one"));
	for (size_t i = 0; i < COUNT(keys); i++) {
		ck_assert(view_key(view, keys[i].key));
	}
	for (size_t i = 0; i < COUNT(keys); i++) {
		ck_assert_int_eq(view_take_move(view, &time), keys[i].move);
	}
	ck_assert_int_eq(view_take_move(view, &time), VIEW_STAYS);
	for (uint64_t seq = 1; seq < 3; seq++) {
		made_init(&made, seq, seq * 1000000000, (seq + 1) * 1000000000);
		made_thread(&made, 7, "seven", 300000000, 10, 5000);
		made_wait(&made, 8, 77, 1234567);
		view_show(view, &identity, &made.report, seq == 1 ? "following" : "paused", seq - 1,
			  seq);
		made_fini(&made);
		ck_assert(has(view, "seven (7)") && has(view, "h/s"));
		ck_assert(has(view, "1970-01-01") &&
			  has(view, seq == 1 ? "following " : "paused "));
		ck_assert_int_eq(has(view, "t h trace 2/2"), seq > 1);
	}
	/* A time is text until it is entered; keys are letters meanwhile. */
	press(view, "g-1q");
	ck_assert(has(view, "go to time: -1q_"));
	ck_assert(view_key(view, VIEW_KEY_BACKSPACE));
	press(view, "m");
	ck_assert(view_key(view, VIEW_KEY_ENTER));
	ck_assert_int_eq(view_take_move(view, &time), VIEW_TO_TIME);
	ck_assert_str_eq(time, "-1m");
	press(view, "g5");
	ck_assert(view_key(view, VIEW_KEY_ESCAPE));
	ck_assert_int_eq(view_take_move(view, &time), VIEW_STAYS);
	press(view, "hweb");
	ck_assert(view_key(view, VIEW_KEY_ENTER));
	ck_assert_int_eq(view_take_move(view, &time), VIEW_TO_TRACE);
	ck_assert_str_eq(time, "web");
	press(view, "?");
	ck_assert(has(view, "60 windows back, on"));
	for (int i = 0; i < 100; i++) { /* nobody takes them: some are forgotten */
		ck_assert(view_key(view, VIEW_KEY_LEFT));
	}
	view_free(view);
}
END_TEST

Suite *suite_view(void)
{
	Suite *suite = suite_create("view");
	TCase *tcase = tcase_create("view");

	tcase_add_test(tcase, draws_windows);
	tcase_add_test(tcase, draws_unknown_time);
	tcase_add_test(tcase, keeps_figures);
	tcase_add_loop_test(tcase, fits_any_size, 0, COUNT(sizes));
	tcase_add_test(tcase, marks_what_has_no_room);
	tcase_add_test(tcase, waits_for_windows);
	tcase_add_loop_test(tcase, obeys_keys, 0, COUNT(cases));
	tcase_add_test(tcase, sorts_rows);
	tcase_add_test(tcase, scrolls);
	tcase_add_test(tcase, shows_one_trace);
	tcase_add_test(tcase, finds_a_host);
	tcase_add_test(tcase, counts_cpus_without_bars);
	tcase_add_test(tcase, says_what_is_missing);
	tcase_add_test(tcase, shows_phases);
	tcase_add_test(tcase, asks_for_jobs);
	tcase_add_test(tcase, browses);
	suite_add_tcase(suite, tcase);
	return suite;
}
