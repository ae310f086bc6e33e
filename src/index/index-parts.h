/*
 * index-parts: the form of an index, for its reader and its writer.
 */
#pragma once

#include "index/index-file.h"

#define INDEX_MAGIC            "SILLINDX"
#define INDEX_SECTIONS         6
#define INDEX_HASH_AT          32
#define INDEX_HEADER_BYTES_ALL (40 + 32 * INDEX_SECTIONS)
#define INDEX_MARK_BYTES       72
#define INDEX_PLACE_BYTES      40
#define INDEX_BLOCK_BYTES      48

enum index_section_kind {
	SECTION_SOURCES,
	SECTION_WARNINGS,
	SECTION_MARKS,
	SECTION_PLACES,
	SECTION_TILES,
	SECTION_BLOCKS,
};

struct index_section {
	uint64_t at, bytes, count, hash;
};

struct index_header {
	char magic[8];
	uint32_t version, state_version;
	uint64_t bytes;
	uint32_t sections, unused;
	uint64_t hash;
	struct index_section section[INDEX_SECTIONS];
};

void index_header_codec(struct codec *codec, struct index_header *header);
void index_head_codec(struct codec *codec, struct index_head *head,
		      const struct analysis *const *all);
void index_warnings_codec(struct codec *codec, index_warnings *warnings);
void index_mark_codec(struct codec *codec, struct index_mark *mark);
void index_place_codec(struct codec *codec, struct index_place *place);
void index_tiles_codec(struct codec *codec, struct index_tiles_head *head,
		       const struct analysis *const *all, tile_threads *threads, tile_lanes *lanes);
void index_block_codec(struct codec *codec, struct tile_block *block);
uint64_t index_hash(const uint8_t *bytes, size_t len);
