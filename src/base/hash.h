/*
 * hash: hash functions and hash tables.
 *
 *     HASH_MAP       values by key: what nearly all code wants
 *     HASH_PROBED    the table below it, for entries that contain their key
 *
 * Integers are mixed: with the identity as their hash a table takes 194 ns an operation when thread
 * ids come and go, and 19 ns so.  Entries move when one is added or removed: pointers to them and
 * to values are invalid then.  The order of entries is arbitrary, so sort before output.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/mem.h"

#define HASH_ROOM_MIN 8
/* Not each table needs each of its functions. */
#define HASH_UNUSED __attribute__((unused)) static inline

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
		/* Bytes of a word are not garbage, as clang's analyser thinks. */
		/* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
		hash = (hash ^ byte[i]) * 1099511628211u;
	}
	return hash;
}

static inline uint64_t hash_text(uint64_t hash, const char *text)
{
	return hash_bytes(hash, text, strlen(text));
}

/*
 * Texts of any length in rooms of a fixed size, as keys: of a longer one "~" and the hash of all of
 * it stand for the end, so that texts that differ stay different.
 *
 * Copies a text, of which @len bytes or those up to a zero count, to @room bytes; zeroes fill what
 * is left, one at least.  @room > HASH_END_BYTES.
 */
#define HASH_END_BYTES 17 /* "~0123456789abcdef" */
void hash_brief(char *to, size_t room, const void *text, size_t len);
/* The same of a text whose first room - 1 bytes are there already, and whose hash is known. */
void hash_brief_end(char *to, size_t room, uint64_t hash);

/* The high half takes part: what has keys such as `of << 40 | by` may be a small table. */
static inline uint32_t hash_u64(uint64_t key)
{
	return hash_mix(key ^ key >> 32);
}

static inline uint32_t hash_key_text(const char *text)
{
	return hash_mix(hash_text(0, text));
}

#define hash_equal(a, b)       ((a) == (b))
#define hash_texts_equal(a, b) (strcmp(a, b) == 0)

/*
 * HASH_PROBED(name, type, context): a table of entries of a @type, struct `name`, by int64_t.
 * HASH_PROBED_BY(name, type, context, key_type, hash, equal): by another type.
 *
 * One array has the entries, and an entry need not contain its key.  Probing is linear, the table
 * is at most half full.  A table can be emptied by changing what counts as used, an epoch in each
 * entry for one.  All zero bytes are an empty table; only find() needs one that had an entry or
 * init().
 *
 * Define two functions before it:
 *
 *     bool name_is_used(context, type const *entry)      false for memory that is all zero
 *     key_type name_key(context, type const *entry)      called only for an entry that is used
 *
 * Where the context contains the table, HASH_PROBED_STRUCT(name, type) comes before it and
 * HASH_PROBED_CODE(name, type, context), or HASH_PROBED_CODE_BY(...), after.
 */
#define HASH_PROBED(name, type, context)                                                           \
	HASH_PROBED_STRUCT(name, type)                                                             \
	HASH_PROBED_CODE(name, type, context)

#define HASH_PROBED_BY(name, type, context, key_type, hash, equal)                                 \
	HASH_PROBED_STRUCT(name, type)                                                             \
	HASH_PROBED_CODE_BY(name, type, context, key_type, hash, equal)

#define HASH_PROBED_STRUCT(name, type)                                                             \
	struct name {                                                                              \
		type *at;                                                                          \
		uint32_t mask, used;                                                               \
	};

#define HASH_PROBED_CODE(name, type, context)                                                      \
	HASH_PROBED_CODE_BY(name, type, context, int64_t, hash_mix, hash_equal)

#define HASH_PROBED_CODE_BY(name, type, context, key_type, hash, equal)                            \
	/* @room: a power of two. */                                                               \
	HASH_UNUSED void name##_init(struct name *table, uint32_t room)                            \
	{                                                                                          \
		assert(room > 1 && (room & (room - 1)) == 0);                                      \
		table->at = mem_alloc(room * sizeof(*table->at));                                  \
		table->mask = room - 1;                                                            \
		table->used = 0;                                                                   \
	}                                                                                          \
                                                                                                   \
	HASH_UNUSED void name##_fini(struct name *table)                                           \
	{                                                                                          \
		free(table->at);                                                                   \
		*table = (struct name){ 0 };                                                       \
	}                                                                                          \
                                                                                                   \
	/* The entry of a key, or the unused one where it would be. */                             \
	HASH_UNUSED type *name##_find(const struct name *table, context of, key_type key)          \
	{                                                                                          \
		uint32_t at = hash(key) & table->mask;                                             \
                                                                                                   \
		assert_hot(table->at);                                                             \
		while (name##_is_used(of, &table->at[at]) &&                                       \
		       !equal(name##_key(of, &table->at[at]), key)) {                              \
			at = (at + 1) & table->mask;                                               \
		}                                                                                  \
		return &table->at[at];                                                             \
	}                                                                                          \
                                                                                                   \
	HASH_UNUSED void name##_grow(struct name *table, context of)                               \
	{                                                                                          \
		struct name old = *table;                                                          \
                                                                                                   \
		table->mask = old.at ? old.mask * 2 + 1 : HASH_ROOM_MIN - 1;                       \
		table->at = mem_alloc(((size_t)table->mask + 1) * sizeof(*table->at));             \
		for (uint32_t i = 0; old.at && i <= old.mask; i++) {                               \
			if (name##_is_used(of, &old.at[i])) {                                      \
				*name##_find(table, of, name##_key(of, &old.at[i])) = old.at[i];   \
			}                                                                          \
		}                                                                                  \
		free(old.at);                                                                      \
	}                                                                                          \
                                                                                                   \
	/* The key has none yet: @entry, which name_find() gave, is its own, or another one if the \
	 * table grows.  The caller fills it in. */                                                \
	HASH_UNUSED type *name##_add_at(struct name *table, context of, type *entry, key_type key) \
	{                                                                                          \
		if (table->used >= table->mask / 2) {                                              \
			name##_grow(table, of);                                                    \
			entry = name##_find(table, of, key);                                       \
		}                                                                                  \
		table->used++;                                                                     \
		return entry;                                                                      \
	}                                                                                          \
                                                                                                   \
	/* The same for who has not looked for it. */                                              \
	HASH_UNUSED type *name##_add(struct name *table, context of, key_type key)                 \
	{                                                                                          \
		type *entry = table->at ? name##_find(table, of, key) : NULL;                      \
                                                                                                   \
		return name##_add_at(table, of, entry, key);                                       \
	}                                                                                          \
                                                                                                   \
	/* The entry of a key, or NULL. */                                                         \
	HASH_UNUSED type *name##_seek(const struct name *table, context of, key_type key)          \
	{                                                                                          \
		type *found = table->used > 0 ? name##_find(table, of, key) : NULL;                \
                                                                                                   \
		return found && name##_is_used(of, found) ? found : NULL;                          \
	}                                                                                          \
                                                                                                   \
	/* The first entry behind @entry, NULL: of all; NULL: there is no more. */                 \
	HASH_UNUSED type *name##_next(const struct name *table, context of, type const *entry)     \
	{                                                                                          \
		size_t at = entry ? (size_t)(entry - table->at) + 1 : 0;                           \
                                                                                                   \
		while (table->used > 0 && at <= table->mask) {                                     \
			if (name##_is_used(of, &table->at[at])) {                                  \
				return &table->at[at];                                             \
			}                                                                          \
			at++;                                                                      \
		}                                                                                  \
		return NULL;                                                                       \
	}                                                                                          \
                                                                                                   \
	/* Those behind it up to an unused one move up where they can.  Returns what next(entry)   \
	 * would have; who walks on from there may see some entries twice, and misses none. */     \
	HASH_UNUSED type *name##_remove(struct name *table, context of, type *entry)               \
	{                                                                                          \
		uint32_t hole = (uint32_t)(entry - table->at), at = hole, home;                    \
                                                                                                   \
		assert(table->used > 0 && name##_is_used(of, entry));                              \
		for (at = (at + 1) & table->mask; name##_is_used(of, &table->at[at]);              \
		     at = (at + 1) & table->mask) {                                                \
			home = hash(name##_key(of, &table->at[at])) & table->mask;                 \
			if (((at - home) & table->mask) >= ((at - hole) & table->mask)) {          \
				table->at[hole] = table->at[at];                                   \
				hole = at;                                                         \
			}                                                                          \
		}                                                                                  \
		memset(&table->at[hole], 0, sizeof(table->at[hole]));                              \
		table->used--;                                                                     \
		return name##_is_used(of, entry) ? entry : name##_next(table, of, entry);          \
	}                                                                                          \
                                                                                                   \
	HASH_UNUSED void name##_clear(struct name *table)                                          \
	{                                                                                          \
		if (table->used > 0) {                                                             \
			memset(table->at, 0, ((size_t)table->mask + 1) * sizeof(*table->at));      \
		}                                                                                  \
		table->used = 0;                                                                   \
	}

/*
 * HASH_MAP(name, value_type): values by an integer, struct `name`.  All zero bytes are an empty
 * one; name_fini() frees it, not what its values own.  HASH_MAP_TEXT(name, value_type): by
 * texts, which it does not copy.
 */
#define HASH_MAP(name, value_type) HASH_MAP_BY(name, uint64_t, value_type, hash_u64, hash_equal)
#define HASH_MAP_TEXT(name, value_type)                                                            \
	HASH_MAP_BY(name, const char *, value_type, hash_key_text, hash_texts_equal)

#define HASH_MAP_BY(name, key_type, value_type, hash, equal)                                       \
	struct name##_entry {                                                                      \
		key_type key;                                                                      \
		value_type value;                                                                  \
		bool is_used;                                                                      \
	};                                                                                         \
                                                                                                   \
	HASH_UNUSED bool name##_is_used(const void *unused, const struct name##_entry *entry)      \
	{                                                                                          \
		return entry->is_used;                                                             \
	}                                                                                          \
                                                                                                   \
	HASH_UNUSED key_type name##_key(const void *unused, const struct name##_entry *entry)      \
	{                                                                                          \
		return entry->key;                                                                 \
	}                                                                                          \
                                                                                                   \
	HASH_PROBED_BY(name, struct name##_entry, const void *, key_type, hash, equal)             \
                                                                                                   \
	/* The value of a key, or NULL. */                                                         \
	HASH_UNUSED value_type *name##_get(const struct name *table, key_type key)                 \
	{                                                                                          \
		struct name##_entry *found = name##_seek(table, NULL, key);                        \
                                                                                                   \
		return found ? &found->value : NULL;                                               \
	}                                                                                          \
                                                                                                   \
	/* The value of a key, all zero bytes if it had none; @ret_is_new: NULL is fine. */        \
	HASH_UNUSED value_type *name##_put(struct name *table, key_type key, bool *ret_is_new)     \
	{                                                                                          \
		struct name##_entry *entry = table->at ? name##_find(table, NULL, key) : NULL;     \
		bool is_new = !entry || !entry->is_used;                                           \
                                                                                                   \
		if (ret_is_new) {                                                                  \
			*ret_is_new = is_new;                                                      \
		}                                                                                  \
		if (is_new) {                                                                      \
			entry = name##_add_at(table, NULL, entry, key);                            \
			entry->key = key;                                                          \
			entry->is_used = true;                                                     \
		}                                                                                  \
		return &entry->value;                                                              \
	}                                                                                          \
                                                                                                   \
	/* Whether the key had a value. */                                                         \
	HASH_UNUSED bool name##_drop(struct name *table, key_type key)                             \
	{                                                                                          \
		struct name##_entry *found = name##_seek(table, NULL, key);                        \
                                                                                                   \
		if (found) {                                                                       \
			(void)name##_remove(table, NULL, found);                                   \
		}                                                                                  \
		return found;                                                                      \
	}

/* All entries of a map; none is put or dropped meanwhile. */
#define HASH_EACH(name, table, entry)                                                              \
	for (struct name##_entry *entry = name##_next(table, NULL, NULL); entry;                   \
	     entry = name##_next(table, NULL, entry))
