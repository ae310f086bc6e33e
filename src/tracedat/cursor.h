/*
 * cursor: numbers and texts of a trace.dat, one after the other, from a file or from memory.
 *
 * Beyond the end, and after a fault, every number is 0 and every text is empty: the caller looks at
 * is_wrong once, where it matters.  Nothing that the bytes say is allocated before it is known that
 * so many bytes are there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	int fd;                /* of the file, */
	const uint8_t *memory; /* unless it reads from there: the byte at 0 */
	uint64_t at, end;      /* offsets: the next byte, and behind the last */
	bool is_big;           /* byte order: the largest byte first */
	bool is_wrong;         /* bytes are missing, or the file cannot be read */
};

void cursor_bytes(struct cursor *cursor, void *bytes, size_t len);
void cursor_skip(struct cursor *cursor, uint64_t len);
/* A number of 1, 2, 4 or 8 bytes. */
uint64_t cursor_number(struct cursor *cursor, size_t bytes);
/* A text that ends with a zero, which is passed; the caller frees it.  A longer one than @max is a
 * fault. */
char *cursor_text(struct cursor *cursor, size_t max);
/* So many bytes, and a zero behind them; the caller frees them.  More than @max are a fault. */
char *cursor_copy(struct cursor *cursor, uint64_t len, uint64_t max);
/* Whether these bytes come next; they are passed. */
bool cursor_expect(struct cursor *cursor, const void *bytes, size_t len);
