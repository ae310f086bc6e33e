/*
 * analysis: the contract between the engine and an analysis.
 *
 * An analysis is one file that ends in one const descriptor.  It has two halves:
 *
 *   map    runs in workers, on one chunk, knowing nothing else.  Handlers get the
 *          events and fields that `needs` names.  They emit records (map_emit) for
 *          what must be seen in time order; counts per event class come for free.
 *   merge  sees, of each thread, the records of all streams in time order.  It adds to rows
 *          of its tables; nothing else leaves an analysis.
 *
 * Tables hold sums only (uint64_t, which commute).  The engine owns their storage:
 * a row per trace, CPU, thread or event name, for the open window and for the total.
 * It closes windows, adds them to totals, sorts and reports, so that windows add
 * up to totals and live equals offline for every analysis by construction.
 */
#ifndef SILLAGE_ENGINE_ANALYSIS_H
#define SILLAGE_ENGINE_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctf/decode.h"
#include "engine/partial.h"

struct map;
struct shard;
struct thread;
struct cpu;

/* ---- what is reported ---- */

enum unit { UNIT_COUNT, UNIT_BYTES, UNIT_NS };

enum column_kind {
	COLUMN_SUM,
	COLUMN_PRIO, /* of threads: last known priority; holds no storage */
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
};

#define COLUMNS_MAX 8
#define TABLES_MAX  4

struct table {
	const char *key; /* in JSON; NULL for SCOPE_TRACE */
	enum scope scope;
	uint32_t sort_mask;                 /* rows go by the sum of these columns, largest first */
	struct column columns[COLUMNS_MAX]; /* ends at the first without a key */
};

/* ---- map side ---- */

/* An event as a handler sees it: values in the order of the need's fields. */
struct map_event {
	uint64_t ts; /* ns since the epoch, never less than the event before */
	const struct plan_event *class;
	const struct value *values;
	uint16_t present; /* bit i: the class has field i */
	uint16_t is_signed;
};

typedef void map_fn(struct map *map, void *state, const struct map_event *event, uint32_t user);

struct need {
	const char *event; /* a name, or a prefix and "*" */
	const char *fields[PLAN_FIELDS_MAX];
	map_fn *on_event;
	uint32_t user; /* given to the handler */
};

/* ---- merge side ---- */

struct analysis {
	const char *name;
	const char *summary;             /* one line */
	struct table tables[TABLES_MAX]; /* ends at the first without columns */
	const struct need *needs;        /* ends with an event of NULL; may be NULL */
	size_t need_count;
	bool uses_threads;        /* the merge side is told who runs, and of threads */
	size_t map_state_size;    /* zeroed at the start of each chunk */
	size_t thread_state_size; /* zeroed when a thread appears */

	/* Map side, optional: emit what was gathered, with the time stamp @ts.  The stay of the
	 * current thread on its CPU ends (it is switched out, events are missing, or the chunk
	 * ends), or only the window does (@is_window) and the stay goes on. */
	void (*on_stay_end)(struct map *map, void *state, uint64_t ts, bool is_window);

	/*
	 * Merge side, all optional.  Threads are spread over shards, and several shards are at
	 * work at once: touch nothing but what the shard gives (engine/shard.h).  Of one thread,
	 * calls come in time order.
	 */
	void (*on_record)(struct shard *shard, const struct record *record, const uint64_t *numbers,
			  struct thread *thread);
	void (*on_switch_in)(struct shard *shard, struct thread *thread, bool is_migration);
	void (*on_run)(struct shard *shard, struct thread *thread, uint64_t ns);
	void (*on_anew)(struct shard *shard, struct thread *thread); /* RECORD_ANEW_CALLS */
	void (*on_gap)(struct shard *shard, struct thread *thread);
	void (*on_cpu)(struct shard *shard, struct cpu *cpu, enum run_kind kind, uint64_t ns);
	void (*on_slice)(struct shard *shard, const struct slice *slice, uint64_t late_events);
	void (*on_tally)(struct shard *shard, uint32_t event_name, uint64_t count);
};

/* All analyses, in the order of reports; ends with NULL.  Made from the list in analyses/. */
extern const struct analysis *const analyses[];

#define ANALYSES_MAX 32

#endif
