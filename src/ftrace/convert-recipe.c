/*
 * convert-recipe: from the bytes of an event of ftrace to those of its class.
 *
 * A recipe is made once for each format: which fields there are, where, and how wide is the
 * format's to say, never the table's.  What an event of this kernel lacks is no member of the
 * class.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "ftrace/convert-state.h"

/* ---- what is of another form ---- */

void recipe_note_odd(struct convert *convert, struct recipe *recipe, const char *field)
{
	if (recipe->is_odd) {
		return;
	}
	recipe->is_odd = true;
	convert->odd_count++;
	if (!convert->odd) {
		convert->odd = mem_printf("%s:%s (%s)", recipe->format->system,
					  recipe->format->name, field);
	}
}

/* ---- making one ---- */

static void add_step(struct recipe *recipe, const struct recipe_step *step, uint32_t out)
{
	struct recipe_step *last =
		recipe->steps.count > 0 ? &recipe->steps.at[recipe->steps.count - 1] : NULL;

	recipe->out_max += out;
	recipe->elsewhere += step->field && step->field->place != FTRACE_HERE;
	if (last && step->op == RECIPE_COPY && last->op == RECIPE_COPY &&
	    last->from + last->len == step->from) {
		last->len += step->len;
		return;
	}
	*vec_push(&recipe->steps) = *step;
}

/* An integer that is wider in the format than in the table keeps its width: nothing is cut. */
static void add_number(struct convert *convert, struct recipe *recipe, struct class_member *member,
		       const struct ftrace_field *field, enum recipe_op op)
{
	bool is_plain = op == RECIPE_INTEGER;

	if (is_plain && field->size > member->bytes) {
		member->bytes = (uint8_t)field->size;
		member->is_signed = field->is_signed;
	}
	class_add(convert, member);
	if (is_plain && field->size == member->bytes && !convert->layout.is_big) {
		add_step(recipe,
			 &(struct recipe_step){
				 .op = RECIPE_COPY, .from = field->offset, .len = field->size },
			 field->size);
		return;
	}
	add_step(recipe, &(struct recipe_step){ .op = op, .field = field, .bytes = member->bytes },
		 member->bytes);
}

/* A field as the format has it. */
static void add_plain(struct convert *convert, struct recipe *recipe, const char *name,
		      const struct ftrace_field *field)
{
	struct class_member member = { .name = name,
				       .bytes = (uint8_t)field->element_size,
				       .base = strchr(field->type, '*') ? 16 : 10,
				       .is_signed = field->is_signed,
				       .count = field->size / field->element_size };
	bool elsewhere = field->place != FTRACE_HERE;

	if (field->kind == FTRACE_INTEGER && !elsewhere) {
		add_number(convert, recipe, &member, field, RECIPE_INTEGER);
		return;
	}
	if (field->kind == FTRACE_TEXT) {
		member.kind = MEMBER_STRING;
		class_add(convert, &member);
		add_step(recipe, &(struct recipe_step){ .op = RECIPE_STRING, .field = field },
			 field->size + 1);
		return;
	}
	member.kind = elsewhere ? MEMBER_SEQUENCE : MEMBER_ARRAY;
	class_add(convert, &member);
	if (elsewhere) {
		add_step(recipe, &(struct recipe_step){ .op = RECIPE_SEQUENCE, .field = field }, 4);
	} else if (!convert->layout.is_big) {
		add_step(recipe,
			 &(struct recipe_step){
				 .op = RECIPE_COPY, .from = field->offset, .len = field->size },
			 field->size);
	} else {
		add_step(recipe, &(struct recipe_step){ .op = RECIPE_ELEMENTS, .field = field },
			 field->size);
	}
}

static enum recipe_op op_of(const char *function)
{
	static const struct {
		const char *name;
		enum recipe_op op;
	} ops[] = { { "prio", RECIPE_PRIORITY },
		    { "rwbs", RECIPE_RWBS },
		    { "page", RECIPE_PAGE },
		    { "acct", RECIPE_ACCOUNTED } };

	for (size_t i = 0; i < ARRAY_COUNT(ops); i++) {
		if (strcmp(ops[i].name, function) == 0) {
			return ops[i].op;
		}
	}
	return RECIPE_INTEGER;
}

/* Whether what the table says can be made of the field as it is. */
static bool suits(const struct ftrace_field *field, const struct class_member *member,
		  enum recipe_op op)
{
	if (member->kind != MEMBER_INTEGER || op == RECIPE_RWBS) {
		return field->kind == FTRACE_TEXT;
	}
	return field->kind == FTRACE_INTEGER && field->place == FTRACE_HERE;
}

static void add_field_of(struct convert *convert, struct recipe *recipe,
			 struct class_member *member, const struct ftrace_field *field,
			 enum recipe_op op)
{
	if (!suits(field, member, op)) {
		recipe_note_odd(convert, recipe, field->name);
		add_plain(convert, recipe, member->name, field);
		return;
	}
	if (member->kind == MEMBER_INTEGER) {
		add_number(convert, recipe, member, field, op);
		return;
	}
	if (member->kind == MEMBER_CHARS && field->place == FTRACE_HERE &&
	    field->size > member->count) {
		member->count = field->size;
	}
	class_add(convert, member);
	add_step(recipe,
		 &(struct recipe_step){ .op = member->kind == MEMBER_CHARS ? RECIPE_CHARS
									   : RECIPE_STRING,
					.field = field,
					.chars = member->count },
		 member->kind == MEMBER_CHARS ? member->count : field->size + 1);
}

/* A member of the table: NAME:TYPE[=SOURCE], with a field or FUNCTION(FIELD) as source.  Where that
 * is not there, a field of LTTng's own name is what other kernels have. */
static void add_table_word(struct convert *convert, struct recipe *recipe, char *word)
{
	char *type = strchr(word, ':'), *source, *open;
	const struct ftrace_field *field;
	struct class_member member;
	enum recipe_op op = RECIPE_INTEGER;

	assert(type);
	*type++ = '\0';
	source = strchr(type, '=');
	if (source) {
		*source++ = '\0';
	}
	member = class_member_of(word, type);
	open = source ? strchr(source, '(') : NULL;
	if (open) {
		*open = '\0';
		open[strlen(open + 1)] = '\0'; /* the bracket that closes */
		if (strcmp(source, "cur") == 0) {
			class_add(convert, &member);
			add_step(recipe, &(struct recipe_step){ .op = RECIPE_THREAD, .bytes = 4 },
				 4);
			return;
		}
		op = op_of(source);
		source = open + 1;
	}
	field = ftrace_format_field(recipe->format, source ? source : word);
	if (source && !field) {
		field = ftrace_format_field(recipe->format, word);
		op = RECIPE_INTEGER;
	}
	if (field) {
		add_field_of(convert, recipe, &member, field, op);
	}
}

static void add_words(struct convert *convert, struct recipe *recipe, char *words)
{
	char *word;

	while ((word = strsep(&words, " "))) {
		add_table_word(convert, recipe, word);
	}
}

static bool is_taken(const struct convert *convert, const char *name)
{
	VEC_EACH_OF(&convert->classes, class) {
		if (strcmp(class->name, name) == 0) {
			return true;
		}
	}
	return false;
}

/* Whether a field would be taken for the number of elements of another one, which is
 * "__NAME_length" in metadata. */
static bool is_a_length(const struct ftrace_format *format, const struct ftrace_field *field)
{
	static const char end[] = "_length";
	size_t len = strlen(field->name);

	for (size_t i = 0; i < format->count; i++) {
		size_t other = strlen(format->fields[i].name);

		if (format->fields[i].place != FTRACE_HERE &&
		    len == other + strlen("_") + strlen(end) && field->name[0] == '_' &&
		    memcmp(field->name + 1, format->fields[i].name, other) == 0 &&
		    strcmp(field->name + 1 + other, end) == 0) {
			return true;
		}
	}
	return false;
}

/* An event that LTTng does not have: its name is its own, unless another system's has it, or it
 * would be taken for LTTng's. */
static void make_plain(struct convert *convert, struct recipe *recipe)
{
	const struct ftrace_format *format = recipe->format;
	char *name =
		is_taken(convert, format->name) || convert_table_find(format->system, format->name)
			? mem_printf("%s_%s", format->system, format->name)
			: mem_strdup(format->name);

	recipe->class = class_begin(convert, name);
	for (size_t i = 0; i < format->count; i++) {
		const struct ftrace_field *field = &format->fields[i];

		if (is_a_length(format, field)) {
			recipe_note_odd(convert, recipe, field->name);
		} else if (!field->is_common) {
			add_plain(convert, recipe, field->name, field);
		}
	}
	class_end(convert);
	free(name);
}

void recipe_make(struct convert *convert, struct recipe *recipe)
{
	const char *known = convert_table_find(recipe->format->system, recipe->format->name);
	char *words, *rest, *name;

	if (recipe->role == ROLE_ENTER || recipe->role == ROLE_RETURN) {
		return;
	}
	if (recipe->role == ROLE_FORK) {
		tasks_fork_class(convert, recipe);
		return;
	}
	/* It says no more than its name if that is not understood. */
	if (!known || strchr(known, ' ') == NULL) {
		make_plain(convert, recipe);
		return;
	}
	words = rest = mem_strdup(known);
	name = strsep(&rest, " ");
	recipe->class = class_begin(convert, name);
	if (rest) {
		add_words(convert, recipe, rest);
	}
	class_end(convert);
	free(words);
}

/* ---- texts and numbers ---- */

void recipe_chars(const struct ftrace_field *field, const struct convert_input *event, char *to,
		  size_t room)
{
	const uint8_t *bytes;
	size_t len = ftrace_field_bytes(field, event->payload, event->len, event->is_big, &bytes);

	len = strnlen((const char *)bytes, len < room - 1 ? len : room - 1);
	memcpy(to, bytes, len);
	memset(to + len, 0, room - len);
}

/* What a request does, by its first letters: LTTng's bits of it.  *@at is behind them. */
static uint64_t rwbs_operation(const char **at)
{
	const char *letters = *at;
	bool is_all;

	switch (*letters) {
	case 'W':
		*at += 1;
		return 1 << 0;
	case 'D':
		*at += letters[1] == 'E' ? 2 : 1;
		return letters[1] == 'E' ? 1 << 1 | 1 << 7 : 1 << 1;
	case 'R':
		*at += 1;
		return 1 << 2;
	case 'F':
		*at += 1;
		return 1 << 8;
	case 'Z': /* of zones, which LTTng has no bit for: ZA, ZC, ZF, ZO, ZR, ZRA */
		is_all = letters[1] == 'R' && letters[2] == 'A';
		*at += is_all ? 3 : letters[1] ? 2 : 1;
		return 0;
	default: /* N: none of these */
		*at += *letters != '\0';
		return 0;
	}
}

/* LTTng's bits of a request, from the letters that the kernel writes for them. */
static uint64_t rwbs_of(const struct ftrace_field *field, const struct convert_input *event)
{
	static const struct {
		char letter;
		uint16_t bit;
	} more[] = { { 'A', 1 << 3 }, { 'S', 1 << 5 }, { 'M', 1 << 6 }, { 'F', 1 << 9 } };
	char text[16];
	const char *at = text;
	uint64_t bits = 0;

	recipe_chars(field, event, text, sizeof(text));
	if (at[0] == 'F' && at[1] != '\0' && strchr("WDRFNZ", at[1])) {
		bits |= 1 << 10; /* a flush comes before the operation */
		at++;
	}
	bits |= rwbs_operation(&at);
	for (; *at; at++) {
		for (size_t i = 0; i < ARRAY_COUNT(more); i++) {
			bits |= more[i].letter == *at ? more[i].bit : 0;
		}
	}
	return bits;
}

#define PAGES_BEGIN     UINT64_C(0xffffea0000000000)
#define PAGE_STRUCT     64
#define MEMORY_ACCOUNTS 0x400000

/* The number that a kernel of this width has for no page. */
static bool is_no_page(const struct ftrace_field *field, uint64_t value)
{
	return value << (64 - field->size * 8) == UINT64_MAX << (64 - field->size * 8);
}

static uint64_t number_of_step(const struct recipe_step *step, const struct convert_input *event)
{
	uint64_t value;

	if (step->op == RECIPE_RWBS) {
		return rwbs_of(step->field, event);
	}
	value = ftrace_field_number(step->field, event->payload, event->is_big);
	switch (step->op) {
	case RECIPE_PRIORITY:
		return value - 100;
	case RECIPE_PAGE:
		return is_no_page(step->field, value) ? 0 : PAGES_BEGIN + value * PAGE_STRUCT;
	case RECIPE_ACCOUNTED:
		return (value & MEMORY_ACCOUNTS) != 0;
	default:
		return value;
	}
}

/* ---- following one ---- */

static uint8_t *put_elements(uint8_t *out, const struct ftrace_field *field, const uint8_t *bytes,
			     size_t count, bool is_big)
{
	for (size_t i = 0; i < count; i++) {
		out = put_number(out,
				 ftrace_integer(bytes + i * field->element_size,
						field->element_size, false, is_big),
				 field->element_size);
	}
	return out;
}

static uint8_t *put_elsewhere(uint8_t *out, const struct recipe_step *step,
			      const struct convert_input *event)
{
	const uint8_t *bytes;
	size_t len =
		ftrace_field_bytes(step->field, event->payload, event->len, event->is_big, &bytes);

	if (step->op == RECIPE_STRING) {
		len = strnlen((const char *)bytes, len);
		memcpy(out, bytes, len);
		out[len] = '\0';
		return out + len + 1;
	}
	len /= step->field->element_size;
	if (step->op == RECIPE_SEQUENCE) {
		out = put_number(out, len, 4);
	}
	return put_elements(out, step->field, bytes, len, event->is_big);
}

uint8_t *recipe_write(const struct recipe *recipe, const struct convert_input *event, uint8_t *out)
{
	VEC_EACH(&recipe->steps, step) {
		switch (step->op) {
		case RECIPE_COPY:
			memcpy(out, event->payload + step->from, step->len);
			out += step->len;
			break;
		case RECIPE_CHARS:
			recipe_chars(step->field, event, (char *)out, step->chars);
			out += step->chars;
			break;
		case RECIPE_STRING:
		case RECIPE_ELEMENTS:
		case RECIPE_SEQUENCE:
			out = put_elsewhere(out, step, event);
			break;
		case RECIPE_THREAD:
			out = put_number(out, (uint64_t)event->tid, step->bytes);
			break;
		default:
			out = put_number(out, number_of_step(step, event), step->bytes);
			break;
		}
	}
	return out;
}
