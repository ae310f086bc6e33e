/*
 * control: what a client sends, and the lines that it gets.
 */
#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "capture/capture-write.h"
#include "live/control.h"
#include "output/notice.h"
#include "output/sink.h"
#include "suites.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

struct bench {
	char dir[40];
	char *path;
	struct event_base *base;
	struct control *control;
	size_t captures; /* how many a request makes */
};

static size_t begin(void *user, uint64_t *ret_numbers, size_t most)
{
	const struct bench *b = user;

	ck_assert_uint_le(b->captures, most);
	for (size_t i = 0; i < b->captures; i++) {
		ret_numbers[i] = i + 1;
	}
	return b->captures;
}

static void setup(struct bench *b)
{
	struct err err;

	memset(b, 0, sizeof(*b));
	strcpy(b->dir, "/tmp/sillage-unit-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(b->dir));
	b->path = mem_printf("%s/control", b->dir);
	b->base = event_base_new();
	b->control = control_new(b->base, b->path, begin, b, &err);
	ck_assert_msg(b->control, "%s", err.text);
}

static void teardown(struct bench *b)
{
	control_free(b->control);
	ck_assert_int_eq(rmdir(b->dir), 0); /* the socket is gone */
	event_base_free(b->base);
	free(b->path);
}

static int connect_to(const struct bench *b)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, b->path);
	ck_assert_int_eq(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Runs the loop until the client @fd has more, or the end; appends it to @text.  False: the end. */
static bool receive(const struct bench *b, int fd, char *text, size_t size)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	ssize_t got;

	while (poll(&readable, 1, 1) == 0) {
		(void)event_base_loop(b->base, EVLOOP_NONBLOCK);
	}
	got = read(fd, text + strlen(text), size - strlen(text) - 1);
	return got > 0;
}

static void run_loop(const struct bench *b)
{
	for (int i = 0; i < 20; i++) {
		(void)event_base_loop(b->base, EVLOOP_NONBLOCK);
	}
}

static const struct {
	const char *line;
	size_t captures;
	const char *answer; /* of an error; NULL: captures are awaited */
} requests[] = {
	{ "capture\n", 1, NULL },
	{ "capture\nmore\n", 1, NULL },
	{ "capture\n", 3, NULL },
	{ "capture\n", 0, "no session is followed" },
	{ "captur\n", 1, "expected the line" },
	{ "capture \n", 1, "expected the line" },
	{ "\n", 1, "expected the line" },
	{ NULL, 1, "expected the line" }, /* too long, without an end */
};

START_TEST(answers_lines)
{
	char text[4000] = "", long_line[CONTROL_LINE_MAX + 1];
	const char *line = requests[_i].line;
	struct bench b;
	int fd;

	setup(&b);
	b.captures = requests[_i].captures;
	memset(long_line, 'c', sizeof(long_line));
	fd = connect_to(&b);
	ck_assert_int_gt(
		write(fd, line ? line : long_line, line ? strlen(line) : sizeof(long_line)), 0);
	run_loop(&b);
	for (uint64_t number = 9; !requests[_i].answer && number-- > 0;) {
		struct capture_order order = { .number = number,
					       .host = (char *)"h",
					       .session = (char *)"s",
					       .names = (char *)"",
					       .path = (char *)"/p" };

		struct capture_result result = capture_order_result(&order);
		struct output output = { .sink = &sink_control, .state = b.control };

		output_capture(&output, &result); /* those of others are not for it */
	}
	while (receive(&b, fd, text, sizeof(text))) {
	}
	if (requests[_i].answer) {
		ck_assert_ptr_eq(strstr(text, "{\"type\":\"error\""), text);
		ck_assert_ptr_nonnull(strstr(text, requests[_i].answer));
	} else {
		size_t count = 0;

		for (const char *at = text; (at = strstr(at, "\"type\":\"capture\"")); at++) {
			count++;
		}
		ck_assert_uint_eq(count, requests[_i].captures);
	}
	(void)close(fd);
	teardown(&b);
}
END_TEST

/* At most so many at once; who is one too many is closed, and others go on. */
START_TEST(bounds_clients)
{
	int fds[CONTROL_CLIENTS_MAX + 1];
	char text[4000] = "";
	struct bench b;

	setup(&b);
	for (int i = 0; i <= CONTROL_CLIENTS_MAX; i++) {
		fds[i] = connect_to(&b);
		run_loop(&b);
	}
	ck_assert(!receive(&b, fds[CONTROL_CLIENTS_MAX], text, sizeof(text)));
	ck_assert_int_eq(write(fds[0], "x\n", 2), 2);
	ck_assert(receive(&b, fds[0], text, sizeof(text)));
	for (int i = 0; i <= CONTROL_CLIENTS_MAX; i++) {
		(void)close(fds[i]);
	}
	teardown(&b);
}
END_TEST

/* A socket that is in use is not replaced, one that was left behind is; only the user may connect.
 */
START_TEST(replaces_stale_sockets)
{
	struct control *other;
	struct stat found;
	struct bench b;
	struct err err;
	char *saved;

	setup(&b);
	ck_assert_int_eq(stat(b.path, &found), 0);
	ck_assert_int_eq(found.st_mode & 0777, 0600);
	ck_assert_ptr_null(control_new(b.base, b.path, begin, &b, &err));
	ck_assert_ptr_nonnull(strstr(err.text, strerror(EADDRINUSE)));
	saved = mem_printf("%s/saved", b.dir);
	ck_assert_int_eq(rename(b.path, saved), 0);
	control_free(b.control);
	ck_assert_int_eq(rename(saved, b.path), 0);
	other = control_new(b.base, b.path, begin, &b, &err);
	ck_assert_msg(other, "%s", err.text);
	b.control = other;
	free(saved);
	teardown(&b);
}
END_TEST

START_TEST(asks)
{
	char line[20] = "", long_path[200];
	struct err err;
	struct bench b;
	int fd;

	setup(&b);
	fd = control_ask(b.path, &err);
	ck_assert_int_ge(fd, 0);
	ck_assert(receive(&b, fd, line, sizeof(line))); /* without captures: an error */
	(void)close(fd);
	teardown(&b);
	ck_assert_int_lt(control_ask("/nowhere/control", &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "/nowhere/control: "));
	memset(long_path, 'x', sizeof(long_path) - 1);
	long_path[sizeof(long_path) - 1] = '\0';
	ck_assert_int_eq(control_ask(long_path, &err), -ENAMETOOLONG);
}
END_TEST

Suite *suite_control(void)
{
	Suite *suite = suite_create("control");
	TCase *tcase = tcase_create("control");

	tcase_add_loop_test(tcase, answers_lines, 0, COUNT(requests));
	tcase_add_test(tcase, bounds_clients);
	tcase_add_test(tcase, replaces_stale_sockets);
	tcase_add_test(tcase, asks);
	suite_add_tcase(suite, tcase);
	return suite;
}
