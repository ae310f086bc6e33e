/*
 * frames-in: the frames of a file of partials, which workers unpack ahead of the front.
 *
 * To unpack a frame and to look at every record in it is most of what merging a file takes.  So
 * while the front takes one frame, the next ones of the same trace are unpacked, and partials are
 * read.  The front gets them in the order of the file, whenever they are done.
 */
#ifndef SILLAGE_ENGINE_EXCHANGE_FRAME_READER_H
#define SILLAGE_ENGINE_EXCHANGE_FRAME_READER_H

#include <stdio.h>

#include "base/codec.h"
#include "base/err.h"
#include "engine/exchange/partial-codec.h"

struct engine;
struct frame_reader;

/* A frame, which dies with the next one. */
struct frame {
	struct codec codec; /* from its kind on */
	/* A FRAME_PARTIAL that a worker could read with the rules there were: the caller's.  NULL:
	 * it is to be read from `flat`, which may say why it cannot be. */
	struct partial *partial;
	uint32_t number; /* of its stream ... */
	uint64_t seq;    /* ... and chunk */
};

struct frame_reader *frame_reader_new(FILE *file); /* which stays the caller's */
void frame_reader_free(struct frame_reader *in);   /* NULL is fine */

/* What stands before the frames.  -EIO or -EINVAL: it is not all there. */
int frame_reader_raw(struct frame_reader *in, void *bytes, size_t len, struct err *err);

/* Where the next frame begins that frame_reader_next() gives. */
uint64_t frame_reader_at(const struct frame_reader *in);

/* The next one.  With an @engine, others behind it are on their way to its workers, up to the end
 * of the trace; @rules are for those. */
int frame_reader_next(struct frame_reader *in, struct engine *engine,
		      const struct partial_rules *rules, struct frame *ret, struct err *err);

/* Drops those on their way: before the engine is freed. */
void frame_reader_drop(struct frame_reader *in, struct engine *engine);

#endif
