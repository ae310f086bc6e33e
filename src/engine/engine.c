/*
 * engine: see engine.h.
 */
#include "engine/engine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/now.h"
#include "base/probe.h"
#include "engine/chunk-job.h"
#include "engine/engine-state.h"
#include "engine/pool.h"
#include "engine/warn.h"
#include "engine/worker/worker.h"

/* ---- engine ---- */

struct engine *engine_new(const struct engine_config *config)
{
	struct engine *engine = mem_alloc(sizeof(*engine));

	assert(config->interval_ns > 0);
	assert(config->range_begin < config->range_end);
	engine->config = *config;
	account_init(&engine->own, config->max_memory, 0, false);
	engine->account = config->account ? config->account : &engine->own;
	while (config->analyses[engine->setup.analysis_count]) {
		size_t i = engine->setup.analysis_count++;

		assert(i < ANALYSES_MAX);
		engine->setup.analyses[i] = config->analyses[i];
	}
	engine->setup.reported = config->reported;
	engine->setup.interval_ns = config->interval_ns;
	engine->setup.shown_ns = config->shown_interval_ns;
	engine->setup.keeps_windows = config->keeps_windows;
	engine->setup.wants_windows = config->wants_windows;
	engine->setup.wants_containers = config->wants_containers;
	engine->setup.wants_places = config->wants_places;
	engine->setup.host_containers = config->host_containers;
	engine->setup.wants_order = config->wants_order;
	engine->setup.wants_views = config->wants_views;
	engine->setup.wants_spans = config->on_spans != NULL;
	engine->setup.range_begin = config->range_begin;
	engine->setup.range_end = config->range_end;
	engine->setup.jobs = config->jobs;
	engine->setup.stats = config->stats;
	engine->setup.account = engine->account;
	engine->setup.top = config->top;
	engine->setup.selection = config->selection;
	engine->setup.periods = config->periods;
	engine->setup.is_usual = config->is_usual;
	setup_init(&engine->setup, worker_needs, WORKER_NEEDS);
	engine->pool = pool_new(
		&(struct pool_scratch){ chunk_scratch_new, chunk_scratch_free, &engine->setup },
		config->jobs);
	if (config->stats) {
		config->stats->jobs_are_coordinator = config->jobs == 0;
	}
	return engine;
}

static void drop_job(struct job *job)
{
	if (job->kind == JOB_WORKER) {
		chunk_job_free((struct chunk_job *)job);
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
	assert(engine_held_bytes(engine) == 0);
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
	return account_of(engine->account, ACCOUNT_CHUNKS) +
	       account_of(engine->account, ACCOUNT_PARTIALS);
}

struct account *engine_account(const struct engine *engine)
{
	return engine->account;
}

size_t engine_in_flight(const struct engine *engine)
{
	return pool_in_flight(engine->pool);
}

bool engine_has_room(const struct engine *engine)
{
	unsigned int workers = pool_workers(engine->pool);

	return pool_in_flight_of(engine->pool, JOB_WORKER) < (workers + 1) * CHUNKS_PER_WORKER &&
	       account_has_room(engine->account, 1, false);
}

/* ---- finished jobs ---- */

static void note_anomaly(const struct chunk_job *job)
{
	struct stream *stream = job->source;
	uint64_t packet = job->chunk.partial->first_anomaly;

	if (packet != UINT64_MAX &&
	    (stream->anomaly_after == 0 || job->seq < stream->anomaly_seq)) {
		stream->anomaly_seq = job->seq;
		stream->anomaly_after = packet + 1;
	}
}

/* Once per stream: a wrong clock stays wrong.  It waits until all @taken chunks before are known,
 * so that workers and their timing cannot change which packet it names. */
static void warn_of_anomalies(struct trace *trace, struct stream *stream, uint64_t taken)
{
	uint64_t packet = stream->anomaly_after - 1;

	if (!stream->has_anomalies && stream->anomaly_after != 0 && stream->anomaly_seq < taken) {
		stream->has_anomalies = true;
		warn_trace(trace, stream, (int64_t)packet, "clock",
			   "stream %s: from packet %" PRIu64
			   " on, the time of events went back or lies "
			   "behind their packet's end; they count at the nearest time that can be",
			   stream->name, packet);
	}
}

/* A part that nobody uses any more has no history of its own, and must not get into the trace's. */
static void pass_on_retained(struct chunk_job *job)
{
	struct trace *trace = job->trace;
	uint32_t part = job->source->part;
	void *user = trace->parts.at[part].user;

	for (size_t i = 0; i < job->chunk.packets.count; i++) {
		struct packet *packet = &job->chunk.packets.at[i];

		if (packet->retained) {
			assert(trace->engine->config.on_retained);
			if (user || part == 0) {
				trace->engine->config.on_retained(user ? user : trace->user,
								  job->source->name,
								  packet->retained);
			} else {
				retained_unref(packet->retained);
			}
			packet->retained = NULL;
			packet->bytes = NULL;
		}
	}
}

static void warn_of_fault(const struct chunk_job *job, const struct partial_fault *fault)
{
	struct loss loss = { .what = "packet", .packet = (int64_t)fault->packet };

	for (size_t i = 0; i < job->chunk.packets.count; i++) {
		const struct packet *packet = &job->chunk.packets.at[i];

		if (packet->number == fault->packet) {
			loss.begin = packet->begin;
			loss.end = packet->end == PACKET_END_UNKNOWN ? 0 : packet->end;
		}
	}
	warn_loss(job->trace, job->source, &loss,
		  "stream %s, packet %" PRIu64 ", %s; the rest of the packet is lost",
		  job->source->name, fault->packet, fault->text);
}

static void take_chunk(struct engine *engine, struct chunk_job *job)
{
	const struct engine_export *exporter = engine->config.exporter;
	struct trace *trace = job->trace;
	struct partial *partial = job->chunk.partial;

	assert(trace->in_flight > 0);
	assert(job->source->trace == trace);
	assert(job->seq < job->source->submitted);
	assert(partial);
	trace->in_flight--;
	account_give(engine->account, ACCOUNT_CHUNKS, job->chunk.bytes);
	for (size_t i = 0; i < partial->faults.count; i++) {
		warn_of_fault(job, &partial->faults.at[i]);
	}
	note_anomaly(job);
	pass_on_retained(job);
	job->chunk.partial = NULL;
	if (exporter) {
		exporter->partial(exporter->user, &job->packed, partial, job->chunk.plan);
		partial_cache_put(engine->setup.partial_cache, partial);
	} else {
		merger_take(job->stream, job->seq, partial);
	}
	/* An export has no order of chunks. */
	warn_of_anomalies(trace, job->source,
			  exporter ? UINT64_MAX : merger_stream_submitted(job->stream));
	chunk_job_free(job);
}

bool engine_reap(struct engine *engine, bool wait)
{
	struct job *job = pool_reap(engine->pool, wait);

	if (!job) {
		return false;
	}
	assert(job->kind < JOB_KINDS);
	if (engine->config.stats) {
		engine->config.stats->job_ns[job->kind] += job->cpu_ns;
		engine->config.stats->jobs[job->kind]++;
	}
	switch (job->kind) {
	case JOB_WORKER:
		take_chunk(engine, (struct chunk_job *)job);
		break;
	case JOB_MERGER:
		merger_task_done(job->user);
		break;
	case JOB_FIND:
		assert(!job->is_reaped);
		job->is_reaped = true;
		break;
	case JOB_KINDS:
		break;
	}
	return true;
}

static enum merger_room room_of(const struct engine *engine)
{
	uint64_t held = engine_held_bytes(engine), most = engine->account->passes;

	return held >= most ? ROOM_NONE : held >= most / 4 ? ROOM_LITTLE : ROOM_ENOUGH;
}

/*
 * Says once that a live trace is silent.  A tracer of switches has always some; programs may be
 * silent for any time, so of these it is said of the first time only.
 */
static void warn_of_silence(struct trace *trace)
{
	uint64_t since = merger_silent_since(trace->merger);
	bool is_first = trace->silent_since == 0;

	if (since <= trace->silent_since) {
		return;
	}
	trace->silent_since = since;
	if (is_first || (trace->plan && plan_has_event(trace->plan, "sched_switch"))) {
		warn_trace(trace, NULL, -1, "silent",
			   "no events for more than %" PRIu64 " s of its time; is tracing stopped?",
			   (uint64_t)(HOLE_NS / NS_PER_S));
	}
}

/* A step of a live run ends: the loop has others to look at. */
bool engine_must_pause(const struct engine *engine)
{
	return engine->pause_at != UINT64_MAX && now_monotonic_ns() >= engine->pause_at;
}

/* True: it paused, and has more. */
static bool advance_next(struct engine *engine, uint64_t now_ns)
{
	struct trace *trace = engine->traces.at[engine->next++ % engine->traces.count];
	bool has_more;

	if (trace->has_finished) {
		return false;
	}
	has_more = merger_advance(trace->merger, room_of(engine), now_ns);
	if (now_ns != 0) {
		warn_of_silence(trace);
	}
	return has_more;
}

static void step(struct engine *engine, bool wait, uint64_t now_ns)
{
	pool_drain_event(engine->pool);
	while (engine_reap(engine, wait)) {
		wait = false;
	}
	engine->pause_at = now_ns == 0 ? UINT64_MAX : now_monotonic_ns() + TURN_NS;
	if (engine->left == 0 || engine->left > engine->traces.count) {
		engine->left = engine->traces.count;
	}
	do {
		engine->left -= engine->left > 0 && !advance_next(engine, now_ns);
	} while (engine->left > 0 && !engine_must_pause(engine));
}

bool engine_has_more(const struct engine *engine)
{
	return engine->left > 0;
}

/* CPU time of the coordinator that counts as something other than its merging. */
static uint64_t others_ns(const struct stats *stats)
{
	return stats->emit_ns + (stats->jobs_are_coordinator ? stats->job_ns[JOB_MERGER] : 0);
}

struct engine_timer engine_timer_start(const struct engine *engine)
{
	const struct stats *stats = engine->config.stats;

	return stats ? (struct engine_timer){ .start = now_thread_cpu_ns(),
					      .others = others_ns(stats) }
		     : (struct engine_timer){ 0 };
}

void engine_timer_stop(struct engine *engine, const struct engine_timer *timer)
{
	struct stats *stats = engine->config.stats;
	uint64_t held, jobs;

	if (stats) {
		held = engine_held_bytes(engine);
		jobs = engine_in_flight(engine);
		assert(others_ns(stats) >= timer->others);
		stats->coordinator_ns +=
			now_thread_cpu_ns() - timer->start - (others_ns(stats) - timer->others);
		stats->held_max = held > stats->held_max ? held : stats->held_max;
		stats->jobs_max = jobs > stats->jobs_max ? jobs : stats->jobs_max;
	}
}

/* ---- invariants ---- */

static void check_stream(const struct stream *stream)
{
	if (!stream->merger) {
		assert(stream->is_ended);
		return;
	}
	if (stream->is_away) { /* it may have ended since (trace_end_away()) */
		assert(merger_stream_identity(stream->merger));
	}
	if (stream->filling) {
		assert(!stream->is_ended && !stream->is_away);
		assert(stream->filling->seq == stream->submitted);
		assert(stream->filling->chunk.packets.count > 0);
	}
	assert(merger_stream_submitted(stream->merger) <= stream->submitted ||
	       stream->trace->is_restored);
}

/* Counts of the engine against what they count; walks over all streams. */
static void engine_check(const struct engine *engine)
{
	size_t in_flight = 0;
	uint64_t filling = 0, partials = 0;
	uint64_t chunks = account_of(engine->account, ACCOUNT_CHUNKS);

	for (size_t i = 0; i < engine->traces.count; i++) {
		const struct trace *trace = engine->traces.at[i];

		in_flight += trace->in_flight;
		partials += merger_held_bytes(trace->merger);
		for (size_t k = 0; k < trace->streams.count; k++) {
			const struct stream *stream = trace->streams.at[k];

			check_stream(stream);
			filling += stream->filling ? stream->filling->chunk.bytes : 0;
		}
	}
	assert(in_flight == pool_in_flight_of(engine->pool, JOB_WORKER));
	assert(chunks >= filling);
	assert(in_flight > 0 || chunks == filling);
	assert(account_of(engine->account, ACCOUNT_PARTIALS) == partials);
}

void engine_step(struct engine *engine, bool wait, uint64_t now_ns)
{
	struct engine_timer timer = engine_timer_start(engine);

	if (CHECKS_ON) {
		engine_check(engine);
	}
	step(engine, wait, now_ns);
	engine_timer_stop(engine, &timer);
}

void engine_make_room(struct engine *engine)
{
	while (!engine_has_room(engine) && engine_in_flight(engine) > 0) {
		/* For half of the chunks: the other half keeps the workers busy meanwhile. */
		pool_wait(engine->pool, pool_in_flight_of(engine->pool, JOB_WORKER) / 2);
		engine_step(engine, true, 0);
	}
}

void engine_settle(struct engine *engine)
{
	while (engine_in_flight(engine) > 0) {
		engine_step(engine, true, 0);
	}
}

void engine_submit(struct engine *engine, struct job *job)
{
	assert(job->kind == JOB_FIND); /* no other kind waits for is_reaped */
	job->is_timed = engine->config.stats != NULL;
	job->is_reaped = false;
	pool_submit(engine->pool, job);
}

void engine_await(struct engine *engine, const struct job *job)
{
	while (!job->is_reaped) {
		assert(pool_in_flight_of(engine->pool, JOB_FIND) > 0);
		engine_step(engine, true, 0);
	}
}
