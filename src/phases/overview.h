/*
 * overview: the phases of one trace, from the windows of its analyses.
 *
 *     windows ── overview_report() ──► series, processes ── overview_find() ──► partitions
 *        each window is one slice        (one value a slice)                    (partition.h)
 *
 * Phases are made of the states of series.h, of what processes and containers do (groups.h), and of
 * the figures of the analyses with overview_config.uses_figures, or if no CPU's time is known.
 * Rates are divided by their largest value.
 *
 * A phase is a part of the chosen partition: the suggested one (suggest.h), or that of a p that was
 * asked for.  Behaviour seldom changes exactly where a slice ends.  So a part of a single slice
 * that is a mixture of its neighbours is no phase of its own; it joins the one that has the larger
 * share of it.
 *
 * Processes describe phases, and cut none.  Of each slice those that ran most are known,
 * OVERVIEW_PROCESSES_MAX of them, so that memory is bounded whatever the trace.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/tables/report.h"
#include "phases/partition.h"
#include "phases/series.h"
#include "phases/tree.h"

#define OVERVIEW_PROCESSES_MAX 64 /* of a slice */

struct overview_config {
	uint64_t begin, end; /* ns: of the trace */
	size_t slices;       /* no more than that; from 2 to PARTITION_SLICES_MAX */
	bool uses_figures;
	bool wants_tree[TREE_KINDS]; /* time and CPUs, time and processes */
	double p; /* of the partition that is described; negative: the suggested one */
};

/* One value for each slice. */
struct overview_series {
	char *name;          /* "CPU 1 busy", "syscalls: calls" */
	const char *figure;  /* "busy", or a column's title */
	uint64_t cpu;        /* SERIES_ALL_CPUS: of no single one */
	bool is_state;       /* as in series.h */
	bool is_share;       /* of time; else a rate a second ... */
	bool is_level;       /* ... or a level, ... */
	enum unit unit;      /* ... of this */
	bool is_counterpart; /* says the opposite of another series: idle */
	double most;         /* the largest value */
	double least_scale;  /* a rate is divided by the larger of both in the model */
	double *values;      /* shares from 0 to 1, rates, or levels */
	size_t told;         /* slices up to the last that had it; the others are filled at last */
};

struct overview_process {
	char *name; /* "comm (pid)" */
	double ns;  /* run time within the part in question */
};

struct overview;

/* ns: the window length that the slices need, a round number. */
uint64_t overview_interval(const struct overview_config *config);

struct overview *overview_new(const struct overview_config *config);
void overview_free(struct overview *overview); /* NULL is fine */
/* What the host is called; NULL: it is not known. */
void overview_set_host(struct overview *overview, const char *host);

/* Adds a window; reports of other kinds are left out. */
void overview_report(struct overview *overview, const struct report *report);

/*
 * Whether another look at less of the trace says more: packets may last far longer than their
 * events.  *@config is then that of the slices that have events.
 */
bool overview_narrows(const struct overview *overview, struct overview_config *config);

/* After the last window.  False: there is no series, since no analysis had any figure. */
bool overview_find(struct overview *overview);

/* ---- results ---- */

size_t overview_slices(const struct overview *overview);
/* ns: of a slice's start; of the one after the last: its end.  Cut to the trace. */
uint64_t overview_time(const struct overview *overview, size_t slice);
const struct overview_series *overview_series(const struct overview *overview, size_t *ret_count);
const struct partitions *overview_partitions(const struct overview *overview);
/* The one that is described. */
const struct partition *overview_chosen(const struct overview *overview);
/* Its place in overview_partitions(), or that of the one that is best for the p asked for. */
size_t overview_chosen_at(const struct overview *overview);
/* In order; they cover all slices. */
const struct part *overview_phases(const struct overview *overview, size_t *ret_count);
/* Those of any partition; @ret is empty before. */
void overview_phases_of(const struct overview *overview, const struct partition *partition,
			partition_parts *ret);
/* NULL: not wanted, or no CPU's time is known. */
const struct tree *overview_tree(const struct overview *overview, enum tree_kind kind);
/* What the model divides a series by; 0: the series is not in it. */
double overview_scale(const struct overview *overview, const struct overview_series *series);
/* The mean of a series over a part. */
double overview_mean(const struct overview_series *series, const struct part *part);
/* The series that differs most between two parts, in what it is divided by; NULL: none does by
 * SUGGEST_CHANGE. */
const struct overview_series *overview_change(const struct overview *overview,
					      const struct part *before, const struct part *after);
/* The processes that ran most in a part, at most @room; returns how many. */
size_t overview_processes(const struct overview *overview, const struct part *part,
			  struct overview_process *ret, size_t room);

/* What a process ran in one slice. */
struct overview_ran {
	uint32_t slice;
	uint64_t ns;
};
/* All that were seen, by @index; NULL: there are no more.  Its name lives as long as @overview. */
const struct overview_ran *overview_runs(const struct overview *overview, size_t index,
					 const char **ret_name, size_t *ret_count);

/* ---- output (overview-text.c, overview-json.c, overview-page.c) ---- */

void overview_text(const struct overview *overview, const char *path, size_t top, FILE *out);
/* One line. */
void overview_json(const struct overview *overview, const char *path, size_t top, bool has_trees,
		   FILE *out);
/* A page with all partitions; @top: processes of a phase.  @source: what a command reads the trace
 * by again; NULL: none can. */
void overview_page(const struct overview *overview, const char *path, const char *source,
		   size_t top, FILE *out);
