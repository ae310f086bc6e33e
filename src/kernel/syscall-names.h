/*
 * calls: names of system call events, for those that pair entry and exit.
 *
 * LTTng 2.6 and newer write syscall_entry_X and syscall_exit_X; before, entries were sys_X
 * and all exits exit_syscall, which has no name.  Calls of 32-bit programs on a 64-bit
 * kernel have "compat_" before, and are shown as X/32.
 */
#ifndef SILLAGE_KERNEL_SYSCALL_NAMES_H
#define SILLAGE_KERNEL_SYSCALL_NAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "engine/contract/row-key.h"

#define SYSCALL_UNNAMED_ID 0 /* of exit_syscall */

/* The call that an event's name has; NULL: none. */
static inline const char *syscall_name(const char *event, bool *ret_is_compat)
{
	static const char *const prefixes[] = { "syscall_entry_", "syscall_exit_", "sys_" };

	*ret_is_compat = strncmp(event, "compat_", 7) == 0;
	event += *ret_is_compat ? 7 : 0;
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
		size_t len = strlen(prefixes[i]);

		if (strncmp(event, prefixes[i], len) == 0) {
			return event + len;
		}
	}
	return NULL;
}

/* The row of a call, by the name of one of its events. */
static inline struct row_key syscall_key(const char *event)
{
	static const char mark[] = "/32";
	bool is_compat;
	const char *name = syscall_name(event, &is_compat);
	struct row_key key = row_key_of(0, name ? name : "?",
					ROW_KEY_NAME_BYTES - (is_compat ? sizeof(mark) : 1));

	if (is_compat) {
		memcpy(key.name + strlen(key.name), mark, sizeof(mark));
	}
	return key;
}

/* The same for the entry and the exit of a call; two calls have different ones (of the some 450
 * there are none agree, and if two did, only a lost event could make one pass for the other). */
static inline uint32_t syscall_id(const char *event)
{
	bool is_compat;
	const char *name = syscall_name(event, &is_compat);
	uint32_t hash = is_compat ? 16777619u : 2166136261u; /* FNV-1a */

	if (!name) {
		return SYSCALL_UNNAMED_ID;
	}
	for (; *name; name++) {
		hash = (hash ^ (uint8_t)*name) * 16777619u;
	}
	return hash ? hash : 1;
}

#endif
