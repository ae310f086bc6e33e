/*
 * host-file: see host-file.h.
 */
#include "base/process/host-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vec.h"

#define STEP_BYTES 4096

ssize_t host_file_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	size_t len = 0;
	ssize_t got, failed = 0;

	text[0] = '\0';
	if (fd < 0) {
		return -errno;
	}
	do {
		got = read(fd, text + len, size - 1 - len);
		len += got > 0 ? (size_t)got : 0;
	} while (got > 0 && len < size - 1);
	failed = got < 0 ? -errno : 0;
	(void)close(fd);
	text[len] = '\0';
	return failed < 0 ? failed : (ssize_t)len;
}

ssize_t host_file_text(const char *path, size_t most, char **ret)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	VEC(char) text = { 0 };
	ssize_t got, failed = 0;

	if (fd < 0) {
		return -errno;
	}
	do {
		size_t room = most - text.count < STEP_BYTES ? most - text.count : STEP_BYTES;

		vec_reserve_more(&text, room + 1);
		got = read(fd, text.at + text.count, room);
		text.count += got > 0 ? (size_t)got : 0;
	} while (got > 0 && text.count < most);
	failed = got < 0 ? -errno : 0;
	(void)close(fd);
	if (failed < 0) {
		vec_fini(&text);
		return failed;
	}
	text.at[text.count] = '\0';
	*ret = text.at;
	return (ssize_t)text.count;
}
