/*
 * foreign: see foreign.h.
 */
#include "base/process/foreign.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/vec.h"

#define FOREIGN_PIECE 4096

static int open_any(const char *path, int flags, struct stat *ret_found, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);

	if (fd < 0 || fstat(fd, ret_found) < 0) {
		int r = err_raise(err, -errno, "%s: %s", path, strerror(errno));

		(void)(fd >= 0 && close(fd));
		return r;
	}
	return fd;
}

static bool never_waits(const struct stat *found)
{
	return S_ISREG(found->st_mode) || S_ISDIR(found->st_mode);
}

int foreign_open(const char *path, int flags, struct err *err)
{
	struct stat found;
	int fd = open_any(path, flags, &found, err);

	if (fd >= 0 && !never_waits(&found)) {
		(void)close(fd);
		return err_raise(err, -EINVAL, "%s: is a pipe or a device, and no file", path);
	}
	return fd;
}

char *foreign_text(const char *path, size_t most, size_t *ret_len)
{
	VEC(char) text = { 0 };
	struct err ignored;
	int fd = foreign_open(path, 0, &ignored);
	ssize_t got = fd >= 0 ? 1 : -1;

	while (got > 0 && text.count <= most && !now_must_end()) {
		vec_reserve(&text, text.count + FOREIGN_PIECE + 1);
		got = read(fd, text.at + text.count, FOREIGN_PIECE);
		text.count += got > 0 ? (size_t)got : 0;
	}
	(void)(fd >= 0 && close(fd));
	if (got != 0 || text.count > most) {
		vec_fini(&text);
		return NULL;
	}
	*ret_len = text.count;
	*vec_push(&text) = '\0';
	return text.at;
}

/* ---- streams ---- */

static int fd_of(const void *cookie)
{
	return (int)(intptr_t)cookie;
}

/* Whether there is something to read, or the end; false: the run ends. */
static bool has_input(int fd)
{
	struct pollfd input = { .fd = fd, .events = POLLIN };

	while (poll(&input, 1, now_is_leaving() ? 0 : WAIT_POLL_MS) <= 0) {
		if (now_is_leaving()) {
			return false;
		}
	}
	return !now_must_leave();
}

static ssize_t read_some(void *cookie, char *to, size_t len)
{
	ssize_t got;

	do {
		if (!has_input(fd_of(cookie))) {
			errno = EINTR;
			return -1;
		}
		got = read(fd_of(cookie), to, len);
	} while (got < 0 && (errno == EINTR || errno == EAGAIN));
	return got;
}

bool foreign_waits(int fd)
{
	struct stat found;

	return fstat(fd, &found) < 0 || !S_ISREG(found.st_mode);
}

/* After a signal a reader was waited for in vain: what else is written does not wait again. */
static atomic_bool was_in_vain;

int foreign_write(int fd, bool waits, const char *bytes, size_t len, bool *ret_has_written)
{
	uint64_t heard = now_monotonic_ns();
	size_t done = 0;

	while (done < len) {
		struct pollfd output = { .fd = fd, .events = POLLOUT };
		/* What poll() lets through fits then. */
		size_t some = waits && len - done > PIPE_BUF ? PIPE_BUF : len - done;
		ssize_t put;

		if (waits && poll(&output, 1, was_in_vain ? 0 : WAIT_POLL_MS) <= 0) {
			was_in_vain |= now_must_hang_up(heard);
			if (was_in_vain) {
				return EINTR;
			}
			continue;
		}
		put = write(fd, bytes + done, some);
		if (put < 0 && errno != EINTR && errno != EAGAIN) {
			return errno;
		}
		assert(put <= (ssize_t)some);
		done += put > 0 ? (size_t)put : 0;
		*ret_has_written |= put > 0;
		heard = waits && put > 0 && now_is_leaving() ? now_monotonic_ns() : heard;
	}
	return 0;
}

static ssize_t write_some(void *cookie, const char *bytes, size_t len)
{
	bool has_written = false;
	int failure = foreign_write(fd_of(cookie), true, bytes, len, &has_written);

	errno = failure ? failure : errno;
	return failure ? 0 : (ssize_t)len;
}

static int close_it(void *cookie)
{
	return fd_of(cookie) <= STDOUT_FILENO ? 0 : close(fd_of(cookie));
}

/* Takes the descriptor. */
static int make_stream(int fd, const char *mode, bool waits, const char *name, FILE **ret,
		       struct err *err)
{
	const cookie_io_functions_t functions = { .read = read_some,
						  .write = write_some,
						  .close = close_it };
	void *cookie = (void *)(intptr_t)fd;

	assert(fd >= 0);
	*ret = waits ? fopencookie(cookie, mode, functions) : fdopen(fd, mode);
	if (!*ret) {
		(void)close_it(cookie);
		return err_raise(err, -ENOMEM, "%s: out of memory", name);
	}
	return 0;
}

int foreign_file(const char *path, FILE **ret, struct err *err)
{
	int fd = foreign_open(path, 0, err);

	return fd < 0 ? fd : make_stream(fd, "r", false, path, ret, err);
}

int foreign_stream(const char *path, FILE **ret, struct err *err)
{
	struct stat found;
	int fd = open_any(path, 0, &found, err);

	return fd < 0 ? fd : make_stream(fd, "r", !never_waits(&found), path, ret, err);
}

int foreign_stdin(FILE **ret, struct err *err)
{
	return make_stream(STDIN_FILENO, "r", true, "standard input", ret, err);
}

/* ---- output ---- */

int foreign_create(const char *path, int flags)
{
	const int mode = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | flags;
	int fd;

	while ((fd = open(path, mode | O_NONBLOCK, 0666)) < 0 && errno == ENXIO) {
		struct stat found;

		if (stat(path, &found) < 0 || !S_ISFIFO(found.st_mode)) {
			return -ENXIO;
		}
		if (now_is_leaving()) {
			return -EINTR;
		}
		(void)poll(NULL, 0, WAIT_POLL_MS); /* nobody reads it yet */
	}
	if (fd < 0) {
		return -errno;
	}
	(void)fcntl(fd, F_SETFL, flags & O_APPEND);
	return fd;
}

int foreign_writer(const char *path, FILE **ret, struct err *err)
{
	int fd = path ? foreign_create(path, O_TRUNC) : STDOUT_FILENO;

	return fd < 0 ? err_raise(err, fd, "%s: %s", path, strerror(-fd))
		      : make_stream(fd, "w", !path || foreign_waits(fd),
				    path ? path : "standard output", ret, err);
}
