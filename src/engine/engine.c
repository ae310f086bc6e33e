/*
 * engine: traces, and what workers did of their chunks; see engine.h.
 */
#include "engine/engine.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/probe.h"
#include "ctf/metadata/metadata.h"
#include "engine/engine-state.h"
#include "engine/exchange/checkpoint.h"
#include "engine/exchange/partial-file.h"
#include "engine/pool.h"

/* ---- engine ---- */

struct engine *engine_new(const struct engine_config *config)
{
	struct engine *engine = mem_alloc(sizeof(*engine));

	engine->config = *config;
	while (config->analyses[engine->setup.analysis_count]) {
		size_t i = engine->setup.analysis_count++;

		engine->setup.analyses[i] = config->analyses[i];
	}
	engine->setup.interval_ns = config->interval_ns;
	engine->setup.shown_interval_ns =
		config->shown_interval_ns ? config->shown_interval_ns : config->interval_ns;
	engine->setup.wants_windows = config->wants_windows;
	engine->setup.range_begin = config->range_begin;
	engine->setup.range_end = config->range_end;
	engine->setup.jobs = config->jobs;
	engine->setup.stats = config->stats;
	engine->setup.top = config->top;
	engine->setup.selection = config->selection;
	engine->setup.periods = config->periods;
	engine->setup.store = config->store;
	setup_init(&engine->setup);
	engine->pool = pool_new(&engine->setup, config->jobs);
	if (config->stats) {
		config->stats->jobs_are_coordinator = config->jobs == 0;
	}
	return engine;
}

static void drop_job(struct job *job)
{
	if (job->kind == JOB_WORKER) {
		chunk_free((struct chunk *)job);
	}
}

void engine_free(struct engine *engine)
{
	if (!engine) {
		return;
	}
	while (engine->traces.count > 0) {
		trace_free(engine->traces.at[0]);
	}
	pool_free(engine->pool, drop_job);
	setup_fini(&engine->setup);
	vec_fini(&engine->traces);
	free(engine);
}

int engine_event_fd(struct engine *engine)
{
	return pool_event_fd(engine->pool);
}

uint64_t engine_held_bytes(const struct engine *engine)
{
	uint64_t held = engine->chunk_held;

	for (size_t i = 0; i < engine->traces.count; i++) {
		held += merger_held_bytes(engine->traces.at[i]->merger);
	}
	return held;
}

size_t engine_in_flight(const struct engine *engine)
{
	return pool_in_flight(engine->pool);
}

bool engine_has_room(const struct engine *engine)
{
	unsigned int workers = pool_workers(engine->pool);

	return pool_in_flight_of(engine->pool, JOB_WORKER) < (workers + 1) * CHUNKS_PER_WORKER &&
	       engine_held_bytes(engine) < engine->config.max_memory;
}

/* ---- warnings ---- */

#define WARNINGS_MAX 100 /* of one trace; what more are about is only counted */

void trace_say(struct trace *trace, const struct stream *stream, int64_t packet, const char *what,
	       const char *fmt, ...)
{
	struct engine_warning warning = { .what = what,
					  .stream_name = stream ? stream->name : NULL,
					  .packet = packet };
	va_list args;

	if (++trace->warnings > WARNINGS_MAX) {
		return;
	}
	va_start(args, fmt);
	(void)vsnprintf(warning.message, sizeof(warning.message), fmt, args);
	va_end(args);
	trace->engine->config.on_warning(trace->user, &warning);
	if (trace->warnings == WARNINGS_MAX) {
		(void)snprintf(warning.message, sizeof(warning.message),
			       "more than %d warnings: further ones are only counted",
			       WARNINGS_MAX);
		warning.what = "warnings";
		warning.stream_name = NULL;
		warning.packet = -1;
		trace->engine->config.on_warning(trace->user, &warning);
	}
}

/* ---- merging what workers did ---- */

/* Once a stream: where a clock is wrong, it is wrong all the time. */
static void warn_of_anomalies(struct chunk *chunk)
{
	struct stream *stream = chunk->source;
	uint64_t packet = chunk->partial->first_anomaly;

	if (!stream->has_anomalies && packet != UINT64_MAX) {
		stream->has_anomalies = true;
		trace_say(chunk->trace, stream, (int64_t)packet, "clock",
			  "stream %s: from packet %" PRIu64
			  " on, the time of events went back or lies "
			  "behind their packet's end; they count at the nearest time that can be",
			  stream->name, packet);
	}
}

static void pass_on_retained(struct chunk *chunk)
{
	struct trace *trace = chunk->trace;

	for (size_t i = 0; i < chunk->packets.count; i++) {
		struct packet *packet = &chunk->packets.at[i];

		if (packet->retained) {
			trace->engine->config.on_retained(trace->user, chunk->source->name,
							  packet->retained);
			packet->retained = NULL;
			packet->bytes = NULL;
		}
	}
}

static void take_chunk(struct engine *engine, struct chunk *chunk)
{
	struct trace *trace = chunk->trace;
	struct partial *partial = chunk->partial;

	assert(trace->in_flight > 0);
	trace->in_flight--;
	engine->chunk_held -= chunk->bytes;
	for (size_t i = 0; i < partial->faults.count; i++) {
		const struct partial_fault *fault = &partial->faults.at[i];

		trace_say(trace, chunk->source, (int64_t)fault->packet, "packet",
			  "stream %s, packet %" PRIu64 ", %s; the rest of the packet is lost",
			  chunk->source->name, fault->packet, fault->text);
	}
	warn_of_anomalies(chunk);
	pass_on_retained(chunk);
	chunk->partial = NULL;
	if (engine->config.partials) {
		partial_writer_partial(engine->config.partials, &chunk->packed, partial,
				       chunk->plan);
		partial_cache_put(engine->setup.partial_cache, partial);
	} else {
		merger_take(chunk->stream, chunk->seq, partial);
	}
	chunk_free(chunk);
}

/* Deals with one job that is done; false: there is none. */
static bool reap(struct engine *engine, bool wait)
{
	struct job *job = pool_reap(engine->pool, wait);

	if (!job) {
		return false;
	}
	if (engine->config.stats) {
		engine->config.stats->job_ns[job->kind] += job->cpu_ns;
		engine->config.stats->jobs[job->kind]++;
	}
	switch (job->kind) {
	case JOB_WORKER:
		take_chunk(engine, (struct chunk *)job);
		break;
	case JOB_MERGER:
		merger_task_done(job->user);
		break;
	case JOB_FIND:
		job->is_reaped = true;
		break;
	case JOB_KINDS:
		break;
	}
	return true;
}

static enum merger_room room_of(const struct engine *engine)
{
	uint64_t held = engine_held_bytes(engine), most = engine->config.max_memory;

	return held >= most ? ROOM_NONE : held >= most / 4 ? ROOM_LITTLE : ROOM_ENOUGH;
}

static void step(struct engine *engine, bool wait, uint64_t now_ns)
{
	pool_drain_event(engine->pool);
	while (reap(engine, wait)) {
		wait = false;
	}
	for (size_t i = 0; i < engine->traces.count; i++) {
		if (!engine->traces.at[i]->has_finished) {
			merger_advance(engine->traces.at[i]->merger, room_of(engine), now_ns);
		}
	}
}

/* What is not the front's merging, although it may be done in its thread. */
static uint64_t others_ns(const struct stats *stats)
{
	return stats ? stats->emit_ns +
			       (stats->jobs_are_coordinator ? stats->job_ns[JOB_MERGER] : 0)
		     : 0;
}

/* What the front did since @begin, but for what others_ns() has since @others, is merging. */
static void note_coordinator(struct engine *engine, uint64_t begin, uint64_t others)
{
	struct stats *stats = engine->config.stats;
	uint64_t held = engine_held_bytes(engine), jobs = engine_in_flight(engine);

	stats->coordinator_ns += stats_now() - begin - (others_ns(stats) - others);
	stats->held_max = held > stats->held_max ? held : stats->held_max;
	stats->jobs_max = jobs > stats->jobs_max ? jobs : stats->jobs_max;
}

void engine_step(struct engine *engine, bool wait, uint64_t now_ns)
{
	const struct stats *stats = engine->config.stats;
	uint64_t begin = stats ? stats_now() : 0, others = others_ns(stats);

	step(engine, wait, now_ns);
	if (stats) {
		note_coordinator(engine, begin, others);
	}
}

void engine_make_room(struct engine *engine)
{
	while (!engine_has_room(engine) && engine_in_flight(engine) > 0) {
		/* Half of them is at the workers, or waits for one, meanwhile. */
		pool_wait(engine->pool, pool_in_flight_of(engine->pool, JOB_WORKER) / 2);
		engine_step(engine, true, 0);
	}
}

void engine_submit(struct engine *engine, struct job *job)
{
	job->is_timed = engine->config.stats != NULL;
	job->is_reaped = false;
	pool_submit(engine->pool, job);
}

void engine_await(struct engine *engine, const struct job *job)
{
	while (!job->is_reaped) {
		engine_step(engine, true, 0);
	}
}

/* ---- traces ---- */

static void on_merge_report(void *user, const struct report *report)
{
	struct trace *trace = user;
	struct stats *stats = trace->engine->config.stats;

	trace->engine->config.on_report(trace->user, report);
	if (stats) {
		stats->windows += report->kind == REPORT_WINDOW;
		if (report->has_lag && report->lag_ns > 0) {
			histogram_add(&stats->lag, (uint64_t)report->lag_ns);
		}
	}
}

static void submit_merge(void *user, struct job *job)
{
	struct trace *trace = user;

	job->is_timed = trace->engine->config.stats != NULL;
	pool_submit(trace->engine->pool, job);
}

static void wait_for_job(void *user)
{
	struct trace *trace = user;

	(void)reap(trace->engine, true);
}

static void new_metadata(struct trace *trace)
{
	struct engine *engine = trace->engine;

	trace->metadata = metadata_stream_new();
	trace->builder =
		plan_builder_new(metadata_stream_arena(trace->metadata), engine->setup.requests,
				 engine->setup.request_count, false);
}

struct trace *trace_new(struct engine *engine, void *user)
{
	struct merger_host host = {
		.emit = on_merge_report,
		.submit = submit_merge,
		.wait = wait_for_job,
		.tasks_max = 2 * pool_workers(engine->pool),
	};
	struct trace *trace = mem_alloc(sizeof(*trace));

	trace->engine = engine;
	trace->user = user;
	host.user = trace;
	trace->merger = merger_new(&engine->setup, &host);
	new_metadata(trace);
	*vec_push(&engine->traces) = trace;
	return trace;
}

void trace_set_user(struct trace *trace, void *user)
{
	trace->user = user;
}

void trace_warn(struct trace *trace, const struct engine_warning *warning)
{
	trace->engine->config.on_warning(trace->user, warning);
}

static void drain(struct trace *trace)
{
	while (trace->in_flight > 0) {
		(void)reap(trace->engine, true);
	}
	merger_wait(trace->merger);
}

static void free_filling(struct stream *stream)
{
	if (stream->chunk) {
		stream->trace->engine->chunk_held -= stream->chunk->bytes;
		chunk_free(stream->chunk);
		stream->chunk = NULL;
	}
}

void trace_free(struct trace *trace)
{
	struct engine *engine = trace->engine;
	size_t retained = 0;

	drain(trace);
	for (size_t i = 0; i < engine->traces.count; i++) {
		if (engine->traces.at[i] != trace) {
			engine->traces.at[retained++] = engine->traces.at[i];
		}
	}
	engine->traces.count = retained;
	for (size_t i = 0; i < trace->streams.count; i++) {
		free_filling(trace->streams.at[i]);
		free(trace->streams.at[i]->name);
		free(trace->streams.at[i]);
	}
	merger_free(trace->merger);
	plan_unref(trace->plan);
	plan_builder_free(trace->builder);
	metadata_stream_free(trace->metadata);
	for (size_t i = 0; i < trace->old_metadata.count; i++) {
		plan_builder_free(trace->old_builders.at[i]);
		metadata_stream_free(trace->old_metadata.at[i]);
	}
	vec_fini(&trace->old_metadata);
	vec_fini(&trace->old_builders);
	vec_fini(&trace->streams);
	free(trace);
}

static int replan(struct trace *trace, struct err *err)
{
	const struct metadata *types = metadata_stream_types(trace->metadata);
	struct plan *plan;
	int r;

	if (!types->has_trace) {
		return 0;
	}
	r = plan_build(trace->builder, types, &plan, err);
	if (r == 0 && trace->is_restored) {
		r = merger_check_classes(trace->merger, plan, err);
		if (r < 0) {
			plan_unref(plan);
		}
	}
	if (r < 0) {
		return r;
	}
	plan_unref(trace->plan);
	trace->plan = plan;
	merger_set_classes(trace->merger, plan);
	return 0;
}

int trace_metadata(struct trace *trace, const void *bytes, size_t len, bool is_last,
		   struct err *err)
{
	int r = metadata_stream_feed(trace->metadata, bytes, len, err);

	if (r < 0) {
		return r;
	}
	if (is_last) {
		r = metadata_stream_end(trace->metadata, err);
		if (r < 0) {
			return r;
		}
		if (!metadata_stream_types(trace->metadata)->has_trace) {
			return err_raise(err, -EINVAL, "metadata has no trace block");
		}
	}
	return replan(trace, err);
}

void trace_metadata_restart(struct trace *trace)
{
	*vec_push(&trace->old_metadata) = trace->metadata;
	*vec_push(&trace->old_builders) = trace->builder;
	plan_unref(trace->plan);
	trace->plan = NULL;
	new_metadata(trace);
}

const struct plan *trace_plan(const struct trace *trace)
{
	return trace->plan;
}

bool trace_uuid(const struct trace *trace, uint8_t ret_uuid[16])
{
	const struct metadata *types = metadata_stream_types(trace->metadata);

	if (types->has_uuid) {
		memcpy(ret_uuid, types->uuid, 16);
	}
	return types->has_uuid;
}

void trace_finish(struct trace *trace, uint64_t now_ns)
{
	const struct stats *stats = trace->engine->config.stats;
	uint64_t begin, others;

	for (size_t i = 0; i < trace->streams.count; i++) {
		stream_end(trace->streams.at[i]);
	}
	drain(trace);
	begin = stats ? stats_now() : 0;
	others = others_ns(stats);
	merger_finish(trace->merger, now_ns);
	if (trace->engine->config.partials) {
		partial_writer_finish(trace->engine->config.partials);
	}
	trace->has_finished = true;
	if (stats) {
		note_coordinator(trace->engine, begin, others);
	}
}

/* ---- state ---- */

void trace_pause(struct trace *trace, uint64_t now_ns)
{
	for (size_t i = 0; i < trace->streams.count; i++) {
		if (!trace->streams.at[i]->is_ended) {
			(void)stream_flush(trace->streams.at[i]);
		}
	}
	drain(trace);
	merger_drain(trace->merger, now_ns);
}

void trace_codec(struct trace *trace, struct codec *codec)
{
	checkpoint_merger(trace->merger, codec);
	if (codec_check(codec, true)) {
		streams_codec(trace, codec);
	}
	trace->is_restored = codec_reads(codec);
}

void trace_end_away(struct trace *trace)
{
	for (size_t i = 0; i < trace->streams.count; i++) {
		if (trace->streams.at[i]->is_away) {
			stream_end(trace->streams.at[i]);
		}
	}
}

void trace_total_so_far(struct trace *trace)
{
	merger_emit_total(trace->merger, true);
}

const struct merger_account *trace_account(const struct trace *trace)
{
	return merger_account(trace->merger);
}

uint64_t trace_watermark(const struct trace *trace)
{
	return merger_watermark(trace->merger);
}

uint64_t trace_closed_until(const struct trace *trace)
{
	return merger_closed_until(trace->merger);
}
