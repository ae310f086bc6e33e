/*
 * session: what comes from the relay before its metadata waits, and then goes to the engine in
 * order.
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

#define EVENTS 3 /* of a packet */

static const char metadata[] =
	"/* CTF 1.8 */\n"
	"trace { major = 1; minor = 8; byte_order = le;\n"
	"  uuid = \"00000000-0000-0000-0000-000000000001\"; };\n"
	"env { domain = \"kernel\"; };\n"
	"clock { name = m; freq = 1000000000; };\n"
	"typealias integer { size = 8; align = 8; } := u8;\n"
	"typealias integer { size = 64; align = 8; map = clock.m.value; } := full;\n"
	"stream { id = 0; event.header := struct { u8 id; full timestamp; }; };\n"
	"event { name = e; id = 0; fields := struct { u8 x; }; };\n";

struct bench {
	struct engine *engine;
	struct session session;
	struct beside beside;
	char log[1000]; /* what the owner was told, a word each */
};

static void note(struct bench *b, const char *word)
{
	(void)snprintf(b->log + strlen(b->log), sizeof(b->log) - strlen(b->log), "%s ", word);
}

static void on_attach(void *user, const struct trace_identity *trace, bool is_attach,
		      const char *reason)
{
	ck_assert_str_eq(trace->domain, "kernel");
	note(user, is_attach ? "attach" : "detach");
}

static void on_say(void *user, int verbosity, const char *kind, const char *text)
{
	if (verbosity == 0) {
		note(user, strstr(text, "there was no metadata") ? "no-metadata"
			   : strstr(text, "metadata incomplete") ? "incomplete"
								 : "said");
	}
}

static void on_session(void *user, struct session *session)
{
}

static void on_progress(void *user)
{
	struct bench *b = user;

	engine_step(b->engine, false, 0);
}

static void on_report(void *user, const struct report *report)
{
	struct live_trace *trace = user;
	struct bench *b = trace->session->owner.user;

	if (report->kind == REPORT_TOTAL) {
		char total[40];

		(void)snprintf(total, sizeof(total), "total=%u", (unsigned int)report->events);
		if (report->lost.of[LOSS_PACKETS] > 0) {
			(void)snprintf(total + strlen(total), sizeof(total) - strlen(total),
				       ",%u lost", (unsigned int)report->lost.of[LOSS_PACKETS]);
			/* What the tables say is what the report says. */
			ck_assert_uint_eq(report->tables[0].rows[0].values[2],
					  report->lost.of[LOSS_PACKETS]);
		}
		note(b, total);
	}
}

static void on_warning(void *user, const struct engine_warning *warning)
{
	struct live_trace *trace = user;

	note(trace->session->owner.user, warning->what);
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
	strcpy(b->session.listed.host, "h");
	strcpy(b->session.listed.name, "s");
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

static void *stream(struct bench *b, uint64_t id, uint64_t trace_id)
{
	struct viewer_stream announced = { .id = id, .trace_id = trace_id, .path = "kernel" };

	(void)snprintf(announced.channel, sizeof(announced.channel), "c_%u", (unsigned int)id);
	return session_on_stream(&b->session, &announced);
}

/* A packet with EVENTS events from @ts on. */
static void packet(struct bench *b, void *to, uint64_t ts)
{
	const struct viewer_index index = { .offset = 0 };
	uint8_t *bytes = malloc(EVENTS * 10), *at = bytes;

	for (uint64_t i = 0; i < EVENTS; i++, at += 10) {
		memset(at, 0, 10);
		memcpy(at + 1, &(uint64_t){ ts + i }, 8);
	}
	session_on_packet(&b->session, to, &index, bytes, EVENTS * 10);
}

static void send_metadata(struct bench *b, size_t from, size_t to)
{
	session_on_metadata(&b->session, 3, (const uint8_t *)metadata + from, to - from);
	ck_assert_int_eq(session_on_metadata_end(&b->session, 3), to == strlen(metadata));
}

/* In what order things arrive: s: a stream, p: a packet, l: a packet that is lost, e: the end of
 * the stream, 1 and 2: the halves of the metadata; 3 and 4: its parts before the stream class and
 * from there on, 5 and 6: before the event and from there on. */
static const struct {
	const char *arrives;
	size_t waiting; /* packets before the total */
	const char *log;
} orders[] = {
	{ "s12ppe", 0, "attach total=6 detach " },
	{ "spp12e", 0, "attach total=6 detach " },
	{ "sppe12", 0, "attach total=6 detach " },
	{ "12sppe", 0, "attach total=6 detach " },
	{ "sp1p2pe", 0, "attach total=9 detach " },
	/* What is lost is lost in its place. */
	{ "slp12e", 0, "attach lost-packets total=3,1 lost detach " },
	/* Without metadata it is said how many packets went. */
	{ "sppl", 3, "no-metadata " },
	{ "spp1", 2, "no-metadata total=0,2 lost " },
	/* The first part can be read, but does not declare the packets yet, or their events. */
	{ "spp3p4pe", 0, "attach total=12 detach " },
	{ "3spp4pe", 0, "attach total=9 detach " },
	{ "spp5p6pe", 0, "attach total=12 detach " },
	{ "spp5p", 3, "attach incomplete total=0,3 lost detach " },
	/* No packet of the stream is there, so that no packet says which one it is. */
	{ "12slle", 0, "attach lost-packets lost-packets total=0,2 lost detach " },
	{ "12sllpe", 0, "attach lost-packets lost-packets total=3,2 lost detach " },
	{ "12splle", 0, "attach lost-packets lost-packets total=3,2 lost detach " },
};

START_TEST(packets_wait_for_metadata)
{
	const size_t half = (size_t)(strstr(metadata, "uuid") - metadata);
	const size_t class = (size_t)(strstr(metadata, "eam {") - metadata);
	const size_t event = (size_t)(strstr(metadata, "name = e;") - metadata);
	const size_t end = strlen(metadata);
	const size_t borders[6][2] = { { 0, half },    { half, end }, { 0, class },
				       { class, end }, { 0, event },  { event, end } };
	void *stream_of = NULL;
	struct bench b;
	uint64_t ts = 1000;

	setup(&b);
	for (const char *at = orders[_i].arrives; *at; at++) {
		switch (*at) {
		case 's':
			stream_of = stream(&b, 1, 3);
			break;
		case 'p':
			packet(&b, stream_of, ts += 1000);
			break;
		case 'l':
			session_on_packet_lost(&b.session, stream_of, NULL, "gone");
			break;
		case 'e':
			session_on_stream_end(&b.session, stream_of);
			break;
		default:
			send_metadata(&b, borders[*at - '1'][0], borders[*at - '1'][1]);
			break;
		}
	}
	ck_assert_uint_eq(b.session.traces.count, 1);
	ck_assert_uint_eq(b.session.traces.at[0]->waiting.count, orders[_i].waiting);
	if (strchr(orders[_i].arrives, 'e')) { /* the engine knows that it has ended */
		while (engine_in_flight(b.engine) > 0) {
			engine_step(b.engine, true, 0);
		}
		engine_step(b.engine, false, 0);
		ck_assert_uint_eq(trace_watermark(b.session.traces.at[0]->trace), UINT64_MAX);
	}
	teardown(&b);
	ck_assert_msg(strcmp(b.log, orders[_i].log) == 0, "%s: %s", orders[_i].arrives, b.log);
}
END_TEST

/* While packets wait, only so many are fetched. */
START_TEST(bounds_waiting)
{
	struct bench b;
	void *one;
	size_t count = 0;

	setup(&b);
	one = stream(&b, 1, 3);
	while (session_may_fetch(&b.session, one) && count < 100000) {
		packet(&b, one, ++count * 1000);
	}
	ck_assert_uint_eq(count, WAITING_PACKETS_MAX);
	send_metadata(&b, 0, strlen(metadata));
	ck_assert(session_may_fetch(&b.session, one));
	teardown(&b);
}
END_TEST

/* Metadata that cannot be read: said once, packets are dropped, and nothing waits. */
START_TEST(gives_wrong_metadata_up)
{
	struct bench b;
	void *one;

	setup(&b);
	one = stream(&b, 1, 3);
	packet(&b, one, 1000);
	session_on_metadata(&b.session, 3, (const uint8_t *)"/* CTF 1.8 */ nonsense;", 23);
	packet(&b, one, 2000);
	session_on_packet_lost(&b.session, one, NULL, "gone");
	ck_assert_uint_eq(b.session.traces.at[0]->waiting.count, 0);
	ck_assert(b.session.traces.at[0]->has_failed);
	teardown(&b);
	ck_assert_str_eq(b.log, "trace total=0,3 lost ");
}
END_TEST

/* Two traces of one session do not wait for each other. */
START_TEST(keeps_traces_apart)
{
	struct bench b;
	void *one, *two;

	setup(&b);
	one = stream(&b, 1, 3);
	two = stream(&b, 2, 4);
	packet(&b, one, 1000);
	packet(&b, two, 1000);
	send_metadata(&b, 0, strlen(metadata)); /* of trace 3 */
	ck_assert_uint_eq(b.session.traces.count, 2);
	ck_assert_uint_eq(b.session.traces.at[0]->waiting.count, 0);
	ck_assert_uint_eq(b.session.traces.at[1]->waiting.count, 1);
	teardown(&b);
}
END_TEST

Suite *suite_session(void)
{
	Suite *suite = suite_create("session");
	TCase *tcase = tcase_create("session");

	tcase_add_loop_test(tcase, packets_wait_for_metadata, 0,
			    (int)(sizeof(orders) / sizeof(orders[0])));
	tcase_add_test(tcase, bounds_waiting);
	tcase_add_test(tcase, gives_wrong_metadata_up);
	tcase_add_test(tcase, keeps_traces_apart);
	suite_add_tcase(suite, tcase);
	return suite;
}
