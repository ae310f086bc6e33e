/*
 * ctf2: the metadata language of CTF 2 (JSON text sequences, RFC 7464), text -> types.
 *
 * It reads CTF2-SPEC-2.0, and of the release candidates what existing traces use (CTF2-SPECRC-7.0:
 * locations as arrays, clocks by name, enumeration field classes).
 *
 * Three files make the parser: ctf2.c has the fragments, ctf2-type.c the field classes and
 * ctf2-property.c the properties that several field classes have.  ctf2-parser.h is what they
 * share.  json-c parses the JSON.
 *
 * Text may be fed in pieces of any size; a fragment is parsed as soon as it is complete.  A wrong
 * fragment ends the parser for good.  ctf2_metadata() only gains members.
 *
 * Ownership: the parser owns the JSON of one fragment while it parses it; the arena owns the types.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "ctf/metadata/type.h"

struct ctf2;
struct arena;

/* Types come from @arena, which must outlive the parser; NULL if it refuses. */
struct ctf2 *ctf2_new(struct arena *arena, struct metadata_notes *notes);
void ctf2_free(struct ctf2 *ctf2); /* NULL is fine */

/* Takes all of @text; -EINVAL (with the fragment and where in it) or -ENOMEM. */
int ctf2_feed(struct ctf2 *ctf2, const char *text, size_t len, struct err *err);

/* Whether a fragment is incomplete. */
bool ctf2_is_inside(const struct ctf2 *ctf2);

const struct metadata *ctf2_metadata(const struct ctf2 *ctf2);
