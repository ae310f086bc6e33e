/*
 * runner: runs other programs: commands to their end, daemons beside us.
 *
 * All run in a process group of their own: the terminal's ^C ends this program, which then ends
 * them in order.
 */
#ifndef SILLAGE_SETUP_RUNNER_H
#define SILLAGE_SETUP_RUNNER_H

#include <sys/types.h>

#include "base/err.h"
#include "setup/commands.h"

/* Runs the command.  -ECHILD with what it said, or its exit status; -ETIME: it did not end. */
int runner_run(const char *const *words, struct err *err);
/* Says each command on @out and runs it.  If one fails, the session that the first has created is
 * destroyed.  @must_stop: no command is begun once it returns true; then -EINTR. */
int runner_run_all(const struct command_lines *lines, const char *session, FILE *out,
		   bool (*must_stop)(void), struct err *err);
/* Destroys the session; one that does not exist is an error. */
int runner_destroy(const char *session, struct err *err);

/* Starts a daemon that writes to the file @log and ends when this process does. */
int runner_start(const char *const *words, const char *home, const char *log, pid_t *ret_pid,
		 struct err *err);
/* True once: it has ended by itself. */
bool runner_has_ended(pid_t pid);
/* Asks it to end, and kills it after 5 s. */
void runner_stop(pid_t pid);

#endif
