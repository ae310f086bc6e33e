/*
 * track: state while resources are found, see resources.h.
 */
#pragma once

#include "base/hash.h"
#include "deep/executions/owners.h"
#include "deep/resources/resources.h"
#include "kernel/wake-source.h"

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
struct track_call {
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
	struct track_call call;
};

struct cpu_track {
	int32_t tid;       /* that runs; 0: idle or unknown */
	uint32_t expiring; /* the timer whose callback runs; NOBODY: none */
	uint32_t expired;  /* the one whose callback was the last thing that ran */
};

HASH_MAP(tracked_tasks, struct task *)
HASH_MAP(tracked_cpus, struct cpu_track)
HASH_MAP(tracked_indexes, uint32_t)
HASH_MAP(tracked_pids, int64_t)
HASH_MAP(tracked_names, char *)

struct track {
	const struct timeline *timeline;
	const bool *scope;
	struct resources *resources;
	struct owners owners;
	uint16_t states; /* encoding of prev_state */
	struct wake_source wakes;
	size_t initial_put;
	uint32_t epoch;                   /* counts places where events are missing */
	size_t interval_count, row_count; /* of all resources */
	struct tracked_tasks tasks;
	struct tracked_cpus cpus;
	struct tracked_indexes by_key;
	struct tracked_indexes members; /* by resource and thread */
	struct tracked_indexes pairs;   /* by a hash of resource and threads */
	struct tracked_pids pids;       /* by tid */
	struct tracked_pids parents;    /* processes, by pid */
	struct tracked_indexes open;    /* queues, by (pid, descriptor); NOBODY: closed */
	struct tracked_pids tables;     /* file tables, by pid */
	struct tracked_names names;     /* of files, by (file table or pid, descriptor) */
};

static inline struct resource *track_at(const struct track *track, uint32_t index)
{
	return track->resources->all.at[index];
}

static inline bool track_counts(const struct track *track, uint64_t ts)
{
	return ts >= track->timeline->begin;
}

void track_init(struct track *track); /* its timeline is set */
void track_fini(struct track *track);

/* Valid until the next call. */
struct cpu_track *track_cpu(struct track *track, uint64_t cpu);
/* Drops the call if events were missing since it was entered. */
void track_refresh(const struct track *track, struct task *task);
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

/* ---- requests ---- */

/* Behind those of enum wake_event. */
enum {
	ON_SWITCH = WAKE_EVENTS,
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
