/*
 * irq: time in hard and soft interrupts, and how long soft ones wait (doc/definitions.md, 4.9).
 *
 * Each CPU has a stack of the interrupts that are being handled (kernel/interrupts.h).  A duration
 * lasts from entry to exit, nested interrupts included.  A CPU's time in interrupts counts each ns
 * once, so nested time is subtracted there.  All records of a CPU's interrupts reach the merger in
 * time order, like those of a thread.
 */
#include "analyses/interrupts.h"
#include "base/mem.h"
#include "engine/contract/analysis-rare.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"

enum { TOTALS, HARD, SOFT, CPUS, LONGEST };
enum { HARD_NS, SOFT_NS, UNMATCHED };
enum { HARD_UNHANDLED, HARD_TIME };
enum { SOFT_TIME, SOFT_RAISE };
enum { CPU_HARD, CPU_SOFT };

enum { OWN_RAISE = INTERRUPT_KINDS };

#define VECS_MAX 32 /* ten are used */

/* ---- worker's half ---- */

enum { NUMBER, NAME_OR_RET };

static void on_entry(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t flags)
{
	const struct value *name = event_text(event, NAME_OR_RET);
	uint64_t number = event_u64(event, NUMBER, 0);
	struct record *record;

	if (!event_has(event, NUMBER)) {
		return;
	}
	interrupt_stay(worker, state, event->ts);
	record = interrupt_emit(worker, event->ts, INTERRUPT_ENTRY, flags, number);
	if (flags & INTERRUPT_SOFT) {
		worker_note_current(worker, record);
		return;
	}
	record->arg32 = (int32_t)number;
	record->arg64 =
		name ? worker_text(worker, name->bytes, name->len) : worker_text(worker, "", 0);
}

static void on_exit_(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t flags)
{
	if (event_has(event, NUMBER)) {
		interrupt_stay(worker, state, event->ts);
		interrupt_emit(worker, event->ts, INTERRUPT_EXIT, flags,
			       flags & INTERRUPT_SOFT ? 1 : event_u64(event, NAME_OR_RET, 0))
			->arg32 = (int32_t)event_u64(event, NUMBER, 0);
	}
}

static void on_raise(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t flags)
{
	if (event_has(event, NUMBER)) {
		interrupt_emit(worker, event->ts, OWN_RAISE, flags, 0)->arg32 =
			(int32_t)event_u64(event, NUMBER, 0);
	}
}

static void on_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window)
{
	interrupt_stay_ends(worker, state, ts, is_window);
}

static void on_lost(struct worker *worker, void *state, uint64_t ts, bool is_over)
{
	if (!is_over) {
		(void)interrupt_emit(worker, ts, INTERRUPT_LOST, 0, 0);
	}
}

/* ---- merger's half ---- */

struct irq_cpu {
	uint64_t cpu;
	struct interrupts interrupts;
	struct row_key keys[INTERRUPTS_NEST_MAX]; /* of the interrupts, by their place */
	uint32_t raised; /* a bit for each vector that waits since raise_ts */
	uint64_t raise_ts[VECS_MAX];
};

static void end_raise(struct shard *shard, struct irq_cpu *cpu, uint32_t vec, uint64_t ts)
{
	struct row_key key = { .id = vec };

	if (vec < VECS_MAX && cpu->raised >> vec & 1) {
		column_add(shard_keyed_row(shard, SOFT, &key), SOFT_RAISE, ts - cpu->raise_ts[vec]);
		cpu->raised &= ~(1u << vec);
	}
}

static void enter(struct shard *shard, struct irq_cpu *cpu, const struct record *record,
		  const uint64_t *numbers)
{
	bool is_soft = record->arg16 & INTERRUPT_SOFT;
	const struct interrupt like = {
		.number = (uint32_t)(is_soft ? record->arg64 : (uint64_t)record->arg32),
		.tid = is_soft ? record->arg32 : -1,
		.is_soft = is_soft,
	};
	uint32_t dropped;

	if (is_soft) {
		end_raise(shard, cpu, like.number, record->ts);
	}
	dropped = interrupts_enter(&cpu->interrupts, record->ts, &like);
	shard_trace_row(shard, TOTALS)[UNMATCHED] += dropped;
	if (dropped > 0) {
		memmove(cpu->keys, cpu->keys + dropped,
			(INTERRUPTS_NEST_MAX - dropped) * sizeof(cpu->keys[0]));
	}
	cpu->keys[cpu->interrupts.depth - 1] =
		is_soft ? (struct row_key){ .id = like.number }
			: row_key_of_numbers(like.number, numbers + record->arg64);
}

static const char *vec_name(uint64_t vec)
{
	static const char *const names[] = { "HI",       "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
					     "IRQ_POLL", "TASKLET", "SCHED",  "HRTIMER", "RCU" };

	return vec < ARRAY_COUNT(names) ? names[vec] : NULL;
}

static struct row_key soft_key(uint64_t vec)
{
	return row_key_of(vec, vec_name(vec), ROW_KEY_NAME_BYTES);
}

static void add_sample(struct shard *shard, const struct irq_cpu *cpu, const struct interrupt *over,
		       const struct record *record)
{
	struct row_key on_cpu = { .id = cpu->cpu }, key = cpu->keys[cpu->interrupts.depth];
	uint64_t own = interrupt_own_ns(over);
	uint64_t *row;

	shard_trace_row(shard, TOTALS)[over->is_soft ? SOFT_NS : HARD_NS] += own;
	shard_keyed_row(shard, CPUS, &on_cpu)[over->is_soft ? CPU_SOFT : CPU_HARD] += own;
	row = shard_keyed_row(shard, over->is_soft ? SOFT : HARD, &key);
	if (over->is_soft) {
		column_add(row, SOFT_TIME, over->ns);
	} else {
		column_add(row, HARD_TIME, over->ns);
		row[HARD_UNHANDLED] += record->arg64 == 0;
	}
	if (shard_is_long(shard, LONGEST, over->ns)) {
		shard_longest(
			shard, LONGEST,
			&(struct instance){ .ns = over->ns,
					    .end = record->ts,
					    .more = { over->is_soft },
					    .cpu = cpu->cpu,
					    .keyed = over->is_soft ? soft_key(key.id) : key });
	}
}

static void leave(struct shard *shard, struct irq_cpu *cpu, const struct record *record)
{
	const struct interrupt like = { .number = (uint32_t)record->arg32,
					.is_soft = record->arg16 & INTERRUPT_SOFT };
	const struct interrupt *over;

	shard_trace_row(shard, TOTALS)[UNMATCHED] +=
		interrupts_leave(&cpu->interrupts, record->ts, &like, &over);
	if (over) {
		add_sample(shard, cpu, over, record);
	}
}

/* Events are missing: which interrupts are open is unknown. */
static void drop_open(struct shard *shard, struct irq_cpu *cpu)
{
	shard_trace_row(shard, TOTALS)[UNMATCHED] += cpu->interrupts.depth;
	cpu->interrupts.depth = 0;
	cpu->raised = 0;
}

static bool accepts(const struct untrusted_record *untrusted)
{
	const struct record *record = untrusted->record;

	/* Only hard interrupts have a name, which a shape cannot express. */
	if (record->kind == INTERRUPT_ENTRY && !(record->arg16 & INTERRUPT_SOFT)) {
		return untrusted_has_text(untrusted);
	}
	if (record->kind == INTERRUPT_ENTRY || record->kind == INTERRUPT_STAY) {
		return true; /* arg32 is a thread */
	}
	return untrusted_has(untrusted, 0) && record->kind >= RECORD_OWN &&
	       record->kind <= OWN_RAISE;
}

static void on_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	struct irq_cpu **cpu = state;
	bool has_cpu = *cpu != NULL;

	codec_bool(codec, &has_cpu);
	if (!has_cpu) {
		return;
	}
	if (!*cpu) {
		*cpu = mem_alloc(sizeof(**cpu));
	}
	codec_each(codec, &(*cpu)->cpu, &(*cpu)->raised);
	interrupts_codec(codec, &(*cpu)->interrupts);
	for (uint32_t i = 0; i < (*cpu)->interrupts.depth; i++) {
		row_key_codec(codec, &(*cpu)->keys[i]);
	}
	for (unsigned int i = 0; i < VECS_MAX; i++) {
		codec_u64(codec, &(*cpu)->raise_ts[i]);
	}
}

static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *entity)
{
	struct irq_cpu **state = shard_thread_state(shard, entity), *cpu;
	uint32_t number = (uint32_t)record->arg32;

	if (!*state) {
		*state = mem_alloc(sizeof(**state));
		(*state)->cpu = shard_entity_id(entity);
	}
	cpu = *state;
	switch (record->kind) {
	case INTERRUPT_ENTRY:
		enter(shard, cpu, record, numbers);
		break;
	case INTERRUPT_EXIT:
		leave(shard, cpu, record);
		break;
	case OWN_RAISE: /* the first since the last entry counts */
		if (number < VECS_MAX && !(cpu->raised >> number & 1)) {
			cpu->raised |= 1u << number;
			cpu->raise_ts[number] = record->ts;
		}
		break;
	case INTERRUPT_STAY:
		interrupts_run(&cpu->interrupts, record->arg64, record->arg32);
		break;
	case INTERRUPT_LOST:
		drop_open(shard, cpu);
		break;
	}
}

static void on_doubt(struct shard *shard, struct thread *entity, uint64_t ts, unsigned int what)
{
	struct irq_cpu **state = shard_thread_state(shard, entity);

	if (*state && (what & DOUBT_HOLE)) {
		drop_open(shard, *state);
	}
}

static void on_forget(void *state)
{
	struct irq_cpu **cpu = state;

	free(*cpu);
}

static const struct need needs[] = {
	{ "irq_handler_entry", { "irq", "@name" }, on_entry, 0 },
	{ "irq_handler_exit", { "irq", "ret" }, on_exit_, 0 },
	INTERRUPT_SOFTIRQ("entry", on_entry),
	INTERRUPT_SOFTIRQ("exit", on_exit_),
	INTERRUPT_SOFTIRQ("raise", on_raise),
};

#define HARD_FIGURES                                                                               \
	{                                                                                          \
		[TOTALS] = COLUMN(HARD_NS), [HARD] = ALL_COLUMNS, [CPUS] = COLUMN(CPU_HARD)        \
	}
#define SOFT_FIGURES                                                                               \
	{                                                                                          \
		[TOTALS] = COLUMN(SOFT_NS), [SOFT] = ALL_COLUMNS, [CPUS] = COLUMN(CPU_SOFT)        \
	}
#define EITHER_FIGURES                                                                             \
	{                                                                                          \
		[TOTALS] = COLUMN(UNMATCHED), [LONGEST] = ALL_COLUMNS                              \
	}

static const struct essential essentials[] = {
	{ ANY_EVENT("irq_handler_entry"), HARD_FIGURES },
	{ ANY_EVENT("irq_handler_exit"), HARD_FIGURES },
	{ ANY_EVENT("irq_softirq_entry", "softirq_entry"), SOFT_FIGURES },
	{ ANY_EVENT("irq_softirq_exit", "softirq_exit"), SOFT_FIGURES },
	{ ANY_EVENT("irq_softirq_raise", "softirq_raise"), { [SOFT] = COLUMN(SOFT_RAISE) } },
	{ ANY_EVENT("irq_handler_entry", "irq_softirq_entry", "softirq_entry"), EITHER_FIGURES },
	{ ANY_EVENT("irq_handler_exit", "irq_softirq_exit", "softirq_exit"), EITHER_FIGURES },
};

const struct analysis analysis_irq = {
	.name = "irq",
	.summary = "hard and soft interrupts: how many, how long, how long soft ones waited",
	WITH_NEEDS(needs),
	WITH_ESSENTIALS(essentials),
	.worker_state_size = sizeof(struct interrupt_stays),
	.thread_state_size = sizeof(struct irq_cpu *), /* of entities; NULL in threads */
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			.of_all = OF_ALL_THREADS | OF_ALL_IRQS,
			.columns = {
				[HARD_NS] = { "hard_ns", "hard", UNIT_NS },
				[SOFT_NS] = { "soft_ns", "soft", UNIT_NS },
				[UNMATCHED] = { "unmatched", NULL, UNIT_COUNT },
			},
		},
		[HARD] = {
			.key = "hard",
			.scope = SCOPE_KEYED,
			.of_all = OF_ALL_THREADS,
			.id_key = "irq",
			.name_key = "name",
			.title = "HARD IRQ",
			.lami_class = "irq",
			.sort_mask = 1u << HARD_TIME,
			.columns = {
				[HARD_UNHANDLED] = { "unhandled", "UNHANDLED", UNIT_COUNT },
				[HARD_TIME] = { "time", "HANDLED", UNIT_NS, COLUMN_HISTOGRAM },
			},
		},
		[SOFT] = {
			.key = "soft",
			.scope = SCOPE_KEYED,
			.of_all = OF_ALL_THREADS,
			.id_key = "vec",
			.id_name = vec_name,
			.title = "SOFT IRQ",
			.lami_class = "irq",
			.sort_mask = 1u << SOFT_TIME,
			.columns = {
				[SOFT_TIME] = { "time", "HANDLED", UNIT_NS, COLUMN_HISTOGRAM },
				[SOFT_RAISE] = { "raise", "RAISED", UNIT_NS, COLUMN_HISTOGRAM },
			},
		},
		[CPUS] = {
			CPUS_TABLE,
			.of_all = OF_ALL_THREADS | OF_ALL_IRQS,
			.sort_mask = 1u << CPU_HARD | 1u << CPU_SOFT,
			.columns = {
				[CPU_HARD] = { "hard_ns", "HARD", UNIT_NS, COLUMN_SUM, true },
				[CPU_SOFT] = { "soft_ns", "SOFT", UNIT_NS, COLUMN_SUM, true },
			},
		},
		[LONGEST] = {
			.key = "longest",
			.scope = SCOPE_LONGEST,
			.of_all = OF_ALL_THREADS,
			.id_key = "number",
			.name_key = "name",
			.title = "LONGEST IRQS",
			.lami_class = "irq",
			.columns = {
				{ "ns", "TIME", UNIT_NS },
				{ "is_soft", "SOFT", UNIT_COUNT },
			},
		},
	},
	.rare = &(const struct analysis_rare){ .on_lost = on_lost },
	.on_oncpu_end = on_oncpu_end,
	.oncpu_end_is_for_rt = true,
	.on_record = on_record,
	.on_doubt = on_doubt,
	.accepts = accepts,
	.on_checkpoint = on_checkpoint,
	.on_forget = on_forget,
};
