/*
 * range-store: see range-store.h.
 */
#include "live/range/range-store.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "live/capture/capture-prune.h"

#define GUARDED_FD 3 /* of the guardian: the pipe */

struct range_store {
	char *dir;
	int pipe; /* closed: the guardian removes the directory */
	pid_t guardian;
};

/* A signal to the terminal's processes must not reach it, and no reader of this program's output
 * may wait for its end. */
static void leave_the_others(int pipe)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	int null = open("/dev/null", O_RDWR);

	for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
		(void)signal(ignored[i], SIG_IGN);
	}
	(void)setsid();
	if (pipe != GUARDED_FD) {
		(void)dup2(pipe, GUARDED_FD);
	}
	for (int fd = 0; fd < GUARDED_FD; fd++) {
		(void)dup2(null, fd);
	}
	(void)close_range(GUARDED_FD + 1, ~0U, 0);
}

static void guard(const char *dir, int pipe)
{
	char byte;
	ssize_t got;

	leave_the_others(pipe);
	do {
		got = read(GUARDED_FD, &byte, 1);
	} while (got > 0 || (got < 0 && errno == EINTR));
	capture_remove_tree(dir);
	_exit(0);
}

struct range_store *range_store_new(struct err *err)
{
	const char *place = getenv("TMPDIR");
	struct range_store *store;
	char *dir = mem_printf("%s/sillage-XXXXXX", place && place[0] ? place : "/tmp");
	int ends[2] = { -1, -1 };
	pid_t guardian = -1;

	if (!mkdtemp(dir)) {
		(void)err_raise(err, -errno, "%s: %s", dir, strerror(errno));
		free(dir);
		return NULL;
	}
	if (pipe2(ends, O_CLOEXEC) == 0) {
		guardian = fork();
	}
	if (guardian == 0) {
		(void)close(ends[1]);
		guard(dir, ends[0]);
	}
	if (guardian < 0) {
		(void)err_raise(err, -errno, "cannot start a process that removes %s: %s", dir,
				strerror(errno));
		(void)rmdir(dir);
		free(dir);
		if (ends[0] >= 0) {
			(void)close(ends[0]);
			(void)close(ends[1]);
		}
		return NULL;
	}
	(void)close(ends[0]);
	store = mem_alloc(sizeof(*store));
	*store = (struct range_store){ .dir = dir, .pipe = ends[1], .guardian = guardian };
	return store;
}

void range_store_free(struct range_store *store)
{
	if (!store) {
		return;
	}
	assert(store->pipe >= 0);
	(void)close(store->pipe);
	while (waitpid(store->guardian, NULL, 0) < 0 && errno == EINTR) {
	}
	free(store->dir);
	free(store);
}

const char *range_store_dir(const struct range_store *store)
{
	return store->dir;
}
