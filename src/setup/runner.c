/*
 * runner: see runner.h.
 */
#include "setup/runner.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/now.h"
#include "base/units.h"

#define COMMAND_NS (30 * NS_PER_S) /* lttng waits for programs that are traced */
#define DAEMON_NS  (5 * NS_PER_S)
#define POLL_MS    10

/* In the child: never returns.  @out_fd: for both outputs; the parent may be gone already. */
static void become(const char *const *words, const char *home, int out_fd, pid_t parent)
{
	sigset_t none;
	int in_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)setpgid(0, 0);
	if (home) {
		(void)prctl(PR_SET_PDEATHSIG, SIGTERM);
		(void)setenv("LTTNG_HOME", home, 1);
	}
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	if (dup2(in_fd, STDIN_FILENO) >= 0 && dup2(out_fd, STDOUT_FILENO) >= 0 &&
	    dup2(out_fd, STDERR_FILENO) >= 0 && getppid() == parent) {
		(void)execvp(words[0], (char *const *)words);
	}
	_exit(127);
}

static pid_t start(const char *const *words, const char *home, int out_fd, struct err *err)
{
	pid_t parent = getpid();
	pid_t pid = fork();

	if (pid == 0) {
		become(words, home, out_fd, parent);
	}
	return pid < 0 ? err_raise(err, -errno, "%s: %s", words[0], strerror(errno)) : pid;
}

/* ---- commands ---- */

/* What it writes until it has ended: the last line that is not empty. */
struct answer {
	char line[400];
	size_t len;
	bool is_over; /* the next byte begins another line */
};

static void take(struct answer *answer, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == '\n') {
			answer->is_over = answer->len > 0;
			continue;
		}
		if (answer->is_over) {
			answer->len = 0;
			answer->is_over = false;
		}
		if (answer->len + 1 < sizeof(answer->line)) {
			answer->line[answer->len++] = bytes[i];
			answer->line[answer->len] = '\0';
		}
	}
}

/* The exit status; -ETIME: it did not end in time, and was killed. */
static int wait_for(pid_t pid, int fd, struct answer *answer)
{
	uint64_t end = now_monotonic_ns() + COMMAND_NS;
	bool is_open = true;
	int status;

	for (;;) {
		struct pollfd input = { .fd = is_open ? fd : -1, .events = POLLIN };
		char bytes[4096];
		ssize_t count;
		pid_t ended = waitpid(pid, &status, WNOHANG);

		/* A daemon that it has started may hold the pipe open. */
		while (is_open && poll(&input, 1, ended == pid ? 0 : POLL_MS) > 0) {
			count = read(fd, bytes, sizeof(bytes));
			is_open = count > 0;
			take(answer, bytes, count > 0 ? (size_t)count : 0);
		}
		if (ended == pid) {
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		}
		if (!is_open) {
			(void)poll(NULL, 0, POLL_MS);
		}
		if (now_monotonic_ns() > end) {
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, &status, 0);
			return -ETIME;
		}
	}
}

int runner_run(const char *const *words, struct err *err)
{
	struct answer answer = { .len = 0 };
	int pipe_fds[2], status;
	pid_t pid;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
		return err_raise(err, -errno, "%s: %s", words[0], strerror(errno));
	}
	pid = start(words, NULL, pipe_fds[1], err);
	(void)close(pipe_fds[1]);
	status = pid < 0 ? pid : wait_for(pid, pipe_fds[0], &answer);
	(void)close(pipe_fds[0]);
	if (status == -ETIME) {
		return err_raise(err, status, "%s %s did not end in time", words[0], words[1]);
	}
	if (status == 127 && answer.len == 0) {
		return err_raise(err, -ENOENT, "%s is not installed", words[0]);
	}
	if (status > 0) {
		return answer.len > 0 ? err_raise(err, -ECHILD, "%s", answer.line)
				      : err_raise(err, -ECHILD, "%s %s: exit status %d", words[0],
						  words[1], status);
	}
	return status;
}

int runner_destroy(const char *session, struct err *err)
{
	return runner_run((const char *const[]){ "lttng", "--no-sessiond", "destroy", "--no-wait",
						 session, NULL },
			  err);
}

int runner_run_all(const struct command_lines *lines, const char *session, FILE *out,
		   bool (*must_stop)(void), struct err *err)
{
	struct err ignored;

	for (size_t i = 0; i < lines->at.count; i++) {
		const struct command_line *line = &lines->at.at[i];
		int r;

		if (out) {
			commands_print(line, out);
			(void)fflush(out);
		}
		r = must_stop() ? err_raise(err, -EINTR, "interrupted")
				: runner_run((const char *const *)line->words.at, err);
		if (r < 0) {
			if (i > 0) {
				(void)runner_destroy(session, &ignored);
			}
			return r;
		}
	}
	return 0;
}

/* ---- daemons ---- */

int runner_start(const char *const *words, const char *home, const char *log, pid_t *ret_pid,
		 struct err *err)
{
	int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	pid_t pid;

	if (fd < 0) {
		return err_raise(err, -errno, "%s: %s", log, strerror(errno));
	}
	pid = start(words, home, fd, err);
	(void)close(fd);
	if (pid < 0) {
		return pid;
	}
	*ret_pid = pid;
	return 0;
}

bool runner_has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) == pid;
}

void runner_stop(pid_t pid)
{
	uint64_t end = now_monotonic_ns() + DAEMON_NS;

	(void)kill(pid, SIGTERM);
	while (!runner_has_ended(pid)) {
		if (now_monotonic_ns() > end) {
			(void)kill(pid, SIGKILL);
			(void)waitpid(pid, NULL, 0);
			return;
		}
		(void)poll(NULL, 0, POLL_MS);
	}
}
