/*
 * build: what the parts share that make a timeline: build.c (the trace), build-state.c (threads and
 * CPUs, and what states they are in), build-events.c (what events mean for those).
 *
 * The rules are those of doc/definitions.md: who runs (2.1), threads (2.3), states (5),
 * wake-ups and their race (4.4), what a wake-up came from (7.1), gaps (0.7).
 */
#ifndef SILLAGE_DEEP_BUILD_H
#define SILLAGE_DEEP_BUILD_H

#include "base/hash.h"
#include "deep/reader.h"
#include "deep/timeline.h"

/* What the events are about that are asked for. */
enum kind {
	EVENT_SWITCH,
	EVENT_TTWU,
	EVENT_WAKING,
	EVENT_WAKEUP,
	EVENT_WAKEUP_NEW,
	EVENT_FORK,
	EVENT_EXEC,
	EVENT_PI,
	EVENT_MIGRATE,
	EVENT_PROCESS,
	EVENT_ENTER, /* an interrupt, or what is like one */
	EVENT_LEAVE,
	EVENT_VECTOR,
	EVENT_CALL,
	EVENT_CALL_END,
};

enum context { CONTEXT_IRQ, CONTEXT_SOFTIRQ, CONTEXT_HRTIMER, CONTEXT_NET, CONTEXT_VECTOR };

#define NEST_MAX 16 /* contexts of a CPU: more than hardware nests */

struct context_stack {
	unsigned int count;
	struct {
		uint8_t context;
		uint64_t id;
	} at[NEST_MAX];
};

HASH_DECLARE(indexes, uint32_t)

struct build {
	struct timeline *timeline;
	khash_t(indexes) * by_tid; /* the newest thread of each */
	khash_t(indexes) * by_cpu;
	khash_t(indexes) * by_call; /* of calls: their class, or the futex */
	size_t initial_put;         /* of the timeline's, which were put on their CPUs */
	uint64_t range_begin;
	uint16_t states;  /* how prev_state is encoded */
	enum kind source; /* the event that wakes in this trace */
	bool has_wakeup;
	int32_t wake_prio_offset; /* what the prio of wake-ups has too much */
};

static inline struct deep_thread *build_thread_at(const struct build *build, uint32_t index)
{
	return build->timeline->threads.at[index];
}

static inline const struct interval *interval_last(const struct deep_thread *thread)
{
	return &thread->intervals.at[thread->intervals.count - 1];
}

static inline uint32_t cpu_current(const struct deep_cpu *cpu)
{
	return cpu->oncpus.at[cpu->oncpus.count - 1].thread;
}

/* The thread that runs there, NULL: none, or it is not known. */
static inline struct deep_thread *build_running(const struct build *build,
						const struct deep_cpu *cpu)
{
	return cpu_current(cpu) >= CPU_NOBODY ? NULL : build_thread_at(build, cpu_current(cpu));
}

/* Whether the event's stream has the switches of its CPU, which are the first request. */
static inline bool build_sees_switches(const struct reader_event *event)
{
	return reader_sees(event, 0);
}

static inline uint16_t cpu_number(uint64_t id)
{
	return id < NO_CPU ? (uint16_t)id : NO_CPU;
}

/* In a state on no CPU, by nobody. */
static inline struct interval interval_of(enum state state)
{
	return (struct interval){ .state = (uint8_t)state, .who = NOBODY, .cpu = NO_CPU };
}

/* ---- build-state.c ---- */

/* From @ts on the thread is in this state. */
void build_put(const struct build *build, struct deep_thread *thread, uint64_t ts,
	       struct interval next);
/* A new thread of this tid, without an interval yet; its index. */
uint32_t build_add_thread(const struct build *build, int32_t tid, uint64_t birth);
/* The newest of this tid; made when there is none that lives. */
uint32_t build_thread(const struct build *build, int32_t tid);
/* Made when new; dies with the next call. */
struct deep_cpu *build_cpu(const struct build *build, uint64_t id);
void build_set_comm(struct deep_thread *thread, const struct value *value);
void build_set_prio(struct deep_thread *thread, uint64_t ts, int64_t prio, bool is_boost);
/* It runs on the CPU: what of it is told by its open call and the CPU's interrupts. */
void build_put_running(const struct build *build, struct deep_thread *thread, uint64_t ts,
		       const struct deep_cpu *cpu);

/* From @ts on the thread is there, or nobody known. */
void build_oncpu(struct deep_cpu *cpu, uint64_t ts, uint32_t thread);

/* ---- build-events.c ---- */

extern const struct plan_request build_requests[];
extern const size_t build_request_count;

void build_take(struct build *build, const struct reader_event *event);

#endif
