/*
 * type: look-ups in the metadata tree.
 */
#include "ctf/metadata/type.h"

#include <string.h>

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

void metadata_add_event(struct metadata *metadata, struct event_class *event)
{
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
