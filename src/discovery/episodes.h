/*
 * episodes: finds what happens again and again in a sequence of events.
 *
 * An episode is an ordered list of different types of event.  It occurs in a window [first, last]
 * of the sequence where its types follow each other in order, with anything in between, the first
 * one at `first` and the last one at `last`.  An occurrence is minimal if no window inside it is
 * one.  The support is the largest number of minimal occurrences that do not overlap.  It never
 * grows when a type is added to an episode, so the search can leave out whatever grows from an
 * episode with too little support (MANEPI; doc/definitions.md, 6.3).
 *
 *     sequence  a b c a x b c a b c      episode a b c: [0,2] [3,6] [7,9], support 3
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

#define EPISODE_TYPES_MAX 64  /* of one episode */
#define EPISODES_MAX      256 /* that are found: what has more repeats nothing, it shuffles */

/* Indexes into the sequence. */
struct episode_window {
	uint32_t first, last;
};

typedef VEC(struct episode_window) episode_windows;

struct episode {
	uint32_t types[EPISODE_TYPES_MAX];
	size_t count;
	episode_windows windows; /* minimal, without overlap, in order; as many as the support */
};

struct episodes_config {
	const uint32_t *events; /* types, each below type_count */
	size_t count;           /* below 2^32 */
	size_t type_count;
	size_t support_min; /* at least 1 */
	int64_t start;      /* the first type of each episode; -1: any */
	bool is_exact;      /* false: episodes that miss little to be part of another may lack */
	uint64_t work_max;  /* of the search: occurrences looked at */
	const atomic_bool *stop; /* it ends when this is set; NULL: never */
};

struct episodes {
	VEC(struct episode) at; /* the longest first, then by support */
	bool is_cut;            /* a limit was reached; what was found holds */
	uint64_t work;          /* that was done */
};

/* Finds all episodes with the support that are no part of a longer one. */
void episodes_find(const struct episodes_config *config, struct episodes *ret);
void episodes_fini(struct episodes *episodes);

/* Minimal occurrences of an episode followed by a type.  @places: the type's, ascending. */
void episodes_extend(const episode_windows *windows, const uint32_t *places, size_t count,
		     episode_windows *ret);
/* Those that do not overlap, as many as possible. */
void episodes_apart(const episode_windows *windows, episode_windows *ret);
