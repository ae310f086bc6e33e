/*
 * format-parts: a line of a format, which events and the header of sub-buffers share.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct format_line {
	const char *declaration; /* "unsigned short common_type", not ended by a zero */
	size_t len;
	uint64_t offset, size;
	bool is_signed;
};

/* Reads "field:DECLARATION; offset:N; size:N; signed:N;", the last of which old kernels lack.
 * false: it is no such line. */
bool format_line_read(const char *line, size_t len, struct format_line *ret);
/* The line at @at, up to @end; the next one's begin. */
const char *format_line_end(const char *at, const char *end);
