/*
 * trace: one trace as the engine sees it: metadata in, windows and totals out.
 *
 * A trace belongs to an engine, and owns its streams (engine/stream.h).  All functions belong to
 * the coordinator's thread.
 */
#ifndef SILLAGE_ENGINE_TRACE_H
#define SILLAGE_ENGINE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct engine;
struct engine_warning;
struct merger_account;
struct plan;
struct trace;

struct trace *trace_new(struct engine *engine, void *user);

/* Another user pointer for reports and warnings: the trace is followed anew. */
void trace_set_user(struct trace *trace, void *user);
void trace_warn(struct trace *trace, const struct engine_warning *warning);

/* Frees the trace and its streams; its chunks in flight are waited for. */
void trace_free(struct trace *trace);

/*
 * More metadata.  @is_last: no more will come, so an end inside a declaration is an
 * error.  -EINVAL or -ENOMEM: the trace cannot be read.
 */
int trace_metadata(struct trace *trace, const void *bytes, size_t len, bool is_last,
		   struct err *err);

/* Forgets the metadata text: the same trace is attached to again and sends it anew. */
void trace_metadata_restart(struct trace *trace);

/* NULL until there is metadata that makes a plan. */
const struct plan *trace_plan(const struct trace *trace);
bool trace_uuid(const struct trace *trace, uint8_t ret_uuid[16]);

/* All streams have ended: the last window and the total. */
void trace_finish(struct trace *trace, uint64_t now_ns);
void trace_total_so_far(struct trace *trace);
const struct merger_account *trace_account(const struct trace *trace);
uint64_t trace_watermark(const struct trace *trace);
/* The end of the last window that was closed; 0: none was. */
uint64_t trace_closed_until(const struct trace *trace);

/* ---- state (rolling.h) ---- */

/* Waits for workers, and closes the windows that can be closed: nothing is on its way. */
void trace_pause(struct trace *trace, uint64_t now_ns);
/* Streams that are away have ended: no more of them comes. */
void trace_end_away(struct trace *trace);

#endif
