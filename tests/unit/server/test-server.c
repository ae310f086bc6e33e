/*
 * server: lines that are said once a minute, where servers listen, whom they answer.
 */
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/vec.h"
#include "server/address.h"
#include "server/repeat.h"
#include "server/users.h"
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
	said_count = 0;
	repeat_say_to(on_line);
	for (int i = 0; i < 1000; i++) {
		repeat_say(NULL, "number %d", i);
	}
	repeat_say("--x", "number %d", 7); /* somebody else's is another kind */
	ck_assert_uint_eq(said_count, 2);
	ck_assert_str_eq(said[0], "number 0");
	ck_assert_str_eq(said[1], "--x: number 7");
	repeat_say("--x", "number %d", 8);
	repeat_look(); /* the minute is not over */
	ck_assert_uint_eq(said_count, 2);
	repeat_say_to(NULL); /* the end does not wait */
	ck_assert_uint_eq(said_count, 4);
	ck_assert_str_eq(said[2], "number 999 (and 998 more like this)");
	ck_assert_str_eq(said[3], "--x: number 8");
}
END_TEST

/* Some lines of a kind may come one by one; beyond the kinds that there is room for, all are one.
 */
START_TEST(says_few_lines_and_kinds)
{
	char kind[32];

	said_count = 0;
	repeat_say_to(on_line);
	for (int i = 0; i < 9; i++) {
		repeat_say_kind("few", 3, "one");
	}
	ck_assert_uint_eq(said_count, 3);
	for (int i = 0; i < 10 * REPEAT_KINDS_MAX; i++) {
		(void)snprintf(kind, sizeof(kind), "kind %d", i);
		repeat_say_kind(kind, 1, kind);
	}
	ck_assert_uint_eq(said_count, 3 + REPEAT_KINDS_MAX - 1);
	repeat_say_to(NULL);
	ck_assert_uint_eq(said_count, 3 + REPEAT_KINDS_MAX - 1 + 2);
}
END_TEST

START_TEST(is_silent_without_a_speaker)
{
	said_count = 0;
	repeat_say(NULL, "nobody hears it");
	repeat_look();
	ck_assert_uint_eq(said_count, 0);
}
END_TEST

static const struct {
	const char *address, *why;
} unheard[] = {
	{ "192.0.2.1:1", "--x: cannot listen on 192.0.2.1 port 1: " },
	{ "[2001:db8::1]:1", "--x: cannot listen on 2001:db8::1 port 1: " },
	{ "host.invalid:80", "--x: cannot listen on host.invalid port 80: " },
};

START_TEST(says_why_not)
{
	struct address_sockets sockets;
	struct address address;
	struct err err;

	ck_assert_int_eq(address_parse("--x", unheard[_i].address, &address, &err), 0);
	ck_assert_int_lt(address_listen("--x", &address, false, &sockets, &err), 0);
	ck_assert(strncmp(err.text, unheard[_i].why, strlen(unheard[_i].why)) == 0);
	ck_assert_uint_gt(strlen(err.text), strlen(unheard[_i].why)); /* there is a reason */
}
END_TEST

static const char *const no_addresses[] = { "",     "x",       "80",   "x:", "x:y",
					    "x:1y", "x:65536", "x:-1", ":0", "x: 1" };

START_TEST(knows_an_address)
{
	struct address address;
	struct err err;

	ck_assert_int_eq(address_parse("--x", no_addresses[_i], &address, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "is not [HOST]:PORT"));
}
END_TEST

/* At the first port that is free of some. */
static void listen_somewhere(const char *host, bool loopback_only, struct address_sockets *sockets)
{
	struct address address;
	struct err err;
	char text[64];
	int r = -EADDRINUSE;

	for (unsigned int port = 18000 + (unsigned int)getpid() % 1000; r == -EADDRINUSE; port++) {
		(void)snprintf(text, sizeof(text), "%s:%u", host, port);
		ck_assert_int_eq(address_parse("--x", text, &address, &err), 0);
		r = address_listen("--x", &address, loopback_only, sockets, &err);
	}
	ck_assert_msg(r == 0, "%s: %s", host, err.text);
}

static const struct {
	const char *host;
	bool is_loopback;
	size_t least;
} heard[] = {
	{ "", true, 1 },          { "localhost", true, 1 }, { "127.0.0.1", true, 1 },
	{ "127.1.2.3", true, 1 }, { "0.0.0.0", false, 1 },
};

START_TEST(listens)
{
	struct address_sockets sockets;
	bool has_four = false;

	listen_somewhere(heard[_i].host, false, &sockets);
	ck_assert(sockets.is_loopback == heard[_i].is_loopback);
	ck_assert_uint_ge(sockets.count, heard[_i].least);
	for (size_t i = 0; i < sockets.count; i++) {
		struct sockaddr_storage own;
		socklen_t len = sizeof(own);

		ck_assert_int_eq(getsockname(sockets.fds[i], (struct sockaddr *)&own, &len), 0);
		has_four |= own.ss_family == AF_INET;
		(void)close(sockets.fds[i]);
	}
	ck_assert(has_four);
}
END_TEST

/* Where there is IPv6, both are had, or neither. */
START_TEST(both_loopbacks)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM, 0);
	socklen_t len = sizeof(six);
	struct address_sockets sockets;
	struct address address = { .host = "" };
	struct err err;

	if (fd < 0 || bind(fd, (struct sockaddr *)&six, sizeof(six)) < 0) {
		return; /* there is none here */
	}
	(void)listen(fd, 1);
	ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&six, &len), 0);
	address.port = ntohs(six.sin6_port);
	ck_assert_int_eq(address_listen("--x", &address, true, &sockets, &err), -EADDRINUSE);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot listen on ::1 port "));
	(void)close(fd);
	listen_somewhere("", true, &sockets);
	ck_assert_uint_eq(sockets.count, 2);
	(void)close(sockets.fds[0]);
	(void)close(sockets.fds[1]);
	address = (struct address){ .host = "::", .port = 18000 };
	ck_assert_int_eq(address_listen("--x", &address, true, &sockets, &err), -EPERM);
}
END_TEST

static const struct {
	const char *host, *asked;
	bool is_ours;
} hosts[] = {
	{ "", NULL, false },
	{ "", "", false },
	{ "", "localhost", true },
	{ "", "LocalHost:80", true },
	{ "", "localhost:", true },
	{ "", "localhost:80x", false },
	{ "", "localhost.evil.example", false },
	{ "", "evil.example", false },
	{ "", "127.0.0.1", true },
	{ "", "127.9.9.9:65535", true },
	{ "", "127.0.0.1.evil.example", false },
	{ "", "128.0.0.1", false },
	{ "", "127.1", false },
	{ "", "[::1]:80", true },
	{ "", "[::1", false },
	{ "", "[::1]x", false },
	{ "", "[::2]", false },
	{ "", "::1", false },
	{ "", ":80", false },
	{ "here.example", "HERE.example:80", true },
	{ "here.example", "localhost", true },
	{ "here.example", "there.example", false },
};

START_TEST(knows_who_is_asked_for)
{
	struct address address = { .port = 80 };

	(void)snprintf(address.host, sizeof(address.host), "%s", hosts[_i].host);
	ck_assert_msg(address_is_asked_for(&address, hosts[_i].asked) == hosts[_i].is_ours,
		      "%s, asked for %s", hosts[_i].host,
		      hosts[_i].asked ? hosts[_i].asked : "nobody");
}
END_TEST

#define TAIL "$F5Jx5fExrKuPp53xLKQ..1$PmNgGTLMFjJn.URBv11CpTEm5RwlKtPjRtztKe6.b33"

static const struct {
	const char *name, *hash;
	bool is_taken;
} listed[] = {
	{ "a", "$y$j9T" TAIL, true },
	{ "a", "$y$jAT" TAIL, true },     /* 32 MiB */
	{ "a", "$y$jBT" TAIL, false },    /* 64 */
	{ "a", "$y$jFT" TAIL, false },    /* 1 GiB */
	{ "a", "$y$jzz" TAIL, false },    /* overflows */
	{ "a", "$y$j" TAIL, false },      /* neither */
	{ "a", "$y$j9T/.." TAIL, false }, /* more passes */
	{ "a", "$y$", false },
	{ "a", "$6$salt$x", true },
	{ "a", "$6$rounds=500000$salt$x", true },
	{ "a", "$6$rounds=500001$salt$x", false },
	{ "a", "$6$rounds=9999999999$salt$x", false },
	{ "a", "$6$rounds=-1$salt$x", false },
	{ "a", "$6$rounds=$salt$x", false },
	{ "a", "$1$salt$x", false },
	{ "a", "abJnggxhB/yWI", false },
	{ "a", "secret", false },
	{ "a", "", false },
	{ "", "$6$salt$x", false },
	{ "a:b", "$6$salt$x", false },
	{ "b", "$6$salt$x", false }, /* it is there */
};

START_TEST(knows_a_hash)
{
	struct users_list *list = users_list_new();
	struct err err;

	ck_assert_int_eq(users_list_add(list, "b", "$6$salt$x", &err), 0);
	ck_assert_msg((users_list_add(list, listed[_i].name, listed[_i].hash, &err) == 0) ==
			      listed[_i].is_taken,
		      "%s = %s", listed[_i].name, listed[_i].hash);
	ck_assert_uint_eq(users_list_count(list), 1 + (size_t)listed[_i].is_taken);
	users_list_free(list);
}
END_TEST

Suite *suite_server(void)
{
	Suite *suite = suite_create("server");
	TCase *tcase = tcase_create("server");

	tcase_add_test(tcase, says_once_a_minute);
	tcase_add_test(tcase, says_few_lines_and_kinds);
	tcase_add_test(tcase, is_silent_without_a_speaker);
	tcase_add_loop_test(tcase, says_why_not, 0, ARRAY_COUNT(unheard));
	tcase_add_loop_test(tcase, knows_an_address, 0, ARRAY_COUNT(no_addresses));
	tcase_add_loop_test(tcase, listens, 0, ARRAY_COUNT(heard));
	tcase_add_test(tcase, both_loopbacks);
	tcase_add_loop_test(tcase, knows_who_is_asked_for, 0, ARRAY_COUNT(hosts));
	tcase_add_loop_test(tcase, knows_a_hash, 0, ARRAY_COUNT(listed));
	suite_add_tcase(suite, tcase);
	return suite;
}
