/*
 * chunk-job: see chunk-job.h.
 */
#include "engine/chunk-job.h"

#include <assert.h>
#include <stdlib.h>

#include "base/probe.h"
#include "engine/worker/worker.h"

struct chunk_scratch {
	struct worker *worker;
	struct retained_packer *retained_packer; /* NULL: not needed yet */
	const struct engine_export *exporter;    /* that made the packer */
	void *packer;                            /* the exporter's; NULL: not needed yet */
};

void *chunk_scratch_new(void *setup)
{
	struct chunk_scratch *scratch = mem_alloc(sizeof(*scratch));

	scratch->worker = worker_new(setup);
	return scratch;
}

void chunk_scratch_free(void *opaque)
{
	struct chunk_scratch *scratch = opaque;

	worker_free(scratch->worker);
	retained_packer_free(scratch->retained_packer);
	if (scratch->packer) {
		scratch->exporter->packer_free(scratch->packer);
	}
	free(scratch);
}

/* Packs retained packets while no other job waits, and writes them to the file, if any. */
static void pack_retained(struct chunk_job *job, struct chunk_scratch *scratch)
{
	for (size_t i = 0; i < job->chunk.packets.count; i++) {
		struct retained *retained = job->chunk.packets.at[i].retained;

		if (!retained) {
			continue;
		}
		if (!scratch->retained_packer) {
			scratch->retained_packer = retained_packer_new();
		}
		if (!pool_is_busy(job->pool)) {
			retained_pack(retained, scratch->retained_packer);
		}
		if (job->store) {
			retained_spill(retained, job->store);
		}
	}
}

static void pack_partial(struct chunk_job *job, struct chunk_scratch *scratch)
{
	if (!scratch->packer) {
		scratch->exporter = job->exporter;
		scratch->packer = job->exporter->packer_new();
	}
	assert(scratch->exporter == job->exporter); /* of the whole engine */
	job->exporter->pack(scratch->packer, job->number, job->seq, job->chunk.partial,
			    &job->packed);
}

static void run(struct job *opaque, void *scratch_opaque)
{
	struct chunk_job *job = (struct chunk_job *)opaque;
	struct chunk_scratch *scratch = scratch_opaque;

	worker_run_chunk(scratch->worker, &job->chunk);
	assert(job->chunk.partial);
	if (job->exporter) {
		pack_partial(job, scratch);
	}
	pack_retained(job, scratch);
}

void chunk_job_submit(struct chunk_job *job)
{
	assert(job->chunk.plan);
	assert(job->chunk.packets.count > 0);
	assert(!job->chunk.partial);
	job->job.run = run;
	job->job.kind = JOB_WORKER;
	probe_chunk(job->seq, job->chunk.packets.count, job->chunk.bytes);
	pool_submit(job->pool, &job->job);
}

void chunk_job_free(struct chunk_job *job)
{
	if (job) {
		chunk_fini(&job->chunk);
		vec_fini(&job->packed.bytes);
		free(job);
	}
}
