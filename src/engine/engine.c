/*
 * engine: traces, streams and chunks; see engine.h.
 *
 * The front's part of a stream follows what packets say about themselves (time, sequence
 * number, discarded events) and so finds gaps; workers decode what is inside.
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
#include "ctf/metadata.h"
#include "engine/clock.h"
#include "engine/partials.h"
#include "engine/pool.h"

#define WARNINGS_MAX 100 /* of one trace; what more are about is only counted */

struct engine {
	struct engine_config config;
	struct map_setup setup;
	struct pool *pool;
	VEC(struct trace *) traces;
	uint64_t chunk_held; /* bytes of packets in chunks, filling or in flight */
};

struct trace {
	struct engine *engine;
	void *user;
	struct metadata_stream *metadata;
	VEC(struct metadata_stream *) old_metadata; /* plans in use may point into them */
	struct plan_builder *builder;
	VEC(struct plan_builder *) old_builders;
	struct plan *plan;
	struct merge *merge;
	VEC(struct stream *) streams;
	size_t in_flight; /* chunks */
	unsigned int warnings;
	bool has_finished;
};

struct stream {
	struct trace *trace;
	struct merge_stream *merge;
	char *name;
	uint64_t submitted;  /* chunks */
	struct chunk *chunk; /* filling, or NULL */
	bool is_away, is_ended;
	bool has_anomalies; /* that was said */

	/* of the packet before */
	bool has_packet;
	uint64_t packets;
	uint64_t end; /* ns */
	uint64_t seq_num;
	uint64_t discarded;
	bool has_gap;      /* the next packet is behind a gap nobody announced */
	uint64_t gap_lost; /* packets lost in it */
};

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
	map_setup_init(&engine->setup);
	engine->pool = pool_new(&engine->setup, config->jobs);
	if (config->stats) {
		config->stats->jobs_are_front = config->jobs == 0;
	}
	return engine;
}

static void drop_job(struct job *job)
{
	if (job->kind == JOB_MAP) {
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
	map_setup_fini(&engine->setup);
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
		held += merge_held_bytes(engine->traces.at[i]->merge);
	}
	return held;
}

uint64_t engine_max_memory(const struct engine *engine)
{
	return engine->config.max_memory;
}

size_t engine_in_flight(const struct engine *engine)
{
	return pool_in_flight(engine->pool, JOB_MAP) + pool_in_flight(engine->pool, JOB_MERGE);
}

bool engine_has_room(const struct engine *engine)
{
	unsigned int workers = pool_workers(engine->pool);

	return pool_in_flight(engine->pool, JOB_MAP) < (workers + 1) * CHUNKS_PER_WORKER &&
	       engine_held_bytes(engine) < engine->config.max_memory;
}

/* ---- warnings ---- */

__attribute__((format(printf, 5, 6))) static void warn(struct trace *trace,
						       const struct stream *stream, int64_t packet,
						       const char *what, const char *fmt, ...)
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
	const struct partial *partial = chunk->partial;
	struct stream *stream = chunk->front;
	uint64_t anomalies = 0;

	for (size_t i = 0; !stream->has_anomalies && i < partial->slices.count; i++) {
		anomalies += partial->slices.at[i].anomalies;
	}
	if (anomalies > 0) {
		int64_t packet = (int64_t)chunk->packets.at[0].number;

		stream->has_anomalies = true;
		warn(chunk->trace, stream, packet, "clock",
		     "stream %s: from packet %" PRId64 " on, the time of events went back or lies "
		     "behind their packet's end; they count at the nearest time that can be",
		     stream->name, packet);
	}
}

static void pass_on_kept(struct chunk *chunk)
{
	struct trace *trace = chunk->trace;

	for (size_t i = 0; i < chunk->packets.count; i++) {
		struct packet *packet = &chunk->packets.at[i];

		if (packet->kept) {
			trace->engine->config.on_kept(trace->user, chunk->front->name,
						      packet->kept);
			packet->kept = NULL;
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

		warn(trace, chunk->front, (int64_t)fault->packet, "packet",
		     "stream %s, packet %" PRIu64 ", %s; the rest of the packet is lost",
		     chunk->front->name, fault->packet, fault->text);
	}
	warn_of_anomalies(chunk);
	pass_on_kept(chunk);
	chunk->partial = NULL;
	if (engine->config.partials) {
		partials_put_partial(engine->config.partials, merge_stream_number(chunk->stream),
				     chunk->seq, partial, chunk->plan);
		shelf_put(engine->setup.shelf, partial);
	} else {
		merge_take(chunk->stream, chunk->seq, partial);
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
	if (job->kind == JOB_MERGE) {
		merge_task_done(job->user);
	} else {
		take_chunk(engine, (struct chunk *)job);
	}
	return true;
}

static enum merge_room room_of(const struct engine *engine)
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
			merge_advance(engine->traces.at[i]->merge, room_of(engine), now_ns);
		}
	}
}

/* What is not the front's merging, although it may be done in its thread. */
static uint64_t others_ns(const struct stats *stats)
{
	return stats ? stats->emit_ns + (stats->jobs_are_front ? stats->job_ns[JOB_MERGE] : 0) : 0;
}

/* What the front did since @begin, but for what others_ns() has since @others, is merging. */
static void note_front(struct engine *engine, uint64_t begin, uint64_t others)
{
	struct stats *stats = engine->config.stats;
	uint64_t held = engine_held_bytes(engine), jobs = engine_in_flight(engine);

	stats->front_ns += stats_now() - begin - (others_ns(stats) - others);
	stats->held_max = held > stats->held_max ? held : stats->held_max;
	stats->jobs_max = jobs > stats->jobs_max ? jobs : stats->jobs_max;
}

void engine_step(struct engine *engine, bool wait, uint64_t now_ns)
{
	const struct stats *stats = engine->config.stats;
	uint64_t begin = stats ? stats_now() : 0, others = others_ns(stats);

	step(engine, wait, now_ns);
	if (stats) {
		note_front(engine, begin, others);
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
			spread_add(&stats->lag, (uint64_t)report->lag_ns);
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
	struct merge_host host = {
		.emit = on_merge_report,
		.submit = submit_merge,
		.wait = wait_for_job,
		.tasks_max = 2 * pool_workers(engine->pool),
	};
	struct trace *trace = mem_alloc(sizeof(*trace));

	trace->engine = engine;
	trace->user = user;
	host.user = trace;
	trace->merge = merge_new(&engine->setup, &host);
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
	merge_wait(trace->merge);
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
	size_t kept = 0;

	drain(trace);
	for (size_t i = 0; i < engine->traces.count; i++) {
		if (engine->traces.at[i] != trace) {
			engine->traces.at[kept++] = engine->traces.at[i];
		}
	}
	engine->traces.count = kept;
	for (size_t i = 0; i < trace->streams.count; i++) {
		free_filling(trace->streams.at[i]);
		free(trace->streams.at[i]->name);
		free(trace->streams.at[i]);
	}
	merge_free(trace->merge);
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
	if (r < 0) {
		return r;
	}
	plan_unref(trace->plan);
	trace->plan = plan;
	merge_set_classes(trace->merge, plan);
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
	merge_finish(trace->merge, now_ns);
	if (trace->engine->config.partials) {
		partials_put_finish(trace->engine->config.partials);
	}
	trace->has_finished = true;
	if (stats) {
		note_front(trace->engine, begin, others);
	}
}

void trace_total_so_far(struct trace *trace)
{
	merge_emit_total(trace->merge, true);
}

const struct merge_account *trace_account(const struct trace *trace)
{
	return merge_account(trace->merge);
}

struct merge *trace_merge(struct trace *trace)
{
	return trace->merge;
}

struct engine *trace_engine(const struct trace *trace)
{
	return trace->engine;
}

uint64_t trace_watermark(const struct trace *trace)
{
	return merge_watermark(trace->merge);
}

uint64_t trace_closed_until(const struct trace *trace)
{
	return merge_closed_until(trace->merge);
}

/* ---- streams ---- */

struct stream *stream_new(struct trace *trace, const char *name)
{
	struct stream *stream = mem_alloc(sizeof(*stream));

	stream->trace = trace;
	stream->name = mem_strdup(name);
	stream->merge = merge_stream_new(trace->merge);
	*vec_push(&trace->streams) = stream;
	return stream;
}

const char *stream_name(const struct stream *stream)
{
	return stream->name;
}

/* Whether the class of this stream tells who runs on its CPU. */
static bool has_switches(const struct stream *stream, const struct plan_stream *class)
{
	return stream->trace->engine->setup.uses_threads &&
	       (class->request_mask >> MAP_REQUEST_SWITCH & 1);
}

static bool same_identity(const struct stream_identity *a, const struct packet_info *info)
{
	return a->class_id == info->stream->id && a->cpu_id == info->cpu_id &&
	       a->instance_id == info->instance_id;
}

/* Takes over from a stream that went away with its connection, if this is the same. */
static bool adopt(struct stream *stream, const struct packet_info *info)
{
	struct trace *trace = stream->trace;

	for (size_t i = 0; i < trace->streams.count; i++) {
		struct stream *old = trace->streams.at[i];

		/* What is away was identified: stream_away() ends the others. */
		if (!old->is_away || !same_identity(merge_stream_identity(old->merge), info)) {
			continue;
		}
		merge_stream_end(stream->merge, 0); /* the placeholder */
		stream->merge = old->merge;
		stream->submitted = old->submitted;
		stream->has_packet = old->has_packet;
		stream->packets = old->packets;
		stream->end = old->end;
		stream->seq_num = old->seq_num;
		stream->discarded = old->discarded;
		stream->has_gap = true;
		old->is_away = false;
		old->is_ended = true;
		old->merge = NULL;
		merge_stream_exclude(stream->merge, false);
		return true;
	}
	return false;
}

/* Nothing older than @ts comes after what was submitted. */
static void tell_known(struct stream *stream, uint64_t ts)
{
	struct partials_out *partials = stream->trace->engine->config.partials;

	merge_stream_known(stream->merge, stream->submitted, ts);
	if (partials && merge_stream_identity(stream->merge)) {
		partials_put_known(partials, merge_stream_number(stream->merge), stream->submitted,
				   ts);
	}
}

static void identify(struct stream *stream, const struct packet_info *info, uint64_t begin)
{
	struct stream_identity identity = {
		.class_id = info->stream->id,
		.cpu_id = info->cpu_id,
		.instance_id = info->instance_id,
		.has_switches = has_switches(stream, info->stream),
		.starts_late = info->seq_num != UINT64_MAX && info->seq_num > 0,
		.begin = begin,
	};

	merge_stream_identify(stream->merge, &identity);
	if (stream->trace->engine->config.partials) {
		partials_put_stream(stream->trace->engine->config.partials,
				    merge_stream_number(stream->merge), &identity);
	}
	if (identity.starts_late && stream->trace->engine->config.expects_beginning) {
		warn(stream->trace, stream, (int64_t)info->seq_num, "late-start",
		     "stream %s: the first packet to be had is number %" PRIu64
		     "; those before it are gone",
		     stream->name, info->seq_num);
	}
}

void stream_expect(struct stream *stream, const struct packet_info *info)
{
	struct clock clock;

	clock_init(&clock, info->stream->clock);
	stream->end = info->has_begin ? clock_ns(&clock, info->begin) : 0;
	identify(stream, info, stream->end);
	tell_known(stream, stream->end);
}

static void new_chunk(struct stream *stream, bool switches, const struct stream_input *input)
{
	struct chunk *chunk = mem_alloc(sizeof(*chunk));

	chunk->trace = stream->trace;
	chunk->front = stream;
	chunk->stream = stream->merge;
	chunk->plan = plan_ref(stream->trace->plan);
	chunk->seq = stream->submitted;
	chunk->fd = input->fd;
	chunk->mapped = input->mapped;
	chunk->has_switches = switches;
	chunk->cpu_id = merge_stream_identity(stream->merge)->cpu_id;
	chunk->pool = stream->trace->engine->pool;
	chunk->begin = stream->end;
	stream->chunk = chunk;
}

/* Events discarded since the packet before; the counter is as wide as declared. */
static uint64_t discarded_since(const struct stream *stream, const struct packet_info *info)
{
	unsigned int bits = info->stream->discarded_bits;
	uint64_t mask = bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;

	if (info->discarded == UINT64_MAX || !stream->has_packet) {
		return 0;
	}
	return (info->discarded - stream->discarded) & mask;
}

static uint64_t lost_since(const struct stream *stream, const struct packet_info *info)
{
	/* Not counted on: a file may have been put together of pieces. */
	if (info->seq_num == UINT64_MAX || !stream->has_packet ||
	    info->seq_num <= stream->seq_num) {
		return 0;
	}
	return info->seq_num - stream->seq_num - 1;
}

static void find_gap(struct stream *stream, const struct packet_info *info, struct packet *packet)
{
	struct trace *trace = stream->trace;

	packet->discarded = discarded_since(stream, info);
	packet->lost_packets = lost_since(stream, info);
	if (packet->lost_packets == 0) {
		packet->lost_packets = stream->gap_lost;
	}
	packet->has_gap = stream->has_gap || packet->discarded > 0 || packet->lost_packets > 0;
	if (packet->discarded > 0) {
		warn(trace, stream, (int64_t)packet->number, "discarded",
		     "stream %s: the tracer discarded %" PRIu64 " events before packet %" PRIu64,
		     stream->name, packet->discarded, packet->number);
	}
	if (packet->lost_packets > 0 && stream->gap_lost == 0) {
		warn(trace, stream, (int64_t)packet->number, "lost-packets",
		     "stream %s: %" PRIu64 " packets are missing before packet %" PRIu64,
		     stream->name, packet->lost_packets, packet->number);
	}
	if (!stream->has_packet && info->discarded != UINT64_MAX && info->discarded > 0) {
		warn(trace, stream, (int64_t)packet->number, "discarded-before",
		     "stream %s: the tracer had discarded %" PRIu64
		     " events by the end of the first "
		     "packet; they are not counted",
		     stream->name, info->discarded);
	}
	stream->has_gap = false;
	stream->gap_lost = 0;
}

/* A relay sends what it has again to who comes back; what is in a file is there once. */
static bool is_duplicate(const struct stream *stream, const struct stream_input *input)
{
	return input->bytes && stream->has_packet && input->info->seq_num != UINT64_MAX &&
	       input->info->seq_num <= stream->seq_num;
}

static void note_packet(struct stream *stream, const struct packet_info *info, uint64_t end)
{
	stream->has_packet = true;
	stream->end = end;
	stream->seq_num = info->seq_num;
	stream->discarded = info->discarded;
	stream->packets++;
}

void stream_packet(struct stream *stream, const struct stream_input *input)
{
	struct packet_info cut = *input->info;
	const struct packet_info *info = &cut;
	struct engine *engine = stream->trace->engine;
	struct packet packet = { .bytes = input->bytes, .file_offset = input->offset };
	struct clock clock;

	if (input->bytes) {
		(void)packet_info_cut(&cut, input->len);
	}
	packet.size = (info->content_bits + 7) / 8;
	clock_init(&clock, info->stream->clock);
	packet.begin = info->has_begin && info->stream->clock ? clock_ns(&clock, info->begin)
							      : stream->end;
	packet.end = info->has_end && info->stream->clock ? clock_ns(&clock, info->end)
		     : info->stream->clock                ? PACKET_END_UNKNOWN
							  : packet.begin;
	if (!merge_stream_identity(stream->merge) && !adopt(stream, info)) {
		identify(stream, info, packet.begin);
		stream->end = packet.begin;
	}
	if (is_duplicate(stream, input)) {
		free(input->bytes);
		return;
	}
	packet.number = info->seq_num != UINT64_MAX ? info->seq_num : stream->packets;
	packet.floor = stream->end;
	packet.begin = packet.begin < packet.floor ? packet.floor : packet.begin;
	packet.end = packet.end < packet.begin ? packet.begin : packet.end;
	find_gap(stream, info, &packet);
	if (input->bytes && engine->config.on_kept) {
		packet.kept = kept_new(input->info, input->bytes, input->len);
		packet.kept->begin = packet.begin;
		packet.kept->end = packet.end == PACKET_END_UNKNOWN ? UINT64_MAX : packet.end;
	}
	if (stream->chunk && (stream->chunk->plan != stream->trace->plan)) {
		(void)stream_flush(stream);
	}
	if (!stream->chunk) {
		new_chunk(stream, has_switches(stream, info->stream), input);
	}
	*vec_push(&stream->chunk->packets) = packet;
	stream->chunk->bytes += packet.size;
	engine->chunk_held += packet.size;
	/* Where the end is not known, the begin is what is known of what comes next. */
	note_packet(stream, info, packet.end == PACKET_END_UNKNOWN ? packet.begin : packet.end);
	if (stream->chunk->bytes >= engine->config.chunk_bytes) {
		(void)stream_flush(stream);
	}
}

void stream_bad_packet(struct stream *stream, const char *message)
{
	warn(stream->trace, stream, (int64_t)stream->packets, "packet",
	     "stream %s, packet %" PRIu64 ": %s; the packet is lost", stream->name, stream->packets,
	     message);
	stream->has_gap = true;
	stream->gap_lost++;
	stream->packets++;
}

void stream_lost_packet(struct stream *stream, const char *message)
{
	warn(stream->trace, stream, (int64_t)stream->packets, "lost-packets", "stream %s: %s",
	     stream->name, message);
	stream->has_gap = true;
	stream->gap_lost++;
}

static void map_job(struct job *job, struct map *map)
{
	struct chunk *chunk = (struct chunk *)job;

	map_chunk(map, chunk);
	map_pack(map, chunk);
}

bool stream_flush(struct stream *stream)
{
	struct chunk *chunk = stream->chunk;

	if (!chunk) {
		return false;
	}
	stream->chunk = NULL;
	stream->submitted++;
	stream->trace->in_flight++;
	chunk->job.run = map_job;
	chunk->job.kind = JOB_MAP;
	probe_chunk(chunk->seq, chunk->packets.count, chunk->bytes);
	chunk->job.is_timed = stream->trace->engine->config.stats != NULL;
	pool_submit(stream->trace->engine->pool, &chunk->job);
	return true;
}

void stream_known(struct stream *stream, uint64_t cycles)
{
	struct clock clock;
	const struct clock_class *class = NULL;

	if (!stream->trace->plan || stream->trace->plan->stream_count == 0) {
		return;
	}
	class = stream->trace->plan->streams[0].clock;
	clock_init(&clock, class);
	(void)stream_flush(stream);
	tell_known(stream, clock_ns(&clock, cycles));
}

void stream_next(struct stream *stream, const struct packet_info *info)
{
	struct clock clock;

	(void)stream_flush(stream);
	/* In a gap it is not known who ran: the packet behind it has to come first. */
	if (info->has_begin && !stream->has_gap && discarded_since(stream, info) == 0 &&
	    lost_since(stream, info) == 0) {
		clock_init(&clock, info->stream->clock);
		tell_known(stream, clock_ns(&clock, info->begin));
	}
}

/* What was lost after the last good packet has no packet to report it. */
static void push_final_gap(struct stream *stream)
{
	const struct stream_identity *identity = merge_stream_identity(stream->merge);
	struct packet packet = { .floor = stream->end,
				 .begin = stream->end,
				 .end = stream->end,
				 .number = stream->packets,
				 .has_gap = true,
				 .lost_packets = stream->gap_lost };

	if (stream->gap_lost == 0 || !identity || !stream->trace->plan) {
		return;
	}
	if (!stream->chunk) {
		new_chunk(stream, identity->has_switches, &(struct stream_input){ .fd = -1 });
	}
	*vec_push(&stream->chunk->packets) = packet;
	stream->gap_lost = 0;
}

void stream_end(struct stream *stream)
{
	struct partials_out *partials = stream->trace->engine->config.partials;

	if (stream->is_ended) {
		return;
	}
	push_final_gap(stream);
	stream->is_ended = true;
	(void)stream_flush(stream);
	merge_stream_end(stream->merge, stream->submitted);
	if (partials && merge_stream_identity(stream->merge)) {
		partials_put_end(partials, merge_stream_number(stream->merge), stream->submitted);
	}
}

void stream_away(struct stream *stream)
{
	if (stream->is_ended) {
		return;
	}
	(void)stream_flush(stream);
	if (!merge_stream_identity(stream->merge)) {
		stream_end(stream); /* nothing was ever known of it */
		return;
	}
	stream->is_away = true;
	merge_stream_exclude(stream->merge, true);
}

void stream_exclude(struct stream *stream, bool excluded)
{
	if (!stream->is_ended && !stream->is_away) {
		merge_stream_exclude(stream->merge, excluded);
	}
}

uint64_t stream_until(const struct stream *stream)
{
	return stream->merge ? merge_stream_until(stream->merge) : 0;
}
