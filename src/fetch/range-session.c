/*
 * range-session: see range-session.h.
 */
#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/now.h"
#include "ctf/decoder.h"
#include "ctf/plan/plan.h"
#include "fetch/range-state.h"

#define STOP_NS      (NS_PER_S / 10) /* how soon a signal is noticed */
#define NO_STREAM_NS (2 * NS_PER_S)  /* a session without a stream is given up */
#define GRACE_NS     (5 * NS_PER_S)  /* a silent stream is given up once others reach the end */
#define WAITS_NS     NS_PER_S        /* after this a user is told that data is waited for */

/* ---- the end ---- */

static void on_attached(void *user)
{
	struct reading *reading = user;

	assert(!reading->is_attached);
	reading->is_attached = true;
	reading->begun = now_monotonic_ns();
}

static void on_refused(void *user, uint32_t status)
{
	struct reading *reading = user;

	if (status == ATTACH_ALREADY) {
		range_take_fail(reading, -EBUSY, "another viewer has this session");
	} else if (status == ATTACH_NOT_LIVE) {
		range_take_fail(reading, -ENOTSUP, "this is not a live session (no live timer)");
	} else if (status == ATTACH_UNKNOWN) {
		range_take_fail(reading, -ENOENT,
				"the session has ended; the relay no longer hands it out");
	} else {
		range_take_fail(reading, -EPROTO,
				"the relay refuses to attach (status %" PRIu32 ")", status);
	}
}

static void on_end(void *user, enum client_end why)
{
	struct reading *reading = user;

	(void)why; /* what was lost with it was never announced */
	for (size_t i = 0; i < reading->streams.count; i++) {
		reading->streams.at[i]->is_done = true;
	}
	if (reading->streams.count == 0) {
		range_take_fail(reading, -ENODATA, "the session has ended without data");
	} else {
		range_take_over(reading);
	}
}

/* Streams that are silent while others are at the end of the range are not waited for: some relays
 * never tell the time of a stream without packets. */
static void leave_silent(struct reading *reading)
{
	uint64_t now = now_monotonic_ns(), limit = reading->job->live_timer_us * UINT64_C(2000);
	bool any_reaches_end = false;

	limit = limit < GRACE_NS ? GRACE_NS : limit;
	for (size_t i = 0; i < reading->streams.count; i++) {
		any_reaches_end |= reading->streams.at[i]->reaches_end;
	}
	for (size_t i = 0; i < reading->streams.count && any_reaches_end; i++) {
		struct source_stream *stream = reading->streams.at[i];

		stream->is_done |= !stream->is_fetching && now - stream->heard > limit;
	}
}

static void say_waiting(struct reading *reading)
{
	const struct range_job *job = reading->job;
	char text[UNITS_TEXT_MAX];

	if (job->end < UINT64_MAX && job->dir && job->say && !reading->said_waiting &&
	    job->span.last > 0 && job->span.last < job->end &&
	    now_monotonic_ns() - reading->begun > WAITS_NS) {
		reading->said_waiting = true;
		job->say("%s: waiting for its data up to %s", job->name,
			 units_clock(text, job->end));
	}
}

static void check_end(struct reading *reading)
{
	uint64_t age = now_monotonic_ns() - reading->begun;
	bool is_read = reading->streams.count > 0, has_metadata = true;

	assert(reading->is_attached && !reading->is_over);
	leave_silent(reading);
	for (size_t i = 0; i < reading->streams.count; i++) {
		is_read &= reading->streams.at[i]->is_done && !reading->streams.at[i]->is_fetching;
	}
	for (size_t i = 0; i < reading->traces.count; i++) {
		has_metadata &= reading->traces.at[i]->is_current;
	}
	if (is_read && has_metadata) {
		range_take_over(reading);
	} else if (reading->streams.count == 0 && age > NO_STREAM_NS) {
		range_take_fail(reading, -ENODATA, "the relay has no data of it yet");
	} else if (is_read && age > WALK_METADATA_NS) {
		range_take_fail(reading, -ENODATA, "the relay has no whole metadata of it yet");
	}
}

static void on_unfetched(void *user, void *arg, const struct viewer_index *index)
{
}

static const struct client_events client_events = {
	.on_attached = on_attached,
	.on_refused = on_refused,
	.on_stream = range_take_stream,
	.on_metadata = range_take_metadata,
	.on_metadata_end = range_take_metadata_end,
	.ends_packet = range_take_ends_packet,
	.on_packet = range_take_packet,
	.on_packet_lost = range_take_packet_lost,
	.on_idle = range_take_idle,
	.on_stream_end = range_take_stream_end,
	.on_stream_broken = range_take_stream_broken,
	.on_stream_not_followed = range_take_not_followed,
	.on_new_streams_broken = range_take_new_streams_broken,
	.on_unfetched = on_unfetched,
	.on_end = on_end,
	.may_fetch = range_take_may_fetch,
	.wants_packet = range_take_wants_packet,
};

/* ---- the connection ---- */

/* Makes the requests that are due and sets the timer for the next ones. */
static void go_on(struct reading *reading)
{
	uint64_t now = now_monotonic_ns(), due, left = STOP_NS;
	struct timeval wait = { 0 };

	if (!reading->is_over && atomic_load(reading->job->stop)) {
		range_take_fail(reading, -EINTR, "interrupted while it was fetched");
	}
	if (!reading->is_over && reading->is_attached) {
		client_tick(reading->client, now);
	}
	if (!reading->is_over && reading->is_attached) {
		check_end(reading);
	}
	if (reading->is_over) {
		return;
	}
	if (reading->is_attached) {
		say_waiting(reading);
		relay_connection_send(reading->connection);
		due = client_due(reading->client);
		left = due > now ? due - now : 0;
		left = left < STOP_NS ? left : STOP_NS;
	}
	if (reading->job->progress) {
		reading->job->progress(reading->job->user, reading->job);
	}
	wait.tv_usec = (suseconds_t)(left / 1000 + 1);
	(void)event_add(reading->timer, &wait);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	go_on(arg);
}

static void on_connected(void *user)
{
	struct reading *reading = user;

	client_start(reading->client, now_monotonic_ns());
	relay_connection_send(reading->connection);
}

static int on_reply(void *user, const struct viewer_reply *reply, struct err *err)
{
	struct reading *reading = user;
	int r;

	if (reading->is_over) {
		return 0;
	}
	r = client_reply(reading->client, reply, now_monotonic_ns(), err);
	if (r < 0) {
		return r;
	}
	go_on(reading);
	return 0;
}

static void on_closed(void *user, const struct err *err)
{
	struct reading *reading = user;

	reading->job->has_stream_failed |= client_stream_failed(reading->client);
	reading->job->was_of_other_length |=
		relay_connection_viewer(reading->connection)->is_of_other_length;
	range_take_fail(reading, -ECONNRESET, "connection lost: %s", err->text);
}

static void reading_fini(struct reading *reading)
{
	relay_connection_free(reading->connection);
	client_free(reading->client);
	event_free(reading->timer);
	decoder_free(reading->decoder);
	event_base_free(reading->base);
	for (size_t i = 0; i < reading->streams.count; i++) {
		free(reading->streams.at[i]->path);
		free(reading->streams.at[i]);
	}
	VEC_EACH_OF(&reading->traces, trace) {
		plan_unref(trace->plan);
		plan_builder_free(trace->builder);
		metadata_stream_free(trace->metadata);
		free(trace);
	}
	vec_fini(&reading->streams);
	vec_fini(&reading->traces);
}

int range_session_read(struct range_job *job, struct err *err)
{
	static const struct relay_connection_events events = {
		.on_connected = on_connected,
		.on_reply = on_reply,
		.on_closed = on_closed,
	};
	struct reading reading = { .job = job, .err = err, .begun = now_monotonic_ns() };
	struct client_config config = {
		.session_id = job->session_id,
		.seek = VIEWER_SEEK_BEGINNING,
		.live_timer_us = job->live_timer_us,
		.gives_streams_up = job->gives_streams_up,
		.events = &client_events,
		.user = &reading,
	};
	struct timeval soon = { .tv_usec = STOP_NS / 1000 };

	assert(job->traces.count == 0);
	job->span = (struct units_span){ .first = UINT64_MAX };
	reading.base = event_base_new();
	reading.decoder = mem_alloc(sizeof(*reading.decoder));
	reading.timer = event_new(reading.base, -1, 0, on_timer, &reading);
	reading.connection = relay_connection_new(reading.base, job->address, &events, &reading);
	reading.client = client_new(&config, relay_connection_viewer(reading.connection));
	relay_connection_viewer(reading.connection)->takes_any_length = job->takes_any_length;
	(void)event_add(reading.timer, &soon);
	(void)event_base_dispatch(reading.base);
	reading_fini(&reading);
	return reading.r;
}

void range_session_clear(struct range_job *job)
{
	VEC_EACH_OF(&job->traces, trace) {
		for (size_t k = 0; k < trace->lost.count; k++) {
			free(trace->lost.at[k].file);
			free(trace->lost.at[k].why);
		}
		vec_fini(&trace->lost);
		free(trace->path);
		free(trace->dir);
		free(trace);
	}
	vec_fini(&job->traces);
	job->packets = job->bytes = job->lost = 0;
}
