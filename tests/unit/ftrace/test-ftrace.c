/*
 * ftrace: formats, sub-buffers of any machine, and the events that are made of them.  Sub-buffers
 * are compared with libtraceevent's kbuffer where that is installed.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"
#include "ftrace/convert-state.h"
#include "ftrace/convert.h"
#include "ftrace/format.h"
#include "ftrace/page.h"
#include "suites.h"

#ifdef HAVE_KBUFFER
#include <kbuffer.h>
#endif

/* ---- formats ---- */

static const char header[] =
	"name: %s\nID: %u\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

static struct ftrace_format *parsed(const char *system, const char *name, unsigned int id,
				    const char *fields)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct ftrace_format *format = NULL;
	struct err err;

	(void)fprintf(out, header, name, id);
	(void)fprintf(out, "%s\nprint fmt: \"field:int fake; offset:0; size:4; signed:1;\"\n",
		      fields);
	(void)fclose(out);
	ck_assert_msg(ftrace_format_parse(text, size, system, &format, &err) == 0, "%s", err.text);
	free(text);
	return format;
}

static void expect(const struct ftrace_format *format, const char *name, enum ftrace_kind kind,
		   enum ftrace_place place, uint32_t element, bool is_signed)
{
	const struct ftrace_field *field = ftrace_format_field(format, name);

	ck_assert_msg(field, "%s", name);
	ck_assert_msg(field->kind == kind && field->place == place &&
			      field->element_size == element && field->is_signed == is_signed,
		      "%s: %d %d %u %d", name, field->kind, field->place, field->element_size,
		      field->is_signed);
}

START_TEST(reads_formats)
{
	struct ftrace_format *format =
		parsed("sys", "event", 7,
		       "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		       "\tfield:long prev_state;\toffset:24;\tsize:8;\tsigned:1;\n"
		       "\tfield:unsigned long args[6];\toffset:32;\tsize:48;\tsigned:0;\n"
		       "\tfield:__data_loc char[] name;\toffset:80;\tsize:4;\tsigned:1;\n"
		       "\tfield:__rel_loc __u8[] raw;\toffset:84;\tsize:4;\tsigned:0;\n"
		       "\tfield:char rwbs[RWBS_LEN];\toffset:88;\tsize:8;\tsigned:0;\n"
		       "\tfield:const char * where;\toffset:96;\tsize:8;\tsigned:0;\n"
		       "\tfield:struct in6_addr to;\toffset:104;\tsize:16;\tsigned:0;\n"
		       "\tfield:__data_loc cpumask_t cpus;\toffset:120;\tsize:4;\tsigned:0;\n");

	ck_assert_str_eq(format->name, "event");
	ck_assert_str_eq(format->system, "sys");
	ck_assert_uint_eq(format->id, 7);
	ck_assert_uint_eq(format->size, 124);
	ck_assert_uint_eq(format->count, 13);
	ck_assert(format->fields[3].is_common && !format->fields[4].is_common);
	expect(format, "prev_comm", FTRACE_TEXT, FTRACE_HERE, 1, false);
	expect(format, "prev_state", FTRACE_INTEGER, FTRACE_HERE, 8, true);
	expect(format, "args", FTRACE_ARRAY, FTRACE_HERE, 8, false);
	expect(format, "name", FTRACE_TEXT, FTRACE_DATA, 1, true);
	expect(format, "raw", FTRACE_ARRAY, FTRACE_RELATIVE, 1, false);
	expect(format, "rwbs", FTRACE_TEXT, FTRACE_HERE, 1, false);
	expect(format, "where", FTRACE_INTEGER, FTRACE_HERE, 8, false);
	expect(format, "to", FTRACE_BYTES, FTRACE_HERE, 1, false);
	expect(format, "cpus", FTRACE_BYTES, FTRACE_DATA, 1, false);
	ftrace_format_free(format);
}
END_TEST

START_TEST(refuses_formats)
{
	static const char *const bad[] = {
		"",
		"name: x\n",
		"ID: 7\n",
		"name: x\nID: 70000\n",
		"name: a \"quoted\" one\nID: 7\n",
		"name: x\nID: 7\n\tfield:int a;\toffset:0;\tsize:0;\tsigned:1;\n",
		"name: x\nID: 7\n\tfield:int a;\toffset:65536;\tsize:4;\tsigned:1;\n",
		("name: x\nID: 7\n\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n"
		 "\tfield:int a;\toffset:4;\tsize:4;\tsigned:1;\n"),
		"name: x\nID: 7\n\tfield:int [];\toffset:0;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 7\n\tfield:__data_loc char[] a;\toffset:0;\tsize:8;\tsigned:1;\n",
	};

	for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
		struct ftrace_format *format;
		struct err err;

		ck_assert_msg(ftrace_format_parse(bad[i], strlen(bad[i]), "s", &format, &err) < 0,
			      "%zu", i);
		ck_assert(err.text[0]);
	}
}
END_TEST

/* They stand in metadata, too. */
START_TEST(refuses_systems)
{
	static const char text[] = "name: x\nID: 7\n";
	static const struct {
		const char *system;
		bool is_fine;
	} systems[] = {
		{ "sched", true }, { "intel-sst", true },  { "", true },     { "a\"; };", false },
		{ "a\nb", false }, { "two words", false }, { "a/b", false },
	};

	for (size_t i = 0; i < ARRAY_COUNT(systems); i++) {
		struct ftrace_format *format = NULL;
		struct err err;
		int r = ftrace_format_parse(text, strlen(text), systems[i].system, &format, &err);

		ck_assert_msg((r == 0) == systems[i].is_fine, "%s", systems[i].system);
		ftrace_format_free(format);
	}
}
END_TEST

START_TEST(keeps_in_payload)
{
	struct ftrace_format *format =
		parsed("s", "e", 1,
		       "\tfield:__data_loc char[] a;\toffset:8;\tsize:4;\tsigned:0;\n"
		       "\tfield:__rel_loc char[] b;\toffset:12;\tsize:4;\tsigned:0;\n");
	uint8_t payload[24] = { 0 };
	const uint8_t *bytes;
	uint32_t word = htole32(20 | 100U << 16);

	memcpy(payload + 8, &word, 4);
	word = htole32(0 | 3U << 16);
	memcpy(payload + 12, &word, 4);
	ck_assert_uint_eq(ftrace_field_bytes(&format->fields[4], payload, 24, false, &bytes), 4);
	ck_assert_ptr_eq(bytes, payload + 20);
	ck_assert_uint_eq(ftrace_field_bytes(&format->fields[5], payload, 24, false, &bytes), 3);
	ck_assert_ptr_eq(bytes, payload + 16);
	word = htole32(65535 | 1U << 16);
	memcpy(payload + 8, &word, 4);
	ck_assert_uint_eq(ftrace_field_bytes(&format->fields[4], payload, 24, false, &bytes), 0);
	ck_assert_uint_eq(ftrace_field_bytes(&format->fields[4], payload, 10, false, &bytes), 0);
	ftrace_format_free(format);
}
END_TEST

/* ---- sub-buffers ---- */

/* One that is made: of either byte order and word size. */
struct made {
	uint8_t bytes[4096];
	size_t at, data_at;
	bool is_big, is_short;
};

static void put_word(struct made *made, size_t at, uint32_t word)
{
	word = made->is_big ? htobe32(word) : htole32(word);
	memcpy(made->bytes + at, &word, sizeof(word));
}

static void put_long(struct made *made, size_t at, uint64_t value)
{
	value = made->is_big ? htobe64(value) : htole64(value);
	memcpy(made->bytes + at, &value, sizeof(value));
}

static void made_begin(struct made *made, bool is_big, bool is_short, uint64_t time)
{
	memset(made, 0, sizeof(*made));
	made->is_big = is_big;
	made->is_short = is_short;
	made->at = made->data_at = is_short ? 12 : 16;
	put_long(made, 0, time);
}

static void made_header(struct made *made, uint32_t type, uint32_t delta)
{
	put_word(made, made->at, made->is_big ? type << 27 | delta : delta << 5 | type);
	made->at += 4;
}

/* @missed: what the bits and the number say; 0: none. */
static void made_end(struct made *made, uint64_t missed)
{
	uint32_t commit = (uint32_t)(made->at - made->data_at);

	if (missed > 0) {
		commit |= 1U << 31 | 1U << 30;
		if (made->is_short) {
			put_word(made, made->at, (uint32_t)missed);
		} else {
			put_long(made, made->at, missed);
		}
	}
	if (made->is_short) {
		put_word(made, 8, commit);
	} else {
		put_long(made, 8, commit);
	}
}

static struct ftrace_layout layout_of(const struct made *made)
{
	return (struct ftrace_layout){ .bytes = sizeof(made->bytes),
				       .commit_at = 8,
				       .commit_size = made->is_short ? 4 : 8,
				       .data_at = (uint32_t)made->data_at,
				       .is_big = made->is_big };
}

/* Records, times and padding by chance. */
static void made_fill(struct made *made, unsigned int seed)
{
	srand(seed);
	while (made->at < 3900) {
		uint32_t delta = (uint32_t)rand() % (1 << 20) + 1, len = (uint32_t)rand() % 28 + 1;

		switch (rand() % 8) {
		case 0:
			made_header(made, 30, delta);
			put_word(made, made->at, (uint32_t)rand() % 1000);
			made->at += 4;
			break;
		case 1: /* an event that was discarded */
			made_header(made, 29, delta);
			put_word(made, made->at, len * 4);
			made->at += len * 4;
			break;
		case 2:
			made_header(made, 0, delta);
			put_word(made, made->at, 4 + len * 4);
			memset(made->bytes + made->at + 4, rand(), len * 4);
			made->at += 4 + len * 4;
			break;
		default:
			made_header(made, len, delta);
			memset(made->bytes + made->at, rand(), len * 4);
			made->at += len * 4;
			break;
		}
	}
}

START_TEST(reads_pages)
{
	for (unsigned int form = 0; form < 4; form++) {
		struct made made;
		struct ftrace_layout layout;
		struct ftrace_page page;
		struct ftrace_record record;
		struct err err;

		made_begin(&made, form & 1, form & 2, 1000);
		made_header(&made, 2, 5); /* 8 bytes at 1005 */
		made.at += 8;
		made_header(&made, 30, 7); /* 3 << 27 more, and 7 */
		put_word(&made, made.at, 3);
		made.at += 4;
		made_header(&made, 0, 1);
		put_word(&made, made.at, 4 + 6);
		made.at += 4 + 8;
		made_header(&made, 29, 0); /* the rest is empty */
		made_end(&made, 42);
		layout = layout_of(&made);
		ck_assert_int_eq(ftrace_page_begin(&page, &layout, made.bytes, 4096, &err), 0);
		ck_assert_uint_eq(page.missed, 42);
		ck_assert(ftrace_page_next(&page, &record));
		ck_assert_uint_eq(record.time, 1005);
		ck_assert_uint_eq(record.len, 8);
		ck_assert(ftrace_page_next(&page, &record));
		ck_assert_uint_eq(record.time, 1005 + (UINT64_C(3) << 27) + 7 + 1);
		ck_assert_uint_eq(record.len, 6);
		ck_assert(!ftrace_page_next(&page, &record));
		ck_assert(!page.is_bad);
	}
}
END_TEST

START_TEST(refuses_layouts)
{
	/* Where the commit is, its bytes, and where the data is. */
	static const struct {
		uint32_t at, size, data;
		bool is_fine;
	} layouts[] = {
		{ 8, 8, 16, true },
		{ 8, 4, 16, true },
		{ 8, 8, 12, false },
		{ 4, 4, 16, false },
		{ 4294967292U, 4, 16, false },
		{ 4294967288U, 8, 16, false },
	};

	for (size_t i = 0; i < ARRAY_COUNT(layouts); i++) {
		struct ftrace_layout layout;
		struct err err;
		char *text =
			mem_printf("\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
				   "\tfield: local_t commit;\toffset:%u;\tsize:%u;\tsigned:1;\n"
				   "\tfield: char data;\toffset:%u;\tsize:4080;\tsigned:1;\n",
				   layouts[i].at, layouts[i].size, layouts[i].data);

		ck_assert_msg((ftrace_layout_parse(text, strlen(text), false, &layout, &err) ==
			       0) == layouts[i].is_fine,
			      "%s", text);
		free(text);
	}
}
END_TEST

START_TEST(absolute_times)
{
	struct made made;
	struct ftrace_layout layout;
	struct ftrace_page page;
	struct ftrace_record record;
	struct err err;
	uint64_t high = UINT64_C(3) << 59, stamp = UINT64_C(12345) << 27 | 99;

	made_begin(&made, false, false, high | 5);
	made_header(&made, 31, 99);
	put_word(&made, made.at, 12345);
	made.at += 4;
	made_header(&made, 1, 1);
	made.at += 4;
	made_end(&made, 0);
	layout = layout_of(&made);
	ck_assert_int_eq(ftrace_page_begin(&page, &layout, made.bytes, 4096, &err), 0);
	ck_assert_uint_eq(page.missed, 0);
	ck_assert(ftrace_page_next(&page, &record));
	ck_assert_uint_eq(record.time, (high | stamp) + 1);
}
END_TEST

START_TEST(hostile_pages)
{
	for (unsigned int seed = 0; seed < rounds(2000); seed++) {
		struct made made;
		struct ftrace_layout layout;
		struct ftrace_page page;
		struct ftrace_record record;
		struct err err;
		uint8_t *exact;
		size_t len;

		made_begin(&made, seed & 1, seed & 2, seed);
		made_fill(&made, seed);
		made_end(&made, seed % 3);
		for (unsigned int i = 0; i < 8; i++) {
			made.bytes[8 + (unsigned int)rand() % 4088] = (uint8_t)rand();
		}
		layout = layout_of(&made);
		len = (size_t)rand() % 4096 + 1;
		exact = malloc(len); /* so that a sanitizer sees each byte behind it */
		memcpy(exact, made.bytes, len);
		if (ftrace_page_begin(&page, &layout, exact, len, &err) == 0) {
			while (ftrace_page_next(&page, &record)) {
				ck_assert(record.payload >= exact &&
					  record.payload + record.len <= exact + len);
			}
		}
		free(exact);
	}
}
END_TEST

#ifdef HAVE_KBUFFER
START_TEST(as_kbuffer)
{
	for (unsigned int seed = 0; seed < rounds(400); seed++) {
		struct made made;
		struct ftrace_layout layout;
		struct ftrace_page page;
		struct ftrace_record record;
		struct kbuffer *oracle;
		struct err err;
		unsigned long long time;
		void *data;
		size_t count = 0;

		made_begin(&made, seed & 1, seed & 2, seed * UINT64_C(1000000007));
		made_fill(&made, seed);
		made_end(&made, 0);
		layout = layout_of(&made);
		oracle = kbuffer_alloc(seed & 2 ? KBUFFER_LSIZE_4 : KBUFFER_LSIZE_8,
				       seed & 1 ? KBUFFER_ENDIAN_BIG : KBUFFER_ENDIAN_LITTLE);
		ck_assert_int_eq(kbuffer_load_subbuffer(oracle, made.bytes), 0);
		ck_assert_int_eq(ftrace_page_begin(&page, &layout, made.bytes, 4096, &err), 0);
		for (data = kbuffer_read_event(oracle, &time); data;
		     data = kbuffer_next_event(oracle, &time)) {
			ck_assert(ftrace_page_next(&page, &record));
			ck_assert_ptr_eq(record.payload, data);
			ck_assert_uint_eq(record.time, time);
			count++;
		}
		ck_assert(!ftrace_page_next(&page, &record));
		ck_assert_uint_gt(count, 20);
		kbuffer_free(oracle);
	}
}
END_TEST
#endif

/* ---- a trace ---- */

/* The last packet, and all text. */
struct taken {
	VEC(char) text;
	VEC(uint8_t) bytes;
	struct convert_packet packet;
	size_t packets;
};

static int take_text(void *user, const char *text, size_t len, struct err *err)
{
	struct taken *taken = user;

	vec_append(&taken->text, text, len);
	return 0;
}

static int take_packet(void *user, const struct convert_packet *packet, struct err *err)
{
	struct taken *taken = user;

	taken->packet = *packet;
	taken->bytes.count = 0;
	vec_append(&taken->bytes, packet->bytes, packet->len);
	taken->packets++;
	return 0;
}

static struct convert *convert_to(struct taken *taken, bool is_big)
{
	const struct convert_setup setup = { .clock_name = "monotonic",
					     .clock_frequency = 1000000000,
					     .machine = CONVERT_X86_64,
					     .cpus = 2,
					     .packet_bytes = 65536 };
	const struct convert_sink sink = { .metadata = take_text,
					   .packet = take_packet,
					   .user = taken };
	const struct ftrace_layout layout = { 4096, 8, 8, 16, is_big };
	struct err err;
	struct convert *convert = convert_new(&setup, &sink, &err);

	ck_assert(convert);
	convert_layout(convert, &layout);
	return convert;
}

static void taken_fini(struct taken *taken)
{
	vec_fini(&taken->text);
	vec_fini(&taken->bytes);
}

/* Fields of sched_switch as kernels might have them: moved, wider, absent. */
struct moved {
	const char *name, *type;
	uint32_t size, offset;
	uint64_t value;
	bool is_there;
};

static void put_field(struct made *made, size_t payload, const struct moved *field)
{
	uint64_t value = made->is_big ? htobe64(field->value << (64 - field->size * 8))
				      : htole64(field->value);

	memcpy(made->bytes + payload + field->offset, &value, field->size);
}

/* The event's bytes, as LTTng has them. */
static size_t expected_event(uint8_t *out, const struct moved *fields, size_t count)
{
	static const uint32_t widths[] = { 4, 4, 8, 4, 4 };
	size_t at = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_prio = i == 1 || i == 4;
		uint32_t width =
			!is_prio && fields[i].size > widths[i] ? fields[i].size : widths[i];
		uint64_t value = htole64(fields[i].value - (is_prio ? 100 : 0));

		if (fields[i].is_there) {
			memcpy(out + at, &value, width);
			at += width;
		}
	}
	return at;
}

/* Lays the fields out in an order by chance, and writes their format. */
static uint32_t move_fields(struct moved *fields, size_t count, char *text, size_t size)
{
	uint32_t offset = 8;
	size_t len = 0;

	for (size_t i = 0, first = (size_t)rand() % count; i < count; i++) {
		struct moved *field = &fields[(first + i) % count];

		if (!field->is_there) {
			continue;
		}
		offset += field->size * ((uint32_t)rand() % 3); /* what is not named */
		offset = (offset + field->size - 1) / field->size * field->size;
		field->offset = offset;
		len += (size_t)snprintf(text + len, size - len,
					"\tfield:%s %s;\toffset:%u;\tsize:%u;\tsigned:1;\n",
					field->type, field->name, offset, field->size);
		offset += field->size;
	}
	return (offset + 3) / 4 * 4;
}

START_TEST(formats_of_any_kernel)
{
	for (unsigned int seed = 1; seed <= 25; seed++) {
		struct moved fields[] = {
			{ "prev_pid", "pid_t", 4, 0, 77, true },
			{ "prev_prio", "int", 4, 0, 120, true },
			{ "prev_state", "long", 8, 0, 1, true },
			{ "next_pid", "pid_t", 4, 0, 88, true },
			{ "next_prio", "int", 4, 0, 98, true },
		};
		struct taken taken = { 0 };
		struct convert *convert = convert_to(&taken, seed & 1);
		struct ftrace_format *format;
		struct made made;
		struct err err;
		char text[1024] = "";
		uint8_t expected[64];
		uint32_t len;
		size_t count = ARRAY_COUNT(fields), bytes;

		srand(seed);
		for (size_t i = 0; i < count; i++) {
			fields[i].size = rand() % 2 ? 8 : 4;
			fields[i].is_there = rand() % 6 > 0;
		}
		len = move_fields(fields, count, text, sizeof(text));
		format = parsed("sched", "sched_switch", 300 + seed, text);
		ck_assert_int_eq(convert_format(convert, format, &err), 0);
		ck_assert_int_eq(convert_start(convert, &err), 0);
		made_begin(&made, seed & 1, false, 1000);
		made_header(&made, 0, 50);
		put_word(&made, made.at, len + 4);
		made.at += 4;
		put_word(&made, made.at, seed & 1 ? (300 + seed) << 16 : 300 + seed);
		put_word(&made, made.at + 4, 77);
		for (size_t i = 0; i < count; i++) {
			if (fields[i].is_there) {
				put_field(&made, made.at, &fields[i]);
			}
		}
		made.at += len;
		made_end(&made, 0);
		ck_assert_int_eq(convert_page(convert, 1, made.bytes, 4096, &err), 0);
		ck_assert_int_eq(convert_finish(convert, 2000, &err), 0);
		ck_assert_uint_eq(taken.packet.events, 1);
		bytes = expected_event(expected, fields, count);
		ck_assert_msg(taken.packet.content_bits / 8 == 84 + 6 + bytes, "seed %u", seed);
		ck_assert_msg(memcmp(taken.bytes.at + 90, expected, bytes) == 0, "seed %u", seed);
		convert_free(convert);
		ftrace_format_free(format);
		taken_fini(&taken);
	}
}
END_TEST

static void page_of(struct made *made, uint64_t time, uint16_t id, int32_t tid, const void *rest,
		    uint32_t len)
{
	made_header(made, (8 + len) / 4, (uint32_t)(time));
	put_word(made, made->at, id);
	put_word(made, made->at + 4, (uint32_t)tid);
	memcpy(made->bytes + made->at + 8, rest, len);
	made->at += 8 + len;
}

static void contains(const struct taken *taken, const char *text, bool is_there)
{
	ck_assert_msg((memmem(taken->text.at, taken->text.count, text, strlen(text)) != NULL) ==
			      is_there,
		      "%s", text);
}

/* A field whose name is that of another one's length, in metadata, is left out, and that is said.
 */
START_TEST(lengths_of_others)
{
	static const char fields[] =
		"\tfield:int _ids_length;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:__data_loc u32[] ids;\toffset:12;\tsize:4;\tsigned:0;\n"
		"\tfield:int ids_length;\toffset:16;\tsize:4;\tsigned:1;\n";
	struct ftrace_format *format = parsed("made", "up", 9, fields);
	struct taken taken = { 0 };
	struct convert *convert = convert_to(&taken, false);
	struct err err;
	const char *first;
	char *odd;

	ck_assert_int_eq(convert_format(convert, format, &err), 0);
	ck_assert_int_eq(convert_start(convert, &err), 0);
	first = memmem(taken.text.at, taken.text.count, "__ids_length;", 13);
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_null(memmem(first + 1, taken.text.count - (size_t)(first + 1 - taken.text.at),
				  "__ids_length;", 13));
	contains(&taken, " _ids_length;", true);
	odd = convert_odd(convert);
	ck_assert_ptr_nonnull(odd);
	ck_assert_msg(strstr(odd, "made:up (_ids_length)"), "%s", odd);
	free(odd);
	convert_free(convert);
	ftrace_format_free(format);
	taken_fini(&taken);
}
END_TEST

/* A call's end has arguments of its begin, though that was on another CPU; without a begin it is of
 * a class that has only the result. */
START_TEST(calls_across_cpus)
{
	static const char enter_fields[] =
		"\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
		"\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n";
	static const char exit_fields[] = "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
					  "\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;\n";
	struct ftrace_format *enter = parsed("raw_syscalls", "sys_enter", 10, enter_fields);
	struct ftrace_format *leave = parsed("raw_syscalls", "sys_exit", 11, exit_fields);
	struct taken taken = { 0 };
	struct convert *convert = convert_to(&taken, false);
	struct made made;
	struct err err;
	const uint64_t read_begin[] = { 0, 3, 0xABCD, 100, 0, 0, 0 }, read_end[] = { 0, 42 };

	ck_assert_int_eq(convert_format(convert, enter, &err), 0);
	ck_assert_int_eq(convert_format(convert, leave, &err), 0);
	ck_assert_int_eq(convert_start(convert, &err), 0);
	contains(&taken, "\"syscall_entry_read\"", true);
	contains(&taken, "\"compat_syscall_entry_read\"", false);
	contains(&taken, "tracer_name = \"sillage-ftrace\"", true);
	made_begin(&made, false, false, 0);
	page_of(&made, 200, 11, 5, read_end, sizeof(read_end));
	made_end(&made, 0);
	ck_assert_int_eq(convert_page(convert, 1, made.bytes, 4096, &err), 0);
	made_begin(&made, false, false, 0);
	page_of(&made, 100, 10, 5, read_begin, sizeof(read_begin));
	made_end(&made, 0);
	ck_assert_int_eq(convert_page(convert, 0, made.bytes, 4096, &err), 0);
	ck_assert_int_eq(convert_until(convert, 1000, &err), 0);
	ck_assert_int_eq(convert_flush(convert, 1000, false, &err), 0);
	/* ret and buf, which the call has filled. */
	ck_assert_uint_eq(taken.packet.cpu, 1);
	ck_assert_uint_eq(taken.packet.content_bits / 8, 84 + 6 + 16);
	ck_assert_uint_eq(taken.bytes.at[90], 42);
	ck_assert_uint_eq(taken.bytes.at[98], 0xCD);
	made_begin(&made, false, false, 1000);
	page_of(&made, 5, 11, 5, read_end, sizeof(read_end));
	made_end(&made, 7);
	ck_assert_int_eq(convert_page(convert, 1, made.bytes, 4096, &err), 0);
	ck_assert_int_eq(convert_until(convert, 2000, &err), 0);
	ck_assert_int_eq(convert_flush(convert, 2000, false, &err), 0);
	ck_assert_uint_eq(taken.packet.content_bits / 8, 84 + 6 + 8);
	ck_assert_uint_eq(taken.packet.discarded, 7);
	ck_assert_uint_eq(convert_count(convert, "syscall_exit_read"), 2);
	convert_free(convert);
	ftrace_format_free(enter);
	ftrace_format_free(leave);
	taken_fini(&taken);
}
END_TEST

/* Numbers of a 32-bit program are of other calls; a call that the machine does not have has its
 * number as a field. */
START_TEST(calls_of_32_bits)
{
	static const char fields[] =
		"\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
		"\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n";
	struct ftrace_format *enter = parsed("raw_syscalls", "sys_enter", 10, fields);
	struct taken taken = { 0 };
	struct convert *convert = convert_to(&taken, false);
	const uint64_t futex[] = { 240, 0x1000, 128, 1, 0, 0, 0 },
		       none[] = { 5000, 1, 2, 3, 4, 5, 6 };
	struct made made;
	struct err err;

	ck_assert_int_eq(convert_format(convert, enter, &err), 0);
	ck_assert_int_eq(convert_start(convert, &err), 0);
	convert_thread(convert, &(struct convert_known){ .tid = 6, .pid = 6, .is_compat = true });
	made_begin(&made, false, false, 0);
	page_of(&made, 100, 10, 6, futex, sizeof(futex));
	page_of(&made, 100, 10, 5, futex, sizeof(futex));
	page_of(&made, 100, 10, 5, none, sizeof(none));
	made_end(&made, 0);
	ck_assert_int_eq(convert_page(convert, 0, made.bytes, 4096, &err), 0);
	ck_assert_int_eq(convert_finish(convert, 1000, &err), 0);
	ck_assert_uint_eq(convert_count(convert, "compat_syscall_entry_futex"), 1);
	ck_assert_uint_eq(convert_count(convert, "syscall_entry_mq_open"), 1);
	ck_assert_uint_eq(convert_count(convert, "syscall_entry_unknown"), 1);
	contains(&taken, "\"compat_syscall_exit_futex\"", true);
	convert_free(convert);
	ftrace_format_free(enter);
	taken_fini(&taken);
}
END_TEST

static const char switch_fields[] = "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				    "\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
				    "\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
				    "\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
				    "\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
				    "\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
				    "\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n";

struct switched {
	char prev[16];
	int32_t prev_tid, prev_prio;
	int64_t state;
	char next[16];
	int32_t next_tid, next_prio;
};

/* Which program a thread runs is known from when it executed that, on whatever CPU. */
START_TEST(derived_by_program)
{
	static const char exec_fields[] =
		"\tfield:__data_loc char[] filename;\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n"
		"\tfield:pid_t old_pid;\toffset:16;\tsize:4;\tsigned:1;\n";
	struct ftrace_format *format = parsed("sched", "sched_switch", 9, switch_fields);
	struct ftrace_format *executed = parsed("sched", "sched_process_exec", 10, exec_fields);
	struct taken taken = { 0 };
	struct convert *convert = convert_to(&taken, false);
	struct made made;
	struct err err;
	const uint8_t *at;
	struct switched other = { "other", 5, 120, 1, "swapper/1", 0, 120 },
			program = { "a-long-program-", 77, 120, 1, "swapper/1", 0, 120 };
	struct {
		uint32_t place;
		int32_t tid, old_tid;
		char path[32];
	} exec = { 29 << 16 | 20, 77, 77, "/usr/bin/a-long-program-name" };

	ck_assert_int_eq(convert_format(convert, format, &err), 0);
	ck_assert_int_eq(convert_format(convert, executed, &err), 0);
	ck_assert_int_eq(convert_start(convert, &err), 0);
	convert_thread(convert, &(struct convert_known){ .tid = 77, .pid = 77, .name = "shell" });
	made_begin(&made, false, false, 0);
	page_of(&made, 20000, 10, 77, &exec, sizeof(exec));
	made_end(&made, 0);
	ck_assert_int_eq(convert_page(convert, 0, made.bytes, 4096, &err), 0);
	made_begin(&made, false, false, 0);
	page_of(&made, 10000, 9, 5, &other, sizeof(other));
	page_of(&made, 50000, 9, 77, &program, sizeof(program));
	made_end(&made, 0);
	ck_assert_int_eq(convert_page(convert, 1, made.bytes, 4096, &err), 0);
	ck_assert_int_eq(convert_until(convert, UINT64_MAX, &err), 0);
	ck_assert_int_eq(convert_flush(convert, 70000, false, &err), 0);
	ck_assert_uint_eq(convert_count(convert, "sched_process_exec"), 1);
	/* As who comes on, and then as who leaves. */
	at = memmem(taken.bytes.at, taken.bytes.count, &program, 20);
	ck_assert_ptr_nonnull(at);
	ck_assert_ptr_nonnull(memmem(at + 1, taken.bytes.count - (size_t)(at + 1 - taken.bytes.at),
				     &program, 20));
	convert_free(convert);
	ftrace_format_free(format);
	ftrace_format_free(executed);
	taken_fini(&taken);
}
END_TEST

/* A thread that is given another name has it at once; what does not say whose it is, is believed of
 * who was called so. */
static void rename_then_derive(const char *fields, const char *was, bool is_told)
{
	struct ftrace_format *format = parsed("sched", "sched_switch", 9, switch_fields);
	struct ftrace_format *renamed = parsed("task", "task_rename", 10, fields);
	struct taken taken = { 0 };
	struct convert *convert = convert_to(&taken, false);
	struct made made;
	struct err err;
	const uint8_t *at;
	struct switched other = { "other", 5, 120, 1, "swapper/1", 0, 120 },
			named = { "worker", 77, 120, 1, "swapper/1", 0, 120 };
	struct {
		int32_t tid;
		char old[16], new[16];
	} rename = { 77, "", "worker" };

	(void)snprintf(rename.old, sizeof(rename.old), "%s", was);
	ck_assert_int_eq(convert_format(convert, format, &err), 0);
	ck_assert_int_eq(convert_format(convert, renamed, &err), 0);
	ck_assert_int_eq(convert_start(convert, &err), 0);
	convert_thread(convert, &(struct convert_known){ .tid = 77, .pid = 77, .name = "shell" });
	made_begin(&made, false, false, 0);
	page_of(&made, 20000, 10, 77, &rename, sizeof(rename));
	made_end(&made, 0);
	ck_assert_int_eq(convert_page(convert, 0, made.bytes, 4096, &err), 0);
	made_begin(&made, false, false, 0);
	page_of(&made, 10000, 9, 5, &other, sizeof(other));
	page_of(&made, 50000, 9, 77, &named, sizeof(named));
	made_end(&made, 0);
	ck_assert_int_eq(convert_page(convert, 1, made.bytes, 4096, &err), 0);
	ck_assert_int_eq(convert_until(convert, UINT64_MAX, &err), 0);
	ck_assert_int_eq(convert_flush(convert, 70000, false, &err), 0);
	/* As who comes on in the switch that was derived, and then as who leaves. */
	at = memmem(taken.bytes.at, taken.bytes.count, &named, 20);
	ck_assert_ptr_nonnull(at);
	at = memmem(at + 1, taken.bytes.count - (size_t)(at + 1 - taken.bytes.at), &named, 20);
	ck_assert_int_eq(at != NULL, is_told);
	convert_free(convert);
	ftrace_format_free(format);
	ftrace_format_free(renamed);
	taken_fini(&taken);
}

START_TEST(derived_by_new_name)
{
	static const char whole[] = "\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
				    "\tfield:char oldcomm[16];\toffset:12;\tsize:16;\tsigned:0;\n"
				    "\tfield:char newcomm[16];\toffset:28;\tsize:16;\tsigned:0;\n";

	rename_then_derive(whole, "another", true);
	rename_then_derive(strchr(whole, '\n') + 1, "shell", true);
	rename_then_derive(strchr(whole, '\n') + 1, "another", false);
}
END_TEST

/* A switch that the kernel withheld is made from the event that follows it. */
START_TEST(derives_switches)
{
	struct ftrace_format *format = parsed("sched", "sched_switch", 9, switch_fields);
	struct taken taken = { 0 };
	struct convert *convert = convert_to(&taken, false);
	struct convert_account account;
	struct made made;
	struct err err;
	struct switched to_idle = { "program", 77, 120, 1, "swapper/0", 0, 120 };

	ck_assert_int_eq(convert_format(convert, format, &err), 0);
	ck_assert_int_eq(convert_start(convert, &err), 0);
	made_begin(&made, false, false, 0);
	page_of(&made, 10000, 9, 77, &to_idle, sizeof(to_idle));
	page_of(&made, 50000, 9, 77, &to_idle, sizeof(to_idle));
	made_end(&made, 0);
	ck_assert_int_eq(convert_page(convert, 0, made.bytes, 4096, &err), 0);
	ck_assert_int_eq(convert_until(convert, UINT64_MAX, &err), 0);
	ck_assert_int_eq(convert_flush(convert, 70000, false, &err), 0);
	convert_account(convert, 0, &account);
	ck_assert_uint_eq(account.derived, 1);
	ck_assert_uint_eq(account.written, 2);
	ck_assert_uint_eq(taken.packet.events, 3);
	/* Behind the first: from the idle thread, a microsecond before the next event. */
	ck_assert_uint_eq(ftrace_u32(taken.bytes.at + 84 + 62 + 2, false), 59000);
	ck_assert_str_eq((char *)taken.bytes.at + 84 + 62 + 6, "swapper/0");
	ck_assert_str_eq((char *)taken.bytes.at + 84 + 62 + 6 + 32, "program");
	/* A CPU that has never had an event leaves no packet. */
	ck_assert_int_eq(convert_finish(convert, 80000, &err), 0);
	ck_assert_uint_eq(taken.packets, 2);
	convert_free(convert);
	ftrace_format_free(format);
	taken_fini(&taken);
}
END_TEST

/* Threads that have ended are forgotten: with the switch away from them if that is recorded, which
 * has their name yet, and else at once.  Else they would be a million before they were. */
static void forgets_threads(bool with_switches)
{
	static const char exit_fields[] = "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
					  "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
					  "\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n";
	static const char new_fields[] =
		"\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:unsigned long clone_flags;\toffset:16;\tsize:8;\tsigned:0;\n";
	struct ftrace_format *formats[] = { parsed("task", "task_newtask", 8, new_fields),
					    parsed("sched", "sched_process_exit", 9, exit_fields),
					    parsed("sched", "sched_switch", 10, switch_fields) };
	struct taken taken = { 0 };
	struct convert *convert = convert_to(&taken, false);
	struct err err;
	struct {
		int32_t tid, gap;
		uint64_t flags;
	} born = { 0 };
	struct {
		char name[16];
		int32_t tid, prio;
	} ended = { "worker", 0, 120 };
	struct switched switched = { "worker", 0, 120, 0, "shell", 5, 120 };

	for (size_t i = 0; i < (with_switches ? 3 : 2); i++) {
		ck_assert_int_eq(convert_format(convert, formats[i], &err), 0);
	}
	ck_assert_int_eq(convert_start(convert, &err), 0);
	for (int32_t tid = 1000; tid < 1100; tid++) {
		struct made made;

		born.tid = ended.tid = switched.prev_tid = tid;
		made_begin(&made, false, false, (uint64_t)tid * 1000);
		page_of(&made, 10, 8, 5, &born, sizeof(born));
		page_of(&made, 10, 9, tid, &ended, sizeof(ended));
		/* It waits for a lock on its way out, and ends then. */
		for (size_t i = 0; i < 2 && with_switches; i++) {
			switched.state = i == 0 ? 2 : 0x10;
			page_of(&made, 10, 10, tid, &switched, sizeof(switched));
		}
		made_end(&made, 0);
		ck_assert_int_eq(convert_page(convert, 0, made.bytes, 4096, &err), 0);
	}
	ck_assert_int_eq(convert_until(convert, UINT64_MAX, &err), 0);
	ck_assert_uint_eq(convert_count(convert, "sched_process_exit"), 100);
	ck_assert_msg(convert->tasks.used <= 1, "%u", convert->tasks.used);
	convert_free(convert);
	for (size_t i = 0; i < ARRAY_COUNT(formats); i++) {
		ftrace_format_free(formats[i]);
	}
	taken_fini(&taken);
}

START_TEST(forgets_ended_threads)
{
	forgets_threads(true);
	forgets_threads(false);
}
END_TEST

/* Of a thread that only switches have told of, nobody has said which process it is of. */
START_TEST(forks_of_unknown_processes)
{
	static const char fork_fields[] =
		"\tfield:char parent_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t parent_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		"\tfield:char child_comm[16];\toffset:28;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t child_pid;\toffset:44;\tsize:4;\tsigned:1;\n";
	static const char wakeup_fields[] =
		"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
		"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
		"\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n";
	struct ftrace_format *fork = parsed("sched", "sched_process_fork", 9, fork_fields);
	struct ftrace_format *wakeup = parsed("sched", "sched_wakeup", 10, wakeup_fields);
	struct taken taken = { 0 };
	struct convert *convert = convert_to(&taken, false);
	struct made made;
	struct err err;
	struct {
		char parent[16];
		int32_t parent_tid;
		char child[16];
		int32_t child_tid;
	} forked = { "forker", 77, "forker", 78 };
	struct {
		char name[16];
		int32_t tid, prio, cpu;
	} woken = { "forker", 77, 120, 0 };
	const uint8_t *at;

	ck_assert_int_eq(convert_format(convert, fork, &err), 0);
	ck_assert_int_eq(convert_format(convert, wakeup, &err), 0);
	ck_assert_int_eq(convert_start(convert, &err), 0);
	made_begin(&made, false, false, 0);
	page_of(&made, 10000, 10, 5, &woken, sizeof(woken));
	page_of(&made, 10000, 9, 77, &forked, sizeof(forked));
	made_end(&made, 0);
	ck_assert_int_eq(convert_page(convert, 0, made.bytes, 4096, &err), 0);
	ck_assert_int_eq(convert_until(convert, UINT64_MAX, &err), 0);
	ck_assert_int_eq(convert_flush(convert, 70000, false, &err), 0);
	at = memmem(taken.bytes.at, taken.bytes.count, &forked.parent, sizeof(forked.parent));
	ck_assert_ptr_nonnull(at);
	at = memmem(at + 1, taken.bytes.count - (size_t)(at + 1 - taken.bytes.at), &forked.parent,
		    sizeof(forked.parent));
	ck_assert_ptr_nonnull(at);
	ck_assert_uint_eq(ftrace_u32(at + 16, false), 77);
	ck_assert_uint_eq(ftrace_u32(at + 20, false), 77);
	convert_free(convert);
	ftrace_format_free(wakeup);
	ftrace_format_free(fork);
	taken_fini(&taken);
}
END_TEST

Suite *suite_ftrace(void)
{
	Suite *suite = suite_create("ftrace");
	TCase *formats = tcase_create("ftrace-format");
	TCase *pages = tcase_create("ftrace-page");
	TCase *traces = tcase_create("ftrace-convert");

	tcase_add_test(formats, reads_formats);
	tcase_add_test(formats, refuses_formats);
	tcase_add_test(formats, refuses_systems);
	tcase_add_test(formats, keeps_in_payload);
	suite_add_tcase(suite, formats);
	tcase_add_test(pages, reads_pages);
	tcase_add_test(pages, refuses_layouts);
	tcase_add_test(pages, absolute_times);
	tcase_add_test(pages, hostile_pages);
#ifdef HAVE_KBUFFER
	tcase_add_test(pages, as_kbuffer);
#endif
	suite_add_tcase(suite, pages);
	tcase_add_test(traces, formats_of_any_kernel);
	tcase_add_test(traces, lengths_of_others);
	tcase_add_test(traces, calls_across_cpus);
	tcase_add_test(traces, calls_of_32_bits);
	tcase_add_test(traces, derives_switches);
	tcase_add_test(traces, derived_by_program);
	tcase_add_test(traces, derived_by_new_name);
	tcase_add_test(traces, forgets_ended_threads);
	tcase_add_test(traces, forks_of_unknown_processes);
	suite_add_tcase(suite, traces);
	return suite;
}
