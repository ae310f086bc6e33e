/*
 * metadata: a trace's metadata stream, bytes -> types.
 *
 * Takes bytes in any pieces, as a relay hands them out: packetized (CTF 1.8.3,
 * section 7.1; CTF2-PMETA-1.0) in either byte order, plain text, or plain text between
 * packets (LTTng 2.15 writes a comment first).  The first text tells whether it is TSDL
 * (CTF 1.8) or JSON (CTF 2).  Complete declarations are parsed as they come; the rest
 * waits for more.
 */
#ifndef SILLAGE_CTF_METADATA_METADATA_H
#define SILLAGE_CTF_METADATA_METADATA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "ctf/metadata/type.h"

struct metadata_stream;

struct metadata_stream *metadata_stream_new(void);
void metadata_stream_free(struct metadata_stream *stream);

/* -EINVAL (where and what), -E2BIG or -ENOMEM; after an error the trace cannot be read. */
int metadata_stream_feed(struct metadata_stream *stream, const void *bytes, size_t len,
			 struct err *err);

/* All text so far, without packets; kept only after metadata_stream_keep_text(). */
void metadata_stream_keep_text(struct metadata_stream *stream);
const char *metadata_stream_text(const struct metadata_stream *stream, size_t *ret_len);

/* No more bytes will come: -EINVAL if they end inside a packet or a declaration. */
int metadata_stream_end(const struct metadata_stream *stream, struct err *err);

/* The types so far.  They and the arena live as long as the stream. */
const struct metadata *metadata_stream_types(const struct metadata_stream *stream);
struct arena *metadata_stream_arena(struct metadata_stream *stream);

#endif
