/*
 * reader: events of several streams in global time order, gaps, and batches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deep/reader.h"
#include "suites.h"
#include "trace-maker.h"

enum { NUMBER, TEXT };
static const struct plan_request requests[] = {
	{ .event = "mark", .fields = { "number", "@text" } },
};

static struct reader *open_made(const struct trace_maker *maker)
{
	const struct reader_setup setup = { .path = &maker->path };
	struct err err;
	struct reader *reader = reader_open(&setup, requests, 1, &err);

	ck_assert_msg(reader != NULL, "%s", err.text);
	return reader;
}

/* Reads the next event, which must be this mark, or a gap if @number is 0. */
static void expect(struct reader *reader, uint64_t ts, uint32_t number)
{
	struct reader_event event;
	char text[16];

	ck_assert(reader_next(reader, &event));
	ck_assert_uint_eq(event.ts, ts);
	if (number == 0) {
		ck_assert_ptr_null(event.class);
		return;
	}
	ck_assert_ptr_nonnull(event.class);
	ck_assert_uint_eq(event.values[NUMBER].u, number);
	(void)snprintf(text, sizeof(text), "%u", number);
	ck_assert_uint_ge(event.values[TEXT].len, strlen(text));
	ck_assert_mem_eq(event.values[TEXT].bytes, text, strlen(text));
}

/* Marks by stream, as they are written; a line of packets ends with ts 0. */
static const struct {
	const char *name;
	struct {
		uint64_t ts;
		uint32_t number;
	} marks[3][4]; /* by stream */
	struct {
		uint64_t ts;
		uint32_t number;
	} expected[12];
} orders[] = {
	{ "interleaved",
	  { { { 10, 1 }, { 40, 2 } }, { { 20, 3 }, { 30, 4 } }, { { 25, 5 } } },
	  { { 10, 1 }, { 20, 3 }, { 25, 5 }, { 30, 4 }, { 40, 2 } } },
	{ "one after the other",
	  { { { 30, 1 }, { 31, 2 } }, { { 20, 3 }, { 21, 4 } }, { { 10, 5 }, { 11, 6 } } },
	  { { 10, 5 }, { 11, 6 }, { 20, 3 }, { 21, 4 }, { 30, 1 }, { 31, 2 } } },
	{ "ties go by stream, and keep the order within one",
	  { { { 10, 1 }, { 20, 2 }, { 20, 3 } }, { { 10, 4 }, { 20, 5 } }, { { 20, 6 } } },
	  { { 10, 1 }, { 10, 4 }, { 20, 2 }, { 20, 3 }, { 20, 5 }, { 20, 6 } } },
	{ "a stream that goes back in time is clamped",
	  { { { 10, 1 }, { 30, 2 }, { 20, 3 } }, { { 25, 4 }, { 35, 5 } } },
	  { { 10, 1 }, { 25, 4 }, { 30, 2 }, { 30, 3 }, { 35, 5 } } },
};

START_TEST(merges_by_time)
{
	struct trace_maker *maker = maker_new();
	struct reader_event event;
	struct reader *reader;
	struct reader_seen seen;
	size_t count = 0;

	for (uint32_t s = 0; s < 3; s++) {
		char name[16];

		for (size_t i = 0; i < 4 && orders[_i].marks[s][i].ts > 0; i++) {
			maker_mark(maker, orders[_i].marks[s][i].ts, orders[_i].marks[s][i].number);
		}
		if (maker->events.count > 0) {
			maker_packet(maker, s, 0, 0);
			(void)snprintf(name, sizeof(name), "channel0_%u", s);
			maker_stream(maker, name);
		}
	}
	reader = open_made(maker);
	for (; orders[_i].expected[count].ts > 0; count++) {
		expect(reader, orders[_i].expected[count].ts, orders[_i].expected[count].number);
	}
	ck_assert(!reader_next(reader, &event));
	ck_assert(!reader_next(reader, &event));
	reader_seen(reader, &seen);
	ck_assert_uint_eq(seen.events, count);
	ck_assert_uint_eq(seen.first, orders[_i].expected[0].ts);
	ck_assert_uint_eq(seen.last, orders[_i].expected[count - 1].ts);
	reader_close(reader);
	maker_free(maker);
}
END_TEST

/* Missing packets and discarded events give one gap each, at the end of the packet before. */
static const struct {
	uint64_t seq_num, discarded;
	bool is_gap;
} gaps[] = {
	{ 1, 0, false },
	{ 2, 0, true },
	{ 1, 7, true },
	{ 5, 7, true },
};

START_TEST(finds_gaps)
{
	struct trace_maker *maker = maker_new();
	struct reader *reader;
	struct reader_event event;

	maker_mark(maker, 10, 1);
	maker_mark(maker, 20, 2);
	maker_packet(maker, 0, 0, 0);
	maker_mark(maker, 50, 3);
	maker_packet(maker, 0, gaps[_i].seq_num, gaps[_i].discarded);
	maker_stream(maker, "channel0_0");
	reader = open_made(maker);
	expect(reader, 10, 1);
	expect(reader, 20, 2);
	if (gaps[_i].is_gap) {
		expect(reader, 20, 0);
	}
	expect(reader, 50, 3);
	ck_assert(!reader_next(reader, &event));
	reader_close(reader);
	maker_free(maker);
}
END_TEST

/* Values are valid across batches and packets, although streams alternate. */
START_TEST(crosses_batches)
{
	enum { EVENTS = 3 * BATCH_EVENTS + 17, PACKETS = 2 };
	struct trace_maker *maker = maker_new();
	struct reader_event event;
	struct reader *reader;

	for (uint32_t s = 0; s < 2; s++) {
		for (uint32_t p = 0; p < PACKETS; p++) {
			for (uint32_t i = 0; i < EVENTS; i++) {
				uint32_t number = 2 * (p * EVENTS + i) + s + 1;

				maker_mark(maker, number * 10, number);
			}
			maker_packet(maker, s, p, 0);
		}
		maker_stream(maker, s == 0 ? "channel0_0" : "channel0_1");
	}
	reader = open_made(maker);
	ck_assert_uint_eq(reader_cpu_count(reader), 2);
	for (uint32_t number = 1; number <= 2 * PACKETS * EVENTS; number++) {
		expect(reader, number * 10, number);
	}
	ck_assert(!reader_next(reader, &event));
	reader_close(reader);
	maker_free(maker);
}
END_TEST

/* What a test reports in place of a terminal. */
static void count_warnings(void *user, const char *message)
{
	unsigned int *count = user;

	ck_assert_ptr_nonnull(strstr(message, "stream channel0_0: "));
	(*count)++;
}

START_TEST(passes_over_damage)
{
	struct trace_maker *maker = maker_new();
	unsigned int warnings = 0;
	const struct reader_setup setup = { .path = &maker->path,
					    .warn = count_warnings,
					    .user = &warnings };
	struct reader *reader;
	struct reader_event event;
	struct err err;

	maker_mark(maker, 10, 1);
	maker_packet(maker, 0, 0, 0);
	for (unsigned int i = 0; i < 40; i++) {
		*vec_push(&maker->stream) = 0xAA;
	}
	maker_mark(maker, 30, 2);
	maker_packet(maker, 0, 1, 0);
	maker_stream(maker, "channel0_0");
	reader = reader_open(&setup, requests, 1, &err);
	ck_assert_ptr_nonnull(reader);
	expect(reader, 10, 1);
	expect(reader, 10, 0);
	expect(reader, 30, 2);
	ck_assert(!reader_next(reader, &event));
	ck_assert_uint_eq(warnings, 1);
	reader_close(reader);
	maker_free(maker);
}
END_TEST

Suite *suite_reader(void)
{
	Suite *suite = suite_create("reader");
	TCase *tcase = tcase_create("reader");

	tcase_add_loop_test(tcase, merges_by_time, 0, sizeof(orders) / sizeof(orders[0]));
	tcase_add_loop_test(tcase, finds_gaps, 0, sizeof(gaps) / sizeof(gaps[0]));
	tcase_add_test(tcase, crosses_batches);
	tcase_add_test(tcase, passes_over_damage);
	suite_add_tcase(suite, tcase);
	return suite;
}
