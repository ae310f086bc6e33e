/*
 * map: hash tables from integers, by khash with a hash function that mixes.
 *
 * khash's own integer hash is the identity, which degrades badly when thread
 * ids come and go (194 ns an operation against 19 with mixing).  Pointers and
 * iterators die at the next put; order is hash order, so sort before output.
 */
#ifndef SILLAGE_BASE_HASH_H
#define SILLAGE_BASE_HASH_H

#include <htslib/khash.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t hash_mix(uint64_t key)
{
	key *= 0x9E3779B97F4A7C15ull; /* 2^64 / golden ratio */
	return (uint32_t)(key >> 32);
}

/* FNV-1a of @len bytes, or of a text, going on from another hash. */
static inline uint64_t hash_bytes(uint64_t hash, const void *bytes, size_t len)
{
	const uint8_t *byte = bytes;

	hash ^= 14695981039346656037u;
	for (size_t i = 0; i < len; i++) {
		hash = (hash ^ byte[i]) * 1099511628211u;
	}
	return hash;
}

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	return hash_bytes(hash, text, strlen(text));
}

#define hash_equal(a, b) ((a) == (b))

/* HASH_DECLARE(name, value type): khash table `name` from uint64_t. */
#define HASH_DECLARE(name, value) KHASH_INIT(name, uint64_t, value, 1, hash_mix, hash_equal)

#endif
