/*
 * pairs: rows about two threads: what one did to the other.
 *
 * The one table of SCOPE_PAIR of a run has a row for each pair.  Tables of pairs of processes and
 * of containers are sums of these rows, made for a report.
 *
 *     members[]   who: a thread, or one of PAIR_OTHERS, PAIR_IDLE, PAIR_UNKNOWN
 *     rows[]      two members, and the columns of the open window and of the total
 *
 * A member is a thread for its whole life, under any tid.  While the thread has a row of its own,
 * what is shown of the member is what is known of the thread; when it loses the row, a copy is
 * made. A member that no thread, row or user needs is given up, and its number used again.
 *
 * Only on_ordered() adds to pairs, which is serial: which rows there are depends on the events
 * alone.
 */
#pragma once

#include "base/hash.h"
#include "base/mem.h"
#include "engine/contract/merge.h"
#include "engine/tables/columns.h"
#include "engine/tables/report.h"

#define PAIR_COLUMNS 4 /* at most so many, which are sums and maxima */

struct pair_member {
	struct thread *thread; /* NULL: it has no row any more */
	struct thread_view view;
	uint32_t uses;   /* by its thread, rows and users; 0: the number is free */
	uint32_t serial; /* how many were made before it: the order of rows that are equal */
	bool is_orphan;  /* its thread lost its row, and still counts in `uses` */
};

struct pair_row {
	uint32_t of, by; /* members */
	bool is_touched; /* used in the open window, and listed in `touched` */
	uint64_t window[PAIR_COLUMNS], total[PAIR_COLUMNS];
};

struct layout;

/* Where the row of two members is: few bytes, since pairs that are charged are in any order. */
struct pair_ref {
	uint32_t of, by;
	uint32_t after; /* the index of its row, and 1; 0: unused */
};

static inline bool pair_refs_is_used(const void *unused, const struct pair_ref *ref)
{
	return ref->after != 0;
}

static inline int64_t pair_refs_key(const void *unused, const struct pair_ref *ref)
{
	return (int64_t)((uint64_t)ref->of << 32 | ref->by);
}

HASH_PROBED(pair_refs, struct pair_ref, const void *)

struct pairs {
	const struct layout *layout;     /* of the threads */
	VEC(struct pair_member) members; /* from PAIR_FIRST on */
	uint32_t made;                   /* so many, ever */
	VEC(uint32_t) free;              /* numbers of members */
	_Atomic uint32_t orphans;        /* so many members are */
	VEC(struct pair_row) rows;
	VEC(uint32_t) touched;
	struct pair_refs refs;
	uint64_t left_out[PAIR_COLUMNS]; /* what does not count; nobody reads it */
};

void pairs_fini(struct pairs *pairs);

/* See merge.h. */
uint32_t pairs_member(struct pairs *pairs, struct thread *thread);
void pairs_use(struct pairs *pairs, uint32_t member);
bool pairs_claim(struct pairs *pairs, uint32_t member);
void pairs_release(struct pairs *pairs, uint32_t member);
/* All that uses members was read: the others are free. */
void pairs_count_free(struct pairs *pairs);
/* The thread loses its row.  Several shards may do so at once. */
void pairs_forget_thread(struct pairs *pairs, struct thread *thread);

/* The index of the row, which is made when new and counts as used in the window. */
uint32_t pairs_row(struct pairs *pairs, uint32_t of, uint32_t by);
/* If there are more than PAIRS_MAX rows: adds those with the least in the first column, all but
 * half of that, to the row of PAIR_OTHERS. */
void pairs_fold(struct pairs *pairs, const struct columns *columns);
/* Adds the open window to the total, or drops it, and empties it. */
void pairs_close(struct pairs *pairs, const struct columns *columns, bool keep);

/* A number for the row that no other row has, and that orders rows by the age of their members. */
uint64_t pairs_row_id(const struct pairs *pairs, const struct pair_row *row);

/* What is shown of a member that is a thread. */
const struct thread_view *pairs_view(const struct pairs *pairs, uint32_t member);

/* Whether there is such a member. */
static inline bool pairs_is_member(const struct pairs *pairs, uint32_t member)
{
	return member < PAIR_FIRST || member - PAIR_FIRST < pairs->members.count;
}

struct listing;
struct tables;
/* Fills a table of pairs. */
void report_pairs(struct tables *tables, struct listing *listing);

/* Whether members, rows and lists agree.  For what was read from a checkpoint. */
bool pairs_are_sound(const struct pairs *pairs);
