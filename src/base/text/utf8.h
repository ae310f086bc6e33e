/*
 * utf8: text that may hold any bytes, such as names of threads, as valid UTF-8.
 */
#pragma once

#include <stddef.h>

#define UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD, for a byte that is not UTF-8 */

/* The length of the valid sequence of more than one byte at @at (RFC 3629), or 0.  It reads no byte
 * behind the first that does not belong to a sequence. */
size_t utf8_length(const unsigned char *at);

/*
 * Copies the text at @from, at most @len bytes of it, and a zero to @to, which has @room bytes.
 * What is no UTF-8 is replaced; what has no room is cut off.  Returns the length.
 */
size_t utf8_copy(char *to, size_t room, const void *from, size_t len);
