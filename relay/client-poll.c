/*
 * client-poll: when the next request is due, also after errors; see client.h.
 */
#include "base/limits.h"
#include "relay/client-state.h"

#define RETRIES_MAX            2 /* consecutive retries that double the pause: at most 4 polls */
#define ERROR_NS               (100 * NS_PER_MS) /* the pause after a reply of no use, which doubles */
#define ERRORS_MAX             4                 /* consecutive ones: 1.5 s */
#define NEW_STREAMS_ERRORS_MAX 3                 /* the same for requests for new streams */

/*
 * When to request the next index of a stream whose last reply was a beacon.
 *
 * An idle stream has news only when the tracer's live timer ticks.  So the request is due when the
 * timer should have ticked again, rounded up to a grid that all streams share: on an idle host,
 * waking up is nearly the whole cost of following.  The grid is aligned to the wall clock plus half
 * a poll.  Windows end on the wall clock's grid, so one live timer later every stream has reported
 * past the window's end.  With a short timer the grid is one timer wide: all streams are requested
 * once per timer.  A stream that needed a retry skips one grid point; otherwise its requests would
 * come too early for ever.
 */
static uint64_t next_tick(const struct client *client, const struct client_stream *stream)
{
	uint64_t grid = client->grid_ns;
	uint64_t phase = (client->config.phase_ns + client->poll_ns / 2) % grid;
	uint64_t at = stream->heard + client->tick_ns + grid - phase;

	return (at - 1) / grid * grid + phase;
}

void client_stream_idle(const struct client *client, struct client_stream *stream, uint64_t beacon,
			uint64_t now)
{
	stream->due = now + client->poll_ns;
	if (beacon > stream->beacon) {
		stream->beacon = beacon;
		stream->heard = now;
		stream->retries = 0;
		stream->due = next_tick(client, stream);
	}
}

/* The pause doubles: the longer no full buffer came, the less likely the next one is soon. */
void client_stream_retry(const struct client *client, struct client_stream *stream, uint64_t now)
{
	uint64_t tick = next_tick(client, stream);

	stream->due = now + client->poll_ns;
	if (now < tick) {
		stream->due = now + (client->poll_ns << stream->retries);
		stream->due = stream->due > tick ? tick : stream->due;
		stream->retries += stream->retries < RETRIES_MAX;
	}
}

bool client_stream_error(struct client_stream *stream, uint64_t now)
{
	stream->due = now + (ERROR_NS << stream->errors);
	return ++stream->errors <= ERRORS_MAX;
}

bool client_new_streams_error(struct client *client, uint64_t now)
{
	client->new_streams_due = now + STREAMS_NS;
	return ++client->new_streams_errors <= NEW_STREAMS_ERRORS_MAX;
}

bool client_attach_again(struct client *client, const char *why)
{
	if (client->config.gives_streams_up || client->state != CLIENT_RUNNING ||
	    client->is_unlisted) {
		return false;
	}
	client->stream_failed = true;
	client->wrong = why;
	return true;
}

bool client_wants_index(const struct client *client, const struct client_stream *stream)
{
	return stream->state == STREAM_IDLE && !stream->index_asked &&
	       client->config.events->may_fetch(client->config.user, stream->user);
}

uint64_t client_due(const struct client *client)
{
	bool asks_streams = client->state == CLIENT_RUNNING && !client->new_streams_asked;
	uint64_t due = asks_streams ? client->new_streams_due : UINT64_MAX;

	if (client->state == CLIENT_STARTING || client->state == CLIENT_ENDED) {
		return UINT64_MAX;
	}
	for (size_t i = 0; i < client->streams.count; i++) {
		const struct client_stream *stream = client->streams.at[i];

		if (stream->due < due && client_wants_index(client, stream)) {
			due = stream->due;
		}
	}
	for (size_t i = 0; i < client->traces.count; i++) {
		const struct client_trace *trace = &client->traces.at[i];

		if (trace->state == META_NEEDED && trace->has_stream && trace->due < due) {
			due = trace->due;
		}
	}
	return due;
}

uint32_t client_minor(const struct client *client)
{
	return client->viewer->minor;
}
