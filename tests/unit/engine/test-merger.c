/*
 * merger: streams, partials in sequence, the watermark.
 */
#include "engine/merger-fixture.h"
#include "engine/merger/window.h"
#include "suites.h"

/* Partials come in any order; they count in that of their sequence numbers. */
START_TEST(takes_in_sequence)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	struct maker second = maker_start(1200, 1300), first = maker_start(1100, 1200);

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, UINT64_MAX, false);
	(void)maker_add(&second, 7, 1250, RECORD_SAY, 2);
	maker_slice(&second, 1, 20);
	(void)maker_add(&first, 7, 1150, RECORD_SAY, 1);
	maker_slice(&first, 1, 10);

	merger_take(stream, 1, maker_done(&second));
	ck_assert_uint_eq(merger_stream_submitted(stream), 0);
	ck_assert_uint_eq(merger_account(fixture.merger)->events, 0);
	ck_assert_uint_eq(merger_stream_until(stream), 0);
	ck_assert_uint_gt(merger_held_bytes(fixture.merger), 0);
	merger_take(stream, 0, maker_done(&first));
	ck_assert_uint_eq(merger_stream_submitted(stream), 2);
	ck_assert_uint_eq(merger_account(fixture.merger)->events, 30);
	ck_assert_uint_eq(merger_stream_until(stream), 1300);

	merger_stream_end(stream, 2);
	merger_finish(fixture.merger, 0);
	expect_log("rec 7 1150 1\nrec 7 1250 2\n");
	ck_assert_uint_eq(fixture_last(&fixture)->events, 30);
	ck_assert_uint_eq(merger_held_bytes(fixture.merger), 0);
	fixture_fini(&fixture);
}
END_TEST

/* It is the least time that a stream is known to, of those that count. */
START_TEST(watermark_is_the_least)
{
	struct fixture fixture = { 0 };
	struct merger_stream *a, *b;

	fixture_init(&fixture);
	ck_assert_uint_eq(merger_watermark(fixture.merger), UINT64_MAX);
	a = fixture_stream(&fixture, 0, UINT64_MAX, false);
	ck_assert_uint_eq(merger_watermark(fixture.merger), 0);
	fixture_take(a, 1000, 3000, 1);
	ck_assert_uint_eq(merger_watermark(fixture.merger), 3000);
	b = fixture_stream(&fixture, 1, UINT64_MAX, false);
	ck_assert_uint_eq(merger_watermark(fixture.merger), 0);
	merger_stream_known(b, 0, 2000);
	ck_assert_uint_eq(merger_watermark(fixture.merger), 2000);
	merger_stream_known(b, 0, 1500); /* never back */
	ck_assert_uint_eq(merger_watermark(fixture.merger), 2000);
	merger_stream_exclude(b, true);
	ck_assert_uint_eq(merger_watermark(fixture.merger), 3000);
	merger_stream_exclude(b, false);
	ck_assert_uint_eq(merger_watermark(fixture.merger), 2000);
	merger_stream_end(b, 0);
	ck_assert_uint_eq(merger_watermark(fixture.merger), 3000);
	merger_stream_end(a, 1);
	ck_assert_uint_eq(merger_watermark(fixture.merger), UINT64_MAX);
	fixture_fini(&fixture);
}
END_TEST

/* What is said of a stream's future waits for the chunks before. */
START_TEST(future_waits_for_chunks)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, UINT64_MAX, false);
	merger_stream_known(stream, 1, 5000);
	merger_stream_end(stream, 2);
	ck_assert_uint_eq(merger_watermark(fixture.merger), 0);
	fixture_take(stream, 1000, 1100, 1);
	ck_assert_uint_eq(merger_watermark(fixture.merger), 5000);
	fixture_take(stream, 1100, 1200, 1);
	ck_assert_uint_eq(merger_watermark(fixture.merger), UINT64_MAX);
	fixture_fini(&fixture);
}
END_TEST

/* Of the streams of a CPU that have switches, the one of the lowest class owns it. */
START_TEST(lowest_class_owns_cpu)
{
	struct fixture fixture = { 0 };
	struct merger_stream *none, *high, *low, *middle;

	fixture_init(&fixture);
	none = fixture_stream(&fixture, 0, 3, false);
	high = fixture_stream(&fixture, 5, 3, true);
	ck_assert(!none->owns_cpu && high->owns_cpu);
	low = fixture_stream(&fixture, 1, 3, true);
	ck_assert(!high->owns_cpu && low->owns_cpu);
	middle = fixture_stream(&fixture, 2, 3, true);
	ck_assert(low->owns_cpu && !middle->owns_cpu);
	ck_assert_uint_eq(fixture.merger->initial_count, 1); /* one CPU waits, once */
	ck_assert(merger_stream_waits(low) && !merger_stream_waits(high));
	merger_check(fixture.merger);
	fixture_fini(&fixture);
}
END_TEST

/* Memory of a partial goes as soon as a round has used it up, before its window closes. */
START_TEST(frees_what_is_used)
{
	struct fixture fixture = { 0 };
	struct merger_stream *stream;
	size_t both;

	fixture_init(&fixture);
	stream = fixture_stream(&fixture, 0, UINT64_MAX, false);
	fixture_take(stream, 1000, 1100, 1);
	fixture_take(stream, 1100, 1200, 1);
	both = merger_held_bytes(fixture.merger);
	merger_advance(fixture.merger, ROOM_ENOUGH, 0); /* not worth a round */
	ck_assert_uint_eq(merger_held_bytes(fixture.merger), both);
	merger_advance(fixture.merger, ROOM_NONE, 0);
	ck_assert_uint_eq(merger_held_bytes(fixture.merger), 0);
	ck_assert_uint_eq(fixture.reports.count, 0);
	merger_finish(fixture.merger, 0);
	ck_assert_uint_eq(fixture_last(&fixture)->events, 2);
	fixture_fini(&fixture);
}
END_TEST

/* What a checkpoint may say that cannot be. */
START_TEST(finds_what_is_unsound)
{
	struct fixture fixture = { 0 };
	struct merger *merger;
	struct merger_stream *stream;
	struct cpu *cpu;
	struct maker early = maker_start(1200, 1300), first = maker_start(1000, 1100);

	fixture_init(&fixture);
	merger = fixture.merger;
	stream = fixture_stream(&fixture, 0, 0, true);
	cpu = stream->cpu;
	maker_initial(&first, 1050, 5, NULL);
	maker_slice(&first, 1, 1);
	maker_take(&first, stream);
	merger_stream_known(stream, 1, window_initial_limit(1100));
	merger_advance(merger, ROOM_NONE, 0); /* starts, and stitches */
	maker_slice(&early, 1, 1);
	merger_take(stream, 2, maker_done(&early));
	ck_assert(merger_is_sound(merger));
#define UNSOUND(field, wrong)                                                                      \
	do {                                                                                       \
		__typeof__(field) right = field;                                                   \
		field = wrong;                                                                     \
		ck_assert_msg(!merger_is_sound(merger), #field);                                   \
		field = right;                                                                     \
		ck_assert(merger_is_sound(merger));                                                \
	} while (0)
	UNSOUND(stream->early.at[0].seq, 1);
	UNSOUND(stream->early.at[0].partial->initial, INITIAL_GAP); /* of a group beyond all */
	UNSOUND(stream->ready.count, 2);
	UNSOUND(merger->close_at, merger->window_end + 1);
	UNSOUND(merger->close_at, merger->window_begin - 1);
	UNSOUND(merger->closed_end, merger->window_begin + 1);
	UNSOUND(merger->last_bound, merger->window_end + 1);
	*vec_push(&merger->renames) = (struct rename){ .ts = 1500, .from = 1, .to = 2 };
	*vec_push(&merger->renames) = (struct rename){ .ts = 1600, .from = 2, .to = 3 };
	UNSOUND(merger->renames.at[1].ts, 1400);
	merger->renames.count = 0;
	*vec_push(&cpu->segments) = (struct segment){ .begin = 10, .end = 20 };
	*vec_push(&cpu->segments) = (struct segment){ .begin = 20, .end = 30 };
	UNSOUND(cpu->segments.at[1].begin, 19);
	UNSOUND(cpu->segments.at[1].end, 19);
	UNSOUND(cpu->since, 29);
	cpu->segments.count = 0;
	cpu->running.count = 0;
	*vec_push(&cpu->running) = (struct running_change){ .ts = 10 };
	*vec_push(&cpu->running) = (struct running_change){ .ts = 20 };
	UNSOUND(cpu->running.at[1].ts, 9);
	cpu->running.count = 0;
#undef UNSOUND
	fixture_fini(&fixture);
}
END_TEST

Suite *suite_merger(void)
{
	Suite *suite = suite_create("merger");
	TCase *tcase = tcase_create("merger");

	tcase_add_test(tcase, takes_in_sequence);
	tcase_add_test(tcase, watermark_is_the_least);
	tcase_add_test(tcase, future_waits_for_chunks);
	tcase_add_test(tcase, lowest_class_owns_cpu);
	tcase_add_test(tcase, frees_what_is_used);
	tcase_add_test(tcase, finds_what_is_unsound);
	suite_add_tcase(suite, tcase);
	return suite;
}
