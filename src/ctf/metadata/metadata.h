/*
 * metadata: a trace's metadata stream, bytes -> types.
 *
 *     bytes --unpack--> text --lex_declaration/JSON--> declarations --tsdl, ctf2--> types
 *              |                  |
 *              raw: an            text: an incomplete
 *              incomplete packet  declaration
 *
 * The stream takes bytes in pieces of any size, as a relay sends them: packetized (CTF 1.8.3,
 * section 7.1; CTF2-PMETA-1.0) in either byte order, plain text, or plain text between packets
 * (LTTng 2.15 writes a comment first).  The first text decides the language: TSDL (CTF 1.8) or
 * JSON (CTF 2).  Complete declarations are parsed at once; the rest waits for more bytes.
 *
 * The stream owns the parser, the arena and all types in it.  Types are only added, never changed
 * or removed, so plans may refer to them while metadata grows.  Input is untrusted: what is wrong
 * with it is an error with the place, and limits.h bounds the memory.  What is wrong and can be
 * read is a note (type.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "ctf/metadata/type.h"

struct metadata_stream;

struct metadata_stream *metadata_stream_new(void);
void metadata_stream_free(struct metadata_stream *stream);
/* Its memory is in the account, and refused if it may not last: -ENOMEM.  Before the first bytes.
 */
void metadata_stream_count(struct metadata_stream *stream, struct account *account);

/* -EINVAL (with place and reason), -E2BIG or -ENOMEM; after an error the trace is unreadable. */
int metadata_stream_feed(struct metadata_stream *stream, const void *bytes, size_t len,
			 struct err *err);

/* All text so far, without packet headers; stored only after metadata_stream_keep_text(). */
void metadata_stream_keep_text(struct metadata_stream *stream);
const char *metadata_stream_text(const struct metadata_stream *stream, size_t *ret_len);

/* The stream is complete: -EINVAL if it ends inside a packet or a declaration. */
int metadata_stream_end(const struct metadata_stream *stream, struct err *err);

/* The same of a file, of which no more comes: one that is cut is read as far as it goes, and a note
 * says so.  -EINVAL: up to there it has no trace block, or is wrong. */
int metadata_stream_finish(struct metadata_stream *stream, struct err *err);

/* Whether the bytes so far end with a whole packet: text or another packet follows. */
bool metadata_stream_ends_packet(const struct metadata_stream *stream);

/* The types so far.  They and the arena live as long as the stream. */
const struct metadata *metadata_stream_types(const struct metadata_stream *stream);
struct arena *metadata_stream_arena(struct metadata_stream *stream);
