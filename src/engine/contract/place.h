/*
 * place: which container or service a thread is of, as recorders say it (sillage_container).
 *
 * A place has a number, which is made of its kind and name: so it is the same in all traces.  The
 * name lies beside the record, behind the number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/hash.h"
#include "base/limits.h"

#define PLACE_WORDS (1 + CONTAINER_NAME_BYTES / sizeof(uint64_t))

_Static_assert(CONTAINER_NAME_BYTES % sizeof(uint64_t) == 0, "a name is whole words");

/* Of no thread anything is known: 0.  It is of neither: this. */
#define PLACE_NONE      UINT32_C(1)
#define PLACE_NONE_NAME "(none)"

static inline uint32_t place_number(const void *kind, size_t kind_len, const char *name)
{
	uint64_t hash = hash_text(hash_bytes(0, kind, kind_len), name);
	uint32_t number = hash_mix(hash);

	return number > PLACE_NONE ? number : number + PLACE_NONE + 1;
}

static inline const char *place_name(const uint64_t words[PLACE_WORDS])
{
	return (const char *)(words + 1);
}

/* Whether words of a file may be that. */
static inline bool place_is_sound(const uint64_t words[PLACE_WORDS])
{
	return words[0] > 0 && words[0] <= UINT32_MAX &&
	       place_name(words)[CONTAINER_NAME_BYTES - 1] == '\0';
}
