/*
 * exchange: checkpoints of a trace, and files of partials, written and read again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "engine/engine-fixture.h"
#include "engine/exchange/checkpoint.h"
#include "engine/exchange/partial-file.h"
#include "engine/stream.h"
#include "suites.h"

enum { CPUS = 2, PACKETS = 6 };

/* Packets @from to @to of each CPU; with a loss before packet 3. */
static void add_packets(struct engine_fixture *fixture, struct stream *const *streams,
			unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++) {
		for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
			engine_fixture_packet(
				fixture, streams[cpu],
				&(struct made_packet){ .cpu = cpu,
						       .begin = 1000 + 700 * i + 50 * cpu,
						       .end = 1700 + 700 * i + 50 * cpu,
						       .seq = i < 3 ? i : i + 1,
						       .discarded = i < 3 ? 0 : 5 });
		}
		stream_known(streams[0], 1700 + 700 * i);
		engine_step(fixture->engine, false, 0);
	}
}

static void add_streams(struct engine_fixture *fixture, struct stream **streams)
{
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		streams[cpu] = stream_new(fixture->trace, 0, cpu == 0 ? "a" : "b");
	}
}

/* The whole trace, in one process. */
static void analyze(struct engine_fixture *fixture)
{
	struct stream *streams[CPUS];

	engine_fixture_init(fixture);
	engine_fixture_metadata(fixture);
	add_streams(fixture, streams);
	add_packets(fixture, streams, 0, PACKETS);
	trace_finish(fixture->trace, 0);
}

static void expect_same(const struct engine_fixture *one, const struct engine_fixture *other)
{
	ck_assert_uint_gt(one->reports.count, 3);
	ck_assert_uint_eq(one->reports.count, other->reports.count);
	for (size_t i = 0; i < one->reports.count; i++) {
		const struct seen_report *a = &one->reports.at[i], *b = &other->reports.at[i];

		ck_assert_int_eq(a->kind, b->kind);
		ck_assert_uint_eq(a->begin, b->begin);
		ck_assert_uint_eq(a->end, b->end);
		ck_assert_uint_eq(a->events, b->events);
		ck_assert_uint_eq(a->discarded, b->discarded);
		ck_assert_uint_eq(a->lost_packets, b->lost_packets);
		ck_assert_int_eq(a->complete, b->complete);
		ck_assert_msg(a->figures == b->figures, "report %zu from %" PRIu64, i, a->begin);
	}
}

/* ---- checkpoints ---- */

/* A trace paused in the middle: windows are open, a thread is on each CPU. */
static struct codec_out half_a_trace(struct engine_fixture *fixture)
{
	struct codec_out out = { 0 };
	struct codec codec = { .out = &out };
	struct stream *streams[CPUS];

	engine_fixture_init(fixture);
	engine_fixture_metadata(fixture);
	add_streams(fixture, streams);
	add_packets(fixture, streams, 0, 4);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		stream_away(streams[cpu], 0);
	}
	trace_pause(fixture->trace, 0);
	checkpoint_trace(fixture->trace, &codec);
	return out;
}

/* Reads a checkpoint into a new trace, and writes that. */
static struct codec_out read_and_write(const struct codec_out *from)
{
	struct engine_fixture fixture = { 0 };
	struct codec_out out = { 0 };
	struct codec codec = { .at = from->bytes.at, .left = from->bytes.count };

	engine_fixture_init(&fixture);
	checkpoint_trace(fixture.trace, &codec);
	ck_assert(!codec.is_wrong);
	ck_assert_uint_eq(codec.left, 0);
	codec = (struct codec){ .out = &out };
	checkpoint_trace(fixture.trace, &codec);
	engine_fixture_fini(&fixture);
	return out;
}

/*
 * Goal    A checkpoint that is read has all that was written.
 * Method  It is read and written twice.  The reader sorts groups of a partial that CPU stitching
 *         assigned to a shard, so the first pass may change their order; the second changes
 * nothing.
 */
START_TEST(checkpoint_survives)
{
	struct engine_fixture fixture = { .config.jobs = (unsigned int)_i };
	struct codec_out first = half_a_trace(&fixture), second = read_and_write(&first);
	struct codec_out third = read_and_write(&second);

	ck_assert_uint_eq(second.bytes.count, first.bytes.count);
	ck_assert_uint_eq(third.bytes.count, second.bytes.count);
	ck_assert_mem_eq(third.bytes.at, second.bytes.at, second.bytes.count);
	vec_fini(&first.bytes);
	vec_fini(&second.bytes);
	vec_fini(&third.bytes);
	engine_fixture_fini(&fixture);
}
END_TEST

/* A run that continues a checkpoint reports what one run reports. */
START_TEST(continues_checkpoint)
{
	struct engine_fixture whole = { 0 }, before = { 0 }, after = { 0 };
	struct codec_out out = half_a_trace(&before);
	struct codec codec = { .at = out.bytes.at, .left = out.bytes.count };
	struct stream *streams[CPUS];

	engine_fixture_init(&after);
	checkpoint_trace(after.trace, &codec);
	ck_assert(!codec.is_wrong);
	engine_fixture_metadata(&after);
	add_streams(&after, streams);
	add_packets(&after, streams, 0, PACKETS); /* from the start: the first ones are dropped */
	trace_finish(after.trace, 0);

	analyze(&whole);
	for (size_t i = 0; i < after.reports.count; i++) {
		*vec_push(&before.reports) = after.reports.at[i];
	}
	expect_same(&whole, &before);
	vec_fini(&out.bytes);
	engine_fixture_fini(&whole);
	engine_fixture_fini(&before);
	engine_fixture_fini(&after);
}
END_TEST

/* No part of a checkpoint is taken for a whole one.  (Not each of them: valgrind takes long.) */
START_TEST(refuses_cut_checkpoint)
{
	struct engine_fixture before = { 0 }, after = { 0 };
	struct codec_out out = half_a_trace(&before);

	engine_fixture_init(&after);
	for (size_t cut = 0; cut < out.bytes.count; cut += 3) {
		struct codec codec = { .at = out.bytes.at, .left = cut };

		checkpoint_trace(after.trace, &codec);
		ck_assert_msg(codec.is_wrong, "cut at %zu of %zu", cut, out.bytes.count);
		trace_free(after.trace);
		after.trace = trace_new(after.engine, &after);
	}
	vec_fini(&out.bytes);
	engine_fixture_fini(&before);
	engine_fixture_fini(&after);
}
END_TEST

/* ---- files of partials ---- */

static struct partial_file_setup setup_of(const struct engine_fixture *fixture)
{
	struct partial_file_setup setup = { .interval_ns = 1000, .wants_windows = true };

	for (size_t i = 0; analyses[i]; i++) {
		setup.analyses[i] = analyses[i];
	}
	return setup;
}

/* A file with the partials of the whole trace; @jobs workers pack them. */
static FILE *write_partials(unsigned int jobs)
{
	struct engine_fixture fixture = { .config.jobs = jobs };
	struct partial_file_setup setup = setup_of(&fixture);
	struct partial_file_trace identity = { .host = mem_strdup("here"),
					       .range_end = UINT64_MAX };
	FILE *file = tmpfile();
	struct partial_writer *out = partial_writer_new(file, &setup);
	struct merger_account account;
	struct err err;

	partial_writer_trace(out, &identity);
	partial_writer_warning(out, &(struct engine_warning){ .what = "clock",
							      .message = "it went back",
							      .packet = -1 });
	fixture.config.exporter = partial_writer_export(out);
	analyze(&fixture);
	partial_writer_last(out);
	ck_assert_int_eq(partial_writer_check(out, &err), 0);
	partial_writer_account(out, &account);
	ck_assert_uint_eq(account.events, CPUS * PACKETS * 7);
	ck_assert_uint_eq(account.packets, CPUS * PACKETS);
	engine_fixture_fini(&fixture);
	partial_writer_free(out);
	partial_file_trace_fini(&identity);
	rewind(file);
	return file;
}

/* Reads the only trace of the file into a new one. */
static int merge(FILE *file, struct engine_fixture *fixture)
{
	struct partial_file_setup setup = setup_of(fixture);
	struct partial_file_trace identity;
	struct partial_reader *in;
	atomic_bool stop = false;
	struct err err;
	int r = partial_reader_new(file, analyses, &in, &err);

	if (r < 0) {
		return r;
	}
	ck_assert(partial_file_setup_same(partial_reader_setup(in), &setup));
	r = partial_reader_trace(in, &identity, &err);
	if (r == 1) {
		ck_assert_str_eq(identity.host, "here");
		partial_file_trace_fini(&identity);
		r = partial_reader_merge(in, fixture->trace, &stop, &err);
	}
	if (r == 0) {
		r = partial_reader_trace(in, &identity, &err); /* there is no other */
	}
	partial_reader_free(in);
	return r;
}

/* Whatever the number of workers that wrote and that read it, a file gives the same reports. */
START_TEST(partials_give_the_same)
{
	static const unsigned int jobs[][2] = { { 0, 0 }, { 0, 3 }, { 2, 1 }, { 2, 3 } };
	struct engine_fixture whole = { 0 }, merged = { .config.jobs = jobs[_i][1] };
	FILE *file = write_partials(jobs[_i][0]);

	engine_fixture_init(&merged);
	ck_assert_int_eq(merge(file, &merged), 0);
	ck_assert_uint_eq(engine_fixture_warned(&merged, "clock"), 1);
	analyze(&whole);
	expect_same(&whole, &merged);
	(void)fclose(file);
	engine_fixture_fini(&whole);
	engine_fixture_fini(&merged);
}
END_TEST

/* A file that lacks its end, or has a wrong byte, is refused.  In a frame's header zstd has bits
 * that mean nothing: then the result is the same. */
START_TEST(refuses_damaged_files)
{
	FILE *file = write_partials(0), *wrong = tmpfile();
	struct engine_fixture merged, whole = { .config.jobs = 3 };
	uint8_t bytes[65536];
	size_t len = fread(bytes, 1, sizeof(bytes), file);

	ck_assert_uint_lt(len, sizeof(bytes));
	analyze(&whole);
	for (size_t at = 0; at < len; at += 97) {
		for (unsigned int flip = 0; flip < 2; flip++) {
			rewind(wrong);
			ck_assert_int_eq(ftruncate(fileno(wrong), 0), 0);
			bytes[at] ^= flip ? 0x40 : 0;
			(void)fwrite(bytes, 1, flip ? len : at, wrong);
			bytes[at] ^= flip ? 0x40 : 0;
			rewind(wrong);
			merged = (struct engine_fixture){ .config.jobs = 3 };
			engine_fixture_init(&merged);
			if (merge(wrong, &merged) != -EINVAL) {
				ck_assert_msg(flip, "at %zu", at);
				expect_same(&whole, &merged);
			}
			engine_fixture_fini(&merged);
		}
	}
	engine_fixture_fini(&whole);
	(void)fclose(file);
	(void)fclose(wrong);
}
END_TEST

Suite *suite_exchange(void)
{
	Suite *suite = suite_create("exchange");
	TCase *tcase = tcase_create("exchange");

	tcase_add_loop_test(tcase, checkpoint_survives, 0, 3);
	tcase_add_test(tcase, continues_checkpoint);
	tcase_add_test(tcase, refuses_cut_checkpoint);
	tcase_add_loop_test(tcase, partials_give_the_same, 0, 4);
	tcase_add_test(tcase, refuses_damaged_files);
	suite_add_tcase(suite, tcase);
	return suite;
}
