/*
 * metadata: text in both languages, whole plans from it, and the decoder on hand-made packets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "ctf/decoder.h"
#include "ctf/metadata/metadata.h"
#include "suites.h"

#define TRACE_LE         "trace { major = 1; minor = 8; byte_order = le; };\n"
#define INT(size, align) "integer { size = " #size "; align = " #align "; }"

static int feed(struct metadata_stream *stream, const char *text, size_t step, struct err *err)
{
	size_t len = strlen(text);
	int r = 0;

	for (size_t at = 0; r == 0 && at < len; at += step) {
		r = metadata_stream_feed(stream, text + at, len - at < step ? len - at : step, err);
	}
	return r == 0 ? metadata_stream_end(stream, err) : r;
}

static const struct {
	const char *text, *complaint;
} wrong[] = {
	{ TRACE_LE "\nevent { fields := struct { nosuch x; }; };",
	  "line 3: unknown type \"nosuch\"" },
	{ TRACE_LE "struct a { " INT(8, 3) " x; };", "power of two" },
	{ TRACE_LE "struct a { " INT(65, 8) " x; };", "at most 64" },
	{ TRACE_LE "struct a {}; struct a {};", "declared twice" },
	{ TRACE_LE "clock { freq = 0; };", "0 Hz" },
	{ TRACE_LE "bogus { };", "expected trace, env" },
	{ TRACE_LE "typealias " INT(8, 8) " = x;", "expected \":=\"" },
	{ TRACE_LE "struct a { variant { string x; } v; };", "no <tag>" },
	{ TRACE_LE "struct a { variant { string x; } v[2]; };", "array of variants without" },
	{ TRACE_LE "typealias variant { string x; }[2] := a;", "array of variants without" },
	{ TRACE_LE "event { name = \"x\"; id = 1 }; ", "expected \";\"" },
	{ "trace { major = 1; minor = 7; byte_order = le; };", "1.7" },
	{ "trace { major = 1; minor = 8; };", "no byte_order" },
	{ "trace { byte_order = pdp; };", "must be le or be" },
	{ TRACE_LE TRACE_LE, "second trace" },
	{ TRACE_LE "struct a { ", "ends inside a declaration" },
	{ TRACE_LE "event { x = `; };", "at \"`; };\"" },
	{ TRACE_LE "event { \"x\" = 3; = 5; };", "expected a value" },
	{ TRACE_LE "event { fields := struct { " INT(8, 8) " 3; }; };", "expected a name" },
	{ TRACE_LE "env { a := string; };", "strings and integers only" },
	{ TRACE_LE "env { a = b; };", "expected a number" },
	{ TRACE_LE "event { id = 12x; };", "expected a number" },
	{ TRACE_LE "event { id = 99999999999999999999; };", "expected a number" },
	{ "trace { uuid = 3; };", "expected a string" },
	{ "trace { uuid = \"12\"; };", "is not a UUID" },
	{ "trace { uuid = \"zz\"; };", "is not a UUID" },
	{ "trace { packet.header := string; };", "must be a struct" },
	{ TRACE_LE "clock { freq = 1; };", "clock without a name" },
	{ TRACE_LE "clock { name = a; }; clock { name = a; };", "\"a\" is declared twice" },
	{ TRACE_LE "stream { }; stream { id = 0; };", "stream 0 is declared twice" },
	{ TRACE_LE "typealias integer { size = 0; } := x;", "at least one bit" },
	{ TRACE_LE "typealias integer { align = 8; } := x;", "without a size" },
	{ TRACE_LE "typealias integer { size = 8; signed = maybe; } := x;",
	  "expected true or false" },
	{ TRACE_LE "typealias integer { size = 8; byte_order = pdp; } := x;", "network or native" },
	{ TRACE_LE "typealias integer { size = 8; map = clock.x; } := x;", "clock.NAME.value" },
	{ TRACE_LE "typealias floating_point { exp_dig = 5; mant_dig = 11; } := x;", "not 5 + 11" },
	{ TRACE_LE "enum { A };", "an enum needs an integer type" },
	{ TRACE_LE "enum : struct { } { A };", "an enum needs an integer type" },
	{ TRACE_LE "struct a { enum nosuch x; };", "unknown type \"enum nosuch\"" },
	{ TRACE_LE "struct a { struct nosuch x; };", "unknown type \"struct nosuch\"" },
	{ TRACE_LE "struct a { struct ; };", "unknown type \"struct \"" },
	{ TRACE_LE "struct a { variant nosuch <t> x; };", "unknown type \"variant nosuch\"" },
	{ TRACE_LE "typealias 3 := x;", "expected a type" },
	{ TRACE_LE
	  "struct a { string s[1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1][1]"
	  "[1][1][1][1][1][1][1][1][1][1][1]; };",
	  "dimensions" },
};

START_TEST(refuses_metadata)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct err err = { "" };

	ck_assert_int_eq(feed(stream, wrong[_i].text, 1000000, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, wrong[_i].complaint), "said \"%s\", wanted \"%s\"", err.text,
		      wrong[_i].complaint);
	metadata_stream_free(stream);
}
END_TEST

/* Deep nesting is an error and does not exhaust the stack. */
START_TEST(bounds_depth)
{
	struct metadata_stream *stream = metadata_stream_new();
	char *text = mem_alloc(200000);
	struct err err;

	strcpy(text, TRACE_LE);
	for (int i = 0; i < 5000; i++) {
		strcat(text, "struct s { ");
		if (i == 100) {
			i = 4000; /* deep enough; strcat is quadratic */
		}
	}
	strcat(text, "; };");
	ck_assert_int_eq(feed(stream, text, 1000000, &err), -EINVAL);
	free(text);
	metadata_stream_free(stream);
}
END_TEST

static const char whole[] = TRACE_LE "typealias " INT(
	8, 8) " := uint8_t;\n"
	      "stream { id = 0; event.header := struct { uint8_t id; }; };\n"
	      "event { name = \"all\"; id = 7; stream_id = 0; fields := struct {\n"
	      "  integer { size = 3; align = 1; } a;\n"
	      "  integer { size = 5; align = 1; signed = true; } b;\n"
	      "  integer { size = 16; align = 8; byte_order = be; } c;\n"
	      "  string d;\n"
	      "  uint8_t n; uint8_t e[n];\n"
	      "  enum : uint8_t { X = 0 ... 3, Y = 4 } tag;\n"
	      "  variant <tag> { integer { size = 16; align = 8; } X; string Y; } v;\n"
	      "  floating_point { exp_dig = 8; mant_dig = 24; align = 8; } f;\n"
	      "  struct { uint8_t k; integer { size = 32; align = 32; } w; } s[2];\n"
	      "}; };\n";

/* The payload is aligned to 32 bits, because its member s is. */
static const uint8_t whole_packet[] = {
	7,
	0,
	0,
	0,
	0xA5,
	0x12,
	0x34,
	'h',
	'i',
	0,
	3,
	9,
	8,
	7,
	4,
	'y',
	0,
	0,
	0,
	0xC0,
	0x3F,
	/* s[0], at byte 24 */ 0,
	0,
	0,
	1,
	0,
	0,
	0,
	2,
	0,
	0,
	0,
	3,
	0,
	0,
	0,
	4,
	0,
	0,
	0,
};

struct seen {
	VEC(struct value) values;
};

/* A tag by its absolute path and one found outward; names, stars, escapes and comments. */
static const char outward[] =
	"/* a */ " TRACE_LE "// b\n"
	"typedef " INT(
		8,
		8) " byte; typealias byte := char *;\n"
		   "enum tag : byte { A = 'a', B, _C = -0 ... +60 }; env { a = \"x\\n\\\"\"; };\n"
		   "callsite { x := struct { byte y; }; };;\n"
		   "clock { name = k; freq = 1u; offset_s = -3; offset = 2L; absolute = TRUE; y = "
		   "z->w; };\n"
		   "variant any { byte A; struct { byte q; } B; string C; };\n"
		   "stream { event.header := struct { byte id; }; event.context := struct { enum "
		   "tag t; }; x := byte; };\n"
		   "event { name = one; id = 1; fields := struct {\n"
		   "  variant any <stream.event.context.t> v; variant any <t> w; char *p; const "
		   "char const *q;\n"
		   "  struct { string { encoding = UTF8; } s; } in[2];\n"
		   "}; };\n";

static void on_leaf(void *user, const struct type *type, const struct value *value)
{
	struct seen *seen = user;

	*vec_push(&seen->values) = *value;
}

/* Metadata in pieces of any size gives the same plan; the plan decodes each kind of field. */
START_TEST(decodes_all_kinds)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct decoder *d = mem_alloc(sizeof(*d));
	struct seen seen = { 0 };
	struct plan_builder *builder;
	struct packet_info info;
	struct ctf_event event;
	struct plan *plan;
	struct err err = { "" };

	ck_assert_int_eq(feed(stream, whole, (size_t)_i + 1, &err), 0);
	builder = plan_builder_new(metadata_stream_arena(stream), NULL, 0, true);
	ck_assert_msg(plan_build(builder, metadata_stream_types(stream), &plan, &err) == 0, "%s",
		      err.text);
	ck_assert_int_eq(packet_info_read(d, plan, whole_packet, sizeof(whole_packet),
					  sizeof(whole_packet), &info, &err),
			 0);
	decoder_start(d, plan, &info, whole_packet, sizeof(whole_packet));
	d->visit = on_leaf;
	d->visit_user = &seen;
	ck_assert_msg(decoder_next(d, &event) == 1, "%s at bit %d", d->fault, (int)d->at_bits);
	ck_assert_str_eq(event.class->class->name, "all");
	ck_assert_uint_eq(seen.values.count, 15);
	ck_assert_uint_eq(seen.values.at[0].u, 5);      /* low 3 bits of 0xA5 */
	ck_assert_int_eq(seen.values.at[1].i, -12);     /* high 5 bits, 10100, signed */
	ck_assert_uint_eq(seen.values.at[2].u, 0x1234); /* big endian */
	ck_assert_uint_eq(seen.values.at[3].len, 2);    /* "hi" */
	ck_assert_uint_eq(seen.values.at[5].u, 9);      /* e[0] */
	ck_assert_uint_eq(seen.values.at[8].u, 4);      /* tag Y */
	ck_assert_int_eq(seen.values.at[9].bytes[0], 'y');
	ck_assert_double_eq(seen.values.at[10].f, 1.5);
	ck_assert_uint_eq(seen.values.at[12].u, 2);
	ck_assert_uint_eq(seen.values.at[14].u, 4);
	ck_assert_int_eq(decoder_next(d, &event), 0);
	vec_fini(&seen.values);
	plan_unref(plan);
	plan_builder_free(builder);
	metadata_stream_free(stream);
	decoder_free(d);
}
END_TEST

START_TEST(looks_outward)
{
	static const uint8_t packet[] = { 1, 'b', 7,   8, 9, 10, 'h', 0, 'i', 0,
					  1, 50,  'x', 0, 0, 1,  2,   0, 0 };
	struct metadata_stream *stream = metadata_stream_new();
	struct decoder *d = mem_alloc(sizeof(*d));
	struct seen seen = { 0 };
	struct plan_builder *builder;
	const struct metadata *types;
	struct packet_info info;
	struct ctf_event event;
	struct plan *plan;
	struct err err = { "" };

	ck_assert_msg(feed(stream, outward, (size_t)_i + 1, &err) == 0, "%s", err.text);
	types = metadata_stream_types(stream);
	ck_assert_str_eq(metadata_env(types, "a")->text, "x\n\"");
	ck_assert_int_eq(metadata_clock(types, "k")->offset_s, -3);
	ck_assert(metadata_clock(types, "k")->is_absolute);
	builder = plan_builder_new(metadata_stream_arena(stream), NULL, 0, true);
	ck_assert_msg(plan_build(builder, types, &plan, &err) == 0, "%s", err.text);
	ck_assert_int_eq(
		packet_info_read(d, plan, packet, sizeof(packet), sizeof(packet), &info, &err), 0);
	decoder_start(d, plan, &info, packet, sizeof(packet));
	d->visit = on_leaf;
	d->visit_user = &seen;
	ck_assert_int_eq(decoder_next(d, &event), 1);
	ck_assert_uint_eq(seen.values.count, 7); /* tag, v.q, w.q, p, q, in[0], in[1] */
	ck_assert_uint_eq(seen.values.at[2].u, 8);
	ck_assert_uint_eq(seen.values.at[4].u, 10);
	ck_assert_int_eq(decoder_next(d, &event), 1); /* tag 50: C, two strings */
	ck_assert_uint_eq(seen.values.count, 14);
	ck_assert_int_eq(seen.values.at[8].bytes[0], 'x');
	ck_assert_uint_eq(seen.values.at[9].len, 0);
	vec_fini(&seen.values);
	plan_unref(plan);
	plan_builder_free(builder);
	metadata_stream_free(stream);
	decoder_free(d);
}
END_TEST

#define SIZES                                                                                      \
	"typealias " INT(32, 8) " := u32;\n"                                                       \
				"trace { major = 1; minor = 8; byte_order = le; packet.header := " \
				"struct { u32 magic; u32 stream_id; }; };\n"                       \
				"stream { id = 0; packet.context := struct { u32 content_size; "   \
				"u32 packet_size; };\n"                                            \
				"event.header := struct { u32 id; }; };\n"

/* Packet headers, most of them wrong: magic, stream, content and packet size in bits. */
static const struct {
	uint32_t words[5];
	size_t bytes, bytes_max;
	int code;
	const char *complaint;
} wrong_packets[] = {
	{ { 0xC1FC1FC1, 0, 128, 128 }, 16, 16, 0, "" },
	{ { 0xC1FC1FC2, 0, 128, 128 }, 16, 16, -EPROTO, "magic number is 0xc1fc1fc2" },
	{ { 0xC1FC1FC1, 9, 128, 128 }, 16, 16, -EPROTO, "stream class 9" },
	{ { 0xC1FC1FC1, 0, 128, 0 }, 16, 16, -EPROTO, "size is 0 bits" },
	{ { 0xC1FC1FC1, 0, 128, 129 }, 16, 16, -EPROTO, "size is 129 bits" },
	{ { 0xC1FC1FC1, 0, 160, 128 }, 16, 16, -EPROTO, "larger than the packet" },
	{ { 0xC1FC1FC1, 0, 64, 128 }, 16, 16, -EPROTO, "ends before its context" },
	{ { 0xC1FC1FC1, 0, 128, 128 }, 15, 16, -ENODATA, "do not hold the header" },
	{ { 0xC1FC1FC1, 0, 128, 128 }, 3, 16, -ENODATA, "do not hold the header" },
	{ { 0xC1FC1FC1, 0, 128, 128 }, 15, 15, -EPROTO, "ends in its header" },
	{ { 0xC1FC1FC1, 0, 160, 1600, 0x12345 }, 20, 20, 0, "" },
};

START_TEST(refuses_packets)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct decoder *d = mem_alloc(sizeof(*d));
	struct packet_info info = { 0 };
	struct plan_builder *builder;
	struct ctf_event event;
	struct plan *plan;
	struct err err = { "" };

	ck_assert_msg(feed(stream, SIZES, 1000, &err) == 0, "%s", err.text);
	builder = plan_builder_new(metadata_stream_arena(stream), NULL, 0, false);
	ck_assert_int_eq(plan_build(builder, metadata_stream_types(stream), &plan, &err), 0);
	ck_assert_int_eq(packet_info_read(d, plan, (const uint8_t *)wrong_packets[_i].words,
					  wrong_packets[_i].bytes, wrong_packets[_i].bytes_max,
					  &info, &err),
			 wrong_packets[_i].code);
	ck_assert_msg(strstr(err.text, wrong_packets[_i].complaint), "said \"%s\", wanted \"%s\"",
		      err.text, wrong_packets[_i].complaint);
	if (wrong_packets[_i].bytes == 20) {
		ck_assert(!packet_info_cut(&info, 20));
		ck_assert_uint_eq(info.size_bits, 160);
		decoder_start(d, plan, &info, (const uint8_t *)wrong_packets[_i].words, 20);
		ck_assert_int_eq(decoder_next(d, &event), -1);
		ck_assert_int_eq(decoder_fault(d, &err), -EPROTO);
		ck_assert_str_eq(err.text, "bit 160: no event class has the id (74565)");
	}
	plan_unref(plan);
	plan_builder_free(builder);
	metadata_stream_free(stream);
	decoder_free(d);
}
END_TEST

/* Metadata packets with wrong headers: at, value, complaint. */
static const struct {
	size_t at;
	uint8_t value;
	const char *complaint;
} wrong_headers[] = {
	{ 32, 1, "compressed or encrypted" },
	{ 35, 3, "CTF version 3.8" },
	{ 24, 1, "impossible sizes" },
	{ 28, 200, "ends inside packet 0" },
};

START_TEST(refuses_metadata_packets)
{
	struct metadata_stream *stream = metadata_stream_new();
	uint8_t packet[40] = { 0x57, 0x1D, 0xD1, 0x75 };
	struct err err = { "" };
	int r;

	packet[24] = 0x40, packet[25] = 1; /* 320 bits */
	packet[28] = 0x40, packet[29] = 1;
	packet[35] = 1;
	packet[36] = 8;
	memcpy(packet + 37, ";; ", 3);
	packet[wrong_headers[_i].at] = wrong_headers[_i].value;
	if (wrong_headers[_i].at == 28) {
		packet[28] = 0x80; /* 384 bits, more than were fed */
	}
	r = metadata_stream_feed(stream, packet, sizeof(packet), &err);
	r = r == 0 ? metadata_stream_end(stream, &err) : r;
	ck_assert_int_eq(r, -EINVAL);
	ck_assert_msg(strstr(err.text, wrong_headers[_i].complaint), "said \"%s\"", err.text);
	metadata_stream_free(stream);
}
END_TEST

/* Every shorter packet, with its last byte changed too, ends without harm. */
START_TEST(survives_damage)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct decoder *d = mem_alloc(sizeof(*d));
	struct plan_builder *builder;
	struct plan *plan;
	struct err err;
	bool visit = _i;

	ck_assert_int_eq(feed(stream, whole, 100000, &err), 0);
	builder = plan_builder_new(metadata_stream_arena(stream), NULL, 0, visit);
	ck_assert_int_eq(plan_build(builder, metadata_stream_types(stream), &plan, &err), 0);
	for (size_t len = 1; len <= sizeof(whole_packet); len++) {
		for (unsigned int byte = 0; byte < 256; byte += 5) {
			uint8_t *bytes = malloc(len); /* exact, so that ASan sees overruns */
			struct packet_info info;
			struct ctf_event event;
			unsigned int turns = 0;

			memcpy(bytes, whole_packet, len);
			bytes[len - 1] = (uint8_t)byte;
			if (packet_info_read(d, plan, bytes, len, len, &info, &err) == 0) {
				decoder_start(d, plan, &info, bytes, len);
				while (decoder_next(d, &event) > 0) {
					ck_assert_uint_lt(++turns, 1000);
				}
			}
			free(bytes);
		}
	}
	plan_unref(plan);
	plan_builder_free(builder);
	metadata_stream_free(stream);
	decoder_free(d);
}
END_TEST

#define F2(name, class) "{\"name\":\"" name "\",\"field-class\":{" class "}}"
#define U8_2            "\"type\":\"fixed-length-unsigned-integer\",\"length\":8,\"byte-order\":\"big-endian\""

static const char whole2[] =
	"\x1e{\"type\":\"preamble\",\"version\":2,\"uuid\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]"
	"}"
	"\x1e{\"type\":\"field-class-alias\",\"name\":\"byte\",\"field-class\":{" U8_2 "}}"
	"\x1e{\"type\":\"clock-class\",\"id\":\"c\",\"frequency\":1000}"
	"\x1e{\"type\":\"trace-class\",\"environment\":{\"a\":\"b\",\"n\":-3}}"
	"\x1e{\"type\":\"data-stream-class\",\"default-clock-class-id\":\"c\"}"
	"\x1e{\"type\":\"event-record-class\",\"name\":\"_e\",\"attributes\":{\"lttng.org,2009\":"
	"{\"log-level\":13}},\"payload-field-class\":{\"type\":\"structure\",\"member-classes\":"
	"[" F2("n", U8_2 ",\"mappings\":{\"x\":[[0,3],9]}") "," F2(
		"s",
		"\"type\":\"dynamic-length-string\",\"encoding\":\"utf-16le\","
		"\"length-field-location\":{\"path\":[\"n\"]}") "," F2("o",
								       "\"type\":\"optional\","
								       "\"selector-field-"
								       "location\":{\"path\":["
								       "\"n\"]},"
								       "\"selector-field-ranges\":["
								       "[4,4]],\"field-class\":"
								       "\"byte\"") "]}}";

/* Each allocation of parsing and compiling may fail: an error, not a crash. */
START_TEST(survives_no_memory)
{
	bool is_done = false;

	for (unsigned long n = 1; !is_done; n++) {
		struct metadata_stream *stream = metadata_stream_new();
		struct plan_builder *builder =
			plan_builder_new(metadata_stream_arena(stream), NULL, 0, true);
		struct plan *plan = NULL;
		struct err err = { "" };
		int r;

		arena_fail_after = n;
		r = feed(stream, _i ? whole2 : whole, 64, &err);
		if (r == 0) {
			r = plan_build(builder, metadata_stream_types(stream), &plan, &err);
		}
		ck_assert_msg(r == 0 || r == -ENOMEM, "%d: %s", r, err.text);
		ck_assert(r == 0 || err.text[0]);
		is_done = r == 0;
		ck_assert_int_eq(is_done, arena_fail_after > 0);
		ck_assert_uint_lt(n, 10000);
		arena_fail_after = 0;
		plan_unref(plan);
		plan_builder_free(builder);
		metadata_stream_free(stream);
	}
}
END_TEST

#define PREAMBLE "\x1e{\"type\":\"preamble\",\"version\":2}"
#define CLASS(text)                                                                                \
	PREAMBLE "\x1e{\"type\":\"field-class-alias\",\"name\":\"x\",\"field-class\":{" text "}}"

static const struct {
	const char *text, *complaint;
} wrong2[] = {
	{ "\x1e{\"type\":\"trace-class\"}", "first fragment must be the preamble" },
	{ "\x1e{\"type\":\"preamble\",\"version\":3}", "CTF version 3" },
	{ "\x1e{\"type\":\"preamble\"}", "fragment 0: no \"version\"" },
	{ "\x1e{\"type\":\"preamble\",\"version\":-2}", "must not be negative" },
	{ PREAMBLE PREAMBLE, "fragment 1: a second preamble" },
	{ "\x1e{\"type\":\"preamble\",\"version\":2,\"extensions\":{\"you\":{}}}",
	  "extension \"you\"" },
	{ "\x1e{\"type\":\"preamble\",\"version\":2,\"uuid\":[1]}", "16 bytes, not 1" },
	{ "\x1e{\"type\":\"preamble\",\"version\":2,\"uuid\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,"
	  "256]}",
	  "0 to 255" },
	{ PREAMBLE "\x1e[1]", "must be a JSON object" },
	{ PREAMBLE "\x1enull ", "must be a JSON object" },
	{ PREAMBLE "\x1e{\"type\":\"odd\"}", "unknown type \"odd\"" },
	{ PREAMBLE "\x1e{\"type\":}", "fragment 1, at byte" },
	{ PREAMBLE "\x1e{\"type\":\"trace-class\"", "ends inside a fragment" },
	{ PREAMBLE "\x1e{\"type\":\"trace-class\",\"environment\":{\"a\":1.5}}",
	  "strings and integers" },
	{ PREAMBLE "\x1e{\"type\":\"trace-class\",\"environment\":[]}",
	  "JSON type object, not array" },
	{ PREAMBLE "\x1e{\"type\":\"data-stream-class\"}\x1e{\"type\":\"trace-class\"}",
	  "second trace class" },
	{ PREAMBLE "\x1e{\"type\":\"data-stream-class\"}\x1e{\"type\":\"data-stream-class\"}",
	  "declared twice" },
	{ PREAMBLE "\x1e{\"type\":\"data-stream-class\",\"default-clock-class-id\":\"q\"}",
	  "clock class \"q\" is not declared" },
	{ PREAMBLE "\x1e{\"type\":\"clock-class\",\"id\":\"c\",\"frequency\":0}", "0 Hz" },
	{ PREAMBLE
	  "\x1e{\"type\":\"clock-class\",\"id\":\"c\"}\x1e{\"type\":\"clock-class\",\"id\":\"c\"}",
	  "declared twice" },
	{ PREAMBLE "\x1e{\"type\":\"event-record-class\",\"payload-field-class\":{\"type\":\"null-"
		   "terminated-string\"}}",
	  "must be a structure" },
	{ PREAMBLE "\x1e{\"type\":\"event-record-class\",\"payload-field-class\":3}",
	  "must be a field class" },
	{ PREAMBLE "\x1e{\"type\":\"event-record-class\",\"payload-field-class\":\"nosuch\"}",
	  "payload-field-class: unknown field class \"nosuch\"" },
	{ CLASS("\"type\":\"odd\""), "field class type, \"odd\"" },
	{ CLASS(U8_2) "\x1e{\"type\":\"field-class-alias\",\"name\":\"x\",\"field-class\":{" U8_2
		      "}}",
	  "\"x\" is declared twice" },
	{ CLASS("\"type\":\"fixed-length-boolean\",\"length\":0,\"byte-order\":\"big-endian\""),
	  "no bits" },
	{ CLASS("\"type\":\"fixed-length-boolean\",\"length\":8"), "no \"byte-order\"" },
	{ CLASS("\"type\":\"fixed-length-boolean\",\"length\":8,\"byte-order\":\"pdp\""),
	  "not \"pdp\"" },
	{ CLASS(U8_2 ",\"bit-order\":\"odd\""), "\"bit-order\" must be" },
	{ CLASS(U8_2 ",\"alignment\":3"), "power of two" },
	{ CLASS(U8_2 ",\"roles\":[1]"), "\"roles\" must be strings" },
	{ CLASS(U8_2 ",\"mappings\":{\"a\":3}"), "arrays of ranges" },
	{ CLASS(U8_2 ",\"mappings\":{\"a\":[[1]]}"), "two integers" },
	{ CLASS(U8_2 ",\"mappings\":{\"a\":[\"b\"]}"), "must be an integer" },
	{ CLASS("\"type\":\"fixed-length-floating-point-number\",\"length\":33,\"byte-order\":"
		"\"big-endian\""),
	  "number of 33 bits" },
	{ CLASS("\"type\":\"fixed-length-floating-point-number\",\"length\":128,\"byte-order\":"
		"\"big-endian\","
		"\"bit-order\":\"first-to-last\""),
	  "reversed order" },
	{ CLASS("\"type\":\"null-terminated-string\",\"encoding\":\"ebcdic\""),
	  "unknown encoding, \"ebcdic\"" },
	{ CLASS("\"type\":\"static-length-blob\",\"length\":99999999999"), "the limit is" },
	{ CLASS("\"type\":\"dynamic-length-blob\""), "no \"length-field-location\"" },
	{ CLASS("\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"path\":[]}"),
	  "without a name" },
	{ CLASS("\"type\":\"dynamic-length-blob\",\"length-field-location\":{}"),
	  "has no \"path\"" },
	{ CLASS("\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"origin\":\"mars\","
		"\"path\":[\"a\"]}"),
	  "unknown origin, \"mars\"" },
	{ CLASS("\"type\":\"dynamic-length-blob\",\"length-field-location\":{\"path\":[\"a\",null]"
		"}"),
	  "nulls that lead outward" },
	{ CLASS("\"type\":\"structure\",\"member-classes\":[3]"),
	  "member-classes[0]: must be an object" },
	{ CLASS("\"type\":\"structure\",\"member-classes\":[{\"field-class\":{}}]"),
	  "no \"name\"" },
	{ CLASS("\"type\":\"variant\",\"selector-field-location\":[\"a\"],\"options\":[{\"field-"
		"class\":{" U8_2 "}}]"),
	  "options[0]: no \"selector-field-ranges\"" },
};

START_TEST(refuses_ctf2)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct err err = { "" };

	ck_assert_int_eq(feed(stream, wrong2[_i].text, 7, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, wrong2[_i].complaint), "said \"%s\", wanted \"%s\"",
		      err.text, wrong2[_i].complaint);
	ck_assert_int_eq(feed(stream, PREAMBLE, 7, &err), -EINVAL); /* for good */
	metadata_stream_free(stream);
}
END_TEST

#define STREAM_LE "stream { id = 0; };\n"

/* Metadata that parses and cannot be compiled. */
static const struct {
	const char *text, *complaint;
} wrong_plans[] = {
	{ "env { a = 1; };", "no trace block" },
	{ TRACE_LE "event { name = x; stream_id = 0; };", "stream 0, which is not declared" },
	{ TRACE_LE STREAM_LE "event { name = x; stream_id = 3; };",
	  "stream 3, which is not declared" },
	{ TRACE_LE STREAM_LE "event { name = x; fields := struct { " INT(8, 8) " a[n]; }; };",
	  "length \"n\" is not a field before it" },
	{ TRACE_LE STREAM_LE
	  "event { name = x; fields := struct { string n; " INT(8, 8) " a[n]; }; };",
	  "length \"n\" is not an integer" },
	{ TRACE_LE STREAM_LE "event { name = x; fields := struct { " INT(
		  8, 8) " t; variant <t> { string a; } v; }; };",
	  "tag \"t\" is not an enum" },
	{ TRACE_LE STREAM_LE
	  "event { name = x; fields := struct { " INT(8, 8) " a[event.fields.q]; }; };",
	  "\"event.fields.q\" is not a field" },
	{ TRACE_LE STREAM_LE
	  "event { name = x; fields := struct { " INT(8, 8) " a[4294967296]; }; };",
	  "array of 4294967296 elements" },
	{ TRACE_LE "struct a0 { string s; };\n"
		   "struct a1 { struct a0 a, b, c, d, e, f, g, h; };\nstruct a2 { struct a1 a, b, "
		   "c, d, e, f, g, h; };\n"
		   "struct a3 { struct a2 a, b, c, d, e, f, g, h; };\nstruct a4 { struct a3 a, b, "
		   "c, d, e, f, g, h; };\n"
		   "struct a5 { struct a4 a, b, c, d, e, f, g, h; };\nstruct a6 { struct a5 a, b, "
		   "c, d, e, f, g, h; };\n" STREAM_LE
		   "event { name = x; fields := struct { struct a6 a; }; };",
	  "class of more than" },
};

START_TEST(refuses_plans)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct plan_builder *builder =
		plan_builder_new(metadata_stream_arena(stream), NULL, 0, false);
	struct plan *plan = NULL;
	struct err err = { "" };

	ck_assert_msg(feed(stream, wrong_plans[_i].text, 1000000, &err) == 0, "%s", err.text);
	ck_assert_int_eq(plan_build(builder, metadata_stream_types(stream), &plan, &err), -EINVAL);
	ck_assert_msg(strstr(err.text, wrong_plans[_i].complaint), "said \"%s\", wanted \"%s\"",
		      err.text, wrong_plans[_i].complaint);
	plan_builder_free(builder);
	metadata_stream_free(stream);
}
END_TEST

/* Each added class makes a plan; the plans before do not change. */
START_TEST(grows_plans)
{
	/* In order, into a hole, far on, twice the same, and beyond what a table holds. */
	static const unsigned int ids[] = { 3, 1, 700, 2, 1, 65535, 70000, 5 };
	enum { COUNT = sizeof(ids) / sizeof(ids[0]) };
	struct metadata_stream *stream = metadata_stream_new();
	struct plan_builder *builder =
		plan_builder_new(metadata_stream_arena(stream), NULL, 0, false);
	struct plan *plans[COUNT];
	struct err err = { "" };

	ck_assert_int_eq(feed(stream, TRACE_LE STREAM_LE, 1000, &err), 0);
	for (size_t i = 0; i < COUNT; i++) {
		char *text = mem_printf("event { name = e%zu; id = %u; };", i, ids[i]);

		ck_assert_int_eq(feed(stream, text, 1000, &err), 0);
		ck_assert_int_eq(
			plan_build(builder, metadata_stream_types(stream), &plans[i], &err), 0);
		free(text);
	}
	for (size_t i = 0; i < COUNT; i++) {
		const struct plan_stream *one = plan_stream(plans[i], 0);

		ck_assert_uint_eq(plans[i]->class_count, i + 1);
		for (size_t k = 0; k < COUNT; k++) {
			const struct plan_event *event = plan_event_find(one, ids[k]);

			if (i < k && !(ids[k] == 1 && i >= 1)) {
				ck_assert_ptr_null(event);
			} else { /* of two classes with one id (k = 1 and 4) the first counts */
				ck_assert_uint_eq(event->index, k == 4 ? 1 : k);
			}
		}
		ck_assert_ptr_null(plan_event_find(one, 4));
		plan_unref(plans[i]);
	}
	ck_assert_uint_eq(metadata_stream_types(stream)->notes->count, 1); /* said once */
	plan_builder_free(builder);
	metadata_stream_free(stream);
}
END_TEST

#define STAMPED           "packet.context := struct { " INT(64, 8) " timestamp_begin; };"
#define HEADER            "event.header := struct { " INT(8, 8) " id; " INT(32, 8) " timestamp; };"
#define CLOCK(name, freq) "clock { name = " #name "; freq = " #freq "; };\n"

/* Metadata that says too little or too much, how it is read, and what is noted. */
static const struct {
	const char *text;
	uint64_t freq; /* of the clock of the first stream; 0: none */
	const char *note, *second_note;
} noted[] = {
	{ TRACE_LE "stream { " HEADER " };", 1000000000, "no clock; time stamps count as ns" },
	{ TRACE_LE "stream { " STAMPED " };", 1000000000, "no clock; time stamps count as ns" },
	{ TRACE_LE CLOCK(a, 10) "stream { " HEADER " }; stream { id = 1; " HEADER " };", 10,
	  "\"a\", the only one" },
	{ TRACE_LE "stream { " HEADER " };\n" CLOCK(a, 10) CLOCK(b, 20), 10,
	  "\"a\", the first one" },
	{ TRACE_LE CLOCK(a, 10) "stream { event.header := struct { integer { size = 8; map = "
				"clock.z.value; } timestamp; }; };",
	  10, "no declared clock" },
	{ TRACE_LE CLOCK(a, 10) "stream { };", 0, NULL },
	{ TRACE_LE CLOCK(a, 10) CLOCK(b, 20) "stream { " STAMPED
					     " event.header := struct { integer { size = 8; map = "
					     "clock.b.value; } timestamp; }; };",
	  20, NULL },
	{ TRACE_LE "event { name = x; };", 0, NULL },
	{ TRACE_LE "event { name = x; };\nstream { id = 'a'; };\n", 0, NULL },
	{ TRACE_LE "struct a { string x, y, x; };\nstream { };", 0, "two fields \"x\"; the first" },
	{ TRACE_LE STREAM_LE "event { name = x; id = 1; };\nevent { name = y; id = 1; };"
			     "event { name = p; id = 70000; };\nevent { name = q; id = 70000; };",
	  0, "\"x\" and \"y\" have the same id, 1;", "\"p\" and \"q\" have the same id, 70000;" },
};

START_TEST(notes_guesses)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct plan_builder *builder =
		plan_builder_new(metadata_stream_arena(stream), NULL, 0, false);
	const struct metadata_note *note;
	struct plan *plan = NULL;
	struct err err = { "" };

	ck_assert_msg(feed(stream, noted[_i].text, 1000000, &err) == 0, "%s", err.text);
	for (int again = 0; again < 2; again++) { /* a note is made once */
		plan_unref(plan);
		ck_assert_msg(plan_build(builder, metadata_stream_types(stream), &plan, &err) == 0,
			      "%s", err.text);
	}
	ck_assert_uint_eq(plan->streams[0].clock ? plan->streams[0].clock->freq : 0,
			  noted[_i].freq);
	note = metadata_stream_types(stream)->notes->first;
	ck_assert_int_eq(!note, !noted[_i].note);
	ck_assert_msg(!note || strstr(note->text, noted[_i].note), "noted \"%s\"", note->text);
	note = note ? note->next : NULL;
	ck_assert_int_eq(!note, !noted[_i].second_note);
	ck_assert_msg(!note || strstr(note->text, noted[_i].second_note), "noted \"%s\"",
		      note->text);
	plan_unref(plan);
	plan_builder_free(builder);
	metadata_stream_free(stream);
}
END_TEST

/* A stream block behind events that were read without one. */
START_TEST(refuses_late_streams)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct plan_builder *builder =
		plan_builder_new(metadata_stream_arena(stream), NULL, 0, false);
	struct plan *plan;
	struct err err = { "" };

	ck_assert_int_eq(feed(stream, TRACE_LE "event { name = x; };", 1000, &err), 0);
	ck_assert_int_eq(plan_build(builder, metadata_stream_types(stream), &plan, &err), 0);
	plan_unref(plan);
	ck_assert_int_eq(feed(stream, STREAM_LE, 1000, &err), 0);
	ck_assert_int_eq(plan_build(builder, metadata_stream_types(stream), &plan, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "a stream behind events"));
	plan_builder_free(builder);
	metadata_stream_free(stream);
}
END_TEST

/* Constants wherever a block has a value, and a struct that no semicolon ends. */
START_TEST(reads_constants)
{
	static const char text[] =
		"trace { major = +1; minor = '\\x8'; byte_order = le; a = 'x'; b = +3; };\n"
		"struct a { string s; }\n"
		"clock { name = c; freq = '\\62'; offset_s = - +5; precision = +1; };\n"
		"stream { id = '\\0'; d = '\\''; };\nenv { e = 'A'; f = - -2; };\n"
		"event { name = x; id = +7; loglevel = -1; g = '}'; fields := struct {\n"
		"	struct a s[+2]; integer { size = ' '; } n['\\3']; };\n};\n"
		"callsite { line = +1; file = 'x'; };\n";
	struct metadata_stream *stream = metadata_stream_new();
	const struct metadata *types;
	struct err err = { "" };

	ck_assert_msg(feed(stream, text, 1000, &err) == 0, "%s", err.text);
	types = metadata_stream_types(stream);
	ck_assert_uint_eq(types->clocks->freq, '2');
	ck_assert_int_eq(types->clocks->offset_s, -5);
	ck_assert_int_eq(metadata_env(types, "e")->number, 'A');
	ck_assert_int_eq(metadata_env(types, "f")->number, 2);
	ck_assert_uint_eq(types->events->id, 7);
	ck_assert_int_eq(types->events->loglevel, -1);
	ck_assert_uint_eq(types->events->fields->fields[0].type->length, 2);
	ck_assert_uint_eq(types->events->fields->fields[1].type->length, 3);
	ck_assert_uint_eq(types->events->fields->fields[1].type->element->size_bits, 32);
	metadata_stream_free(stream);
}
END_TEST

/* Adds a metadata packet of @text at @at; returns its end. */
static uint8_t *put_packet(uint8_t *at, const char *text)
{
	uint32_t bits = (uint32_t)(37 + strlen(text)) * 8, more = bits + 800;
	uint8_t header[37] = { 0x57, 0x1D, 0xD1, 0x75, [35] = 1, [36] = 8 };

	memcpy(header + 24, &bits, sizeof(bits));
	memcpy(header + 28, &more, sizeof(more));
	memcpy(at, header, sizeof(header));
	memcpy(at + 37, text, strlen(text));
	memset(at + bits / 8, 0, 100);
	return at + more / 8;
}

/* A file that is cut: what is declared before is read. */
static const struct {
	size_t missing; /* bytes, of the second packet */
	uint32_t events;
	const char *note, *complaint;
} cuts[] = {
	{ .events = 2 },
	{ .missing = 1, .events = 2, .note = "ends inside packet 1; what" },
	{ .missing = 105, .events = 1, .note = "ends inside packet 1; what" },
	{ .missing = 150, .events = 0, .note = "ends inside packet 1; what" },
	{ .missing = 130, .complaint = "ends inside packet 0" },
};

START_TEST(reads_cut_files)
{
	struct metadata_stream *stream = metadata_stream_new();
	uint8_t file[1000], *end = put_packet(file, cuts[_i].complaint ? "" : TRACE_LE);
	const struct metadata *types;
	struct err err = { "" };
	size_t len;
	int r;

	end = cuts[_i].complaint ? file : end;
	len = (size_t)(put_packet(end, "event { name = x; };event { name = y; };") - file);
	len -= cuts[_i].missing < len ? cuts[_i].missing : len;
	ck_assert_int_eq(metadata_stream_feed(stream, file, len, &err), 0);
	r = metadata_stream_finish(stream, &err);
	types = metadata_stream_types(stream);
	ck_assert_int_eq(r, cuts[_i].complaint ? -EINVAL : 0);
	if (cuts[_i].complaint) {
		ck_assert_msg(strstr(err.text, cuts[_i].complaint), "said \"%s\"", err.text);
	} else {
		ck_assert_uint_eq(types->event_count, cuts[_i].events);
		ck_assert_int_eq(!types->notes->first, !cuts[_i].note);
	}
	if (cuts[_i].note) {
		ck_assert_msg(strstr(types->notes->first->text, cuts[_i].note), "noted \"%s\"",
			      types->notes->first->text);
	}
	metadata_stream_free(stream);
}
END_TEST

START_TEST(wraps_clocks)
{
	struct decoder *d = mem_alloc(sizeof(*d));

	d->clock = 0x7FFFFFF;
	decoder_clock(d, 0x7FFFFFF, 27); /* equal: no wrap */
	ck_assert_uint_eq(d->clock, 0x7FFFFFF);
	decoder_clock(d, 0, 27);
	ck_assert_uint_eq(d->clock, 0x8000000);
	decoder_clock(d, 0xFFFFFFFF, 32);
	ck_assert_uint_eq(d->clock, 0xFFFFFFFF);
	decoder_clock(d, 5, 32);
	ck_assert_uint_eq(d->clock, 0x100000005);
	decoder_clock(d, 3, 64);
	ck_assert_uint_eq(d->clock, 3);
	decoder_free(d);
}
END_TEST

Suite *suite_ctf(void)
{
	Suite *suite = suite_create("ctf");
	TCase *tcase = tcase_create("ctf");

	tcase_add_loop_test(tcase, refuses_metadata, 0, (int)(sizeof(wrong) / sizeof(wrong[0])));
	tcase_add_test(tcase, bounds_depth);
	tcase_add_loop_test(tcase, decodes_all_kinds, 0, 40);
	tcase_add_loop_test(tcase, looks_outward, 0, 3);
	tcase_add_loop_test(tcase, refuses_packets, 0,
			    (int)(sizeof(wrong_packets) / sizeof(wrong_packets[0])));
	tcase_add_loop_test(tcase, refuses_metadata_packets, 0,
			    (int)(sizeof(wrong_headers) / sizeof(wrong_headers[0])));
	tcase_add_loop_test(tcase, survives_damage, 0, 2);
	tcase_add_loop_test(tcase, survives_no_memory, 0, 2);
	tcase_add_test(tcase, grows_plans);
	tcase_add_loop_test(tcase, notes_guesses, 0, (int)(sizeof(noted) / sizeof(noted[0])));
	tcase_add_test(tcase, refuses_late_streams);
	tcase_add_test(tcase, reads_constants);
	tcase_add_loop_test(tcase, reads_cut_files, 0, (int)(sizeof(cuts) / sizeof(cuts[0])));
	tcase_add_loop_test(tcase, refuses_ctf2, 0, (int)(sizeof(wrong2) / sizeof(wrong2[0])));
	tcase_add_loop_test(tcase, refuses_plans, 0,
			    (int)(sizeof(wrong_plans) / sizeof(wrong_plans[0])));
	tcase_add_test(tcase, wraps_clocks);
	suite_add_tcase(suite, tcase);
	return suite;
}
