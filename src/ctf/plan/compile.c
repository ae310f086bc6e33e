/*
 * compile: the walk over a type; compile.h has the method.
 */
#include "ctf/plan/compile-parts.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "ctf/plan/emit.h"

void compile_fail(struct compile *c, const char *fmt, ...)
{
	char what[256];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, args);
	va_end(args);
	(void)err_raise(c->err, -EINVAL, "metadata: %s", what);
	longjmp(*c->fail, EINVAL);
}

/* ---- scalars ---- */

static uint32_t next_ordinal(struct compile *c)
{
	if (c->ordinal == c->group_room) {
		uint32_t room = c->group_room ? c->group_room * 2 : 64;
		uint32_t *more = arena_alloc(c->scratch, room * sizeof(*more));

		if (c->group_room > 0) {
			memcpy(more, c->groups, c->group_room * sizeof(*more));
		}
		c->groups = more;
		c->group_room = room;
	}
	return c->ordinal++;
}

/* The slot of the current integer, if a path names it or all integers get one. */
static uint16_t integer_slot(struct compile *c, uint32_t ordinal)
{
	uint32_t group;

	assert(ordinal < c->group_room);
	group = c->groups[ordinal];
	if (!c->emitting || !(group || c->keep_integers)) {
		return SLOT_NONE;
	}
	if (!group) {
		return emit_new_slot(c);
	}
	if (c->group_slots[group] == SLOT_NONE) {
		c->group_slots[group] = emit_new_slot(c);
	}
	return c->group_slots[group];
}

/* In an event header a time stamp sets the clock, and the last id is the event's. */
static void header_integer(struct compile *c, const struct type *type, uint16_t slot)
{
	struct step *step;

	if (c->by_roles ? type->roles & ROLE_TIMESTAMP
			: type->clock || strcmp(c->name, "timestamp") == 0) {
		step = emit_step(c, STEP_CLOCK);
		step->ref = slot;
		step->size_bits = type->size_bits;
		step->flags = type->is_variable ? STEP_COUNTED : 0;
	}
	if (c->by_roles ? type->roles & ROLE_EVENT_CLASS_ID : strcmp(c->name, "id") == 0) {
		emit_step(c, STEP_ID)->ref = slot;
		c->has_id = true;
	}
}

/* LEB128: its size is known at its end only. */
static void walk_variable(struct compile *c, const struct type *type, uint16_t slot)
{
	emit_flush(c);
	if (c->emitting) {
		struct step *step = emit_step(c, STEP_LEB128);

		step->slot = slot;
		step->flags = type->is_signed ? STEP_SIGNED : 0;
		step->type = type;
	}
	emit_forget_position(c, 8);
}

static void walk_integer(struct compile *c, struct node *node, const struct type *type,
			 uint16_t slot)
{
	struct step *step;

	node->ordinal = next_ordinal(c);
	if (slot == SLOT_NONE) {
		slot = integer_slot(c, node->ordinal);
	}
	node->slot = slot;
	if (type->is_variable) {
		walk_variable(c, type, slot);
	} else {
		if (c->emitting && (slot != SLOT_NONE || c->visit_all)) {
			step = emit_load(c, emit_integer_op(c, type), type->size_bits, slot);
			step->flags = emit_value_flags(c->native, type);
			step->type = type;
		}
		emit_advance(c, type->size_bits);
	}
	if (c->emitting && c->root == ROOT_EVENT_HEADER && slot != SLOT_NONE) {
		header_integer(c, type, slot);
	}
}

static void walk_float(struct compile *c, const struct type *type, uint16_t slot)
{
	if (c->emitting && (slot != SLOT_NONE || c->visit_all)) {
		struct step *step = emit_load(c, STEP_FLOAT, type->size_bits, slot);

		step->flags = emit_value_flags(c->native, type);
		step->type = type;
	}
	emit_advance(c, type->size_bits);
}

static void walk_string(struct compile *c, const struct type *type, uint16_t slot)
{
	emit_flush(c);
	if (c->emitting) {
		struct step *step = emit_step(c, STEP_STRING);

		step->slot = slot;
		step->flags = (uint8_t)(type->encoding << STEP_ENCODING_SHIFT);
		step->type = type;
	}
	emit_forget_position(c, 8);
}

static void walk_struct(struct compile *c, struct node *node, const struct type *type)
{
	struct scope_frame frame = { .outer = c->frames, .node = node };

	node->members = arena_alloc(c->scratch, type->field_count * sizeof(*node->members));
	c->frames = &frame;
	emit_enter(c, type);
	for (size_t i = 0; i < type->field_count; i++) {
		c->name = type_name(type->fields[i].name);
		emit_name(c, c->name);
		compile_walk(c, &node->members[i], type->fields[i].type, SLOT_NONE);
		frame.field_count = i + 1;
	}
	emit_leave(c);
	c->frames = frame.outer;
}

/* One loop over all elements; each turn starts at an unknown position. */
static void walk_loop(struct compile *c, struct node *node, const struct type *type,
		      const struct node *length)
{
	uint32_t at = c->step_count;

	node->members = arena_alloc(c->scratch, sizeof(*node->members));
	emit_enter(c, type);
	emit_flush(c);
	if (++c->loops > PLAN_DEPTH_MAX) {
		compile_fail(c, "arrays are nested deeper than %d", PLAN_DEPTH_MAX);
	}
	if (c->emitting) {
		struct step *step = emit_step(c, STEP_LOOP);

		at = c->step_count - 1;
		step->count = type->length;
		if (length) {
			step->flags = STEP_COUNTED;
			step->ref = length->slot;
		}
	}
	emit_forget_position(c, 1);
	compile_walk(c, node->members, type->element, SLOT_NONE);
	emit_flush(c);
	emit_forget_position(c, 1);
	assert(c->loops > 0);
	if (c->emitting) {
		assert(c->steps[at].op == STEP_LOOP);
		emit_step(c, STEP_LOOP_END)->target = at;
		c->steps[at].target = c->step_count;
	}
	emit_leave(c);
	c->loops--;
}

/* Text of a constant number of bytes, or bytes that an analysis requested. */
static void walk_bytes(struct compile *c, const struct type *type, uint16_t slot)
{
	if (c->emitting && (slot != SLOT_NONE || c->visit_all)) {
		struct step *step = emit_load(c, STEP_BYTES, type->length * 8, slot);

		step->count = type->length;
		step->type = type;
		step->flags = STEP_TEXT;
	}
	emit_advance(c, type->length * 8);
}

/* Elements of @stride bits each; @length gives their number, NULL: it is constant. */
static void walk_row(struct compile *c, const struct type *type, const struct node *length,
		     uint64_t stride, uint16_t slot)
{
	uint32_t low_bit = (uint32_t)(stride & (0 - stride)); /* the alignment that it keeps */

	assert(stride > 0);
	emit_flush(c);
	if (c->emitting) {
		struct step *step = emit_step(c, STEP_SEQ);

		step->ref = length ? length->slot : SLOT_NONE;
		step->count = type->length;
		step->slot = slot;
		step->size_bits = stride;
		step->type = type;
		step->flags = emit_value_flags(c->native, type->element) & STEP_BE;
		if (type_is_text(type->element)) {
			step->flags |= (uint8_t)(STEP_TEXT | type->encoding << STEP_ENCODING_SHIFT);
		}
	}
	if (low_bit < c->modulus) {
		c->modulus = low_bit;
		c->remainder %= c->modulus;
	}
}

static void walk_array(struct compile *c, struct node *node, const struct type *type, uint16_t slot)
{
	uint64_t stride = type_row_bits(type->element);
	bool is_text = type_is_text(type->element);
	bool is_bytes = stride == 8 && type->element->align_bits <= 8;

	if (type->length > PACKET_BYTES_MAX) {
		compile_fail(c, "an array of %llu elements", (unsigned long long)type->length);
	}
	emit_align(c, type->align_bits);
	if (is_text && type->encoding != UTF_8) {
		walk_row(c, type, NULL, stride, slot);
	} else if (is_bytes && c->modulus >= 8 && c->remainder % 8 == 0 &&
		   (is_text || slot != SLOT_NONE)) {
		walk_bytes(c, type, slot);
	} else if (stride >= 8 && slot != SLOT_NONE && !c->visit_all) {
		walk_row(c, type, NULL, stride, slot);
	} else if (stride > 0 && !c->visit_all && type->length <= UINT32_MAX / 2 / stride) {
		emit_advance(c, stride * type->length);
	} else {
		walk_loop(c, node, type, NULL);
	}
}

static void walk_sequence(struct compile *c, struct node *node, const struct type *type,
			  uint16_t slot)
{
	const struct node *length = compile_resolve(c, type->length_path, "length");
	uint64_t stride = type_row_bits(type->element);

	emit_align(c, type->align_bits);
	if (stride == 0 || (c->visit_all && !type_is_text(type->element))) {
		walk_loop(c, node, type, length);
	} else {
		walk_row(c, type, length, stride, slot);
	}
}

/* ---- the walk ---- */

void compile_walk(struct compile *c, struct node *node, const struct type *type, uint16_t slot)
{
	if (++c->depth > TYPE_DEPTH_MAX * 2) {
		compile_fail(c, "types are nested deeper than %d", TYPE_DEPTH_MAX * 2);
	}
	if (++c->walked > PLAN_FIELDS_WALKED_MAX) {
		compile_fail(c, "a class of more than %d fields", PLAN_FIELDS_WALKED_MAX);
	}
	node->type = type;
	node->slot = SLOT_NONE;
	node->is_complete = false;
	if (type->kind != TYPE_VARIANT && type->kind != TYPE_ARRAY && type->kind != TYPE_SEQUENCE) {
		emit_align(c, type->align_bits);
	}
	switch (type->kind) {
	case TYPE_INT:
	case TYPE_ENUM:
		walk_integer(c, node, type, slot);
		break;
	case TYPE_FLOAT:
		walk_float(c, type, slot);
		break;
	case TYPE_STRING:
		walk_string(c, type, slot);
		break;
	case TYPE_STRUCT:
		walk_struct(c, node, type);
		break;
	case TYPE_VARIANT:
		compile_variant(c, node, type, slot);
		break;
	case TYPE_ARRAY:
		walk_array(c, node, type, slot);
		break;
	case TYPE_SEQUENCE:
		walk_sequence(c, node, type, slot);
		break;
	}
	assert(c->depth > 0);
	node->is_complete = true;
	c->depth--;
}

/* ---- roots ---- */

bool compile_loads(const struct type *type, enum want_kind kind)
{
	switch (type->kind) {
	case TYPE_INT:
	case TYPE_ENUM:
		return kind != WANT_TEXT;
	case TYPE_FLOAT:
		return kind == WANT_ANY;
	case TYPE_STRING:
		return kind != WANT_NUMBER;
	case TYPE_ARRAY:
	case TYPE_SEQUENCE:
		return kind != WANT_NUMBER && type_is_row(type);
	case TYPE_VARIANT:
		return kind == WANT_ANY && type->field_count <= PLAN_OPTIONS_MAX;
	case TYPE_STRUCT:
		break;
	}
	return false;
}

/* The slot of the request for the member @name of this root, or SLOT_NONE. */
static uint16_t wanted_slot(struct compile *c, const char *name, const struct type *type)
{
	enum root root = c->root == ROOT_STREAM_EVENT_CONTEXT ? ROOT_EVENT_CONTEXT : c->root;

	for (size_t i = 0; i < c->want_count; i++) {
		struct compile_want *want = &c->wants[i];

		if (want->root == root && strcmp(want->name, name) == 0 && !want->type &&
		    compile_loads(type, want->kind)) {
			want->type = c->emitting ? type : NULL;
			return want->slot;
		}
	}
	return SLOT_NONE;
}

const char plan_context_name[] = "context";

/* A root is a struct; analyses may request its members by name. */
static void walk_root(struct compile *c, enum root root, const struct type *type)
{
	struct node *node = &c->roots[root];
	struct scope_frame frame = { .node = node };

	assert(type->kind == TYPE_STRUCT);
	assert(!c->frames);
	c->root = root;
	node->type = type;
	node->members = arena_alloc(c->scratch, type->field_count * sizeof(*node->members));
	c->frames = &frame;
	emit_align(c, type->align_bits);
	if (root != ROOT_FIELDS) {
		emit_name(c, plan_context_name);
		emit_enter(c, type);
	}
	for (size_t i = 0; i < type->field_count; i++) {
		const struct type_field *field = &type->fields[i];

		c->name = type_name(field->name);
		emit_name(c, c->name);
		compile_walk(c, &node->members[i], field->type,
			     wanted_slot(c, c->name, field->type));
		frame.field_count = i + 1;
	}
	if (root != ROOT_FIELDS) {
		emit_leave(c);
	}
	c->frames = NULL;
}

static void walk_all(struct compile *c, enum root first, const struct type *const *types,
		     size_t type_count, uint32_t modulus, uint32_t remainder)
{
	c->ordinal = 0;
	c->walked = 0;
	c->depth = 0;
	c->loops = 0;
	c->pending_bits = 0;
	c->need_step = UINT32_MAX;
	c->need_bits = 0;
	c->modulus = modulus;
	c->remainder = remainder;
	for (size_t i = 0; i < type_count; i++) {
		if (types[i]) {
			walk_root(c, (enum root)(first + i), types[i]);
		} else {
			memset(&c->roots[first + i], 0, sizeof(c->roots[0]));
		}
	}
	emit_flush(c);
	assert(c->depth == 0);
	assert(c->loops == 0);
	assert(!c->frames);
}

/* For later programs, in which the integers of this one have no ordinal but have their slot. */
static void finish_node(struct node *node)
{
	const struct type *type = node->type;
	size_t count;

	if (!type || !node->members) {
		return;
	}
	count = type->kind == TYPE_STRUCT || type->kind == TYPE_VARIANT ? type->field_count : 1;
	for (size_t i = 0; i < count; i++) {
		node->members[i].ordinal = UINT32_MAX;
		finish_node(&node->members[i]);
	}
}

const struct step *compile_steps(struct compile *c, enum root first,
				 const struct type *const *types, size_t type_count,
				 uint32_t modulus, uint32_t remainder)
{
	uint32_t integers;

	assert(first + type_count <= ROOT_COUNT);
	assert(modulus > 0 && (modulus & (modulus - 1)) == 0);
	assert(remainder < modulus);
	c->steps = NULL;
	c->step_count = 0;
	c->step_room = 0;
	c->groups = NULL;
	c->group_room = 0;
	c->emitting = false;
	walk_all(c, first, types, type_count, modulus, remainder);
	assert(c->step_count == 0);
	integers = c->ordinal;
	c->emitting = true;
	c->group_slots = arena_alloc(c->scratch, (c->ordinal + 1) * sizeof(*c->group_slots));
	memset(c->group_slots, 0xFF, (c->ordinal + 1) * sizeof(*c->group_slots)); /* SLOT_NONE */
	walk_all(c, first, types, type_count, modulus, remainder);
	assert(c->ordinal == integers); /* both walks saw the same */
	assert(c->slot_next <= PLAN_SLOTS_MAX);
	(void)emit_step(c, STEP_END);
	for (size_t i = 0; i < type_count; i++) {
		finish_node(&c->roots[first + i]);
	}
	return arena_copy(c->arena, c->steps, c->step_count * sizeof(*c->steps));
}
