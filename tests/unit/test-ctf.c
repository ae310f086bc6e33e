/*
 * ctf: metadata text, plans, and the decoder on hand-made packets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "ctf/decode.h"
#include "ctf/metadata.h"
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
	{ TRACE_LE "event { name = \"x\"; id = 1 }; ", "expected \";\"" },
	{ "trace { major = 1; minor = 7; byte_order = le; };", "1.7" },
	{ "trace { major = 1; minor = 8; };", "no byte_order" },
	{ "trace { byte_order = pdp; };", "must be le or be" },
	{ TRACE_LE TRACE_LE, "second trace" },
	{ TRACE_LE "struct a { ", "ends inside a declaration" },
	{ TRACE_LE "event { x = `; };", "at \"`; };\"" },
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

/* Deep nesting ends with an error, not with the stack. */
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

static void on_leaf(void *user, const struct type *type, const struct value *value)
{
	struct seen *seen = user;

	(void)type;
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
	struct event event;
	struct plan *plan;
	struct err err = { "" };

	ck_assert_int_eq(feed(stream, whole, (size_t)_i + 1, &err), 0);
	builder = plan_builder_new(metadata_stream_arena(stream), NULL, 0, true);
	ck_assert_msg(plan_build(builder, metadata_stream_types(stream), &plan, &err) == 0, "%s",
		      err.text);
	ck_assert_int_eq(packet_info_read(d, plan, whole_packet, sizeof(whole_packet),
					  sizeof(whole_packet), &info, &err),
			 0);
	decoder_start(d, plan, &info, whole_packet);
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

/* Every shorter packet, and every packet with one byte changed, ends without harm. */
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
			struct event event;
			unsigned int turns = 0;

			memcpy(bytes, whole_packet, len);
			bytes[len - 1] = (uint8_t)byte;
			if (packet_info_read(d, plan, bytes, len, len, &info, &err) == 0) {
				decoder_start(d, plan, &info, bytes);
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

/* Memory that runs out at any point of parsing and compiling is an error, not a crash. */
START_TEST(survives_no_memory)
{
	for (unsigned long n = 1; n < 40; n++) {
		struct metadata_stream *stream = metadata_stream_new();
		struct plan_builder *builder =
			plan_builder_new(metadata_stream_arena(stream), NULL, 0, true);
		struct plan *plan = NULL;
		struct err err = { "" };
		int r;

		arena_fail_after = n;
		r = feed(stream, whole, 64, &err);
		if (r == 0) {
			r = plan_build(builder, metadata_stream_types(stream), &plan, &err);
		}
		ck_assert_msg(r == 0 || r == -ENOMEM || r == -EINVAL, "%d: %s", r, err.text);
		ck_assert(r == 0 || err.text[0]);
		arena_fail_after = 0;
		plan_unref(plan);
		plan_builder_free(builder);
		metadata_stream_free(stream);
	}
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
	tcase_add_loop_test(tcase, survives_damage, 0, 2);
	tcase_add_test(tcase, survives_no_memory);
	tcase_add_test(tcase, wraps_clocks);
	suite_add_tcase(suite, tcase);
	return suite;
}
