/*
 * states: see states.h.
 */
#include "engine/exchange/checkpoint-file.h"
#include "engine/exchange/checkpoint.h"
#include "engine/trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct state {
	uint8_t uuid[16];
	struct partial_file_trace identity;
	VEC(uint8_t) bytes; /* of the frame: the UUID, and what checkpoint_trace() wrote */
};

struct checkpoint_file {
	char *path;
	struct partial_file_setup setup;
	VEC(struct state) all;
};

static void state_fini(struct state *state)
{
	partial_file_trace_fini(&state->identity);
	vec_fini(&state->bytes);
}

void checkpoint_file_free(struct checkpoint_file *checkpoint_file)
{
	if (!checkpoint_file) {
		return;
	}
	for (size_t i = 0; i < checkpoint_file->all.count; i++) {
		state_fini(&checkpoint_file->all.at[i]);
	}
	vec_fini(&checkpoint_file->all);
	partial_file_setup_fini(&checkpoint_file->setup);
	free(checkpoint_file->path);
	free(checkpoint_file);
}

/* ---- reading ---- */

static int read_state(struct checkpoint_file *checkpoint_file, struct partial_reader *in,
		      struct partial_file_trace *identity, struct err *err)
{
	struct state *state;
	struct codec frame;
	int r = partial_reader_checkpoint(in, &frame, err);

	if (r < 0) {
		partial_file_trace_fini(identity);
		return r;
	}
	state = vec_push(&checkpoint_file->all);
	memset(state, 0, sizeof(*state));
	state->identity = *identity;
	vec_append(&state->bytes, frame.at, frame.left);
	if (frame.left < sizeof(state->uuid)) {
		return err_raise(err, -EINVAL, "a state without a UUID");
	}
	memcpy(state->uuid, state->bytes.at, sizeof(state->uuid));
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
		r = err_raise(err, -EINVAL, "is of other analyses, windows or periods");
	}
	while (r >= 0 && (r = partial_reader_trace(in, &identity, err)) > 0) {
		r = read_state(checkpoint_file, in, &identity, err);
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

static struct state *find(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16])
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
	const struct state *state = find(checkpoint_file, uuid);
	struct codec codec;

	if (!state) {
		return 0;
	}
	codec = (struct codec){ .at = state->bytes.at + sizeof(state->uuid),
				.left = state->bytes.count - sizeof(state->uuid) };
	checkpoint_trace(trace, &codec);
	if (codec.is_wrong || codec.left > 0) {
		return err_raise(err, -EINVAL, "%s: the state of the trace cannot be",
				 checkpoint_file->path);
	}
	return 1;
}

void checkpoint_file_drop(struct checkpoint_file *checkpoint_file, const uint8_t uuid[16])
{
	struct state *state = find(checkpoint_file, uuid);

	if (state) {
		state_fini(state);
		*state = checkpoint_file->all.at[--checkpoint_file->all.count];
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
	struct state *state;

	checkpoint_file_drop(checkpoint_file, uuid);
	state = vec_push(&checkpoint_file->all);
	memset(state, 0, sizeof(*state));
	memcpy(state->uuid, uuid, sizeof(state->uuid));
	codec_bytes(&codec, state->uuid, sizeof(state->uuid));
	checkpoint_trace(trace, &codec);
	state->identity = (struct partial_file_trace){ .host = copy_of(identity->host),
						       .session = copy_of(identity->session),
						       .domain = copy_of(identity->domain),
						       .path = copy_of(identity->path),
						       .range_begin = identity->range_begin,
						       .range_end = identity->range_end };
	state->bytes.at = out.bytes.at;
	state->bytes.count = out.bytes.count;
	state->bytes.room = out.bytes.room;
}

/* ---- writing ---- */

static int write_all(const struct checkpoint_file *checkpoint_file, FILE *file, struct err *err)
{
	struct partial_writer *out = partial_writer_new(file, &checkpoint_file->setup);
	int r;

	for (size_t i = 0; i < checkpoint_file->all.count; i++) {
		const struct state *state = &checkpoint_file->all.at[i];

		partial_writer_checkpoint(out, &state->identity, state->bytes.at,
					  state->bytes.count);
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
