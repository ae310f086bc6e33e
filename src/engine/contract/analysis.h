/*
 * analysis: the contract between the engine and an analysis.
 *
 * An analysis is one file that ends in one const descriptor.  It has two halves:
 *
 *   map    runs in workers, on one chunk, knowing nothing else.  Handlers get the
 *          events and fields that `needs` names.  They emit records (worker_emit) for
 *          what must be seen in time order; counts per event class come for free.
 *          What needs no order (packets of a network interface, pages) they add to rows of
 *          items at once (worker_keyed_row).
 *   merge  sees, of each thread or other object, the records of all streams in time order.  It
 *          adds to rows of its tables; nothing else leaves an analysis.
 *
 * Tables hold what commutes: sums, greatest values, spreads (base/histogram.h), longest
 * instances.  The engine owns their storage: a row per trace, CPU, thread, event name or item,
 * for the open window and for the total.  It closes windows, adds them to totals, sorts and
 * reports, so that windows add up to totals and live equals offline for every analysis by
 * construction.
 */
#ifndef SILLAGE_ENGINE_CONTRACT_ANALYSIS_H
#define SILLAGE_ENGINE_CONTRACT_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codec.h"
#include "ctf/decoder.h"
#include "engine/contract/partial.h"

struct worker;
struct shard;
struct thread;
struct cpu;

/* ---- what is reported ---- */

enum unit { UNIT_COUNT, UNIT_BYTES, UNIT_NS };

enum column_kind {
	COLUMN_SUM,
	COLUMN_PRIO, /* of threads: last known priority; holds no storage */
	COLUMN_MAX,  /* the greatest value */
	/* As it is when the window ends; a total has that of its last window.  What shards have
	 * is added up, or the greatest of it taken. */
	COLUMN_LAST,
	COLUMN_LAST_MAX,
	COLUMN_HISTOGRAM, /* durations: count, sum, extremes, percentiles; see column_histogram() */
};

struct column {
	const char *key;   /* in JSON; ends with its unit: _ns, _bytes */
	const char *title; /* in text; NULL: not shown */
	enum unit unit;
	enum column_kind kind;
	bool is_share; /* text: also as a share of the window, with a bar */
};

enum scope {
	SCOPE_TRACE, /* one row, its columns are members of the analysis' object */
	SCOPE_CPU,
	SCOPE_THREAD,
	SCOPE_EVENT, /* one row per event name, as an object from name to first column */
	SCOPES_FIXED,
	/* Of those below each table has rows of its own. */
	SCOPE_KEYED = SCOPES_FIXED, /* one row per number and name */
	SCOPE_PROCESS,              /* the rows of the analysis' table of threads, by process */
	SCOPE_LONGEST,              /* the longest instances of something; see struct instance */
};

#define COLUMNS_MAX 12
#define TABLES_MAX  8

struct table {
	const char *key; /* in JSON; NULL for SCOPE_TRACE */
	enum scope scope;
	uint32_t sort_mask; /* rows go by the sum of these columns (spreads: theirs), largest first
			     */
	struct column columns[COLUMNS_MAX]; /* ends at the first without a key */
	/* SCOPE_KEYED, SCOPE_LONGEST: what number and name are called; NULL: there is none. */
	const char *id_key, *name_key;
	const char *(*id_name)(uint64_t id); /* a name for the number, or NULL; may be NULL */
	const char *title;                   /* in text: what the rows are; NULL: by scope */
	const char *lami_class; /* LAMI\'s class of an item: "irq", "syscall", ...; NULL: a text */
	/* SCOPE_KEYED: the upper half of the number is this other number (the process of a
	 * descriptor), the lower half is called id_key; NULL: it is one number. */
	const char *owner_key;
};

/* Something that took long: the first column of its table is how long, others, if any, are
 * signed numbers. */
#define INSTANCE_MORE 2
struct instance {
	uint64_t ns, end; /* duration, and when it was over */
	int64_t more[INSTANCE_MORE];
	uint64_t cpu;          /* UINT64_MAX: left out */
	struct thread *thread; /* NULL: nobody's */
	struct row_key keyed;
};

/* ---- map side ---- */

/* An event as a handler sees it: values in the order of the need's fields. */
struct trace_event {
	uint64_t ts; /* ns since the epoch, never less than the event before */
	const struct plan_event *class;
	const struct value *values;
	uint16_t present; /* bit i: the class has field i */
	uint16_t is_signed;
};

typedef void handler_fn(struct worker *worker, void *state, const struct trace_event *event,
			uint32_t user);

struct period_set;

struct need {
	const char *event; /* a name, or a prefix and "*" */
	const char *fields[PLAN_FIELDS_MAX];
	handler_fn *on_event;
	uint32_t user;      /* given to the handler */
	const char *domain; /* only in traces of this one ("ust"); NULL: in all */
	/* If not NULL: what is given instead, by the event's name. */
	uint32_t (*user_of)(const char *event);
	bool may_rest; /* not wanted while the analysis rests (worker_rest()) */
};

/* ---- merge side ---- */

/* What the stream's first packet says; @cpu_id UINT64_MAX: it names no CPU. */
struct stream_identity {
	uint64_t class_id, cpu_id, instance_id;
	bool has_switches;
	bool misses_start; /* packets before the first one were not seen */
	uint64_t begin;    /* ns: of the first packet */
};

struct switch_in {
	uint64_t ts;
	uint64_t cpu; /* its id, UINT64_MAX: none */
	int32_t prio; /* -128 to 127 */
	bool is_migration;
};

struct switch_out {
	uint64_t ts;
	uint64_t in_ts; /* when it was switched in there, 0: not known */
	bool is_tie;    /* in the same ns it was switched in elsewhere, which was told before */
	uint16_t flags; /* RECORD_DEAD, SLEEPS, PREEMPTED */
};

/* What the merge side of one thread found that has to be seen in time order over all threads. */
#define ORDERED_WORDS 7
struct ordered {
	uint64_t ts;
	struct thread *thread;
	struct shard *shard; /* of the thread */
	uint8_t owner;       /* index of the analysis in the run */
	uint8_t kind;        /* the analysis' own */
	uint64_t words[ORDERED_WORDS];
};

/* A record of the analysis' own that came from a file, so that its bytes may be anybody's. */
struct untrusted_record {
	const struct record *record;
	const uint64_t *numbers; /* from record->a on, if that is an index ... */
	uint64_t count;          /* ... and how many there are; 0: it is none */
	uint32_t classes;        /* event classes of the trace */
	const struct period_set *periods;
	bool has_current; /* `prio` will be a tid (worker_note_current) */
};

/* State that goes to another process, or comes from one (rolling.h). */
struct checkpoint {
	struct codec *codec;
	uint32_t classes; /* event classes of the trace */
	const struct period_set *periods;
};

/* Whether there are so many numbers beside the record, and `prio` stays what it is. */
static inline bool untrusted_has(const struct untrusted_record *untrusted, uint64_t count)
{
	return !untrusted->has_current && untrusted->count >= count;
}

struct analysis {
	const char *name;
	const char *summary;             /* one line */
	struct table tables[TABLES_MAX]; /* ends at the first without columns */
	const struct need *needs;        /* may be NULL */
	size_t need_count;
	/* In place of needs, where the user says what is wanted (setup.periods): gives an array
	 * that the caller frees, and how many there are. */
	size_t (*needs_of)(const struct period_set *periods, struct need **ret);
	bool uses_threads;        /* the merge side is told who runs, and of threads */
	size_t worker_state_size; /* zeroed at the start of each chunk */
	size_t thread_state_size; /* zeroed when a thread, or another object, appears */
	size_t trace_state_size;  /* zeroed when the trace begins; for on_ordered */

	/* Map side, optional: emit what was gathered, with the time stamp @ts.  The stay of the
	 * current thread on its CPU ends (it is switched out, events are missing, or the chunk
	 * ends), or only the window does (@is_window) and the stay goes on. */
	void (*on_oncpu_end)(struct worker *worker, void *state, uint64_t ts, bool is_window);
	/* Events are missing from @ts on.  Comes after on_oncpu_end(). */
	void (*on_lost)(struct worker *worker, void *state, uint64_t ts);

	/*
	 * Merge side, all optional.  Threads are spread over shards, and several shards are at
	 * work at once: touch nothing but what the shard gives (engine/merger/shard.h).  Of one
	 * thread, calls come in time order, but for on_switch_out(), which may come as soon as the
	 * thread is switched in: its time says when it is.  (When it is switched in elsewhere at
	 * that time, it was not gone in between.)
	 */
	void (*on_record)(struct shard *shard, const struct record *record, const uint64_t *numbers,
			  struct thread *thread);
	/* Whether on_record() may be given the record: what it uses as an index, a length or a text
	 * is right.  Who has on_record() has this, too. */
	bool (*accepts)(const struct untrusted_record *untrusted);
	void (*on_switch_in)(struct shard *shard, struct thread *thread,
			     const struct switch_in *in);
	void (*on_switch_out)(struct shard *shard, struct thread *thread,
			      const struct switch_out *out);
	void (*on_run)(struct shard *shard, struct thread *thread, uint64_t ns);
	void (*on_fork)(struct shard *shard, struct thread *thread, uint64_t ts);
	/* The thread was on this CPU when the trace began. */
	void (*on_initial_thread)(struct shard *shard, struct thread *thread, uint64_t cpu);
	/* No system call that the thread entered before is still open (RECORD_NO_OPEN_CALLS). */
	void (*on_no_open_calls)(struct shard *shard, struct thread *thread);
	/* Events are missing where the thread ran: what it began may be over (shard_may_miss). */
	void (*on_gap)(struct shard *shard, struct thread *thread);
	/* There may be switches among them: it may have left the CPU.  Called before on_gap(). */
	void (*on_unseen)(struct shard *shard, struct thread *thread);
	/* The window ends at @end: of each thread and object of the shard that is there; of a dead
	 * one only once, unless there are records of it again. */
	void (*on_window_end)(struct shard *shard, struct thread *thread, uint64_t end);
	/* The state of a thread or object is about to be forgotten: free what it points to. */
	void (*on_forget)(void *state);
	/* Writes the state of a thread or object, or reads it into a zeroed one: who has a state
	 * has this, too.  What is read is looked at as by accepts(). */
	void (*on_checkpoint)(const struct checkpoint *checkpoint, void *state);
	/*
	 * What shard_note_ordered() noted, in time order over all threads (at the same time: by
	 * tid), after each round.  Nothing else is at work then, so that @state, the trace's own,
	 * may be touched; @shard is for figures of the trace, items and the longest, not for
	 * threads, which have their own (fact.shard).
	 */
	void (*on_ordered)(struct shard *shard, void *state, const struct ordered *ordered);
	void (*on_trace_forget)(void *state);
	void (*on_trace_checkpoint)(const struct checkpoint *checkpoint,
				    void *state); /* as on_checkpoint() */
	void (*on_cpu)(struct shard *shard, struct cpu *cpu, enum run_kind kind, uint64_t ns);
	void (*on_slice)(struct shard *shard, const struct slice *slice,
			 const struct stream_identity *stream, uint64_t late_events);
	void (*on_tally)(struct shard *shard, uint32_t event_name, uint64_t count);
};

/* All analyses, in the order of reports; ends with NULL.  Made from the list in analyses/. */
extern const struct analysis *const analyses[];

#define ANALYSES_MAX 32

#endif
