/*
 * history: the last packets of each live trace, as they came or packed (history/retained.h).
 *
 *     engine ── kept packets ──► history of a trace ──► taken by a capture (references)
 *                                   └─► goes by age, and by bytes when all have too many
 *
 * Age is that of windows: a packet goes when it ended so long before the end of the last window
 * that a trigger could still look at.  All functions belong to the loop's thread.
 */
#ifndef SILLAGE_HISTORY_HISTORY_H
#define SILLAGE_HISTORY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "history/retained.h"

struct history;
struct history_trace;

/* @ns: how far back it reaches, UINT64_MAX: as far as @bytes_max, of all traces, allows. */
struct history *history_new(uint64_t ns, uint64_t bytes_max);
void history_free(struct history *history); /* after its traces */

/* The bytes that it takes now. */
uint64_t history_bytes(const struct history *history);

/* ---- traces ---- */

struct history_trace *history_trace_new(struct history *history);
void history_trace_free(struct history_trace *trace); /* NULL is fine */

/* More of the metadata, as it came; or it comes anew, from the start. */
void history_metadata(struct history_trace *trace, const void *bytes, size_t len);
void history_metadata_restart(struct history_trace *trace);

/* Takes the reference.  Windows up to @closed have been looked at; 0: none has. */
void history_add(struct history_trace *trace, const char *stream, struct retained *retained,
		 uint64_t closed);

/* From @begin on nothing goes by age until this is called again; UINT64_MAX: it does. */
void history_hold(struct history_trace *trace, uint64_t begin);

struct history_packet {
	char *stream; /* the history's */
	struct retained *retained;
};

/* What there is of a stretch of time.  To be freed with history_stretch_fini(). */
struct history_stretch {
	VEC(uint8_t) metadata;
	VEC(struct history_packet) packets; /* with references, and names of their own */
	uint64_t since;                     /* ns: the first packet ever, UINT64_MAX: none */
	uint64_t gone; /* ns: until when packets went for want of room, 0: none did */
};
void history_take(const struct history_trace *trace, uint64_t begin, uint64_t end,
		  struct history_stretch *ret_stretch);
void history_stretch_fini(struct history_stretch *stretch);

#endif
