/*
 * pairs: rows of pairs are bounded by those that have most.
 */
#include "base/limits.h"
#include "engine/tables/pairs.h"
#include "suites.h"

#define MEMBERS 256

static const struct table table = { .columns = { { .key = "ns" },
						 { .key = "most", .kind = COLUMN_MAX } } };

/* @count rows of different members, in no order of what they have: 1 to @count. */
static void fill(struct pairs *pairs, uint32_t count)
{
	while (pairs->members.count < MEMBERS) {
		*vec_push(&pairs->members) =
			(struct pair_member){ .uses = 1, /* keeps it */
					      .serial = PAIR_FIRST + pairs->made++ };
	}
	for (uint32_t i = 0; i < count; i++) {
		uint32_t row = pairs_row(pairs, PAIR_FIRST + i / MEMBERS, PAIR_FIRST + i % MEMBERS);
		uint64_t value = 1 + (uint64_t)i * 7919 % count;

		pairs->rows.at[row].window[0] = value / 2;
		pairs->rows.at[row].total[0] = value - value / 2;
		pairs->rows.at[row].total[1] = value;
	}
}

START_TEST(keeps_those_with_most)
{
	const uint32_t count = PAIRS_MAX + 4096, kept = PAIRS_MAX / 2;
	struct pairs pairs = { 0 };
	struct columns columns = { 0 };
	uint64_t sum = 0, others = 0, most = 0;

	columns_append(&columns, &table);
	fill(&pairs, count);
	pairs_fold(&pairs, &columns);
	ck_assert_uint_eq(pairs.rows.count, kept + 1);
	ck_assert(pairs_are_sound(&pairs));
	for (size_t i = 0; i < pairs.rows.count; i++) {
		const struct pair_row *row = &pairs.rows.at[i];
		uint64_t value = row->window[0] + row->total[0];

		sum += value;
		if (row->of == PAIR_OTHERS) {
			others = value;
			most = row->total[1];
		} else {
			ck_assert_uint_gt(value, count - kept);
			ck_assert_uint_eq(row->total[1], value);
			ck_assert_uint_eq(pairs_row(&pairs, row->of, row->by), i);
		}
	}
	ck_assert_uint_eq(sum, (uint64_t)count * (count + 1) / 2);
	ck_assert_uint_eq(others, (uint64_t)(count - kept) * (count - kept + 1) / 2);
	ck_assert_uint_eq(most, count - kept);
	pairs_fold(&pairs, &columns); /* there are few now */
	ck_assert_uint_eq(pairs.rows.count, kept + 1);
	columns_fini(&columns);
	pairs_fini(&pairs);
}
END_TEST

Suite *suite_pairs(void)
{
	Suite *suite = suite_create("pairs");
	TCase *tcase = tcase_create("pairs");

	tcase_add_test(tcase, keeps_those_with_most);
	suite_add_tcase(suite, tcase);
	return suite;
}
