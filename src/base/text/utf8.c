/*
 * utf8: see utf8.h.
 */
#include "base/text/utf8.h"

#include <assert.h>
#include <string.h>

size_t utf8_length(const unsigned char *at)
{
	size_t len = at[0] < 0xC2 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : at[0] < 0xF5 ? 4 : 0;

	for (size_t i = 1; i < len; i++) {
		if ((at[i] & 0xC0) != 0x80) {
			return 0;
		}
	}
	if ((at[0] == 0xE0 && at[1] < 0xA0) || (at[0] == 0xED && at[1] > 0x9F) ||
	    (at[0] == 0xF0 && at[1] < 0x90) || (at[0] == 0xF4 && at[1] > 0x8F)) {
		return 0;
	}
	return len;
}

/* The length of the sequence at @at of at most @left bytes; 0: it is not UTF-8. */
static size_t sequence(const unsigned char *at, size_t left)
{
	unsigned char end[5] = { 0 };

	if (*at < 0x80) {
		return 1;
	}
	if (left >= 4) {
		return utf8_length(at);
	}
	memcpy(end, at, left);
	return utf8_length(end);
}

size_t utf8_copy(char *to, size_t room, const void *from, size_t len)
{
	const unsigned char *at = from, *end = at + len;
	size_t used = 0;

	assert(room > 0);
	while (at < end && *at) {
		size_t bytes = sequence(at, (size_t)(end - at));
		size_t put = bytes > 0 ? bytes : strlen(UTF8_REPLACEMENT);

		if (used + put >= room) {
			break;
		}
		memcpy(to + used, bytes > 0 ? (const char *)at : UTF8_REPLACEMENT, put);
		used += put;
		at += bytes > 0 ? bytes : 1;
	}
	to[used] = '\0';
	return used;
}
