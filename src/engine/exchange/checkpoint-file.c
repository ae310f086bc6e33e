/*
 * checkpoint-file: see checkpoint-file.h.
 */
#include "engine/exchange/checkpoint-file.h"
#include "engine/exchange/checkpoint.h"
#include "engine/trace.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct saved_trace {
	uint8_t uuid[16];
	struct partial_file_trace identity;
	VEC(uint8_t) bytes; /* the UUID, then what checkpoint_trace() wrote */
};

struct checkpoint_file {
	char *path;
	struct partial_file_setup setup;
	VEC(struct saved_trace) all;
};

static void saved_trace_fini(struct saved_trace *saved)
{
	partial_file_trace_fini(&saved->identity);
	vec_fini(&saved->bytes);
}

void checkpoint_file_free(struct checkpoint_file *checkpoint_file)
{
	if (!checkpoint_file) {
		return;
	}
	for (size_t i = 0; i < checkpoint_file->all.count; i++) {
		saved_trace_fini(&checkpoint_file->all.at[i]);
	}
	vec_fini(&checkpoint_file->all);
	partial_file_setup_fini(&checkpoint_file->setup);
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

static int read_all(struct checkpoint_file *checkpoint_file, FILE *file,
		    const struct analysis *const *all, struct err *err)
{
	struct partial_file_trace identity;
	struct partial_reader *in;
	int r = partial_reader_new(file, all, &in, err);

	if (r < 0) {
		return r;
	}
	if (!partial_file_setup_same(partial_reader_setup(in), &checkpoint_file->setup)) {
		r = err_raise(err, -EINVAL, "made with other analyses, windows or periods");
	}
	while (r >= 0 && (r = partial_reader_trace(in, &identity, err)) > 0) {
		r = read_trace(checkpoint_file, in, &identity, err);
	}
	partial_reader_free(in);
	return r;
}

int checkpoint_file_open(const char *path, struct partial_file_setup *setup,
			 const struct analysis *const *all, struct checkpoint_file **ret,
			 struct err *err)
{
	struct checkpoint_file *checkpoint_file = mem_alloc(sizeof(*checkpoint_file));
	FILE *file;
	int r = 0;

	checkpoint_file->path = mem_strdup(path);
	checkpoint_file->setup = *setup;
	*setup = (struct partial_file_setup){ 0 };
	file = fopen(path, "re");
	if (file) {
		r = read_all(checkpoint_file, file, all, err);
		(void)fclose(file);
	} else if (errno != ENOENT) {
		r = err_raise(err, -errno, "%s", strerror(errno));
	}
	if (r < 0) {
		checkpoint_file_free(checkpoint_file);
		return err_note(err, r, "%s", path);
	}
	*ret = checkpoint_file;
	return 0;
}

/* ---- traces ---- */

const char *checkpoint_file_path(const struct checkpoint_file *checkpoint_file)
{
	return checkpoint_file->path;
}

bool checkpoint_file_any(const struct checkpoint_file *checkpoint_file)
{
	return checkpoint_file->all.count > 0;
}

static struct saved_trace *find(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16])
{
	for (size_t i = 0; i < checkpoint_file->all.count; i++) {
		if (memcmp(checkpoint_file->all.at[i].uuid, uuid,
			   sizeof(checkpoint_file->all.at[i].uuid)) == 0) {
			return &checkpoint_file->all.at[i];
		}
	}
	return NULL;
}

int checkpoint_file_restore(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
			    struct trace *trace, struct err *err)
{
	const struct saved_trace *saved = find(checkpoint_file, uuid);
	struct codec codec;

	if (!saved) {
		return 0;
	}
	assert(saved->bytes.count >= sizeof(saved->uuid)); /* read_trace() refuses fewer */
	codec = (struct codec){ .at = saved->bytes.at + sizeof(saved->uuid),
				.left = saved->bytes.count - sizeof(saved->uuid) };
	checkpoint_trace(trace, &codec);
	if (codec.is_wrong || codec.left > 0) {
		return err_raise(err, -EINVAL, "%s: the checkpoint of the trace cannot be used",
				 checkpoint_file->path);
	}
	return 1;
}

void checkpoint_file_drop(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16])
{
	struct saved_trace *saved = find(checkpoint_file, uuid);

	if (saved) {
		saved_trace_fini(saved);
		*saved = checkpoint_file->all.at[--checkpoint_file->all.count];
	}
}

static char *copy_of(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

void checkpoint_file_put(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16],
			 struct trace *trace, const struct partial_file_trace *identity)
{
	struct codec_out out = { 0 };
	struct codec codec = { .out = &out };
	struct saved_trace *saved;

	checkpoint_file_drop(checkpoint_file, uuid);
	assert(!find(checkpoint_file, uuid)); /* one of each */
	saved = vec_push(&checkpoint_file->all);
	memset(saved, 0, sizeof(*saved));
	memcpy(saved->uuid, uuid, sizeof(saved->uuid));
	codec_bytes(&codec, saved->uuid, sizeof(saved->uuid));
	checkpoint_trace(trace, &codec);
	saved->identity = (struct partial_file_trace){ .host = copy_of(identity->host),
						       .session = copy_of(identity->session),
						       .domain = copy_of(identity->domain),
						       .path = copy_of(identity->path),
						       .range_begin = identity->range_begin,
						       .range_end = identity->range_end };
	saved->bytes.at = out.bytes.at;
	saved->bytes.count = out.bytes.count;
	saved->bytes.room = out.bytes.room;
}

/* ---- writing ---- */

static int write_all(const struct checkpoint_file *checkpoint_file, FILE *file, struct err *err)
{
	struct partial_writer *out = partial_writer_new(file, &checkpoint_file->setup);
	int r;

	for (size_t i = 0; i < checkpoint_file->all.count; i++) {
		const struct saved_trace *saved = &checkpoint_file->all.at[i];

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

int checkpoint_file_save(const struct checkpoint_file *checkpoint_file, struct err *err)
{
	char *fresh = mem_printf("%s.new", checkpoint_file->path);
	FILE *file = fopen(fresh, "we");
	int r;

	if (!file) {
		r = err_raise(err, -errno, "%s", strerror(errno));
	} else {
		r = write_all(checkpoint_file, file, err);
		if (fclose(file) != 0 && r == 0) {
			r = err_raise(err, -errno, "%s", strerror(errno));
		}
		if (r == 0 && rename(fresh, checkpoint_file->path) < 0) {
			r = err_raise(err, -errno, "%s", strerror(errno));
		}
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
