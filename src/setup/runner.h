/*
 * runner: runs other programs: commands to their end, daemons beside us.
 *
 * All run in a process group of their own: the terminal's ^C ends this program, which then ends
 * them in order.  All but runner_begin() and runner_read() block.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "setup/commands.h"

/* A command that runs. */
struct runner {
	const char *program, *verb; /* borrowed from its words */
	pid_t pid;
	int fd; /* what it writes; readable at its end, too */
	/* The first line that begins with "Error: "; else the last that is not empty, so far. */
	char line[400];
	size_t len;
	bool is_over; /* the next byte begins another line */
};

/* Begins the command.  Call runner_end(). */
int runner_begin(struct runner *runner, const char *const *words, struct err *err);
/* Reads what is there; false: that was the end. */
bool runner_read(struct runner *runner);
/* Waits for its end, which is near, for a second at most; @kills: kills it.  Fails as runner_run().
 */
int runner_end(struct runner *runner, bool kills, struct err *err);

/* Runs the command.  -ECHILD with what it said, or its exit status; -ETIME: it did not end in 30 s;
 * -EINTR: it was killed, since a signal came (base/now.h); -ENOENT: it is not installed. */
int runner_run(const char *const *words, struct err *err);

struct runner_config {
	const char *session;   /* is destroyed if a command after the first fails */
	FILE *out;             /* gets each command before it runs; NULL: nothing does */
	struct err *no_kernel; /* what the kernel's first command that fails says: the rest is
				  left out; NULL: that fails, too */
	void (*say)(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
};

/*
 * Runs all.  An event that this kernel does not have is left out, and @say names it; a channel
 * without any is a failure.  -ECHILD and others as runner_run().
 */
int runner_run_all(const struct command_lines *lines, const struct runner_config *config,
		   struct err *err);
/* Whether the session daemon has any session; false also if there is none. */
bool runner_has_sessions(void);
/* Whether it has this one. */
bool runner_has_session(const char *session);
/* Returns when it is destroyed, or has not been after 5 s.  One that does not exist is an error. */
int runner_destroy(const char *session, struct err *err);

/* Starts a daemon that writes to the file @log.  @env: NAME=VALUE, one, for it; NULL: none. */
int runner_start(const char *const *words, const char *env, const char *log, pid_t *ret_pid,
		 struct err *err);
