/*
 * place and daemons: where runs of `watch` keep what is theirs, and how daemons are found.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/remove.h"
#include "suites.h"
#include "watch/daemons.h"
#include "watch/place.h"

#define PROGRAM "sillage-test-daemon" /* as which a shell runs: no other process does */

static char *folder;  /* TMPDIR of the test */
static char *before;  /* what it was */
static size_t spoken; /* lines of place_sweep() */

/* What flock() fails with, this often; it stands before that of libc. */
static int lock_failure;
static unsigned int lock_failures;

int flock(int fd, int operation)
{
	if (lock_failures > 0) {
		lock_failures--;
		errno = lock_failure;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, operation);
}

static void set_up(void)
{
	char name[] = "/tmp/sillage-place-XXXXXX";

	ck_assert_ptr_nonnull(mkdtemp(name));
	folder = mem_strdup(name);
	before = getenv("TMPDIR") ? mem_strdup(getenv("TMPDIR")) : NULL;
	(void)setenv("TMPDIR", folder, 1);
	spoken = 0;
}

static void tear_down(void)
{
	if (before) {
		(void)setenv("TMPDIR", before, 1);
	} else {
		(void)unsetenv("TMPDIR");
	}
	remove_tree(folder);
	free(folder);
	free(before);
}

static void count(const char *fmt, ...)
{
	spoken++;
}

START_TEST(has_room_for_sockets)
{
	char *deep = mem_printf("%s/%070d", folder, 0);
	struct place place;
	struct err err;

	ck_assert_int_eq(mkdir(deep, 0700), 0);
	(void)setenv("TMPDIR", deep, 1);
	ck_assert_int_eq(place_begin(&place, &err), 0);
	ck_assert_int_eq(strncmp(place.base, "/tmp/sillage-", 13), 0);
	place_fini(&place);
	(void)setenv("TMPDIR", "not/absolute", 1);
	ck_assert_int_eq(place_begin(&place, &err), 0);
	ck_assert_int_eq(strncmp(place.base, "/tmp/sillage-", 13), 0);
	place_fini(&place);
	free(deep);
}
END_TEST

START_TEST(makes_places)
{
	struct place place, other;
	struct stat found;
	struct err err;

	ck_assert_int_eq(place_begin(&place, &err), 0);
	ck_assert_int_eq(stat(place.base, &found), 0);
	ck_assert_uint_eq(found.st_mode & 0777, 0700);
	ck_assert_int_eq(place_make(&place, NULL, &err), 0);
	ck_assert_int_eq(strncmp(place.dir, place.base, strlen(place.base)), 0);
	ck_assert_int_eq(strncmp(place_session(&place), "watch-", 6), 0);
	place_unlock(&place);

	/* Another run has its own, and leaves that of a run that lives. */
	ck_assert_int_eq(place_begin(&other, &err), 0);
	place_sweep(&other, count);
	ck_assert_uint_eq(spoken, 0);
	ck_assert_int_eq(place_make(&other, NULL, &err), 0);
	ck_assert_str_ne(other.dir, place.dir);
	ck_assert_int_eq(access(place.dir, F_OK), 0);
	place_fini(&other);
	place_fini(&place);
}
END_TEST

/* What others could have made, or could write to. */
START_TEST(refuses_what_is_not_private)
{
	char *base = mem_printf("%s/sillage-%u", folder, (unsigned int)geteuid());
	struct place place;
	struct err err;

	if (_i == 0) {
		ck_assert_int_eq(mkdir(base, 0700), 0);
		ck_assert_int_eq(chmod(base, 0755), 0);
	} else if (_i == 1) {
		ck_assert_int_eq(symlink(folder, base), 0);
	} else {
		FILE *file = fopen(base, "we");

		ck_assert_ptr_nonnull(file);
		(void)fclose(file);
	}
	ck_assert_int_lt(place_begin(&place, &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "is not a private directory of yours"));
	place_fini(&place);
	free(base);
}
END_TEST

static const struct {
	int failure;
	bool is_waited_for;
} lock_cases[] = {
	{ EWOULDBLOCK, true },
	{ EINTR, true },
	{ ENOLCK, false },
	{ EOPNOTSUPP, false },
};

START_TEST(waits_for_nobody_who_has_no_lock)
{
	struct place place;
	struct err err;

	lock_failure = lock_cases[_i].failure;
	lock_failures = lock_cases[_i].is_waited_for ? 2 : 20;
	if (lock_cases[_i].is_waited_for) {
		ck_assert_int_eq(place_begin(&place, &err), 0);
		ck_assert_uint_eq(lock_failures, 0);
	} else {
		ck_assert_int_eq(place_begin(&place, &err), -lock_failure);
		ck_assert_ptr_nonnull(strstr(err.text, strerror(lock_failure)));
	}
	lock_failures = 0;
	place_fini(&place);
}
END_TEST

/* A shell whose arguments have @mark, until its input ends. */
static pid_t start(const char *mark, int *ret_input)
{
	int input[2], output[2];
	sigset_t none;
	pid_t child;
	char line;

	ck_assert_int_eq(pipe(input), 0);
	ck_assert_int_eq(pipe(output), 0);
	child = fork();
	if (child == 0) {
		/* Whatever tests before, or a sanitizer, did with signals. */
		(void)sigemptyset(&none);
		(void)sigprocmask(SIG_SETMASK, &none, NULL);
		(void)signal(SIGTERM, SIG_DFL);
		(void)dup2(input[0], STDIN_FILENO);
		(void)dup2(output[1], STDOUT_FILENO);
		(void)close(input[1]);
		(void)execlp("sh", PROGRAM, "-c", "echo; read line", mark, NULL);
		_exit(127);
	}
	ck_assert_int_gt(child, 0);
	(void)close(input[0]);
	(void)close(output[1]);
	ck_assert_int_eq(read(output[0], &line, 1), 1); /* it has begun */
	(void)close(output[0]);
	*ret_input = input[1];
	return child;
}

START_TEST(finds_daemons)
{
	char *mark = mem_printf("%s/mark", folder), *other = mem_printf("%s/other", folder);
	int input, status;
	pid_t child;

	ck_assert(!daemons_run(PROGRAM, mark));
	child = start(mark, &input);
	ck_assert(daemons_run(PROGRAM, mark));
	ck_assert(!daemons_run(PROGRAM, other));
	ck_assert(!daemons_run("sh", mark));
	daemons_end(PROGRAM, other); /* it stays */
	ck_assert(daemons_run(PROGRAM, mark));
	daemons_end(PROGRAM, mark);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	ck_assert(!daemons_run(PROGRAM, mark));
	(void)close(input);
	free(mark);
	free(other);
}
END_TEST

Suite *suite_place(void)
{
	Suite *suite = suite_create("place");
	TCase *tcase = tcase_create("place");

	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, has_room_for_sockets);
	tcase_add_test(tcase, makes_places);
	tcase_add_loop_test(tcase, refuses_what_is_not_private, 0, 3);
	tcase_add_loop_test(tcase, waits_for_nobody_who_has_no_lock, 0, ARRAY_COUNT(lock_cases));
	tcase_add_test(tcase, finds_daemons);
	suite_add_tcase(suite, tcase);
	return suite;
}
