/*
 * build: makes a timeline from a trace.
 *
 *     timeline-build.c  reads the trace twice: initial threads, then all events
 *     build-state.c     changes the states of threads and CPUs, and priorities
 *     build-events.c    one function per kind of event
 *     build-calls.c     those of system calls
 *
 * The rules are in doc/definitions.md: the running thread (2.1), threads (2.3), states (5),
 * wake-ups and their race (4.4), the source of a wake-up (7.1), gaps (0.7).
 *
 * Invariants while events are taken, in time order:
 *   - every thread has at least one interval once build_thread() or a fork returned it;
 *   - the last on-CPU interval of a CPU names the thread that runs there now;
 *   - indexes into timeline.threads stay valid; pointers to CPUs do not survive build_cpu().
 */
#pragma once

#include "base/check.h"
#include "base/hash.h"
#include "deep/reader.h"
#include "deep/timeline.h"
#include "kernel/thread-identity.h"
#include "kernel/wake-source.h"

/* What a requested event is about; a wake-up: enum wake_event. */
enum kind {
	EVENT_SWITCH = WAKE_EVENTS,
	EVENT_FORK,
	EVENT_EXEC,
	EVENT_PI,
	EVENT_MIGRATE,
	EVENT_PROCESS,
	EVENT_ENTER, /* an interrupt or another context begins */
	EVENT_LEAVE,
	EVENT_VECTOR,
	EVENT_CALL,
	EVENT_CALL_END,
};

enum context { CONTEXT_IRQ, CONTEXT_SOFTIRQ, CONTEXT_HRTIMER, CONTEXT_NET, CONTEXT_VECTOR };

/* Contexts of a CPU that nest, more than hardware does. */
#define NEST_MAX 16

/* The contexts that interrupted a CPU's thread, the innermost last. */

struct context_stack {
	unsigned int count;
	struct {
		uint8_t context;
		uint64_t id;
	} at[NEST_MAX];
};

HASH_MAP(indexes, uint32_t)

struct build {
	struct timeline *timeline;
	const struct reader *reader;
	struct indexes *by_tid; /* the newest thread with each tid */
	struct indexes *by_cpu;
	struct indexes *by_call; /* timeline.calls, by event class or futex address */
	struct indexes *by_lock; /* those that wait for a lock, by futex address */
	uint64_t now;            /* of the event that is taken */
	size_t initial_put;      /* how many of timeline.initial are on their CPUs */
	uint64_t range_begin;
	uint64_t hole_ts; /* begin of the last hole; 0: there was none */
	bool is_rt;       /* soft interrupts run in threads that can be preempted */
	uint16_t states;  /* encoding of prev_state (kernel/task-state.h) */
	struct wake_source wakes;
	int32_t wake_prio_offset; /* to subtract from the prio of wake-ups */
};

static inline struct deep_thread *build_thread_at(const struct build *build, uint32_t index)
{
	assert_hot(index < build->timeline->threads.count);
	return build->timeline->threads.at[index];
}

static inline const struct interval *build_last_interval(const struct deep_thread *thread)
{
	assert_hot(thread->intervals.count > 0);
	return &thread->intervals.at[thread->intervals.count - 1];
}

/* A thread's index, CPU_IDLE or CPU_NOBODY. */
static inline uint32_t build_cpu_current(const struct deep_cpu *cpu)
{
	return cpu->oncpus.at[cpu->oncpus.count - 1].thread;
}

/* The thread that runs there; NULL: idle or unknown. */
static inline struct deep_thread *build_running(const struct build *build,
						const struct deep_cpu *cpu)
{
	return build_cpu_current(cpu) >= CPU_NOBODY
		       ? NULL
		       : build_thread_at(build, build_cpu_current(cpu));
}

/* Whether the event's channel carries sched_switch, which is the first request. */
static inline bool build_sees_switches(const struct reader_event *event)
{
	return reader_sees(event, 0);
}

static inline uint16_t build_cpu_number(uint64_t id)
{
	return id < NO_CPU ? (uint16_t)id : NO_CPU;
}

/* In a state on no CPU, without a waker. */
static inline struct interval build_interval(enum state state)
{
	return (struct interval){ .state = (uint8_t)state, .who = NOBODY, .cpu = NO_CPU };
}

/* ---- build-state.c ---- */

/* Sets the thread's state from @ts on; @next.begin is ignored. */
void build_put(const struct build *build, struct deep_thread *thread, uint64_t ts,
	       struct interval next);
/* Adds a thread without an interval; returns its index. */
uint32_t build_add_thread(const struct build *build, int32_t tid, uint64_t birth);
/* Index of the thread that has this tid now; made if there is none. */
uint32_t build_thread(const struct build *build, int32_t tid);
/* Made if new.  The pointer is valid until the next call. */
struct deep_cpu *build_cpu(const struct build *build, uint64_t id);
void build_set_comm(struct deep_thread *thread, const struct value *value);
/* The thread runs on the CPU: the CPU's contexts and the open call give the state. */
void build_put_running(const struct build *build, struct deep_thread *thread, uint64_t ts,
		       const struct deep_cpu *cpu);

/* Nothing is known of the thread from @ts on. */
void build_put_unknown(const struct build *build, struct deep_thread *thread, uint64_t ts);

/* @source has ended the thread's sleep, or what seemed to be none. */
void build_wake(const struct build *build, struct deep_thread *thread, uint64_t ts,
		struct interval source, bool was_lost);

/* From @ts on the thread (or CPU_IDLE, CPU_NOBODY) is on the CPU. */
void build_oncpu(struct deep_cpu *cpu, uint64_t ts, uint32_t thread);

/* An event shows the thread's priority. */
void build_prio_seen(struct deep_thread *thread, uint64_t ts, int64_t prio);
/* It inherits a priority, until build_prio_end(). */
void build_prio_boost(struct deep_thread *thread, uint64_t ts, int64_t prio);
/* Its priority changes now; the event that shows it next shows to what. */
void build_prio_change(struct deep_thread *thread, uint64_t ts);
/* @caller enters a call that sets the priority of thread @target, and leaves it. */
void build_prio_set(const struct build *build, struct deep_thread *caller, uint64_t ts,
		    uint32_t target);
void build_prio_was_set(const struct build *build, struct deep_thread *caller, uint64_t ts,
			bool has_failed);

/* Nothing was traced from @ts on: any thread may have done anything. */
void build_lose(struct build *build, uint64_t ts);
/* The CPU is absent from @ts on, which lies more than HOLE_NS behind, if it was known what it ran.
 */
void build_leave(const struct build *build, uint64_t id, uint64_t ts);

/* ---- build-calls.c ---- */

/* The fields of an entry: a futex's address, the thread or process meant, the futex operation,
 * and what setpriority() is about. */
#define CALL_FIELDS                                                                                \
	{                                                                                          \
		"uaddr", "pid", "op", "which", "who"                                               \
	}
enum { CALL_FUTEX, CALL_PID, CALL_OP, CALL_WHICH, CALL_WHO };

/* The running thread enters or leaves a system call. */
void build_on_call(const struct build *build, const struct reader_event *event, bool is_entry);

/* ---- build-events.c ---- */

extern const struct plan_request build_requests[];
extern const size_t build_request_count;

/* @event: not older than the event before. */
void build_take(struct build *build, const struct reader_event *event);
