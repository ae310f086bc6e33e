/*
 * io: bytes read and written by system calls, per thread (doc/definitions.md, 4.6).
 *
 * A call is an entry and an exit of one thread.  Most calls lie within one on-CPU interval of the
 * thread.  The worker sums them, and emits one record per interval.  Of the others it emits what it
 * saw, and the merger, which sees all CPUs in time order, pairs them (kernel/call-pairing.h):
 *
 *     worker, CPU 0      entry read --- switched out          OPEN
 *     worker, CPU 1                             switched in --- exit read   EXIT
 *
 * If the entry of a call is missing, the call counts, without a duration, if its exit names it.
 * The calls are those of doc/definitions.md, 4.6; send and recv of old 32-bit systems are not among
 * them.
 */
#include <assert.h>
#include <string.h>

#include "engine/contract/analysis-rare.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"
#include "kernel/call-pairing.h"
#include "kernel/call-result.h"
#include "kernel/file-calls.h"

enum { TOTALS, THREADS, PROCESSES, CONTAINERS };
enum { READ_BYTES, WRITE_BYTES, READS, WRITES, ERRORS, READ_NS, WRITE_NS, FIGURES };

enum { OWN_SUMS = RECORD_OWN, OWN_OPEN, OWN_EXIT, OWN_NO_OPEN_CALLS };

#define CALL_OTHER FILE_CALL_COUNT /* a call that is not I/O */

/*
 * Most of what the worker emits fits into the record itself, so the merger fetches nothing else
 * from memory.  With this flag all is in the record, else beside it.  Sums are short only if they
 * are of one direction: arg16 also holds the number of calls, arg32 errors, arg64 bytes above the
 * time.
 */
#define IS_SHORT      0x8000u
#define SHORT_WRITES  0x4000u
#define SHORT_CALLS   0x3FFFu
#define SHORT_NS_BITS 32

/* By enum file_call: what a call that moves bytes does; OP_NONE for all others. */
static const uint8_t operations[FILE_CALL_COUNT + 1] = {
#define X(name, operation, ...) [FILE_CALL_##name] = (operation),
	MOVING_CALLS(X)
#undef X
};

/* ---- one call ---- */

_Static_assert(FILE_CALL_UNNAMED == CALL_UNNAMED, "enum file_call identifies calls");

struct open_call {
	struct call_pairing pairing;
	uint64_t extent; /* file_call_extent() */
	/* Merger's half: when the last on-CPU interval began that showed that no call was open. */
	uint64_t no_open_ts;
};

struct ended_call {
	uint8_t call;
	bool has_ret, has_duration;
	int64_t ret;
	uint64_t ns, extent;
};

static void add_call(uint64_t figures[FIGURES], const struct ended_call *ended)
{
	uint8_t operation = operations[ended->call];
	uint64_t bytes = file_call_bytes(ended->call, ended->has_ret, ended->ret, ended->extent);
	uint64_t ns = ended->has_duration ? ended->ns : 0;

	if (operation != OP_WRITE) {
		figures[READ_BYTES] += bytes;
		figures[READ_NS] += ns;
		figures[READS]++;
	}
	if (operation != OP_READ) {
		figures[WRITE_BYTES] += bytes;
		figures[WRITE_NS] += ns;
		figures[WRITES]++;
	}
	figures[ERRORS] += ended->has_ret && call_failed(ended->ret);
}

/* What an exit ends, if anything: true if @ret_ended is a call to count. */
static bool end_call(const struct open_call *open, const struct ended_call *exit, uint64_t ts,
		     struct ended_call *ret_ended)
{
	*ret_ended = *exit;
	if (call_ends(&open->pairing, exit->call)) {
		ret_ended->call = (uint8_t)open->pairing.id;
		ret_ended->has_duration = call_duration(&open->pairing, ts, &ret_ended->ns);
		ret_ended->extent = open->extent;
	}
	return operations[ret_ended->call] != OP_NONE;
}

/* ---- worker's half ---- */

struct io_worker {
	struct open_call open;
	bool has_seen; /* a system call event in this on-CPU interval */
	bool rests;    /* worker_rest() */
	bool has_sums;
	uint64_t sums[FIGURES];
};

enum { ENTRY_ARG, ENTRY_ARG2, ENTRY_TID };
enum { EXIT_RET, EXIT_TID };
enum { OTHER_TID };

static void emit_open(struct worker *worker, const struct open_call *open, uint64_t ts, int32_t tid)
{
	uint64_t numbers[2] = { open->pairing.entry_ts, open->extent };
	struct record *record = worker_emit(worker, ts, tid, OWN_OPEN);

	record->arg16 = (uint16_t)open->pairing.id;
	if (open->extent <= INT32_MAX) {
		record->arg16 |= IS_SHORT;
		record->arg32 = (int32_t)open->extent;
		record->arg64 = open->pairing.entry_ts;
	} else {
		record->arg64 = worker_numbers(worker, numbers, 2);
	}
}

static void emit_exit(struct worker *worker, const struct ended_call *exit, uint64_t ts,
		      int32_t tid)
{
	struct record *record = worker_emit(worker, ts, tid, OWN_EXIT);

	record->arg16 = exit->call;
	record->arg32 = exit->has_ret;
	record->arg64 = (uint64_t)exit->ret;
}

static bool has_open_io(const struct io_worker *io)
{
	return io->open.pairing.is_open && operations[io->open.pairing.id] != OP_NONE;
}

/* While no call that counts is open, events of other calls matter only as the first of an on-CPU
 * interval. */
static void update_rest(struct worker *worker, struct io_worker *io)
{
	bool is_open = has_open_io(io);

	if (io->rests != (io->has_seen && !is_open)) {
		io->rests = !io->rests;
		worker_rest(worker, io->rests);
	}
}

/* The first call event of an on-CPU interval shows that no call that was entered before is open. */
static void note_first_call_event(struct worker *worker, struct io_worker *io, uint64_t ts)
{
	if (!io->has_seen && !worker_mark_no_open_calls(worker)) {
		(void)worker_emit(worker, ts, worker_tid(worker), OWN_NO_OPEN_CALLS);
	}
	io->has_seen = true;
}

static void on_call_entry(struct worker *worker, void *state, const struct trace_event *event,
			  uint32_t call)
{
	struct io_worker *io = state;
	struct open_call open = { .extent = file_call_extent(call, event_i64(event, ENTRY_ARG, 0),
							     event_i64(event, ENTRY_ARG2, -1)) };

	call_enter(&open.pairing, call, event->ts, 0);
	if (!worker_sees_switches(worker)) {
		emit_open(worker, &open, event->ts, worker_tid_of(worker, event, ENTRY_TID));
		return;
	}
	note_first_call_event(worker, io, event->ts);
	io->open = open;
	update_rest(worker, io);
}

static void on_call_exit(struct worker *worker, void *state, const struct trace_event *event,
			 uint32_t call)
{
	struct io_worker *io = state;
	struct ended_call exit = { .call = (uint8_t)call }, ended;

	if (event_has(event, EXIT_RET)) {
		exit.has_ret = true;
		exit.ret = event_i64(event, EXIT_RET, 0);
	}
	if (!worker_sees_switches(worker)) {
		emit_exit(worker, &exit, event->ts, worker_tid_of(worker, event, EXIT_TID));
		return;
	}
	if (!io->has_seen) {
		io->has_seen = true;
		emit_exit(worker, &exit, event->ts, worker_tid(worker));
	} else if (end_call(&io->open, &exit, event->ts, &ended)) {
		add_call(io->sums, &ended);
		io->has_sums = true;
	}
	call_forget(&io->open.pairing);
	update_rest(worker, io);
}

/*
 * Calls that are not I/O only show that no other call is open.  They are the most frequent, so
 * their handlers do not prepare what a call that counts needs, which halves the cost of an event.
 */
static void on_other_entry(struct worker *worker, void *state, const struct trace_event *event,
			   uint32_t user)
{
	static const struct open_call open = { .pairing = { .id = CALL_OTHER, .is_open = true } };
	struct io_worker *io = state;

	if (!worker_sees_switches(worker)) {
		emit_open(worker, &open, event->ts, worker_tid_of(worker, event, OTHER_TID));
		return;
	}
	note_first_call_event(worker, io, event->ts);
	io->open.pairing.id = CALL_OTHER;
	io->open.pairing.is_open = true;
	update_rest(worker, io);
}

static void on_other_exit(struct worker *worker, void *state, const struct trace_event *event,
			  uint32_t user)
{
	static const struct ended_call exit = { .call = CALL_OTHER };
	struct io_worker *io = state;

	if (!worker_sees_switches(worker)) {
		emit_exit(worker, &exit, event->ts, worker_tid_of(worker, event, OTHER_TID));
		return;
	}
	note_first_call_event(worker, io, event->ts);
	call_forget(&io->open.pairing);
	update_rest(worker, io);
}

static void emit_sums(struct worker *worker, const uint64_t sums[FIGURES], uint64_t ts)
{
	struct record *record = worker_emit(worker, ts, worker_tid(worker), OWN_SUMS);
	bool writes = sums[READS] == 0;
	uint64_t calls = sums[READS] + sums[WRITES];
	uint64_t bytes = sums[READ_BYTES] + sums[WRITE_BYTES], ns = sums[READ_NS] + sums[WRITE_NS];

	if ((writes || sums[WRITES] == 0) && calls <= SHORT_CALLS && ns >> SHORT_NS_BITS == 0 &&
	    bytes >> (64 - SHORT_NS_BITS) == 0) {
		record->arg16 = (uint16_t)(IS_SHORT | (writes ? SHORT_WRITES : 0) | calls);
		record->arg32 = (int32_t)sums[ERRORS];
		record->arg64 = bytes << SHORT_NS_BITS | ns;
	} else {
		record->arg64 = worker_numbers(worker, sums, FIGURES);
	}
}

static void on_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window)
{
	struct io_worker *io = state;

	if (io->has_sums) {
		emit_sums(worker, io->sums, ts);
		memset(io->sums, 0, sizeof(io->sums));
		io->has_sums = false;
	}
	if (is_window) {
		return;
	}
	if (has_open_io(io)) {
		emit_open(worker, &io->open, ts, worker_tid(worker));
	}
	call_forget(&io->open.pairing);
	io->has_seen = false;
	update_rest(worker, io);
}

/* ---- merger's half ---- */

static void add_figures(struct shard *shard, struct thread *thread, const uint64_t *figures)
{
	uint64_t *totals = shard_trace_row(shard, TOTALS);
	uint64_t *row = shard_thread_row(shard, thread, THREADS);

	totals[READ_BYTES] += figures[READ_BYTES];
	totals[WRITE_BYTES] += figures[WRITE_BYTES];
	for (unsigned int i = 0; i < FIGURES; i++) {
		row[i] += figures[i];
	}
}

static void merge_sums(struct shard *shard, struct thread *thread, const struct record *record,
		       const uint64_t *numbers)
{
	bool writes = record->arg16 & SHORT_WRITES;
	uint64_t figures[FIGURES] = { 0 };

	if (!(record->arg16 & IS_SHORT)) {
		add_figures(shard, thread, numbers + record->arg64);
		return;
	}
	figures[writes ? WRITE_BYTES : READ_BYTES] = record->arg64 >> SHORT_NS_BITS;
	figures[writes ? WRITE_NS : READ_NS] = record->arg64 & UINT32_MAX;
	figures[writes ? WRITES : READS] = record->arg16 & SHORT_CALLS;
	figures[ERRORS] = (uint64_t)record->arg32;
	add_figures(shard, thread, figures);
}

static void merge_open(struct shard *shard, struct open_call *open, const struct record *record,
		       const uint64_t *numbers)
{
	bool is_short = record->arg16 & IS_SHORT;
	uint64_t entry_ts = is_short ? record->arg64 : numbers[record->arg64];

	if (record->ts == open->no_open_ts && entry_ts < record->ts) {
		return; /* from the CPU that it left in the ns in which it came to this one */
	}
	call_enter(&open->pairing, (uint8_t)record->arg16, entry_ts, shard_channel(shard));
	open->extent = is_short ? (uint64_t)record->arg32 : numbers[record->arg64 + 1];
}

static void merge_exit(struct shard *shard, struct thread *thread, struct open_call *open,
		       const struct record *record)
{
	struct ended_call exit = { .call = (uint8_t)record->arg16,
				   .has_ret = record->arg32,
				   .ret = (int64_t)record->arg64 };
	struct ended_call ended;
	uint64_t figures[FIGURES] = { 0 };

	if (end_call(open, &exit, record->ts, &ended)) {
		add_call(figures, &ended);
		add_figures(shard, thread, figures);
	}
	call_forget(&open->pairing);
}

static bool accepts(const struct untrusted_record *untrusted)
{
	bool is_short = untrusted->record->arg16 & IS_SHORT;

	switch (untrusted->record->kind) {
	case OWN_SUMS:
		return untrusted_has(untrusted, is_short ? 0 : FIGURES);
	case OWN_OPEN:
		return untrusted_has(untrusted, is_short ? 0 : 2) &&
		       (untrusted->record->arg16 & ~IS_SHORT) <= CALL_OTHER;
	case OWN_EXIT:
		return untrusted_has(untrusted, 0) && untrusted->record->arg16 <= CALL_OTHER;
	default:
		return untrusted->record->kind == OWN_NO_OPEN_CALLS;
	}
}

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	struct open_call *open = state;
	uint8_t call = (uint8_t)open->pairing.id;

	codec_each(codec, &call, &open->pairing.is_open, &open->pairing.is_tainted,
		   &open->pairing.entry_ts, &open->extent, &open->pairing.channel,
		   &open->no_open_ts);
	open->pairing.id = codec_check(codec, call <= CALL_OTHER) ? call : CALL_OTHER;
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct open_call *open = shard_thread_state(shard, thread);

	switch (record->kind) {
	case OWN_SUMS:
		merge_sums(shard, thread, record, numbers);
		break;
	case OWN_OPEN:
		merge_open(shard, open, record, numbers);
		break;
	case OWN_EXIT:
		merge_exit(shard, thread, open, record);
		break;
	case OWN_NO_OPEN_CALLS:
		call_forget(&open->pairing);
		break;
	default:
		assert(!"a record of io has a kind of its own");
	}
}

static void on_no_open_calls(struct shard *shard, struct thread *thread)
{
	struct open_call *open = shard_thread_state(shard, thread);

	call_forget(&open->pairing);
	open->no_open_ts = shard_switch_in_ts(thread);
}

/* In the gap, the call may have ended and another one of its kind may have begun. */
static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct open_call *open = shard_thread_state(shard, thread);

	if (what & DOUBT_THREAD) {
		call_forget(&open->pairing);
	} else {
		call_gap(&open->pairing, shard_may_miss(shard, open->pairing.channel));
	}
}

#define ENTRY(event_, call, arg, arg2)                                                             \
	{                                                                                          \
		event_, { arg, arg2, "context.tid" }, on_call_entry, call                          \
	}
#define EXIT(event_, call)                                                                         \
	{                                                                                          \
		event_, { "ret", "context.tid" }, on_call_exit, call                               \
	}

#define OTHER(event_, handler)                                                                     \
	{                                                                                          \
		event_, { "context.tid" }, handler, CALL_OTHER, .may_rest = true                   \
	}

static const struct need needs[] = {
#define X(name, operation, effect, fd, fd2, arg, arg2, path)                                       \
	ENTRY("syscall_entry_" #name, FILE_CALL_##name, arg, arg2),                                \
		ENTRY("compat_syscall_entry_" #name, FILE_CALL_##name, arg, arg2),                 \
		ENTRY("sys_" #name, FILE_CALL_##name, arg, arg2),                                  \
		ENTRY("compat_sys_" #name, FILE_CALL_##name, arg, arg2),                           \
		EXIT("syscall_exit_" #name, FILE_CALL_##name),                                     \
		EXIT("compat_syscall_exit_" #name, FILE_CALL_##name),
	MOVING_CALLS(X)
#undef X
		EXIT("exit_syscall", FILE_CALL_UNNAMED),
	OTHER("syscall_entry_*", on_other_entry),
	OTHER("compat_syscall_entry_*", on_other_entry),
	OTHER("sys_*", on_other_entry),
	OTHER("compat_sys_*", on_other_entry),
	OTHER("syscall_exit_*", on_other_exit),
	OTHER("compat_syscall_exit_*", on_other_exit),
};

#define FIGURE_COLUMNS                                                                             \
	.columns = {                                                                               \
		[READ_BYTES] = { "read_bytes", "READ", UNIT_BYTES },                               \
		[WRITE_BYTES] = { "write_bytes", "WRITTEN", UNIT_BYTES },                          \
		[READS] = { "reads", "READS", UNIT_COUNT },                                        \
		[WRITES] = { "writes", "WRITES", UNIT_COUNT },                                     \
		[ERRORS] = { "errors", "ERRORS", UNIT_COUNT },                                     \
		[READ_NS] = { "read_ns", "READ TIME", UNIT_NS },                                   \
		[WRITE_NS] = { "write_ns", "WRITE TIME", UNIT_NS },                                \
	}

static const char *const entries[] = { MOVING_CALLS(CALL_ENTRY_NAMES) NULL };
static const char *const exits[] = { MOVING_CALLS(CALL_EXIT_NAMES) "exit_syscall", NULL };
static const char *const exits_of_reads[] = { MOVING_CALLS(CALL_READ_NAMES) "exit_syscall", NULL };
static const char *const exits_of_writes[] = { MOVING_CALLS(CALL_WRITE_NAMES) "exit_syscall",
					       NULL };

static const struct essential essentials[] = {
	{ exits_of_reads,
	  { [TOTALS] = COLUMN(READ_BYTES),
	    [THREADS] = COLUMN(READ_BYTES) | COLUMN(READS) | COLUMN(READ_NS) } },
	{ exits_of_writes,
	  { [TOTALS] = COLUMN(WRITE_BYTES),
	    [THREADS] = COLUMN(WRITE_BYTES) | COLUMN(WRITES) | COLUMN(WRITE_NS) } },
	{ exits, { [THREADS] = COLUMN(ERRORS) } },
	{ entries, { [THREADS] = COLUMN(READ_NS) | COLUMN(WRITE_NS) } },
};

const struct analysis analysis_io = {
	.name = "io",
	.summary = "bytes, calls, errors and time of read and write system calls",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.worker_state_size = sizeof(struct io_worker),
	.thread_state_size = sizeof(struct open_call),
	.uses_threads = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				[READ_BYTES] = { "read_bytes", "read", UNIT_BYTES },
				[WRITE_BYTES] = { "write_bytes", "written", UNIT_BYTES },
			},
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 1u << READ_BYTES | 1u << WRITE_BYTES,
			FIGURE_COLUMNS,
		},
		[PROCESSES] = {
			PROCESSES_TABLE,
			.sort_mask = 1u << READ_BYTES | 1u << WRITE_BYTES,
			FIGURE_COLUMNS,
		},
		[CONTAINERS] = { CONTAINERS_TABLE, .sort_mask = 1u << READ_BYTES | 1u << WRITE_BYTES, FIGURE_COLUMNS },
	},
	.on_oncpu_end = on_oncpu_end,
	.on_record = on_record,
	.accepts = accepts,
	.on_checkpoint = on_checkpoint,
	.on_doubt = on_doubt,
	.rare = &(const struct analysis_rare){ .on_no_open_calls = on_no_open_calls },
};
