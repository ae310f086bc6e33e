/*
 * cpu: how long CPUs were busy, and which threads ran on them (doc/definitions.md, 4.3).
 *
 * For each CPU, busy + idle + unknown is exactly the length of the window.  The run times of all
 * threads add up to the busy times of all CPUs.  The engine follows sched_switch and reports every
 * stretch of time once.
 *
 * An on-CPU interval is reported in parts, one for each window.  Their sum so far is what the
 * interval counts as the longest one with: so it counts in each window in which it is open, and
 * the total, which has the maximum of all windows, is the same for windows of any length.
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

/* A thread on a CPU. */
struct oncpu {
	uint64_t ns; /* since it was switched in, or since the trace began */
};

static void on_run(struct shard *shard, struct thread *thread, uint64_t ns)
{
	struct oncpu *oncpu = shard_thread_state(shard, thread);
	uint64_t *row = shard_thread_row(shard, thread, THREADS);

	row[RUN] += ns;
	oncpu->ns += ns;
	column_raise(row, LONGEST_NS, oncpu->ns);
}

static void on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	struct oncpu *oncpu = shard_thread_state(shard, thread);
	uint64_t *row = shard_thread_row(shard, thread, THREADS);

	oncpu->ns = 0;
	row[SWITCHES]++;
	row[MIGRATIONS] += in->is_migration;
}

/* A switch that is no preemption is voluntary, as far as the kernel says. */
static void on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	if (out->flags & RECORD_PREEMPTED) {
		shard_thread_row(shard, thread, THREADS)[PREEMPTIONS]++;
	}
}

/* When it is known to run again, another interval has begun. */
static void on_unseen(struct shard *shard, struct thread *thread)
{
	struct oncpu *oncpu = shard_thread_state(shard, thread);

	oncpu->ns = 0;
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

static const struct essential essentials[] = {
	{ ANY_EVENT("sched_switch") },
};

const struct analysis analysis_cpu = {
	.name = "cpu",
	.summary = "time of each CPU and thread, switches, migrations",
	.essentials = essentials,
	.essential_count = sizeof(essentials) / sizeof(essentials[0]),
	.uses_threads = true,
	.thread_state_size = sizeof(struct oncpu),
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.of_all = OF_ALL_THREADS,
			.columns = {
				[BUSY] = { "busy_ns", "busy", UNIT_NS, COLUMN_SUM, true },
				[IDLE] = { "idle_ns", "idle", UNIT_NS, COLUMN_SUM, true },
				[UNKNOWN] = { "unknown_ns", "unknown", UNIT_NS, COLUMN_SUM, true },
			},
		},
		[CPUS] = {
			.key = "cpus",
			.scope = SCOPE_CPU,
			.of_all = OF_ALL_THREADS,
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
	.on_unseen = on_unseen,
};
