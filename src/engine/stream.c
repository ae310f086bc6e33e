/*
 * stream: see stream.h.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "ctf/clock.h"
#include "engine/chunk-job.h"
#include "engine/engine-state.h"
#include "engine/sibling.h"
#include "engine/warn.h"
#include "kernel/task-state.h"

struct stream *stream_new(struct trace *trace, uint32_t part, const char *name)
{
	struct stream *stream = mem_alloc(sizeof(*stream));

	assert(!trace->has_finished);
	stream->trace = trace;
	stream->part = part;
	stream->name = mem_strdup(name);
	stream->merger = merger_stream_new(trace->merger);
	*vec_push(&trace->streams) = stream;
	return stream;
}

const char *stream_name(const struct stream *stream)
{
	return stream->name;
}

/* Whether this stream may have the switches of its CPU.  Of several such channels the merger
 * selects one. */
static bool has_switches(const struct stream *stream, const struct plan_stream *class)
{
	const struct setup *setup = &stream->trace->engine->setup;

	return stream->part == 0 &&
	       (setup->uses_threads ||
		(setup->follows_rt && task_state_is_rt(stream->trace->plan->metadata))) &&
	       (class->lead_mask >> REQUEST_SWITCH & 1);
}

bool stream_is_other(const struct stream *stream, const struct packet_info *info)
{
	const struct stream_identity *of = merger_stream_identity(stream->merger);

	return of && (of->class_id != info->stream->id || of->cpu_id != info->cpu_id ||
		      of->instance_id != info->instance_id);
}

/* The stream of this identity that is away, or else one that has ended and comes again. */
static struct stream *find_former(const struct stream *stream, const struct packet_info *info)
{
	struct stream *found = NULL;

	VEC_EACH_OF(&stream->trace->streams, old) {
		/* Both were identified: stream_away() ends the others. */
		if ((old->is_away || (old->may_return && !found)) && !stream_is_other(old, info)) {
			found = old;
			if (!old->is_ended) {
				break;
			}
		}
	}
	return found;
}

/* Takes over from a stream of the same identity that is away, or has ended before. */
static bool adopt(struct stream *stream, const struct packet_info *info)
{
	struct stream *old = find_former(stream, info);

	if (!old) {
		return false;
	}
	assert(!old->filling); /* stream_away() flushed it */
	assert(!stream->filling && stream->submitted == 0);
	merger_stream_end(stream->merger, 0); /* the placeholder */
	stream->merger = old->merger;
	stream->submitted = old->submitted;
	stream->has_packet = old->has_packet;
	stream->packets = old->packets;
	stream->end = old->end;
	stream->seq_num = old->seq_num;
	stream->discarded = old->discarded;
	stream->has_gap = old->has_gap;
	stream->final_lost = old->final_lost;
	stream->gap_lost +=
		old->gap_lost; /* what this connection refused is before its first packet */
	stream->owed = old->owed > old->away_lost ? old->owed : old->away_lost;
	stream->has_anomalies = old->has_anomalies;
	stream->is_renumbered = old->is_renumbered;
	stream->is_resumed = stream->may_repeat = true;
	if (old->is_ended) {
		merger_stream_reopen(stream->merger);
	}
	old->is_away = old->may_return = false;
	old->is_ended = true;
	old->merger = NULL;
	merger_stream_exclude(stream->merger, false);
	return true;
}

bool stream_resume(struct stream *stream, const struct packet_info *info,
		   struct stream_place *ret_place)
{
	assert(!stream->is_ended && !stream->is_away);
	if (merger_stream_identity(stream->merger) || !adopt(stream, info) || !stream->has_packet) {
		return false;
	}
	ret_place->end = stream->end;
	ret_place->seq_num = stream->is_renumbered ? UINT64_MAX : stream->seq_num;
	return true;
}

/* Events after the submitted chunks are at @ts or later. */
static void report_known(struct stream *stream, uint64_t ts)
{
	const struct engine_export *exporter = stream->trace->engine->config.exporter;

	merger_stream_known(stream->merger, stream->submitted, ts);
	if (exporter && merger_stream_identity(stream->merger)) {
		exporter->known(exporter->user, merger_stream_number(stream->merger),
				stream->submitted, ts);
	}
}

static void identify(struct stream *stream, const struct packet_info *info, uint64_t begin)
{
	const struct engine_export *exporter = stream->trace->engine->config.exporter;
	struct stream_identity identity = {
		.class_id = info->stream->id,
		.cpu_id = info->cpu_id,
		.instance_id = info->instance_id,
		.has_switches = has_switches(stream, info->stream),
		.misses_start = info->seq_num != UINT64_MAX && info->seq_num > 0,
		.begin = begin,
		.is_beside = stream->part > 0,
	};

	assert(stream->submitted == 0);
	merger_stream_identify(stream->merger, &identity);
	if (exporter) {
		exporter->stream(exporter->user, merger_stream_number(stream->merger), &identity);
	}
	if (identity.misses_start && stream->trace->engine->config.expects_beginning) {
		warn_trace(stream->trace, stream, (int64_t)info->seq_num, "late-start",
			   "stream %s: the first packet to be had is number %" PRIu64
			   "; those before it are gone",
			   stream->name, info->seq_num);
	}
}

void stream_expect(struct stream *stream, const struct packet_info *info)
{
	struct clock clock;

	assert(!stream->has_packet);
	if (adopt(stream, info)) {
		stream->is_resumed = false; /* a file continues where it ended */
		return;
	}
	clock_init(&clock, info->stream->clock);
	stream->end = info->has_begin ? clock_ns(&clock, info->begin) : 0;
	identify(stream, info, stream->end);
	report_known(stream, stream->end);
}

static void new_chunk(struct stream *stream, const struct stream_input *input, uint64_t begin)
{
	const struct stream_identity *identity = merger_stream_identity(stream->merger);
	const struct engine *engine = stream->trace->engine;
	struct chunk_job *job = mem_alloc(sizeof(*job));

	assert(identity);
	assert(!stream->filling);
	job->trace = stream->trace;
	job->source = stream;
	job->stream = stream->merger;
	job->seq = stream->submitted;
	job->pool = engine->pool;
	job->store = engine->config.store;
	job->exporter = engine->config.exporter;
	job->number = merger_stream_number(stream->merger);
	job->job.is_timed = engine->config.stats != NULL;
	job->chunk.plan = plan_ref(stream_plan(stream));
	job->chunk.fd = input->fd;
	job->chunk.mapped = input->mapped;
	job->chunk.has_switches = identity->has_switches;
	job->chunk.cpu_id = identity->cpu_id;
	job->chunk.begin = begin;
	stream->filling = job;
}

static bool begins_again(const struct stream *stream, const struct packet_info *info)
{
	return stream->has_packet && packet_numbers_begin_again(stream->seq_num, info->seq_num);
}

static uint64_t discarded_mask(const struct packet_info *info)
{
	unsigned int bits = info->stream->discarded_bits;

	return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

/* Whether the counter began again from 0: a step of more than half of its range is no wrap. */
static bool discarded_begins_again(const struct stream *stream, const struct packet_info *info)
{
	uint64_t mask = discarded_mask(info);

	return info->discarded != UINT64_MAX && stream->has_packet &&
	       stream->discarded != UINT64_MAX &&
	       ((info->discarded - stream->discarded) & mask) > mask / 2;
}

/* Events discarded since the previous packet.  The counter wraps at its declared width. */
static uint64_t discarded_since(const struct stream *stream, const struct packet_info *info)
{
	if (info->discarded == UINT64_MAX || !stream->has_packet || begins_again(stream, info) ||
	    discarded_begins_again(stream, info)) {
		return 0;
	}
	return (info->discarded - stream->discarded) & discarded_mask(info);
}

static uint64_t lost_since(const struct stream *stream, const struct packet_info *info)
{
	uint64_t lost;

	if (info->seq_num == UINT64_MAX || stream->seq_num == UINT64_MAX || !stream->has_packet ||
	    begins_again(stream, info)) {
		return 0;
	}
	lost = info->seq_num - stream->seq_num - 1;
	return lost < stream->final_lost ? 0 : lost - stream->final_lost;
}

/* What is lost once more after it was lost at the end of the stream was counted then. */
static void skip_final(struct stream *stream)
{
	uint64_t again =
		stream->gap_lost < stream->final_lost ? stream->gap_lost : stream->final_lost;

	stream->trace->refound += again;
	stream->gap_lost -= again;
}

/* Whether the packet was counted as lost at the end of the stream.  It comes too late: what
 * contained that loss may have been printed. */
static bool was_lost_finally(const struct stream *stream, const struct packet_info *info)
{
	return stream->final_lost > 0 && !stream->is_renumbered && info->seq_num != UINT64_MAX &&
	       stream->seq_num != UINT64_MAX && info->seq_num > stream->seq_num &&
	       info->seq_num - stream->seq_num <= stream->final_lost;
}

static void pass_lost(struct stream *stream, const struct packet_info *info, uint64_t end)
{
	skip_final(stream);
	stream->final_lost -= info->seq_num - stream->seq_num;
	stream->seq_num = info->seq_num;
	stream->end = end != PACKET_END_UNKNOWN && end > stream->end ? end : stream->end;
	stream->has_gap = true;
	stream->trace->duplicates++;
}

/* Reports it.  From now on a number does not show whether a packet came before. */
static void note_again(struct stream *stream, const struct packet_info *info)
{
	warn_trace(stream->trace, stream, (int64_t)info->seq_num, "numbers",
		   info->seq_num <= stream->seq_num
			   ? "stream %s: packet numbers begin again, with %" PRIu64
			     " after %" PRIu64 "; what is missing between them is unknown"
			   : "stream %s: packet numbers are not plausible, %" PRIu64
			     " after %" PRIu64 "; what is missing between them is unknown",
		   stream->name, info->seq_num, stream->seq_num);
	stream->is_renumbered = true;
	stream->has_gap = true;
}

static void find_gap(struct stream *stream, const struct packet_info *info, struct packet *packet)
{
	struct trace *trace = stream->trace;
	struct loss loss = { .packet = (int64_t)packet->number,
			     .begin = packet->floor,
			     .end = packet->begin };
	bool is_next = info->seq_num != UINT64_MAX && stream->has_packet &&
		       info->seq_num == stream->seq_num + 1;

	if (begins_again(stream, info)) {
		note_again(stream, info);
	} else if (discarded_begins_again(stream, info)) {
		warn_trace(trace, stream, (int64_t)packet->number, "discarded-again",
			   "stream %s: the counter of discarded events begins again, with %" PRIu64
			   " after %" PRIu64 "; what was discarded between them is unknown",
			   stream->name, info->discarded, stream->discarded);
		stream->has_gap = true;
	}
	skip_final(stream);
	if (stream->is_resumed && info->seq_num != UINT64_MAX && stream->seq_num != UINT64_MAX) {
		stream->trace->refound += stream->gap_lost; /* numbers show what is missing */
		stream->gap_lost = 0;
	}
	packet->discarded = discarded_since(stream, info);
	packet->lost_packets = lost_since(stream, info);
	if (packet->lost_packets == 0) {
		packet->lost_packets = stream->gap_lost;
	}
	stream->owed -=
		stream->owed > packet->lost_packets ? packet->lost_packets + 1 : stream->owed;
	packet->has_gap = stream->has_gap || (stream->is_resumed && !is_next) ||
			  packet->discarded > 0 || packet->lost_packets > 0;
	if (packet->discarded > 0) {
		loss.what = "discarded";
		warn_loss(trace, stream, &loss,
			  "stream %s: the tracer discarded %" PRIu64
			  " events before packet %" PRIu64,
			  stream->name, packet->discarded, packet->number);
	}
	if (packet->lost_packets > 0 && stream->gap_lost == 0) {
		loss.what = "lost-packets";
		warn_loss(trace, stream, &loss,
			  "stream %s: %" PRIu64 " packets are missing before packet %" PRIu64,
			  stream->name, packet->lost_packets, packet->number);
	}
	if (!stream->has_packet && info->discarded != UINT64_MAX && info->discarded > 0) {
		warn_trace(trace, stream, (int64_t)packet->number, "discarded-before",
			   "stream %s: the tracer had discarded %" PRIu64
			   " events by the end of the first "
			   "packet; they are not counted",
			   stream->name, info->discarded);
	}
	stream->has_gap = false;
	stream->is_resumed = false;
	stream->gap_lost = stream->final_lost = 0;
}

/*
 * Whether a packet came before.  Its number shows that, unless its time is later than all that
 * came: then numbers begin again.  Older tracers give no number: then time decides, until the first
 * new packet.  A packet without either is new: better counted twice than never.
 */
static bool was_seen(const struct stream *stream, const struct packet_info *info,
		     const struct packet *packet)
{
	bool has_numbers = info->seq_num != UINT64_MAX && stream->seq_num != UINT64_MAX &&
			   !stream->is_renumbered;
	bool has_time = info->stream->clock && (info->has_end || info->has_begin);
	bool is_later = has_time && (info->has_end ? packet->end : packet->begin) > stream->end;

	if (!stream->has_packet) {
		return false;
	}
	if (has_numbers) {
		return info->seq_num <= stream->seq_num && !is_later;
	}
	return stream->may_repeat && has_time && !is_later;
}

/* A relay repeats its packets after a reconnect, and a file is read again from its start after a
 * checkpoint.  Otherwise a file has each packet once, whatever its number. */
static bool is_duplicate(struct stream *stream, const struct stream_input *input,
			 const struct packet *packet)
{
	bool seen = was_seen(stream, input->info, packet);

	stream->may_repeat = stream->may_repeat && seen;
	return seen && (input->bytes || stream->may_repeat);
}

static void note_packet(struct stream *stream, const struct packet_info *info, uint64_t end)
{
	stream->has_packet = true;
	stream->end = end > stream->end ? end : stream->end;
	stream->seq_num = info->seq_num;
	stream->discarded = info->discarded;
	stream->packets++;
}

/* Live: the first packet tells whether its times can be shown. */
static void place_clock(const struct stream *stream, const struct packet_info *info)
{
	struct trace *trace = stream->trace;
	double seconds;

	if (!trace->is_live || trace->is_placed || !info->has_begin || !info->stream->clock) {
		return;
	}
	trace->is_placed = true;
	if (clock_place(stream_plan(stream)->of, info->stream->clock, info->begin, &seconds)) {
		warn_trace(trace, stream, -1, "times", CLOCK_PLACED_TEXT, seconds);
	}
}

/* Which times the packet's events may have (doc/definitions.md, 0.1). */
static void bound_times(const struct stream *stream, const struct packet_info *info,
			struct packet *packet)
{
	packet->floor = stream->end;
	if (info->may_overlap && info->has_begin && packet->begin < packet->floor) {
		packet->floor = packet->begin;
	}
	packet->begin = packet->begin < packet->floor ? packet->floor : packet->begin;
	packet->end = packet->end < packet->begin ? packet->begin : packet->end;
	packet->limit = info->may_end_early ? PACKET_END_UNKNOWN : packet->end;
	packet->may_overlap = info->may_overlap;
}

void stream_packet(struct stream *stream, const struct stream_input *input)
{
	struct packet_info cut = *input->info;
	const struct packet_info *info = &cut;
	struct engine *engine = stream->trace->engine;
	struct packet packet = { .bytes = input->bytes, .file_offset = input->offset };
	struct clock clock;

	assert(!stream->is_ended && !stream->is_away);
	assert(stream->trace->plan);
	if (input->bytes) {
		(void)packet_info_cut(&cut, input->len);
	}
	packet.size = (info->content_bits + 7) / 8;
	place_clock(stream, info);
	clock_init(&clock, info->stream->clock);
	packet.begin = info->has_begin && info->stream->clock ? clock_ns(&clock, info->begin)
							      : stream->end;
	packet.end = info->has_end && info->stream->clock ? clock_ns(&clock, info->end)
		     : info->stream->clock                ? PACKET_END_UNKNOWN
							  : packet.begin;
	if (!merger_stream_identity(stream->merger) && !adopt(stream, info)) {
		identify(stream, info, packet.begin);
		stream->end = packet.begin;
	}
	if (is_duplicate(stream, input, &packet)) {
		/* Packets come in order: the one after the last that was seen is the next. */
		if (info->seq_num == UINT64_MAX && packet.end == stream->end) {
			stream->is_resumed = false;
		}
		/* The loss before it was counted, too; a loss after it is found again. */
		stream->has_gap = stream->has_gap && !stream->may_repeat;
		if (stream->may_repeat) {
			stream->trace->refound += stream->gap_lost;
			stream->gap_lost = 0;
		}
		stream->trace->duplicates++;
		free(input->bytes);
		return;
	}
	if (input->bytes && was_lost_finally(stream, info)) {
		pass_lost(stream, info, packet.end);
		free(input->bytes);
		return;
	}
	packet.number = info->seq_num != UINT64_MAX ? info->seq_num : stream->packets;
	bound_times(stream, info, &packet);
	find_gap(stream, info, &packet);
	if (input->bytes && engine->config.on_retained) {
		packet.retained = retained_new(input->info, input->bytes, input->len);
		packet.retained->begin = packet.begin;
		packet.retained->end = packet.end == PACKET_END_UNKNOWN ? UINT64_MAX : packet.end;
	}
	if (stream->filling && (stream->filling->chunk.plan != stream_plan(stream) ||
				packet.begin - packet.floor > HOLE_NS)) {
		(void)stream_flush(stream); /* no hole lies within a chunk */
	}
	if (!stream->filling) {
		new_chunk(stream, input, packet.floor);
	}
	*vec_push(&stream->filling->chunk.packets) = packet;
	stream->filling->chunk.bytes += packet.size;
	account_take(engine->account, ACCOUNT_CHUNKS, packet.size);
	/* Without an end, the begin is the earliest time of what follows. */
	note_packet(stream, info, packet.end == PACKET_END_UNKNOWN ? packet.begin : packet.end);
	if (stream->filling->chunk.bytes >= engine->config.chunk_bytes) {
		(void)stream_flush(stream);
	}
}

void stream_bad_packet(struct stream *stream, const char *message)
{
	struct loss loss = { .what = "packet",
			     .packet = (int64_t)stream->packets,
			     .begin = stream->end };

	warn_loss(stream->trace, stream, &loss,
		  "stream %s, packet %" PRIu64 ": %s; the packet is lost", stream->name,
		  stream->packets, message);
	stream->has_gap = true;
	stream->gap_lost++;
	stream->packets++;
}

void stream_broken(struct stream *stream, const char *message)
{
	struct loss loss = { .what = "lost-packets",
			     .packet = (int64_t)stream->packets,
			     .begin = stream->end };

	warn_loss(stream->trace, stream, &loss, "stream %s: %s", stream->name, message);
	stream->has_gap = true;
}

void stream_lost_packets(struct stream *stream, uint64_t packets, const char *message)
{
	stream_broken(stream, message);
	stream->gap_lost += packets;
}

bool stream_flush(struct stream *stream)
{
	struct chunk_job *job = stream->filling;

	if (!job) {
		return false;
	}
	assert(job->seq == stream->submitted);
	assert(job->stream == stream->merger);
	stream->filling = NULL;
	stream->submitted++;
	stream->trace->in_flight++;
	chunk_job_submit(job);
	return true;
}

void stream_known(struct stream *stream, uint64_t cycles)
{
	const struct plan *plan = stream_plan(stream);
	struct clock clock;

	if (!plan || plan->stream_count == 0) {
		return;
	}
	clock_init(&clock, plan->streams[0].clock);
	(void)stream_flush(stream);
	report_known(stream, clock_ns(&clock, cycles));
}

void stream_next(struct stream *stream, const struct packet_info *info)
{
	struct clock clock;

	(void)stream_flush(stream);
	/* After a gap it is unknown which thread ran: the packet after it has to come first. */
	if (info->has_begin && !stream->has_gap && !begins_again(stream, info) &&
	    discarded_since(stream, info) == 0 && lost_since(stream, info) == 0) {
		clock_init(&clock, info->stream->clock);
		report_known(stream, clock_ns(&clock, info->begin));
	}
}

/* Adds an empty packet that carries the loss after the last good packet. */
static void push_final_gap(struct stream *stream)
{
	const struct stream_identity *identity = merger_stream_identity(stream->merger);
	struct packet packet = { .floor = stream->end,
				 .begin = stream->end,
				 .end = stream->end,
				 .limit = stream->end,
				 .number = stream->packets,
				 .has_gap = true };

	skip_final(stream);
	packet.lost_packets = stream->gap_lost;
	if (stream->gap_lost == 0 || !identity || !stream->trace->plan) {
		return;
	}
	if (!stream->filling) {
		new_chunk(stream, &(struct stream_input){ .fd = -1 }, packet.floor);
	}
	*vec_push(&stream->filling->chunk.packets) = packet;
	stream->final_lost += stream->gap_lost;
	stream->gap_lost = 0;
}

/* Nothing of the stream was seen.  What it lost is lost unless another connection has it. */
static void note_unseen(struct stream *stream, uint64_t refused)
{
	struct trace_part *part = &stream->trace->parts.at[stream->part];

	part->unfetched += refused;
	part->refused += refused;
	stream->gap_lost = 0;
}

void stream_end(struct stream *stream)
{
	const struct engine_export *exporter = stream->trace->engine->config.exporter;

	if (stream->is_ended) {
		return;
	}
	stream->gap_lost += stream->away_lost;
	if (stream->gap_lost < stream->owed) {
		stream->gap_lost = stream->owed; /* it ends before they could come again */
	}
	sibling_identify(stream);
	push_final_gap(stream);
	if (stream->trace->is_live) {
		note_unseen(stream, stream->gap_lost);
	} else if (!merger_stream_identity(stream->merger)) {
		trace_lose(stream->trace, stream->gap_lost); /* whatever stream it is */
	}
	stream->is_ended = true;
	(void)stream_flush(stream);
	merger_stream_end(stream->merger, stream->submitted);
	if (exporter && merger_stream_identity(stream->merger)) {
		exporter->end(exporter->user, merger_stream_number(stream->merger),
			      stream->submitted);
	}
}

void stream_away(struct stream *stream, uint64_t unfetched)
{
	if (stream->is_ended) {
		stream->may_return = stream->merger && merger_stream_identity(stream->merger);
		return;
	}
	(void)stream_flush(stream);
	if (!merger_stream_identity(stream->merger)) {
		assert(!stream->has_packet);
		note_unseen(stream, stream->gap_lost);
		stream->trace->parts.at[stream->part].unfetched += unfetched;
		stream_end(stream);
		return;
	}
	assert(!stream->filling);
	stream->away_lost = unfetched;
	stream->is_away = true;
	if (!stream->trace->expects_parts) { /* else see trace_exclude_away() */
		merger_stream_exclude(stream->merger, true);
	}
}

void stream_exclude(struct stream *stream, bool excluded)
{
	if (!stream->is_ended && !stream->is_away) {
		merger_stream_exclude(stream->merger, excluded);
	}
}
