/*
 * recorded-pack: see recorded.h; archives of traces (pack/pack.h), which are unpacked.
 *
 *     FILE ── pack_read ──► $TMPDIR/sillage-XXXXXX/pack-0/NAME/kernel   "FILE/NAME/kernel"
 *
 * A run unpacks each of them once, and what removes the directory is base/process/scratch.h.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/process/remove.h"
#include "pack/pack.h"
#include "recorded/recorded-parts.h"

/* An archive that was read. */
struct unpacked {
	char *path, *dir;
	int r;
	struct err err; /* why r is negative */
};

static VEC(struct unpacked) all_unpacked;

static void unpacked_fini(struct unpacked *unpacked)
{
	free(unpacked->path);
	free(unpacked->dir);
}

static void forget_packs(void)
{
	vec_fini_each(&all_unpacked, unpacked_fini);
}

static int unpack_archive(struct unpacked *unpacked)
{
	const char *scratch = recorded_scratch(&unpacked->err);
	int r;

	if (!scratch) {
		return -EIO;
	}
	unpacked->dir = mem_printf("%s/pack-%zu", scratch, all_unpacked.count);
	r = mkdir(unpacked->dir, 0700) < 0
		    ? err_raise(&unpacked->err, -errno, "%s: %s", unpacked->dir, strerror(errno))
		    : pack_read(unpacked->path, unpacked->dir, &unpacked->err);
	if (r < 0) {
		remove_tree(unpacked->dir);
	}
	return r;
}

static const struct unpacked *unpacked_of(const char *path)
{
	struct unpacked *new;

	VEC_EACH(&all_unpacked, unpacked) {
		if (strcmp(unpacked->path, path) == 0) {
			return unpacked;
		}
	}
	if (all_unpacked.count == 0) {
		(void)atexit(forget_packs);
	}
	new = vec_push(&all_unpacked);
	*new = (struct unpacked){ .path = mem_strdup(path) };
	new->r = unpack_archive(new);
	assert(new == &all_unpacked.at[all_unpacked.count - 1]); /* it has not moved */
	return new;
}

/* "FILE/NAME/kernel" -> the archive FILE, and "/NAME/kernel" at *ret_rest; NULL: no part of it is
 * one. */
static const struct unpacked *archive_of(const char *path, const char **ret_rest)
{
	const struct unpacked *unpacked = NULL;
	struct stat status;

	for (const char *end = path + strlen(path); end > path && !unpacked; end--) {
		char *file =
			*end == '/' || !*end ? mem_printf("%.*s", (int)(end - path), path) : NULL;
		bool is_there = file && stat(file, &status) == 0;

		if (is_there && S_ISREG(status.st_mode) && pack_is(file)) {
			unpacked = unpacked_of(file);
			*ret_rest = end;
		}
		free(file);
		if (is_there) {
			break;
		}
	}
	return unpacked;
}

int recorded_find_pack(const char *path, struct recorded_paths *paths, struct err *err)
{
	const char *rest = NULL;
	const struct unpacked *unpacked = archive_of(path, &rest);
	size_t first = paths->at.count;
	char *dir;
	int r;

	if (!unpacked) {
		return -ENOENT;
	}
	if (unpacked->r < 0) {
		*err = unpacked->err;
		return unpacked->r;
	}
	dir = mem_printf("%s%s", unpacked->dir, rest);
	r = recorded_find_in(dir, paths, err);
	for (size_t i = first; i < paths->at.count; i++) {
		char *name = paths->at.at[i].name;

		assert(strncmp(name, unpacked->dir, strlen(unpacked->dir)) == 0);
		paths->at.at[i].name =
			mem_printf("%s%s", unpacked->path, name + strlen(unpacked->dir));
		free(name);
	}
	free(dir);
	return r == -ENOENT || r == -ENODATA
		       ? err_raise(err, -ENODATA, "%s: no trace is in this archive", path)
	       : r < 0 ? err_note(err, r, "%s", path)
		       : 0;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

char *recorded_place(const char *path)
{
	const char *rest = NULL;
	const struct unpacked *unpacked = archive_of(path, &rest);
	struct dirent **entries;
	char *place;
	int count;

	if (!unpacked || unpacked->r < 0 || *rest) {
		return mem_strdup(path);
	}
	count = scandir(unpacked->dir, &entries, visible, alphasort);
	place = count == 1 ? mem_printf("%s/%s", unpacked->dir, entries[0]->d_name)
			   : mem_strdup(unpacked->dir);
	for (int i = 0; i < count; i++) {
		free(entries[i]);
	}
	if (count >= 0) {
		free(entries);
	}
	return place;
}
