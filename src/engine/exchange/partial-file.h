/*
 * partials: what workers made of traces, as a file, for another process to merge.
 *
 *     "sillage partials", version
 *     frame: bytes, bytes as stored, zstd with a checksum
 *
 *       SETUP                                 first: what the workers were asked for
 *       TRACE ─ ... ─ FINISH                  one trace, and then the next
 *       LAST                                  there are no more
 *               CLASSES  event classes, in front of the partials that have them
 *               STREAM   is there; what its first packet said
 *               PARTIAL  a chunk of a stream; those of one stream in any order
 *               KNOWN    nothing older comes after so many chunks of a stream
 *               END      so many were all
 *               WARNING  what was said meanwhile
 *               STATE    in place of all these: all that is known so far (rolling.h)
 *
 * All is in little endian order, and of one width.  A reader takes its own version only: what is
 * in a record is between the two halves of an analysis, and may change with either.
 *
 * Who writes is the engine (engine_config.partials), in place of merging.  Who reads gives the same
 * reports as if the trace had been analysed at once; bytes that no worker can have written are
 * refused, with their place.
 */
#ifndef SILLAGE_ENGINE_EXCHANGE_PARTIAL_FILE_H
#define SILLAGE_ENGINE_EXCHANGE_PARTIAL_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/codec.h"
#include "base/err.h"
#include "engine/engine.h"

/* What workers were asked for. */
struct partial_file_setup {
	const struct analysis *analyses[ANALYSES_MAX]; /* ends with NULL */
	uint64_t interval_ns;
	bool wants_windows;
	VEC(char *) periods; /* as --period takes them; owned */
};
void partial_file_setup_fini(struct partial_file_setup *setup);
bool partial_file_setup_same(const struct partial_file_setup *a,
			     const struct partial_file_setup *b);

/* Which trace it is; texts may be NULL, and are owned. */
struct partial_file_trace {
	char *host, *session, *domain, *path;
	uint64_t range_begin, range_end;
};
void partial_file_trace_fini(struct partial_file_trace *trace);

/* ---- writing ---- */

struct partial_writer;

/* @file stays the caller's. */
struct partial_writer *partial_writer_new(FILE *file, const struct partial_file_setup *setup);
void partial_writer_free(struct partial_writer *out);
/* There are no more traces. */
void partial_writer_last(struct partial_writer *out);
/* Flushes; -errno of the first write that failed. */
int partial_writer_check(struct partial_writer *out, struct err *err);
/* Of all partials so far. */
void partial_writer_account(const struct partial_writer *out, struct merger_account *ret);

void partial_writer_trace(struct partial_writer *out, const struct partial_file_trace *trace);
void partial_writer_warning(struct partial_writer *out, const struct engine_warning *warning);
/* What the engine writes through; lives as long as the writer. */
const struct engine_export *partial_writer_export(struct partial_writer *out);

/* A trace that is paused, whole. */
void partial_writer_checkpoint(struct partial_writer *out, const struct partial_file_trace *trace,
			       uint8_t *bytes, size_t len);

/* ---- reading ---- */

struct partial_reader;

/* Reads the beginning of @file, which stays the caller's, and what was asked for, of @all analyses.
 */
int partial_reader_new(FILE *file, const struct analysis *const *all, struct partial_reader **ret,
		       struct err *err);
void partial_reader_free(struct partial_reader *in);
const struct partial_file_setup *partial_reader_setup(const struct partial_reader *in);

/* The next trace: 1; 0: there is none; -EINVAL.  @ret is to be finished, by the caller. */
int partial_reader_trace(struct partial_reader *in, struct partial_file_trace *ret,
			 struct err *err);

/* A trace's state, as partial_writer_checkpoint() got it; dies with the next call. */
int partial_reader_checkpoint(struct partial_reader *in, struct codec *ret, struct err *err);

/*
 * Merges it, up to its end, into @trace, which was made for that: it has no streams and no
 * metadata.  -EINVAL: what follows in the file is not to be had.  Warnings go where the engine's
 * do.
 */
int partial_reader_merge(struct partial_reader *in, struct trace *trace, const atomic_bool *stop,
			 struct err *err);

/* One frame of a trace, as it was before it was stored: what partial_reader_merge() does of each.
 * 1: it was the last.  For the fuzz target. */
struct partial_intake;
struct partial_intake *partial_intake_new(struct trace *trace);
void partial_intake_free(struct partial_intake *merging);
int partial_intake_take(struct partial_intake *merging, struct codec *frame, struct err *err);

#endif
