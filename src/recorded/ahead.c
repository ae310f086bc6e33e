/*
 * ahead: see ahead.h.
 */
#include "recorded/ahead.h"

#include <assert.h>
#include <stdlib.h>

#include "engine/engine.h"

#define BATCH_PACKETS 64 /* the two batches of a stream take 20 KiB */

struct ahead_batch {
	struct found_packet at[BATCH_PACKETS];
	size_t count;
};

struct ahead {
	struct job job;
	struct engine *engine;
	const struct plan *plan;
	/* The job's while is_running: */
	struct recorded_file *file;
	struct decoder *decoder;
	struct ahead_batch *coming;
	/* The coordinator's: */
	struct ahead_batch *now;
	size_t at; /* the current packet of `now` */
	bool is_running;
};

static void find_batch(struct job *job, void *scratch)
{
	struct ahead *ahead = (struct ahead *)job;
	struct recorded_file *file = ahead->file;
	struct ahead_batch *batch = ahead->coming;

	for (batch->count = 0; batch->count < BATCH_PACKETS && file->has_info; batch->count++) {
		batch->at[batch->count] = (struct found_packet){
			.info = file->info,
			.offset = file->offset,
			.part = file->part,
			.fault = recorded_take_fault(file),
		};
		recorded_next(file, ahead->plan, ahead->decoder);
	}
}

/* Starts a job if the file has another packet. */
static void start(struct ahead *ahead)
{
	ahead->is_running = ahead->file->has_info;
	if (ahead->is_running) {
		engine_submit(ahead->engine, &ahead->job);
	}
}

static void wait_for_job(struct ahead *ahead)
{
	assert(ahead->is_running);
	engine_await(ahead->engine, &ahead->job);
	ahead->is_running = false;
}

struct ahead *ahead_new(struct engine *engine, struct recorded_file *file, const struct plan *plan)
{
	struct ahead *ahead = mem_alloc(sizeof(*ahead));

	ahead->job = (struct job){ .run = find_batch, .kind = JOB_FIND };
	ahead->engine = engine;
	ahead->file = file;
	ahead->plan = plan;
	ahead->decoder = mem_alloc(sizeof(*ahead->decoder));
	ahead->now = mem_alloc(sizeof(*ahead->now));
	ahead->coming = mem_alloc(sizeof(*ahead->coming));
	start(ahead);
	return ahead;
}

static void free_batch(struct ahead_batch *batch, size_t from)
{
	for (size_t i = from; i < batch->count; i++) {
		free(batch->at[i].fault);
	}
	free(batch);
}

void ahead_free(struct ahead *ahead)
{
	if (!ahead) {
		return;
	}
	if (ahead->is_running) {
		wait_for_job(ahead);
	}
	free_batch(ahead->coming, 0);
	free_batch(ahead->now, ahead->at);
	decoder_free(ahead->decoder);
	free(ahead);
}

/* The current packet, of the next batch if need be; or NULL. */
static struct found_packet *current(struct ahead *ahead)
{
	struct ahead_batch *used = ahead->now;

	if (ahead->at == used->count && ahead->is_running) {
		wait_for_job(ahead);
		ahead->now = ahead->coming;
		ahead->coming = used;
		used->count = 0;
		ahead->at = 0;
		start(ahead);
	}
	return ahead->at < ahead->now->count ? &ahead->now->at[ahead->at] : NULL;
}

const struct found_packet *ahead_packet(struct ahead *ahead)
{
	return current(ahead);
}

char *ahead_take_fault(struct ahead *ahead)
{
	struct found_packet *packet = current(ahead);
	char *fault = packet ? packet->fault : recorded_take_fault(ahead->file);

	if (packet) {
		packet->fault = NULL;
	}
	return fault;
}

void ahead_next(struct ahead *ahead)
{
	assert(ahead->at < ahead->now->count);
	ahead->at++;
}
