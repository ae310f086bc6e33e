/*
 * whole: see whole.h.
 */
#include "output/whole.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/process/foreign.h"

int whole_open(const char *path)
{
	struct stat old;
	bool is_there = lstat(path, &old) == 0;
	char *copy;
	int fd;

	if (is_there ? !S_ISREG(old.st_mode) || access(path, W_OK) < 0 : errno != ENOENT) {
		return -1;
	}
	copy = mem_strdup(path);
	fd = open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
	free(copy);
	if (fd >= 0 && is_there) {
		(void)fchmod(fd, old.st_mode & 07777);
	}
	return fd;
}

FILE *whole_file(const char *path, int *ret_fd, struct err *err)
{
	FILE *file = NULL;
	int fd = whole_open(path);

	*ret_fd = fd;
	if (fd < 0) { /* a cut one is refused by who reads it */
		return foreign_writer(path, &file, err) < 0 ? NULL : file;
	}
	file = fdopen(fd, "wb");
	assert(file);
	return file;
}

/* What was there before may be a device, which stays. */
static void remove_regular(const char *path)
{
	struct stat status;

	if (lstat(path, &status) == 0 && S_ISREG(status.st_mode)) {
		(void)unlink(path);
	}
}

int whole_close(FILE *file, int fd, const char *path, int r, struct err *err)
{
	if (r == 0 && fflush(file) != 0) {
		r = err_raise(err, -errno, "%s: %s", path, strerror(errno));
	}
	if (r == 0 && fd >= 0 && (r = whole_name(fd, path)) < 0) {
		(void)err_raise(err, r, "%s: %s", path, strerror(-r));
	}
	if (fclose(file) != 0 && r == 0) {
		r = err_raise(err, -errno, "%s: %s", path, strerror(errno));
	}
	if (r < 0 && fd < 0) {
		remove_regular(path);
	}
	return r;
}

int whole_name(int fd, const char *path)
{
	char *from = mem_printf("/proc/self/fd/%d", fd);
	int r = linkat(AT_FDCWD, from, AT_FDCWD, path, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;

	assert(fd >= 0);
	if (r == -EEXIST) { /* a link replaces nothing, a rename does */
		char *beside = mem_printf("%s.%ld", path, (long)getpid());

		r = linkat(AT_FDCWD, from, AT_FDCWD, beside, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
		if (r == 0 && rename(beside, path) < 0) {
			r = -errno;
			(void)unlink(beside);
		}
		free(beside);
	}
	free(from);
	return r;
}
