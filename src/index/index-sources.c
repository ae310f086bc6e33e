/*
 * index-sources: the files of a trace; see index.h.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/limits.h"
#include "base/process/foreign.h"
#include "index/index.h"

static int has_no_dot(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* The hash of its first and its last bytes; what cannot be read is 0. */
static uint64_t hash_ends(int fd, uint64_t size)
{
	uint64_t len = size < INDEX_LOOK_BYTES ? size : INDEX_LOOK_BYTES, hash = 0;
	uint8_t bytes[INDEX_LOOK_BYTES];

	for (unsigned int i = 0; i < 2; i++) {
		if (pread(fd, bytes, len, (off_t)(i == 0 ? 0 : size - len)) != (ssize_t)len) {
			return 0;
		}
		hash = hash_bytes(hash, bytes, len);
	}
	return hash;
}

static int add_source(const char *dir, size_t number, const char *name, index_source_vec *ret,
		      struct err *err)
{
	char *path = mem_printf("%s/%s", dir, name);
	int fd = foreign_open(path, 0, err);
	struct stat status;

	free(path);
	if (fd < 0) {
		return fd == -EINVAL ? 0 : fd; /* it is no stream either */
	}
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
		*vec_push(ret) = (struct index_source){
			.name = mem_printf("%zu/%s", number, name),
			.bytes = (uint64_t)status.st_size,
			.mtime_ns = (uint64_t)status.st_mtim.tv_sec * NS_PER_S +
				    (uint64_t)status.st_mtim.tv_nsec,
			.hash = hash_ends(fd, (uint64_t)status.st_size),
		};
	}
	(void)close(fd);
	return 0;
}

int index_sources(const struct recorded_path *path, index_source_vec *ret, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < path->dirs.count && r == 0; i++) {
		const char *dir = path->dirs.at[i];
		struct dirent **entries;
		int count = scandir(dir, &entries, has_no_dot, alphasort);

		if (count < 0) {
			return err_raise(err, -errno, "%s: %s", dir, strerror(errno));
		}
		for (int k = 0; k < count; k++) {
			r = r < 0 ? r : add_source(dir, i, entries[k]->d_name, ret, err);
			free(entries[k]);
		}
		free(entries);
	}
	return r;
}
