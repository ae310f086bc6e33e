/*
 * decoder: runs a plan over one packet.
 *
 *     packet_info_read(&d, plan, ...);            the packet's header and context (packet.h)
 *     decoder_start(&d, plan, ...);
 *     while ((r = decoder_next(&d, &event)) > 0)  events, in order
 *
 * There are three ways to the next event, and all agree on values, order and faults:
 *
 *     decoder_next()    every event, one at a time; any header, any class
 *     decoder_wanted()  the same, but events without a request are only counted
 *     decoder_each()    the same, and reports requested events to a callback within one loop
 *
 * The last two handle LTTng's headers and the classes that have a short form (plan-fast.c).  They
 * leave everything else to decoder_next(): other classes, the last bytes of a packet, and faults.
 *
 * The packet is untrusted.  The decoder reads no byte outside it and does work in proportion to its
 * size.  It reports the first fault with its bit offset; the events before remain valid.
 *
 * A decoder belongs to one thread and decodes any number of packets.  All zeros is its initial
 * state; decoder_fini() frees its memory.
 *
 * The functions on the path of each event are inline here.  They were measured: see doc/decoder.md
 * before changing one.
 */
#pragma once

#include <string.h>

#include "base/check.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/mem.h"
#include "ctf/packet.h"
#include "ctf/plan/plan.h"

struct ctf_event {
	uint64_t cycles; /* of the stream's clock */
	const struct plan_event *class;
	const uint8_t *fields; /* decoder_each(): the fields, not yet loaded; NULL: they are */
};

typedef void decoder_visit_fn(void *user, const struct type *type, const struct value *value);
/* A STEP_NAME, STEP_ENTER or STEP_LEAVE between the leaves. */
typedef void decoder_shape_fn(void *user, const struct step *step);

struct decoder {
	const struct plan *plan;
	const struct plan_stream *stream;
	const uint8_t *data;
	uint64_t at_bits;        /* the cursor, from the packet's first bit */
	uint64_t end_bits;       /* of the content */
	uint64_t header_at_bits; /* the last event header read by steps; UINT64_MAX: none yet */
	uint64_t event_at_bits;  /* where the event that was given last begins */
	uint64_t clock;          /* cycles */
	uint64_t event_id;
	uint64_t budget;         /* loop turns left: bounds the work on a wrong packet */
	decoder_visit_fn *visit; /* called for each leaf of plans built with visit_all */
	decoder_shape_fn *shape; /* the same, for what leaves are in; NULL: it is of no interest */
	void *visit_user;
	bool visits_headers; /* so are integers of headers and contexts of packets, and of event
				headers that are read by steps */
	uint64_t visit_at_bits, visit_bits; /* the leaf's place in the packet, with all of a text */
	const char *fault;                  /* after a failed call: what is wrong at at_bits */
	uint64_t fault_value;
	uint8_t *text; /* converted to UTF-8 in this packet; allocated for all of it at once */
	size_t text_used, text_room;
	struct value values[PLAN_SLOTS_MAX];
};

/*
 * Prepares @d for the events of the packet that @info describes.  @bytes of it are at @data; the
 * decoder reads nothing behind them, whatever size the packet claims.
 */
void decoder_start(struct decoder *d, const struct plan *plan, const struct packet_info *info,
		   const uint8_t *data, uint64_t bytes);

/* After a failed decoder_next(): the fault and its bit offset as a message; returns -EPROTO. */
int decoder_fault(const struct decoder *d, struct err *err);

void decoder_fini(struct decoder *d);
void decoder_free(struct decoder *d); /* for one made by mem_alloc(); NULL is fine */

/* Parts of decoder_next(): run steps from the cursor on; 0, or -1 with the fault set. */
int decoder_run(struct decoder *d, const struct step *steps);
int decoder_header(struct decoder *d);
int decoder_fail(struct decoder *d, const char *fault, uint64_t value);

static inline uint64_t bits_align(uint64_t bits, uint32_t align_bits)
{
	return (bits + align_bits - 1) & ~(uint64_t)(align_bits - 1);
}

#define DECODE_LOAD(type_, at_)                                                                    \
	({                                                                                         \
		type_ loaded_;                                                                     \
		memcpy(&loaded_, (at_), sizeof(loaded_));                                          \
		loaded_;                                                                           \
	})

/* Replaces the low @bits of the clock; if they decreased, they wrapped once (CTF 1.8.3, 8). */
static inline void decoder_clock(struct decoder *d, uint64_t value, unsigned int bits)
{
	uint64_t mask, low;

	if (bits >= 64) {
		d->clock = value;
		return;
	}
	mask = ((uint64_t)1 << bits) - 1;
	low = d->clock & mask;
	d->clock = (d->clock & ~mask) | value;
	if (value < low) {
		d->clock += mask + 1;
	}
}

/* One load relative to bit @base; a NEED or decoder_fixed() has checked its bounds. */
static inline void decoder_load(struct decoder *d, const struct step *step, uint64_t base,
				struct value *value);

/* The long form: an id of 32 bits and a full time stamp follow the tag. */
static inline int decoder_long_header(struct decoder *d, uint64_t past_tag)
{
	const struct plan_stream *stream = d->stream;
	uint64_t id_at = bits_align(past_tag, stream->extended_align_bits);
	uint64_t clock_at = bits_align(id_at + 32, stream->extended_clock_align_bits);

	if (clock_at + 64 > d->end_bits) {
		return decoder_fail(d, "an event header passes the end of the content", 0);
	}
	d->event_id = DECODE_LOAD(uint32_t, d->data + id_at / 8);
	d->clock = DECODE_LOAD(uint64_t, d->data + clock_at / 8);
	d->at_bits = clock_at + 64;
	return 0;
}

/* Reads the headers of LTTng directly, any other by steps. */
static inline int decoder_short_header(struct decoder *d)
{
	const struct plan_stream *stream = d->stream;
	uint64_t at = bits_align(d->at_bits, stream->header_align_bits);
	const uint8_t *bytes = d->data + at / 8;

	if (stream->header == HEADER_COMPACT && at + 32 <= d->end_bits) {
		uint32_t word = DECODE_LOAD(uint32_t, bytes);

		if ((word & 31) != 31) {
			d->event_id = word & 31;
			decoder_clock(d, word >> 5, 27);
			d->at_bits = at + 32;
			return 0;
		}
		return decoder_long_header(d, at + 5);
	} else if (stream->header == HEADER_LARGE) {
		uint64_t clock_at = bits_align(at + 16, stream->header_clock_align_bits);

		if (clock_at + 32 <= d->end_bits) {
			uint16_t id = DECODE_LOAD(uint16_t, bytes);

			if (id != 65535) {
				d->event_id = id;
				decoder_clock(d, DECODE_LOAD(uint32_t, d->data + clock_at / 8), 32);
				d->at_bits = clock_at + 32;
				return 0;
			}
			return decoder_long_header(d, at + 16);
		}
	}
	return decoder_header(d);
}

static inline int decoder_fixed(struct decoder *d, const struct plan_event *class)
{
	uint64_t at = bits_align(d->at_bits, class->align_bits);
	const struct step *step = class->steps;

	if (class->fixed_bits > d->end_bits || at > d->end_bits - class->fixed_bits) {
		return decoder_fail(d, "an event of # bits passes the end of the content",
				    class->fixed_bits);
	}
	for (unsigned int i = 0; i < class->load_count; i++, step++) {
		struct value unused, *value;

		assert_hot(step->offset_bits + step->size_bits <= class->fixed_bits);
		value = step->slot == SLOT_NONE ? &unused : &d->values[step->slot];
		decoder_load(d, step, at, value);
		if (d->visit) {
			d->visit_at_bits = at + step->offset_bits;
			d->visit_bits = step->size_bits;
			d->visit(d->visit_user, step->type, value);
		}
	}
	d->at_bits = at + class->fixed_bits;
	return 0;
}

/* 1: an event, its values in d->values; 0: no more; -1: a fault. */
static inline int decoder_next(struct decoder *d, struct ctf_event *event)
{
	const struct plan_event *class;
	int r;

	if (d->at_bits >= d->end_bits) {
		return 0;
	}
	d->event_at_bits = d->at_bits;
	r = decoder_short_header(d);
	if (r < 0) {
		return r;
	}
	class = d->stream->is_dense && d->event_id < d->stream->event_count
			? d->stream->events[d->event_id]
			: plan_event_find(d->stream, d->event_id);
	if (!class) {
		return decoder_fail(d, "no event class has the id", d->event_id);
	}
	event->class = class;
	event->cycles = d->clock;
	r = class->is_fixed ? decoder_fixed(d, class) : decoder_run(d, class->steps);
	return r < 0 ? r : 1;
}

/* Fields at constant offsets from @data; LOAD_ROOM bytes behind each are readable. */
static inline void decoder_loads(struct decoder *d, const struct plan_load *load,
				 unsigned int count, const uint8_t *data)
{
	for (const struct plan_load *end = load + count; load < end; load++) {
		struct value *value = &d->values[load->slot];

		if (load->form == LOAD_BYTES) {
			value->bytes = data + load->offset;
			value->len = load->len;
		} else {
			uint64_t raw = DECODE_LOAD(uint64_t, data + load->offset) << load->shift;

			value->u = load->form == LOAD_SIGNED
					   ? (uint64_t)((int64_t)raw >> load->shift)
					   : raw >> load->shift;
		}
	}
}

/* The fields, at @fields, of a class of constant size (is_fast). */
static inline void decoder_load_fixed(struct decoder *d, const struct plan_event *class,
				      const uint8_t *fields)
{
	assert_hot(class->is_fast);
	decoder_loads(d, class->fast, class->fast_count, fields);
}

#define LOAD_ROOM 8 /* any field may be loaded as 8 bytes */

/*
 * Loads the fields, at byte @at, of a class of varying size; returns their end.  0: decoder_next()
 * must decode the event, and finds the fault if there is one.
 */
uint64_t decoder_parts(struct decoder *d, const struct plan_event *class, uint64_t at);

/*
 * The end of an event's fields, for any class; 0 as above.  Fields of constant size, which end at
 * @past, are not loaded yet: the place of the next event must not wait for the class's members.
 */
static inline uint64_t decoder_room(struct decoder *d, const struct plan_event *class, uint64_t at,
				    uint64_t past, struct ctf_event *event)
{
	if (class->parts) {
		event->fields = NULL;
		return decoder_parts(d, class, at);
	}
	event->fields = d->data + at;
	return past + LOAD_ROOM <= d->end_bits / 8 ? past : 0;
}

/* Parameters and results of decoder_wanted() and decoder_each(). */
struct decoder_passed {
	uint64_t limit; /* leave events from this time on (cycles) to decoder_next() */
	/* SKIP_PASS, or SKIP_REST while no request that may rest wants events. */
	enum plan_use unwanted;
	uint64_t events, clock; /* in the last call: their number, and the time of the last */
	uint64_t *counts;       /* in all calls, by class index */
	uint32_t *seen;         /* indexes with a count above 0, in any order; room for all */
	size_t seen_count;
};

/*
 * Takes a requested event.  If event->fields is set, its values are valid only after
 * decoder_load_fixed().  It may change `unwanted`, but not the limit.
 */
typedef void decoder_event_fn(void *user, const struct ctf_event *event);

/* The layout of a stream's event headers, in bytes; masks are alignments - 1. */
struct decoder_form {
	bool is_compact, is_packed;
	uint64_t header_mask, extended_mask, clock_mask;
	uint64_t short_mask; /* large: of the time stamp of the short form */
};

/* An event header that was read but not passed. */
struct peeked_header {
	uint64_t now, past; /* its time, and the byte behind it */
	uint32_t id;
};

/*
 * The header at byte @at.  One check covers both its short and its long form: false if @end leaves
 * no room for both.
 */
static inline __attribute__((always_inline)) bool decoder_peek(const uint8_t *data, uint64_t end,
							       const struct decoder_form *form,
							       uint64_t at, uint64_t clock,
							       struct peeked_header *head)
{
	const uint64_t low_mask = form->is_compact ? 0x7FFFFFF : UINT32_MAX;
	const uint32_t extended = form->is_compact ? 31 : 65535;
	const uint64_t tag_bytes = form->is_compact ? 1 : 2;
	uint64_t begin = (at + form->header_mask) & ~form->header_mask;
	uint64_t id_at = (begin + tag_bytes + form->extended_mask) & ~form->extended_mask;
	uint64_t clock_at = (id_at + 4 + form->clock_mask) & ~form->clock_mask;
	uint64_t short_at =
		form->is_compact ? begin : (begin + 2 + form->short_mask) & ~form->short_mask;
	uint32_t word, low;

	if (clock_at + 8 > end || (!form->is_compact && short_at + 4 > end)) {
		return false;
	}
	word = DECODE_LOAD(uint32_t, data + begin);
	if ((word & extended) == extended) {
		head->id = DECODE_LOAD(uint32_t, data + id_at);
		head->now = DECODE_LOAD(uint64_t, data + clock_at);
		head->past = clock_at + 8;
	} else {
		low = form->is_compact ? word >> 5 : DECODE_LOAD(uint32_t, data + short_at);
		head->id = word & extended;
		head->now = (clock & ~low_mask) | low;
		head->now += low < (clock & low_mask) ? low_mask + 1 : 0;
		head->past = short_at + 4;
	}
	return true;
}

/*
 * The distance from the cursor to the prefetched bytes, which go to the second-level cache.  Each
 * event waits for the one before, so the processor does not run ahead by itself (doc/decoder.md).
 */
#define DECODER_AHEAD_BYTES 4096
#define DECODER_AHEAD_LEVEL 2 /* of __builtin_prefetch() */

/* One call of decoder_wanted() or decoder_each() passes over so many bytes at most, and returns the
 * event after them, wanted or not: a caller can stop within a packet of 1 GiB. */
#define DECODER_PIECE_BYTES ((uint64_t)1 << 20)

/* The event is the next one of decoder_wanted(). */
static inline void decoder_stop(struct decoder *d, const struct ctf_event *event, uint64_t past)
{
	d->clock = event->cycles;
	d->at_bits = past * 8;
	if (event->fields) {
		decoder_load_fixed(d, event->class, event->fields);
	}
}

/*
 * decoder_wanted() for one form of header, so that the compiler knows which; with @on_event,
 * decoder_each().
 */
static inline __attribute__((always_inline)) int
decoder_wanted_form(struct decoder *d, const struct decoder_form *form,
		    struct decoder_passed *passed, decoder_event_fn *on_event, void *user,
		    struct ctf_event *event)
{
	const struct plan_skip *skips = d->stream->skips;
	const uint32_t id_count = d->stream->event_count;
	const uint8_t *data = d->data;
	/* An event may end within a byte: the next begins behind it. */
	uint64_t at = (d->at_bits + 7) / 8, before = at, ahead, clock = d->clock, count = 0;
	const uint64_t whole = d->end_bits / 8, limit = passed->limit;
	const uint64_t end = at + DECODER_PIECE_BYTES < whole ? at + DECODER_PIECE_BYTES : whole;
	uint64_t *counts = passed->counts;
	enum plan_use unwanted = passed->unwanted;
	struct peeked_header head;

	while (decoder_peek(data, end, form, at, clock, &head) && head.id < id_count) {
		const struct plan_skip *skip = &skips[head.id];
		uint64_t begin = form->is_packed ? head.past
						 : (head.past + skip->align_mask) &
							   ~(uint64_t)skip->align_mask;
		uint64_t past = begin + skip->bytes;

		/* Once a cache line; else at the cursor, which is cached and costs nothing. */
		ahead = (at ^ before) / LINE_BYTES ? DECODER_AHEAD_BYTES : 0;
		__builtin_prefetch(data + at + ahead, 0, DECODER_AHEAD_LEVEL);
		before = at;
		if (past > end || head.now < clock || head.now >= limit) {
			break;
		}
		if (skip->use < unwanted) {
			const struct plan_event *class = d->stream->events[head.id];

			past = skip->use == SKIP_NOT ? 0
						     : decoder_room(d, class, begin, past, event);
			if (past == 0) {
				break;
			}
			if (class->use < unwanted) {
				event->class = class;
				event->cycles = head.now;
				if (!on_event) {
					d->event_at_bits = at * 8;
					decoder_stop(d, event, past);
					passed->events = count;
					passed->clock = clock;
					return 1;
				}
				on_event(user, event);
				unwanted = passed->unwanted;
			}
		}
		assert_hot(skip->use != SKIP_NOT);
		assert_hot(d->stream->events[head.id]->index == skip->index);
		if (counts[skip->index]++ == 0) {
			passed->seen[passed->seen_count++] = skip->index;
		}
		clock = head.now;
		at = past;
		count++;
	}
	/* An event that begins in the piece may end behind it. */
	assert_hot(at <= whole || count == 0);
	assert_hot(clock >= d->clock || count == 0);
	if (count > 0) {
		d->at_bits = at * 8;
		d->clock = clock;
	}
	passed->events = count;
	passed->clock = clock;
	return decoder_next(d, event);
}

static inline __attribute__((always_inline)) int decoder_pass(struct decoder *d,
							      struct decoder_passed *passed,
							      decoder_event_fn *on_event,
							      void *user, struct ctf_event *event)
{
	const struct plan_stream *stream = d->stream;
	struct decoder_form form = {
		.is_compact = true,
		.is_packed = true,
	};

	if (stream->is_packed) {
		return decoder_wanted_form(d, &form, passed, on_event, user, event);
	}
	form.is_packed = false;
	form.header_mask = stream->header_align_bits / 8 - 1;
	form.extended_mask = stream->extended_align_bits / 8 - 1;
	form.clock_mask = stream->extended_clock_align_bits / 8 - 1;
	if (stream->header == HEADER_COMPACT) {
		return decoder_wanted_form(d, &form, passed, on_event, user, event);
	}
	form.is_compact = false;
	form.short_mask = stream->header_clock_align_bits / 8 - 1;
	return decoder_wanted_form(d, &form, passed, on_event, user, event);
}

/*
 * The next event with a request, like decoder_next().  Events before it without a request are only
 * counted, if their time does not decrease and is before the limit.  An event of any class is
 * returned where that ends, and after each piece.
 */
static inline int decoder_wanted(struct decoder *d, struct decoder_passed *passed,
				 struct ctf_event *event)
{
	return decoder_pass(d, passed, NULL, NULL, event);
}

/* The same, but requested events are counted too, and @on_event takes them. */
static inline __attribute__((always_inline)) int decoder_each(struct decoder *d,
							      struct decoder_passed *passed,
							      decoder_event_fn *on_event,
							      void *user, struct ctf_event *event)
{
	return decoder_pass(d, passed, on_event, user, event);
}

/* An element, a number, of a row's value; false: it has fewer. */
bool decoder_element(const struct plan_field *row, const struct value *value, uint64_t index,
		     struct value *element);

uint64_t decoder_bits(const struct decoder *d, const struct step *step, uint64_t at_bits);
double decoder_float(const struct decoder *d, const struct step *step, uint64_t at_bits);

static inline void decoder_load(struct decoder *d, const struct step *step, uint64_t base,
				struct value *value)
{
	uint64_t at_bits = base + step->offset_bits;
	const uint8_t *at = d->data + at_bits / 8;

	switch ((enum step_op)step->op) {
	case STEP_U8:
		value->u = *at;
		break;
	case STEP_U16:
		value->u = DECODE_LOAD(uint16_t, at);
		break;
	case STEP_U32:
		value->u = DECODE_LOAD(uint32_t, at);
		break;
	case STEP_U64:
	case STEP_S64:
		value->u = DECODE_LOAD(uint64_t, at);
		break;
	case STEP_S8:
		value->i = (int8_t)*at;
		break;
	case STEP_S16:
		value->i = DECODE_LOAD(int16_t, at);
		break;
	case STEP_S32:
		value->i = DECODE_LOAD(int32_t, at);
		break;
	case STEP_FLOAT:
		value->f = decoder_float(d, step, at_bits);
		break;
	case STEP_BYTES:
		value->bytes = at;
		value->len = step->count;
		break;
	default:
		value->u = decoder_bits(d, step, at_bits);
		break;
	}
}

/* Copies fields that several requests have to the slots of each. */
static inline void decoder_copy(struct decoder *d, const struct plan_event *class)
{
	for (uint32_t i = 0; i < class->copy_count; i++) {
		d->values[class->copies[i].to] = d->values[class->copies[i].from];
		d->values[class->copies[i].to].i += class->copies[i].add;
	}
}
