/*
 * decode: the cost of each part of the decoder.
 *
 * usage: decode skip TRACE        the decoder, compared with a loop that only finds the end of
 *                                 each event: the least work that any reader must do (of traces
 *                                 with LTTng's packed compact header only)
 *        decode fields            ns per event by kind and number of requested fields
 *        decode metadata [N]      parse and compile N event classes, together and one by one
 *
 * The output is tab-separated tables.  Each figure is the best of RUNS runs.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#include "base/arena.h"
#include "base/mem.h"
#include "ctf/decoder.h"
#include "ctf/metadata/metadata.h"

#define RUNS 5

static double now(void)
{
	struct timespec at;

	(void)clock_gettime(CLOCK_MONOTONIC, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

static double best_of(double (*run)(void *user), void *user)
{
	double best = run(user);

	for (int i = 1; i < RUNS; i++) {
		double seconds = run(user);

		best = seconds < best ? seconds : best;
	}
	return best;
}

static void open_one(const char *dir, struct recorded *trace)
{
	struct recorded_paths paths = { 0 };
	struct err err;

	if (recorded_open(one_trace(dir, &paths), trace, &err) < 0) {
		die(err.text);
	}
	recorded_paths_fini(&paths);
}

/* ---- generated metadata ---- */

#define HEAD                                                                                       \
	"/* CTF 1.8 */\n"                                                                          \
	"typealias integer { size = 8; align = 8; } := uint8_t;\n"                                 \
	"typealias integer { size = 32; align = 8; } := uint32_t;\n"                               \
	"typealias integer { size = 64; align = 8; } := uint64_t;\n"                               \
	"trace { major = 1; minor = 8; byte_order = le; };\n"                                      \
	"clock { name = m; freq = 1000000000; };\n"                                                \
	"typealias integer { size = 27; align = 1; map = clock.m.value; } := u27;\n"               \
	"typealias integer { size = 64; align = 8; map = clock.m.value; } := u64c;\n"              \
	"stream { id = 0; event.header := struct {\n"                                              \
	"enum : integer { size = 5; align = 1; } { compact = 0 ... 30, extended = 31 } id;\n"      \
	"variant <id> { struct { u27 timestamp; } compact;\n"                                      \
	"struct { uint32_t id; u64c timestamp; } extended; } v; } align(8); };\n"

static struct metadata_stream *parse(const char *text)
{
	struct metadata_stream *stream = metadata_stream_new();
	struct err err;

	if (metadata_stream_feed(stream, text, strlen(text), &err) < 0 ||
	    metadata_stream_end(stream, &err) < 0) {
		die(err.text);
	}
	return stream;
}

/* ---- fields ---- */

#define FIELDS 8
#define EVENTS 20000

struct kind {
	const char *name, *declare; /* declare: TSDL of one field; %u is its number */
	const char *bytes;          /* the value of one field */
	size_t len;
	unsigned int bits; /* size of a field that does not fill whole bytes, else 0 */
	bool is_text;      /* text or a sequence */
};

static const struct kind kinds[] = {
	{ "integer, 32 bits", "uint32_t f%u;", "\1\2\3\4", 4, 0 },
	{ "integer, 13 bits", "integer { size = 13; align = 1; } f%u;", NULL, 13, 13 },
	{ "big endian, 32 bits", "integer { size = 32; align = 8; byte_order = be; } f%u;",
	  "\1\2\3\4", 4, 0 },
	{ "text[16]", "integer { size = 8; align = 8; encoding = UTF8; } f%u[16];",
	  "kworker/0:1H\0\0\0", 16, 0, true },
	{ "string, 8 bytes", "string f%u;", "filename", 9, 0, true },
	{ "sequence, 8 of 32 bits", "uint8_t n%1$u; uint32_t f%1$u[n%1$u];",
	  "\10abcdefghijklmnopqrstuvwxyzabcdef", 33, 0, true },
	{ "variant of 2",
	  "enum : uint8_t { A = 0, B = 1 } t%1$u; variant <t%1$u> { uint32_t A; "
	  "string B; } f%1$u;",
	  "\0abcd", 5, 0 },
};

struct fields {
	const struct kind *kind;
	struct metadata_stream *metadata;
	struct arena arena;
	struct plan *plan;
	struct decoder *d;
	uint8_t *packet;
	size_t len;
	uint64_t *counts;
	uint32_t seen[64];
};

static void make_packet(struct fields *f)
{
	size_t body = f->kind->bits ? (FIELDS * f->kind->bits + 7) / 8 : FIELDS * f->kind->len;

	f->len = EVENTS * (4 + body);
	f->packet = mem_alloc(f->len + 16);
	for (size_t i = 0; i < EVENTS; i++) {
		uint8_t *at = f->packet + i * (4 + body);
		uint32_t word = 1u | (uint32_t)i << 5;

		memcpy(at, &word, 4);
		for (size_t k = 0; f->kind->bytes && k < FIELDS; k++) {
			memcpy(at + 4 + k * f->kind->len, f->kind->bytes, f->kind->len);
		}
	}
}

static double run_fields(void *user)
{
	struct fields *f = user;
	struct decoder_passed passed = {
		.limit = UINT64_MAX, .unwanted = SKIP_PASS, .counts = f->counts, .seen = f->seen
	};
	struct packet_info info = { 0 };
	struct ctf_event event;
	uint64_t events = 0;
	double begin;
	struct err err;

	if (packet_info_read(f->d, f->plan, f->packet, f->len, f->len, &info, &err) < 0) {
		die(err.text);
	}
	memset(f->counts, 0, 64 * sizeof(uint64_t));
	decoder_start(f->d, f->plan, &info, f->packet, f->len);
	begin = now();
	while (decoder_wanted(f->d, &passed, &event) > 0) {
		events += passed.events + 1;
	}
	events += passed.events;
	if (events != EVENTS) {
		die("not all events were decoded");
	}
	return (now() - begin) / EVENTS * 1e9;
}

/* Returns ns per event if @wanted of the eight fields are requested. */
static double fields_cost(const struct kind *kind, unsigned int wanted)
{
	static char names[FIELDS][8];
	struct plan_request request = { .event = wanted > 0 ? "e" : "none" };
	struct fields f = { .kind = kind };
	struct plan_builder *builder;
	char text[4096] = HEAD "event { name = e; id = 1; stream_id = 0; fields := struct { ";
	double cost;
	struct err err;

	for (unsigned int i = 0; i < FIELDS; i++) {
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), kind->declare, i);
		(void)snprintf(names[i], sizeof(names[i]), "%sf%u", kind->is_text ? PLAN_TEXT : "",
			       i);
		request.fields[i] = i < wanted ? names[i] : NULL;
	}
	(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "}; };");
	f.metadata = parse(text);
	builder = plan_builder_new(metadata_stream_arena(f.metadata), &request, 1, false);
	if (plan_build(builder, metadata_stream_types(f.metadata), &f.plan, &err) < 0) {
		die(err.text);
	}
	f.d = mem_alloc(sizeof(*f.d));
	f.counts = mem_alloc(64 * sizeof(uint64_t));
	make_packet(&f);
	cost = best_of(run_fields, &f);
	free(f.packet);
	free(f.counts);
	decoder_free(f.d);
	plan_unref(f.plan);
	plan_builder_free(builder);
	metadata_stream_free(f.metadata);
	return cost;
}

static void bench_fields(void)
{
	static const unsigned int wanted[] = { 0, 1, 2, 4, 8 };

	printf("ns/event of eight fields; asked for:\t0\t1\t2\t4\t8\n");
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		printf("%s", kinds[k].name);
		for (size_t w = 0; w < sizeof(wanted) / sizeof(wanted[0]); w++) {
			if (strncmp(kinds[k].name, "variant", 7) == 0 && wanted[w] > 0) {
				printf("\t-"); /* a variant cannot be requested */
			} else {
				printf("\t%.1f", fields_cost(&kinds[k], wanted[w]));
			}
		}
		printf("\n");
	}
}

/* ---- metadata ---- */

static size_t put_class(char *text, size_t room, unsigned int id)
{
	int len = snprintf(
		text, room,
		"event {\n\tname = \"provider_%u:tracepoint_%u\";\n\tid = %u;\n\tstream_id = 0;\n"
		"\tloglevel = 13;\n\tfields := struct {\n"
		"\t\tinteger { size = 32; align = 8; signed = 1; encoding = none; base = 10; } "
		"_a;\n"
		"\t\tinteger { size = 64; align = 8; signed = 0; encoding = none; base = 16; } "
		"_b;\n"
		"\t\tinteger { size = 64; align = 8; signed = 1; encoding = none; base = 10; } "
		"_c[3];\n"
		"\t\tinteger { size = 8; align = 8; signed = 0; encoding = UTF8; base = 10; } "
		"_d[10];\n"
		"\t\tinteger { size = 64; align = 8; signed = 0; encoding = none; base = 10; } "
		"__n;\n"
		"\t\tinteger { size = 8; align = 8; signed = 1; encoding = none; base = 16; } _e[ "
		"__n ];\n"
		"\t\tstring _f;\n"
		"\t\tfloating_point { exp_dig = 11; mant_dig = 53; align = 8; } _g;\n\t};\n};\n",
		id % 50, id, id);

	return (size_t)len;
}

static void bench_metadata(unsigned int count)
{
	static const struct plan_request request = { .event = "provider_7:*",
						     .fields = { "a", "@f" } };
	size_t room = (size_t)count * 1024 + sizeof(HEAD), len = sizeof(HEAD) - 1;
	struct metadata_stream *at_once = NULL, *grown = metadata_stream_new();
	struct plan_builder *builder;
	char *text = mem_alloc(room);
	struct plan *plan;
	unsigned int tail = count / 10 + 1;
	double begin, last = 0;
	struct err err;

	memcpy(text, HEAD, len);
	for (unsigned int i = 0; i < count; i++) {
		len += put_class(text + len, room - len, i);
	}
	begin = now();
	at_once = parse(text);
	builder = plan_builder_new(metadata_stream_arena(at_once), &request, 1, false);
	if (plan_build(builder, metadata_stream_types(at_once), &plan, &err) < 0) {
		die(err.text);
	}
	printf("what\tms\tus each\tus each of the last tenth\n%u classes, %.1f MB at once\t%.2f\t"
	       "%.2f\t-\n",
	       count, (double)len / 1e6, (now() - begin) * 1e3, (now() - begin) / count * 1e6);
	plan_unref(plan);
	plan_builder_free(builder);
	metadata_stream_free(at_once);

	builder = plan_builder_new(metadata_stream_arena(grown), &request, 1, false);
	begin = now();
	for (unsigned int i = 0; i <= count; i++) {
		char one[1024];
		size_t bytes = i == 0 ? sizeof(HEAD) - 1 : put_class(one, sizeof(one), i - 1);

		last = i == count - count / 10 ? now() : last;
		if (metadata_stream_feed(grown, i == 0 ? HEAD : one, bytes, &err) < 0 ||
		    plan_build(builder, metadata_stream_types(grown), &plan, &err) < 0) {
			die(err.text);
		}
		plan_unref(plan);
	}
	printf("one by one, a plan for each\t%.2f\t%.2f\t%.2f\n", (now() - begin) * 1e3,
	       (now() - begin) / count * 1e6, (now() - last) / tail * 1e6);
	plan_builder_free(builder);
	metadata_stream_free(grown);
	free(text);
}

/* ---- finding the end of each event ---- */

struct skip {
	struct recorded trace;
	uint64_t events, bytes;
	bool is_bare;
	uint64_t *counts;
	uint32_t *seen;
	uint8_t *buffer;
	size_t room;
};

/*
 * Finds the end of each event only: no clock, no counts, no windows.
 */
static uint64_t skip_bare(struct decoder *d)
{
	const struct plan_skip *skips = d->stream->skips;
	uint64_t at = (d->at_bits + 7) / 8, end = d->end_bits / 8, events = 0;
	struct ctf_event event;

	for (;;) {
		while (at + 13 <= end) {
			uint32_t word = DECODE_LOAD(uint32_t, d->data + at);
			uint32_t long_id = DECODE_LOAD(uint32_t, d->data + at + 1);
			bool is_long = (word & 31) == 31;
			uint32_t id = is_long ? long_id : word & 31;
			uint64_t past = at + (is_long ? 13 : 4);

			if (id >= d->stream->event_count || skips[id].use == SKIP_NOT) {
				break;
			}
			past = skips[id].use == SKIP_PASS
				       ? past + skips[id].bytes
				       : decoder_parts(d, d->stream->events[id], past);
			if (past == 0) {
				break;
			}
			at = past;
			events++;
		}
		d->at_bits = at * 8;
		if (decoder_next(d, &event) <= 0) {
			return events;
		}
		at = (d->at_bits + 7) / 8;
		events++;
	}
}

static uint64_t skip_decoder(struct skip *s, struct decoder *d)
{
	struct decoder_passed passed = {
		.limit = UINT64_MAX, .unwanted = SKIP_PASS, .counts = s->counts, .seen = s->seen
	};
	struct ctf_event event;
	uint64_t events = 0;

	while (decoder_wanted(d, &passed, &event) > 0) {
		events += passed.events + 1;
	}
	return events + passed.events;
}

static void skip_packet(struct skip *s, struct recorded_file *file)
{
	struct decoder *d = s->trace.decoder;
	size_t size = file->info.size_bits / 8;
	struct packet_info info;
	struct err err;

	if (size > s->room) {
		s->buffer = mem_realloc(s->buffer, size);
		s->room = size;
	}
	if (pread(file->fd, s->buffer, size, (off_t)file->offset) != (ssize_t)size ||
	    packet_info_read(d, s->trace.plan, s->buffer, size, size, &info, &err) < 0) {
		die("a packet cannot be read");
	}
	decoder_start(d, s->trace.plan, &info, s->buffer, size);
	s->events += s->is_bare ? skip_bare(d) : skip_decoder(s, d);
	s->bytes += size;
}

/* Whether the bare loop can read them: it knows LTTng's packed compact header only. */
static bool all_packed(const struct recorded_files *files)
{
	for (size_t i = 0; i < files->at.count; i++) {
		const struct recorded_file *file = &files->at.at[i];

		if (file->has_info && !file->info.stream->is_packed) {
			return false;
		}
	}
	return true;
}

static double run_skip(void *user)
{
	struct skip *s = user;
	double begin = now();

	s->events = s->bytes = 0;
	for (size_t i = 0; i < s->trace.files.at.count; i++) {
		struct recorded_file *file = &s->trace.files.at.at[i];

		file->offset = 0;
		file->info.size_bits = 0;
		file->has_info = true;
		recorded_next(file, s->trace.plan, s->trace.decoder);
		while (file->has_info) {
			skip_packet(s, file);
			recorded_next(file, s->trace.plan, s->trace.decoder);
		}
	}
	return now() - begin;
}

static void bench_skip(const char *dir)
{
	struct skip s = { 0 };

	open_one(dir, &s.trace);
	s.counts = mem_alloc((s.trace.plan->class_count + 1) * sizeof(*s.counts));
	s.seen = mem_alloc((s.trace.plan->class_count + 1) * sizeof(*s.seen));
	printf("what\ts\tM events/s\tMB/s\n");
	for (int bare = all_packed(&s.trace.files); bare >= 0; bare--) {
		double seconds;

		s.is_bare = bare;
		memset(s.counts, 1, s.trace.plan->class_count * sizeof(*s.counts)); /* all seen */
		seconds = best_of(run_skip, &s);
		printf("%s\t%.6f\t%.1f\t%.0f\n", bare ? "bare skip-and-count loop" : "the decoder",
		       seconds, (double)s.events / seconds / 1e6, (double)s.bytes / seconds / 1e6);
	}
	free(s.counts);
	free(s.seen);
	free(s.buffer);
	recorded_close(&s.trace);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "fields") == 0) {
		bench_fields();
	} else if (strcmp(what, "metadata") == 0) {
		bench_metadata(argc > 2 ? (unsigned int)strtoul(argv[2], NULL, 10) : 20000);
	} else if (strcmp(what, "skip") == 0 && argc == 3) {
		bench_skip(argv[2]);
	} else {
		die("usage: decode fields | metadata [N] | skip TRACE");
	}
	return 0;
}
