/*
 * handler: what the worker's half of an analysis may call.
 *
 * A handler runs in a worker, on one chunk, and knows nothing else.  It emits records for what has
 * to be seen in time order, and adds to keyed rows what needs no order.
 */
#ifndef SILLAGE_ENGINE_CONTRACT_HANDLER_H
#define SILLAGE_ENGINE_CONTRACT_HANDLER_H

#include "engine/contract/analysis.h"
#include "engine/contract/row-key.h"

/* Emits a record of the analysis whose handler is running.  NULL-free; fill in the rest. */
struct record *worker_emit(struct worker *worker, uint64_t ts, int32_t tid, unsigned int kind);

/* The same of something that is no thread: the analysis' object with this number. */
struct record *worker_emit_entity(struct worker *worker, uint64_t ts, uint64_t entity,
				  unsigned int kind);

/* Puts the tid of the thread that runs now into the record's prio, and -1 if nobody will know
 * it.  It was emitted last. */
void worker_note_current(struct worker *worker, struct record *record);

/*
 * The columns of an item of one of the analysis' tables (of sums only), in the window that is
 * being filled, to be added to; dies at the next call.  @name may be NULL, and need not end.
 */
uint64_t *worker_keyed_row(struct worker *worker, unsigned int table, uint64_t id, const void *name,
			   size_t len);

/*
 * Whether the running handler's analysis can do without the events of those of its needs that may
 * rest.  That is a hint: it may get them all the same.  It begins each chunk awake.
 */
void worker_rest(struct worker *worker, bool rests);

/* What the user asked for. */
const struct period_set *worker_periods(const struct worker *worker);

/* The CPU of the stream, UINT64_MAX: none. */
uint64_t worker_cpu(const struct worker *worker);

/* Whether the trace has events of this name. */
bool worker_has_event(const struct worker *worker, const char *name);

/* A text as numbers beside a record: what row_key_of_numbers() reads. */
uint64_t worker_text(struct worker *worker, const void *text, size_t len);

/* The thread that runs, or TID_CURRENT. */
int32_t worker_tid(const struct worker *worker);

/* Whether calls of the thread can be paired here: every switch of this CPU is seen. */
bool worker_sees_switches(const struct worker *worker);

/*
 * Marks the thread's time on this CPU: its first system call event shows that no call entered
 * before is still open.  False: it began in another chunk, so the handler emits a record of its
 * own.
 */
bool worker_mark_no_open_calls(struct worker *worker);

/* Copies numbers beside the records; the index goes into a record. */
uint64_t worker_numbers(struct worker *worker, const uint64_t *numbers, size_t count);

/* The thread of an event: where the stream does not show switches its context in @field, if it
 * is traced. */
static inline int32_t worker_tid_of(const struct worker *worker, const struct trace_event *event,
				    unsigned int field)
{
	if (!worker_sees_switches(worker) && (event->present & (1u << field))) {
		return (int32_t)event->values[field].i;
	}
	return worker_tid(worker);
}

#endif
