/*
 * plan-check: the invariants of a finished plan, as assertions.
 *
 * The decoder checks packets and trusts plans.  This file states what it trusts: each load lies
 * within bits that a NEED has checked, each slot exists, each target is a step, only loops lead
 * back, and the short forms of a class (plan-fast.c) agree with its steps and its table entries.
 */
#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "ctf/plan/plan-builder.h"

static void check_slot(uint16_t slot)
{
	assert(slot == SLOT_NONE || slot < PLAN_SLOTS_MAX);
}

static void check_power_of_two(uint64_t number)
{
	assert(number > 0);
	assert((number & (number - 1)) == 0);
}

/* ---- steps ---- */

struct program {
	const struct step *steps;
	uint32_t count;     /* up to STEP_END */
	uint64_t need_bits; /* checked from the cursor on */
	unsigned int depth; /* of loops */
};

static void check_target(const struct program *p, uint32_t at, uint32_t target)
{
	assert(target > at); /* only the end of a loop leads back */
	assert(target <= p->count);
}

static void check_select(const struct program *p, const struct step *step, uint32_t at)
{
	assert(step->ref < PLAN_SLOTS_MAX);
	assert(step->cases || step->case_count == 0);
	for (uint32_t i = 0; i < step->case_count; i++) {
		check_target(p, at, step->cases[i].target);
	}
	if (step->target) {
		check_target(p, at, step->target);
	}
}

static void check_loop(struct program *p, const struct step *step, uint32_t at)
{
	const struct step *end = &p->steps[step->target - 1];

	check_target(p, at, step->target);
	assert(end->op == STEP_LOOP_END);
	assert(end->target == at);
	assert(!(step->flags & STEP_COUNTED) || step->ref < PLAN_SLOTS_MAX);
	p->depth++;
	assert(p->depth <= PLAN_DEPTH_MAX);
}

/* A step that may move elsewhere. */
static void check_flow(struct program *p, const struct step *step, uint32_t at)
{
	switch ((enum step_op)step->op) {
	case STEP_LOOP:
		check_loop(p, step, at);
		break;
	case STEP_LOOP_END:
		assert(p->depth > 0);
		p->depth--;
		break;
	case STEP_SELECT:
		check_select(p, step, at);
		break;
	default:
		assert(step->op == STEP_JUMP);
		check_target(p, at, step->target);
		break;
	}
	p->need_bits = 0;
}

static void check_load(const struct program *p, const struct step *step)
{
	assert(step->offset_bits + step->size_bits <= p->need_bits);
	assert(step->op == STEP_BYTES || step->op == STEP_FLOAT || step->size_bits <= 64);
	assert(step->op == STEP_BYTES || step->size_bits > 0);
	assert(step->op != STEP_BYTES || step->count * 8 == step->size_bits);
}

/* A step in sequence.  One that moves the cursor ends the range that NEED has checked. */
static void check_step(struct program *p, const struct step *step)
{
	uint64_t need_bits = 0;

	switch ((enum step_op)step->op) {
	case STEP_ALIGN:
		check_power_of_two(step->size_bits);
		break;
	case STEP_NEED:
		need_bits = step->size_bits;
		break;
	case STEP_SEQ:
		assert(step->size_bits > 0);
		break;
	case STEP_CLOCK:
	case STEP_ID:
		assert(step->ref < PLAN_SLOTS_MAX);
		need_bits = p->need_bits;
		break;
	case STEP_OPTION:
		assert(step->slot < PLAN_SLOTS_MAX && step->count <= PLAN_OPTIONS_MAX);
		need_bits = p->need_bits;
		break;
	case STEP_NAME:
	case STEP_ENTER:
	case STEP_LEAVE:
		need_bits = p->need_bits;
		break;
	case STEP_SKIP:
	case STEP_STRING:
	case STEP_LEB128:
		break;
	default:
		check_load(p, step);
		need_bits = p->need_bits;
		break;
	}
	p->need_bits = need_bits;
}

/* @need_bits: of the loads at the start of a class of constant size, which has no NEED. */
static void check_steps(const struct step *steps, uint64_t need_bits)
{
	struct program p = { .steps = steps, .need_bits = need_bits };

	assert(steps);
	while (steps[p.count].op != STEP_END) {
		p.count++;
		assert(p.count <= PLAN_STEPS_MAX);
	}
	for (uint32_t i = 0; i < p.count; i++) {
		const struct step *step = &steps[i];

		assert(step->op <= STEP_LEAVE);
		check_slot(step->slot);
		check_slot(step->ref);
		if (step->op >= STEP_LOOP && step->op <= STEP_JUMP) {
			check_flow(&p, step, i);
		} else {
			check_step(&p, step);
		}
	}
	assert(p.depth == 0);
}

/* ---- event classes ---- */

static void check_loads(const struct plan_load *loads, uint32_t count, uint64_t bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct plan_load *load = &loads[i];

		assert(load->slot < PLAN_SLOTS_MAX);
		assert(load->form <= LOAD_BYTES);
		assert(load->shift < 64);
		assert(load->offset +
			       (load->form == LOAD_BYTES ? load->len : (64u - load->shift) / 8) <=
		       bytes);
	}
}

static void check_parts(const struct plan_event *event)
{
	const struct plan_part *part = event->parts;
	uint32_t loads = 0;

	for (;; part++) {
		check_slot(part->slot);
		check_power_of_two((uint64_t)part->align_mask + 1);
		assert(part->end <= PART_ROW);
		assert(part->end != PART_ROW || part->ref < PLAN_SLOTS_MAX);
		assert(part->end != PART_ROW || part->element_bytes > 0);
		assert(part->load_count <= event->fast_count - loads);
		check_loads(event->fast + loads, part->load_count, part->bytes);
		loads += part->load_count;
		if (part->end == PART_LAST) {
			break;
		}
	}
	assert(loads == event->fast_count);
}

static void check_fixed(const struct plan_event *event)
{
	check_power_of_two(event->align_bits);
	for (unsigned int i = 0; i < event->load_count; i++) {
		assert(event->steps[i].op >= STEP_U8 && event->steps[i].op <= STEP_BYTES);
	}
	if (event->is_fast) {
		assert(event->fixed_bits % 8 == 0);
		assert(event->fast_count == event->load_count);
		check_loads(event->fast, event->fast_count, event->fixed_bits / 8);
	}
}

static void check_bindings(const struct plan_event *event)
{
	for (uint32_t i = 0; i < event->binding_count; i++) {
		assert(i == 0 || event->bindings[i].request > event->bindings[i - 1].request);
		assert(event->bindings[i].base <= PLAN_SLOTS_MAX);
		for (unsigned int f = 0; f < PLAN_FIELDS_MAX; f++) {
			assert(!(event->bindings[i].present >> f & 1) ||
			       plan_field_of(event, &event->bindings[i], f)->type);
		}
	}
	for (uint32_t i = 0; i < event->copy_count; i++) {
		assert(event->copies[i].from < event->copies[i].to ||
		       (event->copies[i].from == event->copies[i].to && event->copies[i].add));
		assert(event->copies[i].to < PLAN_SLOTS_MAX);
	}
}

static void check_event(const struct plan_event *event)
{
	bool has_fast = event->is_fast || event->parts;

	check_steps(event->steps, event->is_fixed ? event->fixed_bits : 0);
	check_bindings(event);
	assert(event->is_fixed || !event->is_fast);
	assert(!event->is_fixed || !event->parts);
	assert((event->use != SKIP_NOT) == has_fast);
	assert(event->use != SKIP_PASS || event->binding_count == 0);
	if (event->is_fixed) {
		check_fixed(event);
	}
	if (event->parts) {
		check_parts(event);
	}
}

/* ---- streams ---- */

static void check_skip(const struct plan_stream *stream, uint64_t id)
{
	const struct plan_event *event = stream->events[id];
	const struct plan_skip *skip = &stream->skips[id];

	if (!event) {
		assert(skip->use == SKIP_NOT);
		return;
	}
	assert(skip->index == event->index);
	assert(skip->use == (event->parts ? SKIP_LOAD : event->use));
	assert(!event->is_fast || skip->bytes == event->fixed_bits / 8);
	assert(!stream->is_packed || skip->align_mask == 0);
}

static void check_table(const struct plan_stream *stream)
{
	for (uint32_t i = 0; i < stream->event_count; i++) {
		const struct plan_event *event = stream->events[i];

		assert(event || stream->is_dense);
		if (event) {
			assert(event->stream == stream->class);
			assert(!stream->is_dense || event->class->id == i);
			assert(!event->uses_header || stream->header == HEADER_STEPS ||
			       stream->header == HEADER_NONE);
		}
		assert(stream->is_dense || i == 0 ||
		       stream->events[i - 1]->class->id <= event->class->id);
		if (stream->skips) {
			check_skip(stream, i);
		}
	}
}

static void check_header(const struct plan_stream *stream)
{
	bool is_known = stream->header == HEADER_COMPACT || stream->header == HEADER_LARGE;

	assert(!stream->is_packed || stream->header == HEADER_COMPACT || !stream->skips);
	assert(!stream->skips || (stream->is_dense && is_known));
	if (is_known) {
		check_power_of_two(stream->header_align_bits / 8);
		check_power_of_two(stream->extended_align_bits / 8);
		check_power_of_two(stream->extended_clock_align_bits / 8);
	}
	if (stream->header == HEADER_LARGE) {
		check_power_of_two(stream->header_clock_align_bits / 8);
	}
}

static void check_stream(const struct plan *plan, const struct plan_stream *stream)
{
	assert(plan_stream(plan, stream->id) == stream); /* no other has its id */
	assert(stream->class->id == stream->id);
	assert(!stream->is_dense || stream->event_count <= EVENT_ID_DIRECT_MAX);
	assert(!(stream->lead_mask & ~stream->request_mask));
	assert(stream->discarded_bits >= 1 && stream->discarded_bits <= 64);
	check_steps(stream->header_steps, 0);
	check_steps(stream->packet_steps, 0);
	check_slot(stream->slot_timestamp_begin);
	check_slot(stream->slot_timestamp_end);
	check_slot(stream->slot_content_size);
	check_slot(stream->slot_packet_size);
	check_slot(stream->slot_seq_num);
	check_slot(stream->slot_discarded);
	check_slot(stream->slot_cpu_id);
	check_header(stream);
	check_table(stream);
}

void plan_check(const struct plan *plan)
{
	assert(plan->refs > 0);
	assert(plan->class_count <= plan->metadata->event_count);
	check_steps(plan->header_steps, 0);
	check_slot(plan->slot_magic);
	check_slot(plan->slot_uuid);
	check_slot(plan->slot_stream_id);
	check_slot(plan->slot_instance_id);
	for (uint32_t i = 0; i < plan->class_count; i++) {
		assert(plan->classes[i]->index == i);
		check_event(plan->classes[i]);
	}
	for (uint32_t i = 0; i < plan->stream_count; i++) {
		check_stream(plan, &plan->streams[i]);
	}
}
