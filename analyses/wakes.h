/*
 * wakes: wake-ups as records of the woken thread, for analyses that follow its phase; and how it
 * leaves its CPU.
 */
#pragma once

#include "engine/contract/handler.h"
#include "kernel/thread-phase.h"

/* In arg16: enum wake_kind, and whether nothing in the trace confirms wake-ups.  arg64: the CPU;
 * arg32: the waker (worker_note_waker()). */
#define WAKES_KIND      0xFF
#define WAKES_TENTATIVE 0x100

/* Fields of the needs: WAKE_ROWS(WAKE_NEED, handler, WAKES_FIELDS). */
#define WAKES_FIELDS "tid", "success"

static inline void wakes_emit(struct worker *worker, const struct trace_event *event,
			      uint32_t wake_event, unsigned int record_kind)
{
	enum { TID, SUCCESS };
	const struct wake_source *wakes = worker_wakes(worker);
	enum wake_kind kind = wake_source_kind(wakes, wake_event);
	int64_t tid = event_i64(event, TID, 0);
	struct record *record;

	if (kind == WAKE_NONE || !wake_source_wakes(tid, event_u64(event, SUCCESS, 1))) {
		return;
	}
	record = worker_emit(worker, event->ts, (int32_t)tid, record_kind);
	record->arg64 = worker_cpu(worker);
	record->arg16 = (uint16_t)(kind | (wakes->has_wakeup ? 0 : WAKES_TENTATIVE));
	worker_note_waker(worker, record);
}

static inline enum wake_kind wakes_kind(const struct record *record)
{
	return (enum wake_kind)(record->arg16 & WAKES_KIND);
}

static inline enum phase_woken wakes_apply(struct thread_phase *phase, const struct record *record)
{
	return thread_phase_wake(
		phase, &(struct phase_wake){ .ts = record->ts,
					     .cpu = record->arg64,
					     .kind = wakes_kind(record),
					     .is_tentative = record->arg16 & WAKES_TENTATIVE });
}

/* Not with out->is_tie: the thread is elsewhere by then. */
static inline void wakes_switch_out(struct thread_phase *phase, const struct switch_out *out)
{
	thread_phase_out(phase, out->ts, out->flags & RECORD_SLEEPS, out->flags & RECORD_DEAD);
}
