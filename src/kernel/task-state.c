/*
 * task-state: see task-state.h.
 */
#include "kernel/task-state.h"

#include <stdio.h>

uint16_t task_state_encoding(const struct metadata *metadata)
{
	static const struct {
		unsigned int major, minor;
		uint16_t states;
	} first[] = {
		{ 4, 14, TASK_STATES_4_14 }, { 4, 8, TASK_STATES_4_8 }, { 4, 2, TASK_STATES_4_2 },
		{ 3, 9, TASK_STATES_3_9 },   { 3, 2, TASK_STATES_3_2 },
	};
	const struct env_entry *release = metadata_env(metadata, "kernel_release");
	unsigned int major = 0, minor = 0;

	if (!release || !release->text || sscanf(release->text, "%u.%u", &major, &minor) != 2) {
		return TASK_STATES_4_14;
	}
	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		if (major > first[i].major ||
		    (major == first[i].major && minor >= first[i].minor)) {
			return first[i].states;
		}
	}
	return TASK_STATES_OLDEST;
}
