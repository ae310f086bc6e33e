/*
 * bench: what tile and decode share.
 */
#pragma once

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "recorded/recorded.h"

__attribute__((noreturn)) static inline void die(const char *what)
{
	(void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
	exit(1);
}

/* Finds the only trace at or below @dir.  The caller frees *paths with recorded_paths_fini(). */
static inline const struct recorded_path *one_trace(const char *dir, struct recorded_paths *paths)
{
	struct err err;

	if (recorded_find(dir, paths, &err) < 0) {
		die(err.text);
	}
	if (paths->at.count != 1 || paths->at.at[0].dirs.count != 1) {
		die("there are several traces in it: name one");
	}
	return &paths->at.at[0];
}
