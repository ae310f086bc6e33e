/*
 * host-file: see host-file.h.
 */
#include "base/process/host-file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

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
