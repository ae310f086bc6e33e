/*
 * checkpoint-file: see checkpoint-file.h.
 */
#include "engine/exchange/checkpoint-file.h"
#include "engine/exchange/checkpoint.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/now.h"
#include "base/process/foreign.h"
#include "base/process/thread.h"

struct saved_trace {
	uint8_t uuid[16];
	struct partial_file_trace identity;
	VEC(uint8_t) bytes;       /* the UUID, what checkpoint_trace() wrote, what is beside it */
	const struct trace *open; /* the trace goes on in this process; only compared */
};

typedef VEC(struct saved_trace) saved_vec;

/* A copy of all traces that a thread writes. */
struct save {
	const struct checkpoint_file *checkpoint_file; /* the thread reads path and setup only */
	saved_vec all;
	bool rotates;
	pthread_t thread;
	bool has_thread;
	atomic_bool is_done;
	int result; /* set before is_done, as is err */
	struct err err;
};

struct checkpoint_file {
	char *path;
	struct partial_file_setup setup;
	saved_vec all;
	char *note;        /* why the file before is used; NULL: it is not */
	bool was_refused;  /* the checkpoint of a trace was of no use: the file before may have one
			    */
	bool is_whole;     /* what lies at `path` was written by this run */
	struct save *save; /* NULL: none was begun */
};

static void saved_trace_fini(struct saved_trace *saved)
{
	partial_file_trace_fini(&saved->identity);
	vec_fini(&saved->bytes);
}

static void saved_all_fini(saved_vec *all)
{
	for (size_t i = 0; i < all->count; i++) {
		saved_trace_fini(&all->at[i]);
	}
	vec_fini(all);
}

void checkpoint_file_free(struct checkpoint_file *checkpoint_file)
{
	struct err err;

	if (!checkpoint_file) {
		return;
	}
	(void)checkpoint_file_end_save(checkpoint_file, &err);
	saved_all_fini(&checkpoint_file->all);
	partial_file_setup_fini(&checkpoint_file->setup);
	free(checkpoint_file->note);
	free(checkpoint_file->path);
	free(checkpoint_file);
}

/* ---- reading ---- */

static int read_trace(struct checkpoint_file *checkpoint_file, struct partial_reader *in,
		      struct partial_file_trace *identity, struct err *err)
{
	struct saved_trace *saved;
	struct codec frame;
	int r = partial_reader_checkpoint(in, &frame, err);

	if (r < 0) {
		partial_file_trace_fini(identity);
		return r;
	}
	saved = vec_push(&checkpoint_file->all);
	memset(saved, 0, sizeof(*saved));
	saved->identity = *identity;
	vec_append(&saved->bytes, frame.at, frame.left);
	if (frame.left < sizeof(saved->uuid)) {
		return err_raise(err, -EINVAL, "a checkpoint without a UUID");
	}
	memcpy(saved->uuid, saved->bytes.at, sizeof(saved->uuid));
	return 0;
}

/* @ret_is_other: the file is whole, and of another kind of run. */
static int read_all(struct checkpoint_file *checkpoint_file, FILE *file,
		    const struct analysis *const *all, bool *ret_is_other, struct err *err)
{
	struct partial_file_trace identity;
	struct partial_reader *in;
	int r = partial_reader_new(file, all, &in, err);

	if (r < 0) {
		return r;
	}
	*ret_is_other = !partial_file_setup_same(partial_reader_setup(in), &checkpoint_file->setup);
	if (*ret_is_other) {
		r = err_raise(err, -EINVAL,
			      "made with other analyses, windows, periods, threads or CPUs");
	}
	while (r >= 0 && (r = partial_reader_trace(in, &identity, err)) > 0) {
		r = read_trace(checkpoint_file, in, &identity, err);
	}
	partial_reader_free(in);
	return r;
}

/* -ENOENT: there is none. */
static int read_file(struct checkpoint_file *checkpoint_file, const char *path,
		     const struct analysis *const *all, bool *ret_is_other, struct err *err)
{
	FILE *file;
	int r = foreign_file(path, &file, err);

	if (r < 0) {
		return r;
	}
	r = read_all(checkpoint_file, file, all, ret_is_other, err);
	(void)fclose(file);
	return r < 0 ? err_note(err, r, "%s", path) : 0;
}

/* Reads the file before, if there is one; @err: why the file cannot be used.  If this one cannot be
 * used either, that stays the reason. */
static int read_before(struct checkpoint_file *checkpoint_file, const struct analysis *const *all,
		       struct err *err)
{
	char *path = mem_printf("%s.1", checkpoint_file->path);
	struct err other;
	bool is_other;
	int r;

	saved_all_fini(&checkpoint_file->all);
	checkpoint_file->all = (saved_vec){ 0 };
	r = read_file(checkpoint_file, path, all, &is_other, &other);
	if (r == 0) {
		checkpoint_file->note =
			mem_printf("%s; the one before, %s, is used", err->text, path);
	}
	free(path);
	return r < 0 ? -EINVAL : 0;
}

int checkpoint_file_open(const char *path, struct partial_file_setup *setup,
			 const struct analysis *const *all, struct checkpoint_file **ret,
			 struct err *err)
{
	struct checkpoint_file *checkpoint_file = mem_alloc(sizeof(*checkpoint_file));
	bool is_other = false;
	int r;

	checkpoint_file->path = mem_strdup(path);
	checkpoint_file->setup = *setup;
	*setup = (struct partial_file_setup){ 0 };
	r = read_file(checkpoint_file, path, all, &is_other, err);
	if (r == -EINVAL && !is_other) {
		r = read_before(checkpoint_file, all, err);
	}
	if (r < 0 && r != -ENOENT) {
		checkpoint_file_free(checkpoint_file);
		return r;
	}
	*ret = checkpoint_file;
	return 0;
}

int checkpoint_file_lock(const char *path, struct err *err)
{
	char *name = mem_printf("%s.lock", path);
	int fd = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666), r;

	if (fd < 0) {
		r = err_raise(err, -errno, "%s: %s", name, strerror(errno));
	} else if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		r = err_raise(err, errno == EWOULDBLOCK ? -EAGAIN : -errno, "%s: %s", name,
			      strerror(errno));
		(void)close(fd);
	} else {
		r = fd;
	}
	free(name);
	return r;
}

/* ---- traces ---- */

const char *checkpoint_file_path(const struct checkpoint_file *checkpoint_file)
{
	return checkpoint_file->path;
}

const char *checkpoint_file_note(const struct checkpoint_file *checkpoint_file)
{
	return checkpoint_file->note;
}

uint64_t checkpoint_file_bytes(const struct checkpoint_file *checkpoint_file)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < checkpoint_file->all.count; i++) {
		bytes += checkpoint_file->all.at[i].bytes.count;
	}
	return bytes;
}

bool checkpoint_file_any(const struct checkpoint_file *checkpoint_file)
{
	return checkpoint_file->all.count > 0;
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Of the trace that is open; else that of no open one, with the same UUID, and the same names
 * unless @identity is NULL.  *ret_open: there is one of the UUID, of another open trace. */
static struct saved_trace *find(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
				const struct trace *trace,
				const struct partial_file_trace *identity, bool *ret_open)
{
	struct saved_trace *found = NULL;

	*ret_open = false;
	VEC_EACH(&checkpoint_file->all, saved) {
		bool is_named = !identity || (is_same(saved->identity.host, identity->host) &&
					      is_same(saved->identity.session, identity->session));

		if (memcmp(saved->uuid, uuid, sizeof(saved->uuid)) != 0) {
			continue;
		}
		if (saved->open && saved->open == trace) {
			return saved;
		}
		*ret_open |= saved->open != NULL;
		found = !saved->open && is_named ? saved : found;
	}
	return found;
}

int checkpoint_file_restore(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
			    const struct partial_file_trace *identity, struct trace *trace,
			    struct codec *ret_beside, struct err *err)
{
	bool is_open = false;
	struct saved_trace *saved = find(checkpoint_file, uuid, trace, identity, &is_open);
	struct codec codec;
	size_t beside;

	*ret_beside = (struct codec){ 0 };
	if (!saved && !is_open) {
		return 0;
	}
	if (!saved) { /* all of it is counted there */
		return err_raise(err, -EEXIST, "%s has a trace of the same UUID, which is open",
				 checkpoint_file->path);
	}
	assert(saved->bytes.count >= sizeof(saved->uuid)); /* read_trace() refuses fewer */
	codec = (struct codec){ .at = saved->bytes.at + sizeof(saved->uuid),
				.left = saved->bytes.count - sizeof(saved->uuid) };
	checkpoint_trace(trace, &codec);
	beside = codec.left > 0 ? codec_count(&codec, 0, 1) : 0;
	if (codec.is_wrong || codec.left != beside) {
		checkpoint_file->was_refused = true;
		return err_raise(err, -EINVAL, "%s: the checkpoint of the trace cannot be used",
				 checkpoint_file->path);
	}
	saved->open = trace;
	*ret_beside = codec;
	return 1;
}

void checkpoint_file_add_part(struct codec_out *beside, struct codec_out *part)
{
	struct codec codec = { .out = beside };

	(void)codec_count(&codec, part->bytes.count, 1);
	vec_append(&beside->bytes, part->bytes.at, part->bytes.count);
	vec_fini(&part->bytes);
	*part = (struct codec_out){ 0 };
}

struct codec checkpoint_file_take_part(struct codec *beside)
{
	size_t size = beside->left > 0 ? codec_count(beside, 0, 1) : 0;
	const uint8_t *at = codec_next(beside, size);

	return (struct codec){ .at = at, .left = at ? size : 0 };
}

static void drop(struct checkpoint_file *checkpoint_file, struct saved_trace *saved)
{
	saved_trace_fini(saved);
	*saved = checkpoint_file->all.at[--checkpoint_file->all.count];
}

void checkpoint_file_drop(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
			  const struct partial_file_trace *identity, const struct trace *trace)
{
	bool ignored;
	struct saved_trace *saved = find(checkpoint_file, uuid, trace, identity, &ignored);

	if (saved) {
		drop(checkpoint_file, saved);
	}
}

static struct partial_file_trace copy_of_identity(const struct partial_file_trace *identity)
{
	return (struct partial_file_trace){ .host = mem_strdup_if(identity->host),
					    .session = mem_strdup_if(identity->session),
					    .domain = mem_strdup_if(identity->domain),
					    .path = mem_strdup_if(identity->path),
					    .tracer = mem_strdup_if(identity->tracer),
					    .beside = mem_strdup_if(identity->beside),
					    .range_begin = identity->range_begin,
					    .range_end = identity->range_end };
}

void checkpoint_file_put(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
			 struct trace *trace, const struct partial_file_trace *identity,
			 const struct codec_out *beside, bool stays_open)
{
	struct codec_out out = { 0 };
	struct codec codec = { .out = &out };
	bool ignored;
	struct saved_trace *saved = find(checkpoint_file, uuid, trace, identity, &ignored);

	if (saved) {
		drop(checkpoint_file, saved);
	}
	saved = vec_push(&checkpoint_file->all);
	memset(saved, 0, sizeof(*saved));
	memcpy(saved->uuid, uuid, sizeof(saved->uuid));
	codec_bytes(&codec, saved->uuid, sizeof(saved->uuid));
	checkpoint_trace(trace, &codec);
	if (beside && beside->bytes.count > 0) {
		(void)codec_count(&codec, beside->bytes.count, 1);
		vec_append(&out.bytes, beside->bytes.at, beside->bytes.count);
	}
	saved->identity = copy_of_identity(identity);
	saved->open = stays_open ? trace : NULL;
	saved->bytes.at = out.bytes.at;
	saved->bytes.count = out.bytes.count;
	saved->bytes.room = out.bytes.room;
}

/* ---- writing ---- */

static int write_all(const struct checkpoint_file *checkpoint_file, const saved_vec *all,
		     FILE *file, struct err *err)
{
	struct partial_writer *out = partial_writer_new(file, &checkpoint_file->setup);
	int r;

	for (size_t i = 0; i < all->count; i++) {
		const struct saved_trace *saved = &all->at[i];

		partial_writer_checkpoint(out, &saved->identity, saved->bytes.at,
					  saved->bytes.count);
	}
	partial_writer_last(out);
	r = partial_writer_check(out, err);
	partial_writer_free(out);
	if (r == 0 && fsync(fileno(file)) < 0) {
		r = err_raise(err, -errno, "%s", strerror(errno));
	}
	return r;
}

/* Makes renames in the directory of @path survive a power cut. */
static void sync_directory(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = slash ? mem_printf("%.*s", (int)(slash - path) + 1, path) : mem_strdup(".");
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0) {
		(void)fsync(fd);
		(void)close(fd);
	}
	free(dir);
}

/* Whether the file becomes the one before.  One that could not be used does not: the one before it
 * may be the last that can. */
static bool rotates(const struct checkpoint_file *checkpoint_file)
{
	return !checkpoint_file->was_refused &&
	       (!checkpoint_file->note || checkpoint_file->is_whole);
}

/* Puts @fresh in the place of @path, which becomes the file before if it @rotates. */
static int replace(const char *fresh, const char *path, bool rotates, struct err *err)
{
	char *before = mem_printf("%s.1", path);

	if (rotates) {
		(void)unlink(before);
		if (link(path, before) < 0) {
			/* A file system without links has no file before. */
		}
	}
	free(before);
	if (rename(fresh, path) < 0) {
		return err_raise(err, -errno, "%s", strerror(errno));
	}
	sync_directory(path);
	return 0;
}

static int save_all(const struct checkpoint_file *checkpoint_file, const saved_vec *all,
		    bool rotates, struct err *err)
{
	char *fresh;
	FILE *file;
	int r, fd;

	if (now_has_left) {
		return err_raise(err, -EINTR,
				 "%s: interrupted in the middle of a packet; it stays as it was",
				 checkpoint_file->path);
	}
	fresh = mem_printf("%s.new", checkpoint_file->path);
	(void)unlink(fresh); /* of a run that was killed; or a link, which is not followed */
	fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (!file) {
		r = err_raise(err, -errno, "%s", strerror(errno));
	} else {
		r = write_all(checkpoint_file, all, file, err);
		if (fclose(file) != 0 && r == 0) {
			r = err_raise(err, -errno, "%s", strerror(errno));
		}
		r = r < 0 ? r : replace(fresh, checkpoint_file->path, rotates, err);
		if (r < 0) {
			(void)unlink(fresh);
		}
	}
	if (r < 0) {
		(void)err_note(err, r, "%s", fresh);
	}
	free(fresh);
	return r;
}

int checkpoint_file_save(struct checkpoint_file *checkpoint_file, struct err *err)
{
	struct err ignored; /* this save has it all */
	int r;

	(void)checkpoint_file_end_save(checkpoint_file, &ignored);
	r = save_all(checkpoint_file, &checkpoint_file->all, rotates(checkpoint_file), err);
	checkpoint_file->is_whole |= r == 0;
	return r;
}

/* ---- writing in a thread ---- */

static void *save_in_thread(void *arg)
{
	struct save *save = arg;

	save->result = save_all(save->checkpoint_file, &save->all, save->rotates, &save->err);
	atomic_store_explicit(&save->is_done, true, memory_order_release);
	return NULL;
}

void checkpoint_file_begin_save(struct checkpoint_file *checkpoint_file)
{
	struct save *save = mem_alloc(sizeof(*save));

	assert(!checkpoint_file->save);
	save->checkpoint_file = checkpoint_file;
	save->rotates = rotates(checkpoint_file);
	for (size_t i = 0; i < checkpoint_file->all.count; i++) {
		const struct saved_trace *from = &checkpoint_file->all.at[i];
		struct saved_trace *saved = vec_push(&save->all);

		memset(saved, 0, sizeof(*saved));
		memcpy(saved->uuid, from->uuid, sizeof(saved->uuid));
		saved->identity = copy_of_identity(&from->identity);
		vec_append(&saved->bytes, from->bytes.at, from->bytes.count);
	}
	checkpoint_file->save = save;
	save->has_thread = thread_start(&save->thread, save_in_thread, save) == 0;
	if (!save->has_thread) {
		(void)save_in_thread(save);
	}
}

bool checkpoint_file_is_saving(const struct checkpoint_file *checkpoint_file)
{
	return checkpoint_file->save &&
	       !atomic_load_explicit(&checkpoint_file->save->is_done, memory_order_acquire);
}

int checkpoint_file_end_save(struct checkpoint_file *checkpoint_file, struct err *err)
{
	struct save *save = checkpoint_file->save;
	int r;

	if (!save) {
		return 0;
	}
	if (save->has_thread) {
		thread_join(save->thread, NULL);
	}
	r = save->result;
	checkpoint_file->is_whole |= r == 0;
	if (r < 0) {
		*err = save->err;
	}
	saved_all_fini(&save->all);
	free(save);
	checkpoint_file->save = NULL;
	return r;
}
