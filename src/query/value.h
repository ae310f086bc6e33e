/*
 * value: what an event's field has, as users compare it and see it (doc/definitions.md, 1.1).
 *
 *     QUERY_NUMBER   whole; of an enumeration its labels name it
 *     QUERY_REAL     floating point of any size, as a double
 *     QUERY_TEXT     bytes, up to the first 0
 *
 * A value of another kind, such as a struct or a whole array of numbers, is none.  A variant has
 * the value of the option that is chosen, if that is one.
 */
#pragma once

#include "ctf/plan/plan.h"

enum query_kind { QUERY_NUMBER, QUERY_REAL, QUERY_TEXT };

struct query_value {
	enum query_kind kind;
	bool is_signed;          /* QUERY_NUMBER */
	const struct type *type; /* of the field, or of its element */
	struct value is;
	const char
		*shown; /* of a number that is part of a text: that, of is.len bytes; else NULL */
};

#define QUERY_ELEMENT_NONE UINT32_MAX
#define QUERY_NUMBER_BYTES 32 /* of a number as text */

/* The value of a field, or of one of its elements; false: it is none. */
bool query_value_of(const struct plan_field *field, const struct value *value, uint32_t element,
		    struct query_value *ret);

/* The next label, from *at on, that the number of an enumeration has; NULL: no further one. */
const char *query_value_label(const struct query_value *value, size_t *at);

/* As people read it: a text, a number, or (@by_label) the first label that a number has.  A real
 * number has as many digits as tell it from all others.  @number has room for those. */
const char *query_value_text(const struct query_value *value, bool by_label,
			     char number[QUERY_NUMBER_BYTES], size_t *ret_len);

/* Whether a whole number is below 0. */
static inline bool query_value_is_below(const struct query_value *value)
{
	return value->is_signed && value->is.i < 0;
}

/* How much more a whole number is than another one, whatever their signs.  False: it is less, or
 * the difference is no u64. */
bool query_value_difference(const struct query_value *from, const struct query_value *to,
			    uint64_t *ret);

/* Adds it to a hash of keys: equal numbers are one key, whatever their fields' types. */
uint64_t query_value_hash(uint64_t hash, const struct query_value *value);
