/*
 * tile-rows: sums of one tile of time as rows, and rows as bytes, for their maker and their reader.
 *
 * Tile number t of level k is the time from t * 2^k ns, since the epoch, to the next one.  A row
 * says what a lane did in a tile: a lane is a thread and the CPU on which it ran, or ran last.
 * Tiles are sparse: what does one thing all through a tile, and did so before, has no row there.
 *
 *     row      tile 7   lane 3   run 200 ns, wait 56 ns      after: run
 *     no rows  tiles 8 to 20                                 so it ran all the time
 *     row      tile 21  lane 3   run 12 ns                   after: none: it is not there any more
 *
 * A level is a list of blocks, each packed by zstd with a checksum.  A block begins with what each
 * lane does by then, so that it is read alone:
 *
 *     BLOCK  count of lanes that are there; of each: lane - the one before, column (1 byte)
 *            tiles with rows, in order: tile - the one before; rows; 0
 *     ROW    lane + 1 - that of the row before, what is done after and whether the sums fill the
 *            tile (1 byte), mask of columns, sums by column, without the last one if they fill it
 *
 * Numbers are LEB128 but for single bytes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "engine/contract/report-shape.h"

#define TILE_NONE  0x1F /* in place of a column */
#define TILE_FILLS 0x20

struct tile_row {
	uint64_t tile;
	uint32_t lane;
	uint32_t at; /* of its sums among those of all rows, one for each bit of the mask */
	uint16_t mask;
	uint8_t before, after; /* what was done before the tile, and is behind it without a row */
};

/* Rows with their sums. */
struct tile_rows {
	VEC(struct tile_row) rows;
	VEC(uint64_t) sums;
};

/* The sums of the row, as many as its mask has bits; NULL: it has none. */
static inline const uint64_t *tile_rows_sums(const struct tile_rows *rows,
					     const struct tile_row *row)
{
	return row->mask != 0 ? rows->sums.at + row->at : NULL;
}

/* Adds a row with the sums that the mask has in @sums, by column. */
void tile_rows_add(struct tile_rows *rows, const struct tile_row *row, const uint64_t *sums);
/* Forgets the first ones. */
void tile_rows_drop(struct tile_rows *rows, size_t first);
/* Rows from @first on are put in order of tiles, then of lanes. */
void tile_rows_sort(struct tile_rows *rows, size_t first);
/* Adds to @ret, of the next level, the rows of the tiles that the first @count rows are halves of.
 * Both halves have to be among them.  @ns: the length of these here. */
void tile_rows_join(const struct tile_rows *rows, size_t count, uint64_t ns, struct tile_rows *ret);

/* ---- bytes ---- */

typedef VEC(uint8_t) tile_bytes;
void tile_bytes_number(tile_bytes *to, uint64_t number);
void tile_bytes_row(tile_bytes *to, const struct tile_row *row, const uint64_t *sums, uint64_t ns,
		    uint32_t lane_before);

struct tile_reader {
	const uint8_t *at, *end;
	bool is_wrong; /* a number is impossible, or bytes are missing */
};
uint64_t tile_reader_number(struct tile_reader *in);
uint8_t tile_reader_byte(struct tile_reader *in);
/* Reads a row behind its lane; all of @sums is written.  False: it is wrong. */
bool tile_reader_row(struct tile_reader *in, unsigned int columns, uint64_t ns,
		     struct tile_row *ret, uint64_t sums[COLUMNS_MAX]);
