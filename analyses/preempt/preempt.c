/*
 * preempt: see preempt.h; the worker's half and the descriptor.
 */
#include "analyses/preempt/preempt.h"
#include "engine/contract/untrusted.h"
#include "kernel/thread-identity.h"

/* ---- worker's half ---- */

/* A CPU in 32 bits: -1: unknown. */
static int32_t cpu_of(const struct trace_event *event, unsigned int field)
{
	uint64_t cpu = event_u64(event, field, UINT64_MAX);

	return cpu <= INT32_MAX ? (int32_t)cpu : -1;
}

static void on_wake(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t wake_event)
{
	enum { TID, TARGET, SUCCESS };
	enum wake_kind kind = wake_source_kind(worker_wakes(worker), wake_event);
	int64_t tid = event_i64(event, TID, 0);
	struct record *record;

	if (kind != WAKE_NONE && wake_source_wakes(tid, event_u64(event, SUCCESS, 1))) {
		record = worker_emit(worker, event->ts, (int32_t)tid, OWN_WAKE);
		record->arg64 = worker_cpu(worker);
		record->arg32 = cpu_of(event, TARGET);
		record->arg16 = (uint16_t)kind;
	}
}

static void on_migrate(struct worker *worker, void *state, const struct trace_event *event,
		       uint32_t user)
{
	enum { TID, CPU };
	int32_t tid = (int32_t)event_i64(event, TID, 0);

	if (tid > 0 && event_has(event, CPU)) {
		worker_emit(worker, event->ts, tid, OWN_MIGRATE)->arg32 = cpu_of(event, CPU);
	}
}

static void on_exec(struct worker *worker, void *state, const struct trace_event *event,
		    uint32_t user)
{
	enum { TID, OLD_TID };
	int64_t tid = event_i64(event, TID, 0);

	if (thread_takes_tid(tid, event_i64(event, OLD_TID, 0))) {
		(void)worker_emit(worker, event->ts, (int32_t)tid, OWN_EXEC);
	}
}

static void on_lost(struct worker *worker, void *state, uint64_t ts, bool is_over)
{
	if (worker_sees_switches(worker)) {
		worker_emit_entity(worker, ts, worker_cpu(worker), is_over ? OWN_FOUND : OWN_LOST)
			->arg64 = worker_cpu(worker);
	}
}

static const struct need needs[] = {
	WAKE_ROWS(WAKE_NEED, on_wake, "tid", "target_cpu", "success"),
	{ "sched_migrate_task", { "tid", "dest_cpu" }, on_migrate, 0 },
	{ "sched_process_exec", { "tid", "old_tid" }, on_exec, 0 },
};

/* ---- the descriptor ---- */

static const struct essential essentials[] = {
	{ ANY_EVENT("sched_switch"), { 0 } },
	{ ANY_EVENT(WAKE_SOURCES), { 0 } },
};

#define OF_PAIRS                                                                                   \
	.sort_mask = 1u << PAIR_WAITED, .columns = {                                               \
		[PAIR_WAITED] = { "waited_ns", "WAITED", UNIT_NS, .is_share = true },              \
		[PAIR_TIMES] = { "times", "TIMES", UNIT_COUNT },                                   \
		[PAIR_LONGEST] = { "longest_ns", "LONGEST", UNIT_NS, COLUMN_MAX },                 \
	}

const struct analysis analysis_preempt = {
	.name = "preempt",
	.summary = "who had the CPU that threads waited for: pairs of threads, with times",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.thread_state_size = sizeof(struct preempt_thread),
	.trace_state_size = sizeof(struct preempt_trace),
	.uses_threads = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				[WAITED] = { "waited_ns", "waited", UNIT_NS },
				[WAITED_IDLE] = { "idle_ns", "CPU idle", UNIT_NS },
				[WAITED_UNKNOWN] = { "unknown_ns", "not known", UNIT_NS },
			},
		},
		[PAIRS] = {
			.key = "pairs",
			.scope = SCOPE_PAIR,
			.owner_key = "by_tid",
			.by_key = "by_comm",
			.title = "THREAD (TID) BY THREAD (TID)",
			OF_PAIRS,
		},
		[PROCESS_PAIRS] = {
			.key = "process_pairs",
			.scope = SCOPE_PROCESS_PAIR,
			.owner_key = "by_pid",
			.by_key = "by_comm",
			.title = "PROCESS (PID) BY PROCESS (PID)",
			OF_PAIRS,
		},
		[CONTAINER_PAIRS] = {
			.key = "container_pairs",
			.scope = SCOPE_CONTAINER_PAIR,
			.id_key = "pid_ns",
			.name_key = "name",
			.owner_key = "by_pid_ns",
			.by_key = "by_name",
			.title = "CONTAINER BY CONTAINER",
			OF_PAIRS,
		},
	},
	.on_record = preempt_on_record,
	.on_switch_in = preempt_on_switch_in,
	.on_switch_out = preempt_on_switch_out,
	.on_fork = preempt_on_fork,
	.on_seen = preempt_on_seen,
	.on_doubt = preempt_on_doubt,
	.on_checkpoint = preempt_on_checkpoint,
	.on_ordered = preempt_on_ordered,
	.on_trace_forget = preempt_on_trace_forget,
	.on_trace_checkpoint = preempt_on_trace_checkpoint,
	.rare = &(const struct analysis_rare){
		.on_lost = on_lost,
		.on_initial_cpu = preempt_on_initial_cpu,
		.on_ordered_window_end = preempt_on_window_end,
	},
};
