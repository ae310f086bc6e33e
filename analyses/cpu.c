/*
 * cpu: how long CPUs were busy, and which threads ran on them (doc/definitions.md, 4.3).
 *
 * For each CPU, busy + idle + unknown is exactly the length of the window.  The run times of all
 * threads add up to the busy times of all CPUs.  The engine follows sched_switch and reports every
 * stretch of time once.
 *
 * Interrupts count beside that: what they interrupt is busy or idle all the same.  A CPU is used in
 * busy time, and where it handles interrupts while idle.
 *
 * The longest on-CPU interval: an open one counts in each window with its length so far.  So the
 * total, which has the maximum of all windows, is the same for windows of any length.
 */
#include <string.h>

#include "analyses/interrupts.h"
#include "base/mem.h"
#include "engine/contract/analysis-rare.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"

enum table_index { TOTALS, CPUS, THREADS, PROCESSES, CONTAINERS };
enum { BUSY, IDLE, UNKNOWN, IRQ, USED };
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
	if (kind == RUN_THREAD) {
		shard_trace_row(shard, TOTALS)[USED] += ns;
		shard_cpu_row(shard, cpu, CPUS)[USED] += ns;
	}
}

/* ---- interrupts ---- */

/*
 * A worker adds up the interrupts that begin and end in one slice.  What they come to is one
 * record, INTERRUPT_SUMS, before any other record of that CPU's interrupts:
 *
 *     slice ends      those that are open become records, INTERRUPT_OPEN: the merger pairs them
 *     exit            without its entry in the sums: the merger may have it
 *     events missing  those that are open are dropped
 *
 * Where it is not known whether the CPU is idle, where soft interrupts can be preempted, and where
 * another stream may have interrupts of the CPU, each entry and exit is a record.
 */
enum interrupt_sums { INTERRUPT_SUMS = INTERRUPT_KINDS, INTERRUPT_OPEN };

/* Words beside the records.  INTERRUPT_SUMS: own time of all, of those of an idle CPU, and what
 * they lasted that are nested in no other of them; its arg16: how many were open at a time.
 * INTERRUPT_OPEN: of an interrupt; its arg16 and arg32 are those of INTERRUPT_ENTRY. */
enum { SUM_OWN, SUM_IDLE, SUM_OUTER, SUM_WORDS };
enum { OPEN_SINCE, OPEN_NESTED, OPEN_NUMBER, OPEN_WORDS };

struct cpu_worker {
	struct interrupt_stays stays;
	bool is_asked, adds; /* in this chunk, where it is known which thread runs */
	uint32_t deepest;
	uint64_t sums[SUM_WORDS];
	struct interrupts open;
};

static void tell_interrupt(struct worker *worker, struct cpu_worker *own,
			   const struct trace_event *event, unsigned int kind, uint32_t flags)
{
	interrupt_stay(worker, &own->stays, event->ts);
	worker_note_current(worker,
			    interrupt_emit(worker, event->ts, kind, flags, event_u64(event, 0, 0)));
}

static void tell_sums(struct worker *worker, struct cpu_worker *own, uint64_t ts)
{
	if (own->deepest > 0) {
		(void)interrupt_emit(worker, ts, INTERRUPT_SUMS, own->deepest,
				     worker_numbers(worker, own->sums, SUM_WORDS));
		memset(own->sums, 0, sizeof(own->sums));
		own->deepest = 0;
	}
}

static void tell_open(struct worker *worker, struct cpu_worker *own, uint64_t ts)
{
	tell_sums(worker, own, ts);
	for (uint32_t i = 0; i < own->open.depth; i++) {
		const struct interrupt *one = &own->open.stack[i];
		const uint64_t words[OPEN_WORDS] = { [OPEN_SINCE] = one->entry_ts,
						     [OPEN_NESTED] = one->nested_ns,
						     [OPEN_NUMBER] = one->number };

		interrupt_emit(worker, ts, INTERRUPT_OPEN, one->is_soft ? INTERRUPT_SOFT : 0,
			       worker_numbers(worker, words, OPEN_WORDS))
			->arg32 = one->tid;
	}
	own->open.depth = 0;
}

/* Nothing is open where it does not: known threads become unknown in a gap only. */
static bool adds_up(struct worker *worker, struct cpu_worker *own)
{
	if (!own->is_asked) {
		own->is_asked = true;
		own->adds = worker_has_cpu_alone(worker) && !worker_preempts_softirqs(worker);
	}
	return own->adds && worker_tid(worker) != TID_CURRENT;
}

static void on_entry(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t flags)
{
	struct cpu_worker *own = state;

	if (!event_has(event, 0)) {
		return;
	}
	if (!adds_up(worker, own)) {
		tell_interrupt(worker, own, event, INTERRUPT_ENTRY, flags);
		return;
	}
	(void)interrupts_enter(&own->open, event->ts,
			       &(struct interrupt){ .number = (uint32_t)event_u64(event, 0, 0),
						    .tid = worker_tid(worker),
						    .is_soft = flags & INTERRUPT_SOFT });
	own->deepest = own->deepest < own->open.depth ? own->open.depth : own->deepest;
}

static void on_exit_(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t flags)
{
	const struct interrupt like = { .number = (uint32_t)event_u64(event, 0, 0),
					.is_soft = flags & INTERRUPT_SOFT };
	struct cpu_worker *own = state;
	const struct interrupt *over = NULL;

	if (!event_has(event, 0)) {
		return;
	}
	if (own->open.depth > 0) {
		(void)interrupts_leave(&own->open, event->ts, &like, &over);
	}
	if (!over) {
		tell_open(worker, own, event->ts);
		tell_interrupt(worker, own, event, INTERRUPT_EXIT, flags);
		return;
	}
	own->sums[SUM_OWN] += interrupt_own_ns(over);
	own->sums[SUM_IDLE] += over->tid == 0 ? interrupt_own_ns(over) : 0;
	own->sums[SUM_OUTER] += own->open.depth == 0 ? over->ns : 0;
}

static void on_slice_end(struct worker *worker, void *state, uint64_t ts)
{
	tell_open(worker, state, ts);
}

static void on_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window)
{
	struct cpu_worker *own = state;

	interrupt_stay_ends(worker, &own->stays, ts, is_window);
}

static void on_lost(struct worker *worker, void *state, uint64_t ts, bool is_over)
{
	struct cpu_worker *own = state;

	if (!is_over) {
		own->open.depth = 0;
		tell_sums(worker, own, ts);
		(void)interrupt_emit(worker, ts, INTERRUPT_LOST, 0, 0);
	}
}

/* Of a CPU, an entity. */
struct cpu_interrupts {
	struct interrupts interrupts;
	uint64_t irq_ns, idle_ns; /* in the open window: of all, and of those of an idle CPU */
};

static void add_interrupts(const struct shard *shard, struct cpu_interrupts *cpu, uint64_t ns,
			   uint64_t idle_ns)
{
	if (!shard_leaves_out(shard, CPUS)) {
		cpu->irq_ns += ns;
		cpu->idle_ns += idle_ns;
	}
}

/* Those in the sums came on top of what is open: the newest of that was interrupted by all. */
static void add_sums(const struct shard *shard, struct cpu_interrupts *cpu, uint32_t deepest,
		     const uint64_t sums[SUM_WORDS])
{
	struct interrupts *open = &cpu->interrupts;

	(void)interrupts_trim(open, INTERRUPTS_NEST_MAX - deepest);
	if (open->depth > 0 && open->stack[open->depth - 1].is_on) {
		open->stack[open->depth - 1].nested_ns += sums[SUM_OUTER];
	}
	add_interrupts(shard, cpu, sums[SUM_OWN], sums[SUM_IDLE]);
}

static void reopen_interrupt(struct cpu_interrupts *cpu, const struct record *record,
			     const uint64_t words[OPEN_WORDS])
{
	const struct interrupt like = { .number = (uint32_t)words[OPEN_NUMBER],
					.tid = record->arg32,
					.is_soft = record->arg16 & INTERRUPT_SOFT };

	(void)interrupts_enter(&cpu->interrupts, words[OPEN_SINCE], &like);
	cpu->interrupts.stack[cpu->interrupts.depth - 1].nested_ns = words[OPEN_NESTED];
}

static void end_interrupt(const struct shard *shard, struct cpu_interrupts *cpu,
			  const struct record *record)
{
	const struct interrupt like = { .number = (uint32_t)record->arg64,
					.is_soft = record->arg16 & INTERRUPT_SOFT };
	const struct interrupt *over;

	(void)interrupts_leave(&cpu->interrupts, record->ts, &like, &over);
	if (over) {
		add_interrupts(shard, cpu, interrupt_own_ns(over),
			       over->tid == 0 ? interrupt_own_ns(over) : 0);
	}
}

/* Figures of CPUs may be touched when the window ends, and not before (merge.h). */
static void end_interrupts_window(struct shard *shard, struct thread *entity,
				  struct cpu_interrupts *cpu)
{
	struct cpu *of = shard_cpu_at_end(shard, shard_entity_id(entity));

	if (of) {
		shard_trace_row(shard, TOTALS)[IRQ] += cpu->irq_ns;
		shard_trace_row(shard, TOTALS)[USED] += cpu->idle_ns;
		shard_cpu_row(shard, of, CPUS)[IRQ] += cpu->irq_ns;
		shard_cpu_row(shard, of, CPUS)[USED] += cpu->idle_ns;
	}
	cpu->irq_ns = cpu->idle_ns = 0;
}

/*
 * The on-CPU interval of a thread.  Where switches are lost, a thread seems to run on two CPUs at a
 * time.  Then the interval ends where the next one begins, and what it still seems to run elsewhere
 * counts as run time only.  Parts of it may come late, so nothing is counted when they come.
 */
struct oncpu {
	union {
		uint64_t since; /* ns: switched in, or the first part that is known */
		struct cpu_interrupts *interrupts; /* ONCPU_ENTITY: of the CPU */
	};
	uint64_t until; /* ns: the end of the last part */
	uint32_t cpu_number;
	uint16_t state;
	bool has_run; /* a part came since the end of the last window */
};

_Static_assert(sizeof(struct oncpu) == 24, "with the thread and its row, two cache lines");

/* ONCPU_FIRST: it was there when the trace began, on `cpu_number` if several say so. */
enum oncpu_state { ONCPU_UNSEEN, ONCPU_OPEN, ONCPU_CLOSED, ONCPU_ENTITY, ONCPU_FIRST };

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct oncpu *oncpu = state;

	codec_each(checkpoint->codec, &oncpu->since, &oncpu->until, &oncpu->cpu_number,
		   &oncpu->state, &oncpu->has_run);
	if (oncpu->state != ONCPU_ENTITY || !codec_check(checkpoint->codec, true)) {
		oncpu->state = oncpu->state == ONCPU_ENTITY ? ONCPU_UNSEEN : oncpu->state;
		return;
	}
	if (codec_reads(checkpoint->codec)) {
		oncpu->interrupts = mem_alloc(sizeof(*oncpu->interrupts));
	}
	interrupts_codec(checkpoint->codec, &oncpu->interrupts->interrupts);
	codec_each(checkpoint->codec, &oncpu->interrupts->irq_ns, &oncpu->interrupts->idle_ns);
}

static void on_forget(void *state)
{
	struct oncpu *oncpu = state;

	if (oncpu->state == ONCPU_ENTITY) {
		free(oncpu->interrupts);
	}
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *entity)
{
	struct oncpu *state = shard_thread_state(shard, entity);
	const struct interrupt like = { .number = (uint32_t)record->arg64,
					.tid = record->arg32,
					.is_soft = record->arg16 & INTERRUPT_SOFT };

	if (state->state != ONCPU_ENTITY) {
		state->interrupts = mem_alloc(sizeof(*state->interrupts));
		state->state = ONCPU_ENTITY;
	}
	switch (record->kind) {
	case INTERRUPT_ENTRY:
		(void)interrupts_enter(&state->interrupts->interrupts, record->ts, &like);
		break;
	case INTERRUPT_EXIT:
		end_interrupt(shard, state->interrupts, record);
		break;
	case INTERRUPT_STAY:
		interrupts_run(&state->interrupts->interrupts, record->arg64, record->arg32);
		break;
	case INTERRUPT_SUMS:
		add_sums(shard, state->interrupts, record->arg16, numbers + record->arg64);
		break;
	case INTERRUPT_OPEN:
		reopen_interrupt(state->interrupts, record, numbers + record->arg64);
		break;
	default:
		state->interrupts->interrupts.depth = 0;
		break;
	}
}

static bool accepts(const struct untrusted_record *untrusted)
{
	switch (untrusted->record->kind) {
	case INTERRUPT_SUMS:
		return untrusted_has(untrusted, SUM_WORDS) &&
		       untrusted->record->arg16 <= INTERRUPTS_NEST_MAX;
	case INTERRUPT_OPEN:
		return untrusted_has(untrusted, OPEN_WORDS);
	default:
		return untrusted->record->kind < INTERRUPT_KINDS;
	}
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
	if (oncpu->state == ONCPU_UNSEEN ||
	    (oncpu->state == ONCPU_FIRST && oncpu->cpu_number == part->cpu_number)) {
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

	if ((out->flags & (RECORD_PREEMPTED | RECORD_SLEEPS)) == RECORD_PREEMPTED) {
		shard_thread_row(shard, thread, THREADS)[PREEMPTIONS]++;
	}
	/* Else the interval that it ends was counted, or another one is open. */
	if (!out->is_tie && oncpu->cpu_number == (uint32_t)out->cpu) {
		count_longest(shard, thread, oncpu, oncpu->until);
		oncpu->state = ONCPU_CLOSED;
	}
}

/* It runs on, without a switch in: parts of that follow. */
static void on_seen(struct shard *shard, struct thread *thread, uint64_t ts, uint64_t cpu,
		    enum seen how)
{
	struct oncpu *oncpu = shard_thread_state(shard, thread);

	(void)ts;
	if (how == SEEN_FIRST && oncpu->state == ONCPU_UNSEEN) {
		oncpu->cpu_number = (uint32_t)cpu;
		oncpu->state = ONCPU_FIRST;
	}
	if (how == SEEN_RENAMED && oncpu->state == ONCPU_CLOSED) {
		oncpu->state = ONCPU_UNSEEN;
	}
}

/* When it is known to run again, another interval has begun. */
static void on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what)
{
	struct oncpu *oncpu = shard_thread_state(shard, thread);

	if (oncpu->state == ONCPU_ENTITY) {
		if (what & DOUBT_HOLE) {
			oncpu->interrupts->interrupts.depth = 0;
		}
		return;
	}
	if (what & DOUBT_SWITCHES) {
		if (oncpu->has_run) { /* else a window before has counted it: its CPU left */
			count_longest(shard, thread, oncpu, oncpu->until);
		}
		oncpu->state = ONCPU_CLOSED;
	}
}

/* What is open counts in each window with its length so far. */
static void on_window_end(struct shard *shard, struct thread *thread, uint64_t end)
{
	struct oncpu *oncpu = shard_thread_state(shard, thread);

	if (oncpu->state == ONCPU_ENTITY) {
		end_interrupts_window(shard, thread, oncpu->interrupts);
	} else if (oncpu->has_run) {
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

/* Taken where they are recorded: nothing else depends on them. */
static const struct need needs[] = {
	{ "irq_handler_entry", { "irq" }, on_entry, 0, .is_extra = true },
	{ "irq_handler_exit", { "irq" }, on_exit_, 0, .is_extra = true },
	INTERRUPT_SOFTIRQ("entry", on_entry, .is_extra = true),
	INTERRUPT_SOFTIRQ("exit", on_exit_, .is_extra = true),
};

static const struct essential essentials[] = {
	{ ANY_EVENT("sched_switch") },
	{ ANY_EVENT("irq_handler_entry", "irq_softirq_entry", "softirq_entry"),
	  { [TOTALS] = COLUMN(IRQ) | COLUMN(USED), [CPUS] = COLUMN(IRQ) | COLUMN(USED) },
	  .is_extra = true },
};

const struct analysis analysis_cpu = {
	.name = "cpu",
	.summary = "time of each CPU and thread, switches, migrations",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.worker_state_size = sizeof(struct cpu_worker),
	.on_oncpu_end = on_oncpu_end,
	.oncpu_end_is_for_rt = true,
	.on_record = on_record,
	.accepts = accepts,
	.on_forget = on_forget,
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
				[IRQ] = { "irq_ns", "interrupts", UNIT_NS, .of_shares = true },
				[USED] = { "used_ns", "used", UNIT_NS, .of_shares = true },
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
				[IRQ] = { "irq_ns", "INTERRUPTS", UNIT_NS },
				[USED] = { "used_ns", "USED", UNIT_NS, COLUMN_SUM, true },
			},
		},
		[THREADS] = {
			.key = "threads",
			.scope = SCOPE_THREAD,
			.sort_mask = 1u << RUN,
			FIGURES,
		},
		[PROCESSES] = {
			PROCESSES_TABLE,
			.sort_mask = 1u << RUN,
			FIGURES,
		},
		[CONTAINERS] = { CONTAINERS_TABLE, .sort_mask = 1u << RUN, FIGURES },
	},
	.rare = &(const struct analysis_rare){ .on_cpu = on_cpu, .on_run = on_run, .on_lost = on_lost, .on_slice_end = on_slice_end },
	.on_switch_in = on_switch_in,
	.on_switch_out = on_switch_out,
	.on_seen = on_seen,
	.on_doubt = on_doubt,
	.on_window_end = on_window_end,
	.is_over_at_exit = true,
};
