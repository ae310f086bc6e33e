/*
 * trace: one trace as the engine sees it: metadata in, windows and totals out.
 *
 *     trace_new ── trace_metadata ... ── streams ── trace_finish ── trace_free
 *                                                └─ trace_pause (checkpoint) ── trace_free
 *
 * A trace belongs to an engine.  It owns its metadata, its plan, its merger and its streams
 * (engine/stream.h).
 *
 * Metadata may grow while packets come.  Each piece gives a new plan; chunks in flight hold a
 * reference to the plan they were cut with.  Old metadata stays in memory until the trace is
 * freed, because those plans point into it.
 *
 * All functions belong to the coordinator's thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct engine;
struct event_names;
struct engine_warning;
struct merger_account;
struct plan;
struct stream;
struct trace;

struct trace *trace_new(struct engine *engine, void *user);

/* Replaces the user pointer of reports and warnings: another session continues the trace. */
void trace_set_user(struct trace *trace, void *user);
void trace_warn(struct trace *trace, const struct engine_warning *warning);

/* Waits for chunks in flight, and frees the trace and its streams. */
void trace_free(struct trace *trace);

/*
 * Adds metadata.  @is_last: no more will come, so an end inside a declaration is an error.
 * -EINVAL or -ENOMEM: the trace cannot be read.
 */
int trace_metadata(struct trace *trace, const void *bytes, size_t len, bool is_last,
		   struct err *err);

/*
 * Traces that are one: another one is joined to it, before either has metadata.  The first is the
 * kernel's.  Returns the number of the part, for the functions that take one; the first is 0.
 *
 * After trace_expect_parts(), before the first metadata, parts may be added at any time.  What the
 * others have goes on meanwhile, and the plan has those whose metadata has a trace block, in their
 * order.  A part whose connection was lost gets the same metadata again (trace_metadata_restart()):
 * plans stay.
 */
void trace_expect_parts(struct trace *trace);
uint32_t trace_add_part(struct trace *trace);
/* The user pointer that retained packets of the part come with.  NULL: the trace's for the first
 * part, and those of another one are dropped.  Chunks in flight hold none: it has to be replaced
 * before it is freed. */
void trace_set_part_user(struct trace *trace, uint32_t part, void *user);
/* Hands on what streams of the part hold, and waits until nothing of it is in flight. */
void trace_settle_part(struct trace *trace, uint32_t part);
int trace_part_metadata(struct trace *trace, uint32_t part, const void *bytes, size_t len,
			bool is_last, struct err *err);
/* NULL until the metadata of all parts has a trace block; after trace_expect_parts(), that of it
 * and those before it. */
const struct plan *trace_part_plan(const struct trace *trace, uint32_t part);
/* The packets have another UUID than the metadata.  False: packets with its UUID came. */
bool trace_part_ignore_uuid(struct trace *trace, uint32_t part);

/* Says what is noted of the metadata, each once. */
void trace_warn_notes(struct trace *trace);

/* It is unreadable: its memory goes back, unless packets were read with it. */
void trace_metadata_forget(struct trace *trace);

/* Starts with empty metadata: the relay sends all of it again after a reconnect.  Of traces that
 * may be joined it must be the same, or trace_part_metadata() fails. */
void trace_metadata_restart(struct trace *trace, uint32_t part);

/* Of a trace that has no metadata here, since its partials come from a file: its domain and its
 * tracer, as in struct event_names. */
void trace_set_domain(struct trace *trace, const char *domain, const char *tracer);
/* What other traces of its session record; it may grow, and outlives the trace. */
void trace_set_beside(struct trace *trace, const struct event_names *beside);

/* NULL until the metadata has a trace block. */
const struct plan *trace_plan(const struct trace *trace);
bool trace_uuid(const struct trace *trace, uint8_t ret_uuid[16]);
bool trace_part_uuid(const struct trace *trace, uint32_t part, uint8_t ret_uuid[16]);

/* Packets come from a relay: those of a stream that is never identified count as lost. */
void trace_set_live(struct trace *trace);
/* Live: whether the metadata ends between two declarations; if not, @ret_err says where. */
bool trace_metadata_is_whole(const struct trace *trace, uint32_t part, struct err *ret_err);
/* Live: whether the metadata so far ends with a packet of its own, so that another may follow. */
bool trace_metadata_ends_packet(const struct trace *trace, uint32_t part);

/* Live: @packets that the relay announced are lost, whatever stream they are of. */
void trace_lose(struct trace *trace, uint64_t packets);
/* Packets that came again and were dropped. */
uint64_t trace_duplicates(const struct trace *trace);
/* The next connection announces all of the part again: nothing of it was seen. */
void trace_announced_again(struct trace *trace, uint32_t part);
/* Packets that were lost, and that the next connection announced again. */
uint64_t trace_refound(const struct trace *trace);

/* Live: the plan, or while the metadata comes again the one before; NULL: none was made. */
const struct plan *trace_last_plan(const struct trace *trace, uint32_t part);
/* Live: whether a packet that ends at @end (ns) came before the connection was lost.  @stream: the
 * one that the packet is of, or NULL; until it is identified, the stream of @name before is asked.
 */
bool trace_has_had(const struct trace *trace, uint32_t part, const struct stream *stream,
		   const char *name, uint64_t end);

/* Live, of traces that may be joined: windows wait no longer for streams of the part that are away.
 */
void trace_exclude_away(struct trace *trace, uint32_t part);
/* Live, after a reconnect: the end (ns) of the last packet of all streams of the part that have not
 * come again; 0: all have, or had no packet. */
uint64_t trace_absent_until(const struct trace *trace, uint32_t part);

/* The run stops although the trace has more: windows that this may be in are not complete.
 * trace_finish() follows. */
void trace_cut(struct trace *trace);

/* Ends all streams; reports the last window and the total. */
void trace_finish(struct trace *trace, uint64_t now_ns);
/* Reports a total of the windows that are closed, while the trace goes on.  False: none is. */
bool trace_total_so_far(struct trace *trace);
const struct merger_account *trace_account(const struct trace *trace);
uint64_t trace_watermark(const struct trace *trace);
/* The end of the last closed window; 0: none. */
uint64_t trace_closed_until(const struct trace *trace);

/* ---- checkpoint (engine/exchange/checkpoint.h) ---- */

/* Waits for workers, and closes the windows that can be closed.  Nothing is in flight then. */
void trace_pause(struct trace *trace, uint64_t now_ns);
/* Of a paused trace that is before its range: drops the sums that the range's begin would drop. */
void trace_forget_sums(struct trace *trace);
/* Of a trace that was read from such a checkpoint: the range begins where this run's does.  False:
 * the checkpoint is not before that. */
bool trace_set_range(struct trace *trace);
/* ns: no event that was read so far is later; 0: none was read. */
uint64_t trace_last(const struct trace *trace);
/* So many warnings were given; of more than were passed on the number goes on. */
unsigned int trace_warnings(const struct trace *trace);
/* Of a trace that goes on from a checkpoint: passes on the warnings that it gave until then, but
 * for those that this run has given already.  @given: so many it gave. */
void trace_warn_again(struct trace *trace, const struct engine_warning *warnings, size_t count,
		      unsigned int given);
/* Ends the streams that are away: no packet of them comes any more. */
void trace_end_away(struct trace *trace);
