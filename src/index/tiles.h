/*
 * tiles: what threads did in tiles of time of any length, added up by thread, process, container or
 * CPU, from the index of a trace.
 *
 * A tile of level k is the time from a multiple of 2^k ns since the epoch to the next one.  Its
 * sums are ns by column of the first table of threads of one analysis (`waits`): running, runnable,
 * preempted, and asleep by what for.  They are those that `analyze` has of a range from its begin
 * to its end, to the ns.  By CPU, running, runnable and preempted count where that is; the time
 * that a thread sleeps, at the CPU where it ran last.
 *
 *     index_open ── index_tiles_open ── index_tiles_read ... ── index_tiles_free ── index_close
 *
 * Each level from `finest` on can be read.  A finer one cannot: what is between two events of it is
 * in the trace, not in the index (index_analyze()).
 *
 * A thread, a process and a container are called what the trace called them last.  A thread that
 * takes another tid (an exec by one that does not lead) is another one from there on.  A process is
 * its pid: one that comes again is the same, and threads of unknown processes are those of one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "index/index-file.h"

struct index_tiles;

/* -ENOENT: the index has none, since no analysis of it tells what threads do.  -EINVAL: it is
 * damaged.  @file must outlive it. */
int index_tiles_open(const struct index_file *file, struct index_tiles **ret, struct err *err);
void index_tiles_free(struct index_tiles *tiles); /* NULL is fine */
/* The columns, the finest level, and the time of the trace that is known. */
const struct index_tiles_head *index_tiles_head(const struct index_tiles *tiles);
unsigned int index_tiles_columns(const struct index_tiles *tiles);
/* Its first table of threads: column i has the key columns[i].key. */
const struct table *index_tiles_table(const struct index_tiles *tiles);

enum tiles_by { TILES_ALL, TILES_CPU, TILES_CONTAINER, TILES_PROCESS, TILES_THREAD };

/* Whom a row of @by is about; what does not apply is as if unknown. */
struct tile_who {
	int32_t tid, pid;   /* -1: unknown */
	uint32_t container; /* number of its PID namespace; 0: unknown */
	uint64_t cpu;       /* UINT64_MAX: none */
	const char *comm;   /* "": unknown; of a process that of its leader, if it was seen */
	uint64_t id;        /* of a thread's rows in reports (report_row.id) */
};
void index_tiles_who(const struct index_tiles *tiles, enum tiles_by by, uint32_t number,
		     struct tile_who *ret);

/* One of those that did something in the tile: a number for index_tiles_who(), always the same in
 * one index; and ns by column. */
struct tile_sums {
	uint32_t number;
	const uint64_t *ns;
};
struct tile {
	uint64_t begin, end; /* ns */
	const struct tile_sums *rows;
	size_t count;
};

/* Calls @each for the tiles of 2^@level ns that begin before @end and end after @begin, in order,
 * but for those in which nothing was known of anybody.  What is passed is valid during the call.
 * It stops where @each returns false; so the caller bounds replies.  -EINVAL: the level is finer
 * than those of the index, or the index is damaged; tiles before that were right.  -EINTR: a signal
 * came (now_must_leave()). */
int index_tiles_read(struct index_tiles *tiles, unsigned int level, uint64_t begin, uint64_t end,
		     enum tiles_by by, bool (*each)(void *user, const struct tile *tile),
		     void *user, struct err *err);
