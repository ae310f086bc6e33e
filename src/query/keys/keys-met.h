/*
 * keys-met: whether keys of a definition were equal in two processes, where keys are of a process
 * and so never agree (doc/definitions.md, 4.12).
 *
 *     begins, by key and process ─┐
 *                                 ├─ equal keys, of others, and none agreed: "by global" is meant
 *     ends, by key and process ───┘
 *
 * It is a sketch of both sides: of each share of all hashes the largest one that came.  So it is
 * the same whatever the order of events, and any thread may add to it.  It tells users what to
 * write; no figure is made of it.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define KEYS_MET_SLOTS 1024

/* All zero: nothing came. */
struct keys_met {
	_Atomic uint64_t sides[2][KEYS_MET_SLOTS]; /* hash of the key, and below of its process */
	atomic_bool agreed;                        /* some event had the keys of the one before */
};

/* Notes keys.  @side: 0: of an event that waits for another one, 1: of that one.  @keys: their
 * hash without the process, @owner: that; 0: of the kernel, or unknown. */
void keys_met_note(struct keys_met *met, unsigned int side, uint64_t keys, int64_t owner);
/* Two events agreed. */
static inline void keys_met_agree(struct keys_met *met)
{
	if (!atomic_load_explicit(&met->agreed, memory_order_relaxed)) {
		atomic_store_explicit(&met->agreed, true, memory_order_relaxed);
	}
}
/* Whether keys were equal in two processes, and none agreed in one. */
bool keys_met_apart(const struct keys_met *met);
