/*
 * track: state while resources are found, see resources.h.
 */
#ifndef SILLAGE_DEEP_RESOURCES_TRACK_H
#define SILLAGE_DEEP_RESOURCES_TRACK_H

#include "base/hash.h"
#include "deep/jobs/owners.h"
#include "deep/resources/resources.h"

enum call_kind {
	CALL_NONE,
	CALL_WAIT,
	CALL_WAKE,
	CALL_MOVE,
	CALL_SEND,
	CALL_RECEIVE,
	CALL_OPEN_QUEUE
};

/* The call that a thread is in. */
struct call {
	uint8_t kind;
	bool has_slept, is_asleep;
	bool was_handed;             /* CALL_RECEIVE: woken by a sender */
	bool is_pending;             /* woken since it last came to a CPU */
	uint32_t resource, other;    /* NOBODY: none */
	uint64_t since;              /* the entry, or when it was moved to this futex */
	uint64_t sleep;              /* has_slept: its first sleep since then */
	uint64_t wake;               /* its last wake-up */
	int32_t waker;               /* of that one, 0: no thread */
	uint64_t woken, woken_other; /* CALL_WAKE, CALL_MOVE: sleepers of these that it woke */
	uint64_t op, bytes;
	char *name; /* CALL_OPEN_QUEUE */
};

/* A thread that makes calls. */
struct task {
	int32_t tid;
	uint32_t epoch;
	struct call call;
};

struct cpu_track {
	int32_t tid;       /* that runs; 0: idle or unknown */
	uint32_t expiring; /* the timer whose callback runs; NOBODY: none */
	uint32_t expired;  /* the one whose callback was the last thing that ran */
};

HASH_DECLARE(tracked_tasks, struct task *)
HASH_DECLARE(tracked_cpus, struct cpu_track)
HASH_DECLARE(tracked_indexes, uint32_t)
HASH_DECLARE(tracked_pids, int64_t)
HASH_DECLARE(tracked_names, char *)

struct track {
	const struct timeline *timeline;
	const bool *scope;
	struct resources *resources;
	struct owners owners;
	uint16_t states;     /* encoding of prev_state */
	unsigned int source; /* request of the wake-up event that this trace has */
	size_t initial_put;
	uint32_t epoch;                   /* counts places where events are missing */
	size_t interval_count, row_count; /* of all resources */
	khash_t(tracked_tasks) * tasks;
	khash_t(tracked_cpus) * cpus;
	khash_t(tracked_indexes) * by_key;
	khash_t(tracked_pids) * pids;    /* by tid */
	khash_t(tracked_pids) * parents; /* processes, by pid */
	khash_t(tracked_indexes) * open; /* queues, by (pid, descriptor); NOBODY: closed */
	khash_t(tracked_pids) * tables;  /* file tables, by pid */
	khash_t(tracked_names) * names;  /* of files, by (file table or pid, descriptor) */
};

static inline struct resource *track_at(const struct track *track, uint32_t index)
{
	return track->resources->all.at[index];
}

static inline bool track_counts(const struct track *track, uint64_t ts)
{
	return ts >= track->timeline->begin;
}

/* ---- resources.c ---- */

/* Valid until the next call. */
struct cpu_track *track_cpu(struct track *track, uint64_t cpu);
/* NULL: it made no call. */
struct task *track_task(const struct track *track, int32_t tid);
/* Made if new; NULL for the idle thread or an unknown one. */
struct task *track_task_made(struct track *track, int32_t tid);
uint32_t track_thread(const struct track *track, int32_t tid, uint64_t ts);
/* -1: unknown. */
int64_t track_pid(const struct track *track, int32_t tid, uint64_t ts);
/* The call has ended, and is not counted. */
void track_drop_call(struct track *track, struct task *task);
enum outcome track_outcome(int64_t ret);

/* ---- rows.c ---- */

/* The resource of this key; made if new.  NOBODY: there are too many. */
uint32_t rows_resource(struct track *track, enum resource_kind kind, int64_t pid, uint64_t address,
		       const char *name);
/* Its state is forgotten if events were missing since it was used. */
void rows_refresh(const struct track *track, uint32_t resource);
/* Adds the part of the interval in the range. */
void rows_interval(struct track *track, uint32_t resource, struct resource_interval interval);
/* The thread's row; a scratch one if there are too many. */
struct resource_member *rows_member(struct track *track, uint32_t resource, uint32_t thread);
void rows_pair(struct track *track, uint32_t resource, struct resource_pair pair, uint64_t ns);
void rows_sum(struct resource_sum *sum, uint64_t ns);
/* The part of [begin, end) in the range. */
uint64_t rows_part(const struct track *track, uint64_t begin, uint64_t end);
/* The thread used the resource at @ts. */
void rows_touch(const struct track *track, uint32_t resource, uint32_t thread, uint64_t ts);
/* Drops what is not touched, and sorts. */
void rows_finish(struct track *track);

/* ---- timers.c, futexes.c, queues.c: requests and what they mean ---- */

enum {
	ON_SWITCH,
	ON_TTWU,
	ON_WAKING,
	ON_WAKEUP,
	ON_EXEC,
	ON_FORK,
	ON_PROCESS,
	ON_FILE,
	ON_TIMER_INIT,
	ON_TIMER_START,
	ON_TIMER_CANCEL,
	ON_TIMER_ENTRY,
	ON_TIMER_EXIT,
	ON_FUTEX,
	ON_FUTEX_EXIT,
	ON_FUTEX2_WAIT,
	ON_FUTEX2_WAKE,
	ON_FUTEX_VECTOR,
	ON_MQ_OPEN,
	ON_MQ_OPEN_EXIT,
	ON_MQ_SEND,
	ON_MQ_SEND_EXIT,
	ON_MQ_RECEIVE,
	ON_MQ_RECEIVE_EXIT,
	ON_CLOSE,
	TRACK_EVENTS,
};

enum { TIMER_FIELD, TIMER_FUNCTION, TIMER_EXPIRES, TIMER_NOW = 2 };
enum { FUTEX_UADDR, FUTEX_OP, FUTEX_UADDR2 };
enum { EXIT_RET };
enum { FUTEX2_UADDR, FUTEX2_FLAGS };
enum { QUEUE_NAME };
enum { QUEUE_DESCRIPTOR, QUEUE_BYTES };

void timers_take(struct track *track, const struct reader_event *event, unsigned int kind);
/* A thread was woken from the timer's callback. */
void timers_wake(struct track *track, uint32_t timer, int32_t tid, uint64_t ts);
void timers_lose(struct resource *timer);
void timers_finish(struct track *track);

void futexes_enter(struct track *track, const struct reader_event *event, unsigned int kind);
void futexes_leave(struct track *track, struct task *task, const struct reader_event *event);
/* The thread's wait ends with this outcome at @ts. */
void futexes_end_wait(struct track *track, struct task *task, uint64_t ts, enum outcome outcome);

void queues_enter(struct track *track, const struct reader_event *event, unsigned int kind);
void queues_leave(struct track *track, struct task *task, uint64_t ts, int64_t ret,
		  enum outcome outcome);
/* The call that opens a queue returns. */
void queues_opened(struct track *track, struct task *task, const struct reader_event *event);
void queues_close(struct track *track, const struct reader_event *event);
void queues_file(struct track *track, const struct reader_event *event);
/* The thread that receives was woken by a sender, or is not any more. */
void queues_handed(const struct track *track, struct call *call, bool is_handed);

#endif
