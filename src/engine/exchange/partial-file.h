/*
 * partial-file: the partials of traces as a file, for another process to merge.
 *
 *     "sillage partials", version
 *     frame: bytes, bytes as stored, kind, zstd with a checksum
 *
 *       SETUP                    first: analyses, windows, periods of the workers
 *       TRACE ─ ... ─ FINISH     one trace, then the next
 *       LAST                     no more traces
 *               CLASSES     event classes, before the first partial that has them
 *               STREAM      a new stream: what its first packet says
 *               PARTIAL     a chunk of a stream; chunks of one stream in any order
 *               KNOWN       after n chunks of a stream, no event is older
 *               END         a stream has ended after n chunks
 *               WARNING     a warning about the trace
 *               CHECKPOINT  in place of all these: an unfinished trace (checkpoint.h)
 *
 * Numbers are little endian, of fixed width.  A reader accepts its own version only: a record is
 * between the two halves of an analysis, and may change with either.
 *
 * The engine writes partials through a table of callbacks (engine_config.exporter) instead of
 * merging.  A reader that merges the file reports what an analysis of the trace would have.  It
 * refuses bytes that no worker writes, and reports their offset.
 *
 *     trace ── engine ── partial_writer ──► file ──► partial_reader ── trace ── reports
 *              packed by workers                     frame-reader.h: unpacked by workers
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/codec.h"
#include "base/err.h"
#include "engine/engine.h"

/* The setup of the workers that made the partials. */
struct partial_file_setup {
	const struct analysis *analyses[ANALYSES_MAX]; /* ends with NULL */
	uint64_t interval_ns;
	bool wants_windows;
	VEC(char *) periods; /* arguments of --period; owned */
	char *selection;     /* of a checkpoint's tables, as a text; owned; NULL: has no tables */
};
void partial_file_setup_fini(struct partial_file_setup *setup);
bool partial_file_setup_same(const struct partial_file_setup *a,
			     const struct partial_file_setup *b);

/* Identifies a trace.  Texts are owned, and may be NULL. */
struct partial_file_trace {
	char *host, *session, *domain, *path;
	char *tracer; /* as in struct event_names */
	char *beside; /* beside_text() of its session */
	uint64_t range_begin, range_end;
};
void partial_file_trace_fini(struct partial_file_trace *trace);

/* ---- writing ---- */

struct partial_writer;

/* @file is borrowed. */
struct partial_writer *partial_writer_new(FILE *file, const struct partial_file_setup *setup);
void partial_writer_free(struct partial_writer *out);
/* Writes the last frame: no more traces. */
void partial_writer_last(struct partial_writer *out);
/* Flushes; -errno of the first failed write. */
int partial_writer_check(struct partial_writer *out, struct err *err);
/* Events, packets and bytes of all partials so far. */
void partial_writer_account(const struct partial_writer *out, struct merger_account *ret);

/* Whether the events of the current trace so far reach into its range. */
bool partial_writer_reaches_range(const struct partial_writer *out);

void partial_writer_trace(struct partial_writer *out, const struct partial_file_trace *trace);
void partial_writer_warning(struct partial_writer *out, const struct engine_warning *warning);
/* For engine_config.exporter; lives as long as the writer. */
const struct engine_export *partial_writer_export(struct partial_writer *out);

/* Writes a paused trace and its checkpoint. */
void partial_writer_checkpoint(struct partial_writer *out, const struct partial_file_trace *trace,
			       uint8_t *bytes, size_t len);

/* ---- reading ---- */

struct partial_reader;

/* Reads the start of @file (borrowed) and its setup.  @all: the analyses of this program. */
int partial_reader_new(FILE *file, const struct analysis *const *all, struct partial_reader **ret,
		       struct err *err);
void partial_reader_free(struct partial_reader *in);
const struct partial_file_setup *partial_reader_setup(const struct partial_reader *in);

/* Reads the next trace into @ret, which the caller finishes: 1; 0: no more traces; -EINVAL. */
int partial_reader_trace(struct partial_reader *in, struct partial_file_trace *ret,
			 struct err *err);

/* Gives the checkpoint of the trace, as partial_writer_checkpoint() got it; valid until the next
 * call. */
int partial_reader_checkpoint(struct partial_reader *in, struct codec *ret, struct err *err);

/*
 * Merges the partials up to the end of the trace into @trace, which is new: no streams, no
 * metadata.  -EINVAL: damaged; the rest of the file cannot be read either.  Warnings go to the
 * engine's on_warning.
 */
int partial_reader_merge(struct partial_reader *in, struct trace *trace, const atomic_bool *stop,
			 struct err *err);

/* Takes one unpacked frame of a trace, as partial_reader_merge() does for each.  1: it was the
 * last. Public for the fuzz target. */
struct partial_intake;
struct partial_intake *partial_intake_new(struct trace *trace);
void partial_intake_free(struct partial_intake *intake);
int partial_intake_take(struct partial_intake *intake, struct codec *frame, struct err *err);
