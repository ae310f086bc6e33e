/*
 * report: a window or total of one trace, ready for a sink.
 *
 * Rows are sorted (largest figure first, then by id) and hold no row without a value.  Of many,
 * only the first engine_config.top are in order.
 */
#ifndef SILLAGE_ENGINE_TABLES_REPORT_H
#define SILLAGE_ENGINE_TABLES_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "engine/contract/analysis.h"

struct report_row {
	uint64_t sort;
	uint64_t id;       /* CPU or item number, pid, or order of threads with one tid */
	int64_t owner;     /* what table.owner_key names */
	const char *name;  /* SCOPE_EVENT, ITEM, LONGEST */
	const char *keyed; /* SCOPE_KEYED: the same in all reports, whatever the name is by then */
	const struct thread_view *thread; /* SCOPE_THREAD, PROCESS; LONGEST: may be NULL */
	const uint64_t *values; /* by column (engine/tables/columns.h); COLUMN_PRIO has none */
	const struct instance *instance; /* SCOPE_LONGEST, in place of values */
};

struct thread_view {
	int64_t pid; /* -1: unknown */
	int32_t tid; /* below 0: left out (unknown thread, or others folded) */
	int32_t prio;
	char comm[17]; /* "": unknown; whatever was traced behind its zero, and at last another */
	bool has_prio;
};

struct report_table {
	const struct analysis *analysis;
	const struct table *table;
	size_t row_count;
	const struct report_row *rows;
};

/* Lists of what are wanted; by name: processes are put together by their threads' names. */
enum per { PER_ALL, PER_CPU, PER_TID, PER_PID, PER_COMM, PER_PRIO };

/* Which rows are wanted.  Empty lists: all.  Figures of the trace as a whole stay those of all. */
struct selection {
	VEC(int64_t) tids, pids, cpus;
	VEC(const char *) comms;
	VEC(const char *) irqs; /* numbers, or names */
	enum per per;
	uint64_t min_ns, max_ns; /* of single instances; max_ns UINT64_MAX: any */
	const char *sort; /* key of the column to sort by, where a table has it; NULL: its own */
};

/* Whether it leaves rows out. */
static inline bool selection_picks(const struct selection *s)
{
	return s->tids.count + s->pids.count + s->cpus.count + s->comms.count + s->irqs.count > 0;
}

enum report_kind { REPORT_WINDOW, REPORT_TOTAL, REPORT_SO_FAR };

struct report {
	enum report_kind kind;
	uint64_t seq;        /* of windows, from 0 */
	uint64_t begin, end; /* ns since the epoch */
	bool complete;
	bool has_lag;
	int64_t lag_ns;
	uint64_t events; /* in it, for rates */
	uint64_t discarded, lost_packets, bad_packets, late_events;
	size_t table_count;
	const struct report_table *tables; /* all of one analysis are adjacent */
};

/* The columns that rows go by: the one that was asked for, where there is one of that key. */
uint32_t report_sort_mask(const struct table *table, const struct selection *selection);
/* What a row has in them, for report_row.sort. */
uint64_t report_sort_value(const struct table *table, uint32_t mask, const uint64_t *values);
/* Puts rows in order; of many only the first @top (0: all). */
void report_sort_rows(struct report_row *rows, size_t count, size_t top);
/* Rows of one table whose values changed: in their order again, of many the first @top (0: all). */
void report_sort(const struct table *table, const struct selection *selection,
		 struct report_row *rows, size_t count, size_t top);

#endif
