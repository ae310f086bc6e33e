/*
 * mem: allocation that cannot fail, only abort.
 */
#include "base/mem.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static void *check(void *got, size_t size)
{
	if (!got && size > 0) {
		(void)fprintf(stderr, "sillage: out of memory for %zu bytes\n", size);
		abort();
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

void vec_grow_slow_(void **at, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 16;

	assert(more < SIZE_MAX / size);
	*at = mem_realloc(*at, more * size);
	*room = more;
}

void vec_reserve_lines_(void **at, size_t count, size_t *room, size_t total, size_t size)
{
	size_t more = total > *room * 2 ? total : *room * 2;
	void *lines;

	more = (more + 15) / 16 * 16;
	assert(more < SIZE_MAX / size);
	lines = mem_alloc_lines(more * size);
	if (count > 0) {
		memcpy(lines, *at, count * size);
	}
	free(*at);
	*at = lines;
	*room = more;
}
