/*
 * library: functions of shared libraries that few runs need, which are loaded when one does.
 *
 * Linked, they would cost each run their start.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct library_function {
	const char *name;
	size_t at; /* of the pointer in the table */
};

/* Puts the functions of the library @file into @table.  It stays as long as the process: threads of
 * it may run.  False: it is not there, or lacks one. */
bool library_load(const char *file, const struct library_function *functions, size_t count,
		  void *table);
