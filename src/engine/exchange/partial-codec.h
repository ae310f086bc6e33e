/*
 * partial-flat: a partial as bytes, for another process to merge.
 *
 * Written is what the worker found and nothing that can be made of it again: which groups are of
 * which shard, and which records of which group follow each other, the reader works out.  What is
 * read may be anybody's bytes: whatever the merger, or an analysis, uses as an index, a length or a
 * text was looked at before it sees it (struct untrusted_record).
 */
#ifndef SILLAGE_ENGINE_EXCHANGE_PARTIAL_CODEC_H
#define SILLAGE_ENGINE_EXCHANGE_PARTIAL_CODEC_H

#include "base/codec.h"
#include "base/err.h"
#include "engine/contract/partial.h"
#include "engine/contract/setup.h"

/* What a partial that is read is measured by. */
struct partial_rules {
	const struct setup *setup;
	uint32_t classes;  /* event classes of the trace */
	bool is_of_merger; /* one that a merger works on: of that more is known */
};

/*
 * Writes @partial, or reads into an empty one.  -EINVAL, with the reason: it cannot be, and is only
 * to be freed.  (What is written is as it was made: @rules and @err may be NULL.)
 */
int partial_codec(struct codec *codec, struct partial *partial, const struct partial_rules *rules,
		  struct err *err);

/* The same of its parts, which the merger's state has, too (rolling.h). */
void partial_codec_segment(struct codec *codec, struct segment *segment);
void partial_codec_rename(struct codec *codec, struct rename *rename);

#endif
