/*
 * tsdl: the metadata language of CTF 1.8 (Trace Stream Description Language), text -> types.
 *
 * Four files make the parser: tsdl.c has the blocks (trace, env, clock, stream, event), tsdl-type.c
 * the compound types and declarators, tsdl-scalar.c integers, floats, strings and enums, and
 * tsdl-scope.c the scopes of type names.  tsdl-parser.h is what they share.
 *
 * Text may be fed in pieces of any size.  Each call parses the complete declarations at the start
 * and leaves the rest, because a live session's metadata grows.  A wrong declaration ends the
 * parser for good, because the meaning of the trace is no longer known.
 *
 * Each declaration is parsed from its first token to its semicolon by recursive descent, with one
 * token of look-ahead.  Failure leaves by longjmp to tsdl_feed(); the arena owns all memory, so
 * nothing has to be undone.  Depth is bounded by TYPE_DEPTH_MAX.
 *
 * Invariant: between declarations only the root scope is open.  tsdl_metadata() only gains members.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "ctf/metadata/type.h"

struct tsdl;
struct arena;

/* All memory comes from @arena, which must outlive the parser; NULL if it refuses. */
struct tsdl *tsdl_new(struct arena *arena, struct metadata_notes *notes);

/*
 * Parses the complete declarations at the start of @text.  Returns 0 and their length in
 * @ret_used, or -EINVAL (with the line) or -ENOMEM.
 */
int tsdl_feed(struct tsdl *tsdl, const char *text, size_t len, size_t *ret_used, struct err *err);

const struct metadata *tsdl_metadata(const struct tsdl *tsdl);
