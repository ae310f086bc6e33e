/*
 * futex: how long threads sleep in the system call futex, and by whom they are woken.
 *
 * A sleep begins when its thread leaves the CPU to sleep in a call, and ends with the wake-up.  An
 * interrupt is no thread, and neither is an idle CPU.
 */
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"

enum { TOTALS, THREADS, WAKERS, LONGEST };            /* tables */
enum { UNWOKEN, BY_NO_THREAD, ALL_SLEEPS };           /* columns of the trace */
enum { SLEEPS };                                      /* of a thread */
enum { ENDED, ENDED_NS };                             /* of a waker */
enum { OWN_ENTRY = RECORD_OWN, OWN_EXIT, OWN_WOKEN }; /* the kinds of record */

static void on_call(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t kind)
{
	worker_emit(worker, event->ts, worker_tid(worker), kind);
}

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

struct futex {
	uint64_t in_call; /* 1: it has entered futex */
	uint64_t begin;   /* ns, 0: it does not sleep there, as far as is known */
};

static void on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	struct futex *futex = shard_thread_state(shard, thread);

	if (!out->is_tie) {
		futex->begin = futex->in_call && out->flags & RECORD_SLEEPS ? out->ts : 0;
	}
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct futex *futex = shard_thread_state(shard, thread);
	struct row_key waker = row_key_of((uint64_t)record->arg32, NULL, 0);
	struct instance sleep = { .ns = record->ts - futex->begin,
				  .end = record->ts,
				  .more = { record->arg32 },
				  .cpu = UINT64_MAX,
				  .thread = thread };

	if (record->kind != OWN_WOKEN) {
		futex->in_call = record->kind == OWN_ENTRY;
	} else if (futex->begin != 0) {
		column_add(shard_trace_row(shard, TOTALS), ALL_SLEEPS, sleep.ns);
		column_add(shard_thread_row(shard, thread, THREADS), SLEEPS, sleep.ns);
		if (record->arg32 > 0) { /* 0: an idle CPU, -1: not known */
			shard_keyed_row(shard, WAKERS, &waker)[ENDED]++;
			shard_keyed_row(shard, WAKERS, &waker)[ENDED_NS] += sleep.ns;
		} else {
			shard_trace_row(shard, TOTALS)[BY_NO_THREAD]++;
		}
		shard_longest(shard, LONGEST, &sleep);
		futex->begin = 0;
	}
}

static void on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	struct futex *futex = shard_thread_state(shard, thread);

	shard_trace_row(shard, TOTALS)[UNWOKEN] += futex->begin != 0;
	futex->begin = 0;
}

static const struct need needs[] = {
	{ "syscall_entry_futex", { NULL }, on_call, OWN_ENTRY },
	{ "syscall_exit_futex", { NULL }, on_call, OWN_EXIT },
	WAKE_ROWS(WAKE_NEED, on_wake, "tid", "success"),
};

static const struct essential essentials[] = {
	{ ANY_EVENT("sched_switch") },
	{ ANY_EVENT("syscall_entry_futex") },
	{ ANY_EVENT("syscall_exit_futex") },
	{ ANY_EVENT(WAKE_SOURCES) },
};

const struct analysis analysis_futex = {
	.name = "futex",
	.summary = "how long threads sleep in futex calls, and by whom they are woken",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.uses_threads = true,
	.names_wakers = true,
	.thread_state_size = sizeof(struct futex),
	.on_record = on_record,
	.on_switch_in = on_switch_in,
	.on_switch_out = on_switch_out,
	.tables = {
		[TOTALS] = { .scope = SCOPE_TRACE, .columns = {
			[UNWOKEN] = { "unwoken", "not woken", UNIT_COUNT },
			[BY_NO_THREAD] = { "by_no_thread", "woken by no thread", UNIT_COUNT },
			[ALL_SLEEPS] = { "sleeps", "sleeps", UNIT_NS, COLUMN_HISTOGRAM },
		} },
		[THREADS] = { .key = "threads", .scope = SCOPE_THREAD, .sort_mask = 1u << SLEEPS,
			      .columns = { { "sleeps", "SLEEPS", UNIT_NS, COLUMN_HISTOGRAM } } },
		[WAKERS] = { .key = "wakers", .scope = SCOPE_KEYED, .sort_mask = 1u << ENDED_NS,
			     .id_key = "waker_tid", .title = "WAKER", .columns = {
			[ENDED] = { "sleeps", "ENDED", UNIT_COUNT },
			[ENDED_NS] = { "sleeps_ns", "THEIR TIME", UNIT_NS },
		} },
		[LONGEST] = { .key = "longest", .scope = SCOPE_LONGEST,
			      .title = "LONGEST SLEEPS IN FUTEX", .columns = {
			{ "ns", "SLEEP", UNIT_NS },
			{ "waker_tid", "WAKER", UNIT_COUNT }, /* more[0] */
		} },
	},
};
