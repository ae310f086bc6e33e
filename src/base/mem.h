/*
 * mem: heap allocation that cannot fail.
 *
 * Sizes that come from input are checked against limits.h before they get here.  So running out of
 * memory is a fault of the machine, not of the input: these functions print one line and abort
 * rather than return NULL.  free() releases what they return.
 */
#pragma once

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define LINE_BYTES 64 /* a cache line */

void *mem_alloc(size_t size);              /* zeroed */
void *mem_alloc_lines(size_t size);        /* whole cache lines; not zeroed */
void *mem_realloc(void *old, size_t size); /* new bytes are not zeroed */
/* So much memory is more than there can be: prints one line and aborts. */
__attribute__((noreturn)) void mem_exhausted(size_t size);
/* The system refuses @what, such as "a thread", by errno: the same. */
__attribute__((noreturn)) void mem_lacks(const char *what);
char *mem_strdup(const char *text);
char *mem_strdup_if(const char *text); /* NULL of NULL */
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
