/*
 * partials-frames: what the parts of partials share: partials.c (writing) and partials-in.c
 * (reading).
 */
#ifndef SILLAGE_ENGINE_EXCHANGE_PARTIAL_FILE_FRAMES_H
#define SILLAGE_ENGINE_EXCHANGE_PARTIAL_FILE_FRAMES_H

#include <stdint.h>

struct analysis;
struct codec;
struct partials_trace;

/* A file begins with this, and the version in four bytes ... */
#define PARTIALS_MAGIC     "sillage partials"
#define PARTIALS_MAGIC_LEN 16
/* ... which is to be raised whenever a frame, a record or what stands beside it means something
 * else. */
#define PARTIALS_VERSION 7

/* The first byte of a frame. */
enum frame_kind {
	FRAME_SETUP,
	FRAME_TRACE,
	FRAME_CLASSES,
	FRAME_STREAM,
	FRAME_PARTIAL,
	FRAME_KNOWN,
	FRAME_END,
	FRAME_WARNING,
	FRAME_FINISH,
	FRAME_LAST,
	FRAME_STATE,
};

/* What the tables of an analysis are, as a hash: items are written by column. */
uint64_t partials_form(const struct analysis *analysis);

void partials_trace_codec(struct codec *codec, struct partials_trace *trace);

#endif
