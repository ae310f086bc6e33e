/*
 * sched: which encoding a trace uses.
 */
#include "engine/sched.h"

#include <stdio.h>

uint16_t sched_states_of(const struct metadata *metadata)
{
	const struct env_entry *release = metadata_env(metadata, "kernel_release");
	unsigned int major = 0, minor = 0;

	if (!release || !release->text || sscanf(release->text, "%u.%u", &major, &minor) != 2) {
		return SCHED_STATES_4_14;
	}
	return major < 4 || (major == 4 && minor < 14) ? SCHED_STATES_OLD : SCHED_STATES_4_14;
}
