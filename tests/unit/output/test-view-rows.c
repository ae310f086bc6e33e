/*
 * view-rows: threads below their processes, by what they do, and the mouse.
 *
 * Method  One window with real analyses: three processes, of which the first has three threads.
 */
#include "../trigger/made-report.h"
#include "view-grid.h"

static const struct {
	int32_t tid, pid;
	const char *comm;
	uint64_t run_ns;
	const char *state;
} threads[] = {
	{ 5, 5, "shell", 400000000, "runnable_threads" },
	{ 12, 10, "worker", 300000000, "running_threads" },
	{ 11, 10, "worker", 250000000, "blocked_threads" },
	{ 10, 10, "server", 50000000, "blocked_threads" },
	{ 20, -1, "nobody", 1000000, "stopped_threads" },
};

static void run_of(struct made *made, int32_t tid, int32_t pid, const char *comm, uint64_t ns)
{
	made_row(made, (uint64_t)tid, tid, comm);
	made->threads[made->row_count - 1].pid = pid;
	*made_value(made, "run_ns") = ns;
}

static struct view *filled(void)
{
	const struct trace_identity identity = { .host = (char *)"h" };
	static struct made made;
	struct view *view = view_new();

	made_window(&made, 1);
	(void)made_table(&made, "cpu", SCOPE_THREAD, NULL);
	for (size_t i = 0; i < ARRAY_COUNT(threads); i++) {
		run_of(&made, threads[i].tid, threads[i].pid, threads[i].comm, threads[i].run_ns);
	}
	(void)made_table(&made, "cpu", SCOPE_PROCESS, NULL);
	run_of(&made, 10, 10, "server", 600000000);
	run_of(&made, 5, 5, "shell", 400000000);
	(void)made_table(&made, "state", SCOPE_THREAD, NULL);
	for (size_t i = 0; i < ARRAY_COUNT(threads); i++) {
		made_row(&made, (uint64_t)threads[i].tid, threads[i].tid, threads[i].comm);
		*made_value(&made, threads[i].state) = 1;
	}
	ck_assert(view_add(view, &identity, &made.report));
	return view;
}

static void is_in_order(struct view *view, const char *const *texts)
{
	const struct grid *grid = draw(view, 24, 100);
	int last = -1;

	for (; *texts; texts++) {
		int line = line_of(grid, *texts);

		ck_assert_msg(line > last, "\"%s\" in line %d, behind %d", *texts, line, last);
		last = line;
	}
}

static void press(struct view *view, const char *keys)
{
	for (; *keys; keys++) {
		ck_assert(view_key(view, *keys));
	}
}

START_TEST(shows_shares)
{
	struct view *view = filled();
	const struct grid *grid = draw(view, 24, 100);

	ck_assert_int_ge(line_of(grid, "RUN%v"), 0); /* as reported: marked, too */
	ck_assert_int_ge(line_of(grid, "40.0%"), 0);
	press(view, "%");
	grid = draw(view, 24, 100);
	ck_assert_int_ge(line_of(grid, "RUNv"), 0);
	ck_assert_int_ge(line_of(grid, "400 ms"), 0);
	ck_assert_int_lt(line_of(grid, "40.0%"), 0);
	view_free(view);
}
END_TEST

/* A process of one thread has one row; what is of no process comes last. */
START_TEST(shows_a_tree)
{
	static const char *const flat[] = { "shell (5)",   "worker (12)", "worker (11)",
					    "server (10)", "nobody (20)", NULL },
				 *const tree[] = { "server (10)",
						   "  worker (12)",
						   "  worker (11)",
						   "  server (10)",
						   "shell (5)",
						   "  nobody (20)",
						   NULL },
				 *const reversed[] = { "shell (5)",     "server (10)",
						       "  server (10)", "  worker (11)",
						       "  worker (12)", NULL },
				 *const found[] = { "server (10)", "  worker (11)", NULL };
	struct view *view = filled();

	is_in_order(view, flat);
	press(view, "p");
	is_in_order(view, tree);
	ck_assert_int_ge(line_of(draw(view, 24, 100), "60.0%"), 0);
	press(view, "r");
	is_in_order(view, reversed);
	press(view, "r/ker (11\n");
	ck_assert(view_key(view, VIEW_KEY_ENTER));
	is_in_order(view, found);
	ck_assert_int_lt(line_of(draw(view, 24, 100), "shell"), 0);
	ck_assert(view_key(view, VIEW_KEY_ESCAPE));
	press(view, "p");
	is_in_order(view, flat);
	/* Of a process, its first thread. */
	press(view, "p");
	ck_assert(view_key(view, VIEW_KEY_ENTER));
	ck_assert_int_ge(line_of(draw(view, 24, 100), "server (10)"), 0);
	ck_assert_int_lt(line_of(draw(view, 24, 100), "worker"), 0);
	view_free(view);
}
END_TEST

START_TEST(colours_by_state)
{
	static const enum view_style styles[] = { STYLE_CHOSEN, STYLE_RUNS, STYLE_BLOCKED,
						  STYLE_BLOCKED, STYLE_STOPPED };
	struct view *view = filled();
	const struct grid *grid = draw(view, 24, 100);
	int line = line_of(grid, "shell (5)");

	for (size_t i = 0; i < ARRAY_COUNT(styles); i++) {
		ck_assert_int_eq(grid->styles[line + (int)i][0], styles[i]);
	}
	ck_assert(view_key(view, VIEW_KEY_DOWN));
	grid = draw(view, 24, 100);
	ck_assert_int_eq(grid->styles[line][0], STYLE_WAITS);
	view_free(view);
}
END_TEST

static void click(struct view *view, const char *text, int behind, bool is_double)
{
	const struct grid *grid = draw(view, 24, 100);
	int line = line_of(grid, text);

	ck_assert_int_ge(line, 0);
	view_click(view, line, (int)(strstr(grid->text[line], text) - grid->text[line]) + behind,
		   is_double);
}

START_TEST(obeys_the_mouse)
{
	static const char *const reversed[] = { "nobody", "server", "worker (11)", NULL };
	struct view *view = filled();
	const struct grid *grid;

	click(view, "worker (11)", 2, false);
	grid = draw(view, 24, 100);
	ck_assert_int_eq(grid->styles[line_of(grid, "worker (11)")][0], STYLE_CHOSEN);
	click(view, "RUN%", 1, false);
	click(view, "RUN%v", 1, false); /* again: the other way round */
	is_in_order(view, reversed);
	click(view, "processes", 1, false);
	ck_assert_int_ge(line_of(draw(view, 24, 100), "PROCESS (PID)"), 0);
	click(view, "2 state", 1, false);
	ck_assert_int_ge(line_of(draw(view, 24, 100), "RUNNABLE"), 0);
	click(view, "1 cpu", 1, false);
	view_wheel(view, false);
	grid = draw(view, 24, 100);
	ck_assert_int_eq(grid->styles[line_of(grid, "server (10)")][0], STYLE_CHOSEN);
	view_wheel(view, true);
	click(view, "shell (5)", 1, true);
	ck_assert_int_lt(line_of(draw(view, 24, 100), "worker"), 0);
	view_click(view, 3, 3, true); /* and back */
	ck_assert_int_ge(line_of(draw(view, 24, 100), "worker"), 0);
	view_click(view, 23, 99, false); /* there is nothing */
	view_click(view, -1, 1000, true);
	ck_assert(!view_frees_mouse(view));
	press(view, "m");
	ck_assert(view_frees_mouse(view));
	view_free(view);
}
END_TEST

Suite *suite_view_rows(void)
{
	Suite *suite = suite_create("view-rows");
	TCase *tcase = tcase_create("view-rows");

	tcase_add_test(tcase, shows_shares);
	tcase_add_test(tcase, shows_a_tree);
	tcase_add_test(tcase, colours_by_state);
	tcase_add_test(tcase, obeys_the_mouse);
	suite_add_tcase(suite, tcase);
	return suite;
}
