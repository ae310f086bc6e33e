/*
 * record-check: see record-check.h.
 */
#include "cmd/record/record-check.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "run/run.h"

enum { STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

static int check_threads(const struct options *options, struct err *err)
{
	VEC_EACH(&options->selection.pids, pid) {
		if (*pid <= 0 || (kill((pid_t)*pid, 0) < 0 && errno == ESRCH)) {
			(void)err_raise(err, -ESRCH,
					"--pid %" PRId64 ": there is no such process; `pgrep NAME` "
					"finds those of a name, and `record -- COMMAND` begins one",
					*pid);
			return EXIT_USAGE;
		}
	}
	return 0;
}

/* Why execvp() would not execute the file; 0: nothing is known against it. */
static int program_fault(const char *path)
{
	struct stat file;

	if (stat(path, &file) < 0) {
		return errno;
	}
	return S_ISDIR(file.st_mode) || access(path, X_OK) < 0 ? EACCES : 0;
}

/* As execvp() looks: what may not be executed is passed over, and told if nothing else is there. */
static int look_in_path(const char *word)
{
	const char *path = getenv("PATH");
	char *list = mem_strdup(path ? path : "/bin:/usr/bin"), *rest = list;
	const char *folder;
	int fault = ENOENT;

	while (fault != 0 && (folder = strsep(&rest, ":"))) {
		char *file = mem_printf("%s/%s", *folder ? folder : ".", word);
		int found = program_fault(file);

		fault = found == 0 || found == EACCES ? found : fault;
		free(file);
	}
	free(list);
	return fault;
}

static int check_program(const char *word, struct err *err)
{
	int fault = !word               ? 0
		    : !*word            ? ENOENT
		    : strchr(word, '/') ? program_fault(word)
					: look_in_path(word);

	if (fault == 0) {
		return 0;
	}
	(void)err_raise(err, -fault, "%s: %s; nothing was recorded", word,
			fault == ENOENT && !strchr(word, '/') ? "command not found"
							      : strerror(fault));
	return fault == ENOENT || fault == ENOTDIR ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

int record_check(const struct options *options, struct err *err)
{
	int status = check_threads(options, err);

	return status == 0 ? check_program(options->args[0], err) : status;
}
