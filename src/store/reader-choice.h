/*
 * reader-choice: which windows of a store are read, for each analysis (reader-plan.c).
 *
 * A trace may have been stored by several runs, with other analyses and other lengths.  Analyses
 * that find the same windows are a group; at first there is one group of all that are asked for,
 * and it is split where a window has some of them only.  The head of a window is asked for as if
 * it was an analysis that all windows have.
 *
 *     asked: cpu, sched     1s   | cpu           | cpu,sched     |
 *                           10ms | sched | sched |
 *     group 0 (head, cpu)        | 1s            | 1s            |
 *     group 1 (sched)            | 10ms  | 10ms  | 1s            |
 */
#pragma once

#include "store/reader-state.h"

struct span {
	uint64_t begin, end;
};

struct spans {
	VEC(struct span) at;
};

/* A store that windows are taken from. */
struct choice_source {
	struct store_reader *reader;
	uint32_t member;              /* its number, of several */
	const uint32_t *global, *own; /* as in struct reader_member; NULL: there is one store */
};

/* Analyses of a trace that have the same windows. */
struct choice_group {
	uint64_t lists;       /* store_window.lists */
	struct spans covered; /* by longer windows, or others that are taken */
	struct spans fresh;   /* the windows of the length that is being looked at */
	struct store_windows windows;
};

struct choice_groups {
	VEC(struct choice_group) at;
};

struct reader_choice {
	struct store_reader *reader;
	const bool *wanted;
	struct span range;
	uint64_t asked;               /* the analyses that are wanted, bit by bit */
	struct choice_groups *traces; /* by trace */
	char *text;                   /* the analyses of the last window, and */
	uint64_t lists;               /* the same bit by bit */
	size_t next_trace;            /* where the next row's is, most likely */
};

/* @wanted: by trace; it must outlive the choice. */
void reader_choice_init(struct reader_choice *choice, struct store_reader *reader,
			const bool *wanted, uint64_t begin, uint64_t end);
void reader_choice_fini(struct reader_choice *choice);
/* Takes the windows of one length where an analysis has none yet. */
int reader_choice_take(struct reader_choice *choice, const struct choice_source *source,
		       uint64_t level, struct err *err);
/* The trace of all stores that is this one of the source. */
uint32_t reader_choice_global(const struct choice_source *source, uint32_t trace);
/* Adds what was taken, by trace and time. */
void reader_choice_windows(struct reader_choice *choice, struct store_windows *ret);
