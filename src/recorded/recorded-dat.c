/*
 * recorded-dat: see recorded.h; files of trace-cmd, each of which becomes a trace for each buffer
 * of the kernel that is in it.
 *
 *     trace.dat ── tracedat/made ──► $TMPDIR/sillage-XXXXXX/dat-1-0   main buffer    "trace.dat"
 *                                                           dat-1-1   of instances "trace.dat/NAME"
 *
 * A run makes them once, and what removes the directory is base/process/scratch.h.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "recorded/looks.h"
#include "recorded/recorded-parts.h"
#include "tracedat/made.h"

/* A file that was read. */
struct dat {
	char *path;
	struct recorded_paths paths;
	int r;
	struct err err; /* why r is negative */
};

static VEC(struct dat) dats;

static void dat_fini(struct dat *dat)
{
	free(dat->path);
	recorded_paths_fini(&dat->paths);
}

static void forget_dats(void)
{
	vec_fini_each(&dats, dat_fini);
}

static int make_buffer(const struct tracedat *file, const struct tracedat_buffer *buffer,
		       const char *dir, struct dat *dat)
{
	struct made_notes notes = { 0 };
	int r = mkdir(dir, 0700) < 0 ? err_raise(&dat->err, -errno, "%s: %s", dir, strerror(errno))
				     : made_trace(file, buffer, dir, &notes, &dat->err);

	if (r == 0) {
		struct recorded_path *path = vec_push(&dat->paths.at);

		*path = (struct recorded_path){
			.name = buffer->name[0] ? mem_printf("%s/%s", dat->path, buffer->name)
						: mem_strdup(dat->path)
		};
		*vec_push(&path->dirs) = mem_strdup(dir);
		vec_append(&path->notes, notes.at, notes.count);
		notes.count = 0; /* they have moved */
	}
	vec_free_each(&notes, free);
	return r;
}

/* Makes the traces of all buffers that have events; of the first if none has. */
static int make_all(const struct tracedat *file, const char *scratch, struct dat *dat)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < file->buffers.count; i++) {
		const struct tracedat_buffer *buffer = &file->buffers.at[i];
		char *dir = mem_printf("%s/dat-%zu-%zu", scratch, dats.count, i);

		if (made_has_events(buffer)) {
			r = make_buffer(file, buffer, dir, dat);
		}
		free(dir);
	}
	if (r == 0 && dat->paths.at.count == 0) {
		r = err_raise(&dat->err, -ENODATA, "%s: %s", dat->path,
			      file->texts > 0 ? "it has the text of a latency tracer, and no events"
					      : "it has no events");
	}
	return r;
}

static int read_dat(struct dat *dat)
{
	const char *scratch = recorded_scratch(&dat->err);
	struct tracedat file;
	int r;

	if (!scratch) {
		return -EIO;
	}
	r = tracedat_open(dat->path, &file, &dat->err);
	r = r < 0 ? r : make_all(&file, scratch, dat);
	tracedat_close(&file);
	return r;
}

static const struct dat *dat_of(const char *path)
{
	struct dat *new;

	VEC_EACH(&dats, dat) {
		if (strcmp(dat->path, path) == 0) {
			return dat;
		}
	}
	if (dats.count == 0) {
		(void)atexit(forget_dats);
	}
	new = vec_push(&dats);
	*new = (struct dat){ .path = mem_strdup(path) };
	new->r = read_dat(new);
	assert(new == &dats.at[dats.count - 1]); /* it has not moved */
	return new;
}

/* "FILE/INSTANCE" -> where "/INSTANCE" begins; NULL: it is no such path. */
static const char *instance_in(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *file = slash ? mem_printf("%.*s", (int)(slash - path), path) : NULL;
	bool is = file && slash[1] && looks_dat(file);

	free(file);
	return is ? slash : NULL;
}

static int find_instance(const struct dat *dat, const char *name, struct recorded_paths *paths,
			 struct err *err)
{
	for (size_t i = 0; i < dat->paths.at.count; i++) {
		struct recorded_paths one = { .at = { .at = &dat->paths.at.at[i], .count = 1 } };

		if (strcmp(one.at.at[0].name, name) == 0) {
			recorded_paths_copy(paths, &one);
			return 0;
		}
	}
	return err_raise(err, -ENODATA, "%s: the file has no such buffer with events", name);
}

int recorded_find_dat(const char *path, struct recorded_paths *paths, struct err *err)
{
	const char *slash = looks_dat(path) ? path + strlen(path) : instance_in(path);
	const struct dat *dat;
	char *file;

	if (!slash) {
		return -ENOENT;
	}
	file = mem_printf("%.*s", (int)(slash - path), path);
	dat = dat_of(file);
	free(file);
	if (dat->r < 0) {
		*err = dat->err;
		return dat->r;
	}
	if (*slash) {
		return find_instance(dat, path, paths, err);
	}
	recorded_paths_copy(paths, &dat->paths);
	return 0;
}
