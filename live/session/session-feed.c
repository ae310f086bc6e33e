/*
 * session-feed: passes metadata, packets and beacons from the relay to the engine.
 *
 * Packets may arrive before the metadata that describes them, and a stream may even end before
 * that.  Until the trace has a plan they wait, in their order.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/account.h"
#include "base/limits.h"
#include "base/now.h"
#include "ctf/decoder.h"
#include "engine/engine.h"
#include "engine/stream.h"
#include "engine/trace.h"
#include "history/history.h"
#include "live/session/session-state.h"
#include "relay/client.h"

#define FILLING_NS (UINT64_C(1000000000) / 20) /* a chunk is handed on after this */

/* ---- packets ---- */

void session_hear(struct live_stream *stream)
{
	stream->heard = now_monotonic_ns();
	if (stream->is_excluded) {
		stream->is_excluded = false;
		if (!stream->is_ended) {
			stream_exclude(stream->stream, false);
		}
	}
}

/* Over a slow connection a chunk fills slowly; windows must not wait for that. */
static void flush_old(struct live_stream *stream)
{
	uint64_t now = now_monotonic_ns();

	if (stream->filling == 0) {
		stream->filling = now;
	} else if (now - stream->filling > FILLING_NS) {
		(void)stream_flush(stream->stream);
		stream->filling = 0;
	}
}

/* The first packet that comes of a stream is not its first one: what was dumped at the start of
 * tracing has gone by.  From the beginning, the engine warns of that. */
static void note_late(struct live_stream *stream, const struct packet_info *info)
{
	struct live_trace *trace = stream->trace;
	const struct session_owner *owner = &trace->session->owner;
	bool is_first = !stream->has_packet;

	stream->has_packet = true;
	if (is_first && info->seq_num != UINT64_MAX && info->seq_num > 0 && !trace->said_late &&
	    !trace->is_resumed && !owner->from_beginning && owner->on_late &&
	    trace->identity.domain && strcmp(trace->identity.domain, "kernel") == 0) {
		trace->said_late = true;
		owner->on_late(owner->user, &trace->identity);
	}
}

/* What is before the first packet that came was not asked for. */
static void note_since(struct live_trace *trace, const struct packet_info *info)
{
	struct clock clock;
	uint64_t begin;

	if (!trace->is_resumed && info->has_begin && info->stream->clock) {
		clock_init(&clock, info->stream->clock);
		begin = clock_ns(&clock, info->begin);
		trace->since = trace->since == 0 || begin < trace->since ? begin : trace->since;
	}
}

static void lose_packets(struct live_stream *stream, uint64_t packets, const char *why)
{
	char message[256];

	if (packets == 1) {
		(void)snprintf(message, sizeof(message), "a packet is lost: %s", why);
	} else {
		(void)snprintf(message, sizeof(message), "%" PRIu64 " packets are lost: %s",
			       packets, why);
	}
	stream_lost_packets(stream->stream, packets, message);
}

bool session_is_other_packet(const struct packet_info *info, const struct viewer_index *index)
{
	return info->has_begin && info->has_end && index->begin != info->begin &&
	       index->end != info->end && index->begin <= index->end;
}

/* A packet came again.  If the index is of another packet, and that has not come, then that one is
 * lost: a relay reads what is at that place of a file now. */
static void check_announced(struct live_stream *stream, const struct packet_info *info,
			    const struct viewer_index *index)
{
	if (session_is_other_packet(info, index) && !session_had_packet(stream, index)) {
		lose_packets(stream, 1, "the relay sent another one, which had come before");
	}
}

/* If the first packets of a trace have another UUID than its metadata, all are taken to have it. */
static int read_info(const struct live_trace *trace, const uint8_t *bytes, uint64_t len,
		     struct packet_info *info, struct err *err)
{
	int r;

	do {
		r = packet_info_read(trace->session->decoder, session_plan(trace), bytes, len,
				     PACKET_BYTES_MAX, info, err);
	} while (r == -EXDEV && trace_part_ignore_uuid(trace->trace, trace->part));
	return r;
}

static void push_packet(struct live_stream *stream, uint8_t *bytes, uint64_t len,
			const struct viewer_index *index)
{
	struct live_trace *trace = stream->trace;
	uint64_t duplicates = trace_duplicates(trace->trace);
	struct packet_info info;
	struct err err;

	assert(trace->has_plan);
	assert(stream->stream);
	if (read_info(trace, bytes, len, &info, &err) < 0) {
		free(bytes);
		stream_bad_packet(stream->stream, err.text);
		return;
	}
	if (stream_is_other(stream->stream, &info) ||
	    (!stream->has_packet && session_is_other_packet(&info, index))) {
		free(bytes);
		lose_packets(stream, 1, "the relay sent one of another stream");
		return;
	}
	note_late(stream, &info);
	note_since(trace, &info);
	session_recall_copy(stream, &info, bytes, len);
	stream_packet(
		stream->stream,
		&(struct stream_input){ .info = &info, .bytes = bytes, .len = len, .fd = -1 });
	if (trace_duplicates(trace->trace) == duplicates) {
		trace->session->useless = 0;
	} else {
		check_announced(stream, &info, index);
	}
	flush_old(stream);
	if (!engine_has_room(trace->session->owner.engine)) {
		trace->session->owner.on_progress(trace->session->owner.user);
	}
}

bool session_is_ready(const struct live_trace *trace)
{
	assert(!trace->is_current || trace->has_plan || trace->has_failed);
	return trace->is_current && trace->has_plan && !trace->has_failed &&
	       !session_join_waits(trace);
}

void session_on_packet(void *user, void *arg, const struct viewer_index *index, uint8_t *bytes,
		       uint64_t len)
{
	struct live_stream *stream = arg;
	struct live_trace *trace = stream->trace;

	trace->session->account.fetched_bytes += len;
	session_hear(stream);
	if (stream->is_recalled) {
		session_recall_take(stream, bytes, len);
	} else if (trace->has_failed) {
		trace->dropped += session_lose_waiting(
			&(struct session_waiting){ .stream = stream, .index = *index });
		free(bytes);
	} else if (session_is_ready(trace)) {
		push_packet(stream, bytes, len, index);
	} else {
		*vec_push(&trace->waiting) = (struct session_waiting){
			.stream = stream, .bytes = bytes, .len = len, .index = *index
		};
		account_take(session_memory(trace->session), ACCOUNT_WAITING, len);
	}
}

void session_on_packet_lost(void *user, void *arg, const struct viewer_index *index,
			    const char *why)
{
	struct session *session = user;
	struct live_stream *stream = arg;
	bool was_recalled = stream->is_recalled;

	session_recall_lose(stream, index);
	if (was_recalled) { /* it was passed over, and is not missing in the analysis */
		return;
	}
	if (index && session_had_packet(stream, index)) {
		session->account.unfetched_packets++;
	} else if (stream->trace->has_failed) {
		stream->trace->dropped++;
	} else if (session_is_ready(stream->trace)) {
		lose_packets(stream, 1, why);
	} else {
		*vec_push(&stream->trace->waiting) =
			(struct session_waiting){ .stream = stream, .lost = why, .packets = 1 };
	}
}

/* ---- metadata ---- */

/* Once there is a plan: pushes the packets that waited, then ends the streams that have ended. */
static void push_waiting(struct live_trace *trace)
{
	struct session *session = trace->session;

	assert(session_is_ready(trace));
	for (size_t i = 0; i < trace->waiting.count; i++) {
		const struct session_waiting *waiting = &trace->waiting.at[i];

		if (waiting->lost) {
			lose_packets(waiting->stream, waiting->packets, waiting->lost);
		} else {
			account_give(session_memory(session), ACCOUNT_WAITING, waiting->len);
			push_packet(waiting->stream, waiting->bytes, waiting->len, &waiting->index);
		}
	}
	trace->waiting.count = 0;
	trace->said_waiting = false;
	for (size_t i = 0; i < session->streams.count; i++) {
		struct live_stream *stream = session->streams.at[i];

		if (stream->trace == trace && stream->is_ended) {
			stream_end(stream->stream);
		}
	}
}

void session_trace_go_on(struct live_trace *trace)
{
	if (session_is_ready(trace)) {
		push_waiting(trace);
	}
	if (trace->session->state == SESSION_READ) {
		session_end_trace(trace);
	}
}

/* Of a trace that the engine has. */
static void take_metadata(struct live_trace *trace, const uint8_t *bytes, uint64_t len)
{
	struct err err;
	int r;

	if (trace->history) {
		history_metadata(trace->history, bytes, len);
	}
	r = trace_part_metadata(trace->trace, trace->part, bytes, len, false, &err);
	if (r < 0) {
		session_trace_fail(trace, &err);
	}
	if (r == -ENOMEM) {
		trace_metadata_forget(trace->trace);
	}
	session_trace_drop_metadata(trace);
	session_trace_note_plan(trace);
}

void session_trace_begin(struct live_trace *trace)
{
	if (trace->trace && !trace->has_failed) {
		take_metadata(trace, trace->metadata.at, trace->metadata.count);
	}
	trace->is_current = trace->has_plan && !trace->has_failed;
	session_trace_go_on(trace);
}

/* Whether so much more of its metadata may be kept until it is bound. */
static bool may_keep(const struct live_trace *trace, uint64_t len)
{
	size_t kept = trace->metadata.count;

	return len <= METADATA_BYTES_MAX - kept &&
	       account_may_last(session_memory(trace->session), len + kept);
}

void session_on_metadata(void *user, uint64_t trace_id, const uint8_t *bytes, uint64_t len)
{
	struct live_trace *trace = session_find_trace(user, trace_id, NULL);
	struct err err;

	if (trace->has_failed) {
		return;
	}
	if (!bytes) {
		(void)err_raise(&err, -ENOMEM,
				"%" PRIu64 " KiB of metadata do not fit into --max-memory",
				len >> 10);
		session_trace_fail(trace, &err);
		return;
	}
	trace->is_current = false;
	trace->waits_since = 0;
	if (!trace->trace && !may_keep(trace, len)) {
		(void)err_raise(&err, -ENOMEM, "its metadata does not fit into --max-memory");
		session_trace_fail(trace, &err);
		return;
	}
	if (!trace->trace) {
		vec_append(&trace->metadata, bytes, len);
		account_take(session_memory(trace->session), ACCOUNT_METADATA, len);
		trace->is_known = false;
		if (trace->session->join) {
			return; /* it is bound when it is whole */
		}
		session_trace_bind(trace); /* which may pass it over */
		if (!trace->trace) {
			return;
		}
		bytes = trace->metadata.at;
		len = trace->metadata.count;
	}
	take_metadata(trace, bytes, len);
}

bool session_wants_metadata(void *user, uint64_t trace_id)
{
	return !session_find_trace(user, trace_id, NULL)->has_failed;
}

bool session_on_metadata_end(void *user, uint64_t trace_id)
{
	struct live_trace *trace = session_find_trace(user, trace_id, NULL);
	struct err err;

	if (trace->has_failed) {
		return true;
	}
	if (!trace->trace && trace->session->join) {
		bool is_whole = session_join_take(trace);

		session_join_step(trace->session);
		return is_whole;
	}
	if (!trace->has_plan || !trace_metadata_is_whole(trace->trace, trace->part, &err)) {
		return false;
	}
	if (!trace->is_current) {
		trace->is_current = true;
		session_trace_go_on(trace);
	}
	return true;
}

void session_on_metadata_due(void *user, uint64_t trace_id)
{
	struct live_trace *trace = session_find_trace(user, trace_id, NULL);

	trace->is_current = trace->is_known = false;
}

bool session_ends_packet(void *user, uint64_t trace_id)
{
	const struct live_trace *trace = session_find_trace(user, trace_id, NULL);

	return trace->trace && !trace->has_failed &&
	       trace_metadata_ends_packet(trace->trace, trace->part);
}

/* ---- streams ---- */

void session_leave_waiting(struct live_trace *trace, const struct live_stream *stream)
{
	for (size_t i = 0; i < trace->waiting.count; i++) {
		const struct session_waiting *waiting = &trace->waiting.at[i];

		if (!stream || waiting->stream == stream) {
			waiting->stream->unfetched += session_lose_waiting(waiting);
		}
	}
	session_trace_drop_waiting(trace, stream);
}

void session_leave_stream(struct live_stream *stream)
{
	struct live_trace *trace = stream->trace;

	trace->session->account.unfetched_packets += stream->unfetched;
	if (stream->stream) {
		stream_away(stream->stream, stream->unfetched);
	} else {
		trace->unfetched += stream->unfetched;
	}
	stream->unfetched = 0;
}

/* A stream that has ended is announced once more: all its packets may come again. */
static void read_again(struct session *session, uint64_t id)
{
	for (size_t i = 0; session->has_ended_streams && i < session->streams.count; i++) {
		struct live_stream *stream = session->streams.at[i];

		if (stream->id == id && stream->is_ended && stream->stream) {
			session_leave_waiting(stream->trace, stream);
			session_leave_stream(stream);
		}
	}
}

/* What such programs wrote last goes with them (doc/viewer-protocol.md, A9), and no number shows
 * it. */
static void note_short_programs(struct session *session, const char *path)
{
	if (session->said_short || !strstr(path, "pid/") ||
	    client_minor(session->client) >= VIEWER_MINOR_KEEPS) {
		return;
	}
	session->said_short = true;
	session_say(
		session, 0,
		"programs have buffers of their own: what they write last before they end may be "
		"missing, uncounted; lttng-relayd 2.14 keeps it, and so do buffers per user "
		"(lttng enable-channel -u --buffers-uid)");
}

void *session_on_stream(void *user, const struct viewer_stream *announced)
{
	struct session *session = user;
	struct live_stream *stream = mem_alloc(sizeof(*stream));

	read_again(session, announced->id);
	stream->trace = session_find_trace(session, announced->trace_id, announced->path);
	stream->id = announced->id;
	stream->name = mem_strdup(announced->channel);
	stream->heard = now_monotonic_ns();
	if (stream->trace->trace) {
		stream->stream =
			stream_new(stream->trace->trace, stream->trace->part, stream->name);
	}
	*vec_push(&session->streams) = stream;
	account_take(session_memory(session), ACCOUNT_SESSIONS, ACCOUNT_STREAM_BYTES);
	note_short_programs(session, announced->path);
	session_say(session, 1, "stream %s of %s", announced->channel, announced->path);
	return stream;
}

void session_on_idle(void *user, void *arg, bool has_beacon, uint64_t cycles)
{
	struct live_stream *stream = arg;

	stream->idle = now_monotonic_ns();
	stream->has_caught_up = true;
	if (!stream->stream) {
		return;
	}
	stream->filling = 0;
	if (!stream_flush(stream->stream) && !(has_beacon && cycles > stream->beacon)) {
		return;
	}
	if (has_beacon && cycles > stream->beacon && session_is_ready(stream->trace)) {
		session_hear(stream);
		stream->beacon = cycles;
		stream_known(stream->stream, cycles);
	}
	stream->trace->session->owner.on_progress(stream->trace->session->owner.user);
}

void session_on_stream_end(void *user, void *arg)
{
	struct live_stream *stream = arg;

	session_say(user, 1, "stream %s ended", stream->name);
	stream->is_ended = stream->trace->session->has_ended_streams = true;
	if (session_is_ready(stream->trace)) {
		stream_end(stream->stream);
	}
}

void session_on_stream_broken(void *user, void *arg, uint32_t status)
{
	struct live_stream *stream = arg;
	char message[128];

	(void)snprintf(message, sizeof(message),
		       "what follows is lost: the relay answers each request for an index with "
		       "status %" PRIu32,
		       status);
	if (stream->stream) {
		stream_broken(stream->stream, message);
	} else {
		session_say(user, 0, "stream %s: %s", stream->name, message);
	}
}

void session_on_stream_not_followed(void *user, const struct viewer_stream *announced,
				    const char *why)
{
	session_say(user, 0, "stream %s of %s is not followed: %s", announced->channel,
		    announced->path, why);
}

void session_on_new_streams_broken(void *user, uint32_t status)
{
	session_say(user, 0,
		    "streams that appear later are missing: the relay answers each request for new "
		    "ones with status %" PRIu32,
		    status);
}
