/*
 * thread-list: see thread-list.h.
 */
#include "kernel/thread-list.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

bool thread_list_one(const char *one, int32_t tid, const char *comm)
{
	if (*one && one[strspn(one, "0123456789")] == '\0') {
		return tid > 0 && strtoull(one, NULL, 10) == (unsigned int)tid;
	}
	return *comm && fnmatch(one, comm, 0) == 0;
}

/* Copies what comes before a comma or the end, with its backslashes; returns where that is.  What
 * has no room is no name: nothing is copied. */
static const char *copy_one(const char *at, char *one, size_t room)
{
	size_t len = 0;

	for (; *at && *at != ','; at++) {
		if (*at == '\\' && at[1]) {
			len += len < room;
			one[len - 1] = *at++;
		}
		len += len < room;
		one[len - 1] = *at;
	}
	one[len < room ? len : 0] = '\0';
	return at;
}

bool thread_list_has(const char *list, int32_t tid, const char *comm)
{
	char one[64];
	const char *at = list;

	for (;; at++) {
		at = copy_one(at, one, sizeof(one));
		if (*one && thread_list_one(one, tid, comm)) {
			return true;
		}
		if (!*at) {
			return false;
		}
	}
}
