/*
 * rows: storage of the tables of all analyses, and reports made from it.
 *
 * Everything that has rows (the trace, a CPU, a thread, an event name) has one
 * array of sums for the open window and one for the total, with room for the columns
 * of all tables of its scope.  Closing a window adds one to the other.
 *
 * Threads live in shards, by their key.  Shards can be at work at once: what is not of a thread
 * they add to the rows of a lane, which those have together that one task goes through one after
 * the other.  The rows of lanes are added to the trace's when a window closes.
 */
#ifndef SILLAGE_ENGINE_TABLES_TABLES_H
#define SILLAGE_ENGINE_TABLES_TABLES_H

#include "base/hash.h"
#include "base/mem.h"
#include "engine/contract/analysis.h"
#include "engine/contract/setup.h"
#include "engine/tables/keyed.h"
#include "engine/tables/report.h"

struct sums {
	uint64_t *window, *total;
	bool is_touched; /* something may have been added in the open window */
};

enum cpu_state {
	CPU_INITIAL, /* waiting for the first evidence */
	CPU_KNOWN,   /* `tid` runs, 0: the idle thread */
	CPU_UNKNOWN, /* after a gap */
};

/* From ts on, the thread of this key runs. */
struct running_change {
	uint64_t ts;
	int64_t key;
};

struct cpu {
	uint64_t id;
	uint32_t number;             /* its id, as far as keys have room for it */
	struct merger_stream *owner; /* the stream whose switches count */
	enum cpu_state state;        /* from `since` on */
	int32_t tid;
	uint64_t since;                        /* ns: the end of the segments */
	uint64_t initial_limit;                /* ns: CPU_INITIAL ends when the watermark is here */
	bool initial_is_new, initial_has_prio; /* what the first switch said of who ran before */
	int32_t initial_tid, initial_prio;
	char initial_name[NAME_BYTES];
	VEC(struct segment) segments; /* not charged yet, in order */
	size_t segments_used;
	VEC(struct running_change) running; /* who runs: for streams that do not tell (seam.c) */
	struct sums sums;
};

/* The analyses' states lie right behind, and then the sums: with those of `cpu`, two lines of
 * cache. */
struct thread {
	struct thread_view view;
	uint64_t cpu;       /* of its last switch-in, UINT64_MAX: none */
	uint64_t in_ts;     /* of that, 0: not known */
	uint64_t before_ts; /* of the switch-in before, whose end was not told; 0: none */
	uint32_t incarnation;
	uint32_t resident_at; /* index in shard->kept */
	bool is_dead;
	bool is_in;       /* since in_ts, as far as was told */
	bool is_touched;  /* its sums: something may have been added in the open window */
	bool is_replaced; /* another one is the newest of its key, by a fork */
};

struct dead {
	uint64_t ts;
	struct thread *thread;
};

struct event_name {
	const char *name;
	struct sums sums;
};

/* Where the columns and states of each analysis are. */
struct layout {
	const struct setup *setup;
	const struct tables *tables;
	struct columns columns[SCOPES_FIXED];       /* of all tables of the scope */
	uint32_t offsets[ANALYSES_MAX][TABLES_MAX]; /* in those; SCOPE_LONGEST: which it is */
	struct columns keyed_columns[ANALYSES_MAX][TABLES_MAX];
	uint32_t longest_count;
	size_t longest_room, longest_shown;
	size_t thread_state_offsets[ANALYSES_MAX];
	size_t thread_state_size;
	size_t thread_window_at, thread_total_at, thread_bytes; /* its sums; all it has */
	bool is_direct; /* no window is ever shown or dropped: threads only have totals */
};

static inline uint64_t *thread_window(const struct layout *layout, struct thread *thread)
{
	return (uint64_t *)((char *)thread + layout->thread_window_at);
}

static inline uint64_t *thread_total(const struct layout *layout, struct thread *thread)
{
	return (uint64_t *)((char *)thread + layout->thread_total_at);
}

/* The newest thread of a key; and its place in the round, if it is of this one. */
struct slot {
	int64_t key;
	struct thread *thread; /* NULL: there was one */
	uint32_t round, at;    /* round 0: the slot is empty */
};

/* Open addressing, never more than half full: one line of cache for each look. */
struct slots {
	struct slot *at;
	uint32_t mask, used;
};

HASH_DECLARE(cpus, struct cpu *)
KHASH_MAP_INIT_STR(name_ids, uint32_t)

/* A group of records that is merged in this round. */
struct shard_node {
	int64_t key;
	uint64_t ts;    /* of its next record */
	uint32_t entry; /* of the round */
	uint32_t group;
	uint32_t made; /* its number: of those at one time the first one made is the first */
	uint32_t next; /* of the same key */
};

struct shard_key {
	int64_t key;
	struct thread *thread; /* NULL: not there yet */
	uint32_t first, last;  /* nodes */
	uint32_t count;
};

/* Which thread of a key is on a CPU, in a stay whose end is not known: at most one of a CPU. */
struct open_oncpu {
	uint64_t ts;
	uint32_t cpu; /* its number */
	int64_t key;
	struct thread *thread;
};

/* Items that an analysis knows by a small number. */
struct indexed_rows {
	struct keyed_row **at;
	size_t count, room;
};

/* Rows of the open window, and the longest in it, for the shards that a task goes through one after
 * the other: the same memory for all of them stays in the cache. */
struct accumulator {
	uint64_t *trace;
	uint64_t *names; /* by event name */
	size_t names_room;
	VEC(uint32_t) names_touched;
	struct keyed_rows *keyed_rows;
	struct indexed_rows indexed[ANALYSES_MAX];
	struct longest *longest; /* by what */
	/* Of the shard that the task is at. */
	VEC(struct shard_node) nodes;
	VEC(struct shard_key) keys;
	VEC(struct shard_node *) order;
};

struct shard {
	const struct layout *layout;
	struct accumulator *accumulator;  /* of the task that goes through it, or did */
	size_t running;                   /* index of the analysis whose call runs */
	const struct round_entry *source; /* of the records that are applied */
	struct slots slots;
	VEC(struct thread *) resident; /* all that have a row, live and dead; NULL: free */
	VEC(uint32_t) resident_free;   /* indexes of those */
	VEC(uint64_t) window_ended; /* bits by index in kept: dead, and a window has ended since */
	VEC(struct dead) dead;      /* of those */
	VEC(struct open_oncpu) oncpus;
	VEC(char *) blocks;                /* of memory for threads */
	VEC(struct thread *) free_threads; /* in those, not in use */
	VEC(struct thread *) touched;
	struct thread *other;   /* where dead threads beyond the bound went */
	bool is_closing, keeps; /* a window has closed: what shard_close_window() is to do */
	VEC(struct ordered) ordered_events; /* of the round */
};

/* A fact of the round, and when it was, since the first. */
struct ordered_at {
	uint64_t ts;
	struct ordered *ordered;
};

struct tables {
	struct layout layout;
	struct sums trace;
	khash_t(cpus) * cpus;
	struct shard shards[SHARDS];
	VEC(struct accumulator *) accumulators; /* by the number of the task */
	struct thread *other;                   /* of all shards, made for a report */
	VEC(struct event_name *) names;         /* by name id */
	khash_t(name_ids) * name_ids;
	VEC(uint32_t) class_names; /* name id by class index */
	struct keyed_rows keyed_rows;
	struct longest *longest, *longest_total; /* of the open window, and of those closed */
	void *states[ANALYSES_MAX];              /* analyses' own of the trace; NULL: none */
	VEC(struct ordered_at) ordered_events, ordered_sorted; /* of the round */
	struct shard whole;                                    /* has no threads */
	struct accumulator whole_accumulator;                  /* its items are the trace's */
};

void tables_init(struct tables *tables, const struct setup *setup);
void tables_fini(struct tables *tables);

struct cpu *tables_cpu(struct tables *tables, uint64_t id); /* made when new */
void tables_set_classes(struct tables *tables, const struct plan *plan);
void tables_add_class(struct tables *tables, const char *name);

/* ---- threads of a shard ---- */

void slots_init(struct slots *slots);

/* The slot of a key, or the empty one where it would be. */
static inline struct slot *slots_find(const struct slots *slots, int64_t key)
{
	uint32_t at = hash_mix((uint64_t)key) & slots->mask;

	while (slots->at[at].round != 0 && slots->at[at].key != key) {
		at = (at + 1) & slots->mask;
	}
	return &slots->at[at];
}

struct slot *shard_add_slot(struct shard *shard, int64_t key);

/* The slot of a key; a new one is of no round.  Dies at the next call. */
static inline struct slot *shard_slot(struct shard *shard, int64_t key)
{
	struct slot *slot = slots_find(&shard->slots, key);

	return slot->round != 0 ? slot : shard_add_slot(shard, key);
}

struct thread *shard_thread(struct shard *shard, int64_t key);       /* made when new */
struct thread *shard_thread_known(struct shard *shard, int64_t key); /* NULL if not there */
/* A new thread under @key; the old one, if any, keeps its row. */
struct thread *shard_thread_fork(struct shard *shard, int64_t key, uint64_t ts);
/* The thread whose stay is open on the CPU, if it is one of @key; else NULL. */
struct thread *shard_oncpu(const struct shard *shard, uint32_t cpu, int64_t key);
/* Of several the latest counts: keys are not merged in the order of their times. */
void shard_open_oncpu(struct shard *shard, const struct open_oncpu *oncpu);
void shard_close_oncpu(struct shard *shard, uint32_t cpu, int64_t key);
void shard_thread_ends(struct shard *shard, struct thread *thread, uint64_t ts);
/* Something is said of a thread that is dead: the end of the window concerns it once more. */
static inline void shard_reopen(struct shard *shard, const struct thread *thread)
{
	if (thread->resident_at / 64 < shard->window_ended.count) {
		shard->window_ended.at[thread->resident_at / 64] &=
			~((uint64_t)1 << thread->resident_at % 64);
	}
}

/* The thread of @from, if any, continues as @to (exec by a thread that is not the leader). */
void tables_rename_thread(struct tables *tables, const struct rename *rename);

/* Adds what lanes have of the open window to the trace's rows. */
void tables_collect(struct tables *tables);
/* Adds the open window to the total (or drops it) and empties it; shards do their part when
 * they have their next turn, or when the total is asked for. */
void tables_close_window(struct tables *tables, bool keep);
void shard_close_window(struct shard *shard);

/* The window ends: tells the analyses. */
void tables_end_window(struct tables *tables, uint64_t end);

/* ---- lanes ---- */

void accumulators_init(struct tables *tables);
void accumulators_fini(struct tables *tables);
/* That of the task with this number; made when new, so not while tasks run. */
struct accumulator *accumulator_of_task(struct tables *tables, unsigned int number);
/* The columns of an event name in the open window. */
uint64_t *accumulator_names_row(const struct layout *layout, struct accumulator *accumulator,
				uint32_t event_name);
/* Adds what the lane has to the trace's rows. */
void accumulator_collect(struct tables *tables, struct accumulator *accumulator);
/* Adds what all have to the first one. */
void accumulators_join(struct tables *tables);
struct longest *longest_new(const struct layout *layout);
void longest_free(const struct layout *layout, struct longest *longest);

/* A thread's memory, zeroed, of no key. */
struct thread *shard_thread_alloc(struct shard *shard);
/* What it has beside its memory, which is a shard's. */
void shard_thread_fini(const struct layout *layout, struct thread *thread);
/* Threads that ended first, and were reported, go into one row when there are too many. */
void shard_drop_dead(struct shard *shard);

/* A row that was added up for a report. */
struct report_process {
	void *memory;
	uint64_t *row;
	const struct columns *columns;
};

/* Fills the tables of @report from the open window or the total, into @memory. */
struct report_memory {
	VEC(struct report_table) tables;
	VEC(struct report_row *) lists;
	VEC(struct report_process) processes;
};
void tables_report(struct tables *tables, bool total, struct report *report,
		   struct report_memory *memory);
void report_memory_fini(struct report_memory *memory);

#endif
