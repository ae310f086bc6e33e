/*
 * plan: which requests bind which classes, what the classes share, and their short forms.
 */
#include "ctf/metadata/join.h"
#include "fixture.h"
#include "suites.h"

static uint32_t length_of(const char *event)
{
	return (uint32_t)strlen(event);
}

static const struct plan_request requests[] = {
	{ .event = "a_one", .fields = { "n" }, .group = 1, .user = 10 },
	{ .event = "a_*", .fields = { "n", "@s" }, .group = 1, .user = 20 },
	{ .event = "*", .fields = { "n", "context.c" }, .group = 2, .user_of = length_of },
	{ .event = "a_one", .group = 3, .domain = "ust" },
	{ .event = "a_one", .group = 4, .domain = "kernel", .may_rest = true },
};
#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

#define TEXT                                                                                       \
	FIXTURE_TRACE FIXTURE_TYPES                                                                \
		"env { domain = \"kernel\"; };\nstream { id = 3; };\nstream { id = 1; };\n"        \
		"event { name = a_one; id = 0; stream_id = 3; context := struct { u8 c; };\n"      \
		"  fields := struct { s32 n; text s[4]; }; };\n"                                   \
		"event { name = a_two; id = 1; stream_id = 3; fields := struct { text n[4]; }; "   \
		"};\n"                                                                             \
		"event { name = b; id = 0; stream_id = 1; fields := struct { u8 n; }; };\n"

/* By class: the requests bound to it, in order, and what they find. */
static const struct {
	const char *name;
	size_t count;
	struct plan_binding bindings[4]; /* without bases */
	uint32_t copies;
} bound[] = {
	{ "a_one",
	  3,
	  { { .request = 0, .present = 1, .user = 10 },
	    { .request = 2, .present = 3, .user = 5 },
	    { .request = 4 } },
	  1 },
	{ "a_two", 2, { { .request = 1, .user = 20 }, { .request = 2, .user = 5 } }, 0 },
	{ "b", 1, { { .request = 2, .present = 1, .user = 1 } }, 0 },
};

START_TEST(binds_requests)
{
	const struct plan_event *event;
	struct fixture f;

	fixture_init(&f, TEXT, requests, REQUESTS);
	event = f.plan->classes[_i];
	ck_assert_str_eq(event->class->name, bound[_i].name);
	ck_assert_uint_eq(event->binding_count, bound[_i].count);
	for (size_t i = 0; i < bound[_i].count; i++) {
		const struct plan_binding *one = &event->bindings[i];
		const struct plan_binding *wanted = &bound[_i].bindings[i];

		ck_assert_uint_eq(one->request, wanted->request);
		ck_assert_uint_eq(one->present, wanted->present);
		ck_assert_uint_eq(one->user, wanted->user);
	}
	ck_assert_uint_eq(event->copy_count, bound[_i].copies);
	fixture_fini(&f);
}
END_TEST

/* Two requests for one field: one load and a copy. */
START_TEST(copies_shared_fields)
{
	static const uint8_t packet[] = { 7, 0xFE, 0xFF, 0xFF, 0xFF, 'a', 'b', 'c', 'd' };
	const struct plan_binding *first, *second;
	struct ctf_event event = { 0 };
	struct fixture f;
	struct packet_info info = { .content_bits = sizeof(packet) * 8 };

	fixture_init(&f, TEXT, requests, REQUESTS);
	info.stream = plan_stream(f.plan, 3);
	decoder_start(f.d, f.plan, &info, packet, sizeof(packet));
	ck_assert_int_eq(decoder_next(f.d, &event), 1);
	decoder_copy(f.d, event.class);
	first = &event.class->bindings[0];
	second = &event.class->bindings[1];
	ck_assert_int_eq(f.d->values[first->base].i, -2);
	ck_assert_int_eq(f.d->values[second->base].i, -2);
	ck_assert_uint_eq(f.d->values[second->base + 1].u, 7); /* context.c */
	fixture_fini(&f);
}
END_TEST

#define USER_TEXT                                                                                  \
	"/* CTF 1.8 */ trace { major = 1; minor = 8; byte_order = be;\n"                           \
	"  uuid = \"01234567-89ab-cdef-0123-456789abcdef\";\n"                                     \
	"  packet.header := struct { integer { size = 8; align = 8; } stream_id; }; };\n"          \
	"env { domain = \"ust\"; };\nstream { id = 3; };\n"                                        \
	"event { name = a_one; id = 0; stream_id = 3;\n"                                           \
	"  fields := struct { integer { size = 16; align = 8; } n; }; };\n"

/* The metadata of two traces, and a plan of both. */
struct joined {
	struct fixture kernel, user;
	struct metadata_join *join;
	struct plan_builder *builder;
	struct plan *plan;
};

static void grow_joined(struct joined *j)
{
	const struct metadata *types;
	struct err err;

	plan_unref(j->plan);
	ck_assert_int_eq(metadata_join_update(j->join, &types, &err), 0);
	ck_assert_int_eq(plan_build(j->builder, types, &j->plan, &err), 0);
	plan_check(j->plan);
}

static void joined_init(struct joined *j)
{
	memset(j, 0, sizeof(*j));
	fixture_init(&j->kernel, TEXT, requests, REQUESTS);
	fixture_init(&j->user, USER_TEXT, requests, REQUESTS);
	j->join = metadata_join_new();
	metadata_join_add(j->join, metadata_stream_types(j->kernel.stream));
	metadata_join_add(j->join, metadata_stream_types(j->user.stream));
	j->builder = plan_builder_new(metadata_stream_arena(j->kernel.stream), requests, REQUESTS,
				      false);
	grow_joined(j);
}

static void joined_fini(struct joined *j)
{
	plan_unref(j->plan);
	plan_builder_free(j->builder);
	metadata_join_free(j->join);
	fixture_fini(&j->user);
	fixture_fini(&j->kernel);
}

/* Each part has its own header, byte order, ids in packets, and requests of its domain. */
START_TEST(joins_traces)
{
	static const uint8_t packet[] = { 3, 1, 2 };
	const struct plan_event *event;
	const struct plan *part;
	struct ctf_event decoded = { 0 };
	struct packet_info info;
	struct joined j;
	struct err err;

	joined_init(&j);
	ck_assert_uint_eq(j.plan->class_count, 4);
	ck_assert_ptr_null(j.plan->whole);
	ck_assert_uint_eq(plan_part(j.plan, 0)->stream_count, 2);
	ck_assert_uint_eq(plan_part(j.plan, 0)->slot_stream_id, SLOT_NONE);
	part = plan_part(j.plan, 1);
	ck_assert_uint_eq(part->stream_count, 1);
	ck_assert_int_eq(packet_info_read(j.user.d, part, packet, 3, 3, &info, &err), 0);
	ck_assert_uint_eq(info.stream->own_id, 3);
	ck_assert_uint_gt(info.stream->id, UINT32_MAX);
	ck_assert_ptr_nonnull(plan_stream(j.plan, info.stream->id));
	decoder_start(j.user.d, part, &info, packet, sizeof(packet));
	ck_assert_int_eq(decoder_next(j.user.d, &decoded), 1);
	event = j.plan->classes[3];
	ck_assert_ptr_eq(decoded.class, event);
	ck_assert_uint_eq(event->binding_count, 3);
	ck_assert_uint_eq(event->bindings[2].request, 3); /* domain ust */
	ck_assert_int_eq(j.user.d->values[event->bindings[0].base].i, 0x0102);
	ck_assert(j.plan->classes[0]->origin->is_kernel && !event->origin->is_kernel);
	joined_fini(&j);
}
END_TEST

/* Indexes stay, whichever part grows. */
START_TEST(joined_traces_grow)
{
	struct plan *old;
	struct joined j;

	joined_init(&j);
	old = plan_ref(plan_part(j.plan, 1));
	fixture_grow(&j.user, "event { name = late; id = 7; stream_id = 3; };\n");
	grow_joined(&j);
	fixture_grow(&j.kernel, "stream { id = 4294967296; };\n"
				"event { name = more; id = 0; stream_id = 4294967296; };\n");
	grow_joined(&j);
	ck_assert_uint_eq(j.plan->class_count, 6);
	ck_assert_str_eq(j.plan->classes[4]->class->name, "late");
	ck_assert_str_eq(j.plan->classes[5]->class->name, "more");
	ck_assert_uint_eq(plan_stream_own(plan_part(j.plan, 0), UINT64_C(1) << 32)->event_count, 1);
	ck_assert_uint_eq(old->class_count, 4);
	plan_unref(old);
	joined_fini(&j);
}
END_TEST

/* Requests 0 to 4 as bits: by stream, and by the lowest stream that has events for them. */
START_TEST(finds_lead_streams)
{
	struct fixture f;

	fixture_init(&f, TEXT, requests, REQUESTS);
	ck_assert_uint_eq(plan_stream(f.plan, 3)->request_mask, 1 | 2 | 4 | 16);
	ck_assert_uint_eq(plan_stream(f.plan, 1)->request_mask, 4);
	ck_assert_uint_eq(plan_stream(f.plan, 3)->lead_mask, 1 | 2 | 16);
	ck_assert_uint_eq(plan_stream(f.plan, 1)->lead_mask, 4);
	ck_assert_ptr_null(plan_stream(f.plan, 0));
	ck_assert(plan_has_event(f.plan, "a_two"));
	ck_assert(!plan_has_event(f.plan, "a_"));
	fixture_fini(&f);
}
END_TEST

static const struct plan_request short_requests[] = {
	{ .event = "e", .fields = { "n", "@s" }, .group = 1 },
	{ .event = "rest", .fields = { "n" }, .group = 2, .may_rest = true },
};

static const struct {
	const char *name, *fields;
	bool is_fast;
	size_t parts; /* 0: none */
	enum plan_use use;
} forms[] = {
	{ "e", "u32 n; u8 a;", true, 0, SKIP_LOAD },
	{ "rest", "u32 n;", true, 0, SKIP_REST },
	{ "other", "u32 n;", true, 0, SKIP_PASS },
	{ "e", "u3 n; u3 a;", false, 0, SKIP_NOT },
	{ "e", "u3 a; u32 n;", true, 0, SKIP_LOAD },
	{ "e", "string s; u32 n;", false, 2, SKIP_LOAD },
	{ "other", "string s;", false, 2, SKIP_PASS },
	{ "e", "u8 l; u16 a[l]; string s; a32 n;", false, 3, SKIP_LOAD },
	{ "e", "u8 l; string a[l];", false, 0, SKIP_NOT },
	{ "e", "text s[65535];", true, 0, SKIP_LOAD },
	{ "e", "text s[65536];", false, 0, SKIP_NOT },
	{ "e", "text s[536870912];", false, 0, SKIP_NOT },
};

START_TEST(finds_short_forms)
{
	char *text = mem_printf("%s%sstream { };\nevent { name = %s; fields := struct { %s }; };",
				FIXTURE_TRACE, FIXTURE_TYPES, forms[_i].name, forms[_i].fields);
	const struct plan_event *event;
	struct fixture f;
	size_t parts = 0;

	fixture_init(&f, text, short_requests, 2);
	event = f.plan->classes[0];
	ck_assert_int_eq(event->is_fast, forms[_i].is_fast);
	ck_assert_int_eq(event->use, forms[_i].use);
	for (const struct plan_part *part = event->parts; part; parts++) {
		part = part->end == PART_LAST ? NULL : part + 1;
	}
	ck_assert_uint_eq(parts, forms[_i].parts);
	fixture_fini(&f);
	free(text);
}
END_TEST

/* A plan does not change when the metadata grows. */
START_TEST(keeps_old_plans)
{
	struct fixture f;
	struct plan *old;

	fixture_init(&f, TEXT, requests, REQUESTS);
	old = plan_ref(f.plan);
	fixture_grow(&f, "event { name = late; id = 2; stream_id = 3; };\n"
			 "event { name = again; id = 1; stream_id = 3; };\n");
	ck_assert_ptr_nonnull(strstr(f.plan->metadata->notes->first->text,
				     "\"a_two\" and \"again\" have the same id, 1"));
	ck_assert_uint_eq(f.plan->metadata->notes->count, 1);
	ck_assert_uint_eq(old->class_count, 3);
	ck_assert_uint_eq(f.plan->class_count, 5);
	ck_assert_str_eq(plan_event_find(plan_stream(old, 3), 1)->class->name, "a_two");
	ck_assert_str_eq(plan_event_find(plan_stream(f.plan, 3), 1)->class->name, "a_two");
	ck_assert_ptr_null(plan_event_find(plan_stream(old, 3), 2));
	ck_assert_ptr_eq(old->classes[0], f.plan->classes[0]);
	plan_check(old);
	plan_unref(old);
	fixture_fini(&f);
}
END_TEST

/* Events that no packet can hold, or that never end. */
static const struct {
	const char *event, *fault;
	int events; /* before the fault */
} hostile[] = {
	{ "event { name = e; fields := struct { text s[536870912]; }; };",
	  "bit 0: fields of 4294967296 bits pass the end of the content", 0 },
	{ "event { name = e; fields := struct { }; };", "bit 0: an event without a bit (0)", 1 },
	{ "event { name = e; fields := struct { u8 l; struct { } s[l]; }; };",
	  "bit 64: an array has more elements than the content has bits (9)", 7 },
};

START_TEST(ends_hostile_packets)
{
	static const uint8_t packet[] = { 9, 9, 9, 9, 9, 9, 9, 9 };
	char *text =
		mem_printf("%s%sstream { };\n%s", FIXTURE_TRACE, FIXTURE_TYPES, hostile[_i].event);
	struct ctf_event event = { 0 };
	struct fixture f;
	struct err err = { "" };
	int count = 0;

	fixture_init(&f, text, short_requests, 2);
	fixture_start(&f, packet, sizeof(packet));
	while (decoder_next(f.d, &event) > 0) {
		ck_assert_int_le(++count, 8);
	}
	(void)decoder_fault(f.d, &err);
	ck_assert_str_eq(err.text, hostile[_i].fault);
	ck_assert_int_eq(count, hostile[_i].events);
	fixture_fini(&f);
	free(text);
}
END_TEST

#define COUNT_OF(table) (int)(sizeof(table) / sizeof((table)[0]))

Suite *suite_plan(void)
{
	Suite *suite = suite_create("plan");
	TCase *tcase = tcase_create("plan");

	tcase_add_loop_test(tcase, binds_requests, 0, COUNT_OF(bound));
	tcase_add_test(tcase, copies_shared_fields);
	tcase_add_test(tcase, joins_traces);
	tcase_add_test(tcase, joined_traces_grow);
	tcase_add_test(tcase, finds_lead_streams);
	tcase_add_loop_test(tcase, finds_short_forms, 0, COUNT_OF(forms));
	tcase_add_test(tcase, keeps_old_plans);
	tcase_add_loop_test(tcase, ends_hostile_packets, 0, COUNT_OF(hostile));
	suite_add_tcase(suite, tcase);
	return suite;
}
