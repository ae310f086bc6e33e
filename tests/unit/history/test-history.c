/*
 * history: which packets stay, and that they stay what they were.
 */
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "ctf/packet-index.h"
#include "history/history.h"
#include "suites.h"

#define NS_PER_S UINT64_C(1000000000)

/* A packet of @len bytes that covers the second from @second on. */
static struct retained *packet_at(uint64_t second, size_t len)
{
	const struct plan_stream stream = { .id = 7 };
	const struct packet_info info = { .stream = &stream, .seq_num = second };
	uint8_t *bytes = malloc(len);
	struct retained *retained;

	memset(bytes, (int)second, len);
	retained = retained_new(&info, bytes, len);
	retained->begin = second * NS_PER_S;
	retained->end = (second + 1) * NS_PER_S - 1;
	return retained;
}

/* The seconds of which packets are there, as bits. */
static uint64_t seconds_of(const struct history_trace *trace, uint64_t begin, uint64_t end)
{
	struct history_stretch stretch;
	uint64_t seconds = 0;

	history_take(trace, begin * NS_PER_S, end * NS_PER_S - 1, &stretch);
	for (size_t i = 0; i < stretch.packets.count; i++) {
		const struct retained *retained = stretch.packets.at[i].retained;

		ck_assert_uint_eq(retained->bytes[0], retained->info.seq_num);
		seconds |= (uint64_t)1 << retained->info.seq_num;
	}
	history_stretch_fini(&stretch);
	return seconds;
}

START_TEST(drops_by_age)
{
	struct history *history = history_new(3 * NS_PER_S, UINT64_MAX, NULL);
	struct history_trace *trace = history_trace_new(history);

	for (uint64_t i = 1; i <= 10; i++) {
		history_add(trace, "channel", packet_at(i, 100), (i - 1) * NS_PER_S);
	}
	/* Windows have been looked at until 9: what ended before 6 has gone. */
	ck_assert_uint_eq(seconds_of(trace, 0, 60), 0x7C0);
	ck_assert_uint_eq(seconds_of(trace, 7, 9), 0x180);
	history_hold(trace, 7 * NS_PER_S);
	for (uint64_t i = 11; i <= 20; i++) {
		history_add(trace, "channel", packet_at(i, 100), (i - 1) * NS_PER_S);
	}
	ck_assert_uint_eq(seconds_of(trace, 0, 60), 0x1FFF80);
	history_hold(trace, UINT64_MAX);
	history_add(trace, "channel", packet_at(21, 100), 20 * NS_PER_S);
	ck_assert_uint_eq(seconds_of(trace, 0, 60), 0x3E0000);
	history_trace_free(trace);
	history_free(history);
}
END_TEST

START_TEST(drops_by_bytes)
{
	struct history *history = history_new(UINT64_MAX, 100000, NULL);
	struct history_trace *large = history_trace_new(history),
			     *small = history_trace_new(history);
	struct history_stretch stretch;

	history_add(small, "channel", packet_at(1, 20000), 0);
	for (uint64_t i = 1; i <= 10; i++) {
		history_add(large, "channel", packet_at(i, 20000), 0);
	}
	ck_assert_uint_le(history_bytes(history), 100000);
	ck_assert_uint_ge(history_bytes(history), 80000);
	ck_assert_uint_eq(seconds_of(small, 0, 60), 2);
	ck_assert_uint_eq(seconds_of(large, 0, 60), 0x700);
	/* What went is told: from the end of the eighth second on everything is there. */
	history_take(large, 0, UINT64_MAX, &stretch);
	ck_assert_uint_eq(stretch.gone, 8 * NS_PER_S - 1);
	/* What was taken stays when the history goes. */
	history_trace_free(large);
	history_trace_free(small);
	ck_assert_uint_eq(history_bytes(history), 0);
	ck_assert_uint_eq(stretch.packets.at[0].retained->bytes[19999], 8);
	ck_assert_str_eq(stretch.packets.at[0].stream, "channel");
	history_stretch_fini(&stretch);
	history_free(history);
}
END_TEST

/* What others need is free; what a capture has stays in the account until it is let go. */
START_TEST(gives_way)
{
	struct account account;
	struct history *history;
	struct history_trace *trace;
	struct history_stretch stretch;

	account_init(&account, UINT64_C(64) << 20, 100000, true);
	history = history_new(UINT64_MAX, UINT64_MAX, &account);
	trace = history_trace_new(history);
	for (uint64_t i = 1; i <= 10; i++) {
		history_add(trace, "channel", packet_at(i, 20000), 0);
	}
	ck_assert_uint_eq(seconds_of(trace, 0, 60), 0x780);
	history_take(trace, 0, UINT64_MAX, &stretch);
	account_take(&account, ACCOUNT_CHUNKS, (UINT64_C(64) << 20) - 50000);
	history_give_way(history);
	ck_assert_uint_eq(seconds_of(trace, 0, 60), 0);
	ck_assert_uint_gt(account_of(&account, ACCOUNT_CAPTURES), 80000);
	ck_assert_uint_eq(account_of(&account, ACCOUNT_HISTORY), 0);
	account_give(&account, ACCOUNT_CHUNKS, (UINT64_C(64) << 20) - 50000);
	history_stretch_fini(&stretch);
	ck_assert_uint_eq(account_of(&account, ACCOUNT_CAPTURES), 0);
	history_trace_free(trace);
	history_free(history);
}
END_TEST

START_TEST(knows_what_it_never_had)
{
	struct history *history = history_new(UINT64_MAX, UINT64_MAX, NULL);
	struct history_trace *trace = history_trace_new(history);
	const struct {
		const char *stream;
		uint64_t second, gone;
	} steps[] = { { "a", 0, 0 }, { "a", 2, 0 }, { "b", 5, 5 }, { "c", 3, 5 },
		      { "b", 9, 5 }, { "b", 4, 4 }, { "b", 0, 3 }, { "c", 0, 0 } };

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		struct history_stretch stretch;

		history_add(trace, steps[i].stream, packet_at(steps[i].second, 100), 0);
		history_take(trace, 0, UINT64_MAX, &stretch);
		ck_assert_uint_eq(stretch.gone, steps[i].gone * NS_PER_S);
		history_stretch_fini(&stretch);
	}
	history_trace_free(trace);
	history_free(history);
}
END_TEST

/* A stretch has the packets that overlap it, both ends included. */
static const struct {
	uint64_t begin, end; /* ns */
	uint64_t seconds;    /* as bits */
} stretches[] = {
	{ 0, UINT64_MAX, 0x3E },
	{ 2 * NS_PER_S, 2 * NS_PER_S, 0x4 },
	{ 3 * NS_PER_S - 1, 3 * NS_PER_S - 1, 0x4 },
	{ 3 * NS_PER_S - 1, 3 * NS_PER_S, 0xC },
	{ 0, NS_PER_S - 1, 0 },
	{ 6 * NS_PER_S, UINT64_MAX, 0 },
};

START_TEST(takes_stretches)
{
	struct history *history = history_new(UINT64_MAX, UINT64_MAX, NULL);
	struct history_trace *trace = history_trace_new(history);
	struct history_stretch stretch;
	uint64_t seconds = 0;

	history_metadata(trace, "old", 3);
	history_metadata_restart(trace);
	history_metadata(trace, "ne", 2);
	history_metadata(trace, "w", 1);
	for (uint64_t i = 1; i <= 5; i++) {
		history_add(trace, i % 2 ? "odd" : "even", packet_at(i, 100), 60 * NS_PER_S);
	}
	history_take(trace, stretches[_i].begin, stretches[_i].end, &stretch);
	ck_assert_uint_eq(stretch.metadata.count, 3);
	ck_assert_mem_eq(stretch.metadata.at, "new", 3);
	ck_assert_uint_eq(stretch.gone, 2 * NS_PER_S); /* the first that is even */
	for (size_t i = 0; i < stretch.packets.count; i++) {
		uint64_t second = stretch.packets.at[i].retained->info.seq_num;

		seconds |= (uint64_t)1 << second;
		ck_assert_str_eq(stretch.packets.at[i].stream, second % 2 ? "odd" : "even");
	}
	ck_assert_uint_eq(seconds, stretches[_i].seconds);
	history_stretch_fini(&stretch);
	history_trace_free(trace);
	history_free(history);
}
END_TEST

/* A packet whose end is unknown does not go by age; by bytes it has gone at its start. */
START_TEST(keeps_unknown_ends)
{
	struct history *history = history_new(NS_PER_S, 100000, NULL);
	struct history_trace *trace = history_trace_new(history);
	struct retained *unknown = packet_at(1, 60000);
	struct history_stretch stretch;

	unknown->end = UINT64_MAX;
	history_add(trace, "channel", unknown, 0);
	history_add(trace, "channel", packet_at(2, 30000), 30 * NS_PER_S);
	ck_assert_uint_eq(seconds_of(trace, 0, 60), 0x6);
	history_add(trace, "channel", packet_at(40, 30000), 30 * NS_PER_S);
	history_take(trace, 0, UINT64_MAX, &stretch);
	ck_assert_uint_eq(stretch.gone, NS_PER_S);
	ck_assert_uint_eq(stretch.packets.count, 2);
	history_stretch_fini(&stretch);
	history_trace_free(trace);
	history_free(history);
}
END_TEST

/* Packets on disk, packed or not, in segments of two, read back after the store has gone. */
START_TEST(spills_packets)
{
	struct retained_packer *packer = retained_packer_new();
	struct retained *packets[6];
	uint8_t *room = NULL;
	uint64_t size = 0;
	struct err err;
	struct retained_file *store = retained_file_new("/tmp", 10000, &err);

	ck_assert_ptr_nonnull(store);
	for (uint64_t i = 0; i < 6; i++) {
		packets[i] = packet_at(i + 1, 5000);
		if (i % 2) {
			retained_pack(packets[i], packer);
		}
		retained_spill(packets[i], store);
		ck_assert_ptr_null(packets[i]->bytes);
	}
	ck_assert_int_eq(retained_file_failed(store), 0);
	retained_file_free(store);
	for (uint64_t i = 0; i < 6; i++) {
		const uint8_t *bytes = retained_bytes(packets[i], &room, &size);

		ck_assert_ptr_nonnull(bytes);
		for (size_t k = 0; k < 5000; k++) {
			ck_assert_uint_eq(bytes[k], i + 1);
		}
		retained_unref(packets[i]);
	}
	ck_assert_ptr_null(retained_file_new("/tmp/sillage-is-not-there", 10000, &err));
	retained_packer_free(packer);
	free(room);
}
END_TEST

START_TEST(packs_packets)
{
	struct retained_packer *packer;
	uint8_t *room = NULL, *noise = malloc(5000);
	uint64_t size = 0;
	struct retained *retained;

	for (uint64_t len = 1; len < 100000; len = len * 3 + 1) {
		const uint8_t *bytes;

		/* A packer's budget is wall time: a fresh one has it whole, whatever else runs. */
		packer = retained_packer_new();
		retained = packet_at(len % 60, len);
		retained_pack(retained, packer);
		ck_assert_int_eq(retained->is_packed, len > 20);
		ck_assert_uint_le(retained->stored, len);
		bytes = retained_bytes(retained, &room, &size);
		for (uint64_t i = 0; i < len; i++) {
			ck_assert_uint_eq(bytes[i], len % 60);
		}
		retained_unref(retained);
		retained_packer_free(packer);
	}
	packer = retained_packer_new();
	/* What does not become smaller stays as it is. */
	for (size_t i = 0; i < 5000; i++) {
		noise[i] = (uint8_t)(rand() >> 7);
	}
	retained = packet_at(1, 5000);
	memcpy(retained->bytes, noise, 5000);
	retained_pack(retained, packer);
	ck_assert(!retained->is_packed);
	ck_assert_mem_eq(retained_bytes(retained, &room, &size), noise, 5000);
	retained_unref(retained);
	retained_packer_free(packer);
	free(noise);
	free(room);
}
END_TEST

START_TEST(writes_indexes)
{
	uint8_t file[INDEX_HEADER_BYTES + 2 * INDEX_ENTRY_BYTES];
	struct packet_index index = { 0 };
	struct err err;

	packet_index_put_header(file);
	for (uint64_t i = 0; i < 2; i++) {
		const struct index_facts facts = { .offset = i * 4096,
						   .packet_bits = (uint64_t)4096 * 8,
						   .content_bits = 100,
						   .seq_num = i };

		packet_index_put(file + INDEX_HEADER_BYTES + i * INDEX_ENTRY_BYTES, &facts);
	}
	ck_assert_int_eq(packet_index_parse(&index, file, sizeof(file), 8192, &err), 0);
	ck_assert_uint_eq(index.entries.count, 2);
	ck_assert_uint_eq(index.entries.at[1].offset, 4096);
	ck_assert_uint_eq(index.entries.at[1].bytes, 4096);
	packet_index_fini(&index);
}
END_TEST

Suite *suite_history(void)
{
	Suite *suite = suite_create("history");
	TCase *tcase = tcase_create("history");

	tcase_add_test(tcase, drops_by_age);
	tcase_add_test(tcase, drops_by_bytes);
	tcase_add_test(tcase, gives_way);
	tcase_add_test(tcase, knows_what_it_never_had);
	tcase_add_loop_test(tcase, takes_stretches, 0, sizeof(stretches) / sizeof(stretches[0]));
	tcase_add_test(tcase, keeps_unknown_ends);
	tcase_add_test(tcase, spills_packets);
	tcase_add_test(tcase, packs_packets);
	tcase_add_test(tcase, writes_indexes);
	suite_add_tcase(suite, tcase);
	return suite;
}
