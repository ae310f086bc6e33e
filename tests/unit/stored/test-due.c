/*
 * due: when long windows of five seconds are due, of stored windows of one second.
 */
#include "stored/due.h"
#include "suites.h"

#define S      NS_PER_S
#define LONG_S (5 * NS_PER_S)

struct landed {
	uint64_t begin, end; /* s; end 0: there is none */
	bool is_complete;
};

static const struct {
	struct landed windows[4];
	uint64_t idle_s, wall_s; /* since the last came; the clock, at the end */
	bool is_end;
	uint64_t until_s, unseen_ns;
} cases[] = {
	/* nothing has landed */
	{ { { 0, 0, false } }, 0, 0, false, 0, 0 },
	/* a part of the long window */
	{ { { 0, 1, true } }, 0, 0, false, 0, 1 },
	/* up to its end */
	{ { { 0, 1, true }, { 4, 5, true } }, 0, 0, false, 5, 4 * S + 1 },
	/* the newest may be replaced: it is not complete, or shorter than others */
	{ { { 0, 1, true }, { 4, 5, false } }, 0, 0, false, 0, 4 * S },
	{ { { 4, 5, true }, { 5, 6, false } }, 0, 0, false, 5, 5 * S },
	/* what is left, when the clock is past its end and nothing has come for a while */
	{ { { 5, 6, true } }, 11, 21, false, 10, 5 * S + 1 },
	{ { { 5, 6, true } }, 11, 20, false, 5, 5 * S + 1 },
	{ { { 5, 6, true } }, 10, 60, false, 5, 5 * S + 1 },
	/* the clock is behind: when as much time has passed */
	{ { { 5, 6, true } }, 16, 0, false, 10, 5 * S + 1 },
	{ { { 5, 6, true } }, 15, 0, false, 5, 5 * S + 1 },
	/* at the end all of it */
	{ { { 5, 6, false } }, 0, 0, true, 10, 5 * S },
};

START_TEST(is_due)
{
	struct due_trace trace = { 0 };
	struct due_clock clock = { .now = 100 * S };

	for (size_t i = 0; cases[_i].windows[i].end > 0; i++) {
		const struct landed *landed = &cases[_i].windows[i];
		const struct store_news_window window = { .level = S,
							  .begin = landed->begin * S,
							  .end = landed->end * S,
							  .is_complete = landed->is_complete };

		ck_assert(due_note(&trace, &window, &clock));
	}
	clock.now += cases[_i].idle_s * S;
	clock.wall = cases[_i].wall_s * S;
	ck_assert_uint_eq(due_until(&trace, LONG_S, &clock, cases[_i].is_end),
			  cases[_i].until_s * S);
	ck_assert_uint_eq(due_unseen(&trace), cases[_i].unseen_ns);
}
END_TEST

START_TEST(comes_too_late)
{
	const struct due_clock clock = { .now = S };
	struct due_trace trace = { .position = 10 * S };
	struct store_news_window window = { .level = S, .begin = 6 * S, .end = 7 * S };

	ck_assert(!due_note(&trace, &window, &clock)); /* its time is printed */
	ck_assert(!due_is_pending(&trace));
	window.begin = 10 * S;
	window.end = 11 * S;
	ck_assert(due_note(&trace, &window, &clock));
	ck_assert(due_is_pending(&trace));
	window.begin = 4 * S; /* it was there before */
	window.end = 5 * S;
	ck_assert(due_note(&trace, &window, &clock));
	ck_assert_uint_eq(trace.last_begin, 10 * S);
}
END_TEST

Suite *suite_due(void)
{
	Suite *suite = suite_create("due");
	TCase *tcase = tcase_create("due");

	tcase_add_loop_test(tcase, is_due, 0, sizeof(cases) / sizeof(cases[0]));
	tcase_add_test(tcase, comes_too_late);
	suite_add_tcase(suite, tcase);
	return suite;
}
