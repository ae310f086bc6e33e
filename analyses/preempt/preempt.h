/*
 * preempt: who had the CPU that threads waited for (doc/definitions.md, 4.15).
 *
 *     preempt.c         worker's half; the descriptor
 *     preempt-thread.c  when a thread waits, and for which CPU: its own records tell
 *     preempt-place.c   who runs on each CPU: the switches there tell; waits laid over that: pairs
 *
 * Neither depends on the other: a thread that seems to be on two CPUs, where events are lost, runs
 * on both.  Laying them over each other needs one order of time.  That is why this is an analysis
 * apart from sched.
 */
#pragma once

#include "base/hash.h"
#include "engine/contract/analysis-rare.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "kernel/thread-phase.h"

enum preempt_table { TOTALS, PAIRS, PROCESS_PAIRS, CONTAINER_PAIRS };
enum { WAITED, WAITED_IDLE, WAITED_UNKNOWN }; /* TOTALS */
enum { PAIR_WAITED, PAIR_TIMES, PAIR_LONGEST };

/* Records of the analysis. */
enum own_record {
	OWN_WAKE = RECORD_OWN, /* arg64: from which CPU; arg32: to which; arg16: enum wake_kind */
	OWN_MIGRATE,           /* arg32: to which CPU */
	OWN_EXEC,              /* it took the tid of its process' leader */
	OWN_LOST,              /* arg64: CPU: switches are missing from here on */
	OWN_FOUND,             /* arg64: CPU: the next event after those that are missing */
};

/* ---- ordered events ---- */

/* Their words are CPUs by id, UINT64_MAX: unknown.  Those about a thread also tell what becomes of
 * its wait: WORD_FLAGS and what follows. */
enum note {
	NOTE_INITIAL,     /* CPU: the thread ran there when the trace began, if ... */
	NOTE_INITIAL_CPU, /* CPU: ... it began with a thread; word 1: it did not, it was idle */
	NOTE_IN,          /* CPU; when it leaves, 0: NOTE_OUT tells */
	NOTE_OUT,         /* CPU; when it leaves, which may be later */
	NOTE_WAIT,        /* the thread's wait begins, ends, or moves */
	NOTE_FORK,        /* the same; who had the tid before waits no more */
	NOTE_EXEC,        /* as NOTE_FORK */
	NOTE_SEEN,        /* CPU: the thread is there */
	NOTE_LOST,        /* CPU: switches are missing from here on */
	NOTE_FOUND,       /* CPU: a switch or an exec comes after that */
	NOTE_HOLE,        /* switches of all CPUs are missing, and nobody waits any more */
};

enum note_word { WORD_CPU, WORD_OUT, WORD_FLAGS, WORD_FROM, WORD_TO, WORD_SINCE };
#define NOTE_LEAVES 1u /* it leaves the queue of the CPU in WORD_FROM */
#define NOTE_JOINS  2u /* it waits for the CPU in WORD_TO, from the time in WORD_SINCE on */

/* ---- who runs, who waits ---- */

struct waiter {
	uint64_t since; /* it may be later than now */
	uint32_t member;
	int32_t tid;
	uint8_t left_out;
};

/* How often a thread came and left at one time. */
struct moved {
	uint64_t until; /* when it leaves after that; UINT64_MAX: that is not known */
	uint32_t member;
	int32_t times;
};

/*
 * What happens on a CPU at one time.  Ordered events of one time come by tid, not in the order in
 * which they happened; what they come to is the same in any order (preempt-place.c).
 */
struct moment {
	bool is_open;      /* at place.charged */
	bool has_switched; /* somebody came or left */
	bool is_lost, is_found;
	uint32_t seen; /* a member, 0: none; it is there, if nobody else is known to be */
	VEC(struct moved) moved;
};

/* A CPU.  The one with id UINT64_MAX stands for a CPU that is unknown. */
struct preempt_place {
	uint64_t id;
	uint64_t charged; /* up to then, waits in the queue are in pairs */
	uint64_t since;   /* who runs there does so since then ... */
	uint64_t until;   /* ... up to then; UINT64_MAX: that is not known yet */
	uint32_t runs;    /* a member; PAIR_IDLE, PAIR_UNKNOWN */
	uint32_t initial; /* a member, 0: none; who will run there after NOTE_INITIAL_CPU */
	struct moment moment;
	VEC(struct waiter) queue;
};

HASH_MAP(preempt_indexes, uint32_t)

#define LOW_CPUS 256

struct preempt_trace {
	uint64_t now;      /* of the last ordered event */
	uint64_t switches; /* so many NOTE_IN */
	VEC(struct preempt_place) places;
	struct preempt_indexes by_cpu;
	uint32_t
		low[LOW_CPUS]; /* the same of CPUs below that, which is faster: 0: none, else + 1 */
};

/* ---- preempt-thread.c: hooks of a thread ---- */

/* Of a thread.  The queue is that of a CPU. */
struct preempt_thread {
	struct thread_phase
		phase;   /* has_cpu: its CPU is also where it waits; UINT64_MAX: unknown */
	uint64_t queue;  /* is_waiting */
	uint64_t target; /* phase.has_pending: where it will wait */
	bool has_cpu;
	bool is_waiting; /* it waits, or will from phase.out_ts on: a note tells that */
	bool is_told;    /* on_switch_in() told of the switch out that comes next */
};

void preempt_on_record(struct shard *shard, const struct record *record, const uint64_t *numbers,
		       struct thread *thread);
void preempt_on_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in);
void preempt_on_switch_out(struct shard *shard, struct thread *thread,
			   const struct switch_out *out);
void preempt_on_initial_cpu(struct shard *shard, struct thread *unknown, uint64_t cpu, int32_t tid,
			    uint64_t ts);
void preempt_on_fork(struct shard *shard, struct thread *thread, uint64_t ts);
void preempt_on_seen(struct shard *shard, struct thread *thread, uint64_t ts, uint64_t cpu,
		     enum seen how);
void preempt_on_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what);
void preempt_on_checkpoint(const struct checkpoint *checkpoint, void *state);

/* ---- preempt-place.c: hooks of the trace ---- */

void preempt_on_ordered(struct shard *shard, void *state, const struct ordered *ordered);
void preempt_on_window_end(struct shard *shard, void *state, uint64_t end);
void preempt_on_trace_forget(void *state);
void preempt_on_trace_checkpoint(const struct checkpoint *checkpoint, void *state);
