/*
 * syscalls: how many system calls of each kind, how long they take, how they fail
 * (doc/definitions.md, 4.5).
 *
 * A call whose entry and exit lie in one on-CPU interval of its thread is one record.  Of the
 * others the worker emits what it saw, and the merger pairs them (kernel/call-pairing.h):
 *
 *     worker, CPU 0      entry futex --- switched out                        OPEN
 *     worker, CPU 1                              switched in --- exit futex  EXIT
 *
 * The merger also knows how long the thread was off the CPU during the call: it was blocked, or
 * waited for a CPU.  Calls that are open when a window ends are reported with their age, so that a
 * call that never returns is visible.  A call that is open when its thread ends (exit) counts as
 * one that never returned.
 */
#include <errno.h>

#include "analyses/call-name.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"
#include "kernel/call-pairing.h"
#include "kernel/call-result.h"
#include "kernel/syscall-names.h"

enum { TOTALS, CALLS, ERRNOS, THREADS, PROCESSES, LONGEST, CONTAINERS };
enum {
	TOTAL_CALLS,
	TOTAL_ERRORS,
	IN_FLIGHT,
	OLDEST_NS,
	CHILD_RETURNS,
	ORPHANS,
	OVERWRITTEN,
	NEVER_RETURNED,
	UNTIMED,
	TOTAL_TIME
};
/* Columns of a call, a thread and a process. */
enum { COUNT, ERRORS, BLOCKED_NS, TIME };

enum { OWN_CALL = RECORD_OWN, OWN_OPEN, OWN_EXIT, OWN_OVERWRITTEN };

enum { EXIT_RET, EXIT_TID };
enum { ENTRY_TID };

/* Flags of OWN_CALL and OWN_EXIT, in arg16: it has a result; all is in the record (else beside it),
 * the result in arg32. */
enum { END_HAS_RET = 1, END_IS_SHORT = 2 };
/* Of OWN_OPEN: the window ends, and the worker will still see where the call does. */
enum { OPEN_IN_WINDOW = 1 };
/* arg64 of a short record: the class lies above the duration of a call, above the id of an exit. */
#define SHORT_NS_BITS 40
#define SHORT_ID_BITS 32
/* Numbers beside a record.  Call: duration, result, class.  Exit: id, result, class, and the entry
 * time of another call that is open. */
enum { CALL_NUMBERS = 3, EXIT_NUMBERS = 4 };

_Static_assert(SYSCALL_UNNAMED_ID == CALL_UNNAMED, "syscall_id() identifies calls");

/* ---- worker's half ---- */

struct worker_call {
	struct call_pairing pairing; /* open: entered in this on-CPU interval */
	uint32_t class;
};

static struct record *emit_open(struct worker *worker, uint64_t ts, int32_t tid, uint32_t class,
				uint64_t entry_ts)
{
	struct record *record = worker_emit(worker, ts, tid, OWN_OPEN);

	record->arg64 = entry_ts;
	record->arg32 = (int32_t) class;
	return record;
}

static int64_t ret_of(const struct trace_event *event, struct record *record)
{
	if (!event_has(event, EXIT_RET)) {
		return 0;
	}
	record->arg16 |= END_HAS_RET;
	return event_i64(event, EXIT_RET, 0);
}

/* A call with entry and exit.  Most fit into the record itself, so that the merger fetches nothing
 * else from memory. */
static void emit_call(struct worker *worker, const struct trace_event *event, uint32_t class,
		      uint64_t ns)
{
	struct record *record = worker_emit(worker, event->ts, worker_tid(worker), OWN_CALL);
	int64_t ret = ret_of(event, record);
	uint64_t numbers[CALL_NUMBERS] = { ns, (uint64_t)ret, class };

	if (ret == (int32_t)ret && ns >> SHORT_NS_BITS == 0 && class >> (64 - SHORT_NS_BITS) == 0) {
		record->arg16 |= END_IS_SHORT;
		record->arg32 = (int32_t)ret;
		record->arg64 = (uint64_t) class << SHORT_NS_BITS | ns;
	} else {
		record->arg64 = worker_numbers(worker, numbers, CALL_NUMBERS);
	}
}

/* An exit.  @another: the entry time of another call that has not ended, 0: none. */
static void emit_exit(struct worker *worker, const struct trace_event *event, int32_t tid,
		      uint32_t id, uint64_t another)
{
	struct record *record = worker_emit(worker, event->ts, tid, OWN_EXIT);
	int64_t ret = ret_of(event, record);
	uint64_t class = event->class->index;
	uint64_t numbers[EXIT_NUMBERS] = { id, (uint64_t)ret, class, another };

	if (ret == (int32_t)ret && another == 0) {
		record->arg16 |= END_IS_SHORT;
		record->arg32 = (int32_t)ret;
		record->arg64 = class << SHORT_ID_BITS | id;
	} else {
		record->arg64 = worker_numbers(worker, numbers, EXIT_NUMBERS);
	}
}

static void on_entry(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t id)
{
	struct worker_call *call = state;

	if (!worker_sees_switches(worker)) {
		(void)emit_open(worker, event->ts, worker_tid_of(worker, event, ENTRY_TID),
				event->class->index, event->ts);
		return;
	}
	if (call->pairing.is_open) {
		worker_emit(worker, event->ts, worker_tid(worker), OWN_OVERWRITTEN)->arg64 =
			call->pairing.entry_ts;
	}
	call_enter(&call->pairing, id, event->ts, 0);
	call->class = event->class->index;
}

static void on_exit_(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t id)
{
	struct worker_call *call = state;

	if (!worker_sees_switches(worker)) {
		emit_exit(worker, event, worker_tid_of(worker, event, EXIT_TID), id, 0);
	} else if (call_ends(&call->pairing, id)) {
		emit_call(worker, event, call->class, event->ts - call->pairing.entry_ts);
	} else {
		emit_exit(worker, event, worker_tid(worker), id,
			  call->pairing.is_open ? call->pairing.entry_ts : 0);
	}
	call_forget(&call->pairing);
}

static void on_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window)
{
	struct worker_call *call = state;

	if (call->pairing.is_open) {
		emit_open(worker, ts, worker_tid(worker), call->class, call->pairing.entry_ts)
			->arg16 = is_window ? OPEN_IN_WINDOW : 0;
	}
	call->pairing.is_open &= is_window;
}

/* ---- merger's half ---- */

struct thread_call {
	struct call_pairing pairing; /* by the class of the entry event; see exit_ends() */
	uint64_t off_ns;             /* off the CPU since the entry */
	uint64_t left_ts;            /* when the thread left the CPU, 0: it is on it, or unknown */
	uint64_t window_ts;          /* the entry of one that a worker still pairs; 0: none */
};

/* What is known of a call that has ended. */
struct syscall_ended {
	uint32_t class; /* an event class that names the call */
	uint64_t ts, ns, off_ns;
	bool has_ns, has_ret;
	int64_t ret;
};

static void add_to(uint64_t *row, const struct syscall_ended *ended, bool is_error)
{
	row[COUNT]++;
	row[ERRORS] += is_error;
	if (ended->has_ns) {
		row[BLOCKED_NS] += ended->off_ns;
		column_add(row, TIME, ended->ns);
	}
}

static void note_longest(struct shard *shard, struct thread *thread,
			 const struct syscall_ended *ended)
{
	shard_longest(shard, LONGEST,
		      &(struct instance){ .ns = ended->ns,
					  .end = ended->ts,
					  .more = { ended->has_ret ? ended->ret : 0 },
					  .cpu = UINT64_MAX,
					  .thread = thread,
					  .keyed = call_name_key(shard, ended->class) });
}

static bool has_failed(const struct shard *shard, const struct syscall_ended *ended)
{
	bool is_compat;
	const char *name;

	if (!ended->has_ret || !call_failed(ended->ret)) {
		return false;
	}
	name = syscall_name(shard_event_name(shard, ended->class), &is_compat);
	return !name || !call_has_no_result(name);
}

static void add_call(struct shard *shard, struct thread *thread, const struct syscall_ended *ended)
{
	bool is_error = has_failed(shard, ended);
	uint64_t *totals = shard_trace_row(shard, TOTALS);

	totals[TOTAL_CALLS]++;
	totals[TOTAL_ERRORS] += is_error;
	totals[UNTIMED] += !ended->has_ns;
	add_to(shard_indexed_row(shard, CALLS, ended->class, call_name_key), ended, is_error);
	add_to(shard_thread_row(shard, thread, THREADS), ended, is_error);
	if (ended->has_ns) {
		column_add(totals, TOTAL_TIME, ended->ns);
	}
	if (ended->has_ns && shard_is_long(shard, LONGEST, ended->ns)) {
		note_longest(shard, thread, ended);
	}
	if (is_error) {
		struct row_key key = call_name_key(shard, ended->class);

		key.id = (uint64_t)-ended->ret;
		shard_keyed_row(shard, ERRNOS, &key)[0]++;
	}
}

/* In the child, clone returns from a call that the child never entered. */
static bool is_child_return(const char *event, const struct syscall_ended *ended)
{
	static const char *const names[] = { "clone", "fork", "vfork", "clone3" };
	bool is_compat;
	const char *name = syscall_name(event, &is_compat);

	for (size_t i = 0; name && i < ARRAY_COUNT(names); i++) {
		if (strcmp(name, names[i]) == 0) {
			return ended->has_ret && ended->ret == 0;
		}
	}
	return false;
}

/* A call was entered at @entry_ts.  If a call is open since another time, its exit is missing: only
 * the events of calls themselves show that, no other event does. */
static void check_overwritten(struct shard *shard, struct thread_call *call, uint64_t entry_ts)
{
	if (call->pairing.is_open && call->pairing.entry_ts != entry_ts) {
		shard_trace_row(shard, TOTALS)[OVERWRITTEN]++;
		call_forget(&call->pairing);
	}
}

/* Records and checkpoints of an open call contain its event class.  Its number is computed here,
 * from the name, because most calls end where they began and never need it. */
static bool exit_ends(const struct shard *shard, const struct thread_call *call, uint32_t id)
{
	struct call_pairing numbered = call->pairing;

	if (numbered.is_open) {
		numbered.id = syscall_id(shard_event_name(shard, call->pairing.id));
	}
	return call_ends(&numbered, id);
}

/* An exit whose entry the worker did not see.  @another: see emit_exit(). */
static void end_call(struct shard *shard, struct thread *thread, struct thread_call *call,
		     struct syscall_ended *ended, uint32_t id, uint64_t another)
{
	uint64_t *totals;

	if (another != 0) {
		check_overwritten(shard, call, another);
		call_forget(&call->pairing);
	}
	if (exit_ends(shard, call, id)) {
		ended->class = call->pairing.id;
		ended->has_ns = call_duration(&call->pairing, ended->ts, &ended->ns);
		ended->off_ns = call->off_ns < ended->ns ? call->off_ns : ended->ns;
		add_call(shard, thread, ended);
		return;
	}
	totals = shard_trace_row(shard, TOTALS);
	if (!call->pairing.is_open && another == 0 &&
	    is_child_return(shard_event_name(shard, ended->class), ended)) {
		totals[CHILD_RETURNS]++;
	} else {
		totals[ORPHANS]++;
	}
}

static void count_in_flight(struct shard *shard, uint64_t entry_ts, uint64_t end)
{
	uint64_t *totals = shard_trace_row(shard, TOTALS);

	totals[IN_FLIGHT]++;
	column_raise(totals, OLDEST_NS, end > entry_ts ? end - entry_ts : 0);
}

/* The worker pairs the call: it is in flight where windows end, and nothing else of it is noted. So
 * where they end changes nothing else, also if the thread seems to be on two CPUs. */
static void merge_in_window(struct shard *shard, struct thread_call *call,
			    const struct record *record)
{
	if (call->pairing.is_open && call->pairing.entry_ts < record->arg64) {
		check_overwritten(shard, call, record->arg64);
	}
	call->window_ts = record->arg64;
}

static void merge_open(struct shard *shard, struct thread_call *call, const struct record *record)
{
	if (record->arg16 & OPEN_IN_WINDOW) {
		merge_in_window(shard, call, record);
		return;
	}
	check_overwritten(shard, call, record->arg64);
	if (!call->pairing.is_open) {
		call_enter(&call->pairing, (uint32_t)record->arg32, record->arg64,
			   shard_channel(shard));
		call->off_ns = 0;
	}
}

static void merge_call(struct shard *shard, struct thread *thread, struct thread_call *call,
		       const struct record *record, const uint64_t *numbers)
{
	struct syscall_ended ended = { .ts = record->ts,
				       .has_ns = true,
				       .has_ret = record->arg16 & END_HAS_RET };

	if (record->arg16 & END_IS_SHORT) {
		ended.ns = record->arg64 & (((uint64_t)1 << SHORT_NS_BITS) - 1);
		ended.class = (uint32_t)(record->arg64 >> SHORT_NS_BITS);
		ended.ret = record->arg32;
	} else {
		ended.ns = numbers[record->arg64];
		ended.ret = (int64_t)numbers[record->arg64 + 1];
		ended.class = (uint32_t)numbers[record->arg64 + 2];
	}
	check_overwritten(shard, call, ended.ts - ended.ns);
	add_call(shard, thread, &ended);
}

static void merge_exit(struct shard *shard, struct thread *thread, struct thread_call *call,
		       const struct record *record, const uint64_t *numbers)
{
	struct syscall_ended ended = { .ts = record->ts, .has_ret = record->arg16 & END_HAS_RET };

	if (record->arg16 & END_IS_SHORT) {
		ended.ret = record->arg32;
		ended.class = (uint32_t)(record->arg64 >> SHORT_ID_BITS);
		end_call(shard, thread, call, &ended, (uint32_t)record->arg64, 0);
		return;
	}
	numbers += record->arg64;
	ended.ret = (int64_t)numbers[1];
	ended.class = (uint32_t)numbers[2];
	end_call(shard, thread, call, &ended, (uint32_t)numbers[0], numbers[3]);
}

static bool accepts(const struct untrusted_record *untrusted)
{
	const struct record *record = untrusted->record;
	uint64_t class = 0;

	switch (record->kind) {
	case OWN_CALL:
		if (record->arg16 & END_IS_SHORT) {
			class = record->arg64 >> SHORT_NS_BITS;
			break;
		}
		if (!untrusted_has(untrusted, CALL_NUMBERS)) {
			return false;
		}
		class = untrusted->numbers[2];
		break;
	case OWN_EXIT:
		if (record->arg16 & END_IS_SHORT) {
			class = record->arg64 >> SHORT_ID_BITS;
			break;
		}
		if (!untrusted_has(untrusted, EXIT_NUMBERS)) {
			return false;
		}
		class = untrusted->numbers[2];
		break;
	case OWN_OPEN:
		class = (uint32_t)record->arg32;
		break;
	case OWN_OVERWRITTEN:
		return untrusted_has(untrusted, 0);
	default:
		return false;
	}
	return untrusted_has(untrusted, 0) && class < untrusted->classes;
}

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	struct thread_call *call = state;

	codec_each(codec, &call->pairing.entry_ts, &call->off_ns, &call->left_ts,
		   &call->pairing.channel, &call->pairing.id, &call->pairing.is_open,
		   &call->pairing.is_tainted);
	codec_u64(codec, &call->window_ts);
	(void)codec_check(codec, !call->pairing.is_open || call->pairing.id < checkpoint->classes);
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct thread_call *call = shard_thread_state(shard, thread);

	call->window_ts = 0;
	switch (record->kind) {
	case OWN_CALL:
		merge_call(shard, thread, call, record, numbers);
		call_forget(&call->pairing);
		break;
	case OWN_EXIT:
		merge_exit(shard, thread, call, record, numbers);
		call_forget(&call->pairing);
		break;
	case OWN_OPEN:
		merge_open(shard, call, record);
		break;
	case OWN_OVERWRITTEN: /* the worker replaced a call that was entered then */
		check_overwritten(shard, call, record->arg64);
		call_forget(&call->pairing);
		shard_trace_row(shard, TOTALS)[OVERWRITTEN]++;
		break;
	}
}

static void on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	struct thread_call *call = shard_thread_state(shard, thread);

	if (call->pairing.is_open && call->left_ts != 0 && in->ts > call->left_ts) {
		call->off_ns += in->ts - call->left_ts;
	}
	call->left_ts = 0;
}

static void on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	struct thread_call *call = shard_thread_state(shard, thread);

	if (!out->is_tie) {
		call->left_ts = out->ts;
	}
}

/* In the gap, the call may have ended and another one of its kind may have begun. */
static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct thread_call *call = shard_thread_state(shard, thread);

	if (what & DOUBT_THREAD) {
		call_forget(&call->pairing);
	} else {
		call_gap(&call->pairing, shard_may_miss(shard, call->pairing.channel));
	}
}

static void on_window_end(struct shard *shard, struct thread *thread, uint64_t end)
{
	struct thread_call *call = shard_thread_state(shard, thread);

	if (shard_tid(thread) < 0 || (!call->pairing.is_open && call->window_ts == 0)) {
		return;
	}
	if (!shard_is_dead(thread)) {
		count_in_flight(shard,
				call->pairing.is_open ? call->pairing.entry_ts : call->window_ts,
				end);
	} else if (call->pairing.is_open) {
		call_forget(&call->pairing);
		shard_trace_row(shard, TOTALS)[NEVER_RETURNED]++;
	}
}

static const char *errno_name(uint64_t id)
{
	return id <= ERRNO_MAX ? strerrorname_np((int)id) : NULL;
}

#define ENTRY(pattern)                                                                             \
	{                                                                                          \
		pattern, { "context.tid" }, on_entry, .user_of = syscall_id                        \
	}
#define EXIT(pattern)                                                                              \
	{                                                                                          \
		pattern, { "ret", "context.tid" }, on_exit_, .user_of = syscall_id                 \
	}

static const struct need needs[] = {
	ENTRY("syscall_entry_*"), ENTRY("compat_syscall_entry_*"), ENTRY("sys_*"),
	ENTRY("compat_sys_*"),    EXIT("syscall_exit_*"),          EXIT("compat_syscall_exit_*"),
	EXIT("exit_syscall"),
};

/* Calls of one thread are of all kinds, and most of their time is sleep. */
#define FIGURES(rests)                                                                             \
	.columns = {                                                                               \
		[COUNT] = { "calls", "CALLS", UNIT_COUNT },                                        \
		[ERRORS] = { "errors", "ERRORS", UNIT_COUNT },                                     \
		[BLOCKED_NS] = { "off_cpu_ns", "OFF CPU", UNIT_NS, .rest = (rests) },              \
		[TIME] = { "time", "TIMED", UNIT_NS, COLUMN_HISTOGRAM, .rest = (rests) },          \
	}

static const struct essential essentials[] = {
	{ ANY_EVENT("syscall_entry_*", "compat_syscall_entry_*", "sys_*", "compat_sys_*") },
	{ ANY_EVENT("syscall_exit_*", "compat_syscall_exit_*", "exit_syscall") },
	{ ANY_EVENT("sched_switch"),
	  { [CALLS] = COLUMN(BLOCKED_NS), [THREADS] = COLUMN(BLOCKED_NS) } },
};

const struct analysis analysis_syscalls = {
	.name = "syscalls",
	.summary = "system calls: how many, how long, errors, those that have not returned",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.worker_state_size = sizeof(struct worker_call),
	.thread_state_size = sizeof(struct thread_call),
	.uses_threads = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				[TOTAL_CALLS] = { "calls", "calls", UNIT_COUNT },
				[TOTAL_ERRORS] = { "errors", "errors", UNIT_COUNT },
				[IN_FLIGHT] = { "in_flight", "in flight", UNIT_COUNT, COLUMN_LAST },
				[OLDEST_NS] = { "oldest_ns", "oldest", UNIT_NS, COLUMN_LAST_MAX },
				[CHILD_RETURNS] = { "child_returns", NULL, UNIT_COUNT },
				[ORPHANS] = { "orphans", NULL, UNIT_COUNT },
				[OVERWRITTEN] = { "overwritten", NULL, UNIT_COUNT },
				[NEVER_RETURNED] = { "never_returned", NULL, UNIT_COUNT },
				[UNTIMED] = { "untimed", NULL, UNIT_COUNT },
				[TOTAL_TIME] = { "time", "time", UNIT_NS, COLUMN_HISTOGRAM,
						 .rest = REST_ALL },
			},
		},
		[CALLS] = {
			.key = "by_name",
			.scope = SCOPE_KEYED,
			.name_key = "name",
			.title = "CALL",
			.lami_class = "syscall",
			.sort_mask = 1u << TIME,
			FIGURES(REST_OF_CALLS),
		},
		[ERRNOS] = {
			.key = "by_error",
			.scope = SCOPE_KEYED,
			.id_key = "errno",
			.id_name = errno_name,
			.name_key = "name",
			.title = "ERROR CALL",
			.sort_mask = 1,
			.columns = { { "count", "COUNT", UNIT_COUNT, COLUMN_SUM, true } },
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 1u << TIME,
			FIGURES(REST_ALL),
		},
		[PROCESSES] = {
			PROCESSES_TABLE,
			.sort_mask = 1u << TIME,
			FIGURES(REST_ALL),
		},
		[LONGEST] = {
			.key = "longest",
			.scope = SCOPE_LONGEST,
			.name_key = "name",
			.title = "LONGEST CALLS",
			.lami_class = "syscall",
			.columns = {
				{ "ns", "TIME", UNIT_NS },
				{ "ret", "RET", UNIT_COUNT },
			},
		},
		[CONTAINERS] = { CONTAINERS_TABLE, .sort_mask = 1u << TIME,
				 FIGURES(REST_ALL) },
	},
	.on_oncpu_end = on_oncpu_end,
	.on_record = on_record,
	.accepts = accepts,
	.on_checkpoint = on_checkpoint,
	.on_switch_in = on_switch_in,
	.on_switch_out = on_switch_out,
	.on_doubt = on_doubt,
	.on_window_end = on_window_end,
};
