/*
 * utf8: text that may hold any bytes, such as names of threads, as valid UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define UTF8_REPLACEMENT "\xEF\xBF\xBD" /* U+FFFD, for a byte that is not UTF-8 */

/* The length of the valid sequence of more than one byte at @at (RFC 3629), or 0.  It reads no byte
 * behind the first that does not belong to a sequence. */
size_t utf8_length(const unsigned char *at);

/* How many bytes at the end of the text are the begin of a sequence that is not whole: at most 3.
 */
size_t utf8_begun(const char *text, size_t len);

/* What stands next in a text, as a terminal shows it. */
struct utf8_letter {
	size_t bytes;  /* at least 1, unless the text is at its end */
	int columns;   /* 0: it joins the letter before; 2: it is wide */
	bool is_plain; /* false: a control character, what is no UTF-8, or what shows nothing
			* itself but changes how other text looks: '?' is shown instead */
};
struct utf8_letter utf8_letter_at(const char *at);
/* Prints it; returns its bytes. */
size_t utf8_put(FILE *out, const char *at);
/* How many columns a text takes. */
int utf8_columns(const char *text);
/* How many bytes of it so many columns show, of @room at most. */
size_t utf8_fit(const char *text, int columns, size_t room);

/*
 * Copies the text at @from, at most @len bytes of it, and a zero to @to, which has @room bytes.
 * What is no UTF-8 is replaced; what has no room is cut off.  Returns the length.
 */
size_t utf8_copy(char *to, size_t room, const void *from, size_t len);
