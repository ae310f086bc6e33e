/*
 * syscall-names: the system call that an event's name contains.
 *
 * LTTng 2.6 and later write syscall_entry_X and syscall_exit_X.  Before, the entry was sys_X, and
 * one exit_syscall, which names no call, served all calls.  The events of a 32-bit program on a
 * 64-bit kernel start with "compat_"; the labels of its calls end with "/32".  perf has names of
 * its own (perf-names.h).
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"

#define SYSCALL_UNNAMED_ID 0 /* of exit_syscall, which can end any call */

/* The part of an event's name that is the call's; NULL: it names none. */
static inline const char *syscall_name(const char *event, bool *ret_is_compat)
{
	static const char *const prefixes[] = { "syscall_entry_", "syscall_exit_", "sys_",
						"syscalls:sys_enter_", "syscalls:sys_exit_" };

	*ret_is_compat = strncmp(event, "compat_", 7) == 0;
	event += *ret_is_compat ? 7 : 0;
	for (size_t i = 0; i < ARRAY_COUNT(prefixes); i++) {
		size_t len = strlen(prefixes[i]);

		if (strncmp(event, prefixes[i], len) == 0) {
			return event + len;
		}
	}
	return NULL;
}

/*
 * Writes the label of the call that an event's name contains, "?" if none: "read", or "read/32" for
 * a 32-bit program.  A name that does not fit is cut; the mark and the zero always fit.
 */
static inline void syscall_label(const char *event, char *label, size_t size)
{
	static const char mark[] = "/32";
	bool is_compat;
	const char *name = syscall_name(event, &is_compat);
	size_t room = size - (is_compat ? sizeof(mark) : 1);

	assert(size > sizeof(mark));
	(void)snprintf(label, size, "%.*s%s", (int)room, name ? name : "?", is_compat ? mark : "");
}

/*
 * A number for the call, equal for its entry and exit.  The numbers of Linux's 450 calls differ. If
 * two were equal, one could be taken for the other only after lost events.
 */
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
	return hash ? hash : 1; /* 0 is SYSCALL_UNNAMED_ID */
}
