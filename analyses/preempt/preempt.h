/*
 * preempt: who had the CPU that threads waited for (doc/definitions.md, 4.15).
 *
 *     preempt.c        worker's half; hooks, which note all as ordered events; the descriptor
 *     preempt-queue.c  the queue of each CPU, and who runs there; pairs
 *     preempt-order.c  ordered events: what each means for threads and CPUs
 *
 * Waits and on-CPU intervals of different threads are laid over each other, so all of it needs one
 * order of time.  That is why this is an analysis apart from sched.
 *
 * A thread is known by its tid here.  What is known of it in the end, its name, process and
 * container, is looked up for a report (engine/tables/pairs.h).
 */
#ifndef SILLAGE_ANALYSES_PREEMPT_H
#define SILLAGE_ANALYSES_PREEMPT_H

#include "base/hash.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"

enum preempt_table { TOTALS, PAIRS, PROCESS_PAIRS, CONTAINER_PAIRS };
enum { WAITED, WAITED_IDLE, WAITED_UNKNOWN }; /* TOTALS */
enum { PAIR_WAITED, PAIR_TIMES, PAIR_LONGEST };

/* ---- ordered events ---- */

/* What a wake-up means in this trace (doc/definitions.md, 4.4). */
enum wake_kind { WAKE_NONE, WAKE_SOURCE, WAKE_CONFIRMS, WAKE_NEW };

/* Their words are CPUs by id, UINT64_MAX: unknown. */
enum note {
	NOTE_INITIAL_CPU, /* the CPU; the tid that it runs */
	NOTE_INITIAL,     /* the thread is one of those */
	NOTE_IN,          /* CPU; when it leaves (0: NOTE_OUT tells); RECORD_... of that */
	NOTE_OUT,         /* CPU; RECORD_... */
	NOTE_WAKE,        /* enum wake_kind; from which CPU; to which one */
	NOTE_FORK,        /* CPU */
	NOTE_MIGRATE,     /* to which CPU */
	NOTE_EXEC,        /* CPU; the former tid */
	NOTE_LOST,        /* CPU: switches are missing from here on */
	NOTE_LOSE,        /* the same of all CPUs */
};

/* ---- state of the trace ---- */

enum task_phase { TASK_OTHER, TASK_RUNS, TASK_WAITS };

#define NO_TASK  UINT32_MAX
#define NO_PLACE UINT32_MAX

struct task {
	int32_t tid;
	uint32_t member; /* in pairs; 0: the slot is free */
	uint32_t place;  /* where it runs, waits, or ran last */
	uint32_t target; /* has_pending: where it will wait */
	uint64_t joined; /* TASK_WAITS: since then in this place */
	uint64_t out_ts; /* has_out: TASK_RUNS until then */
	uint16_t out_flags;
	uint8_t phase, left_out;
	bool has_out;
	bool has_pending; /* TASK_RUNS: it was woken before it sleeps */
	bool is_due;      /* listed in preempt_trace.due */
};

/* A CPU.  The one with id UINT64_MAX stands for a CPU that is unknown. */
struct place {
	uint64_t id;
	uint64_t charged;      /* up to then, waits in the queue are in pairs */
	uint64_t since;        /* who runs there does so since then */
	uint32_t runs;         /* a task; NO_TASK: none */
	bool is_idle;          /* NO_TASK: the idle thread; else it is unknown who runs */
	uint32_t before;       /* the task that ran there before, until `since` ... */
	uint64_t before_since; /* ... since then */
	VEC(uint32_t) queue;
};

HASH_DECLARE(preempt_indexes, uint32_t)

struct preempt_trace {
	uint64_t now;      /* of the last ordered event */
	uint64_t switches; /* so many NOTE_IN */
	VEC(struct place) places;
	VEC(struct task) tasks;
	VEC(uint32_t) free; /* tasks */
	/* Tasks that leave a CPU when time goes on: another one runs there, or they were woken. */
	VEC(uint32_t) due;
	khash_t(preempt_indexes) * by_cpu;
	khash_t(preempt_indexes) * by_tid;
};

/* ---- preempt-queue.c ---- */

/* Makes the state usable. */
void preempt_begin(struct preempt_trace *trace);

static inline struct task *preempt_task(const struct preempt_trace *trace, uint32_t task)
{
	return &trace->tasks.at[task];
}

static inline struct place *preempt_place(const struct preempt_trace *trace, uint32_t place)
{
	return &trace->places.at[place];
}

/* The place of a CPU, and the task of a tid, by index; made when new.  Pointers to others are
 * invalid then. */
uint32_t preempt_place_of(struct preempt_trace *trace, uint64_t cpu);
uint32_t preempt_task_of(struct shard *shard, struct preempt_trace *trace, int32_t tid);
void preempt_end_task(struct shard *shard, struct preempt_trace *trace, uint32_t task);

/* Accounts for the queue of the place up to @ts; the thread that runs there may have left. */
void preempt_settle(struct shard *shard, struct preempt_trace *trace, uint32_t place, uint64_t ts);
void preempt_settle_all(struct shard *shard, struct preempt_trace *trace, uint64_t ts);
/* The task waits in the queue of the place from @ts on, or does not wait any more. */
void preempt_join(struct shard *shard, struct preempt_trace *trace, uint32_t task, uint32_t place,
		  uint64_t ts);
void preempt_leave(struct shard *shard, struct preempt_trace *trace, uint32_t task, uint64_t ts);
/* From @ts on the task (NO_TASK: nobody, or somebody unknown) runs in the place. */
void preempt_run(struct shard *shard, struct preempt_trace *trace, uint32_t place, uint32_t task,
		 bool is_idle, uint64_t ts);
/* Some task comes at @ts and leaves at once.  Of all that come then, only the one that stays runs
 * there, whichever is first in the order of events; if none does, the CPU is idle. */
void preempt_pass(struct shard *shard, struct preempt_trace *trace, uint32_t place, uint64_t ts);
/* The same of the task that runs there. */
void preempt_undo(struct preempt_trace *trace, uint32_t place, uint64_t ts);
/* The task leaves its CPU once time goes on. */
void preempt_add_due(struct preempt_trace *trace, uint32_t task);
void preempt_drop_due(struct preempt_trace *trace, uint32_t task);
/* Time goes on to @ts. */
void preempt_advance(struct shard *shard, struct preempt_trace *trace, uint64_t ts);

/* ---- preempt-order.c ---- */

void preempt_on_ordered(struct shard *shard, void *state, const struct ordered *ordered);
void preempt_on_window_end(struct shard *shard, void *state, uint64_t end);
void preempt_on_trace_forget(void *state);
void preempt_on_trace_checkpoint(const struct checkpoint *checkpoint, void *state);

#endif
