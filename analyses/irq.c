/*
 * irq: time in hard and soft interrupts, and how long soft ones wait (doc/definitions.md, 4.9).
 *
 * Each CPU has a stack of the interrupts that are being handled:
 *
 *     task ──── softirq 3 ──┐        ┌── softirq 3 ── task
 *                           └ irq 28 ┘
 *
 * A duration lasts from entry to exit, nested interrupts included.  A CPU's time in interrupts
 * counts each ns once, so nested time is subtracted there.  All records of a CPU's interrupts reach
 * the merger in time order, like those of a thread.
 */
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

enum { OWN_ENTRY = RECORD_OWN, OWN_EXIT, OWN_RAISE, OWN_LOST };
enum { IS_SOFT = 1 };

#define NEST_MAX 8  /* more than hardware nests: NMI in irq in softirq */
#define VECS_MAX 32 /* ten are used */

/* ---- worker's half ---- */

enum { NUMBER, NAME_OR_RET };

static struct record *emit(struct worker *worker, const struct trace_event *event,
			   unsigned int kind, uint32_t flags)
{
	struct record *record = worker_emit_entity(worker, event->ts, worker_cpu(worker), kind);

	record->arg16 = (uint16_t)flags;
	record->arg32 = (int32_t)event_u64(event, NUMBER, 0);
	return record;
}

static void on_entry(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t flags)
{
	const struct value *name = event_text(event, NAME_OR_RET);

	if (!event_has(event, NUMBER)) {
		return;
	}
	emit(worker, event, OWN_ENTRY, flags)->arg64 =
		flags & IS_SOFT ? 0
		: name          ? worker_text(worker, name->bytes, name->len)
				: worker_text(worker, "", 0);
}

static void on_exit_(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t flags)
{
	if (event_has(event, NUMBER)) {
		emit(worker, event, OWN_EXIT, flags)->arg64 =
			flags & IS_SOFT ? 1 : event_u64(event, NAME_OR_RET, 0);
	}
}

static void on_raise(struct worker *worker, void *state, const struct trace_event *event,
		     uint32_t flags)
{
	if (event_has(event, NUMBER)) {
		(void)emit(worker, event, OWN_RAISE, flags);
	}
}

static void on_lost(struct worker *worker, void *state, uint64_t ts, bool is_over)
{
	if (!is_over) {
		(void)worker_emit_entity(worker, ts, worker_cpu(worker), OWN_LOST);
	}
}

/* ---- merger's half ---- */

struct handling {
	uint64_t entry_ts, nested_ns;
	bool is_soft;
	struct row_key key;
};

struct irq_cpu {
	uint64_t cpu;
	uint32_t depth;
	uint32_t raised; /* a bit for each vector that waits since raise_ts */
	struct handling stack[NEST_MAX];
	uint64_t raise_ts[VECS_MAX];
};

static void enter(struct shard *shard, struct irq_cpu *cpu, const struct record *record,
		  const uint64_t *numbers)
{
	bool is_soft = record->arg16 & IS_SOFT;
	uint32_t number = (uint32_t)record->arg32;
	struct handling *handling;

	if (is_soft && number < VECS_MAX && cpu->raised >> number & 1) {
		struct row_key key = { .id = number };

		column_add(shard_keyed_row(shard, SOFT, &key), SOFT_RAISE,
			   record->ts - cpu->raise_ts[number]);
		cpu->raised &= ~(1u << number);
	}
	if (cpu->depth == NEST_MAX) { /* exits are missing */
		shard_trace_row(shard, TOTALS)[UNMATCHED] += cpu->depth;
		cpu->depth = 0;
	}
	handling = &cpu->stack[cpu->depth++];
	*handling = (struct handling){ .entry_ts = record->ts, .is_soft = is_soft };
	handling->key = is_soft ? (struct row_key){ .id = number }
				: row_key_of_numbers(number, numbers + record->arg64);
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

static void add_sample(struct shard *shard, const struct irq_cpu *cpu,
		       const struct handling *handling, const struct record *record)
{
	struct row_key on_cpu = { .id = cpu->cpu };
	uint64_t ns = record->ts - handling->entry_ts, own = ns - handling->nested_ns;
	uint64_t *row;

	shard_trace_row(shard, TOTALS)[handling->is_soft ? SOFT_NS : HARD_NS] += own;
	shard_keyed_row(shard, CPUS, &on_cpu)[handling->is_soft ? CPU_SOFT : CPU_HARD] += own;
	row = shard_keyed_row(shard, handling->is_soft ? SOFT : HARD, &handling->key);
	if (handling->is_soft) {
		column_add(row, SOFT_TIME, ns);
	} else {
		column_add(row, HARD_TIME, ns);
		row[HARD_UNHANDLED] += record->arg64 == 0;
	}
	if (shard_is_long(shard, LONGEST, ns)) {
		shard_longest(shard, LONGEST,
			      &(struct instance){ .ns = ns,
						  .end = record->ts,
						  .more = { handling->is_soft },
						  .cpu = cpu->cpu,
						  .keyed = handling->is_soft
								   ? soft_key(handling->key.id)
								   : handling->key });
	}
}

/* Ends the newest entry of this number.  Interrupts that were entered after it lack an exit. */
static void leave(struct shard *shard, struct irq_cpu *cpu, const struct record *record)
{
	bool is_soft = record->arg16 & IS_SOFT;
	uint32_t at = cpu->depth;

	while (at > 0 && (cpu->stack[at - 1].is_soft != is_soft ||
			  cpu->stack[at - 1].key.id != (uint32_t)record->arg32)) {
		at--;
	}
	if (at == 0) {
		shard_trace_row(shard, TOTALS)[UNMATCHED]++;
		return;
	}
	shard_trace_row(shard, TOTALS)[UNMATCHED] += cpu->depth - at;
	add_sample(shard, cpu, &cpu->stack[at - 1], record);
	cpu->depth = at - 1;
	if (cpu->depth > 0) {
		cpu->stack[cpu->depth - 1].nested_ns += record->ts - cpu->stack[at - 1].entry_ts;
	}
}

/* Events are missing: which interrupts are open is unknown. */
static void drop_open(struct shard *shard, struct irq_cpu *cpu)
{
	shard_trace_row(shard, TOTALS)[UNMATCHED] += cpu->depth;
	cpu->depth = 0;
	cpu->raised = 0;
}

static bool accepts(const struct untrusted_record *untrusted)
{
	const struct record *record = untrusted->record;

	/* Only hard interrupts have a name, which a shape cannot express. */
	if (record->kind == OWN_ENTRY && !(record->arg16 & IS_SOFT)) {
		return untrusted_has_text(untrusted);
	}
	return untrusted_has(untrusted, 0) && record->kind >= OWN_ENTRY && record->kind <= OWN_LOST;
}

static void handling_codec(struct codec *codec, struct handling *handling)
{
	codec_each(codec, &handling->entry_ts, &handling->nested_ns, &handling->is_soft);
	row_key_codec(codec, &handling->key);
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
	codec_each(codec, &(*cpu)->cpu, &(*cpu)->depth, &(*cpu)->raised);
	if (!codec_check(codec, (*cpu)->depth <= NEST_MAX)) {
		(*cpu)->depth = 0;
	}
	for (uint32_t i = 0; i < (*cpu)->depth; i++) {
		handling_codec(codec, &(*cpu)->stack[i]);
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
	case OWN_ENTRY:
		enter(shard, cpu, record, numbers);
		break;
	case OWN_EXIT:
		leave(shard, cpu, record);
		break;
	case OWN_RAISE: /* the first since the last entry counts */
		if (number < VECS_MAX && !(cpu->raised >> number & 1)) {
			cpu->raised |= 1u << number;
			cpu->raise_ts[number] = record->ts;
		}
		break;
	case OWN_LOST:
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

#define SOFTIRQ(event_, handler)                                                                   \
	{ "irq_softirq_" event_, { "vec" }, handler, IS_SOFT },                                    \
	{                                                                                          \
		"softirq_" event_, { "vec" }, handler, IS_SOFT                                     \
	}

static const struct need needs[] = {
	{ "irq_handler_entry", { "irq", "@name" }, on_entry, 0 },
	{ "irq_handler_exit", { "irq", "ret" }, on_exit_, 0 },
	SOFTIRQ("entry", on_entry),
	SOFTIRQ("exit", on_exit_),
	SOFTIRQ("raise", on_raise),
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
			.key = "cpus",
			.scope = SCOPE_KEYED,
			.of_all = OF_ALL_THREADS | OF_ALL_IRQS,
			.id_key = "cpu",
			.title = "CPU",
			.lami_class = "cpu",
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
	.on_record = on_record,
	.on_doubt = on_doubt,
	.accepts = accepts,
	.on_checkpoint = on_checkpoint,
	.on_forget = on_forget,
};
