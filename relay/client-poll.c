/*
 * client-poll: when the next request is due, also after errors; see client.h.
 */
#include <assert.h>

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

/* ---- who is due ---- */

static void swap(struct client *client, size_t a, size_t b)
{
	struct client_stream *stream = client->idle.at[a];

	client->idle.at[a] = client->idle.at[b];
	client->idle.at[b] = stream;
}

static bool is_due_before(const struct client *client, size_t a, size_t b)
{
	const struct client_stream *one = client->idle.at[a], *other = client->idle.at[b];

	return one->due != other->due ? one->due < other->due : one->number < other->number;
}

void client_poll(struct client *client, struct client_stream *stream)
{
	size_t at = client->idle.count;

	assert(stream->state == STREAM_IDLE && !stream->index_asked);
	*vec_push(&client->idle) = stream;
	for (; at > 0 && is_due_before(client, at, (at - 1) / 2); at = (at - 1) / 2) {
		swap(client, at, (at - 1) / 2);
	}
}

static struct client_stream *take_first(struct client *client)
{
	struct client_stream *first = client->idle.at[0];
	size_t at = 0, least;

	client->idle.at[0] = client->idle.at[--client->idle.count];
	for (;;) {
		least = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
			if (child < client->idle.count && is_due_before(client, child, least)) {
				least = child;
			}
		}
		if (least == at) {
			return first;
		}
		swap(client, at, least);
		at = least;
	}
}

static bool ask_or_starve(struct client *client, struct client_stream *stream)
{
	bool may_fetch = client->config.events->may_fetch(client->config.user, stream->user);

	if (may_fetch) {
		client_ask_index(client, stream);
	} else {
		queue_push(&client->starved, stream);
	}
	return may_fetch;
}

/* Those that starve are asked about at each call: the owner calls when there may be room. */
bool client_poll_due(struct client *client, uint64_t now)
{
	__typeof__(client->starved) before = client->starved;
	struct client_stream *stream;
	bool asks_any = false;

	client->starved.first = NULL;
	while ((stream = queue_pop(&before))) {
		asks_any |= ask_or_starve(client, stream);
	}
	while (client->idle.count > 0 && client->idle.at[0]->due <= now) {
		stream = take_first(client);
		assert(stream->state == STREAM_IDLE);
		asks_any |= ask_or_starve(client, stream);
	}
	if (client->starved.first) {
		client->progress = now; /* it is this program that waits */
	}
	return asks_any;
}

uint64_t client_due(const struct client *client)
{
	bool asks_streams = client->state == CLIENT_RUNNING && !client->new_streams_asked;
	uint64_t due = asks_streams ? client->new_streams_due : UINT64_MAX;

	if (client->state == CLIENT_STARTING || client->state == CLIENT_ENDED) {
		return UINT64_MAX;
	}
	if (client->idle.count > 0 && client->idle.at[0]->due < due) {
		due = client->idle.at[0]->due;
	}
	for (size_t i = 0; client->needed > 0 && i < client->traces.count; i++) {
		const struct client_trace *trace = &client->traces.at[i];

		if (trace->state == META_NEEDED && trace->has_stream && trace->due < due) {
			due = trace->due;
		}
	}
	return due;
}
