/*
 * Longer windows that are put together while short ones are stored.
 */
#include "base/account.h"
#include "base/limits.h"
#include "base/units.h"
#include "output/made-report.h"
#include "store/rows/longer.h"
#include "suites.h"

#define HOUR_NS (3600 * NS_PER_S)

/* Adds [@begin, @end) s of a trace; the long window that it completes. */
static struct store_item *add(struct longer *longer, char *session, uint64_t begin, uint64_t end)
{
	const struct trace_identity identity = { .session = session };
	struct store_item *item, *whole;
	struct made made;

	made_init(&made, 0, begin * NS_PER_S, end * NS_PER_S);
	made.report.complete = begin != 301; /* one that is not */
	item = store_item_window(&identity, &made.report);
	whole = longer_add(longer, item);
	store_item_free(item);
	made_fini(&made);
	return whole;
}

START_TEST(completes_slots)
{
	char a[] = "a", b[] = "b";
	struct longer *longer = longer_new(60 * NS_PER_S, 10, NULL);
	struct store_item *whole;

	ck_assert_ptr_null(add(longer, a, 60, 90));
	ck_assert_ptr_null(add(longer, b, 60, 119));
	whole = add(longer, a, 90, 120);
	ck_assert_ptr_nonnull(whole);
	ck_assert_uint_eq(whole->report.begin, 60 * NS_PER_S);
	ck_assert_uint_eq(whole->report.end, 120 * NS_PER_S);
	ck_assert(whole->is_extra);
	store_item_free(whole);
	ck_assert_ptr_null(add(longer, b, 119, 121)); /* it is of no slot */
	ck_assert_ptr_null(add(longer, b, 121, 180)); /* nor is that, though it ends with one */
	ck_assert_ptr_null(add(longer, a, 150, 180)); /* the first half is missing */
	/* As complete as what it is made of. */
	ck_assert_ptr_null(add(longer, a, 300, 301));
	whole = add(longer, a, 301, 360);
	ck_assert_ptr_nonnull(whole);
	ck_assert(!whole->report.complete);
	ck_assert_uint_eq(whole->report.begin, 300 * NS_PER_S);
	store_item_free(whole);
	longer_free(longer);
}
END_TEST

/* A trace that ended within a slot holds nothing for as long as the run lasts. */
START_TEST(forgets_traces_that_ended)
{
	char a[] = "a", b[] = "b", c[] = "c";
	struct longer *longer = longer_new(60 * NS_PER_S, 10, NULL);
	struct store_item *whole;

	ck_assert_ptr_null(add(longer, a, 60, 90));
	ck_assert_ptr_null(add(longer, b, 60 + 1800, 90 + 1800));
	whole = add(longer, a, 90, 120); /* half an hour behind */
	ck_assert_ptr_nonnull(whole);
	store_item_free(whole);
	ck_assert_ptr_null(add(longer, a, 120, 150));
	ck_assert_ptr_null(add(longer, c, 2 * HOUR_NS / NS_PER_S, 2 * HOUR_NS / NS_PER_S + 30));
	ck_assert_ptr_null(add(longer, a, 150, 180)); /* it was dropped */
	ck_assert_ptr_null(add(longer, a, 180, 210)); /* and has a slot again */
	whole = add(longer, a, 210, 240);
	ck_assert_ptr_nonnull(whole);
	store_item_free(whole);
	longer_free(longer);
}
END_TEST

/* Where rows have no memory a slot is given up, the next one is not. */
START_TEST(gives_way)
{
	char a[] = "a", b[] = "b";
	struct account account;
	struct longer *longer;
	struct store_item *whole;

	account_init(&account, ACCOUNT_BYTES_MIN, 0, true);
	longer = longer_new(60 * NS_PER_S, 10, &account);
	ck_assert_ptr_null(add(longer, a, 60, 90));
	ck_assert_ptr_null(add(longer, b, 60, 90));
	account_take(&account, ACCOUNT_ROWS, account.rows + 1);
	ck_assert_ptr_null(add(longer, a, 90, 120));
	ck_assert_uint_eq(longer_given_up(longer), 1);
	account_give(&account, ACCOUNT_ROWS, account.rows + 1);
	whole = add(longer, b, 90, 120);
	ck_assert_ptr_nonnull(whole);
	store_item_free(whole);
	ck_assert_ptr_null(add(longer, a, 120, 150));
	whole = add(longer, a, 150, 180);
	ck_assert_ptr_nonnull(whole);
	store_item_free(whole);
	ck_assert_uint_eq(longer_given_up(longer), 1);
	longer_free(longer);
	ck_assert_uint_eq(account_of(&account, ACCOUNT_ROWS), 0);
}
END_TEST

Suite *suite_longer(void)
{
	Suite *suite = suite_create("longer");
	TCase *tcase = tcase_create("longer");

	tcase_add_test(tcase, completes_slots);
	tcase_add_test(tcase, forgets_traces_that_ended);
	tcase_add_test(tcase, gives_way);
	suite_add_tcase(suite, tcase);
	return suite;
}
