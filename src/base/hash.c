/*
 * hash: see hash.h; texts as keys.
 */
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>

/* How many of the bytes are not the begin of a letter of UTF-8 that is cut in two. */
static size_t whole_letters(const char *text, size_t len)
{
	for (size_t back = 1; back < 4 && back <= len; back++) {
		unsigned char at = (unsigned char)text[len - back];

		if (at >= 0xC0) {
			return back < (at < 0xE0 ? 2u : at < 0xF0 ? 3u : 4u) ? len - back : len;
		}
	}
	return len;
}

void hash_brief_end(char *to, size_t room, uint64_t hash)
{
	size_t keep = room - 1 - HASH_END_BYTES;

	assert(room > HASH_END_BYTES);
	keep = whole_letters(to, keep);
	(void)snprintf(to + keep, room - keep, "~%016" PRIx64, hash);
	memset(to + keep + HASH_END_BYTES, 0, room - keep - HASH_END_BYTES);
}

void hash_brief(char *to, size_t room, const void *text, size_t len)
{
	size_t copied;

	len = strnlen(text, len);
	copied = len < room ? len : room - 1;
	memcpy(to, text, copied);
	memset(to + copied, 0, room - copied);
	if (copied < len) {
		hash_brief_end(to, room, hash_bytes(0, text, len));
	}
}
