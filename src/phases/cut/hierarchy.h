/*
 * hierarchy: cuts a range of time and a tree of resources into few rectangles, each with much the
 * same behaviour throughout.
 *
 * As in partition.h, for two dimensions: CPUs in a host, threads in processes in containers.  An
 * aggregate is a node of the tree and a range of slices; it stands for all leaves below the node.
 * Its gain and loss sum over these leaves:
 *
 *     gain = sum over series of f(S) - I             S, I: over all leaves and slices
 *     loss = sum over series of S log2(n leaves) - (f(S) - I)
 *
 * Normalised by those of the root and all slices.  The best aggregates of a node and a range are
 * the best of: the node as it is; those of its children, one below the other; a cut in time, with
 * the best before it and after it.  Time grows with nodes * slices^3.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

#define HIERARCHY_SLICES_MAX 60
#define HIERARCHY_NODES_MAX  1000

struct hierarchy_model {
	size_t slices, series, nodes;
	/* Of each node; node 0 is the root, and parents come before their children. */
	const uint32_t *parents;
	/* [nodes][series][slices], finite and >= 0; only the leaves' are read. */
	const double *values;
};

/* The suggested aggregates lose no more than that. */
#define HIERARCHY_LOSS_SUGGESTED 0.02
/* hierarchies_find() looks at no more compromises. */
#define HIERARCHIES_MAX 16

/* Gain and loss of each node and range of slices. */
struct hierarchy_table;

struct aggregate {
	uint32_t node;
	uint32_t first, last; /* slices */
};

struct aggregates {
	double p;                 /* a p for which they are the best */
	bool meets;               /* p is the smallest one; no other lies before them in the list */
	double gain, loss;        /* normalised sums */
	VEC(struct aggregate) at; /* each leaf and slice is in exactly one */
};

/* Some that are best for some p, among them those of 0 and 1, and the suggested ones. */
struct hierarchies {
	VEC(struct aggregates) at; /* in the order of p */
	size_t suggested;          /* of all for some p, the simplest that lose little enough */
	size_t chosen;             /* those of the p that was asked for, or the suggested ones */
};

/* @model may be freed afterwards. */
struct hierarchy_table *hierarchy_table_new(const struct hierarchy_model *model);
void hierarchy_table_free(struct hierarchy_table *table); /* NULL is fine */

/* The best aggregates for @p, from 0 to 1.  Release them with hierarchy_fini(). */
void hierarchy_find(struct hierarchy_table *table, double p, struct aggregates *ret);
void hierarchy_fini(struct aggregates *aggregates);

/* Among them those for @p, if that is not negative.  Release them with hierarchies_fini(). */
void hierarchies_find(struct hierarchy_table *table, double p, struct hierarchies *ret);
void hierarchies_fini(struct hierarchies *hierarchies);
