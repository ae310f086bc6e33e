/*
 * server: lines that are said once a minute, and sockets that cannot be listened on.
 */
#include <event2/event.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live/server/listener.h"
#include "live/server/repeat.h"
#include "suites.h"

static char said[4][200];
static size_t said_count;

__attribute__((format(printf, 1, 2))) static void on_line(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(said[said_count++ % 4], sizeof(said[0]), fmt, args);
	va_end(args);
}

START_TEST(says_once_a_minute)
{
	struct repeat repeat = { .count = 0 };

	said_count = 0;
	repeat_say_to(on_line);
	for (int i = 0; i < 1000; i++) {
		repeat_say(&repeat, "number %d", i);
	}
	ck_assert_uint_eq(said_count, 1);
	ck_assert_str_eq(said[0], "number 0");
	ck_assert_uint_eq(repeat_take(&repeat, false), 0);
	repeat.said_ns = 1; /* long ago */
	repeat_say(&repeat, "again");
	ck_assert_str_eq(said[1], "again (1000 times)");
	repeat_say(&repeat, "once more");
	ck_assert_uint_eq(repeat_take(&repeat, true), 1); /* the end does not wait */
	ck_assert_uint_eq(repeat_take(&repeat, true), 0);
	ck_assert_uint_eq(said_count, 2);
	repeat_say_to(NULL);
}
END_TEST

START_TEST(is_silent_without_a_speaker)
{
	struct repeat repeat = { .count = 0 };

	said_count = 0;
	repeat_say(&repeat, "nobody hears it");
	ck_assert_uint_eq(said_count, 0);
}
END_TEST

static const struct {
	const char *host;
	uint16_t port;
	const char *why;
} addresses[] = {
	{ "192.0.2.1", 1, "--x: cannot listen on 192.0.2.1 port 1: " },
	{ "host.invalid", 80, "--x: cannot listen on host.invalid port 80: " },
};

START_TEST(says_why_not)
{
	struct err err;

	ck_assert_int_lt(listener_bind("--x", addresses[_i].host, addresses[_i].port, &err), 0);
	ck_assert(strncmp(err.text, addresses[_i].why, strlen(addresses[_i].why)) == 0);
	ck_assert_uint_gt(strlen(err.text), strlen(addresses[_i].why)); /* there is a reason */
}
END_TEST

Suite *suite_server(void)
{
	Suite *suite = suite_create("server");
	TCase *tcase = tcase_create("server");

	tcase_add_test(tcase, says_once_a_minute);
	tcase_add_test(tcase, is_silent_without_a_speaker);
	tcase_add_loop_test(tcase, says_why_not, 0, sizeof(addresses) / sizeof(addresses[0]));
	suite_add_tcase(suite, tcase);
	return suite;
}
