/*
 * pack-write: see pack.h.
 */
#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "base/process/foreign.h"
#include "pack/pack.h"

/* Of all files: 2000-01-01, UTC. */
#define WRITTEN_AT 946684800

struct writing {
	struct archive *archive;
	struct archive_entry *entry;
	struct err *err;
};

static int fail_writing(struct writing *writing, const char *path)
{
	return err_raise(writing->err, -EIO, "%s: %s", path,
			 archive_error_string(writing->archive) ?: "it cannot be packed");
}

static int pack_header(struct writing *writing, const char *name, const struct stat *status)
{
	struct archive_entry *entry = writing->entry;
	bool is_dir = S_ISDIR(status->st_mode);

	(void)archive_entry_clear(entry);
	archive_entry_set_pathname(entry, name);
	archive_entry_set_filetype(entry, is_dir ? AE_IFDIR : AE_IFREG);
	archive_entry_set_perm(entry, is_dir ? 0755 : 0644);
	archive_entry_set_size(entry, is_dir ? 0 : status->st_size);
	archive_entry_set_mtime(entry, WRITTEN_AT, 0);
	return archive_write_header(writing->archive, entry) == ARCHIVE_OK
		       ? 0
		       : fail_writing(writing, name);
}

static int pack_bytes(struct writing *writing, int fd, const char *path)
{
	char block[65536];
	ssize_t got = 0;
	int r = 0;

	while (r == 0 && (got = read(fd, block, sizeof(block))) > 0) {
		if (now_is_leaving()) {
			r = err_raise(writing->err, -EINTR, "interrupted");
		} else if (archive_write_data(writing->archive, block, (size_t)got) != got) {
			r = fail_writing(writing, path);
		}
	}
	return got < 0 ? err_raise(writing->err, -errno, "%s: %s", path, strerror(errno)) : r;
}

static int pack_file(struct writing *writing, const char *path, const char *name)
{
	int fd = foreign_open(path, 0, writing->err), r;
	struct stat status;

	if (fd < 0) {
		return fd;
	}
	if (fstat(fd, &status) < 0) {
		r = err_raise(writing->err, -errno, "%s: %s", path, strerror(errno));
	} else {
		r = pack_header(writing, name, &status);
		r = r < 0 ? r : pack_bytes(writing, fd, path);
	}
	(void)close(fd);
	return r;
}

static int is_entry(const struct dirent *entry)
{
	return strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

void pack_date(const char *dir)
{
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = WRITTEN_AT } };
	struct dirent **entries;
	struct stat status;
	int count = scandir(dir, &entries, is_entry, by_name);

	for (int i = 0; i < count; i++) {
		char *path = mem_printf("%s/%s", dir, entries[i]->d_name);

		if (lstat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
			pack_date(path);
		} else {
			(void)utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
		}
		free(path);
		free(entries[i]);
	}
	if (count >= 0) {
		free(entries);
	}
}

static int put_dir(struct writing *writing, const char *dir, const char *name, unsigned int depth)
{
	struct dirent **entries;
	struct stat status;
	int count, r;

	if (depth > TRACE_DEPTH_MAX || lstat(dir, &status) < 0 ||
	    (count = scandir(dir, &entries, is_entry, by_name)) < 0) {
		return err_raise(writing->err, -EIO, "%s: %s", dir, strerror(errno));
	}
	r = pack_header(writing, name, &status);
	for (int i = 0; i < count; i++) {
		char *path = mem_printf("%s/%s", dir, entries[i]->d_name);
		char *own = mem_printf("%s/%s", name, entries[i]->d_name);

		if (r == 0 && lstat(path, &status) == 0) {
			r = S_ISDIR(status.st_mode) ? put_dir(writing, path, own, depth + 1)
						    : pack_file(writing, path, own);
		}
		free(path);
		free(own);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int pack_write(const char *dir, const char *name, FILE *out, struct err *err)
{
	struct writing writing = { .archive = archive_write_new(),
				   .entry = archive_entry_new(),
				   .err = err };
	int r = 0;

	if (archive_write_add_filter_zstd(writing.archive) != ARCHIVE_OK ||
	    archive_write_set_format_pax_restricted(writing.archive) != ARCHIVE_OK ||
	    /* Others take nothing behind the compressed bytes. */
	    archive_write_set_bytes_in_last_block(writing.archive, 1) != ARCHIVE_OK ||
	    archive_write_open_FILE(writing.archive, out) != ARCHIVE_OK) {
		r = fail_writing(&writing, name);
	}
	r = r < 0 ? r : put_dir(&writing, dir, name, 0);
	if (archive_write_close(writing.archive) != ARCHIVE_OK && r == 0) {
		r = fail_writing(&writing, name);
	}
	archive_entry_free(writing.entry);
	(void)archive_write_free(writing.archive);
	return r;
}
