/*
 * plan-class: the packet header, stream classes and event classes of a plan: their steps, the slots
 * of the fields with a meaning (sizes, time stamps, ids), and the bindings of requests.  compile.c
 * makes the steps.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "ctf/plan/emit.h"
#include "ctf/plan/plan-builder.h"

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
	/* Not in arrays and variants: the field could be missing. */
	for (size_t i = 0; node->type->kind == TYPE_STRUCT && i < node->type->field_count; i++) {
		const struct node *in_member = node_with_role(&node->members[i], role);

		found = in_member ? in_member : found;
	}
	return found;
}

/*
 * The integer of a root with a meaning: the member @name in CTF 1.8, the field with @role in CTF 2
 * (@role 0: the name decides there too).  NULL if the root has none.
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

const struct type *plan_member_of(const struct type *type, const char *name)
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
	c->scratch = b->arena; /* paths of events lead to these nodes */
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

void plan_build_header(struct plan_builder *b, struct built_header *header)
{
	const struct metadata *m = header->of;
	struct compile_want uuid = { .root = ROOT_PACKET_HEADER,
				     .name = uuid_member(m),
				     .kind = WANT_TEXT };
	struct plan *plan = &header->plan;
	struct compile c;

	compile_init(b, m, &c);
	c.keep_integers = true;
	c.wants = &uuid;
	c.want_count = 1;
	uuid.slot = c.slot_next++;
	plan->header_steps = compile_steps(&c, ROOT_PACKET_HEADER, &m->packet_header, 1, 4096, 0);
	assert(c.remainder < c.modulus);
	header->node = c.roots[ROOT_PACKET_HEADER];
	header->slots = c.slot_next;
	header->modulus = c.modulus;
	header->remainder = c.remainder;
	plan->slot_uuid = uuid.type ? uuid.slot : SLOT_NONE;
	plan->slot_magic = slot_of(m, &header->node, "magic", ROLE_MAGIC);
	plan->slot_stream_id = slot_of(m, &header->node, "stream_id", ROLE_STREAM_CLASS_ID);
	plan->slot_instance_id = slot_of(m, &header->node, "stream_instance_id", ROLE_STREAM_ID);
}

static bool is_uint(const struct type *type, uint32_t size_bits)
{
	return type && is_integer(type) && !type->is_signed && !type->is_variable &&
	       !type->is_reversed && type->size_bits == size_bits;
}

/* One option of `variant v { struct { ... } compact; struct { ... } extended }`. */
static const struct type *header_form(const struct type *header, const char *form)
{
	const struct type *choices = plan_member_of(header, "v");
	const struct type *chosen = NULL;

	if (header->field_count == 2 && choices && choices->kind == TYPE_VARIANT &&
	    !choices->is_optional && choices->tag->count == 1 && choices->tag->up == 0 &&
	    (!choices->tag->is_absolute || choices->tag->root == ROOT_EVENT_HEADER) &&
	    strcmp(choices->tag->names[0], header->fields[0].name) == 0) {
		chosen = plan_member_of(choices, form);
	}
	return chosen && chosen->kind == TYPE_STRUCT ? chosen : NULL;
}

/* `struct { uintN timestamp }` */
static const struct type *compact_timestamp(const struct type *header)
{
	const struct type *compact = header_form(header, "compact");

	return compact && compact->field_count == 1 ? plan_member_of(compact, "timestamp") : NULL;
}

/* `struct { uint32 id; uint64 timestamp }` */
static bool has_usual_extended(const struct metadata *m, const struct type *header)
{
	const struct type *extended = header_form(header, "extended");
	const struct type *id = plan_member_of(extended, "id"),
			  *stamp = plan_member_of(extended, "timestamp");

	return extended && extended->field_count == 2 && is_uint(id, 32) && is_uint(stamp, 64) &&
	       extended->fields[0].type == id && type_is_timestamp(stamp, m->major) &&
	       id->align_bits >= 8 && stamp->align_bits >= 8 &&
	       (id->order == ORDER_NATIVE ? m->order : id->order) == ORDER_LE &&
	       (stamp->order == ORDER_NATIVE ? m->order : stamp->order) == ORDER_LE;
}

/* All ids but the highest select "compact", and the highest selects "extended". */
static bool has_usual_cases(const struct type *header, uint64_t extended)
{
	const struct type *id = plan_member_of(header, "id"),
			  *choices = plan_member_of(header, "v");

	if (choices->cases) {
		const struct type_case *cases = choices->cases;

		return choices->case_count == 2 && cases[0].low == 0 &&
		       cases[0].high == extended - 1 && cases[1].low == extended &&
		       cases[1].high == extended &&
		       choices->fields[cases[0].field].type == plan_member_of(choices, "compact") &&
		       choices->fields[cases[1].field].type == plan_member_of(choices, "extended");
	}
	return id->kind == TYPE_ENUM && id->label_count == 2 &&
	       strcmp(id->labels[0].name, "compact") == 0 && id->labels[0].low == 0 &&
	       id->labels[0].high == extended - 1 && id->labels[1].low == extended &&
	       id->labels[1].high == extended;
}

/* Recognises the headers that LTTng writes by their shape; decoder.h reads them directly. */
static enum plan_header header_kind(const struct metadata *m, const struct plan_stream *stream,
				    const struct type *header)
{
	const struct type *id = header ? plan_member_of(header, "id") : NULL;
	const struct type *stamp = id ? compact_timestamp(header) : NULL;
	enum byte_order id_order, stamp_order;

	if (!stamp || !type_is_timestamp(stamp, m->major) || !stream->clock ||
	    header->align_bits < 8 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ ||
	    !has_usual_extended(m, header)) {
		return HEADER_STEPS;
	}
	id_order = id->order == ORDER_NATIVE ? m->order : id->order;
	stamp_order = stamp->order == ORDER_NATIVE ? m->order : stamp->order;
	if (id_order != ORDER_LE || stamp_order != ORDER_LE) {
		return HEADER_STEPS;
	}
	if (is_uint(id, 5) && id->align_bits == 1 && is_uint(stamp, 27) && stamp->align_bits == 1 &&
	    has_usual_cases(header, 31)) {
		return HEADER_COMPACT;
	}
	if (is_uint(id, 16) && is_uint(stamp, 32) && id->align_bits >= 8 &&
	    stamp->align_bits >= 8 && has_usual_cases(header, 65535)) {
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
	stream->slot_cpu_id = slot_of(m, context, "cpu_id", 0); /* LTTng; CTF has no role */
	stream->discarded_bits = discarded ? (uint8_t)discarded->type->size_bits : 64;
}

/* Whether a struct has an integer @name, at any depth. */
static bool has_integer(const struct type *type, const char *name)
{
	for (size_t i = 0; type && i < type->field_count; i++) {
		const struct type_field *field = &type->fields[i];

		if ((is_integer(field->type) && strcmp(type_name(field->name), name) == 0) ||
		    has_integer(field->type, name)) {
			return true;
		}
	}
	return false;
}

/*
 * CTF 1.8: the clock of fields with the name of a time stamp that are mapped to none, as tracers
 * for RTOSes and LTTng before 2.1 write them: the only clock, or one of 1 GHz without offset.
 */
static const struct clock_class *clock_by_name(struct plan_builder *b, const struct metadata *m,
					       const struct stream_class *class)
{
	static const struct clock_class nanoseconds = { .name = "", .freq = 1000000000 };
	const struct clock_class *clock = m->clocks;

	if (m->major == 2 || !(has_integer(class->event_header, "timestamp") ||
			       has_integer(class->packet_context, "timestamp_begin") ||
			       has_integer(class->packet_context, "timestamp_end"))) {
		return NULL;
	}
	while (clock && clock->next) {
		clock = clock->next; /* the first that was declared */
	}
	if (!b->has_noted_clock && !clock) {
		metadata_note(m->notes, "the metadata declares no clock; time stamps count as ns");
	} else if (!b->has_noted_clock) {
		metadata_note(m->notes,
			      "time stamps are mapped to no declared clock; they count as those of "
			      "\"%.80s\", "
			      "the %s one",
			      clock->name, clock == m->clocks ? "only" : "first");
	}
	b->has_noted_clock = true;
	return clock ? clock : &nanoseconds;
}

static const struct clock_class *stream_clock(struct plan_builder *b, const struct metadata *m,
					      const struct stream_class *class)
{
	const struct clock_class *clock = NULL;
	const char *name = class->clock;

	name = name ? name : mapped_clock(class->event_header);
	name = name ? name : mapped_clock(class->packet_context);
	if (name) {
		clock = metadata_clock(m, name);
	}
	return clock ? clock : clock_by_name(b, m, class);
}

struct built_stream *plan_build_stream(struct plan_builder *b, struct built_header *of,
				       const struct stream_class *class)
{
	struct built_stream *built = arena_alloc(b->arena, sizeof(*built));
	const struct metadata *m = of->of;
	const struct type *header = class->event_header;
	struct plan_stream *stream = &built->plan;
	struct compile *c = &built->compile;

	built->header = of;
	stream->id = class->id;
	stream->own_id = class->of ? class->own_id : class->id;
	stream->class = class;
	stream->clock = stream_clock(b, m, class);
	compile_init(b, m, c);
	c->keep_integers = true;
	c->roots[ROOT_PACKET_HEADER] = of->node;
	assert(of->slots > 0); /* plan_build_header() was called */
	c->slot_next = of->slots;
	stream->packet_steps = compile_steps(c, ROOT_PACKET_CONTEXT, &class->packet_context, 1,
					     of->modulus, of->remainder);
	packet_slots(m, stream, &c->roots[ROOT_PACKET_CONTEXT]);
	stream->header_align_bits = header ? header->align_bits : 1;
	stream->header_steps = compile_steps(c, ROOT_EVENT_HEADER, &header, 1, 1, 0);
	stream->has_id = c->has_id;
	stream->header = header ? header_kind(m, stream, header) : HEADER_NONE;
	if (stream->header == HEADER_LARGE || stream->header == HEADER_COMPACT) {
		const struct type *extended = header_form(header, "extended");

		assert(extended);
		stream->extended_align_bits = extended->align_bits;
		stream->extended_clock_align_bits =
			plan_member_of(extended, "timestamp")->align_bits;
	}
	if (stream->header == HEADER_LARGE) {
		stream->header_clock_align_bits = compact_timestamp(header)->align_bits;
	}
	c->keep_integers = false;
	stream->is_dense = true;
	stream->is_packed = stream->header == HEADER_COMPACT && stream->header_align_bits == 8 &&
			    stream->extended_align_bits == 8 &&
			    stream->extended_clock_align_bits == 8;
	return built;
}

/* ---- event classes ---- */

/* The want before @i that the walk found this field for; NULL: there is none. */
static const struct compile_want *shared(const struct event_wants *ew, size_t i)
{
	const struct compile_want *want = &ew->wants.at[i];

	for (size_t k = 0; k < i && !want->type; k++) {
		const struct compile_want *first = &ew->wants.at[k];

		if (first->type && !first->is_copy && first->root == want->root &&
		    compile_loads(first->type, want->kind) &&
		    strcmp(first->name, want->name) == 0) {
			return first;
		}
	}
	return NULL;
}

/* The walk finds a field for its first request; the others get a copy. */
static void share_found(struct event_wants *ew)
{
	ew->copies.count = 0;
	for (size_t i = 0; i < ew->wants.count; i++) {
		struct compile_want *want = &ew->wants.at[i];
		const struct compile_want *first = shared(ew, i);

		if (first) {
			want->type = first->type;
			want->is_copy = true;
			*vec_push(&ew->copies) =
				(struct plan_copy){ first->slot, want->slot, want->add };
		}
	}
	for (size_t i = 0; i < ew->wants.count; i++) {
		const struct compile_want *want = &ew->wants.at[i];

		if (want->type && !want->is_copy && want->add) {
			*vec_push(&ew->copies) =
				(struct plan_copy){ want->slot, want->slot, want->add };
		}
	}
}

static struct plan_field field_of(const struct plan_builder *b, const struct type *type)
{
	bool is_row = type->kind == TYPE_ARRAY || type->kind == TYPE_SEQUENCE;

	return (struct plan_field){
		.type = type,
		.kind = (uint8_t)type->kind,
		.flags = emit_value_flags(b->of->of->order, is_row ? type->element : type),
	};
}

/* Returns what the fields of all bindings are. */
static const struct plan_field *note_found(struct plan_builder *b, struct event_wants *ew)
{
	struct plan_field *fields = arena_alloc(b->arena, (ew->wants.count + 1) * sizeof(*fields));
	size_t want = 0;

	for (size_t i = 0; i < ew->bindings.count; i++) {
		struct plan_binding *binding = &ew->bindings.at[i];
		const struct plan_request *request = &b->requests[binding->request];

		for (unsigned int f = 0; f < PLAN_FIELDS_MAX && request->fields[f]; f++, want++) {
			const struct type *type = ew->wants.at[want].type;

			if (type) {
				binding->present |= (uint16_t)(1u << f);
				fields[want] = field_of(b, type);
			}
		}
	}
	assert(want == ew->wants.count);
	return fields;
}

static struct plan_class_names names_of(struct plan_builder *b, const char *name)
{
	const struct env_entry *domain = metadata_env(b->of->of, "domain");
	struct plan_class_names is = { .own = name, .other = name };
	char other[PLAN_NAME_BYTES];

	if (b->renames && b->renames->event(domain ? domain->text : NULL, name, other)) {
		is.other = arena_copy(b->arena, other, strlen(other) + 1);
	}
	return is;
}

/* The environment comes before all classes. */
static const struct plan_origin *origin_of(struct plan_builder *b)
{
	const struct env_entry *domain = metadata_env(b->of->of, "domain");
	const struct env_entry *vpid = metadata_env(b->of->of, "vpid");
	const struct env_entry *name = metadata_env(b->of->of, "procname");

	if (b->of->origin) {
		return b->of->origin;
	}
	b->of->origin = arena_alloc(b->arena, sizeof(*b->of->origin));
	*b->of->origin = (struct plan_origin){
		.is_kernel = domain && domain->text && strcmp(domain->text, "kernel") == 0,
		.vpid = vpid && vpid->number > 0 && vpid->number <= INT32_MAX ? vpid->number : 0,
		.procname = name ? name->text : NULL,
	};
	return b->of->origin;
}

struct plan_event *plan_build_event(struct plan_builder *b, const struct event_class *class,
				    struct built_stream *built)
{
	const struct plan_stream *stream = &built->plan;
	const struct plan_class_names name = names_of(b, class->name);
	struct event_wants *ew = &b->wants;
	struct compile *c = &built->compile;
	const struct type *types[3] = { stream->class->event_context, class->context,
					class->fields };
	struct plan_event *event = arena_alloc(b->arena, sizeof(*event));
	const struct step *steps;
	uint16_t base = c->slot_next;

	assert(stream->class);
	ew->bindings.count = 0;
	ew->wants.count = 0;
	plan_collect_wants(b, class, &name, base, ew);
	if (base + ew->wants.count > PLAN_SLOTS_MAX) {
		(void)err_raise(b->err, -EINVAL, "event \"%s\": too many fields requested",
				class->name);
		longjmp(b->fail, EINVAL);
	}
	c->slot_next = (uint16_t)(base + ew->wants.count);
	c->wants = ew->wants.at;
	c->want_count = ew->wants.count;
	c->visit_all = b->visit_all;
	c->scratch = &b->scratch;
	c->err = b->err;
	c->uses_event_header = false;
	/* Behind a header of LTTng's the payload starts at a byte. */
	steps = compile_steps(
		c, ROOT_STREAM_EVENT_CONTEXT, types, 3,
		stream->header == HEADER_COMPACT || stream->header == HEADER_LARGE ? 8 : 1, 0);
	share_found(ew);
	event->fields = note_found(b, ew);
	event->copies =
		arena_copy(b->arena, ew->copies.at, ew->copies.count * sizeof(*ew->copies.at));
	event->copy_count = (uint32_t)ew->copies.count;
	event->class = class;
	event->stream = stream->class;
	event->origin = origin_of(b);
	event->name = name.other;
	event->index = class->index;
	event->uses_header = c->uses_event_header;
	event->steps = steps;
	event->bindings = arena_copy(b->arena, ew->bindings.at,
				     ew->bindings.count * sizeof(*ew->bindings.at));
	event->binding_count = (uint32_t)ew->bindings.count;
	plan_find_fast(b, event);
	assert(c->slot_next >= base + ew->wants.count);
	c->slot_next = base; /* all classes use the same slots */
	arena_reset(&b->scratch);
	return event;
}
