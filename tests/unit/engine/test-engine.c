/*
 * engine: what only shows when the world changes under it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/contract/untrusted.h"
#include "engine/engine-fixture.h"
#include "engine/exchange/partial-codec.h"
#include "engine/stream.h"
#include "engine/trace.h"
#include "engine/worker/guard.h"
#include "history/retained.h"
#include "suites.h"

/* A mapped file that is cut: its pages are gone, and that is all that happens. */
START_TEST(survives_cut_file)
{
	const long page = sysconf(_SC_PAGESIZE);
	char path[] = "/tmp/sillage-unit-XXXXXX";
	int fd = mkstemp(path);
	volatile unsigned int caught = 0, read = 0;
	volatile const uint8_t *bytes;
	struct guard guard;

	ck_assert_int_ge(fd, 0);
	(void)unlink(path);
	ck_assert_int_eq(ftruncate(fd, 2 * page), 0);
	bytes = mmap(NULL, (size_t)(2 * page), PROT_READ, MAP_SHARED, fd, 0);
	ck_assert_ptr_ne((const void *)bytes, MAP_FAILED);
	for (unsigned int i = 0; i < 2; i++) {
		if (sigsetjmp(guard.jump, 0) == 0) {
			guard_enter(&guard, (const void *)bytes, (size_t)(2 * page));
			read += bytes[0] == 0;
			read += bytes[page] == 0; /* the second time, there is no such page */
		} else {
			caught++;
		}
		guard_leave();
		ck_assert_int_eq(ftruncate(fd, page), 0);
	}
	ck_assert_uint_eq(read, 3);
	ck_assert_uint_eq(caught, 1);
	(void)munmap((void *)bytes, (size_t)(2 * page));
	(void)close(fd);
}
END_TEST

/* ---- partials as bytes ---- */

/* All analyses, so that each record has one that it may be of. */
static void set_up(struct setup *setup)
{
	*setup = (struct setup){ .interval_ns = 1000,
				 .wants_windows = true,
				 .range_end = UINT64_MAX };
	for (size_t i = 0; analyses[i]; i++) {
		setup->analyses[setup->analysis_count++] = analyses[i];
	}
	setup_init(setup, NULL, 0);
}

/* One slice with one group, that has one record of an analysis and one item. */
static struct partial *one_of_each(const struct setup *setup, const char *analysis,
				   unsigned int table)
{
	struct partial *partial = partial_new();
	struct slice *slice = vec_push(&partial->slices);
	uint8_t owner = 0;

	while (strcmp(setup->analyses[owner]->name, analysis) != 0) {
		owner++;
	}
	*slice =
		(struct slice){ .window = 5, .tally_count = 1, .group_count = 1, .keyed_count = 1 };
	*vec_push(&partial->tallies) = (struct tally){ .class_index = 1, .count = 2 };
	(void)partial_add_group(partial, 7);
	*vec_push(&partial->made) = partial_add_record(partial, 0, 5001, RECORD_OWN);
	partial->records.at[0].owner = owner;
	for (unsigned int i = 0; i < 16; i++) {
		*vec_push(&partial->numbers) = 0;
	}
	*vec_push(&partial->keyed_rows) =
		(struct slice_row){ .analysis = owner, .table = (uint8_t)table };
	partial->begin = partial->covered_from = 5000;
	partial->end = partial->covered_until = 5100;
	partial->records_until = 5100;
	return partial;
}

static int read_again(const struct setup *setup, struct partial *partial)
{
	const struct partial_rules rules = { .setup = setup, .classes = 2 };
	struct codec_out out = { 0 }, same = { 0 };
	struct partial *again = partial_new();
	struct codec codec = { .out = &out };
	struct err err;
	int r;

	ck_assert_int_eq(partial_codec(&codec, partial, NULL, &err), 0);
	for (size_t cut = 0; cut < out.bytes.count; cut++) {
		struct partial *less = partial_new();

		codec = (struct codec){ .at = out.bytes.at, .left = cut };
		ck_assert_int_eq(partial_codec(&codec, less, &rules, &err), -EINVAL);
		partial_free(less);
	}
	codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
	r = partial_codec(&codec, again, &rules, &err);
	ck_assert(r == -EINVAL || (r == 0 && codec.left == 0));
	if (r == 0) {
		codec = (struct codec){ .out = &same };
		ck_assert_int_eq(partial_codec(&codec, again, NULL, &err), 0);
		ck_assert_uint_eq(same.bytes.count, out.bytes.count);
		ck_assert_mem_eq(same.bytes.at, out.bytes.at, out.bytes.count);
	}
	vec_fini(&same.bytes);
	partial_free(again);
	vec_fini(&out.bytes);
	return r;
}

/* What the merger would use as an index is refused where it is none. */
START_TEST(refuses_wrong_partials)
{
	enum { OF_MEMORY_BY_ORDER = 1 };
	struct setup setup;
	struct partial *good, *bad;

	set_up(&setup);
	good = one_of_each(&setup, "memory", OF_MEMORY_BY_ORDER);
	ck_assert_int_eq(read_again(&setup, good), 0);
	partial_free(good);
#define WRONG(change)                                                                              \
	do {                                                                                       \
		bad = one_of_each(&setup, "memory", OF_MEMORY_BY_ORDER);                           \
		change;                                                                            \
		ck_assert_msg(read_again(&setup, bad) == -EINVAL, #change);                        \
		partial_free(bad);                                                                 \
	} while (0)
	WRONG(bad->initial = (enum initial_kind)7);
	WRONG(bad->tail = RUN_KINDS);
	WRONG(bad->covered_from = 4999);
	WRONG(bad->covered_until = 4999);
	WRONG(bad->last_ts = 1);
	WRONG(bad->events = 2);
	WRONG(bad->events = 2; bad->last_ts = 6000); /* of window 6 */
	WRONG(bad->initial = INITIAL_GAP; bad->initial_group = 7);
	WRONG(bad->initial = INITIAL_GAP; bad->initial_group = 0); /* which is somebody's */
	WRONG(bad->slices.at[0].window = -2);
	WRONG(bad->slices.at[0].window = WINDOW_BEFORE); /* nothing is before the range */
	WRONG(*vec_push(&bad->slices) = bad->slices.at[0]);
	WRONG(bad->slices.at[0].tally_count = 2);
	WRONG(bad->slices.at[0].tally_count = 0; bad->slices.at[0].events = 0; bad->events = 0);
	WRONG(bad->slices.at[0].keyed_count = 0);
	WRONG(bad->slices.at[0].group_count = 0);
	WRONG(bad->slices.at[0].group_count = 2);
	WRONG(bad->slices.at[0].keyed_count = 2);
	WRONG(bad->tallies.at[0].class_index = 2);
	WRONG(bad->groups.at[0].key = KEY_CPU(3));
	WRONG(bad->groups.at[0].key = INT64_MAX);
	WRONG(bad->records.at[0].group = 1);
	WRONG(bad->records.at[0].owner = (uint8_t)setup.analysis_count);
	WRONG(bad->records.at[0].owner = 0); /* count has no records */
	WRONG(bad->records.at[0].kind = UINT8_MAX);
	WRONG(bad->records.at[0].arg64 = 15); /* numbers end before all that it has */
	WRONG(bad->records.at[0].arg64 = UINT64_MAX);
	WRONG(*vec_push(&bad->currents) = (struct current){ .number = 1 });
	WRONG(bad->depths[WAKE_HARD].least = -1);
	WRONG(bad->depths[WAKE_SOFT].change = 1);
	WRONG(bad->keyed_rows.at[0].numbers = 16);
	WRONG(bad->keyed_rows.at[0].table = 0); /* the totals */
	WRONG(bad->keyed_rows.at[0].analysis = UINT8_MAX);
	WRONG(memset(bad->keyed_rows.at[0].key.name, 'x', ROW_KEY_NAME_BYTES));
	WRONG(*vec_push(&bad->segments) = ((struct segment){ .begin = 2, .end = 1 }));
	WRONG(*vec_push(&bad->segments) = ((struct segment){ .kind = RUN_KINDS }));
	WRONG(*vec_push(&bad->renames) = ((struct rename){ .from = 4, .to = 4 }));
#undef WRONG
	setup_fini(&setup);
}
END_TEST

/* ---- defaults of an analysis ---- */

enum { OWN_WORDS = RECORD_OWN, OWN_NUMBER, OWN_TEXT };

static void ignore_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
			  struct thread *thread)
{
}

static const struct analysis shaped = {
	.on_record = ignore_record,
	.record_words = (const uint8_t[RECORD_KINDS]){ [OWN_WORDS] = 2, [OWN_TEXT] = RECORD_TEXT },
};
static const struct analysis unshaped = { .on_record = ignore_record };
static const struct analysis without_records = { 0 };

/*
 * Goal    A record from a file is accepted only with the words that it has to have.
 * Method  One row for each way in which a record can be wrong.
 */
START_TEST(accepts_by_words)
{
	static const struct row {
		const struct analysis *analysis;
		unsigned int kind;
		uint64_t count;
		bool has_current, is_accepted;
	} rows[] = {
		{ &shaped, OWN_WORDS, 2, false, true },
		{ &shaped, OWN_WORDS, 1, false, false },
		{ &shaped, OWN_WORDS, 2, true, true }, /* arg32 is no index */
		{ &shaped, OWN_NUMBER, 0, false, true },
		{ &shaped, OWN_TEXT, ROW_KEY_NAME_BYTES / 8, false, true },
		{ &shaped, OWN_TEXT, ROW_KEY_NAME_BYTES / 8 - 1, false, false },
		{ &shaped, RECORD_KINDS, 0, false, false },
		{ &unshaped, RECORD_OWN, 0, false, true },
		{ &unshaped, RECORD_OWN, 0, true, true },
		{ &without_records, RECORD_OWN, 0, false, false },
	};
	static const uint64_t numbers[16];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct record record = { .kind = (uint8_t)rows[i].kind };
		const struct untrusted_record untrusted = { .record = &record,
							    .numbers = numbers,
							    .count = rows[i].count,
							    .has_current = rows[i].has_current };

		ck_assert_msg(analysis_accepts(rows[i].analysis, &untrusted) == rows[i].is_accepted,
			      "row %zu", i);
	}
}
END_TEST

struct described {
	uint64_t u64;
	int64_t i64;
	uint32_t u32;
	int32_t i32;
	uint16_t u16;
	bool is_set;
};

static void described_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct described *described = state;

	codec_each(checkpoint->codec, &described->u64, &described->i64, &described->u32,
		   &described->i32, &described->u16, &described->is_set);
}

/* A state is written and read again by a function, or as words without one. */
START_TEST(states_by_description)
{
	const struct analysis by_fields = { .thread_state_size = sizeof(struct described),
					    .on_checkpoint = described_checkpoint };
	const struct analysis by_words = { .thread_state_size = 2 * sizeof(uint64_t) };
	struct described state = { UINT64_MAX - 1, INT64_MIN, 7, -7, 65535, true }, again = { 0 };
	uint64_t words[2] = { 1, UINT64_MAX }, words_again[2] = { 0 };
	struct codec_out out = { 0 };
	struct codec codec = { .out = &out };
	const struct checkpoint checkpoint = { .codec = &codec };

	analysis_checkpoint(&by_fields, &checkpoint, &state);
	analysis_checkpoint(&by_words, &checkpoint, words);
	codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
	analysis_checkpoint(&by_fields, &checkpoint, &again);
	analysis_checkpoint(&by_words, &checkpoint, words_again);
	ck_assert_uint_eq(codec.left, 0);
	ck_assert_uint_eq(again.u64, state.u64);
	ck_assert_int_eq(again.i64, state.i64);
	ck_assert_uint_eq(again.u32, state.u32);
	ck_assert_int_eq(again.i32, state.i32);
	ck_assert_uint_eq(again.u16, state.u16);
	ck_assert(again.is_set);
	ck_assert_mem_eq(words_again, words, sizeof(words));
	vec_fini(&out.bytes);
}
END_TEST

/* ---- traces that are one ---- */

static const char program[] =
	"/* CTF 1.8 */\n"
	"trace { major = 1; minor = 8; byte_order = le;\n"
	"	packet.header := struct { integer { size = 8; align = 8; } stream_id; }; };\n"
	"env { domain = \"ust\"; };\nstream { id = 0; };\n"
	"event { name = \"p:a\"; id = 0; stream_id = 0; fields := struct {\n"
	"	integer { size = 8; align = 8; } n; }; };\n";
static const char program_grows[] =
	"event { name = \"p:b\"; id = 1; stream_id = 0; fields := struct {\n"
	"	integer { size = 8; align = 8; } n; }; };\n";
static const char program_breaks[] =
	"event { name = \"p:c\"; id = 2; stream_id = 9; fields := struct {\n"
	"	integer { size = 8; align = 8; } n; }; };\n";

static int feed_part(struct engine_fixture *fixture, uint32_t part, const char *text, size_t len)
{
	struct err err;

	return trace_part_metadata(fixture->trace, part, text, len, false, &err);
}

static void check_classes(const struct engine_fixture *fixture, const char *const *names)
{
	const struct plan *plan = trace_plan(fixture->trace);
	uint32_t count = 0;

	for (; names[count]; count++) {
		ck_assert_uint_lt(count, plan->class_count);
		ck_assert_str_eq(plan->classes[count]->class->name, names[count]);
	}
	ck_assert_uint_eq(plan->class_count, count);
}

/*
 * Goal    A part that comes later, or grows, leaves the classes of the others where they are, and
 *         their packets go on; its own metadata that comes again in any pieces changes nothing.
 * Method  A kernel's trace with packets before and after; a program's, cut anywhere.
 */
START_TEST(parts_come_later_and_again)
{
	struct engine_fixture fixture = { 0 };
	const struct plan *plan;
	struct stream *stream;
	uint32_t part;
	struct err err;
	size_t cut = (size_t)_i * 40 + 1;

	engine_fixture_init(&fixture);
	trace_set_live(fixture.trace);
	trace_expect_parts(fixture.trace);
	engine_fixture_metadata(&fixture);
	stream = stream_new(fixture.trace, 0, "a");
	engine_fixture_packet(&fixture, stream, &(struct made_packet){ .begin = 0, .end = 1000 });
	part = trace_add_part(fixture.trace);
	plan = trace_plan(fixture.trace);
	ck_assert_int_eq(feed_part(&fixture, part, program, 20), 0);
	ck_assert_ptr_null(trace_part_plan(fixture.trace, part));
	ck_assert_ptr_nonnull(trace_part_plan(fixture.trace, 0));
	ck_assert_int_eq(feed_part(&fixture, part, program + 20, strlen(program) - 20), 0);
	ck_assert_ptr_nonnull(trace_part_plan(fixture.trace, part));
	engine_fixture_metadata(&fixture);
	check_classes(&fixture, (const char *[]){ "sched_switch", "p:a", "sched_waking", NULL });
	plan = trace_plan(fixture.trace);
	trace_metadata_restart(fixture.trace, part);
	ck_assert_ptr_eq(trace_plan(fixture.trace), plan);
	ck_assert_int_eq(feed_part(&fixture, part, program, cut), 0);
	ck_assert_int_eq(feed_part(&fixture, part, program + cut, strlen(program) - cut), 0);
	ck_assert(trace_metadata_is_whole(fixture.trace, part, &err));
	ck_assert_int_eq(feed_part(&fixture, part, program_grows, strlen(program_grows)), 0);
	check_classes(&fixture,
		      (const char *[]){ "sched_switch", "p:a", "sched_waking", "p:b", NULL });
	engine_fixture_packet(&fixture, stream,
			      &(struct made_packet){ .begin = 1000, .end = 2000, .seq = 1 });
	trace_finish(fixture.trace, 0);
	ck_assert_uint_eq(trace_account(fixture.trace)->events, 20);
	trace_free(fixture.trace);
	engine_fixture_fini(&fixture);
}
END_TEST

/* What of a part cannot be read, or is not what it was, is an error of that part; others go on. */
START_TEST(parts_fail_alone)
{
	struct engine_fixture fixture = { 0 };
	uint32_t part;

	engine_fixture_init(&fixture);
	trace_set_live(fixture.trace);
	trace_expect_parts(fixture.trace);
	engine_fixture_metadata(&fixture);
	part = trace_add_part(fixture.trace);
	ck_assert_int_eq(feed_part(&fixture, part, program, strlen(program)), 0);
	if (_i == 0) {
		ck_assert_int_eq(feed_part(&fixture, part, program_breaks, strlen(program_breaks)),
				 -EINVAL);
	} else {
		trace_metadata_restart(fixture.trace, part);
		ck_assert_int_eq(feed_part(&fixture, part, program, 30), 0);
		ck_assert_int_eq(feed_part(&fixture, part, program, 30), -EINVAL);
	}
	engine_fixture_metadata(&fixture);
	check_classes(&fixture, (const char *[]){ "sched_switch", "p:a", "sched_waking", NULL });
	trace_finish(fixture.trace, 0);
	trace_free(fixture.trace);
	engine_fixture_fini(&fixture);
}
END_TEST

/* One whose metadata could not be read does not hide those after it, and stays away. */
START_TEST(parts_after_one_that_failed)
{
	struct engine_fixture fixture = { 0 };
	uint32_t failed, part;
	uint64_t lasts;

	engine_fixture_init(&fixture);
	trace_set_live(fixture.trace);
	trace_expect_parts(fixture.trace);
	engine_fixture_metadata(&fixture);
	failed = trace_add_part(fixture.trace);
	if (_i == 0) {
		ck_assert_int_eq(feed_part(&fixture, failed, "/* CTF 1.8 */ trace };", 22),
				 -EINVAL);
	} else {
		lasts = fixture.engine->account->lasts;
		fixture.engine->account->lasts = 0;
		ck_assert_int_eq(feed_part(&fixture, failed, program, strlen(program)), -ENOMEM);
		fixture.engine->account->lasts = lasts;
	}
	part = trace_add_part(fixture.trace);
	ck_assert_int_eq(feed_part(&fixture, part, program, strlen(program)), 0);
	ck_assert_ptr_nonnull(trace_part_plan(fixture.trace, part));
	check_classes(&fixture, (const char *[]){ "sched_switch", "p:a", NULL });
	ck_assert_ptr_null(trace_part_plan(fixture.trace, failed));
	trace_metadata_restart(fixture.trace, failed);
	ck_assert_int_eq(feed_part(&fixture, failed, program, strlen(program)), -EINVAL);
	check_classes(&fixture, (const char *[]){ "sched_switch", "p:a", NULL });
	trace_finish(fixture.trace, 0);
	trace_free(fixture.trace);
	engine_fixture_fini(&fixture);
}
END_TEST

static unsigned int retained_packets;

static void count_retained(void *user, const char *stream, struct retained *retained)
{
	ck_assert_ptr_eq(user, &retained_packets);
	ck_assert_str_eq(stream, "part");
	retained_packets++;
	retained_unref(retained);
}

/*
 * Goal    A part's user gets all that came of it until it is settled, and nothing later: neither
 *         does the trace's, whose packets they are not.
 * Method  Chunks that are at workers, and one that fills.
 */
START_TEST(part_ends_before_its_trace)
{
	struct engine_fixture fixture = {
		.config = { .jobs = 2, .chunk_bytes = 2000, .on_retained = count_retained }
	};
	struct stream *stream;
	uint32_t part;

	engine_fixture_init(&fixture);
	trace_set_live(fixture.trace);
	trace_expect_parts(fixture.trace);
	engine_fixture_metadata(&fixture);
	part = engine_fixture_part(&fixture);
	trace_set_part_user(fixture.trace, part, &retained_packets);
	stream = stream_new(fixture.trace, part, "part");
	for (uint64_t i = 0; i < 64; i++) {
		engine_fixture_packet(&fixture, stream,
				      &(struct made_packet){ .begin = i * 1000,
							     .end = i * 1000 + 1000,
							     .seq = i });
		if (i == 50) {
			trace_settle_part(fixture.trace, part);
			ck_assert_uint_eq(retained_packets, 51);
			trace_set_part_user(fixture.trace, part, NULL);
		}
	}
	trace_finish(fixture.trace, 0);
	ck_assert_uint_eq(trace_account(fixture.trace)->events, 640);
	ck_assert_uint_eq(retained_packets, 51);
	trace_free(fixture.trace);
	engine_fixture_fini(&fixture);
}
END_TEST

Suite *suite_engine(void)
{
	Suite *suite = suite_create("engine");
	TCase *tcase = tcase_create("engine");

	tcase_add_test(tcase, survives_cut_file);
	tcase_add_test(tcase, refuses_wrong_partials);
	tcase_add_test(tcase, accepts_by_words);
	tcase_add_test(tcase, states_by_description);
	tcase_add_loop_test(tcase, parts_come_later_and_again, 0, 7);
	tcase_add_loop_test(tcase, parts_fail_alone, 0, 2);
	tcase_add_loop_test(tcase, parts_after_one_that_failed, 0, 2);
	tcase_add_test(tcase, part_ends_before_its_trace);
	suite_add_tcase(suite, tcase);
	return suite;
}
