/*
 * tables: the rows of all analyses of one trace, for the open window and in total.
 *
 * Each thing that has rows (the trace, a CPU, an event name, a thread) has one row for the open
 * window and one for the total, with the columns of all tables of its scope (layout.h).  Keyed rows
 * and the longest instances have lists of their own.
 *
 *     round:            hooks add to  shards (threads), accumulators (the rest), CPUs
 *     tables_collect    accumulators ──► open window of the trace, event names, keyed rows, longest
 *     tables_close_window                open window ──► total, or dropped
 *
 * Threads are the exception: a shard closes its window when it is needed next (shard.h).
 */
#pragma once

#include "base/hash.h"
#include "base/mem.h"
#include "engine/contract/analysis.h"
#include "engine/contract/missing.h"
#include "engine/tables/pairs.h"
#include "engine/tables/report-build.h"
#include "engine/tables/report.h"
#include "engine/tables/shard.h"

struct sums {
	uint64_t *window, *total; /* rows; one allocation */
	bool is_touched;          /* not used; a checkpoint has it */
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
	bool serves; /* soft interrupts are the work of that thread */
};

struct cpu {
	uint64_t id;
	uint32_t number;             /* its id, cut to the bits that keys have for it */
	struct merger_stream *owner; /* the stream whose switches count; NULL: none */
	enum cpu_state state;        /* from `since` on */
	int32_t tid;
	bool serves;          /* CPU_KNOWN: soft interrupts are its work */
	bool is_doubted;      /* CPU_KNOWN: whoever it is, its time is unknown (merger/cpus.h) */
	bool is_unproven;     /* CPU_KNOWN by its first switch, which no other has confirmed yet */
	uint64_t since;       /* ns: end of the last segment charged */
	uint64_t heard_until; /* ns: end of the last packet or beacon of any of its streams */
	bool has_left;        /* none of these goes on */
	bool is_absent, was_present; /* in all of the open window; in some window that is closed */
	uint64_t absent_from;   /* ns: when it left, as the end of a window knows; or UINT64_MAX */
	uint64_t unknown_from;  /* ns: begin of the last hole that rounds came to; 0: none */
	uint64_t initial_limit; /* ns: a watermark that ends CPU_INITIAL, and is_unproven */
	uint64_t initial_since; /* has_initial: the CPU ran initial_tid from then on */
	bool has_initial;       /* ... which was not told yet (on_initial_cpu) */
	bool initial_is_new, initial_has_prio; /* what the first switch showed of ... */
	int32_t initial_tid, initial_prio;     /* ... the initial thread */
	char initial_name[NAME_BYTES];
	VEC(struct segment) segments; /* not charged yet, in order */
	size_t segments_used;
	/* Which thread runs, for streams whose records do not say (merger/cpus.c). */
	VEC(struct running_change) running;
	struct sums sums;
};

struct event_name {
	const char *name; /* owned */
	struct sums sums;
};

HASH_MAP(cpus, struct cpu *)
HASH_MAP_TEXT(name_ids, uint32_t)

/* An ordered event of the round; ts is since the first of them. */
struct ordered_at {
	uint64_t ts;
	struct ordered *ordered;
};

struct tables {
	struct layout layout;
	struct sums trace;
	struct cpus cpus; /* by id */
	struct shard shards[SHARDS];
	VEC(struct accumulator *) accumulators; /* by the number of the task */
	struct thread *other; /* the sum of shards' others, for a report; NULL: none yet */
	VEC(struct event_name *) names; /* by name id */
	struct name_ids name_ids;
	VEC(uint32_t) class_names;        /* name id by class index */
	char *domain;                     /* of the trace, as that of struct event_names */
	bool has_programs;                /* the same */
	const char *tracer;               /* the same; it stays (missing_kept) */
	const struct event_names *beside; /* the same */
	/* The names of containers of the host that the trace is of; NULL: nobody asks it. */
	const struct host_containers *host_containers;
	struct missing missing; /* for so many names, here and beside, and that domain: */
	size_t missing_names;   /* SIZE_MAX: to be found */
	struct keyed_rows keyed_rows;
	struct longest *longest, *longest_total; /* of the open window, and of those closed */
	struct pairs pairs;
	void *states[ANALYSES_MAX]; /* analyses' states of the trace; NULL: none */
	VEC(struct ordered_at) ordered_events, ordered_sorted; /* of the round */
	struct shard whole;                   /* what on_ordered() gets; has no threads */
	struct accumulator whole_accumulator; /* of `whole`; its rows are the trace's */
};

void tables_init(struct tables *tables, const struct setup *setup);
void tables_fini(struct tables *tables);

struct cpu *tables_cpu(struct tables *tables, uint64_t id); /* made when new */
void tables_set_classes(struct tables *tables, const struct plan *plan);
void tables_add_class(struct tables *tables, const char *name);
bool tables_has_event(const struct tables *tables, const char *name); /* among the classes */
/* Both may be NULL. */
void tables_set_domain(struct tables *tables, const char *domain, const char *tracer);
/* Of other traces; may grow, and outlives the tables; NULL: there are none. */
void tables_set_beside(struct tables *tables, const struct event_names *beside);
/* Brings `missing` up to date. */
void tables_find_missing(struct tables *tables);

/* The thread of rename->from goes on as rename->to (exec by a thread that is not the leader). */
void tables_rename_thread(struct tables *tables, const struct rename *rename);

/* From @ts on nothing was traced for a while: any thread may have done anything. */
void tables_lose(struct tables *tables, uint64_t ts);

/* Adds what accumulators have to the trace's open window. */
void tables_collect(struct tables *tables);
/* Reports the end of the window to the analyses. */
void tables_end_window(struct tables *tables, uint64_t end);
/* Adds the open window to the total, or drops it, and empties it. */
void tables_close_window(struct tables *tables, bool keep);

/* Asserts what has to hold between two rounds.  It walks over everything: see CHECKS_ON. */
void tables_check(const struct tables *tables);
