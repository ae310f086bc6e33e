/*
 * ordered: events of all threads in one order of time.
 */
#include <stdio.h>

#include "engine/merger-fixture.h"
#include "engine/merger/ordered.h"
#include "suites.h"

/* As on_record() does, of the newest thread with this tid. */
static void note(struct fixture *fixture, int32_t tid, uint64_t ts, uint64_t number)
{
	struct shard *shard = &fixture->merger->tables.shards[key_shard(tid)];

	shard_note_ordered(shard, shard_thread(shard, tid), ts, 0)->words[0] = number;
}

START_TEST(orders_by_time_over_shards)
{
	struct fixture fixture = { 0 };

	fixture_init(&fixture);
	note(&fixture, 1, 1100, 0);
	note(&fixture, 1, 1300, 0);
	note(&fixture, 2, 1000, 0);
	note(&fixture, 2, 1200, 0);
	note(&fixture, 63, 1150, 0);
	ordered_run(&fixture.merger->tables);
	expect_log("ordered 2 1000 0\nordered 1 1100 0\nordered 63 1150 0\nordered 2 1200 0\n"
		   "ordered 1 1300 0\n");
	ordered_run(&fixture.merger->tables); /* each once */
	expect_log("");
	fixture_fini(&fixture);
}
END_TEST

/* Times are sorted digit by digit: those that differ in one of them, and in all. */
START_TEST(orders_times_far_apart)
{
	const uint64_t base = UINT64_C(1700000000000000000);
	struct fixture fixture = { 0 };

	fixture_init(&fixture);
	for (unsigned int shift = 60; shift > 0; shift -= 12) {
		note(&fixture, (int32_t)shift, base + (UINT64_C(1) << shift), shift);
	}
	note(&fixture, 1, base, 1);
	note(&fixture, 2, base + 4095, 2);
	note(&fixture, 3, base + (UINT64_C(1) << 60) - 1, 3);
	ordered_run(&fixture.merger->tables);
	for (const char *line = fixture_log(), *end; *line; line = end + 1) {
		static const int tids[] = { 1, 2, 12, 24, 36, 48, 3, 60 };
		static size_t at;
		int tid = 0;

		end = strchr(line, '\n');
		ck_assert_int_eq(sscanf(line, "ordered %d", &tid), 1);
		ck_assert_int_eq(tid, tids[at % (sizeof(tids) / sizeof(tids[0]))]);
		at++;
	}
	fixture_fini(&fixture);
}
END_TEST

/* At one time by tid, then by thread of that tid, then as they were noted. */
START_TEST(breaks_ties_by_thread)
{
	struct fixture fixture = { 0 };
	struct shard *shard;

	fixture_init(&fixture);
	shard = &fixture.merger->tables.shards[key_shard(66)];
	note(&fixture, 66, 1000, 1); /* shard 2 is before shard 3 and 63 */
	note(&fixture, 66, 1000, 2);
	(void)shard_thread_fork(shard, 66, 1000);
	note(&fixture, 66, 1000, 3);
	note(&fixture, 63, 1000, 4);
	note(&fixture, 3, 1000, 5);
	note(&fixture, 3, 1000, 6);
	note(&fixture, 3, 999, 7);
	ordered_run(&fixture.merger->tables);
	expect_log("ordered 3 999 7\nordered 3 1000 5\nordered 3 1000 6\nordered 63 1000 4\n"
		   "ordered 66 1000 1\nordered 66 1000 2\nordered 66 1000 3\n");
	fixture_fini(&fixture);
}
END_TEST

/* After the shards of a round, and before those of the next one. */
START_TEST(comes_round_by_round)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker maker = maker_start(1000, 2500);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, UINT64_MAX, false);
	(void)maker_add(&maker, 2, 1200, RECORD_ORDER, 0);
	(void)maker_add(&maker, 1, 1300, RECORD_ORDER, 0);
	(void)maker_add(&maker, 63, 1100, RECORD_SAY, 0);
	maker_slice(&maker, 1, 1);
	(void)maker_add(&maker, 1, 2100, RECORD_ORDER, 0);
	(void)maker_add(&maker, 63, 2200, RECORD_SAY, 0);
	maker_slice(&maker, 2, 1);
	maker_take(&maker, stream);
	merger_finish(fixture.merger, 0);
	expect_log("rec 63 1100 0\nordered 2 1200 0\nordered 1 1300 0\n"
		   "rec 63 2200 0\nordered 1 2100 0\n");
	fixture_fini(&fixture);
}
END_TEST

Suite *suite_ordered(void)
{
	Suite *suite = suite_create("ordered");
	TCase *tcase = tcase_create("ordered");

	tcase_add_test(tcase, orders_by_time_over_shards);
	tcase_add_test(tcase, orders_times_far_apart);
	tcase_add_test(tcase, breaks_ties_by_thread);
	tcase_add_test(tcase, comes_round_by_round);
	suite_add_tcase(suite, tcase);
	return suite;
}
