/*
 * partial-flat: a partial as bytes, for another process to merge.
 *
 * Written is what the worker found and nothing that can be made of it again: which groups are of
 * which shard, and which records of which group follow each other, the reader works out.  What is
 * read may be anybody's bytes: whatever the merger, or an analysis, uses as an index, a length or a
 * text was looked at before it sees it (struct foreign_record).
 */
#ifndef SILLAGE_ENGINE_PARTIAL_FLAT_H
#define SILLAGE_ENGINE_PARTIAL_FLAT_H

#include "base/err.h"
#include "base/flat.h"
#include "engine/map.h"
#include "engine/partial.h"

void partial_write(const struct partial *partial, struct flat_out *out);

/* Who wrote a partial: of what a merger works on, more is known. */
enum partial_source { PARTIAL_OF_WORKER, PARTIAL_OF_MERGER };

/*
 * Reads what partial_write() wrote into an empty partial.  @classes: event classes that the trace
 * has.  -EINVAL, with the reason: nothing is to be done with it but to free it.
 */
int partial_read(struct partial *partial, struct flat_in *in, const struct map_setup *setup,
		 uint32_t classes, enum partial_source source, struct err *err);

#endif
