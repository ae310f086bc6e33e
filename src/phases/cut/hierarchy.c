/*
 * hierarchy: see hierarchy.h.
 */
#include "phases/cut/hierarchy.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "phases/cut/partition.h"

#define TOLERANCE 1e-12
#define CLEARLY   1e-9 /* more than any rounding */

enum choice { WHOLE, CHILDREN, CUT };

/* The best aggregates of one node and one range of slices. */
struct hierarchy_best {
	double value, gain, loss;
	uint8_t choice;
	uint8_t piece; /* the choice without cuts */
	uint8_t cut;   /* CUT: the last slice of the first piece */
};

/* Of one node and one range as they are, normalised. */
struct hierarchy_quality {
	double gain, loss;
};

struct hierarchy_table {
	size_t slices, nodes;
	size_t ranges;                     /* first <= last */
	uint32_t *parents;                 /* each node */
	bool *has_children;                /* each node */
	struct hierarchy_quality *quality; /* [nodes][ranges] */
	struct hierarchy_best *best;       /* [nodes][ranges]: of the search in progress */
};

/* What is needed to measure the qualities. */
struct hierarchy_sums {
	const struct hierarchy_model *model;
	double *sums, *inner; /* [nodes][series][slices]: of values, and of f(value), below it */
	uint32_t *leaves;     /* below each node */
};

static size_t range_of(const struct hierarchy_table *table, size_t first, size_t last)
{
	assert(first <= last);
	assert(last < table->slices);
	return first * table->slices - first * (first + 1) / 2 + last;
}

static struct hierarchy_best *best_of(const struct hierarchy_table *table, size_t node,
				      size_t first, size_t last)
{
	return &table->best[node * table->ranges + range_of(table, first, last)];
}

/* ---- sums below a node ---- */

static void add_node(const struct hierarchy_table *table, struct hierarchy_sums *sums, size_t node)
{
	const struct hierarchy_model *model = sums->model;
	size_t size = model->series * model->slices, parent = model->parents[node];
	bool is_leaf = !table->has_children[node];

	for (size_t i = 0; i < size; i++) {
		size_t at = node * size + i;

		if (is_leaf) {
			assert(model->values[at] >= 0 && isfinite(model->values[at]));
			sums->sums[at] = model->values[at];
			sums->inner[at] = partition_f(model->values[at]);
		}
		if (node > 0) {
			sums->sums[parent * size + i] += sums->sums[at];
			sums->inner[parent * size + i] += sums->inner[at];
		}
	}
	sums->leaves[node] += is_leaf;
	if (node > 0) {
		assert(parent < node);
		sums->leaves[parent] += sums->leaves[node];
		table->has_children[parent] = true;
	}
}

/* ---- gain and loss of aggregates ---- */

/* Adds one series of a node to all ranges. */
static void add_series(struct hierarchy_table *table, const struct hierarchy_sums *sums,
		       size_t node, size_t series)
{
	const struct hierarchy_model *model = sums->model;
	const double *values = &sums->sums[(node * model->series + series) * model->slices];
	const double *inners = &sums->inner[(node * model->series + series) * model->slices];
	struct hierarchy_quality *quality = &table->quality[node * table->ranges];

	for (size_t first = 0; first < model->slices; first++) {
		double sum = 0, inner = 0;

		for (size_t last = first; last < model->slices; last++, quality++) {
			double entropy, even, cells = (double)(last - first + 1);

			sum += values[last];
			inner += inners[last];
			entropy = partition_f(sum) - inner;
			even = sum * log2(cells * sums->leaves[node]);
			quality->gain += entropy > TOLERANCE * fabs(partition_f(sum)) ? entropy : 0;
			quality->loss += even - entropy > TOLERANCE * even ? even - entropy : 0;
		}
	}
}

static void measure(struct hierarchy_table *table, const struct hierarchy_sums *sums)
{
	struct hierarchy_quality whole;

	for (size_t node = 0; node < table->nodes; node++) {
		for (size_t series = 0; series < sums->model->series; series++) {
			add_series(table, sums, node, series);
		}
	}
	whole = table->quality[range_of(table, 0, table->slices - 1)];
	whole.gain = whole.gain > 0 ? whole.gain : 1;
	whole.loss = whole.loss > 0 ? whole.loss : 1;
	for (size_t i = 0; i < table->nodes * table->ranges; i++) {
		table->quality[i].gain /= whole.gain;
		table->quality[i].loss /= whole.loss;
	}
}

struct hierarchy_table *hierarchy_table_new(const struct hierarchy_model *model)
{
	struct hierarchy_table *table = mem_alloc(sizeof(*table));
	size_t cells = model->nodes * model->series * model->slices;
	struct hierarchy_sums sums = { .model = model };

	assert(model->slices >= 1 && model->slices <= HIERARCHY_SLICES_MAX);
	assert(model->nodes >= 1 && model->nodes <= HIERARCHY_NODES_MAX);
	table->slices = model->slices;
	table->nodes = model->nodes;
	table->ranges = model->slices * (model->slices + 1) / 2;
	table->parents = mem_alloc(model->nodes * sizeof(*table->parents));
	memcpy(table->parents, model->parents, model->nodes * sizeof(*table->parents));
	table->has_children = mem_alloc(model->nodes * sizeof(*table->has_children));
	table->quality = mem_alloc(model->nodes * table->ranges * sizeof(*table->quality));
	table->best = mem_alloc(model->nodes * table->ranges * sizeof(*table->best));
	sums.sums = mem_alloc((cells + 1) * sizeof(*sums.sums));
	sums.inner = mem_alloc((cells + 1) * sizeof(*sums.inner));
	sums.leaves = mem_alloc(model->nodes * sizeof(*sums.leaves));
	/* Children come after their parents, so from the last node to the first one. */
	for (size_t node = model->nodes; node-- > 0;) {
		add_node(table, &sums, node);
	}
	measure(table, &sums);
	free(sums.sums);
	free(sums.inner);
	free(sums.leaves);
	return table;
}

void hierarchy_table_free(struct hierarchy_table *table)
{
	if (table) {
		free(table->parents);
		free(table->has_children);
		free(table->quality);
		free(table->best);
		free(table);
	}
}

/* ---- the search ---- */

/* Takes the other one if it is better by more than rounding, or equal with a larger gain. */
static void improve(struct hierarchy_best *best, const struct hierarchy_best *other)
{
	double tolerance = TOLERANCE * fmax(1, fabs(best->value));

	if (other->value > best->value + tolerance ||
	    (other->value > best->value - tolerance && other->gain > best->gain + TOLERANCE)) {
		*best = *other;
	}
}

/*
 * What is best of one node, in two orders, so that each search reads two rows.  A range is cut
 * behind its first piece, which is not cut itself: so each way to cut it is looked at once.
 */
struct values {
	double pieces[HIERARCHY_SLICES_MAX][HIERARCHY_SLICES_MAX]; /* [first][last] */
	double best[HIERARCHY_SLICES_MAX][HIERARCHY_SLICES_MAX];   /* [last][first] */
};

/* The largest sum of two elements; four at a time, which compilers make vectors of. */
static double largest_sum(const double *a, const double *b, size_t count)
{
	double largest[4] = { -INFINITY, -INFINITY, -INFINITY, -INFINITY };
	size_t at = 0;

	for (; at + 4 <= count; at += 4) {
		for (size_t i = 0; i < 4; i++) {
			double sum = a[at + i] + b[at + i];

			largest[i] = sum > largest[i] ? sum : largest[i];
		}
	}
	for (; at < count; at++) {
		largest[0] = a[at] + b[at] > largest[0] ? a[at] + b[at] : largest[0];
	}
	largest[0] = largest[1] > largest[0] ? largest[1] : largest[0];
	largest[2] = largest[3] > largest[2] ? largest[3] : largest[2];
	return largest[2] > largest[0] ? largest[2] : largest[0];
}

/* @children: the sums of the best of all children for each range; NULL for a leaf. */
static void try_cuts(const struct hierarchy_table *table, size_t node, size_t first, size_t last,
		     const struct hierarchy_best *children, struct values *values)
{
	struct hierarchy_best *best = best_of(table, node, first, last);
	const double *left = values->pieces[first], *right = values->best[last] + 1;
	/* Of most ranges no cut is good enough. */
	double enough =
		fmax(largest_sum(left + first, right + first, last - first), best->value) - CLEARLY;

	values->pieces[first][last] = best->value;
	best->piece = best->choice;
	for (size_t cut = first; cut < last; cut++) {
		size_t range = range_of(table, first, cut);
		const struct hierarchy_best *after;
		struct hierarchy_quality piece;

		if (left[cut] + right[cut] < enough) {
			continue;
		}
		after = best_of(table, node, cut + 1, last);
		piece = table->quality[node * table->ranges + range];
		if (table->best[node * table->ranges + range].piece == CHILDREN) {
			piece = (struct hierarchy_quality){ children[range].gain,
							    children[range].loss };
		}
		improve(best, &(struct hierarchy_best){ .value = left[cut] + after->value,
							.gain = piece.gain + after->gain,
							.loss = piece.loss + after->loss,
							.choice = CUT,
							.piece = best->piece,
							.cut = (uint8_t)cut });
	}
	values->best[last][first] = best->value;
}

static void solve_node(const struct hierarchy_table *table, size_t node,
		       const struct hierarchy_best *children, struct values *values)
{
	for (size_t length = 1; length <= table->slices; length++) {
		for (size_t first = 0; first + length <= table->slices; first++) {
			size_t last = first + length - 1;

			if (children) {
				improve(best_of(table, node, first, last),
					&children[range_of(table, first, last)]);
			}
			try_cuts(table, node, first, last, children, values);
		}
	}
}

static void sum_children(const struct hierarchy_table *table, size_t node,
			 struct hierarchy_best *ret)
{
	for (size_t i = 0; i < table->ranges; i++) {
		ret[i] = (struct hierarchy_best){ .choice = CHILDREN };
	}
	for (size_t child = node + 1; child < table->nodes; child++) {
		const struct hierarchy_best *best = &table->best[child * table->ranges];

		for (size_t i = 0; table->parents[child] == node && i < table->ranges; i++) {
			ret[i].value += best[i].value;
			ret[i].gain += best[i].gain;
			ret[i].loss += best[i].loss;
		}
	}
}

static void solve(struct hierarchy_table *table, double p)
{
	struct hierarchy_best *children = mem_alloc(table->ranges * sizeof(*children));
	struct values *values = mem_alloc(sizeof(*values));

	for (size_t i = 0; i < table->nodes * table->ranges; i++) {
		double gain = table->quality[i].gain, loss = table->quality[i].loss;

		table->best[i] = (struct hierarchy_best){ .value = p * gain - (1 - p) * loss,
							  .gain = gain,
							  .loss = loss,
							  .choice = WHOLE };
	}
	for (size_t node = table->nodes; node-- > 0;) {
		if (table->has_children[node]) {
			sum_children(table, node, children);
		}
		solve_node(table, node, table->has_children[node] ? children : NULL, values);
	}
	free(children);
	free(values);
}

/* ---- the result ---- */

/* Depth: levels of the tree and cuts, each of which shortens the range. */
static void collect(const struct hierarchy_table *table, size_t node, size_t first, size_t last,
		    struct aggregates *ret)
{
	size_t piece = last;

	if (best_of(table, node, first, last)->choice == CUT) {
		piece = best_of(table, node, first, last)->cut;
	}
	if (best_of(table, node, first, piece)->piece == WHOLE) {
		*vec_push(&ret->at) = (struct aggregate){ .node = (uint32_t)node,
							  .first = (uint32_t)first,
							  .last = (uint32_t)piece };
	} else {
		for (size_t child = node + 1; child < table->nodes; child++) {
			if (table->parents[child] == node) {
				collect(table, child, first, piece, ret);
			}
		}
	}
	if (piece < last) {
		collect(table, node, piece + 1, last, ret);
	}
}

void hierarchy_find(struct hierarchy_table *table, double p, struct aggregates *ret)
{
	const struct hierarchy_best *root = best_of(table, 0, 0, table->slices - 1);

	assert(p >= 0 && p <= 1);
	solve(table, p);
	*ret = (struct aggregates){ .p = p, .gain = root->gain, .loss = root->loss };
	collect(table, 0, 0, table->slices - 1, ret);
}

void hierarchy_fini(struct aggregates *aggregates)
{
	vec_fini(&aggregates->at);
}

/* ---- several compromises ---- */

/*
 * Finds the best between two neighbours: where these are equally good, either they meet, or others
 * are better there.  False: they meet, at *ret->p.
 */
static bool find_between(struct hierarchy_table *table, const struct aggregates *low,
			 const struct aggregates *high, struct aggregates *ret)
{
	double gain = high->gain - low->gain, loss = high->loss - low->loss;
	double p = gain + loss > 0 ? fmin(fmax(loss / (gain + loss), 0), 1) : 1;

	hierarchy_find(table, p, ret);
	if (ret->gain > low->gain + CLEARLY && ret->gain < high->gain - CLEARLY) {
		return true;
	}
	hierarchy_fini(ret);
	return false;
}

static void insert(struct hierarchies *all, size_t at, const struct aggregates *aggregates)
{
	(void)vec_push(&all->at);
	memmove(&all->at.at[at + 1], &all->at.at[at],
		(all->at.count - at - 1) * sizeof(all->at.at[0]));
	all->at.at[at] = *aggregates;
}

/* Puts what is best between two neighbours there.  False: they meet. */
static bool fill_between(struct hierarchy_table *table, struct hierarchies *all, size_t low)
{
	struct aggregates found;

	if (!find_between(table, &all->at.at[low], &all->at.at[low + 1], &found)) {
		all->at.at[low + 1].p = found.p;
		all->at.at[low + 1].meets = true;
		return false;
	}
	insert(all, low + 1, &found);
	return true;
}

/* Halves the way to the suggested ones; what it comes by stays. */
static void find_suggested(struct hierarchy_table *table, struct hierarchies *all)
{
	size_t low = 0;

	if (all->at.at[all->at.count - 1].loss <= HIERARCHY_LOSS_SUGGESTED) {
		all->suggested = all->at.count - 1;
		return;
	}
	while (fill_between(table, all, low)) {
		low += all->at.at[low + 1].loss <= HIERARCHY_LOSS_SUGGESTED;
	}
	all->suggested = low;
}

/* Fills the widest steps. */
static void find_more(struct hierarchy_table *table, struct hierarchies *all)
{
	while (all->at.count < HIERARCHIES_MAX) {
		size_t widest = 0;
		double width = 0;

		for (size_t i = 0; i + 1 < all->at.count; i++) {
			double step = all->at.at[i + 1].gain - all->at.at[i].gain;

			if (step > width && !all->at.at[i + 1].meets) {
				width = step;
				widest = i;
			}
		}
		if (width <= 0) {
			return;
		}
		if (fill_between(table, all, widest)) {
			all->suggested += widest < all->suggested;
		}
	}
}

/* Adds those for @p, unless they are there. */
static void choose(struct hierarchy_table *table, double p, struct hierarchies *all)
{
	struct aggregates own;
	size_t at = 0;

	hierarchy_find(table, p, &own);
	while (at < all->at.count && all->at.at[at].gain < own.gain - CLEARLY) {
		at++;
	}
	all->chosen = at;
	if (at < all->at.count && all->at.at[at].gain <= own.gain + CLEARLY) {
		hierarchy_fini(&own);
		return;
	}
	insert(all, at, &own);
	all->suggested += at <= all->suggested;
}

void hierarchies_find(struct hierarchy_table *table, double p, struct hierarchies *ret)
{
	struct aggregates simplest;

	*ret = (struct hierarchies){ .suggested = 0 };
	hierarchy_find(table, 0, vec_push(&ret->at));
	hierarchy_find(table, 1, &simplest);
	if (simplest.gain > ret->at.at[0].gain + CLEARLY) {
		*vec_push(&ret->at) = simplest;
		find_suggested(table, ret);
		find_more(table, ret);
	} else {
		hierarchy_fini(&simplest);
	}
	if (p >= 0) {
		choose(table, p, ret);
	} else {
		ret->chosen = ret->suggested;
	}
}

void hierarchies_fini(struct hierarchies *hierarchies)
{
	vec_fini_each(&hierarchies->at, hierarchy_fini);
}
