/*
 * shard: the threads of some keys, and their figures.
 *
 * Threads live in shards, by their key.  Several shards may be at work at once, in different
 * threads of the pool; none touches another.  Figures that belong to no single thread go to the
 * accumulator of the task.
 */
#ifndef SILLAGE_ENGINE_TABLES_SHARD_H
#define SILLAGE_ENGINE_TABLES_SHARD_H

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

/* Which thread of a key is on a CPU, in a stay whose end is not known: at most one of a CPU. */
struct open_oncpu {
	uint64_t ts;
	uint32_t cpu; /* its number */
	int64_t key;
	struct thread *thread;
};

struct shard {
	const struct layout *layout;
	struct accumulator *accumulator;    /* of the task that goes through it, or did */
	size_t running;                     /* index of the analysis whose call runs */
	const struct record_source *source; /* of the records being applied */
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

void shard_init(struct shard *shard, const struct layout *layout);
/* Threads that were renamed lie in memory of another shard: of all shards, this comes before any
 * shard_fini(). */
void shard_fini_threads(struct shard *shard);
void shard_fini(struct shard *shard);

/* ---- threads ---- */

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

/* A thread's memory, zeroed, of no key. */
struct thread *shard_thread_alloc(struct shard *shard);
/* What it has beside its memory, which is a shard's. */
void shard_thread_fini(const struct layout *layout, struct thread *thread);
/* Threads that ended first, and were reported, go into one row when there are too many. */
void shard_drop_dead(struct shard *shard);

/* A window has closed: adds the open window of threads to their totals, or drops it; does nothing
 * if that is done. */
void shard_close_window(struct shard *shard);
/* The window ends at @end: reports that to the analyses, for each thread. */
void shard_end_window(struct shard *shard, uint64_t end);

/* Calls a merge-side function of every analysis that has it. */
#define shard_each_with(shard, member, call)                                                       \
	each_analysis_with((shard)->layout->setup, member, a_) {                                   \
		(shard)->running = a_;                                                             \
		(shard)->layout->setup->analyses[a_]->member call;                                 \
	}

#endif
