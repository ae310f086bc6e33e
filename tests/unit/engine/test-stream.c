/*
 * stream: gaps, duplicates, and where chunks close.
 */
#include "base/limits.h"
#include "ctf/plan/plan.h"
#include "engine/chunk-job.h"
#include "engine/engine-fixture.h"
#include "engine/stream.h"
#include "suites.h"

/* Packet @seq, from 1000 * (seq + 1) ns on, with ten events. */
static void add(struct engine_fixture *fixture, struct stream *stream, uint64_t seq,
		uint8_t discarded)
{
	engine_fixture_packet(fixture, stream,
			      &(struct made_packet){ .begin = 1000 * (seq + 1),
						     .end = 1000 * (seq + 2),
						     .seq = seq,
						     .discarded = discarded });
}

struct expected {
	uint64_t events, discarded, lost_packets;
};

static void finish(struct engine_fixture *fixture, const struct expected *expected)
{
	const struct merger_account *account = trace_account(fixture->trace);

	trace_finish(fixture->trace, 0);
	ck_assert_uint_eq(account->events, expected->events);
	ck_assert_uint_eq(account->discarded, expected->discarded);
	ck_assert_uint_eq(account->lost_packets, expected->lost_packets);
	ck_assert_uint_eq(account->bad_packets, 0);
	ck_assert_uint_eq(engine_held_bytes(fixture->engine), 0);
	engine_fixture_fini(fixture);
}

/*
 * Goal    Numbers and counters of packets show what is missing between them.
 * Method  One row for each sequence of packets of one stream.
 */
static const struct {
	struct {
		uint64_t seq;
		uint8_t discarded;
	} packets[4];
	struct expected expected;
	unsigned int lost_warnings, discarded_warnings, before_warnings;
} sequences[] = {
	{ { { 0, 0 }, { 1, 0 }, { 2, 0 }, { 3, 0 } }, { 40, 0, 0 }, 0, 0, 0 },
	{ { { 0, 0 }, { 1, 0 }, { 4, 0 }, { 5, 0 } }, { 40, 0, 2 }, 1, 0, 0 },
	{ { { 0, 0 }, { 2, 0 }, { 3, 0 }, { 7, 0 } }, { 40, 0, 4 }, 2, 0, 0 },
	/* The first packet need not be number 0: that is no loss within the trace. */
	{ { { 5, 0 }, { 6, 0 }, { 7, 0 }, { 8, 0 } }, { 40, 0, 0 }, 0, 0, 0 },
	{ { { 0, 0 }, { 1, 3 }, { 2, 3 }, { 3, 4 } }, { 40, 4, 0 }, 0, 2, 0 },
	/* What was discarded before the end of the first packet may be before its start. */
	{ { { 0, 7 }, { 1, 7 }, { 2, 9 }, { 3, 9 } }, { 40, 2, 0 }, 0, 1, 1 },
	/* The counter has 8 bits. */
	{ { { 0, 250 }, { 1, 255 }, { 2, 4 }, { 3, 4 } }, { 40, 10, 0 }, 0, 2, 1 },
	{ { { 0, 0 }, { 1, 2 }, { 3, 2 }, { 4, 2 } }, { 40, 2, 1 }, 1, 1, 0 },
};

START_TEST(finds_gaps)
{
	struct engine_fixture fixture = { 0 };
	struct stream *stream;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	stream = stream_new(fixture.trace, 0, "a");
	for (size_t i = 0; i < 4; i++) {
		add(&fixture, stream, sequences[_i].packets[i].seq,
		    sequences[_i].packets[i].discarded);
	}
	stream_end(stream);
	ck_assert_uint_eq(engine_fixture_warned(&fixture, "lost-packets"),
			  sequences[_i].lost_warnings);
	ck_assert_uint_eq(engine_fixture_warned(&fixture, "discarded"),
			  sequences[_i].discarded_warnings);
	ck_assert_uint_eq(engine_fixture_warned(&fixture, "discarded-before"),
			  sequences[_i].before_warnings);
	finish(&fixture, &sequences[_i].expected);
}
END_TEST

/*
 * Goal    After a reconnect another stream continues the first, without the packets that it had.
 * Method  One row for each way in which the packets can go on after packets 0, 1 and 2.
 */
static const struct {
	uint64_t seqs[3];
	struct expected expected;
} reconnects[] = {
	{ { 3, 4, 5 }, { 60, 0, 0 } },                                /* the next one */
	{ { 2, 3, 4 }, { 50, 0, 0 } },                                /* one again */
	{ { 1, 2, 3 }, { 40, 0, 0 } }, { { 0, 1, 2 }, { 30, 0, 0 } }, /* nothing new */
	{ { 5, 6, 7 }, { 60, 0, 2 } },                                /* two were lost meanwhile */
	{ { 2, 4, 5 }, { 50, 0, 1 } },
};

START_TEST(continues_after_reconnect)
{
	struct engine_fixture fixture = { 0 };
	struct stream *before, *after;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	before = stream_new(fixture.trace, 0, "a");
	for (uint64_t seq = 0; seq < 3; seq++) {
		add(&fixture, before, seq, 0);
	}
	stream_away(before, 0);
	ck_assert(before->is_away);
	after = stream_new(fixture.trace, 0, "a");
	for (size_t i = 0; i < 3; i++) {
		add(&fixture, after, reconnects[_i].seqs[i], 0);
		engine_step(fixture.engine, false, 0);
	}
	ck_assert(before->is_ended && !before->merger);
	stream_end(after);
	finish(&fixture, &reconnects[_i].expected);
}
END_TEST

/* The same where the stream had ended, once or twice. */
START_TEST(continues_what_had_ended)
{
	struct engine_fixture fixture = { 0 };
	struct stream *stream;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	stream = stream_new(fixture.trace, 0, "a");
	for (uint64_t seq = 0; seq < 3; seq++) {
		add(&fixture, stream, seq, 0);
	}
	for (int times = 0; times < 2; times++) {
		stream_end(stream);
		engine_step(fixture.engine, false, 0);
		ck_assert_uint_eq(trace_watermark(fixture.trace), UINT64_MAX);
		stream_away(stream, 0);
		stream = stream_new(fixture.trace, 0, "a");
		for (uint64_t seq = 0; seq < 3; seq++) {
			add(&fixture, stream, seq, 0);
		}
	}
	ck_assert_uint_eq(trace_duplicates(fixture.trace), 6);
	add(&fixture, stream, 4, 0);
	stream_end(stream);
	finish(&fixture, &(struct expected){ 40, 0, 1 });
}
END_TEST

/* Within a connection two streams of one identity are two streams. */
START_TEST(ended_is_not_continued_without_a_reconnect)
{
	struct engine_fixture fixture = { 0 };

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	for (int times = 0; times < 2; times++) {
		struct stream *stream = stream_new(fixture.trace, 0, "a");

		add(&fixture, stream, 0, 0);
		stream_end(stream);
	}
	finish(&fixture, &(struct expected){ 20, 0, 0 });
}
END_TEST

/*
 * Goal    Numbers that begin again, or are not plausible, drop nothing and count nothing.
 * Method  One row for each sequence; packets of later times.  Then the relay repeats all of them.
 */
static const struct {
	uint64_t seqs[6];
	unsigned int warnings;
	uint64_t lost;
} renumbered[] = {
	{ { 7, 8, 9, 0, 1, 2 }, 1, 0 },
	{ { 7, 8, 9, 9, 10, 12 }, 1, 1 },
	{ { 7, 8, 9, 5, 3, 1 }, 3, 0 },
	{ { 0, 1, (uint64_t)1 << 63, 3, 4, 5 }, 2, 0 },
	{ { 0, 1, UINT64_MAX - 1, 3, 4, 6 }, 2, 1 },
	{ { 0, 1, LOST_PACKETS_MAX, 3, 4, 5 }, 1, LOST_PACKETS_MAX - 2 },
};

START_TEST(numbers_begin_again)
{
	struct engine_fixture fixture = { 0 };
	struct stream *stream = NULL;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	for (int times = 0; times < 2; times++) {
		if (stream) {
			stream_away(stream, 0);
		}
		stream = stream_new(fixture.trace, 0, "a");
		for (uint64_t i = 0; i < 6; i++) {
			engine_fixture_packet(
				&fixture, stream,
				&(struct made_packet){ .begin = 1000 * (i + 1),
						       .end = 1000 * (i + 2),
						       .seq = renumbered[_i].seqs[i] });
		}
	}
	ck_assert_uint_eq(engine_fixture_warned(&fixture, "numbers"), renumbered[_i].warnings);
	ck_assert_uint_eq(trace_duplicates(fixture.trace), 6);
	finish(&fixture, &(struct expected){ 60, 0, renumbered[_i].lost });
}
END_TEST

/*
 * Goal    What was announced and is gone counts as lost, unless the next connection has it.
 * Method  A packet, or none; a connection lost with one packet that was not fetched; then none, or
 *         one with that packet.
 */
START_TEST(unfetched_packets_are_lost)
{
	bool has_packet = _i & 1, comes_again = _i & 2;
	struct engine_fixture fixture = { 0 };
	struct stream *stream;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	trace_set_live(fixture.trace);
	stream = stream_new(fixture.trace, 0, "a");
	if (has_packet) {
		add(&fixture, stream, 0, 0);
	} else {
		stream_lost_packets(stream, 1, "it is gone");
	}
	stream_away(stream, 1);
	if (comes_again) {
		trace_metadata_restart(fixture.trace, 0);
		engine_fixture_metadata(&fixture);
		stream = stream_new(fixture.trace, 0, "a");
		add(&fixture, stream, 0, 0);
		add(&fixture, stream, 1, 0);
	}
	finish(&fixture, &(struct expected){ comes_again  ? 20
					     : has_packet ? 10
							  : 0,
					     0,
					     comes_again  ? 0
					     : has_packet ? 1
							  : 2 });
}
END_TEST

/* A stream of which no packet could be had: what is lost counts all the same. */
START_TEST(loss_of_no_stream_counts)
{
	bool has_other = _i;
	struct engine_fixture fixture = { 0 };
	struct stream *stream, *other;
	uint64_t in_windows = 0;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	trace_set_live(fixture.trace);
	stream = stream_new(fixture.trace, 0, "a");
	stream_lost_packets(stream, 67, "they are gone");
	stream_end(stream);
	if (has_other) {
		other = stream_new(fixture.trace, 0, "b");
		add(&fixture, other, 0, 0);
	}
	trace_finish(fixture.trace, 0);
	for (size_t i = 0; i < fixture.reports.count; i++) {
		const struct seen_report *report = &fixture.reports.at[i];

		in_windows += report->kind == REPORT_WINDOW ? report->lost_packets : 0;
		if (report->kind == REPORT_TOTAL) {
			ck_assert_uint_eq(report->lost_packets, 67);
		}
	}
	ck_assert_uint_eq(in_windows, has_other ? 67 : 0);
	engine_fixture_fini(&fixture);
}
END_TEST

/* A stream of another CPU is another stream. */
START_TEST(another_cpu_does_not_continue)
{
	struct engine_fixture fixture = { 0 };
	struct stream *before, *after;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	before = stream_new(fixture.trace, 0, "a");
	add(&fixture, before, 0, 0);
	stream_away(before, 0);
	after = stream_new(fixture.trace, 0, "b");
	engine_fixture_packet(
		&fixture, after,
		&(struct made_packet){ .cpu = 1, .begin = 1000, .end = 2000, .seq = 0 });
	ck_assert(before->is_away && before->merger != after->merger);
	finish(&fixture, &(struct expected){ 20, 0, 0 });
}
END_TEST

/* A stream that had no packet leaves nothing to continue. */
START_TEST(away_without_packet_ends)
{
	struct engine_fixture fixture = { 0 };
	struct stream *stream;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	stream = stream_new(fixture.trace, 0, "a");
	stream_away(stream, 0);
	ck_assert(stream->is_ended && !stream->is_away);
	finish(&fixture, &(struct expected){ 0, 0, 0 });
}
END_TEST

/* A packet that could not be fetched counts once, although its number is missing, too. */
START_TEST(lost_packet_counts_once)
{
	struct engine_fixture fixture = { 0 };
	struct stream *stream;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	stream = stream_new(fixture.trace, 0, "a");
	add(&fixture, stream, 0, 0);
	stream_lost_packets(stream, 1, "it is gone");
	add(&fixture, stream, 2, 0);
	add(&fixture, stream, 3, 0);
	ck_assert_uint_eq(engine_fixture_warned(&fixture, "lost-packets"), 1);
	finish(&fixture, &(struct expected){ 30, 0, 1 });
}
END_TEST

/* A loss after the last packet counts at the end. */
START_TEST(final_loss_counts)
{
	struct engine_fixture fixture = { 0 };
	struct stream *stream;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	stream = stream_new(fixture.trace, 0, "a");
	add(&fixture, stream, 0, 0);
	stream_lost_packets(stream, 1, "it is gone");
	stream_lost_packets(stream, 1, "this one, too");
	finish(&fixture, &(struct expected){ 10, 0, 2 });
}
END_TEST

/*
 * Goal    What was lost at the end of a stream stays lost, once, whatever another connection has.
 * Method  Packets 3 to 5 are lost, the stream ends and is continued: a letter for each packet from
 * 3 on.
 */
static const struct {
	const char *again; /* c: it comes, l: it is lost again, -: it is not announced */
	struct expected expected;
} final_losses[] = {
	{ "", { 30, 0, 3 } },      { "ccc", { 30, 0, 3 } },   { "lll", { 30, 0, 3 } },
	{ "clc", { 30, 0, 3 } },   { "l", { 30, 0, 3 } },     { "cccc", { 40, 0, 3 } },
	{ "lllc", { 40, 0, 3 } },  { "---c", { 40, 0, 3 } },  { "lclcc", { 50, 0, 3 } },
	{ "ccc-c", { 40, 0, 4 } }, { "lll-c", { 40, 0, 4 } }, { "----c", { 40, 0, 4 } },
	{ "cccll", { 30, 0, 5 } }, { "lllll", { 30, 0, 5 } }, { "ccclc", { 40, 0, 4 } },
};

START_TEST(final_loss_counts_once)
{
	struct engine_fixture fixture = { 0 };
	struct stream *stream;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	for (int times = 0; times < 2; times++) {
		stream = stream_new(fixture.trace, 0, "a");
		for (uint64_t seq = 0; seq < 3; seq++) {
			add(&fixture, stream, seq, 0);
		}
		if (times == 0) {
			stream_lost_packets(stream, 2, "they are gone");
			stream_lost_packets(stream, 1, "this one, too");
			stream_end(stream);
			stream_away(stream, 0);
		}
	}
	for (uint64_t i = 0; final_losses[_i].again[i]; i++) {
		if (final_losses[_i].again[i] == 'c') {
			add(&fixture, stream, 3 + i, 0);
		} else if (final_losses[_i].again[i] == 'l') {
			stream_lost_packets(stream, 1, "it is gone");
		}
	}
	stream_end(stream);
	finish(&fixture, &final_losses[_i].expected);
}
END_TEST

/* A chunk closes at its size, with new metadata, and when it is flushed. */
START_TEST(closes_chunks)
{
	enum { PACKET_BYTES = 53 + 10 * 26 };
	struct engine_fixture fixture = { .config.chunk_bytes = 2 * PACKET_BYTES };
	struct stream *stream;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	stream = stream_new(fixture.trace, 0, "a");
	add(&fixture, stream, 0, 0);
	ck_assert_uint_eq(stream->submitted, 0);
	ck_assert_uint_eq(stream->filling->chunk.packets.count, 1);
	ck_assert_uint_eq(engine_held_bytes(fixture.engine), PACKET_BYTES);
	add(&fixture, stream, 1, 0);
	ck_assert_uint_eq(stream->submitted, 1);
	ck_assert_ptr_null(stream->filling);

	add(&fixture, stream, 2, 0);
	engine_fixture_metadata(&fixture);
	ck_assert_uint_eq(stream->submitted, 1);
	add(&fixture, stream, 3, 0);
	ck_assert_uint_eq(stream->submitted, 2);
	ck_assert_ptr_eq(stream->filling->chunk.plan, trace_plan(fixture.trace));
	ck_assert_uint_eq(stream->filling->chunk.packets.count, 1);
	ck_assert_uint_eq(stream->filling->seq, 2);

	ck_assert(stream_flush(stream));
	ck_assert_uint_eq(stream->submitted, 3);
	ck_assert(!stream_flush(stream));
	finish(&fixture, &(struct expected){ 40, 0, 0 });
}
END_TEST

/* A chunk closes before a time that the stream does not cover, if that may be a hole. */
START_TEST(closes_chunks_at_holes)
{
	static const uint64_t begins[] = { 1000, 2000 + HOLE_NS, 3001 + 2 * HOLE_NS };
	struct engine_fixture fixture = { .config.chunk_bytes = 1 << 20 };
	struct stream *stream;

	engine_fixture_init(&fixture);
	engine_fixture_metadata(&fixture);
	stream = stream_new(fixture.trace, 0, "a");
	for (uint64_t i = 0; i < 3; i++) {
		engine_fixture_packet(&fixture, stream,
				      &(struct made_packet){ .begin = begins[i],
							     .end = begins[i] + 1000,
							     .seq = i });
		ck_assert_uint_eq(stream->submitted, i / 2);
	}
	finish(&fixture, &(struct expected){ 30, 0, 0 });
}
END_TEST

Suite *suite_stream(void)
{
	Suite *suite = suite_create("stream");
	TCase *tcase = tcase_create("stream");

	tcase_add_loop_test(tcase, finds_gaps, 0, sizeof(sequences) / sizeof(sequences[0]));
	tcase_add_loop_test(tcase, continues_after_reconnect, 0,
			    sizeof(reconnects) / sizeof(reconnects[0]));
	tcase_add_test(tcase, another_cpu_does_not_continue);
	tcase_add_test(tcase, continues_what_had_ended);
	tcase_add_test(tcase, ended_is_not_continued_without_a_reconnect);
	tcase_add_loop_test(tcase, numbers_begin_again, 0,
			    sizeof(renumbered) / sizeof(renumbered[0]));
	tcase_add_loop_test(tcase, unfetched_packets_are_lost, 0, 4);
	tcase_add_loop_test(tcase, loss_of_no_stream_counts, 0, 2);
	tcase_add_test(tcase, away_without_packet_ends);
	tcase_add_test(tcase, lost_packet_counts_once);
	tcase_add_test(tcase, final_loss_counts);
	tcase_add_loop_test(tcase, final_loss_counts_once, 0,
			    sizeof(final_losses) / sizeof(final_losses[0]));
	tcase_add_test(tcase, closes_chunks);
	tcase_add_test(tcase, closes_chunks_at_holes);
	suite_add_tcase(suite, tcase);
	return suite;
}
