/*
 * expression: the language of --period, --job, --label and models, and what its errors name.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "expression-print.h"
#include "suites.h"

/* ---- what is valid ---- */

static const struct {
	enum expression_form form;
	const char *text;
	const char *printed; /* NULL: as it is written */
} valid[] = {
	{ FORM_PERIOD, "x = a; b", NULL },
	{ FORM_PERIOD, "a; b", NULL },
	{ FORM_PERIOD, "x=a b=1;c;by d=e,$cpu,$tid;group f,g;within outer",
	  "x = a b=1; c; by $tid, d=e, $cpu; group f, g; within outer" },
	{ FORM_PERIOD, "x = a; b; by c; then d; then e q=1; by c=f; each; group g",
	  "x = a; b; by c; then d; then e q=1; by c=f; each; group g" },
	{ FORM_PERIOD, "x = a; b; by $pid; group l(c, d), e",
	  "x = a; b; by $pid; group l(c, d), e" },
	{ FORM_PERIOD, "x = a; b; by global", "x = a; b; by global " },
	{ FORM_PERIOD, "x = a; b; by global c=d, $pid", NULL },
	{ FORM_PERIOD, "x = a m =~ /(?<n>\\d+) (x)/, $n>5 $2!=y $pid=3; b; by $n=c; group $1, $tid",
	  "x = a m~/(?<n>\\d+) (x)/ $n>5 $2!=y $pid=3; b; by $n=c; group $1, $tid" },
	{ FORM_PERIOD, "x = a; b; by \"global\"", NULL },
	{ FORM_PERIOD, "syscall_entry_* fd=3; b", NULL },
	{ FORM_PERIOD, "x = \"an event\"; \"b;\\\"\\\\\"", NULL },
	{ FORM_PERIOD, "a b=1 , c!=-2,d<0x10, e&255=1, f=text, g=$tid; h",
	  "a b=1 c!=-2 d<16 e&255=1 f=text g=$tid; h" },
	{ FORM_PERIOD, "a b=017, c=0.5, d=1e3, e=-2.5e-1, f=0xffffffffffffffff; g",
	  "a b=15 c=0.5 d=1000 e=-0.25 f=0xffffffffffffffff; g" },
	{ FORM_PERIOD, "a b=18446744073709551615 c=1e19 d=1e30; e",
	  "a b=0xffffffffffffffff c=0x8ac7230489e80000 d=1e+30; e" },
	{ FORM_PERIOD, "a b=\"\" c=\"3com\" d!=\"a, b\"; e", "a b=\"\" c=\"3com\" d!=\"a, b\"; e" },
	{ FORM_PERIOD, "a state=READY; b", NULL },
	{ FORM_PERIOD, "a b~/^x[0-9]+$/, c !~ /a\\/b\\\\/; d",
	  "a b~/^x[0-9]+$/ c!~/a\\/b\\\\/; d" },
	{ FORM_PERIOD, "a $ctx.vpid=1 context.tid=2 $app.my-p:c=3; b",
	  "a context.vpid=1 context.tid=2 context._app_my_p_c=3; b" },
	{ FORM_PERIOD, "x = sched_in; sched_out b=1",
	  "x = sched_switch next_tid=$tid; sched_switch b=1 prev_tid=$tid" },
	{ FORM_PERIOD, "x = a b[0]=1; c; by d[12]=f[0x1]; group e[1], l(g[2])",
	  "x = a \"b[0]\"=1; c; by \"d[12]\"=\"f[1]\"; group \"e[1]\", l(\"g[2]\")" },
	{ FORM_SPAN, "a:begin,a:end", NULL },
	{ FORM_SPAN, "sched_in,sched_out", NULL },
	{ FORM_SPAN, " \"a b\" , c", "\"a b\",c" },
	{ FORM_JOB, "x = timerfd", NULL },
	{ FORM_JOB, "run", NULL },
	{ FORM_JOB, " x=run ;every 5ms", "x = run; every 5000000ns" },
	{ FORM_JOB, "x = a f=$tid; b; c; deadline 2ms; every 1.5s; group d",
	  "x = a f=$tid; b; c; group d; deadline 2000000ns; every 1500000000ns" },
	{ FORM_JOB, "x = a; b; by c; only d(c)=\"/e *\";every f( c,g )",
	  "x = a; b; by c; every f(c, g); only d(c)=\"/e *\"" },
	{ FORM_JOB, "x = a; b; by c; every 1s", "x = a; b; by c; every 1000000000ns" },
	{ FORM_JOB, "x = run; every 5ms  fixed;deadline 1us",
	  "x = run; deadline 1000ns; every 5000000ns fixed" },
	{ FORM_JOB, "x = a; b; by c; every f(c) fixed", "x = a; b; by c; every f(c) fixed" },
	{ FORM_JOB, "x = deadline; every; deadline 1us",
	  "x = \"deadline\"; \"every\"; deadline 1000ns" },
	{ FORM_JOB, "a; \"every\" b=1;", "a; \"every\" b=1" },
	{ FORM_JOB, "x = run;within y ;deadline 1us", "x = run; within y; deadline 1000ns" },
	{ FORM_JOB, "x = a; b; by c; within \"y\"", "x = a; b; by c; within y" },
	{ FORM_JOB, "a@10; b", "a @10; b" },
	{ FORM_JOB, "a@10|b*|\"c [d]\", e=1; b", "a e=1 @10|b*|\"c [d]\"; b" },
	{ FORM_JOB, "a; b; by x, y=z; deadline 1us", "a; b; by x, y=z; deadline 1000ns" },
	{ FORM_JOB, "run; by $tid,$cpu", "run; by $tid, $cpu" },
	{ FORM_AROUND, "a; b; by global", "a; b; by global " },
	{ FORM_LABEL, "x = a m~/(.) (.)/ key=$tid, $1 name=$2", NULL },
	{ FORM_JOB, "x = run; deadline 1ms; group a, b",
	  "x = run; group a, b; deadline 1000000ns" },
	{ FORM_AROUND, "a; b; deadline x=1", "a; b; \"deadline\" x=1" },
	{ FORM_LABEL, "x = a key=b name=c", NULL },
	{ FORM_LABEL, "x=a d=1,key=$pid,b,c name=first(e)",
	  "x = a d=1 key=$pid, b, c name=first(e)" },
	{ FORM_LABEL, "x = a \"key\"=1, name=first, key = b", "x = a \"key\"=1 key=b name=first" },
};

START_TEST(prints_what_it_reads)
{
	const char *wanted = valid[_i].printed ? valid[_i].printed : valid[_i].text;
	char *text = mem_alloc(EXPRESSION_PRINTED_BYTES);
	struct expression *is;
	struct err err;
	int r = expression_parse(valid[_i].text, valid[_i].form, &is, &err);

	ck_assert_msg(r == 0, "%s", r < 0 ? err.text : "");
	expression_print(is, valid[_i].form, text);
	ck_assert_str_eq(text, wanted);
	ck_assert(expression_print_check(valid[_i].text, valid[_i].form));
	expression_free(is);
	free(text);
}
END_TEST

/* ---- what is not ---- */

#define NO_REGEX "a regular expression, without { and \\1, with at most eight +"
#define PARTS    "$tid, $pid, $cpu, $ctx.NAME, $app.NAME, or what a condition before splits off"

static const struct {
	enum expression_form form;
	const char *text;
	unsigned int column;
	const char *expected;
} invalid[] = {
	/* events and conditions */
	{ FORM_PERIOD, "", 1, "the name of an event" },
	{ FORM_PERIOD, "=", 1, "the name of an event" },
	{ FORM_PERIOD, "x =", 4, "the name of an event" },
	{ FORM_PERIOD, "\"\"; b", 1, "the name of an event" },
	{ FORM_PERIOD, "x", 2, "; and the event that ends it" },
	{ FORM_PERIOD, "x = a", 6, "; and the event that ends it" },
	{ FORM_PERIOD, "\"x\" = a; b", 5, "a field" },
	{ FORM_PERIOD, "a ?", 3, "a field" },
	{ FORM_PERIOD, "a @", 4, "a tid or the name of a thread" },
	{ FORM_PERIOD, "a b", 4, "=, !=, <, <=, >, >=, ~ or !~" },
	{ FORM_PERIOD, "a b=", 5, "a number, a text, or $tid" },
	{ FORM_PERIOD, "a b<c", 5, "a number" },
	{ FORM_PERIOD, "a b&x=1", 5, "a number" },
	{ FORM_PERIOD, "a b&1.5=1", 8, "a whole number before" },
	{ FORM_PERIOD, "a b&1=x", 7, "a number" },
	{ FORM_PERIOD, "a b<$tid", 9, "= before $tid" },
	{ FORM_PERIOD, "a b&1=$tid", 11, "= before $tid" },
	{ FORM_PERIOD, "a b=99999999999999999999", 5, "a number" },
	{ FORM_PERIOD, "a b=-9223372036854775809", 5, "a number" },
	{ FORM_PERIOD, "a b=1e999", 5, "a number" },
	{ FORM_PERIOD, "a b=-x", 5, "a number" },
	{ FORM_PERIOD, "a b=\"c", 7, "\" behind the text" },
	{ FORM_PERIOD, "a b~c", 5, "/ and a regular expression" },
	{ FORM_PERIOD, "a b~/c", 7, "/ behind the regular expression" },
	{ FORM_PERIOD, "a b~/(/", 5, NO_REGEX },
	{ FORM_PERIOD, "a b~/c{2}/", 5, NO_REGEX },
	{ FORM_PERIOD, "a b~/c+++++++++/", 5, NO_REGEX }, /* 2^9 times as large */
	{ FORM_PERIOD, "a b~/(c)\\1/", 5, NO_REGEX },
	{ FORM_PERIOD, "a b&1~/c/", 7, "a comparison of numbers before" },
	{ FORM_PERIOD, "a $ctx.=1", 8, "a field" },
	{ FORM_PERIOD, "a b[-1]=1; c", 7, "the number of an element and ]" },
	{ FORM_PERIOD, "a b[4294967295]=1; c", 15, "the number of an element and ]" },
	{ FORM_PERIOD, "a b[1", 6, "the number of an element and ]" },
	{ FORM_PERIOD, "a b=1,b=2,b=3,b=4,b=5,b=6,b=7,b=8,b=9", 35,
	  "no more than eight conditions" },
	{ FORM_PERIOD, "sched_in b=1,b=2,b=3,b=4,b=5,b=6,b=7,b=8", 41,
	  "no more than seven conditions before" },
	{ FORM_PERIOD, "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklm; b", 1,
	  "a word of less than 64 characters" },
	{ FORM_PERIOD, "abcdefghijklmnopqrstuvwxyzabcdef = a; b", 34,
	  "a name of at most 31 characters before" },
	/* periods */
	{ FORM_PERIOD, "x = a @w; b", 9, "no @ before: use by" },
	{ FORM_PERIOD, "x = a; b; then c @w", 20, "no @ before: use by" },
	{ FORM_PERIOD, "x = a; b; on c", 11, "by, then, each, group, within or diff" },
	{ FORM_PERIOD, "x = a; b; bye", 11, "by, then, each, group, within or diff" },
	{ FORM_PERIOD, "x = a; b; deadline 1ms", 11, "by, then, each, group, within or diff" },
	{ FORM_PERIOD, "x = a; b; by c d", 16, "; or the end" },
	{ FORM_PERIOD, "x = a; b; by c,d,e,f", 20, "no more than three keys" },
	{ FORM_PERIOD, "x = a; b; by", 13, "a field, $tid, $pid, $cpu or global" },
	{ FORM_PERIOD, "x = a; b; by $n", 14, PARTS },
	{ FORM_PERIOD, "x = a m~/(?<n>.)/; b; by $n", 26, PARTS },
	{ FORM_PERIOD, "x = a $n=1 m~/(?<n>.)/; b", 7, PARTS },
	{ FORM_PERIOD, "x = a m!~/(?<n>.)/; b; group $n", 30, PARTS },
	{ FORM_PERIOD, "x = a m~/(.)/; b; group $2", 25, PARTS },
	{ FORM_PERIOD, "x = a \"$tid\"=1; b", 13, "a name without $ before" },
	{ FORM_PERIOD, "x = a m~/(?<tid>.)/; b", 9, NO_REGEX },
	{ FORM_PERIOD, "x = a m~/(?<n>.)(?<n>.)/; b", 9, NO_REGEX },
	{ FORM_PERIOD, "x = a m~/(?<1>.)/; b", 9, NO_REGEX },
	{ FORM_PERIOD, "x = a m~/(?=x)/; b", 9, NO_REGEX },
	{ FORM_PERIOD, "x = a m~/(?<n>.(/; b", 9, NO_REGEX },
	{ FORM_PERIOD, "x = a; b; by ?", 14, "a field, $tid, $pid, $cpu or global" },
	{ FORM_PERIOD, "x = a; b; by c=", 16, "the field of the other event" },
	{ FORM_PERIOD, "x = a; b; group c,d,e", 21, "no more than two fields" },
	{ FORM_PERIOD, "x = a; b; group y(c", 20, "a comma or )" },
	{ FORM_PERIOD, "x = a; b; group y(c,d,e,f)", 25, "no more than three fields" },
	{ FORM_PERIOD, "x = a; b; then", 15, "the name of an event" },
	{ FORM_PERIOD, "x = a; b; then c; then d; then e; then f; then g; then h; then i", 64,
	  "no more than eight events" },
	{ FORM_SPAN, "a", 2, "BEGIN,END: the names of two events" },
	{ FORM_SPAN, ",b", 1, "BEGIN,END: the names of two events" },
	{ FORM_SPAN, "a,", 3, "BEGIN,END: the names of two events" },
	{ FORM_SPAN, "a b,c", 3, "BEGIN,END: the names of two events" },
	{ FORM_SPAN, "a=1,c", 2, "BEGIN,END: the names of two events" },
	{ FORM_SPAN, "a,b,c", 4, "BEGIN,END: the names of two events" },
	/* jobs */
	{ FORM_JOB, "x = a", 6, "; and a second event, or a model (--job help lists them)" },
	{ FORM_JOB, "a; ", 4, "; and a second event, or a model (--job help lists them)" },
	{ FORM_JOB, "x = run; deadline", 18, "a duration" },
	{ FORM_JOB, "x = run; deadline 2", 19, "a duration as 2ms or 1.5s" },
	{ FORM_JOB, "x = run; every 0s", 16, "a duration as 2ms or 1.5s" },
	{ FORM_JOB, "x = run; every 1s; every 1s", 26, "one deadline and one period" },
	{ FORM_JOB, "x = a; b; every 1s; c", 21,
	  "by, deadline, every, only, group, within or diff" },
	{ FORM_JOB, "x = a; b; within", 17, "the name of a job" },
	{ FORM_JOB, "x = a; b; within y; within y", 28, "one within" },
	{ FORM_AROUND, "a; b; by c; within d", 13, "by" },
	{ FORM_JOB, "x = a; b; group", 16, "a field" },
	{ FORM_JOB, "x = a; b; group c, d, e", 23, "no more than two fields" },
	{ FORM_JOB, "x = a @w @v; b", 11, "one @, with | between threads" },
	{ FORM_JOB, "x = a @w|; b", 10, "a tid or the name of a thread" },
	{ FORM_JOB, "x = a; b; c; by d", 17, "two events, which agree in keys" },
	{ FORM_JOB, "x = a; b; every d(e)", 21, "by and keys: names are of ids" },
	{ FORM_JOB, "x = a; b; only d(e)=f", 22, "by and keys: names are of ids" },
	{ FORM_JOB, "x = a; b; by e; every d(e); every 1s", 35, "one deadline and one period" },
	{ FORM_JOB, "x = a; b; by e; every 1s; every d(e)", 33, "one deadline and one period" },
	{ FORM_JOB, "x = a; b; by e; only d(e)", 26, "= and what the name is" },
	{ FORM_JOB, "x = a; b; by e; only d(e)=", 27, "a name, or a pattern of names" },
	{ FORM_JOB, "x = a; b; by e; only d=e", 23, "LABEL(FIELD) before" },
	{ FORM_JOB, "x = a; b; by e; only d(e)=f; only d(e)=f", 35, "one only" },
	{ FORM_PERIOD, "x = a; b; by e; only d(e)=f", 17, "by, then, each, group, within or diff" },
	{ FORM_JOB, "a-name-of-thirty-two-characters-x = run", 35,
	  "a name of at most 31 characters before" },
	{ FORM_JOB, " a x=1, y!=z ;b&", 16, "a field" },
	{ FORM_JOB, "a; b; c @w", 11, "two events: from one thread to another (@)" },
	{ FORM_JOB, "a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;b", 33, "no more than sixteen events" },
	/* labels */
	{ FORM_LABEL, "", 1, "NAME = EVENT key=FIELD name=FIELD" },
	{ FORM_LABEL, "x", 2, "= and an event" },
	{ FORM_LABEL, "x = a", 6, "key=FIELD" },
	{ FORM_LABEL, "x = a key=b", 12, "name=FIELD" },
	{ FORM_LABEL, "x = a key=b key=c", 17, "one key" },
	{ FORM_LABEL, "x = a key=b name=c name=d", 25, "one name" },
	{ FORM_LABEL, "x = a key=$pid name=c", 16, "a field beside $pid" },
	{ FORM_LABEL, "x = a key=b,c,d,e name=f", 17, "no more than three fields" },
	{ FORM_LABEL, "x = a key=b name=c; y", 19, "the end" },
	{ FORM_LABEL, "x = a b=$tid key=c name=d", 14,
	  "no $tid before: an id belongs to no thread" },
	{ FORM_LABEL, "x = a @w key=c name=d", 22, "no @ before: an id belongs to no thread" },
};

START_TEST(names_the_place)
{
	struct expression *is = NULL;
	char wanted[512];
	struct err err;

	(void)snprintf(wanted, sizeof(wanted), "\"%s\": column %u: expected %s", invalid[_i].text,
		       invalid[_i].column, invalid[_i].expected);
	ck_assert_int_eq(expression_parse(invalid[_i].text, invalid[_i].form, &is, &err), -EINVAL);
	ck_assert_str_eq(err.text, wanted);
}
END_TEST

/* ---- what they mean ---- */

/* What an event with one condition says of a number, of a text, and of a thread. */
static const struct {
	const char *text;
	int64_t number;
	const char *word; /* NULL: the field is a number */
	bool is_unsigned;
	bool holds;
} conditions[] = {
	{ "b=3", 3, NULL, false, true },
	{ "b=3", 4, NULL, false, false },
	{ "b!=3", 4, NULL, false, true },
	{ "b<3", 2, NULL, false, true },
	{ "b<3", 3, NULL, false, false },
	{ "b<=3", 3, NULL, false, true },
	{ "b<=3", 4, NULL, false, false },
	{ "b>-3", -2, NULL, false, true },
	{ "b>-3", -3, NULL, false, false },
	{ "b>=3", 3, NULL, false, true },
	{ "b>=3", 2, NULL, false, false },
	{ "b&15=1", 0xF1, NULL, false, true },
	{ "b&15!=1", 0xF1, NULL, false, false },
	{ "b=0xffffffffffffffff", -1, NULL, true, true },
	{ "b=0xffffffffffffffff", -1, NULL, false, false },
	{ "b>5", -1, NULL, true, true },
	{ "b>5", -1, NULL, false, false },
	{ "b=-1", -1, NULL, true, true }, /* the same 64 bits */
	{ "b!=-1", -1, NULL, true, false },
	{ "b>-1", -1, NULL, true, true }, /* but it is not less */
	{ "b<-1", -256, NULL, true, false },
	{ "b<-0.5", -256, NULL, true, false },
	{ "b<1e19", INT64_MIN, NULL, true, true },
	{ "b<1e19", -1, NULL, true, false },
	{ "b<1e30", -1, NULL, true, true },
	{ "b>-1e30", INT64_MIN, NULL, false, true },
	{ "b>2.5", 3, NULL, false, true },
	{ "b>2.5", 2, NULL, false, false },
	{ "b<-2.5", -3, NULL, false, true },
	{ "b=2.5", 2, NULL, false, false },
	{ "b=2.0", 2, NULL, false, true },
	{ "b=read", 0, "read", false, true },
	{ "b=read", 0, "reader", false, false },
	{ "b=read", 0, "rea", false, false },
	{ "b!=read", 0, "write", false, true },
	{ "b=\"\"", 0, "", false, true },
	{ "b=\"\"", 0, "x", false, false },
	{ "b~/^re?ad$/", 0, "rad", false, true },
	{ "b~/^re?ad$/", 0, "rads", false, false },
	{ "b~/a|b/", 0, "xbx", false, true },
	{ "b!~/a|b/", 0, "xbx", false, false },
	{ "b~/^$/", 0, "", false, true },
	{ "b=$tid", 7, NULL, false, true },
	{ "b=$tid", 8, NULL, false, false },
};

START_TEST(compares_fields)
{
	/* Behind a text comes what is not of it. */
	char *word = conditions[_i].word ? mem_printf("%s\n", conditions[_i].word) : NULL;
	const struct type type = { .kind = TYPE_INT, .size_bits = 64 };
	struct query_value value = { .kind = conditions[_i].word ? QUERY_TEXT : QUERY_NUMBER,
				     .is_signed = !conditions[_i].is_unsigned,
				     .type = &type,
				     .is.i = conditions[_i].number };
	char *text = mem_printf("a %s; b", conditions[_i].text);
	struct expression *is;
	struct err err;

	if (word) {
		value.is =
			(struct value){ .bytes = (const uint8_t *)word, .len = strlen(word) - 1 };
	}
	ck_assert_int_eq(expression_parse(text, FORM_PERIOD, &is, &err), 0);
	ck_assert_uint_eq(is->events[0].count, 1);
	ck_assert(pattern_condition_holds(&is->events[0].conditions[0], &value, 7) ==
		  conditions[_i].holds);
	expression_free(is);
	free(text);
	free(word);
}
END_TEST

/* What a part of the text "x" has: a text, or a number that is shown as it was. */
static const struct {
	const char *regex, *part, *text;
	const char *found; /* NULL: nothing */
	double number;     /* NAN: it is a text */
} parts[] = {
	{ "took (?<ms>[0-9]+) ms", "ms", "it took 12 ms, really", "12", 12 },
	{ "took (?<ms>[0-9]+) ms", "1", "it took 12 ms, really", "12", 12 },
	{ "took (?<ms>\\d+) ms", "ms", "took 007 ms", "007", 7 },
	{ "=(?:a|b)+(?<n>.*)", "n", "x=abab-1.50", "-1.50", -1.5 },
	{ "=(.*)", "1", "=0xFF", "0xFF", 255 },
	{ "=(.*)", "1", "=-9223372036854775808", "-9223372036854775808", -0x1p63 },
	{ "=(.*)", "1", "=18446744073709551615", "18446744073709551615", 0x1p64 },
	{ "=(.*)", "1", "=18446744073709551616", "18446744073709551616", NAN },
	{ "=(.*)", "1", "=7e12", "7e12", NAN },
	{ "=(.*)", "1", "=1.", "1.", NAN },
	{ "=(.*)", "1", "=-", "-", NAN },
	{ "=(.*)", "1", "=0x", "0x", NAN },
	{ "=(.*)", "1", "= 1", " 1", NAN },
	{ "=(.*)", "1", "=", "", NAN },
	{ "=(.*)", "1", "nothing", NULL, 0 },
	{ "a(x)?b", "1", "ab", NULL, 0 },
	{ "\\((.)\\)([[:alpha:](](.))", "3", "(1)b2", "2", 2 },
	{ "[]\\(]([^]])", "1", "](", "(", NAN },
	{ "((.)(.))(?<last>.)", "last", "abc", "c", NAN },
	{ "((.)(.))(?<last>.)", "4", "abc", "c", NAN },
};

START_TEST(splits_texts)
{
	char *text = mem_printf("a m~/%s/; b", parts[_i].regex);
	struct query_value value = { .kind = QUERY_TEXT }, found;
	char number[QUERY_NUMBER_BYTES];
	struct pattern_part part;
	struct expression *is;
	struct err err;
	const char *shown;
	size_t len;

	ck_assert_int_eq(expression_parse(text, FORM_PERIOD, &is, &err), 0);
	ck_assert(pattern_find_part(&is->events[0], parts[_i].part, &part));
	value.is.bytes = (const uint8_t *)parts[_i].text;
	value.is.len = strlen(parts[_i].text);
	ck_assert(pattern_part(&part, &value, &found) == (parts[_i].found != NULL));
	if (parts[_i].found) {
		shown = query_value_text(&found, true, number, &len);
		ck_assert_uint_eq(len, strlen(parts[_i].found));
		ck_assert_mem_eq(shown, parts[_i].found, len);
		ck_assert((found.kind == QUERY_TEXT) == isnan(parts[_i].number));
		ck_assert(found.kind != QUERY_REAL || found.is.f == parts[_i].number);
		ck_assert(found.kind != QUERY_NUMBER ||
			  (found.is_signed ? (double)found.is.i : (double)found.is.u) ==
				  parts[_i].number);
	}
	expression_free(is);
	free(text);
}
END_TEST

START_TEST(gives_names)
{
	static const struct {
		enum expression_form form;
		const char *text, *name, *whole;
	} named[] = {
		{ FORM_PERIOD, "a x=1; b", "a", "a = a x=1; b" },
		{ FORM_PERIOD, "y = a; b", "y", "y = a; b" },
		{ FORM_PERIOD, "\"an event\"; b", "an_event", "an_event = \"an event\"; b" },
		{ FORM_PERIOD, "abcdefghijklmnopqrstuvwxyzabcdefgh; b",
		  "abcdefghijklmnopqrstuvwxyzabcde",
		  "abcdefghijklmnopqrstuvwxyzabcde = abcdefghijklmnopqrstuvwxyzabcdefgh; b" },
		{ FORM_SPAN, "a:b,c", "a:b", "a:b = a:b; c" },
		{ FORM_JOB, "run; every 1s", "run", "run = run; every 1s" },
		{ FORM_JOB, "sched_in; sched_out", "sched_in", "sched_in = sched_in; sched_out" },
	};

	for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		struct expression *is;
		struct err err;
		char *text;

		ck_assert_int_eq(expression_parse(named[i].text, named[i].form, &is, &err), 0);
		text = expression_text(is);
		ck_assert_str_eq(is->name, named[i].name);
		ck_assert_str_eq(text, named[i].whole);
		free(text);
		expression_free(is);
	}
}
END_TEST

/* ---- generated trees ---- */

static uint64_t draw(uint64_t *random, uint64_t below)
{
	*random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (*random >> 33) % below;
}

/* Words that are clauses, names that need quotes, and others. */
static void draw_word(uint64_t *random, char *word, size_t size)
{
	static const char letters[] = "ab:_9 *\"\\;=@$,~/[](){}#";
	static const char *const words[] = { "by",  "global", "each", "every",   "key", "name",
					     "run", "group",  "$tid", "sched_x", "a:b", "*" };
	size_t len = 1 + draw(random, 6);

	if (draw(random, 2)) {
		(void)snprintf(word, size, "%s", words[draw(random, 12)]);
		return;
	}
	for (size_t i = 0; i < len; i++) {
		word[i] = letters[draw(random, sizeof(letters) - 1)];
	}
	word[0] = word[0] == '@' ? 'a' : word[0];
	word[len] = '\0';
}

/* Not of what is made. */
static void draw_field(uint64_t *random, char *field, size_t size)
{
	do {
		draw_word(random, field, size);
	} while (field[0] == '$');
}

static void draw_number(uint64_t *random, struct scan_number *number)
{
	static const double reals[] = { 0.5, -2.25, 1e30, -1e25, 0.1 };

	number->is_real = draw(random, 3) == 0;
	number->is_huge = !number->is_real && draw(random, 3) == 0;
	number->whole =
		(int64_t)(number->is_huge ? UINT64_MAX - draw(random, 99) : draw(random, 99) - 50);
	number->real = reals[draw(random, 5)];
}

static void draw_condition(uint64_t *random, struct pattern_condition *condition)
{
	draw_field(random, condition->field, 16);
	condition->op = (enum condition_op)draw(random, 6);
	condition->is_tid = draw(random, 4) == 0;
	condition->is_text = !condition->is_tid && draw(random, 2);
	condition->has_mask = !condition->is_tid && !condition->is_text && draw(random, 2);
	condition->mask.whole = (int64_t)draw(random, 9);
	draw_number(random, &condition->number);
	if (condition->is_tid) {
		condition->op = OP_EQ;
	} else if (condition->is_text) {
		condition->op = draw(random, 2) ? OP_EQ : OP_NE;
		draw_word(random, condition->text, sizeof(condition->text));
	}
}

static void draw_use(uint64_t *random, struct expression_use *use)
{
	use->count = 1;
	if (draw(random, 2)) {
		draw_field(random, use->label, sizeof(use->label));
		use->count = 1 + draw(random, 3);
	}
	for (size_t i = 0; i < use->count; i++) {
		draw_field(random, use->fields[i], sizeof(use->fields[i]));
	}
}

static void draw_named(uint64_t *random, struct expression_use *use)
{
	draw_use(random, use);
	if (!use->label[0]) {
		draw_field(random, use->label, sizeof(use->label));
	}
}

static void draw_link(uint64_t *random, struct expression_link *link)
{
	link->has_keys = draw(random, 2);
	link->has_tid = draw(random, 2);
	link->key_count = link->has_keys ? draw(random, 4) : 0;
	link->is_global =
		link->has_keys && (draw(random, 2) || (link->key_count == 0 && !link->has_tid));
	for (size_t i = 0; i < link->key_count; i++) {
		struct expression_key *key = &link->keys[i];

		draw_field(random, key->begin, sizeof(key->begin));
		draw_field(random, key->end, sizeof(key->end));
		if (draw(random, 3) == 0) {
			strcpy(key->begin, draw(random, 2) ? "$cpu" : "$pid");
			strcpy(key->end, key->begin);
		}
	}
}

/* Over threads go only jobs of two events; what keys tell apart may have names. */
static void draw_across(uint64_t *random, struct expression *is)
{
	char one[16];

	if (is->event_count > 2) {
		is->links[0].has_keys = false;
		return;
	}
	if (is->links[0].has_keys && draw(random, 2)) {
		is->every_ns = 0;
		draw_named(random, &is->due);
	}
	if (is->links[0].has_keys && draw(random, 2)) {
		draw_named(random, &is->only);
		draw_word(random, is->only_is, sizeof(is->only_is));
	}
	for (size_t i = draw(random, 4); i > 0; i--) {
		draw_word(random, one, sizeof(one));
		ck_assert(pattern_add_who(&is->events[i % 2].who, one));
	}
}

static struct expression *draw_expression(uint64_t *random, enum expression_form form)
{
	struct expression *is = mem_alloc(sizeof(*is));
	bool is_period = form == FORM_PERIOD;

	is->has_name = form == FORM_LABEL || draw(random, 2);
	strcpy(is->name, "named");
	is->event_count = form == FORM_LABEL ? 1 : 2 + draw(random, 4);
	for (size_t e = 0; e < is->event_count; e++) {
		struct definition *definition = &is->events[e];

		draw_word(random, definition->event, sizeof(definition->event));
		definition->count = draw(random, 4);
		for (size_t i = 0; i < definition->count; i++) {
			draw_condition(random, &definition->conditions[i]);
			definition->conditions[i].is_tid &= form != FORM_LABEL;
		}
		draw_link(random, &is->links[e]);
	}
	is->has_each = is_period && draw(random, 2);
	is->diff_count = is_period || form == FORM_JOB || form == FORM_CALL ? draw(random, 4) : 0;
	for (size_t i = 0; i < is->diff_count; i++) {
		draw_field(random, is->diffs[i], sizeof(is->diffs[i]));
	}
	is->use_count = form == FORM_LABEL ? 0 : draw(random, 3);
	for (size_t i = 0; i < is->use_count; i++) {
		draw_use(random, &is->uses[i]);
	}
	is->deadline_ns = form == FORM_JOB && draw(random, 2) ? 1 + draw(random, 99) : UINT64_MAX;
	is->every_ns = form == FORM_JOB ? draw(random, 99) : 0;
	if (form == FORM_JOB) {
		draw_across(random, is);
	}
	if ((is_period || form == FORM_JOB) && draw(random, 2)) {
		draw_word(random, is->within, sizeof(is->within));
	}
	is->by_process = form == FORM_LABEL && draw(random, 2);
	is->key.count = 1 + draw(random, 3);
	for (size_t i = 0; i < is->key.count; i++) {
		draw_field(random, is->key.fields[i], sizeof(is->key.fields[i]));
	}
	draw_use(random, &is->value);
	return is;
}

START_TEST(reads_what_it_prints)
{
	static const enum expression_form drawn[] = { FORM_PERIOD, FORM_JOB, FORM_LABEL };
	char *first = mem_alloc(EXPRESSION_PRINTED_BYTES);
	char *again = mem_alloc(EXPRESSION_PRINTED_BYTES);
	uint64_t random = 1;

	for (size_t i = 0; i < rounds(3000); i++) {
		enum expression_form form = drawn[i % 3];
		struct expression *is = draw_expression(&random, form), *parsed;
		struct err err;
		int r;

		expression_print(is, form, first);
		r = expression_parse(first, form, &parsed, &err);
		ck_assert_msg(r == 0, "%s", r < 0 ? err.text : "");
		expression_print(parsed, form, again);
		ck_assert_str_eq(first, again);
		expression_free(is);
		expression_free(parsed);
	}
	free(first);
	free(again);
}
END_TEST

Suite *suite_expression(void)
{
	Suite *suite = suite_create("expression");
	TCase *tcase = tcase_create("expression");

	tcase_add_loop_test(tcase, prints_what_it_reads, 0, sizeof(valid) / sizeof(valid[0]));
	tcase_add_loop_test(tcase, names_the_place, 0, sizeof(invalid) / sizeof(invalid[0]));
	tcase_add_loop_test(tcase, compares_fields, 0, sizeof(conditions) / sizeof(conditions[0]));
	tcase_add_loop_test(tcase, splits_texts, 0, sizeof(parts) / sizeof(parts[0]));
	tcase_add_test(tcase, gives_names);
	tcase_add_test(tcase, reads_what_it_prints);
	suite_add_tcase(suite, tcase);
	return suite;
}
