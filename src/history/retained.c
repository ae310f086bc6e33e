/*
 * kept: see kept.h.
 */
#include "history/retained.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/mem.h"
#include "base/now.h"

/* A quarter faster than level 1, and 3 to 5 % larger (doc/performance.md). */
#define LEVEL (-1)

/* Of its time that a worker packs, and how much of that it can save up. */
#define SHARE    10
#define SAVED_NS ((int64_t)100000000)

struct kept_packer {
	ZSTD_CCtx *context;
	uint64_t last_ns;  /* monotonic */
	int64_t credit_ns; /* it may pack for so long */
	uint8_t *room;
	size_t size;
};

struct kept *kept_new(const struct packet_info *info, uint8_t *bytes, uint64_t len)
{
	struct kept *kept = mem_alloc(sizeof(*kept));

	atomic_init(&kept->refs, 1);
	kept->bytes = bytes;
	kept->stored = len;
	kept->len = len;
	kept->info = *info;
	kept->info.stream = NULL;
	kept->class_id = info->stream->id;
	return kept;
}

struct kept *kept_ref(struct kept *kept)
{
	(void)atomic_fetch_add(&kept->refs, 1);
	return kept;
}

void kept_unref(struct kept *kept)
{
	if (kept && atomic_fetch_sub(&kept->refs, 1) == 1) {
		free(kept->bytes);
		kept_segment_unref(kept->segment);
		free(kept);
	}
}

void kept_spill(struct kept *kept, struct kept_store *store)
{
	kept->segment = kept_store_put(store, kept->bytes, kept->stored, &kept->offset);
	if (kept->segment) {
		free(kept->bytes);
		kept->bytes = NULL;
	}
}

struct kept_packer *kept_packer_new(void)
{
	struct kept_packer *packer = mem_alloc(sizeof(*packer));

	packer->context = ZSTD_createCCtx();
	if (!packer->context) {
		abort(); /* as mem.c does */
	}
	(void)ZSTD_CCtx_setParameter(packer->context, ZSTD_c_compressionLevel, LEVEL);
	packer->last_ns = now_monotonic_ns();
	packer->credit_ns = SAVED_NS;
	return packer;
}

static void pack(struct kept *kept, struct kept_packer *packer)
{
	size_t bound = ZSTD_compressBound(kept->len), got;

	if (packer->size < bound) {
		free(packer->room);
		packer->room = mem_alloc(bound);
		packer->size = bound;
	}
	got = ZSTD_compress2(packer->context, packer->room, bound, kept->bytes, kept->len);
	if (ZSTD_isError(got) || got >= kept->len) {
		return;
	}
	free(kept->bytes);
	kept->bytes = mem_alloc(got);
	memcpy(kept->bytes, packer->room, got);
	kept->stored = got;
	kept->is_packed = true;
}

void kept_pack(struct kept *kept, struct kept_packer *packer)
{
	uint64_t begin = now_monotonic_ns();

	packer->credit_ns += (int64_t)((begin - packer->last_ns) / SHARE);
	packer->credit_ns = packer->credit_ns > SAVED_NS ? SAVED_NS : packer->credit_ns;
	packer->last_ns = begin;
	if (packer->credit_ns > 0) {
		pack(kept, packer);
		packer->credit_ns -= (int64_t)(now_monotonic_ns() - begin);
	}
}

void kept_packer_free(struct kept_packer *packer)
{
	if (packer) {
		(void)ZSTD_freeCCtx(packer->context);
		free(packer->room);
		free(packer);
	}
}

static void make_room(uint8_t **room, uint64_t *size, uint64_t wanted)
{
	if (*size < wanted) {
		free(*room);
		*room = mem_alloc(wanted);
		*size = wanted;
	}
}

static bool unpack(const struct kept *kept, const uint8_t *stored, uint8_t *room)
{
	return ZSTD_decompress(room, kept->len, stored, kept->stored) == kept->len;
}

static const uint8_t *bytes_on_disk(const struct kept *kept, uint8_t *room)
{
	uint8_t *stored = kept->is_packed ? mem_alloc(kept->stored) : room;
	bool is_read = kept_segment_read(kept->segment, kept->offset, stored, kept->stored);

	if (kept->is_packed) {
		is_read = is_read && unpack(kept, stored, room);
		free(stored);
	}
	return is_read ? room : NULL;
}

const uint8_t *kept_bytes(const struct kept *kept, uint8_t **room, uint64_t *size)
{
	bool is_ours;

	if (kept->bytes && !kept->is_packed) {
		return kept->bytes;
	}
	make_room(room, size, kept->len);
	if (kept->segment) {
		return bytes_on_disk(kept, *room);
	}
	is_ours = unpack(kept, kept->bytes, *room);
	assert(is_ours); /* nobody else has made it: it is what it was */
	(void)is_ours;
	return *room;
}
