/*
 * emit: steps, the position, and how an integer is loaded.
 */
#include "ctf/plan/emit.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "ctf/plan/compile-parts.h"

struct step *emit_step(struct compile *c, enum step_op op)
{
	struct step *step;

	assert(c->emitting);
	assert(c->step_count <= c->step_room);
	if (c->step_count == c->step_room) {
		uint32_t room = c->step_room ? c->step_room * 2 : 16;
		struct step *more = arena_alloc(c->scratch, room * sizeof(*more));

		if (c->step_count > 0) {
			memcpy(more, c->steps, c->step_count * sizeof(*more));
		}
		c->steps = more;
		c->step_room = room;
	}
	if (c->step_count >= PLAN_STEPS_MAX) {
		compile_fail(c, "an event class needs more than %d steps", PLAN_STEPS_MAX);
	}
	step = &c->steps[c->step_count++];
	memset(step, 0, sizeof(*step));
	step->op = (uint8_t)op;
	step->slot = SLOT_NONE;
	step->ref = SLOT_NONE;
	return step;
}

void emit_flush(struct compile *c)
{
	if (!c->emitting) {
		return;
	}
	if (c->need_step != UINT32_MAX) {
		assert(c->steps[c->need_step].op == STEP_NEED);
		c->steps[c->need_step].size_bits = c->need_bits;
		c->need_step = UINT32_MAX;
		c->need_bits = 0;
	}
	if (c->pending_bits > 0) {
		emit_step(c, STEP_SKIP)->size_bits = c->pending_bits;
		c->pending_bits = 0;
	}
}

void emit_advance(struct compile *c, uint64_t bits)
{
	/* An offset has 32 bits; a longer run is cut, before and behind a long field. */
	if (c->pending_bits + bits > UINT32_MAX / 2) {
		emit_flush(c);
	}
	c->pending_bits += bits;
	if (c->pending_bits > UINT32_MAX / 2) {
		emit_flush(c);
	}
	c->remainder = (uint32_t)((c->remainder + bits) % c->modulus);
	assert_hot(c->remainder < c->modulus);
}

void emit_align(struct compile *c, uint32_t align_bits)
{
	assert_hot(align_bits > 0 && (align_bits & (align_bits - 1)) == 0);
	if (align_bits <= c->modulus) {
		emit_advance(c, (align_bits - c->remainder % align_bits) % align_bits);
		return;
	}
	emit_flush(c);
	if (c->emitting) {
		emit_step(c, STEP_ALIGN)->size_bits = align_bits;
	}
	c->modulus = align_bits;
	c->remainder = 0;
}

void emit_forget_position(struct compile *c, uint32_t modulus)
{
	assert(!c->emitting || c->pending_bits == 0); /* they end at the old position */
	c->modulus = modulus;
	c->remainder = 0;
}

struct step *emit_load(struct compile *c, enum step_op op, uint64_t size_bits, uint16_t slot)
{
	struct step *step;

	if (c->need_step == UINT32_MAX) {
		c->need_step = c->step_count;
		(void)emit_step(c, STEP_NEED);
	}
	assert(c->pending_bits <= UINT32_MAX / 2); /* emit_advance() */
	step = emit_step(c, op);
	step->offset_bits = (uint32_t)c->pending_bits;
	step->size_bits = size_bits;
	step->slot = slot;
	c->need_bits = c->pending_bits + size_bits;
	return step;
}

uint16_t emit_new_slot(struct compile *c)
{
	assert(c->emitting);
	if (c->slot_next >= PLAN_SLOTS_MAX) {
		compile_fail(c, "an event class keeps more than %d values", PLAN_SLOTS_MAX);
	}
	return c->slot_next++;
}

void emit_name(struct compile *c, const char *name)
{
	if (c->emitting && c->visit_all) {
		emit_step(c, STEP_NAME)->name = name;
	}
}

void emit_enter(struct compile *c, const struct type *type)
{
	if (c->emitting && c->visit_all) {
		emit_step(c, STEP_ENTER)->type = type;
	}
}

void emit_leave(struct compile *c)
{
	if (c->emitting && c->visit_all) {
		(void)emit_step(c, STEP_LEAVE);
	}
}

static enum byte_order order_of(enum byte_order native, const struct type *type)
{
	return type->order == ORDER_NATIVE ? native : type->order;
}

static bool is_machine_order(enum byte_order order)
{
	return order == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ORDER_LE : ORDER_BE);
}

enum step_op emit_integer_op(const struct compile *c, const struct type *type)
{
	bool at_byte = c->modulus >= 8 && c->remainder % 8 == 0;

	if (at_byte && !type->is_reversed &&
	    (is_machine_order(order_of(c->native, type)) || type->size_bits == 8)) {
		switch (type->size_bits) {
		case 8:
			return type->is_signed ? STEP_S8 : STEP_U8;
		case 16:
			return type->is_signed ? STEP_S16 : STEP_U16;
		case 32:
			return type->is_signed ? STEP_S32 : STEP_U32;
		case 64:
			return type->is_signed ? STEP_S64 : STEP_U64;
		}
	}
	return STEP_BITS;
}

uint8_t emit_value_flags(enum byte_order native, const struct type *type)
{
	return (uint8_t)((type->is_signed ? STEP_SIGNED : 0) |
			 (order_of(native, type) == ORDER_BE ? STEP_BE : 0) |
			 (type->is_reversed ? STEP_REVERSED : 0));
}
