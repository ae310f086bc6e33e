/*
 * history: the last packets of each live trace, from which captures are made.
 *
 *     engine, relay ── retained packets ──> history of a trace ──> capture (takes references)
 *                                             └──> dropped by age, and by bytes over all traces
 *
 * By age a packet is dropped once it ended more than the history's length before the end of the
 * last closed window: no trigger looks further back.  By bytes, and where others need the memory
 * (base/account.h), the trace with the most bytes drops its oldest packet.  history/retained.h
 * describes a packet.
 *
 * The live loop's thread calls all functions.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "history/retained.h"

struct account;
struct history;
struct history_trace;

/* @account NULL: nobody counts.  @ns: how far back it reaches; UINT64_MAX: only @bytes_max, a sum
 * over all traces, limits it. */
struct history *history_new(uint64_t ns, uint64_t bytes_max, struct account *account);
void history_free(struct history *history); /* after its traces */

/* The bytes that all packets take now, in memory or on disk. */
uint64_t history_bytes(const struct history *history);
/* Drops what others need the memory of. */
void history_give_way(struct history *history);

/* ---- traces ---- */

struct history_trace *history_trace_new(struct history *history);
void history_trace_free(struct history_trace *trace); /* NULL is fine */

/* Appends metadata as it was received. */
void history_metadata(struct history_trace *trace, const void *bytes, size_t len);
/* Drops the metadata: it will be received again from its start. */
void history_metadata_restart(struct history_trace *trace);

/* Adds a packet and takes its reference.  @closed, ns: end of the last closed window; 0: none. */
void history_add(struct history_trace *trace, const char *stream, struct retained *retained,
		 uint64_t closed);

/* The stream @name has packets before the first that is added, and they are not wanted: they are
 * not gone. */
void history_passed(struct history_trace *trace, const char *name);
/* Packets up to @end (ns) are not to be had. */
void history_gone(struct history_trace *trace, uint64_t end);
/* Drops all packets, and forgets which are gone; the metadata stays. */
void history_clear(struct history_trace *trace);

/* Drops nothing by age from @begin on until the next call; UINT64_MAX: no hold. */
void history_hold(struct history_trace *trace, uint64_t begin);

struct history_packet {
	char *stream; /* its name */
	struct retained *retained;
};

/* A copy of a time range of a trace; history_stretch_fini() frees it. */
struct history_stretch {
	VEC(uint8_t) metadata;
	VEC(struct history_packet) packets; /* with references, and names of their own */
	/* ns: packets up to here were dropped by bytes, or are from before the first that was had;
	 * 0: none */
	uint64_t gone;
};
/* Copies the metadata and the packets that overlap [begin, end]. */
void history_take(const struct history_trace *trace, uint64_t begin, uint64_t end,
		  struct history_stretch *ret_stretch);
void history_stretch_fini(struct history_stretch *stretch);
