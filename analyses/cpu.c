/*
 * cpu: how long CPUs were busy, and which threads ran on them (doc/definitions.md, 4.3).
 *
 * For each CPU, busy + idle + unknown is exactly the length of the window.  The run times of all
 * threads add up to the busy times of all CPUs.  The engine follows sched_switch and reports every
 * stretch of time once.
 */
#include "engine/contract/merge.h"

enum table_index { TOTALS, CPUS, THREADS, PROCESSES };
enum { BUSY, IDLE, UNKNOWN };
enum { RUN, SWITCHES, MIGRATIONS, PRIO, PREEMPTIONS, LONGEST_NS };

static void on_cpu(struct shard *shard, struct cpu *cpu, enum run_kind kind, uint64_t ns)
{
	static const unsigned int column[] = {
		[RUN_THREAD] = BUSY,
		[RUN_IDLE] = IDLE,
		[RUN_UNKNOWN] = UNKNOWN,
	};

	shard_trace_row(shard, TOTALS)[column[kind]] += ns;
	shard_cpu_row(shard, cpu, CPUS)[column[kind]] += ns;
}

static void on_run(struct shard *shard, struct thread *thread, uint64_t ns)
{
	shard_thread_row(shard, thread, THREADS)[RUN] += ns;
}

static void on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	uint64_t *row = shard_thread_row(shard, thread, THREADS);

	row[SWITCHES]++;
	row[MIGRATIONS] += in->is_migration;
}

/* An on-CPU interval counts with its whole length, whatever windows ended meanwhile.  A switch that
 * is no preemption is voluntary, as far as the kernel says. */
static void on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	uint64_t *row = shard_thread_row(shard, thread, THREADS);

	row[PREEMPTIONS] += out->flags & RECORD_PREEMPTED ? 1 : 0;
	if (out->in_ts != 0) {
		column_raise(row, LONGEST_NS, out->ts - out->in_ts);
	}
}

#define FIGURES                                                                                    \
	.columns = {                                                                               \
		[RUN] = { "run_ns", "RUN", UNIT_NS, COLUMN_SUM, true },                            \
		[SWITCHES] = { "switches", "SWITCHES", UNIT_COUNT },                               \
		[MIGRATIONS] = { "migrations", "MIGR", UNIT_COUNT },                               \
		[PRIO] = { "prio", "PRIO", UNIT_COUNT, COLUMN_PRIO },                              \
		[PREEMPTIONS] = { "preemptions", "PREEMPTED", UNIT_COUNT },                        \
		[LONGEST_NS] = { "longest_ns", "LONGEST", UNIT_NS, COLUMN_MAX },                   \
	}

const struct analysis analysis_cpu = {
	.name = "cpu",
	.summary = "time of each CPU and thread, switches, migrations",
	.uses_threads = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.columns = {
				[BUSY] = { "busy_ns", "busy", UNIT_NS, COLUMN_SUM, true },
				[IDLE] = { "idle_ns", "idle", UNIT_NS, COLUMN_SUM, true },
				[UNKNOWN] = { "unknown_ns", "unknown", UNIT_NS, COLUMN_SUM, true },
			},
		},
		[CPUS] = {
			.key = "cpus",
			.scope = SCOPE_CPU,
			.sort_mask = 1u << BUSY,
			.columns = {
				[BUSY] = { "busy_ns", "BUSY", UNIT_NS, COLUMN_SUM, true },
				[IDLE] = { "idle_ns", "IDLE", UNIT_NS },
				[UNKNOWN] = { "unknown_ns", "UNKNOWN", UNIT_NS },
			},
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 1u << RUN,
			FIGURES,
		},
		[PROCESSES] = {
			.key = "processes",
			.scope = SCOPE_PROCESS,
			.sort_mask = 1u << RUN,
			FIGURES,
		},
	},
	.on_cpu = on_cpu,
	.on_run = on_run,
	.on_switch_in = on_switch_in,
	.on_switch_out = on_switch_out,
};
