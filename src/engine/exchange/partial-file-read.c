/*
 * partial-file-read: reading files of partials, and merging them; see partial-file.h.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "base/limits.h"
#include "engine/engine-state.h"
#include "engine/exchange/checkpoint.h"
#include "engine/exchange/frame-reader.h"
#include "engine/exchange/partial-codec.h"
#include "engine/exchange/partial-file-frames.h"
#include "engine/exchange/partial-file.h"
#include "engine/merger/merger-state.h"
#include "engine/trace.h"

/* ---- merging ---- */

struct partial_intake {
	struct trace *trace;
	struct merger *merger;
	uint32_t classes;
	VEC(struct merger_stream *) streams; /* by number; NULL: unused */
};

struct partial_intake *partial_intake_new(struct trace *trace)
{
	struct partial_intake *intake = mem_alloc(sizeof(*intake));

	assert(!trace->has_finished);
	assert(trace->streams.count == 0);
	intake->trace = trace;
	intake->merger = trace->merger;
	return intake;
}

void partial_intake_free(struct partial_intake *intake)
{
	if (intake) {
		vec_fini(&intake->streams);
		free(intake);
	}
}

static int take_classes(struct partial_intake *intake, struct codec *frame, struct err *err)
{
	size_t count = codec_count(frame, 0, sizeof(uint32_t));

	assert(intake->classes <= EVENT_CLASSES_MAX);
	if (count > EVENT_CLASSES_MAX - intake->classes) {
		return err_raise(err, -EINVAL, "more than %d event classes", EVENT_CLASSES_MAX);
	}
	for (size_t i = 0; i < count; i++) {
		char *name = NULL;

		codec_text(frame, &name);
		merger_add_class(intake->merger, name ? name : "");
		free(name);
	}
	intake->classes += (uint32_t)count;
	return 0;
}

static int take_stream(struct partial_intake *intake, struct codec *frame, struct err *err)
{
	struct stream_identity identity = { 0 };
	uint32_t number = 0;

	codec_u32(frame, &number);
	partial_codec_identity(frame, &identity);
	if (number >= RELAY_STREAMS_MAX) {
		return err_raise(err, -EINVAL, "stream %u: more than %d", number,
				 RELAY_STREAMS_MAX);
	}
	while (intake->streams.count <= number) {
		*vec_push(&intake->streams) = NULL;
	}
	assert(intake->streams.count <= RELAY_STREAMS_MAX);
	if (intake->streams.at[number] || frame->is_wrong) {
		return err_raise(err, -EINVAL, "stream %u comes twice, or is cut", number);
	}
	intake->streams.at[number] = merger_stream_new(intake->merger);
	merger_stream_identify(intake->streams.at[number], &identity);
	return 0;
}

/* NULL, with the reason: no such stream. */
static struct merger_stream *find_stream(const struct partial_intake *intake, uint32_t number,
					 struct err *err)
{
	if (number < intake->streams.count && intake->streams.at[number]) {
		return intake->streams.at[number];
	}
	(void)err_raise(err, -EINVAL, "unknown stream %u", number);
	return NULL;
}

/* Reads the stream of a frame and a number of chunks; NULL: no such stream. */
static struct merger_stream *stream_of(const struct partial_intake *intake, struct codec *frame,
				       uint64_t *ret_seq, struct err *err)
{
	uint32_t number = 0;

	codec_u32(frame, &number);
	codec_u64(frame, ret_seq);
	return find_stream(intake, number, err);
}

/* Whether the chunk @seq is still missing. */
static bool is_awaited(const struct merger_stream *stream, uint64_t seq)
{
	for (size_t i = 0; i < stream->early.count; i++) {
		if (stream->early.at[i].seq == seq) {
			return false;
		}
	}
	return seq >= stream->next_seq && seq < stream->end_seq;
}

/* Merges a decoded partial, or frees it. */
static int take_decoded(struct partial_intake *intake, uint32_t number, uint64_t seq,
			struct partial *partial, struct err *err)
{
	struct merger_stream *stream = find_stream(intake, number, err);

	assert(partial);
	if (stream && is_awaited(stream, seq)) {
		merger_take(stream, seq, partial);
		return 0;
	}
	partial_free(partial);
	return !stream ? -EINVAL
		       : err_raise(err, -EINVAL, "chunk %" PRIu64 " comes twice, or after the last",
				   seq);
}

static struct partial_rules rules_of(const struct partial_intake *intake)
{
	return (struct partial_rules){ .setup = intake->merger->setup, .classes = intake->classes };
}

static int take_partial(struct partial_intake *intake, struct codec *frame, struct err *err)
{
	const struct partial_rules rules = rules_of(intake);
	struct partial *partial = partial_cache_take(rules.setup->partial_cache);
	uint32_t number = 0;
	uint64_t seq = 0;
	int r;

	codec_each(frame, &number, &seq);
	r = partial_codec(frame, partial, &rules, err);
	if (r < 0) {
		partial_free(partial);
		return r;
	}
	return take_decoded(intake, number, seq, partial, err);
}

static int take_known(struct partial_intake *intake, struct codec *frame, struct err *err)
{
	uint64_t seq = 0, ts = 0;
	struct merger_stream *stream = stream_of(intake, frame, &seq, err);

	if (!stream) {
		return -EINVAL;
	}
	codec_u64(frame, &ts);
	merger_stream_known(stream, seq, ts);
	return 0;
}

static int take_end(struct partial_intake *intake, struct codec *frame, struct err *err)
{
	uint64_t seq = 0;
	struct merger_stream *stream = stream_of(intake, frame, &seq, err);

	if (!stream) {
		return -EINVAL;
	}
	assert(stream->next_seq <= stream->end_seq);
	if (seq < stream->next_seq || stream->end_seq != UINT64_MAX) {
		return err_raise(err, -EINVAL, "a stream ends twice, or before its chunks");
	}
	merger_stream_end(stream, seq);
	return 0;
}

static int take_warning(const struct partial_intake *intake, struct codec *frame)
{
	struct engine_warning warning = { .packet = -1 };
	char *texts[3] = { NULL };

	for (size_t i = 0; i < 3; i++) {
		codec_text(frame, &texts[i]);
	}
	codec_each(frame, &warning.packet, &warning.begin, &warning.end);
	warning.what = texts[0] ? texts[0] : "trace";
	warning.stream_name = texts[2];
	(void)snprintf(warning.message, sizeof(warning.message), "%s", texts[1] ? texts[1] : "");
	if (!frame->is_wrong) {
		trace_warn(intake->trace, &warning);
	}
	for (size_t i = 0; i < 3; i++) {
		free(texts[i]);
	}
	return 0;
}

static int take_checkpoint(const struct partial_intake *intake, struct codec *frame,
			   struct err *err)
{
	if (intake->streams.count > 0 || intake->classes > 0) {
		return err_raise(err, -EINVAL, "a checkpoint after partials");
	}
	assert(intake->merger->streams.count == 0);
	(void)codec_next(frame, 16); /* its UUID */
	checkpoint_trace(intake->trace, frame);
	if (frame->left > 0) { /* what was put beside it is for the run that goes on */
		(void)codec_next(frame, codec_count(frame, 0, 1));
	}
	return frame->is_wrong ? err_raise(err, -EINVAL, "the checkpoint is damaged") : 1;
}

/* Checks that every stream has ended, and takes what is lost of others. */
static int take_finish(const struct partial_intake *intake, struct codec *frame, struct err *err)
{
	uint64_t lost = 0;

	codec_u64(frame, &lost);
	trace_lose(intake->trace, lost);
	for (size_t i = 0; i < intake->streams.count; i++) {
		const struct merger_stream *stream = intake->streams.at[i];

		if (stream && !stream->is_ended) {
			return err_raise(err, -EINVAL, "stream %zu lacks chunks, or its end", i);
		}
	}
	return 1;
}

static int take(struct partial_intake *intake, struct codec *frame, struct err *err)
{
	uint8_t kind = 0;

	codec_u8(frame, &kind);
	switch ((enum frame_kind)kind) {
	case FRAME_CLASSES:
		return take_classes(intake, frame, err);
	case FRAME_STREAM:
		return take_stream(intake, frame, err);
	case FRAME_PARTIAL:
		return take_partial(intake, frame, err);
	case FRAME_KNOWN:
		return take_known(intake, frame, err);
	case FRAME_END:
		return take_end(intake, frame, err);
	case FRAME_WARNING:
		return take_warning(intake, frame);
	case FRAME_FINISH:
		return take_finish(intake, frame, err);
	case FRAME_CHECKPOINT:
		return take_checkpoint(intake, frame, err);
	case FRAME_SETUP:
	case FRAME_TRACE:
	case FRAME_LAST:
	default:
		return err_raise(err, -EINVAL, "unexpected frame of kind %u", kind);
	}
}

int partial_intake_take(struct partial_intake *intake, struct codec *frame, struct err *err)
{
	int r = take(intake, frame, err);

	if (r >= 0 && (frame->is_wrong || frame->left > 0)) {
		return err_raise(err, -EINVAL, "the frame is shorter or longer than its content");
	}
	return r;
}

/* ---- reading ---- */

struct partial_reader {
	struct frame_reader *frames;
	const struct analysis *const *all;
	struct partial_file_setup setup;
};

static int next_frame(struct partial_reader *in, struct codec *ret, struct err *err)
{
	struct frame frame;
	int r = frame_reader_next(in->frames, NULL, NULL, &frame, err);

	*ret = frame.codec;
	return r;
}

/* The analysis of this name and form, if it was not there before; NULL: there is none. */
static const struct analysis *analysis_of(const struct partial_reader *in, const char *name,
					  uint64_t form, size_t count)
{
	for (const struct analysis *const *at = in->all; *at; at++) {
		if (strcmp((*at)->name, name) != 0) {
			continue;
		}
		for (size_t i = 0; i < count; i++) {
			if (in->setup.analyses[i] == *at) {
				return NULL;
			}
		}
		return form == partial_file_form(*at) ? *at : NULL;
	}
	return NULL;
}

/* In any order, each once, as options give them. */
static int take_analyses(struct partial_reader *in, struct codec *frame, struct err *err)
{
	size_t count = codec_count(frame, 0, 12);

	for (size_t i = 0; i < count; i++) {
		uint64_t form = 0;
		char *name = NULL;

		const struct analysis *found;

		codec_text(frame, &name);
		codec_u64(frame, &form);
		found = name ? analysis_of(in, name, form, i) : NULL;
		free(name);
		if (!found) {
			return err_raise(err, -EINVAL,
					 "analysis %zu is unknown to this version of sillage", i);
		}
		in->setup.analyses[i] = found;
	}
	return 0;
}

static int take_setup(struct partial_reader *in, struct codec *frame, struct err *err)
{
	uint8_t kind = UINT8_MAX;
	size_t count;
	int r;

	codec_u8(frame, &kind);
	if (kind != FRAME_SETUP) {
		return err_raise(err, -EINVAL, "the setup is missing");
	}
	codec_each(frame, &in->setup.interval_ns, &in->setup.wants_windows);
	r = take_analyses(in, frame, err);
	if (r < 0) {
		return r;
	}
	count = codec_count(frame, 0, sizeof(uint32_t));
	for (size_t i = 0; i < count; i++) {
		char *text = NULL;

		codec_text(frame, &text);
		*vec_push(&in->setup.periods) = text ? text : mem_strdup("");
	}
	codec_text(frame, &in->setup.selection);
	if (frame->is_wrong || frame->left > 0 || in->setup.interval_ns == 0) {
		return err_raise(err, -EINVAL, "the setup is damaged");
	}
	return 0;
}

static int begin(struct partial_reader *in, struct err *err)
{
	char found[PARTIAL_FILE_MAGIC_LEN];
	uint32_t version;
	struct codec frame;
	int r;

	r = frame_reader_raw(in->frames, found, sizeof(found), err);
	if (r < 0 || memcmp(found, PARTIAL_FILE_MAGIC, PARTIAL_FILE_MAGIC_LEN) != 0) {
		return err_raise(err, -EINVAL, "not a file that sillage map wrote");
	}
	r = frame_reader_raw(in->frames, &version, sizeof(version), err);
	if (r < 0) {
		return r;
	}
	if (le32toh(version) != PARTIAL_FILE_VERSION) {
		return err_raise(
			err, -EINVAL,
			"version %u, of another sillage; this one reads version %d: go on with "
			"that one, or make the file again (map), or remove it and begin again "
			"(--state)",
			le32toh(version), PARTIAL_FILE_VERSION);
	}
	r = next_frame(in, &frame, err);
	return r < 0 ? r : take_setup(in, &frame, err);
}

int partial_reader_new(FILE *file, const struct analysis *const *all, struct partial_reader **ret,
		       struct err *err)
{
	struct partial_reader *in = mem_alloc(sizeof(*in));
	int r;

	in->frames = frame_reader_new(file);
	in->all = all;
	r = begin(in, err);
	if (r < 0) {
		partial_reader_free(in);
		return r;
	}
	*ret = in;
	return 0;
}

void partial_reader_free(struct partial_reader *in)
{
	if (in) {
		frame_reader_free(in->frames);
		partial_file_setup_fini(&in->setup);
		free(in);
	}
}

const struct partial_file_setup *partial_reader_setup(const struct partial_reader *in)
{
	return &in->setup;
}

int partial_reader_trace(struct partial_reader *in, struct partial_file_trace *ret, struct err *err)
{
	uint64_t at = frame_reader_at(in->frames);
	struct codec frame;
	int r = next_frame(in, &frame, err);
	uint8_t kind = 0;

	if (r < 0) {
		return err_note(err, r, "at byte %" PRIu64, at);
	}
	codec_u8(&frame, &kind);
	if (kind == FRAME_LAST && frame.left == 0) {
		return 0;
	}
	if (kind != FRAME_TRACE) {
		return err_raise(err, -EINVAL, "at byte %" PRIu64 ": no trace starts there", at);
	}
	*ret = (struct partial_file_trace){ 0 };
	partial_file_trace_codec(&frame, ret);
	if (frame.is_wrong || frame.left > 0 || ret->range_begin >= ret->range_end) {
		partial_file_trace_fini(ret);
		return err_raise(err, -EINVAL, "at byte %" PRIu64 ": the trace is damaged", at);
	}
	return 1;
}

int partial_reader_checkpoint(struct partial_reader *in, struct codec *ret, struct err *err)
{
	uint64_t at = frame_reader_at(in->frames);
	int r = next_frame(in, ret, err);
	uint8_t kind = 0;

	if (r < 0) {
		return err_note(err, r, "at byte %" PRIu64, at);
	}
	codec_u8(ret, &kind);
	if (kind != FRAME_CHECKPOINT) {
		return err_raise(err, -EINVAL,
				 "at byte %" PRIu64 ": partials instead of a checkpoint", at);
	}
	return 0;
}

/*
 * Merges what can be merged.  Partials beyond that wait for streams that are behind.  The writer
 * held at most --max-memory of packets; partials take up to PARTIAL_FILE_HELD_FACTOR times that.
 */
static int make_room(struct trace *trace, struct err *err)
{
	struct engine *engine = trace->engine;
	uint64_t held;

	engine_step(engine, false, 0);
	engine_make_room(engine);
	held = engine_held_bytes(engine);
	if (held / PARTIAL_FILE_HELD_FACTOR > engine->config.max_memory) {
		return err_raise(err, -ENOMEM,
				 "%" PRIu64 " MiB wait for streams that are behind: "
				 "more than %d times --max-memory",
				 held >> 20, PARTIAL_FILE_HELD_FACTOR);
	}
	return 0;
}

int partial_reader_merge(struct partial_reader *in, struct trace *trace, const atomic_bool *stop,
			 struct err *err)
{
	struct partial_intake *intake = partial_intake_new(trace);
	int r = 0;

	while (r == 0 && !*stop) {
		uint64_t at = frame_reader_at(in->frames);
		const struct partial_rules rules = rules_of(intake);
		struct frame frame;

		r = frame_reader_next(in->frames, trace->engine, &rules, &frame, err);
		if (r == 0 && frame.partial) {
			r = take_decoded(intake, frame.number, frame.seq, frame.partial, err);
		} else if (r == 0) {
			r = partial_intake_take(intake, &frame.codec, err);
		}
		if (r == 0) {
			r = make_room(trace, err);
		}
		if (r < 0) {
			(void)err_note(err, r, "at byte %" PRIu64, at);
		}
	}
	frame_reader_drop(in->frames, trace->engine);
	partial_intake_free(intake);
	if (r >= 0) {
		trace_finish(trace, 0);
	}
	return r < 0 ? r : 0;
}
