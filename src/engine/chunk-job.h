/*
 * chunk-job: a chunk as a job of the pool.
 *
 *     filling ──submit──► queued ──take──► running ──finish──► done ──reap──► freed
 *     coordinator            -          one worker              -         coordinator
 *
 * Exactly one thread may touch a chunk, named under its phase.
 */
#pragma once

#include "engine/contract/chunk.h"
#include "engine/engine.h"
#include "engine/pool.h"

struct merger_stream;
struct stream;
struct trace;

struct chunk_job {
	struct job job; /* first: the pool hands this back */
	struct chunk chunk;
	/* Workers do not touch these. */
	struct trace *trace;
	struct stream *source;
	struct merger_stream *stream;
	uint64_t seq; /* dense in its stream */

	struct pool *pool;                    /* retained packets are packed while it is idle */
	struct retained_file *store;          /* of retained packets; NULL: they stay in memory */
	const struct engine_export *exporter; /* NULL: the partial is merged here */
	uint32_t number;                      /* of the stream, in the export */
	struct packed packed;                 /* the partial as bytes, for the export */
};

/* What each thread of the pool uses for chunks: a worker and packers. */
void *chunk_scratch_new(void *setup); /* @setup: a const struct setup */
void chunk_scratch_free(void *scratch);

/* Moves the job into its pool; engine_reap() gets it back. */
void chunk_job_submit(struct chunk_job *job);
void chunk_job_free(struct chunk_job *job); /* NULL is fine */
