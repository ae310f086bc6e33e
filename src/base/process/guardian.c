/*
 * guardian: see guardian.h.
 */
#include "base/process/guardian.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/child.h"
#include "base/process/thread.h"
#include "base/units.h"

/* Its descriptors: the pipe, and the one that is kept. */
enum { PIPE_FD = 3, KEPT_FD = 4 };

struct guardian {
	int pipe;
	pid_t pid;
};

static void leave_the_others(int pipe, int kept_fd)
{
	static const int ignored[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	int null = open("/dev/null", O_RDWR);
	/* Above those that they are copied to. */
	int high_pipe = fcntl(pipe, F_DUPFD, KEPT_FD + 1);
	int high_kept = kept_fd < 0 ? -1 : fcntl(kept_fd, F_DUPFD, KEPT_FD + 1);

	for (size_t i = 0; i < ARRAY_COUNT(ignored); i++) {
		(void)signal(ignored[i], SIG_IGN);
	}
	(void)setsid();
	atomic_store(&now_leave_at_ns, 0); /* what ends its parent does not end its work */
	for (int fd = 0; fd < PIPE_FD; fd++) {
		(void)dup2(null, fd);
	}
	(void)dup2(high_pipe, PIPE_FD);
	(void)close(KEPT_FD);
	if (high_kept >= 0) {
		(void)dup3(high_kept, KEPT_FD, O_CLOEXEC);
	}
	(void)close_range(KEPT_FD + 1, ~0U, 0);
}

static void wait_for_the_end(void)
{
	char byte;
	ssize_t got;

	do {
		got = read(PIPE_FD, &byte, 1);
	} while (got > 0 || (got < 0 && errno == EINTR));
	(void)close(PIPE_FD);
}

struct guardian *guardian_new(void (*work)(const void *user), const void *user, int kept_fd,
			      struct err *err)
{
	struct guardian *guardian;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		(void)err_raise(err, -errno, "pipe: %s", strerror(errno));
		return NULL;
	}
	pid = fork();
	if (pid == 0) {
		(void)close(ends[1]);
		leave_the_others(ends[0], kept_fd);
		wait_for_the_end();
		work(user);
		_exit(0);
	}
	(void)close(ends[0]);
	if (pid < 0) {
		(void)err_raise(err, -errno, "fork: %s", strerror(errno));
		(void)close(ends[1]);
		return NULL;
	}
	guardian = mem_alloc(sizeof(*guardian));
	*guardian = (struct guardian){ .pipe = ends[1], .pid = pid };
	return guardian;
}

void guardian_free(struct guardian *guardian, struct thread_last *last)
{
	if (!guardian) {
		return;
	}
	assert(guardian->pipe >= 0);
	(void)close(guardian->pipe);
	while (!child_wait(guardian->pid, LATE_NS, CHILD_LASTS, NULL) && !now_must_end()) {
		thread_say_late(last);
	}
	free(guardian);
}
