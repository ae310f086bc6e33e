/*
 * fetch: fetches all packets of a live session and drops them.
 *
 * This is the upper bound for a viewer with one connection.  For each stream it requests a packet
 * and the index of the next one at the same time, and it decodes nothing.  It ends after BYTES
 * bytes of packets.
 *
 * usage: fetch PORT BYTES        the first session of a relay on loopback
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/now.h"
#include "relay/viewer.h"

struct fetched {
	uint64_t id;
	uint8_t *bytes; /* buffer of the requested packet: @len bytes of @room */
	uint32_t len, room;
};

struct fetch {
	struct viewer viewer;
	int fd;
	VEC(struct fetched) streams;
	uint64_t session, packets, bytes;
};

__attribute__((noreturn)) static void die(const char *what)
{
	(void)fprintf(stderr, "fetch: %s\n", what);
	exit(1);
}

static void send_all(struct fetch *f)
{
	size_t done = 0;

	while (done < f->viewer.out.count) {
		ssize_t sent = send(f->fd, f->viewer.out.at + done, f->viewer.out.count - done, 0);

		if (sent < 0 && errno != EINTR) {
			die(strerror(errno));
		}
		done += sent > 0 ? (size_t)sent : 0;
	}
	f->viewer.out.count = 0;
}

static void add_streams(struct fetch *f, const struct viewer_reply *reply)
{
	for (uint32_t i = 0; i < reply->count; i++) {
		*vec_push(&f->streams) = (struct fetched){ .id = reply->streams[i].id };
		if (reply->streams[i].is_metadata) {
			viewer_get_metadata(&f->viewer, reply->streams[i].id, 0, false);
		} else {
			viewer_get_index(&f->viewer, reply->streams[i].id, f->streams.count - 1);
		}
	}
}

/* Requests the packet of an index, or the same index again if it has none yet. */
static void take_index(struct fetch *f, const struct viewer_reply *reply)
{
	struct fetched *stream = &f->streams.at[reply->tag];
	uint64_t len = reply->index.packet_bits / 8;

	if (reply->status == INDEX_HUP) {
		return;
	}
	if (reply->status != INDEX_OK || len == 0 || len > UINT32_MAX) {
		viewer_get_index(&f->viewer, stream->id, reply->tag);
		return;
	}
	if (len > stream->room) {
		free(stream->bytes);
		stream->bytes = mem_alloc(len);
		stream->room = (uint32_t)len;
	}
	stream->len = (uint32_t)len;
	viewer_get_packet(&f->viewer, stream->id, reply->index.offset, stream->bytes, (uint32_t)len,
			  reply->tag);
	viewer_get_index(&f->viewer, stream->id, reply->tag);
}

static void take(struct fetch *f, const struct viewer_reply *reply)
{
	switch (reply->command) {
	case VIEWER_CONNECT:
		viewer_list_sessions(&f->viewer);
		break;
	case VIEWER_LIST_SESSIONS:
		if (reply->count == 0) {
			die("the relay has no session");
		}
		f->session = reply->sessions[0].id;
		viewer_create_session(&f->viewer);
		break;
	case VIEWER_CREATE_SESSION:
		viewer_attach(&f->viewer, f->session, VIEWER_SEEK_BEGINNING);
		break;
	case VIEWER_ATTACH_SESSION:
	case VIEWER_GET_NEW_STREAMS:
		add_streams(f, reply);
		break;
	case VIEWER_GET_NEXT_INDEX:
		take_index(f, reply);
		break;
	case VIEWER_GET_PACKET:
		f->packets += reply->status == PACKET_OK;
		f->bytes += reply->status == PACKET_OK ? f->streams.at[reply->tag].len : 0;
		break;
	default:
		break;
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct fetch f = { .fd = socket(AF_INET, SOCK_STREAM, 0) };
	struct viewer_reply reply;
	struct err err;
	uint64_t begin = now_monotonic_ns(), wanted;
	int one = 1;

	if (argc != 3) {
		die("usage: fetch PORT BYTES");
	}
	to.sin_port = htons((uint16_t)strtoul(argv[1], NULL, 10));
	wanted = strtoull(argv[2], NULL, 10);
	if (connect(f.fd, (const struct sockaddr *)&to, sizeof(to)) < 0) {
		die(strerror(errno));
	}
	(void)setsockopt(f.fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	viewer_init(&f.viewer);
	viewer_connect(&f.viewer);
	while (f.bytes < wanted) {
		size_t len;
		uint8_t *at;
		ssize_t got;
		int r;

		send_all(&f);
		at = viewer_want(&f.viewer, &len);
		got = recv(f.fd, at, len, 0);
		/* Otherwise the relay waits for delayed acknowledgements. */
		(void)setsockopt(f.fd, IPPROTO_TCP, TCP_QUICKACK, &one, sizeof(one));
		if (got <= 0) {
			die(got < 0 ? strerror(errno) : "the relay closed the connection");
		}
		r = viewer_fed(&f.viewer, (size_t)got, &reply, &err);
		if (r < 0) {
			die(err.text);
		}
		if (r > 0) {
			take(&f, &reply);
		}
	}
	(void)printf("%" PRIu64 " packets, %" PRIu64 " bytes, %.6f s\n", f.packets, f.bytes,
		     (double)(now_monotonic_ns() - begin) / 1e9);
	return 0;
}
