/*
 * tracer: see tracer.h.
 */
#include "kernel/tracer.h"

static uint32_t env_number(const struct metadata *metadata, const char *name)
{
	const struct env_entry *entry = metadata_env(metadata, name);

	return entry && !entry->text ? (uint32_t)entry->number : 0;
}

uint32_t tracer_version(const struct metadata *metadata)
{
	return env_number(metadata, "tracer_major") * 10000 +
	       env_number(metadata, "tracer_minor") * 100 +
	       env_number(metadata, "tracer_patchlevel");
}

int32_t tracer_wake_prio_offset(const struct metadata *metadata)
{
	uint32_t version = tracer_version(metadata);

	return version > 0 && version < 20701 ? 100 : 0;
}
