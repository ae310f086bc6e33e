/*
 * packet: the values of headers and contexts, with and without sizes, whole and cut.
 */
#include "ctf/packet.h"

#include "fixture.h"
#include "suites.h"

#define STREAM                                                                                     \
	"stream { id = 7; packet.context := struct { u64 timestamp_begin; u64 timestamp_end;\n"    \
	"  u64 content_size; u64 packet_size; u64 packet_seq_num; u32 events_discarded;\n"         \
	"  u32 cpu_id; }; };\n"
#define FULL                                                                                       \
	FIXTURE_TYPES "trace { major = 1; minor = 8; byte_order = le; packet.header := struct {\n" \
		      "  u32 magic; u8 uuid[16]; u32 stream_id; u64 stream_instance_id; };\n"      \
		      "  uuid = \"01020304-0506-0708-090a-0b0c0d0e0f10\"; };\n" STREAM

struct __attribute__((packed)) full {
	uint32_t magic;
	uint8_t uuid[16];
	uint32_t stream_id;
	uint64_t instance_id, begin, end, content_size, packet_size, seq_num;
	uint32_t discarded, cpu_id;
};

static const struct full full = {
	.magic = 0xC1FC1FC1,
	.uuid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
	.stream_id = 7,
	.instance_id = 3,
	.begin = 100,
	.end = 200,
	.content_size = sizeof(struct full) * 8,
	.packet_size = 4096 * 8,
	.seq_num = 11,
	.discarded = 5,
	.cpu_id = 2,
};

START_TEST(reads_all_members)
{
	struct packet_info info;
	struct fixture f;
	struct err err = { "" };

	fixture_init(&f, FULL, NULL, 0);
	ck_assert_msg(packet_info_read(f.d, f.plan, (const uint8_t *)&full, sizeof(full), 4096,
				       &info, &err) == 0,
		      "%s", err.text);
	ck_assert_uint_eq(info.stream->id, 7);
	ck_assert_uint_eq(info.instance_id, 3);
	ck_assert(info.has_begin && info.has_end && info.has_sizes);
	ck_assert_uint_eq(info.begin, 100);
	ck_assert_uint_eq(info.end, 200);
	ck_assert_uint_eq(info.content_bits, sizeof(full) * 8);
	ck_assert_uint_eq(info.size_bits, 4096 * 8);
	ck_assert_uint_eq(info.seq_num, 11);
	ck_assert_uint_eq(info.discarded, 5);
	ck_assert_uint_eq(info.cpu_id, 2);
	ck_assert_uint_eq(info.events_at_bits, sizeof(full) * 8);
	ck_assert_uint_eq(info.stream->discarded_bits, 32);
	fixture_fini(&f);
}
END_TEST

START_TEST(refuses_another_trace)
{
	struct full other = full;
	struct packet_info info;
	struct fixture f;
	struct err err = { "" };

	other.uuid[15]++;
	fixture_init(&f, FULL, NULL, 0);
	ck_assert_int_lt(packet_info_read(f.d, f.plan, (const uint8_t *)&other, sizeof(other), 4096,
					  &info, &err),
			 0);
	ck_assert_str_eq(err.text, "the packet has the UUID of another trace");
	fixture_fini(&f);
}
END_TEST

/* Which of the sizes there are: content 40 bits, packet 64; the packet has at most 16 bytes. */
static const struct {
	const char *context;
	uint64_t words[2], content_bits, size_bits;
	bool has_sizes;
} sizes[] = {
	{ "", { 0 }, 128, 128, false },
	{ "u64 packet_size;", { 96 }, 96, 96, true },
	{ "u64 content_size;", { 90 }, 90, 96, true }, /* up to a whole byte */
	{ "u64 content_size; u64 packet_size;", { 128, 192 }, 128, 192, true },
};

START_TEST(finds_sizes)
{
	char *text = mem_printf("%s%sstream { packet.context := struct { %s }; };", FIXTURE_TRACE,
				FIXTURE_TYPES, sizes[_i].context);
	struct packet_info info;
	struct fixture f;
	struct err err = { "" };

	fixture_init(&f, text, NULL, 0);
	ck_assert_msg(packet_info_read(f.d, f.plan, (const uint8_t *)sizes[_i].words, 16, 16, &info,
				       &err) == 0,
		      "%s", err.text);
	ck_assert_uint_eq(info.content_bits, sizes[_i].content_bits);
	ck_assert_uint_eq(info.size_bits, sizes[_i].size_bits);
	ck_assert_int_eq(info.has_sizes, sizes[_i].has_sizes);
	ck_assert(!info.has_begin && !info.has_end);
	ck_assert_uint_eq(info.seq_num, UINT64_MAX);
	fixture_fini(&f);
	free(text);
}
END_TEST

static const struct {
	bool has_sizes;
	uint64_t content_bits, size_bits, bytes; /* that exist */
	bool is_cut;
	uint64_t cut_content_bits, cut_size_bits;
} cuts[] = {
	{ true, 100, 128, 16, false, 100, 128 },  { true, 100, 128, 20, false, 100, 128 },
	{ true, 100, 128, 13, false, 100, 104 }, /* only padding is missing */
	{ true, 100, 128, 12, true, 96, 96 },     { true, 100, 128, 0, true, 0, 0 },
	{ false, 128, 128, 12, false, 96, 96 }, /* all that exists */
	{ false, 128, 128, 20, false, 160, 160 },
};

START_TEST(cuts_packets)
{
	struct packet_info info = { .has_sizes = cuts[_i].has_sizes,
				    .content_bits = cuts[_i].content_bits,
				    .size_bits = cuts[_i].size_bits };

	ck_assert_int_eq(packet_info_cut(&info, cuts[_i].bytes), cuts[_i].is_cut);
	ck_assert_uint_eq(info.content_bits, cuts[_i].cut_content_bits);
	ck_assert_uint_eq(info.size_bits, cuts[_i].cut_size_bits);
}
END_TEST

Suite *suite_packet(void)
{
	Suite *suite = suite_create("packet");
	TCase *tcase = tcase_create("packet");

	tcase_add_test(tcase, reads_all_members);
	tcase_add_test(tcase, refuses_another_trace);
	tcase_add_loop_test(tcase, finds_sizes, 0, (int)(sizeof(sizes) / sizeof(sizes[0])));
	tcase_add_loop_test(tcase, cuts_packets, 0, (int)(sizeof(cuts) / sizeof(cuts[0])));
	suite_add_tcase(suite, tcase);
	return suite;
}
