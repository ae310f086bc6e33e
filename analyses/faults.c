/*
 * faults: page faults by thread, and those of user code that sleep (doc/definitions.md, 4.14).
 *
 * No event marks the end of a fault: what its thread does next shows what it was.
 */
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"

enum { TOTALS, THREADS, PROCESSES, LONGEST };
enum { USER, MINOR, MAJOR, KERNEL, MAJOR_TIME };
enum { OWN_USER = RECORD_OWN, OWN_COUNTED, OWN_KERNEL, OWN_ENTRY };

#define USER_FAULT "x86_exceptions_page_fault_user"

struct worker_faults {
	bool is_asked, is_open_ended; /* the trace shows no system calls, or has no user faults */
	bool is_here;                 /* user faults are in this stream, not in another one */
	bool has_entry;               /* told since the last fault, or since the switch in */
};

static void on_event(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t kind)
{
	enum { TID };
	struct worker_faults *faults = state;

	if (!faults->is_asked) {
		faults->is_asked = true;
		faults->is_open_ended = !worker_has_event(worker, "syscall_entry_futex") ||
					!worker_has_event(worker, USER_FAULT);
	}
	if (kind == OWN_USER) {
		faults->is_here = true;
		faults->has_entry = false;
		kind = faults->is_open_ended ? OWN_COUNTED : OWN_USER;
	}
	if (kind != OWN_ENTRY || !(faults->is_open_ended || faults->has_entry)) {
		(void)worker_emit(worker, event->ts, worker_tid_of(worker, event, TID), kind);
	}
	faults->has_entry |= kind == OWN_ENTRY && faults->is_here && worker_sees_switches(worker);
	worker_rest(worker, faults->is_open_ended || faults->has_entry);
}

static void on_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window)
{
	struct worker_faults *faults = state;

	if (faults->has_entry && !is_window) {
		faults->has_entry = false;
		worker_rest(worker, false);
	}
}

struct fault {
	uint64_t begin; /* of the last one of user code; 0: it is known what it was */
	uint64_t left;  /* when the thread left its CPU since then, asleep; 0: it did not */
};

static void count(struct shard *shard, struct thread *thread, unsigned int column)
{
	shard_trace_row(shard, TOTALS)[column]++;
	shard_thread_row(shard, thread, THREADS)[column]++;
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct fault *fault = shard_thread_state(shard, thread);

	if (record->kind == OWN_KERNEL) {
		count(shard, thread, KERNEL);
		return;
	}
	if (fault->begin != 0 && fault->left == 0) { /* else a switch-in is missing */
		count(shard, thread, MINOR);
	}
	if (record->kind != OWN_ENTRY) {
		count(shard, thread, USER);
	}
	*fault = (struct fault){ .begin = record->kind == OWN_USER ? record->ts : 0 };
}

static void on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	struct fault *fault = shard_thread_state(shard, thread);

	if (!out->is_tie) {
		if ((out->flags & RECORD_STOPPED) && fault->begin != 0 && fault->left == 0) {
			count(shard, thread, MINOR); /* a signal comes behind the fault */
			fault->begin = 0;
		}
		fault->begin = fault->left != 0 ? 0 : fault->begin; /* as above */
		fault->left = fault->begin != 0 && (out->flags & RECORD_SLEEPS) ? out->ts : 0;
	}
}

static void on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	struct fault *fault = shard_thread_state(shard, thread);
	uint64_t ns = in->ts - fault->begin;

	if (fault->left != 0) {
		count(shard, thread, MAJOR);
		column_add(shard_trace_row(shard, TOTALS), MAJOR_TIME, ns);
		shard_thread_row(shard, thread, THREADS)[MAJOR_TIME] += ns;
		shard_longest(shard, LONGEST,
			      &(struct instance){
				      .ns = ns, .end = in->ts, .cpu = in->cpu, .thread = thread });
		*fault = (struct fault){ 0 };
	}
}

static const struct need needs[] = {
	{ USER_FAULT, { "context.tid" }, on_event, OWN_USER },
	{ "x86_exceptions_page_fault_kernel", { "context.tid" }, on_event, OWN_KERNEL },
	/* Signals come behind the fault, too, before a stop or a core dump. */
	{ "signal_deliver", { "context.tid" }, on_event, OWN_ENTRY, .may_rest = true },
	{ "syscall_entry_*", { "context.tid" }, on_event, OWN_ENTRY, .may_rest = true },
	{ "compat_syscall_entry_*", { "context.tid" }, on_event, OWN_ENTRY, .may_rest = true },
	{ "sys_*", { "context.tid" }, on_event, OWN_ENTRY, .may_rest = true },
	{ "compat_sys_*", { "context.tid" }, on_event, OWN_ENTRY, .may_rest = true },
};

#define COUNTS                                                                                     \
	[USER] = { "user", "USER", UNIT_COUNT }, [MINOR] = { "minor", "MINOR", UNIT_COUNT },       \
	[MAJOR] = { "major", "MAJOR", UNIT_COUNT }, [KERNEL] = { "kernel", "KERNEL", UNIT_COUNT }
#define OF_THREADS                                                                                 \
	.sort_mask = 1u << USER | 1u << KERNEL,                                                    \
	.columns = { COUNTS, [MAJOR_TIME] = { "major_ns", "IN MAJOR", UNIT_NS } }

/* What a fault was, of those of user code. */
#define MAJOR_OR_MINOR                                                                             \
	{                                                                                          \
		[TOTALS] = COLUMN(MINOR) | COLUMN(MAJOR) | COLUMN(MAJOR_TIME),                     \
		[THREADS] = COLUMN(MINOR) | COLUMN(MAJOR) | COLUMN(MAJOR_TIME),                    \
		[LONGEST] = ALL_COLUMNS,                                                           \
	}

static const struct essential essentials[] = {
	{ ANY_EVENT(USER_FAULT),
	  { [TOTALS] = ALL_COLUMNS ^ COLUMN(KERNEL),
	    [THREADS] = ALL_COLUMNS ^ COLUMN(KERNEL),
	    [LONGEST] = ALL_COLUMNS } },
	{ ANY_EVENT("x86_exceptions_page_fault_kernel"),
	  { [TOTALS] = COLUMN(KERNEL), [THREADS] = COLUMN(KERNEL) } },
	{ ANY_EVENT("syscall_entry_futex"), MAJOR_OR_MINOR },
	{ ANY_EVENT("sched_switch"), MAJOR_OR_MINOR },
};

const struct analysis analysis_faults = {
	.name = "faults",
	.summary = "page faults by thread, and how long the major ones took",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.uses_threads = true,
	.worker_state_size = sizeof(struct worker_faults),
	.thread_state_size = sizeof(struct fault),
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = { COUNTS, [MAJOR_TIME] = { "major_time", "major faults took",
							      UNIT_NS, COLUMN_HISTOGRAM } },
		},
		[THREADS] = { .key = "threads", .scope = SCOPE_THREAD, OF_THREADS },
		[PROCESSES] = { .key = "processes", .scope = SCOPE_PROCESS, OF_THREADS },
		[LONGEST] = {
			.key = "longest",
			.scope = SCOPE_LONGEST,
			.columns = { { "ns", "MAJOR FAULT", UNIT_NS } },
		},
	},
	.on_oncpu_end = on_oncpu_end,
	.on_record = on_record,
	.on_switch_in = on_switch_in,
	.on_switch_out = on_switch_out,
};
