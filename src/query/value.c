/*
 * value: see value.h.
 */
#include "query/value.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "ctf/decoder.h"

/* ---- what a field has ---- */

static bool is_number(enum type_kind kind)
{
	return kind == TYPE_INT || kind == TYPE_ENUM;
}

static bool element_of(const struct plan_field *field, const struct value *value, uint32_t element,
		       struct query_value *ret)
{
	if (!type_is_row(field->type) || type_is_text(field->type->element) ||
	    !decoder_element(field, value, element, &ret->is)) {
		return false;
	}
	ret->type = field->type->element;
	ret->shown = NULL;
	ret->kind = is_number(ret->type->kind) ? QUERY_NUMBER : QUERY_REAL;
	ret->is_signed = ret->type->is_signed;
	return true;
}

static bool set_kind(struct query_value *value)
{
	enum type_kind kind = value->type->kind;

	value->kind = is_number(kind) ? QUERY_NUMBER : kind == TYPE_FLOAT ? QUERY_REAL : QUERY_TEXT;
	return value->kind != QUERY_TEXT || kind == TYPE_STRING ||
	       (value->type->element && type_is_text(value->type->element));
}

/* What the option has that is chosen (plan.h). */
static bool option_of(const struct plan_field *field, const struct value *value,
		      struct query_value *ret)
{
	uint64_t option = value->len >> PLAN_OPTION_SHIFT;

	if (option == 0) {
		return false;
	}
	assert(option <= field->type->field_count);
	ret->type = field->type->fields[option - 1].type;
	ret->is = *value;
	ret->is.len &= (UINT64_C(1) << PLAN_OPTION_SHIFT) - 1;
	ret->is_signed = ret->type->is_signed;
	ret->shown = NULL;
	return set_kind(ret);
}

bool query_value_of(const struct plan_field *field, const struct value *value, uint32_t element,
		    struct query_value *ret)
{
	if (!field->type) {
		return false;
	}
	if (element != QUERY_ELEMENT_NONE) {
		return element_of(field, value, element, ret);
	}
	if (field->type->kind == TYPE_VARIANT) {
		return option_of(field, value, ret);
	}
	ret->type = field->type;
	ret->is = *value;
	ret->shown = NULL;
	ret->is_signed = field->flags & STEP_SIGNED;
	return set_kind(ret);
}

const char *query_value_label(const struct query_value *value, size_t *at)
{
	const struct type *type = value->type;

	assert(value->kind == QUERY_NUMBER);
	while (*at < type->label_count) {
		const struct type_label *label = &type->labels[(*at)++];
		bool is_in = value->is_signed
				     ? value->is.i >= (int64_t)label->low &&
					       value->is.i <= (int64_t)label->high
				     : value->is.u >= label->low && value->is.u <= label->high;

		if (is_in) {
			return label->name;
		}
	}
	return NULL;
}

/* ---- as text ---- */

/* The fewest digits that lead back to the same number. */
static int put_real(char text[QUERY_NUMBER_BYTES], double real, bool is_float)
{
	int digits = is_float ? 6 : 15, len;

	do {
		len = snprintf(text, QUERY_NUMBER_BYTES, "%.*g", digits, real);
	} while (digits++ < 17 &&
		 (is_float ? (double)strtof(text, NULL) != real : strtod(text, NULL) != real));
	return len;
}

const char *query_value_text(const struct query_value *value, bool by_label,
			     char number[QUERY_NUMBER_BYTES], size_t *ret_len)
{
	const char *text = NULL;
	size_t first = 0;
	int len;

	if (value->shown) {
		*ret_len = value->is.len;
		return value->shown;
	}
	if (value->kind == QUERY_TEXT) {
		text = (const char *)value->is.bytes;
		*ret_len = strnlen(text, value->is.len);
		return text;
	}
	if (value->kind == QUERY_NUMBER && by_label) {
		text = query_value_label(value, &first);
	}
	if (text) {
		*ret_len = strlen(text);
		return text;
	}
	if (value->kind == QUERY_REAL) {
		len = put_real(number, value->is.f, value->type->size_bits == 32);
	} else {
		len = snprintf(number, QUERY_NUMBER_BYTES,
			       value->is_signed ? "%" PRId64 : "%" PRIu64, value->is.u);
	}
	*ret_len = (size_t)len;
	return number;
}

/* ---- keys ---- */

uint64_t query_value_hash(uint64_t hash, const struct query_value *value)
{
	uint64_t bits = value->is.u;

	if (value->kind == QUERY_TEXT) {
		const char *text = (const char *)value->is.bytes;

		return hash_bytes(hash, text, strnlen(text, value->is.len));
	}
	if (value->kind == QUERY_REAL && value->is.f == trunc(value->is.f) &&
	    fabs(value->is.f) < 0x1p63) {
		bits = (uint64_t)(int64_t)value->is.f;
	} else if (value->kind == QUERY_REAL && isnan(value->is.f)) {
		bits = UINT64_C(0x7FF8) << 48; /* there are many */
	}
	return hash_bytes(hash, &bits, sizeof(bits));
}

bool query_value_difference(const struct query_value *from, const struct query_value *to,
			    uint64_t *ret)
{
	bool was_below = query_value_is_below(from), is_below = query_value_is_below(to);

	*ret = to->is.u - from->is.u;
	return was_below == is_below ? to->is.u >= from->is.u : was_below && *ret > to->is.u;
}
