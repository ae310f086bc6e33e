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
		add_plain(convert, recipe, member->name, field);
		return;
	}
	if (member->kind == MEMBER_INTEGER) {
		add_number(convert, recipe, member, field, op);
		return;
	}
	class_add(convert, member);
	add_step(recipe,
		 &(struct recipe_step){ .op = member->kind == MEMBER_CHARS ? RECIPE_CHARS
									   : RECIPE_STRING,
					.field = field,
					.chars = member->count },
		 member->kind == MEMBER_CHARS ? member->count : field->size + 1);
}

/* A member of the table: NAME:TYPE[=SOURCE], with a field or FUNCTION(FIELD) as source. */
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

/* An event that LTTng does not have: its name is its own, unless another system's has it. */
static void make_plain(struct convert *convert, struct recipe *recipe)
{
	const struct ftrace_format *format = recipe->format;
	char *name = is_taken(convert, format->name)
			     ? mem_printf("%s_%s", format->system, format->name)
			     : mem_strdup(format->name);

	recipe->class = class_begin(convert, name);
	for (size_t i = 0; i < format->count; i++) {
		if (!format->fields[i].is_common) {
			add_plain(convert, recipe, format->fields[i].name, &format->fields[i]);
		}
	}
	class_end(convert);
	free(name);
}

/* The fields that a role reads must be integers. */
static void find_role_fields(struct recipe *recipe)
{
	static const char *const names[][8] = {
		[ROLE_SWITCH] = { "prev_pid", "next_pid", "prev_prio", "next_prio" },
		[ROLE_WAKE] = { "pid" },
		[ROLE_FORK] = { "parent_pid", "child_pid" },
		[ROLE_NEW_TASK] = { "pid", "clone_flags" },
		[ROLE_EXEC] = { "pid", "old_pid" },
		[ROLE_EXIT] = { "pid" },
		[ROLE_ENTER] = { "id" },
		[ROLE_RETURN] = { "id", "ret" },
	};

	for (size_t i = 0; recipe->role != ROLE_NONE && i < ARRAY_COUNT(names[0]); i++) {
		const char *name = names[recipe->role][i];
		const struct ftrace_field *field =
			name ? ftrace_format_field(recipe->format, name) : NULL;

		if (field && field->kind == FTRACE_INTEGER && field->place == FTRACE_HERE) {
			recipe->fields[i] = field;
		}
	}
}

void recipe_make(struct convert *convert, struct recipe *recipe)
{
	const char *known = convert_table_find(recipe->format->system, recipe->format->name);
	char *words, *rest, *name;

	find_role_fields(recipe);
	if (recipe->role == ROLE_ENTER || recipe->role == ROLE_RETURN) {
		return;
	}
	if (recipe->role == ROLE_FORK) {
		tasks_fork_class(convert, recipe);
		return;
	}
	if (!known) {
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

/* LTTng's bits of a request, from the letters that the kernel writes for them. */
static uint64_t rwbs_of(const struct ftrace_field *field, const struct convert_input *event)
{
	static const char letters[] = "WDRA SM"; /* bits 0 to 6 */
	char text[16];
	const char *at = text, *found;
	uint64_t bits = 0;

	recipe_chars(field, event, text, sizeof(text));
	if (at[0] == 'F' && at[1] != '\0') { /* a flush comes before the operation */
		bits |= 1 << 10;
		at++;
	}
	if (*at == 'D' && at[1] == 'E') {
		bits |= 1 << 1 | 1 << 7;
		at += 2;
	} else if (*at == 'F') {
		bits |= 1 << 8;
		at++;
	} else if (*at != '\0') {
		found = strchr("WDR", *at);
		bits |= found ? UINT64_C(1) << (strchr(letters, *at) - letters) : 0;
		at++;
	}
	for (; *at; at++) {
		found = *at == ' ' ? NULL : strchr("ASM", *at);
		bits |= *at == 'F' ? 1 << 9
			: found    ? UINT64_C(1) << (strchr(letters, *at) - letters)
				   : 0;
	}
	return bits;
}

#define PAGES_BEGIN     UINT64_C(0xffffea0000000000)
#define PAGE_STRUCT     64
#define MEMORY_ACCOUNTS 0x400000

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
		return value == UINT64_MAX ? 0 : PAGES_BEGIN + value * PAGE_STRUCT;
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
