/*
 * settings: files of settings in sections, such as those of triggers and of servers:
 *
 *     # a comment
 *     KEY = VALUE
 *     [SECTION]
 *     KEY = VALUE
 *
 * Blanks around sections, keys and values are of no account.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"

#define SETTINGS_NAME_MAX 63 /* characters of a section */

/* A setting, or with @key NULL the beginning of @section ("": before the first, at the start of the
 * file; NULL: the end of the file).  All are there during the call.  Negative with the reason. */
typedef int settings_take_fn(void *user, const char *section, const char *key, const char *value,
			     struct err *err);

/* Negative with "PATH: line N: " and the reason. */
int settings_read(FILE *file, const char *path, settings_take_fn *take, void *user,
		  struct err *err);
