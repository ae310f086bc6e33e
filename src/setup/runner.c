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
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/child.h"
#include "base/units.h"

#define COMMAND_NS (30 * NS_PER_S) /* lttng waits for programs that are traced */
#define DESTROY_NS (5 * NS_PER_S)
#define POLL_MS    10

/* In the child: never returns.  @out_fd: for both outputs. */
static void become(const char *const *words, const char *env, int out_fd)
{
	sigset_t none;
	int in_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)setpgid(0, 0);
	if (env) {
		(void)putenv((char *)env);
	}
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	if (dup2(in_fd, STDIN_FILENO) >= 0 && dup2(out_fd, STDOUT_FILENO) >= 0 &&
	    dup2(out_fd, STDERR_FILENO) >= 0) {
		(void)execvp(words[0], (char *const *)words);
	}
	_exit(127);
}

static pid_t start(const char *const *words, const char *env, int out_fd, struct err *err)
{
	pid_t pid = fork();

	if (pid == 0) {
		become(words, env, out_fd);
	}
	return pid < 0 ? err_raise(err, -errno, "%s: %s", words[0], strerror(errno)) : pid;
}

/* ---- commands ---- */

static void take(struct runner *runner, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == '\n') {
			runner->is_over = runner->len > 0;
			continue;
		}
		if (runner->is_over && strncmp(runner->line, "Error: ", 7) == 0) {
			return;
		}
		if (runner->is_over) {
			runner->len = 0;
			runner->is_over = false;
		}
		if (runner->len + 1 < sizeof(runner->line)) {
			runner->line[runner->len++] = bytes[i];
			runner->line[runner->len] = '\0';
		}
	}
}

int runner_begin(struct runner *runner, const char *const *words, struct err *err)
{
	int ends[2];

	*runner = (struct runner){ .program = words[0], .verb = words[1] };
	if (pipe2(ends, O_CLOEXEC) < 0) {
		return err_raise(err, -errno, "%s: %s", words[0], strerror(errno));
	}
	runner->fd = ends[0];
	runner->pid = start(words, NULL, ends[1], err);
	(void)close(ends[1]);
	if (runner->pid < 0) {
		(void)close(ends[0]);
		return runner->pid;
	}
	return 0;
}

bool runner_read(struct runner *runner)
{
	char bytes[4096];
	ssize_t count = read(runner->fd, bytes, sizeof(bytes));

	take(runner, bytes, count > 0 ? (size_t)count : 0);
	return count > 0 || (count < 0 && errno == EINTR);
}

/* What its end means. */
static int judge(const struct runner *runner, int ended, struct err *err)
{
	int status = WIFEXITED(ended) ? WEXITSTATUS(ended) : 128 + WTERMSIG(ended);

	if (status == 127 && runner->len == 0) {
		return err_raise(err, -ENOENT, "%s is not installed: package lttng-tools",
				 runner->program);
	}
	if (status > 0 && runner->len > 0) {
		return err_raise(err, -ECHILD, "%s", runner->line);
	}
	if (status > 0) {
		return err_raise(err, -ECHILD, "%s %s: exit status %d", runner->program,
				 runner->verb, status);
	}
	return 0;
}

/* It has ended with this status. */
static int finish(struct runner *runner, int status, struct err *err)
{
	(void)close(runner->fd);
	return judge(runner, status, err);
}

int runner_end(struct runner *runner, bool kills, struct err *err)
{
	int status = SIGKILL;

	/* Its output has ended, so it ends. */
	if (kills || !child_wait(runner->pid, LATE_NS, CHILD_LEAVES, &status)) {
		child_kill(runner->pid, false);
	}
	return finish(runner, status, err);
}

static int run(const char *const *words, uint64_t limit_ns, enum child_patience patience,
	       struct err *err)
{
	uint64_t end = now_monotonic_ns() + limit_ns;
	struct runner runner;
	bool is_open = true;
	int r = runner_begin(&runner, words, err);

	while (r == 0) {
		struct pollfd input = { .fd = is_open ? runner.fd : -1, .events = POLLIN };
		int status;
		bool has_ended = child_has_ended(runner.pid, &status);

		/* A daemon that it has started may hold the pipe open. */
		while (is_open && poll(&input, 1, has_ended ? 0 : POLL_MS) > 0) {
			is_open = runner_read(&runner);
		}
		if (has_ended) {
			return finish(&runner, status, err);
		}
		if (!is_open) {
			(void)poll(NULL, 0, 1);
		}
		if (child_is_over(patience)) {
			(void)runner_end(&runner, true, err);
			return err_raise(err, -EINTR, "interrupted");
		}
		if (now_monotonic_ns() > end) {
			(void)runner_end(&runner, true, err);
			return err_raise(err, -ETIME, "%s %s did not end in time", words[0],
					 words[1]);
		}
	}
	return r;
}

int runner_run(const char *const *words, struct err *err)
{
	return run(words, COMMAND_NS, CHILD_LEAVES, err);
}

int runner_destroy(const char *session, struct err *err)
{
	return run((const char *const[]){ "lttng", "--no-sessiond", "destroy", session, NULL },
		   DESTROY_NS, CHILD_LASTS, err);
}

bool runner_has_sessions(void)
{
	struct err answer;
	/* The list is one line of XML, at least as far as the first session. */
	const char *const words[] = { "sh", "-c",
				      "lttng --no-sessiond --mi xml list | grep -q '<session>'",
				      NULL };

	return run(words, DESTROY_NS, CHILD_LASTS, &answer) == 0;
}

bool runner_has_session(const char *session)
{
	struct err answer;
	const char *const words[] = { "lttng", "--no-sessiond", "list", session, NULL };

	return runner_run(words, &answer) == 0;
}

/* ---- several commands ---- */

static bool is_enable_event(const struct command_line *line)
{
	return strcmp(line->words.at[1], "enable-event") == 0;
}

/* A command that enables several of the kernel's events has failed: one by one.  Fails if none can
 * be enabled. */
static int run_each(const struct command_line *line, const struct runner_config *config,
		    struct err *err)
{
	VEC(char *) words = { 0 };
	char **last, *names, *rest, *name;
	bool is_any = false;
	int r = 0;

	vec_append(&words, line->words.at, line->words.count);
	last = &words.at[words.count - 2]; /* before NULL */
	names = mem_strdup(*last);
	for (name = strtok_r(names, ",", &rest); name && r != -EINTR;
	     name = strtok_r(NULL, ",", &rest)) {
		*last = name;
		r = run((const char *const *)words.at, COMMAND_NS, CHILD_LEAVES, err);
		is_any |= r == 0;
		if (r == -ECHILD) {
			config->say("the kernel has no event %s, or it cannot be recorded: %s",
				    name, err->text);
		}
	}
	free(names);
	vec_fini(&words);
	return is_any && r != -EINTR ? 0 : r;
}

static int run_one(const struct command_line *line, const struct runner_config *config,
		   struct err *err)
{
	int r;

	if (now_is_leaving()) {
		return err_raise(err, -EINTR, "interrupted");
	}
	if (config->out) {
		commands_print(line, config->out);
		(void)fflush(config->out);
	}
	r = run((const char *const *)line->words.at, COMMAND_NS, CHILD_LEAVES, err);
	if (r == -ECHILD && line->is_kernel && is_enable_event(line) &&
	    strchr(line->words.at[line->words.count - 2], ',')) {
		r = run_each(line, config, err);
	}
	return r;
}

int runner_run_all(const struct command_lines *lines, const struct runner_config *config,
		   struct err *err)
{
	bool has_kernel = true;
	struct err ignored;

	for (size_t i = 0; i < lines->at.count; i++) {
		const struct command_line *line = &lines->at.at[i];
		int r = line->is_kernel && !has_kernel ? 0 : run_one(line, config, err);

		if (r == -ECHILD && line->is_kernel && config->no_kernel) {
			*config->no_kernel = *err;
			has_kernel = false;
			r = 0;
		}
		if (r < 0) {
			if (i > 0) {
				(void)runner_destroy(config->session, &ignored);
			}
			return r;
		}
	}
	return 0;
}

/* ---- daemons ---- */

int runner_start(const char *const *words, const char *env, const char *log, pid_t *ret_pid,
		 struct err *err)
{
	int fd = open(log, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	pid_t pid;

	if (fd < 0) {
		return err_raise(err, -errno, "%s: %s", log, strerror(errno));
	}
	pid = start(words, env, fd, err);
	(void)close(fd);
	if (pid < 0) {
		return pid;
	}
	*ret_pid = pid;
	return 0;
}
