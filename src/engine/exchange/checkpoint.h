/*
 * rolling: the rolling state of one trace as bytes, for another process to go on with.
 *
 * Whoever reads it and takes what comes then reports what one process would have reported: windows
 * from the open one on, and the total.  Written is all that is carried from one partial to the
 * next, and nothing of how it lies in memory: threads are numbered, arrays are written in their
 * order, and what can be made anew (hash tables, chains, rows asked for) is.
 *
 *     rolling.c       the merger: streams, partials that are not used up, CPUs, the open window
 *     rolling-rows.c  rows and shards: figures, threads, items, the longest
 *
 * The same functions write and read (base/codec.h).  What is read may be anybody's: whatever
 * is used as an index, a length or a text is looked at; analyses look at their own (on_checkpoint).
 */
#ifndef SILLAGE_ENGINE_EXCHANGE_CHECKPOINT_H
#define SILLAGE_ENGINE_EXCHANGE_CHECKPOINT_H

#include "base/codec.h"
#include "base/err.h"
#include "engine/merger/merger.h"
#include "engine/trace.h"

struct tables;

/* Writes the merge, or reads into a new one, to which no stream belongs.  No task is running.
 * flat->is_wrong says whether what was read could be; if so, only free it. */
void checkpoint_merger(struct merger *merger, struct codec *codec);

/* What the first packet of a stream said. */
void partial_codec_identity(struct codec *codec, struct stream_identity *identity);

/* The same of its rows; @carried: for analyses. */
void checkpoint_tables(struct tables *tables, const struct checkpoint *checkpoint);

/* Writes a paused trace, or reads into a new one.  Streams that are read are away, and taken up
 * again as after a lost connection. */
void checkpoint_trace(struct trace *trace, struct codec *codec);

#endif
