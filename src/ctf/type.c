/*
 * type: look-ups in the metadata tree.
 */
#include "ctf/type.h"

#include <string.h>

const char *type_name(const char *declared)
{
	return declared[0] == '_' ? declared + 1 : declared;
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

bool type_is_text(const struct type *element)
{
	return element->kind == TYPE_INT && element->is_text && element->size_bits == 8 &&
	       element->align_bits <= 8;
}
