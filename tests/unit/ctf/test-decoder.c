/*
 * decoder: decoder_wanted() and decoder_each() agree with decoder_next() on packets of any bytes:
 * the same events, values, ends and faults.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "ctf/decoder.h"
#include "ctf/metadata/metadata.h"
#include "suites.h"

#define HEAD                                                                                       \
	"/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = le; };\n"                        \
	"clock { name = m; freq = 1000000000; };\n"                                                \
	"typealias integer { size = 3; align = 1; } := u3;\n"                                      \
	"typealias integer { size = 8; align = 8; } := u8;\n"                                      \
	"typealias integer { size = 13; align = 1; } := u13;\n"                                    \
	"typealias integer { size = 16; align = 16; } := a16;\n"                                   \
	"typealias integer { size = 16; align = 8; signed = true; } := s16;\n"                     \
	"typealias integer { size = 32; align = 32; } := a32;\n"                                   \
	"typealias integer { size = 8; align = 8; encoding = UTF8; } := text;\n"

#define EVENTS                                                                                     \
	"event { name = e0; id = 0; fields := struct { string s; u32 n; }; };\n"                   \
	"event { name = e1; id = 1; fields := struct { u8 l; u32 s[l]; u16 n; }; };\n"             \
	"event { name = e2; id = 2; fields := struct { string a; string s; u8 n; }; };\n"          \
	"event { name = e3; id = 3; fields := struct { u8 l; text s[l]; u64 n; }; };\n"            \
	"event { name = e4; id = 4; fields := struct { struct { u8 k; string s; } a; a32 n;\n"     \
	"  string s; }; };\n"                                                                      \
	"event { name = e5; id = 5; fields := struct { u32 n; text s[4]; }; };\n"                  \
	"event { name = e6; id = 6; fields := struct { u16 l; a16 a[l]; string s; u8 n; }; };\n"   \
	"event { name = e7; id = 7; fields := struct { string s; u3 l; u13 n; }; };\n"             \
	"event { name = e8; id = 8; fields := struct { u8 l; string a[l]; string s; }; };\n"       \
	"event { name = x9; id = 9; fields := struct { string s; u8 l; u8 a[l]; }; };\n"           \
	"event { name = x10; id = 10; fields := struct { u32 n; }; };\n"                           \
	"event { name = e11; id = 11; fields := struct { u8 l; u32 a[l]; u8 m; u16 s[m]; s16 n;\n" \
	"  }; };\n"                                                                                \
	"event { name = e12; id = 12; fields := struct { string s;\n"                              \
	"  struct { u8 k; } align(256) a; u8 n; }; };\n"                                           \
	"event { name = e13; id = 13; fields := struct { string s; u8 k; a32 n; }; };\n"           \
	"event { name = e14; id = 14; fields := struct { u3 l; u13 n; text s[2]; }; };\n"          \
	"event { name = e15; id = 15; fields := struct { u13 n; }; };\n"

/* By id: fast (f), in parts (p); neither (-) with odd bits or an array of strings. */
static const char kinds[] = "pppppfp--pfppp--";

/* The headers of LTTng: everything aligned to bytes, ... */
static const char compact[] =
	HEAD "typealias integer { size = 16; align = 8; } := u16;\n"
	     "typealias integer { size = 32; align = 8; } := u32;\n"
	     "typealias integer { size = 64; align = 8; } := u64;\n"
	     "typealias integer { size = 27; align = 1; map = clock.m.value; } := brief;\n"
	     "typealias integer { size = 64; align = 8; map = clock.m.value; } := full;\n"
	     "stream { id = 0; event.header := struct {\n"
	     "  enum : integer { size = 5; align = 1; } { compact = 0 ... 30, extended = 31 } id;\n"
	     "  variant <id> { struct { brief timestamp; } compact;\n"
	     "    struct { u32 id; full timestamp; } extended; } v; } align(8); };\n" EVENTS;

/* ... and everything aligned to its size. */
static const char aligned[] =
	HEAD "typealias integer { size = 16; align = 16; } := u16;\n"
	     "typealias integer { size = 32; align = 32; } := u32;\n"
	     "typealias integer { size = 64; align = 64; } := u64;\n"
	     "typealias integer { size = 32; align = 32; map = clock.m.value; } := brief;\n"
	     "typealias integer { size = 64; align = 64; map = clock.m.value; } := full;\n"
	     "stream { id = 0; event.header := struct {\n"
	     "  enum : u16 { compact = 0 ... 65534, extended = 65535 } id;\n"
	     "  variant <id> { struct { brief timestamp; } compact;\n"
	     "    struct { u32 id; full timestamp; } extended; } v; } align(8); };\n" EVENTS;

static const struct plan_request requests[] = {
	{ .event = "e*", .fields = { "n", "@s" } },
};

#define PACKET_BYTES 160
#define EVENTS_MAX   PACKET_BYTES
#define CLASSES      (sizeof(kinds) - 1)

/* An event as a decoder gave it. */
struct got {
	const struct plan_event *class;
	uint64_t cycles;
	struct value n, s;
};

struct reading {
	struct decoder *d;
	size_t count;
	uint64_t total; /* read_each(): including events that were only counted */
	struct got got[EVENTS_MAX];
	int end; /* the result of the last call */
};

static void note(struct reading *reading, const struct ctf_event *event)
{
	struct got *got = &reading->got[reading->count++];

	ck_assert_uint_le(reading->count, EVENTS_MAX);
	*got = (struct got){ .class = event->class, .cycles = event->cycles };
	if (event->class->binding_count > 0) {
		const struct plan_binding *binding = &event->class->bindings[0];

		if (binding->present & 1) {
			got->n.u = reading->d->values[binding->base].u;
		}
		if (binding->present & 2) {
			got->s = reading->d->values[binding->base + 1];
		}
	}
}

static void begin(struct reading *reading, const struct plan *plan, const uint8_t *packet,
		  size_t bytes)
{
	struct packet_info info = { 0 };
	struct err err = { "" };

	ck_assert_int_eq(packet_info_read(reading->d, plan, packet, bytes, bytes, &info, &err), 0);
	decoder_start(reading->d, plan, &info, packet, bytes);
	reading->count = 0;
}

static void read_next(struct reading *reading)
{
	struct ctf_event event;

	while ((reading->end = decoder_next(reading->d, &event)) > 0) {
		note(reading, &event);
	}
}

/* Only the number of the events that were passed over is known. */
static void read_wanted(struct reading *reading)
{
	uint64_t counts[CLASSES] = { 0 };
	uint32_t seen[CLASSES];
	struct decoder_passed passed = {
		.limit = UINT64_MAX, .unwanted = SKIP_PASS, .counts = counts, .seen = seen
	};
	struct ctf_event event;

	do {
		reading->end = decoder_wanted(reading->d, &passed, &event);
		for (uint64_t i = 0; i < passed.events; i++) {
			reading->got[reading->count++].class = NULL;
		}
		if (reading->end > 0) {
			note(reading, &event);
		}
	} while (reading->end > 0);
}

static void note_reported(void *user, const struct ctf_event *event)
{
	struct reading *reading = user;

	if (event->fields) {
		decoder_load_fixed(reading->d, event->class, event->fields);
	}
	note(reading, event);
}

/* Only the number of the events that are neither reported nor for decoder_next() is known. */
static void read_each(struct reading *reading)
{
	uint64_t counts[CLASSES] = { 0 }, counted = 0;
	uint32_t seen[CLASSES];
	struct decoder_passed passed = {
		.limit = UINT64_MAX, .unwanted = SKIP_PASS, .counts = counts, .seen = seen
	};
	struct ctf_event event;

	reading->total = 0;
	do {
		reading->end = decoder_each(reading->d, &passed, note_reported, reading, &event);
		counted += passed.events;
		reading->total += passed.events + (reading->end > 0);
		if (reading->end > 0) {
			note(reading, &event);
		}
	} while (reading->end > 0);
	for (size_t i = 0; i < CLASSES; i++) {
		counted -= counts[i];
	}
	ck_assert_uint_eq(counted, 0);
}

static void compare_got(const struct got *a, const struct got *b)
{
	ck_assert_ptr_eq(a->class, b->class);
	ck_assert_uint_eq(a->cycles, b->cycles);
	ck_assert_uint_eq(a->n.u, b->n.u);
	ck_assert_ptr_eq(a->s.bytes, b->s.bytes);
	ck_assert_uint_eq(a->s.len, b->s.len);
}

/* All requested events were reported, in order. */
static void compare_each(const struct reading *next, const struct reading *each)
{
	size_t at = 0;

	ck_assert_int_eq(next->end, each->end);
	ck_assert_uint_eq(next->count, each->total);
	for (size_t i = 0; i < each->count; i++) {
		if (each->got[i].class->binding_count == 0) {
			continue;
		}
		while (at < next->count && next->got[at].class->binding_count == 0) {
			at++;
		}
		ck_assert_uint_lt(at, next->count);
		compare_got(&next->got[at++], &each->got[i]);
	}
	while (at < next->count) {
		ck_assert_uint_eq(next->got[at++].class->binding_count, 0);
	}
}

static void compare(const struct reading *next, const struct reading *wanted)
{
	struct err all = { "" }, fast = { "" };

	ck_assert_int_eq(next->end, wanted->end);
	ck_assert_uint_eq(next->count, wanted->count);
	for (size_t i = 0; i < next->count; i++) {
		const struct got *a = &next->got[i], *b = &wanted->got[i];

		if (!b->class) {
			ck_assert_uint_eq(a->class->binding_count, 0);
			continue;
		}
		compare_got(a, b);
	}
	if (next->end < 0) {
		(void)decoder_fault(next->d, &all);
		(void)decoder_fault(wanted->d, &fast);
		ck_assert_str_eq(all.text, fast.text);
	}
}

/* The classes have their short forms; otherwise all readings would agree trivially. */
static void check_classes(const struct plan *plan)
{
	ck_assert_ptr_nonnull(plan_stream(plan, 0)->skips);
	ck_assert_uint_eq(plan->class_count, CLASSES);
	for (uint32_t i = 0; i < CLASSES; i++) {
		char kind = kinds[plan->classes[i]->class->id];

		ck_assert_int_eq(plan->classes[i]->is_fast, kind == 'f');
		ck_assert_int_eq(plan->classes[i]->parts != NULL, kind == 'p');
	}
}

static uint32_t random_next(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 16;
}

/*
 * Many bytes are small: known ids, short rows and ends of strings.
 * @wide: ids are two bytes.
 */
static void fill(uint8_t *packet, bool wide, uint32_t *state)
{
	for (size_t i = 0; i < PACKET_BYTES; i++) {
		uint32_t number = random_next(state);

		packet[i] = (uint8_t)(number % 4 == 0 ? number >> 2 : number >> 2 & 15);
		if (wide && i % 2 == 1 && number % 8 != 0) {
			packet[i] = 0;
		}
	}
}

static struct plan *build(struct metadata_stream *stream, const char *text,
			  struct plan_builder **ret_builder)
{
	struct plan *plan;
	struct err err = { "" };

	ck_assert_int_eq(metadata_stream_feed(stream, text, strlen(text), &err), 0);
	ck_assert_msg(metadata_stream_end(stream, &err) == 0, "%s", err.text);
	*ret_builder = plan_builder_new(metadata_stream_arena(stream), requests, 1, false);
	ck_assert_msg(plan_build(*ret_builder, metadata_stream_types(stream), &plan, &err) == 0,
		      "%s", err.text);
	return plan;
}

START_TEST(short_cuts_agree)
{
	const char *text = _i == 0 ? compact : aligned;
	struct metadata_stream *stream = metadata_stream_new();
	struct reading next = { .d = mem_alloc(sizeof(struct decoder)) };
	struct reading wanted = { .d = mem_alloc(sizeof(struct decoder)) };
	uint32_t state = 1, of_class[CLASSES] = { 0 };
	struct plan_builder *builder;
	struct plan *plan = build(stream, text, &builder);

	check_classes(plan);
	for (size_t round = 0; round < rounds(20000); round++) {
		/* Allocated with their exact size, so sanitizers see reads behind them. */
		size_t bytes = 1 + random_next(&state) % PACKET_BYTES;
		uint8_t all[PACKET_BYTES], *packet = malloc(bytes);

		fill(all, _i == 1, &state);
		memcpy(packet, all, bytes);
		begin(&next, plan, packet, bytes);
		begin(&wanted, plan, packet, bytes);
		read_next(&next);
		read_wanted(&wanted);
		compare(&next, &wanted);
		begin(&wanted, plan, packet, bytes);
		read_each(&wanted);
		compare_each(&next, &wanted);
		for (size_t i = 0; i < next.count; i++) {
			of_class[next.got[i].class->index]++;
		}
		free(packet);
	}
	for (size_t i = 0; i < CLASSES; i++) {
		ck_assert_uint_gt(of_class[i], rounds(20000) / 2000);
	}
	plan_unref(plan);
	plan_builder_free(builder);
	metadata_stream_free(stream);
	decoder_free(next.d);
	decoder_free(wanted.d);
}
END_TEST

/* A piece ends within an event of varying size that no request wants: that event belongs to it. */
START_TEST(pieces)
{
	/* x9: id and time, a string of 6, 31 of u8; a piece ends 21 bytes into one */
	static const uint8_t x9[43] = { 9, 0, 0, 0, 'a', 'b', 'c', 'd', 'e', 'f', 0, 31 };
	const size_t count = 3 * DECODER_PIECE_BYTES / sizeof(x9);
	struct reading wanted = { .d = mem_alloc(sizeof(struct decoder)) };
	struct metadata_stream *stream = metadata_stream_new();
	uint8_t *packet = mem_alloc(count * sizeof(x9));
	uint64_t counts[CLASSES] = { 0 }, found = 0;
	uint32_t seen[CLASSES];
	struct decoder_passed passed = {
		.limit = UINT64_MAX, .unwanted = SKIP_PASS, .counts = counts, .seen = seen
	};
	struct plan_builder *builder;
	struct plan *plan = build(stream, compact, &builder);
	struct ctf_event event;

	ck_assert_uint_eq(DECODER_PIECE_BYTES % sizeof(x9), 21);
	for (size_t i = 0; i < count; i++) {
		memcpy(packet + i * sizeof(x9), x9, sizeof(x9));
	}
	begin(&wanted, plan, packet, count * sizeof(x9));
	while (decoder_wanted(wanted.d, &passed, &event) > 0) {
		found += passed.events + 1;
		ck_assert_uint_eq(event.class->class->id, 9);
	}
	ck_assert_uint_eq(found + passed.events, count);
	ck_assert_uint_eq(wanted.d->at_bits, wanted.d->end_bits);
	plan_unref(plan);
	plan_builder_free(builder);
	metadata_stream_free(stream);
	decoder_free(wanted.d);
	free(packet);
}
END_TEST

Suite *suite_decode(void)
{
	Suite *suite = suite_create("decode");
	TCase *tcase = tcase_create("decode");

	tcase_add_loop_test(tcase, short_cuts_agree, 0, 2);
	tcase_add_test(tcase, pieces);
	suite_add_tcase(suite, tcase);
	return suite;
}
