/*
 * tree: what CPUs, or processes and their threads, did in the slices of an overview, and the
 * rectangles that hierarchy.h makes of it.
 *
 *     windows ── tree_report() ──► ns by resource and slice ── tree_find() ──► nodes, aggregates
 *
 * Leaves have three states: a CPU is busy, idle or unknown; a thread or process runs, or does not.
 * The CPUs' unknown time is a leaf of its own beside the processes, since anyone may have run then.
 *
 * Of several hosts each is a node below the root, with its own CPUs, processes and unknown time:
 * pid 7 or CPU 0 of two hosts are two.  Time in which a host was not recorded is unknown.
 *
 * Processes in several containers are below these, and those of which it is not known beside them.
 *
 * Memory is bounded whatever the trace: of each slice the rows that ran most are kept.  Shown are
 * the processes and threads that ran most in all; a leaf stands for all others.  Threads that ran
 * only in one slice, or two adjacent ones, are added to their process' other threads.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/tables/report.h"
#include "phases/cut/hierarchy.h"

#define TREE_STATES    3
#define TREE_ROWS      64  /* processes, and threads, of a slice */
#define TREE_CPUS      256 /* leaves; of more CPUs the last leaf is all others */
#define TREE_PROCESSES 24  /* shown */
#define TREE_THREADS   48  /* shown, of all processes */
#define TREE_HOSTS_MAX 16  /* they share what is shown, and the CPUs' leaves */

enum tree_kind { TREE_CPU, TREE_PROCESS, TREE_KINDS };

struct tree_node {
	char *name;
	char *selection; /* options that select it: "--pid 7"; NULL: none does */
	uint32_t parent;
	uint32_t host;   /* the node of its host; 0: there is one host, the root */
	uint32_t leaves; /* below it; a leaf: 1 */
	bool is_leaf;
};

struct tree;

/* @room: slices at most; @host_count: hosts, up to TREE_HOSTS_MAX. */
struct tree *tree_new(enum tree_kind kind, size_t room, size_t host_count);
void tree_free(struct tree *tree); /* NULL is fine */

/* Windows are of this one from now on, from its first slice.  @name: what it is called, NULL: not
 * known. */
void tree_begin_host(struct tree *tree, const char *name);

/* Adds a window, which is one slice. */
void tree_report(struct tree *tree, size_t slice, const struct report *report);

/*
 * After the last window.  @times: ns, when each slice starts, and when the last one ends. @missing:
 * of each host the ns of each slice in which it was not recorded.  @p as in hierarchies_find().
 * False: no CPU's time is known.
 */
bool tree_find(struct tree *tree, const uint64_t *times, const uint64_t *const *missing,
	       size_t slices, double p);

/* ---- results ---- */

/* "busy", "idle", ... */
const char *const *tree_states(const struct tree *tree);
/* No more than HIERARCHY_SLICES_MAX: so many slices of the overview are joined to one. */
size_t tree_stride(const struct tree *tree);
size_t tree_slices(const struct tree *tree);
/* ns: of a slice's start; of the one after the last: its end. */
uint64_t tree_time(const struct tree *tree, size_t slice);
/* Parents come before their children, and a node before the next one of its level. */
const struct tree_node *tree_nodes(const struct tree *tree, size_t *ret_count);
/* Of a leaf: a number for each slice.  A pool of several may be above 1. */
const double *tree_values(const struct tree *tree, size_t node, unsigned int state);
const struct hierarchies *tree_hierarchies(const struct tree *tree);
/* The mean of a state over the leaves and slices of an aggregate. */
double tree_share(const struct tree *tree, const struct aggregate *aggregate, unsigned int state);
