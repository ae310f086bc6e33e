/*
 * ctf2-type: the field classes of CTF 2 (CTF2-SPEC-2.0, section 5.3).
 *
 * Recursion follows the nesting of field classes, so TYPE_DEPTH_MAX bounds it.  A field class given
 * by name is the same type wherever it is used.
 */
#include <assert.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/vec.h"
#include "ctf/metadata/ctf2-parser.h"

/* ---- names of field classes ---- */

static unsigned int bucket_of(const char *name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (; *name; name++) {
		hash = (hash ^ (unsigned char)*name) * 16777619u;
	}
	return hash % ALIAS_BUCKETS;
}

static const struct type *find_alias(const struct ctf2 *p, const char *name)
{
	const struct ctf2_alias *alias = p->aliases[bucket_of(name)];

	while (alias && strcmp(alias->name, name) != 0) {
		alias = alias->next;
	}
	return alias ? alias->type : NULL;
}

void ctf2_add_alias(struct ctf2 *p, const char *name, const struct type *type)
{
	struct ctf2_alias *alias = arena_alloc(p->arena, sizeof(*alias));
	struct ctf2_alias **bucket = &p->aliases[bucket_of(name)];

	assert(type);
	if (find_alias(p, name)) {
		ctf2_fail(p, "the field class \"%.80s\" is declared twice", name);
	}
	alias->name = arena_strndup(p->arena, name, strlen(name));
	alias->type = type;
	alias->next = *bucket;
	*bucket = alias;
}

/* ---- scalars ---- */

/* Names for the values of an integer: labels, in the order of declaration. */
static void parse_mappings(struct ctf2 *p, struct json_object *class, struct type *type)
{
	struct json_object *mappings = ctf2_find_object(p, class, "mappings");
	struct type_label *labels;
	size_t count = 0;

	if (!mappings) {
		return;
	}
	json_object_object_foreach(mappings, unused, ranges)
	{
		(void)unused;
		if (!json_object_is_type(ranges, json_type_array)) {
			ctf2_fail(p, "\"mappings\" must have arrays of ranges");
		}
		count += json_object_array_length(ranges);
	}
	labels = arena_alloc(p->arena, count * sizeof(*labels));
	type->kind = TYPE_ENUM;
	type->labels = labels;
	type->label_count = count;
	json_object_object_foreach(mappings, name, some)
	{
		const char *label = arena_strndup(p->arena, name, strlen(name));

		for (size_t i = 0; i < json_object_array_length(some); i++, labels++) {
			labels->name = label;
			ctf2_range(p, json_object_array_get_idx(some, i), &labels->low,
				   &labels->high);
		}
	}
	assert(labels == type->labels + type->label_count);
}

static void parse_orders(struct ctf2 *p, struct json_object *class, struct type *type)
{
	const char *bytes = ctf2_need_text(p, class, "byte-order");
	const char *bits = ctf2_find_text(p, class, "bit-order");
	bool is_le = strcmp(bytes, "little-endian") == 0;

	if (!is_le && strcmp(bytes, "big-endian") != 0) {
		ctf2_fail(p, "\"byte-order\" must be big-endian or little-endian, not \"%.80s\"",
			  bytes);
	}
	type->order = is_le ? ORDER_LE : ORDER_BE;
	if (bits) {
		bool from_first = strcmp(bits, "first-to-last") == 0;

		if (!from_first && strcmp(bits, "last-to-first") != 0) {
			ctf2_fail(p,
				  "\"bit-order\" must be first-to-last or last-to-first, not "
				  "\"%.80s\"",
				  bits);
		}
		type->is_reversed = from_first != is_le; /* little endian: first to last */
	}
}

/* A bit array wider than any integer is an array of bits. */
static void make_bits(struct ctf2 *p, struct type *type, uint64_t length)
{
	struct type *bit = arena_copy(p->arena, type, sizeof(*type));

	bit->size_bits = 1;
	bit->align_bits = 1;
	bit->roles = 0;
	type->kind = TYPE_ARRAY;
	type->element = bit;
	type->length = length;
}

static void parse_fixed(struct ctf2 *p, struct json_object *class, struct type *type)
{
	uint64_t length = ctf2_need_uint(p, class, "length", PACKET_BYTES_MAX);

	type->kind = TYPE_INT;
	type->align_bits = ctf2_alignment(p, class, "alignment");
	parse_orders(p, class, type);
	if (length == 0) {
		ctf2_fail(p, "a field class of no bits");
	}
	if (length > 64) {
		make_bits(p, type, length);
		return;
	}
	type->size_bits = (uint32_t)length;
	parse_mappings(p, class, type);
}

static void parse_fixed_signed(struct ctf2 *p, struct json_object *class, struct type *type)
{
	type->is_signed = true;
	parse_fixed(p, class, type);
}

/* IEEE 754-2008, table 3.5: 16, 32, 64, 128 and larger multiples of 32 bits. */
static void parse_float(struct ctf2 *p, struct json_object *class, struct type *type)
{
	uint64_t length = ctf2_need_uint(p, class, "length", FLOAT_BITS_MAX);

	if (length != 16 && length != 32 && length != 64 && (length < 128 || length % 32)) {
		ctf2_fail(p, "a floating point number of %llu bits", (unsigned long long)length);
	}
	type->kind = TYPE_FLOAT;
	type->size_bits = (uint32_t)length;
	type->align_bits = ctf2_alignment(p, class, "alignment");
	parse_orders(p, class, type);
	if (type->is_reversed && length > 64) {
		ctf2_fail(p, "a floating point number of %llu bits in reversed order",
			  (unsigned long long)length);
	}
}

static void parse_variable(struct ctf2 *p, struct json_object *class, struct type *type)
{
	type->kind = TYPE_INT;
	type->is_variable = true;
	type->size_bits = 64;
	type->align_bits = 8;
	parse_mappings(p, class, type);
}

static void parse_variable_signed(struct ctf2 *p, struct json_object *class, struct type *type)
{
	type->is_signed = true;
	parse_variable(p, class, type);
}

/* ---- strings and BLOBs ---- */

static const struct type *byte_type(bool is_text)
{
	static const struct type byte = {
		.kind = TYPE_INT, .size_bits = 8, .align_bits = 8, .order = ORDER_LE
	};
	static const struct type text = { .kind = TYPE_INT,
					  .size_bits = 8,
					  .align_bits = 8,
					  .order = ORDER_LE,
					  .is_text = true };

	return is_text ? &text : &byte;
}

static void parse_string(struct ctf2 *p, struct json_object *class, struct type *type)
{
	type->kind = TYPE_STRING;
	type->align_bits = 8;
	type->encoding = ctf2_encoding(p, class);
}

static void make_row(struct ctf2 *p, struct json_object *class, struct type *type, bool is_dynamic)
{
	if (is_dynamic) {
		type->kind = TYPE_SEQUENCE;
		type->length_path = ctf2_location(p, class, "length-field-location");
	} else {
		type->kind = TYPE_ARRAY;
		type->length = ctf2_need_uint(p, class, "length", PACKET_BYTES_MAX);
	}
}

static void parse_static_string(struct ctf2 *p, struct json_object *class, struct type *type)
{
	make_row(p, class, type, false);
	type->element = byte_type(true);
	type->align_bits = 8;
	type->encoding = ctf2_encoding(p, class);
}

static void parse_dynamic_string(struct ctf2 *p, struct json_object *class, struct type *type)
{
	make_row(p, class, type, true);
	type->element = byte_type(true);
	type->align_bits = 8;
	type->encoding = ctf2_encoding(p, class);
}

static void parse_static_blob(struct ctf2 *p, struct json_object *class, struct type *type)
{
	make_row(p, class, type, false);
	type->element = byte_type(false);
	type->align_bits = 8;
}

static void parse_dynamic_blob(struct ctf2 *p, struct json_object *class, struct type *type)
{
	make_row(p, class, type, true);
	type->element = byte_type(false);
	type->align_bits = 8;
}

/* ---- compounds ---- */

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void parse_array(struct ctf2 *p, struct json_object *class, struct type *type,
			bool is_dynamic)
{
	make_row(p, class, type, is_dynamic);
	type->element =
		ctf2_type(p, ctf2_find(class, "element-field-class"), "element-field-class");
	type->align_bits =
		larger(ctf2_alignment(p, class, "minimum-alignment"), type->element->align_bits);
}

static void parse_static_array(struct ctf2 *p, struct json_object *class, struct type *type)
{
	parse_array(p, class, type, false);
}

static void parse_dynamic_array(struct ctf2 *p, struct json_object *class, struct type *type)
{
	parse_array(p, class, type, true);
}

/* The objects of an array; @each takes one, and p->where names it for messages meanwhile. */
typedef void element_fn(struct ctf2 *p, struct json_object *object, struct type *type, size_t i,
			struct type_field *field);

static void parse_members(struct ctf2 *p, struct json_object *class, struct type *type,
			  const char *key, element_fn *each)
{
	struct json_object *members = ctf2_find_array(p, class, key);
	struct ctf2_where where = { .outer = p->where, .key = key };
	size_t count = members ? json_object_array_length(members) : 0;
	struct type_field *fields = arena_alloc(p->arena, count * sizeof(*fields));

	p->where = &where;
	for (size_t i = 0; i < count; i++) {
		struct json_object *member = json_object_array_get_idx(members, i);

		where.index = i;
		if (!json_object_is_type(member, json_type_object)) {
			ctf2_fail(p, "must be an object");
		}
		each(p, member, type, i, &fields[i]);
	}
	assert(p->where == &where);
	p->where = where.outer;
	type->fields = fields;
	type->field_count = count;
	metadata_note_twice(p->metadata.notes, type);
}

static void parse_member(struct ctf2 *p, struct json_object *member, struct type *type, size_t i,
			 struct type_field *field)
{
	field->name = ctf2_name(p, ctf2_need_text(p, member, "name"));
	field->type = ctf2_type(p, ctf2_find(member, "field-class"), "field-class");
	type->align_bits = larger(type->align_bits, field->type->align_bits);
}

static void parse_struct(struct ctf2 *p, struct json_object *class, struct type *type)
{
	type->kind = TYPE_STRUCT;
	type->align_bits = ctf2_alignment(p, class, "minimum-alignment");
	parse_members(p, class, type, "member-classes", parse_member);
}

/* Appends the ranges of one option to the cases of a variant. */
static void add_cases(struct ctf2 *p, struct json_object *ranges, struct type *type, size_t field)
{
	size_t count = json_object_array_length(ranges);
	struct type_case *cases =
		arena_alloc(p->arena, (type->case_count + count) * sizeof(*cases));

	if (type->case_count > 0) {
		memcpy(cases, type->cases, type->case_count * sizeof(*cases));
	}
	for (size_t i = 0; i < count; i++) {
		struct type_case *one = &cases[type->case_count + i];

		one->field = field;
		ctf2_range(p, json_object_array_get_idx(ranges, i), &one->low, &one->high);
	}
	type->cases = cases;
	type->case_count += count;
}

static void parse_option(struct ctf2 *p, struct json_object *option, struct type *type, size_t i,
			 struct type_field *field)
{
	const char *name = ctf2_find_text(p, option, "name");
	struct json_object *ranges = ctf2_find_array(p, option, "selector-field-ranges");

	field->name = name ? ctf2_name(p, name) : "";
	field->type = ctf2_type(p, ctf2_find(option, "field-class"), "field-class");
	if (!ranges) {
		ctf2_fail(p, "no \"selector-field-ranges\"");
	}
	add_cases(p, ranges, type, i);
}

static void parse_variant(struct ctf2 *p, struct json_object *class, struct type *type)
{
	type->kind = TYPE_VARIANT;
	type->align_bits = 1; /* each option aligns itself */
	type->tag = ctf2_location(p, class, "selector-field-location");
	type->cases = arena_alloc(p->arena, sizeof(*type->cases));
	parse_members(p, class, type, "options", parse_option);
}

/* A variant with one option or none; without ranges the selector is a boolean. */
static void parse_optional(struct ctf2 *p, struct json_object *class, struct type *type)
{
	struct json_object *ranges = ctf2_find_array(p, class, "selector-field-ranges");
	struct type_case *truth = arena_alloc(p->arena, sizeof(*truth));
	struct type_field *field = arena_alloc(p->arena, sizeof(*field));

	type->kind = TYPE_VARIANT;
	type->is_optional = true;
	type->align_bits = 1;
	type->tag = ctf2_location(p, class, "selector-field-location");
	field->name = "";
	field->type = ctf2_type(p, ctf2_find(class, "field-class"), "field-class");
	type->fields = field;
	type->field_count = 1;
	truth->low = 1;
	truth->high = UINT64_MAX;
	type->cases = truth;
	if (ranges) {
		add_cases(p, ranges, type, 0);
	} else {
		type->case_count = 1;
	}
}

/* ---- all kinds ---- */

static const struct {
	const char *name;
	void (*parse)(struct ctf2 *p, struct json_object *class, struct type *type);
} kinds[] = {
	{ "fixed-length-bit-array", parse_fixed },
	{ "fixed-length-bit-map", parse_fixed },
	{ "fixed-length-boolean", parse_fixed },
	{ "fixed-length-unsigned-integer", parse_fixed },
	{ "fixed-length-signed-integer", parse_fixed_signed },
	{ "fixed-length-unsigned-enumeration", parse_fixed },
	{ "fixed-length-signed-enumeration", parse_fixed_signed },
	{ "fixed-length-floating-point-number", parse_float },
	{ "variable-length-unsigned-integer", parse_variable },
	{ "variable-length-signed-integer", parse_variable_signed },
	{ "variable-length-unsigned-enumeration", parse_variable },
	{ "variable-length-signed-enumeration", parse_variable_signed },
	{ "null-terminated-string", parse_string },
	{ "static-length-string", parse_static_string },
	{ "dynamic-length-string", parse_dynamic_string },
	{ "static-length-blob", parse_static_blob },
	{ "dynamic-length-blob", parse_dynamic_blob },
	{ "static-length-array", parse_static_array },
	{ "dynamic-length-array", parse_dynamic_array },
	{ "structure", parse_struct },
	{ "optional", parse_optional },
	{ "variant", parse_variant },
};

static const struct type *parse_class(struct ctf2 *p, struct json_object *class)
{
	const char *name = ctf2_need_text(p, class, "type");
	struct type *type = arena_alloc(p->arena, sizeof(*type));

	for (size_t i = 0; i < ARRAY_COUNT(kinds); i++) {
		if (strcmp(name, kinds[i].name) == 0) {
			type->roles = ctf2_roles(p, class);
			kinds[i].parse(p, class, type);
			if (CHECKS_ON) {
				type_check(type);
			}
			return type;
		}
	}
	ctf2_fail(p, "an unknown field class type, \"%.80s\"", name);
}

const struct type *ctf2_type(struct ctf2 *p, struct json_object *class, const char *key)
{
	struct ctf2_where where = { .outer = p->where, .key = key, .index = SIZE_MAX };
	const struct type *type;

	p->where = &where;
	if (p->depth++ == TYPE_DEPTH_MAX) {
		ctf2_fail(p, "types are nested deeper than %d", TYPE_DEPTH_MAX);
	}
	if (json_object_is_type(class, json_type_string)) {
		type = find_alias(p, json_object_get_string(class));
		if (!type) {
			ctf2_fail(p, "unknown field class \"%.80s\"",
				  json_object_get_string(class));
		}
	} else if (json_object_is_type(class, json_type_object)) {
		type = parse_class(p, class);
	} else {
		ctf2_fail(p, "must be a field class: an object, or the name of one");
	}
	assert(p->depth > 0);
	assert(p->where == &where);
	p->depth--;
	p->where = where.outer;
	return type;
}
