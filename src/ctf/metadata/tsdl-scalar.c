/*
 * tsdl-scalar: the types of TSDL without members: integers, floats, strings and enums.
 */
#include "ctf/metadata/tsdl-parser.h"

#include <assert.h>
#include <string.h>

#include "base/check.h"

/* ---- attributes ---- */

static bool value_is_true(struct tsdl *p, const char *text)
{
	if (!strcmp(text, "true") || !strcmp(text, "TRUE") || !strcmp(text, "1")) {
		return true;
	}
	if (!strcmp(text, "false") || !strcmp(text, "FALSE") || !strcmp(text, "0")) {
		return false;
	}
	tsdl_fail(p, "expected true or false, found \"%s\"", text);
}

static enum byte_order value_order(struct tsdl *p, const char *text)
{
	if (!strcmp(text, "le")) {
		return ORDER_LE;
	}
	if (!strcmp(text, "be") || !strcmp(text, "network")) {
		return ORDER_BE;
	}
	if (!strcmp(text, "native")) {
		return ORDER_NATIVE;
	}
	tsdl_fail(p, "byte_order must be le, be, network or native, not \"%s\"", text);
}

uint32_t tsdl_alignment(struct tsdl *p, uint64_t bits)
{
	if (bits == 0 || (bits & (bits - 1)) || bits > 4096) {
		tsdl_fail(p, "an alignment must be a power of two up to 4096, not %llu",
			  (unsigned long long)bits);
	}
	return (uint32_t)bits;
}

/* "clock.NAME.value" -> "NAME" */
static const char *value_clock(struct tsdl *p, char *text)
{
	size_t len = strlen(text);

	if (len < 13 || strncmp(text, "clock.", 6) != 0 || strcmp(text + len - 6, ".value") != 0) {
		tsdl_fail(p, "map must be clock.NAME.value, not \"%s\"", text);
	}
	text[len - 6] = '\0';
	return text + 6;
}

static uint32_t small_number(struct tsdl *p, uint32_t max, const char *what)
{
	uint64_t number = tsdl_constant(p);

	if (number > max) {
		tsdl_fail(p, "%s must be at most %u", what, max);
	}
	return (uint32_t)number;
}

static void integer_attribute(struct tsdl *p, struct type *type, const char *name)
{
	if (!strcmp(name, "size")) {
		type->size_bits = small_number(p, 64, "the size of an integer");
		if (type->size_bits == 0) {
			tsdl_fail(p, "an integer needs at least one bit");
		}
	} else if (!strcmp(name, "align")) {
		type->align_bits = tsdl_alignment(p, tsdl_constant(p));
	} else if (!strcmp(name, "signed")) {
		type->is_signed = value_is_true(p, tsdl_value_text(p));
	} else if (!strcmp(name, "byte_order")) {
		type->order = value_order(p, tsdl_value_text(p));
	} else if (!strcmp(name, "encoding")) {
		const char *text = tsdl_value_text(p);

		type->is_text = strcmp(text, "none") != 0 && strcmp(text, "NONE") != 0;
	} else if (!strcmp(name, "map")) {
		type->clock = value_clock(p, tsdl_value_text(p));
	} else {
		(void)tsdl_value_text(p); /* base, and attributes that only other programs know */
	}
}

const struct type *tsdl_integer(struct tsdl *p)
{
	struct type *type = arena_alloc(p->arena, sizeof(*type));

	type->kind = TYPE_INT;
	tsdl_expect(p, '{');
	while (!tsdl_accept(p, '}')) {
		const char *name = tsdl_ident(p);

		tsdl_expect(p, '=');
		integer_attribute(p, type, name);
		tsdl_expect(p, ';');
	}
	if (type->size_bits == 0) {
		tsdl_fail(p, "an integer without a size");
	}
	if (type->align_bits == 0) {
		type->align_bits = type->size_bits % 8 == 0 ? 8 : 1; /* CTF 1.8.3, 4.1.2 */
	}
	return type;
}

const struct type *tsdl_float(struct tsdl *p)
{
	struct type *type = arena_alloc(p->arena, sizeof(*type));
	uint32_t exponent = 0, mantissa = 0;

	type->kind = TYPE_FLOAT;
	tsdl_expect(p, '{');
	while (!tsdl_accept(p, '}')) {
		const char *name = tsdl_ident(p);

		tsdl_expect(p, '=');
		if (!strcmp(name, "exp_dig")) {
			exponent = small_number(p, 64, "exp_dig");
		} else if (!strcmp(name, "mant_dig")) {
			mantissa = small_number(p, 64, "mant_dig");
		} else {
			integer_attribute(p, type, name);
		}
		tsdl_expect(p, ';');
	}
	if (!(exponent == 8 && mantissa == 24) && !(exponent == 11 && mantissa == 53)) {
		tsdl_fail(p, "a float must have 8 + 24 or 11 + 53 digits, not %u + %u", exponent,
			  mantissa);
	}
	type->size_bits = exponent + mantissa;
	if (type->align_bits == 0) {
		type->align_bits = 8;
	}
	return type;
}

const struct type *tsdl_string_type(struct tsdl *p)
{
	struct type *type = arena_alloc(p->arena, sizeof(*type));

	type->kind = TYPE_STRING;
	type->align_bits = 8;
	if (tsdl_accept(p, '{')) {
		while (!tsdl_accept(p, '}')) {
			(void)tsdl_ident(p); /* encoding: UTF8 or ASCII, the same bytes */
			tsdl_expect(p, '=');
			(void)tsdl_value_text(p);
			tsdl_expect(p, ';');
		}
	}
	return type;
}

/* ---- enums ---- */

struct label_list {
	struct label_list *next;
	struct type_label label;
};

static char *label_name(struct tsdl *p)
{
	return p->lex.token.kind == TOKEN_STRING ? tsdl_string(p) : tsdl_ident(p);
}

static struct type_label parse_label(struct tsdl *p, uint64_t next)
{
	struct type_label label = { .name = label_name(p), .low = next, .high = next };

	if (tsdl_accept(p, '=')) {
		label.low = tsdl_constant(p);
		label.high = label.low;
		if (tsdl_accept(p, PUNCT_ELLIPSIS)) {
			label.high = tsdl_constant(p);
		}
	}
	return label;
}

static void parse_labels(struct tsdl *p, struct type *type)
{
	struct label_list *list = NULL, **tail = &list;
	struct type_label *labels;
	uint64_t next = 0;

	while (!tsdl_accept(p, '}')) {
		struct label_list *item = arena_alloc(p->arena, sizeof(*item));

		item->label = parse_label(p, next);
		next = item->label.high + 1;
		*tail = item;
		tail = &item->next;
		type->label_count++;
		if (!tsdl_accept(p, ',')) {
			tsdl_expect(p, '}');
			break;
		}
	}
	labels = arena_alloc(p->arena, type->label_count * sizeof(*labels));
	type->labels = labels;
	for (; list; list = list->next) {
		*labels++ = list->label;
	}
	assert(labels == type->labels + type->label_count);
}

static const struct type *enum_container(struct tsdl *p)
{
	const struct type *type;

	if (tsdl_accept(p, ':')) {
		type = tsdl_type_specifier(p);
	} else {
		type = tsdl_symbol(p, TAG_ALIAS, "int"); /* CTF 1.8.3, 4.1.8 */
	}
	if (!type || type->kind != TYPE_INT) {
		tsdl_fail(p, "an enum needs an integer type (`enum : type` or a type named int)");
	}
	return type;
}

const struct type *tsdl_enum(struct tsdl *p)
{
	const char *name = p->lex.token.kind == TOKEN_IDENT ? tsdl_ident(p) : NULL;
	const struct type *container;
	struct type *type;

	if (name && !(p->lex.token.kind == TOKEN_PUNCT &&
		      (p->lex.token.punct == '{' || p->lex.token.punct == ':'))) {
		const struct type *known = tsdl_symbol(p, TAG_ENUM, name);

		if (!known) {
			tsdl_fail(p, "unknown type \"enum %s\"", name);
		}
		return known;
	}
	container = enum_container(p);
	type = arena_copy(p->arena, container, sizeof(*container));
	type->kind = TYPE_ENUM;
	type->is_text = false;
	tsdl_expect(p, '{');
	parse_labels(p, type);
	if (name) {
		tsdl_symbol_add(p, TAG_ENUM, name, type);
	}
	return type;
}
