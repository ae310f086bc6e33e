/*
 * format: see format.h.
 */
#include "ftrace/format.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/vec.h"
#include "ftrace/format-parts.h"
#include "ftrace/page.h"

/* ---- lines ---- */

const char *format_line_end(const char *at, const char *end)
{
	const char *newline = memchr(at, '\n', (size_t)(end - at));

	return newline ? newline : end;
}

/* A number behind "@key:"; false: there is none, or it is beyond 32 bits. */
static bool read_number(const char *line, size_t len, const char *key, uint64_t *ret)
{
	const char *at = memmem(line, len, key, strlen(key)), *end = line + len;

	if (!at) {
		return false;
	}
	at += strlen(key);
	if (at == end || !isdigit((unsigned char)*at)) {
		return false;
	}
	*ret = 0;
	for (; at < end && isdigit((unsigned char)*at); at++) {
		*ret = *ret * 10 + (uint64_t)(*at - '0');
		if (*ret > UINT32_MAX) {
			return false;
		}
	}
	return true;
}

bool format_line_read(const char *line, size_t len, struct format_line *ret)
{
	static const char begin[] = "field:";
	const char *at = memmem(line, len, begin, strlen(begin)), *end = line + len, *semicolon;
	uint64_t is_signed = 0;

	if (!at) {
		return false;
	}
	at += strlen(begin);
	semicolon = memchr(at, ';', (size_t)(end - at));
	if (!semicolon) {
		return false;
	}
	ret->declaration = at;
	ret->len = (size_t)(semicolon - at);
	if (!read_number(semicolon, (size_t)(end - semicolon), "offset:", &ret->offset) ||
	    !read_number(semicolon, (size_t)(end - semicolon), "size:", &ret->size)) {
		return false;
	}
	(void)read_number(semicolon, (size_t)(end - semicolon), "signed:", &is_signed);
	ret->is_signed = is_signed != 0;
	return true;
}

/* ---- declarations ---- */

/* A part of a declaration. */
struct format_span {
	const char *at;
	size_t len;
};

static struct format_span trimmed(struct format_span span)
{
	while (span.len > 0 && isspace((unsigned char)span.at[span.len - 1])) {
		span.len--;
	}
	while (span.len > 0 && isspace((unsigned char)*span.at)) {
		span.at++;
		span.len--;
	}
	return span;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Takes "[...]" from its end. */
static bool cut_brackets(struct format_span *span, struct format_span *ret_inside)
{
	const char *open;

	if (span->len == 0 || span->at[span->len - 1] != ']') {
		return false;
	}
	open = memrchr(span->at, '[', span->len);
	if (!open) {
		return false;
	}
	*ret_inside = trimmed(
		(struct format_span){ open + 1, (size_t)(span->at + span->len - 1 - open) - 1 });
	*span = trimmed((struct format_span){ span->at, (size_t)(open - span->at) });
	return true;
}

/* Takes the last word from its end. */
static struct format_span take_word(struct format_span *span)
{
	size_t begin = span->len;
	struct format_span word;

	while (begin > 0 && is_word(span->at[begin - 1])) {
		begin--;
	}
	word = (struct format_span){ span->at + begin, span->len - begin };
	*span = trimmed((struct format_span){ span->at, begin });
	return word;
}

static bool take_prefix(struct format_span *span, const char *prefix)
{
	size_t len = strlen(prefix);

	if (span->len <= len || memcmp(span->at, prefix, len) != 0) {
		return false;
	}
	*span = trimmed((struct format_span){ span->at + len, span->len - len });
	return true;
}

/* The size of a type that all kernels agree on; 0: another one. */
static uint32_t size_of_type(const char *type)
{
	static const struct {
		const char *name;
		uint32_t size;
	} sizes[] = {
		{ "u8", 1 },
		{ "s8", 1 },
		{ "char", 1 },
		{ "unsigned char", 1 },
		{ "u16", 2 },
		{ "s16", 2 },
		{ "short", 2 },
		{ "unsigned short", 2 },
		{ "u32", 4 },
		{ "s32", 4 },
		{ "int", 4 },
		{ "unsigned int", 4 },
		{ "pid_t", 4 },
		{ "u64", 8 },
		{ "s64", 8 },
		{ "long long", 8 },
		{ "unsigned long long", 8 },
	};

	type += strncmp(type, "__", 2) == 0 ? 2 : 0; /* __u8 */
	for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
		if (strcmp(sizes[i].name, type) == 0) {
			return sizes[i].size;
		}
	}
	return 0;
}

static bool is_integer_size(uint64_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* @inside: what stood in the brackets: a number, or a name of the kernel's sources. */
static uint32_t element_size(const struct ftrace_field *field, struct format_span inside)
{
	uint64_t count = 0;

	for (size_t i = 0;
	     i < inside.len && isdigit((unsigned char)inside.at[i]) && count <= UINT32_MAX; i++) {
		count = count * 10 + (uint64_t)(inside.at[i] - '0');
	}
	if (field->place == FTRACE_HERE && count > 0 && field->size % count == 0 &&
	    is_integer_size(field->size / count)) {
		return (uint32_t)(field->size / count);
	}
	count = size_of_type(field->type);
	return field->place != FTRACE_HERE || (count > 0 && field->size % count == 0)
		       ? (uint32_t)count
		       : 0;
}

static bool is_text_type(const char *type)
{
	return strcmp(type, "char") == 0 || strcmp(type, "const char") == 0 ||
	       strcmp(type, "const char *") == 0;
}

static void decide_kind(struct ftrace_field *field, bool is_array, struct format_span inside)
{
	bool elsewhere = field->place != FTRACE_HERE;

	field->element_size = 1;
	if ((is_array || elsewhere) && is_text_type(field->type)) {
		field->kind = FTRACE_TEXT;
	} else if (is_array || elsewhere) {
		field->element_size = element_size(field, inside);
		field->kind = field->element_size > 0 ? FTRACE_ARRAY : FTRACE_BYTES;
		field->element_size = field->element_size > 0 ? field->element_size : 1;
	} else if (is_integer_size(field->size)) {
		field->kind = FTRACE_INTEGER;
		field->element_size = field->size;
	} else {
		field->kind = FTRACE_BYTES;
	}
}

/* ---- fields ---- */

static int check_line(const struct format_line *line, struct err *err)
{
	if (line->offset + line->size > FTRACE_PAYLOAD_BYTES_MAX) {
		return err_raise(err, -EINVAL,
				 "a field is at %llu and has %llu bytes; a record has at most %u",
				 (unsigned long long)line->offset, (unsigned long long)line->size,
				 FTRACE_PAYLOAD_BYTES_MAX);
	}
	return 0;
}

static int read_field(struct arena *arena, const struct format_line *line,
		      struct ftrace_field *field, struct err *err)
{
	struct format_span span = trimmed((struct format_span){ line->declaration, line->len }),
			   inside = { 0 }, name;
	bool is_array;
	int r = check_line(line, err);

	if (r < 0) {
		return r;
	}
	*field = (struct ftrace_field){ .offset = (uint32_t)line->offset,
					.size = (uint32_t)line->size,
					.is_signed = line->is_signed };
	if (take_prefix(&span, "__data_loc ")) {
		field->place = FTRACE_DATA;
	} else if (take_prefix(&span, "__rel_loc ")) {
		field->place = FTRACE_RELATIVE;
	}
	is_array = cut_brackets(&span, &inside);
	name = take_word(&span);
	if (name.len == 0 || name.len > FTRACE_NAME_BYTES_MAX || span.len == 0) {
		return err_raise(err, -EINVAL,
				 "a field of the format has no name or type, or a long one");
	}
	if (field->place != FTRACE_HERE && field->size != sizeof(uint32_t)) {
		return err_raise(err, -EINVAL, "field %.*s: %u bytes cannot say where it is",
				 (int)name.len, name.at, field->size);
	}
	is_array = cut_brackets(&span, &inside) || is_array;
	if (field->size == 0 && !is_array) {
		return err_raise(err, -EINVAL, "field %.*s has no size", (int)name.len, name.at);
	}
	field->place = field->size == 0 ? FTRACE_REST : field->place;
	field->name = arena_strndup(arena, name.at, name.len);
	field->type = arena_strndup(arena, span.at, span.len);
	field->is_common = strncmp(field->name, "common_", strlen("common_")) == 0;
	decide_kind(field, is_array, inside);
	return 0;
}

/* ---- formats ---- */

struct format_reading {
	struct ftrace_format *format;
	VEC(struct ftrace_field) fields;
	bool has_id;
};

static bool begins(const char *line, size_t len, const char *key)
{
	return len > strlen(key) && memcmp(line, key, strlen(key)) == 0;
}

/* A system, or an event: it stands in metadata, and in names of files. */
static bool is_event_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!is_word(name[i]) && (name[i] == '\0' || !strchr("-.:", name[i]))) {
			return false;
		}
	}
	return len <= FTRACE_NAME_BYTES_MAX;
}

static int read_event_name(struct format_reading *reading, const char *line, size_t len,
			   struct err *err)
{
	struct format_span name =
		trimmed((struct format_span){ line + strlen("name:"), len - strlen("name:") });

	if (name.len == 0 || !is_event_name(name.at, name.len)) {
		return err_raise(err, -EINVAL,
				 "the event of the format has no name, a long one, or a character "
				 "that no event has");
	}
	reading->format->name = arena_strndup(&reading->format->arena, name.at, name.len);
	return 0;
}

static int add_format_field(struct format_reading *reading, const struct format_line *line,
			    struct err *err)
{
	struct ftrace_field field;
	int r = read_field(&reading->format->arena, line, &field, err);

	if (r < 0) {
		return r;
	}
	if (reading->fields.count == FTRACE_FIELDS_MAX) {
		return err_raise(err, -EINVAL, "the format has more than %d fields",
				 FTRACE_FIELDS_MAX);
	}
	VEC_EACH(&reading->fields, other) {
		if (strcmp(other->name, field.name) == 0) {
			return err_raise(err, -EINVAL, "the format has two fields %s", field.name);
		}
	}
	*vec_push(&reading->fields) = field;
	if (field.offset + field.size > reading->format->size) {
		reading->format->size = field.offset + field.size;
	}
	return 0;
}

static int read_line(struct format_reading *reading, const char *line, size_t len, struct err *err)
{
	struct format_line field;
	uint64_t id;

	if (begins(line, len, "name:") && !reading->format->name) {
		return read_event_name(reading, line, len, err);
	}
	if (begins(line, len, "ID:") && !reading->has_id) {
		len -= strlen("ID:");
		line = trimmed((struct format_span){ line + strlen("ID:"), len }).at;
		id = 0;
		for (; isdigit((unsigned char)*line) && id <= UINT16_MAX; line++) {
			id = id * 10 + (uint64_t)(*line - '0');
		}
		if (id > UINT16_MAX) {
			return err_raise(err, -EINVAL, "the format's id has more than 16 bits");
		}
		reading->format->id = (uint32_t)id;
		reading->has_id = true;
		return 0;
	}
	return format_line_read(line, len, &field) ? add_format_field(reading, &field, err) : 0;
}

static int read_format(struct format_reading *reading, const char *text, size_t len,
		       struct err *err)
{
	const char *end = text + len;
	int r = 0;

	for (const char *next; text < end && r == 0; text = next + 1) {
		next = format_line_end(text, end);
		/* What it looks like printed is the last line, and may have any text. */
		if (begins(text, (size_t)(next - text), "print fmt:")) {
			break;
		}
		r = read_line(reading, text, (size_t)(next - text), err);
	}
	if (r == 0 && (!reading->format->name || !reading->has_id)) {
		return err_raise(err, -EINVAL, "a format without %s",
				 reading->format->name ? "ID" : "name");
	}
	return r;
}

int ftrace_format_parse(const char *text, size_t len, const char *system,
			struct ftrace_format **ret_format, struct err *err)
{
	struct format_reading reading = { .format = mem_alloc(sizeof(*reading.format)) };
	char *copy;
	int r;

	if (len > FTRACE_FORMAT_BYTES_MAX || !is_event_name(system, strlen(system))) {
		free(reading.format);
		return len > FTRACE_FORMAT_BYTES_MAX
			       ? err_raise(err, -EINVAL, "a format has %zu bytes, at most %d", len,
					   FTRACE_FORMAT_BYTES_MAX)
			       : err_raise(err, -EINVAL,
					   "the system of a format has a long name, or a character "
					   "that no system has");
	}
	reading.format->system = arena_strndup(&reading.format->arena, system, strlen(system));
	copy = arena_strndup(&reading.format->arena, text, len); /* ends with a zero */
	r = read_format(&reading, copy, len, err);
	if (r == 0) {
		reading.format->count = reading.fields.count;
		reading.format->fields =
			arena_copy(&reading.format->arena, reading.fields.at,
				   reading.fields.count * sizeof(*reading.fields.at));
		*ret_format = reading.format;
	} else {
		ftrace_format_free(reading.format);
	}
	vec_fini(&reading.fields);
	return r;
}

void ftrace_format_free(struct ftrace_format *format)
{
	if (format) {
		arena_fini(&format->arena);
		free(format);
	}
}

const struct ftrace_field *ftrace_format_field(const struct ftrace_format *format, const char *name)
{
	for (size_t i = 0; i < format->count; i++) {
		if (strcmp(format->fields[i].name, name) == 0) {
			return &format->fields[i];
		}
	}
	return NULL;
}

/* ---- values ---- */

uint64_t ftrace_integer(const uint8_t *at, uint32_t size, bool is_signed, bool is_big)
{
	uint16_t half;

	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)*at : *at;
	case 2:
		memcpy(&half, at, sizeof(half));
		half = is_big ? be16toh(half) : le16toh(half);
		return is_signed ? (uint64_t)(int16_t)half : half;
	case 4:
		return is_signed ? (uint64_t)(int32_t)ftrace_u32(at, is_big)
				 : ftrace_u32(at, is_big);
	default:
		assert_hot(size == 8);
		return ftrace_u64(at, is_big);
	}
}

uint64_t ftrace_field_number(const struct ftrace_field *field, const uint8_t *payload, bool is_big)
{
	assert(field->kind == FTRACE_INTEGER);
	return ftrace_integer(payload + field->offset, field->size, field->is_signed, is_big);
}

size_t ftrace_field_bytes(const struct ftrace_field *field, const uint8_t *payload, size_t len,
			  bool is_big, const uint8_t **ret_bytes)
{
	size_t at = field->offset, count = field->size;
	uint32_t where;

	*ret_bytes = payload;
	if (at + count > len) {
		return 0;
	}
	if (field->place == FTRACE_REST) {
		count = len - at;
	} else if (field->place != FTRACE_HERE) {
		where = ftrace_u32(payload + at, is_big);
		count = where >> 16;
		at = (where & 0xffff) + (field->place == FTRACE_RELATIVE ? at + sizeof(where) : 0);
	}
	if (at > len) {
		return 0;
	}
	*ret_bytes = payload + at;
	return count < len - at ? count : len - at;
}
