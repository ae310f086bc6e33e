/*
 * viewer: a hostile relay, from the first reply on.
 *
 * The input is what the relay sends.  The first byte says in what pieces it arrives,
 * whether the owner has room for packets, and whether sessions are listed instead of one being
 * followed; time moves on by one poll per reply.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "relay/client.h"

#define MS UINT64_C(1000000)

struct owner {
	bool is_full;
	unsigned int packets;
};

static void on_attached(void *user)
{
}

static void on_refused(void *user, uint32_t status)
{
}

static void *on_stream(void *user, const struct viewer_stream *stream)
{
	return user;
}

static void on_metadata(void *user, uint64_t trace, const uint8_t *bytes, uint64_t len)
{
	uint64_t sum = trace;

	for (uint64_t i = 0; i < len; i++) {
		sum += bytes[i]; /* a sanitizer sees whether they are there */
	}
	__asm__ volatile("" : : "r"(sum));
}

static void on_packet(void *user, void *stream, const struct viewer_index *index, uint8_t *bytes,
		      uint64_t len)
{
	struct owner *owner = user;

	if (len != (index->content_bits + 7) / 8) {
		abort();
	}
	free(bytes);
	owner->packets++;
}

static void on_packet_lost(void *user, void *stream, const struct viewer_index *index,
			   const char *why)
{
	if (!*why) {
		abort();
	}
}

static void on_idle(void *user, void *stream, bool has_beacon, uint64_t cycles)
{
}

static void on_stream_end(void *user, void *stream)
{
}

static void on_end(void *user, enum client_end end)
{
}

static bool may_fetch(void *user, void *stream)
{
	return !((struct owner *)user)->is_full;
}

static const struct client_events events = {
	.on_attached = on_attached,
	.on_refused = on_refused,
	.on_stream = on_stream,
	.on_metadata = on_metadata,
	.on_packet = on_packet,
	.on_packet_lost = on_packet_lost,
	.on_idle = on_idle,
	.on_stream_end = on_stream_end,
	.on_end = on_end,
	.may_fetch = may_fetch,
};

/* 0 when the bytes are used up, below it when the relay was found out. */
static int converse(struct viewer *viewer, struct client *client, const uint8_t *data, size_t size,
		    size_t piece)
{
	struct viewer_reply reply;
	uint64_t now = 1000 * MS;
	struct err err;
	int r = 0;

	if (client) {
		client_start(client, now);
	} else {
		viewer_connect(viewer);
		viewer_list_sessions(viewer);
		viewer_list_sessions(viewer);
	}
	while (r >= 0 && size > 0) {
		size_t room, len;
		uint8_t *into = viewer_want(viewer, &room);

		len = room < size ? room : size;
		len = len < piece ? len : piece;
		memcpy(into, data, len);
		data += len;
		size -= len;
		r = viewer_fed(viewer, len, &reply, &err);
		if (r > 0 && client) {
			r = client_reply(client, &reply, now, &err);
			now += 100 * MS;
			client_tick(client, now);
		}
		viewer->out.count = 0;
	}
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct owner owner = { 0 };
	struct client_config config = { .session_id = 1,
					.seek = VIEWER_SEEK_LAST,
					.live_timer_us = 100000,
					.events = &events,
					.user = &owner };
	struct viewer viewer;
	struct client *client;

	if (size < 1) {
		return 0;
	}
	owner.is_full = data[0] & 1;
	viewer_init(&viewer);
	client = data[0] & 2 ? NULL : client_new(&config, &viewer);
	(void)converse(&viewer, client, data + 1, size - 1,
		       data[0] < 128 ? SIZE_MAX : (size_t)data[0] - 127);
	if (client) {
		client_free(client);
	}
	viewer_fini(&viewer);
	return 0;
}
