/*
 * partial-file: setup, traces and writing; see partial-file.h.
 */
#include "engine/exchange/partial-file.h"

#include <assert.h>
#include <errno.h>
#include <zstd.h>

#include "base/hash.h"
#include "base/limits.h"
#include "engine/exchange/checkpoint.h"
#include "engine/exchange/partial-codec.h"
#include "engine/exchange/partial-file-frames.h"
#include "engine/tables/columns.h"

#define LEVEL 1 /* a third of the size; higher levels take much more time for little */

void partial_file_setup_fini(struct partial_file_setup *setup)
{
	vec_free_each(&setup->periods, free);
	free(setup->selection);
	setup->selection = NULL;
}

static bool same_analyses(const struct partial_file_setup *a, const struct partial_file_setup *b)
{
	size_t i = 0;

	while (a->analyses[i] && a->analyses[i] == b->analyses[i]) {
		i++;
	}
	return a->analyses[i] == b->analyses[i];
}

bool partial_file_setup_same(const struct partial_file_setup *a, const struct partial_file_setup *b)
{
	if (!same_analyses(a, b) || a->interval_ns != b->interval_ns ||
	    a->wants_windows != b->wants_windows || a->periods.count != b->periods.count ||
	    !a->selection != !b->selection ||
	    (a->selection && strcmp(a->selection, b->selection) != 0)) {
		return false;
	}
	for (size_t i = 0; i < a->periods.count; i++) {
		if (strcmp(a->periods.at[i], b->periods.at[i]) != 0) {
			return false;
		}
	}
	return true;
}

void partial_file_trace_fini(struct partial_file_trace *trace)
{
	free(trace->host);
	free(trace->session);
	free(trace->domain);
	free(trace->path);
	free(trace->tracer);
	free(trace->beside);
	*trace = (struct partial_file_trace){ 0 };
}

uint64_t partial_file_form(const struct analysis *analysis)
{
	uint64_t hash = hash_text(0, analysis->name);

	for (unsigned int t = 0; t < TABLES_MAX; t++) {
		const struct table *table = &analysis->tables[t];
		uint32_t count = column_count(table);

		hash = hash_bytes(hash, &table->scope, sizeof(table->scope));
		for (uint32_t c = 0; c < count; c++) {
			hash = hash_text(hash, table->columns[c].key);
			hash = hash_bytes(hash, &table->columns[c].kind,
					  sizeof(table->columns[c].kind));
		}
	}
	return hash;
}

/* ---- frames ---- */

struct partial_packer {
	ZSTD_CCtx *context;
	struct codec_out frame;
};

static void *packer_new(void)
{
	struct partial_packer *packer = mem_alloc(sizeof(*packer));

	packer->context = ZSTD_createCCtx();
	if (!packer->context) {
		abort(); /* as mem.c does */
	}
	(void)ZSTD_CCtx_setParameter(packer->context, ZSTD_c_compressionLevel, LEVEL);
	(void)ZSTD_CCtx_setParameter(packer->context, ZSTD_c_checksumFlag, 1);
	return packer;
}

static void packer_free(void *opaque)
{
	struct partial_packer *packer = opaque;

	if (packer) {
		(void)ZSTD_freeCCtx(packer->context);
		vec_fini(&packer->frame.bytes);
		free(packer);
	}
}

static struct codec begin_packed(struct partial_packer *packer, enum frame_kind kind)
{
	struct codec codec = { .out = &packer->frame };
	uint8_t byte = (uint8_t)kind;

	packer->frame.bytes.count = 0;
	codec_u8(&codec, &byte);
	return codec;
}

static void end_packed(struct partial_packer *packer, struct packed *packed)
{
	size_t len = packer->frame.bytes.count, bound = ZSTD_compressBound(len), stored;
	uint32_t head[2];
	size_t begin = sizeof(head) + 1;

	assert(len > 0); /* the kind, at least */
	packed->bytes.count = 0;
	packed->failure = len > PARTIAL_FILE_FRAME_BYTES_MAX ? EFBIG : 0;
	if (packed->failure) {
		return;
	}
	vec_reserve(&packed->bytes, begin + bound);
	stored = ZSTD_compress2(packer->context, packed->bytes.at + begin, bound,
				packer->frame.bytes.at, len);
	if (ZSTD_isError(stored)) { /* the room suffices, so memory is short */
		packed->failure = ENOMEM;
		return;
	}
	head[0] = htole32((uint32_t)len);
	head[1] = htole32((uint32_t)stored);
	memcpy(packed->bytes.at, head, sizeof(head));
	packed->bytes.at[sizeof(head)] =
		packer->frame.bytes.at[0]; /* readers need it before they unpack */
	assert(stored <= bound);
	packed->bytes.count = begin + stored;
}

static void pack(void *opaque, uint32_t number, uint64_t seq, struct partial *partial,
		 struct packed *packed)
{
	struct partial_packer *packer = opaque;
	struct codec codec = begin_packed(packer, FRAME_PARTIAL);

	codec_u32(&codec, &number);
	codec_u64(&codec, &seq);
	(void)partial_codec(&codec, partial, NULL, NULL); /* writing never fails */
	end_packed(packer, packed);
}

/* ---- writing ---- */

struct partial_writer {
	FILE *file;
	int failure; /* errno of the first write that failed, 0: none */
	struct partial_packer *packer;
	struct packed packed;
	size_t classes; /* event classes of the trace that are written */
	struct merger_account account;
	uint64_t first_ts, last_ts;      /* ns: events of the trace */
	uint64_t range_begin, range_end; /* of the trace */
	struct engine_export exporter;   /* the engine calls it */
};

static void write_bytes(struct partial_writer *out, const void *bytes, size_t len)
{
	if (out->failure == 0 && fwrite(bytes, 1, len, out->file) != len) {
		out->failure = errno ? errno : EIO;
	}
}

static void write_packed(struct partial_writer *out, const struct packed *packed)
{
	assert(packed->failure || packed->bytes.count > 0);
	out->failure = out->failure ? out->failure : packed->failure;
	write_bytes(out, packed->bytes.at, packed->bytes.count);
}

static struct codec begin_frame(struct partial_writer *out, enum frame_kind kind)
{
	return begin_packed(out->packer, kind);
}

static void end_frame(struct partial_writer *out)
{
	end_packed(out->packer, &out->packed);
	write_packed(out, &out->packed);
}

static void put_setup(struct partial_writer *out, const struct partial_file_setup *setup)
{
	struct partial_file_setup copy = *setup;
	struct codec codec = begin_frame(out, FRAME_SETUP);
	size_t count = 0;

	assert(setup->interval_ns > 0); /* take_setup() refuses 0 */
	codec_u64(&codec, &copy.interval_ns);
	codec_bool(&codec, &copy.wants_windows);
	while (setup->analyses[count]) {
		count++;
	}
	(void)codec_count(&codec, count, 1);
	for (size_t i = 0; i < count; i++) {
		uint64_t form = partial_file_form(setup->analyses[i]);

		codec_put_text(&codec, setup->analyses[i]->name);
		codec_u64(&codec, &form);
	}
	(void)codec_count(&codec, setup->periods.count, 1);
	for (size_t i = 0; i < setup->periods.count; i++) {
		codec_put_text(&codec, setup->periods.at[i]);
	}
	codec_text(&codec, &copy.selection);
	end_frame(out);
}

struct partial_writer *partial_writer_new(FILE *file, const struct partial_file_setup *setup)
{
	struct partial_writer *out = mem_alloc(sizeof(*out));
	uint32_t version = htole32(PARTIAL_FILE_VERSION);

	out->file = file;
	out->packer = packer_new();
	write_bytes(out, PARTIAL_FILE_MAGIC, PARTIAL_FILE_MAGIC_LEN);
	write_bytes(out, &version, sizeof(version));
	put_setup(out, setup);
	return out;
}

void partial_writer_free(struct partial_writer *out)
{
	if (out) {
		packer_free(out->packer);
		vec_fini(&out->packed.bytes);
		free(out);
	}
}

int partial_writer_check(struct partial_writer *out, struct err *err)
{
	if (out->failure == 0 && fflush(out->file) != 0) {
		out->failure = errno;
	}
	if (out->failure == EFBIG) {
		return err_raise(
			err, -EFBIG,
			"a frame would be more than %zu MiB: a smaller --chunk-size may help",
			PARTIAL_FILE_FRAME_BYTES_MAX >> 20);
	}
	return out->failure == 0 ? 0 : err_raise(err, -out->failure, "%s", strerror(out->failure));
}

void partial_writer_account(const struct partial_writer *out, struct merger_account *ret)
{
	*ret = out->account;
}

bool partial_writer_reaches_range(const struct partial_writer *out)
{
	return out->last_ts >= out->range_begin && out->first_ts < out->range_end;
}

void partial_file_trace_codec(struct codec *codec, struct partial_file_trace *trace)
{
	codec_text(codec, &trace->host);
	codec_text(codec, &trace->session);
	codec_text(codec, &trace->domain);
	codec_text(codec, &trace->path);
	codec_text(codec, &trace->tracer);
	codec_text(codec, &trace->beside);
	codec_each(codec, &trace->range_begin, &trace->range_end);
}

void partial_writer_trace(struct partial_writer *out, const struct partial_file_trace *trace)
{
	struct partial_file_trace copy = *trace;
	struct codec codec = begin_frame(out, FRAME_TRACE);

	assert(trace->range_begin < trace->range_end); /* readers refuse others */
	partial_file_trace_codec(&codec, &copy);
	out->classes = 0;
	out->first_ts = UINT64_MAX;
	out->last_ts = 0;
	out->range_begin = trace->range_begin;
	out->range_end = trace->range_end;
	end_frame(out);
}

void partial_writer_warning(struct partial_writer *out, const struct engine_warning *warning)
{
	struct codec codec = begin_frame(out, FRAME_WARNING);
	int64_t packet = warning->packet;
	uint64_t begin = warning->begin, end = warning->end;

	codec_put_text(&codec, warning->what);
	codec_put_text(&codec, warning->message);
	codec_put_text(&codec, warning->stream_name);
	codec_i64(&codec, &packet);
	codec_u64(&codec, &begin);
	codec_u64(&codec, &end);
	end_frame(out);
}

static void put_stream(void *user, uint32_t number, const struct stream_identity *identity)
{
	struct partial_writer *out = user;
	struct stream_identity copy = *identity;
	struct codec codec = begin_frame(out, FRAME_STREAM);

	assert(number < RELAY_STREAMS_MAX); /* readers refuse more */
	codec_u32(&codec, &number);
	partial_codec_identity(&codec, &copy);
	end_frame(out);
}

/* Writes event classes that are not in the file yet. */
static void put_classes(struct partial_writer *out, const struct plan *plan)
{
	struct codec codec = begin_frame(out, FRAME_CLASSES);

	assert(out->classes < plan->class_count);
	assert(plan->class_count <= EVENT_CLASSES_MAX); /* readers refuse more */
	(void)codec_count(&codec, plan->class_count - out->classes, 1);
	for (; out->classes < plan->class_count; out->classes++) {
		codec_put_text(&codec, plan->classes[out->classes]->class->name);
	}
	end_frame(out);
}

static void put_partial(void *user, const struct packed *packed, const struct partial *partial,
			const struct plan *plan)
{
	struct partial_writer *out = user;

	if (out->classes < plan->class_count) {
		put_classes(out, plan);
	}
	out->account.events += partial->events;
	out->account.packets += partial->packets;
	out->account.bytes += partial->bytes;
	out->first_ts = partial->first_ts < out->first_ts ? partial->first_ts : out->first_ts;
	out->last_ts = partial->last_ts > out->last_ts ? partial->last_ts : out->last_ts;
	write_packed(out, packed);
}

static void put_known(void *user, uint32_t number, uint64_t seq, uint64_t ts)
{
	struct partial_writer *out = user;
	struct codec codec = begin_frame(out, FRAME_KNOWN);

	codec_u32(&codec, &number);
	codec_u64(&codec, &seq);
	codec_u64(&codec, &ts);
	end_frame(out);
}

static void put_end(void *user, uint32_t number, uint64_t seq)
{
	struct partial_writer *out = user;
	struct codec codec = begin_frame(out, FRAME_END);

	codec_u32(&codec, &number);
	codec_u64(&codec, &seq);
	end_frame(out);
}

static void put_finish(void *user, uint64_t lost)
{
	struct partial_writer *out = user;
	struct codec codec = begin_frame(out, FRAME_FINISH);

	codec_u64(&codec, &lost);
	end_frame(out);
}

const struct engine_export *partial_writer_export(struct partial_writer *out)
{
	out->exporter = (struct engine_export){ .user = out,
						.packer_new = packer_new,
						.packer_free = packer_free,
						.pack = pack,
						.stream = put_stream,
						.partial = put_partial,
						.known = put_known,
						.end = put_end,
						.finish = put_finish };
	return &out->exporter;
}

void partial_writer_checkpoint(struct partial_writer *out, const struct partial_file_trace *trace,
			       uint8_t *bytes, size_t len)
{
	struct codec codec;

	assert(len >= 16); /* the UUID comes first */
	partial_writer_trace(out, trace);
	codec = begin_frame(out, FRAME_CHECKPOINT);
	codec_bytes(&codec, bytes, len);
	end_frame(out);
}

void partial_writer_last(struct partial_writer *out)
{
	(void)begin_frame(out, FRAME_LAST);
	end_frame(out);
}
