/*
 * keep: the option, and what becomes of windows of a length.
 */
#include <string.h>

#include "base/units.h"
#include "store/keep-state.h"
#include "suites.h"

#define DAY KEEP_DAY_NS

static const struct {
	const char *text;
	const char *why; /* NULL: it is right */
	size_t count;
	uint64_t length_ns, age_ns; /* of the last one */
} options[] = {
	{ "7d", NULL, 1, UINT64_MAX, 7 * DAY },
	{ "2w", NULL, 1, UINT64_MAX, 14 * DAY },
	{ "12h", NULL, 1, UINT64_MAX, DAY / 2 },
	{ "1s:1d,1m:30d,1h:2y", NULL, 3, 3600 * NS_PER_S, 730 * DAY },
	{ "1d:1y", NULL, 1, DAY, 365 * DAY },
	{ "", "expected an age" },
	{ "0d", "expected an age" },
	{ "1s:", "expected an age" },
	{ ":1d", "expected LENGTH:AGE" },
	{ "293y", "at most 292y" },
	{ "1s:1d,", "expected an age" },
	{ "1d,2d", "each has a length" },
	{ "7s:1d", "divides a day" },
	{ "2d:9d", "divides a day" },
	{ "1m:1d,1s:2d", "a multiple of the one before" },
	{ "2s:1d,3s:2d", "a multiple of the one before" },
	{ "1s:2d,1m:1d", "kept longer" },
	{ "500ms:1d,1250ms:2d", "a multiple of the one before" },
	{ "1s:1d,2s:2d,4s:3d,8s:4d,16s:5d,32s:6d,64s:7d,128s:8d,256s:9d", "too many" },
};

START_TEST(parses)
{
	struct store_keep keep;
	struct err err;
	int r = store_keep_parse(options[_i].text, NS_PER_S, &keep, &err);

	ck_assert_msg((r == 0) == !options[_i].why, "\"%s\"", options[_i].text);
	if (options[_i].why) {
		ck_assert_msg(strstr(err.text, options[_i].why), "%s", err.text);
		return;
	}
	ck_assert_uint_eq(keep.count, options[_i].count);
	ck_assert_uint_eq(keep.at[keep.count - 1].length_ns, options[_i].length_ns);
	ck_assert_uint_eq(keep.at[keep.count - 1].age_ns, options[_i].age_ns);
}
END_TEST

/* Without the option, by the length of windows: each divides a minute, or stays as it is. */
START_TEST(keeps_as_usual)
{
	static const struct {
		uint64_t interval_ns, shortest_ns; /* 0: there is one age */
	} cases[] = {
		{ NS_PER_MS, NS_PER_S },
		{ NS_PER_S, NS_PER_S },
		{ 300 * NS_PER_MS, 300 * NS_PER_MS },
		{ 5 * NS_PER_S, 5 * NS_PER_S },
		{ 7 * NS_PER_S, 0 },
		{ 60 * NS_PER_S, 0 },
		{ 3600 * NS_PER_S, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t shortest_ns = cases[i].shortest_ns;
		struct store_keep keep;
		char text[KEEP_TEXT_MAX];

		store_keep_usual(cases[i].interval_ns, &keep);
		ck_assert(keep.is_usual);
		ck_assert_uint_eq(keep.count, shortest_ns > 0 ? 2 : 1);
		ck_assert_uint_eq(keep.at[keep.count - 1].age_ns, 30 * DAY);
		if (shortest_ns > 0) {
			ck_assert_uint_eq(keep.at[0].length_ns, shortest_ns);
			ck_assert_uint_eq(keep.at[0].age_ns, DAY);
			ck_assert_uint_eq(keep.at[1].length_ns, 60 * NS_PER_S);
		}
		ck_assert_str_eq(store_keep_usual_text(&keep, text),
				 shortest_ns > 0 ? "windows stay for a day, those of a minute for "
						   "30 days"
						 : "windows stay for 30 days");
	}
}
END_TEST

/* Of 1s:1d,1m:30d,1h:2y. */
static const struct {
	uint64_t level_ns, age_days, length_ns;
} fates[] = {
	{ NS_PER_S / 10, 1, 60 * NS_PER_S },
	{ NS_PER_S, 1, 60 * NS_PER_S },
	{ 2 * NS_PER_S, 30, 3600 * NS_PER_S },
	{ 60 * NS_PER_S, 30, 3600 * NS_PER_S },
	{ 3600 * NS_PER_S, 730, 0 },
	{ DAY, 730, 0 },
	{ 7 * NS_PER_S, 730, 0 }, /* fits into no hour */
};

START_TEST(has_a_fate)
{
	struct store_keep keep;
	struct keep_fate fate;
	struct err err;

	ck_assert_int_eq(store_keep_parse("1s:1d,1m:30d,1h:2y", NS_PER_S, &keep, &err), 0);
	fate = keep_fate_of(&keep, fates[_i].level_ns);
	ck_assert_uint_eq(fate.age_ns, fates[_i].age_days * DAY);
	ck_assert_uint_eq(fate.length_ns, fates[_i].length_ns);
}
END_TEST

START_TEST(counts_each_once)
{
	const struct store_window windows[] = {
		{ .level = 1, .begin = 5 },
		{ .level = 2, .begin = 5 },
		{ .level = 1, .begin = 5 },
		{ .level = 1, .begin = 6 },
	};
	const bool is_again[] = { false, false, true, false };

	for (size_t i = 0; i < 4; i++) {
		ck_assert(keep_is_again(windows, i) == is_again[i]);
	}
	ck_assert_uint_eq(keep_before(7, 2), 5);
	ck_assert_uint_eq(keep_before(2, 7), 0);
}
END_TEST

Suite *suite_keep(void)
{
	Suite *suite = suite_create("keep");
	TCase *tcase = tcase_create("keep");

	tcase_add_test(tcase, keeps_as_usual);
	tcase_add_loop_test(tcase, parses, 0, sizeof(options) / sizeof(options[0]));
	tcase_add_loop_test(tcase, has_a_fate, 0, sizeof(fates) / sizeof(fates[0]));
	tcase_add_test(tcase, counts_each_once);
	suite_add_tcase(suite, tcase);
	return suite;
}
