/*
 * ctf2: the metadata language of CTF 2 (JSON text sequences, RFC 7464), text -> types.
 *
 * CTF2-SPEC-2.0, and the release candidates before it as far as traces of them exist
 * (CTF2-SPECRC-7.0: locations as arrays, clocks by name, enumeration field classes).
 *
 * Text may be fed in any pieces; each fragment counts as soon as it is complete.  A
 * fragment that is wrong ends the parser for good.  The result only ever gains members.
 */
#ifndef SILLAGE_CTF_METADATA_CTF2_H
#define SILLAGE_CTF_METADATA_CTF2_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "ctf/metadata/type.h"

struct ctf2;
struct arena;

/* Types come from @arena, which must outlive the parser; NULL if it refuses. */
struct ctf2 *ctf2_new(struct arena *arena);
void ctf2_free(struct ctf2 *ctf2); /* NULL is fine */

/* Takes all of @text; -EINVAL (with the fragment and where in it) or -ENOMEM. */
int ctf2_feed(struct ctf2 *ctf2, const char *text, size_t len, struct err *err);

/* Whether a fragment has begun and not ended. */
bool ctf2_is_inside(const struct ctf2 *ctf2);

const struct metadata *ctf2_metadata(const struct ctf2 *ctf2);

#endif
