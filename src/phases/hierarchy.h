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
#ifndef SILLAGE_PHASES_HIERARCHY_H
#define SILLAGE_PHASES_HIERARCHY_H

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

struct aggregate {
	uint32_t node;
	uint32_t first, last; /* slices */
};

struct aggregates {
	double gain, loss;        /* normalised sums */
	VEC(struct aggregate) at; /* each leaf and slice is in exactly one */
};

/* The best aggregates for @p, from 0 to 1.  Release them with hierarchy_fini(). */
void hierarchy_find(const struct hierarchy_model *model, double p, struct aggregates *ret);
void hierarchy_fini(struct aggregates *aggregates);

#endif
