/*
 * power: see power.h; all CPUs, and the descriptor.
 */
#include "analyses/power/power.h"

#include "base/limits.h"
#include "base/mem.h"

HASH_MAP(power_cpus, struct power_cpu *)

/* The state of a trace. */
struct power {
	struct power_cpus cpus;
	VEC(uint64_t) channels; /* that had power events */
	uint64_t now;           /* ns: what comes late comes then */
	uint64_t lost_from; /* ns: events are missing from there on; 0: none, or `now` is behind */
	uint64_t blind_until; /* ns: what is said of frequencies before that is not complete */
};

/* ---- to ordered events ---- */

enum { ORDERED_CPU, ORDERED_WHAT, ORDERED_NUMBER, ORDERED_CHANNEL };

/* Names stay in their partial until the ordered events of the round are through. */
static void on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		      struct thread *thread)
{
	struct ordered *ordered = shard_note_ordered(shard, thread, record->ts, record->kind);

	ordered->words[ORDERED_CPU] =
		record->kind == OWN_FREQUENCY ? record->arg64 : shard_source_cpu(shard);
	ordered->words[ORDERED_WHAT] = record->kind == OWN_INTERRUPT
					       ? (uint64_t)(uintptr_t)(numbers + record->arg64)
					       : record->arg64;
	ordered->words[ORDERED_NUMBER] = (uint32_t)record->arg32;
	ordered->words[ORDERED_CHANNEL] = shard_channel(shard);
}

/* ---- CPUs ---- */

/* NULL: there are too many, or it is not known which one. */
static struct power_cpu *cpu_of(struct power *power, uint64_t id)
{
	struct power_cpu **at = power_cpus_get(&power->cpus, id);

	if (at) {
		return *at;
	}
	if (id > INT32_MAX || power->cpus.used >= POWER_CPUS_MAX) {
		return NULL;
	}
	at = power_cpus_put(&power->cpus, id, NULL);
	*at = mem_alloc(sizeof(**at));
	(*at)->id = id;
	(*at)->cause = CAUSE_KINDS;
	return *at;
}

/* The engine says of each CPU how long it was there: so what is not known is known. */
static void on_cpu(struct shard *shard, struct cpu *cpu, enum run_kind kind, uint64_t ns)
{
	struct power_cpu *own = cpu_of(shard_trace_state(shard), shard_cpu_id(cpu));

	(void)kind;
	if (own) {
		own->there += ns;
	}
}

/* Up to @ts, or up to where it was heard last: whether it has left, the end of a window tells. */
static uint64_t heard_by(const struct shard *shard, const struct power_cpu *cpu, uint64_t ts)
{
	uint64_t heard = shard_cpu_heard_until(shard, cpu->id);

	return heard < ts ? heard : ts;
}

/* ---- events ---- */

static bool has_power(const struct power *power, uint64_t channel)
{
	for (size_t i = 0; i < power->channels.count; i++) {
		if (power->channels.at[i] == channel) {
			return true;
		}
	}
	return power->channels.count == POWER_CHANNELS_MAX;
}

/* It counts once something goes over it: one behind the end of the trace is none. */
static void lose_from(struct power *power, uint64_t id, uint64_t ts, uint64_t until)
{
	struct power_cpu *cpu = cpu_of(power, id);

	ts = ts < power->now ? power->now : ts;
	power->lost_from = power->lost_from ? power->lost_from : ts;
	power->blind_until = until > power->blind_until ? until : power->blind_until;
	if (cpu) {
		cpu->lost_from = cpu->lost_from ? cpu->lost_from : ts;
		cpu->blind_until = until > cpu->blind_until ? until : cpu->blind_until;
	}
}

/* Goes on to @ts, over what is lost before; @is_last: there as well. */
static void go_to(struct shard *shard, struct power *power, uint64_t ts, bool is_last)
{
	uint64_t lost_from = power->lost_from, next = 0;

	power->now = ts < power->now ? power->now : ts;
	if (lost_from == 0 || lost_from >= power->now + is_last) {
		return;
	}
	HASH_EACH(power_cpus, &power->cpus, one) {
		struct power_cpu *cpu = one->value;

		shard_leave_out(shard, 0, cpu->id);
		power_cpu_lose_khz(cpu, lost_from);
		if (cpu->lost_from >= power->now + is_last) {
			next = next == 0 || cpu->lost_from < next ? cpu->lost_from : next;
		} else if (cpu->lost_from != 0) {
			power_cpu_lose(shard, cpu, heard_by(shard, cpu, cpu->lost_from));
			cpu->lost_from = 0;
		}
	}
	power->lost_from = next;
}

/* What others say of a CPU that has left, or is about to, counts no more. */
static void on_frequency(struct shard *shard, const struct power *power, struct power_cpu *cpu,
			 uint64_t ts, uint32_t khz)
{
	if (ts >= power->blind_until && heard_by(shard, cpu, ts) == ts) {
		power_cpu_runs_at(shard, cpu, ts, khz);
	}
}

static void on_event(struct shard *shard, struct power *power, const struct ordered *ordered,
		     uint64_t ts)
{
	struct power_cpu *cpu = cpu_of(power, ordered->words[ORDERED_CPU]);
	uint32_t number = (uint32_t)ordered->words[ORDERED_NUMBER];
	struct row_key key = { .id = number };

	if (!cpu) {
		return;
	}
	shard_leave_out(shard, 0, cpu->id);
	switch (ordered->kind) {
	case OWN_IDLE:
		if (ts >= cpu->blind_until) {
			power_cpu_idles(shard, cpu, ts, number);
		}
		return;
	case OWN_FREQUENCY:
		on_frequency(shard, power, cpu, ts, number);
		return;
	case OWN_INTERRUPT:
		key = row_key_of_numbers(number,
					 (const uint64_t *)(uintptr_t)ordered->words[ORDERED_WHAT]);
		break;
	}
	power_cpu_hears(shard, cpu, ts, ordered->kind, &key);
}

static void on_ordered(struct shard *shard, void *state, const struct ordered *ordered)
{
	struct power *power = state;
	uint64_t channel = ordered->words[ORDERED_CHANNEL];

	if (ordered->kind == OWN_LOST) {
		if (has_power(power, channel)) {
			lose_from(power, ordered->words[ORDERED_CPU], ordered->ts,
				  ordered->words[ORDERED_WHAT]);
		}
		return;
	}
	go_to(shard, power, ordered->ts, false);
	if (ordered->kind <= OWN_FREQUENCY && !has_power(power, channel)) {
		*vec_push(&power->channels) = channel;
	}
	on_event(shard, power, ordered, power->now);
}

static void lose_all(struct shard *shard, void *state, uint64_t ts)
{
	struct power *power = state;

	go_to(shard, power, ts, true);
	HASH_EACH(power_cpus, &power->cpus, one) {
		shard_leave_out(shard, 0, one->value->id);
		power_cpu_lose_khz(one->value, power->now);
		power_cpu_lose(shard, one->value, heard_by(shard, one->value, power->now));
	}
}

/* ---- the end of a window ---- */

static void add_unknown(struct shard *shard, const struct power_cpu *cpu)
{
	const struct row_key key = { .id = cpu->id };
	uint64_t *totals = shard_trace_row(shard, TOTALS);
	uint64_t *row = shard_keyed_row(shard, CPUS, &key);
	uint64_t unknown = cpu->there > cpu->known ? cpu->there - cpu->known : 0;
	uint64_t unknown_khz = cpu->there > cpu->known_khz ? cpu->there - cpu->known_khz : 0;

	totals[UNKNOWN_NS] += unknown;
	totals[UNKNOWN_KHZ_NS] += unknown_khz;
	row[UNKNOWN_NS] += unknown;
	row[UNKNOWN_KHZ_NS] += unknown_khz;
}

static void end_window(struct shard *shard, struct power_cpu *cpu, uint64_t end)
{
	uint64_t left = shard_cpu_absent_from(shard, cpu->id);

	shard_leave_out(shard, 0, cpu->id);
	power_cpu_account(shard, cpu, left < end ? left : end);
	if (left < end) { /* what it does until it is back is not known */
		cpu->mode = MODE_UNKNOWN;
		cpu->has_khz = false;
		cpu->khz_until = 0;
	}
	if (cpu->there > 0) {
		add_unknown(shard, cpu);
	}
	cpu->there = cpu->known = cpu->known_khz = 0;
}

static void end_all_windows(struct shard *shard, void *state, uint64_t end)
{
	struct power *power = state;

	go_to(shard, power, end, true);
	HASH_EACH(power_cpus, &power->cpus, one) {
		end_window(shard, one->value, power->now);
	}
}

/* ---- checkpoints ---- */

static void known_cpu_codec(struct codec *codec, struct power *power, struct power_cpu *cpu)
{
	uint64_t id = cpu ? cpu->id : 0;

	codec_u64(codec, &id);
	if (!cpu && codec_check(codec, !power_cpus_get(&power->cpus, id))) {
		cpu = cpu_of(power, id);
	}
	if (codec_check(codec, cpu != NULL)) {
		power_cpu_codec(codec, cpu);
	}
}

static void on_trace_checkpoint(const struct checkpoint *checkpoint, void *state)
{
	struct codec *codec = checkpoint->codec;
	struct power *power = state;
	size_t count = codec_count(codec, power->channels.count, sizeof(uint64_t));

	codec_each(codec, &power->now, &power->lost_from, &power->blind_until);
	for (size_t i = 0; i < count && codec_check(codec, count <= POWER_CHANNELS_MAX); i++) {
		codec_u64(codec, codec_at(codec, &power->channels, i));
	}
	count = codec_count(codec, power->cpus.used, sizeof(struct power_cpu *));
	if (!codec_reads(codec)) {
		HASH_EACH(power_cpus, &power->cpus, one) {
			known_cpu_codec(codec, power, one->value);
		}
		return;
	}
	for (size_t i = 0; i < count && codec_check(codec, true); i++) {
		known_cpu_codec(codec, power, NULL);
	}
}

static void on_trace_forget(void *state)
{
	struct power *power = state;

	HASH_EACH(power_cpus, &power->cpus, one) {
		free(one->value);
	}
	power_cpus_fini(&power->cpus);
	vec_fini(&power->channels);
}

/* ---- the descriptor ---- */

#define CAUSES_OF (COLUMN(BY_INTERRUPT) * ((1u << CAUSE_KINDS) - 1))
#define OF_IDLE                                                                                    \
	(COLUMN(ASLEEP_NS) | COLUMN(AWAKE_NS) | COLUMN(UNKNOWN_NS) | COLUMN(WAKEUPS) | CAUSES_OF)
#define CAUSE_FIGURES                                                                              \
	{                                                                                          \
		[TOTALS] = CAUSES_OF, [CPUS] = CAUSES_OF, [CAUSES] = ALL_COLUMNS                   \
	}

/* What is unknown is known from the time that a CPU was there: sched_switch tells. */
static const struct essential essentials[] = {
	{ ANY_EVENT("power_cpu_idle"),
	  { [TOTALS] = OF_IDLE,
	    [CPUS] = OF_IDLE,
	    [IDLE] = ALL_COLUMNS,
	    [FREQUENCIES] = COLUMN(KHZ_AWAKE),
	    [CAUSES] = ALL_COLUMNS } },
	{ ANY_EVENT("power_cpu_frequency"),
	  { [TOTALS] = COLUMN(UNKNOWN_KHZ_NS),
	    [CPUS] = COLUMN(UNKNOWN_KHZ_NS),
	    [FREQUENCIES] = ALL_COLUMNS } },
	{ ANY_EVENT("sched_switch"),
	  { [TOTALS] = COLUMN(UNKNOWN_NS) | COLUMN(UNKNOWN_KHZ_NS) | CAUSES_OF,
	    [CPUS] = COLUMN(UNKNOWN_NS) | COLUMN(UNKNOWN_KHZ_NS) | CAUSES_OF,
	    [CAUSES] = ALL_COLUMNS } },
	{ ANY_EVENT("irq_handler_entry"), CAUSE_FIGURES },
	{ ANY_EVENT("irq_handler_exit"), CAUSE_FIGURES },
	{ ANY_EVENT("timer_hrtimer_expire_entry", "hrtimer_expire_entry"), CAUSE_FIGURES },
};

#define OF_NO_THREAD .of_all = OF_ALL_THREADS | OF_ALL_IRQS
#define FIGURES(idle, awake, unknown, khz, wakeups, irq, timer, task, unseen)                      \
	.columns = {                                                                               \
		[ASLEEP_NS] = { "idle_ns", idle, UNIT_NS, .is_share = true, .rest = REST_ALL },    \
		[AWAKE_NS] = { "awake_ns", awake, UNIT_NS, .is_share = true },                     \
		[UNKNOWN_NS] = { "unknown_ns", unknown, UNIT_NS, .is_share = true,                 \
				 .rest = REST_ALL },                                               \
		[UNKNOWN_KHZ_NS] = { "unknown_khz_ns", khz, UNIT_NS, .rest = REST_ALL },           \
		[WAKEUPS] = { "wakeups", wakeups, UNIT_COUNT },                                    \
		[BY_INTERRUPT] = { "by_interrupt", irq, UNIT_COUNT },                              \
		[BY_INTERRUPT + CAUSE_TIMER] = { "by_timer", timer, UNIT_COUNT },                  \
		[BY_INTERRUPT + CAUSE_TASK] = { "by_task", task, UNIT_COUNT },                     \
		[BY_INTERRUPT + CAUSE_UNKNOWN] = { "by_unknown", unseen, UNIT_COUNT },             \
	}

const struct analysis analysis_power = {
	.name = "power",
	.summary = "idle states and frequencies of CPUs, and what wakes them",
	WITH_NEEDS(power_needs),
	WITH_ESSENTIALS(essentials),
	.worker_state_size = sizeof(struct power_worker),
	.trace_state_size = sizeof(struct power),
	.uses_threads = true,
	.tables = {
		[TOTALS] = {
			.scope = SCOPE_TRACE,
			OF_NO_THREAD,
			FIGURES("idle", "awake", "unknown", NULL, "wake-ups", "by interrupt", "timer",
				"task", "unknown cause"),
		},
		[CPUS] = {
			CPUS_TABLE,
			OF_NO_THREAD,
			.sort_mask = 1u << AWAKE_NS,
			FIGURES("IDLE", "AWAKE", "UNKNOWN", "KHZ UNKNOWN", "WAKE-UPS", "BY IRQ", "BY TIMER",
				"BY TASK", "CAUSE ?"),
		},
		[IDLE] = {
			.key = "idle",
			.scope = SCOPE_KEYED,
			OF_NO_THREAD,
			.owner_key = "cpu",
			.id_key = "state",
			.title = "CPU:IDLE STATE",
			.sort_mask = 1u << IDLE_NS,
			.columns = {
				[IDLE_NS] = { "ns", "TIME", UNIT_NS, COLUMN_SUM, true, REST_ALL },
				[IDLE_STAY] = { "stay", "STAY", UNIT_NS, COLUMN_HISTOGRAM,
						.rest = REST_ALL },
			},
		},
		[FREQUENCIES] = {
			.key = "frequencies",
			.scope = SCOPE_KEYED,
			OF_NO_THREAD,
			.owner_key = "cpu",
			.id_key = "khz",
			.title = "CPU:KHZ",
			.sort_mask = 1u << KHZ_NS,
			.columns = {
				[KHZ_NS] = { "ns", "TIME", UNIT_NS, COLUMN_SUM, true, REST_ALL },
				[KHZ_AWAKE] = { "awake_ns", "AWAKE", UNIT_NS, COLUMN_SUM },
				[KHZ_CHANGES] = { "changes", "TIMES SET", UNIT_COUNT },
			},
		},
		[CAUSES] = {
			.key = "causes",
			.scope = SCOPE_KEYED,
			OF_NO_THREAD,
			.id_key = "irq",
			.name_key = "name",
			.title = "WOKEN BY IRQ",
			.lami_class = "irq",
			.sort_mask = 1u << CAUSE_WAKEUPS,
			.columns = {
				[CAUSE_WAKEUPS] = { "wakeups", "WAKE-UPS", UNIT_COUNT },
				[CAUSE_STAY] = { "idle", "AFTER IDLE", UNIT_NS, COLUMN_HISTOGRAM,
						 .rest = REST_ALL },
			},
		},
	},
	.record_words = (const uint8_t[RECORD_KINDS]){ [OWN_INTERRUPT] = RECORD_TEXT },
	.on_record = on_record,
	.on_ordered = on_ordered,
	.on_trace_forget = on_trace_forget,
	.on_trace_checkpoint = on_trace_checkpoint,
	.rare = &(const struct analysis_rare){ .on_lost = power_worker_lost,
					       .on_cpu = on_cpu,
					       .on_ordered_hole = lose_all,
					       .on_ordered_window_end = end_all_windows },
};
