/*
 * handler: what the worker's half of an analysis may call.
 *
 * A handler runs in a worker, on one chunk, and knows nothing else.  It emits records for what has
 * to be seen in time order, and adds to keyed rows what needs no order.  It allocates nothing
 * itself, and never fails.  Records are emitted in time order.
 */
#pragma once

#include "engine/contract/analysis.h"
#include "kernel/wake-source.h"

struct period_set;
struct thread_fields; /* query/fields.h */

/* ---- the event: fields by their number in the need ---- */

/* Whether the event has the field, of the kind that the need asked for. */
static inline bool event_has(const struct trace_event *event, unsigned int field)
{
	return event->present & (1u << field);
}

static inline uint64_t event_u64(const struct trace_event *event, unsigned int field,
				 uint64_t otherwise)
{
	return event_has(event, field) ? event->values[field].u : otherwise;
}

static inline int64_t event_i64(const struct trace_event *event, unsigned int field,
				int64_t otherwise)
{
	return event_has(event, field) ? event->values[field].i : otherwise;
}

/* Text or bytes ("@name"): `bytes` and `len`, valid during the call; NULL: there are none. */
static inline const struct value *event_text(const struct trace_event *event, unsigned int field)
{
	return event_has(event, field) ? &event->values[field] : NULL;
}

/* ---- the context ---- */

/* The thread that runs, or TID_CURRENT: the merger will know. */
int32_t worker_tid(const struct worker *worker);
/* Whether this stream shows every switch of its CPU, so that calls can be paired here. */
bool worker_sees_switches(const struct worker *worker);
/* Whether soft interrupts run in threads that can be preempted. */
bool worker_preempts_softirqs(const struct worker *worker);
/* Whether no other stream of the trace can have events of its CPU, as far as metadata tells. */
bool worker_has_cpu_alone(const struct worker *worker);
/* Whether traces were joined, and whether the stream is of one that is not the kernel's. */
bool worker_is_joined(const struct worker *worker);
bool worker_is_beside(const struct worker *worker);
/* The CPU of the stream, UINT64_MAX: none. */
uint64_t worker_cpu(const struct worker *worker);
/* In analysis_rare.on_lost(): when what is missing ends, in ns. */
uint64_t worker_gap_end(const struct worker *worker);
/* Whether the trace has events of this name. */
bool worker_has_event(const struct worker *worker, const char *name);
/* Which of its events is the wake-up.  WAKE_ROWS(WAKE_NEED, handler, fields...) are the needs
 * of such events; `user` is the enum wake_event. */
#define WAKE_NEED(event, wake, handler, ...)                                                       \
	{                                                                                          \
		event, { __VA_ARGS__ }, handler, wake                                              \
	}
const struct wake_source *worker_wakes(struct worker *worker);
/* What the analysis' of_plan() made of the trace's types (analysis-rare.h). */
const void *worker_of_plan(struct worker *worker);
/* The periods that the user named; NULL: none. */
const struct period_set *worker_periods(const struct worker *worker);

/* The thread of an event: where the stream does not show switches, the context in @field if it is
 * traced. */
static inline int32_t worker_tid_of(const struct worker *worker, const struct trace_event *event,
				    unsigned int field)
{
	if (!worker_sees_switches(worker) && event_has(event, field)) {
		return (int32_t)event->values[field].i;
	}
	return worker_tid(worker);
}

/* The same where programs are traced, too: they name their threads by the context vtid.  In the
 * kernel's traces that is a tid of some namespace, so it comes last.  What such an event says of
 * the thread, its process and its name, is known from then on: a record, so others die.  A key:
 * a tid, or KEY_USER where the process is known, too. */
int64_t worker_thread_of(struct worker *worker, const struct trace_event *event,
			 const struct thread_fields *fields);

/* ---- records, for what has an order ---- */

/* A record of the running handler's analysis, about a thread, by its tid (TID_CURRENT) or by the
 * key that worker_thread_of() gave; fill in arg64, arg32 and arg16. Never NULL; valid until the
 * next call. */
struct record *worker_emit(struct worker *worker, uint64_t ts, int64_t tid, unsigned int kind);
/* The same about an entity: something that is no thread, by the analysis' own number. */
struct record *worker_emit_entity(struct worker *worker, uint64_t ts, uint64_t entity,
				  unsigned int kind);
/* Copies numbers beside the records.  The returned index goes into arg64, and the record's shape
 * says how many there are (struct record_shape). */
uint64_t worker_numbers(struct worker *worker, const uint64_t *numbers, size_t count);
/* The same of a text; row_key_of_numbers() reads it. */
uint64_t worker_text(struct worker *worker, const void *text, size_t len);
/* Puts the tid of the current thread into arg32 of the record emitted last, or -1 if it will never
 * be known. */
void worker_note_current(struct worker *worker, struct record *record);
/* The same of a wake-up: 0 if an interrupt did it.  For analyses with names_wakers. */
void worker_note_waker(struct worker *worker, struct record *record);
/*
 * Marks the thread's time on this CPU: its first system call event shows that no call entered
 * before is still open.  False: it began in another chunk, so the handler emits a record of its
 * own.
 */
bool worker_mark_no_open_calls(struct worker *worker);

/* ---- keyed rows, for what has no order ---- */

/*
 * The columns of a keyed row of one of the analysis' tables (sums only), in the window being
 * filled, to be added to; valid until the next call.  @name may be NULL, and needs no end.
 */
uint64_t *worker_keyed_row(struct worker *worker, unsigned int table, uint64_t id, const void *name,
			   size_t len);

/* ---- less work ---- */

/*
 * Whether the running handler's analysis can do without the events of its needs that may rest.
 * This is a hint: it may get them all the same.  It starts each chunk awake.
 */
void worker_rest(struct worker *worker, bool rests);
