/*
 * line: the lines of a file that others wrote, which may have no end.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"

/* All zero: before the first one. */
struct line {
	VEC(char) text;  /* with its end, and a 0 behind it */
	uint64_t number; /* from 1; at the end that of the last one */
};

/* 1: the next line; 0: there is none, or it cannot be read (ferror()); -EMSGSIZE: it goes on behind
 * @most bytes. */
int line_next(struct line *line, FILE *in, size_t most);
void line_fini(struct line *line);
