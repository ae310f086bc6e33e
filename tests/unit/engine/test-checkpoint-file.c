/*
 * checkpoint-file: checkpoints in the middle of a run, and the file that has them: whole at any
 * time, with the one before beside it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/contract/untrusted.h"
#include "engine/engine-fixture.h"
#include "engine/exchange/checkpoint-file.h"
#include "engine/exchange/checkpoint.h"
#include "engine/stream.h"
#include "suites.h"

enum { CPUS = 2, PACKETS = 8 };

static const uint8_t uuid[16] = { 7 };

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
						       .seq = i < 5 ? i : i + 2,
						       .discarded = i < 3 ? 0 : 5 });
		}
		stream_known(streams[0], 1700 + 700 * i);
		engine_step(fixture->engine, false, 0);
	}
}

static void begin(struct engine_fixture *fixture, struct stream **streams)
{
	engine_fixture_init(fixture);
	engine_fixture_metadata(fixture);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		streams[cpu] = stream_new(fixture->trace, 0, "one");
	}
}

static void expect_same(const struct engine_fixture *one, const struct engine_fixture *other)
{
	ck_assert_uint_gt(one->reports.count, 3);
	ck_assert_uint_eq(one->reports.count, other->reports.count);
	for (size_t i = 0; i < one->reports.count; i++) {
		const struct seen_report *a = &one->reports.at[i], *b = &other->reports.at[i];

		ck_assert_int_eq(a->kind, b->kind);
		ck_assert_uint_eq(a->begin, b->begin);
		ck_assert_uint_eq(a->events, b->events);
		ck_assert_uint_eq(a->lost_packets, b->lost_packets);
		ck_assert_uint_eq(a->figures, b->figures);
	}
}

/* Reads a checkpoint, repeats all packets, and appends the reports to those of @before. */
static void go_on(struct engine_fixture *before, const struct codec_out *checkpoint)
{
	struct engine_fixture after = { 0 };
	struct codec codec = { .at = checkpoint->bytes.at, .left = checkpoint->bytes.count };
	struct stream *streams[CPUS];

	engine_fixture_init(&after);
	checkpoint_trace(after.trace, &codec);
	ck_assert(!codec.is_wrong);
	engine_fixture_metadata(&after);
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		streams[cpu] = stream_new(after.trace, 0, "one");
	}
	add_packets(&after, streams, 0, PACKETS);
	trace_finish(after.trace, 0);
	for (size_t i = 0; i < after.reports.count; i++) {
		*vec_push(&before->reports) = after.reports.at[i];
	}
	engine_fixture_fini(&after);
}

/*
 * Goal    A checkpoint in the middle of a run changes nothing in that run, and is as good as one
 *         of a run that stopped there.
 * Method  One run writes a checkpoint after each round of packets.  Its reports are those of a run
 *         without checkpoints; so are the reports up to checkpoint N with those of the run that
 *         continues it.
 */
START_TEST(checkpoints_in_between)
{
	struct engine_fixture whole = { 0 }, saving = { .config.jobs = (unsigned int)_i };
	struct codec_out checkpoints[PACKETS] = { 0 };
	size_t reported[PACKETS];
	struct stream *streams[CPUS];

	begin(&whole, streams);
	add_packets(&whole, streams, 0, PACKETS);
	trace_finish(whole.trace, 0);

	begin(&saving, streams);
	for (unsigned int i = 0; i < PACKETS; i++) {
		struct codec codec = { .out = &checkpoints[i] };

		add_packets(&saving, streams, i, i + 1);
		trace_pause(saving.trace, 0);
		checkpoint_trace(saving.trace, &codec);
		reported[i] = saving.reports.count;
	}
	trace_finish(saving.trace, 0);
	expect_same(&whole, &saving);
	for (unsigned int i = 0; i < PACKETS; i++) {
		saving.reports.count = reported[i];
		go_on(&saving, &checkpoints[i]);
		expect_same(&whole, &saving);
		vec_fini(&checkpoints[i].bytes);
	}
	engine_fixture_fini(&whole);
	engine_fixture_fini(&saving);
}
END_TEST

/* ---- the file ---- */

struct place {
	char dir[40], path[60], before[60], fresh[60];
};

static void make_place(struct place *place)
{
	strcpy(place->dir, "/tmp/sillage-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(place->dir));
	(void)snprintf(place->path, sizeof(place->path), "%s/state", place->dir);
	(void)snprintf(place->before, sizeof(place->before), "%s/state.1", place->dir);
	(void)snprintf(place->fresh, sizeof(place->fresh), "%s/state.new", place->dir);
}

static void remove_place(const struct place *place)
{
	(void)unlink(place->path);
	(void)unlink(place->before);
	ck_assert_int_eq(rmdir(place->dir), 0); /* nothing else was left there */
}

static int open_file(const char *path, uint64_t interval_ns, struct checkpoint_file **ret,
		     struct err *err)
{
	struct partial_file_setup setup = { .interval_ns = interval_ns, .wants_windows = true };
	int r;

	for (size_t i = 0; analyses[i]; i++) {
		setup.analyses[i] = analyses[i];
	}
	r = checkpoint_file_open(path, &setup, analyses, ret, err);
	partial_file_setup_fini(&setup);
	return r;
}

/* Saves a trace of @packets rounds. */
static void save(const char *path, unsigned int packets, bool in_thread)
{
	struct partial_file_trace identity = { .host = (char *)"h", .range_end = UINT64_MAX };
	struct engine_fixture fixture = { 0 };
	struct checkpoint_file *file;
	struct stream *streams[CPUS];
	struct err err;

	begin(&fixture, streams);
	add_packets(&fixture, streams, 0, packets);
	trace_pause(fixture.trace, 0);
	ck_assert_int_eq(open_file(path, 1000, &file, &err), 0);
	checkpoint_file_put(file, uuid, fixture.trace, &identity, NULL, false);
	ck_assert_uint_gt(checkpoint_file_bytes(file), 100);
	if (in_thread) {
		checkpoint_file_begin_save(file);
		ck_assert_int_eq(checkpoint_file_end_save(file, &err), 0);
		ck_assert(!checkpoint_file_is_saving(file));
		ck_assert_int_eq(checkpoint_file_end_save(file, &err), 0); /* there is none */
	} else {
		ck_assert_int_eq(checkpoint_file_save(file, &err), 0);
	}
	checkpoint_file_free(file);
	engine_fixture_fini(&fixture);
}

/* The events of the saved trace; 0: there is none. */
static uint64_t saved_events(const struct checkpoint_file *file)
{
	struct engine_fixture fixture = { 0 };
	struct codec beside;
	uint64_t events;
	struct err err;

	engine_fixture_init(&fixture);
	(void)checkpoint_file_restore((struct checkpoint_file *)file, uuid, NULL, fixture.trace,
				      &beside, &err);
	events = trace_account(fixture.trace)->events;
	engine_fixture_fini(&fixture);
	return events;
}

static void spoil(const char *path, long at, bool cut)
{
	FILE *file = fopen(path, "r+");

	ck_assert_ptr_nonnull(file);
	if (cut) {
		ck_assert_int_eq(ftruncate(fileno(file), at), 0);
	} else {
		(void)fseek(file, at, SEEK_SET);
		(void)fputc(0x5A, file);
	}
	(void)fclose(file);
}

/* With and without a thread: the file has what was saved last, and the other what was before. */
START_TEST(keeps_the_one_before)
{
	struct checkpoint_file *file;
	struct place place;
	struct err err;

	make_place(&place);
	save(place.path, 2, _i);
	ck_assert_int_ne(access(place.before, F_OK), 0);
	save(place.path, 4, _i);
	ck_assert_int_eq(open_file(place.path, 1000, &file, &err), 0);
	ck_assert_ptr_null(checkpoint_file_note(file));
	ck_assert_uint_eq(saved_events(file), CPUS * 4 * 7);
	checkpoint_file_free(file);
	ck_assert_int_eq(open_file(place.before, 1000, &file, &err), 0);
	ck_assert_uint_eq(saved_events(file), CPUS * 2 * 7);
	checkpoint_file_free(file);
	remove_place(&place);
}
END_TEST

/* A file that is cut, damaged or of another version: the one before is used, and that is said. */
START_TEST(uses_the_one_before)
{
	static const struct {
		long at;
		bool cut;
	} damages[] = { { 0, true }, { 10, true }, { 200, true }, { 100, false }, { 17, false } };
	struct checkpoint_file *file;
	struct place place;
	struct err err;

	make_place(&place);
	save(place.path, 2, false);
	save(place.path, 4, false);
	spoil(place.path, damages[_i].at, damages[_i].cut);
	ck_assert_int_eq(open_file(place.path, 1000, &file, &err), 0);
	ck_assert_ptr_nonnull(checkpoint_file_note(file));
	ck_assert_ptr_nonnull(strstr(checkpoint_file_note(file), place.before));
	ck_assert_uint_eq(saved_events(file), CPUS * 2 * 7);
	checkpoint_file_free(file);
	/* Neither can be used: an error about the first. */
	spoil(place.before, 100, true);
	ck_assert_int_eq(open_file(place.path, 1000, &file, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, place.path));
	remove_place(&place);
}
END_TEST

/* Writes a whole file, whose checkpoint of the trace makes no sense. */
static void write_senseless(const char *path)
{
	struct partial_file_trace identity = { .host = (char *)"h", .range_end = UINT64_MAX };
	struct partial_file_setup setup = { .interval_ns = 1000, .wants_windows = true };
	struct partial_writer *out;
	uint8_t bytes[64];
	struct err err;
	FILE *file;

	for (size_t i = 0; analyses[i]; i++) {
		setup.analyses[i] = analyses[i];
	}
	(void)unlink(path); /* not the bytes, which the one before may share */
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	memset(bytes, 0xA5, sizeof(bytes));
	memcpy(bytes, uuid, sizeof(uuid));
	out = partial_writer_new(file, &setup);
	partial_writer_checkpoint(out, &identity, bytes, sizeof(bytes));
	partial_writer_last(out);
	ck_assert_int_eq(partial_writer_check(out, &err), 0);
	partial_writer_free(out);
	(void)fclose(file);
	partial_file_setup_fini(&setup);
}

static uint64_t events_in(const char *path)
{
	struct checkpoint_file *file;
	uint64_t events;
	struct err err;

	ck_assert_msg(open_file(path, 1000, &file, &err) == 0, "%s", err.text);
	events = saved_events(file);
	checkpoint_file_free(file);
	return events;
}

/* What is counted in a trace that is open is not counted in another one of its UUID, whose state
 * stays when that one ends. */
START_TEST(open_trace_keeps_its_state)
{
	struct partial_file_trace identity = { .range_end = UINT64_MAX };
	struct engine_fixture first = { 0 }, second = { 0 };
	struct stream *streams[CPUS];
	struct checkpoint_file *file;
	struct codec beside;
	struct place place;
	struct err err;

	make_place(&place);
	begin(&first, streams);
	engine_fixture_init(&second);
	add_packets(&first, streams, 0, 2);
	trace_pause(first.trace, 0);
	ck_assert_int_eq(open_file(place.path, 1000, &file, &err), 0);
	checkpoint_file_put(file, uuid, first.trace, &identity, NULL, true);
	ck_assert_int_eq(checkpoint_file_restore(file, uuid, NULL, second.trace, &beside, &err),
			 -EEXIST);
	identity.session = (char *)"b";
	checkpoint_file_put(file, uuid, second.trace, &identity, NULL, false);
	ck_assert_int_eq(
		checkpoint_file_restore(file, uuid, &identity, second.trace, &beside, &err), 1);
	checkpoint_file_drop(file, uuid, &identity, second.trace);
	ck_assert(checkpoint_file_any(file));
	identity.session = NULL;
	checkpoint_file_drop(file, uuid, &identity, second.trace);
	ck_assert(checkpoint_file_any(file));
	checkpoint_file_drop(file, uuid, &identity, first.trace);
	ck_assert(!checkpoint_file_any(file));
	checkpoint_file_free(file);
	engine_fixture_fini(&first);
	engine_fixture_fini(&second);
	remove_place(&place);
}
END_TEST

/* A file that cannot be used does not take the place of the one before, which can: neither a
 * damaged one, nor a whole one whose trace cannot be restored. */
START_TEST(keeps_what_can_be_used)
{
	bool is_damaged = _i % 2 == 0, in_thread = _i / 2 == 1;
	struct engine_fixture fixture = { 0 };
	struct codec beside;
	struct checkpoint_file *file;
	struct place place;
	struct err err;

	make_place(&place);
	save(place.path, 2, false);
	save(place.path, 4, false);
	if (is_damaged) {
		spoil(place.path, 100, false);
	} else {
		write_senseless(place.path);
	}
	ck_assert_int_eq(open_file(place.path, 1000, &file, &err), 0);
	engine_fixture_init(&fixture);
	ck_assert_int_eq(checkpoint_file_restore(file, uuid, NULL, fixture.trace, &beside, &err),
			 is_damaged ? 1 : -EINVAL);
	for (int times = 0; times < 2; times++) {
		if (in_thread) {
			checkpoint_file_begin_save(file);
			ck_assert_int_eq(checkpoint_file_end_save(file, &err), 0);
		} else {
			ck_assert_int_eq(checkpoint_file_save(file, &err), 0);
		}
		ck_assert_uint_eq(events_in(place.before), CPUS * 2 * 7);
	}
	ck_assert_uint_eq(events_in(place.path), is_damaged ? CPUS * 2 * 7 : 0);
	checkpoint_file_free(file);
	engine_fixture_fini(&fixture);
	/* Once the file is whole, it is the one before, as ever. */
	if (is_damaged) {
		save(place.path, 6, in_thread);
		save(place.path, 8, in_thread);
		ck_assert_uint_eq(events_in(place.before), CPUS * 6 * 7);
	}
	remove_place(&place);
}
END_TEST

/* A file of another kind of run is no reason to use the one before.  A file that was removed is a
 * wish to begin again. */
START_TEST(refuses_others_and_begins_again)
{
	struct checkpoint_file *file;
	struct place place;
	struct err err;

	make_place(&place);
	save(place.path, 2, false);
	save(place.path, 4, false);
	ck_assert_int_eq(open_file(place.path, 2000, &file, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "other analyses"));
	(void)unlink(place.path);
	ck_assert_int_eq(open_file(place.path, 1000, &file, &err), 0);
	ck_assert(!checkpoint_file_any(file));
	checkpoint_file_free(file);
	remove_place(&place);
}
END_TEST

/* A file that cannot be written: an error, also from the thread, and the old one stays. */
START_TEST(reports_failures)
{
	struct checkpoint_file *file;
	struct place place;
	struct stat found;
	struct err err;

	make_place(&place);
	save(place.path, 2, false);
	ck_assert_int_eq(mkdir(place.fresh, 0700), 0);
	ck_assert_int_eq(open_file(place.path, 1000, &file, &err), 0);
	checkpoint_file_begin_save(file);
	ck_assert_int_eq(checkpoint_file_end_save(file, &err), -EEXIST);
	ck_assert_ptr_nonnull(strstr(err.text, place.fresh));
	ck_assert_int_eq(checkpoint_file_save(file, &err), -EEXIST);
	ck_assert_int_eq(rmdir(place.fresh), 0);
	/* Nor is a link followed that somebody else put there. */
	ck_assert_int_eq(symlink("victim", place.fresh), 0);
	ck_assert_int_eq(checkpoint_file_save(file, &err), 0);
	ck_assert_int_eq(lstat(place.path, &found), 0);
	ck_assert(S_ISREG(found.st_mode));
	checkpoint_file_begin_save(file); /* freeing waits for it */
	checkpoint_file_free(file);
	ck_assert_int_eq(open_file(place.path, 1000, &file, &err), 0);
	ck_assert_uint_eq(saved_events(file), CPUS * 2 * 7);
	checkpoint_file_free(file);
	remove_place(&place);
}
END_TEST

Suite *suite_checkpoint_file(void)
{
	Suite *suite = suite_create("checkpoint-file");
	TCase *tcase = tcase_create("checkpoint-file");

	tcase_add_loop_test(tcase, checkpoints_in_between, 0, 3);
	tcase_add_loop_test(tcase, keeps_the_one_before, 0, 2);
	tcase_add_loop_test(tcase, uses_the_one_before, 0, 5);
	tcase_add_test(tcase, open_trace_keeps_its_state);
	tcase_add_loop_test(tcase, keeps_what_can_be_used, 0, 4);
	tcase_add_test(tcase, refuses_others_and_begins_again);
	tcase_add_test(tcase, reports_failures);
	suite_add_tcase(suite, tcase);
	return suite;
}
