/*
 * frame-reader: the frames of a file of partials, which workers unpack ahead of the coordinator.
 *
 * Unpacking a frame and checking every record in it takes a third of the CPU time of merging.  So
 * while the coordinator takes one frame, workers unpack and decode the next ones of the same trace.
 *
 *     file ── read_frame ──► slots: a ring, in the order of the file
 *                            FRAME_PARTIAL ── JOB_FIND ──► worker: unpack, partial_codec
 *                            other kinds: unpacked at once
 *                       ◄── frame_reader_next: the first slot; waits for its job
 *
 * The coordinator gets frames in the order of the file, whatever the order of the jobs.  With one
 * worker or none it unpacks all frames itself.
 */
#pragma once

#include <stdio.h>

#include "base/codec.h"
#include "base/err.h"
#include "engine/exchange/partial-codec.h"

struct engine;
struct frame_reader;

/* A frame; valid until the next call. */
struct frame {
	struct codec codec; /* its bytes, from the kind on */
	/* A FRAME_PARTIAL that a worker decoded with the rules of that time; the caller owns it.
	 * NULL: decode `codec`, which also finds the reason for an error. */
	struct partial *partial;
	uint32_t number; /* of the partial's stream */
	uint64_t seq;    /* of its chunk */
};

struct frame_reader *frame_reader_new(FILE *file); /* borrowed */
void frame_reader_free(struct frame_reader *in);   /* NULL is fine */

/* Reads bytes before the first frame.  -EIO: reading failed; -EINVAL: the file is too short. */
int frame_reader_raw(struct frame_reader *in, void *bytes, size_t len, struct err *err);

/* Offset of the frame that frame_reader_next() gives next. */
uint64_t frame_reader_at(const struct frame_reader *in);

/* Gives the next frame.  With an @engine, its workers decode the frames after it, up to the end of
 * the trace, by @rules.  NULL: no workers; @rules are not used. */
int frame_reader_next(struct frame_reader *in, struct engine *engine,
		      const struct partial_rules *rules, struct frame *ret, struct err *err);

/* Drops frames that were read ahead.  Call it before the engine is freed. */
void frame_reader_drop(struct frame_reader *in, struct engine *engine);
