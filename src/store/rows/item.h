/*
 * item: what goes to the writer of a store, with copies of all that it points to.
 *
 * Reports are valid during a callback only, and the writer is another thread.
 */
#pragma once

#include "base/arena.h"
#include "output/sink.h"

enum store_kind { STORE_WINDOW, STORE_LOSS, STORE_TRIGGER, STORE_CAPTURE, STORE_PHASE };

#define STORE_TRACE_TEXT 37 /* in the form of a UUID */

struct store_item {
	enum store_kind kind;
	struct arena arena;           /* has all that follows */
	uint64_t level;               /* of a window: its length; 0: that of the run */
	bool is_extra;                /* a window that others have, too: no account counts it */
	char trace[STORE_TRACE_TEXT]; /* what the trace is called in stores; "": it is of none */
	const char *uuid;             /* LTTng's; NULL: it has none */
	const char *host, *session, *domain, *path, *tracer; /* NULL: not known */
	struct report report;                                /* a window */
	uint64_t begin, end;                                 /* all others */
	const char *name, *text; /* what is lost, a trigger, or what changed; its JSON line */
	const char *stream;
	int64_t packet;
	uint64_t number, slices; /* a phase */
	bool is_open;
};

/* Windows that are lost. */
struct store_gap {
	uint64_t begin, end, windows;
	char why[160];
};

/* A window of all its tables. */
struct store_item *store_item_window(const struct trace_identity *trace,
				     const struct report *report);
/* A window that was put together from others of a store: @id and @uuid are what that calls the
 * trace. */
struct store_item *store_item_merged(const struct trace_identity *trace, const char *id,
				     const char *uuid, uint64_t level, const struct report *report);
struct store_item *store_item_loss(const struct trace_identity *trace,
				   const struct engine_warning *warning);
struct store_item *store_item_trigger(const struct trace_identity *trace,
				      const struct trigger_event *event);
struct store_item *store_item_phase(const struct trace_identity *trace,
				    const struct phase_record *phase);
struct store_item *store_item_capture(const struct capture_result *capture);
void store_item_free(struct store_item *item);
