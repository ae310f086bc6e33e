/*
 * hash: see hash.h; texts as keys.
 */
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text/utf8.h"

void hash_brief_end(char *to, size_t room, uint64_t hash)
{
	size_t keep = room - 1 - HASH_END_BYTES;

	assert(room > HASH_END_BYTES);
	keep -= utf8_begun(to, keep);
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
