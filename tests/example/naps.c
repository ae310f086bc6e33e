/*
 * naps: how long threads sleep until they are woken, and by whom (doc/adding-an-analysis.md).
 *
 * A nap begins when its thread leaves the CPU to sleep, and ends with the wake-up.  A thread that
 * is switched in without one was woken by something that is not traced.
 */
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"

enum { TOTALS, THREADS, LONGEST }; /* tables */
enum { UNWOKEN, ALL_NAPS };        /* columns of the trace */
enum { NAPS };                     /* of a thread */
enum { OWN_WOKEN = RECORD_OWN };   /* the kinds of record */

/* ---- the worker's half: one chunk ---- */

static void on_wake(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t wake_event)
{
	enum { TID, SUCCESS }; /* the order of the fields in the need */
	int64_t tid = event_i64(event, TID, 0);

	if (wake_source_kind(worker_wakes(worker), wake_event) == WAKE_SOURCE &&
	    wake_source_wakes(tid, event_u64(event, SUCCESS, 1))) {
		worker_note_waker(worker, worker_emit(worker, event->ts, (int32_t)tid, OWN_WOKEN));
	}
}

/* ---- the merger's half: one thread, in time order ---- */

struct nap {
	uint64_t begin; /* ns, 0: the thread does not sleep, as far as is known */
};

static void on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	struct nap *nap = shard_thread_state(shard, thread);

	if (!out->is_tie) {
		nap->begin = out->flags & RECORD_SLEEPS ? out->ts : 0;
	}
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct nap *nap = shard_thread_state(shard, thread);
	uint64_t ns = record->ts - nap->begin;

	if (nap->begin == 0) {
		return;
	}
	column_add(shard_trace_row(shard, TOTALS), ALL_NAPS, ns);
	column_add(shard_thread_row(shard, thread, THREADS), NAPS, ns);
	shard_longest(shard, LONGEST,
		      &(struct instance){ .ns = ns,
					  .end = record->ts,
					  .more = { record->arg32 },
					  .cpu = UINT64_MAX,
					  .thread = thread });
	nap->begin = 0;
}

static void on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	struct nap *nap = shard_thread_state(shard, thread);

	shard_trace_row(shard, TOTALS)[UNWOKEN] += nap->begin != 0;
	nap->begin = 0;
}

/* ---- the analysis ---- */

static const struct need needs[] = {
	WAKE_ROWS(WAKE_NEED, on_wake, "tid", "success"),
};

static const struct essential essentials[] = {
	{ ANY_EVENT("sched_switch") },
	{ ANY_EVENT(WAKE_SOURCES) },
};

const struct analysis analysis_naps = {
	.name = "naps",
	.summary = "how long threads sleep until they are woken, and by whom",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.uses_threads = true,
	.names_wakers = true,
	.thread_state_size = sizeof(struct nap),
	.on_record = on_record,
	.on_switch_in = on_switch_in,
	.on_switch_out = on_switch_out,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				[UNWOKEN] = { "unwoken", "not woken", UNIT_COUNT },
				[ALL_NAPS] = { "naps", "naps", UNIT_NS, COLUMN_HISTOGRAM },
			},
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 1u << NAPS,
			.columns = { [NAPS] = { "naps", "NAPS", UNIT_NS, COLUMN_HISTOGRAM } },
		},
		[LONGEST] = {
			.key = "longest",
			.scope = SCOPE_LONGEST,
			.title = "LONGEST NAPS",
			.columns = {
				{ "ns", "NAP", UNIT_NS },
				{ "waker_tid", "WAKER", UNIT_COUNT }, /* more[0] */
			},
		},
	},
};
