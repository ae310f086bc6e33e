/*
 * state: see state.h.
 */
#include "analyses/state/state.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyses/call-name.h"
#include "analyses/wakes.h"

/* Of the trace, a thread, a process and a container: how many threads are in each state, how old
 * the oldest open call is, and for how long the one has been in each state that has been for
 * longest. */
enum { COUNTS, CALL_NS = COUNTS + NOWS, AGES };
/* Of the trace alone: how many threads are in a call, and are blocked or stopped in one that is not
 * known. */
enum { IN_CALL = AGES + NOWS, UNKNOWN_CALL };
enum { CPU_RUNNING, CPU_RUNNING_NS, CPU_RUNNABLE, CPU_RUNNABLE_NS };
enum { CALL_COUNT, CALL_AGE_NS };

/* ---- events ---- */

/* Who takes part in events of other analyses only is no thread here, alone or among all. */
static struct state_thread *state_of(struct shard *shard, struct thread *thread)
{
	struct state_thread *state = shard_thread_state(shard, thread);

	state->is_seen = true;
	return state;
}

static void set_call(struct shard *shard, struct state_thread *state, const struct record *record,
		     const uint64_t *numbers)
{
	bool is_on = record->kind == OWN_OPEN_ON;
	struct state_call *call = &state->call;

	numbers = is_on ? numbers + record->arg64 : NULL;
	*call = (struct state_call){ .entry_ts = is_on ? numbers[ON_ENTRY] : record->arg64,
				     .channel = shard_channel(shard),
				     .class = (uint32_t)record->arg32,
				     .object = (uint8_t)record->arg16,
				     .known = CALL_OPEN };
	if (is_on) {
		call->what = numbers[ON_WHAT];
		call->op = (uint8_t)numbers[ON_OP];
		call->owner = (int32_t)numbers[ON_OWNER];
		state->pid = numbers[ON_PID] > 1 ? (int64_t)numbers[ON_PID] - 1 : state->pid;
	}
}

/* What the thread sets in a call that is open. */
static void add_to_call(struct state_call *call, const struct record *record)
{
	if (call->known != CALL_OPEN) {
		return;
	}
	if (record->kind == OWN_TIMER && call->object == WAIT_FOR_TIMER && call->what == 0) {
		call->what = record->arg64;
	}
	if (record->kind == OWN_LENT && call->object == WAIT_FOR_FUTEX && call->owner == 0 &&
	    futex_op_is_pi(call->op)) {
		call->owner = record->arg32;
	}
}

static bool waits_for_futex(const struct state_thread *state)
{
	return state->phase.phase == PHASE_BLOCKED && state->call.known == CALL_OPEN &&
	       state->call.object == WAIT_FOR_FUTEX;
}

/* The thread sleeps, and another one wakes it. */
static void note_woken(struct shard *shard, struct thread *thread, const struct state_thread *state,
		       const struct record *record)
{
	struct futex_key key = state_futex_key(thread, state);
	struct ordered *note = shard_note_ordered(shard, thread, record->ts, NOTE_WOKEN);

	note->words[WOKEN_OF] = (uint64_t)key.of;
	note->words[WOKEN_ADDRESS] = key.address;
	note->words[WOKEN_TID] = (uint32_t)shard_tid(thread);
	note->words[WOKEN_BY] = (uint32_t)record->arg32;
	note->words[WOKEN_IS_PI] = futex_op_is_pi(state->call.op);
}

/* It was on a CPU that may have left, which the end of a window knows: the first wake-up since. */
static void note_woken_away(const struct shard *shard, struct state_thread *state,
			    const struct record *record)
{
	uint64_t heard = UINT64_MAX;

	if (state->phase.phase == PHASE_RUNNING && state->has_cpu &&
	    wakes_kind(record) == WAKE_SOURCE) {
		heard = shard_cpu_heard_until(shard, state->phase.cpu);
	}
	if (record->ts > heard && state->woken_ts <= heard) {
		state->woken_ts = record->ts;
	}
}

static void learn_process(struct state_thread *state, const struct record *record)
{
	if (record->arg64 > 0 && record->arg64 <= INT32_MAX) {
		state->pid = (int64_t)record->arg64;
	}
	if (record->arg16 && state->phase.phase == PHASE_UNKNOWN) {
		thread_phase_set(&state->phase, record->ts, PHASE_BLOCKED);
		state->is_stopped = false;
	}
}

bool state_take(struct shard *shard, struct thread *thread, const struct record *record,
		const uint64_t *numbers)
{
	struct state_thread *state = state_of(shard, thread);

	switch (record->kind) {
	case OWN_WAKE:
		note_woken_away(shard, state, record);
		return wakes_apply(&state->phase, record) == WOKEN;
	case OWN_OPEN:
	case OWN_OPEN_ON:
		set_call(shard, state, record, numbers);
		break;
	case OWN_CLOSED:
		state->call.known = CALL_NONE;
		state->call.channel = shard_channel(shard);
		break;
	case OWN_PROCESS:
		learn_process(state, record);
		break;
	case OWN_TIMER:
	case OWN_LENT:
		add_to_call(&state->call, record);
		break;
	}
	return false;
}

static void on_file_call(struct shard *shard, const struct fds_call *call)
{
}

/* The descriptors are those of the process that the context of a call names. */
static void join_process(struct shard *shard, struct thread *thread, struct state_own *own,
			 uint64_t ts)
{
	if (!own->fds.has_pid && own->now.pid > 0) {
		fds_set_pid(shard, thread, &own->fds, ts, (int32_t)own->now.pid);
	}
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct state_own *own = shard_thread_state(shard, thread);
	const struct state_thread *state = &own->now;
	bool waited = waits_for_futex(state);

	if (record->kind < FDS_RECORDS_END) {
		fds_take(shard, thread, &own->fds, record, numbers, on_file_call);
		return;
	}

	if (state_take(shard, thread, record, numbers) && waited && record->arg32 > 0) {
		note_woken(shard, thread, state, record);
	}
	if (record->kind == OWN_OPEN_ON) {
		join_process(shard, thread, own, record->ts);
	}
}

static bool accepts(const struct untrusted_record *untrusted)
{
	return untrusted->record->kind < FDS_RECORDS_END ? fds_accepts(untrusted)
							 : state_accepts(untrusted);
}

bool state_accepts(const struct untrusted_record *untrusted)
{
	const struct record *record = untrusted->record;

	if (record->kind == OWN_OPEN || record->kind == OWN_OPEN_ON) {
		return untrusted_has(untrusted, record->kind == OWN_OPEN_ON ? ON_NUMBERS : 0) &&
		       (uint32_t)record->arg32 < untrusted->classes && record->arg16 < WAIT_OBJECTS;
	}
	return record->kind >= OWN_WAKE && record->kind <= OWN_LENT &&
	       (record->kind == OWN_WAKE || !untrusted->has_current);
}

void state_checkpoint(const struct checkpoint *checkpoint, void *state_)
{
	struct codec *codec = checkpoint->codec;
	struct state_thread *state = state_;
	struct state_call *call = &state->call;

	thread_phase_codec(codec, &state->phase);
	codec_each(codec, &state->pid, &state->is_seen, &state->has_cpu, &state->is_stopped,
		   &state->woken_ts);
	codec_each(codec, &call->entry_ts, &call->channel, &call->what, &call->class, &call->owner,
		   &call->known, &call->object, &call->op);
	if (!codec_check(codec,
			 call->known <= CALL_OPEN && call->object < WAIT_OBJECTS &&
				 (call->known != CALL_OPEN || call->class < checkpoint->classes))) {
		*call = (struct state_call){ 0 };
	}
}

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct state_own *own = state;

	state_checkpoint(checkpoint, &own->now);
	fds_thread_codec(checkpoint->codec, &own->fds);
}

/* ---- switches ---- */

void state_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	struct state_thread *state = state_of(shard, thread);

	thread_phase_in(&state->phase, in->ts, in->cpu);
	state->has_cpu = in->cpu != UINT64_MAX;
}

void state_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	struct state_thread *state = state_of(shard, thread);

	if (!out->is_tie) {
		wakes_switch_out(&state->phase, out);
		state->is_stopped = (out->flags & RECORD_HALTED) == RECORD_HALTED;
	}
}

void state_fork(struct shard *shard, struct thread *thread, uint64_t ts)
{
	struct state_thread *state = state_of(shard, thread);

	thread_phase_set(&state->phase, ts, PHASE_NEW);
}

void state_seen(struct shard *shard, struct thread *thread, uint64_t ts, uint64_t cpu,
		enum seen how)
{
	struct state_thread *state = state_of(shard, thread);

	/* What was when the trace began is told in the ns before. */
	(void)thread_phase_seen(&state->phase, how == SEEN_FIRST ? ts + 1 : ts, cpu);
	state->has_cpu = cpu != UINT64_MAX;
}

void state_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct state_thread *state = shard_thread_state(shard, thread);

	if (what & DOUBT_SWITCHES) {
		thread_phase_set(&state->phase, ts, PHASE_UNKNOWN);
	}
	if ((what & DOUBT_THREAD) || shard_may_miss(shard, state->call.channel)) {
		state->call.known = CALL_UNKNOWN;
	}
}

static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct state_own *own = shard_thread_state(shard, thread);

	state_doubt(shard, thread, ts, what);
	fds_doubt(shard, &own->fds, what);
}

static void on_end(struct shard *shard, struct thread *thread, uint64_t ts)
{
	const struct state_own *own = shard_thread_state(shard, thread);

	fds_end(shard, thread, &own->fds, ts);
}

static void on_forget(void *state)
{
	struct state_own *own = state;

	free(own->fds.path);
}

/* ---- the end of a window ---- */

struct row_key state_call_name(const struct shard *shard, const struct state_call *call)
{
	static const char none[] = "(none)";

	return call->known == CALL_OPEN   ? call_name_key(shard, call->class)
	       : call->known == CALL_NONE ? row_key_of(0, none, sizeof(none))
					  : (struct row_key){ 0 };
}

static void end_open_call(struct shard *shard, struct thread *thread,
			  const struct state_thread *state, uint64_t end)
{
	uint64_t ns = end - state->call.entry_ts;
	uint64_t *row = shard_indexed_row(shard, CALLS, state->call.class, call_name_key);

	row[CALL_COUNT]++;
	column_raise(row, CALL_AGE_NS, ns);
	if (shard_is_long(shard, OPEN, ns)) {
		shard_longest(shard, OPEN,
			      &(struct instance){ .ns = ns,
						  .end = end,
						  .cpu = UINT64_MAX,
						  .thread = thread,
						  .keyed = state_call_name(shard, &state->call) });
	}
}

/* A CPU, by its id, on which the thread runs or waits. */
static void end_on_cpu(struct shard *shard, uint64_t cpu, enum now now, uint64_t ns)
{
	struct row_key key = { .id = cpu };
	uint64_t *row = shard_keyed_row(shard, CPUS, &key);
	bool runs = now == NOW_RUNNING;

	row[runs ? CPU_RUNNING : CPU_RUNNABLE]++;
	column_raise(row, runs ? CPU_RUNNING_NS : CPU_RUNNABLE_NS, ns);
}

static void show_oldest(struct shard *shard, struct thread *thread,
			const struct state_thread *state, enum now now, uint64_t end)
{
	static const uint8_t tables[NOWS] = { [NOW_RUNNING] = RUNNING,
					      [NOW_RUNNABLE] = RUNNABLE,
					      [NOW_BLOCKED] = BLOCKED,
					      [NOW_STOPPED] = BLOCKED };
	bool is_on = now == NOW_RUNNING || now == NOW_RUNNABLE;
	struct instance instance = { .ns = end - state->phase.since,
				     .end = end,
				     .cpu = is_on && state->has_cpu ? state->phase.cpu : UINT64_MAX,
				     .thread = thread };

	if (instance.cpu != UINT64_MAX) {
		end_on_cpu(shard, instance.cpu, now, instance.ns);
	}
	if (!is_on && state->call.known == CALL_UNKNOWN) {
		shard_trace_row(shard, TOTALS)[UNKNOWN_CALL]++;
	}
	if (!shard_is_long(shard, tables[now], instance.ns) &&
	    (state->call.known == CALL_UNKNOWN || !shard_lists_unnamed(shard, tables[now]))) {
		return;
	}
	if (!is_on) {
		instance.more[0] = now == NOW_STOPPED;
		instance.keyed = state_call_name(shard, &state->call);
	}
	shard_longest(shard, tables[now], &instance);
}

static enum now now_of(const struct state_thread *state)
{
	static const uint8_t nows[PHASES] = {
		[PHASE_UNKNOWN] = NOW_UNKNOWN, [PHASE_NEW] = NOW_RUNNABLE,
		[PHASE_RUNNING] = NOW_RUNNING, [PHASE_BLOCKED] = NOW_BLOCKED,
		[PHASE_WAIT] = NOW_RUNNABLE,   [PHASE_PREEMPTED] = NOW_RUNNABLE,
		[PHASE_DEAD] = NOW_UNKNOWN, /* it has no state */
	};
	enum now now = (enum now)nows[state->phase.phase];

	return now == NOW_BLOCKED && state->is_stopped ? NOW_STOPPED : now;
}

/* Whether it is no life at @end.  What is known already may lie behind. */
static bool is_none(const struct shard *shard, const struct thread *thread,
		    const struct state_thread *state, uint64_t end)
{
	return !state->is_seen || state->phase.phase == PHASE_DEAD ||
	       (shard_is_dead(thread) && shard_end_ts(shard, thread) <= end);
}

/* The state at @end, as it is reported: who is on a CPU that has left may be anywhere since, but
 * for what wakes it. */
static struct state_thread state_at(struct shard *shard, struct thread *thread, uint64_t end)
{
	struct state_thread state = *(struct state_thread *)shard_thread_state(shard, thread);
	uint64_t left = state.phase.phase == PHASE_RUNNING && state.has_cpu
				? shard_cpu_absent_from(shard, state.phase.cpu)
				: UINT64_MAX;

	if (left < end) {
		bool is_woken = state.woken_ts > left;

		thread_phase_set(&state.phase, is_woken ? state.woken_ts : left,
				 is_woken ? PHASE_WAIT : PHASE_UNKNOWN);
		state.call.known = CALL_UNKNOWN;
	}
	return state;
}

static void show_life(struct shard *shard, struct thread *thread, const struct state_thread *state,
		      uint64_t end)
{
	uint64_t *totals = shard_trace_row(shard, TOTALS);
	uint64_t *row = shard_thread_row(shard, thread, THREADS);
	/* 0: it was not seen yet */
	uint64_t ns = state->phase.since > 0 ? end - state->phase.since : 0;
	enum now now = now_of(state);

	row[COUNTS + now] = 1;
	row[AGES + now] = ns;
	totals[COUNTS + now]++;
	column_raise(totals, AGES + now, ns);
	if (now == NOW_BLOCKED && waits_for_futex(state)) {
		state_futex_waits(shard_trace_state(shard), state_futex_key(thread, state), state);
	}
	if (now != NOW_UNKNOWN) {
		show_oldest(shard, thread, state, now, end);
	}
	if (state->call.known == CALL_OPEN) {
		row[CALL_NS] = end - state->call.entry_ts;
		column_raise(totals, CALL_NS, row[CALL_NS]);
		totals[IN_CALL]++;
		end_open_call(shard, thread, state, end);
	}
}

static void on_window_end(struct shard *shard, struct thread *thread, uint64_t end)
{
	struct state_thread state;

	if (shard_tid(thread) <= 0) {
		return;
	}
	state = state_at(shard, thread, end);
	if (!is_none(shard, thread, &state, end)) {
		show_life(shard, thread, &state, end);
	}
}

/* ---- the descriptor ---- */

static void on_oncpu_end(struct worker *worker, void *state_, uint64_t ts, bool is_window)
{
	struct state_worker *state = state_;

	state_worker_oncpu_end(worker, &state->call, ts, is_window);
	fds_oncpu_end(worker, &state->fds, ts, is_window);
}

#define OF_STATE(name) COLUMN(COUNTS + (name)) | COLUMN(AGES + (name))
/* Who is not woken looks blocked, and so does who is stopped. */
#define OF_WAKES (OF_STATE(NOW_RUNNABLE) | OF_STATE(NOW_BLOCKED) | OF_STATE(NOW_STOPPED))

#define OF_CALLS (COLUMN(CALL_NS) | COLUMN(IN_CALL))

static const struct essential essentials[] = {
	{ ANY_EVENT("sched_switch") },
	{ ANY_EVENT(WAKE_SOURCES),
	  { [TOTALS] = OF_WAKES | COLUMN(UNKNOWN_CALL),
	    [THREADS] = OF_WAKES,
	    [CPUS] = COLUMN(CPU_RUNNABLE) | COLUMN(CPU_RUNNABLE_NS),
	    [BLOCKED] = ALL_COLUMNS,
	    [RUNNABLE] = ALL_COLUMNS } },
	{ ANY_EVENT("syscall_entry_*", "compat_syscall_entry_*", "sys_*", "compat_sys_*"),
	  { [TOTALS] = OF_CALLS,
	    [THREADS] = COLUMN(CALL_NS),
	    [CALLS] = ALL_COLUMNS,
	    [OPEN] = ALL_COLUMNS } },
	{ ANY_EVENT("syscall_exit_*", "compat_syscall_exit_*", "exit_syscall"),
	  { [TOTALS] = OF_CALLS,
	    [THREADS] = COLUMN(CALL_NS),
	    [CALLS] = ALL_COLUMNS,
	    [OPEN] = ALL_COLUMNS } },
};

#define COUNT_OF(now, key, title)                                                                  \
	[COUNTS + (now)] = { key "_threads", title, UNIT_COUNT, COLUMN_LAST }
#define AGE_OF(now, key, title) [AGES + (now)] = { key "_ns", title, UNIT_NS, COLUMN_LAST_MAX }

#define COUNTS_OF_THREADS(title)                                                                   \
	COUNT_OF(NOW_RUNNING, "running", title("RUNNING")),                                        \
		COUNT_OF(NOW_RUNNABLE, "runnable", title("RUNNABLE")),                             \
		COUNT_OF(NOW_BLOCKED, "blocked", title("BLOCKED")),                                \
		COUNT_OF(NOW_STOPPED, "stopped", title("STOPPED")),                                \
		COUNT_OF(NOW_UNKNOWN, "unknown", title("UNKNOWN"))
#define AGES_OF_THREADS(title)                                                                     \
	AGE_OF(NOW_RUNNING, "running", title("RUNNING")),                                          \
		AGE_OF(NOW_RUNNABLE, "runnable", title("RUNNABLE")),                               \
		AGE_OF(NOW_BLOCKED, "blocked", title("BLOCKED")),                                  \
		AGE_OF(NOW_STOPPED, "stopped", title("STOPPED")),                                  \
		AGE_OF(NOW_UNKNOWN, "unknown", title("UNKNOWN"))
#define AGE_OF_CALL(title) [CALL_NS] = { "call_ns", title, UNIT_NS, COLUMN_LAST_MAX }
#define SHOWN(title)       title
#define HIDDEN(title)      NULL

#define AGE_MASK                                                                                   \
	(1u << (AGES + NOW_RUNNING) | 1u << (AGES + NOW_RUNNABLE) | 1u << (AGES + NOW_BLOCKED) |   \
	 1u << (AGES + NOW_STOPPED))
/* How many threads there are. */
#define OF_GROUP                                                                                   \
	.sort_mask = (1u << NOWS) - 1,                                                             \
	.columns = { COUNTS_OF_THREADS(SHOWN), AGE_OF_CALL("OLDEST CALL"),                         \
		     AGES_OF_THREADS(HIDDEN) }

const struct analysis analysis_state = {
	.name = "state",
	.summary = "what each thread does now, since when, in which system call, and for what it waits",
	WITH_NEEDS(state_needs),
	WITH_ESSENTIALS(essentials),
	.uses_threads = true,
	.names_wakers = true,
	.worker_state_size = sizeof(struct state_worker),
	.thread_state_size = sizeof(struct state_own),
	.trace_state_size = sizeof(struct state_trace),
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				COUNT_OF(NOW_RUNNING, "running", "running"),
				COUNT_OF(NOW_RUNNABLE, "runnable", "runnable"),
				COUNT_OF(NOW_BLOCKED, "blocked", "blocked"),
				COUNT_OF(NOW_STOPPED, "stopped", "stopped"),
				COUNT_OF(NOW_UNKNOWN, "unknown", "unknown"),
				AGE_OF_CALL("oldest call"),
				AGES_OF_THREADS(HIDDEN),
				[IN_CALL] = { "open_calls", NULL, UNIT_COUNT, COLUMN_LAST },
				[UNKNOWN_CALL] = { "unknown_calls", NULL, UNIT_COUNT, COLUMN_LAST },
			},
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = AGE_MASK,
			.columns = { COUNTS_OF_THREADS(HIDDEN), AGE_OF_CALL("IN CALL"), AGES_OF_THREADS(SHOWN) },
		},
		[PROCESSES] = {
			PROCESSES_TABLE,
			OF_GROUP,
		},
		[CONTAINERS] = { CONTAINERS_TABLE, OF_GROUP },
		[CPUS] = {
			CPUS_TABLE,
			.sort_mask = 1u << CPU_RUNNABLE_NS,
			.columns = {
				[CPU_RUNNING] = { "running_threads", NULL, UNIT_COUNT, COLUMN_LAST },
				[CPU_RUNNING_NS] = { "running_ns", "RUNNING", UNIT_NS, COLUMN_LAST_MAX },
				[CPU_RUNNABLE] = { "runnable_threads", "WAIT", UNIT_COUNT, COLUMN_LAST },
				[CPU_RUNNABLE_NS] = { "runnable_ns", "OLDEST", UNIT_NS, COLUMN_LAST_MAX },
			},
		},
		[CALLS] = {
			.key = "calls",
			.scope = SCOPE_KEYED,
			.name_key = "name",
			.title = "OPEN CALL",
			.lami_class = "syscall",
			.sort_mask = 1u << CALL_AGE_NS,
			.columns = {
				[CALL_COUNT] = { "open", "THREADS", UNIT_COUNT, COLUMN_LAST },
				[CALL_AGE_NS] = { "age_ns", "OLDEST", UNIT_NS, COLUMN_LAST_MAX },
			},
		},
		[OPEN] = {
			.key = "open",
			.scope = SCOPE_LONGEST,
			.is_level = true,
			.counted_by = COLUMN(IN_CALL),
			.name_key = "call",
			.by_key = "on",
			.title = "OLDEST OPEN CALLS",
			.lami_class = "syscall",
			.columns = { { "ns", "AGE", UNIT_NS } },
		},
		[BLOCKED] = {
			.key = "blocked",
			.scope = SCOPE_LONGEST,
			.is_level = true,
			.counted_by = COLUMN(COUNTS + NOW_BLOCKED) | COLUMN(COUNTS + NOW_STOPPED),
			.unnamed_by = COLUMN(UNKNOWN_CALL),
			.name_key = "call",
			.by_key = "on",
			.title = "BLOCKED IN CALL",
			.columns = {
				{ "ns", "FOR", UNIT_NS },
				{ "is_stopped", NULL, UNIT_COUNT },
			},
		},
		[RUNNABLE] = {
			.key = "runnable",
			.scope = SCOPE_LONGEST,
			.is_level = true,
			.counted_by = COLUMN(COUNTS + NOW_RUNNABLE),
			.title = "RUNNABLE",
			.columns = { { "ns", "FOR", UNIT_NS } },
		},
		[RUNNING] = {
			.key = "running",
			.scope = SCOPE_LONGEST,
			.is_level = true,
			.counted_by = COLUMN(COUNTS + NOW_RUNNING),
			.title = "RUNNING",
			.columns = { { "ns", "FOR", UNIT_NS } },
		},
	},
	.on_oncpu_end = on_oncpu_end,
	.on_record = on_record,
	.accepts = accepts,
	.on_checkpoint = on_checkpoint,
	.on_switch_in = state_switch_in,
	.on_switch_out = state_switch_out,
	.on_fork = state_fork,
	.on_seen = state_seen,
	.on_doubt = on_doubt,
	.on_window_end = on_window_end,
	.on_forget = on_forget,
	.on_ordered = state_objects_ordered,
	.on_trace_forget = state_objects_forget,
	.on_trace_checkpoint = state_objects_checkpoint,
	.rare = &(const struct analysis_rare){ .on_end = on_end,
						.on_ordered_window_end = state_objects_window_end },
};
