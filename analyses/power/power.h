/*
 * power: how deep CPUs idle, how fast they run, and what wakes them (doc/definitions.md, 4.19).
 *
 *     power-worker.c  worker   what the events say, and what may be the cause of a wake-up
 *     power-cpu.c     trace    a CPU: idle or awake, at which frequency; why it woke
 *     power.c         trace    all CPUs in one order of time; the descriptor
 *
 *     power_cpu_idle 2 ──── stay ────► power_cpu_idle exit ── interrupt ──► sched_switch
 *                    (interrupt, if the state takes them)  └─ the cause: the first of these
 *
 * A CPU tells of its own idle states.  Of its frequency any CPU may tell, so all events are ordered
 * events, and what one channel loses may be about the frequency of every CPU.
 */
#pragma once

#include "base/hash.h"
#include "base/vec.h"
#include "engine/contract/analysis-rare.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"

enum { TOTALS, CPUS, IDLE, FREQUENCIES, CAUSES };
/* Of the trace and of a CPU. */
enum { ASLEEP_NS, AWAKE_NS, UNKNOWN_NS, UNKNOWN_KHZ_NS, WAKEUPS, BY_INTERRUPT };
enum { IDLE_NS, IDLE_STAY };
enum { KHZ_NS, KHZ_AWAKE, KHZ_CHANGES };
enum { CAUSE_WAKEUPS, CAUSE_STAY };

/* In the order of the columns from BY_INTERRUPT on. */
enum power_cause { CAUSE_INTERRUPT, CAUSE_TIMER, CAUSE_TASK, CAUSE_UNKNOWN, CAUSE_KINDS };

/* Records, and the ordered events that are made of them. */
enum {
	OWN_IDLE = RECORD_OWN, /* arg32: the state */
	OWN_FREQUENCY,         /* arg64: the CPU; arg32: kHz */
	OWN_INTERRUPT,         /* arg32: its number; arg64: its name, a text */
	OWN_INTERRUPT_END,
	OWN_TIMER,
	OWN_CALLED, /* another CPU calls this one to look for a task */
	OWN_WAKES,  /* the CPU itself wakes a task */
	OWN_RUNS,   /* a thread comes to the CPU */
	OWN_LOST,   /* arg64: ns up to which events are missing */
};
#define IDLE_EXIT UINT32_MAX

/* State of a worker, zeroed when a chunk begins. */
struct power_worker {
	bool is_asked, is_alone;
	bool is_quiet; /* a thread runs: what happens from here on is no cause */
};

#define POWER_NEEDS 14
extern const struct need power_needs[POWER_NEEDS];

void power_worker_lost(struct worker *worker, void *state, uint64_t ts, bool is_over);

/* ---- a CPU ---- */

enum power_mode { MODE_UNKNOWN, MODE_AWAKE, MODE_IDLE };

struct power_cpu {
	uint64_t id;
	uint64_t since; /* ns: its time is accounted for up to there */
	/* ns in the open window: as the engine knows it, of it known by mode, by frequency */
	uint64_t there, known, known_khz;
	uint64_t lost_from;   /* ns: its events are missing from there on, as power.lost_from */
	uint64_t blind_until; /* ns: what it says of its mode before that is not complete */
	uint64_t khz_until;   /* ns: the frequency is known up to there; 0: it goes on */
	uint64_t idle_since;  /* ns: MODE_IDLE; 0: not known */
	uint64_t stay;        /* ns, of the stay before a wake-up without a cause; 0: not known */
	struct row_key interrupt; /* CAUSE_INTERRUPT */
	uint32_t state, khz;
	uint8_t mode;
	uint8_t cause; /* of the wake-up that comes, or waits for it; CAUSE_KINDS: none yet */
	bool has_khz;
	bool is_woken;   /* awake, and the cause is not decided */
	bool in_handler; /* the cause is an interrupt that is being handled */
	bool wakes;      /* the CPU woke a task, and no cause was seen */
};

/* What comes from @now on: of the CPU, which the shard has selected. */
void power_cpu_account(struct shard *shard, struct power_cpu *cpu, uint64_t ts);
void power_cpu_idles(struct shard *shard, struct power_cpu *cpu, uint64_t ts, uint32_t state);
void power_cpu_runs_at(struct shard *shard, struct power_cpu *cpu, uint64_t ts, uint32_t khz);
/* @key: of an interrupt. */
void power_cpu_hears(struct shard *shard, struct power_cpu *cpu, uint64_t ts, unsigned int kind,
		     const struct row_key *key);
/* From @ts on its frequency is unknown, which counts once the CPU is known to have been there. */
void power_cpu_lose_khz(struct power_cpu *cpu, uint64_t ts);
/* From @ts on its mode is unknown. */
void power_cpu_lose(struct shard *shard, struct power_cpu *cpu, uint64_t ts);
void power_cpu_codec(struct codec *codec, struct power_cpu *cpu);
