/*
 * waits: how long threads ran, waited for a CPU and slept, by what they waited for
 * (doc/definitions.md, 4.18).
 *
 * What a thread does is followed as in `state` (state.h); here each time between two of its events
 * is added to the column of what it did then.  So columns add up to the time that it was seen.
 */
#include "analyses/state/state.h"

/* Its tables are the first ones of `state`. */
enum {
	RUN,
	WAIT,
	PREEMPTED,
	SLEPT,
	SLEPT_SOMEHOW = SLEPT + WAIT_OBJECTS,
	STOPPED,
	UNKNOWN,
	COLUMNS
};
enum { CPU_WAIT, CPU_PREEMPTED };

_Static_assert(COLUMNS <= COLUMNS_MAX, "a column for each state");

struct waits_thread {
	struct state_thread now; /* first: the hooks of state.c take it for theirs */
	uint64_t counted;        /* ns: up to there its time is in rows; 0: it was not seen yet */
};

static unsigned int column_now(const struct state_thread *now)
{
	static const uint8_t columns[PHASES] = {
		[PHASE_UNKNOWN] = UNKNOWN, [PHASE_NEW] = WAIT,  [PHASE_RUNNING] = RUN,
		[PHASE_BLOCKED] = SLEPT,   [PHASE_WAIT] = WAIT, [PHASE_PREEMPTED] = PREEMPTED,
		[PHASE_DEAD] = COLUMNS,
	};
	unsigned int column = columns[now->phase.phase];

	if (column != SLEPT || now->is_stopped) {
		return column == SLEPT ? STOPPED : column;
	}
	if (now->call.known == CALL_UNKNOWN) {
		return SLEPT_SOMEHOW;
	}
	return SLEPT + (now->call.known == CALL_OPEN ? now->call.object : WAIT_FOR_NOTHING);
}

/* Adds the time up to @ts. */
static void spend(struct shard *shard, struct thread *thread, struct waits_thread *waits,
		  unsigned int column, uint64_t ts)
{
	uint64_t ns = ts - waits->counted;

	if (ts <= waits->counted) {
		return; /* late, or within the ns */
	}
	if (waits->counted > 0 && column < COLUMNS) {
		shard_thread_row(shard, thread, THREADS)[column] += ns;
		shard_trace_row(shard, TOTALS)[column] += ns;
		shard_span(shard, thread,
			   &(struct thread_span){ .from = waits->counted,
						  .to = ts,
						  .cpu = waits->now.has_cpu ? waits->now.phase.cpu
									    : UINT64_MAX,
						  .column = column });
	}
	if (waits->counted > 0 && (column == WAIT || column == PREEMPTED) && waits->now.has_cpu) {
		struct row_key key = { .id = waits->now.phase.cpu };

		shard_keyed_row(shard, CPUS, &key)[column == WAIT ? CPU_WAIT : CPU_PREEMPTED] += ns;
	}
	waits->counted = ts;
}

/* The thread did until @ts what it did.  On a CPU that has left meanwhile it may have done anything
 * since, but for what wakes it. */
static void count_until(struct shard *shard, struct thread *thread, uint64_t ts)
{
	struct waits_thread *waits = shard_thread_state(shard, thread);
	const struct state_thread *now = &waits->now;
	uint64_t left = UINT64_MAX;

	if (shard_tid(thread) <= 0) {
		return; /* idle, or of unknown threads */
	}
	if (now->phase.phase == PHASE_RUNNING && now->has_cpu) {
		left = shard_cpu_absent_from(shard, now->phase.cpu);
	}
	if (left < ts) {
		spend(shard, thread, waits, RUN, left);
		if (now->woken_ts > left && now->woken_ts < ts) {
			spend(shard, thread, waits, UNKNOWN, now->woken_ts);
		}
		spend(shard, thread, waits, now->woken_ts > left ? WAIT : UNKNOWN, ts);
	} else {
		spend(shard, thread, waits, column_now(now), ts);
	}
}

/* ---- hooks ---- */

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	const struct waits_thread *waits = shard_thread_state(shard, thread);

	/* No record ends running; whether the CPU has left is known when the window ends. */
	if (waits->counted == 0 || waits->now.phase.phase != PHASE_RUNNING) {
		count_until(shard, thread, record->ts);
	}
	(void)state_take(shard, thread, record, numbers);
}

static void on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	count_until(shard, thread, in->ts);
	state_switch_in(shard, thread, in);
}

static void on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	if (!out->is_tie) { /* else it is elsewhere by then, and perhaps no longer runs there */
		count_until(shard, thread, out->ts);
	}
	state_switch_out(shard, thread, out);
}

static void on_fork(struct shard *shard, struct thread *thread, uint64_t ts)
{
	count_until(shard, thread, ts);
	state_fork(shard, thread, ts);
}

static void on_seen(struct shard *shard, struct thread *thread, uint64_t ts, uint64_t cpu,
		    enum seen how)
{
	count_until(shard, thread, how == SEEN_FIRST ? ts + 1 : ts);
	state_seen(shard, thread, ts, cpu, how);
}

static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct waits_thread *waits = shard_thread_state(shard, thread);

	if (waits->counted > 0) {
		count_until(shard, thread, ts);
	}
	state_doubt(shard, thread, ts, what);
}

static void on_window_end(struct shard *shard, struct thread *thread, uint64_t end)
{
	struct waits_thread *waits = shard_thread_state(shard, thread);

	if (waits->counted > 0) {
		uint64_t ended = shard_is_dead(thread) ? shard_end_ts(shard, thread) : end;

		count_until(shard, thread, ended < end ? ended : end);
	}
}

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct waits_thread *waits = state;

	state_checkpoint(checkpoint, &waits->now);
	codec_each(checkpoint->codec, &waits->counted);
}

/* ---- the descriptor ---- */

/* Who is not woken looks asleep, for what it waited for last. */
#define OF_WAKES ((uint16_t)(ALL_COLUMNS & ~COLUMN(RUN) & ~COLUMN(PREEMPTED)))
#define OF_CALLS ((uint16_t)(((1u << WAIT_OBJECTS) - 1) << SLEPT))

static const struct essential essentials[] = {
	{ ANY_EVENT("sched_switch") },
	{ ANY_EVENT(WAKE_SOURCES),
	  { [TOTALS] = OF_WAKES, [THREADS] = OF_WAKES, [CPUS] = COLUMN(CPU_WAIT) } },
	{ ANY_EVENT("syscall_entry_*", "compat_syscall_entry_*", "sys_*", "compat_sys_*"),
	  { [TOTALS] = OF_CALLS, [THREADS] = OF_CALLS } },
};

/* Titles of states that are seldom are those of the trace only. */
#define COLUMNS_OF(title, seldom)                                                                  \
	[RUN] = { "run_ns", title("RUN", "run"), UNIT_NS },                                        \
	[WAIT] = { "wait_ns", title("WAIT", "wait"), UNIT_NS },                                    \
	[PREEMPTED] = { "preempted_ns", title("PREEMPT", "preempted"), UNIT_NS },                  \
	ASLEEP(WAIT_FOR_FILE, "fd_ns", title("FD", "fd")),                                         \
	ASLEEP(WAIT_FOR_SOCKET, "socket_ns", title("SOCKET", "socket")),                           \
	ASLEEP(WAIT_FOR_QUEUE, "mqueue_ns", seldom("mqueue")),                                     \
	ASLEEP(WAIT_FOR_FUTEX, "futex_ns", title("FUTEX", "futex")),                               \
	ASLEEP(WAIT_FOR_TIMER, "timer_ns", title("TIMER", "timer")),                               \
	ASLEEP(WAIT_FOR_CHILD, "child_ns", seldom("child")),                                       \
	ASLEEP(WAIT_FOR_SIGNAL, "signal_ns", seldom("signal")),                                    \
	ASLEEP(WAIT_FOR_EVENTS, "events_ns", title("EVENTS", "events")),                           \
	ASLEEP(WAIT_FOR_MESSAGE, "message_ns", seldom("message")),                                 \
	ASLEEP(WAIT_FOR_NOTHING, "other_ns", title("OTHER", "other")),                             \
	[SLEPT_SOMEHOW] = { "asleep_ns", title("ASLEEP", "asleep"), UNIT_NS, .rest = REST_ALL },   \
	[STOPPED] = { "stopped_ns", seldom("stopped"), UNIT_NS, .rest = REST_ALL },                \
	[UNKNOWN] = { "unknown_ns", seldom("unknown"), UNIT_NS, .rest = REST_ALL }
#define ASLEEP(object, key, title) [SLEPT + (object)] = { key, title, UNIT_NS, .rest = REST_ALL }
#define OF_ROWS(rows, trace)       rows
#define OF_TRACE(rows, trace)      trace
#define SHOWN(title)               title
#define HIDDEN(title)              NULL

/* What is shown, but what threads of the kernel do most of the time. */
#define SORT_MASK                                                                                  \
	(1u << RUN | 1u << WAIT | 1u << PREEMPTED | 1u << (SLEPT + WAIT_FOR_FILE) |                \
	 1u << (SLEPT + WAIT_FOR_SOCKET) | 1u << (SLEPT + WAIT_FOR_FUTEX) |                        \
	 1u << (SLEPT + WAIT_FOR_TIMER) | 1u << (SLEPT + WAIT_FOR_EVENTS))

const struct analysis analysis_waits = {
	.name = "waits",
	.summary = "how long threads ran, waited for a CPU, and slept, by what they waited for",
	WITH_NEEDS(waits_needs),
	WITH_ESSENTIALS(essentials),
	.uses_threads = true,
	.names_wakers = true,
	.worker_state_size = sizeof(struct state_worker_call),
	.thread_state_size = sizeof(struct waits_thread),
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.of_all = OF_ALL_CPUS,
			.columns = { COLUMNS_OF(OF_TRACE, SHOWN) },
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.of_all = OF_ALL_CPUS,
			.sort_mask = SORT_MASK,
			.columns = { COLUMNS_OF(OF_ROWS, HIDDEN) },
		},
		[PROCESSES] = {
			PROCESSES_TABLE,
			.of_all = OF_ALL_CPUS,
			.sort_mask = SORT_MASK,
			.columns = { COLUMNS_OF(OF_ROWS, HIDDEN) },
		},
		[CONTAINERS] = {
			CONTAINERS_TABLE,
			.of_all = OF_ALL_CPUS,
			.sort_mask = SORT_MASK,
			.columns = { COLUMNS_OF(OF_ROWS, HIDDEN) },
		},
		[CPUS] = {
			CPUS_TABLE,
			.of_all = OF_ALL_CPUS,
			.sort_mask = 1u << CPU_WAIT | 1u << CPU_PREEMPTED,
			.columns = {
				[CPU_WAIT] = { "wait_ns", "WAIT", UNIT_NS },
				[CPU_PREEMPTED] = { "preempted_ns", "PREEMPTED", UNIT_NS },
			},
		},
	},
	.on_oncpu_end = state_worker_oncpu_end,
	.on_record = on_record,
	.accepts = state_accepts,
	.on_checkpoint = on_checkpoint,
	.on_switch_in = on_switch_in,
	.on_switch_out = on_switch_out,
	.on_fork = on_fork,
	.on_seen = on_seen,
	.on_doubt = on_doubt,
	.on_window_end = on_window_end,
	.rare = &(const struct analysis_rare){ .on_spans_end = on_window_end },
};
