/*
 * tile-level: the tiles of one length while they are made: rows that come in order, into blocks.
 */
#pragma once

#include "index/index-file.h"
#include "index/tile-rows.h"

struct tile_level {
	unsigned int k;        /* a tile has 2^k ns */
	struct tile_rows rows; /* not joined yet to those of the next level */
	size_t put;            /* the first of them are in blocks */
	bool is_dropped;       /* its blocks are not wanted: rows are only joined */

	/* The open block. */
	struct tile_block open; /* without what is known at its end */
	tile_bytes bytes;
	size_t head;         /* of these tell what each lane did when it began */
	uint64_t tile;       /* of the row before */
	uint32_t lane;       /* the same */
	bool has_rows;       /* that tile has some in it, whose end is not told yet */
	uint64_t first;      /* tile of the first row of all blocks */
	VEC(uint8_t) after;  /* by lane: what is done behind the row before; TILE_NONE: nothing */
	VEC(uint32_t) there; /* lanes that do something then, and others; in any order */

	/* Blocks that are complete; their bytes are where `packed` begins, and behind. */
	tile_blocks blocks;
	tile_bytes packed;
	size_t spooled;  /* the first of them have their place already */
	uint64_t stored; /* bytes of all of them */
	void *context;   /* of zstd */
};

void tile_level_init(struct tile_level *level, unsigned int k);
void tile_level_fini(struct tile_level *level);

/* Puts the rows of tiles before @done into blocks. */
void tile_level_put(struct tile_level *level, uint64_t done);
/* Gives those of whose tiles both halves of one before @done are to the next level. */
void tile_level_join(struct tile_level *level, uint64_t done, struct tile_level *next);
/* The last block is complete. */
void tile_level_end(struct tile_level *level);
