/*
 * states: see states.h.
 */
#include "engine/exchange/checkpoint-file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct state {
	uint8_t uuid[16];
	struct partials_trace identity;
	VEC(uint8_t) bytes; /* of the frame: the UUID, and what trace_codec() wrote */
};

struct states {
	char *path;
	struct partials_setup setup;
	VEC(struct state) all;
};

static void state_fini(struct state *state)
{
	partials_trace_fini(&state->identity);
	vec_fini(&state->bytes);
}

void states_free(struct states *states)
{
	if (!states) {
		return;
	}
	for (size_t i = 0; i < states->all.count; i++) {
		state_fini(&states->all.at[i]);
	}
	vec_fini(&states->all);
	partials_setup_fini(&states->setup);
	free(states->path);
	free(states);
}

/* ---- reading ---- */

static int read_state(struct states *states, struct partials_in *in,
		      struct partials_trace *identity, struct err *err)
{
	struct state *state;
	struct codec frame;
	int r = partials_in_state(in, &frame, err);

	if (r < 0) {
		partials_trace_fini(identity);
		return r;
	}
	state = vec_push(&states->all);
	memset(state, 0, sizeof(*state));
	state->identity = *identity;
	vec_append(&state->bytes, frame.at, frame.left);
	if (frame.left < sizeof(state->uuid)) {
		return err_raise(err, -EINVAL, "a state without a UUID");
	}
	memcpy(state->uuid, state->bytes.at, sizeof(state->uuid));
	return 0;
}

static int read_all(struct states *states, FILE *file, const struct analysis *const *all,
		    struct err *err)
{
	struct partials_trace identity;
	struct partials_in *in;
	int r = partials_in_new(file, all, &in, err);

	if (r < 0) {
		return r;
	}
	if (!partials_setup_same(partials_in_setup(in), &states->setup)) {
		r = err_raise(err, -EINVAL, "is of other analyses, windows or periods");
	}
	while (r >= 0 && (r = partials_in_trace(in, &identity, err)) > 0) {
		r = read_state(states, in, &identity, err);
	}
	partials_in_free(in);
	return r;
}

int states_open(const char *path, struct partials_setup *setup, const struct analysis *const *all,
		struct states **ret, struct err *err)
{
	struct states *states = mem_alloc(sizeof(*states));
	FILE *file;
	int r = 0;

	states->path = mem_strdup(path);
	states->setup = *setup;
	*setup = (struct partials_setup){ 0 };
	file = fopen(path, "re");
	if (file) {
		r = read_all(states, file, all, err);
		(void)fclose(file);
	} else if (errno != ENOENT) {
		r = err_raise(err, -errno, "%s", strerror(errno));
	}
	if (r < 0) {
		states_free(states);
		return err_note(err, r, "%s", path);
	}
	*ret = states;
	return 0;
}

/* ---- traces ---- */

const char *states_path(const struct states *states)
{
	return states->path;
}

bool states_any(const struct states *states)
{
	return states->all.count > 0;
}

static struct state *find(struct states *states, const uint8_t uuid[16])
{
	for (size_t i = 0; i < states->all.count; i++) {
		if (memcmp(states->all.at[i].uuid, uuid, sizeof(states->all.at[i].uuid)) == 0) {
			return &states->all.at[i];
		}
	}
	return NULL;
}

int states_restore(struct states *states, const uint8_t uuid[16], struct trace *trace,
		   struct err *err)
{
	const struct state *state = find(states, uuid);
	struct codec codec;

	if (!state) {
		return 0;
	}
	codec = (struct codec){ .at = state->bytes.at + sizeof(state->uuid),
				.left = state->bytes.count - sizeof(state->uuid) };
	trace_codec(trace, &codec);
	if (codec.is_wrong || codec.left > 0) {
		return err_raise(err, -EINVAL, "%s: the state of the trace cannot be",
				 states->path);
	}
	return 1;
}

void states_drop(struct states *states, const uint8_t uuid[16])
{
	struct state *state = find(states, uuid);

	if (state) {
		state_fini(state);
		*state = states->all.at[--states->all.count];
	}
}

static char *copy_of(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

void states_put(struct states *states, const uint8_t uuid[16], struct trace *trace,
		const struct partials_trace *identity)
{
	struct codec_out out = { 0 };
	struct codec codec = { .out = &out };
	struct state *state;

	states_drop(states, uuid);
	state = vec_push(&states->all);
	memset(state, 0, sizeof(*state));
	memcpy(state->uuid, uuid, sizeof(state->uuid));
	codec_bytes(&codec, state->uuid, sizeof(state->uuid));
	trace_codec(trace, &codec);
	state->identity = (struct partials_trace){ .host = copy_of(identity->host),
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

static int write_all(const struct states *states, FILE *file, struct err *err)
{
	struct partials_out *out = partials_out_new(file, &states->setup);
	int r;

	for (size_t i = 0; i < states->all.count; i++) {
		const struct state *state = &states->all.at[i];

		partials_put_state(out, &state->identity, state->bytes.at, state->bytes.count);
	}
	partials_put_last(out);
	r = partials_out_check(out, err);
	partials_out_free(out);
	if (r == 0 && fsync(fileno(file)) < 0) {
		r = err_raise(err, -errno, "%s", strerror(errno));
	}
	return r;
}

int states_save(const struct states *states, struct err *err)
{
	char *fresh = mem_printf("%s.new", states->path);
	FILE *file = fopen(fresh, "we");
	int r;

	if (!file) {
		r = err_raise(err, -errno, "%s", strerror(errno));
	} else {
		r = write_all(states, file, err);
		if (fclose(file) != 0 && r == 0) {
			r = err_raise(err, -errno, "%s", strerror(errno));
		}
		if (r == 0 && rename(fresh, states->path) < 0) {
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
