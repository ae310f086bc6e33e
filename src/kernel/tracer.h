/*
 * tracer: what fields mean depends on the version of lttng-modules, too (doc/definitions.md, 0.4
 * and 0.5).
 */
#pragma once

#include <stdint.h>

#include "ctf/metadata/type.h"

/* MAJOR * 10000 + MINOR * 100 + PATCHLEVEL by the trace's environment; 0: it names none. */
uint32_t tracer_version(const struct metadata *metadata);

/* What has to be subtracted from the priority in wake-ups: before 2.7.1 it is the kernel's own. */
int32_t tracer_wake_prio_offset(const struct metadata *metadata);
