/*
 * machine: see machine.h.
 */
#include "base/process/machine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/foreign.h"

#define LINE_MAX_BYTES 4096

/* UINT64_MAX: there is no such file, or no limit in it ("max"). */
static uint64_t limit_in(const char *path)
{
	char line[32] = "", *end = line;
	uint64_t limit = 0;
	struct err err;
	FILE *file;

	if (foreign_file(path, &file, &err) < 0) {
		return UINT64_MAX;
	}
	if (fgets(line, sizeof(line), file)) {
		errno = 0;
		limit = strtoull(line, &end, 10);
	}
	(void)fclose(file);
	return end == line || errno != 0 ? UINT64_MAX : limit;
}

/* The least limit of a group and of those around it.  A container may see its own group as the
 * root, whatever the path says. */
static uint64_t limit_of_group(const char *mount, const char *group, const char *name)
{
	char *path = mem_strdup(group), *slash = path, *file;
	uint64_t least = UINT64_MAX, limit;

	while (slash) {
		file = mem_printf("%s%s/%s", mount, path, name);
		limit = limit_in(file);
		least = limit < least ? limit : least;
		free(file);
		slash = strrchr(path, '/');
		if (slash) {
			*slash = '\0';
		}
	}
	free(path);
	return least;
}

/* Of a line of /proc/self/cgroup. */
static uint64_t limit_of_line(const char *root, char *line)
{
	char *controllers = strchr(line, ':'), *group, *mount;
	uint64_t limit = UINT64_MAX;

	group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group) {
		return UINT64_MAX;
	}
	*group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	if (controllers[1] == '\0') {
		mount = mem_printf("%s/sys/fs/cgroup", root);
		limit = limit_of_group(mount, group, "memory.max");
		free(mount);
	} else if (strcmp(controllers + 1, "memory") == 0) {
		mount = mem_printf("%s/sys/fs/cgroup/memory", root);
		limit = limit_of_group(mount, group, "memory.limit_in_bytes");
		free(mount);
	}
	return limit;
}

uint64_t machine_memory(const char *root)
{
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t least = pages * page, limit;
	char *path = mem_printf("%s/proc/self/cgroup", root), line[LINE_MAX_BYTES];
	struct err err;
	FILE *file;

	if (foreign_file(path, &file, &err) == 0) {
		while (fgets(line, sizeof(line), file)) {
			limit = limit_of_line(root, line);
			least = limit < least ? limit : least;
		}
		(void)fclose(file);
	}
	free(path);
	return least;
}
