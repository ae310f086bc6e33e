/*
 * task-state: see task-state.h.
 */
#include "kernel/task-state.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/vec.h"

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
	unsigned long major, minor;
	char *end;

	if (!release || !release->text || !isdigit((unsigned char)release->text[0])) {
		return TASK_STATES_4_14;
	}
	major = strtoul(release->text, &end, 10);
	if (*end != '.' || !isdigit((unsigned char)end[1])) {
		return TASK_STATES_4_14;
	}
	minor = strtoul(end + 1, NULL, 10);
	for (size_t i = 0; i < ARRAY_COUNT(first); i++) {
		if (major > first[i].major ||
		    (major == first[i].major && minor >= first[i].minor)) {
			return first[i].states;
		}
	}
	return TASK_STATES_OLDEST;
}
