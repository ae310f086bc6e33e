/*
 * state: what each thread does when a window ends: since when it runs, waits for a CPU or sleeps,
 * in which system call, and for what (doc/definitions.md, 4.16).
 *
 *     state-worker.c   worker   the call that a thread is in when it leaves its CPU
 *     state.c          shard    its phase (kernel/thread-phase.h) and open call; rows at the end of
 *                               a window
 *     state-objects.c  trace    what the listed calls wait for; descriptors (files/fds.h)
 *     state-futex.c    trace    who waits for which futex, and who woke there last
 *     waits.c          shard    an analysis of its own: for how long all that was so
 *
 * A call that begins and ends in one on-CPU interval leaves no trace: no window ends in it.  So
 * this costs less than to count calls.  Which calls of a thread are open, the merger knows from
 *
 *     OWN_OPEN, OWN_OPEN_ON   the thread leaves its CPU in a call, or a window or a chunk ends
 *     OWN_CLOSED              it is in none: the first call of an interval begins or ends, or a
 * call that a record of the same interval called open ends
 */
#pragma once

#include "analyses/files/fds.h"
#include "base/mem.h"
#include "engine/contract/analysis-rare.h"
#include "engine/contract/handler.h"
#include "engine/contract/merge.h"
#include "engine/contract/untrusted.h"
#include "kernel/thread-phase.h"
#include "kernel/wait-object.h"

enum { TOTALS, THREADS, PROCESSES, CONTAINERS, CPUS, CALLS, OPEN, BLOCKED, RUNNABLE, RUNNING };

/* A life is in exactly one of these. */
enum now { NOW_RUNNING, NOW_RUNNABLE, NOW_BLOCKED, NOW_STOPPED, NOW_UNKNOWN, NOWS };

/* ---- records ---- */

enum {
	OWN_WAKE = FDS_RECORDS_END, /* analyses/wakes.h; `state` has those of fds.h, too */
	OWN_OPEN,    /* arg64 the entry, arg32 the event class, arg16 what it waits for */
	OWN_OPEN_ON, /* the same, and beside it ON_... */
	OWN_CLOSED,
	OWN_PROCESS, /* arg64 its process; arg16: a state dump says that it sleeps */
	/* In a call that was entered before what the worker knows of: */
	OWN_TIMER, /* arg64: when the timer expires that is set */
	OWN_LENT,  /* arg32: to whom it lends its priority */
};

/* Numbers beside OWN_OPEN_ON: the entry; the descriptor, address or time; the operation; the
 * process
 * + 1, 0: unknown; the owner of the lock, 0: unknown. */
enum { ON_ENTRY, ON_WHAT, ON_OP, ON_PID, ON_OWNER, ON_NUMBERS };

/* The last ones follow descriptors. */
#define STATE_NEEDS     (WAKE_EVENTS + 12)
#define STATE_FDS_NEEDS (0 CHANGING_CALLS(FDS_NEEDS_OF_ONE) + FDS_NEEDS_OTHER)
extern const struct need state_needs[STATE_NEEDS + STATE_FDS_NEEDS], waits_needs[STATE_NEEDS];

/* The call that a worker saw begin in this on-CPU interval. */
struct state_worker_call {
	uint64_t on[ON_NUMBERS];
	uint32_t class;
	uint8_t object; /* enum wait_object */
	bool is_open;
	bool is_told; /* the merger knows that no call that began before is open */
};

/* Of `state`. */
struct state_worker {
	struct state_worker_call call; /* first: as of `waits` */
	struct fds_worker fds;
};

void state_worker_oncpu_end(struct worker *worker, void *state, uint64_t ts, bool is_window);

/* ---- the merger's half ---- */

/* Whether a thread is in a call: not known before its first event of one, and after a loss. */
enum call_known { CALL_UNKNOWN, CALL_NONE, CALL_OPEN };

struct state_call {
	uint64_t entry_ts, channel; /* ns; of the record that told it last */
	uint64_t what;
	uint32_t class;
	int32_t owner;
	uint8_t known, object, op;
};

struct state_thread {
	struct thread_phase phase;
	struct state_call call;
	int64_t pid;       /* as its own records tell; 0: unknown */
	uint64_t woken_ts; /* RUNNING: first wake-up since all streams of its CPU ended; 0: none */
	bool is_seen;      /* an event of this analysis was about it */
	bool has_cpu;      /* phase.cpu is one */
	bool is_stopped;   /* BLOCKED: by a signal, or by who traces it */
};

/* ---- its hooks (state.c), for what adds up time ---- */

/* In on_record().  Whether the record wakes the thread. */
bool state_take(struct shard *shard, struct thread *thread, const struct record *record,
		const uint64_t *numbers);
void state_switch_in(struct shard *shard, struct thread *thread, const struct switch_in *in);
void state_switch_out(struct shard *shard, struct thread *thread, const struct switch_out *out);
void state_fork(struct shard *shard, struct thread *thread, uint64_t ts);
void state_seen(struct shard *shard, struct thread *thread, uint64_t ts, uint64_t cpu,
		enum seen how);
void state_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what);
bool state_accepts(const struct untrusted_record *untrusted);
void state_checkpoint(const struct checkpoint *checkpoint, void *state);

/* Of `state`. */
struct state_own {
	struct state_thread now; /* first: as of `waits` */
	struct fds_thread fds;
};

/* As it is called: "" if it is not known in which call the thread is. */
struct row_key state_call_name(const struct shard *shard, const struct state_call *call);

/* ---- what calls wait for: the hooks of the trace ---- */

void state_objects_ordered(struct shard *shard, void *state, const struct ordered *ordered);
void state_objects_window_end(struct shard *shard, void *state, uint64_t end);
void state_objects_forget(void *state);
void state_objects_checkpoint(const struct checkpoint *checkpoint, void *state);

/* ---- futexes ---- */

struct futex_key {
	int64_t of; /* the process; -1: any; below that: a thread whose process is unknown */
	uint64_t address;
};

/* The futex that the thread, which is in such a call, waits for. */
struct futex_key state_futex_key(const struct thread *thread, const struct state_thread *state);

/* Ordered events: a thread that waited there was woken.  Words: enum { WOKEN_... }. */
enum { NOTE_WOKEN = FDS_NOTES };
enum { WOKEN_OF, WOKEN_ADDRESS, WOKEN_TID, WOKEN_BY, WOKEN_IS_PI };

/* The state of a trace. */
struct state_trace {
	struct fds fds;
	struct futexes *futexes; /* NULL: none yet */
};

/* In on_window_end(), of a thread that waits for a futex: counts it there. */
void state_futex_waits(struct state_trace *trace, struct futex_key key,
		       const struct state_thread *state);
/* Once all that wait are known: "futex=0x7f00 waiters=3 last_woken_by=12 owner=13". */
void state_futex_describe(const struct state_trace *trace, struct futex_key key,
			  char text[INSTANCE_BY_BYTES]);
void state_futex_woken(struct state_trace *trace, const struct ordered *ordered);
void state_futex_window_end(struct state_trace *trace);
void state_futex_forget(struct state_trace *trace);
void state_futex_codec(struct codec *codec, struct state_trace *trace);
