/*
 * timeline: the state of each thread over time (doc/definitions.md, 5).
 *
 *     thread  NEW ── USER ─ SYSCALL ─ BLOCKED ──── WAIT ─ SYSCALL ─ USER ─ PREEMPTED ─ USER ─ DEAD
 *     CPU     idle   thread ───────── idle ────────────── thread ───────── another ─── thread ─
 * idle
 *
 * The intervals of a thread tile its life without holes: from its birth (or the trace's start) to
 * its end (or the trace's end).  An interval ends where the next one begins; unknown time is an
 * UNKNOWN interval.  A BLOCKED interval names what ended it.  Times are ns since the epoch.
 *
 * timeline-build.c makes one from events in time order.  It takes 16 bytes for each change of
 * state and for each sleep in a system call.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"
#include "kernel/thread-phase.h"

struct context_stack;
struct reader_setup;

enum state {
	STATE_UNKNOWN,
	STATE_NEW,     /* forked, has not run */
	STATE_USER,    /* on a CPU */
	STATE_SYSCALL, /* on a CPU, in a system call */
	STATE_IRQ,     /* on a CPU, interrupted */
	STATE_SOFTIRQ,
	STATE_WAIT,      /* woken, waits for a CPU */
	STATE_PREEMPTED, /* lost its CPU while runnable, waits for one */
	STATE_BLOCKED,   /* sleeps */
	STATE_DEAD,
	STATES,
};

/* What ended a BLOCKED interval: the source of its wake-up (doc/definitions.md, 7.1). */
enum cause {
	CAUSE_NONE, /* it has not ended, or its end was not traced */
	CAUSE_TASK, /* another thread */
	CAUSE_TIMER,
	CAUSE_DISK,
	CAUSE_NET,
	CAUSE_IPI,
	CAUSE_IRQ,
	CAUSE_UNTRACED, /* an interrupt of an idle CPU; the trace lacks its events */
	CAUSES,
};

#define NOBODY UINT32_MAX /* no thread */
#define NO_CPU UINT16_MAX

struct interval {
	uint64_t begin;
	uint32_t who; /* BLOCKED and WAIT with CAUSE_TASK: the waker; else NOBODY */
	uint16_t cpu; /* where it runs, or will run */
	uint8_t state, cause;
};

/* From @ts to the next one (doc/definitions.md, 7.3). */
struct prio_change {
	uint64_t ts;
	int32_t prio;  /* smaller is more urgent (doc/definitions.md, 0.4); below 0: real-time */
	bool is_boost; /* inherited from a thread that waits for this one */
	bool is_unknown;
	bool is_settled; /* is_unknown: the next event that shows the priority shows this one */
};

/* A system call, or the futex that a call is about. */
struct deep_call {
	char *name;
	bool sets_prio; /* of a thread: sched_setscheduler and its like */
	bool has_futex;
	bool is_lock;   /* has_futex: it waits for a lock, not for an event */
	uint64_t futex; /* its address in the process */
};

/* A sleep in a system call. */
struct call_sleep {
	uint64_t ts;   /* when the thread left its CPU */
	uint32_t call; /* index into timeline.calls */
};

struct deep_thread {
	int32_t tid;         /* the last one */
	int32_t former_tid;  /* until renamed_ts, when it took its leader's tid (exec) */
	uint64_t renamed_ts; /* 0: never */
	int64_t pid;         /* -1: unknown */
	char comm[17];       /* the last one; "": unknown */
	uint64_t birth, end; /* of its intervals */
	bool was_born;       /* its fork is in the trace */
	uint32_t parent;     /* NOBODY: unknown */
	VEC(struct interval) intervals;
	VEC(struct prio_change) prios; /* before the first one: that one */
	/* The most urgent one of its own that is known, not inherited; 0: never real-time. */
	int32_t urgency;
	VEC(struct call_sleep) sleeps;
	/* State of the build. */
	bool is_in_call;
	uint32_t call;                  /* is_in_call: index into timeline.calls */
	uint64_t call_channel;          /* is_in_call: stream class of the entry */
	struct thread_phase phase;      /* its CPU: where it ran last */
	struct context_stack *contexts; /* PREEMPT_RT: in which it was preempted; NULL: none yet */
	struct interval pending;        /* phase.has_pending: the source of that wake-up */
	struct interval
		woken; /* the first wake-up since the streams ended of the CPU that it is on */
	uint64_t prio_seen_ts; /* when an event last showed its priority */
	/* Its call that sets the priority of a thread, and that one's priority before. */
	uint32_t set_thread; /* NOBODY: it is in no such call */
	size_t set_at;       /* index into that one's prios: since the entry */
	struct prio_change set_before;
};

/* Values of cpu_oncpu.thread that are no thread. */
#define CPU_IDLE   UINT32_MAX
#define CPU_NOBODY (UINT32_MAX - 1) /* unknown */

/* On-CPU interval of a CPU: it ends where the next one begins. */
struct cpu_oncpu {
	uint64_t begin;
	uint32_t thread; /* index, CPU_IDLE or CPU_NOBODY */
};

struct deep_cpu {
	uint64_t id;
	uint64_t
		left; /* absent from then on (doc/definitions.md, 4.3): nobody; UINT64_MAX: never */
	VEC(struct cpu_oncpu) oncpus; /* never empty */
	/* State of the build. */
	bool is_doubted; /* the last switch did not fit, so nobody is known ... */
	int32_t doubted; /* ... but this tid was switched in */
	enum { INITIAL_AWAITED, INITIAL_UNPROVEN, INITIAL_DECIDED } initial;
	struct context_stack *contexts; /* interrupts that are being handled */
};

/* The initial thread of a CPU: on it from the start of the CPU's stream to its first switch. */
struct cpu_initial {
	uint64_t since;
	uint64_t cpu; /* its id */
	int32_t tid;  /* 0: the CPU was idle */
};

struct timeline {
	uint64_t begin, end; /* of the range, at most that of the trace's events */
	uint64_t first;      /* of all events of the trace */
	uint64_t last;       /* of them; UINT64_MAX: it goes on behind the range */
	uint64_t events;     /* that were read */
	uint64_t gaps;       /* places where events are missing */
	bool is_cut;         /* it ends before the range that was wanted: more had no room */
	uint32_t lacks;      /* bit by bit, the timeline_events that are not recorded */
	bool is_of_record;   /* by `sillage record`, not by LTTng */
	VEC(struct deep_thread *) threads;
	VEC(struct deep_cpu) cpus;       /* by id */
	VEC(struct cpu_initial) initial; /* by time; CPUs whose initial thread is known */
	VEC(struct deep_call) calls;
};

/*
 * Events that a timeline is made of, and that a trace may not record.  Without switches nothing can
 * be explained.  Without the others their states do not exist: the time counts in the state around
 * them.
 */
enum { LACKS_SWITCHES, LACKS_WAKEUPS, LACKS_CALLS, LACKS_IRQS, LACKS_SOFTIRQS, LACKS };

struct lacks_event {
	const char *any[5]; /* any of these will do: names, or a prefix and "*"; ends with NULL */
	const char *event;  /* as users are told */
	const char *command;
	const char *means; /* for what is reported */
};
extern const struct lacks_event timeline_events[LACKS];

/* What records an event by the trace's tracer, where @lttng is the command of LTTng. */
const char *timeline_command(const struct timeline *timeline, const char *lttng);

struct plan;
/* Bit by bit the events that are not recorded. */
uint32_t timeline_lacks(const struct plan *plan);

/*
 * Builds the timeline of a recorded kernel trace for the range from @begin to @end (0 and
 * UINT64_MAX: the whole trace).  Events before the range are read, too: they give the states at its
 * start.  NULL with the reason.
 */
struct timeline *timeline_build(const struct reader_setup *setup, uint64_t begin, uint64_t end,
				struct err *err);
/* The same, in about @max_bytes of memory. */
struct timeline *timeline_build_within(const struct reader_setup *setup, uint64_t begin,
				       uint64_t end, uint64_t max_bytes, struct err *err);
/* The same, but only its begin and the initial threads of CPUs. */
struct timeline *timeline_build_initial(const struct reader_setup *setup, struct err *err);
void timeline_fini_cpu(struct deep_cpu *cpu);
void timeline_free(struct timeline *timeline); /* NULL is fine */

/* The next initial thread that was on its CPU at @ts; NULL: none.  *put: how many came before. */
static inline const struct cpu_initial *timeline_initial_next(const struct timeline *timeline,
							      size_t *put, uint64_t ts)
{
	return *put < timeline->initial.count && timeline->initial.at[*put].since <= ts
		       ? &timeline->initial.at[(*put)++]
		       : NULL;
}

const char *timeline_state_name(enum state state);
const char *timeline_cause_name(enum cause cause);

/* The interval that contains the instant just before @ts; SIZE_MAX: none does. */
size_t timeline_thread_before(const struct deep_thread *thread, uint64_t ts);
/* The same, sooner if it is *hint or a little behind, which is then the result. */
size_t timeline_thread_near(const struct deep_thread *thread, uint64_t ts, size_t *hint);
/* Where an interval ends. */
uint64_t timeline_thread_until(const struct deep_thread *thread, size_t interval);
/* The priority at @ts; NULL: unknown. */
const struct prio_change *timeline_thread_prio(const struct deep_thread *thread, uint64_t ts);
/* The call that the thread sleeps in at @ts, or slept in until the wake-up after which it waits for
 * a CPU at @ts.  NULL: none. */
const struct deep_call *timeline_thread_call(const struct timeline *timeline,
					     const struct deep_thread *thread, uint64_t ts);

/* Whether a thread in this state is on a CPU. */
static inline bool timeline_state_runs(unsigned int state)
{
	return state >= STATE_USER && state <= STATE_SOFTIRQ;
}

/* Whether the thread waits for a CPU. */
static inline bool timeline_state_waits(unsigned int state)
{
	return state == STATE_WAIT || state == STATE_PREEMPTED || state == STATE_NEW;
}

/* Whether @who names the thread: a list of tids, names and patterns (kernel/thread-list.h). */
bool timeline_thread_is(const struct deep_thread *thread, const char *who);

/* Time in each state within [begin, end). */
void timeline_thread_sums(const struct deep_thread *thread, uint64_t begin, uint64_t end,
			  uint64_t ret_ns[STATES]);
/* The same, with a hint as above, which is then the last interval that was looked at. */
void timeline_thread_sums_near(const struct deep_thread *thread, uint64_t begin, uint64_t end,
			       uint64_t ret_ns[STATES], size_t *hint);

/*
 * Aborts if a complete timeline breaks an invariant: intervals of a thread begin one after the
 * other, every index of a thread or call is within bounds, a wake-up by a thread names that thread.
 */
void timeline_check(const struct timeline *timeline);
