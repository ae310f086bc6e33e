/*
 * capture-prune: see capture-prune.h.
 */
#include "capture/capture-prune.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/foreign.h"
#include "base/process/remove.h"

#define OPEN_DIRS 16 /* descriptors that nftw() may use */

void capture_sweep(const char *dir)
{
	DIR *all = opendir(dir);
	const struct dirent *entry;
	char *path;
	long pid;

	while (all && (entry = readdir(all))) {
		if (strncmp(entry->d_name, CAPTURE_UNFINISHED, strlen(CAPTURE_UNFINISHED)) != 0) {
			continue;
		}
		pid = strtol(entry->d_name + strlen(CAPTURE_UNFINISHED), NULL, 10);
		if (pid > 0 && pid != (long)getpid() && kill((pid_t)pid, 0) < 0 && errno == ESRCH) {
			path = mem_printf("%s/%s", dir, entry->d_name);
			remove_tree(path);
			free(path);
		}
	}
	if (all) {
		(void)closedir(all);
	}
}

struct old {
	char *path;
	struct timespec at;
	uint64_t bytes;
};

/* nftw() passes no argument on to add_bytes(). */
static __thread uint64_t tree_bytes;

static int add_bytes(const char *path, const struct stat *found, int type, struct FTW *level)
{
	uint64_t on_disk = (uint64_t)found->st_blocks * 512; /* less, if it has holes */

	tree_bytes += on_disk < (uint64_t)found->st_size ? on_disk : (uint64_t)found->st_size;
	return 0;
}

ORDER(newest_first, struct old, DOWN(at.tv_sec) DOWN(at.tv_nsec))

static bool is_ours(const char *description)
{
	static const char begins[] = "{\"sillage\":";
	char found[sizeof(begins)] = "";
	struct err ignored;
	int fd = foreign_open(description, O_NOFOLLOW, &ignored);
	ssize_t got = fd < 0 ? -1 : read(fd, found, strlen(begins));

	(void)(fd >= 0 && close(fd));
	return got == (ssize_t)strlen(begins) && strcmp(found, begins) == 0;
}

void capture_prune(const char *dir, uint64_t count, uint64_t bytes)
{
	VEC(struct old) found = { 0 };
	DIR *all = opendir(dir);
	const struct dirent *entry;
	uint64_t total = 0;
	struct stat seen;

	while (all && (entry = readdir(all))) {
		char *description = mem_printf("%s/%s/%s", dir, entry->d_name, CAPTURE_DESCRIPTION);

		if (entry->d_name[0] != '.' && lstat(description, &seen) == 0 &&
		    is_ours(description)) {
			struct old old = { .path = mem_printf("%s/%s", dir, entry->d_name),
					   .at = seen.st_mtim };

			tree_bytes = 0;
			(void)nftw(old.path, add_bytes, OPEN_DIRS, FTW_PHYS);
			old.bytes = tree_bytes;
			*vec_push(&found) = old;
		}
		free(description);
	}
	if (all) {
		(void)closedir(all);
	}
	vec_sort(&found, newest_first);
	for (size_t i = 0; i < found.count; i++) {
		total += found.at[i].bytes;
		if (i > 0 && (i >= count || total > bytes)) {
			remove_tree(found.at[i].path);
		}
		free(found.at[i].path);
	}
	vec_fini(&found);
}
