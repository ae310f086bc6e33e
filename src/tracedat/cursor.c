/*
 * cursor: see cursor.h.
 */
#include "tracedat/cursor.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

/* The file may have become shorter. */
static bool read_at(int fd, void *bytes, size_t len, uint64_t at)
{
	size_t done = 0;

	while (done < len) {
		ssize_t got = pread(fd, (char *)bytes + done, len - done, (off_t)(at + done));

		if (got == 0 || (got < 0 && errno != EINTR)) {
			return false;
		}
		done += got > 0 ? (size_t)got : 0;
	}
	return true;
}

static bool may_take(struct cursor *cursor, uint64_t len)
{
	assert(cursor->at <= cursor->end);
	if (len > cursor->end - cursor->at) {
		cursor->is_wrong = true;
	}
	return !cursor->is_wrong;
}

void cursor_bytes(struct cursor *cursor, void *bytes, size_t len)
{
	if (may_take(cursor, len) && cursor->memory) {
		memcpy(bytes, cursor->memory + cursor->at, len);
	} else if (cursor->is_wrong || !read_at(cursor->fd, bytes, len, cursor->at)) {
		cursor->is_wrong = true;
		memset(bytes, 0, len);
		return;
	}
	cursor->at += len;
}

void cursor_skip(struct cursor *cursor, uint64_t len)
{
	cursor->at += may_take(cursor, len) ? len : 0;
}

uint64_t cursor_number(struct cursor *cursor, size_t bytes)
{
	uint8_t at[8];
	uint64_t number = 0;

	assert(bytes <= sizeof(at));
	cursor_bytes(cursor, at, bytes);
	for (size_t i = 0; i < bytes; i++) {
		number = number << 8 | at[cursor->is_big ? i : bytes - 1 - i];
	}
	return number;
}

#define TEXT_PIECE 64 /* names have fewer bytes */

char *cursor_text(struct cursor *cursor, size_t max)
{
	VEC(char) text = { 0 };
	char piece[TEXT_PIECE], *end = NULL;

	while (!end && !cursor->is_wrong) {
		uint64_t left = cursor->end - cursor->at;
		size_t len = left < sizeof(piece) ? (size_t)left : sizeof(piece);
		uint64_t from = cursor->at;

		cursor->is_wrong |= len == 0 || text.count > max;
		cursor_bytes(cursor, piece, len);
		end = memchr(piece, '\0', len);
		vec_append(&text, piece, end ? (size_t)(end - piece) : len);
		cursor->at =
			end && !cursor->is_wrong ? from + (uint64_t)(end - piece) + 1 : cursor->at;
	}
	text.count = cursor->is_wrong ? 0 : text.count;
	*vec_push(&text) = '\0';
	return text.at;
}

char *cursor_copy(struct cursor *cursor, uint64_t len, uint64_t max)
{
	char *bytes;

	cursor->is_wrong |= len > max;
	if (!may_take(cursor, len)) {
		return mem_strdup("");
	}
	bytes = mem_alloc((size_t)len + 1);
	cursor_bytes(cursor, bytes, (size_t)len);
	return bytes;
}

bool cursor_expect(struct cursor *cursor, const void *bytes, size_t len)
{
	char at[16];

	assert(len <= sizeof(at));
	cursor_bytes(cursor, at, len);
	return !cursor->is_wrong && memcmp(at, bytes, len) == 0;
}
