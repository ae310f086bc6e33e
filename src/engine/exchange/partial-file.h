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
struct partials_setup {
	const struct analysis *analyses[ANALYSES_MAX]; /* ends with NULL */
	uint64_t interval_ns;
	bool wants_windows;
	VEC(char *) periods; /* as --period takes them; owned */
};
void partials_setup_fini(struct partials_setup *setup);
bool partials_setup_same(const struct partials_setup *a, const struct partials_setup *b);

/* Which trace it is; texts may be NULL, and are owned. */
struct partials_trace {
	char *host, *session, *domain, *path;
	uint64_t range_begin, range_end;
};
void partials_trace_fini(struct partials_trace *trace);

/* ---- writing ---- */

/* A partial as its frame, which a worker makes: it takes as long as decoding.  Each has a packer.
 */
struct partials_packer;
struct partials_packer *partials_packer_new(void);
void partials_packer_free(struct partials_packer *packer); /* NULL is fine */
void partials_pack(struct partials_packer *packer, uint32_t number, uint64_t seq,
		   struct partial *partial, struct packed *packed);

struct partials_out;

/* @file stays the caller's. */
struct partials_out *partials_out_new(FILE *file, const struct partials_setup *setup);
void partials_out_free(struct partials_out *out);
/* There are no more traces. */
void partials_put_last(struct partials_out *out);
/* Flushes; -errno of the first write that failed. */
int partials_out_check(struct partials_out *out, struct err *err);
/* Of all partials so far. */
void partials_out_account(const struct partials_out *out, struct merger_account *ret);

void partials_put_trace(struct partials_out *out, const struct partials_trace *trace);
void partials_put_warning(struct partials_out *out, const struct engine_warning *warning);
/* These are the engine's.  Streams go by a number of its own. */
void partials_put_stream(struct partials_out *out, uint32_t number,
			 const struct stream_identity *identity);
void partials_put_partial(struct partials_out *out, const struct packed *packed,
			  const struct partial *partial, const struct plan *plan);
void partials_put_known(struct partials_out *out, uint32_t number, uint64_t seq, uint64_t ts);
void partials_put_end(struct partials_out *out, uint32_t number, uint64_t seq);
void partials_put_finish(struct partials_out *out);

/* A trace that is paused, whole. */
void partials_put_state(struct partials_out *out, const struct partials_trace *trace,
			uint8_t *bytes, size_t len);

/* ---- reading ---- */

struct partials_in;

/* Reads the beginning of @file, which stays the caller's, and what was asked for, of @all analyses.
 */
int partials_in_new(FILE *file, const struct analysis *const *all, struct partials_in **ret,
		    struct err *err);
void partials_in_free(struct partials_in *in);
const struct partials_setup *partials_in_setup(const struct partials_in *in);

/* The next trace: 1; 0: there is none; -EINVAL.  @ret is to be finished, by the caller. */
int partials_in_trace(struct partials_in *in, struct partials_trace *ret, struct err *err);

/* A trace's state, as partials_put_state() got it; dies with the next call. */
int partials_in_state(struct partials_in *in, struct codec *ret, struct err *err);

/*
 * Merges it, up to its end, into @trace, which was made for that: it has no streams and no
 * metadata.  -EINVAL: what follows in the file is not to be had.  Warnings go where the engine's
 * do.
 */
int partials_in_merge(struct partials_in *in, struct trace *trace, const atomic_bool *stop,
		      struct err *err);

/* One frame of a trace, as it was before it was stored: what partials_in_merge() does of each. 1:
 * it was the last.  For the fuzz target. */
struct partials_merging;
struct partials_merging *partials_merging_new(struct trace *trace);
void partials_merging_free(struct partials_merging *merging);
int partials_merging_take(struct partials_merging *merging, struct codec *frame, struct err *err);

#endif
