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
#include "engine/tables/report.h"
#include "engine/tables/shard.h"

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

struct event_name {
	const char *name;
	struct sums sums;
};

HASH_DECLARE(cpus, struct cpu *)
KHASH_MAP_INIT_STR(name_ids, uint32_t)

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

/* The thread of @from, if any, continues as @to (exec by a thread that is not the leader). */
void tables_rename_thread(struct tables *tables, const struct rename *rename);

/* Adds what lanes have of the open window to the trace's rows. */
void tables_collect(struct tables *tables);
/* Adds the open window to the total (or drops it) and empties it; shards do their part when
 * they have their next turn, or when the total is asked for. */
void tables_close_window(struct tables *tables, bool keep);

/* The window ends: tells the analyses. */
void tables_end_window(struct tables *tables, uint64_t end);

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
