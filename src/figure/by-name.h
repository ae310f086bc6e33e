/*
 * by-name: rows by their names, in the order in which they came.
 *
 * What two runs, two days or two hosts have in common are names: numbers of threads and processes
 * mean nothing there.
 */
#pragma once

#include "base/hash.h"
#include "base/mem.h"

HASH_MAP_TEXT(by_name_index, size_t)

struct by_name_row {
	char *name;
	void *row;
};

/* All 0 is an empty one. */
struct by_name {
	VEC(struct by_name_row) all;
	struct by_name_index index; /* of `all` */
};

/* NULL: there is none. */
void *by_name_find(const struct by_name *rows, const char *name);
/* The row of @size bytes, all 0 if it is new.  It stays where it is. */
void *by_name_add(struct by_name *rows, const char *name, size_t size);
/* Frees the rows, too. */
void by_name_fini(struct by_name *rows);
