/*
 * unpack: bytes that trace-cmd compressed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum unpack_method {
	UNPACK_NONE,
	UNPACK_ZLIB,
	UNPACK_ZSTD, /* with the magic number of its frames, or without */
	UNPACK_OTHER
};

/* By the name in the file. */
enum unpack_method unpack_method_of(const char *name);

/* Unpacks exactly @to_len bytes; false: they are others. */
bool unpack(enum unpack_method method, const uint8_t *from, size_t len, uint8_t *to, size_t to_len);
