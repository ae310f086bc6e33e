/*
 * plan-fast: shorter forms of the steps of an event class.
 *
 * Most classes have a constant size.  Nearly all others are stretches of constant size with strings
 * and rows between them.  decoder_each() handles both without steps.
 */
#include <assert.h>

#include "ctf/plan/plan-builder.h"

/*
 * Steps that are only [ALIGN] [NEED loads] [SKIP] END have the same size in every event: the loads
 * remain, and alignment and size become numbers.
 */
static void find_fixed(struct plan_event *event)
{
	const struct step *step = event->steps, *loads;
	uint64_t align_bits = 1, fixed_bits = 0, load_count;

	if (step->op == STEP_ALIGN) {
		align_bits = step->size_bits;
		step++;
	}
	if (step->op == STEP_NEED) {
		step++;
	}
	loads = step;
	while (step->op >= STEP_U8 && step->op <= STEP_BYTES) {
		step++;
	}
	load_count = (uint64_t)(step - loads);
	if (step->op == STEP_SKIP) {
		fixed_bits = step->size_bits;
		step++;
	}
	if (step->op == STEP_END && load_count <= UINT8_MAX && align_bits <= UINT16_MAX &&
	    fixed_bits <= UINT32_MAX) {
		event->is_fixed = true;
		event->align_bits = (uint16_t)align_bits;
		event->fixed_bits = (uint32_t)fixed_bits;
		event->load_count = (uint8_t)load_count;
		event->steps = loads;
	}
}

/* The step as a load; false if it has no such form. */
static bool fast_load(const struct step *step, struct plan_load *load)
{
	bool is_bytes = step->op == STEP_BYTES;

	if (step->slot == SLOT_NONE || step->offset_bits % 8 != 0 ||
	    step->offset_bits / 8 > UINT16_MAX ||
	    !(is_bytes || (step->op >= STEP_U8 && step->op <= STEP_S64))) {
		return false;
	}
	assert(is_bytes || (step->size_bits >= 8 && step->size_bits <= 64));
	load->offset = (uint16_t)(step->offset_bits / 8);
	load->slot = step->slot;
	load->len = is_bytes ? (uint16_t)step->count : 0;
	load->shift = is_bytes ? 0 : (uint8_t)(64 - step->size_bits);
	load->form = is_bytes ? LOAD_BYTES : step->op >= STEP_S8 ? LOAD_SIGNED : LOAD_UNSIGNED;
	return true;
}

/* Makes plan_loads of the loads of a fixed class, if all have that form. */
static void make_fast_fixed(struct plan_builder *b, struct plan_event *event)
{
	struct plan_load *loads;

	if (event->fixed_bits % 8 != 0 || event->fixed_bits / 8 > UINT16_MAX ||
	    event->align_bits / 8 > UINT8_MAX) {
		return;
	}
	loads = arena_alloc(b->arena, (event->load_count + 1u) * sizeof(*loads));
	for (unsigned int i = 0; i < event->load_count; i++) {
		if (!fast_load(&event->steps[i], &loads[i])) {
			return;
		}
	}
	event->fast = loads;
	event->fast_count = event->load_count;
	event->is_fast = true;
}

/* ---- classes whose size varies ---- */

/* The parts made of the steps so far. */
struct plan_partition {
	struct plan_part *parts, *part; /* the first, and the last, which still grows */
	struct plan_load *loads;
	uint32_t load_count;
};

static void next_part(struct plan_partition *p, enum plan_part_end end)
{
	p->part->end = (uint8_t)end;
	p->part++;
	p->part->slot = p->part->ref = SLOT_NONE;
}

static bool part_align(struct plan_partition *p, const struct step *step)
{
	if (p->part->bytes > 0) {
		next_part(p, PART_ALIGN);
	}
	p->part->align_mask = (uint8_t)(step->size_bits / 8 - 1);
	return step->size_bits % 8 == 0 && step->size_bits / 8 <= UINT8_MAX &&
	       p->part->load_count == 0;
}

static bool part_skip(struct plan_partition *p, const struct step *step)
{
	uint64_t bytes = p->part->bytes + step->size_bits / 8;

	p->part->bytes = (uint16_t)bytes;
	return step->size_bits % 8 == 0 && bytes <= UINT16_MAX;
}

static bool part_string(struct plan_partition *p, const struct step *step)
{
	p->part->slot = step->slot;
	next_part(p, PART_STRING);
	return step->flags >> STEP_ENCODING_SHIFT == UTF_8;
}

static bool part_row(struct plan_partition *p, const struct step *step)
{
	p->part->slot = step->slot;
	p->part->ref = step->ref;
	p->part->element_bytes = (uint8_t)(step->size_bits / 8);
	next_part(p, PART_ROW);
	return step->ref != SLOT_NONE && step->size_bits % 8 == 0 &&
	       step->size_bits / 8 <= UINT8_MAX &&
	       (!(step->flags & STEP_TEXT) || step->flags >> STEP_ENCODING_SHIFT == UTF_8);
}

static bool part_load(struct plan_partition *p, const struct step *step)
{
	return p->part->bytes == 0 && p->part->load_count++ < UINT8_MAX &&
	       fast_load(step, &p->loads[p->load_count++]);
}

static bool part_step(struct plan_partition *p, const struct step *step)
{
	switch ((enum step_op)step->op) {
	case STEP_NEED: /* decoder_parts() checks the whole part */
		return true;
	case STEP_ALIGN:
		return part_align(p, step);
	case STEP_SKIP:
		return part_skip(p, step);
	case STEP_STRING:
		return part_string(p, step);
	case STEP_SEQ:
		return part_row(p, step);
	default:
		return part_load(p, step);
	}
}

/* A class of whole bytes whose size varies only by strings, rows and alignment. */
static void make_fast_parts(struct plan_builder *b, struct plan_event *event)
{
	struct plan_partition p = { 0 };
	size_t count = 0;

	while (event->steps[count].op != STEP_END) {
		count++;
	}
	p.parts = p.part = arena_alloc(&b->scratch, (count + 1) * sizeof(*p.parts));
	p.loads = arena_alloc(&b->scratch, (count + 1) * sizeof(*p.loads));
	p.part->slot = p.part->ref = SLOT_NONE;
	for (size_t i = 0; i < count; i++) {
		if (!part_step(&p, &event->steps[i])) {
			return;
		}
	}
	assert((size_t)(p.part - p.parts) <= count);
	assert(p.load_count <= count);
	p.part->end = PART_LAST;
	event->parts =
		arena_copy(b->arena, p.parts, (size_t)(p.part - p.parts + 1) * sizeof(*p.parts));
	event->fast = arena_copy(b->arena, p.loads, p.load_count * sizeof(*p.loads));
	event->fast_count = p.load_count;
}

static enum plan_use use_of(const struct plan_builder *b, const struct plan_event *event)
{
	bool may_rest = true;

	for (uint32_t i = 0; i < event->binding_count; i++) {
		may_rest &= b->requests[event->bindings[i].request].may_rest;
	}
	return event->binding_count == 0 ? SKIP_PASS : may_rest ? SKIP_REST : SKIP_LOAD;
}

void plan_find_fast(struct plan_builder *b, struct plan_event *event)
{
	find_fixed(event);
	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__) {
		return;
	}
	if (event->is_fixed) {
		make_fast_fixed(b, event);
	} else {
		make_fast_parts(b, event);
	}
	if (event->is_fast || event->parts) {
		event->use = (uint8_t)use_of(b, event);
	}
}
