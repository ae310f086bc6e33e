/*
 * tile-level: see tile-level.h.
 */
#include "index/tile-level.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/limits.h"

#define ZSTD_LEVEL 1 /* as of states */

void tile_level_init(struct tile_level *level, unsigned int k)
{
	*level = (struct tile_level){ .k = k };
}

void tile_level_fini(struct tile_level *level)
{
	vec_fini(&level->rows.rows);
	vec_fini(&level->rows.sums);
	vec_fini(&level->bytes);
	vec_fini(&level->after);
	vec_fini(&level->there);
	vec_fini(&level->blocks);
	vec_fini(&level->packed);
	(void)ZSTD_freeCCtx(level->context);
}

static uint64_t level_ns_of(const struct tile_level *level)
{
	return (uint64_t)1 << level->k;
}

/* ---- blocks ---- */

static int level_by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* What each lane does by now. */
static void level_put_there(struct tile_level *level)
{
	uint32_t before = 0;
	size_t kept = 0;

	for (size_t i = 0; i < level->there.count; i++) {
		if (level->after.at[level->there.at[i]] != TILE_NONE) {
			level->there.at[kept++] = level->there.at[i];
		}
	}
	level->there.count = kept;
	if (kept > 0) {
		qsort(level->there.at, kept, sizeof(*level->there.at), level_by_number);
	}
	for (size_t i = 0, to = 0; i < kept; i++) { /* who came again is there twice */
		if (i == 0 || level->there.at[i] != level->there.at[to - 1]) {
			level->there.at[to++] = level->there.at[i];
		}
		level->there.count = to;
	}
	tile_bytes_number(&level->bytes, level->there.count);
	VEC_EACH(&level->there, lane) {
		tile_bytes_number(&level->bytes, *lane - before);
		*vec_push(&level->bytes) = level->after.at[*lane];
		before = *lane;
	}
	level->head = level->bytes.count;
}

static void level_begin_block(struct tile_level *level, uint64_t tile)
{
	if (level->blocks.count == 0) {
		level->first = tile;
	}
	level->open = (struct tile_block){ .first = tile, .k = (uint8_t)level->k };
	level->tile = tile;
	level_put_there(level);
}

static void level_end_block(struct tile_level *level)
{
	struct tile_block *block = vec_push(&level->blocks);
	size_t bound = ZSTD_compressBound(level->bytes.count), stored;

	if (!level->context) {
		level->context = ZSTD_createCCtx();
		if (!level->context) {
			abort(); /* as mem.c does */
		}
		(void)ZSTD_CCtx_setParameter(level->context, ZSTD_c_compressionLevel, ZSTD_LEVEL);
		(void)ZSTD_CCtx_setParameter(level->context, ZSTD_c_checksumFlag, 1);
	}
	vec_reserve_more(&level->packed, bound);
	stored = ZSTD_compress2(level->context, level->packed.at + level->packed.count, bound,
				level->bytes.at, level->bytes.count);
	if (ZSTD_isError(stored)) {
		abort(); /* the room suffices, so memory is short */
	}
	*block = level->open;
	block->at = level->packed.count;
	block->stored = stored;
	block->size = level->bytes.count;
	block->last = level->tile;
	level->packed.count += stored;
	level->stored += stored;
	level->bytes.count = 0;
}

static void level_end_tile(struct tile_level *level)
{
	if (level->has_rows) {
		*vec_push(&level->bytes) = 0;
		level->has_rows = false;
	}
}

static void note_after(struct tile_level *level, const struct tile_row *row)
{
	while (level->after.count <= row->lane) {
		*vec_push(&level->after) = TILE_NONE;
	}
	if (level->after.at[row->lane] == TILE_NONE && row->after != TILE_NONE) {
		*vec_push(&level->there) = row->lane;
	}
	level->after.at[row->lane] = row->after;
}

static void level_put_row(struct tile_level *level, const struct tile_row *row)
{
	uint32_t before = level->has_rows ? level->lane : UINT32_MAX;

	if (level->has_rows && row->tile != level->tile) {
		level_end_tile(level);
		before = UINT32_MAX;
		if (level->bytes.count - level->head > INDEX_BLOCK_ROWS_BYTES &&
		    level->bytes.count > 4 * level->head) {
			level_end_block(level);
		}
	}
	if (level->bytes.count == 0) {
		level_begin_block(level, row->tile);
	}
	if (!level->has_rows) {
		tile_bytes_number(&level->bytes, row->tile - level->tile);
	}
	assert(row->tile >= level->tile);
	tile_bytes_row(&level->bytes, row, tile_rows_sums(&level->rows, row), level_ns_of(level),
		       before);
	level->tile = row->tile;
	level->lane = row->lane;
	level->has_rows = true;
	note_after(level, row);
}

void tile_level_put(struct tile_level *level, uint64_t done)
{
	const struct tile_row *rows = level->rows.rows.at;

	for (; level->put < level->rows.rows.count && rows[level->put].tile < done; level->put++) {
		if (!level->is_dropped) {
			level_put_row(level, &rows[level->put]);
		}
	}
}

void tile_level_join(struct tile_level *level, uint64_t done, struct tile_level *next)
{
	const struct tile_row *rows = level->rows.rows.at;
	size_t count = 0;

	while (count < level->put && rows[count].tile >> 1 < done) {
		count++;
	}
	tile_rows_join(&level->rows, count, level_ns_of(level), &next->rows);
	tile_rows_drop(&level->rows, count);
	level->put -= count;
}

void tile_level_end(struct tile_level *level)
{
	level_end_tile(level);
	if (level->bytes.count > 0) {
		level_end_block(level);
	}
}
