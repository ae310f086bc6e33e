/*
 * shard: the threads of some keys, and their figures.
 *
 * Threads are spread over SHARDS shards by their key (key_shard()).  Several shards may be at work
 * at once, in different threads of the pool; none touches another.  Figures that belong to no
 * single thread go to the accumulator of the task.
 *
 * A thread has one or more ways to be found:
 *
 *     slots[key] ───────► newest thread of the key      as records come
 *     resident[i] ──────► every thread that has a row   for reports and window ends
 *     touched[] ────────► threads with figures in the open window
 *     leaving[] ────────► threads that leave their CPU behind the end of the last round
 *     dead[] ───────────► threads that have ended, in no order
 *     oncpus[] ─────────► the thread whose on-CPU interval is open on a CPU
 *
 * Its life:
 *
 *     free_threads ──► live ──► dead ──► free_threads     shard_drop_dead() adds its total to
 * `other` │ ▲ ▼ │ tables_rename_thread(): to another shard, under another key
 *
 * shard_thread_ends() ends a thread; a fork ends the former thread of its key.  A dead thread keeps
 * its row, and stays the newest of its key until another is: late records find it.  A total has the
 * THREADS_ENDED_MAX threads of a trace that ended last: those that ended before them lose their
 * row, the same whenever that happens.  Live, more lose it when memory is short.
 *
 * Memory of threads belongs to the shard that allocated it, whichever shard has the thread.  It is
 * freed with the shard, or where memory is short (shard-ended.c).
 *
 * Closing a window is lazy.  tables_close_window() marks each shard (is_closing, keeps), and the
 * next one to need the shard calls shard_close_window(): usually its task, so that workers share
 * the work and the threads are in their caches.
 */
#pragma once

#include "base/check.h"
#include "base/hash.h"
#include "base/mem.h"
#include "engine/contract/merge.h"
#include "engine/tables/accumulator.h"
#include "engine/tables/layout.h"
#include "engine/tables/report.h"

/* Where the records come from that are being applied. */
struct record_source {
	uint64_t channel;    /* the stream's class */
	uint64_t cpu_id;     /* of its stream, UINT64_MAX: none */
	uint32_t cpu_number; /* UINT32_MAX: none */
	bool owns_cpu;       /* its records show the switches of that CPU */
	bool is_beside;      /* of traces that were joined: it is not of the kernel's */
};

/*
 * A thread, or an entity of an analysis: what switches touch.  States, rows and what few runs need
 * follow in memory (layout.h).  With the state and the row of `cpu` it fills two cache lines.
 */
struct thread {
	struct thread_view view;
	uint32_t cpu;         /* number of that of its last switch-in, UINT32_MAX: none */
	uint64_t in_ts;       /* of that, 0: not known */
	uint32_t incarnation; /* its number among those that had its tid; an entity: its number */
	uint32_t resident_at : 23; /* index in shard->resident */
	bool is_user : 1; /* of a user program, known with its process: `incarnation` is its pid */
	bool is_dead : 1;
	bool is_in : 1;       /* on `cpu`, as far as is known */
	bool is_touched : 1;  /* listed in shard->touched */
	bool is_replaced : 1; /* a fork made another thread the newest of its key */
	bool is_reused : 1;   /* another thread had its tid before */
	uint32_t picked : 3;  /* PICKED_...: whether the selection has it; 0: not looked up yet */
};

#define RESIDENTS_MAX ((size_t)1 << 23) /* of one shard: resident_at */

_Static_assert(sizeof(struct thread) == 56, "one cache line has it and the begin of a state");

/* What report_views() listed last. */
struct thread_told {
	uint64_t id;   /* its row id then; 0: never */
	uint32_t hash; /* of what was listed */
};

/* The key under which the newest thread of a tid is found. */
static inline int64_t thread_key(const struct thread *thread)
{
	return thread->is_user ? KEY_USER(thread->incarnation, thread->view.tid) : thread->view.tid;
}

/* Orders the threads that had one tid, too: report_row.id. */
static inline uint64_t shard_row_id(const struct thread *thread)
{
	return ((uint64_t)(uint32_t)thread->view.tid << 32) | thread->incarnation;
}

static inline uint64_t thread_cpu_id(const struct thread *thread)
{
	return thread->cpu == UINT32_MAX ? UINT64_MAX : thread->cpu;
}

enum {
	PICKED_YES = 1,
	PICKED_NO = 2,
	PICKED_STAYS = 4, /* whatever becomes known, until the thread is switched in again */
};

_Static_assert(sizeof(struct thread) % sizeof(uint64_t) == 0, "states and rows follow, aligned");

#define THREAD_AHEAD_BYTES 192 /* to prefetch more of a thread gave nothing */

/* The thread will be read and written. */
static inline void thread_prefetch(const struct layout *layout, const struct thread *thread)
{
	for (size_t at = 0; at < layout->thread_bytes && at < THREAD_AHEAD_BYTES;
	     at += LINE_BYTES) {
		__builtin_prefetch((const char *)thread + at);
	}
}

#define THREADS_AHEAD 8 /* half of the time of a long list was waiting for memory */

/* The same of all of it, with its rows. */
static inline void thread_prefetch_all(const struct layout *layout, const struct thread *thread)
{
	for (size_t at = 0; at < layout->thread_bytes; at += LINE_BYTES) {
		__builtin_prefetch((const char *)thread + at);
	}
}

/* Its number in pairs; 0: none.  Only where the layout has pairs. */
static inline uint32_t *thread_member(const struct layout *layout, struct thread *thread)
{
	assert_hot(layout->pair_columns);
	return (uint32_t *)((char *)thread + layout->thread_member_at);
}

/* Only where reports have views. */
static inline struct thread_told *thread_told(const struct layout *layout, struct thread *thread)
{
	assert_hot(layout->setup->wants_views);
	return (struct thread_told *)((char *)thread + layout->thread_told_at);
}

/*
 * A container is a PID namespace.  A thread stays in the one that it was created in, so one number
 * belongs to its whole life (thread_view.container).  It is known from a statedump, which has an
 * event for each level of namespaces, and from the fork that made the thread.
 *
 * A container is named by its first process: the one that a statedump shows as process 1 of the
 * namespace, else the first that was forked into it from another one.  The shard of that thread
 * keeps the name: the thread may have no figures in a window, or may have ended.
 */

/* The namespace that the kernel begins with; every kernel gives it this number. */
#define CONTAINER_HOST      UINT32_C(4026531836)
#define CONTAINER_HOST_NAME "host"

/* thread_view.container_level: 0 if none is known, else the level and 1; a fork says the thread's
 * own.  By service it is REPORT_PLACE_LEVEL. */
#define CONTAINER_LEVEL_FORK UINT8_MAX

static inline uint8_t container_level(uint64_t level)
{
	return level < REPORT_PLACE_LEVEL - 1 ? (uint8_t)(level + 1) : REPORT_PLACE_LEVEL - 1;
}

/*
 * Recorders of ours say more: the name that a container's engine has for it, and which service a
 * process is of.  The name counts that was last said of a first process, else the first that was
 * said of any: all that the namespace is in may be one of several containers of a pod.
 *
 * By service (selection_by_service()) what a thread is in is no namespace: thread_view.container is
 * the number of its place (contract/record.h), and the names are those of places.
 */

struct container_named {
	uint64_t ts;   /* when it was said */
	int32_t tid;   /* of which thread; 0: of none */
	bool is_first; /* of a first process */
	char name[CONTAINER_NAME_BYTES];
};

struct container {
	uint64_t ts; /* when its first process was seen */
	uint32_t pid_ns;
	int32_t tid;   /* of the first process; 0: none is known */
	bool is_first; /* a statedump says so */
	char comm[sizeof(((struct thread_view *)0)->comm)];
	struct container_named named;
};

struct container_record {
	uint64_t ts;
	uint32_t pid_ns; /* 0: unknown */
	uint8_t level;
	bool enters; /* it may be the first process there */
	bool is_first;
};

struct place_record {
	uint64_t ts;
	uint32_t pid_ns; /* 0: unknown */
	bool is_first, names;
	const uint64_t *words; /* PLACE_WORDS */
};

struct dead {
	uint64_t ts;
	struct thread *thread;
	uint64_t bytes; /* that its row owns, once they are counted */
};

/*
 * Of 64 residents, bit by bit.  Most of a shard's threads died long ago, and their memory is in no
 * cache: what goes through all threads passes over them without a look.
 */
struct presence {
	uint64_t live;
	uint64_t ending; /* dead, and the end of the window concerns them once more */
	uint64_t told;   /* dead, and nothing that they did is left to tell (shard_end_spans()) */
};

#define THREADS_AT_ONCE 16 /* that are allocated in one block */

/* A key: its newest thread, and its place in a round. */
struct slot {
	int64_t key;
	struct thread *thread; /* NULL: none, or it left the shard */
	uint32_t round;        /* 0: the slot is unused; UINT32_MAX: it was in no round yet */
	uint32_t at;           /* in that round: index in accumulator->keys */
};

static inline bool slots_is_used(const void *unused, const struct slot *slot)
{
	return slot->round != 0;
}

static inline int64_t slots_key(const void *unused, const struct slot *slot)
{
	return slot->key;
}

HASH_PROBED(slots, struct slot, const void *)

/* The thread that is on a CPU in an interval whose end is not known: at most one of a CPU. */
struct open_oncpu {
	uint64_t ts;
	uint32_t cpu; /* its number */
	int64_t key;
	struct thread *thread;
};

/* A switch-out that is known and was not reported yet (merger/round-apply.h). */
struct held_out {
	uint64_t ts; /* OUT_NONE: there is none */
	uint64_t cpu;
	struct thread *thread;
	uint16_t flags;
	uint8_t left_out; /* shard.left_out of its record */
};

#define OUT_NONE UINT64_MAX

struct shard {
	const struct layout *layout;
	struct accumulator *accumulator;    /* of the task that goes through it, or did last */
	size_t running;                     /* index of the analysis whose hook runs */
	const struct record_source *source; /* of the records being applied */
	bool is_joined; /* they are of several traces, of which one is a kernel's */
	/* Why figures that are added now are not those that the user selected (OF_ALL_THREADS,
	 * OF_ALL_CPUS).  They go to accumulator->left_out instead of the tables; 0: they count. */
	uint8_t left_out;
	bool has_picked; /* some figure counted although the user selected threads or CPUs */
	struct slots slots;
	VEC(struct thread *) resident; /* all that have a row, live and dead; NULL: a hole */
	VEC(uint32_t) resident_free;   /* indexes of the holes */
	/* Of a thread that is the first known of its tid: above those of all that left the shard,
	 * so that no two rows have one id. */
	uint32_t next_incarnation;
	VEC(struct presence) presence; /* by resident_at / 64 */
	VEC(struct dead) dead;
	size_t counted;       /* the first of them whose bytes are known */
	uint64_t ended_bytes; /* of these */
	uint64_t taken;       /* bytes of the account */
	VEC(struct open_oncpu) oncpus;
	VEC(char *) blocks;                /* memory for threads */
	VEC(struct thread *) free_threads; /* memory that is not in use */
	VEC(struct thread *) touched;
	struct held_out held;             /* of the thread whose records are being applied */
	VEC(struct held_out) leaving;     /* those behind the end of the last round, in no order */
	VEC(struct container) containers; /* those whose first process is in the shard */
	/* The sum of those that lost their row, and in `incarnation` their number; NULL: none. */
	struct thread *other;
	bool is_closing, keeps;             /* a window has closed: work for shard_close_window() */
	VEC(struct ordered) ordered_events; /* of the round */
	VEC(struct thread_span) spans;      /* not handed over yet */
};

void shard_init(struct shard *shard, const struct layout *layout);
/* A renamed thread lies in memory of another shard, so this is called for all shards before any
 * shard_fini(). */
void shard_fini_threads(struct shard *shard);
void shard_fini(struct shard *shard);

/* ---- threads ---- */

/* @slot: where the key, which has none, would be. */
struct slot *shard_add_slot(struct shard *shard, struct slot *slot, int64_t key);

/* The slot of a key, made when new.  Valid until the next call. */
static inline struct slot *shard_slot(struct shard *shard, int64_t key)
{
	struct slot *slot = slots_find(&shard->slots, NULL, key);

	return slots_is_used(NULL, slot) ? slot : shard_add_slot(shard, slot, key);
}

struct thread *shard_thread(struct shard *shard, int64_t key);       /* made when new */
struct thread *shard_thread_known(struct shard *shard, int64_t key); /* NULL: none */
/* A new thread under @key.  The former one, if any, ends and keeps its row. */
struct thread *shard_thread_fork(struct shard *shard, int64_t key, uint64_t ts);
void shard_thread_ends(struct shard *shard, struct thread *thread, uint64_t ts);
/* The same, after on_switch_out() said so. */
void shard_thread_exits(struct shard *shard, struct thread *thread, uint64_t ts);

/* The thread whose on-CPU interval is open on the CPU, if it has @key; else NULL. */
struct thread *shard_oncpu(const struct shard *shard, uint32_t cpu, int64_t key);
/* Of several intervals on one CPU the latest counts: keys are not merged in order of time. */
void shard_open_oncpu(struct shard *shard, const struct open_oncpu *oncpu);
void shard_close_oncpu(struct shard *shard, uint32_t cpu, int64_t key);

/* In shard->presence. */
static inline uint64_t resident_bit(const struct thread *thread)
{
	return (uint64_t)1 << thread->resident_at % 64;
}

/* A record of a dead thread came: the next end of a window concerns the thread once more. */
static inline void shard_reopen(struct shard *shard, const struct thread *thread)
{
	assert_hot(thread->is_dead);
	shard->presence.at[thread->resident_at / 64].ending |= resident_bit(thread);
	shard->presence.at[thread->resident_at / 64].told &= ~resident_bit(thread);
}

/* The shard's presence from its residents, which a checkpoint gave. */
void shard_find_presence(struct shard *shard);

/* The memory of a thread, zeroed, without a key. */
struct thread *shard_thread_alloc(struct shard *shard);
/* Frees what the thread points to; its own memory belongs to a shard. */
void shard_thread_fini(const struct layout *layout, struct thread *thread);
/* The dead thread loses its row. */
void shard_thread_forget(struct shard *shard, struct thread *thread);
/* Adds threads that ended first to `other` if there are too many of them, or too little memory.  No
 * thread may be touched. */
void shard_drop_dead(struct shard *shard);
/* The same for a total, which is not to depend on when that was.  Not in the middle of a window. */
void shard_drop_for_total(struct shard *shard);

/* ---- containers ---- */

/* Puts the thread into a container, unless a higher level of namespaces is known. */
void shard_contain(struct shard *shard, struct thread *thread,
		   const struct container_record *record);
/* The thread is of a container or service. */
void shard_place(struct shard *shard, struct thread *thread, const struct place_record *record);
/* The thread, which has view.names_container, has another name. */
void shard_rename_container(struct shard *shard, const struct thread *thread);
const struct container *shard_container(const struct shard *shard, uint32_t pid_ns);
/* Whether @a tells the first process of the container better than @b. */
bool shard_container_before(const struct container *a, const struct container *b);
/* Whether @a says the name, and better than @b. */
bool shard_container_names(const struct container_named *a, const struct container_named *b);

/* ---- selection ---- */

/* What the thread does on the CPU counts, or not: sets left_out.  Call it where layout->selects;
 * elsewhere left_out stays 0. */
void shard_select(struct shard *shard, struct thread *thread, uint64_t cpu);
/* The thread is switched in: what is known of it now decides until the next time. */
void shard_pick(const struct shard *shard, struct thread *thread);
/* Something else is known of the thread. */
static inline void shard_pick_again(struct thread *thread)
{
	thread->picked = thread->picked & PICKED_STAYS ? thread->picked : 0;
}
/* The same for figures that belong to no thread. */
void shard_select_cpu(struct shard *shard, uint64_t cpu);

/* ---- windows ---- */

/* If a window has closed: adds the open window of threads to their totals, or drops it. */
void shard_close_window(struct shard *shard);
/* The window ends at @end: reports that to the analyses, for each thread. */
void shard_end_window(struct shard *shard, uint64_t end);
/* Has the analyses tell the spans up to @end, of each thread. */
void shard_end_spans(struct shard *shard, uint64_t end);
/* The states of the thread may be wrong from @ts on; bits of enum doubt. */
void shard_doubt(struct shard *shard, struct thread *thread, uint64_t ts, unsigned int what);
/* Nothing was traced from @ts on: all states are in doubt. */
void shard_lose(struct shard *shard, uint64_t ts);

/* Calls a hook of every analysis that has it. */
#define shard_each_with(shard, member, call)                                                       \
	each_analysis_with((shard)->layout->setup, member, a_) {                                   \
		(shard)->running = a_;                                                             \
		(shard)->layout->setup->analyses[a_]->member call;                                 \
	}
#define shard_each_rare_with(shard, member, call)                                                  \
	each_analysis_with((shard)->layout->setup, member, a_) {                                   \
		(shard)->running = a_;                                                             \
		(shard)->layout->setup->analyses[a_]->rare->member call;                           \
	}

/* ---- checks (shard-check.c) ---- */

/* Whether all ways to find a thread agree.  For a shard that was read from a checkpoint. */
bool shard_is_sound(const struct shard *shard, unsigned int number);
/* Asserts the same, one fact after the other. */
void shard_check(const struct shard *shard, unsigned int number);
