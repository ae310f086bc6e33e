/*
 * power-cpu: see power.h; one CPU.
 */
#include "analyses/power/power.h"

static uint64_t *row_of_cpu(struct shard *shard, const struct power_cpu *cpu)
{
	const struct row_key key = { .id = cpu->id };

	return shard_keyed_row(shard, CPUS, &key);
}

/* A row of the CPU in a table whose number is a state, or a frequency. */
static uint64_t *numbered_row(struct shard *shard, unsigned int table, const struct power_cpu *cpu,
			      uint32_t number)
{
	const struct row_key key = { .id = cpu->id << 32 | number };

	return shard_keyed_row(shard, table, &key);
}

static void add(struct shard *shard, const struct power_cpu *cpu, unsigned int column, uint64_t by)
{
	shard_trace_row(shard, TOTALS)[column] += by;
	row_of_cpu(shard, cpu)[column] += by;
}

/* ---- time ---- */

/* Of the time up to @ts, that in which the frequency is known. */
static void account_khz(struct shard *shard, struct power_cpu *cpu, uint64_t ts)
{
	uint64_t until = cpu->khz_until != 0 && cpu->khz_until < ts ? cpu->khz_until : ts;
	uint64_t ns = until > cpu->since ? until - cpu->since : 0;
	uint64_t *row = numbered_row(shard, FREQUENCIES, cpu, cpu->khz);

	row[KHZ_NS] += ns;
	row[KHZ_AWAKE] += cpu->mode == MODE_AWAKE ? ns : 0;
	cpu->known_khz += ns;
	if (cpu->khz_until != 0 && ts >= cpu->khz_until) {
		cpu->has_khz = false;
		cpu->khz_until = 0;
	}
}

void power_cpu_lose_khz(struct power_cpu *cpu, uint64_t ts)
{
	if (cpu->has_khz && ts <= cpu->since) {
		cpu->has_khz = false;
		cpu->khz_until = 0;
	} else if (cpu->has_khz && (cpu->khz_until == 0 || ts < cpu->khz_until)) {
		cpu->khz_until = ts;
	}
}

void power_cpu_account(struct shard *shard, struct power_cpu *cpu, uint64_t ts)
{
	uint64_t ns = ts > cpu->since ? ts - cpu->since : 0;

	if (ns == 0) {
		return;
	}
	if (cpu->mode != MODE_UNKNOWN) {
		add(shard, cpu, cpu->mode == MODE_IDLE ? ASLEEP_NS : AWAKE_NS, ns);
		cpu->known += ns;
	}
	if (cpu->mode == MODE_IDLE) {
		numbered_row(shard, IDLE, cpu, cpu->state)[IDLE_NS] += ns;
	}
	if (cpu->has_khz) {
		account_khz(shard, cpu, ts);
	}
	cpu->since = ts;
}

void power_cpu_runs_at(struct shard *shard, struct power_cpu *cpu, uint64_t ts, uint32_t khz)
{
	power_cpu_account(shard, cpu, ts);
	if (!cpu->has_khz || cpu->khz != khz) {
		numbered_row(shard, FREQUENCIES, cpu, khz)[KHZ_CHANGES]++;
	}
	cpu->khz = khz;
	cpu->has_khz = true;
	cpu->khz_until = 0;
}

/* ---- wake-ups ---- */

static struct row_key cause_key(const struct power_cpu *cpu, enum power_cause cause)
{
	static const char *const names[] = {
		[CAUSE_TIMER] = "(timer)", [CAUSE_TASK] = "(task)", [CAUSE_UNKNOWN] = "(unknown)"
	};

	return cause == CAUSE_INTERRUPT
		       ? cpu->interrupt
		       : row_key_of(ROW_KEY_NO_ID, names[cause], ROW_KEY_NAME_BYTES);
}

static void decide(struct shard *shard, struct power_cpu *cpu, enum power_cause cause)
{
	const struct row_key key = cause_key(cpu, cause);
	uint64_t *row;

	add(shard, cpu, BY_INTERRUPT + cause, 1);
	row = shard_keyed_row(shard, CAUSES, &key);
	row[CAUSE_WAKEUPS]++;
	if (cpu->stay != 0) {
		column_add(row, CAUSE_STAY, cpu->stay);
	}
	cpu->is_woken = false;
}

static void forget_cause(struct power_cpu *cpu)
{
	cpu->cause = CAUSE_KINDS;
	cpu->in_handler = cpu->wakes = false;
}

static void settle_cause(struct shard *shard, struct power_cpu *cpu)
{
	if (cpu->is_woken) {
		decide(shard, cpu,
		       cpu->cause < CAUSE_KINDS ? (enum power_cause)cpu->cause : CAUSE_UNKNOWN);
	}
}

static void end_stay(struct shard *shard, struct power_cpu *cpu, uint64_t ts)
{
	cpu->stay = 0;
	if (cpu->mode == MODE_IDLE && cpu->idle_since != 0) {
		cpu->stay = ts - cpu->idle_since;
		column_add(numbered_row(shard, IDLE, cpu, cpu->state), IDLE_STAY, cpu->stay);
	}
}

static void end_idle(struct shard *shard, struct power_cpu *cpu, uint64_t ts)
{
	bool is_known = cpu->mode == MODE_IDLE;

	if (cpu->mode == MODE_AWAKE) {
		return;
	}
	end_stay(shard, cpu, ts);
	add(shard, cpu, WAKEUPS, 1);
	cpu->mode = MODE_AWAKE;
	cpu->is_woken = true;
	if (!is_known || cpu->cause != CAUSE_KINDS) { /* what it was may have come before */
		settle_cause(shard, cpu);
	}
}

void power_cpu_idles(struct shard *shard, struct power_cpu *cpu, uint64_t ts, uint32_t state)
{
	power_cpu_account(shard, cpu, ts);
	if (state == IDLE_EXIT) {
		end_idle(shard, cpu, ts);
		return;
	}
	settle_cause(shard, cpu);
	end_stay(shard, cpu, ts);
	forget_cause(cpu);
	cpu->mode = MODE_IDLE;
	cpu->state = state;
	cpu->idle_since = ts;
}

/* The last that came while it idled, or the first after that; a timer's own interrupt is one. */
static void note_cause(struct power_cpu *cpu, enum power_cause cause)
{
	cpu->cause = (uint8_t)cause;
	cpu->in_handler = cause == CAUSE_INTERRUPT;
	if (cause != CAUSE_INTERRUPT) {
		cpu->interrupt = (struct row_key){ 0 };
	}
}

static void runs(struct shard *shard, struct power_cpu *cpu, uint64_t ts)
{
	if (cpu->mode == MODE_IDLE) { /* its exit is missing */
		power_cpu_account(shard, cpu, ts);
		cpu->mode = MODE_UNKNOWN;
	} else if (cpu->cause == CAUSE_KINDS && !cpu->wakes) {
		decide(shard, cpu, CAUSE_TASK);
	} else {
		settle_cause(shard, cpu);
	}
}

void power_cpu_hears(struct shard *shard, struct power_cpu *cpu, uint64_t ts, unsigned int kind,
		     const struct row_key *key)
{
	bool is_first = cpu->cause == CAUSE_KINDS || !cpu->is_woken;

	if (cpu->mode != MODE_IDLE && !cpu->is_woken) {
		return;
	}
	switch (kind) {
	case OWN_INTERRUPT:
		if (is_first && !cpu->in_handler) {
			note_cause(cpu, CAUSE_INTERRUPT);
			cpu->interrupt = *key;
		}
		return;
	case OWN_INTERRUPT_END:
		cpu->in_handler = false;
		break;
	case OWN_TIMER:
		note_cause(cpu, CAUSE_TIMER);
		break;
	case OWN_CALLED:
		if (is_first && !cpu->in_handler) {
			note_cause(cpu, CAUSE_TASK);
		}
		break;
	case OWN_WAKES:
		cpu->wakes |= cpu->cause == CAUSE_KINDS;
		return;
	case OWN_RUNS:
		runs(shard, cpu, ts);
		return;
	}
	if (cpu->cause != CAUSE_KINDS && !cpu->in_handler) {
		settle_cause(shard, cpu);
	}
}

/* ---- what is missing ---- */

void power_cpu_lose(struct shard *shard, struct power_cpu *cpu, uint64_t ts)
{
	power_cpu_account(shard, cpu, ts);
	forget_cause(cpu);
	settle_cause(shard, cpu);
	cpu->mode = MODE_UNKNOWN;
	cpu->idle_since = 0;
}

void power_cpu_codec(struct codec *codec, struct power_cpu *cpu)
{
	codec_each(codec, &cpu->since, &cpu->there, &cpu->known, &cpu->known_khz);
	codec_each(codec, &cpu->lost_from, &cpu->blind_until, &cpu->khz_until, &cpu->idle_since,
		   &cpu->stay, &cpu->state, &cpu->khz);
	row_key_codec(codec, &cpu->interrupt);
	codec_each(codec, &cpu->mode, &cpu->cause, &cpu->has_khz, &cpu->is_woken, &cpu->in_handler,
		   &cpu->wakes);
	if (!codec_check(codec, cpu->mode <= MODE_IDLE && cpu->cause <= CAUSE_KINDS)) {
		cpu->mode = MODE_UNKNOWN;
		cpu->cause = CAUSE_KINDS;
	}
}
