/*
 * tracks: see tracks.h.
 */
#include "perfetto/tracks.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "base/text/utf8.h"

#define TEXT_MAX 512 /* bytes of a name; longer ones are cut */

static uint64_t describe(struct perfetto *writer, Perfetto__TrackDescriptor *track)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	assert(!track->has_uuid);
	track->has_uuid = 1;
	track->uuid = writer_number(writer);
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_DESCRIPTOR;
	packet.track_descriptor = track;
	writer_put(writer, &packet);
	return track->uuid;
}

static uint64_t add(struct perfetto *writer, uint64_t parent, const char *name,
		    Perfetto__CounterDescriptor *counter)
{
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	char text[TEXT_MAX];

	assert(name);
	(void)utf8_copy(text, sizeof(text), name, strlen(name));
	track.name = text;
	track.has_parent_uuid = parent != 0;
	track.parent_uuid = parent;
	track.counter = counter;
	return describe(writer, &track);
}

uint64_t tracks_add(struct perfetto *writer, uint64_t parent, const char *name)
{
	return add(writer, parent, name, NULL);
}

uint64_t tracks_add_thread(struct perfetto *writer, int32_t pid, int32_t tid, const char *name)
{
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ThreadDescriptor thread = PERFETTO__THREAD_DESCRIPTOR__INIT;
	char text[TEXT_MAX];

	assert(pid >= 0);
	if (name) {
		(void)utf8_copy(text, sizeof(text), name, strlen(name));
		thread.thread_name = text;
	}
	thread.has_pid = 1;
	thread.pid = pid;
	thread.has_tid = 1;
	thread.tid = tid;
	track.thread = &thread;
	return describe(writer, &track);
}

uint64_t tracks_add_process(struct perfetto *writer, int32_t pid, const char *name)
{
	Perfetto__TrackDescriptor track = PERFETTO__TRACK_DESCRIPTOR__INIT;
	Perfetto__ProcessDescriptor process = PERFETTO__PROCESS_DESCRIPTOR__INIT;
	char text[TEXT_MAX];

	if (name) {
		(void)utf8_copy(text, sizeof(text), name, strlen(name));
		process.process_name = text;
	}
	process.has_pid = 1;
	process.pid = pid;
	track.process = &process;
	return describe(writer, &track);
}

uint64_t tracks_add_counter(struct perfetto *writer, uint64_t parent, const char *name,
			    Perfetto__CounterDescriptor__Unit unit)
{
	Perfetto__CounterDescriptor counter = PERFETTO__COUNTER_DESCRIPTOR__INIT;

	counter.has_unit = 1;
	counter.unit = unit;
	return add(writer, parent, name, &counter);
}

static void put(struct perfetto *writer, uint64_t track, uint64_t ts, Perfetto__TrackEvent *event)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	assert(track != 0);
	event->has_type = event->has_track_uuid = 1;
	event->track_uuid = track;
	packet.has_timestamp = packet.has_timestamp_clock_id = 1;
	packet.timestamp = ts;
	packet.timestamp_clock_id = PERFETTO_CLOCK;
	packet.has_sequence_flags =
		event->has_name_iid || event->n_category_iids > 0 || event->n_debug_annotations > 0;
	packet.sequence_flags = WRITER_HAS_INTERNED;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT;
	packet.track_event = event;
	writer_put(writer, &packet);
}

void tracks_put(struct perfetto *writer, uint64_t track, uint64_t ts,
		Perfetto__TrackEvent__Type type, const struct tracks_said *said)
{
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;
	uint64_t category = 0;
	struct tracks_flow flow = said->flow;
	char text[TEXT_MAX];

	event.type = type;
	if (said->name) {
		event.name_iid = writer_intern(writer, WRITER_NAMES, said->name);
		event.has_name_iid = event.name_iid != 0;
		if (!event.has_name_iid) {
			(void)utf8_copy(text, sizeof(text), said->name, strlen(said->name));
			event.name = text;
		}
	}
	category = said->category ? writer_intern(writer, WRITER_CATEGORIES, said->category) : 0;
	event.n_category_iids = category != 0;
	event.category_iids = &category;
	event.n_debug_annotations = said->arg_count;
	event.debug_annotations = said->args;
	event.n_terminating_flow_ids = flow.in != 0;
	event.terminating_flow_ids = &flow.in;
	event.n_flow_ids = flow.out != 0;
	event.flow_ids = &flow.out;
	put(writer, track, ts, &event);
}

void tracks_begin(struct perfetto *writer, uint64_t track, uint64_t ts, const char *name,
		  struct tracks_flow flow)
{
	const struct tracks_said said = { .name = name, .flow = flow };

	assert_hot(name);
	tracks_put(writer, track, ts, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_BEGIN, &said);
}

void tracks_end(struct perfetto *writer, uint64_t track, uint64_t ts)
{
	const struct tracks_said said = { 0 };

	tracks_put(writer, track, ts, PERFETTO__TRACK_EVENT__TYPE__TYPE_SLICE_END, &said);
}

void tracks_instant(struct perfetto *writer, uint64_t track, uint64_t ts, const char *name)
{
	const struct tracks_said said = { .name = name };

	tracks_put(writer, track, ts, PERFETTO__TRACK_EVENT__TYPE__TYPE_INSTANT, &said);
}

void tracks_count(struct perfetto *writer, uint64_t track, uint64_t ts, uint64_t value)
{
	Perfetto__TrackEvent event = PERFETTO__TRACK_EVENT__INIT;

	event.type = PERFETTO__TRACK_EVENT__TYPE__TYPE_COUNTER;
	event.has_counter_value = 1;
	event.counter_value = value > INT64_MAX ? INT64_MAX : (int64_t)value;
	put(writer, track, ts, &event);
}
