/*
 * index: makes the indexes of recorded traces, by which a range of them is read (index/index.h).
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/now.h"
#include "base/shell.h"
#include "base/units.h"
#include "cmd/cmd.h"
#include "index/index.h"
#include "output/whole.h"
#include "run/run.h"
#include "run/say.h"
#include "run/usual.h"

void index_say_used(const struct options *options, const struct recorded_path *path,
		    const struct index_used *used)
{
	char text[UNITS_TEXT_MAX], *place = shell_path(path->dirs.at[0]);

	if (used->is_refused && options->verbosity >= 0) {
		say("%s: its index is not used: %s; to make it again: sillage index %s", path->name,
		    used->why.text, place);
	} else if (used->lacks && options->verbosity > 0) {
		say("%s: its index is not used: it is of other analyses; -a of `sillage index %s` "
		    "says which",
		    path->name, place);
	} else if (used->passed > 0 && options->verbosity > 0) {
		say("%s: its index told what was before the range: %s of it were not read",
		    path->name, units_bytes(text, used->passed));
	}
	free(place);
}

struct indexing {
	const struct options *options;
	const struct recorded_path *path; /* the current one */
	struct err err;
};

static void on_warning(void *user, const struct engine_warning *warning)
{
	struct indexing *run = user;

	if (run->options->verbosity >= 0) {
		say("%s: %s", run->path->name, warning->message);
	}
}

/* Makes the folders of a path whose last part is a file. */
static void make_folders_of(const char *path)
{
	char *copy = mem_strdup(path);

	for (char *at = strchr(copy + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(copy, 0700); /* what fails is said when the file is made */
		*at = '/';
	}
	free(copy);
}

/* @ret_fd: as of whole_file(). */
static FILE *open_file(const char *name, bool is_beside, int *ret_fd, struct err *err)
{
	FILE *file = whole_file(name, ret_fd, err);

	if (!file && !is_beside) {
		struct err why = *err;

		(void)err_raise(err, -EIO,
				"%s; the index belongs in your cache: set XDG_CACHE_HOME to a "
				"directory where you may write, or --beside keeps it in the trace",
				why.text);
	}
	return file;
}

/* A file without a name, where the index will lie: what goes there may be large. */
static FILE *open_spool(const char *name, struct err *err)
{
	int fd = whole_open(name);
	FILE *file = fd < 0 ? tmpfile() : fdopen(fd, "w+b");

	if (!file) {
		(void)err_raise(err, -errno, "%s: %s", name, strerror(errno));
	}
	return file;
}

static void close_any(FILE *file)
{
	if (file) {
		(void)fclose(file);
	}
}

static void say_made(const struct recorded_path *path, const char *name,
		     const struct index_made *made, uint64_t ns)
{
	char text[2][UNITS_TEXT_MAX];

	if (made->marks == 0) {
		say("%s: it is so small that it is read as a whole; --every SIZE wants places to "
		    "begin from",
		    path->name);
		return;
	}
	say("%s: indexed %s in %.1f s: %" PRIu64 " place%s to begin from, in %s", path->name,
	    units_bytes(text[0], made->bytes), (double)ns / (double)NS_PER_S, made->marks,
	    made->marks == 1 ? "" : "s", units_bytes(text[1], made->index_bytes));
	say("%s: analyze and overview with --begin read only the range now; it lies in %s",
	    path->name, name);
}

static int make_index(struct indexing *run, const char *name, const struct analysis *const *wanted)
{
	const struct options *options = run->options;
	struct index_making making = { .analyses = wanted,
				       .jobs = (unsigned int)options->jobs,
				       .chunk_bytes = options->chunk_bytes,
				       .max_memory = options->max_memory,
				       .every = options->index_bytes,
				       .is_bounded = !options->has_index_bytes,
				       .stop = &run_stop,
				       .on_warning = on_warning,
				       .user = run };
	uint64_t begin = now_monotonic_ns();
	struct index_made made;
	int fd, r;
	FILE *file;

	make_folders_of(name);
	making.spool = open_spool(name, &run->err);
	file = making.spool ? open_file(name, options->beside, &fd, &run->err) : NULL;
	if (!file) {
		close_any(making.spool);
		return -EIO;
	}
	r = index_make(run->path, &making, file, &made, &run->err);
	r = whole_close(file, fd, name, r, &run->err);
	close_any(making.spool);
	if (r == 0 && options->verbosity >= 0) {
		say_made(run->path, name, &made, now_monotonic_ns() - begin);
	}
	return r;
}

/* Whether the trace has an index that is as good as the one that would be made. */
static bool is_as_good(const struct indexing *run, const char *name,
		       const struct analysis *const *wanted)
{
	struct index *index = NULL;
	struct err why;
	char *found = NULL;
	int r = index_open(run->path, &index, &found, &why);
	bool is = r == 0 && !run->options->has_index_bytes && strcmp(found, name) == 0 &&
		  index_has(index_file_head(index_of(index)), wanted);

	if (run->options->verbosity >= 0 && is) {
		say("%s: its index is as the trace is: %s", run->path->name, found);
	} else if (run->options->verbosity >= 0 && r < 0 && r != -ENOENT) {
		say("%s: the index that was there is of no use: %s", run->path->name, why.text);
	}
	index_close(r == 0 ? index : NULL);
	free(found);
	return is;
}

static int index_one(struct indexing *run)
{
	const struct recorded_paths one = { .at = { .at = (void *)run->path, .count = 1 } };
	struct options usual = *run->options;
	char *name = index_path(run->path, run->options->beside);
	int r = 0;

	usual_choose(&usual, &one);
	if (!name) {
		r = err_raise(&run->err, -ENOENT,
			      "%s: no place for an index: neither HOME nor XDG_CACHE_HOME is a "
			      "path; --beside keeps it in the trace",
			      run->path->name);
	} else if (!is_as_good(run, name, usual.analyses)) {
		r = make_index(run, name, usual.analyses);
	}
	free(name);
	return r;
}

static int index_all(struct indexing *run, const char *arg)
{
	struct recorded_paths paths = { 0 };
	int r = recorded_is_file(arg)
			? err_raise(&run->err, -EINVAL,
				    "%s: a file is read as a whole: only the directory of a trace "
				    "has an index",
				    arg)
			: recorded_find(arg, &paths, &run->err);
	int status = r < 0 ? EXIT_FAILED : EXIT_DONE;

	if (r < 0) {
		say("%s", run->err.text);
	}
	for (size_t i = 0; i < paths.at.count && !run_stop; i++) {
		run->path = &paths.at.at[i];
		r = run->options->has_tiles ? index_show_tiles(run->options, run->path, &run->err)
					    : index_one(run);
		if (r < 0) {
			say("%s", run->err.text);
			status = EXIT_FAILED;
		}
	}
	recorded_paths_fini(&paths);
	return status;
}

static int run(const struct options *options)
{
	struct indexing run = { .options = options };
	int status = EXIT_DONE;

	run_stop_on_signals();
	for (size_t i = 0; options->args[i] && !run_stop; i++) {
		int one = index_all(&run, options->args[i]);

		status = status == EXIT_DONE ? one : status;
	}
	return run_signal_status() ? run_signal_status() : status;
}

const struct command cmd_index = {
	.name = "index",
	.args = "TRACE...",
	.summary = "make large traces quick to read in the middle",
	.examples =
		"  sillage index ~/lttng-traces/prod-20260101-120000\n"
		"  sillage index -a all --beside TRACE\n"
		"  sillage index --tiles 4ms --by process --begin 12:00:01 --end 12:00:02 TRACE\n",
	.options = FOR_INDEX,
	.args_min = 1,
	.run = run,
};
