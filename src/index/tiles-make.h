/*
 * tiles-make: the tiles of a trace (tiles.h), made from its spans (engine_config.on_spans).
 *
 *     spans ──► open rows, one a lane ──► rows of the finest level ──► blocks
 *                                          two by two: rows of the next level ──► blocks ...
 *
 * What the finest level will be is known at the end, when all sizes are.  So blocks of all levels
 * go to a file of their own, and those that are kept are copied.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "engine/contract/analysis.h"
#include "engine/contract/merge.h"
#include "index/index-file.h"

struct tiles_make;

/* The first analysis of a list that tells spans; NULL: none does. */
const struct analysis *tiles_analysis(const struct analysis *const *all);

/* @spool: an empty file for reading and writing, the caller's.  @most: no level takes more bytes,
 * but for INDEX_TILES_COARSEST and those above.  @ns: how long the trace is, as far as is known: of
 * tiles so short that few bytes are left for each of them none is made. */
struct tiles_make *tiles_make_new(const struct analysis *analysis, FILE *spool, uint64_t most,
				  uint64_t ns);
void tiles_make_free(struct tiles_make *make); /* NULL is fine */

/* As engine_config.on_spans. */
void tiles_make_take(struct tiles_make *make, const struct thread_span *spans, size_t count,
		     uint64_t until);
/* The trace has ended.  Writes what takes no more than @most bytes, from the finest level that
 * allows that. */
int tiles_make_end(struct tiles_make *make, uint64_t most, struct index_writer *out,
		   struct err *err);
