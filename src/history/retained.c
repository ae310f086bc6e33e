/*
 * retained: see retained.h.
 */
#include "history/retained.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/account.h"
#include "base/mem.h"
#include "base/now.h"

/* Compared with level 1: a quarter faster, 3 to 5 % larger (doc/performance.md). */
#define LEVEL (-1)

/* A worker compresses for 1/SHARE of its time, and can save up at most SAVED_NS of it. */
#define SHARE    10
#define SAVED_NS ((int64_t)100000000)

struct retained_packer {
	ZSTD_CCtx *context;
	uint64_t last_ns;  /* monotonic: when credit_ns was updated */
	int64_t credit_ns; /* time left to compress; negative: overdrawn */
	uint8_t *room;     /* for a compressed packet */
	size_t size;       /* of room */
};

struct retained *retained_new(const struct packet_info *info, uint8_t *bytes, uint64_t len)
{
	struct retained *retained = mem_alloc(sizeof(*retained));

	atomic_init(&retained->refs, 1);
	retained->bytes = bytes;
	retained->stored = len;
	retained->len = len;
	retained->info = *info;
	retained->info.stream = NULL;
	retained->class_id = info->stream->own_id;
	return retained;
}

struct retained *retained_in(struct retained_segment *segment, uint64_t offset,
			     const struct packet_info *info, uint64_t len)
{
	struct retained *retained = retained_new(info, NULL, len);

	retained->segment = retained_segment_ref(segment);
	retained->offset = offset;
	return retained;
}

uint64_t retained_memory(const struct retained *retained)
{
	return sizeof(*retained) + (retained->bytes ? retained->stored : 0);
}

struct retained *retained_ref(struct retained *retained)
{
	(void)atomic_fetch_add(&retained->refs, 1);
	return retained;
}

void retained_unref(struct retained *retained)
{
	unsigned int before;

	if (!retained) {
		return;
	}
	before = atomic_fetch_sub(&retained->refs, 1);
	assert(before > 0);
	if (before == 1) {
		account_give(retained->account, ACCOUNT_CAPTURES, retained_memory(retained));
		free(retained->bytes);
		retained_segment_unref(retained->segment);
		free(retained);
	}
}

void retained_leave(struct retained *retained, struct account *account)
{
	assert(!retained->account);
	account_take(account, ACCOUNT_CAPTURES, retained_memory(retained));
	retained->account = account;
	retained_unref(retained);
}

void retained_spill(struct retained *retained, struct retained_file *store)
{
	assert(retained->bytes);
	assert(!retained->segment);
	retained->segment =
		retained_file_put(store, retained->bytes, retained->stored, &retained->offset);
	if (retained->segment) {
		free(retained->bytes);
		retained->bytes = NULL;
	}
}

struct retained_packer *retained_packer_new(void)
{
	struct retained_packer *packer = mem_alloc(sizeof(*packer));

	packer->context = ZSTD_createCCtx();
	if (!packer->context) {
		abort(); /* no memory: as mem.c does */
	}
	(void)ZSTD_CCtx_setParameter(packer->context, ZSTD_c_compressionLevel, LEVEL);
	packer->last_ns = now_monotonic_ns();
	packer->credit_ns = SAVED_NS;
	return packer;
}

static void pack(struct retained *retained, struct retained_packer *packer)
{
	size_t bound = ZSTD_compressBound(retained->len), got;

	if (packer->size < bound) {
		free(packer->room);
		packer->room = mem_alloc(bound);
		packer->size = bound;
	}
	got = ZSTD_compress2(packer->context, packer->room, bound, retained->bytes, retained->len);
	if (ZSTD_isError(got) || got >= retained->len) {
		return;
	}
	free(retained->bytes);
	retained->bytes = mem_alloc(got);
	memcpy(retained->bytes, packer->room, got);
	retained->stored = got;
	retained->is_packed = true;
	assert(retained->stored < retained->len);
}

void retained_pack(struct retained *retained, struct retained_packer *packer)
{
	uint64_t begin = now_monotonic_ns();

	assert(!retained->is_packed);
	assert(!retained->segment);
	packer->credit_ns += (int64_t)((begin - packer->last_ns) / SHARE);
	packer->credit_ns = packer->credit_ns > SAVED_NS ? SAVED_NS : packer->credit_ns;
	packer->last_ns = begin;
	if (packer->credit_ns > 0) {
		pack(retained, packer);
		packer->credit_ns -= (int64_t)(now_monotonic_ns() - begin);
	}
}

void retained_packer_free(struct retained_packer *packer)
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

static bool unpack(const struct retained *retained, const uint8_t *stored, uint8_t *room)
{
	return ZSTD_decompress(room, retained->len, stored, retained->stored) == retained->len;
}

static const uint8_t *bytes_on_disk(const struct retained *retained, uint8_t *room)
{
	uint8_t *stored = retained->is_packed ? mem_alloc(retained->stored) : room;
	bool is_read = retained_segment_read(retained->segment, retained->offset, stored,
					     retained->stored);

	if (retained->is_packed) {
		is_read = is_read && unpack(retained, stored, room);
		free(stored);
	}
	return is_read ? room : NULL;
}

const uint8_t *retained_bytes(const struct retained *retained, uint8_t **room, uint64_t *size)
{
	bool is_ours;

	if (retained->bytes && !retained->is_packed) {
		return retained->bytes;
	}
	make_room(room, size, retained->len);
	if (retained->segment) {
		return bytes_on_disk(retained, *room);
	}
	is_ours = unpack(retained, retained->bytes, *room);
	assert(is_ours); /* pack() made these bytes, and memory does not change */
	(void)is_ours;
	return *room;
}
