/*
 * index: what a recorded trace of any size is read by, from the middle on.
 *
 * An index holds checkpoints of the engine (engine/exchange/checkpoint.h), made in one pass over
 * the trace, and what comes next of each of its files there.  A range of time is then read from the
 * nearest checkpoint before it, not from the begin of the trace.  The result is the same to the
 * byte: what an analysis knows of the time before a range is all in its states; the sums of that
 * time are dropped, with an index or without.
 *
 *     index_make      trace ── engine ── every few MiB: states, places ──► file
 *     index_analyze   file ── the last checkpoint before the range ── engine ── the range ──►
 * report
 *
 *     index-file.h      the bytes of the file
 *     index-sources.c   whether the trace is still the one that was indexed
 *     index-make.c      making one
 *     index.c           where it lies, whether it fits a run, and the run
 *
 * The file lies in the user's cache, XDG_CACHE_HOME/sillage or ~/.cache/sillage, or beside the
 * trace, as DIR/.sillage-index, which no reader of traces takes for a stream.  One that is not of
 * the trace as it is now, is cut or damaged, or was made by another version, is not used.
 *
 * Checkpoints are of the analyses that the index was made for: any of these can be asked for, as
 * long as threads are followed as for the index (index_has()).  Periods, jobs and selections are of
 * a run: a run with them reads all of the trace.
 */
#pragma once

#include "engine/engine.h"
#include "index/index-file.h"
#include "recorded/recorded.h"

/* Where the index of a trace lies, or would lie; from malloc().  @beside: in the trace, else in the
 * cache; NULL: the user has none, or the trace has no path. */
char *index_path(const struct recorded_path *path, bool beside);

/* The files of a trace as they are now.  The caller frees them, also after a failure. */
int index_sources(const struct recorded_path *path, index_source_vec *ret, struct err *err);

/* Opens the index of a trace, which is checked to be of it as it is now.  -ENOENT: it has none;
 * -ESTALE: the trace has changed; -EINVAL: it is damaged, or of another version.  *ret_name is the
 * file that was looked at, or NULL; the caller frees it. */
struct index;
int index_open(const struct recorded_path *path, struct index **ret, char **ret_name,
	       struct err *err);
void index_close(struct index *index); /* NULL is fine */
const struct index_file *index_of(const struct index *index);

/* The first bytes of what comes next of a file, and a local time, as hashes. */
uint64_t index_look(const struct recorded_file *file, const struct recorded_place *place);
uint64_t index_clock(uint64_t ns);

/* Whether a run of these analyses may begin from such an index: it has them all, and follows who
 * runs on CPUs as they do. */
bool index_has(const struct index_head *head, const struct analysis *const *wanted);

/* ---- making ---- */

struct index_making {
	const struct analysis *const *analyses; /* ends with NULL */
	unsigned int jobs;
	uint64_t chunk_bytes, max_memory;
	uint64_t every;  /* bytes of the trace between two checkpoints, at least */
	bool is_bounded; /* they take no more than 1 / INDEX_STATES_PART of the trace */
	FILE *spool; /* empty, for reading and writing, the caller's: tiles go there meanwhile */
	const atomic_bool *stop;
	void (*on_warning)(void *user,
			   const struct engine_warning *warning); /* NULL: none is told */
	void *user;
};
struct index_made {
	uint64_t bytes, index_bytes, marks; /* bytes of the trace, of the index */
};
/* Writes the index of a trace to @file.  -EINTR: it was stopped. */
int index_make(const struct recorded_path *path, const struct index_making *making, FILE *file,
	       struct index_made *ret, struct err *err);

/* ---- using ---- */

/* recorded_analyze() in an engine of @config, which it makes and frees: from a checkpoint of an
 * index, if there is one that fits.  It then has more analyses than @config, whose reports are for
 * the output to leave out.  run->engine and run->on_open are set here. */
struct index_used {
	uint64_t passed; /* bytes of the trace that were not read; 0: no index was used */
	bool lacks;      /* there is one, without the analyses of the run */
	bool is_refused; /* there is one, which is of no use: */
	struct err why;
};
int index_analyze(const struct recorded_path *path, const struct engine_config *config,
		  const struct recorded_run *run, struct index_used *ret, struct err *err);
