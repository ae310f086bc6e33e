/*
 * frame-reader: see frame-reader.h.
 */
#include "engine/exchange/frame-reader.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/limits.h"
#include "engine/engine-state.h"
#include "engine/exchange/partial-file-frames.h"

#define FRAMES_AHEAD_MAX  64 /* and at most two per worker */
#define FRAME_LARGE_BYTES (16 << 20)

struct frame_slot {
	struct job job;
	ZSTD_DCtx *context;
	VEC(uint8_t) stored, bytes;
	uint64_t at; /* in the file */
	uint8_t kind;
	uint32_t len, stored_len;
	struct partial_rules rules;
	struct frame frame;
	int r; /* the result, with the reason in err */
	struct err err;
	bool is_under_way; /* the job is in the pool, and owns the slot */
};

struct frame_reader {
	FILE *file;
	uint64_t offset;
	struct frame_slot slots[FRAMES_AHEAD_MAX];
	size_t room; /* slots of the ring */
	size_t first, used;
	uint64_t bytes;          /* unpacked, of used slots */
	struct frame_slot *last; /* the caller uses its bytes */
	bool is_at_end;          /* the last used slot ends its trace, or could not be read */
};

struct frame_reader *frame_reader_new(FILE *file)
{
	struct frame_reader *in = mem_alloc(sizeof(*in));

	in->file = file;
	return in;
}

void frame_reader_free(struct frame_reader *in)
{
	if (!in) {
		return;
	}
	assert(in->used == 0); /* frame_reader_drop() */
	for (size_t i = 0; i < FRAMES_AHEAD_MAX; i++) {
		(void)ZSTD_freeDCtx(in->slots[i].context);
		vec_fini(&in->slots[i].stored);
		vec_fini(&in->slots[i].bytes);
	}
	free(in);
}

/* ---- reading ---- */

int frame_reader_raw(struct frame_reader *in, void *bytes, size_t len, struct err *err)
{
	if (fread(bytes, 1, len, in->file) == len) {
		in->offset += len;
		return 0;
	}
	return ferror(in->file) ? err_raise(err, -EIO, "reading: %s", strerror(errno))
				: err_raise(err, -EINVAL, "the file is cut");
}

static int read_frame(struct frame_reader *in, struct frame_slot *slot)
{
	uint32_t head[2];
	int r = frame_reader_raw(in, head, sizeof(head), &slot->err);

	r = r < 0 ? r : frame_reader_raw(in, &slot->kind, 1, &slot->err);
	if (r < 0) {
		return r;
	}
	slot->len = le32toh(head[0]);
	slot->stored_len = le32toh(head[1]);
	if (slot->len > PARTIAL_FILE_FRAME_BYTES_MAX || slot->len == 0 ||
	    slot->stored_len > ZSTD_compressBound(slot->len)) {
		return err_raise(&slot->err, -EINVAL, "a frame of %u bytes, stored in %u",
				 slot->len, slot->stored_len);
	}
	vec_reserve(&slot->stored, slot->stored_len);
	return frame_reader_raw(in, slot->stored.at, slot->stored_len, &slot->err);
}

/* ---- unpacking ---- */

static int unpack(struct frame_slot *slot)
{
	size_t len = slot->len, got;

	if (!slot->context) {
		slot->context = ZSTD_createDCtx();
		if (!slot->context) {
			abort(); /* as mem.c does */
		}
	}
	vec_reserve(&slot->bytes, len);
	got = ZSTD_decompressDCtx(slot->context, slot->bytes.at, len, slot->stored.at,
				  slot->stored_len);
	if (ZSTD_isError(got) || got != len || slot->bytes.at[0] != slot->kind) {
		return err_raise(&slot->err, -EINVAL, "a frame is damaged: %s",
				 ZSTD_isError(got) ? ZSTD_getErrorName(got)
						   : "another length or kind than its header has");
	}
	assert(len > 0); /* read_frame() refuses empty ones */
	slot->frame = (struct frame){ .codec = { .at = slot->bytes.at, .left = len } };
	return 0;
}

/* On an error the coordinator decodes the frame again, and reports the reason. */
static void read_partial(struct frame_slot *slot)
{
	struct frame *frame = &slot->frame;
	struct codec codec = frame->codec;
	struct err err;

	assert(slot->kind == FRAME_PARTIAL);
	frame->partial = partial_cache_take(slot->rules.setup->partial_cache);
	(void)codec_next(&codec, 1);
	codec_u32(&codec, &frame->number);
	codec_u64(&codec, &frame->seq);
	if (partial_codec(&codec, frame->partial, &slot->rules, &err) < 0 || codec.is_wrong ||
	    codec.left > 0) {
		partial_free(frame->partial);
		frame->partial = NULL;
	}
}

static void run(struct job *job, void *scratch)
{
	struct frame_slot *slot = (struct frame_slot *)job;

	slot->r = unpack(slot);
	if (slot->r == 0) {
		read_partial(slot);
	}
}

/* ---- ahead ---- */

static bool is_inside(uint8_t kind)
{
	return kind >= FRAME_CLASSES && kind < FRAME_FINISH;
}

static void add_one(struct frame_reader *in, struct engine *engine,
		    const struct partial_rules *rules)
{
	struct frame_slot *slot = &in->slots[(in->first + in->used++) % in->room];

	assert(in->used <= in->room);
	slot->at = in->offset;
	slot->len = 0;
	slot->frame = (struct frame){ 0 };
	slot->r = read_frame(in, slot);
	in->is_at_end = slot->r < 0 || !is_inside(slot->kind);
	in->bytes += slot->len;
	/* A job for a smaller frame costs more than it saves. */
	slot->is_under_way = slot->r == 0 && in->room > 1 && slot->kind == FRAME_PARTIAL;
	if (slot->is_under_way) {
		assert(engine && rules);
		slot->rules = *rules;
		slot->job = (struct job){ .run = run, .kind = JOB_FIND };
		engine_submit(engine, &slot->job);
	} else if (slot->r == 0) {
		slot->r = unpack(slot);
	}
}

static void set_room(struct frame_reader *in, const struct engine *engine)
{
	size_t workers = engine ? pool_workers(engine->pool) : 0;

	if (in->used > 0) {
		return;
	}
	/* A single worker is busy with merging. */
	in->room = workers <= 1 ? 1 : 2 * workers;
	in->room = in->room < FRAMES_AHEAD_MAX ? in->room : FRAMES_AHEAD_MAX;
	in->first = 0;
	assert(in->bytes == 0);
}

static bool has_room(const struct frame_reader *in, const struct engine *engine)
{
	return in->used == 0 ||
	       (!in->is_at_end && in->used < in->room && in->bytes < engine->config.max_memory / 4);
}

/* Keeps slots from holding the memory of the largest frame each. */
static void forget_large(struct frame_slot *slot)
{
	if (slot->len > FRAME_LARGE_BYTES) {
		vec_fini(&slot->stored);
		vec_fini(&slot->bytes);
	}
}

static struct frame_slot *take_first(struct frame_reader *in, struct engine *engine)
{
	struct frame_slot *slot = &in->slots[in->first];

	assert(in->used > 0);
	if (slot->is_under_way) {
		engine_await(engine, &slot->job);
		slot->is_under_way = false;
	}
	in->first = (in->first + 1) % in->room;
	in->used--;
	assert(in->bytes >= slot->len);
	in->bytes -= slot->len;
	return slot;
}

uint64_t frame_reader_at(const struct frame_reader *in)
{
	return in->used > 0 ? in->slots[in->first].at : in->offset;
}

int frame_reader_next(struct frame_reader *in, struct engine *engine,
		      const struct partial_rules *rules, struct frame *ret, struct err *err)
{
	struct frame_slot *slot;

	if (in->last) {
		assert(!in->last->is_under_way);
		forget_large(in->last);
	}
	set_room(in, engine);
	while (has_room(in, engine)) {
		add_one(in, engine, rules);
	}
	slot = in->last = take_first(in, engine);
	*ret = slot->frame;
	if (slot->r < 0) {
		*err = slot->err;
	}
	return slot->r;
}

void frame_reader_drop(struct frame_reader *in, struct engine *engine)
{
	while (in->used > 0) {
		partial_free(take_first(in, engine)->frame.partial);
	}
}
