/*
 * anonymous-packet: see anonymous.h; events, one after the other.
 *
 *     headers, contexts    their numbers, as they are
 *     numbers              as they are
 *     texts                words replaced, zeros behind their end
 *     rows of bytes        replaced: addresses, build ids, payloads
 *     all else             zeros: gaps may hold what the buffer had before
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "anonymous/anonymous-parts.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/now.h"
#include "ctf/decoder.h"

/* Elements of rows that are taken for bytes: addresses of IPv6 are eight of 16 bits. */
#define ROW_ELEMENT_BITS_MAX 16

struct anonymous_trace {
	struct anonymous *anonymous;
	struct plan_builder *builder;
	struct plan *plan;
	struct decoder *decoder;
	/* the packet */
	const uint8_t *from;
	uint8_t *to;
	/* the event */
	unsigned int depth, row_depth; /* of what leaves are in; that of the row, 0: in none */
	uint64_t row_begin, row_end;   /* bits; equal: it had no element so far */
};

static bool is_row_of_bytes(const struct type *type)
{
	return (type->kind == TYPE_ARRAY || type->kind == TYPE_SEQUENCE) &&
	       type->element->kind == TYPE_INT && type->element->size_bits <= ROW_ELEMENT_BITS_MAX;
}

/* ---- headers of packets ---- */

/* Whether it has values that are no integers, but for a UUID: they can hold a name, and tracers
 * write none. */
static bool can_name(const struct type *type)
{
	switch (type->kind) {
	case TYPE_INT:
	case TYPE_ENUM:
		return false;
	case TYPE_STRUCT:
	case TYPE_VARIANT:
		for (size_t i = 0; i < type->field_count; i++) {
			const struct type *field = type->fields[i].type;
			bool is_uuid = field->kind == TYPE_ARRAY && field->length == 16 &&
				       (field->roles & ROLE_UUID ||
					strcmp(type_name(type->fields[i].name), "uuid") == 0);

			if (!is_uuid && can_name(field)) {
				return true;
			}
		}
		return false;
	default:
		return true;
	}
}

static bool has_names_in_headers(const struct metadata *types)
{
	if (types->packet_header && can_name(types->packet_header)) {
		return true;
	}
	for (const struct stream_class *class = types->streams; class; class = class->next) {
		if ((class->packet_context && can_name(class->packet_context)) ||
		    (class->event_header && can_name(class->event_header))) {
			return true;
		}
	}
	return false;
}

int anonymous_trace_new(struct anonymous *anonymous, struct metadata_stream *metadata,
			bool ignores_uuid, struct anonymous_trace **ret, struct err *err)
{
	const struct metadata *types = metadata_stream_types(metadata);
	struct anonymous_trace *trace;
	int r;

	if (has_names_in_headers(types)) {
		return err_raise(err, -ENOTSUP,
				 "headers of its packets or events have more than integers, and "
				 "may have names, which cannot be replaced there");
	}
	trace = mem_alloc(sizeof(*trace));
	trace->anonymous = anonymous;
	trace->builder = plan_builder_new(metadata_stream_arena(metadata), NULL, 0, true);
	r = plan_build(trace->builder, types, &trace->plan, err);
	if (r < 0) {
		anonymous_trace_free(trace);
		return r;
	}
	if (ignores_uuid) {
		plan_ignore_uuid(trace->builder, trace->plan);
	}
	trace->decoder = mem_alloc(sizeof(*trace->decoder));
	*ret = trace;
	return 0;
}

void anonymous_trace_free(struct anonymous_trace *trace)
{
	if (trace) {
		decoder_free(trace->decoder);
		plan_unref(trace->plan);
		plan_builder_free(trace->builder);
		free(trace);
	}
}

/* ---- leaves ---- */

/* Copies the bytes that some of these bits are in. */
static void copy_bits(struct anonymous_trace *trace, uint64_t at_bits, uint64_t bits)
{
	uint64_t first = at_bits / 8, past = (at_bits + bits + 7) / 8;

	memcpy(trace->to + first, trace->from + first, past - first);
}

/* A text in code units of more than a byte: the letters of its pseudonym in UTF-8, as many as the
 * text has units. */
static void put_units(struct anonymous_trace *trace, const struct type *type,
		      const struct value *value, uint64_t units)
{
	unsigned int unit = type_encoding_unit(type->encoding);
	bool is_be = type->encoding == UTF_16BE || type->encoding == UTF_32BE;
	uint8_t *to = trace->to + trace->decoder->visit_at_bits / 8;
	char *made = mem_alloc(value->len + 1);

	anonymous_text(trace->anonymous, (const char *)value->bytes, value->len, made);
	for (uint64_t i = 0; i < value->len && i < units; i++) {
		to[i * unit + (is_be ? unit - 1 : 0)] = (uint8_t)made[i];
	}
	free(made);
}

static void rewrite_text(struct anonymous_trace *trace, const struct type *type,
			 const struct value *value)
{
	const struct decoder *d = trace->decoder;
	uint64_t bytes = d->visit_bits / 8;

	if (d->visit_at_bits % 8 != 0) {
		return; /* it becomes empty: no tracer has texts that begin within a byte */
	}
	if (type->encoding != UTF_8) {
		put_units(trace, type, value,
			  bytes / type_encoding_unit(type->encoding) -
				  (type->kind == TYPE_STRING)); /* but for its end */
	} else {
		anonymous_text(trace->anonymous, (const char *)value->bytes,
			       strnlen((const char *)value->bytes, value->len),
			       (char *)trace->to + d->visit_at_bits / 8);
	}
}

static void rewrite_leaf(void *user, const struct type *type, const struct value *value)
{
	struct anonymous_trace *trace = user;
	uint64_t at = trace->decoder->visit_at_bits, bits = trace->decoder->visit_bits;

	if (trace->row_depth > 0) {
		trace->row_begin = trace->row_begin == trace->row_end ? at : trace->row_begin;
		trace->row_end = at + bits;
	} else if (type->kind == TYPE_STRING || type->kind == TYPE_ARRAY ||
		   type->kind == TYPE_SEQUENCE) {
		rewrite_text(trace, type, value);
	} else {
		copy_bits(trace, at, bits);
	}
}

/* Of headers: they have integers, and a UUID. */
static void on_header_leaf(void *user, const struct type *type, const struct value *value)
{
	struct anonymous_trace *trace = user;

	copy_bits(trace, trace->decoder->visit_at_bits, trace->decoder->visit_bits);
}

static void rewrite_row(struct anonymous_trace *trace)
{
	uint64_t begin = trace->row_begin, end = trace->row_end;

	if (begin < end && begin % 8 == 0 && end % 8 == 0) {
		anonymous_bytes(trace->anonymous, trace->from + begin / 8, (end - begin) / 8,
				trace->to + begin / 8);
	}
	trace->row_depth = 0;
	trace->row_begin = trace->row_end = 0;
}

static void follow_shape(void *user, const struct step *step)
{
	struct anonymous_trace *trace = user;

	if (step->op == STEP_ENTER) {
		trace->depth++;
		if (trace->row_depth == 0 && is_row_of_bytes(step->type)) {
			trace->row_depth = trace->depth;
		}
	} else if (step->op == STEP_LEAVE) {
		assert(trace->depth > 0);
		if (trace->depth == trace->row_depth) {
			rewrite_row(trace);
		}
		trace->depth--;
	}
}

/* ---- events ---- */

/* Copies the header of the next event, whose gaps are not copied where LTTng's forms have some. */
static void copy_header(struct anonymous_trace *trace)
{
	struct decoder *d = trace->decoder;
	const struct plan_stream *stream = d->stream;
	uint64_t begin = bits_align(d->at_bits, stream->header_align_bits), end;
	uint64_t at = d->at_bits, clock = d->clock, id = d->event_id, budget = d->budget,
		 header_at = d->header_at_bits, past_tag, id_at;

	d->visit = on_header_leaf;
	d->visits_headers = true;
	end = decoder_short_header(d) < 0 ? begin : d->at_bits; /* it is found again */
	d->visits_headers = false;
	d->visit = rewrite_leaf;
	if (end <= begin || stream->header == HEADER_STEPS || stream->header == HEADER_NONE) {
		assert(stream->header != HEADER_NONE || end <= begin); /* it was visited */
	} else if (end - begin <= 64) {                                /* short: id and time */
		past_tag = stream->header == HEADER_COMPACT ? begin : end - 32;
		copy_bits(trace, begin, stream->header == HEADER_COMPACT ? 32 : 16);
		copy_bits(trace, past_tag, 32);
	} else {
		past_tag = begin + (stream->header == HEADER_COMPACT ? 5 : 16);
		id_at = bits_align(past_tag, stream->extended_align_bits);
		copy_bits(trace, begin, past_tag - begin);
		copy_bits(trace, id_at, 32);
		copy_bits(trace, end - 64, 64);
	}
	d->at_bits = at;
	d->clock = clock;
	d->event_id = id;
	d->budget = budget;
	d->header_at_bits = header_at;
	d->fault = NULL;
}

/* What is behind a place that cannot be read is no event of any class, or one that does not end. */
static void end_packet(struct anonymous_trace *trace, size_t len)
{
	uint64_t from = (trace->decoder->event_at_bits + 7) / 8,
		 end = (trace->decoder->end_bits + 7) / 8;

	end = end < len ? end : len;
	if (from < end) {
		memset(trace->to + from, 0xFF, end - from);
	}
}

bool anonymous_packet(struct anonymous_trace *trace, const uint8_t *bytes, size_t len, uint8_t *to)
{
	struct decoder *d = trace->decoder;
	struct ctf_event event = { 0 };
	struct packet_info info;
	struct err err;
	int r;

	memset(to, 0, len);
	trace->from = bytes;
	trace->to = to;
	d->visit_user = trace;
	d->visit = on_header_leaf;
	d->visits_headers = true;
	r = packet_info_read(d, trace->plan, bytes, len, PACKET_BYTES_MAX, &info, &err);
	d->visits_headers = false;
	d->visit = NULL;
	if (r < 0) {
		return false;
	}
	(void)packet_info_cut(&info, len);
	decoder_start(d, trace->plan, &info, bytes, len);
	d->visit = rewrite_leaf;
	d->shape = follow_shape;
	do {
		trace->depth = trace->row_depth = 0;
		trace->row_begin = trace->row_end = 0;
		if (d->at_bits < d->end_bits) {
			copy_header(trace);
		}
		d->text_used = 0;
		r = decoder_next(d, &event);
	} while (r > 0 && !now_must_leave());
	if (r < 0) {
		end_packet(trace, len);
	}
	d->visit = NULL;
	d->shape = NULL;
	return r <= 0;
}
