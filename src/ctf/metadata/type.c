/*
 * type: look-ups in the metadata tree, and its invariants.
 */
#include "ctf/metadata/type.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/limits.h"
#include "base/mem.h"

const char *type_name(const char *declared)
{
	return declared[0] == '_' ? declared + 1 : declared;
}

unsigned int type_encoding_unit(enum encoding encoding)
{
	switch (encoding) {
	case UTF_8:
		return 1;
	case UTF_16LE:
	case UTF_16BE:
		return 2;
	case UTF_32LE:
	case UTF_32BE:
		return 4;
	}
	return 1;
}

const struct env_entry *metadata_env(const struct metadata *metadata, const char *name)
{
	const struct env_entry *entry = metadata->env;

	while (entry && strcmp(entry->name, name) != 0) {
		entry = entry->next;
	}
	return entry;
}

static uint32_t env_number(const struct metadata *metadata, const char *name)
{
	const struct env_entry *entry = metadata_env(metadata, name);

	return entry && !entry->text ? (uint32_t)entry->number : 0;
}

bool metadata_has_clock(const struct metadata *metadata, const uint8_t uuid[16])
{
	for (const struct clock_class *clock = metadata->clocks; clock; clock = clock->next) {
		if (clock->has_uuid && memcmp(clock->uuid, uuid, sizeof(clock->uuid)) == 0) {
			return true;
		}
	}
	return false;
}

uint32_t metadata_tracer_version(const struct metadata *metadata)
{
	return env_number(metadata, "tracer_major") * 10000 +
	       env_number(metadata, "tracer_minor") * 100 +
	       env_number(metadata, "tracer_patchlevel");
}

/* LTTng has always named itself and its domain. */
const char *metadata_other_tracer(const struct metadata *metadata)
{
	const struct env_entry *tracer = metadata_env(metadata, "tracer_name");
	const struct env_entry *domain = metadata_env(metadata, "domain");

	if (tracer && tracer->text) {
		return strncmp(tracer->text, "lttng", 5) == 0 ? NULL : tracer->text;
	}
	return domain && domain->text ? NULL : "its tracer";
}

bool metadata_is_of_record(const char *tracer)
{
	return tracer && strcmp(tracer, "sillage-ftrace") == 0;
}

char *metadata_tracer(const struct metadata *metadata)
{
	const struct env_entry *name = metadata_env(metadata, "tracer_name");
	const char *text = name && name->text ? name->text : metadata_other_tracer(metadata);

	return !text || !metadata_env(metadata, "tracer_major")
		       ? mem_strdup_if(text)
		       : mem_printf("%s %u.%u.%u", text, env_number(metadata, "tracer_major"),
				    env_number(metadata, "tracer_minor"),
				    env_number(metadata, "tracer_patchlevel"));
}

bool metadata_uuid_of(const char *text, uint8_t uuid[16])
{
	unsigned int digits = 0;

	memset(uuid, 0, 16);
	for (const char *at = text; *at; at++) {
		static const char hex[] = "0123456789abcdefABCDEF";
		const char *found = strchr(hex, *at);
		unsigned int value;

		if (*at == '-') {
			continue;
		}
		if (!found || digits == 32) {
			return false;
		}
		value = (unsigned int)(found - hex);
		value = value > 15 ? value - 6 : value;
		uuid[digits / 2] |= (uint8_t)(value << (digits % 2 ? 0 : 4));
		digits++;
	}
	assert(digits <= 32);
	return digits == 32;
}

const struct clock_class *metadata_clock(const struct metadata *metadata, const char *name)
{
	const struct clock_class *clock = metadata->clocks;

	while (clock && strcmp(clock->name, name) != 0) {
		clock = clock->next;
	}
	return clock;
}

const struct stream_class *metadata_stream(const struct metadata *metadata, uint64_t id)
{
	const struct stream_class *stream = metadata->streams;

	while (stream && stream->id != id) {
		stream = stream->next;
	}
	return stream;
}

/* Of events that come without a stream block. */
static const struct stream_class implicit_stream;

bool metadata_stream_is_implicit(const struct stream_class *stream)
{
	return stream == &implicit_stream;
}

const struct stream_class *metadata_stream_of(const struct metadata *metadata,
					      const struct event_class *event)
{
	if (event->in_any_stream && !metadata->streams) {
		return &implicit_stream;
	}
	if (event->in_any_stream && !metadata->streams->next) {
		return metadata->streams;
	}
	return metadata_stream(metadata, event->stream_id);
}

void metadata_note(struct metadata_notes *notes, const char *fmt, ...)
{
	struct metadata_note *note;
	char text[256];
	va_list args;

	assert((notes->count == 0) == !notes->last);
	if (notes->count == METADATA_NOTES_MAX) {
		return;
	}
	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	note = arena_alloc(notes->arena, sizeof(*note));
	note->text = arena_strndup(notes->arena, text, strlen(text));
	*(notes->last ? &notes->last->next : &notes->first) = note;
	notes->last = note;
	notes->count++;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

void metadata_note_twice(struct metadata_notes *notes, const struct type *type)
{
	const char **names = arena_alloc(notes->arena, type->field_count * sizeof(*names));

	for (size_t i = 0; i < type->field_count; i++) {
		names[i] = type->fields[i].name;
	}
	if (type->field_count > 1) {
		qsort(names, type->field_count, sizeof(*names), by_name);
	}
	for (size_t i = 1; i < type->field_count; i++) {
		if (names[i][0] && strcmp(names[i - 1], names[i]) == 0) {
			metadata_note(notes,
				      "a %s has two fields \"%.80s\"; the first of them counts",
				      type->kind == TYPE_STRUCT ? "struct" : "variant",
				      type_name(names[i]));
		}
	}
}

void metadata_add_event(struct metadata *metadata, struct event_class *event)
{
	assert(!event->next);
	assert(metadata->event_count < EVENT_CLASSES_MAX);
	assert((metadata->event_count == 0) == !metadata->events_last);
	event->index = metadata->event_count++;
	if (metadata->events_last) {
		metadata->events_last->next = event;
	} else {
		metadata->events = event;
	}
	metadata->events_last = event;
}

bool type_is_text(const struct type *element)
{
	return element->kind == TYPE_INT && element->is_text && element->size_bits == 8 &&
	       element->align_bits <= 8 && !element->is_variable;
}

uint64_t type_row_bits(const struct type *element)
{
	bool is_number = element->kind == TYPE_INT || element->kind == TYPE_ENUM ||
			 element->kind == TYPE_FLOAT;

	return is_number && !element->is_variable && element->size_bits % element->align_bits == 0
		       ? element->size_bits
		       : 0;
}

bool type_is_row(const struct type *type)
{
	uint64_t bits = type->kind == TYPE_ARRAY || type->kind == TYPE_SEQUENCE
				? type_row_bits(type->element)
				: 0;

	return bits > 0 && bits % 8 == 0;
}

/* ---- invariants ---- */

static void check_fields(const struct type *type)
{
	for (size_t i = 0; i < type->field_count; i++) {
		assert(type->fields[i].name);
		assert(type->fields[i].type);
		assert(type->kind != TYPE_STRUCT ||
		       type->fields[i].type->align_bits <= type->align_bits);
	}
}

static void check_variant(const struct type *type)
{
	check_fields(type);
	assert(type->align_bits == 1); /* each option aligns itself */
	assert(type->cases || type->case_count == 0);
	assert(!type->is_optional || type->field_count == 1);
	for (size_t i = 0; i < type->case_count; i++) {
		assert(type->cases[i].field < type->field_count);
	}
}

static void check_number(const struct type *type)
{
	assert(type->size_bits > 0);
	assert(type->size_bits <= (type->kind == TYPE_FLOAT ? FLOAT_BITS_MAX : 64));
	assert(!type->is_variable || (type->size_bits == 64 && type->align_bits == 8));
	assert(type->label_count == 0 || type->labels);
}

/* Elements of an array, as many as @length or the field at @length_path says. */
static void check_row(const struct type *type)
{
	assert(type->element);
	assert(type->align_bits >= type->element->align_bits);
	assert(type->kind == TYPE_ARRAY || (type->length_path && type->length_path->count > 0));
}

void type_check(const struct type *type)
{
	assert(type->align_bits > 0);
	assert((type->align_bits & (type->align_bits - 1)) == 0);
	switch (type->kind) {
	case TYPE_INT:
	case TYPE_ENUM:
	case TYPE_FLOAT:
		check_number(type);
		break;
	case TYPE_STRING:
		assert(type->align_bits % 8 == 0);
		break;
	case TYPE_STRUCT:
		check_fields(type);
		break;
	case TYPE_VARIANT:
		check_variant(type);
		break;
	case TYPE_ARRAY:
	case TYPE_SEQUENCE:
		check_row(type);
		break;
	}
}
