/*
 * thread-list: threads as users name them: by tid, name, or a pattern of names.
 *
 *     job*,28345,a\,b      a backslash takes the letter behind it as it is
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether @one names the thread: a number is its tid, all else a name or a pattern as those of a
 * shell.  @comm "": its name is not known. */
bool thread_list_one(const char *one, int32_t tid, const char *comm);
/* Whether one of a list does, with commas between. */
bool thread_list_has(const char *list, int32_t tid, const char *comm);
