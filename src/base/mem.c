/*
 * mem: see mem.h.
 */
#include "base/mem.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void mem_exhausted(size_t size)
{
	(void)fprintf(stderr, "sillage: out of memory for %zu bytes\n", size);
	abort();
}

void mem_lacks(const char *what)
{
	(void)fprintf(stderr, "sillage: cannot make %s: %s\n", what, strerror(errno));
	abort();
}

static void *check(void *got, size_t size)
{
	if (!got && size > 0) {
		mem_exhausted(size);
	}
	return got;
}

void *mem_alloc(size_t size)
{
	return check(calloc(1, size), size);
}

void *mem_alloc_lines(size_t size)
{
	assert(size % LINE_BYTES == 0);
	return check(aligned_alloc(LINE_BYTES, size), size);
}

void *mem_realloc(void *old, size_t size)
{
	return check(realloc(old, size), size);
}

char *mem_strdup(const char *text)
{
	return check(strdup(text), strlen(text) + 1);
}

char *mem_strdup_if(const char *text)
{
	return text ? mem_strdup(text) : NULL;
}

char *mem_printf(const char *fmt, ...)
{
	char *text = NULL;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vasprintf(&text, fmt, args);
	va_end(args);
	return check(len < 0 ? NULL : text, 1);
}
