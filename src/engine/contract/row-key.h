/*
 * row-key: keys of rows that belong neither to a thread nor to a CPU: a number, a name, or both.
 *
 * Keys are compared byte by byte, so that the name is zeroed up to its end.
 */
#pragma once

#include <string.h>

#include "base/hash.h"

#define ROW_KEY_NAME_BYTES 32
struct row_key {
	uint64_t id;
	char name[ROW_KEY_NAME_BYTES]; /* as hash_brief() makes it: zeroes up to its end */
};

/* The id of a key that is a name only. */
#define ROW_KEY_NO_ID ((uint64_t)1 << 63)

/* The name ends at @len or at its zero; of one that has no room a hash is the end.  @name may be
 * NULL. */
static inline struct row_key row_key_of(uint64_t id, const void *name, size_t len)
{
	struct row_key key = { .id = id };

	if (name) {
		len = strnlen(name, len);
		if (len < ROW_KEY_NAME_BYTES) {
			memcpy(key.name, name, len);
		} else {
			hash_brief(key.name, ROW_KEY_NAME_BYTES, name, len);
		}
	}
	return key;
}

/* The name is what worker_text() put beside a record. */
static inline struct row_key row_key_of_numbers(uint64_t id, const uint64_t *numbers)
{
	struct row_key key = { .id = id };

	memcpy(key.name, numbers, sizeof(key.name));
	return key;
}

static inline uint32_t row_key_hash(const struct row_key *key)
{
	uint64_t hash = key->id, word;

	for (size_t i = 0; i < ROW_KEY_NAME_BYTES; i += sizeof(word)) {
		memcpy(&word, key->name + i, sizeof(word));
		hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
		hash ^= hash >> 29;
	}
	return hash_mix(hash);
}

static inline bool row_key_equal(const struct row_key *a, const struct row_key *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}
