/*
 * timeline: what each thread did when (doc/definitions.md, 5).
 *
 *     thread   NEW ── USER ─ SYSCALL ─ BLOCKED ───── WAIT ─ SYSCALL ─ USER ─ PREEMPTED ─ USER ──
 * DEAD CPU        idle   thread                idle           thread           another
 *
 * The states of a thread follow each other without holes from its birth (or the trace's begin) to
 * its end (or the trace's end); what is not known is UNKNOWN.  A BLOCKED interval has what ended
 * it.  Times are ns since the epoch.  It is built from events in time order, and takes 16 bytes
 * for each change of state and for each sleep in a system call.
 */
#ifndef SILLAGE_DEEP_TIMELINE_H
#define SILLAGE_DEEP_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/mem.h"

struct reader_setup;

enum state {
	STATE_UNKNOWN,
	STATE_NEW,     /* forked, has not run */
	STATE_USER,    /* on a CPU */
	STATE_SYSCALL, /* on a CPU, in a system call */
	STATE_IRQ,     /* on a CPU, interrupted */
	STATE_SOFTIRQ,
	STATE_WAIT,      /* woken, waits for a CPU */
	STATE_PREEMPTED, /* was made to leave its CPU, and waits for one */
	STATE_BLOCKED,   /* sleeps */
	STATE_DEAD,
	STATES,
};

/* What ended a BLOCKED interval, by where its wake-up came from (doc/definitions.md, 7.1). */
enum cause {
	CAUSE_NONE, /* it has not ended, or was ended by what was not traced */
	CAUSE_TASK, /* another thread */
	CAUSE_TIMER,
	CAUSE_DISK,
	CAUSE_NET,
	CAUSE_IPI,
	CAUSE_IRQ,
	CAUSE_UNTRACED, /* an interrupt of an idle CPU whose events are not in the trace */
	CAUSES,
};

#define NOBODY UINT32_MAX /* no thread */
#define NO_CPU UINT16_MAX

struct interval {
	uint64_t begin;
	uint32_t who; /* BLOCKED, WAIT, by CAUSE_TASK: the waker */
	uint16_t cpu; /* where it runs, or will */
	uint8_t state, cause;
};

struct prio_change {
	uint64_t ts;
	int32_t prio;  /* smaller is more urgent (doc/definitions.md, 0.4); below 0: real-time */
	bool is_boost; /* inherited from one that waits for it */
};

/* A system call, or the futex that one is about. */
struct deep_call {
	char *name;
	bool has_futex;
	uint64_t futex; /* its address in the process */
};

/* A sleep in a system call. */
struct call_sleep {
	uint64_t ts;   /* when it left its CPU */
	uint32_t call; /* timeline.calls */
};

struct deep_thread {
	int32_t tid;         /* the last */
	int32_t former_tid;  /* until renamed_ts, when it took over its leader's */
	uint64_t renamed_ts; /* 0: it did not */
	int64_t pid;         /* -1: unknown */
	char comm[17];       /* the last; "": unknown */
	uint64_t birth, end; /* of its intervals */
	bool was_born;       /* in the trace */
	uint32_t parent;     /* NOBODY: unknown */
	VEC(struct interval) intervals;
	VEC(struct prio_change) prios;
	VEC(struct call_sleep) sleeps;
	/* While it is built. */
	bool is_in_call;
	uint32_t call;           /* is_in_call: timeline.calls */
	uint64_t call_channel;   /* is_in_call: the stream class it was entered in */
	uint64_t pending_ts;     /* woken while it ran (doc/definitions.md, 4.4, rule 4), 0: not */
	struct interval pending; /* the cause of that */
	bool is_tentative;       /* WAIT by that, and nothing in the trace confirms it */
	uint16_t cpu;            /* of its last run */
};

/* Who is on a CPU from `begin` on. */
#define CPU_IDLE   UINT32_MAX
#define CPU_NOBODY (UINT32_MAX - 1) /* not known */
struct cpu_oncpu {
	uint64_t begin;
	uint32_t thread; /* or one of the above */
};

struct deep_cpu {
	uint64_t id;
	VEC(struct cpu_oncpu) oncpus;
	bool is_told;                   /* while it is built: who that is, or that nobody knows */
	struct context_stack *contexts; /* while it is built */
};

/* Who is on a CPU from the begin of its stream to its first switch, if that is known. */
struct cpu_initial {
	uint64_t since;
	uint64_t cpu; /* its id */
	int32_t tid;  /* 0: it is idle */
};

struct timeline {
	uint64_t begin, end; /* of the trace's events, and of the range */
	uint64_t events;     /* that were used */
	uint64_t gaps;       /* places where events are missing */
	VEC(struct deep_thread *) threads;
	VEC(struct deep_cpu) cpus;
	VEC(struct cpu_initial) initial; /* by time */
	VEC(struct deep_call) calls;
};

/*
 * Of a recorded kernel trace, for the range from @begin to @end (0 and UINT64_MAX: all; what comes
 * before it is read, too, since it tells what is there at its begin).  NULL with the reason.
 */
struct timeline *timeline_build(const struct reader_setup *setup, uint64_t begin, uint64_t end,
				struct err *err);
void timeline_free(struct timeline *timeline); /* NULL is fine */

const char *timeline_state_name(enum state state);
const char *timeline_cause_name(enum cause cause);

/* The interval that has the instant just before @ts, SIZE_MAX: none has. */
size_t timeline_thread_before(const struct deep_thread *thread, uint64_t ts);
/* Where an interval ends. */
uint64_t timeline_thread_until(const struct deep_thread *thread, size_t interval);
/* The priority at @ts; NULL: not known. */
const struct prio_change *timeline_thread_prio(const struct deep_thread *thread, uint64_t ts);
/* The call that it sleeps in at @ts, or slept in until it was woken and waits for a CPU; NULL. */
const struct deep_call *timeline_thread_call(const struct timeline *timeline,
					     const struct deep_thread *thread, uint64_t ts);

static inline bool state_runs(unsigned int state)
{
	return state >= STATE_USER && state <= STATE_SOFTIRQ;
}

/* Whether it is meant by @who: a tid, or a name. */
bool timeline_thread_is(const struct deep_thread *thread, const char *who);

/* How long it was in each state within [begin, end). */
void timeline_thread_sums(const struct deep_thread *thread, uint64_t begin, uint64_t end,
			  uint64_t ret_ns[STATES]);

#endif
