/*
 * profile: all figures of one side of a comparison, rows by name.
 *
 *     totals of traces ──┐
 *     a range of a store ┼──► profile ──► compare.h
 *     JSON of a run ─────┘
 *
 * Rows of one name are one row: of threads and processes the name is comm, of a list by keys the
 * label of the row, else the name of the key, or its number if it has none.  Numbers of threads and
 * processes, and ids with labels, mean nothing in another run.  Rows of several traces are added up
 * in the same way.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "base/histogram.h"
#include "engine/tables/report.h"
#include "figure/by-name.h"

/* A distribution.  One that came from JSON may have no buckets. */
struct spread {
	uint64_t count, sum, min, max;
	bool has_percentiles;         /* without buckets: those that the source says; */
	uint64_t p50, p95, p99, p999; /* of rows that were added up they are not known */
	struct histogram *buckets;    /* NULL: not known, or no value */
};

struct profile_row {
	uint64_t values[COLUMNS_MAX];
	struct spread spreads[COLUMNS_MAX];
};

struct profile_table {
	const struct analysis *analysis;
	const struct table *table;
	uint16_t unknown;    /* bit by bit the columns that no trace records */
	bool is_cut;         /* the source may leave out rows */
	struct by_name rows; /* of struct profile_row */
};

struct profile_span {
	uint64_t begin, end;
};

struct profile {
	char *name;
	VEC(struct profile_table *) tables;
	VEC(struct profile_span) spans;
	struct missing_events missing; /* what no trace records */
	VEC(char *) texts;             /* that they point to */
	size_t traces;
	uint64_t begin, end, covered_ns; /* ns; the time that some trace covers */
	struct losses lost;
	bool knows_losses;     /* whether these counts are known */
	uint64_t lost_windows; /* of a store: that never came to it */
};

struct profile *profile_new(const char *name);
void profile_free(struct profile *profile); /* NULL is fine */

/* The table, made if it is new. @unknown: as report_table.unknown, of one trace. */
struct profile_table *profile_table_of(struct profile *profile, const struct analysis *analysis,
				       const struct table *table, uint16_t unknown);
/* NULL: the profile has none. */
const struct profile_table *profile_find(const struct profile *profile, const struct table *table);
/* The row, made if it is new. */
struct profile_row *profile_row_of(struct profile_table *table, const char *name);
/* NULL: the table has none, or is NULL. */
const struct profile_row *profile_find_row(const struct profile_table *table, const char *name);
void profile_add_number(const struct profile_table *table, struct profile_row *row,
			unsigned int column, uint64_t value);
/* The buckets are copied. */
void profile_add_spread(struct profile_row *row, unsigned int column, const struct spread *spread);
/* The time that some of them covers, and where the last one ends.  Sorts them. */
uint64_t profile_covered(struct profile_span *spans, size_t count, uint64_t *ret_end);
/* The source has seen this time. */
void profile_add_span(struct profile *profile, uint64_t begin, uint64_t end);

/* Call it once for each trace, before its counts: what it does not record. */
void profile_add_trace(struct profile *profile, const struct missing_event *missing, size_t count);
/* A total; not its time. */
void profile_add_report(struct profile *profile, const struct report *report);
/* The totals in the JSON lines of a run (doc/json.md), which are untrusted.  -EINVAL: they are no
 * such lines; -ENODATA: there is no total.  Of analyses those of @list (ends with NULL). */
int profile_add_json(struct profile *profile, const struct analysis *const *list, FILE *in,
		     struct err *err);

/* ---- phases ---- */

/* A part of a run, and its figures. */
struct compared_phase {
	uint64_t number, begin, end; /* ns */
	struct profile *profile;     /* NULL: it is not read yet */
};
typedef VEC(struct compared_phase) compared_phases;
void compared_phases_fini(compared_phases *phases);

/* The phases of one trace, by time. */
struct phase_source {
	char *trace;   /* what it is called */
	bool has_cpus; /* they are made of the time of CPUs */
	compared_phases phases;
};
typedef VEC(struct phase_source) phase_sources;
void phase_sources_fini(phase_sources *sources);

/* Those in the JSON lines of a run (--phases); fails as profile_add_json().  -ENODATA: it has none.
 */
int phase_sources_json(FILE *in, phase_sources *ret, struct err *err);
/* The figures of phases from the windows in JSON lines that begin in them, of all traces. */
int compared_phases_json(const compared_phases *phases, const struct analysis *const *list,
			 FILE *in, struct err *err);

/* When all is added.  -ENODATA: it covers no time. */
int profile_end(struct profile *profile, struct err *err);

/* Whether the table's rows can be found in another run. */
bool profile_has_names(const struct table *table);

/* ---- distributions ---- */

/* Of one with a value, if it is known; HISTOGRAM_STDEV is not. */
bool spread_part(const struct spread *spread, enum histogram_part part, double *ret);
