/*
 * publish: a live session at a relay, made as a session daemon and a consumer daemon make it.
 *
 *     control connection                         data connection
 *       create session, chunk, streams
 *       metadata
 *       index of each packet, then its reply  ◄─►  the packet
 *       beacons while a stream has no packet
 *       wait until the relay has all data
 *       rotate, close chunk, close streams
 *
 * All calls block, for as long as the relay does something.  One that has been silent for long
 * (publish_config), or is gone, makes them fail; then only publish_account() and publish_free() are
 * called.  After a signal they fail with -EINTR once the relay has been silent for a moment
 * (base/now.h).  No call is made for two threads at once.
 *
 * Functions return 0, or a negative errno with the reason where publish_open() was told to put it.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "relay/url.h"

struct publish;

struct publish_config {
	const struct url *relay;    /* port: control (5342), second_port: data (control + 1) */
	const char *session, *host; /* what a relay would not take in them is replaced */
	const char *path;           /* of the trace; traces of one session need different ones */
	uint64_t number;            /* of the session, at its maker */
	uint64_t live_timer_ns;
	/* What the relay keeps of each stream: files, of which it overwrites the oldest; 0: all. */
	uint64_t file_bytes, file_count;
	uint64_t silence_ns; /* after which a relay is given up; 0: RELAY_SILENCE_S */
	bool is_ctf2;        /* metadata is JSON; else TSDL */
};

/* Connects, and opens the session with its stream of metadata.  @err: of all functions, until it is
 * freed.  *ret: NULL if it fails. */
int publish_open(const struct publish_config *config, struct publish **ret, struct err *err);

/* Streams have numbers from 0, in the order in which they are added. */
int publish_add_stream(struct publish *publish, const char *channel);
/* Shows the streams added to viewers. */
int publish_streams(struct publish *publish);
/* Waits until a viewer has attached, or *@stop. */
int publish_wait_viewer(struct publish *publish, const atomic_bool *stop);

/* More metadata; @uuid and @is_be are the trace's. */
int publish_metadata(struct publish *publish, const char *text, size_t len, const uint8_t uuid[16],
		     bool is_be);

struct publish_packet {
	const void *bytes;
	size_t len;            /* at most PACKET_BYTES_MAX */
	uint64_t content_bits; /* of them */
	uint64_t begin, end;   /* cycles */
	uint64_t discarded, class_id, instance_id;
	uint64_t seq_num; /* UINT64_MAX: the number of packets before it */
	uint64_t events;  /* for the account */
};

int publish_packet(struct publish *publish, size_t stream, const struct publish_packet *packet);
/* Tells viewers that nothing older than @cycles will come.  Nothing is sent that the relay would
 * ignore: before the first packet of the stream, or without news. */
int publish_beacon(struct publish *publish, size_t stream, uint64_t cycles, uint64_t class_id);

/* Waits until the relay has all data, then closes the session. */
int publish_close(struct publish *publish);
/* Hangs up.  NULL is fine.  A session that is not closed ends where it is. */
void publish_free(struct publish *publish);

/* What the relay has said that it has, which it says of an index: where it is killed, the last
 * bytes may not be in its files.  What was sent beyond that may be there or not. */
struct publish_account {
	uint64_t packets, bytes, events;
};

struct publish_account publish_account(struct publish *publish);
