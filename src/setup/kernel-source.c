/*
 * kernel-source: see kernel-source.h.
 */
#include "setup/kernel-source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/foreign.h"
#include "base/process/line.h"

const char *const kernel_source_words[] = { "auto", "lttng", "ftrace", NULL };

#define MODULE "lttng_tracer" /* a file has '-' in it */

static bool has_file(const char *root, const char *path, int mode)
{
	char *full = mem_printf("%s%s", root, path);
	bool is = access(full, mode) == 0;

	free(full);
	return is;
}

/* Whether the modules of the running kernel have it: the session daemon of root loads it then. */
static bool may_be_loaded(const char *root)
{
	struct utsname host = { 0 };
	struct err ignored;
	char *path, line[4096];
	FILE *file = NULL;
	bool found = false;

	(void)uname(&host);
	path = mem_printf("%s/lib/modules/%s/modules.dep", root, host.release);
	(void)foreign_file(path, &file, &ignored);
	while (file && !found && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');

		if (colon) {
			*colon = '\0';
			found = strstr(line, "/lttng-tracer.ko") != NULL;
		}
	}
	(void)(file && fclose(file));
	free(path);
	return found;
}

bool kernel_source_may_ftrace(const char *root)
{
	static const char *const places[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		char *instances = mem_printf("%s/instances", places[i]);
		bool may = has_file(root, instances, W_OK | X_OK);

		free(instances);
		if (may) {
			return true;
		}
	}
	/* Not mounted: the folder is there in every kernel that has it. */
	return geteuid() == 0 && has_file(root, places[0], F_OK) &&
	       !has_file(root, "/sys/kernel/tracing/README", F_OK);
}

enum kernel_source kernel_source_choose(const char *asked, const char *root)
{
	if (asked && strcmp(asked, "auto") != 0) {
		return strcmp(asked, "ftrace") == 0 ? KERNEL_BY_FTRACE : KERNEL_BY_LTTNG;
	}
	if (has_file(root, "/sys/module/" MODULE, F_OK) || may_be_loaded(root)) {
		return KERNEL_BY_LTTNG;
	}
	return kernel_source_may_ftrace(root) ? KERNEL_BY_FTRACE : KERNEL_BY_LTTNG;
}
