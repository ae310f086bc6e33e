/*
 * item: keys of rows that are neither threads nor CPUs: a number, a name, or both.
 */
#ifndef SILLAGE_ENGINE_CONTRACT_KEY_H
#define SILLAGE_ENGINE_CONTRACT_KEY_H

#include <string.h>

#include "base/hash.h"
#include "engine/contract/analysis.h"

/* The id of an item that has none. */
#define ITEM_NO_ID ((uint64_t)1 << 63)

/* The name ends at @len or at its zero; @name may be NULL. */
static inline struct item_key item_key_of(uint64_t id, const void *name, size_t len)
{
	struct item_key key = { .id = id };

	if (name) {
		len = len < ITEM_NAME_BYTES - 1 ? len : ITEM_NAME_BYTES - 1;
		memcpy(key.name, name, strnlen(name, len));
	}
	return key;
}

/* What worker_text() put beside a record. */
static inline struct item_key item_key_of_numbers(uint64_t id, const uint64_t *numbers)
{
	struct item_key key = { .id = id };

	memcpy(key.name, numbers, sizeof(key.name));
	return key;
}

static inline void item_key_codec(struct codec *codec, struct item_key *key)
{
	codec_u64(codec, &key->id);
	codec_bytes(codec, key->name, ITEM_NAME_BYTES);
	if (!codec_check(codec, key->name[ITEM_NAME_BYTES - 1] == 0)) {
		key->name[ITEM_NAME_BYTES - 1] = 0;
	}
}

static inline bool foreign_has_text(const struct foreign_record *foreign)
{
	return foreign_has(foreign, ITEM_NAME_BYTES / sizeof(uint64_t)) &&
	       ((const char *)foreign->numbers)[ITEM_NAME_BYTES - 1] == 0;
}

static inline uint32_t item_hash(const struct item_key *key)
{
	uint64_t hash = key->id, word;

	for (size_t i = 0; i < ITEM_NAME_BYTES; i += sizeof(word)) {
		memcpy(&word, key->name + i, sizeof(word));
		hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
		hash ^= hash >> 29;
	}
	return hash_mix(hash);
}

static inline bool item_equal(const struct item_key *a, const struct item_key *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

#endif
