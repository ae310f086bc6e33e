/*
 * sched: how long threads wait for a CPU (doc/definitions.md, 4.4).
 *
 * The phases of a thread are those of kernel/thread-phase.h.  The time from WAIT, PREEMPTED or NEW
 * to the switch-in is a sample.  A thread's own records in time order are enough: a wake-up is a
 * record of the woken thread.
 */
#include "analyses/wakes.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"
#include "kernel/thread-phase.h"

enum { TOTALS, THREADS, PROCESSES, CPUS, PRIOS, LONGEST, CONTAINERS };
enum { WAKEUPS, UNEXPLAINED, RACES, ALL_WAKE, ALL_REQUEUE, ALL_FORK };
enum { THREAD_WAKE, THREAD_REQUEUE, THREAD_WAITED };
enum { CPU_WAITED, CPU_WAKE }; /* the sum of all waits; the histogram of those after a wake-up */

enum { OWN_WAKE = RECORD_OWN };

/* ---- worker's half ---- */

static void on_wake(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t wake_event)
{
	wakes_emit(worker, event, wake_event, OWN_WAKE);
}

/* ---- merger's half ---- */

struct sched_thread {
	struct thread_phase phase;
	/* WAIT or pending: the thread that woke it, 0: none, -1: unknown. */
	int32_t waker;
};

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct sched_thread *w = state;

	thread_phase_codec(checkpoint->codec, &w->phase);
	codec_i32(checkpoint->codec, &w->waker);
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct sched_thread *w = shard_thread_state(shard, thread);
	enum phase_woken woken = wakes_apply(&w->phase, record);

	if (wakes_kind(record) == WAKE_SOURCE) {
		uint64_t *totals = shard_trace_row(shard, TOTALS);

		totals[WAKEUPS]++;
		totals[RACES] += woken == WOKEN_RACE;
	}
	if (woken == WOKEN || woken == WOKEN_RACE) {
		w->waker = record->arg32;
	}
}

static void add_sample(struct shard *shard, struct thread *thread, const struct sched_thread *w,
		       const struct switch_in *in)
{
	struct row_key cpu = { .id = in->cpu }, prio = { .id = (uint64_t)(int64_t)in->prio };
	uint64_t *totals = shard_trace_row(shard, TOTALS), *row, *of_thread;
	uint64_t ns = in->ts - w->phase.since;

	if (w->phase.phase == PHASE_NEW) {
		column_add(totals, ALL_FORK, ns);
		return;
	}
	row = shard_keyed_row(shard, CPUS, &cpu);
	row[CPU_WAITED] += ns;
	of_thread = shard_thread_row(shard, thread, THREADS);
	of_thread[THREAD_WAITED] += ns;
	if (w->phase.phase == PHASE_PREEMPTED) {
		column_add(totals, ALL_REQUEUE, ns);
		column_add(of_thread, THREAD_REQUEUE, ns);
		return;
	}
	column_add(totals, ALL_WAKE, ns);
	column_add(row, CPU_WAKE, ns);
	column_add(of_thread, THREAD_WAKE, ns);
	column_add(shard_keyed_row(shard, PRIOS, &prio), 0, ns);
	if (shard_is_long(shard, LONGEST, ns)) {
		shard_longest(shard, LONGEST,
			      &(struct instance){ .ns = ns,
						  .end = in->ts,
						  .more = { in->prio, w->waker },
						  .cpu = in->cpu,
						  .thread = thread });
	}
}

static void on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	struct sched_thread *w = shard_thread_state(shard, thread);

	if (thread_phase_waits(&w->phase)) {
		add_sample(shard, thread, w, in);
	} else if (w->phase.phase == PHASE_BLOCKED) {
		shard_trace_row(shard, TOTALS)[UNEXPLAINED]++;
	}
	thread_phase_in(&w->phase, in->ts, in->cpu);
}

static void on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	struct sched_thread *w = shard_thread_state(shard, thread);

	if (!out->is_tie) {
		wakes_switch_out(&w->phase, out);
	}
}

static void on_fork(struct shard *shard, struct thread *thread, uint64_t ts)
{
	struct sched_thread *w = shard_thread_state(shard, thread);

	thread_phase_set(&w->phase, ts, PHASE_NEW);
}

static void on_seen(struct shard *shard, struct thread *thread, uint64_t ts, uint64_t cpu,
		    enum seen how)
{
	struct sched_thread *w = shard_thread_state(shard, thread);

	(void)thread_phase_seen(&w->phase, ts, cpu);
}

static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct sched_thread *w = shard_thread_state(shard, thread);

	if (what & DOUBT_SWITCHES) {
		thread_phase_lose(&w->phase);
	}
}

static const struct need needs[] = {
	WAKE_ROWS(WAKE_NEED, on_wake, WAKES_FIELDS),
};

#define LATENCIES                                                                                  \
	.columns = {                                                                               \
		[THREAD_WAKE] = { "wake", "WOKEN", UNIT_NS, COLUMN_HISTOGRAM },                    \
		[THREAD_REQUEUE] = { "requeue", "REQUEUED", UNIT_NS, COLUMN_HISTOGRAM },           \
		[THREAD_WAITED] = { "waited_ns", "WAITED", UNIT_NS,                                \
				    .sum_of = COLUMN(THREAD_WAKE) | COLUMN(THREAD_REQUEUE) },      \
	}

static const struct essential essentials[] = {
	{ ANY_EVENT("sched_switch"),
	  { [TOTALS] = ALL_COLUMNS ^ COLUMN(WAKEUPS),
	    [THREADS] = ALL_COLUMNS,
	    [CPUS] = ALL_COLUMNS,
	    [PRIOS] = ALL_COLUMNS,
	    [LONGEST] = ALL_COLUMNS } },
	{ ANY_EVENT(WAKE_SOURCES),
	  { [TOTALS] = ALL_COLUMNS ^ (COLUMN(ALL_REQUEUE) | COLUMN(ALL_FORK)),
	    [THREADS] = COLUMN(THREAD_WAKE) | COLUMN(THREAD_WAITED),
	    [CPUS] = ALL_COLUMNS,
	    [PRIOS] = ALL_COLUMNS,
	    [LONGEST] = ALL_COLUMNS } },
	{ ANY_EVENT("sched_process_fork", "sched_wakeup_new"), { [TOTALS] = COLUMN(ALL_FORK) } },
};

const struct analysis analysis_sched = {
	.name = "sched",
	.summary = "how long threads wait for a CPU once they are woken, preempted or forked",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.thread_state_size = sizeof(struct sched_thread),
	.uses_threads = true,
	.names_wakers = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				[WAKEUPS] = { "wakeups", "wake-ups", UNIT_COUNT },
				[UNEXPLAINED] = { "unexplained", NULL, UNIT_COUNT },
				[RACES] = { "races", NULL, UNIT_COUNT },
				[ALL_WAKE] = { "wake", "wake", UNIT_NS, COLUMN_HISTOGRAM },
				[ALL_REQUEUE] = { "requeue", "requeue", UNIT_NS, COLUMN_HISTOGRAM },
				[ALL_FORK] = { "fork", "fork", UNIT_NS, COLUMN_HISTOGRAM },
			},
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 1u << THREAD_WAITED,
			LATENCIES,
		},
		[PROCESSES] = {
			PROCESSES_TABLE,
			.sort_mask = 1u << THREAD_WAITED,
			LATENCIES,
		},
		[CPUS] = {
			CPUS_TABLE,
			.sort_mask = 1u << CPU_WAITED,
			.columns = {
				[CPU_WAITED] = { "waited_ns", "WAITED", UNIT_NS },
				[CPU_WAKE] = { "wake", "WOKEN", UNIT_NS, COLUMN_HISTOGRAM },
			},
		},
		[PRIOS] = {
			.key = "prios",
			.scope = SCOPE_KEYED,
			.id_key = "prio",
			.title = "PRIORITY",
			.sort_mask = 1,
			.columns = { { "wake", "WOKEN", UNIT_NS, COLUMN_HISTOGRAM } },
		},
		[LONGEST] = {
			.key = "longest",
			.scope = SCOPE_LONGEST,
			.title = "LONGEST WAITS",
			.columns = {
				{ "ns", "WAIT", UNIT_NS },
				{ "prio", "PRIO", UNIT_COUNT },
				{ "waker_tid", "WAKER", UNIT_COUNT },
			},
		},
		[CONTAINERS] = { CONTAINERS_TABLE, .sort_mask = 1u << THREAD_WAITED, LATENCIES },
	},
	.on_record = on_record,
	.on_checkpoint = on_checkpoint,
	.on_switch_in = on_switch_in,
	.on_switch_out = on_switch_out,
	.on_fork = on_fork,
	.on_seen = on_seen,
	.on_doubt = on_doubt,
};
