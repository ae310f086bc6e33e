/*
 * pack-read: see pack.h.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/foreign.h"
#include "base/units.h"
#include "pack/pack.h"

/* Blocks of a file that are zeros are left out. */
#define BLOCK_BYTES 4096
/* Of a path in an archive. */
#define PATH_BYTES_MAX 4096
#define READ_BYTES     65536

struct unpacking {
	const char *path; /* of the archive */
	struct archive *archive;
	int fd, dir; /* of the archive, and of where it goes */
	uint8_t *block;
	uint64_t files, bytes; /* of the files: what they claim */
	uint64_t room;         /* bytes that may still be written */
	struct err *err;
};

static int refuse_archive(struct unpacking *reading, const char *what)
{
	return err_raise(reading->err, -EINVAL, "%s: this archive is not unpacked: %s",
			 reading->path, what);
}

static int fail_reading(struct unpacking *reading)
{
	int r = err_raise(reading->err, -EINVAL, "%s: no archive (tar, or tar and zstd): %s",
			  reading->path,
			  archive_error_string(reading->archive) ?: "it cannot be read");

	return now_is_leaving() ? err_raise(reading->err, -EINTR, "interrupted") : r;
}

/* The place is full, for instance. */
static int fail_to_write(struct unpacking *reading)
{
	return err_raise(reading->err, -errno,
			 "%s: cannot be unpacked: %s; TMPDIR may be another place", reading->path,
			 strerror(errno));
}

/* ---- paths ---- */

/* The path without what says nothing, "./" and "/" at its end; NULL: it is none within a directory.
 * The caller frees it. */
static char *harmless_path(const char *path)
{
	char *copy, *rest, *part, *plain, *longer;
	unsigned int depth = 0;
	bool is_bad;

	if (!path || path[0] == '/' || strlen(path) > PATH_BYTES_MAX) {
		return NULL;
	}
	rest = copy = mem_strdup(path);
	plain = mem_strdup("");
	is_bad = false;
	while ((part = strsep(&rest, "/"))) {
		if (part[0] && strcmp(part, ".") != 0) {
			is_bad |= strcmp(part, "..") == 0 || strlen(part) > NAME_MAX ||
				  ++depth > TRACE_DEPTH_MAX;
			longer = mem_printf("%s%s%s", plain, plain[0] ? "/" : "", part);
			free(plain);
			plain = longer;
		}
	}
	free(copy);
	if (is_bad) {
		free(plain);
		return NULL;
	}
	return plain;
}

/* Makes the directories that the file's path has; each part is one, since nothing here is a link.
 */
static int make_dirs(struct unpacking *reading, char *path, bool is_dir)
{
	for (char *at = path, *end; at; at = end ? end + 1 : NULL) {
		end = strchr(at, '/');
		if (!end && !is_dir) {
			return 0;
		}
		if (end) {
			*end = '\0';
		}
		if (mkdirat(reading->dir, path, 0700) < 0 && errno != EEXIST) {
			return fail_to_write(reading);
		}
		if (end) {
			*end = '/';
		}
	}
	return 0;
}

/* ---- files ---- */

static bool has_zeros_only(const uint8_t *bytes, size_t len)
{
	return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

static int unpack_block(struct unpacking *reading, int fd, const uint8_t *bytes, size_t len,
			uint64_t offset)
{
	while (len > 0) {
		size_t piece = BLOCK_BYTES - offset % BLOCK_BYTES;

		piece = piece < len ? piece : len;
		if (!has_zeros_only(bytes, piece)) {
			if (reading->room < piece) {
				return refuse_archive(reading,
						      "it takes more than half of what is free "
						      "there; TMPDIR may be another place");
			}
			reading->room -= piece;
			errno = EIO; /* of a write that is short */
			if (pwrite(fd, bytes, piece, (off_t)offset) != (ssize_t)piece) {
				return fail_to_write(reading);
			}
		}
		bytes += piece;
		offset += piece;
		len -= piece;
	}
	return 0;
}

static int unpack_bytes(struct unpacking *reading, int fd, uint64_t size)
{
	const void *bytes;
	size_t len;
	la_int64_t offset;
	int got, r = 0;

	while (r == 0 && (got = archive_read_data_block(reading->archive, &bytes, &len, &offset)) !=
				 ARCHIVE_EOF) {
		if (got != ARCHIVE_OK || now_is_leaving()) {
			r = fail_reading(reading);
		} else if (offset < 0 || (uint64_t)offset > size || len > size - (uint64_t)offset) {
			r = refuse_archive(reading, "a file is longer than it says");
		} else {
			r = unpack_block(reading, fd, bytes, len, (uint64_t)offset);
		}
	}
	if (r == 0 && ftruncate(fd, (off_t)size) < 0) {
		r = fail_to_write(reading);
	}
	return r;
}

static int unpack_file(struct unpacking *reading, const char *path, struct archive_entry *entry)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT },
					   { .tv_sec = archive_entry_mtime(entry) } };
	la_int64_t size = archive_entry_size(entry);
	int fd, r;

	if (!archive_entry_size_is_set(entry) || size < 0 || (uint64_t)size > PACK_BYTES_MAX ||
	    reading->bytes + (uint64_t)size > PACK_BYTES_MAX) {
		return refuse_archive(reading, "its files have more than 64 GiB");
	}
	reading->bytes += (uint64_t)size;
	fd = openat(reading->dir, path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0) {
		return errno == EEXIST ? refuse_archive(reading, "a file is in it twice")
				       : fail_to_write(reading);
	}
	r = unpack_bytes(reading, fd, (uint64_t)size);
	(void)futimens(fd, times); /* an index in it was made for files of that time */
	if (close(fd) < 0 && r == 0) {
		r = fail_to_write(reading);
	}
	return r;
}

static int unpack_entry(struct unpacking *reading, struct archive_entry *entry)
{
	unsigned int type = archive_entry_filetype(entry);
	char *path = harmless_path(archive_entry_pathname(entry));
	int r;

	if (!path) {
		r = refuse_archive(reading, "a path in it leads elsewhere, or is too long");
	} else if (archive_entry_hardlink(entry) || archive_entry_symlink(entry) ||
		   (type != AE_IFREG && type != AE_IFDIR)) {
		r = refuse_archive(reading, "it has a link, a device or a pipe");
	} else if (++reading->files > PACK_FILES_MAX) {
		r = refuse_archive(reading, "it has too many files");
	} else {
		r = path[0] ? make_dirs(reading, path, type == AE_IFDIR) : 0;
		if (r == 0 && type == AE_IFREG) {
			r = path[0] ? unpack_file(reading, path, entry)
				    : refuse_archive(reading, "a file has no name");
		}
	}
	free(path);
	return r;
}

/* ---- kinds ---- */

enum archive_kind { NO_ARCHIVE, A_TAR, A_ZSTD };

static enum archive_kind kind_of(int fd)
{
	static const uint8_t zstd[] = { 0x28, 0xB5, 0x2F, 0xFD };
	uint8_t head[262];
	ssize_t got = pread(fd, head, sizeof(head), 0);

	if (got >= (ssize_t)sizeof(zstd) && memcmp(head, zstd, sizeof(zstd)) == 0) {
		return A_ZSTD;
	}
	return got == (ssize_t)sizeof(head) && memcmp(head + 257, "ustar", 5) == 0 ? A_TAR
										   : NO_ARCHIVE;
}

bool pack_is(const char *path)
{
	struct err err;
	int fd = foreign_open(path, 0, &err);
	bool is = fd >= 0 && kind_of(fd) != NO_ARCHIVE;

	if (fd >= 0) {
		(void)close(fd);
	}
	return is;
}

/* ---- archives ---- */

static int unpack_all(struct unpacking *reading)
{
	struct archive_entry *entry;
	int got, r = 0;

	while (r == 0 &&
	       (got = archive_read_next_header(reading->archive, &entry)) != ARCHIVE_EOF) {
		r = (got != ARCHIVE_OK && got != ARCHIVE_WARN) || now_is_leaving()
			    ? fail_reading(reading)
			    : unpack_entry(reading, entry);
	}
	return r;
}

static int open_place(struct unpacking *reading, const char *dir)
{
	struct statvfs place;

	reading->dir = open(dir, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	if (reading->dir < 0 || fstatvfs(reading->dir, &place) < 0) {
		return fail_to_write(reading);
	}
	reading->room = (uint64_t)place.f_bavail * place.f_frsize / PACK_FREE_PART;
	return 0;
}

/* The library may read for long before it has a byte to tell of, so a signal is heard here. */
static la_ssize_t read_block(struct archive *archive, void *user, const void **ret)
{
	struct unpacking *reading = user;
	ssize_t got = -1;

	*ret = reading->block;
	errno = EINTR;
	while (got < 0 && errno == EINTR && !now_is_leaving()) {
		got = read(reading->fd, reading->block, READ_BYTES);
	}
	if (got < 0) {
		archive_set_error(archive, errno, "%s", strerror(errno));
	}
	return got;
}

/* One filter at most: a library that looks for what it needs unpacks what is packed in itself any
 * number of times. */
static int open_archive(struct unpacking *reading)
{
	int filter = kind_of(reading->fd) == A_ZSTD ? ARCHIVE_FILTER_ZSTD : ARCHIVE_FILTER_NONE;

	reading->block = mem_alloc(READ_BYTES);
	return archive_read_append_filter(reading->archive, filter) == ARCHIVE_OK &&
			       archive_read_support_format_tar(reading->archive) == ARCHIVE_OK &&
			       archive_read_open(reading->archive, reading, NULL, read_block,
						 NULL) == ARCHIVE_OK
		       ? 0
		       : fail_reading(reading);
}

int pack_read(const char *path, const char *dir, struct err *err)
{
	struct unpacking reading = {
		.path = path, .archive = archive_read_new(), .dir = -1, .err = err
	};
	int r = reading.fd = foreign_open(path, 0, err);

	r = r < 0 ? r : open_place(&reading, dir);
	r = r < 0 ? r : open_archive(&reading);
	r = r < 0 ? r : unpack_all(&reading);
	(void)archive_read_free(reading.archive);
	free(reading.block);
	if (reading.dir >= 0) {
		(void)close(reading.dir);
	}
	if (reading.fd >= 0) {
		(void)close(reading.fd);
	}
	return r;
}
