/*
 * session-walk: which packets of a stream are fetched: after a reconnect, from a checkpoint, and
 * from a time in the past (--from).
 *
 * The relay offers all packets of a session again, from the first.  Those that the engine has are
 * not fetched: only their indexes are read.  An index has times, but no sequence number and no
 * CPU, so the identity of a stream comes from the header of its first packet:
 *
 *     index 0      fetch its first bytes: class, CPU, instance, sequence number
 *     index 1..n   end before the place: pass
 *     index n+1    ends at the place, or after it: fetch it and all that follow
 *
 * Nothing depends on the place being exact.  The engine drops a packet that it has, and reports
 * numbers that are missing.  A packet whose number must be above the place is fetched whatever its
 * time is: clocks may step back.
 *
 * With --from the place is that time, and the clock is all that has to be known.  A stream that had
 * no packet while a session was followed from its present on has the first packet of all as its
 * place.
 */
#include <assert.h>

#include "base/limits.h"
#include "base/now.h"
#include "ctf/decoder.h"
#include "ctf/plan/plan.h"
#include "engine/trace.h"
#include "live/session/session-state.h"

/* Passes over packets that end before the time; false: the clock is unknown. */
static bool walk_to_time(struct live_stream *stream, const struct viewer_index *index, uint64_t ns)
{
	const struct plan *plan = session_plan(stream->trace);
	const struct plan_stream *class = plan_stream_own(plan, index->class_id);

	if (!class || !class->clock) {
		return false;
	}
	clock_init(&stream->clock, class->clock);
	stream->place = (struct stream_place){ .end = ns, .seq_num = UINT64_MAX };
	stream->seq_num = UINT64_MAX;
	stream->walk = WALK_TO_PLACE;
	return true;
}

/* ns: what ends before this was not asked for; 0: all was, or that is not known. */
static uint64_t asked_from(const struct live_trace *trace)
{
	const struct session_owner *owner = &trace->session->owner;

	return owner->from_ns > 0 || owner->from_beginning ? owner->from_ns : trace->since;
}

/* What is needed of the first packet before it is known how far to walk.  CLIENT_FETCH: nothing. */
static enum client_wish begin_walk(struct live_stream *stream, const struct viewer_index *index)
{
	const struct live_trace *trace = stream->trace;
	uint64_t now = now_monotonic_ns();

	stream->walk_begun = stream->walk_begun ? stream->walk_begun : now;
	stream->walk = WALK_OVER;
	if (!session_trace_may_resume(trace) && trace->session->owner.from_ns == 0) {
		return CLIENT_FETCH;
	}
	if (trace->has_failed || now - stream->walk_begun > WALK_METADATA_NS) {
		return CLIENT_FETCH;
	}
	if (trace->is_current && !trace->is_resumed) {
		(void)walk_to_time(stream, index, trace->session->owner.from_ns);
		return CLIENT_FETCH;
	}
	stream->walk = WALK_UNKNOWN;
	return trace->is_current ? CLIENT_LOOK : CLIENT_WAIT;
}

/* Whether the packet of the index may be one that the engine does not have. */
static bool may_be_new(const struct live_stream *stream, const struct viewer_index *index)
{
	bool has_numbers = stream->seq_num != UINT64_MAX && stream->place.seq_num != UINT64_MAX;

	if (has_numbers && stream->seq_num > stream->place.seq_num) {
		return true;
	}
	return index->end == 0 || clock_ns(&stream->clock, index->end) >= stream->place.end;
}

enum client_wish session_wants_packet(void *user, void *arg, const struct viewer_index *index)
{
	struct live_stream *stream = arg;
	enum client_wish wish = CLIENT_FETCH;

	if (stream->walk == WALK_UNKNOWN) {
		wish = begin_walk(stream, index);
	}
	if (stream->walk == WALK_TO_PLACE) {
		if (!may_be_new(stream, index)) {
			stream->seq_num += stream->seq_num != UINT64_MAX;
			session_hear(stream);
			stream->trace->session->account.passed_packets++;
			return session_recall_wants(stream, index) ? session_admit(stream, index)
								   : CLIENT_PASS;
		}
		stream->walk = WALK_OVER;
	}
	return wish == CLIENT_FETCH ? session_admit(stream, index) : wish;
}

/* The stream may have to show its identity yet, and its trace may not be known: then the relay's
 * names tell which one it continues. */
bool session_had_packet(const struct live_stream *stream, const struct viewer_index *index)
{
	const struct live_trace *trace =
		stream->trace->trace ? stream->trace : session_find_namesake(stream->trace);
	const struct plan *plan = trace ? trace_last_plan(trace->trace, trace->part) : NULL;
	const struct plan_stream *class = plan ? plan_stream_own(plan, index->class_id) : NULL;
	bool has_numbers = stream->seq_num != UINT64_MAX && stream->place.seq_num != UINT64_MAX;
	struct clock clock;

	if (!class || !class->clock || index->end == 0 ||
	    (has_numbers && stream->seq_num > stream->place.seq_num)) {
		return false;
	}
	clock_init(&clock, class->clock);
	return trace_has_had(trace->trace, trace->part, stream->stream, stream->name,
			     clock_ns(&clock, index->end));
}

uint64_t session_lose_waiting(const struct session_waiting *waiting)
{
	if (waiting->lost) {
		return waiting->packets;
	}
	if (session_had_packet(waiting->stream, &waiting->index)) {
		waiting->stream->trace->session->account.unfetched_packets++;
		return 0;
	}
	return 1;
}

void session_on_unfetched(void *user, void *arg, const struct viewer_index *index)
{
	struct session *session = user;
	struct live_stream *stream = arg;

	if (stream->is_recalled) { /* it was passed over; the next connection recalls it */
		stream->is_recalled = false;
	} else if (session_had_packet(stream, index)) {
		session->account.unfetched_packets++;
	} else {
		stream->unfetched++;
	}
}

void session_on_look(void *user, void *arg, const struct viewer_index *index, const uint8_t *bytes,
		     uint64_t len)
{
	struct session *session = user;
	struct live_stream *stream = arg;
	const struct live_trace *trace = stream->trace;
	struct packet_info info;
	struct err err;

	assert(stream->walk == WALK_UNKNOWN);
	assert(stream->stream && trace->has_plan);
	session->account.fetched_bytes += len;
	stream->walk = WALK_OVER;
	if (packet_info_read(session->decoder, session_plan(trace), bytes, len, PACKET_BYTES_MAX,
			     &info, &err) == 0 &&
	    info.stream->clock && !session_is_other_packet(&info, index) &&
	    stream_resume(stream->stream, &info, &stream->place)) {
		stream->walk = WALK_TO_PLACE;
		stream->seq_num = info.seq_num;
		clock_init(&stream->clock, info.stream->clock);
	} else if (asked_from(trace) > 0) { /* all of it was before that time so far */
		(void)walk_to_time(stream, index, asked_from(trace));
	}
}
