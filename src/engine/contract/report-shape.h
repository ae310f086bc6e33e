/*
 * report-shape: what an analysis reports: tables, their columns, the longest instances.
 *
 * Tables hold what commutes: sums, maxima, histograms, longest instances.  The engine owns their
 * storage, for the open window and for the total.  It closes windows, adds them to totals, sorts
 * and reports.  So windows add up to totals, and live equals recorded, for every analysis.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/contract/row-key.h"
#include "kernel/visits.h"

struct thread; /* a thread, or an entity: something stateful of the analysis that is no thread */

enum unit { UNIT_COUNT, UNIT_BYTES, UNIT_NS };
enum column_kind {
	COLUMN_SUM,
	COLUMN_PRIO, /* of threads: the last known priority; holds no storage */
	COLUMN_MAX,
	/* The level when the window ends; a total has that of its last window.  The levels of
	 * shards are added up, or their maximum is taken. */
	COLUMN_LAST,
	COLUMN_LAST_MAX,
	COLUMN_HISTOGRAM, /* durations: count, sum, extremes, percentiles; see row.h */
};

/* Time that costs nothing where it grows: nothing ran, or nobody knows what. */
enum rest {
	REST_NONE,
	REST_ALL,      /* idle, asleep or unknown */
	REST_OF_CALLS, /* in rows of calls that wait for what others do (syscall_waits) */
};

struct column {
	const char *key;   /* in JSON; ends with its unit: _ns, _bytes */
	const char *title; /* in text; NULL: not shown */
	enum unit unit;
	enum column_kind kind;
	bool is_share; /* text: also as a share of the window, with a bar */
	uint8_t rest;  /* enum rest */
	/* By bit the columns of the row that it adds up, of distributions their sums; 0: none.  A
	 * store that does not have the column has it from them. */
	uint16_t sum_of;
	bool of_shares; /* of the trace: 100 % is the sum of those columns that are shares */
	bool is_capped; /* a sum that ends at UINT64_MAX */
};

enum scope {
	SCOPE_TRACE, /* one row; its columns are members of the analysis' JSON object */
	SCOPE_CPU,
	SCOPE_THREAD,
	SCOPE_EVENT, /* a row an event name; in JSON an object from name to first column */
	SCOPES_FIXED,
	/* Each table of these has rows of its own. */
	SCOPE_KEYED = SCOPES_FIXED, /* a row for each key: a number, a name, or both */
	SCOPE_PROCESS,              /* the rows of the analysis' table of threads, by process */
	SCOPE_CONTAINER,            /* the same by container, which is a PID namespace */
	SCOPE_LONGEST,              /* the longest instances of something; see struct instance */
	SCOPE_PAIR,                 /* a row for two threads; of one table of a run (merge.h) */
	SCOPE_PROCESS_PAIR,         /* its rows by the processes of the two */
	SCOPE_CONTAINER_PAIR,       /* the same by their containers */
};

/* What a user selects, by bit: threads (--tid, --pid, --comm), CPUs (--cpu), interrupts (--irq). */
enum { OF_ALL_THREADS = 1, OF_ALL_CPUS = 2, OF_ALL_IRQS = 4 };

/* Scopes whose tables have the figures of the analysis' table of threads. */
static inline bool scope_is_of_threads(enum scope scope)
{
	return scope == SCOPE_PROCESS || scope == SCOPE_CONTAINER;
}

static inline bool scope_is_of_pairs(enum scope scope)
{
	return scope == SCOPE_PAIR || scope == SCOPE_PROCESS_PAIR || scope == SCOPE_CONTAINER_PAIR;
}

static inline bool scope_is_of_containers(enum scope scope)
{
	return scope == SCOPE_CONTAINER || scope == SCOPE_CONTAINER_PAIR;
}

#define COLUMNS_MAX 16
#define TABLES_MAX  10

struct table {
	const char *key; /* in JSON; NULL for SCOPE_TRACE */
	enum scope scope;
	/* Rows are sorted by the sum of these columns (histograms: their sum), largest first.  A
	 * single column that is no histogram is the first of those that are shown. */
	uint32_t sort_mask;
	struct column columns[COLUMNS_MAX]; /* ends at the first without a key */
	/* SCOPE_KEYED, SCOPE_LONGEST: what number and name are called; NULL: there is none. */
	const char *id_key, *name_key;
	/* SCOPE_LONGEST: what instance.by is called; NULL: there is none.  Pairs: what the name of
	 * the second one is called, whose number is called owner_key. */
	const char *by_key;
	const char *(*id_name)(uint64_t id); /* a name for the number, or NULL; may be NULL */
	/* The numbers that have names, from i = 0 on, UINT64_MAX behind the last; NULL: they are
	 * small. */
	uint64_t (*id_named)(size_t i);
	/* SCOPE_LONGEST: the instances go on when a window ends: a total has those of its last
	 * window. */
	bool is_level;
	/* Of levels: columns of the first table, that of the trace, that say how many there are,
	 * and how many of them have no name. */
	uint16_t counted_by, unnamed_by;
	const char *title; /* in text: what the rows are; NULL: by scope */
	/* SCOPE_PROCESS: the analysis has a table of containers, too.  By container, its rows say
	 * which one they are in. */
	bool has_containers;
	bool shows_means; /* in text: of a histogram only the mean, below the column's title */
	const char *lami_class; /* LAMI's class of a key: "irq", "syscall", ...; NULL: a text */
	/* SCOPE_KEYED: the upper half of the number is this other number (the process of a
	 * descriptor), the lower half is called id_key; NULL: it is one number. */
	const char *owner_key;
	/* Figures that a selection of these (OF_ALL_...) does not concern: they belong to no
	 * thread, or to no single CPU.  They stay those of all, and reports say so.  A table that
	 * is fed by on_slice, on_tally, on_cpu or worker_keyed_row() has OF_ALL_THREADS. */
	uint8_t of_all;
};

/* Something that took long.  Its table's first column is the duration; others are signed numbers.
 */
#define INSTANCE_MORE     2
#define INSTANCE_BY_BYTES 96
struct instance {
	uint64_t ns, end; /* duration, and the time when it was over */
	int64_t more[INSTANCE_MORE];
	uint64_t cpu;          /* UINT64_MAX: left out */
	struct thread *thread; /* NULL: unknown, or see begun_by */
	struct row_key keyed;
	bool has_begun_by; /* of what belongs to no thread: the tid that began it, and its visits */
	int32_t begun_by;
	struct visits visits;
	uint64_t thread_id; /* set when a window ends: report_row.id of the thread; 0: none */
	char by[INSTANCE_BY_BYTES]; /* "dev=8 sector=5": what else tells it from others */
};

/* Tables of processes and of containers beside that of threads; their FIGURES are the analysis'. */
#define PROCESSES_TABLE .key = "processes", .scope = SCOPE_PROCESS, .has_containers = true
#define CONTAINERS_TABLE                                                                           \
	.key = "containers", .scope = SCOPE_CONTAINER, .id_key = "pid_ns", .name_key = "name",     \
	.title = "CONTAINER"
/* Of CPUs, for figures that belong to a CPU by its id alone. */
#define CPUS_TABLE                                                                                 \
	.key = "cpus", .scope = SCOPE_KEYED, .id_key = "cpu", .title = "CPU", .lami_class = "cpu"
