/*
 * tsdl: the metadata language of CTF 1.8 (Trace Stream Description Language), text -> types.
 *
 * Text may be fed in any pieces: each call takes the complete declarations it
 * finds and leaves the rest, because a live session's metadata grows.  A
 * declaration that is wrong ends the parser for good: what a trace means can no
 * longer be known.  The result is in tsdl_metadata(); it only ever gains members.
 */
#ifndef SILLAGE_CTF_METADATA_TSDL_H
#define SILLAGE_CTF_METADATA_TSDL_H

#include <stddef.h>

#include "base/err.h"
#include "ctf/metadata/type.h"

struct tsdl;
struct arena;

/* All memory comes from @arena, which must outlive the parser; NULL if it refuses. */
struct tsdl *tsdl_new(struct arena *arena);

/*
 * Parses the complete declarations at the start of @text.  Returns 0 and the
 * bytes they took in @ret_used, or -EINVAL (with the line) or -ENOMEM.
 */
int tsdl_feed(struct tsdl *tsdl, const char *text, size_t len, size_t *ret_used, struct err *err);

const struct metadata *tsdl_metadata(const struct tsdl *tsdl);

#endif
