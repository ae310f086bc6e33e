/*
 * rows: storage of the tables of all analyses, and reports made from it.
 *
 * Everything that has rows (the trace, a CPU, a thread, an event name) has one
 * array of sums for the open window and one for the total, with room for the columns
 * of all tables of its scope.  Closing a window adds one to the other.
 */
#ifndef SILLAGE_ENGINE_ROWS_H
#define SILLAGE_ENGINE_ROWS_H

#include "base/map.h"
#include "base/mem.h"
#include "engine/analysis.h"
#include "engine/map.h"
#include "engine/report.h"

struct sums {
	uint64_t *window, *total;
	bool is_touched; /* something may have been added in the open window */
};

enum cpu_state {
	CPU_HEAD,    /* waiting for the first evidence */
	CPU_KNOWN,   /* `thread` runs, NULL: the idle thread */
	CPU_UNKNOWN, /* after a gap */
};

struct cpu {
	uint64_t id;
	struct merge_stream *owner; /* the stream whose switches count */
	enum cpu_state state;
	int32_t tid;
	struct thread *thread;
	uint64_t since;      /* ns: charged up to here */
	uint64_t head_limit; /* ns: CPU_HEAD ends when the watermark is here */
	uint64_t resume_ts;  /* not 0: unknown before, `thread` from then on */
	struct thread
		*nobody; /* stands for the thread while it is not known; NULL: not needed yet */
	struct sums sums;
};

struct thread {
	struct thread_view view;
	uint32_t incarnation;
	bool is_dead;
	uint32_t cpus_current; /* how many CPUs have it as their thread */
	uint64_t cpu;          /* of its last switch-in, UINT64_MAX: none */
	struct sums sums;
	void *states; /* of the analyses */
};

struct event_name {
	const char *name;
	struct sums sums;
};

MAP_DECLARE(threads, struct thread *)
MAP_DECLARE(cpus, struct cpu *)
KHASH_MAP_INIT_STR(name_ids, uint32_t)

#define TID_PAGE_SIZE 1024
#define TID_PAGES     4096 /* tids below 2^22, PID_MAX_LIMIT of Linux */

struct rows {
	const struct map_setup *setup;
	uint32_t columns[4]; /* by scope */
	uint32_t offsets[ANALYSES_MAX][TABLES_MAX];
	size_t thread_state_offsets[ANALYSES_MAX];
	size_t thread_state_size;
	struct sums trace;
	khash_t(cpus) * cpus;
	/* By tid, the newest incarnation: a page of pointers for each range of tids, since this
	 * is looked up at every switch; a hash table for what is no tid of Linux. */
	struct thread **live_pages[TID_PAGES];
	khash_t(threads) * live_odd;
	VEC(struct thread *) kept;         /* all that have a row, live and dead */
	VEC(struct thread *) free_threads; /* of those that were folded, for new ones */
	VEC(struct thread *) touched;
	struct thread *other;           /* where dead threads beyond THREADS_KEPT_MAX went */
	struct thread *nobody;          /* stands for unknown threads of streams that name no CPU */
	VEC(struct event_name *) names; /* by name id */
	khash_t(name_ids) * name_ids;
	VEC(struct event_name *) names_touched;
	VEC(uint32_t) class_names; /* name id by class index */
};

void rows_init(struct rows *rows, const struct map_setup *setup);
void rows_fini(struct rows *rows);

struct cpu *rows_cpu(struct rows *rows, uint64_t id);             /* made when new */
struct thread *rows_thread(struct rows *rows, int32_t tid);       /* made when new */
struct thread *rows_thread_known(struct rows *rows, int32_t tid); /* NULL if not there */
/* A thread without a tid, for what cannot be attributed. */
struct thread *rows_thread_nobody(struct rows *rows, uint64_t cpu_id);
/* A new thread under @tid; the old one, if any, keeps its row. */
struct thread *rows_thread_fork(struct rows *rows, int32_t tid);
/* The thread @from continues under @tid (exec by a thread that is not the leader). */
struct thread *rows_thread_rename(struct rows *rows, int32_t from, int32_t tid);
void rows_set_classes(struct rows *rows, const struct plan *plan);

void rows_touch_thread(struct rows *rows, struct thread *thread);
void rows_touch_name(struct rows *rows, struct event_name *name);

/* Adds the open window to the total (or drops it) and empties it. */
void rows_close_window(struct rows *rows, bool keep);

/* Fills the tables of @report from the open window or the total, into @memory. */
struct report_memory {
	VEC(struct report_table) tables;
	VEC(struct report_row *) lists;
};
void rows_report(struct rows *rows, bool total, struct report *report,
		 struct report_memory *memory);
void report_memory_fini(struct report_memory *memory);

#endif
