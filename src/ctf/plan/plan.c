/*
 * plan: plans, the builder that makes them from growing metadata, and the tables of event classes
 * by id.  plan-class.c compiles the classes.
 */
#include "ctf/plan/plan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "ctf/plan/plan-builder.h"

bool plan_takes(const char *event, const char *name)
{
	const char *star = strchr(event, '*');
	size_t before = star ? (size_t)(star - event) : 0, behind = star ? strlen(star + 1) : 0,
	       len = strlen(name);

	return star ? len >= before + behind && memcmp(name, event, before) == 0 &&
			       memcmp(name + len - behind, star + 1, behind) == 0
		    : strcmp(name, event) == 0;
}

/* ---- the builder ---- */

static void index_requests(struct plan_builder *builder)
{
	builder->next_same = mem_alloc((builder->request_count + 1) * sizeof(uint32_t));
	for (size_t i = builder->request_count; i-- > 0;) {
		const char *name = builder->requests[i].event;
		uint32_t *at;
		bool is_new;

		if (strchr(name, '*')) {
			continue;
		}
		at = request_names_put(&builder->names, name, &is_new);
		builder->next_same[i] = is_new ? UINT32_MAX : *at;
		*at = (uint32_t)i;
	}
	for (size_t i = 0; i < builder->request_count; i++) {
		if (strchr(builder->requests[i].event, '*')) {
			*vec_push(&builder->patterns) = (uint32_t)i;
		}
	}
}

struct plan_builder *plan_builder_new(struct arena *arena, const struct plan_request *requests,
				      size_t request_count, bool visit_all)
{
	struct plan_builder *builder = mem_alloc(sizeof(*builder));

	assert(request_count < UINT16_MAX);
	builder->arena = arena;
	builder->scratch.max = METADATA_ARENA_BYTES_MAX;
	builder->scratch.account = arena->account;
	builder->requests = requests;
	builder->request_count = request_count;
	builder->visit_all = visit_all;
	index_requests(builder);
	return builder;
}

void plan_builder_rename(struct plan_builder *builder, const struct plan_names *names)
{
	assert(builder->class_count == 0);
	builder->renames = names;
}

void plan_builder_free(struct plan_builder *builder)
{
	if (!builder) {
		return;
	}
	request_names_fini(&builder->names);
	free(builder->next_same);
	vec_fini(&builder->patterns);
	vec_fini(&builder->wants.bindings);
	vec_fini(&builder->wants.copies);
	vec_fini(&builder->wants.wants);
	vec_fini(&builder->headers);
	vec_fini(&builder->streams);
	arena_fini(&builder->scratch);
	free(builder);
}

static struct built_header *find_header(const struct plan_builder *b, const struct metadata *of)
{
	VEC_EACH_OF(&b->headers, header) {
		if (header->of == of) {
			return header;
		}
	}
	return NULL;
}

void plan_ignore_uuid(struct plan_builder *builder, struct plan *plan)
{
	struct built_header *header = find_header(builder, plan->of);

	assert(header); /* the plan is of this builder */
	if (header->plan.slot_uuid == SLOT_NONE) {
		return; /* as for an earlier plan */
	}
	header->plan.slot_uuid = plan->slot_uuid = SLOT_NONE;
	metadata_note(plan->of->notes,
		      "its packets have another UUID than its metadata; they are read as its own");
}

/* ---- tables ---- */

/* Two classes have one id: the first keeps it. */
static void note_twice(struct plan_builder *b, const struct plan_event *first,
		       const struct plan_event *second)
{
	metadata_note(b->metadata->notes,
		      "the events \"%.80s\" and \"%.80s\" have the same id, %llu; all events of "
		      "this id count as \"%.80s\"",
		      first->class->name, second->class->name,
		      (unsigned long long)second->class->id, first->class->name);
}

/* Gives a stream tables of its own with @room entries. */
static void renew_tables(struct plan_builder *b, struct built_stream *built, uint32_t room)
{
	struct plan_stream *stream = &built->plan;
	struct plan_event **events = arena_alloc(b->arena, room * sizeof(struct plan_event *));
	struct plan_skip *skips = arena_alloc(b->arena, room * sizeof(*skips));

	assert(room >= stream->event_count);
	if (stream->event_count > 0) {
		memcpy(events, stream->events, stream->event_count * sizeof(struct plan_event *));
		memcpy(skips, stream->skips, stream->event_count * sizeof(*skips));
	}
	stream->events = events;
	stream->skips = skips;
	built->room = room;
	built->owns_tables = true;
}

static void fill_skip(struct plan_stream *stream, const struct plan_event *event)
{
	struct plan_skip *skip = &stream->skips[event->class->id];

	assert(!event->is_fast || event->fixed_bits / 8 <= UINT16_MAX);
	assert(!event->is_fast || event->align_bits / 8 <= UINT8_MAX);
	memset(skip, 0, sizeof(*skip));
	skip->index = event->index;
	skip->use = event->parts ? SKIP_LOAD : event->use;
	if (event->is_fast) {
		skip->bytes = (uint16_t)(event->fixed_bits / 8);
		skip->align_mask = event->align_bits > 8 ? (uint8_t)(event->align_bits / 8 - 1) : 0;
		stream->is_packed &= skip->align_mask == 0;
	}
}

/*
 * Enters a class in its stream's tables: in place behind the last entry of earlier plans, otherwise
 * in a copy, as earlier plans still read the entries.
 */
static void add_to_table(struct plan_builder *b, struct built_stream *built,
			 struct plan_event *event)
{
	struct plan_stream *stream = &built->plan;
	uint64_t id = event->class->id;

	for (uint32_t i = 0; i < event->binding_count; i++) {
		uint16_t request = event->bindings[i].request;

		stream->request_mask |= request < 32 ? UINT32_C(1) << request : 0;
	}
	if (!stream->is_dense || id >= EVENT_ID_DIRECT_MAX) {
		built->sparse_since = stream->is_dense ? event->index : built->sparse_since;
		stream->is_dense = false; /* make_sparse() makes a table for each plan */
		return;
	}
	if (id < stream->event_count && stream->events[id]) {
		note_twice(b, stream->events[id], event);
		return;
	}
	if (id >= built->room) {
		uint32_t room = built->room ? built->room : 16;

		while (room <= id) {
			room *= 2;
		}
		renew_tables(b, built, room);
	} else if (id < stream->event_count && !built->owns_tables) {
		renew_tables(b, built, built->room);
	}
	assert(id < built->room);
	assert(built->owns_tables || id >= stream->event_count);
	stream->events[id] = event;
	fill_skip(stream, event);
	if (id >= stream->event_count) {
		stream->event_count = (uint32_t)id + 1;
	}
}

ORDER_POINTERS(by_id, struct plan_event, UP(class->id) UP(index))

/* Ids too large for a table by id: a sorted list, which the plan owns. */
static void make_sparse(struct plan_builder *b, const struct plan *plan, struct plan_stream *stream,
			uint32_t since)
{
	struct plan_event **list = mem_alloc((plan->class_count + 1) * sizeof(struct plan_event *));
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->class_count; i++) {
		if (plan->classes[i]->stream == stream->class) {
			list[count++] = plan->classes[i];
		}
	}
	if (count > 1) {
		qsort(list, count, sizeof(struct plan_event *), by_id);
	}
	for (uint32_t i = 1; i < count; i++) {
		if (list[i - 1]->class->id == list[i]->class->id &&
		    list[i]->index >= b->known_count && list[i]->index >= since) {
			note_twice(b, list[i - 1], list[i]);
		}
	}
	stream->events = list;
	stream->event_count = count;
}

VEC_FIRST(first_from, struct plan_event *, uint64_t, (*one)->class->id < wanted)

struct plan_event *plan_event_find(const struct plan_stream *stream, uint64_t id)
{
	size_t at;

	if (stream->is_dense) {
		return id < stream->event_count ? stream->events[id] : NULL;
	}
	at = first_from(stream->events, stream->event_count, id);
	return at < stream->event_count && stream->events[at]->class->id == id ? stream->events[at]
									       : NULL;
}

/* ---- plans ---- */

static struct built_stream *find_built(const struct plan_builder *b,
				       const struct stream_class *class)
{
	for (size_t i = 0; i < b->streams.count; i++) {
		if (b->streams.at[i]->plan.class == class) {
			return b->streams.at[i];
		}
	}
	return NULL;
}

/* The newest stream class is first in the metadata: new ones lie before known ones. */
static void build_streams(struct plan_builder *b, const struct metadata *m)
{
	size_t first = b->streams.count;

	for (const struct stream_class *s = m->streams; s && !find_built(b, s); s = s->next) {
		struct built_stream *built =
			plan_build_stream(b, find_header(b, s->of ? s->of : m), s);

		*vec_push(&b->streams) = built;
	}
	for (size_t i = first, last = b->streams.count; i + 1 < last; i++) {
		struct built_stream *built = b->streams.at[i];

		b->streams.at[i] = b->streams.at[--last];
		b->streams.at[last] = built;
	}
}

static void add_class(struct plan_builder *b, struct plan_event *event)
{
	if (b->class_count == b->class_room) {
		uint32_t room = b->class_room ? b->class_room * 2 : 64;
		struct plan_event **more =
			arena_alloc(b->arena, room * sizeof(struct plan_event *));

		if (b->class_count > 0) {
			memcpy(more, b->classes, b->class_count * sizeof(struct plan_event *));
		}
		b->classes = more;
		b->class_room = room;
	}
	assert(event->index == b->class_count);
	b->classes[b->class_count++] = event;
}

static void build_events(struct plan_builder *b, const struct metadata *m)
{
	const struct event_class *class = b->last ? b->last->next : m->events;

	for (; class; class = class->next) {
		const struct stream_class *stream = metadata_stream_of(m, class);
		struct built_stream *built = stream ? find_built(b, stream) : NULL;
		struct plan_event *event;

		if (!built && stream) { /* implicit: the metadata has no other */
			built = plan_build_stream(b, find_header(b, m), stream);
			*vec_push(&b->streams) = built;
		}
		if (!built) {
			(void)err_raise(b->err, -EINVAL,
					"metadata: event \"%s\" belongs to stream %llu, "
					"which is not declared",
					class->name, (unsigned long long)class->stream_id);
			longjmp(b->fail, EINVAL);
		}
		b->of = built->header;
		event = plan_build_event(b, class, built);
		add_class(b, event);
		add_to_table(b, built, event);
		if (event->uses_header && built->plan.header != HEADER_NONE) {
			built->plan.header = HEADER_STEPS;
		}
		b->last = class;
	}
}

/* Before the first stream class the packet header may still change (CTF 2). */
static void build_header(struct plan_builder *b, const struct metadata *of)
{
	struct built_header *header = find_header(b, of);

	if (!header) {
		header = arena_alloc(b->arena, sizeof(*header));
		header->of = of;
		*vec_push(&b->headers) = header;
	}
	if (!header->is_final) {
		plan_build_header(b, header);
		header->is_final = of->streams || of->events;
	}
}

static void build_all(struct plan_builder *b, const struct metadata *m)
{
	build_header(b, m->part_count > 0 ? m->parts[0] : m);
	for (uint32_t i = 1; i < m->part_count; i++) {
		build_header(b, m->parts[i]);
	}
	build_streams(b, m);
	build_events(b, m);
}

/* Sets lead_mask: the stream class with the lowest id that has events for a request. */
static void find_leads(struct plan *plan)
{
	uint64_t lowest[32];

	memset(lowest, 0xFF, sizeof(lowest));
	for (uint32_t i = 0; i < plan->stream_count; i++) {
		const struct plan_stream *stream = &plan->streams[i];

		for (unsigned int k = 0; k < 32; k++) {
			if ((stream->request_mask >> k & 1) && stream->id < lowest[k]) {
				lowest[k] = stream->id;
			}
		}
	}
	for (uint32_t i = 0; i < plan->stream_count; i++) {
		struct plan_stream *stream = &plan->streams[i];

		for (unsigned int k = 0; k < 32; k++) {
			stream->lead_mask |= (uint32_t)(lowest[k] == stream->id) << k;
		}
		stream->lead_mask &= stream->request_mask;
	}
}

/* The first LTTng had no environment. */
static void note_tracer(struct plan *plan, const struct metadata *m)
{
	uint32_t version = metadata_other_tracer(m) ? 0 : metadata_tracer_version(m);

	plan->may_end_early = version > 0 && version < 21100;
	plan->may_overlap = (version > 0 && version < 20400) || (!m->env && m->major == 1);
}

/* Fills the plans of the parts. */
static void make_parts(const struct plan_builder *b, const struct metadata *m, struct plan *whole)
{
	whole->part_count = m->part_count;
	whole->parts = mem_alloc(m->part_count * sizeof(*whole->parts));
	for (uint32_t i = 0; i < m->part_count; i++) {
		const struct built_header *header = find_header(b, m->parts[i]);
		struct plan *part = &whole->parts[i];

		*part = header->plan;
		part->whole = whole;
		part->serial = whole->serial;
		part->metadata = m;
		part->of = header->of;
		note_tracer(part, header->of);
		part->slot_count = whole->slot_count;
		part->class_count = whole->class_count;
		part->classes = whole->classes;
		part->streams = mem_alloc((whole->stream_count + 1) * sizeof(*part->streams));
		for (uint32_t k = 0; k < whole->stream_count; k++) {
			if (b->streams.at[k]->header == header) {
				part->streams[part->stream_count++] = whole->streams[k];
			}
		}
	}
}

/* A plan of all that has been built so far. */
static struct plan *make_plan(struct plan_builder *b, const struct metadata *m)
{
	static atomic_uint_fast64_t made;
	struct plan *plan = mem_alloc(sizeof(*plan));

	*plan = b->headers.at[0]->plan;
	plan->refs = 1;
	plan->serial = atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) + 1;
	plan->metadata = plan->of = m;
	note_tracer(plan, m);
	plan->slot_count = PLAN_SLOTS_MAX;
	plan->class_count = b->class_count;
	plan->classes = b->classes;
	assert(!b->last || plan->class_count == b->last->index + 1);
	plan->stream_count = (uint32_t)b->streams.count;
	plan->streams = mem_alloc((plan->stream_count + 1) * sizeof(*plan->streams));
	for (uint32_t i = 0; i < plan->stream_count; i++) {
		struct plan_stream *stream = &plan->streams[i];

		*stream = b->streams.at[i]->plan;
		b->streams.at[i]->owns_tables = false;
		if (!stream->is_dense) {
			make_sparse(b, plan, stream, b->streams.at[i]->sparse_since);
		}
		if (!stream->is_dense ||
		    (stream->header != HEADER_COMPACT && stream->header != HEADER_LARGE)) {
			stream->skips = NULL;
		}
	}
	find_leads(plan);
	if (m->part_count > 0) {
		make_parts(b, m, plan);
	}
	return plan;
}

static int check_metadata(const struct plan_builder *b, const struct metadata *m, struct err *err)
{
	const struct stream_class *first =
		b->streams.count > 0 ? b->streams.at[0]->plan.class : NULL;

	if (!m->has_trace) {
		return err_raise(err, -EINVAL, "metadata has no trace block");
	}
	if (m->streams && first && metadata_stream_is_implicit(first)) {
		return err_raise(err, -EINVAL,
				 "metadata has a stream behind events that were read without one");
	}
	return 0;
}

int plan_build(struct plan_builder *builder, const struct metadata *metadata,
	       struct plan **ret_plan, struct err *err)
{
	int r = check_metadata(builder, metadata, err);

	if (r < 0) {
		return r;
	}
	assert(!builder->arena->fail); /* no parser is active */
	builder->metadata = metadata;
	builder->known_count = builder->class_count;
	builder->err = err;
	err->text[0] = '\0';
	builder->arena->fail = &builder->fail;
	builder->scratch.fail = &builder->fail;
	r = setjmp(builder->fail);
	if (r == 0) {
		build_all(builder, metadata);
		*ret_plan = make_plan(builder, metadata);
		if (CHECKS_ON) {
			plan_check(*ret_plan);
		}
	} else if (!err->text[0]) {
		(void)err_raise(err, -ENOMEM, "out of memory while compiling metadata");
		r = ENOMEM;
	}
	builder->arena->fail = NULL;
	return -r;
}

struct plan *plan_ref(struct plan *plan)
{
	struct plan *whole = plan->whole ? plan->whole : plan;
	unsigned int refs = atomic_fetch_add_explicit(&whole->refs, 1, memory_order_relaxed);

	assert(refs > 0); /* a plan without references is freed */
	(void)refs;
	return plan;
}

void plan_unref(struct plan *plan)
{
	plan = plan && plan->whole ? plan->whole : plan;
	/* Acquire-release: all reads by other holders come before the last one frees. */
	if (!plan || atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1) {
		return;
	}
	for (uint32_t i = 0; i < plan->stream_count; i++) {
		if (!plan->streams[i].is_dense) {
			free(plan->streams[i].events);
		}
	}
	for (uint32_t i = 0; i < plan->part_count; i++) {
		free(plan->parts[i].streams);
	}
	free(plan->parts);
	free(plan->streams);
	free(plan);
}

const struct plan_stream *plan_stream(const struct plan *plan, uint64_t id)
{
	for (uint32_t i = 0; i < plan->stream_count; i++) {
		if (plan->streams[i].id == id) {
			return &plan->streams[i];
		}
	}
	return NULL;
}

const struct plan_stream *plan_stream_own(const struct plan *plan, uint64_t own_id)
{
	for (uint32_t i = 0; i < plan->stream_count; i++) {
		if (plan->streams[i].own_id == own_id) {
			return &plan->streams[i];
		}
	}
	return NULL;
}

struct plan *plan_part(struct plan *plan, uint32_t part)
{
	assert(part < plan->part_count || (part == 0 && !plan->parts));
	return plan->parts ? &plan->parts[part] : plan;
}

bool plan_has_event(const struct plan *plan, const char *name)
{
	for (uint32_t i = 0; i < plan->class_count; i++) {
		if (strcmp(plan->classes[i]->class->name, name) == 0 ||
		    strcmp(plan->classes[i]->name, name) == 0) {
			return true;
		}
	}
	return false;
}
