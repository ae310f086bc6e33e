/*
 * client: the state machine of one session, driven by replies and a clock of our own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "relay/client.h"
#include "suites.h"

#define MS UINT64_C(1000000)

struct seen {
	unsigned int attached, refused, streams, metadata, packets, lost, idle, ends, done;
	uint32_t refused_status;
	enum client_end how;
	uint64_t beacon;
	unsigned int broken, no_more, unfetched;
	unsigned int wishes; /* calls of wants_packet() */
	bool has_to_wait;    /* its answer */
	bool is_full;        /* what may_fetch() answers no for */
	bool is_begun;       /* the metadata is not whole */
};

static void on_attached(void *user)
{
	((struct seen *)user)->attached++;
}

static void on_refused(void *user, uint32_t status)
{
	((struct seen *)user)->refused++;
	((struct seen *)user)->refused_status = status;
}

static void *on_stream(void *user, const struct viewer_stream *stream)
{
	((struct seen *)user)->streams++;
	return user;
}

static void on_metadata(void *user, uint64_t trace, const uint8_t *bytes, uint64_t len)
{
	((struct seen *)user)->metadata++;
}

static bool on_metadata_end(void *user, uint64_t trace)
{
	return !((struct seen *)user)->is_begun;
}

static bool ends_packet(void *user, uint64_t trace)
{
	return false;
}

static void on_stream_broken(void *user, void *stream, uint32_t status)
{
	ck_assert_uint_ne(status, INDEX_OK);
	((struct seen *)user)->broken++;
}

static void on_new_streams_broken(void *user, uint32_t status)
{
	ck_assert_uint_ne(status, STREAMS_OK);
	((struct seen *)user)->no_more++;
}

static void on_unfetched(void *user, void *stream, const struct viewer_index *index)
{
	ck_assert_uint_eq(index->status, INDEX_OK);
	((struct seen *)user)->unfetched++;
}

static void on_packet(void *user, void *stream, const struct viewer_index *index, uint8_t *bytes,
		      uint64_t len)
{
	ck_assert_uint_eq(len, (index->content_bits + 7) / 8);
	free(bytes);
	((struct seen *)user)->packets++;
}

static void on_packet_lost(void *user, void *stream, const struct viewer_index *index,
			   const char *why)
{
	ck_assert_uint_gt(strlen(why), 0);
	((struct seen *)user)->lost++;
}

static void on_idle(void *user, void *stream, bool has_beacon, uint64_t cycles)
{
	((struct seen *)user)->idle++;
	((struct seen *)user)->beacon = has_beacon ? cycles : ((struct seen *)user)->beacon;
}

static void on_stream_end(void *user, void *stream)
{
	((struct seen *)user)->ends++;
}

static void on_end(void *user, enum client_end end)
{
	((struct seen *)user)->done++;
	((struct seen *)user)->how = end;
}

static bool may_fetch(void *user, void *stream)
{
	return !((struct seen *)user)->is_full;
}

static enum client_wish wants_packet(void *user, void *stream, const struct viewer_index *index)
{
	((struct seen *)user)->wishes++;
	return ((struct seen *)user)->has_to_wait ? CLIENT_WAIT : CLIENT_FETCH;
}

static const struct client_events events = {
	.on_attached = on_attached,
	.on_refused = on_refused,
	.on_stream = on_stream,
	.on_metadata = on_metadata,
	.on_metadata_end = on_metadata_end,
	.ends_packet = ends_packet,
	.on_stream_broken = on_stream_broken,
	.on_new_streams_broken = on_new_streams_broken,
	.on_unfetched = on_unfetched,
	.on_packet = on_packet,
	.on_packet_lost = on_packet_lost,
	.on_idle = on_idle,
	.on_stream_end = on_stream_end,
	.on_end = on_end,
	.may_fetch = may_fetch,
	.wants_packet = wants_packet,
};

struct bench {
	struct viewer viewer;
	struct client *client;
	struct seen seen;
	uint64_t now;
};

static void setup_with(struct bench *b, bool gives_streams_up)
{
	struct client_config config = { .session_id = 1,
					.seek = VIEWER_SEEK_LAST,
					.live_timer_us = 100000,
					.gives_streams_up = gives_streams_up,
					.events = &events,
					.user = &b->seen };

	memset(b, 0, sizeof(*b));
	viewer_init(&b->viewer);
	b->client = client_new(&config, &b->viewer);
	b->now = 1000 * MS;
	client_start(b->client, b->now);
}

static void setup(struct bench *b)
{
	setup_with(b, false);
}

static void teardown(struct bench *b)
{
	client_free(b->client);
	viewer_fini(&b->viewer);
}

/* The oldest request, which must be @command, is taken off. */
static struct viewer_request asked(struct bench *b, enum viewer_command command)
{
	struct viewer_request one;

	ck_assert_msg(viewer_pending(&b->viewer) > 0, "nothing asked, wanted command %d", command);
	one = b->viewer.pending.at[b->viewer.pending_first++];
	ck_assert_int_eq(one.command, command);
	return one;
}

static void answer(struct bench *b, struct viewer_reply reply)
{
	struct err err;

	ck_assert_int_eq(client_reply(b->client, &reply, b->now, &err), 0);
	client_tick(b->client, b->now);
}

static void attach(struct bench *b)
{
	static const struct viewer_stream streams[] = {
		{ .id = 10, .trace_id = 3, .is_metadata = 1, .channel = "metadata" },
		{ .id = 11, .trace_id = 3, .channel = "c_0" },
	};

	(void)asked(b, VIEWER_CONNECT);
	answer(b, (struct viewer_reply){ .command = VIEWER_CONNECT, .major = 2, .minor = 13 });
	(void)asked(b, VIEWER_CREATE_SESSION);
	answer(b, (struct viewer_reply){ .command = VIEWER_CREATE_SESSION, .status = 1 });
	(void)asked(b, VIEWER_ATTACH_SESSION);
	answer(b, (struct viewer_reply){ .command = VIEWER_ATTACH_SESSION,
					 .status = ATTACH_OK,
					 .streams = streams,
					 .count = 2 });
	ck_assert_uint_eq(b->seen.streams, 1);
	(void)asked(b, VIEWER_GET_NEW_STREAMS);
	(void)asked(b, VIEWER_GET_METADATA);
	(void)asked(b, VIEWER_GET_NEXT_INDEX);
	answer(b, (struct viewer_reply){ .command = VIEWER_GET_NEW_STREAMS, .status = STREAMS_OK });
}

static const struct viewer_reply some_metadata = { .command = VIEWER_GET_METADATA,
						   .tag = 3,
						   .status = METADATA_OK,
						   .bytes = (const uint8_t *)"x",
						   .len = 1 };
static const struct viewer_reply no_metadata = { .command = VIEWER_GET_METADATA,
						 .tag = 3,
						 .status = METADATA_NO_NEW };

static void attach_with_streams(struct bench *b)
{
	attach(b);
	answer(b, some_metadata);
	(void)asked(b, VIEWER_GET_METADATA);
	answer(b, no_metadata);
	ck_assert_uint_eq(b->seen.metadata, 1);
}

static struct viewer_reply index_reply(uint32_t status, uint32_t flags)
{
	return (struct viewer_reply){ .command = VIEWER_GET_NEXT_INDEX,
				      .tag = 11,
				      .status = status,
				      .index = { .status = status,
						 .flags = flags,
						 .packet_bits = 32768,
						 .content_bits = 1000,
						 .begin = 5,
						 .end = 9 } };
}

/* The next index goes out with the last packet request, never before it. */
START_TEST(fetches_in_order)
{
	struct bench b;

	setup(&b);
	attach_with_streams(&b);
	answer(&b, index_reply(INDEX_OK, 0));
	ck_assert_uint_eq(asked(&b, VIEWER_GET_PACKET).len, 125);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	ck_assert_uint_eq(viewer_pending(&b.viewer), 0);
	answer(&b, (struct viewer_reply){
			   .command = VIEWER_GET_PACKET, .tag = 11, .status = PACKET_OK });
	ck_assert_uint_eq(b.seen.packets, 1);
	answer(&b, index_reply(INDEX_RETRY, 0));
	ck_assert_uint_eq(b.seen.idle, 1);
	ck_assert_uint_eq(viewer_pending(&b.viewer), 0); /* not before the poll is due */
	ck_assert_uint_eq(client_due(b.client), b.now + 10 * MS);
	b.now += 10 * MS;
	client_tick(b.client, b.now);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	answer(&b, index_reply(INDEX_INACTIVE, 0));
	ck_assert_uint_eq(b.seen.beacon, 9);
	/* Shortly before its timer ticks again, then more often. */
	ck_assert_uint_eq(client_due(b.client), 1105 * MS); /* every 50 ms, half a poll later */
	b.now = 1105 * MS;
	client_tick(b.client, b.now);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	answer(&b, index_reply(INDEX_INACTIVE, 0));
	ck_assert_uint_eq(client_due(b.client), b.now + 10 * MS);
	teardown(&b);
}
END_TEST

/* New metadata is asked for before the packet that needs it. */
START_TEST(heeds_flags)
{
	struct bench b;

	setup(&b);
	attach_with_streams(&b);
	answer(&b, index_reply(INDEX_OK, VIEWER_FLAG_NEW_METADATA | VIEWER_FLAG_NEW_STREAM));
	(void)asked(&b, VIEWER_GET_NEW_STREAMS);
	(void)asked(&b, VIEWER_GET_METADATA);
	(void)asked(&b, VIEWER_GET_PACKET);
	teardown(&b);
}
END_TEST

START_TEST(counts_lost_packets)
{
	struct viewer_reply absurd = index_reply(INDEX_OK, 0);
	struct bench b;

	setup(&b);
	attach_with_streams(&b);
	answer(&b, index_reply(INDEX_OK, 0));
	(void)asked(&b, VIEWER_GET_PACKET);
	answer(&b, (struct viewer_reply){
			   .command = VIEWER_GET_PACKET, .tag = 11, .status = PACKET_ERROR });
	ck_assert_uint_eq(b.seen.lost, 1);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	absurd.index.packet_bits = UINT64_MAX;
	absurd.index.content_bits = UINT64_MAX;
	answer(&b, absurd);
	ck_assert_uint_eq(b.seen.lost, 2);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX); /* it goes on with the next */
	teardown(&b);
}
END_TEST

/* HUP of the session does not end its streams: each is read to its own. */
START_TEST(drains_after_hup)
{
	struct bench b;

	setup(&b);
	attach_with_streams(&b);
	answer(&b, index_reply(INDEX_RETRY, VIEWER_FLAG_NEW_STREAM));
	(void)asked(&b, VIEWER_GET_NEW_STREAMS);
	answer(&b,
	       (struct viewer_reply){ .command = VIEWER_GET_NEW_STREAMS, .status = STREAMS_HUP });
	ck_assert_uint_eq(b.seen.done, 0);
	b.now += 20 * MS;
	client_tick(b.client, b.now);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	answer(&b, index_reply(INDEX_OK, 0));
	(void)asked(&b, VIEWER_GET_PACKET);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	answer(&b, (struct viewer_reply){
			   .command = VIEWER_GET_PACKET, .tag = 11, .status = PACKET_OK });
	answer(&b, index_reply(INDEX_HUP, 0));
	ck_assert_uint_eq(b.seen.packets, 1);
	ck_assert_uint_eq(b.seen.ends, 1);
	ck_assert_uint_eq(b.seen.done, 1);
	ck_assert_int_eq(b.seen.how, CLIENT_FINISHED);
	teardown(&b);
}
END_TEST

/* There is a packet, and there are other streams: both are asked for, and the next index. */
static void tell_of_streams(struct bench *b, uint32_t flags)
{
	answer(b, index_reply(INDEX_OK, flags | VIEWER_FLAG_NEW_STREAM));
	(void)asked(b, VIEWER_GET_NEW_STREAMS);
	(void)asked(b, VIEWER_GET_PACKET);
	(void)asked(b, VIEWER_GET_NEXT_INDEX);
}

/* All has ended, but a packet waits for metadata that was not there when it was asked for. */
static void drain_before_metadata(struct bench *b)
{
	setup(b);
	attach(b);
	answer(b, no_metadata);
	tell_of_streams(b, VIEWER_FLAG_NEW_METADATA);
	answer(b,
	       (struct viewer_reply){ .command = VIEWER_GET_NEW_STREAMS, .status = STREAMS_HUP });
	answer(b, (struct viewer_reply){
			  .command = VIEWER_GET_PACKET, .tag = 11, .status = PACKET_OK });
	answer(b, index_reply(INDEX_HUP, 0));
	ck_assert_uint_eq(b->seen.ends, 1);
	ck_assert_uint_eq(b->seen.done, 0);
	ck_assert_uint_eq(client_due(b->client), b->now + 10 * MS);
}

START_TEST(drains_metadata)
{
	struct bench b;

	drain_before_metadata(&b);
	b.now += 10 * MS;
	client_tick(b.client, b.now);
	(void)asked(&b, VIEWER_GET_METADATA);
	answer(&b, some_metadata);
	(void)asked(&b, VIEWER_GET_METADATA);
	ck_assert_uint_eq(b.seen.done, 0);
	answer(&b, no_metadata);
	ck_assert_uint_eq(b.seen.metadata, 1);
	ck_assert_uint_eq(b.seen.done, 1);
	teardown(&b);
}
END_TEST

START_TEST(gives_metadata_up)
{
	struct bench b;
	uint64_t begin;

	drain_before_metadata(&b);
	for (begin = b.now; b.seen.done == 0 && b.now < begin + 10000 * MS;) {
		b.now += 10 * MS;
		client_tick(b.client, b.now);
		(void)asked(&b, VIEWER_GET_METADATA);
		answer(&b, no_metadata);
	}
	ck_assert_uint_eq(b.seen.done, 1);
	ck_assert_uint_ge(b.now, begin + 5000 * MS);
	teardown(&b);
}
END_TEST

/* Back-pressure: no index is asked for while there is no room, and then it goes on. */
START_TEST(waits_for_room)
{
	struct bench b;

	setup(&b);
	attach_with_streams(&b);
	b.seen.is_full = true;
	answer(&b, index_reply(INDEX_OK, 0));
	(void)asked(&b, VIEWER_GET_PACKET); /* whose index we have is fetched all the same */
	ck_assert_uint_eq(viewer_pending(&b.viewer), 0);
	answer(&b, (struct viewer_reply){
			   .command = VIEWER_GET_PACKET, .tag = 11, .status = PACKET_OK });
	ck_assert_uint_eq(viewer_pending(&b.viewer), 0);
	b.seen.is_full = false;
	client_tick(b.client, b.now);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	teardown(&b);
}
END_TEST

/* A packet that comes is no reason to ask again about one that its owner lets wait; a tick is. */
START_TEST(asks_about_what_waits_at_ticks)
{
	static const struct viewer_stream another = { .id = 12, .trace_id = 3, .channel = "c_1" };
	struct viewer_reply held = index_reply(INDEX_OK, 0);
	struct bench b;
	struct err err;

	setup(&b);
	attach_with_streams(&b);
	tell_of_streams(&b, 0);
	answer(&b, (struct viewer_reply){ .command = VIEWER_GET_NEW_STREAMS,
					  .status = STREAMS_OK,
					  .streams = &another,
					  .count = 1 });
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	b.seen.has_to_wait = true;
	held.tag = another.id;
	answer(&b, held);
	ck_assert_uint_eq(viewer_pending(&b.viewer), 0);
	b.seen.has_to_wait = false;
	b.seen.wishes = 0;
	ck_assert_int_eq(client_reply(b.client,
				      &(struct viewer_reply){ .command = VIEWER_GET_PACKET,
							      .tag = 11,
							      .status = PACKET_OK },
				      b.now, &err),
			 0);
	ck_assert_uint_eq(b.seen.wishes, 0);
	client_tick(b.client, b.now);
	ck_assert_uint_eq(asked(&b, VIEWER_GET_PACKET).tag, another.id);
	teardown(&b);
}
END_TEST

/* Not listed and silent: gone, after a while. */
START_TEST(notices_vanished_sessions)
{
	struct bench b;

	setup(&b);
	attach_with_streams(&b);
	answer(&b, index_reply(INDEX_RETRY, 0));
	client_set_listed(b.client, false);
	b.now += 4000 * MS;
	client_tick(b.client, b.now);
	ck_assert_uint_eq(b.seen.done, 0);
	b.now += 2000 * MS;
	client_tick(b.client, b.now);
	ck_assert_uint_eq(b.seen.done, 1);
	ck_assert_int_eq(b.seen.how, CLIENT_GONE);
	teardown(&b);
}
END_TEST

/* ---- quiet streams ---- */

#define TIMER     (100 * MS)
#define QUIET     16
#define FIRST     UINT64_C(100) /* the first stream's id */
#define LATE_FROM 15            /* ticks */

/* When the stream's live timer last ticked: each at times of its own, one later from LATE_FROM on.
 */
static uint64_t last_tick(uint64_t id, uint64_t now)
{
	uint64_t phase = 4 * MS + (id - FIRST) * TIMER / QUIET;
	uint64_t n = (now - phase) / TIMER;
	bool is_late = id == FIRST && n >= LATE_FROM;

	if (is_late && (now - phase) % TIMER < 2 * MS) {
		n--;
		is_late = n >= LATE_FROM;
	}
	return n * TIMER + phase + (is_late ? 2 * MS : 0);
}

/* Answers all that was asked, as a relay with nothing but beacons; how many indexes those were. */
static unsigned int answer_beacons(struct bench *b, uint64_t told[QUIET])
{
	unsigned int indexes = 0;

	while (viewer_pending(&b->viewer) > 0) {
		struct viewer_request one = b->viewer.pending.at[b->viewer.pending_first++];
		struct viewer_reply reply = { .command = one.command, .tag = one.tag };

		if (one.command == VIEWER_GET_NEXT_INDEX) {
			reply.index.status = INDEX_INACTIVE;
			reply.index.end = told[one.tag - FIRST] = last_tick(one.tag, b->now);
			indexes++;
		} else {
			ck_assert_int_eq(one.command, VIEWER_GET_NEW_STREAMS);
			reply.status = STREAMS_NO_NEW;
		}
		answer(b, reply);
	}
	return indexes;
}

static void announce(struct bench *b, enum viewer_command command, uint64_t first, uint32_t count)
{
	struct viewer_stream streams[QUIET];

	for (uint32_t i = 0; i < count; i++) {
		streams[i] =
			(struct viewer_stream){ .id = first + i, .trace_id = 3, .channel = "c" };
	}
	answer(b, (struct viewer_reply){ .command = command,
					 .status = command == VIEWER_ATTACH_SESSION ? ATTACH_OK
										    : STREAMS_OK,
					 .streams = streams,
					 .count = count });
}

/* Half of the streams are there at once, the others come between two rounds. */
static void attach_quiet(struct bench *b, uint64_t told[QUIET])
{
	(void)asked(b, VIEWER_CONNECT);
	answer(b, (struct viewer_reply){ .command = VIEWER_CONNECT, .major = 2, .minor = 13 });
	(void)asked(b, VIEWER_CREATE_SESSION);
	answer(b, (struct viewer_reply){ .command = VIEWER_CREATE_SESSION, .status = 1 });
	(void)asked(b, VIEWER_ATTACH_SESSION);
	announce(b, VIEWER_ATTACH_SESSION, FIRST, QUIET / 2);
	(void)asked(b, VIEWER_GET_NEW_STREAMS);
	ck_assert_uint_eq(answer_beacons(b, told), QUIET / 2);
	b->now += 60 * MS;
	announce(b, VIEWER_GET_NEW_STREAMS, FIRST + QUIET / 2, QUIET / 2);
	ck_assert_uint_eq(answer_beacons(b, told), QUIET / 2);
}

/*
 * Waking up is what following quiet streams costs: once a timer for all of them, whenever they
 * ticked first; and whatever is asked 5 ms behind a window's end and a timer has told of it.
 */
START_TEST(asks_quiet_streams_together)
{
	uint64_t told[QUIET], end = 3000 * MS;
	unsigned int rounds = 0, indexes = 0;
	struct bench b;

	setup(&b);
	attach_quiet(&b, told);
	while (client_due(b.client) < end) {
		ck_assert_uint_ge(client_due(b.client), b.now);
		b.now = client_due(b.client);
		client_tick(b.client, b.now);
		indexes += answer_beacons(&b, told);
		/* The first round knows nothing of half of them yet. */
		for (size_t i = 0; rounds > 0 && b.now % TIMER == 5 * MS && i < QUIET; i++) {
			ck_assert_uint_ge(told[i], b.now - TIMER - 5 * MS);
		}
		rounds++;
	}
	/* 1105 to 2905 ms, the first without the second half; the one that came to be late was
	 * asked again once, and left out of the round behind that. */
	ck_assert_uint_eq(rounds, 19 + 1);
	ck_assert_uint_eq(indexes, 18 * QUIET + QUIET / 2);
	teardown(&b);
}
END_TEST

START_TEST(passes_refusals_on)
{
	struct bench b;

	setup(&b);
	(void)asked(&b, VIEWER_CONNECT);
	(void)asked(&b, VIEWER_CREATE_SESSION);
	(void)asked(&b, VIEWER_ATTACH_SESSION);
	answer(&b,
	       (struct viewer_reply){ .command = VIEWER_ATTACH_SESSION, .status = (uint32_t)_i });
	ck_assert_uint_eq(b.seen.refused, 1);
	ck_assert_uint_eq(b.seen.refused_status, (uint32_t)_i);
	ck_assert_uint_eq(viewer_pending(&b.viewer), 0);
	ck_assert_uint_eq(client_due(b.client), UINT64_MAX);
	teardown(&b);
}
END_TEST

/* ---- relays that do wrong ---- */

static int reply_to(struct bench *b, struct viewer_reply reply)
{
	struct err err;

	return client_reply(b->client, &reply, b->now, &err);
}

/* Waits for the next index request, and answers it. */
static int answer_index(struct bench *b, uint32_t status)
{
	const struct viewer_reply no_streams = { .command = VIEWER_GET_NEW_STREAMS,
						 .status = STREAMS_OK };

	for (int i = 0; i < 10000; i++) {
		if (viewer_pending(&b->viewer) == 0) {
			b->now += MS;
			client_tick(b->client, b->now);
		} else if (b->viewer.pending.at[b->viewer.pending_first].command ==
			   VIEWER_GET_NEW_STREAMS) {
			b->viewer.pending_first++;
			ck_assert_int_eq(reply_to(b, no_streams), 0);
		} else {
			break;
		}
	}
	(void)asked(b, VIEWER_GET_NEXT_INDEX);
	return reply_to(b, index_reply(status, 0));
}

/* An error, or a status of another time, is not the end: it is asked again, not at once. */
START_TEST(index_errors_are_not_the_end)
{
	static const uint32_t statuses[] = { INDEX_ERROR, 0, 7, 255, UINT32_MAX };
	struct bench b;
	uint64_t begin;

	setup(&b);
	attach_with_streams(&b);
	begin = b.now;
	ck_assert_int_eq(reply_to(&b, index_reply(statuses[_i], 0)), 0);
	client_tick(b.client, b.now);
	ck_assert_uint_eq(viewer_pending(&b.viewer), 0);
	ck_assert_int_eq(answer_index(&b, INDEX_OK), 0);
	ck_assert_uint_ge(b.now, begin + 50 * MS);
	(void)asked(&b, VIEWER_GET_PACKET);
	ck_assert_uint_eq(b.seen.ends, 0);
	ck_assert_uint_eq(b.seen.broken, 0);
	teardown(&b);
}
END_TEST

/* Errors for ever: the connection is made again, and where that does not help the stream ends. */
START_TEST(index_errors_end)
{
	bool gives_up = _i != 0;
	int r = 0, count = 0;
	struct bench b;

	setup_with(&b, gives_up);
	attach_with_streams(&b);
	r = reply_to(&b, index_reply(INDEX_ERROR, 0));
	for (; r == 0 && b.seen.ends == 0 && count < 100; count++) {
		r = answer_index(&b, INDEX_ERROR);
	}
	ck_assert_int_ge(count, 3);
	ck_assert_int_eq(r, gives_up ? 0 : -EPROTO);
	ck_assert_int_eq(client_stream_failed(b.client), !gives_up);
	ck_assert_uint_eq(b.seen.broken, gives_up);
	ck_assert_uint_eq(b.seen.ends, gives_up);
	teardown(&b);
}
END_TEST

/* The same of requests for new streams: then there are no more, and those that are there are read.
 */
START_TEST(new_streams_errors_end)
{
	const struct viewer_reply error = { .command = VIEWER_GET_NEW_STREAMS,
					    .status = _i < 2 ? STREAMS_ERROR : 77 };
	bool gives_up = _i % 2 != 0;
	int r = 0, count = 0;
	struct bench b;

	setup_with(&b, gives_up);
	attach_with_streams(&b);
	answer(&b, index_reply(INDEX_RETRY, 0));
	for (int i = 0; i < 10000 && r == 0 && b.seen.no_more == 0; i++) {
		b.now += MS;
		client_tick(b.client, b.now);
		if (viewer_pending(&b.viewer) == 0) {
			continue;
		}
		if (b.viewer.pending.at[b.viewer.pending_first].command == VIEWER_GET_NEW_STREAMS) {
			(void)asked(&b, VIEWER_GET_NEW_STREAMS);
			r = reply_to(&b, error);
			count++;
		} else {
			(void)asked(&b, VIEWER_GET_NEXT_INDEX);
			answer(&b, index_reply(INDEX_RETRY, 0));
		}
	}
	ck_assert_int_eq(count, 4);
	ck_assert_int_eq(r, gives_up ? 0 : -EPROTO);
	ck_assert_int_eq(client_stream_failed(b.client), !gives_up);
	ck_assert_uint_eq(b.seen.no_more, gives_up);
	ck_assert_uint_eq(b.seen.done, 0);
	if (gives_up) {
		ck_assert_int_eq(answer_index(&b, INDEX_HUP), 0);
		client_tick(b.client, b.now);
		ck_assert_uint_eq(b.seen.done, 1);
	}
	teardown(&b);
}
END_TEST

static int announce_one(struct bench *b, uint64_t id, uint64_t trace_id, bool is_metadata)
{
	const struct viewer_stream stream = {
		.id = id, .trace_id = trace_id, .is_metadata = is_metadata, .channel = "c_0"
	};

	for (int i = 0; i < 10000 && viewer_pending(&b->viewer) == 0; i++) {
		b->now += MS;
		client_tick(b->client, b->now);
	}
	(void)asked(b, VIEWER_GET_NEW_STREAMS);
	return reply_to(b, (struct viewer_reply){ .command = VIEWER_GET_NEW_STREAMS,
						  .status = STREAMS_OK,
						  .streams = &stream,
						  .count = 1 });
}

/* A stream that is announced again after its end is read again, some times. */
START_TEST(reads_streams_again)
{
	unsigned int times;
	struct bench b;

	setup(&b);
	attach_with_streams(&b);
	answer(&b, index_reply(INDEX_HUP, 0));
	for (times = 1; times < 20 && b.seen.streams == times; times++) {
		ck_assert_uint_eq(b.seen.ends, times);
		ck_assert_int_eq(announce_one(&b, 11, 3 + times, false), 0);
		client_tick(b.client, b.now);
		if (b.seen.streams == times + 1) {
			ck_assert_int_eq(answer_index(&b, INDEX_HUP), 0);
		}
	}
	ck_assert_uint_eq(b.seen.streams, RELAY_ANNOUNCED_MAX);
	teardown(&b);
}
END_TEST

/* Of a stream that is being read: the same is no news, another one is a contradiction. */
START_TEST(notices_ids_used_twice)
{
	static const struct {
		uint64_t id, trace_id;
		bool is_metadata;
		int r;
	} cases[] = {
		{ 11, 3, false, 0 },
		{ 11, 4, false, -EPROTO },
		{ 10, 3, true, 0 },
		{ 12, 3, true, -EPROTO },
	};
	struct bench b;

	setup(&b);
	attach_with_streams(&b);
	answer(&b, index_reply(INDEX_RETRY, VIEWER_FLAG_NEW_STREAM));
	ck_assert_int_eq(announce_one(&b, cases[_i].id, cases[_i].trace_id, cases[_i].is_metadata),
			 cases[_i].r);
	ck_assert_uint_eq(b.seen.streams, 1);
	teardown(&b);
}
END_TEST

/* Metadata that ends inside a declaration is asked for again, and so is none. */
START_TEST(asks_for_the_rest_of_metadata)
{
	struct viewer_reply empty = some_metadata;
	struct bench b;

	setup(&b);
	b.seen.is_begun = true;
	attach_with_streams(&b);
	answer(&b, index_reply(INDEX_INACTIVE, 0));
	b.now += 10 * MS;
	client_tick(b.client, b.now);
	(void)asked(&b, VIEWER_GET_METADATA);
	empty.len = 0;
	answer(&b, empty); /* not a reason to ask at once, for ever */
	ck_assert_uint_eq(viewer_pending(&b.viewer), 0);
	b.seen.is_begun = false;
	b.now += 10 * MS;
	client_tick(b.client, b.now);
	(void)asked(&b, VIEWER_GET_METADATA);
	answer(&b, some_metadata);
	(void)asked(&b, VIEWER_GET_METADATA);
	answer(&b, no_metadata);
	ck_assert_uint_eq(b.seen.metadata, 2);
	b.now += 20 * MS;
	client_tick(b.client, b.now);
	ck_assert_uint_eq(viewer_pending(&b.viewer), 0);
	teardown(&b);
}
END_TEST

/* The producer is gone and a stream has no end: the session does not wait for ever. */
START_TEST(drains_not_for_ever)
{
	struct bench b;

	setup(&b);
	attach_with_streams(&b);
	tell_of_streams(&b, 0);
	answer(&b,
	       (struct viewer_reply){ .command = VIEWER_GET_NEW_STREAMS, .status = STREAMS_HUP });
	client_set_listed(b.client, false);
	b.now += 6000 * MS;
	client_tick(b.client, b.now);
	ck_assert_uint_eq(b.seen.done, 1);
	ck_assert_int_eq(b.seen.how, CLIENT_GONE);
	client_abandon(b.client);
	ck_assert_uint_eq(b.seen.unfetched, 1);
	ck_assert_uint_eq(client_announced(b.client), 1);
	teardown(&b);
}
END_TEST

Suite *suite_client(void)
{
	Suite *suite = suite_create("client");
	TCase *tcase = tcase_create("client");

	tcase_add_test(tcase, fetches_in_order);
	tcase_add_test(tcase, heeds_flags);
	tcase_add_test(tcase, counts_lost_packets);
	tcase_add_test(tcase, drains_after_hup);
	tcase_add_test(tcase, drains_metadata);
	tcase_add_test(tcase, gives_metadata_up);
	tcase_add_test(tcase, waits_for_room);
	tcase_add_test(tcase, asks_about_what_waits_at_ticks);
	tcase_add_test(tcase, notices_vanished_sessions);
	tcase_add_test(tcase, asks_quiet_streams_together);
	tcase_add_loop_test(tcase, index_errors_are_not_the_end, 0, 5);
	tcase_add_loop_test(tcase, index_errors_end, 0, 2);
	tcase_add_loop_test(tcase, new_streams_errors_end, 0, 4);
	tcase_add_test(tcase, reads_streams_again);
	tcase_add_loop_test(tcase, notices_ids_used_twice, 0, 4);
	tcase_add_test(tcase, asks_for_the_rest_of_metadata);
	tcase_add_test(tcase, drains_not_for_ever);
	tcase_add_loop_test(tcase, passes_refusals_on, ATTACH_ALREADY, ATTACH_NO_SESSION + 1);
	suite_add_tcase(suite, tcase);
	return suite;
}
