/*
 * sched: how long threads wait for a CPU (doc/definitions.md, 4.4).
 *
 *              sleeps          woken                switched in
 *     RUNNING ────────► BLOCKED ────► WAIT ──── wake ────► RUNNING
 *        └───── made to leave ────► PREEMPTED ─ requeue ──►
 *                       forked ────► NEW ─────── fork ────►
 *
 * A thread's own records in time order are enough: a wake-up is a record of the woken thread.
 *
 * Wake race (4.4, rule 4): a waker may see that a thread is about to sleep before the switch-out of
 * the thread is traced.  Such a wake-up stays pending and counts from the switch-out on, unless a
 * sched_wakeup before that shows that the thread never left.
 *
 * If a switch-in and its switch-out lie in one chunk, on_switch_out() comes right after
 * on_switch_in().  It is noted, and applied when its time has come.
 */
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"

enum table_index { TOTALS, THREADS, PROCESSES, CPUS, PRIOS, LONGEST, CONTAINERS };
enum { WAKEUPS, UNEXPLAINED, RACES, ALL_WAKE, ALL_REQUEUE, ALL_FORK };
enum { THREAD_WAKE, THREAD_REQUEUE };
enum { CPU_WAITED, CPU_WAKE }; /* the sum of all waits; the histogram of those after a wake-up */

enum { OWN_WAKE = RECORD_OWN };

#define FLAG_TENTATIVE 0x100 /* nothing in the trace confirms wake-ups */

/* ---- worker's half ---- */

static void on_wake(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t wake_event)
{
	enum { TID, SUCCESS };
	const struct wake_source *wakes = worker_wakes(worker);
	enum wake_kind kind = wake_source_kind(wakes, wake_event);
	int64_t tid = event_i64(event, TID, 0);
	struct record *record;

	(void)state;
	if (kind == WAKE_NONE || !wake_source_wakes(tid, event_u64(event, SUCCESS, 1))) {
		return;
	}
	record = worker_emit(worker, event->ts, (int32_t)tid, OWN_WAKE);
	record->arg64 = worker_cpu(worker);
	record->arg16 = (uint16_t)(kind | (wakes->has_wakeup ? 0 : FLAG_TENTATIVE));
	worker_note_current(worker, record);
}

/* ---- merger's half ---- */

enum thread_phase { UNKNOWN, NEW, RUNNING, BLOCKED, WAIT, PREEMPTED, DEAD };

struct waiting {
	uint64_t since;  /* ns: start of the phase, unless RUNNING */
	uint64_t out_ts; /* RUNNING: when it leaves the CPU, if has_out */
	uint64_t cpu;
	/* WAIT or pending: the thread that was current where the wake-up came from, -1: unknown. */
	int32_t waker;
	uint16_t out_flags;
	uint8_t phase;
	bool has_out;
	bool has_pending;  /* RUNNING: it was woken before it sleeps */
	bool is_tentative; /* WAIT: by a wake-up before the switch-out that no event confirms */
};

/* Applies a noted switch-out that lies before @ts. */
static void apply_switch_out(struct waiting *w, uint64_t ts)
{
	if (w->phase != RUNNING || !w->has_out || ts <= w->out_ts) {
		return;
	}
	w->since = w->out_ts;
	if (w->out_flags & RECORD_DEAD) {
		w->phase = DEAD;
	} else if (!(w->out_flags & RECORD_SLEEPS)) {
		w->phase = PREEMPTED;
	} else {
		w->phase = w->has_pending ? WAIT : BLOCKED;
	}
	w->has_out = false;
	w->has_pending = false;
}

static void wake(struct shard *shard, struct waiting *w, const struct record *record)
{
	bool is_tentative = record->arg16 & FLAG_TENTATIVE;

	switch ((enum thread_phase)w->phase) {
	case RUNNING:
		if (w->cpu != record->arg64) { /* else it wakes itself */
			w->has_pending = true;
			w->waker = record->arg32;
			w->is_tentative = is_tentative;
			shard_trace_row(shard, TOTALS)[RACES]++;
		}
		return;
	case WAIT:
		if (w->is_tentative) { /* that was none: it was blocked until now */
			w->since = record->ts;
			w->waker = record->arg32;
			w->is_tentative = false;
		}
		return;
	case UNKNOWN:
	case BLOCKED:
		w->phase = WAIT;
		w->since = record->ts;
		w->waker = record->arg32;
		w->is_tentative = false;
		return;
	case NEW:
	case PREEMPTED:
	case DEAD:
		return;
	}
}

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	struct waiting *w = state;

	codec_u64(codec, &w->since);
	codec_u64(codec, &w->out_ts);
	codec_u64(codec, &w->cpu);
	codec_i32(codec, &w->waker);
	codec_u16(codec, &w->out_flags);
	codec_u8(codec, &w->phase);
	codec_bool(codec, &w->has_out);
	codec_bool(codec, &w->has_pending);
	codec_bool(codec, &w->is_tentative);
	(void)codec_check(codec, w->phase <= DEAD);
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct waiting *w = shard_thread_state(shard, thread);

	(void)numbers;
	apply_switch_out(w, record->ts);
	switch ((enum wake_kind)(record->arg16 & 0xFF)) {
	case WAKE_SOURCE:
		shard_trace_row(shard, TOTALS)[WAKEUPS]++;
		wake(shard, w, record);
		break;
	case WAKE_CONFIRMS:
		w->has_pending = false; /* it never left */
		break;
	case WAKE_NEW:
		if (w->phase == UNKNOWN) {
			w->phase = NEW;
			w->since = record->ts;
		}
		break;
	case WAKE_NONE:
		break;
	}
}

static void add_sample(struct shard *shard, struct thread *thread, const struct waiting *w,
		       const struct switch_in *in)
{
	struct row_key cpu = { .id = in->cpu }, prio = { .id = (uint64_t)(int64_t)in->prio };
	uint64_t *totals = shard_trace_row(shard, TOTALS), *row;
	uint64_t ns = in->ts - w->since;

	if (w->phase == NEW) {
		column_add(totals, ALL_FORK, ns);
		return;
	}
	row = shard_keyed_row(shard, CPUS, &cpu);
	row[CPU_WAITED] += ns;
	if (w->phase == PREEMPTED) {
		column_add(totals, ALL_REQUEUE, ns);
		column_add(shard_thread_row(shard, thread, THREADS), THREAD_REQUEUE, ns);
		return;
	}
	column_add(totals, ALL_WAKE, ns);
	column_add(row, CPU_WAKE, ns);
	column_add(shard_thread_row(shard, thread, THREADS), THREAD_WAKE, ns);
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
	struct waiting *w = shard_thread_state(shard, thread);

	apply_switch_out(w, in->ts);
	switch ((enum thread_phase)w->phase) {
	case NEW:
	case WAIT:
	case PREEMPTED:
		add_sample(shard, thread, w, in);
		break;
	case BLOCKED:
		shard_trace_row(shard, TOTALS)[UNEXPLAINED]++;
		break;
	case UNKNOWN:
	case RUNNING:
	case DEAD:
		break;
	}
	*w = (struct waiting){ .phase = RUNNING, .cpu = in->cpu };
}

static void on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	struct waiting *w = shard_thread_state(shard, thread);

	if (out->is_tie) {
		return;
	}
	w->phase = RUNNING; /* whatever it seemed to be before */
	w->has_out = true;
	w->out_ts = out->ts;
	w->out_flags = out->flags;
}

static void on_initial_thread(struct shard *shard, struct thread *thread, uint64_t cpu)
{
	struct waiting *w = shard_thread_state(shard, thread);

	*w = (struct waiting){ .phase = RUNNING, .cpu = cpu };
}

static void on_fork(struct shard *shard, struct thread *thread, uint64_t ts)
{
	struct waiting *w = shard_thread_state(shard, thread);

	*w = (struct waiting){ .phase = NEW, .since = ts };
}

static void on_seen(struct shard *shard, struct thread *thread, uint64_t ts)
{
	struct waiting *w = shard_thread_state(shard, thread);

	apply_switch_out(w, ts);
	if (w->phase != RUNNING) {
		*w = (struct waiting){ .phase = RUNNING, .cpu = shard_source_cpu(shard) };
	}
}

static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct waiting *w = shard_thread_state(shard, thread);

	(void)ts;
	if (what & DOUBT_SWITCHES) {
		*w = (struct waiting){ .phase = UNKNOWN };
	}
}

static const struct need needs[] = {
	WAKE_ROWS(WAKE_NEED, on_wake, "tid", "success"),
};

#define LATENCIES                                                                                  \
	.columns = {                                                                               \
		[THREAD_WAKE] = { "wake", "WOKEN", UNIT_NS, COLUMN_HISTOGRAM },                    \
		[THREAD_REQUEUE] = { "requeue", "REQUEUED", UNIT_NS, COLUMN_HISTOGRAM },           \
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
	    [THREADS] = COLUMN(THREAD_WAKE),
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
	.thread_state_size = sizeof(struct waiting),
	.uses_threads = true,
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
			.sort_mask = 1u << THREAD_WAKE | 1u << THREAD_REQUEUE,
			LATENCIES,
		},
		[PROCESSES] = {
			.key = "processes",
			.scope = SCOPE_PROCESS,
			.has_containers = true,
			.sort_mask = 1u << THREAD_WAKE | 1u << THREAD_REQUEUE,
			LATENCIES,
		},
		[CPUS] = {
			.key = "cpus",
			.scope = SCOPE_KEYED,
			.id_key = "cpu",
			.title = "CPU",
			.lami_class = "cpu",
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
		[CONTAINERS] = { CONTAINERS_TABLE, .sort_mask = 1u << THREAD_WAKE | 1u << THREAD_REQUEUE, LATENCIES },
	},
	.on_record = on_record,
	.on_checkpoint = on_checkpoint,
	.on_switch_in = on_switch_in,
	.on_switch_out = on_switch_out,
	.on_initial_thread = on_initial_thread,
	.on_fork = on_fork,
	.on_seen = on_seen,
	.on_doubt = on_doubt,
};
