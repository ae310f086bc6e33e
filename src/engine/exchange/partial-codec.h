/*
 * partial-codec: a partial as bytes, for another process to merge.
 *
 *     ends       times, counts, initial and last thread of the CPU
 *     slices     one per window: how many tallies, groups, keyed rows
 *     tallies    events per class                     of slice 0, slice 1, ...
 *     groups     threads and other keys               of slice 0, slice 1, ...
 *     records    in the order they were made, each with the index of its group
 *     currents   records that ask which thread runs
 *     numbers    arguments of records and keyed rows
 *     keyed rows                                      of slice 0, slice 1, ...
 *     segments   which thread ran when; renames of threads
 *
 * It holds what a worker found.  The reader works out the rest: the shard of each group, and the
 * chain of records of each group.
 *
 * What is read is untrusted.  Everything that the merger or an analysis uses as an index, a length
 * or a text is checked here first, or by the analysis (struct untrusted_record).
 */
#pragma once

#include "base/codec.h"
#include "base/err.h"
#include "engine/contract/partial.h"
#include "engine/contract/setup.h"

/* What a partial that is read is checked against. */
struct partial_rules {
	const struct setup *setup;
	uint32_t classes;  /* event classes of the trace */
	bool is_of_merger; /* from a checkpoint: the merger began to work on it */
};

/*
 * Writes @partial, or reads into an empty one.  -EINVAL, with the reason: the bytes are wrong, and
 * @partial can only be freed.  Writing never fails: @rules and @err may be NULL.
 */
int partial_codec(struct codec *codec, struct partial *partial, const struct partial_rules *rules,
		  struct err *err);

/* Parts that a checkpoint of the merger has, too (checkpoint.h). */
void partial_codec_segment(struct codec *codec, struct segment *segment);
void partial_codec_rename(struct codec *codec, struct rename *rename);
