/*
 * session-walk: which packets a session fetches when it is attached again, and from a time on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "ctf/decoder.h"
#include "engine/engine.h"
#include "engine/trace.h"
#include "live/session/session-state.h"
#include "suites.h"

enum { PACKET_BYTES = 53 }; /* header and context, then one event */

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"typealias integer { size = 8; align = 8; } := u8;\n"
	"typealias integer { size = 32; align = 8; } := u32;\n"
	"typealias integer { size = 64; align = 8; } := u64;\n"
	"trace { major = 1; minor = 8; byte_order = le;\n"
	"  uuid = \"00000000-0000-0000-0000-000000000001\"; };\n"
	"clock { name = m; freq = 1000000000; };\n"
	"typealias integer { size = 64; align = 8; map = clock.m.value; } := stamp;\n"
	"stream { id = 0; event.header := struct { u8 id; stamp timestamp; };\n"
	"  packet.context := struct { stamp timestamp_begin; stamp timestamp_end;\n"
	"    u64 content_size; u64 packet_size; u64 packet_seq_num; u32 cpu_id; }; };\n"
	"event { name = e; id = 0; };\n";

struct bench {
	struct engine *engine;
	struct session session;
	struct beside beside;
	char log[100];     /* what was done with each packet, a letter each */
	unsigned int lost; /* warnings of lost packets */
	uint64_t events;
};

static void on_attach(void *user, const struct trace_identity *trace, bool is_attach,
		      const char *reason)
{
}

static void on_say(void *user, int verbosity, const char *kind, const char *text)
{
}

static void on_session(void *user, struct session *session)
{
}

static void on_progress(void *user)
{
	engine_step(((struct bench *)user)->engine, false, 0);
}

static void on_report(void *user, const struct report *report)
{
	const struct live_trace *trace = user;

	if (report->kind == REPORT_TOTAL) {
		((struct bench *)trace->session->owner.user)->events += report->events;
	}
}

static void on_warning(void *user, const struct engine_warning *warning)
{
	const struct live_trace *trace = user;

	((struct bench *)trace->session->owner.user)->lost +=
		strcmp(warning->what, "lost-packets") == 0;
}

static void setup(struct bench *b)
{
	struct engine_config config = { .interval_ns = 1000000000,
					.range_end = UINT64_MAX,
					.chunk_bytes = 1 << 20,
					.max_memory = 1 << 26,
					.on_report = on_report,
					.on_warning = on_warning };

	memset(b, 0, sizeof(*b));
	for (size_t i = 0; analyses[i]; i++) {
		if (strcmp(analyses[i]->name, "count") == 0) {
			config.analyses[0] = analyses[i];
		}
	}
	b->engine = engine_new(&config);
	b->session.decoder = mem_alloc(sizeof(*b->session.decoder));
	b->session.owner = (struct session_owner){ .user = b,
						   .engine = b->engine,
						   .on_attach = on_attach,
						   .say = on_say,
						   .on_change = on_session,
						   .on_progress = on_progress,
						   .on_finished = on_session };
	b->session.beside = &b->beside;
}

static void teardown(struct bench *b)
{
	session_finish(&b->session, "over", true);
	vec_fini(&b->session.traces);
	vec_fini(&b->session.streams);
	decoder_free(b->session.decoder);
	engine_free(b->engine);
	beside_fini(&b->beside);
}

static void send_metadata(struct bench *b)
{
	session_on_metadata(&b->session, 3, (const uint8_t *)metadata, strlen(metadata));
	ck_assert(session_on_metadata_end(&b->session, 3));
}

static struct live_stream *stream(struct bench *b)
{
	const struct viewer_stream announced = {
		.id = 1, .trace_id = 3, .path = "kernel", .channel = "c_0"
	};

	return session_on_stream(&b->session, &announced);
}

/* As session.c does when a connection is lost. */
static void lose_connection(struct bench *b)
{
	for (size_t i = 0; i < b->session.streams.count; i++) {
		struct live_stream *one = b->session.streams.at[i];

		stream_away(one->stream, 0);
		free(one->name);
		free(one);
	}
	b->session.streams.count = 0;
	for (size_t i = 0; i < b->session.traces.count; i++) {
		b->session.traces.at[i]->is_away = true;
	}
}

struct offered {
	uint32_t cpu;
	uint64_t seq, begin; /* it ends 900 ns later */
	bool is_nonsense;    /* its bytes are */
};

static uint8_t *bytes_of(const struct offered *packet)
{
	const uint64_t words[] = { packet->begin, packet->begin + 900, PACKET_BYTES * 8,
				   PACKET_BYTES * 8, packet->seq };
	uint8_t *bytes = mem_alloc(PACKET_BYTES);

	memcpy(bytes, words, sizeof(words));
	memcpy(bytes + sizeof(words), &packet->cpu, 4);
	memcpy(bytes + sizeof(words) + 5, &packet->begin, 8); /* behind the event's id, 0 */
	if (packet->is_nonsense) {
		memset(bytes, 0xFF, PACKET_BYTES);
	}
	return bytes;
}

/* Offers a packet as the client does, and notes: l, the session looks at it; p, f: it passes it
 * over, or fetches it; w: it waits, so that the packet is not done. */
static void offer(struct bench *b, struct live_stream *to, const struct offered *packet)
{
	const struct viewer_index index = { .packet_bits = PACKET_BYTES * 8,
					    .content_bits = PACKET_BYTES * 8,
					    .begin = packet->begin,
					    .end = packet->begin + 900 };
	enum client_wish wish = session_wants_packet(&b->session, to, &index);
	uint8_t *bytes = bytes_of(packet);

	b->log[strlen(b->log)] = "fplw"[wish];
	if (wish == CLIENT_LOOK) {
		session_on_look(&b->session, to, &index, bytes, PACKET_BYTES);
		free(bytes);
		offer(b, to, packet);
	} else if (wish == CLIENT_FETCH) {
		session_on_packet(&b->session, to, &index, bytes, PACKET_BYTES);
	} else {
		free(bytes);
	}
}

/* Packets @from to @to of CPU 0. */
static void offer_range(struct bench *b, struct live_stream *to, uint64_t from, uint64_t until)
{
	for (uint64_t seq = from; seq <= until; seq++) {
		offer(b, to, &(struct offered){ .seq = seq, .begin = 1000 * (seq + 1) });
	}
}

/* Six packets, then the connection is lost and there again; nothing is logged. */
static struct live_stream *take_up_again(struct bench *b, bool has_metadata)
{
	struct live_stream *one;

	setup(b);
	one = stream(b);
	send_metadata(b);
	offer_range(b, one, 0, 5);
	ck_assert_str_eq(b->log, "ffffff"); /* without state, and not lost before: no look */
	memset(b->log, 0, sizeof(b->log));
	lose_connection(b);
	one = stream(b);
	if (has_metadata) {
		send_metadata(b);
	}
	return one;
}

static void expect(struct bench *b, const char *log, uint64_t events, unsigned int lost)
{
	ck_assert_str_eq(b->log, log);
	teardown(b);
	ck_assert_uint_eq(b->events, events);
	ck_assert_uint_eq(b->lost, lost);
}

/* The relay has all: only the last of the six is fetched again, and dropped. */
START_TEST(passes_over_what_it_has)
{
	struct bench b;

	offer_range(&b, take_up_again(&b, true), 0, 8);
	ck_assert_uint_eq(b.session.account.passed_packets, 5);
	/* 9 packets, the sixth twice, and one head */
	ck_assert_uint_eq(b.session.account.fetched_bytes, (9 + 1 + 1) * PACKET_BYTES);
	expect(&b, "lpppppffff", 9, 0);
}
END_TEST

/* The relay no longer has the first ones, or those in between. */
START_TEST(reports_what_is_gone)
{
	struct bench b;

	offer_range(&b, take_up_again(&b, true), 3, 8);
	expect(&b, "lppffff", 9, 0);
	offer_range(&b, take_up_again(&b, true), 7, 8);
	expect(&b, "lff", 8, 1);
}
END_TEST

/* A number above the last one is new, although its time is before it. */
START_TEST(heeds_numbers_when_clocks_step_back)
{
	struct live_stream *one;
	struct bench b;

	one = take_up_again(&b, true);
	offer_range(&b, one, 4, 5);
	offer(&b, one, &(struct offered){ .seq = 6, .begin = 100 });
	expect(&b, "lpff", 7, 0);
	one = take_up_again(&b, true);
	offer(&b, one, &(struct offered){ .seq = 6, .begin = 100 });
	expect(&b, "lf", 7, 0);
}
END_TEST

/* Packets wait for metadata; then they are looked at.  A trace without state does not wait. */
START_TEST(waits_for_metadata)
{
	struct live_stream *one;
	struct bench b;

	one = take_up_again(&b, false);
	offer_range(&b, one, 0, 0);
	send_metadata(&b);
	offer_range(&b, one, 0, 6);
	expect(&b, "wlpppppff", 7, 0);
	one = take_up_again(&b, false);
	one->walk_begun = 1; /* it has waited for too long: it is fetched, and waits here */
	offer_range(&b, one, 0, 6);
	send_metadata(&b);
	expect(&b, "fffffff", 7, 0);
}
END_TEST

/* A head that cannot be read, and a stream that is new: all of it is fetched. */
START_TEST(fetches_all_of_others)
{
	struct live_stream *one;
	struct bench b;

	one = take_up_again(&b, true);
	offer(&b, one, &(struct offered){ .begin = 500, .is_nonsense = true });
	ck_assert_int_eq(one->walk, WALK_OVER);
	offer_range(&b, one, 0, 6);
	ck_assert_str_eq(b.log, "lffffffff");
	teardown(&b);
	one = take_up_again(&b, true);
	for (uint64_t seq = 0; seq < 3; seq++) {
		offer(&b, one,
		      &(struct offered){ .cpu = 1, .seq = seq, .begin = 1000 * (seq + 1) });
	}
	expect(&b, "lfff", 9, 0);
}
END_TEST

/* From a time on: packets that end before it are passed over, without a look. */
START_TEST(begins_at_a_time)
{
	struct live_stream *one;
	struct bench b;

	setup(&b);
	b.session.owner.from_ns = 3900; /* when the third packet ends */
	one = stream(&b);
	offer_range(&b, one, 0, 0);
	send_metadata(&b);
	offer_range(&b, one, 0, 4);
	ck_assert_str_eq(b.log, "wppfff");
	/* After a lost connection it goes on from where it was, not from that time. */
	lose_connection(&b);
	one = stream(&b);
	send_metadata(&b);
	offer_range(&b, one, 0, 5);
	ck_assert_str_eq(b.log, "wppffflppppff");
	/* A stream that was not seen before begins at that time, too. */
	lose_connection(&b);
	one = stream(&b);
	send_metadata(&b);
	offer(&b, one, &(struct offered){ .cpu = 1, .seq = 0, .begin = 2000 });
	offer(&b, one, &(struct offered){ .cpu = 1, .seq = 1, .begin = 3000 });
	expect(&b, "wppffflppppfflpf", 5, 0);
}
END_TEST

Suite *suite_session_walk(void)
{
	Suite *suite = suite_create("session-walk");
	TCase *tcase = tcase_create("session-walk");

	tcase_add_test(tcase, passes_over_what_it_has);
	tcase_add_test(tcase, reports_what_is_gone);
	tcase_add_test(tcase, heeds_numbers_when_clocks_step_back);
	tcase_add_test(tcase, waits_for_metadata);
	tcase_add_test(tcase, fetches_all_of_others);
	tcase_add_test(tcase, begins_at_a_time);
	suite_add_tcase(suite, tcase);
	return suite;
}
