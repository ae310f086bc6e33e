/*
 * partials: see partials.h.
 */
#include "engine/partials.h"

#include <errno.h>
#include <inttypes.h>
#include <zstd.h>

#include "base/limits.h"
#include "engine/columns.h"
#include "engine/merge-state.h"
#include "engine/partial-flat.h"

/* To be raised whenever a frame, a record or what stands beside it means something else. */
#define VERSION 1

static const char magic[16] = { 's', 'i', 'l', 'l', 'a', 'g', 'e', ' ',
				'p', 'a', 'r', 't', 'i', 'a', 'l', 's' };

enum frame_kind {
	FRAME_SETUP,
	FRAME_TRACE,
	FRAME_CLASSES,
	FRAME_STREAM,
	FRAME_PARTIAL,
	FRAME_KNOWN,
	FRAME_END,
	FRAME_WARNING,
	FRAME_FINISH,
	FRAME_LAST,
	FRAME_STATE,
};

#define LEVEL 1 /* a third of the size; higher ones take much more time for little */

void partials_setup_fini(struct partials_setup *setup)
{
	for (size_t i = 0; i < setup->periods.count; i++) {
		free(setup->periods.at[i]);
	}
	vec_fini(&setup->periods);
}

bool partials_setup_same(const struct partials_setup *a, const struct partials_setup *b)
{
	if (memcmp(a->analyses, b->analyses, sizeof(a->analyses)) != 0 ||
	    a->interval_ns != b->interval_ns || a->wants_windows != b->wants_windows ||
	    a->periods.count != b->periods.count) {
		return false;
	}
	for (size_t i = 0; i < a->periods.count; i++) {
		if (strcmp(a->periods.at[i], b->periods.at[i]) != 0) {
			return false;
		}
	}
	return true;
}

void partials_trace_fini(struct partials_trace *trace)
{
	free(trace->host);
	free(trace->session);
	free(trace->domain);
	free(trace->path);
	*trace = (struct partials_trace){ 0 };
}

/* What the tables of an analysis are: items are written by column. */
static uint64_t form_of(const struct analysis *analysis)
{
	uint64_t hash = map_hash(0, analysis->name);

	for (unsigned int t = 0; t < TABLES_MAX; t++) {
		const struct table *table = &analysis->tables[t];
		uint32_t count = column_count(table);

		hash = map_hash_bytes(hash, &table->scope, sizeof(table->scope));
		for (uint32_t c = 0; c < count; c++) {
			hash = map_hash(hash, table->columns[c].key);
			hash = map_hash_bytes(hash, &table->columns[c].kind,
					      sizeof(table->columns[c].kind));
		}
	}
	return hash;
}

/* ---- frames ---- */

struct partials_packer {
	ZSTD_CCtx *context;
	struct flat_out frame;
};

struct partials_packer *partials_packer_new(void)
{
	struct partials_packer *packer = mem_alloc(sizeof(*packer));

	packer->context = ZSTD_createCCtx();
	if (!packer->context) {
		abort(); /* as mem.c does */
	}
	(void)ZSTD_CCtx_setParameter(packer->context, ZSTD_c_compressionLevel, LEVEL);
	(void)ZSTD_CCtx_setParameter(packer->context, ZSTD_c_checksumFlag, 1);
	return packer;
}

void partials_packer_free(struct partials_packer *packer)
{
	if (packer) {
		(void)ZSTD_freeCCtx(packer->context);
		vec_fini(&packer->frame.bytes);
		free(packer);
	}
}

static struct flat_out *begin_packed(struct partials_packer *packer, enum frame_kind kind)
{
	packer->frame.bytes.count = 0;
	flat_put_u8(&packer->frame, (uint8_t)kind);
	return &packer->frame;
}

static void end_packed(struct partials_packer *packer, struct packed *packed)
{
	size_t len = packer->frame.bytes.count, bound = ZSTD_compressBound(len), stored;
	uint32_t head[2];

	packed->bytes.count = 0;
	packed->failure = len > PARTIALS_FRAME_BYTES_MAX ? EFBIG : 0;
	if (packed->failure) {
		return;
	}
	vec_reserve(&packed->bytes, sizeof(head) + bound);
	stored = ZSTD_compress2(packer->context, packed->bytes.at + sizeof(head), bound,
				packer->frame.bytes.at, len);
	if (ZSTD_isError(stored)) { /* there is room enough, so it can only be memory */
		packed->failure = ENOMEM;
		return;
	}
	head[0] = htole32((uint32_t)len);
	head[1] = htole32((uint32_t)stored);
	memcpy(packed->bytes.at, head, sizeof(head));
	packed->bytes.count = sizeof(head) + stored;
}

void partials_pack(struct partials_packer *packer, uint32_t number, uint64_t seq,
		   const struct partial *partial, struct packed *packed)
{
	struct flat_out *frame = begin_packed(packer, FRAME_PARTIAL);

	flat_put_u32(frame, number);
	flat_put_u64(frame, seq);
	partial_write(partial, frame);
	end_packed(packer, packed);
}

/* ---- writing ---- */

struct partials_out {
	FILE *file;
	int failure; /* errno of the first write that failed, 0: none */
	struct partials_packer *packer;
	struct packed packed;
	size_t classes; /* of the trace, that were written */
	struct merge_account account;
};

static void write_bytes(struct partials_out *out, const void *bytes, size_t len)
{
	if (out->failure == 0 && fwrite(bytes, 1, len, out->file) != len) {
		out->failure = errno ? errno : EIO;
	}
}

static void write_packed(struct partials_out *out, const struct packed *packed)
{
	out->failure = out->failure ? out->failure : packed->failure;
	write_bytes(out, packed->bytes.at, packed->bytes.count);
}

static struct flat_out *begin_frame(struct partials_out *out, enum frame_kind kind)
{
	return begin_packed(out->packer, kind);
}

static void end_frame(struct partials_out *out)
{
	end_packed(out->packer, &out->packed);
	write_packed(out, &out->packed);
}

struct partials_out *partials_out_new(FILE *file, const struct partials_setup *setup)
{
	struct partials_out *out = mem_alloc(sizeof(*out));
	uint32_t version = htole32(VERSION), count = 0;
	struct flat_out *frame;

	out->file = file;
	out->packer = partials_packer_new();
	write_bytes(out, magic, sizeof(magic));
	write_bytes(out, &version, sizeof(version));
	frame = begin_frame(out, FRAME_SETUP);
	flat_put_u64(frame, setup->interval_ns);
	flat_put_u8(frame, setup->wants_windows);
	while (setup->analyses[count]) {
		count++;
	}
	flat_put_u32(frame, count);
	for (uint32_t i = 0; i < count; i++) {
		flat_put_text(frame, setup->analyses[i]->name);
		flat_put_u64(frame, form_of(setup->analyses[i]));
	}
	flat_put_u32(frame, (uint32_t)setup->periods.count);
	for (size_t i = 0; i < setup->periods.count; i++) {
		flat_put_text(frame, setup->periods.at[i]);
	}
	end_frame(out);
	return out;
}

void partials_out_free(struct partials_out *out)
{
	if (out) {
		partials_packer_free(out->packer);
		vec_fini(&out->packed.bytes);
		free(out);
	}
}

int partials_out_check(struct partials_out *out, struct err *err)
{
	if (out->failure == 0 && fflush(out->file) != 0) {
		out->failure = errno;
	}
	if (out->failure == EFBIG) {
		return err_raise(
			err, -EFBIG,
			"what a chunk gave is more than %zu MiB: --chunk-size is too large",
			PARTIALS_FRAME_BYTES_MAX >> 20);
	}
	return out->failure == 0 ? 0 : err_raise(err, -out->failure, "%s", strerror(out->failure));
}

void partials_out_account(const struct partials_out *out, struct merge_account *ret)
{
	*ret = out->account;
}

void partials_put_trace(struct partials_out *out, const struct partials_trace *trace)
{
	struct flat_out *frame = begin_frame(out, FRAME_TRACE);

	flat_put_text(frame, trace->host);
	flat_put_text(frame, trace->session);
	flat_put_text(frame, trace->domain);
	flat_put_text(frame, trace->path);
	flat_put_u64(frame, trace->range_begin);
	flat_put_u64(frame, trace->range_end);
	out->classes = 0;
	end_frame(out);
}

void partials_put_warning(struct partials_out *out, const struct engine_warning *warning)
{
	struct flat_out *frame = begin_frame(out, FRAME_WARNING);

	flat_put_text(frame, warning->what);
	flat_put_text(frame, warning->message);
	flat_put_text(frame, warning->stream_name);
	flat_put_u64(frame, (uint64_t)warning->packet);
	end_frame(out);
}

void partials_put_stream(struct partials_out *out, uint32_t number,
			 const struct stream_identity *identity)
{
	struct flat_out *frame = begin_frame(out, FRAME_STREAM);

	flat_put_u32(frame, number);
	flat_put_u64(frame, identity->class_id);
	flat_put_u64(frame, identity->cpu_id);
	flat_put_u64(frame, identity->instance_id);
	flat_put_u8(frame, identity->has_switches);
	flat_put_u8(frame, identity->starts_late);
	flat_put_u64(frame, identity->begin);
	end_frame(out);
}

/* Event classes that are not in the file yet. */
static void put_classes(struct partials_out *out, const struct plan *plan)
{
	struct flat_out *frame = begin_frame(out, FRAME_CLASSES);

	flat_put_u32(frame, (uint32_t)(plan->class_count - out->classes));
	for (; out->classes < plan->class_count; out->classes++) {
		flat_put_text(frame, plan->classes[out->classes]->class->name);
	}
	end_frame(out);
}

void partials_put_partial(struct partials_out *out, const struct packed *packed,
			  const struct partial *partial, const struct plan *plan)
{
	if (out->classes < plan->class_count) {
		put_classes(out, plan);
	}
	out->account.events += partial->events;
	out->account.packets += partial->packets;
	out->account.bytes += partial->bytes;
	write_packed(out, packed);
}

void partials_put_known(struct partials_out *out, uint32_t number, uint64_t seq, uint64_t ts)
{
	struct flat_out *frame = begin_frame(out, FRAME_KNOWN);

	flat_put_u32(frame, number);
	flat_put_u64(frame, seq);
	flat_put_u64(frame, ts);
	end_frame(out);
}

void partials_put_end(struct partials_out *out, uint32_t number, uint64_t seq)
{
	struct flat_out *frame = begin_frame(out, FRAME_END);

	flat_put_u32(frame, number);
	flat_put_u64(frame, seq);
	end_frame(out);
}

void partials_put_finish(struct partials_out *out)
{
	(void)begin_frame(out, FRAME_FINISH);
	end_frame(out);
}

void partials_put_state(struct partials_out *out, const struct partials_trace *trace,
			const uint8_t *bytes, size_t len)
{
	struct flat_out *frame;

	partials_put_trace(out, trace);
	frame = begin_frame(out, FRAME_STATE);
	flat_put(frame, bytes, len);
	end_frame(out);
}

void partials_put_last(struct partials_out *out)
{
	(void)begin_frame(out, FRAME_LAST);
	end_frame(out);
}

/* ---- merging ---- */

struct partials_merging {
	struct trace *trace;
	struct merge *merge;
	uint32_t classes;
	VEC(struct merge_stream *) streams; /* by number; NULL: there is none */
};

struct partials_merging *partials_merging_new(struct trace *trace)
{
	struct partials_merging *merging = mem_alloc(sizeof(*merging));

	merging->trace = trace;
	merging->merge = trace_merge(trace);
	return merging;
}

void partials_merging_free(struct partials_merging *merging)
{
	if (merging) {
		vec_fini(&merging->streams);
		free(merging);
	}
}

static int take_classes(struct partials_merging *merging, struct flat_in *frame, struct err *err)
{
	uint32_t count = flat_get_count(frame, sizeof(uint32_t));

	if (count > EVENT_CLASSES_MAX - merging->classes) {
		return err_raise(err, -EINVAL, "more than %d event classes", EVENT_CLASSES_MAX);
	}
	for (uint32_t i = 0; i < count; i++) {
		char *name = flat_get_text(frame);

		merge_add_class(merging->merge, name ? name : "");
		free(name);
	}
	merging->classes += count;
	return 0;
}

static int take_stream(struct partials_merging *merging, struct flat_in *frame, struct err *err)
{
	uint32_t number = flat_get_u32(frame);
	struct stream_identity identity = { .class_id = flat_get_u64(frame) };

	identity.cpu_id = flat_get_u64(frame);
	identity.instance_id = flat_get_u64(frame);
	identity.has_switches = flat_get_u8(frame) != 0;
	identity.starts_late = flat_get_u8(frame) != 0;
	identity.begin = flat_get_u64(frame);
	if (number >= RELAY_STREAMS_MAX) {
		return err_raise(err, -EINVAL, "stream %u: more than %d", number,
				 RELAY_STREAMS_MAX);
	}
	while (merging->streams.count <= number) {
		*vec_push(&merging->streams) = NULL;
	}
	if (merging->streams.at[number] || frame->is_short) {
		return err_raise(err, -EINVAL, "stream %u is told twice, or not all of it", number);
	}
	merging->streams.at[number] = merge_stream_new(merging->merge);
	merge_stream_identify(merging->streams.at[number], &identity);
	return 0;
}

/* The stream of a frame, and how many of its chunks come before; NULL: there is none such. */
static struct merge_stream *stream_of(const struct partials_merging *merging, struct flat_in *frame,
				      uint64_t *ret_seq, struct err *err)
{
	uint32_t number = flat_get_u32(frame);
	struct merge_stream *stream =
		number < merging->streams.count ? merging->streams.at[number] : NULL;

	*ret_seq = flat_get_u64(frame);
	if (!stream) {
		(void)err_raise(err, -EINVAL, "there is no stream %u", number);
	}
	return stream;
}

/* Whether a chunk of this number can still come. */
static bool is_awaited(const struct merge_stream *stream, uint64_t seq)
{
	for (size_t i = 0; i < stream->early.count; i++) {
		if (stream->early.at[i].seq == seq) {
			return false;
		}
	}
	return seq >= stream->next_seq && seq < stream->end_seq;
}

static int take_partial(struct partials_merging *merging, struct flat_in *frame, struct err *err)
{
	uint64_t seq;
	struct merge_stream *stream = stream_of(merging, frame, &seq, err);
	struct partial *partial;
	int r;

	if (!stream) {
		return -EINVAL;
	}
	if (!is_awaited(stream, seq)) {
		return err_raise(err, -EINVAL, "chunk %" PRIu64 " comes twice, or after the last",
				 seq);
	}
	partial = shelf_take(merging->merge->setup->shelf);
	r = partial_read(partial, frame, merging->merge->setup, merging->classes, PARTIAL_OF_WORKER,
			 err);
	if (r < 0) {
		partial_free(partial);
		return r;
	}
	merge_take(stream, seq, partial);
	return 0;
}

static int take_known(struct partials_merging *merging, struct flat_in *frame, struct err *err)
{
	uint64_t seq, ts;
	struct merge_stream *stream = stream_of(merging, frame, &seq, err);

	if (!stream) {
		return -EINVAL;
	}
	ts = flat_get_u64(frame);
	merge_stream_known(stream, seq, ts);
	return 0;
}

static int take_end(struct partials_merging *merging, struct flat_in *frame, struct err *err)
{
	uint64_t seq;
	struct merge_stream *stream = stream_of(merging, frame, &seq, err);

	if (!stream) {
		return -EINVAL;
	}
	if (seq < stream->next_seq || stream->end_seq != UINT64_MAX) {
		return err_raise(err, -EINVAL, "it ends twice, or before what it had");
	}
	merge_stream_end(stream, seq);
	return 0;
}

static int take_warning(const struct partials_merging *merging, struct flat_in *frame)
{
	struct engine_warning warning = { .packet = -1 };
	char *what = flat_get_text(frame), *message = flat_get_text(frame);
	char *stream = flat_get_text(frame);

	warning.what = what ? what : "trace";
	warning.stream_name = stream;
	warning.packet = (int64_t)flat_get_u64(frame);
	(void)snprintf(warning.message, sizeof(warning.message), "%s", message ? message : "");
	if (!frame->is_short) {
		trace_warn(merging->trace, &warning);
	}
	free(what);
	free(message);
	free(stream);
	return 0;
}

static int take_state(const struct partials_merging *merging, struct flat_in *frame,
		      struct err *err)
{
	struct flat flat = { .in = frame };

	if (merging->streams.count > 0 || merging->classes > 0) {
		return err_raise(err, -EINVAL, "a state behind what is merged");
	}
	(void)flat_get(frame, 16); /* its UUID */
	trace_flat(merging->trace, &flat);
	return flat_check(&flat, true) ? 1 : err_raise(err, -EINVAL, "a state that cannot be");
}

/* Whether all is there that was announced. */
static int take_finish(const struct partials_merging *merging, struct err *err)
{
	for (size_t i = 0; i < merging->streams.count; i++) {
		const struct merge_stream *stream = merging->streams.at[i];

		if (stream && !stream->is_ended) {
			return err_raise(err, -EINVAL, "stream %zu lacks chunks, or its end", i);
		}
	}
	return 1;
}

static int take(struct partials_merging *merging, struct flat_in *frame, struct err *err)
{
	uint8_t kind = flat_get_u8(frame);

	switch ((enum frame_kind)kind) {
	case FRAME_CLASSES:
		return take_classes(merging, frame, err);
	case FRAME_STREAM:
		return take_stream(merging, frame, err);
	case FRAME_PARTIAL:
		return take_partial(merging, frame, err);
	case FRAME_KNOWN:
		return take_known(merging, frame, err);
	case FRAME_END:
		return take_end(merging, frame, err);
	case FRAME_WARNING:
		return take_warning(merging, frame);
	case FRAME_FINISH:
		return take_finish(merging, err);
	case FRAME_STATE:
		return take_state(merging, frame, err);
	case FRAME_SETUP:
	case FRAME_TRACE:
	case FRAME_LAST:
	default:
		return err_raise(err, -EINVAL, "a frame of kind %u, where none can be", kind);
	}
}

int partials_merging_take(struct partials_merging *merging, struct flat_in *frame, struct err *err)
{
	int r = take(merging, frame, err);

	if (r >= 0 && (frame->is_short || frame->left > 0)) {
		return err_raise(err, -EINVAL, "it is shorter or longer than it says");
	}
	return r;
}

/* ---- reading ---- */

struct partials_in {
	FILE *file;
	const struct analysis *const *all;
	uint64_t offset; /* of the frame */
	ZSTD_DCtx *context;
	struct partials_setup setup;
	VEC(uint8_t) stored, bytes;
};

static int short_file(const struct partials_in *in, struct err *err)
{
	return ferror(in->file) ? err_raise(err, -EIO, "reading: %s", strerror(errno))
				: err_raise(err, -EINVAL, "it ends in the middle");
}

static int next_frame(struct partials_in *in, struct flat_in *ret, struct err *err)
{
	uint32_t head[2], len, stored;
	size_t got = fread(head, 1, sizeof(head), in->file);

	if (got < sizeof(head)) {
		return short_file(in, err);
	}
	len = le32toh(head[0]);
	stored = le32toh(head[1]);
	if (len > PARTIALS_FRAME_BYTES_MAX || stored > ZSTD_compressBound(len)) {
		return err_raise(err, -EINVAL, "a frame of %u bytes, stored in %u", len, stored);
	}
	vec_reserve(&in->stored, stored);
	vec_reserve(&in->bytes, len);
	if (fread(in->stored.at, 1, stored, in->file) < stored) {
		return short_file(in, err);
	}
	got = ZSTD_decompressDCtx(in->context, in->bytes.at, len, in->stored.at, stored);
	if (ZSTD_isError(got) || got != len) {
		return err_raise(err, -EINVAL, "a frame is damaged: %s",
				 ZSTD_isError(got) ? ZSTD_getErrorName(got)
						   : "not so long as it says");
	}
	in->offset += sizeof(head) + stored;
	*ret = (struct flat_in){ .at = in->bytes.at, .left = len };
	return 0;
}

static const struct analysis *find_analysis(const struct partials_in *in, const char *name)
{
	for (size_t i = 0; in->all[i]; i++) {
		if (strcmp(in->all[i]->name, name) == 0) {
			return in->all[i];
		}
	}
	return NULL;
}

/* In the order of the list, each once: as options give them. */
static int take_analyses(struct partials_in *in, struct flat_in *frame, struct err *err)
{
	uint32_t count = flat_get_count(frame, 12);
	const struct analysis *const *last = NULL, *const * at;

	for (uint32_t i = 0; i < count; i++) {
		char *name = flat_get_text(frame);
		const struct analysis *analysis = name ? find_analysis(in, name) : NULL;
		bool is_same = flat_get_u64(frame) == (analysis ? form_of(analysis) : 0);

		free(name);
		for (at = last ? last + 1 : in->all; *at && *at != analysis;) {
			at++;
		}
		if (!analysis || !is_same || !*at) {
			return err_raise(err, -EINVAL,
					 "analysis %u is none of this version of sillage", i);
		}
		last = at;
		in->setup.analyses[i] = analysis;
	}
	return 0;
}

static int take_setup(struct partials_in *in, struct flat_in *frame, struct err *err)
{
	uint32_t count;
	int r;

	if (flat_get_u8(frame) != FRAME_SETUP) {
		return err_raise(err, -EINVAL, "it does not begin with what was asked for");
	}
	in->setup.interval_ns = flat_get_u64(frame);
	in->setup.wants_windows = flat_get_u8(frame) != 0;
	r = take_analyses(in, frame, err);
	if (r < 0) {
		return r;
	}
	count = flat_get_count(frame, sizeof(uint32_t));
	for (uint32_t i = 0; i < count; i++) {
		char *text = flat_get_text(frame);

		*vec_push(&in->setup.periods) = text ? text : mem_strdup("");
	}
	if (frame->is_short || frame->left > 0 || in->setup.interval_ns == 0) {
		return err_raise(err, -EINVAL, "what was asked for is not whole");
	}
	return 0;
}

static int begin(struct partials_in *in, struct err *err)
{
	char found[sizeof(magic)];
	uint32_t version;
	struct flat_in frame;
	int r;

	if (fread(found, 1, sizeof(found), in->file) < sizeof(found) ||
	    memcmp(found, magic, sizeof(magic)) != 0) {
		return err_raise(err, -EINVAL, "not a file that sillage map wrote");
	}
	if (fread(&version, 1, sizeof(version), in->file) < sizeof(version)) {
		return short_file(in, err);
	}
	if (le32toh(version) != VERSION) {
		return err_raise(err, -EINVAL, "version %u; this sillage reads version %d",
				 le32toh(version), VERSION);
	}
	in->offset = sizeof(magic) + sizeof(version);
	r = next_frame(in, &frame, err);
	return r < 0 ? r : take_setup(in, &frame, err);
}

int partials_in_new(FILE *file, const struct analysis *const *all, struct partials_in **ret,
		    struct err *err)
{
	struct partials_in *in = mem_alloc(sizeof(*in));
	int r;

	in->file = file;
	in->all = all;
	in->context = ZSTD_createDCtx();
	if (!in->context) {
		abort(); /* as mem.c does */
	}
	r = begin(in, err);
	if (r < 0) {
		partials_in_free(in);
		return r;
	}
	*ret = in;
	return 0;
}

void partials_in_free(struct partials_in *in)
{
	if (in) {
		(void)ZSTD_freeDCtx(in->context);
		partials_setup_fini(&in->setup);
		vec_fini(&in->stored);
		vec_fini(&in->bytes);
		free(in);
	}
}

const struct partials_setup *partials_in_setup(const struct partials_in *in)
{
	return &in->setup;
}

int partials_in_trace(struct partials_in *in, struct partials_trace *ret, struct err *err)
{
	uint64_t at = in->offset;
	struct flat_in frame;
	int r = next_frame(in, &frame, err);
	uint8_t kind;

	if (r < 0) {
		return err_note(err, r, "at byte %" PRIu64, at);
	}
	kind = flat_get_u8(&frame);
	if (kind == FRAME_LAST && frame.left == 0) {
		return 0;
	}
	if (kind != FRAME_TRACE) {
		return err_raise(err, -EINVAL, "at byte %" PRIu64 ": no trace begins there", at);
	}
	*ret = (struct partials_trace){ .host = flat_get_text(&frame) };
	ret->session = flat_get_text(&frame);
	ret->domain = flat_get_text(&frame);
	ret->path = flat_get_text(&frame);
	ret->range_begin = flat_get_u64(&frame);
	ret->range_end = flat_get_u64(&frame);
	if (frame.is_short || frame.left > 0 || ret->range_begin >= ret->range_end) {
		partials_trace_fini(ret);
		return err_raise(err, -EINVAL, "at byte %" PRIu64 ": the trace is not told whole",
				 at);
	}
	return 1;
}

int partials_in_state(struct partials_in *in, struct flat_in *ret, struct err *err)
{
	uint64_t at = in->offset;
	int r = next_frame(in, ret, err);

	if (r < 0) {
		return err_note(err, r, "at byte %" PRIu64, at);
	}
	if (flat_get_u8(ret) != FRAME_STATE) {
		return err_raise(err, -EINVAL, "at byte %" PRIu64 ": not a state, but partials",
				 at);
	}
	return 0;
}

/*
 * Merges what can be.  What is held beyond the bound waits for streams that have not come so far:
 * whoever wrote it held no more than that bound either, but in packets.
 */
static int make_room(struct trace *trace, struct err *err)
{
	struct engine *engine = trace_engine(trace);
	uint64_t held;

	engine_step(engine, false, 0);
	while (!engine_has_room(engine) && engine_in_flight(engine) > 0) {
		engine_step(engine, true, 0);
	}
	held = engine_held_bytes(engine);
	if (held / PARTIALS_HELD_FACTOR > engine_max_memory(engine)) {
		return err_raise(err, -ENOMEM,
				 "%" PRIu64 " MiB wait for streams that are behind: "
				 "more than %d times --max-memory",
				 held >> 20, PARTIALS_HELD_FACTOR);
	}
	return 0;
}

int partials_in_merge(struct partials_in *in, struct trace *trace, const atomic_bool *stop,
		      struct err *err)
{
	struct partials_merging *merging = partials_merging_new(trace);
	int r = 0;

	while (r == 0 && !*stop) {
		uint64_t at = in->offset;
		struct flat_in frame;

		r = next_frame(in, &frame, err);
		r = r < 0 ? r : partials_merging_take(merging, &frame, err);
		if (r == 0) {
			r = make_room(trace, err);
		}
		if (r < 0) {
			(void)err_note(err, r, "at byte %" PRIu64, at);
		}
	}
	partials_merging_free(merging);
	if (r >= 0) {
		trace_finish(trace, 0);
	}
	return r < 0 ? r : 0;
}
