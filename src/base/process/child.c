/*
 * child: see child.h.
 */
#include "base/process/child.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"

#define SOON_MS 2 /* most children end at once */

char *child_take_variable(const char *name)
{
	char *value = getenv(name), *ret = NULL;

	if (value) {
		ret = mem_strdup(value);
		explicit_bzero(value, strlen(value)); /* /proc/PID/environ has it, too */
		(void)unsetenv(name);
	}
	return ret;
}

bool child_has_ended(pid_t pid, int *ret_status)
{
	int status = 0;
	pid_t got;

	assert(pid > 0);
	do {
		got = waitpid(pid, &status, WNOHANG);
	} while (got < 0 && errno == EINTR);
	if (got != 0 && ret_status) {
		*ret_status = status;
	}
	return got != 0; /* one that is no child has been waited for */
}

bool child_is_over(enum child_patience patience)
{
	return patience == CHILD_LEAVES ? now_is_leaving() : now_must_end();
}

bool child_wait(pid_t pid, uint64_t limit_ns, enum child_patience patience, int *ret_status)
{
	uint64_t begin = now_monotonic_ns();
	int wait_ms = SOON_MS;

	while (!child_has_ended(pid, ret_status)) {
		if (child_is_over(patience) || now_monotonic_ns() - begin >= limit_ns) {
			return false;
		}
		(void)poll(NULL, 0, wait_ms);
		wait_ms = wait_ms * 2 < WAIT_POLL_MS ? wait_ms * 2 : WAIT_POLL_MS;
	}
	return true;
}

void child_kill(pid_t pid, bool is_leader)
{
	(void)kill(is_leader ? -pid : pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR) {
		/* What is killed ends, if no disk holds it. */
	}
}
