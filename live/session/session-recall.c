/*
 * session-recall: gets packets from the relay once more, for captures: see session_recall().
 *
 *     session_recall(range) ──► attached again, from the beginning
 *                                  was analysed, out of the range ───► passed over
 *                                  was analysed, in the range ───────► fetched, given
 *                                  is new ───────────────────────────► analysed, and copied
 *                               all streams have caught up ──────────► session_has_recalled()
 *
 * The walk over the indexes is that of a connection that was lost (session-walk.c), so nothing is
 * analysed twice.  If the connection is lost meanwhile, the next one does it all again.
 *
 * What cannot be had is told to the history: packets that the relay refuses, and streams that had
 * packets and are not announced any more, as those of a process that has ended.
 */
#include <assert.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/now.h"
#include "base/units.h"
#include "ctf/clock.h"
#include "ctf/decoder.h"
#include "ctf/plan/plan.h"
#include "engine/trace.h"
#include "history/history.h"
#include "live/session/session-state.h"

#define NO_STREAM_NS UINT64_C(2000000000) /* a session without streams has nothing to recall */

uint64_t session_now(const struct session *session)
{
	uint64_t now = 0;

	for (size_t i = 0; i < session->traces.count; i++) {
		const struct live_trace *trace = session->traces.at[i];
		uint64_t until = trace->trace ? trace_watermark(trace->trace) : 0;

		/* All streams are silent: windows are closed by the wall clock. */
		until = until == UINT64_MAX ? trace_closed_until(trace->trace) : until;
		now = until > now ? until : now;
	}
	return now;
}

void session_recall(struct session *session, uint64_t begin, uint64_t end)
{
	struct recall *recall = &session->recall;
	struct timeval now = { 0 };
	char text[UNITS_TEXT_MAX];

	assert(session->owner.history);
	assert(begin <= end);
	if (recall->is_on) {
		begin = begin < recall->begin ? begin : recall->begin;
		end = end > recall->end ? end : recall->end;
	}
	if (recall->is_on && begin == recall->begin &&
	    (end == recall->end || !recall->has_passed)) {
		recall->end = end;
		return;
	}
	*recall = (struct recall){ .is_on = true,
				   .is_due = true,
				   .begin = begin,
				   .end = end,
				   .until = session_now(session) };
	session_say(session, 0, "fetching again what the relay has since %s",
		    units_clock(text, begin));
	(void)event_add(session->timer, &now); /* not from within a report */
}

void session_recall_restart(struct session *session)
{
	session->recall.is_due = session->recall.has_passed = false;
	for (size_t i = 0; session->recall.is_on && i < session->traces.count; i++) {
		if (session->traces.at[i]->history) {
			history_clear(session->traces.at[i]->history);
		}
	}
}

bool session_recalls(const struct session *session)
{
	return session->recall.is_on;
}

bool session_has_recalled(const struct session *session)
{
	uint64_t age = now_monotonic_ns() - session->attached_at;

	if (session->state != SESSION_RUNNING || session->recall.is_due ||
	    (session->streams.count == 0 && age < NO_STREAM_NS)) {
		return false;
	}
	for (size_t i = 0; i < session->streams.count; i++) {
		const struct live_stream *stream = session->streams.at[i];

		if (!stream->has_caught_up && !stream->is_ended) {
			return false;
		}
	}
	return true;
}

void session_recall_note_gone(const struct session *session)
{
	bool has_all = session_has_recalled(session) && !session->recall.is_refused;

	for (size_t i = 0; i < session->traces.count; i++) {
		const struct live_trace *trace = session->traces.at[i];

		if (trace->history && trace->trace) {
			history_gone(trace->history,
				     has_all ? trace_absent_until(trace->trace, trace->part)
					     : session->recall.until);
		}
	}
}

void session_recall_end(struct session *session)
{
	session_recall_restart(session);
	session->recall.is_on = false;
	session->attached_at = now_monotonic_ns(); /* windows show the delay for some time */
}

/* ---- packets ---- */

/* The times of the packet in ns; the end may be unknown: UINT64_MAX. */
static void read_times(const struct packet_info *info, uint64_t *ret_begin, uint64_t *ret_end)
{
	struct clock clock;

	clock_init(&clock, info->stream->clock);
	*ret_begin = info->has_begin ? clock_ns(&clock, info->begin) : 0;
	*ret_end = info->has_end ? clock_ns(&clock, info->end) : UINT64_MAX;
}

/* Takes @bytes. */
static void give(struct live_stream *stream, const struct packet_info *info, uint8_t *bytes,
		 uint64_t len)
{
	const struct session *session = stream->trace->session;
	struct retained *retained = retained_new(info, bytes, len);

	read_times(info, &retained->begin, &retained->end);
	session->owner.on_recalled(session->owner.user, stream->trace, stream->name, retained);
}

/* Whether a packet is to be given, by its times in ns. */
static bool is_wanted(struct live_stream *stream, uint64_t begin, uint64_t end)
{
	struct recall *recall = &stream->trace->session->recall;

	if (!recall->is_on || recall->is_due || !stream->trace->history) {
		return false;
	}
	stream->has_caught_up |= end >= recall->until;
	recall->has_passed |= begin > recall->end;
	if (end < recall->begin) {
		history_passed(stream->trace->history, stream->name);
	}
	return begin <= recall->end && end >= recall->begin;
}

bool session_recall_wants(struct live_stream *stream, const struct viewer_index *index)
{
	stream->is_recalled = is_wanted(stream, clock_ns(&stream->clock, index->begin),
					clock_ns(&stream->clock, index->end));
	return stream->is_recalled;
}

void session_recall_take(struct live_stream *stream, uint8_t *bytes, uint64_t len)
{
	const struct live_trace *trace = stream->trace;
	struct packet_info info;
	struct err err;

	assert(stream->is_recalled);
	stream->is_recalled = false;
	if (packet_info_read(trace->session->decoder, session_plan(trace), bytes, len,
			     PACKET_BYTES_MAX, &info, &err) == 0 &&
	    info.stream->clock) {
		give(stream, &info, bytes, len);
	} else { /* it was said to be bad when it came first */
		free(bytes);
	}
}

void session_recall_lose(struct live_stream *stream, const struct viewer_index *index)
{
	const struct live_trace *trace = stream->trace;
	const struct recall *recall = &trace->session->recall;
	const struct plan_stream *class =
		index && trace->has_plan ? plan_stream_own(session_plan(trace), index->class_id)
					 : NULL;
	uint64_t begin = recall->begin, end = recall->until;
	struct clock clock;

	stream->is_recalled = false;
	if (!recall->is_on || recall->is_due || !trace->history) {
		return;
	}
	if (class && class->clock) {
		clock_init(&clock, class->clock);
		begin = clock_ns(&clock, index->begin);
		end = clock_ns(&clock, index->end);
	}
	if (begin <= recall->end) {
		history_gone(trace->history, end);
	}
}

void session_recall_copy(struct live_stream *stream, const struct packet_info *info,
			 const uint8_t *bytes, uint64_t len)
{
	uint64_t begin, end;
	uint8_t *copy;

	if (!stream->trace->session->recall.is_on || !info->stream->clock) {
		return;
	}
	read_times(info, &begin, &end);
	if (!is_wanted(stream, begin, end)) {
		return;
	}
	copy = malloc(len);
	if (!copy) {
		abort();
	}
	memcpy(copy, bytes, len);
	give(stream, info, copy, len);
}
