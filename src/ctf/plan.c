/*
 * plan: builds plans from metadata: which programs there are, and the tables that
 * find them.  The programs themselves come from compile.c.
 */
#include "ctf/plan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/mem.h"
#include "ctf/compile.h"

struct plan_builder {
	struct arena *arena;
	const struct plan_request *requests;
	size_t request_count;
	bool visit_all;
	VEC(struct plan_event *) events; /* compiled, by class index */
	/* Packet-level slots and nodes are the same for all plans of a trace. */
	struct node header_node;
	uint16_t header_slots;
	uint32_t header_modulus, header_remainder;
	struct err *err;
	jmp_buf fail;
};

struct plan_builder *plan_builder_new(struct arena *arena, const struct plan_request *requests,
				      size_t request_count, bool visit_all)
{
	struct plan_builder *builder = mem_alloc(sizeof(*builder));

	assert(request_count < UINT16_MAX);
	builder->arena = arena;
	builder->requests = requests;
	builder->request_count = request_count;
	builder->visit_all = visit_all;
	return builder;
}

void plan_builder_free(struct plan_builder *builder)
{
	if (!builder) {
		return;
	}
	vec_fini(&builder->events);
	free(builder);
}

/* ---- lookups in compiled structs ---- */

static bool is_integer(const struct type *type)
{
	return type->kind == TYPE_INT || type->kind == TYPE_ENUM;
}

/* The integer with @role at or below @node, the last if there are more (CTF2-SPEC-2.0, 6). */
static const struct node *node_with_role(const struct node *node, uint16_t role)
{
	const struct node *found = NULL;

	if (!node->type) {
		return NULL;
	}
	if (is_integer(node->type)) {
		return node->type->roles & role && node->slot != SLOT_NONE ? node : NULL;
	}
	/* Not into arrays and options, which may not be there. */
	for (size_t i = 0; node->type->kind == TYPE_STRUCT && i < node->type->field_count; i++) {
		const struct node *in_member = node_with_role(&node->members[i], role);

		found = in_member ? in_member : found;
	}
	return found;
}

/*
 * The integer of a root with a meaning: the member @name in CTF 1.8, what has @role in
 * CTF 2 (0: none has, the name decides).  NULL if there is none.
 */
static const struct node *node_of(const struct metadata *m, const struct node *root,
				  const char *name, uint16_t role)
{
	if (!root->members) {
		return NULL;
	}
	if (m->major == 2 && role) {
		return node_with_role(root, role);
	}
	for (size_t i = 0; i < root->type->field_count; i++) {
		if (strcmp(type_name(root->type->fields[i].name), name) == 0 &&
		    is_integer(root->type->fields[i].type)) {
			return &root->members[i];
		}
	}
	return NULL;
}

static uint16_t slot_of(const struct metadata *m, const struct node *root, const char *name,
			uint16_t role)
{
	const struct node *node = node_of(m, root, name, role);

	return node ? node->slot : SLOT_NONE;
}

static const struct type *member_of(const struct type *type, const char *name)
{
	for (size_t i = 0; type && i < type->field_count; i++) {
		if (strcmp(type_name(type->fields[i].name), name) == 0) {
			return type->fields[i].type;
		}
	}
	return NULL;
}

/* The first clock that an integer in @type is mapped to. */
static const char *mapped_clock(const struct type *type)
{
	if (!type) {
		return NULL;
	}
	if (type->clock) {
		return type->clock;
	}
	for (size_t i = 0; i < type->field_count; i++) {
		const char *clock = mapped_clock(type->fields[i].type);

		if (clock) {
			return clock;
		}
	}
	return NULL;
}

static void compile_init(struct plan_builder *b, const struct metadata *m, struct compile *c)
{
	memset(c, 0, sizeof(*c));
	c->arena = b->arena;
	c->native = m->order;
	c->by_roles = m->major == 2;
	c->err = b->err;
	c->fail = &b->fail;
}

/* ---- packet header and stream classes ---- */

/* The name of the packet header's member that holds the trace's UUID. */
static const char *uuid_member(const struct metadata *m)
{
	if (m->major != 2) {
		return "uuid";
	}
	for (size_t i = 0; m->packet_header && i < m->packet_header->field_count; i++) {
		const struct type_field *field = &m->packet_header->fields[i];

		if (field->type->roles & ROLE_UUID && field->type->kind == TYPE_ARRAY &&
		    field->type->length == 16) {
			return type_name(field->name);
		}
	}
	return "";
}

static void build_packet_header(struct plan_builder *b, const struct metadata *m, struct plan *plan)
{
	struct compile_want uuid = { .root = ROOT_PACKET_HEADER, .name = uuid_member(m) };
	struct compile c;

	compile_init(b, m, &c);
	c.keep_integers = true;
	c.wants = &uuid;
	c.want_count = 1;
	uuid.slot = c.slot_next++;
	plan->header_steps = compile_steps(&c, ROOT_PACKET_HEADER, &m->packet_header, 1, 4096, 0);
	b->header_node = c.roots[ROOT_PACKET_HEADER];
	b->header_slots = c.slot_next;
	b->header_modulus = c.modulus;
	b->header_remainder = c.remainder;
	plan->slot_uuid = uuid.found ? uuid.slot : SLOT_NONE;
	plan->slot_magic = slot_of(m, &b->header_node, "magic", ROLE_MAGIC);
	plan->slot_stream_id = slot_of(m, &b->header_node, "stream_id", ROLE_STREAM_CLASS_ID);
	plan->slot_instance_id = slot_of(m, &b->header_node, "stream_instance_id", ROLE_STREAM_ID);
}

static bool is_uint(const struct type *type, uint32_t size_bits)
{
	return type && is_integer(type) && !type->is_signed && !type->is_variable &&
	       !type->is_reversed && type->size_bits == size_bits;
}

/* `variant v { struct { ... } compact; struct { ... } extended }`: one of the two. */
static const struct type *header_form(const struct type *header, const char *form)
{
	const struct type *choices = member_of(header, "v");
	const struct type *chosen = NULL;

	if (header->field_count == 2 && choices && choices->kind == TYPE_VARIANT &&
	    !choices->is_optional && choices->tag->count == 1 && choices->tag->up == 0 &&
	    (!choices->tag->is_absolute || choices->tag->root == ROOT_EVENT_HEADER) &&
	    strcmp(choices->tag->names[0], header->fields[0].name) == 0) {
		chosen = member_of(choices, form);
	}
	return chosen && chosen->kind == TYPE_STRUCT ? chosen : NULL;
}

/* `struct { uintN timestamp }` */
static const struct type *compact_timestamp(const struct type *header)
{
	const struct type *compact = header_form(header, "compact");

	return compact && compact->field_count == 1 ? member_of(compact, "timestamp") : NULL;
}

/* `struct { uint32 id; uint64 timestamp }` */
static bool has_usual_extended(const struct type *header, enum byte_order native)
{
	const struct type *extended = header_form(header, "extended");
	const struct type *id = member_of(extended, "id"),
			  *stamp = member_of(extended, "timestamp");

	return extended && extended->field_count == 2 && is_uint(id, 32) && is_uint(stamp, 64) &&
	       extended->fields[0].type == id && type_is_timestamp(stamp) && id->align_bits >= 8 &&
	       stamp->align_bits >= 8 &&
	       (id->order == ORDER_NATIVE ? native : id->order) == ORDER_LE &&
	       (stamp->order == ORDER_NATIVE ? native : stamp->order) == ORDER_LE;
}

/* "compact" is for all ids but the highest, "extended" for that. */
static bool has_usual_cases(const struct type *header, uint64_t extended)
{
	const struct type *id = member_of(header, "id"), *choices = member_of(header, "v");

	if (choices->cases) {
		const struct type_case *cases = choices->cases;

		return choices->case_count == 2 && cases[0].low == 0 &&
		       cases[0].high == extended - 1 && cases[1].low == extended &&
		       cases[1].high == extended &&
		       choices->fields[cases[0].field].type == member_of(choices, "compact") &&
		       choices->fields[cases[1].field].type == member_of(choices, "extended");
	}
	return id->kind == TYPE_ENUM && id->label_count == 2 &&
	       strcmp(id->labels[0].name, "compact") == 0 && id->labels[0].low == 0 &&
	       id->labels[0].high == extended - 1 && id->labels[1].low == extended &&
	       id->labels[1].high == extended;
}

/* Recognises by its shape the header that LTTng writes, which has a short cut. */
static enum plan_header header_kind(const struct plan_stream *stream, const struct type *header,
				    enum byte_order native)
{
	const struct type *id = header ? member_of(header, "id") : NULL;
	const struct type *stamp = id ? compact_timestamp(header) : NULL;
	enum byte_order id_order, stamp_order;

	if (!stamp || !type_is_timestamp(stamp) || !stream->clock || header->align_bits < 8 ||
	    __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || !has_usual_extended(header, native)) {
		return HEADER_STEPS;
	}
	id_order = id->order == ORDER_NATIVE ? native : id->order;
	stamp_order = stamp->order == ORDER_NATIVE ? native : stamp->order;
	if (id_order != ORDER_LE || stamp_order != ORDER_LE) {
		return HEADER_STEPS;
	}
	if (is_uint(id, 5) && id->align_bits == 1 && is_uint(stamp, 27) && stamp->align_bits == 1 &&
	    has_usual_cases(header, 31)) {
		return HEADER_COMPACT;
	}
	if (is_uint(id, 16) && is_uint(stamp, 32) && id->align_bits >= 8 &&
	    stamp->align_bits >= 8 && header->align_bits >= stamp->align_bits &&
	    has_usual_cases(header, 65535)) {
		return HEADER_LARGE;
	}
	return HEADER_STEPS;
}

static void packet_slots(const struct metadata *m, struct plan_stream *stream,
			 const struct node *context)
{
	const struct node *discarded = node_of(m, context, "events_discarded", ROLE_DISCARDED);

	stream->slot_timestamp_begin = slot_of(m, context, "timestamp_begin", ROLE_TIMESTAMP);
	stream->slot_timestamp_end = slot_of(m, context, "timestamp_end", ROLE_TIMESTAMP_END);
	stream->slot_content_size = slot_of(m, context, "content_size", ROLE_CONTENT_SIZE);
	stream->slot_packet_size = slot_of(m, context, "packet_size", ROLE_PACKET_SIZE);
	stream->slot_seq_num = slot_of(m, context, "packet_seq_num", ROLE_SEQ_NUM);
	stream->slot_discarded = discarded ? discarded->slot : SLOT_NONE;
	stream->slot_cpu_id = slot_of(m, context, "cpu_id", 0);
	stream->discarded_bits = discarded ? (uint8_t)discarded->type->size_bits : 64;
}

static const struct clock_class *stream_clock(const struct metadata *m,
					      const struct stream_class *class)
{
	const char *name = class->clock;

	if (!name) {
		name = mapped_clock(class->event_header);
	}
	if (!name) {
		name = mapped_clock(class->packet_context);
	}
	if (!name) {
		return NULL;
	}
	return metadata_clock(m, name);
}

/* The programs of a stream class; leaves @c ready to compile its events. */
static void build_stream(struct plan_builder *b, const struct metadata *m,
			 const struct stream_class *class, struct plan_stream *stream,
			 struct compile *c)
{
	const struct type *header = class->event_header;

	stream->id = class->id;
	stream->class = class;
	stream->clock = stream_clock(m, class);
	compile_init(b, m, c);
	c->keep_integers = true;
	c->roots[ROOT_PACKET_HEADER] = b->header_node;
	c->slot_next = b->header_slots;
	stream->packet_steps = compile_steps(c, ROOT_PACKET_CONTEXT, &class->packet_context, 1,
					     b->header_modulus, b->header_remainder);
	packet_slots(m, stream, &c->roots[ROOT_PACKET_CONTEXT]);
	stream->header_align_bits = header ? header->align_bits : 1;
	stream->header_steps = compile_steps(c, ROOT_EVENT_HEADER, &header, 1, 1, 0);
	stream->has_id = c->has_id;
	stream->header = header ? header_kind(stream, header, m->order) : HEADER_NONE;
	if (stream->header == HEADER_LARGE || stream->header == HEADER_COMPACT) {
		const struct type *extended = header_form(header, "extended");

		stream->extended_align_bits = extended->align_bits;
		stream->extended_clock_align_bits = member_of(extended, "timestamp")->align_bits;
	}
	if (stream->header == HEADER_LARGE) {
		uint32_t align_bits = compact_timestamp(header)->align_bits;

		stream->header_clock_offset_bits = (16 + align_bits - 1) / align_bits * align_bits;
	}
	c->keep_integers = false;
}

/* ---- event classes ---- */

static bool name_matches(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);

	if (len > 0 && pattern[len - 1] == '*') {
		return strncmp(pattern, name, len - 1) == 0;
	}
	return strcmp(pattern, name) == 0;
}

struct event_wants {
	VEC(struct plan_binding) bindings;
	VEC(struct compile_want) wants;
};

static void collect_wants(struct plan_builder *b, const char *name, uint16_t slot,
			  struct event_wants *ew)
{
	static const char context[] = "context.";
	static const size_t context_len = sizeof(context) - 1;
	uint32_t group = UINT32_MAX;

	for (size_t i = 0; i < b->request_count; i++) {
		const struct plan_request *request = &b->requests[i];
		struct plan_binding *binding;

		if (request->group == group || !name_matches(request->event, name)) {
			continue;
		}
		group = request->group;
		binding = vec_push(&ew->bindings);
		*binding = (struct plan_binding){ .request = (uint16_t)i, .base = slot };
		for (unsigned int f = 0; f < PLAN_FIELDS_MAX && request->fields[f]; f++) {
			const char *field = request->fields[f];
			bool in_context = strncmp(field, context, context_len) == 0;

			*vec_push(&ew->wants) = (struct compile_want){
				.root = in_context ? ROOT_EVENT_CONTEXT : ROOT_FIELDS,
				.name = in_context ? field + context_len : field,
				.slot = slot++,
			};
		}
	}
}

static void note_found(struct plan_builder *b, struct event_wants *ew)
{
	size_t want = 0;

	for (size_t i = 0; i < ew->bindings.count; i++) {
		struct plan_binding *binding = &ew->bindings.at[i];
		const struct plan_request *request = &b->requests[binding->request];

		for (unsigned int f = 0; f < PLAN_FIELDS_MAX && request->fields[f]; f++, want++) {
			binding->present |= (uint16_t)(ew->wants.at[want].found << f);
			binding->is_signed |= (uint16_t)(ew->wants.at[want].is_signed << f);
		}
	}
	assert(want == ew->wants.count);
}

/*
 * A program that is only [ALIGN] [NEED loads] [SKIP] END has the same size in every
 * event: keep the loads, and the rest as two numbers.
 */
static void find_fixed(struct plan_event *event)
{
	const struct step *step = event->steps;
	uint32_t align_bits = 1;
	uint64_t loads = 0;

	if (step->op == STEP_ALIGN) {
		align_bits = (uint32_t)step->size_bits;
		step++;
	}
	if (step->op == STEP_NEED) {
		step++;
	}
	event->steps = step;
	while (step->op >= STEP_U8 && step->op <= STEP_BYTES) {
		loads++;
		step++;
	}
	if (step->op == STEP_SKIP) {
		event->fixed_bits = (uint32_t)step->size_bits;
		step++;
	}
	if (step->op == STEP_END && loads <= UINT8_MAX && align_bits <= UINT16_MAX) {
		event->is_fixed = true;
		event->align_bits = (uint16_t)align_bits;
		event->load_count = (uint8_t)loads;
	}
}

/* Makes @load of a step; false if it has no such form. */
static bool quick_load(const struct step *step, struct plan_load *load)
{
	uint64_t all = step->size_bits < 64 ? (UINT64_C(1) << step->size_bits) - 1 : UINT64_MAX;

	load->offset = step->offset_bits / 8;
	load->slot = step->slot;
	load->is_bytes = step->op == STEP_BYTES;
	load->mask = load->is_bytes ? step->count : all;
	load->sign = step->op >= STEP_S8 && step->op <= STEP_S64
			     ? UINT64_C(1) << (step->size_bits - 1)
			     : 0;
	return step->slot != SLOT_NONE &&
	       ((step->op >= STEP_U8 && step->op <= STEP_S64) || load->is_bytes);
}

/* Keeps the loads of a class of constant layout in a form that is quicker to go through. */
static void find_quick(struct plan_builder *b, struct plan_event *event)
{
	struct plan_load *loads;

	if (!event->is_fixed || event->fixed_bits % 8 != 0 || event->fixed_bits / 8 > UINT16_MAX ||
	    event->align_bits / 8 > UINT8_MAX || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
		return;
	}
	loads = arena_alloc(b->arena, (event->load_count + 1u) * sizeof(*loads));
	for (unsigned int i = 0; i < event->load_count; i++) {
		if (!quick_load(&event->steps[i], &loads[i])) {
			return;
		}
	}
	event->quick = loads;
	event->quick_count = event->load_count;
	event->is_quick = true;
}

static struct plan_event *build_event(struct plan_builder *b, const struct event_class *class,
				      const struct plan_stream *stream, struct compile *c,
				      struct event_wants *ew)
{
	const struct type *types[3] = { stream->class->event_context, class->context,
					class->fields };
	struct plan_event *event = arena_alloc(b->arena, sizeof(*event));
	const struct step *steps;
	uint16_t base = c->slot_next;

	collect_wants(b, class->name, base, ew);
	if (base + ew->wants.count > PLAN_SLOTS_MAX) {
		(void)err_raise(b->err, -EINVAL, "event \"%s\": too many fields asked for",
				class->name);
		longjmp(b->fail, EINVAL);
	}
	c->slot_next = (uint16_t)(base + ew->wants.count);
	c->wants = ew->wants.at;
	c->want_count = ew->wants.count;
	c->visit_all = b->visit_all;
	c->uses_event_header = false;
	/* After a header of whole bytes the payload is at a byte boundary. */
	steps = compile_steps(
		c, ROOT_STREAM_EVENT_CONTEXT, types, 3,
		stream->header == HEADER_COMPACT || stream->header == HEADER_LARGE ? 8 : 1, 0);
	note_found(b, ew);
	event->class = class;
	event->index = class->index;
	event->uses_header = c->uses_event_header;
	event->steps = steps;
	event->bindings = arena_copy(b->arena, ew->bindings.at,
				     ew->bindings.count * sizeof(*ew->bindings.at));
	event->binding_count = (uint32_t)ew->bindings.count;
	find_fixed(event);
	if (!event->is_fixed) {
		event->steps = steps;
	}
	find_quick(b, event);
	c->slot_next = base; /* events reuse the same slots */
	return event;
}

/* ---- tables ---- */

static int by_id(const void *left, const void *right)
{
	const struct plan_event *a = *(struct plan_event *const *)left;
	const struct plan_event *b = *(struct plan_event *const *)right;

	return a->class->id < b->class->id ? -1 : a->class->id > b->class->id;
}

static void build_skips(struct plan_stream *stream)
{
	if (!stream->is_dense ||
	    (stream->header != HEADER_COMPACT && stream->header != HEADER_LARGE)) {
		return;
	}
	stream->skips = mem_alloc(stream->event_count * sizeof(*stream->skips));
	stream->is_packed = stream->header_align_bits == 8 && stream->extended_align_bits == 8 &&
			    stream->extended_clock_align_bits == 8;
	for (uint32_t id = 0; id < stream->event_count; id++) {
		const struct plan_event *event = stream->events[id];
		struct plan_skip *skip = &stream->skips[id];

		if (event && event->is_quick) {
			skip->index = event->index;
			skip->bytes = (uint16_t)(event->fixed_bits / 8);
			skip->align_mask =
				event->align_bits > 8 ? (uint8_t)(event->align_bits / 8 - 1) : 0;
			skip->use = event->binding_count == 0 ? SKIP_PASS : SKIP_LOAD;
			stream->is_packed &= skip->align_mask == 0;
		}
	}
}

static void build_table(struct plan *plan, struct plan_stream *stream)
{
	uint64_t id_max = 0;
	uint32_t count = 0;
	struct plan_event **table;

	for (uint32_t i = 0; i < plan->class_count; i++) {
		if (plan->classes[i]->class->stream_id == stream->id) {
			count++;
			if (plan->classes[i]->class->id > id_max) {
				id_max = plan->classes[i]->class->id;
			}
		}
	}
	stream->is_dense = id_max < EVENT_ID_DIRECT_MAX;
	stream->event_count = stream->is_dense ? (uint32_t)id_max + 1 : count;
	table = mem_alloc((stream->event_count + 1) * sizeof(struct plan_event *));
	stream->events = table;
	for (uint32_t i = 0, at = 0; i < plan->class_count; i++) {
		struct plan_event *event = plan->classes[i];

		if (event->class->stream_id == stream->id) {
			table[stream->is_dense ? event->class->id : at++] = event;
			for (uint32_t k = 0; k < event->binding_count; k++) {
				uint16_t request = event->bindings[k].request;

				stream->request_mask |= request < 32 ? UINT32_C(1) << request : 0;
			}
		}
	}
	build_skips(stream);
	if (!stream->is_dense) {
		qsort(table, count, sizeof(struct plan_event *), by_id);
	}
}

struct plan_event *plan_event_find(const struct plan_stream *stream, uint64_t id)
{
	uint32_t low = 0, high = stream->event_count;

	if (stream->is_dense) {
		return id < stream->event_count ? stream->events[id] : NULL;
	}
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (stream->events[mid]->class->id < id) {
			low = mid + 1;
		} else {
			high = mid;
		}
	}
	return low < stream->event_count && stream->events[low]->class->id == id
		       ? stream->events[low]
		       : NULL;
}

/* ---- plans ---- */

static void build_all(struct plan_builder *b, const struct metadata *m, struct plan *plan,
		      struct event_wants *ew)
{
	struct compile *compiles =
		arena_alloc(b->arena, (plan->stream_count + 1) * sizeof(*compiles));
	uint32_t i = 0;

	build_packet_header(b, m, plan);
	for (const struct stream_class *s = m->streams; s; s = s->next, i++) {
		build_stream(b, m, s, &plan->streams[i], &compiles[i]);
	}
	for (const struct event_class *e = m->events; e; e = e->next) {
		struct plan_stream *stream = NULL;

		for (i = 0; i < plan->stream_count && !stream; i++) {
			stream = plan->streams[i].id == e->stream_id ? &plan->streams[i] : NULL;
		}
		if (!stream) {
			(void)err_raise(b->err, -EINVAL,
					"metadata: event \"%s\" is of stream %llu, "
					"which is not declared",
					e->name, (unsigned long long)e->stream_id);
			longjmp(b->fail, EINVAL);
		}
		if (e->index >= b->events.count) {
			ew->bindings.count = 0;
			ew->wants.count = 0;
			*vec_push(&b->events) =
				build_event(b, e, stream, &compiles[stream - plan->streams], ew);
		}
		plan->classes[e->index] = b->events.at[e->index];
		if (plan->classes[e->index]->uses_header && stream->header != HEADER_NONE) {
			stream->header = HEADER_STEPS;
		}
	}
}

static int check_metadata(const struct metadata *m, struct err *err)
{
	if (!m->has_trace) {
		return err_raise(err, -EINVAL, "metadata has no trace block");
	}
	if (!m->streams && m->events) {
		return err_raise(err, -EINVAL, "metadata has events but no stream");
	}
	return 0;
}

static uint32_t count_streams(const struct metadata *m)
{
	uint32_t count = 0;

	for (const struct stream_class *s = m->streams; s; s = s->next) {
		count++;
	}
	return count;
}

int plan_build(struct plan_builder *builder, const struct metadata *metadata,
	       struct plan **ret_plan, struct err *err)
{
	struct event_wants ew = { 0 };
	struct plan *plan;
	int r = check_metadata(metadata, err);

	if (r < 0) {
		return r;
	}
	plan = mem_alloc(sizeof(*plan));
	plan->refs = 1;
	plan->metadata = metadata;
	plan->slot_count = PLAN_SLOTS_MAX;
	plan->stream_count = count_streams(metadata);
	plan->streams = mem_alloc((plan->stream_count + 1) * sizeof(*plan->streams));
	plan->class_count = metadata->event_count;
	plan->classes = mem_alloc((plan->class_count + 1) * sizeof(struct plan_event *));
	builder->err = err;
	err->text[0] = '\0';
	builder->arena->fail = &builder->fail;
	r = setjmp(builder->fail);
	if (r == 0) {
		build_all(builder, metadata, plan, &ew);
		for (uint32_t i = 0; i < plan->stream_count; i++) {
			build_table(plan, &plan->streams[i]);
		}
		*ret_plan = plan;
	} else {
		plan_unref(plan);
		if (!err->text[0]) {
			(void)err_raise(err, -ENOMEM, "out of memory while compiling metadata");
			r = ENOMEM;
		}
	}
	builder->arena->fail = NULL;
	vec_fini(&ew.bindings);
	vec_fini(&ew.wants);
	return -r;
}

struct plan *plan_ref(struct plan *plan)
{
	(void)atomic_fetch_add_explicit(&plan->refs, 1, memory_order_relaxed);
	return plan;
}

void plan_unref(struct plan *plan)
{
	/* acquire-release: the last holder must see what the others read before it frees. */
	if (!plan || atomic_fetch_sub_explicit(&plan->refs, 1, memory_order_acq_rel) != 1) {
		return;
	}
	for (uint32_t i = 0; i < plan->stream_count; i++) {
		free(plan->streams[i].events);
		free(plan->streams[i].skips);
	}
	free(plan->streams);
	free(plan->classes);
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
