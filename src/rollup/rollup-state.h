/*
 * rollup-state: the inside of a rollup, shared by rollup.c and rollup-threads.c.
 */
#pragma once

#include <string.h>

#include "base/account.h"
#include "base/hash.h"
#include "engine/contract/partial.h"
#include "engine/tables/columns.h"
#include "kernel/thread-identity.h"
#include "rollup/rollup.h"

/* A row of a long window; `row` points to the other members. */
struct rollup_row {
	struct report_row row;
	uint32_t source; /* joining: the trace that it is of; 0 where all traces are added up */
	struct thread_view view;
	struct instance instance;
	char *name, *label, *keyed, *by; /* owned */
	struct process_name named;       /* of a process */
	bool is_ended;                   /* the sum of threads of a name (rollup_bound()) */
	uint32_t bytes;                  /* of the account */
	uint64_t seen;                   /* the window of the rollup that it was last in */
	uint64_t values[COLUMNS_MAX];
};

/* The text by which the row is found again.  A shown name may become known after the row began. */
static inline const char *rollup_row_key(const struct rollup_row *row)
{
	return row->row.keyed ? row->row.keyed : row->row.name ? row->row.name : "";
}

static inline uint32_t rollup_row_hash(const struct rollup_row *row)
{
	uint64_t hash = hash_text(row->row.id ^ (uint64_t)row->source << 40, rollup_row_key(row));

	return hash_mix(hash ^ (uint64_t)row->row.owner << 32);
}

static inline bool rollup_row_equal(const struct rollup_row *a, const struct rollup_row *b)
{
	return a->row.id == b->row.id && a->source == b->source && a->row.owner == b->row.owner &&
	       strcmp(rollup_row_key(a), rollup_row_key(b)) == 0;
}

static inline bool rollup_rows_is_used(const void *unused, struct rollup_row *const *row)
{
	return *row;
}

static inline const struct rollup_row *rollup_rows_key(const void *unused,
						       struct rollup_row *const *row)
{
	return *row;
}

HASH_PROBED_BY(rollup_rows, struct rollup_row *, const void *, const struct rollup_row *,
	       rollup_row_hash, rollup_row_equal)

struct rollup_table {
	const struct analysis *analysis;
	const struct table *table;
	uint16_t unknown; /* in the last short window */
	bool is_whole;
	size_t ended; /* rows that are sums of threads of a name */
	struct columns columns;
	struct rollup_rows by_key;
	VEC(struct rollup_row *) all; /* of the window; single instances have no key */
	VEC(struct report_row) rows;  /* the same, sorted, for the report */
};

/* What a container was last called. */
struct rollup_name {
	uint64_t id; /* of its row */
	char name[CONTAINER_NAME_BYTES];
};

HASH_MAP(rollup_views, uint32_t)
HASH_MAP(rollup_leaders, struct thread_view)

struct rollup {
	uint64_t interval_ns;
	size_t top;
	const struct selection *selection;
	bool joins;   /* windows of several traces at one time, not of one trace one after the other
		       */
	bool places;  /* rows of processes say which container they are in */
	bool is_open; /* a long window has begun, and not ended */
	uint64_t seq;
	struct account *account; /* NULL: all rows stay */
	uint64_t windows;        /* that were added */
	uint64_t ended;          /* rows that were put together by name */
	struct report report;
	VEC(struct missing_event) missing;
	VEC(struct report_table) shown;    /* a table of the report for each of tables */
	VEC(struct rollup_table *) tables; /* by analysis, in the order of reports */
	VEC(struct report_view) views;     /* what became known within the long window */
	struct rollup_views view_at;       /* the index in views of an id */
	VEC(struct rollup_name) names;
	struct rollup_leaders leaders; /* what processes are called by their leaders, by pid */
	VEC(struct report_part) parts; /* by analysis, as windows have them first */
	VEC(struct report_span) spans; /* that windows cover, in order; they do not touch */
	VEC(struct rollup *) groups;   /* of the windows of group 1, 2, ... (report.group) */
};

/* The row that is like @from, made when new. */
struct rollup_row *rollup_row_of(struct rollup_table *table, const struct report_row *from,
				 uint32_t source);
/* The row of a thread, or NULL. */
struct rollup_row *rollup_row_known(struct rollup_table *table, uint64_t id);

/* A row of which nothing is left is none, but a trace and a CPU always have theirs. */
bool rollup_row_is_shown(const struct rollup_table *table, const struct rollup_row *row);
/* Frees a row that is in no table any more. */
void rollup_row_free(struct rollup *rollup, struct rollup_table *table, struct rollup_row *row);

/* ---- rollup-threads.c ---- */

/* The row takes memory, or more than before. */
void rollup_charge(const struct rollup *rollup, const struct rollup_table *table,
		   struct rollup_row *row);
/* Keeps rows within the account, between two windows. */
void rollup_fold(struct rollup *rollup);

/* Applies what became known of threads to the rows of windows before. */
void rollup_learn(struct rollup *rollup, const struct report *window);
void rollup_note_names(struct rollup *rollup, const struct report_table *from);
void rollup_note_leaders(struct rollup *rollup, const struct report_table *from);
/* Fills tables of processes and containers, whose rows are sums of those of threads. */
void rollup_group(struct rollup *rollup, struct rollup_table *table);
/* The analysis' table of threads, if it was in the windows and @table is the sum of it. */
struct rollup_table *rollup_threads_of(struct rollup *rollup, const struct rollup_table *table);
