/*
 * turn: how long a turn of the loop may last.
 */
#include <poll.h>

#include "base/limits.h"
#include "base/now.h"
#include "live/session/turn.h"
#include "suites.h"

static void wait_for_ns(uint64_t ns)
{
	uint64_t end = now_monotonic_ns() + ns;

	while (now_monotonic_ns() < end) {
		(void)poll(NULL, 0, 1);
	}
}

/* Each turn: the loop may have waited for long before anything came. */
START_TEST(begins_with_the_first_question)
{
	for (int i = 0; i < 2; i++) {
		turn_begin();
		wait_for_ns(2 * TURN_NS);
		ck_assert(!turn_is_spent());
		wait_for_ns(TURN_NS);
		ck_assert(turn_is_spent());
		ck_assert(turn_is_spent());
		turn_end();
	}
}
END_TEST

START_TEST(has_no_limit_where_none_is_counted)
{
	for (int i = 0; i < 2; i++) {
		ck_assert(!turn_is_spent());
		wait_for_ns(2 * TURN_NS);
	}
	turn_begin();
	ck_assert(!turn_is_spent()); /* that was not of this turn */
	turn_end();
	ck_assert(!turn_is_spent());
	ck_assert_uint_gt(turn_longest_ns(), 0);
}
END_TEST

Suite *suite_turn(void)
{
	Suite *suite = suite_create("turn");
	TCase *tcase = tcase_create("turn");

	tcase_add_test(tcase, begins_with_the_first_question);
	tcase_add_test(tcase, has_no_limit_where_none_is_counted);
	suite_add_tcase(suite, tcase);
	return suite;
}
