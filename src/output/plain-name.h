/*
 * plain-name: a name from a trace, a relay or a user as one part of a path.
 *
 * Letters that could change a path, confuse a shell or a terminal become '_': all but digits, ASCII
 * letters and -_.+:@; and a leading '.' or '-'.  So no part is "." or "..", none is empty, and none
 * is longer than PLAIN_NAME_MAX bytes.  Different names may become the same: who makes a file of
 * one looks whether it exists.
 */
#pragma once

#include <stdbool.h>

/* Two of them, a time and a number stay below the 255 bytes of a file name. */
#define PLAIN_NAME_MAX 100

/* From malloc(). */
char *plain_name(const char *name);
