/*
 * recorded-find: see recorded.h; which traces a path holds.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/limits.h"
#include "pack/pack.h"
#include "recorded/looks.h"
#include "recorded/recorded-parts.h"
#include "recorded/recorded.h"

/* Where LTTng moves the chunks of a rotated session: SESSION/archives/CHUNK/DOMAIN. */
#define ARCHIVES "archives/"

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static bool is_dir(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool has_metadata(const char *dir)
{
	char *path = mem_printf("%s/metadata", dir);
	struct stat status;
	bool has = stat(path, &status) == 0 && S_ISREG(status.st_mode);

	free(path);
	return has;
}

/* Collects the directories that have a metadata file, sorted. */
static int find_below(const char *dir, unsigned int depth, struct recorded_path *found,
		      struct err *err)
{
	struct dirent **entries;
	int count;

	if (has_metadata(dir)) {
		*vec_push(&found->dirs) = mem_strdup(dir);
		return 0;
	}
	if (depth == TRACE_DEPTH_MAX) {
		return 0;
	}
	count = scandir(dir, &entries, visible, alphasort);
	if (count < 0) {
		return err_raise(err, -errno, "%s: %s", dir, strerror(errno));
	}
	for (int i = 0; i < count; i++) {
		char *path = mem_printf("%s/%s", dir, entries[i]->d_name);

		if (is_dir(path)) {
			(void)find_below(path, depth + 1, found, err); /* an error skips this one */
		}
		free(path);
		free(entries[i]);
	}
	free(entries);
	return 0;
}

/* ---- rotation chunks ---- */

char *recorded_unrotated(const char *dir)
{
	const char *archives = NULL, *chunk_end = NULL;

	/* The last one: the user's own directories may have that name, too. */
	for (const char *at = dir; (at = strstr(at, ARCHIVES)); at++) {
		archives = at == dir || at[-1] == '/' ? at : archives;
	}
	if (archives) {
		chunk_end = strchr(archives + strlen(ARCHIVES), '/');
	}
	if (!chunk_end) {
		return mem_strdup(dir);
	}
	return mem_printf("%.*s%s", (int)(archives - dir), dir, chunk_end + 1);
}

static bool read_uuid(char *dir, uint8_t uuid[16])
{
	struct metadata_stream *metadata = metadata_stream_new();
	struct recorded_path path = { .name = dir, .dirs = { .at = &dir, .count = 1 } };
	const struct metadata *types;
	struct err err;
	bool has = false;

	if (recorded_read_metadata(&path, metadata, &err) == 0) {
		types = metadata_stream_types(metadata);
		memcpy(uuid, types->uuid, 16);
		has = types->has_uuid;
	}
	metadata_stream_free(metadata);
	return has;
}

/* Whether @dir is another chunk of @path: without rotation they would be the same directory, and
 * they have the same UUID. */
static bool continues(const struct recorded_path *path, char *dir)
{
	char *place = recorded_unrotated(dir), *other = recorded_unrotated(path->dirs.at[0]);
	bool same = strcmp(place, other) == 0;
	uint8_t left[16], right[16];

	free(place);
	free(other);
	return same && read_uuid(path->dirs.at[0], left) && read_uuid(dir, right) &&
	       memcmp(left, right, sizeof(left)) == 0;
}

/* Adds a directory with metadata to one of the traces from @first on, or as a new trace.  Takes
 * @dir. */
static void add_dir(struct recorded_paths *paths, size_t first, char *dir)
{
	struct recorded_path *path;

	assert(first <= paths->at.count);
	for (size_t i = first; i < paths->at.count; i++) {
		if (continues(&paths->at.at[i], dir)) {
			path = &paths->at.at[i];
			*vec_push(&path->dirs) = dir;
			free(path->name);
			path->name = recorded_unrotated(dir);
			return;
		}
	}
	path = vec_push(&paths->at);
	memset(path, 0, sizeof(*path));
	path->name = mem_strdup(dir);
	*vec_push(&path->dirs) = dir;
}

bool recorded_is_file(const char *path)
{
	return looks_dat(path) || pack_is(path);
}

static int find_file(const char *path, struct recorded_paths *paths, struct err *err)
{
	struct stat status;
	int r = recorded_find_dat(path, paths, err);

	r = r == -ENOENT ? recorded_find_pack(path, paths, err) : r;
	if (r != -ENOENT) {
		return r;
	}
	if (stat(path, &status) < 0) {
		return err_raise(err, -errno, "%s: %s", path, strerror(errno));
	}
	return looks_refuse(path, err);
}

int recorded_find(const char *path, struct recorded_paths *paths, struct err *err)
{
	return is_dir(path) ? recorded_find_in(path, paths, err) : find_file(path, paths, err);
}

int recorded_find_in(const char *path, struct recorded_paths *paths, struct err *err)
{
	struct recorded_path found = { 0 };
	size_t first = paths->at.count;
	int r = find_below(path, 0, &found, err);

	/* "archives" sorts before the domains, so a trace's chunks come oldest first. */
	for (size_t i = 0; i < found.dirs.count; i++) {
		add_dir(paths, first, found.dirs.at[i]);
	}
	if (r == 0 && found.dirs.count == 0) {
		r = err_raise(err, -ENOENT,
			      "%s: not a trace: there is no file \"metadata\" in it or below it",
			      path);
	}
	vec_fini(&found.dirs);
	return r;
}

/* ---- sessions ---- */

char *recorded_session_place(const char *name)
{
	static const char *const ends[] = { "kernel", "ust", "ust/uid/", "ust/pid/" };
	const char *found = NULL;

	for (const char *at = name; at; at = strchr(at, '/')) {
		at += *at == '/';
		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
			size_t len = strlen(ends[i]);

			if (strncmp(at, ends[i], len) == 0 &&
			    (ends[i][len - 1] == '/' || !at[len])) {
				found = at;
			}
		}
	}
	return !found          ? NULL
	       : found == name ? mem_strdup(".")
			       : mem_printf("%.*s", (int)(found - name - 1), name);
}

/* Nothing is beside a single trace, whose metadata need not be read twice then. */
static void add_session(const struct recorded_paths *all, struct beside *beside)
{
	struct err err; /* what cannot be read is not beside it */

	for (size_t i = 0; all->at.count > 1 && i < all->at.count; i++) {
		struct metadata_stream *metadata = metadata_stream_new();

		if (recorded_read_metadata(&all->at.at[i], metadata, &err) == 0) {
			beside_add(beside, metadata_stream_types(metadata));
		}
		metadata_stream_free(metadata);
	}
}

static void forget_session(struct recorded_session *session)
{
	free(session->place);
	session->place = NULL;
	beside_fini(&session->beside);
}

/* Of those that are given, which lie elsewhere. */
static void take_given(const struct recorded_path *path, struct recorded_session *session)
{
	struct recorded_paths all = { 0 };

	if (!session->has_looked) {
		recorded_join(session->given, 0, &session->ones, NULL);
		session->has_looked = true;
	}
	VEC_EACH(&session->ones, one) {
		const struct recorded_path *kernel = &session->given->at.at[one->kernel];
		bool is_it = strcmp(kernel->name, path->name) == 0;

		for (size_t i = 0; i < one->with.at.count && !is_it; i++) {
			is_it = strcmp(one->with.at.at[i].name, path->name) == 0;
		}
		if (is_it) { /* borrowed */
			*vec_push(&all.at) = *kernel;
			vec_append(&all.at, one->with.at.at, one->with.at.count);
		}
	}
	add_session(&all, &session->beside);
	vec_fini(&all.at);
}

void recorded_session_of(const struct recorded_path *path, struct recorded_session *session)
{
	static const char *const parts[] = { "kernel", "ust", "archives" };
	char *place = recorded_session_place(path->name);
	struct recorded_paths all = { 0 };
	struct err err;

	if (place && session->place && strcmp(place, session->place) == 0) {
		free(place);
		return;
	}
	forget_session(session);
	session->place = place;
	if (!place && session->given) {
		take_given(path, session);
		return;
	}
	for (size_t i = 0; place && i < sizeof(parts) / sizeof(parts[0]); i++) {
		char *dir = mem_printf("%s/%s", place, parts[i]);

		(void)recorded_find(dir, &all, &err);
		free(dir);
	}
	add_session(&all, &session->beside);
	recorded_paths_fini(&all);
}

void recorded_session_fini(struct recorded_session *session)
{
	forget_session(session);
	recorded_ones_fini(&session->ones);
}

void recorded_paths_fini(struct recorded_paths *paths)
{
	VEC_EACH(&paths->at, path) {
		vec_free_each(&path->dirs, free);
		for (size_t k = 0; k < path->lost.count; k++) {
			free(path->lost.at[k].file);
			free(path->lost.at[k].why);
		}
		vec_fini(&path->lost);
		vec_free_each(&path->notes, free);
		free(path->host);
		free(path->session);
		free(path->name);
	}
	vec_fini(&paths->at);
}

void recorded_paths_copy(struct recorded_paths *to, const struct recorded_paths *from)
{
	VEC_EACH(&from->at, path) {
		struct recorded_path *copy = vec_push(&to->at);

		*copy = (struct recorded_path){ .name = mem_strdup(path->name),
						.span = path->span,
						.from = path->from,
						.on = path->on,
						.shift_ns = path->shift_ns };
		copy->host = path->host ? mem_strdup(path->host) : NULL;
		copy->session = path->session ? mem_strdup(path->session) : NULL;
		for (size_t k = 0; k < path->dirs.count; k++) {
			*vec_push(&copy->dirs) = mem_strdup(path->dirs.at[k]);
		}
		for (size_t k = 0; k < path->lost.count; k++) {
			struct recorded_lost *lost = vec_push(&copy->lost);

			*lost = path->lost.at[k];
			lost->file = mem_strdup(lost->file);
			lost->why = mem_strdup(lost->why);
		}
		for (size_t k = 0; k < path->notes.count; k++) {
			*vec_push(&copy->notes) = mem_strdup(path->notes.at[k]);
		}
	}
}
