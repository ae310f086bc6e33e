/*
 * csv: lines of JSON as tables, byte by byte.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "csv/csv.h"
#include "suites.h"

static int append(void *user, const char *table, const char *bytes, size_t len)
{
	char **all = user, *longer = mem_printf("%s[%s]%.*s", *all, table, (int)len, bytes);

	free(*all);
	*all = longer;
	return 0;
}

/* All tables, "[NAME]BYTES" each, from malloc(); NULL: a failure. */
static char *tables(const char *json, size_t step, const char *wanted, struct err *err)
{
	struct csv *csv = csv_new(wanted);
	char *all = mem_strdup("");

	for (size_t at = 0, len = strlen(json); at < len; at += step) {
		(void)csv_take(csv, json + at, len - at < step ? len - at : step);
	}
	if (csv_end(csv, append, &all, err) < 0) {
		free(all);
		all = NULL;
	}
	csv_free(csv);
	return all;
}

#define LINE                                                                                       \
	"{\"type\":\"total\",\"trace\":{\"host\":\"h\"},\"begin\":5,\"end\":7,\"lost\":2,"         \
	"\"cpu\":{\"busy_ns\":18446744073709551615,\"wake\":{\"count\":1,\"log2\":{\"9\":1}},"     \
	"\"threads\":[{\"tid\":-1,\"x\":{\"y\":1.50}},{\"comm\":\"a\",\"of\":[7,8]}],\"none\":[]}" \
	"}\n"
#define OF "type,trace.host,begin,end,"
#define IS "total,h,5,7,"

static const struct {
	const char *json, *wanted, *csv; /* NULL: it fails */
} cases[] = {
	{ "", NULL, "" },
	{ "{\"type\":\"a\",\"x\":1}\n{\"type\":\"a\",\"y\":null}\n{\"type\":\"a\",\"y\":true,"
	  "\"x\":2}\n",
	  NULL, "[a]type,x,y\r\na,1,\r\na,,\r\na,2,true\r\n" },
	{ LINE, "cpu", "[cpu]" OF "busy_ns,wake.count\r\n" IS "18446744073709551615,1\r\n" },
	{ LINE, "cpu.threads",
	  "[cpu.threads]" OF "tid,x.y,comm\r\n" IS "-1,1.50,\r\n" IS ",,a\r\n" },
	{ LINE, "cpu.wake.log2", "[cpu.wake.log2]" OF "key,value\r\n" IS "9,1\r\n" },
	{ LINE, "cpu.threads.of",
	  "[cpu.threads.of]" OF "cpu.threads#,value\r\n" IS "2,7\r\n" IS "2,8\r\n" },
	{ LINE, "total", "[total]" OF "lost\r\n" IS "2\r\n" },
	{ LINE, "cpu.none", "" },
	{ LINE, "cpu.thread", NULL },
	/* RFC 4180: quotes, commas, breaks of lines */
	{ "{\"type\":\"a\",\"x,\\\"\":\"b\\n\\\"c\\\"\",\"y\":\" d "
	  "\",\"z\":\"e,\",\"r\":\"\\r\"}\n",
	  NULL, "[a]type,\"x,\"\"\",y,z,r\r\na,\"b\n\"\"c\"\"\", d ,\"e,\",\"\r\"\r\n" },
	/* In other lines objects are columns. */
	{ "{\"type\":\"change\",\"a\":{\"count\":1},\"b\":{\"count\":2}}\n", NULL,
	  "[change]type,a.count,b.count\r\nchange,1,2\r\n" },
	{ "{\"type\":\"a\",\"l\":[[1,2],\"\",null]}\n", "l",
	  "[l]type,value\r\na,\"[ 1, 2 ]\"\r\na,\r\na,\r\n" },
	{ "{\"type\":\"a\"", NULL, NULL },
	{ "[1]\n", NULL, NULL },
	{ "{\"type\":\"a\"}\nx\n", NULL, NULL },
};

START_TEST(makes_tables)
{
	for (size_t step = 1; step < 100; step += 33) {
		struct err err = { "" };
		char *found = tables(cases[_i].json, step, cases[_i].wanted, &err);

		ck_assert_msg(cases[_i].csv ? found && strcmp(found, cases[_i].csv) == 0 : !found,
			      "%s: %s %s", cases[_i].json, found ? found : "failed:", err.text);
		free(found);
	}
}
END_TEST

/* Rows of more than is written at once. */
START_TEST(writes_all)
{
	char *json = NULL, *found;
	size_t size, rows = 0;
	struct err err;
	FILE *out = open_memstream(&json, &size);

	for (int i = 0; i < 20000; i++) {
		(void)fprintf(out, "{\"type\":\"a\",\"x\":%d}\n", i);
	}
	(void)fclose(out);
	found = tables(json, SIZE_MAX / 2, NULL, &err);
	ck_assert_ptr_nonnull(found);
	for (size_t i = 0; found[i] != '\0'; i++) {
		rows += found[i] == '\n';
	}
	ck_assert_uint_eq(rows, 20001);
	ck_assert_ptr_nonnull(strstr(found, "\r\na,19999\r\n"));
	free(json);
	free(found);
}
END_TEST

Suite *suite_csv(void)
{
	Suite *suite = suite_create("csv");
	TCase *tcase = tcase_create("csv");

	tcase_add_loop_test(tcase, makes_tables, 0, (int)(sizeof(cases) / sizeof(cases[0])));
	tcase_add_test(tcase, writes_all);
	suite_add_tcase(suite, tcase);
	return suite;
}
