/*
 * codec, vec: values as bytes and back; growing arrays.
 */
#include <stdlib.h>
#include <string.h>

#include "base/codec.h"
#include "base/histogram.h"
#include "suites.h"

/* One of each kind. */
struct all {
	uint8_t u8;
	uint16_t u16;
	uint32_t u32;
	uint64_t u64;
	int32_t i32;
	int64_t i64;
	bool flag;
	uint8_t bytes[3];
	char *text, *none;
	VEC(uint16_t) numbers;
	struct histogram *histogram;
};

static void all_codec(struct codec *codec, struct all *all)
{
	size_t count;

	codec_u8(codec, &all->u8);
	codec_u16(codec, &all->u16);
	codec_u32(codec, &all->u32);
	codec_u64(codec, &all->u64);
	codec_i32(codec, &all->i32);
	codec_i64(codec, &all->i64);
	codec_bool(codec, &all->flag);
	codec_bytes(codec, all->bytes, sizeof(all->bytes));
	codec_text(codec, &all->text);
	codec_text(codec, &all->none);
	count = codec_count(codec, all->numbers.count, sizeof(uint16_t));
	for (size_t i = 0; i < count; i++) {
		codec_u16(codec, codec_at(codec, &all->numbers, i));
	}
	histogram_codec(codec, &all->histogram);
}

static void all_fini(struct all *all)
{
	free(all->text);
	free(all->none);
	vec_fini(&all->numbers);
	histogram_free(all->histogram);
}

static struct codec_out written(void)
{
	struct all all = { .u8 = 0xFE,
			   .u16 = 0x1234,
			   .u32 = UINT32_MAX,
			   .u64 = UINT64_MAX - 1,
			   .i32 = INT32_MIN,
			   .i64 = INT64_MIN,
			   .flag = true,
			   .bytes = { 1, 2, 3 } };
	struct codec_out out = { 0 };
	struct codec codec = { .out = &out };

	all.text = mem_strdup("text");
	for (uint16_t i = 0; i < 100; i++) {
		*vec_push(&all.numbers) = i;
		histogram_add(&all.histogram, (uint64_t)i * i * i);
	}
	all_codec(&codec, &all);
	ck_assert(!codec.is_wrong);
	all_fini(&all);
	return out;
}

START_TEST(reads_what_was_written)
{
	struct codec_out out = written();
	struct codec codec = { .at = out.bytes.at, .left = out.bytes.count };
	struct all all = { 0 };

	ck_assert_uint_eq(out.bytes.at[1], 0x34); /* little endian */
	ck_assert_uint_eq(out.bytes.at[2], 0x12);
	all_codec(&codec, &all);
	ck_assert(!codec.is_wrong && codec.left == 0);
	ck_assert_uint_eq(all.u8, 0xFE);
	ck_assert_uint_eq(all.u16, 0x1234);
	ck_assert_uint_eq(all.u32, UINT32_MAX);
	ck_assert_uint_eq(all.u64, UINT64_MAX - 1);
	ck_assert_int_eq(all.i32, INT32_MIN);
	ck_assert_int_eq(all.i64, INT64_MIN);
	ck_assert(all.flag);
	ck_assert_uint_eq(all.bytes[2], 3);
	ck_assert_str_eq(all.text, "text");
	ck_assert_ptr_null(all.none);
	ck_assert_uint_eq(all.numbers.count, 100);
	ck_assert_uint_eq(all.numbers.at[99], 99);
	ck_assert_uint_eq(all.histogram->count, 100);
	all_fini(&all);
	vec_fini(&out.bytes);
}
END_TEST

/* Cut anywhere it is wrong, and no byte behind the cut is read: the copy ends there. */
START_TEST(notices_truncation)
{
	struct codec_out out = written();

	for (size_t len = 0; len < out.bytes.count; len++) {
		uint8_t *cut = mem_alloc(len + 1);
		struct codec codec = { .at = cut, .left = len };
		struct all all = { 0 };

		memcpy(cut, out.bytes.at, len);
		cut = mem_realloc(cut, len > 0 ? len : 1);
		codec.at = cut;
		all_codec(&codec, &all);
		ck_assert_msg(codec.is_wrong, "cut at %zu", len);
		all_fini(&all);
		free(cut);
	}
	vec_fini(&out.bytes);
}
END_TEST

/* Untrusted bytes: counts beyond what is left, and texts with a zero within. */
static const struct {
	uint8_t bytes[12];
	size_t len;
	bool is_text, is_right;
	size_t count; /* of elements of two bytes, or of the text */
} untrusted[] = {
	{ { 2, 0, 0, 0, 1, 1, 2, 2 }, 8, false, true, 2 },
	{ { 3, 0, 0, 0, 1, 1, 2, 2 }, 8, false, false, 0 },
	{ { 255, 255, 255, 255, 1, 1 }, 6, false, false, 0 },
	{ { 0, 0, 0, 0 }, 4, false, true, 0 },
	{ { 3, 0, 0, 0, 'a', 'b', 'c' }, 7, true, true, 3 },
	{ { 3, 0, 0, 0, 'a', 0, 'c' }, 7, true, false, 0 },
	{ { 4, 0, 0, 0, 'a', 'b', 'c' }, 7, true, false, 0 },
	{ { 0, 0, 0, 0 }, 4, true, true, 0 },
};

START_TEST(bounds_counts)
{
	struct codec codec = { .at = untrusted[_i].bytes, .left = untrusted[_i].len };
	char *text = mem_strdup("before");
	size_t count;

	if (untrusted[_i].is_text) {
		codec_text(&codec, &text);
		count = text ? strlen(text) : 0;
	} else {
		count = codec_count(&codec, 0, 2);
	}
	ck_assert_int_eq(codec.is_wrong, !untrusted[_i].is_right);
	ck_assert_uint_eq(count, untrusted[_i].count);
	free(text);
}
END_TEST

/* ---- vec ---- */

/* Pushed one by one, appended in pieces and reserved ahead: always the same elements. */
START_TEST(grows)
{
	VEC(uint32_t) pushed = { 0 }, appended = { 0 }, reserved = { 0 };

	vec_reserve(&reserved, (size_t)_i);
	ck_assert_uint_eq(reserved.room, (size_t)_i);
	for (uint32_t i = 0; i < (uint32_t)_i; i++) {
		*vec_push(&pushed) = i;
		*vec_push(&reserved) = i;
	}
	ck_assert_uint_eq(reserved.room, (size_t)_i);
	vec_append(&appended, pushed.at, pushed.count / 3);
	vec_append(&appended, pushed.at + appended.count, pushed.count - appended.count);
	ck_assert_uint_eq(appended.count, (size_t)_i);
	for (uint32_t i = 0; i < (uint32_t)_i; i++) {
		ck_assert(pushed.at[i] == i && appended.at[i] == i && reserved.at[i] == i);
	}
	vec_reserve_more(&pushed, 100);
	ck_assert_uint_ge(pushed.room - pushed.count, 100);
	vec_fini(&pushed);
	vec_fini(&appended);
	vec_fini(&reserved);
	ck_assert(!pushed.at && pushed.count == 0 && pushed.room == 0);
}
END_TEST

/* No element is in two cache lines, however the array grows. */
START_TEST(keeps_to_lines)
{
	struct half {
		uint64_t words[4];
	};
	VEC(struct half) halves = { 0 };

	for (uint64_t i = 0; i < 1000; i++) {
		if (i % 100 == 0) {
			vec_reserve_in_line(&halves, halves.count + 33);
		}
		*vec_push_in_line(&halves) = (struct half){ { i, i, i, i } };
		ck_assert_uint_eq((uintptr_t)halves.at % LINE_BYTES, 0);
	}
	for (uint64_t i = 0; i < 1000; i++) {
		ck_assert_uint_eq(halves.at[i].words[3], i);
	}
	vec_fini(&halves);
}
END_TEST

#define COUNT(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

Suite *suite_codec(void)
{
	Suite *suite = suite_create("codec");
	TCase *tcase = tcase_create("codec");

	tcase_add_test(tcase, reads_what_was_written);
	tcase_add_test(tcase, notices_truncation);
	tcase_add_loop_test(tcase, bounds_counts, 0, COUNT(untrusted));
	tcase_add_loop_test(tcase, grows, 0, 70);
	tcase_add_test(tcase, keeps_to_lines);
	suite_add_tcase(suite, tcase);
	return suite;
}
