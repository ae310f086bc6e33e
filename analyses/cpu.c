/*
 * cpu: how long CPUs were busy, and which threads ran on them (doc/definitions.md, 4.3).
 *
 * For each CPU, busy + idle + unknown is exactly the length of the window.  The run times of all
 * threads add up to the busy times of all CPUs.  The engine follows sched_switch and reports every
 * stretch of time once.
 *
 * The longest on-CPU interval: an open one counts in each window with its length so far.  So the
 * total, which has the maximum of all windows, is the same for windows of any length.
 */
#include "engine/contract/analysis-rare.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"

enum table_index { TOTALS, CPUS, THREADS, PROCESSES, CONTAINERS };
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

/*
 * The on-CPU interval of a thread.  Where switches are lost, a thread seems to run on two CPUs at a
 * time.  Then the interval ends where the next one begins, and what it still seems to run elsewhere
 * counts as run time only.  Parts of it may come late, so nothing is counted when they come.
 */
struct oncpu {
	uint64_t since; /* ns: switched in, or the first part that is known */
	uint64_t until; /* ns: the end of the last part */
	uint32_t cpu_number;
	uint16_t state;
	bool has_run; /* a part came since the end of the last window */
};

_Static_assert(sizeof(struct oncpu) == 24, "with the thread and its row, two cache lines");

enum oncpu_state { ONCPU_UNSEEN, ONCPU_OPEN, ONCPU_CLOSED };

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct oncpu *oncpu = state;

	codec_each(checkpoint->codec, &oncpu->since, &oncpu->until, &oncpu->cpu_number,
		   &oncpu->state, &oncpu->has_run);
}

static void count_longest(struct shard *shard, struct thread *thread, const struct oncpu *oncpu,
			  uint64_t end)
{
	if (oncpu->state == ONCPU_OPEN && end > oncpu->since) {
		column_raise(shard_thread_row(shard, thread, THREADS), LONGEST_NS,
			     end - oncpu->since);
	}
}

static void on_run(struct shard *shard, struct thread *thread, const struct run_part *part)
{
	struct oncpu *oncpu = shard_thread_state(shard, thread);

	shard_thread_row(shard, thread, THREADS)[RUN] += part->ns;
	if (oncpu->state == ONCPU_UNSEEN) {
		*oncpu = (struct oncpu){ .since = part->ts,
					 .cpu_number = part->cpu_number,
					 .state = ONCPU_OPEN };
	}
	if (oncpu->state == ONCPU_OPEN && oncpu->cpu_number == part->cpu_number) {
		oncpu->until = part->ts + part->ns;
		oncpu->has_run = true;
	}
}

static void on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in)
{
	struct oncpu *oncpu = shard_thread_state(shard, thread);
	uint64_t *row = shard_thread_row(shard, thread, THREADS);

	count_longest(shard, thread, oncpu, in->ts);
	*oncpu = (struct oncpu){
		.since = in->ts, .until = in->ts, .cpu_number = in->cpu_number, .state = ONCPU_OPEN
	};
	row[SWITCHES]++;
	row[MIGRATIONS] += in->is_migration;
}

/* A switch that is no preemption is voluntary, as far as the kernel says. */
static void on_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out)
{
	struct oncpu *oncpu = shard_thread_state(shard, thread);

	if (out->flags & RECORD_PREEMPTED) {
		shard_thread_row(shard, thread, THREADS)[PREEMPTIONS]++;
	}
	if (!out->is_tie) { /* else the interval that it ends was counted */
		count_longest(shard, thread, oncpu, out->ts);
		oncpu->state = ONCPU_CLOSED;
	}
}

/* When it is known to run again, another interval has begun. */
static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct oncpu *oncpu = shard_thread_state(shard, thread);

	if (what & DOUBT_SWITCHES) {
		count_longest(shard, thread, oncpu, oncpu->until);
		oncpu->state = ONCPU_UNSEEN;
	}
}

/* What is open counts in each window with its length so far. */
static void on_window_end(struct shard *shard, struct thread *thread, uint64_t end)
{
	struct oncpu *oncpu = shard_thread_state(shard, thread);

	if (oncpu->has_run) {
		count_longest(shard, thread, oncpu, oncpu->until);
		oncpu->has_run = false;
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

static const struct essential essentials[] = {
	{ ANY_EVENT("sched_switch") },
};

const struct analysis analysis_cpu = {
	.name = "cpu",
	.summary = "time of each CPU and thread, switches, migrations",
	WITH_ESSENTIALS(essentials),
	.uses_threads = true,
	.thread_state_size = sizeof(struct oncpu),
	.on_checkpoint = on_checkpoint,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.of_all = OF_ALL_THREADS,
			.columns = {
				[BUSY] = { "busy_ns", "busy", UNIT_NS, COLUMN_SUM, true },
				[IDLE] = { "idle_ns", "idle", UNIT_NS, COLUMN_SUM, true, REST_ALL },
				[UNKNOWN] = { "unknown_ns", "unknown", UNIT_NS, COLUMN_SUM, true,
					      REST_ALL },
			},
		},
		[CPUS] = {
			.key = "cpus",
			.scope = SCOPE_CPU,
			.of_all = OF_ALL_THREADS,
			.sort_mask = 1u << BUSY,
			.columns = {
				[BUSY] = { "busy_ns", "BUSY", UNIT_NS, COLUMN_SUM, true },
				[IDLE] = { "idle_ns", "IDLE", UNIT_NS, .rest = REST_ALL },
				[UNKNOWN] = { "unknown_ns", "UNKNOWN", UNIT_NS, .rest = REST_ALL },
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
			.has_containers = true,
			.sort_mask = 1u << RUN,
			FIGURES,
		},
		[CONTAINERS] = { CONTAINERS_TABLE, .sort_mask = 1u << RUN, FIGURES },
	},
	.rare = &(const struct analysis_rare){ .on_cpu = on_cpu, .on_run = on_run },
	.on_switch_in = on_switch_in,
	.on_switch_out = on_switch_out,
	.on_doubt = on_doubt,
	.on_window_end = on_window_end,
	.is_over_at_exit = true,
};
