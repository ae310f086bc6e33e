/*
 * hash: hash functions, and hash tables with integer keys (khash).
 *
 * khash's own hash of an integer is the identity.  That degrades badly when thread ids come and go:
 * 194 ns an operation, 19 ns with hash_mix().  Pointers and iterators are invalid after the next
 * put.  The order of iteration is arbitrary, so sort before output.
 */
#ifndef SILLAGE_BASE_HASH_H
#define SILLAGE_BASE_HASH_H

#include <assert.h>
#include <htslib/khash.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static inline uint32_t hash_mix(uint64_t key)
{
	key *= 0x9E3779B97F4A7C15ull; /* 2^64 / golden ratio */
	return (uint32_t)(key >> 32);
}

/* FNV-1a of @len bytes, or of a text, continued from another hash; 0 starts one. */
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

/* Defines khash table @name with keys of uint64_t and values of type @value. */
#define HASH_DECLARE(name, value) KHASH_INIT(name, uint64_t, value, 1, hash_mix, hash_equal)

/*
 * HASH_PROBED(name, type, context): a table for the hottest look-ups, struct `name`.
 *
 * khash has three arrays: flags, keys and values.  Here one array has the entries, and an entry
 * need not contain its key.  With khash in its place, the merger's table of threads costs a whole
 * run 0.5 to 1.3 % more instructions.  Probing is linear, the table is at most half full, and no
 * entry is ever removed.  A table can be emptied by changing what counts as used, an epoch in each
 * entry for one.
 *
 * Define two functions before it:
 *
 *     bool name_is_used(context, const type *entry)      false for memory that is all zero
 *     int64_t name_key(context, const type *entry)       called only for an entry that is used
 *
 * Entries move when one is added: pointers to them are invalid then.
 *
 * Where the context contains the table, HASH_PROBED_STRUCT(name, type) comes before it and
 * HASH_PROBED_CODE(name, type, context) after.
 */
#define HASH_PROBED(name, type, context)                                                           \
	HASH_PROBED_STRUCT(name, type)                                                             \
	HASH_PROBED_CODE(name, type, context)

#define HASH_PROBED_STRUCT(name, type)                                                             \
	struct name {                                                                              \
		type *at;                                                                          \
		uint32_t mask, used;                                                               \
	};

#define HASH_PROBED_CODE(name, type, context)                                                      \
	/* @room: a power of two. */                                                               \
	static inline void name##_init(struct name *table, uint32_t room)                          \
	{                                                                                          \
		assert(room > 1 && (room & (room - 1)) == 0);                                      \
		table->at = mem_alloc(room * sizeof(*table->at));                                  \
		table->mask = room - 1;                                                            \
		table->used = 0;                                                                   \
	}                                                                                          \
                                                                                                   \
	static inline void name##_fini(struct name *table)                                         \
	{                                                                                          \
		free(table->at);                                                                   \
	}                                                                                          \
                                                                                                   \
	/* The entry of a key, or the unused one where it would be. */                             \
	static inline type *name##_find(const struct name *table, context of, int64_t key)         \
	{                                                                                          \
		uint32_t at = hash_mix((uint64_t)key) & table->mask;                               \
                                                                                                   \
		while (name##_is_used(of, &table->at[at]) &&                                       \
		       name##_key(of, &table->at[at]) != key) {                                    \
			at = (at + 1) & table->mask;                                               \
		}                                                                                  \
		return &table->at[at];                                                             \
	}                                                                                          \
                                                                                                   \
	static inline void name##_grow(struct name *table, context of)                             \
	{                                                                                          \
		struct name old = *table;                                                          \
                                                                                                   \
		table->mask = old.mask * 2 + 1;                                                    \
		table->at = mem_alloc(((size_t)table->mask + 1) * sizeof(*table->at));             \
		for (uint32_t i = 0; i <= old.mask; i++) {                                         \
			if (name##_is_used(of, &old.at[i])) {                                      \
				*name##_find(table, of, name##_key(of, &old.at[i])) = old.at[i];   \
			}                                                                          \
		}                                                                                  \
		free(old.at);                                                                      \
	}                                                                                          \
                                                                                                   \
	/* The key has none yet: @entry, which name_find() gave, is its own, or another one if the \
	 * table grows.  The caller fills it in. */                                                \
	static inline type *name##_add(struct name *table, context of, type *entry, int64_t key)   \
	{                                                                                          \
		if (table->used >= table->mask / 2) {                                              \
			name##_grow(table, of);                                                    \
			entry = name##_find(table, of, key);                                       \
		}                                                                                  \
		table->used++;                                                                     \
		return entry;                                                                      \
	}

#endif
