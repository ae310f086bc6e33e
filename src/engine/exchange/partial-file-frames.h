/*
 * partial-file-frames: what writing (partial-file.c) and reading (partial-file-read.c) share.
 */
#pragma once

#include <stdint.h>

struct analysis;
struct codec;
struct partial_file_trace;

/* A file begins with this, followed by the version in four bytes. */
#define PARTIAL_FILE_MAGIC     "sillage partials"
#define PARTIAL_FILE_MAGIC_LEN 16
/* Increase it whenever the meaning of a frame, a record or a codec changes. */
#define PARTIAL_FILE_VERSION 26

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
	FRAME_CHECKPOINT,
};

/* A hash of the columns of an analysis: keyed rows are written by column. */
uint64_t partial_file_form(const struct analysis *analysis);

void partial_file_trace_codec(struct codec *codec, struct partial_file_trace *trace);
