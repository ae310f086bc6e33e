/*
 * index-file: the bytes of an index; see index.h for what it is.
 *
 *     HEADER    40 bytes: "SILLINDX", version, version of the states, bytes of the file, sections,
 *               hash of the header (with 0 in place of the hash) and of what follows
 *     SECTION   32 bytes each, INDEX_SECTIONS of them, by number: offset, bytes, count, hash
 *     ...       the states of the marks, and blocks of tiles (tile-rows.h), each packed by zstd
 * with a checksum of its own SOURCES   the analyses by name and form, and the files of the trace as
 * they were WARNINGS  what the trace was warned of, in order MARKS     72 bytes each, in order of
 * time: places in the trace where a state was kept PLACES    40 bytes each, by mark and file: what
 * comes next of each file TILES     what has tiles: analysis, finest and coarsest level, times;
 * threads and lanes BLOCKS    48 bytes each, by level and time: where the rows of tiles are
 *
 * Numbers are little endian, of fixed width.  Offsets are from the begin of the file.  The header
 * is written last: a file that was cut, or whose writer was killed, has none, and is refused.
 *
 * A reader accepts its own version only: an index is made again faster than it is converted.  It
 * checks the hash of what it reads, so that damage is an error; whoever writes a right hash may
 * still lie, so that everything is checked where it is used.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "base/codec.h"
#include "base/err.h"
#include "base/mem.h"
#include "engine/contract/analysis.h"
#include "engine/engine.h"
#include "recorded/recorded.h"

#define INDEX_VERSION 2

/* A file of the trace, as it was when the index was made. */
struct index_source {
	char *name; /* behind the number of its directory */
	uint64_t bytes, mtime_ns;
	uint64_t hash; /* of its first and its last bytes */
};
typedef VEC(struct index_source) index_source_vec;
void index_sources_fini(index_source_vec *sources);

typedef VEC(uint8_t) index_bytes;

/* What the index is of. */
struct index_head {
	const struct analysis *analyses[ANALYSES_MAX]; /* of the states; ends with NULL */
	index_source_vec sources;
};

struct index_mark {
	uint64_t until;            /* ns: nothing that was read so far is later */
	uint64_t done, ended;      /* as in struct recorded_places */
	uint64_t at, stored, size; /* the state: where it is, bytes there, and unpacked */
	uint64_t clock;            /* hash of `until` as local time: warnings have local times */
	uint64_t places;           /* hash of its places */
	uint32_t warnings, given;  /* of the file's warnings; and how many there were */
};
typedef VEC(struct index_mark) index_marks;

/* What comes next of a file. */
struct index_place {
	struct recorded_place place;
	uint64_t hash; /* of the first bytes there */
};
typedef VEC(struct index_place) index_places;

/* A warning, with its texts. */
struct index_warning {
	char *what, *message, *stream_name;
	int64_t packet;
	uint64_t begin, end;
};
typedef VEC(struct index_warning) index_warnings;
void index_warnings_fini(index_warnings *warnings);

/* ---- tiles (tiles.h) ---- */

#define TILES_LEVEL_MAX 62 /* tiles of 2^62 ns are the longest */

/* A thread, as it was called last. */
struct tile_thread {
	uint64_t id; /* of its rows (report_row.id) */
	int32_t pid; /* -1: unknown */
	uint32_t container;
	char comm[17];
};
typedef VEC(struct tile_thread) tile_threads;

/* A thread and the CPU on which it runs, or ran last. */
struct tile_lane {
	uint32_t thread;
	uint64_t cpu; /* UINT64_MAX: none */
};
typedef VEC(struct tile_lane) tile_lanes;

struct tile_block {
	uint64_t first, last;      /* tiles of its first and last row */
	uint64_t at, stored, size; /* where it is, bytes there, and unpacked */
	uint8_t k;                 /* a tile has 2^k ns */
};
typedef VEC(struct tile_block) tile_blocks;

struct index_tiles_head {
	const struct analysis *analysis; /* whose columns of threads they have; NULL: no tiles */
	uint8_t finest, coarsest;        /* each second level between them is there */
	uint64_t begin, end;             /* ns */
};

/* ---- writing ---- */

struct index_writer;

/* @file: empty, for writing; not closed. */
struct index_writer *index_writer_new(FILE *file);
void index_writer_free(struct index_writer *out); /* NULL is fine */
/* Adds a mark with its state and the places of all files, always as many.  Fills mark->at, stored,
 * size and places. */
void index_writer_mark(struct index_writer *out, struct index_mark *mark, const uint8_t *state,
		       size_t size, index_places *places);
uint64_t index_writer_bytes(const struct index_writer *out); /* so far */
/* Puts bytes between the states; where they are. */
uint64_t index_writer_put(struct index_writer *out, const void *bytes, size_t len);
/* What tiles there are; their blocks were put. */
void index_writer_tiles(struct index_writer *out, struct index_tiles_head *head,
			tile_threads *threads, tile_lanes *lanes, tile_blocks *blocks);
/* Writes the rest.  -errno, with the reason, if any byte could not be written. */
int index_writer_end(struct index_writer *out, const struct index_head *head,
		     index_warnings *warnings, struct err *err);

/* ---- reading ---- */

struct index_file;

/* @fd stays the caller's.  @all: the analyses of this program.  -EINVAL: it is no index, of another
 * version, or damaged. */
int index_file_open(int fd, const struct analysis *const *all, struct index_file **ret,
		    struct err *err);
void index_file_free(struct index_file *in); /* NULL is fine */
const struct index_head *index_file_head(const struct index_file *in);
const index_marks *index_file_marks(const struct index_file *in);
/* Reads what tiles there are.  -ENOENT: none.  The caller frees all of it, also after a failure. */
int index_file_tiles(const struct index_file *in, struct index_tiles_head *ret,
		     tile_threads *ret_threads, tile_lanes *ret_lanes, tile_blocks *ret_blocks,
		     struct err *err);
/* The bytes of a block. */
int index_file_block(const struct index_file *in, const struct tile_block *block, index_bytes *ret,
		     struct err *err);
/* Reads the state of a mark, and its places.  The caller frees both, also after a failure. */
int index_file_state(const struct index_file *in, size_t mark, index_bytes *ret, struct err *err);
int index_file_places(const struct index_file *in, size_t mark, index_places *ret, struct err *err);
int index_file_warnings(const struct index_file *in, index_warnings *ret, struct err *err);
