/*
 * overview: the phases of one trace, or of several hosts' traces, from the windows of its analyses.
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
 * Of several hosts, whose windows come one after the other, each has its own series, processes and
 * tree.  The time in which a host was not recorded is unknown time of its CPUs; its other series
 * stay what they are in the model, and are told by nobody (overview_is_told()).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "engine/tables/report.h"
#include "phases/cut/partition.h"
#include "phases/cut/tree.h"
#include "phases/ran.h"
#include "phases/series.h"

struct overview_config {
	uint64_t begin, end; /* ns: of the trace */
	size_t hosts;        /* up to TREE_HOSTS_MAX; 0: one */
	size_t slices;       /* no more than that; from 2 to PARTITION_SLICES_MAX */
	bool uses_figures;
	bool has_calls;              /* as in series_each() */
	bool wants_tree[TREE_KINDS]; /* time and CPUs, time and processes */
	double p; /* of the partition that is described; negative: the suggested one */
};

/* One value for each slice. */
struct overview_series {
	char *name;          /* "CPU 1 busy", "syscalls: calls" */
	const char *figure;  /* "busy", or a column's title */
	size_t host;         /* its number; 0: of the only one */
	uint64_t cpu;        /* SERIES_ALL_CPUS: of no single one */
	size_t cpus;         /* a share: of so many CPUs */
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

/* A host, and the slices in which it has windows: from the first one on, without @past. */
struct overview_host_span {
	char *name; /* NULL: it is not known */
	size_t first, past;
};

struct overview;

/* ns: the window length that the slices need, a round number. */
uint64_t overview_interval(const struct overview_config *config);

struct overview *overview_new(const struct overview_config *config);
void overview_free(struct overview *overview); /* NULL is fine */
/* Windows are of this host from now on, from its first slice.  @name: what it is called, NULL: not
 * known.  One host need not be begun. */
void overview_begin_host(struct overview *overview, const char *name);

/* Adds a window; reports of other kinds are left out. */
void overview_report(struct overview *overview, const struct report *report);

/*
 * Whether another look at less of the trace says more: packets may last far longer than their
 * events.  *@config is then that of the slices that have events.
 */
bool overview_narrows(struct overview *overview, struct overview_config *config);

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
/* Whether anything of its host was recorded in a part: always, of one host. */
bool overview_is_told(const struct overview *overview, const struct overview_series *series,
		      const struct part *part);
/* What processes ran. */
const struct ran *overview_ran(const struct overview *overview);
/* 0: there is one. */
size_t overview_hosts(const struct overview *overview);
const struct overview_host_span *overview_host(const struct overview *overview, size_t number);

/* ---- output (overview-text.c, overview-json.c, overview-page.c) ---- */

void overview_text(const struct overview *overview, const char *path, size_t top, FILE *out);
/* One line. */
void overview_json(const struct overview *overview, const char *path, size_t top, bool has_trees,
		   FILE *out);
/* A page with all partitions; @top: processes of a phase.  @source: what a command reads the trace
 * by again; NULL: none can. */
void overview_page(const struct overview *overview, const char *path, const char *source,
		   size_t top, FILE *out);
