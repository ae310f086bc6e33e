/*
 * packet-index: what is written can be read, and what is impossible is refused.
 */
#include <errno.h>
#include <string.h>

#include "ctf/packet-index.h"
#include "suites.h"

#define PACKETS    3
#define FILE_BYTES 12288
#define BYTES      (INDEX_HEADER_BYTES + PACKETS * INDEX_ENTRY_BYTES)

/* Packets of 4096 bytes at 0, 4096 and 8192. */
static void write_index(uint8_t out[BYTES])
{
	packet_index_put_header(out);
	for (uint64_t i = 0; i < PACKETS; i++) {
		const struct index_facts facts = { .offset = i * 4096,
						   .packet_bits = 4096 * 8,
						   .content_bits = 4000 * 8,
						   .seq_num = i };

		packet_index_put(out + INDEX_HEADER_BYTES + i * INDEX_ENTRY_BYTES, &facts);
	}
}

START_TEST(reads_what_it_writes)
{
	static const struct {
		uint64_t offset, next;
	} after[] = { { 0, 4096 }, { 1, 4096 }, { 4095, 4096 }, { 4096, 8192 }, { 8191, 8192 } };
	struct packet_index index;
	uint8_t bytes[BYTES];
	struct err err = { "" };

	write_index(bytes);
	ck_assert_msg(packet_index_parse(&index, bytes, BYTES, FILE_BYTES, &err) == 0, "%s",
		      err.text);
	ck_assert_uint_eq(index.entries.count, PACKETS);
	for (size_t i = 0; i < PACKETS; i++) {
		ck_assert_uint_eq(index.entries.at[i].offset, i * 4096);
		ck_assert_uint_eq(index.entries.at[i].bytes, 4096);
	}
	for (size_t i = 0; i < sizeof(after) / sizeof(after[0]); i++) {
		ck_assert_uint_eq(packet_index_after(&index, after[i].offset)->offset,
				  after[i].next);
	}
	ck_assert_ptr_null(packet_index_after(&index, 8192));
	packet_index_fini(&index);
	ck_assert_ptr_null(packet_index_after(&index, 0));
}
END_TEST

/* One byte of a good index changed, or its end cut off. */
static const struct {
	size_t at;
	uint8_t value;
	size_t cut;
	const char *complaint;
} wrong[] = {
	{ 0, 0xC0, 0, "magic number" },
	{ 7, 2, 0, "version 2.1" },
	{ 15, 8, 0, "entries have 8 bytes" },
	{ 0, 0xC1, 1, "in 215" },
	{ 0, 0xC1, BYTES - 8, "less than its header" },
	{ 16 + 7, 1, 0, "entry 1 has" },          /* the first reaches into the second */
	{ 16 + 72 + 6, 0, 0, "entry 1 has" },     /* the second is at 0 */
	{ 16 + 144 + 6, 0x30, 0, "entry 2 has" }, /* the third is behind the file */
	{ 16 + 144 + 13, 1, 0, "entry 2 has" },   /* ... or reaches behind it */
	{ 16 + 15, 1, 0, "entry 0 has" },         /* no whole bytes */
	{ 16 + 8 + 6, 0, 0, "entry 0 has" },      /* less than its content */
};

START_TEST(refuses)
{
	struct packet_index index;
	uint8_t bytes[BYTES];
	struct err err = { "" };

	write_index(bytes);
	bytes[wrong[_i].at] = wrong[_i].value;
	ck_assert_int_eq(packet_index_parse(&index, bytes, BYTES - wrong[_i].cut, FILE_BYTES, &err),
			 -EPROTO);
	ck_assert_msg(strstr(err.text, wrong[_i].complaint), "said \"%s\", wanted \"%s\"", err.text,
		      wrong[_i].complaint);
	packet_index_fini(&index);
}
END_TEST

Suite *suite_packet_index(void)
{
	Suite *suite = suite_create("packet-index");
	TCase *tcase = tcase_create("packet-index");

	tcase_add_test(tcase, reads_what_it_writes);
	tcase_add_loop_test(tcase, refuses, 0, (int)(sizeof(wrong) / sizeof(wrong[0])));
	suite_add_tcase(suite, tcase);
	return suite;
}
