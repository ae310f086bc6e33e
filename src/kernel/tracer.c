/*
 * tracer: see tracer.h.
 */
#include "kernel/tracer.h"

uint32_t tracer_version(const struct metadata *metadata)
{
	return metadata_tracer_version(metadata);
}

int32_t tracer_wake_prio_offset(const struct metadata *metadata)
{
	uint32_t version = tracer_version(metadata);

	return version > 0 && version < 20701 ? 100 : 0;
}
