/*
 * functions: which function has an address, of one file's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct function {
	uint64_t begin, end; /* end: of its size; the same as begin if it has none */
	uint32_t name;       /* in names */
	uint8_t rank;        /* of names for one address the lowest is shown */
};

struct functions {
	VEC(struct function) at; /* by begin, after functions_sort() */
	char *names;             /* all of them, each with a zero */
	size_t names_len;
};

void functions_sort(struct functions *functions);
/* The name of the one at the address; NULL: there is none. */
const char *functions_find(const struct functions *functions, uint64_t address);
/* About how much memory they take. */
size_t functions_bytes(const struct functions *functions);
void functions_fini(struct functions *functions);
