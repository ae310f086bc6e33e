/*
 * task-state: see task-state.h.
 */
#include "kernel/task-state.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/vec.h"
#include "kernel/tracer.h"

const struct task_states task_states[TASK_STATES_COUNT] = {
	[TASK_STATES_4_14] = { .dead = 0x30, .sleeps = 0xCF, .preempted = 0x100 },
	[TASK_STATES_4_14_RAW] = { 0xB0, 0x4F, .no_load = 1024, .preempted = 4096 },
	[TASK_STATES_4_8] = { 0x70, 0x8F, .parked = 512, .no_load = 1024, .preempted = 4096 },
	[TASK_STATES_4_2] = { 0x70, 0x8F, .parked = 512, .no_load = 1024, .preempted = 2048 },
	[TASK_STATES_3_9] = { 0x70, 0x8F, .parked = 512, .preempted = 1024 },
	[TASK_STATES_3_2] = { 0x70, 0x8F, .preempted = 512 },
	[TASK_STATES_OLDEST] = { 0x70, 0x8F },
};

/* The kernel's own numbers of states changed with 4.14; tracers followed later. */
static uint16_t encoding_of(uint16_t by_kernel, const struct metadata *metadata)
{
	uint32_t version = tracer_version(metadata);
	bool is_raw = version > 0 && (version < 20915 || (version >= 21000 && version < 21012));

	return by_kernel == TASK_STATES_4_14 && is_raw ? TASK_STATES_4_14_RAW : by_kernel;
}

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

	release = release ? release : metadata_env(metadata, "release"); /* perf */
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
			return encoding_of(first[i].states, metadata);
		}
	}
	return TASK_STATES_OLDEST;
}
