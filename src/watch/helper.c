/*
 * helper: see helper.h.
 */
#include "watch/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/process/child.h"
#include "base/units.h"

#define END_NS (5 * NS_PER_S)

/* In the child: never returns. */
static void become_helper(const struct helper_config *config, pid_t parent, int log, int ready)
{
	int in = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)setpgid(0, 0); /* the terminal's ^C is for its parent */
	(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
	(void)dup2(in, STDIN_FILENO);
	(void)dup2(log, STDOUT_FILENO);
	(void)dup2(log, STDERR_FILENO);
	if (getppid() == parent) { /* else it has ended already */
		_exit(config->work(config->user, config->relay, config->session, ready));
	}
	_exit(0);
}

/* The last line that it said. */
static int raise_said(const char *log, struct err *err)
{
	char text[sizeof(err->text)], *line = text, *end;
	int fd = open(log, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	(void)(fd >= 0 && close(fd));
	text[got > 0 ? got : 0] = '\0';
	while ((end = strchr(line, '\n')) && end[1]) {
		line = end + 1;
	}
	line[strcspn(line, "\n")] = '\0';
	line += strncmp(line, "sillage: ", 9) == 0 ? 9 : 0;
	return err_raise(err, -EIO, "%s", *line ? line : "the recorder of the kernel has ended");
}

/* Until it has written to @ready, or has ended. */
static int wait_until_ready(const struct helper_config *config, pid_t *pid, int ready,
			    struct err *err)
{
	struct pollfd news = { .fd = ready, .events = POLLIN };
	char byte;

	while (poll(&news, 1, WAIT_POLL_MS) <= 0) {
		if (now_is_leaving()) {
			return err_raise(err, -EINTR, "interrupted");
		}
	}
	if (read(ready, &byte, 1) == 1) {
		return 0;
	}
	child_kill(*pid, true); /* it has ended, or is about to */
	*pid = -1;
	return raise_said(config->log, err);
}

int helper_start(const struct helper_config *config, pid_t *ret_pid, struct err *err)
{
	int log = open(config->log, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int ready[2], r;
	pid_t parent = getpid();

	*ret_pid = -1;
	if (log < 0 || pipe2(ready, O_CLOEXEC) < 0) {
		r = err_raise(err, -errno, "%s: %s", config->log, strerror(errno));
		(void)(log >= 0 && close(log));
		return r;
	}
	*ret_pid = fork();
	if (*ret_pid == 0) {
		(void)close(ready[0]);
		become_helper(config, parent, log, ready[1]);
	}
	(void)close(log);
	(void)close(ready[1]);
	r = *ret_pid < 0 ? err_raise(err, -errno, "fork: %s", strerror(errno))
			 : wait_until_ready(config, ret_pid, ready[0], err);
	(void)close(ready[0]);
	return r;
}

void helper_end(pid_t pid, void (*say)(const char *fmt, ...))
{
	if (pid < 0) {
		return;
	}
	(void)kill(pid, SIGTERM);
	if (!child_wait(pid, END_NS, CHILD_LASTS, NULL)) {
		say("the recorder of the kernel does not end, and is killed");
		child_kill(pid, true);
	}
}
