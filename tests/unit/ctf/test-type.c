/*
 * type: names, look-ups, and which arrays are text.
 */
#include "ctf/metadata/type.h"
#include "suites.h"

START_TEST(names_lose_one_underscore)
{
	ck_assert_str_eq(type_name("_next_tid"), "next_tid");
	ck_assert_str_eq(type_name("__x"), "_x");
	ck_assert_str_eq(type_name("x_"), "x_");
	ck_assert_str_eq(type_name(""), "");
}
END_TEST

START_TEST(units)
{
	static const unsigned int wanted[] = {
		[UTF_8] = 1, [UTF_16LE] = 2, [UTF_16BE] = 2, [UTF_32LE] = 4, [UTF_32BE] = 4
	};

	for (unsigned int i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		ck_assert_uint_eq(type_encoding_unit((enum encoding)i), wanted[i]);
	}
}
END_TEST

static const struct {
	struct type type;
	bool is_text;
} elements[] = {
	{ { .kind = TYPE_INT, .size_bits = 8, .align_bits = 8, .is_text = true }, true },
	{ { .kind = TYPE_INT, .size_bits = 8, .align_bits = 1, .is_text = true }, true },
	{ { .kind = TYPE_INT, .size_bits = 8, .align_bits = 8 }, false },
	{ { .kind = TYPE_INT, .size_bits = 16, .align_bits = 8, .is_text = true }, false },
	{ { .kind = TYPE_INT, .size_bits = 8, .align_bits = 16, .is_text = true }, false },
	{ { .kind = TYPE_ENUM, .size_bits = 8, .align_bits = 8, .is_text = true }, false },
};

START_TEST(text_elements)
{
	ck_assert_int_eq(type_is_text(&elements[_i].type), elements[_i].is_text);
}
END_TEST

START_TEST(looks_up)
{
	struct clock_class second = { .name = "b", .freq = 1 };
	struct clock_class first = { .next = &second, .name = "a", .freq = 1 };
	struct stream_class stream = { .id = 7 };
	struct env_entry entry = { .name = "domain", .text = "kernel" };
	struct metadata m = { .clocks = &first, .streams = &stream, .env = &entry };

	ck_assert_ptr_eq(metadata_clock(&m, "b"), &second);
	ck_assert_ptr_null(metadata_clock(&m, "c"));
	ck_assert_ptr_eq(metadata_stream(&m, 7), &stream);
	ck_assert_ptr_null(metadata_stream(&m, 0));
	ck_assert_ptr_eq(metadata_env(&m, "domain"), &entry);
	ck_assert_ptr_null(metadata_env(&m, "dom"));
}
END_TEST

START_TEST(numbers_events)
{
	struct event_class events[3] = { { .id = 5 }, { .id = 5 }, { .id = 1 } };
	struct metadata m = { 0 };
	const struct event_class *at;

	for (uint32_t i = 0; i < 3; i++) {
		metadata_add_event(&m, &events[i]);
		ck_assert_uint_eq(m.event_count, i + 1);
	}
	at = m.events;
	for (uint32_t i = 0; i < 3; i++, at = at->next) {
		ck_assert_ptr_eq(at, &events[i]);
		ck_assert_uint_eq(at->index, i);
	}
	ck_assert_ptr_null(at);
}
END_TEST

Suite *suite_type(void)
{
	Suite *suite = suite_create("type");
	TCase *tcase = tcase_create("type");

	tcase_add_test(tcase, names_lose_one_underscore);
	tcase_add_test(tcase, units);
	tcase_add_loop_test(tcase, text_elements, 0, (int)(sizeof(elements) / sizeof(elements[0])));
	tcase_add_test(tcase, looks_up);
	tcase_add_test(tcase, numbers_events);
	suite_add_tcase(suite, tcase);
	return suite;
}
