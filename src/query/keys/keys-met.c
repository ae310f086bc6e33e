/*
 * keys-met: see keys-met.h.
 */
#include "query/keys/keys-met.h"

#include "base/hash.h"

#define OWNER_BITS 16
#define OWNER_MASK ((UINT64_C(1) << OWNER_BITS) - 1)

/* Of the kernel, or unknown: 0; of a process: never 0. */
static uint64_t owner_bits(int64_t owner)
{
	return owner == 0 ? 0 : 1 + hash_bytes(0, &owner, sizeof(owner)) % OWNER_MASK;
}

void keys_met_note(struct keys_met *met, unsigned int side, uint64_t keys, int64_t owner)
{
	uint64_t mixed = hash_bytes(1, &keys, sizeof(keys)), had;
	uint64_t value = (mixed & ~OWNER_MASK) | owner_bits(owner);
	_Atomic uint64_t *slot = &met->sides[side & 1][mixed % KEYS_MET_SLOTS];

	had = atomic_load_explicit(slot, memory_order_relaxed);
	while (value > had &&
	       !atomic_compare_exchange_weak_explicit(slot, &had, value, memory_order_relaxed,
						      memory_order_relaxed)) {
	}
}

bool keys_met_apart(const struct keys_met *met)
{
	bool apart = false;

	for (size_t i = 0; i < KEYS_MET_SLOTS; i++) {
		uint64_t begun = atomic_load(&met->sides[0][i]);
		uint64_t ended = atomic_load(&met->sides[1][i]);

		apart |= begun >> OWNER_BITS != 0 && begun >> OWNER_BITS == ended >> OWNER_BITS &&
			 begun != ended;
	}
	return apart && !atomic_load(&met->agreed);
}
