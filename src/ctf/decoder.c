/*
 * decoder: the general path through a plan.
 *
 * decoder_run() is a loop over flat steps with an explicit stack of loops.  Each move of the cursor
 * is checked against the end of the content.  Each turn of a loop takes from a budget, as elements
 * may have no size.
 */
#include "ctf/decoder.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ctf/metadata/text.h"

int decoder_fail(struct decoder *d, const char *fault, uint64_t value)
{
	d->fault = fault;
	d->fault_value = value;
	return -1;
}

int decoder_fault(const struct decoder *d, struct err *err)
{
	const char *fault = d->fault ? d->fault : "nothing wrong", *at = strchr(fault, '#');

	if (!at) {
		return err_raise(err, -EPROTO, "bit %" PRIu64 ": %s (%" PRIu64 ")", d->at_bits,
				 fault, d->fault_value);
	}
	return err_raise(err, -EPROTO, "bit %" PRIu64 ": %.*s%" PRIu64 "%s", d->at_bits,
			 (int)(at - fault), fault, d->fault_value, at + 1);
}

/* ---- loads ---- */

/* Bytes to load from. */
struct room {
	const uint8_t *data;
	uint64_t end_bits;
};

static inline struct room room_of(const struct decoder *d)
{
	return (struct room){ .data = d->data, .end_bits = d->end_bits };
}

/* Bits are numbered from the low end of each byte in LE, from the high end in BE. */
static uint64_t load_bits(struct room room, bool is_be, uint64_t at_bits, unsigned int size)
{
	uint64_t value = 0;

	assert_hot(size >= 1 && size <= 64);
	assert_hot(at_bits + size <= room.end_bits);
	/* Most lie within eight bytes of the packet. */
	if (at_bits % 8 + size <= 64 && at_bits / 8 + 8 <= room.end_bits / 8) {
		value = DECODE_LOAD(uint64_t, room.data + at_bits / 8);
		if (is_be == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)) {
			value = __builtin_bswap64(value);
		}
		return is_be ? value << at_bits % 8 >> (64 - size)
			     : value << (64 - size - at_bits % 8) >> (64 - size);
	}
	for (unsigned int done = 0; done < size;) {
		uint64_t bit = at_bits + done;
		unsigned int in_byte = (unsigned int)(bit % 8);
		unsigned int take = 8 - in_byte < size - done ? 8 - in_byte : size - done;
		unsigned int byte = room.data[bit / 8], mask;

		assert_hot(take >= 1 && take <= 8);
		mask = (1u << take) - 1;
		if (is_be) {
			value = (value << take) | ((byte >> (8 - in_byte - take)) & mask);
		} else {
			value |= (uint64_t)((byte >> in_byte) & mask) << done;
		}
		done += take;
	}
	return value;
}

static uint64_t reverse_bits(uint64_t value, unsigned int size)
{
	uint64_t reversed = 0;

	for (unsigned int i = 0; i < size; i++) {
		reversed |= (value >> i & 1) << (size - 1 - i);
	}
	return reversed;
}

static uint64_t load_integer(struct room room, const struct step *step, uint64_t at_bits)
{
	unsigned int size = (unsigned int)step->size_bits;
	uint64_t value;

	assert(size >= 1 && size <= 64);
	value = load_bits(room, step->flags & STEP_BE, at_bits, size);
	if (step->flags & STEP_REVERSED) {
		value = reverse_bits(value, size);
	}
	if ((step->flags & STEP_SIGNED) && size < 64 && (value >> (size - 1)) & 1) {
		value |= ~(uint64_t)0 << size;
	}
	return value;
}

/* @size bits of a wider number, from its bit @low up. */
static uint64_t part_of(struct room room, const struct step *step, uint64_t at_bits, uint64_t low,
			unsigned int size)
{
	bool is_be = step->flags & STEP_BE;

	return load_bits(room, is_be, at_bits + (is_be ? step->size_bits - low - size : low), size);
}

/*
 * Any other interchange format of IEEE 754-2008 (table 3.5), rounded to a double:
 * sign, w bits of exponent, fraction; w is 5 of 16 and 15 of 128 bits.
 */
static double wide_float(struct room room, const struct step *step, uint64_t at_bits)
{
	uint64_t size = step->size_bits;
	unsigned int w = size == 16 ? 5 : (unsigned int)(round(4 * log2((double)size)) - 13);
	uint64_t fraction_bits = size - 1 - w;
	unsigned int top = fraction_bits < 60 ? (unsigned int)fraction_bits : 60;
	uint64_t exponent = part_of(room, step, at_bits, fraction_bits, w);
	uint64_t fraction = part_of(room, step, at_bits, fraction_bits - top, top);
	int64_t bias = (INT64_C(1) << (w - 1)) - 1;
	double value;

	if (exponent == (UINT64_C(1) << w) - 1) {
		value = fraction ? (double)NAN : (double)INFINITY;
	} else {
		int64_t scale = (exponent ? (int64_t)exponent : 1) - bias - (int64_t)top;

		scale = scale < -4096 ? -4096 : scale > 4096 ? 4096 : scale;
		value = ldexp((double)(fraction | (uint64_t)(exponent != 0) << top), (int)scale);
	}
	return part_of(room, step, at_bits, size - 1, 1) ? -value : value;
}

static double load_float(struct room room, const struct step *step, uint64_t at_bits)
{
	uint64_t bits;

	if (step->size_bits != 32 && step->size_bits != 64) {
		return wide_float(room, step, at_bits);
	}
	bits = load_integer(room, step, at_bits);
	if (step->size_bits == 32) {
		uint32_t narrow = (uint32_t)bits;
		float number;

		memcpy(&number, &narrow, sizeof(number));
		return (double)number;
	}
	return DECODE_LOAD(double, &bits);
}

uint64_t decoder_bits(const struct decoder *d, const struct step *step, uint64_t at_bits)
{
	return load_integer(room_of(d), step, at_bits);
}

double decoder_float(const struct decoder *d, const struct step *step, uint64_t at_bits)
{
	return load_float(room_of(d), step, at_bits);
}

bool decoder_element(const struct plan_field *row, const struct value *value, uint64_t index,
		     struct value *element)
{
	const struct type *type = row->type->element;
	const struct step step = { .flags = row->flags, .size_bits = type_row_bits(type) };
	const struct room room = { .data = value->bytes, .end_bits = value->len * 8 };

	assert(type_is_row(row->type));
	if (index >= room.end_bits / step.size_bits) {
		return false;
	}
	if (type->kind == TYPE_FLOAT) {
		element->f = load_float(room, &step, index * step.size_bits);
	} else {
		element->u = load_integer(room, &step, index * step.size_bits);
	}
	return true;
}

/* ---- steps ---- */

struct loop_state {
	const struct step *first;
	uint64_t left;
};

struct run {
	struct loop_state loops[PLAN_DEPTH_MAX];
	unsigned int depth;
};

static bool has_bits(const struct decoder *d, uint64_t bits)
{
	return d->at_bits <= d->end_bits && bits <= d->end_bits - d->at_bits;
}

/* A value that has @bits of the packet from @at_bits on. */
static void store(struct decoder *d, const struct step *step, const struct value *value,
		  uint64_t at_bits, uint64_t bits)
{
	if (step->slot != SLOT_NONE) {
		assert_hot(step->slot < PLAN_SLOTS_MAX);
		d->values[step->slot] = *value;
	}
	if (d->visit) {
		d->visit_at_bits = at_bits;
		d->visit_bits = bits;
		d->visit(d->visit_user, step->type, value);
	}
}

/* Room for all that the packet can hold, aligned and converted, so values can point into it. */
static void make_text_room(struct decoder *d)
{
	size_t bytes = (size_t)(d->end_bits / 8), room = bytes + (size_t)TEXT_UTF8_BYTES_MAX(bytes);

	if (room > d->text_room) {
		assert(d->text_used == 0);
		d->text = mem_realloc(d->text, room);
		d->text_room = room;
	}
}

/* Copies elements that do not begin at a byte: @value's @len bytes of them. */
static void realign(struct decoder *d, const struct step *step, struct value *value)
{
	uint8_t *to;

	if (d->at_bits % 8 == 0 || (step->slot == SLOT_NONE && !d->visit)) {
		return;
	}
	make_text_room(d);
	assert(value->len <= d->text_room - d->text_used);
	to = d->text + d->text_used;
	for (uint64_t i = 0; i < value->len; i++) {
		to[i] = (uint8_t)load_bits(room_of(d), step->flags & STEP_BE, d->at_bits + 8 * i,
					   8);
	}
	value->bytes = to;
	d->text_used += value->len;
}

/* Converts @value's @len bytes to UTF-8, if they are requested. */
static void convert(struct decoder *d, const struct step *step, struct value *value)
{
	enum encoding encoding = (enum encoding)(step->flags >> STEP_ENCODING_SHIFT);

	if (encoding == UTF_8 || (step->slot == SLOT_NONE && !d->visit)) {
		return;
	}
	make_text_room(d);
	assert(TEXT_UTF8_BYTES_MAX(value->len) <= d->text_room - d->text_used);
	value->len = text_to_utf8(encoding, value->bytes, value->len, d->text + d->text_used);
	value->bytes = d->text + d->text_used;
	d->text_used += value->len;
}

/* The terminator of the string at @bytes; NULL if it is not within @room bytes. */
static const uint8_t *find_zero(const uint8_t *bytes, uint64_t room, unsigned int unit)
{
	static const uint8_t zeros[4];

	if (unit == 1) {
		return memchr(bytes, 0, room);
	}
	assert_hot(unit <= sizeof(zeros));
	for (uint64_t at = 0; room - at >= unit; at += unit) {
		if (memcmp(bytes + at, zeros, unit) == 0) {
			return bytes + at;
		}
	}
	return NULL;
}

static int run_string(struct decoder *d, const struct step *step)
{
	unsigned int unit = type_encoding_unit((enum encoding)(step->flags >> STEP_ENCODING_SHIFT));
	struct value value = { .bytes = d->data + d->at_bits / 8 };
	uint64_t room = d->at_bits < d->end_bits ? (d->end_bits - d->at_bits) / 8 : 0;
	const uint8_t *zero = find_zero(value.bytes, room, unit);
	uint64_t bits;

	if (!zero) {
		return decoder_fail(d, "a string does not end in the bytes left", room);
	}
	value.len = (uint64_t)(zero - value.bytes);
	bits = (value.len + unit) * 8;
	d->at_bits += bits;
	convert(d, step, &value);
	store(d, step, &value, d->at_bits - bits, bits);
	return 0;
}

/* LEB128 (CTF2-SPEC-2.0, 6.4): seven bits a byte, lowest first; the top bit: more follow. */
static int run_leb128(struct decoder *d, const struct step *step)
{
	uint64_t at = d->at_bits / 8, end = d->end_bits / 8, number = 0, at_bits;
	bool is_signed = step->flags & STEP_SIGNED;
	struct value value = { .len = 0 };
	uint8_t byte;

	do {
		if (at >= end) {
			return decoder_fail(d, "an integer of variable length does not end", 0);
		}
		byte = d->data[at++];
		if (value.len < 64) {
			number |= (uint64_t)(byte & 127) << value.len;
		}
		/* Bits behind the 64th may only repeat the sign. */
		if (value.len >= 63) {
			uint64_t rest = (uint64_t)(byte & 127) >> (value.len == 63 ? 1 : 0);
			uint64_t all = value.len == 63 ? 63 : 127;

			if (rest != (is_signed && number >> 63 ? all : 0)) {
				return decoder_fail(d, "an integer wider than 64 bits", rest);
			}
		}
		value.len += 7;
	} while (byte & 128);
	if (is_signed && value.len < 64 && byte & 64) {
		number |= ~UINT64_C(0) << value.len;
	}
	value.u = number;
	at_bits = d->at_bits;
	d->at_bits = at * 8;
	store(d, step, &value, at_bits, d->at_bits - at_bits);
	return 0;
}

static int run_sequence(struct decoder *d, const struct step *step)
{
	uint64_t count = step->ref == SLOT_NONE ? step->count : d->values[step->ref].u;
	struct value value = { .bytes = d->data + d->at_bits / 8 };

	assert_hot(step->size_bits > 0);
	if (d->at_bits > d->end_bits || count > (d->end_bits - d->at_bits) / step->size_bits) {
		return decoder_fail(d, "a sequence passes the end of the content", count);
	}
	value.len = count * step->size_bits / 8;
	realign(d, step, &value);
	if (step->flags & STEP_TEXT) {
		convert(d, step, &value);
	}
	store(d, step, &value, d->at_bits, count * step->size_bits);
	d->at_bits += count * step->size_bits;
	return 0;
}

/* Enters or skips a loop; takes all its turns from the budget at once. */
static const struct step *run_loop(struct decoder *d, struct run *run, const struct step *steps,
				   const struct step *step)
{
	uint64_t count = step->flags & STEP_COUNTED ? d->values[step->ref].u : step->count;

	if (count > d->budget) {
		(void)decoder_fail(d, "an array has more elements than the content has bits",
				   count);
		return NULL;
	}
	d->budget -= count;
	if (count == 0) {
		return steps + step->target;
	}
	assert(run->depth < PLAN_DEPTH_MAX);
	run->loops[run->depth++] = (struct loop_state){ .first = step + 1, .left = count };
	return step + 1;
}

static const struct step *run_loop_end(struct run *run, const struct step *step)
{
	struct loop_state *loop = &run->loops[run->depth - 1];

	assert(run->depth > 0);
	assert_hot(loop->left > 0);
	if (--loop->left > 0) {
		return loop->first;
	}
	run->depth--;
	return step + 1;
}

static const struct step *run_select(struct decoder *d, const struct step *steps,
				     const struct step *step)
{
	const struct value *tag = &d->values[step->ref];

	for (unsigned int i = 0; i < step->case_count; i++) {
		const struct step_case *one = &step->cases[i];
		bool hit = step->flags & STEP_SIGNED
				   ? tag->i >= (int64_t)one->low && tag->i <= (int64_t)one->high
				   : tag->u >= one->low && tag->u <= one->high;

		if (hit) {
			return steps + one->target;
		}
	}
	if (step->target) {
		return steps + step->target;
	}
	(void)decoder_fail(d, "no choice of a variant has the tag", tag->u);
	return NULL;
}

/* One step that may lead elsewhere; NULL on a fault. */
static const struct step *run_flow(struct decoder *d, struct run *run, const struct step *steps,
				   const struct step *step)
{
	switch ((enum step_op)step->op) {
	case STEP_LOOP:
		return run_loop(d, run, steps, step);
	case STEP_LOOP_END:
		return run_loop_end(run, step);
	case STEP_SELECT:
		return run_select(d, steps, step);
	default:
		assert(step->op == STEP_JUMP);
		return steps + step->target;
	}
}

static int run_load(struct decoder *d, const struct step *step)
{
	struct value value = { 0 };

	assert_hot(d->at_bits + step->offset_bits + step->size_bits <= d->end_bits); /* NEED */
	decoder_load(d, step, d->at_bits, &value);
	store(d, step, &value, d->at_bits + step->offset_bits, step->size_bits);
	return 0;
}

static int run_move(struct decoder *d, const struct step *step)
{
	if (!has_bits(d, step->size_bits)) {
		return decoder_fail(d, "fields of # bits pass the end of the content",
				    step->size_bits);
	}
	d->at_bits += step->op == STEP_SKIP ? step->size_bits : 0;
	return 0;
}

static void run_option(struct decoder *d, const struct step *step)
{
	struct value *value = &d->values[step->slot];
	uint64_t len = step->flags & STEP_TEXT ? value->len : 0;

	assert_hot(len >> PLAN_OPTION_SHIFT == 0);
	value->len = len | step->count << PLAN_OPTION_SHIFT;
}

/* One step in sequence. */
static int run_step(struct decoder *d, const struct step *step)
{
	switch ((enum step_op)step->op) {
	case STEP_ALIGN:
		d->at_bits = bits_align(d->at_bits, (uint32_t)step->size_bits);
		return 0;
	case STEP_NEED:
	case STEP_SKIP:
		return run_move(d, step);
	case STEP_LEB128:
		return run_leb128(d, step);
	case STEP_STRING:
		return run_string(d, step);
	case STEP_SEQ:
		return run_sequence(d, step);
	case STEP_CLOCK:
		decoder_clock(d, d->values[step->ref].u,
			      step->flags & STEP_COUNTED ? (unsigned int)d->values[step->ref].len
							 : (unsigned int)step->size_bits);
		return 0;
	case STEP_ID:
		d->event_id = d->values[step->ref].u;
		return 0;
	case STEP_OPTION:
		run_option(d, step);
		return 0;
	case STEP_NAME:
	case STEP_ENTER:
	case STEP_LEAVE:
		if (d->shape) {
			d->shape(d->visit_user, step);
		}
		return 0;
	default:
		return run_load(d, step);
	}
}

int decoder_run(struct decoder *d, const struct step *steps)
{
	const struct step *step = steps;
	struct run run;

	run.depth = 0;
	while (step->op != STEP_END) {
		if (step->op >= STEP_LOOP && step->op <= STEP_JUMP) {
			step = run_flow(d, &run, steps, step);
			if (!step) {
				return -1;
			}
			continue;
		}
		if (run_step(d, step) < 0) {
			return -1;
		}
		step++;
	}
	assert_hot(run.depth == 0);
	return 0;
}

/* The string behind a part; its end, or 0 if the packet ends first. */
static uint64_t pass_string(struct decoder *d, const struct plan_part *part, uint64_t at)
{
	const uint8_t *start = d->data + at;
	const uint8_t *zero = memchr(start, 0, d->end_bits / 8 - at);

	if (!zero) {
		return 0;
	}
	if (part->slot != SLOT_NONE) {
		d->values[part->slot].bytes = start;
		d->values[part->slot].len = (uint64_t)(zero - start);
	}
	return (uint64_t)(zero + 1 - d->data);
}

/* The row behind a part; its end, or 0 if the packet ends first. */
static uint64_t pass_row(struct decoder *d, const struct plan_part *part, uint64_t at)
{
	uint64_t count = d->values[part->ref].u, room = d->end_bits / 8 - at;

	assert_hot(part->element_bytes > 0);
	if (count > room || count * part->element_bytes > room) {
		return 0;
	}
	if (part->slot != SLOT_NONE) {
		d->values[part->slot].bytes = d->data + at;
		d->values[part->slot].len = count * part->element_bytes;
	}
	return at + count * part->element_bytes;
}

uint64_t decoder_parts(struct decoder *d, const struct plan_event *class, uint64_t at)
{
	const struct plan_load *loads = class->fast;
	const struct plan_part *part = class->parts;
	const uint64_t end = d->end_bits / 8;

	for (;; part++) {
		at = (at + part->align_mask) & ~(uint64_t)part->align_mask;
		if (at + part->bytes + LOAD_ROOM > end) {
			return 0;
		}
		decoder_loads(d, loads, part->load_count, d->data + at);
		loads += part->load_count;
		at += part->bytes;
		if (part->end == PART_LAST) {
			return at;
		}
		if (part->end != PART_ALIGN) {
			at = part->end == PART_STRING ? pass_string(d, part, at)
						      : pass_row(d, part, at);
			assert_hot(at <= end);
			if (at == 0) {
				return 0;
			}
		}
	}
}

int decoder_header(struct decoder *d)
{
	decoder_visit_fn *visit = d->visit;
	int r;

	/* Neither the header nor the fields had a bit: such events would never end. */
	if (d->at_bits == d->header_at_bits) {
		return decoder_fail(d, "an event without a bit", 0);
	}
	d->header_at_bits = d->at_bits;
	d->event_id = 0;
	d->visit = d->visits_headers ? visit : NULL;
	r = decoder_run(d, d->stream->header_steps);
	d->visit = visit;
	return r;
}

void decoder_start(struct decoder *d, const struct plan *plan, const struct packet_info *info,
		   const uint8_t *data, uint64_t bytes)
{
	uint64_t bits = bytes <= UINT64_MAX / 8 ? bytes * 8 : UINT64_MAX;

	assert(info->stream);
	assert(plan_stream(plan, info->stream->id));
	assert(info->content_bits <= PACKET_BYTES_MAX * 8);
	d->plan = plan;
	d->stream = info->stream;
	d->data = data;
	d->at_bits = info->events_at_bits;
	d->end_bits = info->content_bits < bits ? info->content_bits : bits;
	d->budget = d->end_bits;
	d->header_at_bits = UINT64_MAX;
	d->clock = info->begin;
	d->text_used = 0;
	d->fault = NULL;
}

void decoder_fini(struct decoder *d)
{
	free(d->text);
}

void decoder_free(struct decoder *d)
{
	if (d) {
		decoder_fini(d);
		free(d);
	}
}
