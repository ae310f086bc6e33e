/*
 * client-fetch: packets: from their index to their bytes; see client.h.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/account.h"
#include "base/limits.h"
#include "relay/client-state.h"

/* The packet so far, which is not on its way any more. */
uint8_t *client_take_bytes(struct client *client, struct client_stream *stream)
{
	uint8_t *bytes = stream->bytes;

	if (bytes) {
		assert(client->fetching > 0);
		client->fetching--;
		account_give(client->config.account, ACCOUNT_FETCHES, stream->len);
		stream->bytes = NULL;
	}
	return bytes;
}

static void ask_piece(struct client *client, struct client_stream *stream)
{
	uint64_t left = stream->len - stream->done;
	uint32_t piece = left < RELAY_PIECE_BYTES ? (uint32_t)left : RELAY_PIECE_BYTES;

	assert(stream->state == STREAM_FETCHING);
	assert(stream->done < stream->len);
	viewer_get_packet(client->viewer, stream->id, stream->index.offset + stream->done,
			  stream->bytes + stream->done, piece, stream->id);
}

/* Fetches the packet whose index is held; if it has one piece, also requests the next index. */
static void fetch(struct client *client, struct client_stream *stream)
{
	assert(stream->state == STREAM_HELD);
	assert(client->fetching < RELAY_IN_FLIGHT_MAX);
	stream->state = STREAM_FETCHING;
	stream->len = (stream->index.content_bits + 7) / 8;
	if (stream->is_look && stream->len > PACKET_HEAD_BYTES) {
		stream->len = PACKET_HEAD_BYTES;
	}
	stream->done = 0;
	assert(stream->len <= PACKET_BYTES_MAX);        /* check_index() refused larger ones */
	stream->bytes = mem_realloc(NULL, stream->len); /* pages are taken as bytes arrive */
	client->fetching++;
	account_take(client->config.account, ACCOUNT_FETCHES, stream->len);
	ask_piece(client, stream);
	if (!stream->is_look && stream->len <= RELAY_PIECE_BYTES &&
	    client->config.events->may_fetch(client->config.user, stream->user)) {
		client_ask_index(client, stream);
	}
}

/* Does what the owner wants of the packet whose index is held; false: that is not possible now. */
static bool take_held(struct client *client, struct client_stream *stream)
{
	const struct client_events *events = client->config.events;
	enum client_wish wish = CLIENT_FETCH;

	assert(stream->state == STREAM_HELD);
	if (client->fetching == RELAY_IN_FLIGHT_MAX) {
		return false;
	}
	if (events->wants_packet) {
		wish = events->wants_packet(client->config.user, stream->user, &stream->index);
	}
	if (wish == CLIENT_PASS) {
		stream->state = STREAM_IDLE;
		stream->due = 0; /* the next tick requests the next index */
		client_poll(client, stream);
	} else if (wish != CLIENT_WAIT) {
		stream->is_look = wish == CLIENT_LOOK && !stream->has_looked;
		fetch(client, stream);
	}
	return wish != CLIENT_WAIT;
}

void client_hold(struct client *client, struct client_stream *stream)
{
	stream->state = STREAM_HELD;
	if (!take_held(client, stream)) {
		queue_push(&client->held, stream);
	}
}

/* Those that have to wait stay before those that were not asked about. */
void client_take_held(struct client *client)
{
	struct client_stream **link = &client->held.first, *last = NULL;

	while (*link && client->fetching < RELAY_IN_FLIGHT_MAX) {
		struct client_stream *stream = *link, *next = stream->next;

		stream->next = NULL;
		if (take_held(client, stream)) {
			*link = next;
		} else {
			stream->next = next;
			last = stream;
			link = &stream->next;
		}
	}
	if (!*link && last) {
		client->held.last = last;
	}
}

/* The first bytes of the packet have come: asks the owner again. */
static void end_look(struct client *client, struct client_stream *stream)
{
	assert(!stream->index_asked);
	client->config.events->on_look(client->config.user, stream->user, &stream->index,
				       stream->bytes, stream->len);
	free(client_take_bytes(client, stream));
	stream->has_looked = true;
	client_hold(client, stream);
}

void client_on_packet(struct client *client, const struct viewer_reply *reply, uint64_t now)
{
	struct client_stream *stream = client_stream_of(client, reply->tag);
	const struct client_events *events = client->config.events;
	bool had_no_room = client->fetching == RELAY_IN_FLIGHT_MAX;

	assert(stream && stream->state == STREAM_FETCHING);
	assert(client->fetching > 0);
	client->progress = now;
	if (reply->status == PACKET_OK) {
		uint64_t left = stream->len - stream->done;

		stream->done += left < RELAY_PIECE_BYTES ? left : RELAY_PIECE_BYTES;
		if (stream->done < stream->len) {
			ask_piece(client, stream);
			return;
		}
		if (stream->is_look) {
			end_look(client, stream);
			return;
		}
		events->on_packet(client->config.user, stream->user, &stream->index,
				  client_take_bytes(client, stream), stream->len);
	} else {
		free(client_take_bytes(client, stream));
		events->on_packet_lost(client->config.user, stream->user, &stream->index,
				       "the relay no longer has it (overwritten or cleared)");
	}
	stream->state = stream->index_asked ? STREAM_ASKED : STREAM_IDLE;
	stream->due = now;
	if (stream->state == STREAM_IDLE) {
		client_poll(client, stream);
	}
	if (had_no_room) { /* others wait for their owner, whom the next tick asks */
		client_take_held(client);
	}
}
