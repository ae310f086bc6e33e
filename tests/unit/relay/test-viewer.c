/*
 * viewer: each request's bytes, each reply whole and a byte at a time, and replies that lie.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "relay/viewer.h"
#include "suites.h"

struct script {
	VEC(uint8_t) bytes;
};

static void put(struct script *script, uint64_t value, unsigned int bytes)
{
	for (unsigned int i = bytes; i-- > 0;) {
		*vec_push(&script->bytes) = (uint8_t)(value >> (8 * i));
	}
}

static void put_text(struct script *script, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		*vec_push(&script->bytes) = (uint8_t)(i < strlen(text) ? text[i] : 0);
	}
}

/* Feeds at most @step bytes at a time; the reply, or the error. */
static int play(struct viewer *viewer, const struct script *script, size_t step,
		struct viewer_reply *reply, struct err *err)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < script->bytes.count) {
		size_t len, left = script->bytes.count - at;
		uint8_t *into = viewer_want(viewer, &len);

		ck_assert_uint_gt(len, 0);
		len = len < step ? len : step;
		len = len < left ? len : left;
		memcpy(into, script->bytes.at + at, len);
		at += len;
		r = viewer_fed(viewer, len, reply, err);
	}
	ck_assert(r <= 0 || at == script->bytes.count);
	return r;
}

static void put_stream(struct script *script, uint64_t id, uint64_t trace, bool is_metadata)
{
	put(script, id, 8);
	put(script, trace, 8);
	put(script, is_metadata, 4);
	put_text(script, "kernel", VIEWER_PATH_BYTES);
	put_text(script, is_metadata ? "metadata" : "channel0_0", VIEWER_NAME_BYTES);
}

static void put_index(struct script *script, uint32_t status, uint32_t flags)
{
	for (uint64_t i = 1; i <= 7; i++) {
		put(script, i * 100, 8);
	}
	put(script, status, 4);
	put(script, flags, 4);
}

static void put_long_session(struct script *script, uint64_t id, const char *host, const char *name)
{
	put(script, id, 8);
	put(script, 1000000, 4);
	put(script, 0, 4);
	put(script, 3, 4);
	put(script, strlen(host), 4);
	put(script, strlen(name), 4);
	put(script, 1, 4); /* CTF 2 */
	put_text(script, host, strlen(host));
	put_text(script, name, strlen(name));
}

static const size_t steps[] = { 1, 3, 1000000 };
#define STEPS ((int)(sizeof(steps) / sizeof(steps[0])))

/* From minor 15 on the names in a list have any length. */
START_TEST(lists_long_names)
{
	static const struct {
		uint32_t host_len, name_len;
	} lies[] = { { VIEWER_HOST_LONG_BYTES + 1, 1 }, { 1, UINT32_MAX } };
	struct viewer viewer;
	struct viewer_reply reply;
	struct script script = { 0 };
	struct err err;
	char name[VIEWER_NAME_LONG_BYTES + 1];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	viewer_init(&viewer);
	viewer_connect(&viewer);
	put(&script, 9, 8);
	put(&script, 2, 4);
	put(&script, 16, 4);
	put(&script, 0, 4);
	ck_assert_int_eq(play(&viewer, &script, steps[_i], &reply, &err), 1);

	for (unsigned int turn = 0; turn < 2; turn++) {
		viewer_list_sessions(&viewer);
		script.bytes.count = 0;
		put(&script, 3, 4);
		put_long_session(&script, 7, "a-host", name);
		put_long_session(&script, 8, "", "");
		put_long_session(&script, 9, "b", "c");
		ck_assert_int_eq(play(&viewer, &script, steps[_i], &reply, &err), 1);
		ck_assert_uint_eq(reply.count, 3);
		ck_assert_str_eq(reply.sessions[0].host, "a-host");
		ck_assert_str_eq(reply.sessions[0].name, name);
		ck_assert_str_eq(reply.sessions[1].name, "");
		ck_assert_uint_eq(reply.sessions[2].id, 9);
		ck_assert_str_eq(reply.sessions[2].host, "b");
		ck_assert_str_eq(reply.sessions[2].name, "c");
	}
	viewer_list_sessions(&viewer);
	script.bytes.count = 0;
	put(&script, 0, 4);
	ck_assert_int_eq(play(&viewer, &script, steps[_i], &reply, &err), 1);
	ck_assert_uint_eq(reply.count, 0);

	viewer_list_sessions(&viewer);
	script.bytes.count = 0;
	put(&script, 1, 4);
	put(&script, 7, 8);
	put(&script, 0, 8);
	put(&script, 0, 4);
	put(&script, lies[_i % 2].host_len, 4);
	put(&script, lies[_i % 2].name_len, 4);
	put(&script, 0, 4);
	ck_assert_int_eq(play(&viewer, &script, steps[_i], &reply, &err), -EPROTO);
	ck_assert(strstr(err.text, "the relay announces names of") != NULL);
	vec_fini(&script.bytes);
	viewer_fini(&viewer);
}
END_TEST

START_TEST(speaks_each_command)
{
	struct viewer viewer;
	struct viewer_reply reply;
	struct script script = { 0 };
	struct err err;
	uint8_t packet[5];

	viewer_init(&viewer);

	viewer_connect(&viewer);
	ck_assert_uint_eq(viewer.out.count, 36);
	ck_assert_uint_eq(wire_get_u32(viewer.out.at + 8), VIEWER_CONNECT);
	put(&script, 9, 8);
	put(&script, 2, 4);
	put(&script, 13, 4);
	put(&script, 0, 4);
	ck_assert_int_eq(play(&viewer, &script, steps[_i], &reply, &err), 1);
	ck_assert_uint_eq(reply.minor, 13);

	viewer_list_sessions(&viewer);
	script.bytes.count = 0;
	put(&script, 1, 4);
	put(&script, 42, 8);
	put(&script, 1000000, 4);
	put(&script, 1, 4);
	put(&script, 3, 4);
	put_text(&script, "web1", VIEWER_HOST_BYTES);
	put_text(&script, "prod", VIEWER_NAME_BYTES);
	ck_assert_int_eq(play(&viewer, &script, steps[_i], &reply, &err), 1);
	ck_assert_uint_eq(reply.count, 1);
	ck_assert_uint_eq(reply.sessions[0].id, 42);
	ck_assert_str_eq(reply.sessions[0].host, "web1");
	ck_assert_str_eq(reply.sessions[0].name, "prod");

	viewer_attach(&viewer, 42, VIEWER_SEEK_LAST);
	script.bytes.count = 0;
	put(&script, ATTACH_OK, 4);
	put(&script, 2, 4);
	put_stream(&script, 5, 1, true);
	put_stream(&script, 6, 1, false);
	ck_assert_int_eq(play(&viewer, &script, steps[_i], &reply, &err), 1);
	ck_assert_uint_eq(reply.count, 2);
	ck_assert(reply.streams[0].is_metadata);
	ck_assert_str_eq(reply.streams[1].channel, "channel0_0");

	viewer_get_index(&viewer, 6, 77);
	script.bytes.count = 0;
	put_index(&script, INDEX_OK, VIEWER_FLAG_NEW_METADATA);
	ck_assert_int_eq(play(&viewer, &script, steps[_i], &reply, &err), 1);
	ck_assert_uint_eq(reply.tag, 77);
	ck_assert_uint_eq(reply.index.content_bits, 300);
	ck_assert_uint_eq(reply.index.flags, VIEWER_FLAG_NEW_METADATA);

	viewer_get_packet(&viewer, 6, 0, packet, sizeof(packet), 78);
	script.bytes.count = 0;
	put(&script, PACKET_OK, 4);
	put(&script, sizeof(packet), 4);
	put(&script, 0, 4);
	put_text(&script, "12345", 5);
	ck_assert_int_eq(play(&viewer, &script, steps[_i], &reply, &err), 1);
	ck_assert_mem_eq(packet, "12345", 5);

	viewer_get_metadata(&viewer, 5, 1, false);
	script.bytes.count = 0;
	put(&script, 4, 8);
	put(&script, METADATA_OK, 4);
	put_text(&script, "text", 4);
	ck_assert_int_eq(play(&viewer, &script, steps[_i], &reply, &err), 1);
	ck_assert_uint_eq(reply.len, 4);
	ck_assert_mem_eq(reply.bytes, "text", 4);

	ck_assert_uint_eq(viewer_pending(&viewer), 0);
	vec_fini(&script.bytes);
	viewer_fini(&viewer);
}
END_TEST

/* With a status that is not OK nothing follows, whatever count or length stands there. */
START_TEST(knows_error_statuses)
{
	struct viewer viewer;
	struct viewer_reply reply;
	struct script script = { 0 };
	struct err err;
	uint8_t packet[8];

	viewer_init(&viewer);
	for (uint32_t status = ATTACH_ALREADY; status <= ATTACH_NO_SESSION; status++) {
		viewer_attach(&viewer, 1, VIEWER_SEEK_LAST);
		script.bytes.count = 0;
		put(&script, status, 4);
		put(&script, UINT32_MAX, 4);
		ck_assert_int_eq(play(&viewer, &script, 1, &reply, &err), 1);
		ck_assert_uint_eq(reply.status, status);
		ck_assert_uint_eq(reply.count, 0);
	}
	for (uint32_t status = STREAMS_NO_NEW; status <= STREAMS_HUP; status++) {
		viewer_get_new_streams(&viewer, 1);
		script.bytes.count = 0;
		put(&script, status, 4);
		put(&script, UINT32_MAX, 4);
		ck_assert_int_eq(play(&viewer, &script, 1, &reply, &err), 1);
		ck_assert_uint_eq(reply.status, status);
	}
	for (uint32_t status = INDEX_RETRY; status <= INDEX_EOF; status++) {
		viewer_get_index(&viewer, 1, 1);
		script.bytes.count = 0;
		put_index(&script, status, 0);
		ck_assert_int_eq(play(&viewer, &script, 1, &reply, &err), 1);
		ck_assert_uint_eq(reply.status, status);
	}
	for (uint32_t status = METADATA_NO_NEW; status <= METADATA_ERROR; status++) {
		viewer_get_metadata(&viewer, 1, 1, false);
		script.bytes.count = 0;
		put(&script, UINT64_MAX, 8);
		put(&script, status, 4);
		ck_assert_int_eq(play(&viewer, &script, 1, &reply, &err), 1);
		ck_assert_uint_eq(reply.len, 0);
	}
	viewer_get_packet(&viewer, 1, 0, packet, sizeof(packet), 1);
	script.bytes.count = 0;
	put(&script, PACKET_ERROR, 4);
	put(&script, 0, 8);
	ck_assert_int_eq(play(&viewer, &script, 1, &reply, &err), 1);
	ck_assert_uint_eq(reply.status, PACKET_ERROR);
	vec_fini(&script.bytes);
	viewer_fini(&viewer);
}
END_TEST

static void ask(struct viewer *viewer, enum viewer_command command, uint8_t *packet)
{
	switch (command) {
	case VIEWER_CONNECT:
		viewer_connect(viewer);
		break;
	case VIEWER_LIST_SESSIONS:
		viewer_list_sessions(viewer);
		break;
	case VIEWER_ATTACH_SESSION:
		viewer_attach(viewer, 1, VIEWER_SEEK_LAST);
		break;
	case VIEWER_GET_PACKET:
		viewer_get_packet(viewer, 1, 0, packet, 4, 1);
		break;
	default:
		viewer_get_metadata(viewer, 1, 1, false);
		break;
	}
}

static const struct {
	enum viewer_command command;
	uint64_t words[3]; /* 8 bytes each; what is left is zero */
	const char *complaint;
} lies[] = {
	{ VIEWER_CONNECT, { 0, (UINT64_C(3) << 32) | 13, 0 }, "speaks viewer protocol 3.13" },
	{ VIEWER_CONNECT, { 0, (UINT64_C(2) << 32) | 3, 0 }, "needs 2.4" },
	{ VIEWER_CONNECT, { 0, 13, 0 }, "what answers is not a relay" },
	/* "HTTP/1.1 400 Bad" */
	{ VIEWER_CONNECT, { 0x485454502f312e31, 0x2034303020426164, 0 }, "is not a relay" },
	{ VIEWER_LIST_SESSIONS, { UINT64_MAX, 0, 0 }, "4294967295 sessions" },
	{ VIEWER_ATTACH_SESSION, { (UINT64_C(1) << 32) | UINT32_MAX, 0, 0 }, "4294967295 streams" },
	{ VIEWER_GET_PACKET,
	  { (UINT64_C(1) << 32) | 5, 0, 0 },
	  "5 bytes of a packet, 4 were asked" },
	{ VIEWER_GET_METADATA,
	  { UINT64_MAX, UINT64_C(1) << 32, 0 },
	  "bytes of metadata, the limit" },
};

START_TEST(refuses_lies)
{
	struct viewer viewer;
	struct viewer_reply reply;
	struct script script = { 0 };
	struct err err = { "" };
	uint8_t packet[4];

	viewer_init(&viewer);
	ask(&viewer, lies[_i].command, packet);
	for (int i = 0; i < 3; i++) {
		put(&script, lies[_i].words[i], 8);
	}
	ck_assert_int_eq(play(&viewer, &script, 1, &reply, &err), -EPROTO);
	ck_assert_msg(strstr(err.text, lies[_i].complaint), "said \"%s\"", err.text);
	vec_fini(&script.bytes);
	viewer_fini(&viewer);
}
END_TEST

START_TEST(refuses_unasked_bytes)
{
	struct viewer viewer;
	struct viewer_reply reply;
	struct err err;
	size_t len;

	viewer_init(&viewer);
	*viewer_want(&viewer, &len) = 7;
	ck_assert_int_eq(viewer_fed(&viewer, 1, &reply, &err), -EPROTO);
	viewer_fini(&viewer);
}
END_TEST

/* A large announced length takes memory only as bytes arrive. */
START_TEST(takes_memory_slowly)
{
	struct viewer viewer;
	struct viewer_reply reply;
	struct script script = { 0 };
	struct err err;
	size_t len;

	viewer_init(&viewer);
	viewer_get_metadata(&viewer, 1, 1, false);
	put(&script, METADATA_BYTES_MAX, 8);
	put(&script, METADATA_OK, 4);
	ck_assert_int_eq(play(&viewer, &script, 12, &reply, &err), 0);
	(void)viewer_want(&viewer, &len);
	ck_assert_uint_le(viewer.body.room, 4 * RELAY_RECEIVE_BYTES);
	vec_fini(&script.bytes);
	viewer_fini(&viewer);
}
END_TEST

/*
 * Goal    Metadata that is something else is noticed with its first bytes.
 * Method  A reply that announces much and is followed by these bytes, alone or after a packet.
 */
static const struct {
	const char *bytes;
	bool begins;
	int r;
} beginnings[] = {
	{ "\x75\xD1\x1D\x57", true, 0 },
	{ "\x57\x1D\xD1\x75", true, 0 },
	{ "\x1E{\"t", true, 0 },
	{ "{\n\"t", true, 0 },
	{ "/* C", true, 0 },
	{ "\ntra", true, 0 },
	{ "\0\0\0\1", true, -EPROTO },
	{ "\x75\xD1\x1D\x58", true, 0 }, /* 'u': may be text */
	{ "\x57\x1D\xD1\x76", true, 0 },
	{ "\xC1\xFC\x1F\xC1", true, -EPROTO },
	{ "\0\0\0\1", false, 0 },
};

START_TEST(checks_how_metadata_begins)
{
	struct script script = { 0 };
	struct viewer viewer;
	struct viewer_reply reply;
	struct err err;

	viewer_init(&viewer);
	viewer_get_metadata(&viewer, 5, 1, beginnings[_i].begins);
	put(&script, 4096, 8);
	put(&script, METADATA_OK, 4);
	for (size_t i = 0; i < 4; i++) {
		put(&script, (uint8_t)beginnings[_i].bytes[i], 1);
	}
	ck_assert_int_eq(play(&viewer, &script, SIZE_MAX, &reply, &err), beginnings[_i].r);
	vec_fini(&script.bytes);
	viewer_fini(&viewer);
}
END_TEST

/* A packet of another length than requested: an error, or dropped where that has not helped. */
START_TEST(drops_packets_of_other_lengths)
{
	static const uint32_t lengths[] = { 0, 1, 99, 101, 100000 };
	uint32_t length = lengths[_i / 2];
	bool takes_any = _i & 1;
	uint8_t into[100];
	struct script script = { 0 };
	struct viewer viewer;
	struct viewer_reply reply;
	struct err err;

	viewer_init(&viewer);
	viewer.takes_any_length = takes_any;
	viewer_get_packet(&viewer, 5, 0, into, sizeof(into), 1);
	put(&script, PACKET_OK, 4);
	put(&script, length, 4);
	put(&script, 0, 4);
	for (uint32_t i = 0; takes_any && i < length; i++) {
		put(&script, 0xAA, 1);
	}
	memset(into, 0, sizeof(into));
	ck_assert_int_eq(play(&viewer, &script, 1000, &reply, &err), takes_any ? 1 : -EPROTO);
	ck_assert(viewer.is_of_other_length);
	if (takes_any) {
		ck_assert_uint_eq(reply.status, PACKET_ERROR);
		ck_assert_uint_eq(into[0], 0);
		ck_assert_uint_eq(viewer_pending(&viewer), 0);
	}
	vec_fini(&script.bytes);
	viewer_fini(&viewer);
}
END_TEST

Suite *suite_viewer(void)
{
	Suite *suite = suite_create("viewer");
	TCase *tcase = tcase_create("viewer");

	tcase_add_loop_test(tcase, speaks_each_command, 0, STEPS);
	tcase_add_loop_test(tcase, lists_long_names, 0, STEPS);
	tcase_add_test(tcase, knows_error_statuses);
	tcase_add_loop_test(tcase, refuses_lies, 0, (int)(sizeof(lies) / sizeof(lies[0])));
	tcase_add_test(tcase, refuses_unasked_bytes);
	tcase_add_test(tcase, takes_memory_slowly);
	tcase_add_loop_test(tcase, checks_how_metadata_begins, 0,
			    sizeof(beginnings) / sizeof(beginnings[0]));
	tcase_add_loop_test(tcase, drops_packets_of_other_lengths, 0, 10);
	suite_add_tcase(suite, tcase);
	return suite;
}
