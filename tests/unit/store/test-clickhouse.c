/*
 * clickhouse-tables: fields of a server's answer are what they have to be, and nothing else.
 */
#include <string.h>

#include "store/clickhouse/clickhouse-tables.h"
#include "suites.h"

static const struct {
	const char *text;
	bool is_int, is_version, is_ns;
	uint64_t value;
} numbers[] = {
	{ "0", true, true, true, 0 },
	{ "-1", true, false, false, UINT64_MAX },
	{ "007", true, true, true, 7 },
	{ "9223372036854775807", true, true, true, INT64_MAX },
	{ "9223372036854775808", false, true, false, UINT64_C(1) << 63 },
	{ "-9223372036854775808", true, false, false, UINT64_C(1) << 63 },
	{ "-9223372036854775809", false, false, false, 0 },
	{ "18446744073709551615", false, true, false, UINT64_MAX },
	{ "18446744073709551616", false, false, false, 0 },
	{ "99999999999999999999999", false, false, false, 0 },
	{ "", false, false, false, 0 },
	{ "-", false, false, false, 0 },
	{ "--1", false, false, false, 0 },
	{ " 1", false, false, false, 0 },
	{ "1 ", false, false, false, 0 },
	{ "+1", false, false, false, 0 },
	{ "1e3", false, false, false, 0 },
	{ "\\N", false, false, false, 0 },
};

START_TEST(takes_numbers)
{
	const char *text = numbers[_i].text;
	size_t len = strlen(text);
	uint64_t version = 77, ns = 77;
	int64_t value = 77;

	ck_assert_int_eq(clickhouse_take_int(text, len, &value), numbers[_i].is_int);
	ck_assert_int_eq(clickhouse_take_version(text, len, &version), numbers[_i].is_version);
	ck_assert_int_eq(clickhouse_take_ns(text, len, &ns), numbers[_i].is_ns);
	ck_assert_uint_eq((uint64_t)value, numbers[_i].is_int ? numbers[_i].value : 77);
	ck_assert_uint_eq(version, numbers[_i].is_version ? numbers[_i].value : 77);
	ck_assert_uint_eq(ns, numbers[_i].is_ns ? numbers[_i].value : 77);
}
END_TEST

static const struct {
	const char *text;
	size_t len;
	bool is_trace;
} traces[] = {
	{ "01234567-89ab-cdef-0123-456789abcdef", 36, true },
	{ "01234567-89ab-cdef-0123-456789abcdef", 35, false },
	{ "01234567-89ab-cdef-0123-456789abcdef0", 37, false },
	{ "01234567-89AB-cdef-0123-456789abcdef", 36, false },
	{ "0123456789ab-cdef-0123-456789abcdef--", 36, false },
	{ "01234567-89ab-cdef-0123-456789abcde'", 36, false },
	{ "01234567-89ab-cdef-0123-456789abcde\0", 36, false },
	{ "", 0, false },
};

START_TEST(takes_traces)
{
	ck_assert_int_eq(clickhouse_is_trace(traces[_i].text, traces[_i].len), traces[_i].is_trace);
}
END_TEST

Suite *suite_clickhouse(void)
{
	Suite *suite = suite_create("clickhouse");
	TCase *tcase = tcase_create("clickhouse");

	tcase_add_loop_test(tcase, takes_numbers, 0, sizeof(numbers) / sizeof(numbers[0]));
	tcase_add_loop_test(tcase, takes_traces, 0, sizeof(traces) / sizeof(traces[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
