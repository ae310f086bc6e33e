/*
 * hierarchy: see hierarchy.h.
 */
#include "phases/hierarchy.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#define TOLERANCE 1e-12

enum choice { WHOLE, CHILDREN, CUT };

/* The best aggregates of one node and one range of slices. */
struct best {
	double value, gain, loss;
	uint8_t choice;
	uint8_t cut; /* CUT: the last slice before it */
};

struct search {
	const struct hierarchy_model *model;
	double p;
	double *sums, *inner; /* [nodes][series][slices]: of values, and of f(value), below it */
	uint32_t *leaves;     /* below each node */
	bool *has_children;   /* each node */
	double gain, loss;    /* the divisors */
	size_t ranges;        /* first <= last */
	struct best *best;    /* [nodes][ranges] */
};

static size_t range_of(const struct search *search, size_t first, size_t last)
{
	assert(first <= last);
	assert(last < search->model->slices);
	return first * search->model->slices - first * (first + 1) / 2 + last;
}

static struct best *best_of(const struct search *search, size_t node, size_t first, size_t last)
{
	return &search->best[node * search->ranges + range_of(search, first, last)];
}

static double f(double x)
{
	return x > 0 ? x * log2(x) : 0;
}

/* ---- sums below a node ---- */

static void add_node(struct search *search, size_t node)
{
	const struct hierarchy_model *model = search->model;
	size_t size = model->series * model->slices, parent = model->parents[node];
	bool is_leaf = !search->has_children[node];

	for (size_t i = 0; i < size; i++) {
		size_t at = node * size + i;

		if (is_leaf) {
			assert(model->values[at] >= 0 && isfinite(model->values[at]));
			search->sums[at] = model->values[at];
			search->inner[at] = f(model->values[at]);
		}
		if (node > 0) {
			search->sums[parent * size + i] += search->sums[at];
			search->inner[parent * size + i] += search->inner[at];
		}
	}
	search->leaves[node] += is_leaf;
	if (node > 0) {
		assert(parent < node);
		search->leaves[parent] += search->leaves[node];
		search->has_children[parent] = true;
	}
}

/* Children come after their parents, so from the last node to the first one. */
static void add_nodes(struct search *search)
{
	for (size_t node = search->model->nodes; node-- > 0;) {
		add_node(search, node);
	}
}

/* ---- gain and loss of aggregates ---- */

/* Adds one series of a node to all ranges. */
static void add_series(struct search *search, size_t node, size_t series)
{
	const struct hierarchy_model *model = search->model;
	const double *sums = &search->sums[(node * model->series + series) * model->slices];
	const double *inners = &search->inner[(node * model->series + series) * model->slices];

	for (size_t first = 0; first < model->slices; first++) {
		double sum = 0, inner = 0;

		for (size_t last = first; last < model->slices; last++) {
			struct best *best = best_of(search, node, first, last);
			double entropy, even, cells = (double)(last - first + 1);

			sum += sums[last];
			inner += inners[last];
			entropy = f(sum) - inner;
			even = sum * log2(cells * search->leaves[node]);
			best->gain += entropy > TOLERANCE * fabs(f(sum)) ? entropy : 0;
			best->loss += even - entropy > TOLERANCE * even ? even - entropy : 0;
		}
	}
}

static void measure(struct search *search)
{
	const struct best *whole;

	for (size_t node = 0; node < search->model->nodes; node++) {
		for (size_t series = 0; series < search->model->series; series++) {
			add_series(search, node, series);
		}
	}
	whole = best_of(search, 0, 0, search->model->slices - 1);
	search->gain = whole->gain > 0 ? whole->gain : 1;
	search->loss = whole->loss > 0 ? whole->loss : 1;
	for (size_t i = 0; i < search->model->nodes * search->ranges; i++) {
		struct best *best = &search->best[i];

		best->gain /= search->gain;
		best->loss /= search->loss;
		best->value = search->p * best->gain - (1 - search->p) * best->loss;
		best->choice = WHOLE;
	}
}

/* ---- the search ---- */

/* Takes the other one if it is better by more than rounding, or equal with a larger gain. */
static void improve(struct best *best, const struct best *other)
{
	double tolerance = TOLERANCE * fmax(1, fabs(best->value));

	if (other->value > best->value + tolerance ||
	    (other->value > best->value - tolerance && other->gain > best->gain + TOLERANCE)) {
		*best = *other;
	}
}

static void try_cuts(struct search *search, size_t node, size_t first, size_t last)
{
	struct best *best = best_of(search, node, first, last);

	for (size_t cut = first; cut < last; cut++) {
		const struct best *left = best_of(search, node, first, cut);
		const struct best *right = best_of(search, node, cut + 1, last);

		improve(best, &(struct best){ .value = left->value + right->value,
					      .gain = left->gain + right->gain,
					      .loss = left->loss + right->loss,
					      .choice = CUT,
					      .cut = (uint8_t)cut });
	}
}

/* @children: the sums of the best of all children for each range; NULL for a leaf. */
static void solve_node(struct search *search, size_t node, const struct best *children)
{
	for (size_t length = 1; length <= search->model->slices; length++) {
		for (size_t first = 0; first + length <= search->model->slices; first++) {
			size_t last = first + length - 1;

			if (children) {
				improve(best_of(search, node, first, last),
					&children[range_of(search, first, last)]);
			}
			try_cuts(search, node, first, last);
		}
	}
}

static void sum_children(const struct search *search, size_t node, struct best *ret)
{
	for (size_t i = 0; i < search->ranges; i++) {
		ret[i] = (struct best){ .choice = CHILDREN };
	}
	for (size_t child = node + 1; child < search->model->nodes; child++) {
		const struct best *best = &search->best[child * search->ranges];

		for (size_t i = 0; search->model->parents[child] == node && i < search->ranges;
		     i++) {
			ret[i].value += best[i].value;
			ret[i].gain += best[i].gain;
			ret[i].loss += best[i].loss;
		}
	}
}

static void solve(struct search *search)
{
	struct best *children = mem_alloc(search->ranges * sizeof(*children));

	for (size_t node = search->model->nodes; node-- > 0;) {
		if (search->has_children[node]) {
			sum_children(search, node, children);
		}
		solve_node(search, node, search->has_children[node] ? children : NULL);
	}
	free(children);
}

/* ---- the result ---- */

/* Depth: levels of the tree and cuts, each of which shortens the range. */
static void collect(const struct search *search, size_t node, size_t first, size_t last,
		    struct aggregates *ret)
{
	const struct best *best = best_of(search, node, first, last);

	switch ((enum choice)best->choice) {
	case WHOLE:
		*vec_push(&ret->at) = (struct aggregate){ .node = (uint32_t)node,
							  .first = (uint32_t)first,
							  .last = (uint32_t)last };
		return;
	case CUT:
		collect(search, node, first, best->cut, ret);
		collect(search, node, best->cut + 1U, last, ret);
		return;
	case CHILDREN:
		break;
	}
	for (size_t child = node + 1; child < search->model->nodes; child++) {
		if (search->model->parents[child] == node) {
			collect(search, child, first, last, ret);
		}
	}
}

void hierarchy_find(const struct hierarchy_model *model, double p, struct aggregates *ret)
{
	struct search search = { .model = model, .p = p };
	size_t cells = model->nodes * model->series * model->slices;
	const struct best *root;

	assert(model->slices >= 1 && model->slices <= HIERARCHY_SLICES_MAX);
	assert(model->nodes >= 1 && model->nodes <= HIERARCHY_NODES_MAX);
	assert(p >= 0 && p <= 1);
	search.ranges = model->slices * (model->slices + 1) / 2;
	search.sums = mem_alloc((cells + 1) * sizeof(*search.sums));
	search.inner = mem_alloc((cells + 1) * sizeof(*search.inner));
	search.leaves = mem_alloc(model->nodes * sizeof(*search.leaves));
	search.has_children = mem_alloc(model->nodes * sizeof(*search.has_children));
	search.best = mem_alloc(model->nodes * search.ranges * sizeof(*search.best));
	add_nodes(&search);
	measure(&search);
	solve(&search);
	root = best_of(&search, 0, 0, model->slices - 1);
	*ret = (struct aggregates){ .gain = root->gain, .loss = root->loss };
	collect(&search, 0, 0, model->slices - 1, ret);
	free(search.sums);
	free(search.inner);
	free(search.leaves);
	free(search.has_children);
	free(search.best);
}

void hierarchy_fini(struct aggregates *aggregates)
{
	vec_fini(&aggregates->at);
}
