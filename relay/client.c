/*
 * client: see client.h.
 */
#include "relay/client-state.h"

#include <assert.h>
#include <errno.h>

#include "base/limits.h"

/* In a row: a second, if polls are as far apart as can be. */
#define METADATA_DENIED_MAX 20

struct client *client_new(const struct client_config *config, struct viewer *viewer)
{
	struct client *client = mem_alloc(sizeof(*client));
	uint64_t timer = config->live_timer_us * UINT64_C(1000);

	client->config = *config;
	client->viewer = viewer;
	/* A tenth of the live timer costs little and adds no visible lag. */
	client->poll_ns = timer / 10;
	client->poll_ns = client->poll_ns < NS_PER_MS ? NS_PER_MS : client->poll_ns;
	client->poll_ns = client->poll_ns > 50 * NS_PER_MS ? 50 * NS_PER_MS : client->poll_ns;
	if (timer > GRID_ONE_MAX) {
		client->grid_ns = GRID_NS_MAX;
		client->tick_ns = timer - client->poll_ns;
	} else {
		client->grid_ns = timer < client->poll_ns ? client->poll_ns : timer;
		client->tick_ns = client->grid_ns - client->poll_ns * 4 / 5;
	}
	client->gone_ns = 3 * timer > 5000 * NS_PER_MS ? 3 * timer : 5000 * NS_PER_MS;
	assert(client->poll_ns > 0 && client->poll_ns <= client->grid_ns);
	return client;
}

void client_free(struct client *client)
{
	if (!client) {
		return;
	}
	for (size_t i = 0; i < client->streams.count; i++) {
		free(client_take_bytes(client, client->streams.at[i]));
		free(client->streams.at[i]);
	}
	vec_fini(&client->streams);
	vec_fini(&client->traces);
	vec_fini(&client->idle);
	client_streams_fini(&client->by_id);
	client_traces_fini(&client->trace_by_id);
	free(client);
}

void client_start(struct client *client, uint64_t now)
{
	assert(client->state == CLIENT_STARTING);
	client->progress = now;
	viewer_connect(client->viewer);
	viewer_create_session(client->viewer);
	viewer_attach(client->viewer, client->config.session_id, client->config.seek);
}

void client_set_listed(struct client *client, bool is_listed)
{
	client->is_unlisted = !is_listed;
}

uint64_t client_announced(const struct client *client)
{
	return client->announced;
}

uint32_t client_minor(const struct client *client)
{
	return client->viewer->minor;
}

bool client_is_draining(const struct client *client)
{
	return client->state == CLIENT_DRAINING || client->state == CLIENT_ENDED;
}

bool client_stream_failed(const struct client *client)
{
	return client->stream_failed;
}

void client_abandon(struct client *client)
{
	for (size_t i = 0; i < client->streams.count; i++) {
		const struct client_stream *stream = client->streams.at[i];

		if (stream->state == STREAM_HELD || stream->state == STREAM_FETCHING) {
			client->config.events->on_unfetched(client->config.user, stream->user,
							    &stream->index);
		}
	}
}

/* ---- streams and traces ---- */

struct client_stream *client_stream_of(const struct client *client, uint64_t id)
{
	struct client_stream **at = client_streams_get(&client->by_id, id);

	return at ? *at : NULL;
}

static void trace_set(struct client *client, struct client_trace *trace, enum metadata_state state)
{
	client->needed -= trace->state == META_NEEDED;
	trace->state = state;
	client->needed += trace->state == META_NEEDED;
	assert(client->needed <= client->traces.count);
}

/* The trace with this id; it is made if it is new. */
static struct client_trace *trace_of(struct client *client, uint64_t id)
{
	bool is_new;
	size_t *at = client_traces_put(&client->trace_by_id, id, &is_new);
	struct client_trace *trace;

	if (!is_new) {
		return &client->traces.at[*at];
	}
	*at = client->traces.count;
	trace = vec_push(&client->traces);
	*trace = (struct client_trace){ .id = id };
	trace_set(client, trace, META_NEEDED);
	return trace;
}

/* It contradicts what was announced before, which stays. */
static void not_followed(struct client *client, const struct viewer_stream *announced,
			 const char *why)
{
	if (!client_attach_again(client, why)) {
		client->config.events->on_stream_not_followed(client->config.user, announced, why);
	}
}

static void add_metadata_stream(struct client *client, const struct viewer_stream *announced,
				uint64_t now)
{
	struct client_trace *trace = trace_of(client, announced->trace_id);

	if (trace->has_any && trace->stream_id != announced->id) {
		not_followed(client, announced, "another one is announced for its trace");
		return;
	}
	trace->stream_id = announced->id;
	trace->has_stream = true;
	if (trace->state != META_ASKED && trace->state != META_FINAL) {
		trace_set(client, trace, META_NEEDED);
		trace->due = now;
	}
}

/* Whether a stream of a known id is to be read.  One that is announced again after its end is:
 * relays use ids again, and a stream may have more to read.  Packets that were read are known by
 * their numbers. */
static bool is_read_again(struct client *client, struct client_stream *known,
			  const struct viewer_stream *announced, uint64_t name)
{
	if (known->state == STREAM_DONE) {
		return known->announced < RELAY_ANNOUNCED_MAX;
	}
	if (client->traces.at[known->trace].id != announced->trace_id || known->name != name) {
		not_followed(client, announced, "its id is that of another stream");
	}
	return false;
}

static void add_stream(struct client *client, const struct viewer_stream *announced, uint64_t now)
{
	uint64_t name = hash_text(hash_text(0, announced->path), announced->channel);
	struct client_stream *stream, *known;
	struct client_stream **at;
	bool is_new;

	if (announced->is_metadata) {
		add_metadata_stream(client, announced, now);
		return;
	}
	at = client_streams_put(&client->by_id, announced->id, &is_new);
	known = is_new ? NULL : *at;
	if (known && !is_read_again(client, known, announced, name)) {
		return;
	}
	stream = mem_alloc(sizeof(*stream));
	stream->trace = (size_t)(trace_of(client, announced->trace_id) - client->traces.at);
	*at = stream;
	stream->id = announced->id;
	stream->name = name;
	stream->announced = known ? known->announced + 1 : 1;
	stream->due = now;
	stream->user = client->config.events->on_stream(client->config.user, announced);
	stream->number = client->streams.count;
	*vec_push(&client->streams) = stream;
	client_poll(client, stream);
	client->live_streams++;
	client->progress = now;
}

static void end_stream(struct client *client, struct client_stream *stream)
{
	if (stream->state != STREAM_DONE) {
		assert(client->live_streams > 0);
		assert(!stream->index_asked);
		stream->state = STREAM_DONE;
		client->live_streams--;
		client->config.events->on_stream_end(client->config.user, stream->user);
	}
}

/* ---- requests ---- */

void client_ask_index(struct client *client, struct client_stream *stream)
{
	assert(!stream->index_asked);
	assert(stream->state == STREAM_IDLE || stream->state == STREAM_FETCHING);
	viewer_get_index(client->viewer, stream->id, stream->id);
	stream->index_asked = true;
	stream->state = stream->state == STREAM_IDLE ? STREAM_ASKED : stream->state;
}

static void ask_metadata(struct client *client, struct client_trace *trace)
{
	assert(trace->has_stream);
	viewer_get_metadata(client->viewer, trace->stream_id, trace->id,
			    !trace->has_any || client->config.events->ends_packet(
						       client->config.user, trace->id));
	trace_set(client, trace, META_ASKED);
}

static void ask_new_streams(struct client *client, uint64_t now)
{
	if (client->state == CLIENT_RUNNING && !client->new_streams_asked) {
		viewer_get_new_streams(client->viewer, client->config.session_id);
		client->new_streams_asked = true;
		/* Only replies about a stream carry the flag for new ones: without one, poll. */
		client->new_streams_due = now + (client->streams.count == 0  ? client->poll_ns
						 : client->live_streams == 0 ? STREAMS_NS
									     : 2 * STREAMS_NS);
	}
}

/* ---- replies ---- */

static const char *check_index(const struct viewer_index *index)
{
	if (index->packet_bits / 8 > PACKET_BYTES_MAX) {
		return "its size passes the limit of 1 GiB";
	}
	if (index->packet_bits == 0 || index->content_bits == 0 ||
	    index->content_bits > index->packet_bits) {
		return "its sizes contradict each other";
	}
	return NULL;
}

static void take_flags(struct client *client, struct client_stream *stream, uint32_t flags,
		       uint64_t now)
{
	struct client_trace *trace = &client->traces.at[stream->trace];

	if (flags & VIEWER_FLAG_NEW_STREAM) {
		ask_new_streams(client, now);
	}
	trace->is_promised |= (flags & VIEWER_FLAG_NEW_METADATA) != 0;
	/* The relay sets the flag even while it has no metadata at all: no busy loop then. */
	if ((flags & VIEWER_FLAG_NEW_METADATA) && trace->state == META_CURRENT) {
		trace_set(client, trace, META_NEEDED);
		trace->due = now;
	}
	if (trace->state == META_NEEDED && trace->has_stream && trace->due <= now) {
		ask_metadata(client, trace);
	}
}

static void index_ok(struct client *client, struct client_stream *stream,
		     const struct viewer_index *index)
{
	const char *wrong = check_index(index);

	client->announced++;
	if (wrong) { /* its times may be right for all that: the packet may have come before */
		client->config.events->on_packet_lost(
			client->config.user, stream->user,
			index->end > 0 && index->begin <= index->end ? index : NULL, wrong);
		stream->due = 0;
		client_poll(client, stream);
		return;
	}
	stream->index = *index;
	stream->has_looked = false;
	client_hold(client, stream);
}

/* Some relays answer so for a while after a clear. */
static void index_refused(struct client *client, struct client_stream *stream, uint32_t status,
			  uint64_t now)
{
	if (client_stream_error(stream, now)) {
		client_poll(client, stream);
		return;
	}
	if (client_attach_again(client,
				"requests for an index of a stream are answered with an error")) {
		return;
	}
	client->config.events->on_stream_broken(client->config.user, stream->user, status);
	end_stream(client, stream);
}

static void on_index(struct client *client, const struct viewer_reply *reply, uint64_t now)
{
	struct client_stream *stream = client_stream_of(client, reply->tag);
	const struct viewer_index *index = &reply->index;

	assert(stream && stream->index_asked); /* the tag is ours; streams are never removed */
	assert(stream->state == STREAM_ASKED);
	stream->index_asked = false;
	stream->state = STREAM_IDLE;
	take_flags(client, stream, index->flags, now);
	switch ((enum viewer_index_status)index->status) {
	case INDEX_OK:
		client->progress = now;
		stream->errors = 0;
		stream->heard = now;
		stream->retries = 0;
		index_ok(client, stream, index);
		return;
	case INDEX_INACTIVE:
		/* Of a session that is gone the last one may be repeated for ever. */
		client->progress = index->end > stream->beacon ? now : client->progress;
		stream->errors = 0;
		client->config.events->on_idle(client->config.user, stream->user, true, index->end);
		client_stream_idle(client, stream, index->end, now);
		client_poll(client, stream);
		return;
	case INDEX_RETRY:
		stream->errors = 0;
		client->config.events->on_idle(client->config.user, stream->user, false, 0);
		client_stream_retry(client, stream, now);
		client_poll(client, stream);
		return;
	case INDEX_HUP:
		client->progress = now;
		end_stream(client, stream);
		return;
	case INDEX_EOF: /* no relay says so, and whether more follows is unknown */
	case INDEX_ERROR:
		break;
	}
	index_refused(client, stream, index->status, now);
}

/* All metadata that the relay has now is here, or none.  It is asked for again soon if there must
 * be more. */
static void metadata_is_current(struct client *client, struct client_trace *trace, uint64_t now)
{
	bool is_whole = trace->has_any &&
			client->config.events->on_metadata_end(client->config.user, trace->id);

	trace_set(client, trace, is_whole ? META_CURRENT : META_NEEDED);
	trace->due = now + client->poll_ns;
}

/* What the flag of an index told of does not come, as while a relay changes its files.  Packets may
 * need it.  A relay that keeps saying both is not believed for ever. */
static bool is_denied(struct client *client, struct client_trace *trace, uint64_t now)
{
	if (!trace->has_any || !trace->is_promised || trace->denied >= METADATA_DENIED_MAX) {
		return false;
	}
	trace->denied++;
	trace_set(client, trace, META_NEEDED);
	trace->due = now + client->poll_ns;
	if (client->config.events->on_metadata_due) {
		client->config.events->on_metadata_due(client->config.user, trace->id);
	}
	return true;
}

/* Until the relay has no more. */
static void more_metadata(struct client *client, struct client_trace *trace, uint64_t len,
			  uint64_t now)
{
	const struct client_events *events = client->config.events;

	trace->pieces += len < RELAY_METADATA_LITTLE;
	if (events->wants_metadata && !events->wants_metadata(client->config.user, trace->id)) {
		trace_set(client, trace, META_FINAL);
	} else if (trace->pieces > RELAY_METADATA_BURST) {
		trace_set(client, trace, META_NEEDED);
		trace->due = now + client->poll_ns;
	} else {
		ask_metadata(client, trace);
	}
}

static void on_metadata(struct client *client, const struct viewer_reply *reply, uint64_t now)
{
	struct client_trace *trace = trace_of(client, reply->tag);

	switch ((enum viewer_metadata_status)reply->status) {
	case METADATA_OK:
		if (reply->len == 0) {
			break;
		}
		client->progress = now;
		trace->has_any = true;
		trace->is_promised = false;
		trace->denied = 0;
		client->config.events->on_metadata(client->config.user, trace->id, reply->bytes,
						   reply->len);
		more_metadata(client, trace, reply->len, now);
		return;
	case METADATA_NO_NEW:
		trace->pieces = 0;
		if (is_denied(client, trace, now)) {
			return;
		}
		break;
	case METADATA_ERROR: /* the usual end: the stream is closed and read completely */
		metadata_is_current(client, trace, now);
		trace_set(client, trace, META_FINAL);
		return;
	}
	metadata_is_current(client, trace, now);
}

static void new_streams_refused(struct client *client, uint32_t status, uint64_t now)
{
	if (client_new_streams_error(client, now) || client->state != CLIENT_RUNNING ||
	    client_attach_again(client, "requests for new streams are answered with an error")) {
		return;
	}
	client->config.events->on_new_streams_broken(client->config.user, status);
	client->state = CLIENT_DRAINING;
}

static void on_new_streams(struct client *client, const struct viewer_reply *reply, uint64_t now)
{
	assert(client->new_streams_asked);
	client->new_streams_asked = false;
	switch ((enum viewer_streams_status)reply->status) {
	case STREAMS_OK:
		client->new_streams_errors = 0;
		for (uint32_t i = 0; i < reply->count; i++) {
			add_stream(client, &reply->streams[i], now);
		}
		return;
	case STREAMS_NO_NEW:
		client->new_streams_errors = 0;
		return;
	case STREAMS_HUP:
		client->state = CLIENT_DRAINING;
		return;
	case STREAMS_ERROR:
		break;
	}
	new_streams_refused(client, reply->status, now);
}

static void on_attach(struct client *client, const struct viewer_reply *reply, uint64_t now)
{
	assert(client->state == CLIENT_STARTING);
	if (reply->status != ATTACH_OK) {
		client->state = CLIENT_ENDED;
		client->config.events->on_refused(client->config.user, reply->status);
		return;
	}
	client->state = CLIENT_RUNNING;
	client->progress = now;
	client->config.events->on_attached(client->config.user);
	for (uint32_t i = 0; i < reply->count; i++) {
		add_stream(client, &reply->streams[i], now);
	}
	ask_new_streams(client, now);
}

int client_reply(struct client *client, const struct viewer_reply *reply, uint64_t now,
		 struct err *err)
{
	switch (reply->command) {
	case VIEWER_CONNECT:
	case VIEWER_LIST_SESSIONS:
		break;
	case VIEWER_CREATE_SESSION:
		if (reply->status != 1) {
			return err_raise(err, -EPROTO,
					 "the relay refuses a viewer session (status %u)",
					 reply->status);
		}
		break;
	case VIEWER_ATTACH_SESSION:
		on_attach(client, reply, now);
		break;
	case VIEWER_GET_NEW_STREAMS:
		on_new_streams(client, reply, now);
		break;
	case VIEWER_GET_NEXT_INDEX:
		on_index(client, reply, now);
		break;
	case VIEWER_GET_PACKET:
		client_on_packet(client, reply, now);
		break;
	case VIEWER_GET_METADATA:
		on_metadata(client, reply, now);
		break;
	}
	return client->wrong ? err_raise(err, -EPROTO, "%s", client->wrong) : 0;
}

/* ---- time ---- */

/* False while metadata may still arrive.  The wait is bounded by gone_ns. */
static bool metadata_is_read(const struct client *client, uint64_t now)
{
	bool may_come = now - client->progress <= client->gone_ns;

	for (size_t i = 0; i < client->traces.count; i++) {
		const struct client_trace *trace = &client->traces.at[i];

		if (trace->state == META_ASKED ||
		    (trace->state == META_NEEDED && trace->has_stream && may_come)) {
			return false;
		}
	}
	return true;
}

static void check_end(struct client *client, uint64_t now)
{
	enum client_end end = CLIENT_FINISHED;

	if (client->state == CLIENT_DRAINING && client->live_streams == 0) {
		if (!metadata_is_read(client, now)) {
			return;
		}
	} else if (client->is_unlisted && now - client->progress > client->gone_ns) {
		end = CLIENT_GONE;
	} else {
		return;
	}
	client->state = CLIENT_ENDED;
	client->config.events->on_end(client->config.user, end);
}

void client_tick(struct client *client, uint64_t now)
{
	bool asks_any;

	if (client->state != CLIENT_RUNNING && client->state != CLIENT_DRAINING) {
		return;
	}
	for (size_t i = 0; client->needed > 0 && i < client->traces.count; i++) {
		struct client_trace *trace = &client->traces.at[i];

		if (trace->state == META_NEEDED && trace->has_stream && trace->due <= now) {
			ask_metadata(client, trace);
		}
	}
	client_take_held(client);
	asks_any = client_poll_due(client, now);
	/* Sent early if index requests go out anyway, which saves a wake-up. */
	if (client->new_streams_due <= now + (asks_any ? STREAMS_NS : 0)) {
		ask_new_streams(client, now);
	}
	check_end(client, now);
}
