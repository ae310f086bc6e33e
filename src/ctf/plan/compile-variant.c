/*
 * compile-variant: the steps of a variant: a SELECT, then each option once, which ends with a JUMP
 * behind the last.
 *
 *     SELECT slot -> A, B
 *     A: ...  JUMP end
 *     B: ...  JUMP end
 *     end:
 */
#include <assert.h>
#include <string.h>

#include "ctf/plan/compile-parts.h"
#include "ctf/plan/emit.h"

/* The option that @label chooses: of exactly this name, or of the same name as users see it. */
static const struct type_field *option_named(const struct type *variant, const char *label)
{
	for (size_t i = 0; i < variant->field_count; i++) {
		if (strcmp(variant->fields[i].name, label) == 0) {
			return &variant->fields[i];
		}
	}
	for (size_t i = 0; i < variant->field_count; i++) {
		if (strcmp(type_name(variant->fields[i].name), type_name(label)) == 0) {
			return &variant->fields[i];
		}
	}
	return NULL;
}

/* Where two paths meet, only what holds on both is known of the position. */
static void join_position(struct compile *c, uint32_t modulus, uint32_t remainder)
{
	assert(modulus > 0 && (modulus & (modulus - 1)) == 0);
	if (modulus < c->modulus) {
		c->modulus = modulus;
	}
	while (c->modulus > 1 && c->remainder % c->modulus != remainder % c->modulus) {
		c->modulus /= 2;
	}
	c->remainder %= c->modulus;
}

/* The value in the slot is that of this option; 0: there is none. */
static void emit_option(struct compile *c, uint16_t slot, size_t option, bool is_text)
{
	if (c->emitting && slot != SLOT_NONE) {
		struct step *step = emit_step(c, STEP_OPTION);

		assert(option <= PLAN_OPTIONS_MAX);
		step->slot = slot;
		step->count = option;
		step->flags = is_text ? STEP_TEXT : 0;
	}
}

/* An option that is no variant and no struct has a value. */
static void walk_option(struct compile *c, struct node *node, const struct type *type,
			size_t number, uint16_t slot)
{
	bool has_value =
		slot != SLOT_NONE && type->kind != TYPE_VARIANT && compile_loads(type, WANT_ANY);

	compile_walk(c, node, type, has_value ? slot : SLOT_NONE);
	if (has_value) {
		emit_option(c, slot, number + 1,
			    type->kind == TYPE_STRING || type->kind == TYPE_ARRAY ||
				    type->kind == TYPE_SEQUENCE);
	}
}

/* Emits each option once and returns the index of its first step. */
static uint32_t *walk_options(struct compile *c, struct node *node, const struct type *type,
			      uint16_t slot)
{
	uint32_t *starts = arena_alloc(c->scratch, (type->field_count + 1) * sizeof(*starts));
	uint32_t *jumps = arena_alloc(c->scratch, (type->field_count + 1) * sizeof(*jumps));
	uint32_t modulus = c->modulus, remainder = c->remainder;
	uint32_t after_modulus = UINT32_MAX, after_remainder = 0;

	node->members = arena_alloc(c->scratch, type->field_count * sizeof(*node->members));
	if (type->is_optional) {
		after_modulus = modulus;
		after_remainder = remainder;
	}
	for (size_t i = 0; i < type->field_count; i++) {
		c->modulus = modulus;
		c->remainder = remainder;
		starts[i] = c->step_count;
		c->name = type_name(type->fields[i].name);
		walk_option(c, &node->members[i], type->fields[i].type, i, slot);
		emit_flush(c);
		if (after_modulus != UINT32_MAX) {
			join_position(c, after_modulus, after_remainder);
		}
		after_modulus = c->modulus;
		after_remainder = c->remainder;
		if (c->emitting) {
			jumps[i] = c->step_count;
			(void)emit_step(c, STEP_JUMP);
		}
	}
	for (size_t i = 0; c->emitting && i < type->field_count; i++) {
		c->steps[jumps[i]].target = c->step_count;
	}
	return starts;
}

/* TSDL: a label of the tag chooses the option of the same name. */
static size_t cases_by_label(const struct type *type, const struct type *tag,
			     const uint32_t *starts, struct step_case *cases)
{
	size_t count = 0;

	for (size_t i = 0; i < tag->label_count; i++) {
		const struct type_label *label = &tag->labels[i];
		const struct type_field *option = option_named(type, label->name);

		if (option) {
			cases[count].low = label->low;
			cases[count].high = label->high;
			cases[count++].target = starts[option - type->fields];
		}
	}
	return count;
}

static void make_cases(struct compile *c, const struct type *type, const struct type *tag,
		       const uint32_t *starts, struct step *select)
{
	size_t room = type->cases ? type->case_count : tag->label_count;
	struct step_case *cases = arena_alloc(c->arena, room * sizeof(*cases));
	size_t count = type->case_count;

	if (type->cases) {
		for (size_t i = 0; i < count; i++) {
			cases[i].low = type->cases[i].low;
			cases[i].high = type->cases[i].high;
			assert(type->cases[i].field < type->field_count);
			cases[i].target = starts[type->cases[i].field];
		}
	} else {
		count = cases_by_label(type, tag, starts, cases);
	}
	assert(count <= room);
	if (count > UINT16_MAX) {
		compile_fail(c, "a variant selected by %zu ranges", count);
	}
	select->cases = cases;
	select->case_count = (uint16_t)count;
}

void compile_variant(struct compile *c, struct node *node, const struct type *type, uint16_t slot)
{
	const struct node *tag = compile_resolve(c, type->tag, "selector");
	uint32_t select = c->step_count;
	const uint32_t *starts;

	if (!type->cases && tag->type->kind != TYPE_ENUM) {
		compile_fail(c, "the tag \"%s\" is not an enum",
			     type->tag->names[type->tag->count - 1]);
	}
	assert(type->tag);
	emit_flush(c);
	emit_option(c, slot, 0, false);
	if (c->emitting) {
		select = c->step_count;
		emit_step(c, STEP_SELECT)->ref = tag->slot;
	}
	starts = walk_options(c, node, type, slot);
	if (c->emitting) {
		struct step *step = &c->steps[select];

		assert(step->op == STEP_SELECT);
		make_cases(c, type, tag->type, starts, step);
		step->flags = tag->type->is_signed ? STEP_SIGNED : 0;
		step->target = type->is_optional ? c->step_count : 0;
	}
}
