/*
 * beside: the events that the traces of one session record together.
 *
 * A session has a trace of each domain: the kernel's, and those of user space.  What one of them
 * does not record may be in another, and is not missing then.  Which traces are of one session
 * knows who has them: relays have one host and name for both, and recorded ones are S/kernel and
 * S/ust.
 */
#pragma once

#include "base/hash.h"
#include "base/mem.h"
#include "engine/contract/missing.h"

struct metadata;

HASH_MAP_TEXT(beside_names, bool)

struct beside_of;

/* All zero: there are none. */
struct beside {
	VEC(const char *) texts; /* owned */
	struct beside_names known;
	/* The same, for trace_set_beside().  Its domain is "ust" if one trace is of user space. */
	struct event_names all;
};

/* Those of several sessions; all zero: there are none. */
struct besides {
	VEC(struct beside_of *) all;
};
/* What the traces record together of all that have joined with this key; until as many have left.
 */
struct beside *besides_join(struct besides *besides, const char *key);
void besides_leave(struct besides *besides, struct beside *beside);
/* All have left. */
void besides_fini(struct besides *besides);

/* Adds what it does not have yet of a trace, whose metadata may grow. */
void beside_add(struct beside *beside, const struct metadata *types);
/* All of it as a text, from malloc(), for files: the domain and each name, a line each. */
char *beside_text(const struct beside *beside);
/* Adds what such a text has; NULL is fine. */
void beside_take(struct beside *beside, const char *text);
void beside_fini(struct beside *beside);
