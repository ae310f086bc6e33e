/*
 * resources: what threads wait for and wake each other with, over time: timers (hrtimer), futexes
 * and POSIX message queues (doc/definitions.md, 7.6).
 *
 *     thread  ── lock (FUTEX_WAIT) ── sleeps ──────────────┐ woken by the holder
 *     futex             [ FUTEX_WAIT ........................ ]
 *     holder  ───────────────── unlock (FUTEX_WAKE) ───────┘
 *
 * resources_find() reads the events of a trace once more, in order.  Events before the range tell
 * what is set, open and waited for at its start; only what lies in the range is counted.
 *
 *     resources.c  reads, and follows threads and their sleeps in calls
 *     rows.c       the resources, their figures and intervals
 *     timers.c, futexes.c, queues.c   one state machine each
 *
 * Memory is bounded: `dropped` counts what was left out (base/limits.h).
 */
#pragma once

#include "deep/reader.h"
#include "deep/timeline.h"

enum resource_kind { RESOURCE_TIMER, RESOURCE_FUTEX, RESOURCE_QUEUE, RESOURCE_KINDS };

enum resource_state {
	TIMER_SET,
	TIMER_EXPIRED,   /* its callback runs */
	TIMER_CANCELLED, /* an instant */
	FUTEX_WAIT,      /* a thread sleeps on it */
	FUTEX_WAKE,      /* a thread wakes others */
	QUEUE_EMPTY,     /* a receiver found no message */
	QUEUE_FULL,      /* a sender found no room, and left */
	QUEUE_SEND,      /* a thread sends; it slept if the queue was full */
	QUEUE_RECEIVE,   /* a thread receives without having to sleep */
	RESOURCE_STATES,
};
const char *resources_state_name(enum resource_state state);

/* How a call ended. */
enum outcome {
	OUTCOME_NONE,  /* no call */
	OUTCOME_DONE,  /* woken, acquired, sent or received */
	OUTCOME_AGAIN, /* the futex's value had changed; the queue was empty or full (O_NONBLOCK) */
	OUTCOME_TIMED_OUT,
	OUTCOME_INTERRUPTED,
	OUTCOME_FAILED,
	OUTCOME_MOVED, /* to another futex */
	OUTCOME_OPEN,  /* not within the range */
	OUTCOMES,
};
const char *resources_outcome_name(enum outcome outcome);

/* Threads are indexes into the timeline; NOBODY: none, or unknown. */
struct resource_interval {
	uint64_t begin, end;
	uint32_t who;                /* waits, wakes, sends, receives, or set the timer */
	uint32_t by;                 /* who ended the wait */
	uint32_t senders, receivers; /* QUEUE_*: inside calls on the queue, with this one */
	uint8_t state, outcome;
	bool has_slept;
};

struct resource_sum {
	uint64_t count, total, min, max; /* ns; min: only if count > 0 */
};

/* What a thread did with the resource. */
struct resource_member {
	uint32_t thread;
	uint64_t waits; /* calls that slept */
	uint64_t wakes; /* FUTEX_WAKE and its like */
	uint64_t sends; /* messages */
	uint64_t receives;
	uint64_t total_ns, longest_ns; /* of the waits */
};

/* Waits of one thread that the other ended.  Of a timer: `by` is NOBODY. */
struct resource_pair {
	uint32_t by, who;
	bool is_sender; /* of a queue: `who` waited for room, not for a message */
	uint64_t times, total_ns, longest_ns;
};

struct resource {
	enum resource_kind kind;
	uint64_t address;   /* of the timer or futex; a queue without a name: its descriptor */
	int64_t pid;        /* -1: any process, or unknown */
	uint64_t function;  /* of a timer, an address of the kernel; 0: unknown */
	char *name;         /* of a queue; NULL: unknown */
	bool may_be_shared; /* a futex that is not private: other addresses may mean the same one */
	bool is_vector;     /* an array of futexes (futex_waitv), by its address */
	bool is_touched;    /* by a thread of the scope, in the range */
	uint64_t calls;     /* that wait for it: those without a sleep, too */
	uint64_t outcomes[OUTCOMES]; /* of these calls; of a queue, of all calls */
	struct resource_sum waits;   /* with a sleep, the parts in the range; a queue: receivers */
	struct resource_sum full;    /* a queue: of senders */
	/* Timers. */
	uint64_t starts, rearmed, cancelled, expiries;
	uint64_t woken; /* threads that it woke; a futex: threads woken by calls */
	struct resource_sum period, callback;
	uint64_t late_count;
	int64_t late_min, late_max;
	double late_total;
	/* Futexes. */
	uint64_t wake_calls, moved_in, moved_out;
	/* Queues. */
	uint64_t sent, received, bytes_sent, bytes_received;
	int64_t depth_begin, depth_end, depth_max; /* messages, at least so many */
	VEC(struct resource_member) members;
	VEC(struct resource_pair) pairs;
	VEC(struct resource_interval) intervals; /* by begin */
	bool has_gap; /* a queue: events are missing, the depth is unknown */
	/* State of the machines. */
	uint32_t epoch;  /* until events were missing again */
	uint32_t next;   /* resource with the same hash; NOBODY: none */
	uint8_t state;   /* a timer's: TIMER_SET, TIMER_EXPIRED, or RESOURCE_STATES: neither */
	uint32_t setter; /* who set the timer */
	uint64_t since;
	bool has_expires, is_callback, was_set_again;
	int64_t expires;
	uint64_t again_since; /* was_set_again: by its callback */
	bool is_cancelled;    /* by an event that an expiry may follow at once ... */
	uint64_t cancel_ts, cancel_cpu;
	uint64_t last_expiry;  /* 0: none */
	VEC(int32_t) sleepers; /* tids in calls that wait for the futex, in the order of entry */
	uint64_t senders, receivers; /* inside calls */
	uint64_t handed;             /* receivers that were woken and have not returned */
	int64_t balance, least;      /* messages sent - received, and the least that was ever */
};

/* Events that are not recorded. */
struct resource_lacks {
	const char *event, *command, *means;
};

struct resources {
	VEC(struct resource *) all; /* by kind, longest waits first; only touched ones */
	bool lacks[RESOURCE_KINDS];
	uint64_t cut; /* calls that were open where events are missing, which are not counted */
	struct {
		uint64_t resources, intervals, rows; /* rows: of threads */
	} dropped;
};

extern const struct resource_lacks resources_lacks[RESOURCE_KINDS];

/* @scope: whether each thread of the timeline counts as one whose resources are wanted; NULL: all.
 * Negative with the reason. */
int resources_find(const struct reader_setup *setup, const struct timeline *timeline,
		   const bool *scope, struct resources *resources, struct err *err);
void resources_fini(struct resources *resources);
