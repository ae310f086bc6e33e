/*
 * walk: a client whose owner passes over packets by their indexes, or looks at their first bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "relay/client.h"
#include "suites.h"

struct bench {
	struct viewer viewer;
	struct client *client;
	const enum client_wish *wishes; /* what the owner answers, one after the other */
	unsigned int wished, looks, packets, lost;
	uint64_t looked_len;
};

static void ignore_attached(void *user)
{
}

static void *on_stream(void *user, const struct viewer_stream *stream)
{
	return user;
}

static void on_packet(void *user, void *stream, const struct viewer_index *index, uint8_t *bytes,
		      uint64_t len)
{
	ck_assert_uint_eq(len, index->content_bits / 8);
	free(bytes);
	((struct bench *)user)->packets++;
}

static void on_packet_lost(void *user, void *stream, const struct viewer_index *index,
			   const char *why)
{
	((struct bench *)user)->lost++;
}

static void on_idle(void *user, void *stream, bool has_beacon, uint64_t cycles)
{
}

static bool may_fetch(void *user, void *stream)
{
	return true;
}

static enum client_wish wants_packet(void *user, void *stream, const struct viewer_index *index)
{
	struct bench *b = user;

	return b->wishes[b->wished++];
}

static void on_look(void *user, void *stream, const struct viewer_index *index,
		    const uint8_t *bytes, uint64_t len)
{
	struct bench *b = user;

	ck_assert_ptr_nonnull(bytes);
	b->looks++;
	b->looked_len = len;
}

static const struct client_events events = {
	.on_attached = ignore_attached,
	.on_stream = on_stream,
	.on_packet = on_packet,
	.on_packet_lost = on_packet_lost,
	.on_idle = on_idle,
	.may_fetch = may_fetch,
	.wants_packet = wants_packet,
	.on_look = on_look,
};

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

	ck_assert_int_eq(client_reply(b->client, &reply, 1000, &err), 0);
	client_tick(b->client, 1000);
}

/* Attached to a session of one stream, whose first index is requested. */
static void setup(struct bench *b, const enum client_wish *wishes)
{
	static const struct viewer_stream stream = { .id = 11, .trace_id = 3, .channel = "c_0" };
	struct client_config config = { .session_id = 1,
					.seek = VIEWER_SEEK_BEGINNING,
					.live_timer_us = 100000,
					.events = &events,
					.user = b };

	memset(b, 0, sizeof(*b));
	b->wishes = wishes;
	viewer_init(&b->viewer);
	b->client = client_new(&config, &b->viewer);
	client_start(b->client, 1000);
	(void)asked(b, VIEWER_CONNECT);
	answer(b, (struct viewer_reply){ .command = VIEWER_CONNECT, .major = 2, .minor = 13 });
	(void)asked(b, VIEWER_CREATE_SESSION);
	answer(b, (struct viewer_reply){ .command = VIEWER_CREATE_SESSION, .status = 1 });
	(void)asked(b, VIEWER_ATTACH_SESSION);
	answer(b, (struct viewer_reply){ .command = VIEWER_ATTACH_SESSION,
					 .status = ATTACH_OK,
					 .streams = &stream,
					 .count = 1 });
	(void)asked(b, VIEWER_GET_NEW_STREAMS);
	answer(b, (struct viewer_reply){ .command = VIEWER_GET_NEW_STREAMS, .status = STREAMS_OK });
	(void)asked(b, VIEWER_GET_NEXT_INDEX);
}

static void teardown(struct bench *b)
{
	client_free(b->client);
	viewer_fini(&b->viewer);
}

static void answer_index(struct bench *b, uint64_t bytes)
{
	answer(b, (struct viewer_reply){ .command = VIEWER_GET_NEXT_INDEX,
					 .tag = 11,
					 .status = INDEX_OK,
					 .index = { .status = INDEX_OK,
						    .packet_bits = bytes * 8,
						    .content_bits = bytes * 8,
						    .begin = 5,
						    .end = 9 } });
}

/* The answer to a request for a packet, or for some of it. */
static void answer_packet(struct bench *b, uint32_t status)
{
	answer(b,
	       (struct viewer_reply){ .command = VIEWER_GET_PACKET, .tag = 11, .status = status });
}

/* A packet that is passed over costs its index only; the next one is requested at once. */
START_TEST(passes_over_packets)
{
	const enum client_wish wishes[] = { CLIENT_PASS, CLIENT_PASS, CLIENT_FETCH, CLIENT_PASS };
	struct bench b;

	setup(&b, wishes);
	answer_index(&b, 4096);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	answer_index(&b, 4096);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	answer_index(&b, 4096);
	ck_assert_uint_eq(asked(&b, VIEWER_GET_PACKET).len, 4096);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	answer_packet(&b, PACKET_OK);
	ck_assert_uint_eq(b.packets, 1);
	answer_index(&b, 4096);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	ck_assert_uint_eq(viewer_pending(&b.viewer), 0);
	ck_assert_uint_eq(b.wished, 4);
	ck_assert_uint_eq(b.packets, 1);
	teardown(&b);
}
END_TEST

/* Only the first bytes of the packet are fetched, and no index before the owner has decided. */
START_TEST(looks_at_first_bytes)
{
	const enum client_wish wishes[] = { CLIENT_LOOK,  CLIENT_PASS, CLIENT_LOOK,
					    CLIENT_FETCH, CLIENT_LOOK, CLIENT_LOOK };
	struct bench b;

	setup(&b, wishes);
	answer_index(&b, 4096);
	ck_assert_uint_eq(asked(&b, VIEWER_GET_PACKET).len, PACKET_HEAD_BYTES);
	ck_assert_uint_eq(viewer_pending(&b.viewer), 0);
	answer_packet(&b, PACKET_OK);
	ck_assert_uint_eq(b.looked_len, PACKET_HEAD_BYTES);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	/* A packet that is shorter than that. */
	answer_index(&b, 100);
	ck_assert_uint_eq(asked(&b, VIEWER_GET_PACKET).len, 100);
	answer_packet(&b, PACKET_OK);
	ck_assert_uint_eq(b.looked_len, 100);
	ck_assert_uint_eq(asked(&b, VIEWER_GET_PACKET).len, 100);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	answer_packet(&b, PACKET_OK);
	ck_assert_uint_eq(b.packets, 1);
	/* A second look at one packet fetches it. */
	answer_index(&b, 4096);
	ck_assert_uint_eq(asked(&b, VIEWER_GET_PACKET).len, PACKET_HEAD_BYTES);
	answer_packet(&b, PACKET_OK);
	ck_assert_uint_eq(asked(&b, VIEWER_GET_PACKET).len, 4096);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	answer_packet(&b, PACKET_OK);
	ck_assert_uint_eq(b.looks, 3);
	ck_assert_uint_eq(b.packets, 2);
	teardown(&b);
}
END_TEST

/* The relay no longer has the packet that is looked at: it counts as lost, and the next one is
 * looked at. */
START_TEST(loses_what_it_looks_at)
{
	const enum client_wish wishes[] = { CLIENT_LOOK, CLIENT_LOOK };
	struct bench b;

	setup(&b, wishes);
	answer_index(&b, 4096);
	(void)asked(&b, VIEWER_GET_PACKET);
	answer_packet(&b, PACKET_ERROR);
	ck_assert_uint_eq(b.lost, 1);
	(void)asked(&b, VIEWER_GET_NEXT_INDEX);
	answer_index(&b, 4096);
	ck_assert_uint_eq(asked(&b, VIEWER_GET_PACKET).len, PACKET_HEAD_BYTES);
	teardown(&b);
}
END_TEST

/* An owner that does not know yet is asked again at each tick; nothing is requested meanwhile. */
START_TEST(waits_for_the_owner)
{
	const enum client_wish wishes[] = { CLIENT_WAIT, CLIENT_WAIT, CLIENT_FETCH };
	struct bench b;

	setup(&b, wishes);
	answer_index(&b, 4096); /* asks twice: with the reply, and at the tick after it */
	ck_assert_uint_eq(b.wished, 2);
	ck_assert_uint_eq(viewer_pending(&b.viewer), 0);
	client_tick(b.client, 1000);
	(void)asked(&b, VIEWER_GET_PACKET);
	answer_packet(&b, PACKET_OK);
	ck_assert_uint_eq(b.packets, 1);
	teardown(&b);
}
END_TEST

Suite *suite_walk(void)
{
	Suite *suite = suite_create("walk");
	TCase *tcase = tcase_create("walk");

	tcase_add_test(tcase, passes_over_packets);
	tcase_add_test(tcase, looks_at_first_bytes);
	tcase_add_test(tcase, loses_what_it_looks_at);
	tcase_add_test(tcase, waits_for_the_owner);
	suite_add_tcase(suite, tcase);
	return suite;
}
