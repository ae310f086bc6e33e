/*
 * checkpoint: one unfinished trace as bytes, for another process to continue.
 *
 * A process that reads the checkpoint and takes the packets that follow reports what one process
 * would have reported: the open window, later windows, and the total.
 *
 *     checkpoint_trace
 *       checkpoint.c          merger: window, account, CPUs, streams
 *       checkpoint-rows.c     figures of rows, keyed rows
 *       checkpoint-tables.c   tables: event names, sums, threads of each shard, accumulators,
 *                             keyed rows, longest instances, states of analyses
 *       checkpoint.c          merger: partials that are not used up
 *       checkpoint-streams.c  the coordinator's counters of each stream
 *
 * It holds what outlives a partial, and nothing of the layout in memory: threads are numbered,
 * arrays are written in their order, and the reader rebuilds hash tables and chains.  Any
 * number of workers can continue it.
 *
 * The same functions write and read (base/codec.h).  What is read is untrusted: these functions
 * check whatever is used as an index, a length or a text, merger_is_sound() checks relations
 * between fields, and analyses check their own states (on_checkpoint,
 * on_trace_checkpoint, or a description of fields).
 */
#pragma once

#include "base/codec.h"
#include "base/err.h"
#include "engine/merger/merger.h"
#include "engine/trace.h"

struct tables;

/* Writes @merger, or reads into a new one without streams.  No job of it is in flight.  On
 * codec->is_wrong the merger can only be freed. */
void checkpoint_merger(struct merger *merger, struct codec *codec);

/* What the first packet of a stream says about it. */
void partial_codec_identity(struct codec *codec, struct stream_identity *identity);

/* For checkpoint-tables.c: figures of a row, those of a window and a total, and rows by key. */
struct columns;
struct sums;
struct keyed_rows;
struct layout;
void checkpoint_rows_one(struct codec *codec, const struct columns *columns, uint64_t *row);
void checkpoint_rows_sums(struct codec *codec, const struct columns *columns, struct sums *sums);
void checkpoint_rows_keyed(struct codec *codec, struct keyed_rows *keyed_rows,
			   const struct layout *layout);

/* The part of checkpoint_merger() for its tables. */
void checkpoint_tables(struct tables *tables, const struct checkpoint *checkpoint);

/* Writes a paused trace (trace_pause), or reads into a new one.  Streams that are read are away:
 * their packets continue them as after a reconnect.  On codec->is_wrong the trace can only be
 * freed. */
void checkpoint_trace(struct trace *trace, struct codec *codec);
